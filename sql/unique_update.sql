-- An UPDATE that leaves the key of a unique index as it was needs no look-up of the
-- key. The fault point "scan-buffer-read" tells of each look-up. Whatever else may
-- have happened to the key, duplicates are refused as nbtree refuses them.
SET sware.fault_buffer = on;

\set VERBOSITY terse
SET enable_indexscan = off;
SET enable_bitmapscan = off;

CREATE TABLE uu (k int, n int, v text) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX uu_k ON uu USING sware (k);
CREATE INDEX uu_n ON uu (n);
INSERT INTO uu SELECT i, i, 'first' FROM generate_series(1, 100) i;
SELECT sware_flush('uu_k');

-- No look-up: the key stays.
SET sware.fault_points = 'scan-buffer-read=notice';
UPDATE uu SET n = n + 1000 WHERE k = 1;
UPDATE uu SET n = n + 1000 WHERE k = 1;
UPDATE uu SET n = n + 1000, k = k WHERE k = 2;
MERGE INTO uu USING (VALUES (5)) s (x) ON k = x WHEN MATCHED THEN UPDATE SET n = n + 1000;
-- A look-up for each row: in a WITH clause, another key, and a key that is new.
WITH updated AS (UPDATE uu SET n = n + 1000 WHERE k = 3 RETURNING k) SELECT * FROM updated;
WITH updated AS (UPDATE uu SET n = n + 1000 WHERE k = 4) SELECT 4 AS four;
UPDATE uu SET k = 1001 WHERE k = 6;
INSERT INTO uu VALUES (6, 6, 'new');
UPDATE uu SET k = 7 WHERE k = 8;
-- More rows than are inserted directly: they are staged, without look-ups.
BEGIN;
UPDATE uu SET n = n + 1000 WHERE k BETWEEN 11 AND 60;
COMMIT;
RESET sware.fault_points;
CALL check_rows('uu', 'uu_k', 'k');

-- Triggers change the key, whatever columns the UPDATE names.
CREATE FUNCTION uu_set_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.v LIKE 'key %' THEN
		new.k := substr(new.v, 5)::int;
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER uu_before BEFORE UPDATE ON uu FOR EACH ROW EXECUTE FUNCTION uu_set_key();
UPDATE uu SET n = 0, v = 'key 70' WHERE k = 71;
UPDATE uu SET n = 0, v = 'key 2070' WHERE k = 71;
UPDATE uu SET n = 0, v = 'key 71' WHERE k = 72;
UPDATE uu SET n = 0, v = 'key 71' WHERE k = 73;
-- A trigger updates other rows, and this one, meanwhile.
CREATE FUNCTION uu_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.v LIKE 'move %' THEN
		UPDATE uu SET k = k + 5000 WHERE k = substr(new.v, 6)::int;
		INSERT INTO uu VALUES (substr(new.v, 6)::int, 0, 'moved');
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER uu_move BEFORE UPDATE ON uu FOR EACH ROW EXECUTE FUNCTION uu_move();
UPDATE uu SET n = 1, v = 'move 80' WHERE k = 81;
UPDATE uu SET n = 1, v = 'move 82' WHERE k = 82;
CALL check_rows('uu', 'uu_k', 'k');
DROP TRIGGER uu_before ON uu;
DROP TRIGGER uu_move ON uu;

-- MERGE inserts a row beside rows that it updates. The version that it has
-- updated last is not the new row's.
MERGE INTO uu USING (VALUES (90, 90), (91, -1)) s (x, y) ON k = x AND k = y
	WHEN MATCHED THEN UPDATE SET n = n + 1
	WHEN NOT MATCHED THEN INSERT VALUES (90, 0, 'second');
-- The old version's key is another one than the new row's.
MERGE INTO uu USING (VALUES (91)) s (x) ON k = x
	WHEN MATCHED THEN UPDATE SET k = 92, n = 0;

-- Savepoints: versions that were rolled back, and those after them.
BEGIN;
SAVEPOINT s;
UPDATE uu SET n = n + 1 WHERE k = 93;
ROLLBACK TO s;
UPDATE uu SET n = n + 1 WHERE k = 93;
SAVEPOINT s;
UPDATE uu SET n = n + 1 WHERE k = 93;
RELEASE s;
UPDATE uu SET n = n + 1 WHERE k = 93;
COMMIT;
INSERT INTO uu VALUES (93, 0, 'second');
CALL check_rows('uu', 'uu_k', 'k');

DROP TABLE uu;

-- Functions that other indexes call may insert the key when its row has been replaced, and
-- the new version has no entry yet.
CREATE TABLE uf (k int, v int) WITH (autovacuum_enabled = off);
CREATE FUNCTION insert_key(v int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	IF v < 0 THEN
		INSERT INTO uf VALUES (-v, 0);
	END IF;
	RETURN true;
END $$;
CREATE DOMAIN checked AS int CHECK (insert_key(value));
CREATE INDEX uf_v ON uf ((v::checked));
CREATE UNIQUE INDEX uf_k ON uf USING sware (k);
INSERT INTO uf SELECT i, i FROM generate_series(1, 100) i;
UPDATE uf SET v = -1 WHERE k = 1;
UPDATE uf SET v = -k;
SELECT * FROM uf WHERE v < 1;
DROP TABLE uf;
DROP DOMAIN checked;
DROP FUNCTION insert_key;

-- A partial index: the old version need not have an entry.
CREATE TABLE up (k int, active bool, n int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX up_k ON up USING sware (k) WHERE active;
CREATE INDEX ON up (n);
INSERT INTO up VALUES (1, true, 1), (1, false, 2);
UPDATE up SET active = true WHERE n = 2;
UPDATE up SET n = 3 WHERE n = 2;
UPDATE up SET active = NOT active;
SELECT * FROM up ORDER BY n;
DROP TABLE up;

-- An expression.
CREATE TABLE ux (k text, n int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX ON ux USING sware (lower(k));
CREATE INDEX ON ux (n);
INSERT INTO ux VALUES ('a', 1), ('b', 2);
UPDATE ux SET n = n + 1;
UPDATE ux SET k = 'A' WHERE k = 'b';
UPDATE ux SET k = 'A' WHERE k = 'a';
DROP TABLE ux;

-- Several columns, of all widths; nulls; included columns.
CREATE TABLE uc (a int, b text, c int, n int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX ON uc USING sware (a, b) INCLUDE (c);
CREATE UNIQUE INDEX ON uc USING sware (c) NULLS NOT DISTINCT;
CREATE INDEX ON uc (n);
ALTER TABLE uc ALTER b SET STORAGE EXTERNAL;
INSERT INTO uc SELECT i, repeat('x', 2000 + i), CASE WHEN i > 1 THEN i END, i FROM generate_series(1, 5) i;
SET sware.fault_points = 'scan-buffer-read=notice';
UPDATE uc SET n = n + 100;
RESET sware.fault_points;
UPDATE uc SET c = NULL WHERE a = 2;
UPDATE uc SET c = 20 WHERE a = 2;
UPDATE uc SET b = repeat('x', 2001), a = 1 WHERE a = 2;
INSERT INTO uc VALUES (3, repeat('x', 2003), 33, 33);
SELECT a, length(b), c, n FROM uc ORDER BY n;
DROP TABLE uc;

-- A row that goes to another partition.
CREATE TABLE ut (k int, p int, n int) PARTITION BY LIST (p);
CREATE TABLE ut1 PARTITION OF ut FOR VALUES IN (1) WITH (autovacuum_enabled = off);
CREATE TABLE ut2 PARTITION OF ut FOR VALUES IN (2) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX ON ut1 USING sware (k);
CREATE UNIQUE INDEX ON ut2 USING sware (k);
CREATE INDEX ON ut (n);
INSERT INTO ut VALUES (1, 1, 1), (1, 2, 2), (3, 1, 3);
UPDATE ut SET p = 2 WHERE n = 1;
UPDATE ut SET n = n + 10;
UPDATE ut SET p = 2 WHERE n = 13;
SELECT tableoid::regclass, * FROM ut ORDER BY n;
DROP TABLE ut;

DROP FUNCTION uu_set_key, uu_move;
