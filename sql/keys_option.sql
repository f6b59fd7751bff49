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
-- The key is made again, with its name and options.
CREATE TEMP TABLE "T" ("A b" int, c int,
	CONSTRAINT "K k" UNIQUE ("A b", c) INCLUDE (c) WITH (sware, fillfactor = 70) DEFERRABLE);
INSERT INTO "T" SELECT i, i FROM generate_series(1, 100) i;
ALTER TABLE "T" ALTER "A b" TYPE varchar(7), ALTER c TYPE bigint USING c + 1, ADD d int;
SELECT conname, amname, i.reloptions, pg_get_constraintdef(o.oid), sware_check(conindid, true)
FROM pg_constraint o JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE conrelid = '"T"'::regclass;
ALTER TABLE "T" ALTER "A b" TYPE point USING NULL;
ALTER TABLE "T" ALTER c TYPE int USING 1, ALTER "A b" TYPE int USING 1;
ALTER TABLE "T" DROP CONSTRAINT "K k", ALTER c TYPE int;
SELECT count(*) FROM keys WHERE conrelid = '"T"'::regclass;
CREATE FUNCTION change_type() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE t ALTER id TYPE bigint;
	ALTER TABLE t ALTER id TYPE int;
END $$;
SELECT change_type(), change_type();
DROP FUNCTION change_type;
ALTER TABLE t ALTER id TYPE bigint;
INSERT INTO t VALUES (7, 1000, 0, 1000);
-- Where that would lose something it is refused, and what the hint says works.
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
COMMENT ON CONSTRAINT t_a ON t IS 'comment';
ALTER TABLE t ALTER COLUMN b SET DATA TYPE numeric(10,2) USING b + 1;
SELECT follow_hint('ALTER TABLE t ALTER a TYPE varchar(7)');
COMMENT ON INDEX t_a IS 'comment';
ALTER TABLE t ALTER a TYPE text;
COMMENT ON INDEX t_a IS NULL;
ALTER TABLE t CLUSTER ON t_a;
ALTER TABLE t ALTER a TYPE text;
ALTER TABLE t SET WITHOUT CLUSTER, REPLICA IDENTITY USING INDEX t_pkey;
ALTER TABLE t ALTER id TYPE int;
ALTER TABLE t REPLICA IDENTITY DEFAULT;
ALTER TABLE t ALTER id TYPE int, DROP b;
\if :is_18
CREATE TABLE refers (id bigint REFERENCES t);
ALTER TABLE t ALTER id TYPE int;
DROP TABLE refers;
\endif
ALTER TABLE t ALTER "C" TYPE bigint;
\set VERBOSITY terse
ALTER TABLE IF EXISTS t ADD d int, ALTER id TYPE bigint;
CREATE TABLE heir (e int, PRIMARY KEY (id, "C") WITH (sware)) INHERITS (t);
\set VERBOSITY default
ALTER TABLE t ALTER a TYPE numeric;
ALTER TABLE t ALTER "C" TYPE int;
SELECT follow_hint('ALTER TABLE t ALTER "C" TYPE int');
ALTER TABLE ONLY t ALTER "C" TYPE int;
CREATE TYPE of_type AS (id int);
CREATE TABLE typed OF of_type (id WITH OPTIONS PRIMARY KEY WITH (sware));
ALTER TYPE of_type ALTER ATTRIBUTE id TYPE bigint CASCADE;
DROP TABLE typed;
DROP TYPE of_type;
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
COMMENT ON INDEX g_twice_key IS 'comment';
ALTER TABLE g ALTER twice SET EXPRESSION AS (id * 3);
COMMENT ON INDEX g_twice_key IS NULL;
ALTER TABLE g ALTER twice SET EXPRESSION AS (id * 4);
SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 'g_twice_key'::regclass;
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
CREATE TABLE p3 (a int, id int UNIQUE WITH (sware), CONSTRAINT p3_id UNIQUE (id));
CREATE TABLE p4 (a int UNIQUE WITH (sware), id int);
CREATE TABLE p5 (id int UNIQUE WITH (sware), a int UNIQUE);
SET client_min_messages = notice;
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES IN (1);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES IN (3);
ALTER TABLE p ATTACH PARTITION p4 FOR VALUES IN (5);
ALTER TABLE p ATTACH PARTITION p5 FOR VALUES IN (6);
ALTER TABLE p ATTACH PARTITION nothing FOR VALUES IN (4);
SELECT * FROM keys WHERE conrelid IN ('p'::regclass, 'p1'::regclass, 'p2'::regclass, 'p3'::regclass);
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
