-- Staged rows of unique indexes: which rows are refused, and with which error. A
-- transaction stages for a unique index after its first 12 rows.

-- Returns how many entries this session has stored; the others are staged.
CREATE FUNCTION stored(index regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT entries_buffered + entries_appended + entries_inserted FROM sware_stats(index)
$$;

CREATE TABLE st (k bigint, v text);
CREATE UNIQUE INDEX st_k ON st USING sware (k);
INSERT INTO st SELECT i, 'old' FROM generate_series(1, 1000) i;
SELECT stored('st_k');

-- Keys are staged above the stored ones, in any order, and between them.
BEGIN;
INSERT INTO st SELECT 2000 - i, 'descending' FROM generate_series(1, 500) i;
INSERT INTO st SELECT 10 * i + 5000, 'step' FROM generate_series(1, 500) i;
INSERT INTO st SELECT 10 * i + 5001, 'between' FROM generate_series(1, 500) i;
SELECT stored('st_k');
COMMIT;
SELECT stored('st_k');
CALL check_rows('st', 'st_k');

-- The error is raised at the row itself, and is the same as nbtree's.
CREATE TABLE bt (k bigint, v text);
CREATE UNIQUE INDEX st_k_bt ON bt (k);
INSERT INTO bt TABLE st;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.v = 'noted' THEN
		RAISE NOTICE 'row %', NEW.k;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER note BEFORE INSERT ON st FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER note BEFORE INSERT ON bt FOR EACH ROW EXECUTE FUNCTION note();
-- against a row of the same statement
INSERT INTO bt SELECT 20000 + i % 300, CASE WHEN i > 298 THEN 'noted' END FROM generate_series(1, 400) i;
INSERT INTO st SELECT 20000 + i % 300, CASE WHEN i > 298 THEN 'noted' END FROM generate_series(1, 400) i;
-- against an older one, below and above
INSERT INTO bt SELECT 30000 - 75 * i, CASE WHEN i > 329 THEN 'noted' END FROM generate_series(1, 400) i;
INSERT INTO st SELECT 30000 - 75 * i, CASE WHEN i > 329 THEN 'noted' END FROM generate_series(1, 400) i;
DROP TRIGGER note ON st;
DROP TRIGGER note ON bt;
-- in COPY, the line
\set VERBOSITY default
COPY bt (k) FROM PROGRAM 'seq 40001 40200; echo 40100; echo 50000';
COPY st (k) FROM PROGRAM 'seq 40001 40200; echo 40100; echo 50000';
COPY bt (k) FROM PROGRAM 'seq 40001 40200; echo 500; echo 50000';
COPY st (k) FROM PROGRAM 'seq 40001 40200; echo 500; echo 50000';
\set VERBOSITY terse
CALL check_rows('st', 'st_k');

-- Rows of the same transaction that were deleted, or moved.
BEGIN;
INSERT INTO st SELECT i, 'new' FROM generate_series(20001, 20200) i;
DELETE FROM st WHERE k = 20150;
INSERT INTO st VALUES (20150, 'again');
UPDATE st SET v = 'updated' WHERE k > 20000;
UPDATE st SET k = k + 1000 WHERE k > 20000;
INSERT INTO st SELECT i, 'newer' FROM generate_series(20001, 20200) i;
SAVEPOINT s;
INSERT INTO st VALUES (21200, 'refused');
ROLLBACK TO s;
INSERT INTO st VALUES (21201, 'taken');
ROLLBACK TO s;
INSERT INTO st VALUES (21201, 'taken');
COMMIT;
CALL check_rows('st', 'st_k');
-- each new key is the old key of the next row
BEGIN;
INSERT INTO st SELECT i, 'new' FROM generate_series(22001, 22200) i;
UPDATE st SET k = k + 1 WHERE k > 22000;
ROLLBACK;
CALL check_rows('st', 'st_k');

-- Rebuilt, truncated, dropped in the transaction.
BEGIN;
INSERT INTO st SELECT i, 'new' FROM generate_series(22001, 22200) i;
REINDEX INDEX st_k;
INSERT INTO st SELECT i, 'newer' FROM generate_series(22201, 22300) i;
SAVEPOINT s;
INSERT INTO st VALUES (22200, 'refused');
ROLLBACK TO s;
SAVEPOINT s;
TRUNCATE st;
INSERT INTO st SELECT i, 'gone' FROM generate_series(22101, 22300) i;
ROLLBACK TO s;
INSERT INTO st VALUES (22300, 'refused');
ROLLBACK;
BEGIN;
INSERT INTO st SELECT i, 'new' FROM generate_series(22001, 22200) i;
TRUNCATE st;
INSERT INTO st SELECT i, 'newer' FROM generate_series(22001, 22200) i;
DROP INDEX st_k;
CREATE UNIQUE INDEX st_k ON st USING sware (k);
INSERT INTO st SELECT i, 'newest' FROM generate_series(22201, 22300) i;
COMMIT;
CALL check_rows('st', 'st_k');

-- A prepared transaction keeps its keys.
BEGIN;
INSERT INTO st SELECT i, 'prepared' FROM generate_series(23001, 23200) i;
PREPARE TRANSACTION 'stager';
SET lock_timeout = '10ms';
INSERT INTO st VALUES (23200, 'waits');
RESET lock_timeout;
COMMIT PREPARED 'stager';
INSERT INTO st VALUES (23200, 'refused');
CALL check_rows('st', 'st_k');

-- Frozen rows, into a table of the same transaction.
BEGIN;
CREATE TABLE frozen (k bigint);
CREATE UNIQUE INDEX frozen_k ON frozen USING sware (k);
COPY frozen FROM PROGRAM 'seq 1 2000' (FREEZE);
COPY frozen FROM PROGRAM 'seq 2001 3000 && echo 2500' (FREEZE);
ROLLBACK;
BEGIN;
CREATE TABLE frozen (k bigint);
CREATE UNIQUE INDEX frozen_k ON frozen USING sware (k);
COPY frozen FROM PROGRAM 'seq 1 2000' (FREEZE);
SELECT count(*) FROM frozen;
COPY frozen FROM PROGRAM 'seq 2001 3000 && echo 1500' (FREEZE);
ROLLBACK;

-- A trigger that inserts into the same table.
CREATE TABLE nested (k bigint, depth int);
CREATE UNIQUE INDEX nested_k ON nested USING sware (k);
CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.depth < 2 THEN
		INSERT INTO nested VALUES (NEW.k * 10, NEW.depth + 1), (NEW.k * 10 + 1, NEW.depth + 1);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER nest BEFORE INSERT ON nested FOR EACH ROW EXECUTE FUNCTION nest();
INSERT INTO nested SELECT i, 0 FROM generate_series(1001, 1300) i;
INSERT INTO nested SELECT i, 0 FROM generate_series(2001, 2100) i UNION ALL SELECT 10011, 1;
CALL check_rows('nested', 'nested_k');

-- More indexes than those whose keys a session can register; other kinds of keys.
CREATE TABLE kinds (k int, d int, n numeric, t text,
	c text COLLATE "C", f float8, p int, x int, i int, y text);
CREATE UNIQUE INDEX kinds_1 ON kinds USING sware (k);
CREATE UNIQUE INDEX kinds_2 ON kinds USING sware (d DESC NULLS LAST);
CREATE UNIQUE INDEX kinds_3 ON kinds USING sware (n);
CREATE UNIQUE INDEX kinds_4 ON kinds USING sware (t, k);
CREATE UNIQUE INDEX kinds_5 ON kinds USING sware (c);
CREATE UNIQUE INDEX kinds_6 ON kinds USING sware (f);
CREATE UNIQUE INDEX kinds_7 ON kinds USING sware (p) WHERE p % 2 = 0;
CREATE UNIQUE INDEX kinds_8 ON kinds USING sware ((x / 2));
CREATE UNIQUE INDEX kinds_9 ON kinds USING sware (i) INCLUDE (y, k);
CREATE UNIQUE INDEX kinds_10 ON kinds USING sware (k, d) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX kinds_11 ON kinds USING sware (k, n);
CREATE UNIQUE INDEX kinds_12 ON kinds USING sware (k, t);
CREATE UNIQUE INDEX kinds_13 ON kinds USING sware (k, c);
CREATE UNIQUE INDEX kinds_14 ON kinds USING sware (k, f);
CREATE UNIQUE INDEX kinds_15 ON kinds USING sware (k, i);
CREATE UNIQUE INDEX kinds_16 ON kinds USING sware (k, x);
CREATE UNIQUE INDEX kinds_17 ON kinds USING sware (k, y);
CREATE UNIQUE INDEX kinds_18 ON kinds USING sware (k, p);
CREATE FUNCTION kinds(first int, last int) RETURNS SETOF kinds LANGUAGE sql AS $$
	SELECT i, i, i / 10.0, 'text ' || i, 'text ' || i, i / 8.0, i / 2 * 2 + (i % 2), 2 * i, i, 'y'
	FROM generate_series(first, last) i
$$;
INSERT INTO kinds SELECT * FROM kinds(1, 300);
CREATE PROCEDURE try_kind(change text) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE row ON COMMIT DROP AS SELECT * FROM kinds(1000, 1000);
	EXECUTE 'UPDATE row SET ' || change;
END $$;
BEGIN; CALL try_kind('k = 500');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('d = 500');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('n = 50.000');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('c = ''text 500''');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('f = 62.5');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('p = 500');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('x = 1001');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('i = 500');
INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row; ROLLBACK;
-- nulls differ from each other, unless the index says NULLS NOT DISTINCT
BEGIN; CALL try_kind('k = NULL'); INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row;
INSERT INTO kinds SELECT * FROM row; ROLLBACK;
BEGIN; CALL try_kind('k = NULL'); INSERT INTO kinds SELECT * FROM kinds(301, 600) UNION ALL SELECT * FROM row;
UPDATE row SET d = 1001, p = 1001, n = 1001, f = 1001, c = '', i = 1001, x = 3000;
INSERT INTO kinds SELECT * FROM row; ROLLBACK;
INSERT INTO kinds SELECT * FROM kinds(301, 600);
SELECT count(*), count(DISTINCT k) FROM kinds;
SELECT count(sware_check(indexrelid, true)::text) FROM pg_index WHERE indrelid = 'kinds'::regclass;

-- Little private memory: parts of the staged entries are published, and staging goes on.
CREATE TABLE parts (k bigint);
CREATE UNIQUE INDEX parts_k ON parts USING sware (k);
SET sware.staging_size = '64kB';
INSERT INTO parts SELECT i FROM generate_series(1, 30000) i
	ORDER BY i + CASE WHEN i % 10 = 0 THEN 500 WHEN i % 10 = 5 THEN -500 ELSE 0 END;
CALL check_rows('parts', 'parts_k');
INSERT INTO parts SELECT i::bigint * 1000003 FROM generate_series(100, 20000) i;
INSERT INTO parts SELECT i::bigint * 1000003 + 1
	FROM generate_series(100, 20000) i UNION ALL SELECT 1000003000;
CALL check_rows('parts', 'parts_k');
RESET sware.staging_size;

-- More unique columns than those whose keys a session can register at a time: each is
-- checked, against older rows and those of the same statement.
\set ECHO none
SELECT format('CREATE TABLE many (%s)', string_agg(format('c%s int', i), ', '))
FROM generate_series(1, 20) i \gexec
SELECT format('CREATE UNIQUE INDEX many_%s ON many USING sware (c%s)', i, i)
FROM generate_series(1, 20) i \gexec
SELECT string_agg('&', ',') AS all FROM generate_series(1, 20) i \gset
SELECT format('COPY many FROM PROGRAM %L (FORMAT csv)',
	'seq 1 300 | sed "s/.*/' || :'all' || '/"') AS load \gset
:load;
SELECT format('COPY many FROM PROGRAM %L (FORMAT csv)', 'seq 301 400 | sed "s/.*/' || :'all' || '/"; echo ' ||
	(SELECT string_agg((CASE WHEN i = j THEN k ELSE 1000 END)::text, ',' ORDER BY j)
		FROM generate_series(1, 20) j))
FROM generate_series(1, 20) i, unnest(ARRAY[150, 390]) k ORDER BY i, k \gexec
SELECT format('COPY many FROM PROGRAM %L (FORMAT csv)',
	'seq 301 400 | sed "s/.*/' || :'all' || '/"') AS load \gset
:load;
\set ECHO all
SELECT count(*), count(DISTINCT c1), count(DISTINCT c20) FROM many;
SELECT count(sware_check(indexrelid, true)::text) FROM pg_index WHERE indrelid = 'many'::regclass;
DROP TABLE many;

-- Keys arrive in falling order, all of them between stored keys.
CREATE TABLE downwards (k bigint);
CREATE UNIQUE INDEX downwards_k ON downwards USING sware (k);
INSERT INTO downwards VALUES (0), (20000);
INSERT INTO downwards SELECT 10000 - i FROM generate_series(1, 5000) i;
INSERT INTO downwards SELECT 5000 - i FROM generate_series(1, 4000) i UNION ALL SELECT 3000;
INSERT INTO downwards SELECT 5000 - i FROM generate_series(1, 4000) i UNION ALL SELECT 7000;
INSERT INTO downwards SELECT 5000 - i FROM generate_series(1, 4000) i;
CALL check_rows('downwards', 'downwards_k');
DROP TABLE downwards;

-- An index is rebuilt while all keys are staged; keys that the build found are refused.
CREATE TABLE rebuilt (k bigint);
CREATE UNIQUE INDEX rebuilt_k ON rebuilt USING sware (k);
BEGIN;
INSERT INTO rebuilt SELECT generate_series(1, 200);
REINDEX INDEX rebuilt_k;
INSERT INTO rebuilt SELECT generate_series(201, 300);
INSERT INTO rebuilt VALUES (150);
ROLLBACK;
BEGIN;
INSERT INTO rebuilt SELECT generate_series(1, 200);
TRUNCATE rebuilt;
INSERT INTO rebuilt SELECT generate_series(51, 250);
INSERT INTO rebuilt VALUES (150);
ROLLBACK;
DROP TABLE rebuilt;

-- A temporary table.
CREATE TEMPORARY TABLE own (k bigint);
CREATE UNIQUE INDEX own_k ON own USING sware (k);
BEGIN;
INSERT INTO own SELECT generate_series(1, 300);
SAVEPOINT s;
INSERT INTO own SELECT generate_series(301, 600) UNION ALL SELECT 500;
ROLLBACK TO s;
INSERT INTO own SELECT generate_series(301, 600);
COMMIT;
INSERT INTO own SELECT generate_series(601, 900) UNION ALL SELECT 300;
CALL check_rows('own', 'own_k');
DROP TABLE own;

-- A comparator that inserts into the table whose entries it compares is refused: when
-- they are sorted at COMMIT, with a key that is among them or not; in mid-transaction;
-- and in a subtransaction, after which everything can be published.
-- Functions that are not trusted would not be called where these are.
SET sware.fault_trust = on;
SET sware.fault_buffer = on;
CREATE TABLE noisy (k int);
CREATE FUNCTION compare_noisily(x int, y int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF x = current_setting('noisy.at')::int AND y <> x THEN
		PERFORM set_config('noisy.at', '0', false);
		INSERT INTO noisy VALUES (current_setting('noisy.key')::int);
	END IF;
	RETURN btint4cmp(x, y);
END $$;
SET noisy.at = 0;
CREATE OPERATOR CLASS noisy_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_noisily(int, int);
CREATE UNIQUE INDEX noisy_k ON noisy USING sware (k noisy_ops);
BEGIN;
INSERT INTO noisy SELECT i * 7919 % 1009 FROM generate_series(1, 1008) i;
SELECT set_config('noisy.at', '150', false), set_config('noisy.key', '2000', false);
COMMIT;
SELECT current_setting('noisy.at') AS at;
SET noisy.at = 0;
CALL check_rows('noisy', 'noisy_k');
BEGIN;
INSERT INTO noisy SELECT 3000 + i * 7919 % 1009 FROM generate_series(1, 1008) i;
SELECT set_config('noisy.at', '3150', false), set_config('noisy.key', '3950', false);
COMMIT;
SET noisy.at = 0;
CALL check_rows('noisy', 'noisy_k');
BEGIN;
INSERT INTO noisy SELECT 5000 + i * 7919 % 1009 FROM generate_series(1, 1008) i;
SELECT set_config('noisy.at', '5150', false), set_config('noisy.key', '7000', false);
SET CONSTRAINTS ALL IMMEDIATE;
SELECT current_setting('noisy.at') AS at;
INSERT INTO noisy VALUES (7001);
COMMIT;
BEGIN;
INSERT INTO noisy SELECT 5000 + i * 7919 % 1009 FROM generate_series(1, 1008) i;
SELECT set_config('noisy.at', '5150', false), set_config('noisy.key', '7000', false);
SAVEPOINT s;
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
SET noisy.at = 0;
SELECT count(*) FROM noisy WHERE k = 5150;
INSERT INTO noisy VALUES (7001);
COMMIT;
INSERT INTO noisy VALUES (7001);
CALL check_rows('noisy', 'noisy_k');
DROP TABLE noisy;
DROP OPERATOR CLASS noisy_ops USING sware;

DROP TABLE st, bt, nested, parts;
DROP TABLE kinds CASCADE;
DROP FUNCTION stored, note, nest;
DROP PROCEDURE try_kind;
