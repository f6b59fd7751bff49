-- A look-up of one key in a unique index finds the row that its snapshot sees among the
-- versions that have entries on an open page of the buffer, and in the tree.
SET sware.fault_buffer = on;

\set VERBOSITY terse

CREATE TABLE o (k int, n int) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX o_k ON o USING sware (k);
CREATE INDEX o_n ON o (n);
INSERT INTO o SELECT i, 0 FROM generate_series(1, 100) i;
SELECT sware_flush('o_k');
-- Versions in the tree, and on an open page.
UPDATE o SET n = n + 1 WHERE k <= 10;
SELECT allow_scans('index');
SELECT * FROM o WHERE k = 5;
SELECT * FROM o WHERE k = 50;
SELECT * FROM o WHERE k = 5::bigint;
SELECT allow_scans('indexonly');
SELECT k FROM o WHERE k = 5;
SELECT allow_scans('index');
-- Other look-ups.
SELECT * FROM o WHERE k BETWEEN 5 AND 5 + 0 * random()::int;
SELECT * FROM o WHERE k IN (5, 6);
SELECT * FROM o WHERE k >= 5 AND k <= 5;
-- Versions that the snapshot does not see: then there may be one elsewhere.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 AS one;
DELETE FROM o WHERE k = 6;
SELECT * FROM o WHERE k = 6;
ROLLBACK;
SELECT * FROM o WHERE k = 6;
BEGIN;
SAVEPOINT s;
UPDATE o SET n = 100 WHERE k = 7;
ROLLBACK TO s;
SELECT * FROM o WHERE k = 7;
COMMIT;
-- More versions than a first batch has.
DO $$ BEGIN FOR i IN 1..20 LOOP UPDATE o SET n = n + 1 WHERE k = 8; END LOOP; END $$;
SELECT * FROM o WHERE k = 8;
-- Locked, and changed, rows.
SELECT * FROM o WHERE k = 9 FOR UPDATE;
UPDATE o SET n = n + 1 WHERE k = 9 RETURNING *;
DELETE FROM o WHERE k = 9 RETURNING *;
SELECT * FROM o WHERE k = 9;
-- Other indexes may have more rows.
CREATE TABLE several (k int, n int) WITH (autovacuum_enabled = off);
CREATE INDEX ON several USING sware (k);
INSERT INTO several VALUES (5, 1);
INSERT INTO several VALUES (5, 2);
SELECT * FROM several WHERE k = 5;
DROP TABLE several;
-- Nulls are not equal.
INSERT INTO o VALUES (NULL, 1);
INSERT INTO o VALUES (NULL, 2);
SELECT * FROM o WHERE k IS NULL;

-- A cursor turns around, and a merge join goes back to its mark.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM o WHERE k = 5;
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
FETCH ABSOLUTE 1 FROM c;
UPDATE o SET n = 500 WHERE k = 5;
FETCH ABSOLUTE 1 FROM c;
FETCH NEXT FROM c;
COMMIT;
SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT * FROM (VALUES (4), (4), (5)) v (x) JOIN o ON o.k = v.x WHERE o.k = 4;
RESET enable_hashjoin; RESET enable_nestloop;
DROP TABLE o;

-- A snapshot that sees two rows of its own transaction with one key: the one that a later
-- command deletes, and the one that an earlier command inserts after that.
CREATE TABLE o (k int, v text) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX o_k ON o USING sware (k);
INSERT INTO o VALUES (1, 'old');
CREATE FUNCTION replace_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'replaced';
BEGIN
	OPEN c FOR SELECT * FROM o WHERE k = new.k;
	DELETE FROM o WHERE k = new.k;
	RETURN new;
END $$;
CREATE TRIGGER replace_row BEFORE INSERT ON o FOR EACH ROW EXECUTE FUNCTION replace_row();
BEGIN;
INSERT INTO o VALUES (1, 'new');
FETCH ALL FROM replaced;
COMMIT;
DROP TABLE o;
DROP FUNCTION replace_row;

-- A value of another type that equals two keys: the first does not exist in this time zone.
SET timezone = 'Europe/Berlin';
CREATE TABLE o (k timestamp, v text) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX o_k ON o USING sware (k);
INSERT INTO o VALUES ('2024-03-31 02:30', 'in the gap');
INSERT INTO o VALUES ('2024-03-31 03:30', 'after it');
SELECT v FROM o WHERE k = timestamptz '2024-03-31 03:30+02' ORDER BY v;
DROP TABLE o;
RESET timezone;

-- Rows are inserted, updated, deleted, rolled back, and moved to the tree, and looked up
-- after each change, as nbtree finds them.
SELECT on_both($$
	CREATE TABLE h (k numeric, c text COLLATE "C", n int) WITH (autovacuum_enabled = off);
	CREATE UNIQUE INDEX h_k ON h USING @am (k, c);
	CREATE INDEX h_n ON h (n)
$$);
SELECT allow_scans('index');
CREATE PROCEDURE change_all() LANGUAGE plpgsql AS $$
DECLARE
	change text;
	question text;
	answers bigint := 0;
BEGIN
	FOR i IN 1..600 LOOP
		change := format((ARRAY[
			'INSERT INTO h SELECT %1$s, ''c'', %2$s WHERE NOT EXISTS (SELECT FROM h WHERE k = %1$s)',
			'UPDATE h SET n = %2$s WHERE k = %1$s',
			'UPDATE h SET n = %2$s, k = k + 0.0 WHERE k = %1$s',
			'UPDATE h SET n = n + 1 WHERE k IN (%1$s, %1$s + 1)',
			'DELETE FROM h WHERE k = %1$s',
			'DO $d$ BEGIN UPDATE h SET n = -1 WHERE k = %1$s; RAISE division_by_zero;
				EXCEPTION WHEN division_by_zero THEN END $d$'
			])[1 + (i * 7919 % 101) % 6], (i * 31 % 103) % 7, i);
		PERFORM on_both(change);
		IF i % 90 = 0 THEN
			PERFORM sware_flush('twin_sware.h_k');
		END IF;
		FOR key IN 0..7 LOOP
			question := format('SELECT * FROM h WHERE k = %s AND c = ''c''', key);
			IF same_rows(question) LIKE 'DIFF%' OR same_rows(replace(question, '*', 'k')) LIKE 'DIFF%' THEN
				RAISE NOTICE '% after %: %', question, change, same_rows(question);
			END IF;
			answers := answers + 1;
		END LOOP;
		IF i % 3 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	RAISE NOTICE '% answers', answers;
END $$;
CALL change_all();
SELECT allow_scans('seq');
SELECT same_rows('SELECT * FROM h ORDER BY k');
SELECT check_all();
DROP PROCEDURE change_all;
SELECT allow_scans('seq', 'index', 'indexonly', 'bitmap');
SELECT drop_twins();
