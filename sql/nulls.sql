-- Nulls, in every place that an index may put them.
SELECT on_both('CREATE TABLE t (a int, b int)');
SELECT on_both($$INSERT INTO t SELECT nullif(i % 97, 0), nullif(i % 13, 5) FROM generate_series(1, 5000) i$$);
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SET max_parallel_workers_per_gather = 0;

-- The four orders of one column, each scanned both ways.
CREATE FUNCTION every_null_test() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s: %s', condition, CASE WHEN direction LIKE forward || '%'
			THEN same_rows(format('SELECT ctid, a, b FROM t WHERE %s ORDER BY a %s', condition, direction))
			ELSE mirrored(format('SELECT ctid FROM t WHERE %s ORDER BY a %s', condition, reverse),
				format('SELECT ctid FROM t WHERE %s ORDER BY a %s', condition, direction))
		END)
		|| CASE WHEN 'Sort' = ANY (ARRAY(SELECT trim(plan_of('twin_sware',
			format('SELECT a FROM t WHERE %s ORDER BY a %s', condition, direction)))))
				THEN ', SORTED' ELSE '' END
	FROM unnest('{a IS NULL,a IS NOT NULL,a > 50,a < 50,a >= 50 AND a <= 50,a IS NOT NULL AND a < 3,
		a IS NULL AND b = 3,true}'::text[]) WITH ORDINALITY AS c(condition, n),
		 (SELECT CASE
		     WHEN pg_index_column_has_property('twin_sware.t_a', 1, 'desc') THEN 'DESC' ELSE 'ASC' END,
				 pg_index_column_has_property('twin_sware.t_a', 1, 'nulls_first')) o(forward, first),
		 LATERAL (SELECT forward || CASE WHEN first THEN ' NULLS FIRST' ELSE ' NULLS LAST' END AS one,
						 CASE forward WHEN 'ASC' THEN 'DESC' ELSE 'ASC' END || CASE
						     WHEN first THEN ' NULLS LAST' ELSE ' NULLS FIRST' END AS other) e,
		 LATERAL (VALUES (one, other), (other, one)) d(direction, reverse)
	ORDER BY n, direction = other;
$$;
SELECT allow_scans('index');
SELECT every_null_test();
SELECT on_both('DROP INDEX t_a; CREATE INDEX t_a ON t USING @am (a NULLS FIRST)');
SELECT every_null_test();
SELECT on_both('DROP INDEX t_a; CREATE INDEX t_a ON t USING @am (a DESC)');
SELECT every_null_test();
SELECT on_both('DROP INDEX t_a; CREATE INDEX t_a ON t USING @am (a DESC NULLS LAST)');
SELECT every_null_test();
SELECT check_all();

-- Nulls in a bitmap scan, and in an index-only scan.
VACUUM ANALYZE twin_nbtree.t;
VACUUM ANALYZE twin_sware.t;
SELECT allow_scans('bitmap');
SELECT compare('SELECT ctid FROM t WHERE a IS NULL');
SELECT compare('SELECT ctid FROM t WHERE a IS NULL OR a = 3');
SELECT allow_scans('indexonly');
SELECT compare('SELECT a FROM t WHERE a IS NULL');
SELECT compare('SELECT a FROM t WHERE a IS NOT NULL ORDER BY a DESC NULLS LAST');
SELECT compare('SELECT min(a), max(a) FROM t');

-- Comparison with null finds nothing.
SELECT allow_scans('index');
SELECT same_rows('SELECT a FROM t WHERE a = NULL');
SELECT same_rows('SELECT a FROM t WHERE a > (SELECT NULL::int)');

-- Nulls in two columns.
SELECT on_both('DROP INDEX t_a; CREATE INDEX t_ab ON t USING @am (a NULLS FIRST, b DESC)');
SELECT compare('SELECT a, b FROM t WHERE a IS NULL AND b IS NULL');
SELECT compare('SELECT a, b FROM t WHERE a IS NULL AND b > 3 ORDER BY b DESC');
SELECT compare('SELECT a, b FROM t WHERE a = 5 AND b IS NULL');
SELECT compare('SELECT a, b FROM t WHERE a < 5 AND b IS NOT NULL ORDER BY a NULLS FIRST, b DESC');
SELECT compare('SELECT ctid, a, b FROM t ORDER BY a NULLS FIRST, b DESC');
SELECT compare('SELECT a, b FROM t ORDER BY a DESC NULLS LAST, b NULLS FIRST');
SELECT mirrored('SELECT ctid FROM t ORDER BY a NULLS FIRST, b DESC',
	'SELECT ctid FROM t ORDER BY a DESC NULLS LAST, b');

-- A scan begins again with other values, and with nulls among them.
SELECT on_both('CREATE TABLE asked AS SELECT i, nullif(i % 5, 3) AS a, nullif(i % 7, 2)::bigint AS b
	FROM generate_series(1, 40) i');
SELECT set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),
	set_config('enable_memoize', 'off', false), set_config('enable_material', 'off', false);
SELECT same_rows('SELECT i, t.a, t.b FROM asked, LATERAL (SELECT * FROM t WHERE a = asked.a OFFSET 0) t
	ORDER BY i, t.a, t.b');
SELECT same_rows('SELECT i, t.a, t.b FROM asked,
	LATERAL (SELECT * FROM t WHERE a = asked.a AND b = asked.b::int OFFSET 0) t ORDER BY i, t.a, t.b');
SELECT same_rows('SELECT i, t.a, t.b FROM asked,
	LATERAL (SELECT * FROM t WHERE a = asked.a AND b = asked.b OFFSET 0) t ORDER BY i, t.a, t.b');
SELECT same_rows('SELECT i, t.a, t.b FROM asked,
	LATERAL (SELECT * FROM t WHERE a = asked.a AND b > asked.b OFFSET 0) t ORDER BY i, t.a, t.b');
SELECT set_config('enable_hashjoin', 'on', false), set_config('enable_mergejoin', 'on', false),
	set_config('enable_memoize', 'on', false), set_config('enable_material', 'on', false);

-- Thousands of nulls, and nothing else.
SELECT on_both('CREATE TABLE only_nulls (a int)');
SELECT on_both('CREATE INDEX only_nulls_a ON only_nulls USING @am (a)');
SELECT on_both('INSERT INTO only_nulls SELECT NULL FROM generate_series(1, 5000)');
SELECT compare('SELECT ctid FROM only_nulls WHERE a IS NULL ORDER BY a');
SELECT mirrored('SELECT ctid FROM only_nulls ORDER BY a', 'SELECT ctid FROM only_nulls ORDER BY a DESC');
SELECT check_all();

DROP FUNCTION every_null_test;
SELECT drop_twins();
