-- Unique indexes: where the leaf at which keys are expected shows that a key is new, its
-- entry is inserted there without a look-up, and each other one is looked up. The fault
-- point "scan-buffer-read" tells of a look-up.

\set VERBOSITY terse

-- Inserts each key in a transaction of its own.
CREATE PROCEDURE insert_singly(target regclass, low bigint, high bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN low..high LOOP
		EXECUTE format('INSERT INTO %s VALUES (%s)', target, i);
		COMMIT;
	END LOOP;
END $$;

-- The first row finds the leaf.
CREATE TABLE ft (k bigint, v text DEFAULT 'new') WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX ft_k ON ft USING sware (k);
INSERT INTO ft SELECT 4601 + 2 * i FROM generate_series(0, 199) i;
INSERT INTO ft VALUES (5000);
CALL insert_singly('ft', 1, 70);
-- Keys that are there are looked up, and the first ones at another leaf; others are not.
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO ft VALUES (4746);
INSERT INTO ft VALUES (4747);
INSERT INTO ft VALUES (4748);
INSERT INTO ft VALUES (4748);
INSERT INTO ft VALUES (4749);
INSERT INTO ft VALUES (4998);
INSERT INTO ft VALUES (4999);
INSERT INTO ft VALUES (5000);
INSERT INTO ft VALUES (5001);
INSERT INTO ft VALUES (5001);
INSERT INTO ft VALUES (5002), (5003), (5002);
INSERT INTO ft VALUES (5003), (5003);
INSERT INTO ft VALUES (5010);
INSERT INTO ft VALUES (5010);
-- Nulls are equal to none.
INSERT INTO ft VALUES (NULL);
INSERT INTO ft VALUES (5011);
INSERT INTO ft VALUES (NULL);
RESET sware.fault_points;
CALL check_rows('ft', 'ft_k', 'k');

-- Keys that are far ahead do not matter, even if they have been rolled back.
BEGIN;
INSERT INTO ft VALUES (1000000000000000);
ROLLBACK;
INSERT INTO ft SELECT 2000000000000000 + i FROM generate_series(1, 5) i;
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO ft VALUES (5013);
INSERT INTO ft VALUES (5012), (5014);
INSERT INTO ft VALUES (2000000000000003);
INSERT INTO ft VALUES (1000000000000000);
-- Several places at which keys are expected, and keys that a stager stores.
CREATE TABLE fs (k bigint) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX fs_k ON fs USING sware (k);
RESET sware.fault_points;
INSERT INTO fs SELECT generate_series(1, 200);
CALL insert_singly('fs', 1001, 1300);
INSERT INTO fs VALUES (1001);
INSERT INTO fs VALUES (1300);
INSERT INTO fs SELECT 3000000000000000 + i FROM generate_series(1, 100) i;
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fs VALUES (1301);
RESET sware.fault_points;
CALL insert_singly('fs', 1302, 1370);
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fs VALUES (1371);
INSERT INTO fs VALUES (1371);
INSERT INTO fs VALUES (3000000000000050);
RESET sware.fault_points;
CALL insert_singly('fs', 201, 265);
CALL insert_singly('fs', 301, 440);
CALL check_rows('fs', 'fs_k', 'k');

-- Rows that are staged, and published at commit, or before.
INSERT INTO ft SELECT i FROM generate_series(6001, 7000) i;
INSERT INTO ft VALUES (7000);
INSERT INTO ft VALUES (6001);
INSERT INTO ft VALUES (6500);
BEGIN;
INSERT INTO ft SELECT i FROM generate_series(7001, 7100) i;
SELECT count(*) FROM ft WHERE k = 7100;
SAVEPOINT s;
INSERT INTO ft VALUES (7100);
ROLLBACK TO s;
COMMIT;
INSERT INTO ft VALUES (7100);
COPY ft (k) FROM PROGRAM 'seq 7101 7400';
INSERT INTO ft VALUES (7400);

-- A key that is rolled back is free, wherever it is.
BEGIN;
INSERT INTO ft VALUES (8000);
ROLLBACK;
INSERT INTO ft VALUES (7999);
INSERT INTO ft VALUES (8000);
INSERT INTO ft VALUES (8000);
BEGIN;
SAVEPOINT s;
INSERT INTO ft VALUES (8001);
ROLLBACK TO s;
INSERT INTO ft VALUES (8001);
COMMIT;
INSERT INTO ft VALUES (8001);
BEGIN;
INSERT INTO ft SELECT i FROM generate_series(8101, 8200) i;
ROLLBACK;
INSERT INTO ft VALUES (8200), (8101);
INSERT INTO ft VALUES (8200);
DELETE FROM ft WHERE k = 8200;
INSERT INTO ft VALUES (8200);
INSERT INTO ft VALUES (8200);
-- A new version has the key of the old one, or another one.
UPDATE ft SET v = 'changed' WHERE k = 8200;
UPDATE ft SET k = 8300 WHERE k = 8200;
INSERT INTO ft VALUES (8300);
UPDATE ft SET k = 8300 WHERE k = 8101;
BEGIN;
INSERT INTO ft VALUES (8400);
PREPARE TRANSACTION 'new_keys';
COMMIT PREPARED 'new_keys';
INSERT INTO ft VALUES (8400);
CALL check_rows('ft', 'ft_k', 'k');

-- ON CONFLICT, which core refuses before version 18.
CREATE FUNCTION insert_unless_there(key bigint) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	rows int;
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		INSERT INTO ft VALUES (key) ON CONFLICT (k) DO NOTHING;
	ELSE
		INSERT INTO ft SELECT key WHERE NOT EXISTS (SELECT FROM ft WHERE k = key);
	END IF;
	GET DIAGNOSTICS rows = ROW_COUNT;
	RETURN rows;
END $$;
SELECT insert_unless_there(8400);
SELECT insert_unless_there(8500);
SELECT insert_unless_there(8500);
INSERT INTO ft VALUES (8500);
SELECT insert_unless_there(8600), insert_unless_there(8600);
INSERT INTO ft VALUES (8600);
CALL check_rows('ft', 'ft_k', 'k');

-- New files: the leaves of the old one are expected again after a rollback only.
BEGIN;
TRUNCATE ft;
INSERT INTO ft VALUES (1);
INSERT INTO ft VALUES (9000);
ROLLBACK;
INSERT INTO ft VALUES (1);
INSERT INTO ft VALUES (8600);
INSERT INTO ft VALUES (9000);
INSERT INTO ft VALUES (9000);
BEGIN;
REINDEX INDEX ft_k;
INSERT INTO ft VALUES (9001);
ROLLBACK;
INSERT INTO ft VALUES (9001);
INSERT INTO ft VALUES (9001);
REINDEX INDEX ft_k;
INSERT INTO ft VALUES (9001);
CALL insert_singly('ft', 9101, 9170);
INSERT INTO ft VALUES (9170);
INSERT INTO ft VALUES (9001);
REINDEX INDEX CONCURRENTLY ft_k;
CALL insert_singly('ft', 9201, 9270);
INSERT INTO ft VALUES (9270);
CALL check_rows('ft', 'ft_k', 'k');
-- A truncation in place: the file is the same, and the leaf is empty. All rows of
-- subtransactions are inserted singly.
BEGIN;
SAVEPOINT s;
CREATE TABLE fi (k int);
CREATE UNIQUE INDEX fi_k ON fi USING sware (k);
SELECT pg_relation_filenode('fi_k') AS file \gset
INSERT INTO fi SELECT generate_series(1, 100);
TRUNCATE fi;
SELECT pg_relation_filenode('fi_k') = :file AS same_file;
INSERT INTO fi VALUES (1000);
SET LOCAL sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fi VALUES (1001);
SET LOCAL sware.fault_points = '';
INSERT INTO fi SELECT generate_series(1, 200);
SAVEPOINT t;
INSERT INTO fi VALUES (100);
ROLLBACK TO t;
INSERT INTO fi VALUES (200);
ROLLBACK TO t;
INSERT INTO fi VALUES (201);
COMMIT;
INSERT INTO fi VALUES (201);
CALL check_rows('fi', 'fi_k', 'k');

-- Another tablespace, and back.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE new_keys_space LOCATION '';
ALTER INDEX ft_k SET TABLESPACE new_keys_space;
INSERT INTO ft VALUES (9270);
INSERT INTO ft VALUES (9271);
CALL insert_singly('ft', 9301, 9370);
INSERT INTO ft VALUES (9370);
ALTER INDEX ft_k SET TABLESPACE pg_default;
INSERT INTO ft VALUES (9370);
INSERT INTO ft VALUES (9371);
INSERT INTO ft VALUES (9371);
CALL insert_singly('ft', 9401, 9470);
INSERT INTO ft VALUES (9470);
CALL check_rows('ft', 'ft_k', 'k');
DROP TABLESPACE new_keys_space;

-- Descending keys, several columns, nulls that are equal, expressions, other types.
CREATE TABLE fd (k int);
CREATE UNIQUE INDEX fd_k ON fd USING sware (k DESC);
INSERT INTO fd SELECT generate_series(100, 200);
CALL insert_singly('fd', 201, 270);
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fd VALUES (99);
INSERT INTO fd VALUES (99);
INSERT INTO fd VALUES (98);
INSERT INTO fd VALUES (271);
INSERT INTO fd VALUES (271);
RESET sware.fault_points;
CALL check_rows('fd', 'fd_k', 'k');

CREATE TABLE fm (k int, l int, m text);
CREATE UNIQUE INDEX fm_k ON fm USING sware (k, l) INCLUDE (m);
CALL insert_singly('fm', 1, 10);
INSERT INTO fm SELECT i, 1 FROM generate_series(1, 70) i;
DO $$ BEGIN FOR i IN 71..150 LOOP INSERT INTO fm VALUES (i, 1); COMMIT; END LOOP; END $$;
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fm VALUES (151, NULL);
INSERT INTO fm VALUES (151, NULL);
INSERT INTO fm VALUES (151, 1);
INSERT INTO fm VALUES (151, 1);
INSERT INTO fm VALUES (151, 2);
INSERT INTO fm VALUES (151, 2);
INSERT INTO fm VALUES (NULL, 2);
INSERT INTO fm VALUES (152, 1);
RESET sware.fault_points;
SELECT sware_check('fm_k', true);
SELECT k, l, count(*) FROM fm GROUP BY k, l HAVING count(*) > 1;

CREATE TABLE fn (k int, l int);
CREATE UNIQUE INDEX fn_k ON fn USING sware (k, l) NULLS NOT DISTINCT;
CALL insert_singly('fn', -100, -31);
INSERT INTO fn VALUES (-30);
INSERT INTO fn VALUES (-30);
INSERT INTO fn VALUES (NULL, 1);
INSERT INTO fn VALUES (NULL, 1);
INSERT INTO fn VALUES (NULL, NULL);
INSERT INTO fn VALUES (NULL, NULL);
INSERT INTO fn VALUES (-29);
INSERT INTO fn VALUES (-29);
CALL check_rows('fn', 'fn_k', 'k');

CREATE TABLE fx (k text COLLATE "C", n smallint);
CREATE UNIQUE INDEX fx_k ON fx USING sware (k);
CREATE UNIQUE INDEX fx_n ON fx USING sware (abs(n));
DO $$ BEGIN FOR i IN 1..70 LOOP INSERT INTO fx VALUES ('key ' || i, -i); COMMIT; END LOOP; END $$;
INSERT INTO fx VALUES ('zz', -100);
INSERT INTO fx VALUES ('zz', -101);
INSERT INTO fx VALUES ('zzz', 100);
-- keys that share their abbreviation, which is made of the first bytes
INSERT INTO fx VALUES ('zzzzzzzz1', 200);
INSERT INTO fx VALUES ('zzzzzzzz0', 201);
INSERT INTO fx VALUES ('zzzzzzzz1', 202);
CALL check_rows('fx', 'fx_k', 'k');
SELECT sware_check('fx_n', true);

-- The largest number, which no key is beyond, and the smallest one.
CREATE TABLE fl (k bigint);
CREATE UNIQUE INDEX fl_k ON fl USING sware (k);
DO $$ BEGIN FOR i IN 1..70 LOOP INSERT INTO fl VALUES (-9223372036854775808 + i); COMMIT; END LOOP; END $$;
INSERT INTO fl VALUES (-9223372036854775738);
INSERT INTO fl VALUES (-9223372036854775808);
INSERT INTO fl VALUES (-9223372036854775808);
INSERT INTO fl VALUES (9223372036854775807);
INSERT INTO fl VALUES (9223372036854775807);
CALL check_rows('fl', 'fl_k', 'k');

-- An empty table.
CREATE TABLE fe (k int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX fe_k ON fe USING sware (k);
CALL insert_singly('fe', 1, 70);
DELETE FROM fe;
VACUUM (INDEX_CLEANUP ON) fe;
INSERT INTO fe VALUES (70);
INSERT INTO fe VALUES (70);
INSERT INTO fe VALUES (71);
INSERT INTO fe VALUES (71);
CALL check_rows('fe', 'fe_k', 'k');

-- Unlogged and temporary tables.
CREATE UNLOGGED TABLE fu (k int);
CREATE UNIQUE INDEX fu_k ON fu USING sware (k);
CREATE TEMPORARY TABLE fp (k int);
CREATE UNIQUE INDEX fp_k ON fp USING sware (k);
CALL insert_singly('fu', 1, 70);
CALL insert_singly('fp', 1, 70);
INSERT INTO fu VALUES (71);
INSERT INTO fu VALUES (71);
ALTER TABLE fu SET LOGGED;
INSERT INTO fu VALUES (71);
INSERT INTO fu VALUES (72);
INSERT INTO fu VALUES (72);
INSERT INTO fp VALUES (71);
INSERT INTO fp VALUES (71);
CALL check_rows('fu', 'fu_k', 'k');

-- Inserts that fail before the leaf is looked at, and after.
CREATE TABLE ff (k int);
CREATE UNIQUE INDEX ff_k ON ff USING sware (k);
CALL insert_singly('ff', 1, 63);
SET sware.fault_points = 'unique-locked=error';
INSERT INTO ff VALUES (100);
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO ff VALUES (100);
INSERT INTO ff VALUES (101);
INSERT INTO ff VALUES (101);
SET sware.fault_points = 'insert-stored=error';
CALL insert_singly('ff', 201, 270);
RESET sware.fault_points;
CALL insert_singly('ff', 301, 370);
INSERT INTO ff VALUES (370);
INSERT INTO ff VALUES (371);
INSERT INTO ff VALUES (371);
CALL check_rows('ff', 'ff_k', 'k');

-- A column that gets another type without a new file.
CREATE DOMAIN whole AS int;
CREATE TABLE fc (k whole);
CREATE UNIQUE INDEX fc_k ON fc USING sware (k);
CALL insert_singly('fc', 1, 70);
SELECT pg_relation_filenode('fc_k') AS file \gset
ALTER TABLE fc ALTER k TYPE int;
SELECT pg_relation_filenode('fc_k') = :file AS same_file;
INSERT INTO fc VALUES (70);
INSERT INTO fc VALUES (71);
INSERT INTO fc VALUES (71);
CALL check_rows('fc', 'fc_k', 'k');

-- Rows with the key, the only live one among them, are on the next leaf: the high key of the
-- leaf at which the key is expected, which has none of them, says so.
CREATE TABLE fh (k int, v int) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE UNIQUE INDEX fh_k ON fh USING sware (k) WITH (deduplicate_items = off);
CREATE INDEX ON fh (v);
INSERT INTO fh SELECT i * 10, 0 FROM generate_series(1, 100) i;
DO $$ BEGIN FOR i IN 1..400 LOOP UPDATE fh SET v = i WHERE k = 1000; END LOOP; END $$;
VACUUM (INDEX_CLEANUP ON) fh;
INSERT INTO fh VALUES (501);
SELECT kind, htid IS NOT NULL AS has_tid FROM sware_page_items('fh_k', 1)
	WHERE kind = 'high key' OR data = (SELECT data FROM sware_page_items('fh_k', 2) LIMIT 1);
SET sware.fault_points = 'scan-buffer-read=notice';
INSERT INTO fh VALUES (502);
INSERT INTO fh VALUES (1000);
RESET sware.fault_points;
CALL check_rows('fh', 'fh_k', 'k');

-- Two indexes of a table, with keys in different orders.
CREATE TABLE f2 (k int, l int);
CREATE UNIQUE INDEX f2_k ON f2 USING sware (k);
CREATE UNIQUE INDEX f2_l ON f2 USING sware (l);
DO $$ BEGIN FOR i IN 1..100 LOOP INSERT INTO f2 VALUES (i, -i); COMMIT; END LOOP; END $$;
INSERT INTO f2 VALUES (100, 1);
INSERT INTO f2 VALUES (101, -100);
INSERT INTO f2 VALUES (101, 1);
INSERT INTO f2 VALUES (101, 2);
INSERT INTO f2 VALUES (102, 1);
CALL check_rows('f2', 'f2_k', 'k');
SELECT sware_check('f2_l', true);

-- An insert within another one, which has a key locked.
-- Functions that are not trusted would not be called where these are.
SET sware.fault_trust = on;
CREATE OPERATOR CLASS acting_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_act(int, int);
CREATE TABLE nested_outer (k int);
CREATE UNIQUE INDEX nested_outer_k ON nested_outer USING sware (k acting_ops);
CREATE TABLE nested_inner (k int);
CREATE UNIQUE INDEX nested_inner_k ON nested_inner USING sware (k);
SET sware.fault_buffer = on;
INSERT INTO nested_outer VALUES (1);
SELECT sware_flush('nested_outer_k');
RESET sware.fault_buffer;
SET twin.action = 'INSERT INTO nested_inner SELECT generate_series(1, 100)';
INSERT INTO nested_outer VALUES (2);
RESET twin.action;
SELECT count(*) FROM nested_inner;
INSERT INTO nested_inner VALUES (100);
CALL check_rows('nested_inner', 'nested_inner_k', 'k');
DROP TABLE nested_outer, nested_inner;
DROP OPERATOR CLASS acting_ops USING sware;
DROP OPERATOR FAMILY acting_ops USING sware;

DROP TABLE ft, fs, fi, fd, fm, fn, fx, fl, fe, fu, fp, ff, fc, fh, f2;
DROP DOMAIN whole;
DROP FUNCTION insert_unless_there;
DROP PROCEDURE insert_singly;
