-- A unique sware index becomes that of a primary key or unique constraint.
SET client_min_messages = error;
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
CREATE VIEW keys AS
SELECT conrelid::regclass AS "table", conname, contype, amname, condeferrable AS deferrable,
	i.oid::regclass AS index
FROM pg_constraint JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE contype IN ('p', 'u') AND i.relnamespace = 'public'::regnamespace
ORDER BY conrelid::regclass::text COLLATE "C", conname COLLATE "C";
CREATE TABLE t (id int PRIMARY KEY, a int, b text COLLATE "C", c int NOT NULL);
INSERT INTO t SELECT i, i, i, i FROM generate_series(1, 1000) i;
CREATE TABLE other (id int NOT NULL);
CREATE UNIQUE INDEX other_id ON other USING sware (id) WITH (sware);

-- What btree's indexes are refused for, and with the same errors.
CREATE INDEX t_plain ON t USING sware (a) WITH (sware);
CREATE UNIQUE INDEX t_expression ON t USING sware ((a + 1)) WITH (sware);
CREATE UNIQUE INDEX t_partial ON t USING sware (a) WITH (sware) WHERE a > 10;
CREATE UNIQUE INDEX t_descending ON t USING sware (a DESC) WITH (sware);
CREATE UNIQUE INDEX t_class ON t USING sware (b text_pattern_ops) WITH (sware);
CREATE UNIQUE INDEX t_collation ON t USING sware (b COLLATE "POSIX") WITH (sware);
CREATE UNIQUE INDEX t_twice ON t USING sware (a, a) WITH (sware);
CREATE UNIQUE INDEX t_equal_nulls ON t USING sware (c) NULLS NOT DISTINCT WITH (sware);
CREATE UNIQUE INDEX t_optionless ON t USING sware (a);
CREATE UNIQUE INDEX t_off ON t USING sware (a) WITH (sware = off);
CREATE UNIQUE INDEX t_nullable ON t USING sware (a) WITH (sware);
CREATE UNIQUE INDEX t_invalid ON t USING sware (a) WITH (sware);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_invalid'::regclass;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX other_id;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_plain;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_expression;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_partial;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_descending;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_class;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_collation;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_twice;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_invalid;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_optionless;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_off;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX nothing;
\set VERBOSITY terse
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_pkey;
ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY USING INDEX t_equal_nulls;
-- The server takes it before 16, for btree, too.
\if :is_18
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_equal_nulls;
\endif
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable, ALTER a TYPE bigint;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable, DROP a;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable, ADD CONSTRAINT l UNIQUE USING INDEX t_nullable;
CREATE TABLE u (id int, CONSTRAINT k PRIMARY KEY USING INDEX t_nullable);
ALTER TABLE nothing ADD CONSTRAINT k UNIQUE USING INDEX t_nullable;
ALTER TABLE IF EXISTS nothing ADD CONSTRAINT k UNIQUE USING INDEX t_nullable;
CREATE ROLE regress_sware_keys;
SET ROLE regress_sware_keys;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable;
RESET ROLE;
BEGIN READ ONLY;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable;
ROLLBACK;
BEGIN;
DECLARE open_cursor CURSOR FOR SELECT * FROM t;
FETCH open_cursor;
ALTER TABLE t ADD CONSTRAINT k UNIQUE USING INDEX t_nullable;
ROLLBACK;
SELECT * FROM keys;
DROP INDEX t_plain, t_expression, t_partial, t_descending, t_class, t_collation, t_twice, t_optionless, t_off,
	t_invalid, t_equal_nulls;

-- The primary key is exchanged in one statement, and back again.
\set VERBOSITY default
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_nullable;
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY t_id ON t USING sware (id) INCLUDE (c) WITH (sware);
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_id;
INSERT INTO t VALUES (7, 5000, 7, 7);
INSERT INTO t VALUES (NULL);
ALTER TABLE t ADD UNIQUE USING INDEX t_nullable;
INSERT INTO t VALUES (1001, 7, 7, 7);
SELECT * FROM keys;
SELECT sware_check('t_pkey', true), sware_check('t_nullable', true);
CREATE UNIQUE INDEX t_id ON t (id);
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_id;
SELECT * FROM keys;

-- The user says NOT NULL; several at a time; deferrable; names with capitals.
CREATE TABLE "T u" (a int, "B" int, c int);
CREATE UNIQUE INDEX "T u a" ON "T u" USING sware (a) WITH (sware);
CREATE UNIQUE INDEX "T u B" ON "T u" USING sware ("B");
CREATE UNIQUE INDEX "T u c" ON "T u" USING sware (c) WITH (sware);
INSERT INTO "T u" SELECT i, i, i FROM generate_series(1, 10) i;
\set VERBOSITY default
ALTER TABLE "T u" ADD CONSTRAINT "K" PRIMARY KEY USING INDEX "T u B";
ALTER INDEX "T u B" SET (sware);
ALTER TABLE "T u" ADD CONSTRAINT "K" PRIMARY KEY USING INDEX "T u B";
\set VERBOSITY terse
ALTER TABLE ONLY "T u" ADD CONSTRAINT "K" PRIMARY KEY USING INDEX "T u B", ALTER "B" SET NOT NULL,
	ADD CONSTRAINT a UNIQUE USING INDEX "T u a" DEFERRABLE INITIALLY DEFERRED,
	ADD UNIQUE USING INDEX "T u c" DEFERRABLE, ADD d int UNIQUE WITH (sware);
SELECT * FROM keys WHERE "table" = '"T u"'::regclass;
INSERT INTO "T u" VALUES (3, 11, 11), (11, 12, 12);
BEGIN;
INSERT INTO "T u" VALUES (3, 12, 12);
UPDATE "T u" SET a = 13 WHERE a = 3 AND c = 3;
COMMIT;
UPDATE "T u" SET c = c + 1;
SELECT count(*), sware_check('"K"', true), sware_check('a', true), sware_check('"T u c"', true) FROM "T u";

-- In a function, whose statement is run twice.
CREATE FUNCTION adopt() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE t ADD CONSTRAINT again UNIQUE USING INDEX again_index;
END $$;
CREATE UNIQUE INDEX again_index ON t USING sware (c) WITH (sware);
SELECT adopt();
ALTER TABLE t DROP CONSTRAINT again;
CREATE UNIQUE INDEX again_index ON t USING sware (c) WITH (sware);
SELECT adopt();
SELECT * FROM keys WHERE conname = 'again';

-- Event triggers: what they do before the statement is not seen by the checks, but the
-- option is asked for, and the name of the table means the same one.
CREATE TABLE commands (n serial, tag text, object text);
CREATE FUNCTION note_commands() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO commands (tag, object)
	SELECT command_tag, object_identity FROM pg_event_trigger_ddl_commands();
END $$;
CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION note_commands();
CREATE TABLE v (id int CONSTRAINT v_key PRIMARY KEY WITH (sware), a int NOT NULL);
CREATE UNIQUE INDEX v_a ON v USING sware (a) WITH (sware);
ALTER TABLE v ALTER id TYPE bigint;
ALTER TABLE v DROP CONSTRAINT v_key, ADD CONSTRAINT v_new PRIMARY KEY USING INDEX v_a;
DROP EVENT TRIGGER note;
DROP FUNCTION note_commands;
SELECT tag, object FROM commands ORDER BY n;
DROP TABLE commands;
CREATE UNIQUE INDEX v_a ON v USING sware (a) WITH (sware);
CREATE FUNCTION interfere() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE current_setting('test.interference');
END $$;
CREATE EVENT TRIGGER interfere ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION interfere();
SET test.interference = 'ALTER INDEX v_a RESET (sware)';
ALTER TABLE v ADD UNIQUE USING INDEX v_a;
SET test.interference = 'CREATE TEMP TABLE v (a int, id int)';
ALTER TABLE v ADD UNIQUE USING INDEX v_a;
SELECT * FROM keys WHERE "table" = 'public.v'::regclass;
DROP EVENT TRIGGER interfere;
DROP FUNCTION interfere;
DROP TABLE pg_temp.v, public.v;

-- Tables that inherit, and partitions: those of the latter are attached.
CREATE TABLE heir (e int) INHERITS (t);
CREATE UNIQUE INDEX t_c ON t USING sware (c) WITH (sware);
ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_c;
SELECT * FROM keys WHERE "table" IN ('t'::regclass, 'heir'::regclass);
\if :is_18
CREATE TABLE p (id int NOT NULL, a int) PARTITION BY LIST (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE UNIQUE INDEX p_id ON p USING sware (id) WITH (sware);
ALTER TABLE p ADD CONSTRAINT p_key PRIMARY KEY USING INDEX p_id;
CREATE UNIQUE INDEX p1_new ON p1 USING sware (id) WITH (sware);
ALTER TABLE p1 ADD CONSTRAINT p1_key PRIMARY KEY USING INDEX p1_new;
ALTER TABLE ONLY p ADD CONSTRAINT p_key PRIMARY KEY (id) WITH (sware);
SELECT indisvalid FROM pg_index WHERE indexrelid = 'p_key'::regclass;
ALTER INDEX p_key ATTACH PARTITION p1_key;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'p_key'::regclass;
SELECT * FROM keys WHERE "table" IN ('p'::regclass, 'p1'::regclass);
DROP TABLE p;
-- NOT NULL that is not known to hold.
CREATE TABLE n (id int);
INSERT INTO n VALUES (NULL);
ALTER TABLE n ADD CONSTRAINT n_id NOT NULL id NOT VALID;
CREATE UNIQUE INDEX n_key ON n USING sware (id) WITH (sware);
ALTER TABLE n ADD PRIMARY KEY USING INDEX n_key;
DELETE FROM n;
ALTER TABLE n VALIDATE CONSTRAINT n_id;
ALTER TABLE n ADD PRIMARY KEY USING INDEX n_key;
SELECT * FROM keys WHERE "table" = 'n'::regclass;
DROP TABLE n;
CREATE TABLE n (id int CONSTRAINT n_id NOT NULL NO INHERIT);
CREATE UNIQUE INDEX n_key ON n USING sware (id) WITH (sware);
ALTER TABLE ONLY n ADD PRIMARY KEY USING INDEX n_key;
ALTER TABLE n ADD PRIMARY KEY USING INDEX n_key;
ALTER TABLE n ALTER CONSTRAINT n_id INHERIT;
ALTER TABLE ONLY n ADD PRIMARY KEY USING INDEX n_key;
SELECT * FROM keys WHERE "table" = 'n'::regclass;
DROP TABLE n;
\endif
DROP VIEW keys;
DROP FUNCTION adopt;
DROP TABLE t, other, "T u" CASCADE;
DROP ROLE regress_sware_keys;
