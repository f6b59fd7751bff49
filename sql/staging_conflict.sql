-- Rows of statements with ON CONFLICT are not staged, since such a row may be taken back
-- in the middle of the transaction, if another session was faster. So their entries are
-- stored at once, and those of other statements are staged.
\set VERBOSITY terse
SELECT on_both('CREATE TABLE t (a int CONSTRAINT t_key UNIQUE, b int, c text)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SELECT on_both('CREATE TABLE audit (b int)');
SELECT on_both('CREATE INDEX audit_b ON audit USING @am (b)');
SELECT on_both('INSERT INTO t SELECT i, i, ''first'' FROM generate_series(1, 10) i');
CREATE VIEW stored AS
	SELECT stored_entries('twin_sware.t_b') AS t, stored_entries('twin_sware.audit_b') AS audit;
SELECT allow_scans('index', 'indexonly');

BEGIN;
SELECT on_both('INSERT INTO t SELECT i, i, ''nothing'' FROM generate_series(6, 15) i ON CONFLICT DO NOTHING');
SELECT * FROM stored;
SELECT on_both('INSERT INTO t SELECT i, i, ''plain'' FROM generate_series(101, 110) i');
SELECT * FROM stored;
SELECT on_both('INSERT INTO t SELECT i, i, ''nothing''
	FROM generate_series(105, 115) i ON CONFLICT (a) DO NOTHING');
SELECT * FROM stored;
SELECT on_both('INSERT INTO t SELECT i, i, ''update'' FROM generate_series(111, 120) i
	ON CONFLICT (a) DO UPDATE SET b = -t.b, c = ''updated''');
SELECT * FROM stored;
-- In a CTE, with and without a plain INSERT around it.
SELECT on_both('WITH new AS (INSERT INTO t SELECT i, i, ''cte''
	FROM generate_series(119, 130) i ON CONFLICT (a) DO UPDATE SET b = t.b + 1000 RETURNING b)
				SELECT count(*) FROM new');
SELECT * FROM stored;
SELECT on_both('WITH new AS (INSERT INTO t SELECT i, i, ''cte''
	FROM generate_series(129, 140) i ON CONFLICT DO NOTHING RETURNING b)
				INSERT INTO audit SELECT b FROM new');
SELECT * FROM stored;
-- A CTE that no part of the statement reads runs at the end of the statement.
SELECT on_both('WITH new AS (INSERT INTO t SELECT i, i, ''unread''
	FROM generate_series(139, 145) i ON CONFLICT DO NOTHING) SELECT 1');
SELECT * FROM stored;
-- Prepared.
PREPARE add (int) AS INSERT INTO twin_sware.t VALUES ($1, $1, 'prepared') ON CONFLICT DO NOTHING;
EXECUTE add (151);
EXECUTE add (151);
INSERT INTO twin_nbtree.t VALUES (151, 151, 'prepared');
SELECT * FROM stored;
SELECT same_rows('SELECT b, a FROM t ORDER BY b, a'), same_rows('SELECT b FROM audit ORDER BY b');
COMMIT;
SELECT check_all(), same_rows('SELECT b, a FROM t ORDER BY b, a'),
	same_rows('SELECT b FROM audit ORDER BY b');

-- In functions and triggers: each statement is staged or not by its own kind, inside and
-- outside.
CREATE FUNCTION add_conflicting(low int, high int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, i, 'function' FROM generate_series(low, high) i
		ON CONFLICT (a) DO UPDATE SET b = t.b;
END
$$;
SET check_function_bodies = off;
CREATE FUNCTION add_conflicting_sql(low int, high int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, i, 'function' FROM generate_series(low, high) i ON CONFLICT DO NOTHING;
$$;
RESET check_function_bodies;
CREATE FUNCTION copy_to_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit VALUES (NEW.b);
	RETURN NEW;
END
$$;
CREATE FUNCTION copy_to_t() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM add_conflicting(NEW.b, NEW.b);
	RETURN NEW;
END
$$;
SELECT on_both('TRUNCATE t, audit');
SET search_path = twin_sware, public;
BEGIN;
SELECT add_conflicting(1, 10);
SELECT * FROM stored;
SELECT add_conflicting_sql(1, 20);
SELECT * FROM stored;
INSERT INTO audit SELECT i FROM generate_series(1, 5) i, add_conflicting_sql(21, 30);
SELECT * FROM stored;
-- A plain INSERT in a trigger of one with ON CONFLICT, and the reverse.
CREATE TRIGGER to_audit BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION copy_to_audit();
INSERT INTO t VALUES (31, 31, 'trigger') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (31, 31, 'trigger') ON CONFLICT DO NOTHING;
SELECT * FROM stored;
INSERT INTO t VALUES (32, 32, 'trigger') ON CONFLICT DO NOTHING;
SELECT * FROM stored;
DROP TRIGGER to_audit ON t;
CREATE TRIGGER to_t AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION copy_to_t();
SELECT * FROM stored;
INSERT INTO audit VALUES (32), (33), (34);
SELECT * FROM stored;
DROP TRIGGER to_t ON audit;
-- COPY with a trigger that has ON CONFLICT; COPY of what such a statement returns.
CREATE TRIGGER to_t BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION copy_to_t();
COPY audit FROM stdin;
35
36
\.
SELECT * FROM stored;
COPY (INSERT INTO t VALUES (37, 37, 'copy') ON CONFLICT DO NOTHING RETURNING a) TO stdout;
SELECT * FROM stored;
COMMIT;
SELECT * FROM stored;
SELECT check_all(), (SELECT count(*) FROM t) AS t, (SELECT count(*) FROM audit) AS audit;

-- After an error in a statement, the next one is staged by its own kind.
DROP TRIGGER to_t ON audit;
CREATE FUNCTION fail_conflicting(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT k / (1 - i), k, '' FROM generate_series(0, 1) i ON CONFLICT DO NOTHING;
EXCEPTION WHEN division_by_zero THEN
	RETURN k;
END
$$;
CREATE FUNCTION fail_plain(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO audit VALUES (k);
	EXCEPTION WHEN division_by_zero THEN
	END;
	INSERT INTO audit SELECT k / (1 - i) FROM generate_series(0, 1) i;
EXCEPTION WHEN division_by_zero THEN
	RETURN k;
END
$$;
BEGIN;
SAVEPOINT s;
INSERT INTO t VALUES (1 / (1 - 1), 1, '') ON CONFLICT DO NOTHING;
ROLLBACK TO s;
INSERT INTO t VALUES (100, 100, 'after an error');
SELECT * FROM stored;
INSERT INTO t VALUES (101, 101, '') ON CONFLICT DO NOTHING;
SELECT * FROM stored;
-- So is the rest of a statement in a function of which another one has failed.
INSERT INTO audit SELECT fail_conflicting(i) FROM generate_series(102, 105) i;
SELECT * FROM stored;
INSERT INTO t SELECT fail_plain(i), i, '' FROM generate_series(102, 105) i ON CONFLICT DO NOTHING;
SELECT * FROM stored;
COMMIT;

-- A session's first statement loads the library while it is running.
\c -
SET search_path = twin_sware, public;
BEGIN;
INSERT INTO t VALUES (200, 200, 'first') ON CONFLICT DO NOTHING;
SELECT * FROM stored;
COMMIT;
\c -
SET search_path = twin_sware, public;
BEGIN;
INSERT INTO t VALUES (201, 201, 'first');
SELECT * FROM stored;
INSERT INTO t VALUES (202, 202, 'second') ON CONFLICT DO NOTHING;
SELECT * FROM stored;
COMMIT;
SELECT check_all(), (SELECT count(*) FROM t) AS t, stored.* FROM stored;

RESET search_path;
DROP VIEW stored;
DROP FUNCTION add_conflicting, add_conflicting_sql, copy_to_audit, copy_to_t CASCADE;
SELECT drop_twins();
