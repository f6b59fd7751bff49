-- Primary keys and unique constraints whose option asks for sware. PostgreSQL 17 warns of
-- each, since it could not be a replica identity on a subscriber: test/tap/keys_logical.pl.
SET client_min_messages = error;
\set VERBOSITY terse
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
CREATE VIEW keys AS
SELECT conrelid::regclass AS "table", conname, contype, amname, reloptions, condeferrable AS deferrable
FROM pg_constraint JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE contype IN ('p', 'u') AND i.relnamespace = 'public'::regnamespace
ORDER BY conrelid::regclass::text COLLATE "C", conname COLLATE "C";

-- All that makes them.
CREATE TABLE k_column (id bigint PRIMARY KEY WITH (sware), a int UNIQUE WITH (sware = on, fillfactor = 80),
	b int UNIQUE);
CREATE TABLE k_table (a int, b text, c int,
	CONSTRAINT k_table_key PRIMARY KEY (a, b) INCLUDE (c) WITH (sware));
CREATE TABLE k_nulls (a int, UNIQUE NULLS NOT DISTINCT (a) WITH (sware = 1));
CREATE TABLE k_identity (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY WITH (sware));
CREATE TABLE k_serial (id bigserial CONSTRAINT k_serial_key PRIMARY KEY WITH (sware = true), a text);
CREATE TABLE k_alter (a int, b int);
ALTER TABLE k_alter ADD PRIMARY KEY (a) WITH (sware), ADD CONSTRAINT k_alter_b UNIQUE (b) WITH (sware),
	ADD COLUMN c int UNIQUE WITH (sware);
CREATE TABLE k_late (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED);
ALTER TABLE k_late DROP CONSTRAINT k_late_pkey,
	ADD CONSTRAINT k_late_pkey PRIMARY KEY (id) WITH (sware) DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE k_like (LIKE k_column INCLUDING ALL);
CREATE TABLE k_child (d int) INHERITS (k_table);
ALTER TABLE k_child ADD PRIMARY KEY (a, b) WITH (sware);
CREATE TYPE k_type AS (id int, a text);
CREATE TABLE k_typed OF k_type (id WITH OPTIONS PRIMARY KEY WITH (sware));
CREATE TEMP TABLE k_temp (id int PRIMARY KEY WITH (sware));
CREATE UNLOGGED TABLE k_unlogged (id int PRIMARY KEY WITH (sware));
-- One index for both, and one for each.
CREATE TABLE k_both (id int UNIQUE WITH (sware) PRIMARY KEY WITH (sware));
CREATE TABLE k_each (id int UNIQUE WITH (sware) PRIMARY KEY);
CREATE SCHEMA k_schema CREATE TABLE k_inner (id int PRIMARY KEY WITH (sware));
-- In a function, whose statement is planned once and run twice.
CREATE FUNCTION make_key() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE k_function (id int PRIMARY KEY WITH (sware));
	ALTER TABLE k_function ADD a int UNIQUE WITH (sware);
END $$;
SELECT make_key();
DROP TABLE k_function;
SELECT make_key();
SELECT * FROM keys;
SELECT amname FROM pg_class i JOIN pg_am a ON a.oid = relam
WHERE i.oid IN ('k_schema.k_inner_pkey'::regclass, 'k_temp_pkey'::regclass);

-- Values, and what is not asked for.
CREATE TABLE u (id int PRIMARY KEY WITH (sware = false));
CREATE TABLE u (id int PRIMARY KEY WITH (sware = 2));
CREATE TABLE u (id int PRIMARY KEY WITH (sware, deduplicate_items = perhaps));
CREATE TABLE u (id point PRIMARY KEY WITH (sware));
CREATE INDEX ON k_alter USING btree (a) WITH (sware);
CREATE TABLE u (id int PRIMARY KEY, EXCLUDE USING sware (id WITH =) WITH (sware = off));
DROP TABLE u;

-- Uniqueness, in a statement, between statements, at the end of a transaction.
INSERT INTO k_column SELECT i, i, i FROM generate_series(1, 2000) i;
INSERT INTO k_column VALUES (7, 0, 0);
INSERT INTO k_column VALUES (0, 7, 0);
INSERT INTO k_column VALUES (3000, 3000, 3000), (3001, 3000, 3001);
UPDATE k_column SET id = id + 1;
INSERT INTO k_nulls VALUES (NULL);
INSERT INTO k_nulls VALUES (NULL);
INSERT INTO k_table VALUES (1, NULL);
INSERT INTO k_table VALUES (1, 'a', 1), (1, 'b', 1);
INSERT INTO k_table VALUES (1, 'a', 2);
INSERT INTO k_identity DEFAULT VALUES;
INSERT INTO k_identity DEFAULT VALUES;
SELECT * FROM k_identity;
INSERT INTO k_late SELECT generate_series(1, 100);
UPDATE k_late SET id = id + 1;
SELECT min(id), max(id) FROM k_late;
BEGIN;
INSERT INTO k_late VALUES (5);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
INSERT INTO k_late VALUES (5);
COMMIT;
INSERT INTO k_like SELECT * FROM k_column;
INSERT INTO k_like SELECT * FROM k_column LIMIT 1;
COPY k_alter FROM stdin;
1	1	1
2	2	2
\.
COPY k_alter FROM stdin;
3	3	3
2	4	4
\.
SELECT count(*), sware_check('k_column_pkey', true), sware_check('k_column_a_key', true),
	sware_check('k_like_pkey', true), sware_check('k_late_pkey', true) FROM k_column;

-- Life: the same kind of index afterwards.
CREATE TABLE before AS SELECT * FROM keys;
REINDEX TABLE k_column;
REINDEX TABLE CONCURRENTLY k_column;
ALTER TABLE k_column CLUSTER ON k_column_pkey;
CLUSTER k_column;
VACUUM FULL k_column;
ALTER TABLE k_column SET UNLOGGED;
ALTER TABLE k_column SET LOGGED;
ALTER TABLE k_column REPLICA IDENTITY USING INDEX k_column_pkey;
TRUNCATE k_late;
ALTER INDEX k_column_pkey SET (fillfactor = 70);
ALTER INDEX k_column_pkey RESET (fillfactor);
(TABLE before EXCEPT SELECT * FROM keys) UNION ALL (SELECT * FROM keys EXCEPT TABLE before);
SELECT sware_check('k_column_pkey', true), sware_check('k_column_a_key', true);

-- Foreign keys, ON CONFLICT and joins that are left out: from 18 on.
CREATE TABLE refers (id int PRIMARY KEY WITH (sware),
	k bigint REFERENCES k_column ON DELETE CASCADE ON UPDATE CASCADE);
\if :is_18
INSERT INTO refers SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO refers VALUES (101, 9999);
DELETE FROM k_column WHERE id = 5;
UPDATE k_column SET id = 7000 WHERE id = 6;
SELECT count(*), max(k) FROM refers;
ALTER TABLE refers DROP CONSTRAINT refers_k_fkey,
	ADD FOREIGN KEY (k) REFERENCES k_column (a) ON DELETE SET NULL NOT VALID;
DELETE FROM k_column WHERE a = 7;
SELECT * FROM refers WHERE k IS NULL;
INSERT INTO refers VALUES (1, 1) ON CONFLICT DO NOTHING;
INSERT INTO refers VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET k = 20 RETURNING *;
INSERT INTO refers VALUES (1, 1) ON CONFLICT ON CONSTRAINT refers_pkey DO UPDATE SET k = 30 RETURNING *;
EXPLAIN (COSTS OFF) SELECT r.k FROM refers r LEFT JOIN k_column c ON c.id = r.k;
SELECT sware_check('refers_pkey', true);
-- The columns of a group that the primary key decides.
SELECT id, k FROM refers GROUP BY id ORDER BY id LIMIT 1;

CREATE TABLE parts (id int, a int, PRIMARY KEY (id) WITH (sware)) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 (id int NOT NULL, a int);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE part_refers (id int REFERENCES parts);
INSERT INTO parts SELECT i, i FROM generate_series(0, 199) i;
INSERT INTO parts VALUES (150, 0);
INSERT INTO parts VALUES (150, 0) ON CONFLICT (id) DO UPDATE SET a = 0 RETURNING *;
INSERT INTO part_refers VALUES (150);
DELETE FROM parts WHERE id = 150;
SELECT * FROM keys WHERE "table"::text LIKE 'parts%';
SELECT sware_check('parts_1_pkey', true), sware_check('parts_2_pkey', true);
DROP TABLE parts, part_refers;
\else
INSERT INTO k_column VALUES (1, 1, 1) ON CONFLICT DO NOTHING;
CREATE TABLE parts (id int, a int, PRIMARY KEY (id) WITH (sware)) PARTITION BY RANGE (id);
\endif
DROP TABLE IF EXISTS refers;
DROP VIEW keys;
DROP TABLE before, k_column, k_table, k_nulls, k_identity, k_serial, k_alter, k_late, k_like, k_child,
	k_typed, k_temp, k_unlogged, k_both, k_each, k_function;
DROP SCHEMA k_schema CASCADE;
DROP TYPE k_type;
DROP FUNCTION make_key;
