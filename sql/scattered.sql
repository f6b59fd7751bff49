-- Transactions of many rows whose keys are within the tree: entries that would come to a
-- leaf one by one wait in the buffer for others; those in company go to the tree at once.
SET sware.fault_buffer = on;
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

-- What the buffer takes is limited in bytes, not in entries: here it is a page.
SELECT on_both('CREATE TABLE w (k text COLLATE "C")');
SELECT on_both('CREATE INDEX w_k ON w USING @am (k)');
ALTER INDEX twin_sware.w_k SET (buffer_size = 128);
SELECT on_both('INSERT INTO w SELECT to_char(i, ''000000'') || repeat(''w'', 90)
	FROM generate_series(1, 30000) i');
SELECT on_both('INSERT INTO w SELECT
	CASE i WHEN 1 THEN '''' ELSE to_char(i * 97, ''000000'') || repeat(''x'', 90) END
	FROM generate_series(1, 300) i');
SELECT buffer_entries BETWEEN 50 AND 80 AS is_a_page FROM sware_stats('twin_sware.w_k');
SELECT check_all();
SELECT same_rows('SELECT k FROM w ORDER BY k');

-- What the buffer does not take goes to the tree, too: here it is beyond its limit.
SELECT on_both('CREATE TABLE b (k int)');
SELECT on_both('CREATE INDEX b_k ON b USING @am (k)');
SELECT on_both('INSERT INTO b SELECT i * 100 FROM generate_series(1, 300000) i');
DO $$
BEGIN
	FOR n IN 1 .. 26 LOOP
		PERFORM on_both(format('INSERT INTO b
			SELECT i * 7919 %% 300000 * 100 + %s FROM generate_series(1, 1000) i', n));
		COMMIT;
	END LOOP;
END $$;
SELECT buffer_entries > 25000 AS are_many FROM sware_stats('twin_sware.b_k');
ALTER INDEX twin_sware.b_k SET (buffer_size = 128);
SELECT entries_buffered AS before FROM sware_stats('twin_sware.b_k') \gset
SELECT on_both('INSERT INTO b SELECT i * 7919 % 300000 * 100 + 50 FROM generate_series(1, 1000) i');
SELECT entries_buffered - :before BETWEEN 1 AND 507 AS are_refused FROM sware_stats('twin_sware.b_k');
SELECT check_all();
SELECT same_rows('SELECT k FROM b WHERE k % 100 > 0 ORDER BY k');

-- Where many rows are updated, their versions take the place of dead ones.
SELECT on_both('CREATE TABLE r (k int, v int) WITH (autovacuum_enabled = off)');
SELECT on_both('CREATE INDEX r_k ON r USING @am (k)');
SELECT on_both('CREATE INDEX r_v ON r USING @am (v)');
SELECT on_both('INSERT INTO r SELECT i, 0 FROM generate_series(1, 5000) i');
\o /dev/null
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT pg_relation_size('twin_sware.r_k') AS size \gset
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
SELECT on_both('UPDATE r SET v = v + 1 WHERE k BETWEEN 500 AND 4500');
\o
SELECT pg_relation_size('twin_sware.r_k') <= 1.1 * :size AS has_not_grown;
SELECT check_all();
SELECT same_rows('SELECT k, v FROM r ORDER BY k');

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
