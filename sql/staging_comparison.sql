-- Comparison functions written in SQL or PL/pgSQL. They are called when entries are
-- published, at COMMIT too. They need a snapshot, may raise errors, and may do things
-- that they should not do.
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE TABLE rank_of (word text PRIMARY KEY, rank int NOT NULL);
INSERT INTO rank_of VALUES ('none', 0), ('one', 1), ('two', 2), ('three', 3), ('four', 4), ('five', 5);
CREATE FUNCTION compare_ranks(x text, y text) RETURNS int LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
	a int := (SELECT rank FROM twin_sware.rank_of WHERE word = x);
	b int := (SELECT rank FROM twin_sware.rank_of WHERE word = y);
BEGIN
	IF a IS NULL OR b IS NULL THEN
		RAISE EXCEPTION 'no rank for "%"', CASE WHEN a IS NULL THEN x ELSE y END;
	END IF;
	RETURN a - b;
END
$$;
CREATE FUNCTION rank_below(text, text) RETURNS boolean
	LANGUAGE sql STABLE STRICT AS 'SELECT compare_ranks($1, $2) < 0';
CREATE FUNCTION rank_not_above(text, text) RETURNS boolean
	LANGUAGE sql STABLE STRICT AS 'SELECT compare_ranks($1, $2) <= 0';
CREATE FUNCTION rank_equal(text, text) RETURNS boolean
	LANGUAGE sql STABLE STRICT AS 'SELECT compare_ranks($1, $2) = 0';
CREATE FUNCTION rank_not_below(text, text) RETURNS boolean
	LANGUAGE sql STABLE STRICT AS 'SELECT compare_ranks($1, $2) >= 0';
CREATE FUNCTION rank_above(text, text) RETURNS boolean
	LANGUAGE sql STABLE STRICT AS 'SELECT compare_ranks($1, $2) > 0';
CREATE OPERATOR <# (LEFTARG = text, RIGHTARG = text, FUNCTION = rank_below);
CREATE OPERATOR <=# (LEFTARG = text, RIGHTARG = text, FUNCTION = rank_not_above);
CREATE OPERATOR =# (LEFTARG = text, RIGHTARG = text, FUNCTION = rank_equal);
CREATE OPERATOR >=# (LEFTARG = text, RIGHTARG = text, FUNCTION = rank_not_below);
CREATE OPERATOR ># (LEFTARG = text, RIGHTARG = text, FUNCTION = rank_above);
CREATE OPERATOR CLASS rank_ops FOR TYPE text USING btree AS
	OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#,
	FUNCTION 1 compare_ranks(text, text);
SELECT count(*) > 0 AS cloned FROM (SELECT sware_clone_opfamily(f.oid)
	FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod WHERE opfname = 'rank_ops' AND amname = 'btree') s;
CREATE TABLE t (word text, number int);
CREATE INDEX t_word ON t USING sware (word rank_ops);
CREATE INDEX t_number ON t USING sware (number);
CREATE VIEW numbers AS
	SELECT check_all() AS indexes, (SELECT count(*) FROM t) AS rows,
		   stored_entries('t_word') AS words, stored_entries('t_number') AS numbers;
SELECT allow_scans('index');

-- At COMMIT after one statement and after several, and at PREPARE.
INSERT INTO t VALUES ('three', 1), ('one', 2), ('two', 3);
SELECT word FROM t WHERE word >=# 'one' ORDER BY word USING <#;
BEGIN;
INSERT INTO t VALUES ('none', 4), ('four', 5);
INSERT INTO t VALUES ('two', 6);
COMMIT;
SELECT word FROM t WHERE word >=# 'none' ORDER BY word USING <#;
BEGIN;
INSERT INTO t VALUES ('one', 7), ('none', 8);
PREPARE TRANSACTION 'sware_ranks';
COMMIT PREPARED 'sware_ranks';
SELECT * FROM numbers;
-- Of a table that is filled in the same transaction.
BEGIN;
INSERT INTO rank_of VALUES ('six', 6), ('seven', 7);
INSERT INTO t VALUES ('seven', 9), ('six', 10);
COMMIT;
SELECT word FROM t WHERE word >=# 'four' ORDER BY word USING <#;
-- In every isolation level.
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO t VALUES ('five', 11), ('four', 12);
COMMIT;
SELECT * FROM numbers;

-- An error makes the transaction fail, which leaves nothing behind; the next one works.
BEGIN;
INSERT INTO t VALUES ('five', 13), ('eight', 14);
COMMIT;
SELECT indexes, rows FROM numbers;
INSERT INTO t VALUES ('nine', 15);
BEGIN;
INSERT INTO t VALUES ('ten', 16);
PREPARE TRANSACTION 'sware_ranks';
COMMIT PREPARED 'sware_ranks';
SELECT count(*) FROM t WHERE number > 12;
INSERT INTO t VALUES ('none', 17), ('two', 18);
VACUUM (INDEX_CLEANUP ON) t;
SELECT * FROM numbers;
-- A scan fails; what is staged is found later.
BEGIN;
INSERT INTO t VALUES ('five', 19), ('eight', 20);
SAVEPOINT s;
SELECT number FROM t WHERE word ># 'four';
ROLLBACK TO s;
SELECT number FROM t WHERE number > 18;
INSERT INTO rank_of VALUES ('eight', 8);
SELECT number FROM t WHERE word ># 'four' ORDER BY word USING <#;
COMMIT;
SELECT * FROM numbers;
-- What was staged in a subtransaction whose publishing failed is dropped with it.
BEGIN;
INSERT INTO t VALUES ('five', 21);
SAVEPOINT s;
INSERT INTO t VALUES ('nine', 22);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
SELECT number FROM t WHERE word ># 'four' ORDER BY word USING <#;
COMMIT;
SELECT * FROM numbers;

-- A comparison function inserts rows into another table: these must be found, too.
CREATE TABLE calls (x int);
CREATE INDEX calls_x ON calls USING sware (x);
CREATE FUNCTION compare_and_log(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO twin_sware.calls VALUES ($1);
	RETURN btint4cmp($1, $2);
END
$$;
CREATE OPERATOR CLASS logged_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_log(int, int);
CREATE TABLE u (a int);
CREATE INDEX u_a ON u USING sware (a logged_ops);
INSERT INTO u VALUES (3), (2), (1);
SELECT count(*) > 0 AS called, count(*) = stored_entries('calls_x') AS all_stored FROM calls;
BEGIN;
TRUNCATE calls;
INSERT INTO u VALUES (6), (5), (4);
INSERT INTO calls VALUES (-1), (-2);
COMMIT;
SELECT count(*) > 2 AS called, count(*) = stored_entries('calls_x') AS all_stored FROM calls;
SELECT check_all();

RESET search_path;
SELECT drop_twins();
