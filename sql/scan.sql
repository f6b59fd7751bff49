-- Scans of every kind over one column.
SELECT on_both('CREATE TABLE t (a int, b int, filler text)');
SELECT on_both($$INSERT INTO t SELECT (i * 7919) % 20011, i % 10, 'x' FROM generate_series(1, 20000) i$$);
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
VACUUM (ANALYZE) twin_nbtree.t;
VACUUM (ANALYZE) twin_sware.t;
SET max_parallel_workers_per_gather = 0;
SELECT check_all();

-- The plans that the planner chooses freely.
SELECT compare('SELECT b FROM t WHERE a = 100');
SELECT compare('SELECT a FROM t WHERE a BETWEEN 100 AND 110');
SELECT compare('SELECT count(b) FROM t WHERE a BETWEEN 1000 AND 1500');
SELECT compare('SELECT count(*) FROM t WHERE a BETWEEN 1000 AND 1500');
SELECT compare('SELECT b FROM t WHERE a > 19000 AND b = 3 ORDER BY a');
SELECT compare('SELECT a, b FROM t ORDER BY a LIMIT 5');
SELECT compare('SELECT a, b FROM t ORDER BY a DESC LIMIT 5');
SELECT compare('SELECT min(a), max(a) FROM t');
SELECT compare('SELECT sum(b) FROM t');

-- Every operator, in every kind of scan, in both directions.
CREATE FUNCTION every_operator(VARIADIC ways text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM allow_scans(VARIADIC ways);
	RETURN QUERY
		SELECT format('%s %s: %s', condition, ending,
					  same_rows(format('SELECT %s FROM t WHERE %s %s', columns, condition, ending)))
		FROM unnest('{a = 5000,a = -1,a < 10,a <= 10,a > 20000,a >= 20000,a > 20010,a < 0,
					  a > 10 AND a < 3000,a >= 10 AND a <= 3000,
					  a > 3000 AND a < 10,a >= 7 AND a <= 7,a > 7 AND a <= 7,
					  a > 5 AND a >= 5 AND a < 900 AND a <= 899,a = 5 AND a = 6,
					  a = 5 AND a > 4,a IS NULL,a IS NOT NULL}'::text[])
				WITH ORDINALITY AS conditions(condition, n),
			 unnest(CASE WHEN 'bitmap' = ANY (ways) THEN '{ORDER BY a}'::text[]
						 ELSE '{ORDER BY a,ORDER BY a DESC}'::text[] END) ending,
			 LATERAL (SELECT CASE WHEN 'indexonly' = ANY (ways) THEN 'a' ELSE 'ctid, a, b' END AS columns) c
		ORDER BY n, ending;
END
$$;
SELECT every_operator('index');
SELECT every_operator('indexonly');
SELECT every_operator('bitmap');

-- The plans are the kinds of scan that are meant.
SELECT allow_scans('index');
SELECT compare('SELECT b FROM t WHERE a > 10 AND a < 15 ORDER BY a');
SELECT compare('SELECT b FROM t WHERE a > 10 AND a < 15 ORDER BY a DESC');
SELECT allow_scans('indexonly');
SELECT compare('SELECT a FROM t WHERE a > 10 AND a < 15 ORDER BY a');
SELECT compare('SELECT a FROM t WHERE a > 10 AND a < 15 ORDER BY a DESC');
SELECT allow_scans('bitmap');
SELECT compare('SELECT ctid, b FROM t WHERE a > 10 AND a < 15');
SELECT compare('SELECT ctid FROM t WHERE a < 100 OR a > 19900 OR a = 777');
SELECT compare('SELECT ctid FROM t WHERE a < 100 AND a > 90');

-- Whole table in order, both ways; a limit in the middle.
SELECT allow_scans('index', 'indexonly');
SELECT compare('SELECT a FROM t ORDER BY a');
SELECT compare('SELECT a FROM t ORDER BY a DESC');
SELECT compare('SELECT ctid, a FROM t ORDER BY a OFFSET 9990 LIMIT 20');
SELECT compare('SELECT ctid, a FROM t WHERE a < 15000 ORDER BY a DESC OFFSET 9990 LIMIT 20');

-- Rescans with new keys: a nested loop, with and without Memoize, and a
-- correlated subquery.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SELECT allow_scans('seq', 'index', 'indexonly');
SELECT compare('SELECT v.i, t.b FROM generate_series(1, 20000, 997) v(i) JOIN t ON t.a = v.i ORDER BY v.i');
SELECT compare('SELECT v.i, (SELECT max(a) FROM t WHERE a < v.i)
	FROM generate_series(0, 20000, 997) v(i) ORDER BY v.i');
RESET enable_memoize;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Keys that are known only at execution.
SELECT allow_scans('index');
PREPARE by_range(int, int) AS SELECT count(*) FROM twin_sware.t WHERE a > $1 AND a < $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_range(10, 20);
EXECUTE by_range(10, 20);
EXECUTE by_range(20, 10);
EXECUTE by_range(NULL, 10);
RESET plan_cache_mode;
DEALLOCATE by_range;

-- Row comparisons are nbtree's own, as index conditions; the answers agree.
SELECT same_rows('SELECT a, b FROM t WHERE (a, b) > (19990, 5) ORDER BY a');
SELECT same_rows('SELECT a, b FROM t WHERE (a, b) <= (20, 5) ORDER BY a DESC');

-- An empty index, an index of a single row, and one whose pages have all become empty.
SELECT on_both('CREATE TABLE small (a int)');
SELECT on_both('CREATE INDEX small_a ON small USING @am (a)');
SELECT allow_scans('index', 'indexonly');
SELECT same_rows('SELECT a FROM small ORDER BY a');
SELECT same_rows('SELECT max(a) FROM small');
SELECT allow_scans('bitmap');
SELECT same_rows('SELECT a FROM small WHERE a > 0');
SELECT on_both('INSERT INTO small VALUES (1)');
SELECT same_rows('SELECT a FROM small WHERE a > 0');
SELECT allow_scans('index', 'indexonly');
SELECT same_rows('SELECT a FROM small ORDER BY a DESC');
SELECT on_both('INSERT INTO small SELECT generate_series(2, 2000)');
SELECT on_both('DELETE FROM small');
VACUUM twin_nbtree.small;
VACUUM twin_sware.small;
SELECT same_rows('SELECT a FROM small ORDER BY a');
SELECT same_rows('SELECT a FROM small ORDER BY a DESC');
SELECT on_both('INSERT INTO small VALUES (5), (3), (4)');
SELECT same_rows('SELECT a FROM small ORDER BY a');
SELECT same_rows('SELECT a FROM small ORDER BY a DESC');
SELECT check_all();

DROP FUNCTION every_operator;
SELECT drop_twins();
