-- What can happen to an index in its life, with entries in its tree, in its buffer, and
-- staged by the same transaction: committed, rolled back, and rolled back to a
-- savepoint.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET search_path = twin_sware, public;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_life LOCATION '';

-- Says whether scans of the indexes find the rows that a sequential scan finds.
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found_rows text[];
	way text;
	index regclass;
	buffered bigint := 0;
BEGIN
	IF to_regclass('t') IS NULL THEN
		RETURN 'no table';
	END IF;
	FOREACH way IN ARRAY '{seq,index,indexonly,bitmap}'::text[] LOOP
		PERFORM allow_scans(way);
		found_rows := found_rows
			|| (SELECT count(*) || coalesce(md5(string_agg(a::text, ',' ORDER BY a)), '') FROM t WHERE a >= 0)
			|| (SELECT count(*) || coalesce(md5(string_agg(b, ',' ORDER BY b)), '') FROM t WHERE b >= '');
	END LOOP;
	FOR i IN 3 .. 8 LOOP
		IF found_rows[i] <> found_rows[2 - i % 2] THEN
			RETURN 'DIFFERENT: ' || found_rows::text;
		END IF;
	END LOOP;
	FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid LOOP
		PERFORM sware_check(index, true);
		buffered := buffered + (SELECT buffer_entries FROM sware_stats(index));
	END LOOP;
	RETURN format('%s rows, %s entries buffered', (SELECT count(*) FROM t), buffered);
END
$$;

-- 1000 rows in the tree, 200 in the buffer.
CREATE PROCEDURE fill(persistence text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL client_min_messages = warning;
	DROP TABLE IF EXISTS t, dropped;
	EXECUTE format('CREATE %s TABLE t (a int, b text)', persistence);
	CREATE INDEX t_a ON t USING sware (a);
	CREATE INDEX t_b ON t USING sware (b);
	INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 1000) i;
	COMMIT;
	INSERT INTO t SELECT i * 5, 'buffered ' || i FROM generate_series(1, 100) i;
	COMMIT;
	INSERT INTO t SELECT 1000 + i, 'buffered ' || i FROM generate_series(101, 200) i;
	COMMIT;
	PERFORM count(*) FROM t WHERE a >= 0;
END
$$;

CREATE FUNCTION insert_some(low int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('t') IS NOT NULL THEN
		INSERT INTO t SELECT low + i, 'staged ' || i FROM generate_series(1, 40) i;
	END IF;
END
$$;

-- An event in the middle of a transaction, once for each way in which that can end.
CREATE PROCEDURE live_through(event text, persistence text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	CALL fill(persistence);
	PERFORM insert_some(2000);
	EXECUTE event;
	PERFORM insert_some(3000);
	COMMIT;
	RAISE NOTICE '%: %', event, verdict();
	COMMIT;

	CALL fill(persistence);
	PERFORM insert_some(2000);
	EXECUTE event;
	PERFORM insert_some(3000);
	ROLLBACK;
	RAISE NOTICE '  rolled back: %', verdict();
	PERFORM insert_some(4000);
	COMMIT;
	RAISE NOTICE '  and then: %', verdict();
	COMMIT;

	CALL fill(persistence);
	PERFORM insert_some(2000);
	BEGIN
		PERFORM insert_some(3000);
		EXECUTE event;
		PERFORM insert_some(4000);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	PERFORM insert_some(5000);
	RAISE NOTICE '  rolled back to a savepoint: %', verdict();
	COMMIT;
	RAISE NOTICE '  and committed: %', verdict();
	COMMIT;
END
$$;

CALL live_through('SELECT');
CALL live_through('CREATE INDEX t_c ON t USING sware (a, b)');
CALL live_through('REINDEX INDEX t_a');
CALL live_through('REINDEX TABLE t');
CALL live_through('TRUNCATE t');
CALL live_through('ALTER INDEX t_a SET TABLESPACE sware_life');
CALL live_through('ALTER TABLE t SET TABLESPACE sware_life');
CALL live_through('ALTER TABLE t ALTER a TYPE bigint');
CALL live_through('ALTER TABLE t ADD c int DEFAULT random() * 10');
CALL live_through('CLUSTER t USING t_a');
CALL live_through('ALTER TABLE t SET UNLOGGED');
CALL live_through('ALTER TABLE t SET LOGGED', 'UNLOGGED');
CALL live_through('SELECT sware_flush(''t_a'')');
CALL live_through('DELETE FROM t WHERE a % 2 = 0');
CALL live_through('UPDATE t SET a = a + 1');
CALL live_through('ALTER INDEX t_a SET (buffer_size = 64)');
CALL live_through('ALTER TABLE t RENAME TO dropped; DROP TABLE dropped');

-- Commands that cannot run in a transaction block.
CALL fill();
VACUUM FULL t;
SELECT verdict();
CALL fill();
VACUUM t;
SELECT verdict();
CALL fill();
CREATE INDEX CONCURRENTLY t_c ON t USING sware (b, a);
SELECT verdict();
REINDEX INDEX CONCURRENTLY t_a;
SELECT insert_some(6000);
SELECT verdict();
REINDEX TABLE CONCURRENTLY t;
SELECT insert_some(7000);
SELECT verdict();
DROP INDEX CONCURRENTLY t_a;
SELECT insert_some(8000);
SELECT verdict();
DROP INDEX t_b, t_c;
SELECT verdict();

-- A table is made, filled and truncated in one transaction: it keeps its file.
DROP TABLE t;
BEGIN;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);
SELECT insert_some(1000);
SELECT verdict();
TRUNCATE t;
SELECT insert_some(2000);
SELECT verdict();
SAVEPOINT s;
TRUNCATE t;
SELECT insert_some(3000);
SELECT verdict();
ROLLBACK TO s;
SELECT verdict();
TRUNCATE t;
SELECT verdict();
SELECT insert_some(4000);
COMMIT;
SELECT verdict();

-- Prepared transactions.
CALL fill();
BEGIN;
SELECT insert_some(2000);
PREPARE TRANSACTION 'sware_life_1';
BEGIN;
SELECT insert_some(3000);
PREPARE TRANSACTION 'sware_life_2';
SELECT verdict();
SELECT sware_flush('t_a'), sware_flush('t_b');
COMMIT PREPARED 'sware_life_1';
SELECT verdict();
ROLLBACK PREPARED 'sware_life_2';
SELECT verdict();
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
CALL fill();
BEGIN;
SELECT insert_some(2000);
TRUNCATE t;
SELECT insert_some(3000);
PREPARE TRANSACTION 'sware_life_3';
ROLLBACK PREPARED 'sware_life_3';
SELECT verdict();
SELECT insert_some(4000);
SELECT verdict();

-- Temporary tables have no buffer.
CREATE TEMPORARY TABLE temporary_t (a int);
CREATE INDEX temporary_a ON temporary_t USING sware (a);
INSERT INTO temporary_t SELECT generate_series(1, 100);
INSERT INTO temporary_t SELECT generate_series(50, 200);
SELECT allow_scans('indexonly');
SELECT count(*), count(DISTINCT a) FROM temporary_t WHERE a > 0;
SELECT buffer_entries, buffer_pages FROM sware_stats('temporary_a');
SELECT sware_flush('temporary_a');
BEGIN;
INSERT INTO temporary_t SELECT generate_series(300, 400);
TRUNCATE temporary_t;
INSERT INTO temporary_t SELECT generate_series(400, 410);
ROLLBACK;
SELECT count(*), count(DISTINCT a) FROM temporary_t WHERE a > 0;
SELECT sware_check('temporary_a', true);

DROP TABLE t, temporary_t;
DROP TABLESPACE sware_life;
DROP PROCEDURE fill, live_through;
DROP FUNCTION verdict, insert_some;
