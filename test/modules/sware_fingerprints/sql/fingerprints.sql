-- Fingerprints of keys: as rarely equal as random numbers of 64 bits, whatever the
-- keys look like, and evenly spread over the locks of keys.
LOAD 'sware';
CREATE EXTENSION sware_fingerprints;
SET work_mem = '256MB';

-- How many of the keys that a query returns share a fingerprint with another one, and
-- whether no lock has many more of them than its share. (Among 250,000 random numbers
-- of 64 bits two are equal once in 500 million times; that one of 1024 locks has six
-- deviations more than its share is about as rare.)
CREATE FUNCTION look_at_keys(index regclass, query text,
	OUT keys bigint, OUT shared bigint, OUT is_even bool)
LANGUAGE plpgsql AS $$
DECLARE
	mean float8;
	most bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE looked_at AS
		SELECT sware_fingerprint(%L, key) AS f FROM (%s) AS k (key)', index, query);
	SELECT count(*), count(*) - count(DISTINCT f) INTO keys, shared FROM looked_at;
	mean := keys / 1024.0;
	SELECT max(count) INTO most FROM (SELECT count(*) FROM looked_at GROUP BY sware_key_stripe(f)) s;
	is_even := most < mean + 6 * sqrt(mean);
	DROP TABLE looked_at;
END $$;

CREATE TABLE keys (a int, b int, c bigint, d date, t timestamptz, u uuid, v uuid, x text, s smallint);
CREATE UNIQUE INDEX a ON keys USING sware (a);
CREATE UNIQUE INDEX c ON keys USING sware (c);
CREATE UNIQUE INDEX ab ON keys USING sware (a, b);
CREATE UNIQUE INDEX ab_desc ON keys USING sware (a DESC, b);
CREATE UNIQUE INDEX abc ON keys USING sware (a, b, c);
CREATE UNIQUE INDEX bc ON keys USING sware (b, c);
CREATE UNIQUE INDEX da ON keys USING sware (d, a);
CREATE UNIQUE INDEX ta ON keys USING sware (t, a);
CREATE UNIQUE INDEX uv ON keys USING sware (u, v);
CREATE UNIQUE INDEX xa ON keys USING sware (x, a);
CREATE UNIQUE INDEX sx ON keys USING sware (s, x);
CREATE UNIQUE INDEX ab_nulls ON keys USING sware (a, b) NULLS NOT DISTINCT;

-- Grids: dense ones, with steps, with negative numbers, of three columns.
SELECT * FROM look_at_keys('ab',
	'SELECT row(i, j) FROM generate_series(0, 499) i, generate_series(0, 499) j');
SELECT * FROM look_at_keys('ab_desc',
	'SELECT row(i * 1024, j * 1032) FROM generate_series(-250, 249) i, generate_series(-250, 249) j');
SELECT * FROM look_at_keys('abc', 'SELECT row(i, j, k::bigint)
	FROM generate_series(-31, 31) i, generate_series(0, 62) j, generate_series(0, 62) k');
SELECT * FROM look_at_keys('bc',
	'SELECT row(i, j::bigint << 32) FROM generate_series(0, 499) i, generate_series(0, 499) j');
SELECT * FROM look_at_keys('ab_nulls',
	'SELECT row(nullif(i, 5), nullif(j, 6)) FROM generate_series(0, 499) i, generate_series(0, 499) j');
-- A diagonal, and its mirror.
SELECT * FROM look_at_keys('ab', 'SELECT row(i, i) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('ab', 'SELECT row(i, -i) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('ab', 'SELECT row(i, k)
	FROM generate_series(1, 125000) i, LATERAL (VALUES (i + 250000), (i - 250000)) AS n (k)');
-- Dates and timestamps with numbers.
SELECT * FROM look_at_keys('da',
	$$SELECT row(date '2020-01-01' + i, j) FROM generate_series(0, 999) i, generate_series(1, 250) j$$);
SELECT * FROM look_at_keys('ta', $$SELECT row(timestamptz '2020-01-01Z' + i * interval '1 hour', j)
	FROM generate_series(0, 2499) i, generate_series(1, 100) j$$);
-- Types that are hashed.
SELECT * FROM look_at_keys('uv', $$SELECT row(lpad(to_hex(i), 32, '0')::uuid, lpad(to_hex(j), 32, '0')::uuid)
	FROM generate_series(0, 499) i, generate_series(0, 499) j$$);
SELECT * FROM look_at_keys('xa',
	$$SELECT row('customer ' || i, j) FROM generate_series(0, 499) i, generate_series(0, 499) j$$);
SELECT * FROM look_at_keys('sx',
	$$SELECT row(i::int2, 'order ' || j) FROM generate_series(0, 499) i, generate_series(0, 499) j$$);
-- One column.
SELECT * FROM look_at_keys('a', 'SELECT row(i * 1024) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('a', 'SELECT row(i) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('c', 'SELECT row(i::bigint << 44) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('c', 'SELECT row(i::bigint << 32) FROM generate_series(-125000, 124999) i');
SELECT * FROM look_at_keys('c', 'SELECT row(i::bigint * 1597) FROM generate_series(-125000, 124999) i');

-- A key of one integer is that integer: keys next to each other share memory.
SELECT sware_fingerprint('a', row(-7)), sware_fingerprint('c', row(70000000000));
-- What is null, and where, makes a difference.
SELECT count(DISTINCT f) FROM (VALUES (row(1, NULL::int)), (row(NULL::int, 1)), (row(NULL::int, NULL::int)),
	(row(0, 0)), (row(0, NULL::int)), (row(NULL::int, 0))) AS k (key),
	sware_fingerprint('ab_nulls', key) AS f;
