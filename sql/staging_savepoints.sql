-- Entries of a subtransaction that was rolled back are never stored: each row that is
-- left has one entry, and there are no others.
SET search_path = twin_sware, public;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);
-- Both numbers are equal if no entry was stored in vain.
CREATE VIEW numbers AS
	SELECT check_all() AS indexes, (SELECT count(*) FROM t) AS rows,
		   stored_entries('t_a') AS entries_a, stored_entries('t_b') AS entries_b;
CREATE FUNCTION add_rows(low int, high int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, 'b' || i FROM generate_series(low, high) i;
$$;
SELECT allow_scans('index', 'bitmap');

-- ROLLBACK TO drops, RELEASE keeps.
BEGIN;
SELECT add_rows(1, 100);
SAVEPOINT one;
SELECT add_rows(101, 200);
ROLLBACK TO one;
SELECT add_rows(201, 300);
RELEASE one;
SAVEPOINT two;
SELECT add_rows(301, 400);
RELEASE two;
SELECT stored_entries('t_a');
COMMIT;
SELECT * FROM numbers;
SELECT count(*), min(a), max(a) FROM t WHERE a > 0;

-- The first thing in a transaction is rolled back; then nothing follows.
BEGIN;
SAVEPOINT one;
SELECT add_rows(1, 100);
ROLLBACK TO one;
COMMIT;
SELECT * FROM numbers;

-- Nested: entries of a savepoint that was released are dropped with the outer one.
BEGIN;
SELECT add_rows(1001, 1010);
SAVEPOINT one;
SELECT add_rows(1011, 1020);
SAVEPOINT two;
SELECT add_rows(1021, 1030);
SAVEPOINT three;
SELECT add_rows(1031, 1040);
RELEASE three;
SELECT add_rows(1041, 1050);
ROLLBACK TO two;
SELECT add_rows(1051, 1060);
SAVEPOINT four;
SELECT add_rows(1061, 1070);
RELEASE one;
SELECT add_rows(1071, 1080);
SAVEPOINT five;
SAVEPOINT six;
SELECT add_rows(1081, 1090);
RELEASE six;
ROLLBACK TO five;
SELECT array_agg(a) FROM t WHERE a > 1000 AND a % 10 = 1;
COMMIT;
SELECT * FROM numbers;
SELECT array_agg(a) FROM t WHERE a > 1000 AND a % 10 = 1;

-- The same among more entries than one piece of memory holds. They do not come in order.
TRUNCATE t;
BEGIN;
SELECT add_rows(90011, 90011);
SELECT add_rows(1, 30000);
SAVEPOINT one;
SELECT add_rows(30001, 90000);
ROLLBACK TO one;
SELECT add_rows(90001, 90010);
SAVEPOINT two;
INSERT INTO t SELECT i, 'long' || repeat('x', 1000) || i FROM generate_series(90011, 91010) i;
ROLLBACK TO two;
INSERT INTO t SELECT i, 'long' || repeat('x', 1000) || i FROM generate_series(91012, 91510) i;
COMMIT;
SELECT * FROM numbers;
SELECT count(*), max(a) FROM t WHERE a > 29990;

-- A savepoint around each statement: what fails leaves nothing behind.
TRUNCATE t;
BEGIN;
DO $$
DECLARE
	failures int := 0;
BEGIN
	FOR i IN 1 .. 5000 LOOP
		BEGIN
			INSERT INTO t VALUES (i, 'b' || i);
			IF i % 3 = 0 THEN
				PERFORM 1 / (i % 3);
			END IF;
			IF i % 1000 = 1 THEN
				PERFORM count(*) FROM t WHERE a > i - 10;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			failures := failures + 1;
		END;
	END LOOP;
	RAISE NOTICE '% failures', failures;
END
$$;
SELECT count(*), sum(a) FROM t WHERE b > 'b';
COMMIT;
SELECT * FROM numbers;

-- Savepoints do not make entries be published: nothing is stored yet.
TRUNCATE t;
BEGIN;
SAVEPOINT one;
INSERT INTO t VALUES (1, 'b');
RELEASE one;
SAVEPOINT one;
INSERT INTO t VALUES (2, 'b');
ROLLBACK TO one;
SET LOCAL work_mem = '1MB';
PREPARE add AS INSERT INTO t VALUES ($1, 'prepared');
EXECUTE add (3);
DEALLOCATE add;
DECLARE c CURSOR FOR SELECT 1;
FETCH c;
CLOSE c;
LISTEN nobody;
UNLISTEN nobody;
DO 'BEGIN INSERT INTO t VALUES (4, ''do''); END';
COPY t FROM stdin;
5	copied
\.
EXPLAIN (ANALYZE) INSERT INTO t VALUES (6, 'explained') \g /dev/null
SELECT stored_entries('t_a') AS entries_a, stored_entries('t_b') AS entries_b;
COMMIT;
SELECT * FROM numbers;

-- Entries that were stored since a command needed them, or since memory was full, stay
-- when their rows are rolled back, until VACUUM removes them.
TRUNCATE t;
BEGIN;
SELECT add_rows(1, 10);
SAVEPOINT one;
SELECT add_rows(11, 20);
SELECT sware_check('t_a');
ROLLBACK TO one;
SELECT add_rows(21, 30);
SELECT array_agg(a) FROM t WHERE a > 0 AND a % 10 = 0;
COMMIT;
SELECT * FROM numbers;
VACUUM (INDEX_CLEANUP ON) t;
SELECT * FROM numbers;
SET sware.staging_size = '64kB';
BEGIN;
SELECT add_rows(31, 5000);
SAVEPOINT one;
SELECT add_rows(5001, 10000);
SAVEPOINT two;
SELECT add_rows(10001, 20000);
ROLLBACK TO two;
SELECT add_rows(20001, 25000);
RELEASE one;
SELECT add_rows(25001, 30000);
COMMIT;
RESET sware.staging_size;
VACUUM (INDEX_CLEANUP ON) t;
SELECT * FROM numbers;
SELECT count(*) FROM t WHERE a > 0;

-- The transaction fails, in a subtransaction or not; the session goes on.
BEGIN;
SELECT add_rows(-10, -1);
SAVEPOINT one;
SELECT add_rows(-20, -11);
SELECT 1 / 0;
ROLLBACK TO one;
SELECT count(*) FROM t WHERE a < 0;
SELECT add_rows(-30, -21);
SELECT 1 / 0;
COMMIT;
BEGIN;
SELECT add_rows(-40, -31);
ROLLBACK;
SELECT count(*) FROM t WHERE a < 0;
SELECT add_rows(-50, -41);
SELECT count(*) FROM t WHERE a < 0;
SELECT * FROM numbers;

-- Indexes that a subtransaction made are gone when it is rolled back.
TRUNCATE t;
BEGIN;
SELECT add_rows(1, 10);
SAVEPOINT one;
CREATE INDEX t_c ON t USING sware (a DESC);
SELECT add_rows(11, 20);
ROLLBACK TO one;
SELECT add_rows(21, 30);
SAVEPOINT two;
CREATE INDEX t_c ON t USING sware (b, a);
SELECT add_rows(31, 40);
RELEASE two;
SELECT add_rows(41, 50);
COMMIT;
SELECT *, stored_entries('t_c') FROM numbers;

DROP FUNCTION add_rows;
RESET search_path;
SELECT drop_twins();
