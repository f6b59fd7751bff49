-- Partitioned and inherited tables.
SELECT on_both('CREATE TABLE t (a int, b int) PARTITION BY RANGE (a)');
SELECT on_both('CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (1000)');
SELECT on_both('CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (1000) TO (2000)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('CREATE TABLE t3 PARTITION OF t FOR VALUES FROM (2000) TO (3000)');
SELECT on_both('CREATE TABLE t4 (a int, b int)');
SELECT on_both('INSERT INTO t4 SELECT i, i FROM generate_series(3000, 3999) i');
SELECT on_both('ALTER TABLE t ATTACH PARTITION t4 FOR VALUES FROM (3000) TO (4000)');
SELECT on_both('INSERT INTO t SELECT (i * 7) % 3000, i FROM generate_series(1, 6000) i');
SELECT on_both('ANALYZE t');
SET max_parallel_workers_per_gather = 0;
SELECT allow_scans('index', 'indexonly');
SELECT check_all();
SELECT compare('SELECT a, b FROM t WHERE a BETWEEN 990 AND 1010 ORDER BY a, b');
SELECT compare('SELECT a FROM t ORDER BY a DESC LIMIT 10');
SELECT compare('SELECT a FROM t WHERE a = ANY (''{5,1005,2005}'') ORDER BY a');
SELECT compare('SELECT min(a), max(a) FROM t');

-- An index on the parent alone becomes valid with its last partition.
SELECT on_both('CREATE INDEX t_b ON ONLY t USING @am (b)');
SELECT on_both(format('CREATE INDEX t%s_b ON t%s USING @am (b)', n, n)) FROM generate_series(1, 4) n;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'twin_sware.t_b'::regclass;
SELECT on_both(format('ALTER INDEX t_b ATTACH PARTITION t%s_b', n)) FROM generate_series(1, 4) n;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'twin_sware.t_b'::regclass;
REINDEX INDEX twin_sware.t_b;

-- Rows move between partitions; partitions are dropped.
SELECT on_both('UPDATE t SET a = a + 1000 WHERE a < 500');
SELECT on_both('DROP TABLE t2');
SELECT on_both('ALTER TABLE t DETACH PARTITION t3');
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a, b'),
	same_rows('SELECT a, b FROM t3 ORDER BY b');

-- An nbtree index of a partition does not stand in for a sware one.
CREATE TABLE twin_sware.t5 (a int, b int);
CREATE INDEX t5_nbtree ON twin_sware.t5 USING btree (a);
ALTER TABLE twin_sware.t ATTACH PARTITION twin_sware.t5 FOR VALUES FROM (5000) TO (6000);
SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'twin_sware.t5'::regclass;
SELECT drop_twins();
