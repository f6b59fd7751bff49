-- The checks that an index may be asked for, among them those that the server wants
-- only for deferrable constraints, which are reserved for nbtree.
SET sware.fault_buffer = on;
CREATE EXTENSION sware_insertion;

-- Rows that the index does not know: it is not ready while they are inserted.
CREATE FUNCTION insert_unindexed(index regclass, statement text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_index SET indisready = false WHERE indexrelid = index;
	EXECUTE statement;
	UPDATE pg_index SET indisready = true WHERE indexrelid = index;
END $$;
SET allow_system_table_mods = on;

CREATE TABLE t (n int, k int, v text) WITH (autovacuum_enabled = off);
CREATE FUNCTION place(number int) RETURNS tid LANGUAGE sql AS $$ SELECT ctid FROM t WHERE n = number $$;
CREATE UNIQUE INDEX t_k ON t USING sware (k);
INSERT INTO t SELECT i, i, 'first' FROM generate_series(1, 300) i;

-- A single row, with its entry in the tree or in the buffer: nothing is inserted.
SELECT sware_insert_row('t_k', place(7), 'existing');
SELECT sware_flush('t_k') >= 0 AS flushed;
SELECT sware_insert_row('t_k', place(7), 'existing');
SELECT buffer_entries, (SELECT sum(heap_tids)
	FROM generate_series(1, pg_relation_size('t_k') / current_setting('block_size')::int - 1) AS block,
		sware_page_stats('t_k', block) AS page WHERE page.kind = 'leaf') AS tree_entries
FROM sware_stats('t_k');
INSERT INTO t VALUES (301, 301);
SELECT sware_insert_row('t_k', place(301), 'existing');
SELECT sware_check('t_k', true);

-- Entries that are missing, one of them beside that of another row.
SELECT insert_unindexed('t_k', 'INSERT INTO t VALUES (1000, 1000), (1007, 7), (2007, 7)');
SELECT sware_insert_row('t_k', place(1000), 'existing');
SELECT sware_insert_row('t_k', place(1007), 'existing');

-- Each check that looks for duplicates finds one; 'partial' inserts it.
SELECT sware_insert_row('t_k', place(1007), 'yes');
SELECT sware_insert_row('t_k', place(1007), 'partial');
SELECT sware_insert_row('t_k', place(1000), 'partial');
SELECT sware_insert_row('t_k', place(2007), 'no');
-- Now there are rows with equal keys, and each insert sees the other rows.
SELECT sware_insert_row('t_k', place(7), 'existing');
SELECT sware_insert_row('t_k', place(1007), 'existing');
SELECT sware_insert_row('t_k', place(2007), 'existing');
SELECT sware_insert_row('t_k', place(1000), 'existing');

-- Twins that are dead: deleted by this transaction, or by one that has committed,
-- and not if that rolled back.
DELETE FROM t WHERE n = 2007;
SELECT sware_insert_row('t_k', place(7), 'existing');
BEGIN;
DELETE FROM t WHERE n = 1007;
SELECT sware_insert_row('t_k', place(7), 'existing');
ROLLBACK;
SELECT sware_insert_row('t_k', place(7), 'existing');
BEGIN;
DELETE FROM t WHERE n = 7;
SELECT sware_insert_row('t_k', place(1007), 'existing');
COMMIT;
SELECT sware_insert_row('t_k', place(1007), 'existing');
SELECT sware_insert_row('t_k', place(1007), 'existing') FROM generate_series(1, 3);

-- A dead row is no error, even if another row has its key.
SELECT place(1000) AS dead_row \gset
DELETE FROM t WHERE n = 1000;
INSERT INTO t VALUES (1001, 1000);
SELECT sware_insert_row('t_k', :'dead_row', 'existing');
SELECT sware_insert_row('t_k', place(1001), 'existing');

-- The same beside many entries that are marked, which other scans leave out. One scan
-- marks them, and the next one finds them marked.
CREATE TABLE m (k int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX m_k ON m USING sware (k);
INSERT INTO m SELECT generate_series(1, 100);
SELECT ctid AS dead_row FROM m WHERE k = 40 \gset
SET enable_seqscan = off;
SET enable_bitmapscan = off;
DO $$ BEGIN FOR i IN 1..40 LOOP PERFORM FROM m WHERE k BETWEEN 1 AND 100; END LOOP; END $$;
DELETE FROM m WHERE k <= 60;
SELECT count(*) FROM m WHERE k BETWEEN 1 AND 100;
SELECT entries_marked FROM sware_stats('m_k');
SELECT count(*) FROM m WHERE k BETWEEN 1 AND 62;
SELECT sware_insert_row('m_k', :'dead_row', 'existing');
SELECT count(*) FROM m WHERE k BETWEEN 1 AND 100;
SELECT sware_insert_row('m_k', :'dead_row', 'existing');
-- All columns of a marked entry are compared.
DROP INDEX m_k;
TRUNCATE m;
ALTER TABLE m ADD n int DEFAULT 0;
CREATE UNIQUE INDEX m_k ON m USING sware (k, n);
INSERT INTO m SELECT generate_series(1, 100);
SELECT ctid AS dead_row FROM m WHERE k = 1 \gset
DELETE FROM m WHERE k <= 60;
SELECT count(*) FROM m WHERE k BETWEEN 1 AND 100;
SELECT count(*) FROM m WHERE k BETWEEN 1 AND 100;
SELECT entries_marked FROM sware_stats('m_k');
SELECT sware_insert_row('m_k', :'dead_row', 'existing');
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP TABLE m;

-- For a row that has been changed, the index has the TID of its first version.
SELECT place(200) AS first_version \gset
UPDATE t SET v = 'second' WHERE n = 200;
SELECT sware_insert_row('t_k', :'first_version', 'existing');
UPDATE t SET v = 'third', k = -k WHERE n = 200;
SELECT sware_insert_row('t_k', place(200), 'existing');

-- Nulls are equal to each other, or are not checked.
INSERT INTO t VALUES (400, NULL), (401, NULL);
SELECT sware_insert_row('t_k', place(400), 'existing'), sware_insert_row('t_k', place(400), 'partial');
CREATE UNIQUE INDEX t_v ON t USING sware (v) NULLS NOT DISTINCT WHERE n IN (402, 403);
INSERT INTO t VALUES (402, 402);
SELECT sware_insert_row('t_v', place(402), 'existing');
SELECT insert_unindexed('t_v', 'INSERT INTO t VALUES (403, 403)');
SELECT sware_insert_row('t_v', place(403), 'partial');
SELECT sware_insert_row('t_v', place(402), 'existing');
DELETE FROM t WHERE n = 403;
DROP INDEX t_v;

-- Entries that this transaction has staged are checked, too.
BEGIN;
INSERT INTO t SELECT i, i FROM generate_series(10001, 10200) i;
SELECT sware_insert_row('t_k', place(10200), 'existing');
INSERT INTO t SELECT i, i FROM generate_series(10201, 10300) i;
SELECT insert_unindexed('t_k', 'INSERT INTO t VALUES (20300, 10300)');
INSERT INTO t VALUES (10301, 10301);
SELECT sware_insert_row('t_k', place(20300), 'partial');
SAVEPOINT s;
SELECT sware_insert_row('t_k', place(10300), 'existing');
ROLLBACK TO s;
DELETE FROM t WHERE n = 20300;
SELECT sware_insert_row('t_k', place(10300), 'existing');
COMMIT;

VACUUM (INDEX_CLEANUP ON) t;
SELECT sware_check('t_k', true);

-- A parallel worker inserts, which the server does not let it do yet. It adds to the
-- buffer and flushes nothing, over the quota of 8 pages and at its limit: the leader's
-- locks do not keep it from that.
CREATE TABLE w (k int) WITH (autovacuum_enabled = off, parallel_workers = 2);
CREATE INDEX w_k ON w USING sware (k) WITH (buffer_size = 64);
SELECT insert_unindexed('w_k', 'INSERT INTO w SELECT i FROM generate_series(1, 12000) i');
ALTER FUNCTION sware_insert_row PARALLEL SAFE COST 10000;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
ANALYZE w;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM w WHERE k <= 11000 AND NOT sware_insert_row('w_k', ctid, 'no');
SELECT count(*) FROM w WHERE k <= 11000 AND NOT sware_insert_row('w_k', ctid, 'no');
SELECT sealed_pages >= 16 AS at_limit, buffer_generation FROM sware_metapage('w_k');
-- Without workers, there is a flush.
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM w WHERE k > 11000 AND NOT sware_insert_row('w_k', ctid, 'no');
INSERT INTO w SELECT i FROM generate_series(12001, 13000) i ON CONFLICT DO NOTHING;
SELECT sealed_pages < 16 AND buffer_generation > 1 AS flushed FROM sware_metapage('w_k');
SELECT sware_check('w_k', true);
