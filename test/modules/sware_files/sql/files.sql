-- C code exchanges, copies and drops the files of indexes in mid-transaction, in ways
-- that no utility command tells. What waits for a file goes to whichever index has it.
\set VERBOSITY terse
CREATE EXTENSION sware_files;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_other LOCATION '';

-- A table and a transient one, which is to take its place. `live` has 100 rows.
CREATE FUNCTION prepare(kind text DEFAULT '', uniqueness text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL client_min_messages = warning;
	DROP TABLE IF EXISTS live, transient;
	EXECUTE format('CREATE %s TABLE live (a int, b text) WITH (autovacuum_enabled = off)', kind);
	EXECUTE format('CREATE %s TABLE transient (a int, b text) WITH (autovacuum_enabled = off)', kind);
	EXECUTE format('CREATE %s INDEX live_a ON live USING sware (a)', uniqueness);
	EXECUTE format('CREATE %s INDEX transient_a ON transient USING sware (a)', uniqueness);
	INSERT INTO live SELECT i, 'live' FROM generate_series(1, 100) i;
END $$;
SELECT prepare();
-- Exchanges the files of the tables and of their indexes.
CREATE FUNCTION exchange() RETURNS void LANGUAGE sql AS $$
	SELECT sware_exchange_files('live', 'transient'), sware_exchange_files('live_a', 'transient_a');
$$;
-- Counts the rows of a table, and those that its index finds, which it checks.
CREATE FUNCTION verdict(tab text DEFAULT 'live') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
	found bigint;
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT count(*) FROM %s WHERE a > 0', tab) INTO rows;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_seqscan = off;
	EXECUTE format('SELECT count(*) FROM (SELECT b FROM %s WHERE a > 0 ORDER BY a) s', tab) INTO found;
	RESET enable_seqscan;
	RESET enable_indexscan;
	RESET enable_bitmapscan;
	RETURN format('%s rows, %s found', rows, found);
END $$;
-- Like verdict, and verifies the index.
CREATE FUNCTION final_verdict(tab text DEFAULT 'live') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sware_check((tab || '_a')::regclass, true);
	RETURN verdict(tab);
END $$;

-- The transient table is filled, exchanged, and dropped.
BEGIN;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 200) i;
SELECT exchange();
SELECT sware_drop('transient');
SELECT verdict();
COMMIT;
SELECT final_verdict();
-- ... and the transaction sees the exchange only at its end.
SELECT prepare();
WITH new AS (INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 200) i RETURNING a)
SELECT sware_exchange_files('live', 'transient', false), sware_exchange_files('live_a', 'transient_a', false)
FROM (SELECT count(*) FROM new) counted;
SELECT final_verdict(), final_verdict('transient');
-- More rows than go to the buffer.
SELECT prepare();
BEGIN;
INSERT INTO transient SELECT i * 7 % 10007, 'new' FROM generate_series(1, 10000) i;
SELECT exchange(), sware_drop('transient');
COMMIT;
SELECT final_verdict();

-- Rows are inserted into both, before and after the exchange, and both are kept.
SELECT prepare();
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(101, 130) i;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 200) i;
SELECT exchange();
SELECT verdict(), verdict('transient');
INSERT INTO live SELECT i, 'new' FROM generate_series(201, 210) i;
INSERT INTO transient SELECT i, 'old' FROM generate_series(131, 135) i;
SELECT verdict(), verdict('transient');
COMMIT;
SELECT final_verdict(), final_verdict('transient');
-- The old file goes with its rows.
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(300, 310) i;
SELECT exchange(), sware_drop('transient');
COMMIT;
SELECT final_verdict();

-- A subtransaction exchanges the files and is rolled back, or not.
SELECT prepare();
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(101, 130) i;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 200) i;
SAVEPOINT s;
SELECT exchange();
INSERT INTO live SELECT i, 'gone' FROM generate_series(1000, 1010) i;
CREATE TEMP TABLE publishes ();
ROLLBACK TO s;
INSERT INTO live SELECT i, 'old' FROM generate_series(131, 140) i;
SELECT verdict(), verdict('transient');
COMMIT;
SELECT final_verdict(), final_verdict('transient');
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(141, 150) i;
SAVEPOINT s;
SELECT exchange();
INSERT INTO live SELECT i, 'new' FROM generate_series(201, 210) i;
SELECT sware_drop('transient');
RELEASE s;
COMMIT;
SELECT final_verdict();

-- A table is dropped in a subtransaction that is rolled back, and meanwhile entries are
-- published.
SELECT prepare();
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(101, 1100) i;
SAVEPOINT s;
SELECT sware_drop('live');
CREATE TEMP TABLE publishes ();
ROLLBACK TO s;
SELECT verdict();
COMMIT;
SELECT final_verdict();
-- ... while memory is used up,
BEGIN;
SET LOCAL sware.staging_size = '64kB';
INSERT INTO live SELECT i, 'kept' FROM generate_series(1101, 2100) i;
SAVEPOINT s;
SELECT sware_drop('live');
INSERT INTO transient SELECT i, 'gone' FROM generate_series(1, 5000) i;
ROLLBACK TO s;
COMMIT;
SELECT final_verdict();
-- ... in a subtransaction of the one that is rolled back,
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(2101, 2110) i;
SAVEPOINT s;
SAVEPOINT t;
SELECT sware_drop('live');
CREATE TEMP TABLE publishes ();
RELEASE t;
CREATE TEMP TABLE publishes_too ();
ROLLBACK TO s;
COMMIT;
SELECT final_verdict();
-- ... and in one that is not.
BEGIN;
INSERT INTO live SELECT i, 'gone' FROM generate_series(3000, 3010) i;
SAVEPOINT s;
SELECT sware_drop('live');
CREATE TEMP TABLE publishes ();
RELEASE s;
COMMIT;
SELECT to_regclass('live');
DROP TABLE publishes;

-- Unique indexes: keys are known to be taken, whichever index has the file.
SELECT prepare('', 'UNIQUE');
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(101, 200) i;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 300) i;
SELECT exchange();
SAVEPOINT s;
INSERT INTO live VALUES (250, 'twice');
ROLLBACK TO s;
INSERT INTO live VALUES (301, 'new');
INSERT INTO transient VALUES (150, 'twice');
ROLLBACK TO s;
INSERT INTO transient VALUES (250, 'old');
SELECT exchange();
INSERT INTO live SELECT i, 'old' FROM generate_series(251, 300) i;
SAVEPOINT s;
INSERT INTO live SELECT i, 'twice' FROM generate_series(249, 250) i;
ROLLBACK TO s;
SELECT exchange(), sware_drop('transient');
SELECT verdict();
COMMIT;
SELECT final_verdict();
-- The largest key that a session knows of is that of a file.
SELECT prepare('', 'UNIQUE');
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(101, 200) i;
CREATE TEMP TABLE publishes ();
INSERT INTO live SELECT i, 'old' FROM generate_series(201, 300) i;
CREATE TEMP TABLE publishes_too ();
SELECT exchange();
INSERT INTO transient VALUES (500, 'old');
SELECT exchange();
INSERT INTO live SELECT i, 'old' FROM generate_series(499, 500) i;
ROLLBACK;

-- Temporary tables.
SELECT prepare('TEMP');
BEGIN;
INSERT INTO live SELECT i, 'old' FROM generate_series(101, 130) i;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 200) i;
SELECT exchange();
INSERT INTO live SELECT i, 'new' FROM generate_series(201, 210) i;
SELECT verdict(), verdict('transient');
SELECT sware_drop('transient');
COMMIT;
SELECT final_verdict();

-- The file is copied to another tablespace. Within a savepoint that is an error while
-- entries wait, since a rollback brings the old file back.
SELECT prepare();
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(101, 130) i;
SELECT sware_move('live_a', 'sware_other');
SELECT verdict();
INSERT INTO live SELECT i, 'kept' FROM generate_series(131, 140) i;
COMMIT;
SELECT final_verdict();
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(141, 150) i;
SELECT sware_move('live_a', 'pg_default');
COMMIT;
SELECT final_verdict();
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(151, 160) i;
SAVEPOINT s;
SELECT sware_move('live_a', 'sware_other');
SELECT verdict();
ROLLBACK TO s;
SELECT sware_move('live_a', 'sware_other');
ROLLBACK TO s;
COMMIT;
SELECT final_verdict();

-- The exchange is in the middle of a statement, whose other rows are for an index whose build has another
-- index's entries.
CREATE FUNCTION exchange_at(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF i = 150 THEN
		PERFORM exchange();
	END IF;
	RETURN 'row';
END $$;
SELECT prepare();
BEGIN;
INSERT INTO transient SELECT i, 'new' FROM generate_series(1, 40) i;
INSERT INTO live SELECT i, exchange_at(i) FROM generate_series(101, 200) i;
SELECT verdict(), verdict('transient');
COMMIT;
SELECT final_verdict(), final_verdict('transient');

-- The index is built anew in the same file.
BEGIN;
CREATE TABLE young (a int, b text) WITH (autovacuum_enabled = off);
CREATE INDEX young_a ON young USING sware (a);
INSERT INTO young SELECT i, 'gone' FROM generate_series(1, 30) i;
SELECT sware_truncate_in_place('young');
INSERT INTO young SELECT i, 'new' FROM generate_series(11, 60) i;
SELECT verdict('young');
COMMIT;
SELECT final_verdict('young');
DROP TABLE young;
SELECT prepare();
BEGIN;
INSERT INTO transient SELECT i, 'gone' FROM generate_series(1, 30) i;
SELECT exchange();
SELECT sware_truncate_in_place('live');
INSERT INTO live SELECT i, 'new' FROM generate_series(11, 60) i;
SELECT verdict();
COMMIT;
SELECT final_verdict();

-- An index with other keys gets the file.
SELECT prepare();
CREATE INDEX live_b ON live USING sware (b);
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(101, 130) i;
SELECT sware_exchange_files('live_a', 'live_b');
COMMIT;
SELECT final_verdict();
SELECT sware_check('live_b', true);
-- So does a table.
BEGIN;
INSERT INTO live SELECT i, 'kept' FROM generate_series(101, 130) i;
SELECT sware_exchange_files('live_a', 'transient');
COMMIT;

DROP TABLE live, transient;
DROP TABLESPACE sware_other;
