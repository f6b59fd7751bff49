-- Transactions of many rows whose keys are within the tree: entries that would come to a
-- leaf one by one wait in the buffer for others; those in company go to the tree at once.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SELECT on_both('CREATE TABLE t (k int, v int)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k)');
SELECT on_both('INSERT INTO t SELECT i * 100, 0 FROM generate_series(1, 300000) i');
SELECT buffer_entries FROM sware_stats('twin_sware.t_k');

-- A thousand scattered keys, and a thousand in the middle that follow each other.
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 1, 1 FROM generate_series(1, 1000) i
	UNION ALL SELECT 15000000 + i, 2 FROM generate_series(2, 1001) i');
SELECT buffer_entries BETWEEN 1000 AND 1020 AS are_scattered FROM sware_stats('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');
SELECT same_rows('SELECT k, v FROM t WHERE k BETWEEN 14999000 AND 15002000 ORDER BY k DESC, v');

-- The next ones wait with them.
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 2, 3 FROM generate_series(1, 1000) i');
SELECT buffer_entries BETWEEN 2000 AND 2020 AS are_scattered FROM sware_stats('twin_sware.t_k');
SELECT sware_flush('twin_sware.t_k') > 1800 AS is_flushed;
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');

-- Few scattered keys beside many others do not wait; nor do more than the buffer is to
-- take of one transaction; nor any without a buffer that is large enough for several.
SELECT on_both('INSERT INTO t SELECT CASE WHEN i % 50 = 0 THEN i * 79 ELSE 40000000 + i END, 4
	FROM generate_series(1, 5000) i');
SELECT buffer_entries FROM sware_stats('twin_sware.t_k');
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 3, 5 FROM generate_series(1, 6000) i');
SELECT buffer_entries FROM sware_stats('twin_sware.t_k');
SELECT sware_flush('twin_sware.t_k') > 0 AS is_flushed;
ALTER INDEX twin_sware.t_k SET (buffer_size = 64);
SELECT on_both('INSERT INTO t SELECT i * 7919 % 300000 * 100 + 4, 6 FROM generate_series(1, 1000) i');
SELECT buffer_entries FROM sware_stats('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t WHERE v > 0 ORDER BY k, v');

-- Unique keys, subtransactions, and rows that are rolled back.  (A unique index takes rows
-- of subtransactions at once.)
SELECT on_both('CREATE TABLE u (k int, v text)');
SELECT on_both('CREATE UNIQUE INDEX u_k ON u USING @am (k) INCLUDE (v)');
SELECT on_both('INSERT INTO u SELECT i * 100, ''base'' FROM generate_series(1, 300000) i');
BEGIN;
SELECT on_both('INSERT INTO u SELECT i * 7919 % 300000 * 100 + 1, ''kept'' FROM generate_series(1, 500) i');
SAVEPOINT s;
SELECT on_both('INSERT INTO u SELECT i * 7919 % 300000 * 100 + 2, ''undone''
	FROM generate_series(1, 500) i');
ROLLBACK TO s;
SELECT on_both('INSERT INTO u SELECT i * 7919 % 300000 * 100 + 3, ''kept, too''
	FROM generate_series(1, 500) i');
COMMIT;
SELECT buffer_entries BETWEEN 1500 AND 1520 AS are_scattered FROM sware_stats('twin_sware.u_k');
INSERT INTO twin_sware.u VALUES (791901, 'again');
SELECT check_all();
SELECT same_rows('SELECT k, v FROM u WHERE v <> ''base'' ORDER BY k');
SELECT drop_twins();
