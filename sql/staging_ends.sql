-- The ways in which a transaction can end, and functions that run while it ends.
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
SELECT allow_scans('index', 'indexonly', 'bitmap');
CREATE VIEW numbers AS
	SELECT check_all() AS indexes, (SELECT count(*) FROM t) AS rows,
		   (SELECT count(*) FROM t WHERE a > 0) AS found, stored_entries('t_a'::text::regclass) AS entries;

-- Prepared transactions, ended here or by another session.
BEGIN;
INSERT INTO t SELECT i, 'prepared' FROM generate_series(1, 100) i;
PREPARE TRANSACTION 'sware_commit';
SELECT stored_entries('t_a');
SELECT count(*) FROM t WHERE a > 0;
BEGIN;
INSERT INTO t SELECT i, 'rolled back' FROM generate_series(101, 200) i;
SAVEPOINT s;
INSERT INTO t SELECT i, 'rolled back' FROM generate_series(201, 300) i;
ROLLBACK TO s;
PREPARE TRANSACTION 'sware_rollback';
INSERT INTO t SELECT i, 'between' FROM generate_series(301, 310) i;
SELECT count(*) FROM t WHERE a > 0;
\c -
SET search_path = twin_sware, public;
SELECT allow_scans('index', 'indexonly', 'bitmap');
COMMIT PREPARED 'sware_commit';
SELECT count(*) FROM t WHERE a > 0;
ROLLBACK PREPARED 'sware_rollback';
VACUUM (INDEX_CLEANUP ON) t;
SELECT * FROM numbers;

-- Procedures and DO blocks that commit and roll back inside.
TRUNCATE t;
CREATE PROCEDURE load(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		INSERT INTO t VALUES (i, 'procedure');
		IF i % 7 = 0 THEN
			ROLLBACK;
		ELSIF i % 5 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END
$$;
CALL load(100);
SELECT * FROM numbers;
DO $$
DECLARE
	x record;
BEGIN
	FOR x IN SELECT a FROM t WHERE a > 0 ORDER BY a LOOP
		INSERT INTO t VALUES (x.a + 1000, 'loop');
		COMMIT;
		BEGIN
			INSERT INTO t VALUES (x.a + 2000, 'loop');
			PERFORM 1 / (x.a % 2);
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END
$$;
SELECT * FROM numbers;
COMMIT AND CHAIN;
BEGIN;
INSERT INTO t VALUES (5001, 'chain');
COMMIT AND CHAIN;
INSERT INTO t VALUES (5002, 'chain');
ROLLBACK AND CHAIN;
INSERT INTO t VALUES (5003, 'chain');
COMMIT;
SELECT array_agg(a) FROM t WHERE a > 5000;
-- Several statements in one message are one transaction.
INSERT INTO t VALUES (6001, 'message')\; INSERT INTO t VALUES (6002, 'message')\;
SELECT array_agg(a) FROM t WHERE a > 6000;
INSERT INTO t VALUES (6003, 'message')\; SELECT 1 / 0;
SELECT array_agg(a) FROM t WHERE a > 6000;
SELECT * FROM numbers;

-- Deferred triggers insert at the end of the transaction, and read what they inserted.
TRUNCATE t;
CREATE TABLE audit (a int, found bigint);
CREATE INDEX audit_a ON audit USING sware (a);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit VALUES (NEW.a, (SELECT count(*) FROM t WHERE a > 0));
	IF NEW.a % 2 = 0 THEN
		INSERT INTO t VALUES (NEW.a + 1, 'trigger');
	END IF;
	RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER at_end AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION audit();
BEGIN;
INSERT INTO t VALUES (10, 'statement'), (13, 'statement'), (20, 'statement');
SELECT count(*) FROM audit WHERE a > 0;
COMMIT;
SELECT * FROM audit WHERE a > 0 ORDER BY a;
SELECT * FROM numbers;
BEGIN;
INSERT INTO t VALUES (30, 'statement');
SET CONSTRAINTS ALL IMMEDIATE;
SELECT a FROM audit WHERE a >= 30 ORDER BY a;
INSERT INTO t VALUES (40, 'statement');
SELECT a FROM audit WHERE a >= 40 ORDER BY a;
PREPARE TRANSACTION 'sware_deferred';
COMMIT PREPARED 'sware_deferred';
SELECT stored_entries('audit_a'), numbers.* FROM numbers;
DROP TRIGGER at_end ON t;

-- WITH HOLD cursors run at the end of the transaction, and so do the functions in them.
CREATE FUNCTION insert_and_return(x int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t VALUES (x, 'cursor');
	RETURN (SELECT count(*) FROM t WHERE a > 100);
END
$$;
BEGIN;
INSERT INTO t VALUES (101, 'before');
DECLARE held NO SCROLL CURSOR WITH HOLD FOR
	SELECT x, insert_and_return(x) FROM unnest(ARRAY[201, 202, 203]) x;
DECLARE plain SCROLL CURSOR WITH HOLD FOR SELECT a FROM t WHERE a > 100 ORDER BY a;
INSERT INTO t VALUES (102, 'after');
FETCH 1 FROM held;
COMMIT;
FETCH ALL FROM held;
FETCH ALL FROM plain;
FETCH BACKWARD ALL FROM plain;
CLOSE ALL;
SELECT array_agg(a ORDER BY a) FROM t WHERE a > 100;
SELECT * FROM numbers;

-- Temporary tables are emptied at every commit.
CREATE TEMPORARY TABLE emptied (a int, b text) ON COMMIT DELETE ROWS;
CREATE INDEX emptied_a ON emptied USING sware (a);
BEGIN;
INSERT INTO emptied SELECT generate_series(1, 2000), 'one';
INSERT INTO t VALUES (301, 'beside');
COMMIT;
SELECT stored_entries('emptied_a');
BEGIN;
INSERT INTO emptied SELECT generate_series(1, 10), 'two';
SELECT a, b FROM emptied WHERE a > 7 ORDER BY a;
SAVEPOINT s;
INSERT INTO emptied SELECT generate_series(11, 20), 'three';
ROLLBACK TO s;
SELECT count(*), sware_check('emptied_a', true) FROM emptied WHERE a > 0;
COMMIT;
SELECT stored_entries('emptied_a'), numbers.* FROM numbers;
CREATE TEMPORARY TABLE kept (a int);
CREATE INDEX kept_a ON kept USING sware (a);
BEGIN;
INSERT INTO kept SELECT generate_series(1, 10);
COMMIT;
SELECT stored_entries('kept_a'), count(*) FROM kept WHERE a > 0;
BEGIN;
CREATE TEMPORARY TABLE gone (a int) ON COMMIT DROP;
CREATE INDEX gone_a ON gone USING sware (a);
INSERT INTO gone SELECT generate_series(1, 10);
INSERT INTO t VALUES (302, 'beside');
COMMIT;
SELECT * FROM numbers;
DROP TABLE emptied, kept;

-- Tables made, or dropped, in the transaction.
BEGIN;
CREATE TABLE made (a int);
CREATE INDEX made_a ON made USING sware (a);
INSERT INTO made SELECT generate_series(1, 1000);
SAVEPOINT s;
DROP TABLE made;
ROLLBACK TO s;
INSERT INTO made SELECT generate_series(1001, 1100);
DROP INDEX t_a;
INSERT INTO t VALUES (401, 'no index');
ROLLBACK TO s;
RELEASE s;
INSERT INTO t VALUES (402, 'index');
COMMIT;
SELECT stored_entries('made_a'), count(*) FROM made WHERE a > 0;
SELECT * FROM numbers;

-- Rows of one transaction that an exclusion constraint keeps apart.
CREATE TABLE exclusive (a int, b int, CONSTRAINT exclusive_a EXCLUDE USING sware (a WITH =));
CREATE INDEX exclusive_b ON exclusive USING sware (b);
BEGIN;
INSERT INTO exclusive VALUES (1, 1), (2, 1);
SELECT stored_entries('exclusive_a') AS constrained, stored_entries('exclusive_b') AS plain;
SAVEPOINT s;
INSERT INTO exclusive VALUES (3, 1), (1, 1);
ROLLBACK TO s;
INSERT INTO exclusive VALUES (3, 1);
SAVEPOINT s;
INSERT INTO exclusive VALUES (3, 1);
ROLLBACK TO s;
DELETE FROM exclusive WHERE a = 2;
INSERT INTO exclusive VALUES (2, 2);
INSERT INTO exclusive VALUES (2, 3), (4, 3) ON CONFLICT DO NOTHING;
COMMIT;
SELECT a, b FROM exclusive WHERE a > 0 ORDER BY a;
CREATE TABLE exclusive_later (a int, CONSTRAINT exclusive_later_a EXCLUDE
	USING sware (a WITH =) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO exclusive_later VALUES (1), (1), (2);
DELETE FROM exclusive_later WHERE ctid = (SELECT min(ctid) FROM exclusive_later);
COMMIT;
BEGIN;
INSERT INTO exclusive_later VALUES (3), (3);
COMMIT;
SELECT a FROM exclusive_later WHERE a > 0 ORDER BY a;
SELECT check_all();

RESET search_path;
SELECT drop_twins();
