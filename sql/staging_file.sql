-- The files of two indexes are exchanged in mid-transaction, in a way that no hook sees:
-- here by hand, as extensions that rebuild tables do it. Staged entries must not be
-- stored in the file of another index.
\set VERBOSITY terse
CREATE TABLE t (a int, b int) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, -i FROM generate_series(1, 100) i;
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);

-- Gives each of two indexes the file of the other one.
CREATE FUNCTION exchange_files() RETURNS void LANGUAGE sql AS $$
	UPDATE pg_class one SET relfilenode = other.relfilenode FROM pg_class other
	WHERE one.oid IN ('t_a'::regclass, 't_b'::regclass) AND
		other.oid IN ('t_a'::regclass, 't_b'::regclass) AND one.oid <> other.oid
$$;
CREATE FUNCTION verdict() RETURNS text LANGUAGE sql AS $$
	SELECT format('%s rows, %s entries by a, %s by b', (SELECT count(*) FROM t),
				  stored_entries('t_a'), stored_entries('t_b'))
$$;

-- Nothing is staged: the files can be exchanged, and exchanged back.
BEGIN;
SELECT exchange_files();
SELECT exchange_files();
COMMIT;
SELECT verdict();

-- Entries are published at the end of the transaction, by a utility command, and when
-- private memory is full; and a scan searches them.
BEGIN;
INSERT INTO t SELECT i, -i FROM generate_series(101, 110) i;
SELECT exchange_files();
COMMIT;
BEGIN;
INSERT INTO t SELECT i, -i FROM generate_series(101, 110) i;
SELECT exchange_files();
SET LOCAL enable_seqscan = off;
SELECT count(*) FROM t WHERE a = 105;
ROLLBACK;
BEGIN;
INSERT INTO t SELECT i, -i FROM generate_series(101, 110) i;
SELECT exchange_files();
CREATE TABLE other ();
ROLLBACK;
BEGIN;
SET LOCAL sware.staging_size = '64kB';
INSERT INTO t SELECT i, -i FROM generate_series(101, 110) i;
SELECT exchange_files();
INSERT INTO t SELECT i, -i FROM generate_series(111, 10000) i;
ROLLBACK;

-- A subtransaction exchanges the files, and its abort exchanges them back.
BEGIN;
INSERT INTO t SELECT i, -i FROM generate_series(101, 110) i;
SAVEPOINT s;
SELECT exchange_files();
SELECT sware_check('t_a');
ROLLBACK TO s;
COMMIT;
SELECT verdict(), sware_check('t_a', true), sware_check('t_b', true);

-- Without staging, each entry goes to the file that its index has at that moment.
SET sware.enable_buffer = off;
BEGIN;
INSERT INTO t SELECT i, -i FROM generate_series(111, 120) i;
SELECT exchange_files();
SELECT exchange_files();
INSERT INTO t SELECT i, -i FROM generate_series(121, 130) i;
COMMIT;
RESET sware.enable_buffer;
SELECT verdict(), sware_check('t_a', true), sware_check('t_b', true);

DROP FUNCTION verdict, exchange_files;
DROP TABLE t;
