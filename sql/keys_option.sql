-- The index of a key keeps the option that makes it a sware index again, and what would
-- make another kind of index of it is refused, or said.
SET client_min_messages = error;
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
CREATE TABLE t (id int PRIMARY KEY WITH (sware), a int, b int, "C" int,
	CONSTRAINT t_a UNIQUE (a) INCLUDE (b) WITH (sware),
	CONSTRAINT t_x EXCLUDE USING sware ("C" WITH =) WITH (sware));
CREATE UNIQUE INDEX t_b ON t USING sware (b) WITH (sware);
INSERT INTO t SELECT i, i, i, i FROM generate_series(1, 100) i;

-- The option.
ALTER INDEX t_pkey RESET (sware);
\set VERBOSITY terse
ALTER INDEX t_pkey SET (sware = off);
ALTER INDEX t_a RESET (sware, fillfactor);
ALTER INDEX t_pkey SET (fillfactor = 50, sware = 0);
BEGIN;
SAVEPOINT s;
ALTER INDEX t_a SET (sware = false);
ROLLBACK TO s;
ALTER INDEX t_a SET (sware = yes);
COMMIT;
-- Those of others are free to have it or not.
ALTER INDEX t_b RESET (sware);
ALTER INDEX t_b SET (sware);
ALTER INDEX t_x RESET (sware);
SELECT relname, reloptions FROM pg_class
WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass) ORDER BY 1;
-- A hand in the catalog is noticed by sware_check.
UPDATE pg_class SET reloptions = NULL WHERE oid = 't_a'::regclass;
\set VERBOSITY default
SELECT sware_check('t_a', true);
ALTER INDEX t_a SET (sware);
SELECT sware_check('t_a', true), sware_check('t_x', true), sware_check('t_b', true);

-- Types of columns.
CREATE VIEW keys AS
SELECT conrelid::regclass, conname, amname
FROM pg_constraint JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE contype IN ('p', 'u') ORDER BY conrelid::regclass::text, conname;
ALTER TABLE t ALTER id TYPE bigint;
-- What the hint says works.
CREATE FUNCTION follow_hint(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	hint := regexp_replace(hint, '^[^:]*: ', '');
	EXECUTE hint;
	RETURN hint;
END $$;
SELECT follow_hint('ALTER TABLE t ALTER id TYPE bigint');
CREATE TEMP TABLE "T" ("A b" int, c int,
	CONSTRAINT "K k" UNIQUE ("A b", c) INCLUDE (c) WITH (sware, fillfactor = 70) DEFERRABLE);
SELECT follow_hint('ALTER TABLE "T" ALTER "A b" TYPE varchar(7)');
ALTER TABLE t ALTER COLUMN b SET DATA TYPE numeric(10,2) USING b + 1;
ALTER TABLE t ALTER "C" TYPE bigint;
\set VERBOSITY terse
ALTER TABLE IF EXISTS t ADD d int, ALTER id TYPE bigint;
CREATE TABLE heir (e int, PRIMARY KEY (id, "C") WITH (sware)) INHERITS (t);
\set VERBOSITY default
ALTER TABLE t ALTER "C" TYPE int;
SELECT follow_hint('ALTER TABLE t ALTER "C" TYPE int');
ALTER TABLE ONLY t ALTER "C" TYPE int;
CREATE ROLE regress_sware_keys;
SET ROLE regress_sware_keys;
ALTER TABLE t ALTER id TYPE int;
RESET ROLE;
DROP ROLE regress_sware_keys;
SELECT sware_check('t_pkey', true), sware_check('t_a', true), sware_check('t_x', true);
SELECT * FROM keys WHERE conrelid = 't'::regclass;
\if :is_18
CREATE TABLE g (id int, twice int GENERATED ALWAYS AS (id * 2) STORED UNIQUE WITH (sware));
\set VERBOSITY default
ALTER TABLE g ALTER twice SET EXPRESSION AS (id * 3);
\set VERBOSITY terse
ALTER TABLE g DROP CONSTRAINT g_twice_key, ALTER twice SET EXPRESSION AS (id * 3),
	ADD UNIQUE (twice) WITH (sware);
DROP TABLE g;
\endif
\set VERBOSITY default

-- Partitions that come with a key of the other kind get a second index.
SET client_min_messages = error;
CREATE TABLE p (id int, a int) PARTITION BY LIST (id);
ALTER TABLE p ADD CONSTRAINT p_id UNIQUE (id);
CREATE TABLE p1 (a int, id int CONSTRAINT p1_id UNIQUE WITH (sware));
CREATE TABLE p2 (id int UNIQUE, a int UNIQUE WITH (sware));
SET client_min_messages = notice;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
ALTER TABLE p ATTACH PARTITION nothing FOR VALUES IN (3);
SELECT * FROM keys WHERE conrelid IN ('p'::regclass, 'p1'::regclass, 'p2'::regclass);
DROP TABLE p;
\if :is_18
CREATE TABLE p (id int, a int, PRIMARY KEY (id, a) WITH (sware)) PARTITION BY LIST (id);
CREATE TABLE p1 (a int NOT NULL, id int NOT NULL, UNIQUE (id, a));
CREATE TABLE p2 (a int, id int, PRIMARY KEY (id, a) WITH (sware));
CREATE TABLE p3 (a int, id int, PRIMARY KEY (id, a));
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3);
SELECT * FROM keys WHERE conrelid IN ('p'::regclass, 'p1'::regclass, 'p2'::regclass);
-- Of a partition's key only that of the partitioned table is spoken.
\set VERBOSITY default
ALTER TABLE p ALTER a TYPE bigint;
\set VERBOSITY terse
SELECT follow_hint('ALTER TABLE p ALTER a TYPE bigint');
SELECT * FROM keys WHERE conrelid IN ('p'::regclass, 'p2'::regclass);
DROP TABLE p, p3;
\endif
DROP VIEW keys;
DROP TABLE t, heir, "T";
DROP FUNCTION follow_hint;
