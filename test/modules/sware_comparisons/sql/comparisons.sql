-- Where comparison and hash functions are called: everything here is done with
-- functions that raise an error in the wrong place.
\set VERBOSITY terse
LOAD 'sware';
CREATE EXTENSION sware_comparisons;

-- Which functions were called since the last time; whether a comparison was made with
-- no page locked, and whether one was with several.
CREATE FUNCTION watched(OUT compared bool, OUT unlocked bool, OUT hashed bool, OUT one_page_at_most bool)
LANGUAGE sql AS $$
	SELECT comparisons > 0, comparisons_unlocked > 0, hashes > 0, most_locked_pages <= 1 FROM sware_watched()
$$;
-- Each statement commits, so that the rows go to the buffer.
CREATE PROCEDURE insert_numbers(target text, first int, last int, at_once int DEFAULT 20)
	LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. (last - first) / at_once LOOP
		EXECUTE format('INSERT INTO %s SELECT i * 7919 %% 100003, i FROM generate_series(%s, %s) i',
			target, first + i * at_once, least(first + (i + 1) * at_once - 1, last));
		COMMIT;
	END LOOP;
END $$;
-- The numbers that a query returns, with the kind of its plan.
CREATE FUNCTION answer(query text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found bigint;
BEGIN
	PERFORM set_config('enable_' || name,
		(name = way OR name = 'indexscan' AND way = 'indexonlyscan')::text, true)
	FROM unnest('{seqscan,indexscan,indexonlyscan,bitmapscan}'::text[]) name;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		EXIT WHEN line ~ '(Index|Bitmap|Index Only) Scan';
	END LOOP;
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO found;
	RETURN format('%s: %s rows', substring(line, '[A-Z].*(?= using| on)'), found);
END $$;

-- Inserts that commit one by one.
CREATE TABLE t (k int, v int) WITH (autovacuum_enabled = off);
CREATE INDEX t_k ON t USING sware (k watching_ops) WITH (buffer_size = 1024);
CALL insert_numbers('t', 1, 2000);
CALL insert_numbers('t', 2001, 2040, 1);
INSERT INTO t SELECT i * 7919 % 100003, i FROM generate_series(2041, 2060) i ON CONFLICT DO NOTHING;
SELECT * FROM watched();
SELECT buffer_entries FROM sware_stats('t_k');
VACUUM ANALYZE t;
SELECT sware_check('t_k', true);
SELECT * FROM watched();

-- A load: its runs go to the tree, above and below its entries, and the rest goes to
-- the buffer.
INSERT INTO t SELECT i + CASE WHEN i % 100 = 0 THEN -1000 ELSE 200000 END, i
	FROM generate_series(2061, 10000) i;
CALL insert_numbers('t', 10001, 14000);
SELECT * FROM watched();

-- Scans, of buffer and tree.
SET enable_sort = off;
SET work_mem = '64kB';
SET max_parallel_workers_per_gather = 0;
SELECT answer('SELECT k, v FROM t WHERE k > 0 ORDER BY k OFFSET 0', 'indexscan');
SELECT * FROM watched();
SELECT answer('SELECT k, v FROM t WHERE k BETWEEN 50 AND 150000 ORDER BY k DESC OFFSET 0', 'indexscan');
SELECT answer('SELECT k FROM t WHERE k < 60000 ORDER BY k OFFSET 0', 'indexonlyscan');
SELECT answer('SELECT k FROM t WHERE k < 60000 ORDER BY k DESC OFFSET 0', 'indexonlyscan');
SELECT * FROM watched();
SELECT answer('SELECT k, v FROM t WHERE k > 100', 'bitmapscan');
SELECT * FROM watched();
SELECT answer('SELECT k, v FROM t WHERE k === 7919', 'indexscan');
SELECT answer('SELECT k, v FROM t WHERE k === 7920', 'indexscan');
SELECT answer('SELECT k, v FROM t WHERE k === ANY (ARRAY[7919, 15838, -7, 99999, 206061])', 'indexscan');
SELECT answer('SELECT k, v FROM t WHERE k === ANY (ARRAY[7919, 15838, -7, 99999, 206061])', 'bitmapscan');
SELECT * FROM watched();
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM t ORDER BY k;
MOVE 1500 FROM c;
INSERT INTO t SELECT i, i FROM generate_series(300001, 300100) i;
MOVE BACKWARD 700 FROM c;
MOVE 6000 FROM c;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT answer('SELECT k, v FROM t WHERE k === 7919', 'indexscan');
INSERT INTO t VALUES (7, 7);
COMMIT;
SELECT * FROM watched();

-- The same without sorted zones: everything is read from pages.
CREATE TABLE r (k int, v int) WITH (autovacuum_enabled = off);
CREATE INDEX r_k ON r USING sware (k watching_ops) WITH (buffer_size = 1024, sort_threshold = 100);
INSERT INTO r SELECT 10 * i, i FROM generate_series(1, 5000) i;
CALL insert_numbers('r', 5001, 9000);
SELECT * FROM watched();
SELECT answer('SELECT k, v FROM r WHERE k > 0 ORDER BY k OFFSET 0', 'indexscan');
SELECT answer('SELECT k FROM r WHERE k BETWEEN 50 AND 90000 ORDER BY k DESC OFFSET 0', 'indexonlyscan');
SELECT answer('SELECT k, v FROM r WHERE k > 100', 'bitmapscan');
SELECT answer('SELECT k, v FROM r WHERE k === 5002 * 7919 % 100003', 'indexscan');
SELECT * FROM watched();

-- Marks, and going back to them: merge joins work with the built-in equality only.
CREATE OPERATOR CLASS watching_joins_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 sware_compare_watching(int, int);
CREATE TABLE m (k int, v int) WITH (autovacuum_enabled = off);
CREATE INDEX m_k ON m USING sware (k watching_joins_ops) WITH (buffer_size = 1024);
INSERT INTO m SELECT i % 400, i FROM generate_series(1, 1000) i;
CALL insert_numbers('m', 1, 1000);
CALL insert_numbers('m', 1, 1000);
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SET enable_seqscan = off;
SET enable_indexscan = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM m a JOIN m b ON a.k = b.k;
SELECT count(*) FROM m a JOIN m b ON a.k = b.k;
SELECT * FROM watched();

-- In parallel: the workers' errors come here.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT answer('SELECT sum(v) FROM t WHERE k > 100', 'indexscan');
SET max_parallel_workers_per_gather = 0;
CREATE INDEX ON t USING sware (k watching_ops);
SELECT * FROM watched();

-- Flushes: of pieces, and of everything. VACUUM.
CALL insert_numbers('t', 14001, 30000, 100);
SELECT flushes > 0 AS flushed FROM sware_stats('t_k');
SELECT * FROM watched();
SELECT sware_flush('t_k') > 0 AS flushed;
SELECT * FROM watched();
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
DELETE FROM t WHERE k % 3 = 0 OR k BETWEEN 1000 AND 9000;
CALL insert_numbers('t', 30001, 30400);
VACUUM (INDEX_CLEANUP ON, PARALLEL 0) t;
SELECT sware_check('t_k', true), sware_check('t_k_idx', true);
SELECT compared, unlocked, one_page_at_most FROM watched();

-- A unique index: rows that are inserted directly, found among the newest, refused;
-- staged, in order and not.
CREATE TABLE u (k int, v int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX u_k ON u USING sware (k watching_ops) WITH (buffer_size = 1024);
CALL insert_numbers('u', 1, 2000);
SELECT * FROM watched();
INSERT INTO u VALUES (7919, 0);
INSERT INTO u VALUES (2000 * 7919 % 100003, 0);
SELECT * FROM watched();
INSERT INTO u SELECT 200000 + i, i FROM generate_series(1, 3000) i;
INSERT INTO u SELECT 210000 - i, i FROM generate_series(1, 3000) i;
INSERT INTO u SELECT 300000 + i % 300, i FROM generate_series(1, 301) i;
SELECT * FROM watched();
SELECT answer('SELECT k, v FROM u WHERE k > 0 ORDER BY k OFFSET 0', 'indexscan');
UPDATE u SET k = k + 1000000;
SELECT * FROM watched();
VACUUM u;
SELECT sware_check('u_k', true);

-- Temporary and unlogged tables.
CREATE TEMP TABLE p (k int, v int);
CREATE INDEX p_k ON p USING sware (k watching_ops);
CALL insert_numbers('p', 1, 2000);
SELECT answer('SELECT k, v FROM p WHERE k > 0 ORDER BY k OFFSET 0', 'indexscan');
CREATE UNLOGGED TABLE n (k int, v int);
CREATE INDEX n_k ON n USING sware (k watching_ops);
CALL insert_numbers('n', 1, 2000);
SELECT answer('SELECT k, v FROM n WHERE k > 0 ORDER BY k OFFSET 0', 'indexscan');
SELECT sware_check('n_k', true), sware_check('p_k', true);
SELECT * FROM watched();
