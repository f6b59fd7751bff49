-- Errors in the middle of publishing, flushing, vacuuming and scanning, at each fault
-- point. Rows that were committed are found, once; rows that were rolled back are not;
-- and the next attempt succeeds.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a) WITH (buffer_size = 64);

-- Says whether scans of the index find the rows that a sequential scan finds.
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found_rows text[];
	way text;
BEGIN
	FOREACH way IN ARRAY '{seq,index,indexonly,bitmap}'::text[] LOOP
		PERFORM allow_scans(way);
		found_rows := found_rows
			|| (SELECT count(*) || coalesce(md5(string_agg(a || ' ' || b, ',' ORDER BY a, b)), '')
									 FROM (SELECT a, b FROM t WHERE a >= 0) s);
	END LOOP;
	FOREACH way IN ARRAY found_rows LOOP
		IF way <> found_rows[1] THEN
			RETURN 'DIFFERENT: ' || found_rows::text;
		END IF;
	END LOOP;
	PERFORM sware_check('t_a', true);
	RETURN format('%s rows', (SELECT count(*) FROM t));
END
$$;

-- Runs a statement that is to fail at a fault point, in a subtransaction.
CREATE FUNCTION failing(point text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('sware.fault_points', point || '=error', true);
	EXECUTE statement;
	PERFORM set_config('sware.fault_points', '', true);
	RETURN 'NO ERROR';
EXCEPTION WHEN internal_error THEN
	RETURN SQLERRM;
END
$$;

-- Some rows in the tree, some in the buffer.
INSERT INTO t SELECT i * 3, 'tree' FROM generate_series(1, 1000) i;
INSERT INTO t SELECT i * 3 + 1, 'buffer' FROM generate_series(1, 200) i;
SELECT buffer_entries, verdict() FROM sware_stats('t_a');

-- Flushing.
SELECT point, failing(point, 'SELECT sware_flush(''t_a'')'), verdict()
FROM unnest('{flush-sealed,flush-sorted,flush-inserted}'::text[]) point;
INSERT INTO t SELECT i * 3 + 2, 'next' FROM generate_series(1, 50) i;
SELECT sware_flush('t_a'), verdict();
INSERT INTO t SELECT i * 3 + 1, 'more' FROM generate_series(201, 400) i;
SELECT failing('flush-retiring', 'SELECT sware_flush(''t_a'')'), verdict();
INSERT INTO t SELECT i * 3 + 1, 'more' FROM generate_series(401, 600) i;
SELECT failing('flush-retired', 'SELECT sware_flush(''t_a'')'), verdict();
SELECT sware_flush('t_a'), verdict();

-- A flush fails in the tree, when a leaf has been split but has no downlink yet.
INSERT INTO t SELECT 1500, 'split ' || i FROM generate_series(1, 250) i;
INSERT INTO t SELECT 1501 + i % 3, 'split ' || i FROM generate_series(1, 250) i;
SELECT failing('split-downlink', 'SELECT sware_flush(''t_a'')'), verdict();
INSERT INTO t SELECT 1500 + i % 7, 'after the split ' || i FROM generate_series(1, 250) i;
SELECT sware_flush('t_a'), verdict();

-- VACUUM.
DELETE FROM t WHERE a % 4 = 0;
INSERT INTO t SELECT i * 3, 'before VACUUM' FROM generate_series(1, 100) i;
SET sware.fault_points = 'flush-inserted=error';
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
SET sware.fault_points = 'vacuum-flushed=error';
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
SET sware.fault_points = 'vacuum-waited=error';
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
INSERT INTO t SELECT i * 3, 'during VACUUM' FROM generate_series(101, 200) i;
SET sware.fault_points = 'retired-freeing=error';
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
RESET sware.fault_points;
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict(), buffer_entries FROM sware_stats('t_a');

-- Publishing at COMMIT: the transaction is rolled back.
SET sware.fault_points = 'publish-begins=error';
INSERT INTO t SELECT i * 3, 'lost' FROM generate_series(1, 100) i;
SELECT verdict();
SET sware.fault_points = 'publish-stored=error';
INSERT INTO t SELECT i * 3, 'lost' FROM generate_series(1, 100) i;
SELECT verdict();
SET sware.fault_points = 'publish-sorted=error';
INSERT INTO t SELECT i * 3, 'lost' FROM generate_series(1, 1000) i;
SELECT verdict();
BEGIN;
INSERT INTO t SELECT i * 3, 'lost' FROM generate_series(1, 1000) i;
PREPARE TRANSACTION 'sware_errors';
RESET sware.fault_points;
SELECT verdict();

-- Publishing by a scan, in a subtransaction: the entries stay staged. Those that have
-- been stored already are stored again.
BEGIN;
INSERT INTO t SELECT i * 3, 'kept' FROM generate_series(1, 100) i;
SELECT point, failing(point, 'SELECT sware_check(''t_a'')')
FROM unnest('{publish-begins,publish-stored}'::text[]) point;
SELECT verdict();
COMMIT;
SELECT verdict();
BEGIN;
INSERT INTO t SELECT i * 3, 'rolled back' FROM generate_series(1, 100) i;
SELECT failing('publish-stored', 'SELECT sware_check(''t_a'')');
ROLLBACK;
SELECT verdict();

-- While a full page is replaced by the next one; in a flush of a piece, by an insert;
-- and right after an entry was stored without being staged.
SET sware.fault_points = 'buffer-page-full=error';
DO $$ BEGIN FOR n IN 1 .. 5 LOOP
	INSERT INTO t SELECT n * 250 + i, 'page' FROM generate_series(1, 250) i;
	COMMIT;
END LOOP; END $$;
RESET sware.fault_points;
SELECT verdict();
SET sware.fault_points = 'flush-inserted=error';
DO $$ BEGIN FOR n IN 1 .. 30 LOOP
	INSERT INTO t SELECT n * 250 + i, 'piece' FROM generate_series(1, 250) i;
	COMMIT;
END LOOP; END $$;
RESET sware.fault_points;
SELECT verdict();
SELECT failing('insert-stored', 'INSERT INTO t VALUES (5, ''lost'') ON CONFLICT DO NOTHING');
SELECT verdict();

-- Scans.
SELECT allow_scans('index', 'indexonly');
SELECT point, failing(point, 'SELECT count(*) FROM t WHERE a > 0')
FROM unnest('{batch-begins,batch-read,scan-buffer-read}'::text[]) point;
SELECT verdict();

-- A flush drops entries of dead rows, including those that are there twice.
BEGIN;
INSERT INTO t SELECT 100000 + i, 'twice' FROM generate_series(1, 100) i;
SELECT failing('publish-stored', 'SELECT sware_check(''t_a'')');
COMMIT;
DELETE FROM t WHERE b = 'twice';
SELECT entries_dropped AS dropped_before FROM sware_stats('t_a') \gset
SELECT failing('flush-dead-dropped', 'SELECT sware_flush(''t_a'')'), verdict();

-- In the end the indexes are sound.
SELECT sware_flush('t_a') > 0 AS moved, verdict();
SELECT entries_dropped - :dropped_before >= 200 AS dropped FROM sware_stats('t_a');
DELETE FROM t;
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict(), buffer_entries, buffer_pages FROM sware_stats('t_a');
SELECT sum(heap_tids) FROM generate_series(1, pg_relation_size('t_a') / 8192 - 1) block,
	sware_page_stats('t_a', block);
DROP TABLE t;
DROP FUNCTION verdict, failing;
