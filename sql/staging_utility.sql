-- Commands that move rows, or make and drop indexes, in a transaction that has just
-- inserted rows; and rollbacks of these.
SET search_path = twin_sware, public;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_staging LOCATION '';
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);
SELECT allow_scans('index', 'bitmap');

-- Lists faults: an index must find each row once, and must have no other entries.
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	index_oid regclass;
	rows bigint := (SELECT count(*) FROM t);
	found bigint;
	expected bigint := current_setting('staging.rows');
BEGIN
	PERFORM check_all();
	IF rows <> expected THEN
		RETURN format('%s rows instead of %s', rows, expected);
	END IF;
	FOR index_oid IN
		SELECT c.oid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
		WHERE indrelid = 't'::regclass AND amname = 'sware'
	LOOP
		IF stored_entries(index_oid) <> rows THEN
			result := concat_ws(', ', result,
				format('%s has %s entries for %s rows', index_oid, stored_entries(index_oid), rows));
		END IF;
	END LOOP;
	PERFORM set_config('enable_sort', 'off', true);
	SELECT count(*) INTO found FROM (SELECT a FROM t WHERE a > 0 ORDER BY a) s;
	IF found <> rows THEN
		result := concat_ws(', ', result, format('%s rows found by a', found));
	END IF;
	SELECT count(*) INTO found FROM (SELECT b FROM t WHERE b > '' ORDER BY b) s;
	IF found <> rows THEN
		result := concat_ws(', ', result, format('%s rows found by b', found));
	END IF;
	RETURN coalesce(result, 'well');
END
$$;
-- Each command is put into each of these transactions.
CREATE TABLE public.commands (number int GENERATED ALWAYS AS IDENTITY,
	command text, rows_before int DEFAULT 100);
INSERT INTO commands (command, rows_before) VALUES
	('CREATE INDEX t_c ON t USING sware (a, b)', 100),
	('CREATE INDEX t_c ON t USING btree (a)', 100),
	('REINDEX INDEX t_a', 100),
	('REINDEX TABLE t', 100),
	('TRUNCATE t', 0),
	('ALTER TABLE t ALTER a TYPE bigint', 100),
	('ALTER TABLE t ADD c float8 DEFAULT random()', 100),
	('ALTER TABLE t ALTER b TYPE varchar(100)', 100),
	('ALTER INDEX t_a SET TABLESPACE sware_staging', 100),
	('ALTER TABLE t SET TABLESPACE sware_staging', 100),
	('ALTER TABLE t SET UNLOGGED', 100),
	('CLUSTER t USING t_b', 100),
	('DROP INDEX t_a', 100),
	('ALTER INDEX t_a SET (buffer_size = 64, fillfactor = 50)', 100),
	('ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME x TO a', 100),
	('ALTER TABLE t DROP COLUMN b; ALTER TABLE t ADD b text DEFAULT ''again''', 100),
	('DROP TABLE t; CREATE TABLE t (a int, b text); CREATE INDEX ON t USING sware (b)', 0),
	('ANALYZE t', 100),
	('LOCK TABLE t', 100),
	('CREATE MATERIALIZED VIEW m AS SELECT * FROM t', 100),
	('DO ''BEGIN EXECUTE ''''REINDEX TABLE t''''; END''', 100);
CREATE FUNCTION reset() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL client_min_messages = warning;
	DROP MATERIALIZED VIEW IF EXISTS m;
	DROP TABLE IF EXISTS t;
	CREATE TABLE t (a int, b text);
	CREATE INDEX t_a ON t USING sware (a);
	CREATE INDEX t_b ON t USING sware (b);
	INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 50) i;
END
$$;
CREATE FUNCTION add_rows(low int, high int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, 'b' || i FROM generate_series(low, high) i;
END
$$;
CREATE TABLE public.verdicts (number int, verdict text);
\o /dev/null
\set ECHO none
-- Committed.
SELECT 'SELECT reset()', 'BEGIN', 'SELECT add_rows(51, 100)', command, 'SELECT add_rows(101, 130)', 'COMMIT',
	   format('SET staging.rows = %s', rows_before + 30),
	   format('INSERT INTO verdicts VALUES (%s, verdict())', number)
FROM commands ORDER BY number \gexec
-- Rolled back to before the command, and more inserted.
SELECT 'SELECT reset()', 'BEGIN', 'SELECT add_rows(51, 100)',
	'SAVEPOINT s', command, 'SELECT add_rows(101, 120)',
	   'ROLLBACK TO s', 'SELECT add_rows(121, 150)', 'COMMIT',
	   'SET staging.rows = 130', format('INSERT INTO verdicts VALUES (%s, verdict())', number)
FROM commands ORDER BY number \gexec
-- In a savepoint that is released; later savepoints are rolled back.
SELECT 'SELECT reset()', 'BEGIN', 'SELECT add_rows(51, 80)',
	'SAVEPOINT s', 'SELECT add_rows(81, 100)', command, 'RELEASE s',
	   'SELECT add_rows(101, 120)', 'SAVEPOINT s', 'REINDEX TABLE t',
	   'SELECT add_rows(121, 150)', 'TRUNCATE t',
	   'SELECT add_rows(1, 10)', 'ROLLBACK TO s', 'SELECT add_rows(151, 160)', 'COMMIT',
	   format('SET staging.rows = %s', rows_before + 30),
	   format('INSERT INTO verdicts VALUES (%s, verdict())', number)
FROM commands ORDER BY number \gexec
-- The transaction is rolled back; entries that were stored by then are left for VACUUM.
SELECT 'SELECT reset()', 'BEGIN', 'SELECT add_rows(51, 100)',
	command, 'SELECT add_rows(101, 120)', 'ROLLBACK',
	   'SELECT add_rows(51, 100)', 'VACUUM (INDEX_CLEANUP ON) t',
	   'SET staging.rows = 100', format('INSERT INTO verdicts VALUES (%s, verdict())', number)
FROM commands ORDER BY number \gexec
\set ECHO all
\o
SELECT command, array_agg(verdict) AS verdicts FROM commands
	LEFT JOIN verdicts USING (number) GROUP BY number, command ORDER BY number;

-- A trigger on TRUNCATE inserts into the next table that is truncated. Its staged entries
-- must be dropped, since other rows get the same TIDs.
SELECT reset();
CREATE TABLE x (a int);
CREATE FUNCTION audit_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, 'truncated' FROM generate_series(1001, 1010) i;
	RETURN NULL;
END
$$;
CREATE TRIGGER truncated BEFORE TRUNCATE ON x FOR EACH STATEMENT EXECUTE FUNCTION audit_truncate();
SET staging.rows = 30;
BEGIN;
SELECT add_rows(51, 60);
TRUNCATE x, t;
SELECT add_rows(1, 30);
COMMIT;
SELECT verdict(), (SELECT count(*) FROM t WHERE a > 1000);
BEGIN;
SELECT add_rows(31, 40);
SAVEPOINT s;
TRUNCATE x, t;
SELECT add_rows(1, 5);
ROLLBACK TO s;
SELECT add_rows(41, 50);
COMMIT;
SET staging.rows = 50;
-- Rows that a command's triggers insert are not staged: if they are rolled back, their
-- entries are left in the index, for VACUUM.
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
BEGIN;
SAVEPOINT s;
SELECT add_rows(51, 60);
TRUNCATE x, t;
RELEASE s;
SELECT add_rows(1, 7);
SAVEPOINT s;
TRUNCATE x, t;
ROLLBACK TO s;
TRUNCATE x, t;
SELECT add_rows(1, 9);
COMMIT;
SET staging.rows = 9;
SELECT verdict();

-- An event trigger inserts when a command has begun, which then rewrites the
-- table or makes the index anew.
CREATE FUNCTION audit_command() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM add_rows(2001, 2010);
END
$$;
DELETE FROM t WHERE a < 5;
VACUUM t;
CREATE EVENT TRIGGER command_begun ON ddl_command_start WHEN TAG IN ('ALTER TABLE', 'CREATE INDEX')
	EXECUTE FUNCTION audit_command();
BEGIN;
ALTER TABLE t ADD c float8 DEFAULT random();
SELECT add_rows(11, 20);
COMMIT;
SET staging.rows = 25;
SELECT verdict();
BEGIN;
SAVEPOINT s;
CREATE INDEX t_c ON t USING sware (a, b);
SELECT add_rows(21, 25);
ROLLBACK TO s;
CREATE INDEX t_c ON t USING sware (a, b);
SELECT add_rows(21, 30);
COMMIT;
SET staging.rows = 45;
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();

-- A command that hands an index's file to a new index, without a build.
DROP INDEX t_c;
ALTER TABLE t ALTER b TYPE varchar(50);
BEGIN;
ALTER TABLE t ALTER b TYPE varchar(100);
COMMIT;
SET staging.rows = 65;
SELECT verdict();
DROP EVENT TRIGGER command_begun;

-- A table made in the same transaction, truncated in place.
BEGIN;
DROP TABLE t;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
SELECT add_rows(1, 3000);
SAVEPOINT s;
TRUNCATE t;
SELECT add_rows(1, 20);
RELEASE s;
TRUNCATE t;
SELECT add_rows(1, 10);
COMMIT;
SET staging.rows = 10;
SELECT verdict();

RESET search_path;
DROP TABLE commands, verdicts;
SELECT drop_twins();
DROP TABLESPACE sware_staging;
