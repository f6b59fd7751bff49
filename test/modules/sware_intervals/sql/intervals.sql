-- Scans in intervals that end anywhere.
SET sware.fault_buffer = on;
LOAD 'sware';
CREATE EXTENSION sware_intervals;

CREATE TABLE t (a int, b int) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i * 7919 % 300, i FROM generate_series(1, 20000) i;
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_a_b ON t USING sware (a, b);
-- Both indexes, in both directions, as plain and index-only scans, with many
-- intervals and few.
CREATE VIEW outcomes AS
	SELECT sware_scan_intervals(index, low, high, intervals, backward, index_only, seed) AS outcome, low, high
	FROM (VALUES (-1, 1000), (100, 199), (150, 150), (1000, 2000)) ranges (low, high),
		 unnest('{t_a,t_a_b}'::regclass[]) index, unnest('{5,300}'::int[]) intervals,
		 unnest('{t,f}'::boolean[]) backward, unnest('{t,f}'::boolean[]) index_only,
		 (VALUES (0.5)) seeds (seed)
	UNION ALL
	SELECT sware_scan_intervals_any(index, keys, intervals, backward, index_only, seed), NULL, NULL
	FROM (VALUES (ARRAY[7, 9, 10, 150, 151, 152, 299]), (ARRAY[150]),
		(ARRAY(SELECT generate_series(0, 400, 3)))) lists (keys),
		 unnest('{t_a,t_a_b}'::regclass[]) index, unnest('{5,300}'::int[]) intervals,
		 unnest('{t,f}'::boolean[]) backward, unnest('{t,f}'::boolean[]) index_only,
		 (VALUES (0.5)) seeds (seed);
SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;

-- With entries in the buffer, in append areas, and among posting lists.
DO $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		INSERT INTO t SELECT (i * 31 + n * 7919) % 400, n FROM generate_series(1, 100) n;
		COMMIT;
	END LOOP;
END
$$;
SELECT (sware_stats('t_a')).buffer_entries, (sware_stats('t_a_b')).buffer_entries;
SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;
SELECT sware_flush('t_a'), sware_flush('t_a_b');
SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;
-- How many intervals a parallel scan has, in either direction: the leader is alone, and finds all of them.
SET max_parallel_workers = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET cpu_tuple_cost = 1;
SET cpu_operator_cost = 0;
SET enable_sort = off;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
VACUUM ANALYZE t;
SET sware.fault_points = 'interval-found=notice';
SELECT a, count(*) FROM (SELECT a FROM t WHERE a IN (10, 11, 150, 290) ORDER BY a DESC OFFSET 0) s
GROUP BY 1 ORDER BY 1 DESC;
SELECT a, count(*) FROM (SELECT a FROM t WHERE a IN (10, 11, 150, 290) ORDER BY a OFFSET 0) s
GROUP BY 1 ORDER BY 1;
RESET ALL;
SET sware.fault_buffer = on;
DROP VIEW outcomes;
DROP TABLE t;

-- A condition on the second column only: entries of an interval are skipped.
CREATE TABLE u (a int, b int) WITH (autovacuum_enabled = off);
INSERT INTO u SELECT i % 50, i / 50 FROM generate_series(0, 9999) i;
INSERT INTO u SELECT i % 700 + 50, i % 3 FROM generate_series(1, 1400) i;
CREATE INDEX u_a_b ON u USING sware (a, b);
CREATE INDEX u_b_desc ON u USING sware (b DESC, a);
CREATE VIEW outcomes AS
	SELECT sware_scan_intervals_second(index, value, intervals, backward, index_only, whole_values, 0.5)
		AS outcome
	FROM unnest('{u_a_b,u_b_desc}'::regclass[]) index, unnest('{0,2,7,199,500}'::int[]) value,
		 unnest('{5,300}'::int[]) intervals, unnest('{t,f}'::boolean[]) backward,
		 unnest('{t,f}'::boolean[]) index_only, unnest('{t,f}'::boolean[]) whole_values;
SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;
INSERT INTO u SELECT i % 50, i / 50 FROM generate_series(0, 999) i;
SELECT outcome, count(*) FROM outcomes GROUP BY 1 ORDER BY 1;
DROP VIEW outcomes;
DROP TABLE u;
DROP EXTENSION sware_intervals;
