-- Comparisons between types of one operator family use the index.
SELECT on_both('CREATE TABLE t (i2 smallint, i4 int, i8 bigint, f4 real,
	f8 float8, d date, ts timestamp, tz timestamptz, n name, x text)');
SELECT on_both($$INSERT INTO t
	SELECT i, i, i, i / 4.0, i / 4.0, date '2020-01-01' + i,
		   timestamp '2020-01-01' + i * interval '1 day',
		   timestamptz '2020-01-01 00:00 UTC' + i * interval '1 day',
		   'n' || i, 'n' || i
	FROM generate_series(-1000, 1000) i$$);
SELECT on_both(format('CREATE INDEX t_%s ON t USING @am (%s)', name, name))
FROM unnest('{i2,i4,i8,f4,f8,d,ts,tz,n,x}'::text[]) name;
SELECT on_both('ANALYZE t');
SET TIME ZONE 'UTC';
SELECT allow_scans('index');

-- Every pair of types of a family with every operator. The comparison must be an index
-- condition of the plan.
SELECT name, type,
	   string_agg(operator || ' ' || substring(same_rows(query) FROM 'same \d+|.*'), ', ' ORDER BY n) AS rows,
	   bool_and(EXISTS (SELECT 1 FROM plan_of('twin_sware', query) line WHERE line LIKE '%Index Cond%'))
	       AS by_index
FROM (VALUES ('i2', 'int4', '7'), ('i2', 'int8', '7'), ('i2', 'int8', '90000000000'),
			 ('i4', 'int2', '7'), ('i4', 'int8', '7'), ('i4', 'int8', '-90000000000'),
			 ('i8', 'int2', '-7'), ('i8', 'int4', '-7'),
			 ('f4', 'float8', '7.5'), ('f4', 'float8', 'NaN'),
			 ('f8', 'float4', '7.5'), ('f8', 'float4', '-infinity'),
			 ('d', 'timestamp', '2020-02-01 12:00'), ('d', 'timestamptz', '2020-02-01'),
			 ('ts', 'date', '2020-02-01'), ('ts', 'timestamptz', '2020-02-01'),
			 ('tz', 'date', '2020-02-01'), ('tz', 'timestamp', '2020-02-01'), ('tz', 'date', 'infinity'),
			 ('n', 'text', 'n500'), ('x', 'name', 'n500')) pairs(name, type, value),
	 unnest('{<,<=,=,>=,>}'::text[]) WITH ORDINALITY AS operators(operator, n),
	 LATERAL (SELECT format('SELECT ctid FROM t WHERE %s %s %L::%s ORDER BY %s %s',
	     name, operator, value, type, name,
							CASE WHEN n % 2 = 0 THEN 'DESC' ELSE '' END) AS query) q
GROUP BY name, type, value ORDER BY name, type, value;

-- Two bounds of different types.
SELECT compare('SELECT i4 FROM t WHERE i4 > 5::int2 AND i4 > 7::int8 AND i4 < 12::int8 AND i4 <= 11::int2');
SELECT compare('SELECT i4 FROM t WHERE i4 = 5::int2 AND i4 = 5::int8');
SELECT compare('SELECT i4 FROM t WHERE i4 = 5::int2 AND i4 < 5::int8');

-- Local times in an hour that daylight-saving time leaves out, and behind it, are in another
-- order than the instants that they mean.  (nbtree may return a row twice.)
SET TIME ZONE 'America/New_York';
SELECT on_both($$INSERT INTO t (tz) VALUES ('2024-03-10 07:00+00'), ('2024-03-10 07:30+00')$$);
SELECT tz FROM twin_sware.t WHERE tz = ANY ('{2024-03-10 03:00,2024-03-10 02:30}'::timestamp[]);
SELECT tz FROM twin_sware.t WHERE tz = ANY
	('{2024-03-10 01:00,2024-03-10 03:00,2024-03-10 02:30,2024-03-10 03:30,infinity}'::timestamp[]);
SET TIME ZONE 'UTC';

-- Joins between types: nested loop and merge.
SET enable_hashjoin = off;
SET enable_memoize = off;
SET enable_mergejoin = off;
SELECT compare('SELECT count(*) FROM generate_series(1::bigint, 50) g(i) JOIN t ON t.i2 = g.i');
SET enable_nestloop = off;
SET enable_mergejoin = on;
SELECT allow_scans('index', 'indexonly');
SELECT compare('SELECT count(*), sum(x.i2), sum(y.i8) FROM t x JOIN t y ON x.i2 = y.i8');
SELECT compare('SELECT count(*) FROM t x JOIN t y ON x.d = y.ts');
RESET enable_nestloop;
RESET enable_hashjoin;
RESET enable_memoize;
RESET TIME ZONE;
SELECT check_all();
SELECT drop_twins();
