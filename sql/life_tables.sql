-- More events in the life of tables, with entries in the tree, in the buffer and staged:
-- materialized views, tables made from queries, COPY with FREEZE, REINDEX of schemas and
-- into other tablespaces, and event triggers, which insert while a command runs. Other
-- events are in sql/buffer_life and sql/rebuild.
\set VERBOSITY terse
SET client_min_messages = warning;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_tables LOCATION '';
SET search_path = twin_sware, public;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);
INSERT INTO t SELECT i, 'tree ' || i FROM generate_series(1, 1000) i;
INSERT INTO t SELECT i * 5, 'buffer ' || i FROM generate_series(1, 200) i;
CREATE FUNCTION add(low int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT low + i, 'staged ' || i FROM generate_series(1, 50) i
$$;

-- Materialized views, with data and without.
CREATE MATERIALIZED VIEW m AS SELECT a, b, row_number() OVER (ORDER BY a, b) AS n FROM t;
CREATE INDEX m_a ON m USING sware (a);
CREATE INDEX m_b ON m USING sware (b);
SELECT verdict_on('m');
BEGIN;
SELECT add(2000);
REFRESH MATERIALIZED VIEW m;
SELECT verdict_on('m', 't');
SELECT add(3000);
SAVEPOINT s;
REFRESH MATERIALIZED VIEW m;
SELECT verdict_on('m', 't');
ROLLBACK TO s;
SELECT verdict_on('m', 't');
REFRESH MATERIALIZED VIEW m WITH NO DATA;
SELECT count(*) FROM m;
ROLLBACK TO s;
COMMIT;
SELECT verdict_on('m', 't');
REFRESH MATERIALIZED VIEW m WITH NO DATA;
REFRESH MATERIALIZED VIEW m;
SELECT verdict_on('m', 't');
-- CONCURRENTLY changes only the rows that differ, and needs a unique index.
REFRESH MATERIALIZED VIEW CONCURRENTLY m;
CREATE UNIQUE INDEX m_nbtree ON m USING btree (n);
UPDATE t SET a = a + 1 WHERE a % 20 = 0;
DELETE FROM t WHERE a % 20 = 7;
BEGIN;
SELECT add(4000);
REFRESH MATERIALIZED VIEW CONCURRENTLY m;
SELECT verdict_on('m');
ROLLBACK;
REFRESH MATERIALIZED VIEW CONCURRENTLY m;
VACUUM (INDEX_CLEANUP ON) m, t;
SELECT verdict_on('m'), (SELECT count(*) FROM t);
CLUSTER m USING m_a;
VACUUM FULL m;
SELECT verdict_on('m');
DROP MATERIALIZED VIEW m;

-- Tables made from queries that find rows by the index, including staged ones.
BEGIN;
SELECT add(5000);
SELECT allow_scans('index');
CREATE TABLE made AS SELECT a, b FROM t WHERE a > 900;
SELECT a, b INTO made_too FROM t WHERE b LIKE 'staged%' AND b > 's';
CREATE INDEX ON made USING sware (a);
CREATE INDEX ON made_too USING sware (b);
INSERT INTO made SELECT a, b FROM made;
INSERT INTO made_too SELECT * FROM made_too ORDER BY b DESC;
SELECT verdict_on('made', 'made_too', 't');
COMMIT;
SELECT verdict_on('made', 'made_too', 't');
CREATE TABLE like_t (LIKE t INCLUDING INDEXES INCLUDING STORAGE);
INSERT INTO like_t SELECT * FROM t;
SELECT verdict_on('like_t'),
	(SELECT count(*) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am m ON m.oid = relam
	WHERE indrelid = 'like_t'::regclass AND amname = 'sware') AS indexes;
DROP TABLE made, made_too, like_t;

-- COPY freezes rows of a table that the transaction made or truncated: its pages are
-- all-visible from the beginning.
BEGIN;
CREATE TABLE frozen (a int, b text);
CREATE INDEX frozen_a ON frozen USING sware (a);
CREATE INDEX frozen_b ON frozen USING sware (b) INCLUDE (a);
COPY frozen FROM stdin (FREEZE);
3	three
1	one
2	two
\.
SELECT verdict_on('frozen');
COMMIT;
SELECT allow_scans('indexonly');
SELECT a FROM frozen WHERE a > 0 ORDER BY a;
BEGIN;
TRUNCATE frozen;
COPY frozen FROM stdin (FREEZE);
5	five
4	four
\.
SAVEPOINT s;
COPY frozen FROM stdin;
7	seven
\.
ROLLBACK TO s;
COMMIT;
SELECT a FROM frozen WHERE a > 0 ORDER BY a;
SELECT b, a FROM frozen WHERE b > '' ORDER BY b;
BEGIN;
TRUNCATE frozen;
COPY frozen FROM stdin (FREEZE);
8	eight
\.
ROLLBACK;
SELECT a FROM frozen WHERE a > 0 ORDER BY a;
SELECT verdict_on('frozen');
DROP TABLE frozen;
RESET enable_seqscan;

-- REINDEX of a whole schema, and into another tablespace.
SELECT add(6000);
REINDEX SCHEMA twin_sware;
SELECT verdict_on('t');
SELECT add(7000);
REINDEX SCHEMA CONCURRENTLY twin_sware;
SELECT verdict_on('t');
SELECT add(8000);
REINDEX (TABLESPACE sware_tables) TABLE t;
SELECT verdict_on('t'),
	(SELECT count(*) FROM pg_class WHERE relname IN ('t_a', 't_b') AND reltablespace <> 0) AS moved;
SELECT add(9000);
REINDEX (TABLESPACE pg_default, CONCURRENTLY) INDEX t_a;
BEGIN;
SELECT add(10000);
REINDEX (TABLESPACE pg_default) INDEX t_b;
SELECT add(11000);
SAVEPOINT s;
REINDEX (TABLESPACE sware_tables) INDEX t_a;
SELECT add(12000);
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM pg_class WHERE relname IN ('t_a', 't_b') AND reltablespace <> 0;
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict_on('t');
ALTER INDEX ALL IN TABLESPACE pg_default OWNED BY CURRENT_USER SET TABLESPACE sware_tables NOWAIT;
SELECT verdict_on('t');
SELECT add(13000);
ALTER INDEX ALL IN TABLESPACE sware_tables SET TABLESPACE pg_default;
SELECT verdict_on('t');

-- Event triggers that insert into the tables of the command, at each of their events.
CREATE TABLE log (n int GENERATED ALWAYS AS IDENTITY, happened text);
CREATE INDEX log_happened ON log USING sware (happened);
CREATE INDEX log_n ON log USING sware (n);
CREATE FUNCTION note_command() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	low int := 20000 + 100 * (SELECT count(*) FROM log);
BEGIN
	INSERT INTO log (happened) VALUES (tg_event || ' ' || tg_tag);
	IF to_regclass('t') IS NOT NULL THEN
		INSERT INTO t SELECT low + i, tg_event FROM generate_series(1, 10) i;
		-- reads what it has just inserted
		PERFORM set_config('enable_seqscan', 'off', true);
		IF (SELECT count(*) FROM t WHERE a BETWEEN low AND low + 20) <> 10 THEN
			RAISE 'lost at %', tg_event;
		END IF;
		BEGIN
			INSERT INTO t SELECT low + i, 'gone' FROM generate_series(1, 10) i;
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END IF;
END
$$;
CREATE FUNCTION note_drop() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (happened) SELECT tg_event || ' ' || object_identity
		FROM pg_event_trigger_dropped_objects() WHERE object_type IN ('index', 'table');
	IF to_regclass('t') IS NOT NULL THEN
		INSERT INTO t SELECT 20000 + i, 'drop' FROM generate_series(1, 10) i;
	END IF;
END
$$;
CREATE FUNCTION note_rewrite() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (happened) VALUES (tg_event || ' ' || pg_event_trigger_table_rewrite_oid()::regclass);
END
$$;
CREATE EVENT TRIGGER sware_start ON ddl_command_start EXECUTE FUNCTION note_command();
CREATE EVENT TRIGGER sware_end ON ddl_command_end EXECUTE FUNCTION note_command();
CREATE EVENT TRIGGER sware_drop ON sql_drop EXECUTE FUNCTION note_drop();
CREATE EVENT TRIGGER sware_rewrite ON table_rewrite EXECUTE FUNCTION note_rewrite();
BEGIN;
SELECT add(14000);
CREATE INDEX t_ab ON t USING sware (a, b);
SELECT add(15000);
ALTER INDEX t_ab SET (fillfactor = 50);
DROP INDEX t_ab;
SELECT verdict_on('t', 'log');
ALTER TABLE t ALTER b TYPE varchar;
ALTER TABLE t ALTER b TYPE text USING b || '';
ALTER TABLE t ADD c timestamp DEFAULT clock_timestamp();
SELECT add(16000), verdict_on('t', 'log');
SAVEPOINT s;
DROP INDEX t_a;
ALTER TABLE t SET UNLOGGED;
SELECT add(17000), verdict_on('t', 'log');
ROLLBACK TO s;
ALTER TABLE t DROP c;
ALTER INDEX t_a SET TABLESPACE sware_tables;
CREATE TABLE one_more (a int);
CREATE INDEX ON one_more USING sware (a);
INSERT INTO one_more VALUES (1);
DROP TABLE one_more;
COMMIT;
SELECT happened, count(*) FROM log GROUP BY happened ORDER BY happened COLLATE "C";
VACUUM (INDEX_CLEANUP ON) t, log;
SELECT verdict_on('t', 'log');
CREATE MATERIALIZED VIEW m AS SELECT a FROM t;
REFRESH MATERIALIZED VIEW m;
DROP TABLE t CASCADE;
SELECT count(*) FROM log WHERE happened ~ 'sql_drop';
SELECT verdict_on('log');
DROP EVENT TRIGGER sware_start;
DROP EVENT TRIGGER sware_end;
DROP EVENT TRIGGER sware_drop;
DROP EVENT TRIGGER sware_rewrite;
RESET search_path;
SELECT drop_twins();
DROP TABLESPACE sware_tables;
