-- With sware.use_for_keys, new keys have sware indexes, from PostgreSQL 18 on.
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
SET sware.use_for_keys = on;
\if :is_18
CREATE VIEW keys AS
SELECT conrelid::regclass AS "table", conname, contype, amname, i.reloptions
FROM pg_constraint JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
WHERE contype IN ('p', 'u') AND i.relnamespace = 'public'::regnamespace
ORDER BY conrelid::regclass::text COLLATE "C", conname COLLATE "C";
-- All that makes them.
CREATE TABLE w_table (id bigserial PRIMARY KEY, a text UNIQUE, b int,
	UNIQUE NULLS NOT DISTINCT (b, a) WITH (fillfactor = 80));
CREATE TABLE w_like (LIKE w_table INCLUDING ALL);
CREATE TABLE w_heir (PRIMARY KEY (id, b)) INHERITS (w_table);
CREATE TABLE w_domain (id information_schema.cardinal_number PRIMARY KEY, ids int[] UNIQUE);
CREATE TABLE w_partitioned (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE w_partition PARTITION OF w_partitioned FOR VALUES FROM (0) TO (10);
CREATE TABLE w_alter (a int, b point);
ALTER TABLE w_alter ADD PRIMARY KEY (a), ADD COLUMN c serial UNIQUE, ADD COLUMN d uuid,
	ADD UNIQUE (d, c) DEFERRABLE;
ALTER TABLE w_alter ADD COLUMN e bigserial, ADD CONSTRAINT w_alter_e UNIQUE (e) INCLUDE (b),
	ALTER b TYPE text USING b::text, ADD UNIQUE (b);
-- A copy is of the kind of the original, so that it can become a partition beside others.
SET sware.use_for_keys = off;
CREATE TABLE w_others (id int PRIMARY KEY, a int, UNIQUE (a, id)) PARTITION BY LIST (id);
SET sware.use_for_keys = on;
CREATE TABLE w_copy (LIKE w_others INCLUDING ALL);
ALTER TABLE w_others ATTACH PARTITION w_copy FOR VALUES IN (1);
CREATE TABLE w_part PARTITION OF w_others FOR VALUES IN (2);
CREATE TABLE w_more (LIKE w_others INCLUDING ALL, UNIQUE (a));
-- What stays btree's, and what the server refuses.
CREATE TABLE w_off (id int PRIMARY KEY WITH (sware = off));
CREATE TABLE w_other (id int PRIMARY KEY WITH (storage = 1));
CREATE TYPE pair AS (a int, b int);
CREATE TABLE w_pair (id pair PRIMARY KEY, a int);
CREATE INDEX ON w_pair (a);
CREATE UNIQUE INDEX w_pair_a ON w_pair (a);
ALTER TABLE w_pair ADD UNIQUE USING INDEX w_pair_a;
CREATE TABLE w_exclude (a int, EXCLUDE (a WITH =));
SELECT relname, amname FROM pg_class c JOIN pg_am a ON a.oid = relam JOIN pg_index i ON i.indexrelid = c.oid
WHERE indrelid IN ('w_pair'::regclass, 'w_exclude'::regclass) ORDER BY 1;
CREATE TABLE w_point (id point PRIMARY KEY);
CREATE TABLE w_missing (id int, UNIQUE (nothing));
CREATE TABLE w_missing (id nothing PRIMARY KEY);
ALTER TABLE w_alter ADD UNIQUE (nothing);
ALTER TABLE w_alter ADD f nothing UNIQUE;
ALTER TABLE nothing ADD UNIQUE (a);
CREATE TABLE w_ranges (a int4range, b int4range, CONSTRAINT w_overlaps UNIQUE (a, b WITHOUT OVERLAPS));
ALTER TABLE w_ranges ADD CONSTRAINT w_overlaps_2 UNIQUE (b, a WITHOUT OVERLAPS);
CREATE TABLE w_asked (a int4range, b int4range, UNIQUE (a, b WITHOUT OVERLAPS) WITH (sware));
-- A type of which only btree has an operator class.
CREATE TYPE odd;
CREATE FUNCTION odd_in(cstring) RETURNS odd LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION odd_out(odd) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE odd (INPUT = odd_in, OUTPUT = odd_out, INTERNALLENGTH = 4, PASSEDBYVALUE, ALIGNMENT = int4);
CREATE FUNCTION odd_lt(odd, odd) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION odd_le(odd, odd) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4le';
CREATE FUNCTION odd_eq(odd, odd) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION odd_ge(odd, odd) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4ge';
CREATE FUNCTION odd_gt(odd, odd) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4gt';
CREATE FUNCTION odd_cmp(odd, odd) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE OPERATOR < (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_lt);
CREATE OPERATOR <= (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_le);
CREATE OPERATOR = (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_eq);
CREATE OPERATOR >= (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_ge);
CREATE OPERATOR > (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_gt);
CREATE OPERATOR CLASS odd_ops DEFAULT FOR TYPE odd USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 odd_cmp(odd, odd);
CREATE TABLE w_odd (a int, id odd PRIMARY KEY, UNIQUE (a, id));
ALTER TABLE w_odd ADD UNIQUE (id, a), ADD b odd UNIQUE, ADD c int UNIQUE;
CREATE TABLE w_odd_asked (id odd PRIMARY KEY WITH (sware));
SELECT * FROM keys;
-- They work.
INSERT INTO w_table (a, b) SELECT i, i FROM generate_series(1, 100) i;
INSERT INTO w_table VALUES (7, 'again', 0);
INSERT INTO w_table VALUES (7, 'again', 0) ON CONFLICT (id) DO UPDATE SET b = -1 RETURNING *;
SELECT sware_check('w_table_pkey', true), sware_check('w_table_b_a_key', true);
DROP VIEW keys;
DROP TABLE w_table, w_like, w_others, w_more, w_heir, w_domain, w_partitioned, w_alter, w_pair, w_exclude,
	w_ranges, w_odd;
DROP TYPE pair;
SET client_min_messages = error;
DROP TYPE odd CASCADE;
-- A database without the extension.
SELECT current_database() AS database \gset
CREATE DATABASE keys_without;
\c keys_without
SET sware.use_for_keys = on;
CREATE TABLE t (id int PRIMARY KEY);
ALTER TABLE t ADD a int UNIQUE;
SELECT relname, amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname ~ '^t_' ORDER BY 1;
CREATE TABLE u (id int PRIMARY KEY WITH (sware));
\c :database
DROP DATABASE keys_without;
\endif
