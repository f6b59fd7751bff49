-- Entries that are published once more after an error: the tree and the buffer have them already.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SELECT on_both('CREATE TABLE t (k int, v int)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k)');
SELECT on_both('INSERT INTO t SELECT i * 100, 0 FROM generate_series(1, 300000) i');
BEGIN;
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 1, 1 FROM generate_series(1, 1000) i
	UNION ALL SELECT 15000000 + i, 2 FROM generate_series(2, 1001) i');
-- The buffer has got a page of them.
SAVEPOINT s;
SET LOCAL sware.fault_points = 'buffer-page-full=error';
CREATE TABLE twin_sware.unused ();
ROLLBACK TO s;
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');
-- It has got all.
SET LOCAL sware.fault_points = 'publish-stored=error';
CREATE TABLE twin_sware.unused ();
ROLLBACK TO s;
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');
COMMIT;
SELECT buffer_entries > 2000 AS are_there_again FROM sware_stats('twin_sware.t_k');
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');
SELECT same_rows('SELECT k, v FROM t WHERE k BETWEEN 14999000 AND 15002000 ORDER BY k DESC, v');
SELECT sware_flush('twin_sware.t_k') > 0 AS is_flushed;
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');

-- A cursor that is open while they are published.
BEGIN;
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 2, 3 FROM generate_series(1, 1000) i
	UNION ALL SELECT 20000000 + i, 3 FROM generate_series(2, 1001) i');
DECLARE c CURSOR FOR SELECT k FROM twin_sware.t WHERE v = 3 ORDER BY k;
DECLARE d CURSOR FOR SELECT k FROM twin_nbtree.t WHERE v = 3 ORDER BY k;
MOVE 600 IN c;
MOVE 600 IN d;
CREATE TABLE twin_sware.unused ();
MOVE 100 IN c;
MOVE 100 IN d;
FETCH 2 FROM c;
FETCH 2 FROM d;
MOVE 1290 IN c;
MOVE 1290 IN d;
FETCH ALL FROM c;
FETCH ALL FROM d;
COMMIT;
SELECT drop_twins();
