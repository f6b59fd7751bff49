-- Events in the life of unique indexes, with entries in the tree, in the buffer, and of
-- the running transaction. Afterwards each index finds each row, and refuses a second
-- one with its key, wherever the first one's entry is.
\set VERBOSITY terse
SET search_path = twin_sware, public;
SET client_min_messages = warning;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_unique LOCATION '';

-- 1000 rows in the tree, 100 in the buffer; a is unique, b where it is not null, and
-- c case-insensitively.
CREATE PROCEDURE fill(persistence text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t CASCADE;
	EXECUTE format('CREATE %s TABLE t (a int, b numeric, c text)', persistence);
	CREATE UNIQUE INDEX t_a ON t USING sware (a);
	CREATE UNIQUE INDEX t_b ON t USING sware (b) INCLUDE (a);
	CREATE UNIQUE INDEX t_c ON t USING sware (lower(c));
	INSERT INTO t SELECT i, nullif(i % 10, 0) * 0 + i, 'Row ' || i FROM generate_series(1, 1000) i;
	COMMIT;
	PERFORM sware_flush('t_a'), sware_flush('t_b'), sware_flush('t_c');
	INSERT INTO t SELECT i, nullif(i % 10, 0) * 0 + i, 'Row ' || i FROM generate_series(1001, 1100) i;
	COMMIT;
END
$$;
CALL fill();
CREATE FUNCTION add(low int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('t') IS NOT NULL THEN
		INSERT INTO t SELECT i, nullif(i % 10, 0) * 0 + i, 'Row ' || i
			FROM generate_series(low + 1, low + 40) i;
	END IF;
END
$$;
-- Inserts each row a second time, with a key that one of the indexes must refuse.
-- Returns how often a key that is not null was let in.
CREATE FUNCTION let_in() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one_row t;
	wrong int := 0;
BEGIN
	FOR one_row IN SELECT * FROM t WHERE a % 97 = 0 OR (a > 1000 AND a % 11 = 0) LOOP
		BEGIN
			INSERT INTO t VALUES (one_row.a, NULL, NULL);
			wrong := wrong + 1;
		EXCEPTION WHEN unique_violation THEN
		END;
		BEGIN
			INSERT INTO t VALUES (NULL, one_row.b::numeric(20, 3), NULL);
			wrong := wrong + (one_row.b IS NOT NULL)::int;
		EXCEPTION WHEN unique_violation THEN
		END;
		BEGIN
			INSERT INTO t VALUES (NULL, NULL, upper(one_row.c));
			wrong := wrong + 1;
		EXCEPTION WHEN unique_violation THEN
		END;
	END LOOP;
	RETURN CASE WHEN wrong = 0 THEN 'unique' ELSE wrong || ' LET IN' END;
END
$$;
-- Rows that were let in are removed again.
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	BEGIN
		result := let_in();
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN result || ', ' || regexp_replace(verdict_on('t'), ', \d+ stale', '');
END
$$;
CREATE PROCEDURE live_through(event text, persistence text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	CALL fill(persistence);
	PERFORM add(2000);
	EXECUTE event;
	PERFORM add(3000);
	COMMIT;
	RAISE WARNING '%: %', event, verdict();
	COMMIT;
	CALL fill(persistence);
	PERFORM add(2000);
	BEGIN
		PERFORM add(3000);
		EXECUTE event;
		PERFORM add(4000);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	PERFORM add(4000);
	COMMIT;
	RAISE WARNING '  rolled back: %', verdict();
	COMMIT;
END
$$;
CALL live_through('SELECT');
CALL live_through('REINDEX TABLE t');
CALL live_through('TRUNCATE t');
CALL live_through('DELETE FROM t WHERE a % 2 = 0');
CALL live_through('UPDATE t SET a = a + 100000');
CALL live_through('UPDATE t SET a = -a, b = -b, c = c || c');
CALL live_through('CLUSTER t USING t_a');
CALL live_through('ALTER TABLE t ALTER a TYPE bigint');
CALL live_through('ALTER TABLE t ADD d int DEFAULT random() * 10');
CALL live_through('ALTER INDEX t_a SET TABLESPACE sware_unique');
CALL live_through('ALTER TABLE t SET UNLOGGED');
CALL live_through('ALTER TABLE t SET LOGGED', 'UNLOGGED');
CALL live_through('SELECT', 'UNLOGGED');
CALL live_through('ALTER INDEX t_a SET (buffer_size = 0)');
CALL live_through('ALTER INDEX t_a RENAME TO t_x; ALTER INDEX t_x RENAME TO t_a');
CALL live_through('DROP INDEX t_b;
	CREATE UNIQUE INDEX t_b ON t USING sware (b) INCLUDE (a) WITH (fillfactor = 50)');
CALL live_through('SELECT sware_flush(''t_a''), sware_flush(''t_c'')');
CALL live_through('SET LOCAL sware.enable_buffer = off');

-- Commands that are tried in one way only.
CALL fill();
VACUUM FULL t;
SELECT verdict();
-- This is not rolled back: entries that were inserted afterwards would have TIDs of a
-- file that is gone. nbtree has the same problem.
BEGIN;
SELECT add(5000);
ALTER TABLE t SET TABLESPACE sware_unique;
SELECT add(5500);
COMMIT;
SELECT verdict();
ALTER TABLE t SET TABLESPACE pg_default;
REINDEX TABLE CONCURRENTLY t;
SELECT verdict();
SELECT add(6000);
CREATE UNIQUE INDEX CONCURRENTLY t_d ON t USING sware (a, b);
DROP INDEX CONCURRENTLY t_d;
DELETE FROM t WHERE a > 1000;
VACUUM (INDEX_CLEANUP ON) t;
SELECT add(5000), add(1000), verdict();

-- COPY inserts several rows at once, one of which is there already.
COPY t FROM stdin;
20001	20001	copied
20002	20002	copied too
500	20003	copied never
\.
COPY t FROM stdin;
20001	20001	copied
20002	20002	copied too
\.
BEGIN;
CREATE TABLE made (a int);
CREATE UNIQUE INDEX made_a ON made USING sware (a);
COPY made FROM stdin (FREEZE);
2
1
\.
SAVEPOINT s;
COPY made FROM stdin (FREEZE);
3
2
\.
ROLLBACK TO s;
INSERT INTO made VALUES (3);
COMMIT;
INSERT INTO made VALUES (1);
INSERT INTO made VALUES (3);
SELECT verdict_on('made'), verdict();
DROP TABLE made;

-- Tables made and emptied in one transaction.
BEGIN;
CREATE TABLE made (a int);
CREATE UNIQUE INDEX made_a ON made USING sware (a);
INSERT INTO made SELECT generate_series(1, 1000);
TRUNCATE made;
INSERT INTO made SELECT generate_series(1, 100);
SAVEPOINT s;
TRUNCATE made;
INSERT INTO made SELECT generate_series(1, 200);
ROLLBACK TO s;
INSERT INTO made VALUES (100);
ROLLBACK TO s;
INSERT INTO made VALUES (101);
COMMIT;
SELECT verdict_on('made');
CREATE TEMPORARY TABLE emptied (a int) ON COMMIT DELETE ROWS;
CREATE UNIQUE INDEX emptied_a ON emptied USING sware (a);
BEGIN;
INSERT INTO emptied VALUES (1), (2);
COMMIT;
BEGIN;
INSERT INTO emptied VALUES (1), (2);
INSERT INTO emptied VALUES (2);
COMMIT;
DROP TABLE emptied, made;

-- Prepared transactions.
CALL fill();
BEGIN;
SELECT add(2000);
DELETE FROM t WHERE a <= 500;
PREPARE TRANSACTION 'sware_unique';
ROLLBACK PREPARED 'sware_unique';
SELECT verdict();
BEGIN;
DELETE FROM t WHERE a <= 500;
SELECT add(2000);
PREPARE TRANSACTION 'sware_unique';
COMMIT PREPARED 'sware_unique';
SELECT add(100), verdict();

-- Partitions with unique indexes of their own.
CREATE TABLE p (a int, b numeric, c text) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (-10000) TO (1000);
CREATE UNIQUE INDEX p1_b ON p1 USING sware (b);
ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (1000) TO (100000);
DELETE FROM t WHERE a < 1000;
ALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (1000) TO (100000);
INSERT INTO p SELECT i, 100000 + i, 'p ' || i FROM generate_series(0, 500) i;
UPDATE p SET a = a - 5000 WHERE a BETWEEN 2000 AND 2010;
UPDATE p SET a = 1050 WHERE a = 5;
UPDATE p SET a = 50, b = 100006 WHERE a = 1050;
UPDATE p SET a = 5000 WHERE a = 5;
VACUUM (INDEX_CLEANUP ON) p1, t;
SELECT verdict_on('p1', 't');
ALTER TABLE p DETACH PARTITION t;
SELECT verdict();

DROP TABLE t CASCADE;
DROP TABLE p;
DROP TABLESPACE sware_unique;
RESET search_path;
SELECT drop_twins();
