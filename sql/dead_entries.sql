--
-- Entries of dead rows: scans mark them, and later scans skip them. Without VACUUM, they
-- are removed from leaves that need room, or never get there.
--
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET sware.enable_buffer = off;	-- leaves first
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- Returns the numbers of marked items of an index, and of all its items.
CREATE FUNCTION marked(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s of %s', count(*) FILTER (WHERE dead), count(dead))
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) AS block,
		sware_page_stats(index, block) AS page, sware_page_items(index, block) AS item
	WHERE page.kind = 'leaf'
$$;

CREATE TABLE twin_sware.d (k int, v text) WITH (fillfactor = 100);
CREATE INDEX d_k ON twin_sware.d USING sware (k);
INSERT INTO twin_sware.d SELECT i, 'x' FROM generate_series(1, 300) i;
DELETE FROM twin_sware.d WHERE k <= 100;
SELECT marked('twin_sware.d_k');
-- An index scan that visits dead rows marks their entries ...
SELECT count(v) FROM twin_sware.d WHERE k BETWEEN 51 AND 120;
SELECT marked('twin_sware.d_k');
-- ... backward, too, and once only.
SELECT count(v) FROM (SELECT v FROM twin_sware.d WHERE k < 60 ORDER BY k DESC) AS backward;
SELECT marked('twin_sware.d_k');
SELECT count(v) FROM twin_sware.d WHERE k < 1000;
SELECT marked('twin_sware.d_k');
-- Each mark has been counted once.
SELECT entries_marked FROM sware_stats('twin_sware.d_k');
SELECT sware_check('twin_sware.d_k', true);
-- An index-only scan marks, too.
DELETE FROM twin_sware.d WHERE k BETWEEN 201 AND 210;
SELECT count(k) FROM twin_sware.d WHERE k BETWEEN 195 AND 220;
SELECT marked('twin_sware.d_k');
-- A row that its own transaction has deleted is not dead to everybody.
BEGIN;
DELETE FROM twin_sware.d WHERE k BETWEEN 221 AND 230;
SELECT count(v) FROM twin_sware.d WHERE k BETWEEN 221 AND 230;
ROLLBACK;
SELECT marked('twin_sware.d_k');
-- Rows that were rolled back are dead to everybody.
BEGIN;
INSERT INTO twin_sware.d SELECT 1000 + i, 'x' FROM generate_series(1, 10) i;
ROLLBACK;
SELECT count(v) FROM twin_sware.d WHERE k > 1000;
SELECT marked('twin_sware.d_k');

-- Indexes that are not logged are marked as well.
CREATE TEMP TABLE unlogged_rows (k int, v text);
CREATE INDEX unlogged_rows_k ON unlogged_rows USING sware (k);
INSERT INTO unlogged_rows SELECT i, 'x' FROM generate_series(1, 20) i;
CREATE UNLOGGED TABLE twin_sware.unlogged_rows (k int, v text);
CREATE INDEX unlogged_rows_k ON twin_sware.unlogged_rows USING sware (k);
INSERT INTO twin_sware.unlogged_rows SELECT i, 'x' FROM generate_series(1, 20) i;
DELETE FROM pg_temp.unlogged_rows WHERE k <= 5;
DELETE FROM twin_sware.unlogged_rows WHERE k <= 5;
SELECT count(v) FROM pg_temp.unlogged_rows WHERE k < 10;
SELECT count(v) FROM twin_sware.unlogged_rows WHERE k < 10;
SELECT marked('pg_temp.unlogged_rows_k'), marked('twin_sware.unlogged_rows_k');
DROP TABLE pg_temp.unlogged_rows, twin_sware.unlogged_rows;

-- A new entry of a marked key is found.
INSERT INTO twin_sware.d SELECT i, 'new' FROM generate_series(1, 100) i;
SELECT count(v), count(DISTINCT k) FROM twin_sware.d WHERE k BETWEEN 1 AND 100;
SELECT sware_check('twin_sware.d_k', true);
VACUUM twin_sware.d;
SELECT marked('twin_sware.d_k');
SELECT sware_check('twin_sware.d_k', true);

-- A posting list is marked when all its rows are dead, and loses its mark when
-- it gets another one.
CREATE TABLE twin_sware.p (k int, v text);
INSERT INTO twin_sware.p SELECT 1 + i / 50, 'x' FROM generate_series(0, 149) i;
CREATE INDEX p_k ON twin_sware.p USING sware (k);
SELECT marked('twin_sware.p_k');
DELETE FROM twin_sware.p WHERE k = 1 AND ctid <> '(0,1)';
SELECT count(v) FROM twin_sware.p WHERE k = 1;
SELECT marked('twin_sware.p_k');
DELETE FROM twin_sware.p WHERE k = 1;
SELECT count(v) FROM twin_sware.p WHERE k = 1;
SELECT marked('twin_sware.p_k');
SELECT entries_marked FROM sware_stats('twin_sware.p_k');
-- VACUUM frees the TIDs of the first 50 rows, and every other one of the next 50: of 75
-- new rows, the last 25 have TIDs within the range of the list.
DELETE FROM twin_sware.p WHERE k = 2 AND (ctid::text::point)[1]::int % 2 = 0;
VACUUM twin_sware.p;
DELETE FROM twin_sware.p WHERE k = 2;
SELECT count(v) FROM twin_sware.p WHERE k = 2;
SELECT marked('twin_sware.p_k');
INSERT INTO twin_sware.p SELECT 2, 'new' FROM generate_series(1, 75);
SELECT count(v) FROM twin_sware.p WHERE k = 2;
SELECT sware_check('twin_sware.p_k', true);

-- Hot rows of a unique index stay on their leaf.
CREATE TABLE twin_sware.h (id int, n int) WITH (fillfactor = 50);
INSERT INTO twin_sware.h SELECT i, 0 FROM generate_series(1, 20) i;
CREATE UNIQUE INDEX h_id ON twin_sware.h USING sware (id);
CREATE INDEX h_n ON twin_sware.h USING sware (n);	-- so that no update is HOT
DO $$
BEGIN
	FOR i IN 1 .. 200 LOOP
		UPDATE twin_sware.h SET n = i WHERE id = 1 + i % 20;
		COMMIT;
		PERFORM n FROM twin_sware.h WHERE id = 1 + i % 20;
	END LOOP;
	FOR i IN 1 .. 5000 LOOP
		UPDATE twin_sware.h SET n = i WHERE id = 1 + i % 20;
		COMMIT;
	END LOOP;
END $$;
SELECT pg_relation_size('twin_sware.h_id') / current_setting('block_size')::int AS pages;
SELECT entries_deleted > 4000 AS many_deleted FROM sware_stats('twin_sware.h_id');
SELECT sware_check('twin_sware.h_id', true), sware_check('twin_sware.h_n', true);
SELECT count(*), max(n) FROM twin_sware.h WHERE id BETWEEN 1 AND 20;

-- No look-up marks entries: older versions of one row make room for the next one.
CREATE TABLE twin_sware.b (id int, n int) WITH (fillfactor = 50);
INSERT INTO twin_sware.b SELECT i, 0 FROM generate_series(1, 20) i;
CREATE INDEX b_id ON twin_sware.b USING sware (id) WITH (deduplicate_items = off);
CREATE INDEX b_n ON twin_sware.b USING sware (n);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
DO $$
BEGIN
	FOR i IN 1 .. 5000 LOOP
		UPDATE twin_sware.b SET n = i WHERE id = 1 + i % 20;
		COMMIT;
	END LOOP;
END $$;
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
SELECT pg_relation_size('twin_sware.b_id') / current_setting('block_size')::int AS pages;
SELECT entries_deleted > 4000 AS many_deleted FROM sware_stats('twin_sware.b_id');
SELECT sware_check('twin_sware.b_id', true);
SELECT count(*), max(n) FROM twin_sware.b WHERE id BETWEEN 1 AND 20;

-- The table looks for them in the blocks that have most of one row's versions, here 7, and so
-- not in the block of the other rows, of which the leaf has 150.
CREATE TABLE twin_sware.o (id int, n int, v text);
INSERT INTO twin_sware.o SELECT i * 7 % 151, 0 FROM generate_series(1, 150) i;
CREATE INDEX o_id ON twin_sware.o USING sware (id) WITH (deduplicate_items = off);
CREATE INDEX o_n ON twin_sware.o USING sware (n);
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
DO $$
BEGIN
	FOR i IN 1 .. 2000 LOOP
		UPDATE twin_sware.o SET n = i, v = repeat('v', 1000) WHERE id = 75;
		-- no version is dead before, so that none makes room in its block
		IF i % 50 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
SELECT leaf_splits, entries_deleted > 1700 AS many_deleted FROM sware_stats('twin_sware.o_id');
-- A leaf is full, with 96 entries, and the only dead one is the last.
CREATE TABLE twin_sware.n (id int, n int);
CREATE INDEX n_id ON twin_sware.n USING sware (id, (repeat('x', 60))) WITH (deduplicate_items = off);
CREATE INDEX n_n ON twin_sware.n USING sware (n);
DO $$
BEGIN
	FOR i IN 1 .. 96 LOOP
		INSERT INTO twin_sware.n VALUES (least(i, 95), i);
		COMMIT;
	END LOOP;
END $$;
DELETE FROM twin_sware.n WHERE n = 96;
UPDATE twin_sware.n SET n = 0 WHERE id = 5;
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
SELECT leaf_splits, entries_deleted FROM sware_stats('twin_sware.n_id');

-- The same with entries that come to the tree as a run, from one statement ...
RESET sware.enable_buffer;
TRUNCATE twin_sware.b;
INSERT INTO twin_sware.b SELECT i, 0 FROM generate_series(1, 1000) i;
SELECT entries_deleted AS deleted_before FROM sware_stats('twin_sware.b_id') \gset
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_seqscan = on;
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		UPDATE twin_sware.b SET n = i;
		COMMIT;
	END LOOP;
END $$;
SELECT entries_deleted - :deleted_before > 10000 AS many_deleted FROM sware_stats('twin_sware.b_id');
-- ... and with entries that come from the buffer.
TRUNCATE twin_sware.b;
INSERT INTO twin_sware.b SELECT i, 0 FROM generate_series(1, 100) i;
SELECT entries_deleted AS deleted_before FROM sware_stats('twin_sware.b_id') \gset
DO $$
BEGIN
	FOR i IN 1 .. 5000 LOOP
		UPDATE twin_sware.b SET n = i WHERE id = 1 + i % 100;
		COMMIT;
		IF i % 100 = 0 THEN
			PERFORM sware_flush('twin_sware.b_id');
			COMMIT;
		END IF;
	END LOOP;
END $$;
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
SELECT entries_deleted - :deleted_before > 2000 AS many_deleted FROM sware_stats('twin_sware.b_id');
SELECT sware_check('twin_sware.b_id', true);
SELECT count(*), max(n) FROM twin_sware.b WHERE id BETWEEN 1 AND 1000;
SET sware.enable_buffer = off;

-- Where VACUUM has removed entries, others find room before a leaf is split.
CREATE TABLE twin_sware.g (k int, t text COLLATE "C");
INSERT INTO twin_sware.g SELECT i, repeat('x', i % 40) FROM generate_series(1, 2000) i;
CREATE INDEX g_k ON twin_sware.g USING sware (k) WITH (fillfactor = 100);
CREATE INDEX g_t ON twin_sware.g USING sware (t, k) WITH (fillfactor = 100);
SELECT pg_relation_size('twin_sware.g_k') AS k_before, pg_relation_size('twin_sware.g_t') AS t_before \gset
DELETE FROM twin_sware.g WHERE k % 3 = 0;
VACUUM twin_sware.g;
SELECT sware_check('twin_sware.g_k', true), sware_check('twin_sware.g_t', true);
INSERT INTO twin_sware.g SELECT i, repeat('x', i % 40) FROM generate_series(3, 2000, 3) i;
SELECT sware_check('twin_sware.g_k', true), sware_check('twin_sware.g_t', true);
SELECT pg_relation_size('twin_sware.g_k') = :k_before AS k_as_large,
	pg_relation_size('twin_sware.g_t') = :t_before AS t_as_large;
SELECT count(*), count(DISTINCT k) FROM twin_sware.g WHERE k > 0;

-- Entries in the buffer are marked where they are read: on open pages, on sealed ones,
-- and in sorted zones, of which shared memory has copies.
RESET sware.enable_buffer;
-- Returns the numbers of marked entries of buffer pages that are open or sealed, and of all.
CREATE FUNCTION marked_in_buffer(index regclass, wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s of %s', count(*) FILTER (WHERE dead), count(dead))
	FROM sware_buffer_pages(index) AS page, sware_page_items(index, page.block) AS item
	WHERE page.state = wanted
$$;
-- Inserts rows, each in a transaction of its own.
CREATE PROCEDURE trickle(rows text, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('INSERT INTO %s VALUES ($1, $2)', rows) USING i, 'x';
		COMMIT;
	END LOOP;
END $$;
CREATE TABLE twin_sware.m (k int, v text);
CREATE INDEX m_k ON twin_sware.m USING sware (k);
CALL trickle('twin_sware.m', 1, 100);
DELETE FROM twin_sware.m WHERE k <= 40;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
-- An index scan marks, in both directions; a row that it has not met stays as it is.
SELECT count(v) FROM twin_sware.m WHERE k <= 10;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
SELECT count(v) FROM (SELECT v FROM twin_sware.m WHERE k < 21 ORDER BY k DESC) AS backward;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
-- An index-only scan, which looks at rows of buffered entries itself, marks, too.
SELECT count(k) FROM twin_sware.m WHERE k < 31;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
SELECT entries_marked FROM sware_stats('twin_sware.m_k');
-- A bitmap scan marks nothing, as with nbtree; it leaves marked entries out.
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = on;
SELECT count(v) FROM twin_sware.m WHERE k < 41;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
-- How many entries does a bitmap scan find?
CREATE FUNCTION found_by_bitmap(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) '
		|| 'SELECT v FROM ' || condition LOOP
		IF line ~ 'Bitmap Index Scan' THEN
			RETURN substring(line FROM 'rows=(\d+)');
		END IF;
	END LOOP;
END $$;
SELECT found_by_bitmap('twin_sware.m WHERE k < 41');
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_bitmapscan = off;
-- A row that its own transaction has deleted is not dead to everybody; one that was
-- rolled back is.
BEGIN;
DELETE FROM twin_sware.m WHERE k BETWEEN 51 AND 60;
SELECT count(v) FROM twin_sware.m WHERE k BETWEEN 51 AND 60;
ROLLBACK;
SELECT marked_in_buffer('twin_sware.m_k', 'open');
SELECT sware_check('twin_sware.m_k', true);
-- Marks stay when the page is sealed. Entries of sealed pages are marked as well, and
-- stay marked when they are sorted: the first look-up of many sorts.
CALL trickle('twin_sware.m', 101, 3000);
SELECT count(*) > 3 AS many_sealed FROM sware_buffer_pages('twin_sware.m_k') WHERE state = 'sealed';
SELECT split_part(marked_in_buffer('twin_sware.m_k', 'sealed'), ' ', 1) AS marked;
DELETE FROM twin_sware.m WHERE k BETWEEN 200 AND 299 OR k BETWEEN 1000 AND 1099;
SELECT count(v) FROM twin_sware.m WHERE k BETWEEN 150 AND 250;
SELECT split_part(marked_in_buffer('twin_sware.m_k', 'sealed'), ' ', 1) AS marked;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = on;
DO $$
BEGIN
	-- until the pages are in a sorted zone
	FOR i IN 1 .. 1000 LOOP
		PERFORM v FROM twin_sware.m WHERE k = i;
	END LOOP;
END $$;
SELECT found_by_bitmap('twin_sware.m WHERE k BETWEEN 150 AND 250'),
	found_by_bitmap('twin_sware.m WHERE k BETWEEN 1000 AND 1099');
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_bitmapscan = off;
SELECT count(v), count(k) FROM twin_sware.m WHERE k BETWEEN 1000 AND 1099;
SELECT split_part(marked_in_buffer('twin_sware.m_k', 'sealed'), ' ', 1) AS marked;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = on;
SELECT found_by_bitmap('twin_sware.m WHERE k BETWEEN 1000 AND 1099');
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_bitmapscan = off;
SELECT sware_check('twin_sware.m_k', true);
SELECT count(v), sum(k) FROM twin_sware.m WHERE k > 0;
-- A search of a sorted zone compares marked entries as what they are. Each row has a page
-- of its own, so that the TIDs are such that a pivot of one column could have them.
CREATE TABLE twin_sware.z (a int, b int, filler text);
ALTER TABLE twin_sware.z ALTER filler SET STORAGE PLAIN;
CREATE INDEX z_a_b ON twin_sware.z USING sware (a, b);
DO $$
BEGIN
	FOR i IN 1 .. 1200 LOOP
		INSERT INTO twin_sware.z VALUES (1, i, repeat('x', 5000));
		COMMIT;
	END LOOP;
END $$;
DELETE FROM twin_sware.z WHERE b BETWEEN 401 AND 800;
SELECT count(filler) FROM twin_sware.z WHERE a = 1 AND b < 900;
DO $$
BEGIN
	FOR i IN 1 .. 500 LOOP
		PERFORM filler FROM twin_sware.z WHERE a = 1 AND b = i;
	END LOOP;
END $$;
SELECT count(filler) FROM twin_sware.z WHERE a = 1 AND b BETWEEN 351 AND 400;
SELECT sum((SELECT count(filler) FROM twin_sware.z WHERE a = 1 AND b = i)) AS found
FROM generate_series(1, 1200) i;
-- A scan that has met dead entries does not mark others, in the sorted zone that has taken
-- the place of the one that it read.
CREATE TABLE twin_sware.y (k int, v text);
CREATE INDEX y_k ON twin_sware.y USING sware (k);
CALL trickle('twin_sware.y', 1, 3000);
-- Looks up keys, until all sealed pages are in a sorted zone.
CREATE PROCEDURE look_up(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM v FROM twin_sware.y WHERE k = i;
	END LOOP;
END $$;
CALL look_up(1, 1000);
DELETE FROM twin_sware.y WHERE k BETWEEN 2 AND 6;
BEGIN;
DECLARE reader CURSOR FOR SELECT k, v FROM twin_sware.y ORDER BY k;
FETCH 2 FROM reader;
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		INSERT INTO twin_sware.y SELECT -j, 'y' FROM generate_series(150 * i - 149, 150 * i) AS j;
		SET CONSTRAINTS ALL IMMEDIATE;	-- publishes the rows
	END LOOP;
END $$;
CALL look_up(-1000, -1);
FETCH 4 FROM reader;
COMMIT;
SELECT count(v) FROM twin_sware.y WHERE k < 0;

-- Flushed entries get to the tree without their marks, and those of dead rows do not.
SELECT sware_flush('twin_sware.m_k') > 0 AS flushed;
SELECT entries_dropped FROM sware_stats('twin_sware.m_k');
SELECT marked('twin_sware.m_k');
SELECT sware_check('twin_sware.m_k', true);
SELECT count(v), sum(k) FROM twin_sware.m WHERE k > 0;
-- Where few rows are dead, a flush asks the table about marked entries only.
CREATE TABLE twin_sware.f (k int, v text);
CREATE INDEX f_k ON twin_sware.f USING sware (k);
CALL trickle('twin_sware.f', 1, 3000);
DELETE FROM twin_sware.f WHERE k BETWEEN 1501 AND 1515;
SELECT count(v) FROM twin_sware.f WHERE k BETWEEN 1501 AND 1510;
SELECT sware_flush('twin_sware.f_k') > 0 AS flushed;
SELECT entries_dropped FROM sware_stats('twin_sware.f_k');
SELECT marked('twin_sware.f_k');
SELECT sware_check('twin_sware.f_k', true);

-- The planner of PostgreSQL 18 and later looks for the largest key, and marks dead entries
-- that it meets at the end of an index: in the buffer ...
SELECT CASE WHEN current_setting('server_version_num')::int >= 180000 THEN '10' ELSE '0' END AS ten \gset
CREATE TABLE twin_sware.e (k int, v text) WITH (autovacuum_enabled = off);
CREATE INDEX e_k ON twin_sware.e USING sware (k);
CALL trickle('twin_sware.e', 1, 100);
ANALYZE twin_sware.e;
DELETE FROM twin_sware.e WHERE k > 90;
EXPLAIN (COSTS off) SELECT k FROM twin_sware.e WHERE k > 1000;
SELECT marked_in_buffer('twin_sware.e_k', 'open') = :'ten' || ' of 100' AS as_expected;
-- ... and in the tree.
SELECT sware_flush('twin_sware.e_k') > 0 AS flushed;
DELETE FROM twin_sware.e WHERE k > 80;
EXPLAIN (COSTS off) SELECT k FROM twin_sware.e WHERE k > 1000;
SELECT marked('twin_sware.e_k') = :'ten' || ' of 90' AS as_expected;

-- Look-ups of unique keys mark, too.
CREATE TABLE twin_sware.u (k int, v text);
CREATE UNIQUE INDEX u_k ON twin_sware.u USING sware (k);
CALL trickle('twin_sware.u', 1, 20);
DELETE FROM twin_sware.u WHERE k <= 10;
SELECT marked_in_buffer('twin_sware.u_k', 'open');
CALL trickle('twin_sware.u', 1, 5);
SELECT marked_in_buffer('twin_sware.u_k', 'open');
SELECT count(v), count(DISTINCT k) FROM twin_sware.u WHERE k > 0;
INSERT INTO twin_sware.u VALUES (3, 'again');
SELECT sware_check('twin_sware.u_k', true);

-- An index that is not logged, in the same way.
CREATE UNLOGGED TABLE twin_sware.l (k int, v text);
CREATE INDEX l_k ON twin_sware.l USING sware (k);
CALL trickle('twin_sware.l', 1, 20);
DELETE FROM twin_sware.l WHERE k <= 5;
SELECT count(v) FROM twin_sware.l WHERE k < 10;
SELECT marked_in_buffer('twin_sware.l_k', 'open');
DROP TABLE twin_sware.m, twin_sware.z, twin_sware.f, twin_sware.e, twin_sware.u, twin_sware.l;
DROP FUNCTION marked_in_buffer(regclass, text);
DROP FUNCTION found_by_bitmap(text);
DROP PROCEDURE trickle(text, int, int);

-- Rows that live shorter than their entries are in the buffer cost no leaf.
CREATE TABLE twin_sware.q (id int, v text);
CREATE INDEX q_id ON twin_sware.q USING sware (id);
DO $$
BEGIN
	FOR i IN 1 .. 3000 LOOP
		INSERT INTO twin_sware.q VALUES (i, 'job');
		DELETE FROM twin_sware.q WHERE id = i - 10;
		COMMIT;
	END LOOP;
END $$;
SELECT sware_flush('twin_sware.q_id') = 3000 AS all_flushed;
SELECT entries_dropped >= 2900 AS nearly_all_dropped, entries_inserted + entries_appended <= 100 AS few_stored
FROM sware_stats('twin_sware.q_id');
SELECT sware_check('twin_sware.q_id', true);
SELECT count(v), min(id), max(id) FROM twin_sware.q WHERE id > 0;

DROP TABLE twin_sware.d, twin_sware.p, twin_sware.h, twin_sware.b, twin_sware.g, twin_sware.q, twin_sware.y;
DROP TABLE twin_sware.o, twin_sware.n;
DROP FUNCTION marked(regclass);
