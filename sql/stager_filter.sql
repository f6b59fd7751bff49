-- Many staged keys of a unique index, nearly in order: what the session remembers of
-- them lets in no row whose key is staged, or has been published, and the error is
-- raised at the row itself.

-- The i-th key of a load: one in ten comes up to 630 rows early or late. There are
-- seven kinds, the last of which comes in no order.
CREATE FUNCTION place(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN CASE WHEN i % 10 = 0 THEN (i / 10 # 63) * 10 ELSE i END;
CREATE FUNCTION uuid_of(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex(1700000000000 + place(i) / 10), 12, '0') || '7' || substr(md5('a' || i), 1, 19))::uuid;
CREATE FUNCTION text_of(i bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN 'customer ' || lpad(place(i)::text, 12, '0');
CREATE TABLE numbers (v bigint, k bigint);
CREATE TABLE uuids (v bigint, k uuid);
CREATE TABLE texts (v bigint, k text COLLATE "C");
CREATE TABLE others (v bigint, k text COLLATE "en-x-icu");
CREATE TABLE numerics (v bigint, k numeric);
CREATE TABLE pairs (v bigint, a int, b timestamptz);
CREATE TABLE scrambled (v bigint, k uuid);
CREATE TABLE kinds (name regclass, expression text);
INSERT INTO kinds VALUES ('numbers', 'place(%s) * 1000'), ('uuids', 'uuid_of(%s)'), ('texts', 'text_of(%s)'),
	('others', 'text_of(%s)'), ('numerics', 'place(%s) + 0.25'),
	('pairs', $$(%1$s %% 5)::int, timestamptz '2026-01-01Z' + place(%1$s) * interval '1 s'$$),
	('scrambled', $$md5('b' || %s)::uuid$$);
SELECT format('CREATE UNIQUE INDEX ON %s USING sware (%s)', name,
	CASE WHEN name = 'pairs'::regclass THEN 'a, b' ELSE 'k' END) FROM kinds ORDER BY name \gexec

-- One row has the key of an earlier one, of which the first is stored, the second was
-- staged when little was, and the others came later. The error is raised at this row, and
-- no row comes after it.
CREATE SEQUENCE arrivals;
SELECT statement
FROM kinds, unnest(ARRAY[1, 5001, 18001, 19990]) AS earlier,
	LATERAL (VALUES (1, 'ALTER SEQUENCE arrivals RESTART'),
		(2, format($$INSERT INTO %s SELECT nextval('arrivals'), %s FROM generate_series(1, 20200) i$$, name,
			format(expression, format('CASE i WHEN 20000 THEN %s ELSE i END', earlier)))),
		(3, 'SELECT last_value FROM arrivals')) AS s (number, statement)
ORDER BY name::text, earlier, number
\gexec

-- The same where part of the keys has been published, and the rest is kept: the second of
-- the earlier ones is among those that were kept.
SET sware.staging_size = '512kB';
SELECT statement
FROM kinds, unnest(ARRAY[1, 40001, 49990]) AS earlier,
	LATERAL (VALUES (1, 'ALTER SEQUENCE arrivals RESTART'),
		(2, format($$INSERT INTO %s SELECT nextval('arrivals'), %s FROM generate_series(1, 50200) i$$, name,
			format(expression, format('CASE i WHEN 50000 THEN %s ELSE i END', earlier)))),
		(3, 'SELECT last_value FROM arrivals')) AS s (number, statement)
WHERE name IN ('uuids'::regclass, 'pairs'::regclass, 'scrambled'::regclass)
ORDER BY name::text, earlier, number
\gexec
RESET sware.staging_size;

-- First in order, then in none.
ALTER SEQUENCE arrivals RESTART;
INSERT INTO uuids SELECT nextval('arrivals'),
	CASE WHEN i < 20000 THEN uuid_of(i) WHEN i < 60000 THEN md5('b' || i)::uuid ELSE md5('b40000')::uuid END
FROM generate_series(1, 60100) i;
SELECT last_value FROM arrivals;

-- Without such a row, all is let in.
SELECT format($$INSERT INTO %s SELECT i, %s FROM generate_series(1, 20200) i$$, name, format(expression, 'i'))
FROM kinds ORDER BY name::text \gexec
SELECT format($$SELECT count(*), sware_check('%s', true) IS NOT NULL AS checked FROM %s$$,
	indexrelid::regclass, name)
FROM kinds JOIN pg_index ON indrelid = name ORDER BY name::text \gexec
DROP TABLE numbers, uuids, texts, others, numerics, pairs, scrambled, kinds;
DROP SEQUENCE arrivals;
