-- VACUUM removes entries; pages that become empty are unlinked and reused.
SELECT on_both('CREATE TABLE t (a int, b int)');
SELECT on_both('INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 50000) i');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SET max_parallel_workers_per_gather = 0;
SELECT allow_scans('index');

CREATE FUNCTION pages(index regclass) RETURNS bigint LANGUAGE sql
	AS 'SELECT pg_relation_size(index) / current_setting(''block_size'')::bigint';

-- There is nothing to do; then single rows are deleted; then whole ranges of rows: in
-- the middle, on the left, and on the right.
VACUUM twin_sware.t;
SELECT check_all();
SELECT on_both('DELETE FROM t WHERE a % 7 = 0');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a'),
	same_rows('SELECT ctid FROM t WHERE b = 3 ORDER BY b'),
	mirrored('SELECT ctid FROM t WHERE b <= 3 ORDER BY b', 'SELECT ctid FROM t WHERE b <= 3 ORDER BY b DESC');
SELECT on_both('DELETE FROM t WHERE a BETWEEN 20000 AND 30000');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a'),
	same_rows('SELECT ctid, a FROM t WHERE a > 19000 AND a < 31000 ORDER BY a DESC');
SELECT on_both('DELETE FROM t WHERE a < 10000');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SELECT on_both('DELETE FROM t WHERE a > 40000');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a DESC');

-- The freed pages are reused: the index does not grow.
SELECT pages('twin_sware.t_a') AS pages_before \gset
SELECT on_both('INSERT INTO t SELECT i, i % 10 FROM generate_series(20000, 30000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SELECT pages('twin_sware.t_a') <= :pages_before AS did_not_grow;

-- All rows are deleted, and inserted again.
SELECT on_both('DELETE FROM t');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SELECT on_both('INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 20000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a'),
	same_rows('SELECT ctid, a FROM t ORDER BY a DESC');
SELECT pages('twin_sware.t_a') <= :pages_before AS did_not_grow;

-- A queue: rows are inserted on the right and deleted on the left; the index keeps its
-- size.
SELECT on_both('CREATE TABLE queue (a int)');
SELECT on_both('CREATE INDEX queue_a ON queue USING @am (a)');
SELECT format('INSERT INTO twin_sware.queue SELECT generate_series(%s, %s)', n * 2000 + 1, n * 2000 + 2000),
	   format('DELETE FROM twin_sware.queue WHERE a <= %s', n * 2000 - 2000),
	   'VACUUM twin_sware.queue'
FROM generate_series(0, 4) n \gexec
SELECT pages('twin_sware.queue_a') AS pages_before \gset
SELECT format('INSERT INTO twin_sware.queue SELECT generate_series(%s, %s)', n * 2000 + 1, n * 2000 + 2000),
	   format('DELETE FROM twin_sware.queue WHERE a <= %s', n * 2000 - 2000),
	   'VACUUM twin_sware.queue'
FROM generate_series(5, 30) n \gexec
SELECT pages('twin_sware.queue_a') <= 1.5 * :pages_before AS queue_keeps_its_size;
SELECT count(*), min(a), max(a) FROM twin_sware.queue WHERE a > 0;
SELECT check_all();

-- A queue in the other direction.
SELECT on_both('TRUNCATE queue');
SELECT format('INSERT INTO twin_sware.queue SELECT generate_series(%s, %s, -1)',
	-n * 2000 - 1, -n * 2000 - 2000),
	   format('DELETE FROM twin_sware.queue WHERE a >= %s', -n * 2000 + 2000),
	   'VACUUM twin_sware.queue'
FROM generate_series(0, 4) n \gexec
SELECT pages('twin_sware.queue_a') AS pages_before \gset
SELECT format('INSERT INTO twin_sware.queue SELECT generate_series(%s, %s, -1)',
	-n * 2000 - 1, -n * 2000 - 2000),
	   format('DELETE FROM twin_sware.queue WHERE a >= %s', -n * 2000 + 2000),
	   'VACUUM twin_sware.queue'
FROM generate_series(5, 30) n \gexec
SELECT pages('twin_sware.queue_a') <= 1.5 * :pages_before AS queue_keeps_its_size;
SELECT count(*), min(a), max(a) FROM twin_sware.queue WHERE a < 0;
SELECT check_all();

-- Options of VACUUM.
SELECT on_both('DELETE FROM t WHERE a % 3 = 0');
VACUUM (INDEX_CLEANUP off) twin_sware.t;
VACUUM (INDEX_CLEANUP off) twin_nbtree.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SET min_parallel_index_scan_size = 0;
VACUUM (PARALLEL 2, INDEX_CLEANUP on) twin_sware.t;
VACUUM (PARALLEL 2, INDEX_CLEANUP on) twin_nbtree.t;
RESET min_parallel_index_scan_size;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
-- Too little memory for all dead rows at once: several passes over the index.
SELECT on_both('INSERT INTO t SELECT i, i FROM generate_series(1, 300000) i');
SELECT on_both('DELETE FROM t WHERE a % 100 <> 0');
SET maintenance_work_mem = '1MB';
VACUUM twin_sware.t;
VACUUM twin_nbtree.t;
RESET maintenance_work_mem;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
-- With cost-based delay.
SELECT on_both('DELETE FROM t WHERE a % 200 = 0');
SET vacuum_cost_delay = '1ms';
VACUUM twin_sware.t;
RESET vacuum_cost_delay;
VACUUM twin_nbtree.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
VACUUM (FREEZE, ANALYZE) twin_sware.t;
VACUUM FULL twin_sware.t;
VACUUM FULL twin_nbtree.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');

-- The statistics that VACUUM leaves.
SELECT c.relname, c.reltuples = (SELECT count(*) FROM twin_sware.t) AS tuples,
	c.relpages = pages(c.oid) AS pages
FROM pg_class c WHERE c.oid IN ('twin_sware.t_a'::regclass, 'twin_sware.t_b'::regclass) ORDER BY c.relname;
VACUUM twin_sware.t;
SELECT c.relname, c.reltuples = (SELECT count(*) FROM twin_sware.t) AS tuples,
	c.relpages = pages(c.oid) AS pages
FROM pg_class c WHERE c.oid IN ('twin_sware.t_a'::regclass, 'twin_sware.t_b'::regclass) ORDER BY c.relname;

-- Rows of an aborted transaction are removed like other dead rows.
BEGIN;
INSERT INTO twin_sware.t SELECT i, i FROM generate_series(1, 5000) i;
ROLLBACK;
BEGIN;
INSERT INTO twin_nbtree.t SELECT i, i FROM generate_series(1, 5000) i;
ROLLBACK;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
VACUUM twin_sware.t, twin_nbtree.t;
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');

DROP FUNCTION pages;
SELECT drop_twins();

-- What VACUUM removes from a leaf is logged as nbtree logs it: by an image at the first change
-- after a checkpoint, otherwise by the places of entries, and of TIDs in posting lists.
CREATE TABLE wal_nbtree (k int, n int) WITH (autovacuum_enabled = off);
CREATE TABLE wal_sware (k int, n int) WITH (autovacuum_enabled = off);
INSERT INTO wal_nbtree SELECT i, i / 100 FROM generate_series(1, 20000) i;
INSERT INTO wal_sware SELECT i, i / 100 FROM generate_series(1, 20000) i;
CREATE INDEX ON wal_nbtree (k);
CREATE INDEX ON wal_nbtree (n);
CREATE INDEX wal_sware_k ON wal_sware USING sware (k);
CREATE INDEX wal_sware_n ON wal_sware USING sware (n);
DELETE FROM wal_nbtree WHERE hashint4(k) % 5 = 0;
DELETE FROM wal_sware WHERE hashint4(k) % 5 = 0;
CHECKPOINT;
SELECT pg_current_wal_insert_lsn() AS lsn \gset
VACUUM (INDEX_CLEANUP ON) wal_nbtree;
SELECT pg_current_wal_insert_lsn() - :'lsn' AS nbtree, pg_current_wal_insert_lsn() AS lsn \gset
VACUUM (INDEX_CLEANUP ON) wal_sware;
SELECT pg_current_wal_insert_lsn() - :'lsn' < 1.1 * :nbtree AS few_images;
DELETE FROM wal_nbtree WHERE hashint4(k) % 5 = 1;
DELETE FROM wal_sware WHERE hashint4(k) % 5 = 1;
SELECT pg_current_wal_insert_lsn() AS lsn \gset
VACUUM (INDEX_CLEANUP ON) wal_nbtree;
SELECT pg_current_wal_insert_lsn() - :'lsn' AS nbtree, pg_current_wal_insert_lsn() AS lsn \gset
VACUUM (INDEX_CLEANUP ON) wal_sware;
SELECT pg_current_wal_insert_lsn() - :'lsn' < 1.1 * :nbtree AS short_records;
SELECT sware_check('wal_sware_k', true), sware_check('wal_sware_n', true);
DROP TABLE wal_nbtree, wal_sware;

-- Without dead rows VACUUM does not read pages again that are in the free space map.
CREATE TABLE vf (a int) WITH (autovacuum_enabled = off);
CREATE INDEX vf_a ON vf USING sware (a);
INSERT INTO vf SELECT generate_series(1, 200000);
DELETE FROM vf WHERE a > 1000;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) vf;
INSERT INTO vf VALUES (200001);
CREATE FUNCTION pages_accessed() RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_stat_force_next_flush();
	SELECT pg_stat_clear_snapshot();
	SELECT idx_blks_hit + idx_blks_read FROM pg_statio_user_indexes WHERE indexrelname = 'vf_a';
$$;
SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() AS before \gset
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) vf;
SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() - :before BETWEEN 1 AND 1.5 * pages AS few, pages > 400 AS many_there
FROM (SELECT pg_relation_size('vf_a') / current_setting('block_size')::int AS pages) s;
DROP FUNCTION pages_accessed;
DROP TABLE vf;
