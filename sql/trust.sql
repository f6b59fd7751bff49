-- Whose comparisons may wait: those that cannot fail and that run nobody's code. All
-- others are made in the statement, as the user who runs it, as often as with nbtree.
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

-- A function in PL/pgSQL that reads a table and fails for some values. An error ends the
-- statement, and not the COMMIT.
INSERT INTO t VALUES ('three', 1), ('one', 2), ('two', 3);
SELECT word FROM t WHERE word >=# 'one' ORDER BY word USING <#;
BEGIN;
INSERT INTO t VALUES ('none', 4), ('four', 5);
INSERT INTO t VALUES ('two', 6);
COMMIT;
BEGIN;
INSERT INTO t VALUES ('one', 7), ('none', 8);
PREPARE TRANSACTION 'sware_ranks';
COMMIT PREPARED 'sware_ranks';
SELECT * FROM numbers;
BEGIN;
INSERT INTO rank_of VALUES ('six', 6), ('seven', 7);
INSERT INTO t VALUES ('seven', 9), ('six', 10);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO t VALUES ('five', 11), ('four', 12);
COMMIT;
SELECT word FROM t WHERE word >=# 'four' ORDER BY word USING <#;
BEGIN;
INSERT INTO t VALUES ('five', 13);
SAVEPOINT s;
INSERT INTO t VALUES ('eight', 14);
ROLLBACK TO s;
DO $$
BEGIN
	INSERT INTO t VALUES ('four', 15), ('nine', 16);
EXCEPTION WHEN raise_exception THEN
	RAISE NOTICE 'caught: %', SQLERRM;
END $$;
INSERT INTO t VALUES ('two', 17);
COMMIT;
SELECT number FROM t WHERE word >=# 'none' ORDER BY word USING <#, number;
VACUUM (INDEX_CLEANUP ON) t;
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

-- A key is compared with those only that are on its way: none of the rows is refused because
-- of the largest one, as with nbtree.
CREATE FUNCTION compare_but_not(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF least($1, $2) = 50 AND greatest($1, $2) = 100 THEN
		RAISE EXCEPTION '% is compared with %', $1, $2;
	END IF;
	RETURN btint4cmp($1, $2);
END
$$;
SELECT on_both('CREATE OPERATOR CLASS but_not_ops FOR TYPE int USING @am AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 twin_sware.compare_but_not(int, int)');
SELECT on_both('CREATE TABLE apart (a int)');
SELECT on_both('CREATE INDEX apart_a ON apart USING @am (a but_not_ops)');
SELECT on_both('INSERT INTO apart SELECT i FROM generate_series(1, 100) i WHERE i <> 50');
SELECT on_both('INSERT INTO apart VALUES (50), (49)');
SELECT check_all();

-- Which keys wait: as long as an entry does, the index is locked.
RESET search_path;
CREATE EXTENSION citext;
SELECT count(*) > 0 AS cloned FROM (SELECT sware_clone_opfamily(f.oid)
	FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod
	WHERE opfname = 'citext_ops' AND amname = 'btree') s;
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN positives AS int[];
CREATE TYPE pair AS (a int, b int);
CREATE TYPE unsound AS (a int, b json);
CREATE DOMAIN unsound_domain AS unsound;
CREATE OPERATOR CLASS ranked_ops FOR TYPE text USING btree AS
	OPERATOR 1 twin_sware.<#, OPERATOR 2 twin_sware.<=#, OPERATOR 3 twin_sware.=#,
	OPERATOR 4 twin_sware.>=#, OPERATOR 5 twin_sware.>#, FUNCTION 1 twin_sware.compare_ranks(text, text);
CREATE TYPE wordrange AS RANGE (SUBTYPE = text, SUBTYPE_OPCLASS = ranked_ops);
CREATE FUNCTION waits(type text, value text, opclass text DEFAULT '') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result boolean;
BEGIN
	EXECUTE format('CREATE TABLE kinds (k %s)', type);
	EXECUTE format('CREATE INDEX kinds_k ON kinds USING sware (k %s)', opclass);
	EXECUTE format('INSERT INTO kinds VALUES (%L::%s)', value, type);
	result := EXISTS (SELECT FROM pg_locks
		WHERE relation = 'kinds_k'::regclass AND mode = 'RowExclusiveLock');
	DROP TABLE kinds;
	RETURN result;
END $$;
SELECT type, opclass, waits(type, value, opclass) FROM (VALUES
	('int', '1', ''), ('text', 'a', ''), ('text COLLATE "C"', 'a', ''), ('varchar(5)', 'a', ''),
	('text', 'a', 'text_pattern_ops'), ('name', 'a', ''),
	('uuid', '00000000-0000-0000-0000-000000000001', ''),
	('numeric', '1', ''), ('timestamptz', '2000-01-01', ''), ('bytea', 'a', ''), ('inet', '::1', ''),
	('jsonb', '{}', ''), ('citext', 'a', ''), ('color', 'red', ''), ('positive', '1', ''),
	('int[]', '{1}', ''), ('text[]', '{a}', ''), ('positives', '{1}', ''), ('oidvector', '1', ''),
	('int4range', '[1,2]', ''), ('int4multirange', '{[1,2]}', ''),
	('wordrange', 'empty', ''), ('wordmultirange', '{}', ''), ('color[]', '{red}', ''),
	('positive[]', '{1}', ''), ('citext[]', '{a}', ''), ('pair', '(1,2)', ''),
	('pair', '(1,2)', 'record_image_ops'), ('pair[]', '{}', ''), ('unsound_domain', '(1,)', ''),
	('text', 'one', 'twin_sware.rank_ops')) AS kinds(type, value, opclass);
-- Built-in functions of somebody who is not a superuser are not trusted; nor are those in
-- SQL, whoever owns them.
CREATE ROLE regress_sware_plain;
CREATE FUNCTION compare_builtin(int, int) RETURNS int IMMUTABLE STRICT LANGUAGE internal AS 'btint4cmp';
CREATE OPERATOR CLASS builtin_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_builtin(int, int);
SELECT waits('int', '1', 'builtin_ops');
ALTER FUNCTION compare_builtin(int, int) OWNER TO regress_sware_plain;
SELECT waits('int', '1', 'builtin_ops');
ALTER FUNCTION compare_builtin(int, int) OWNER TO CURRENT_USER;

-- What is in a buffer is flushed by whoever comes by, but as the owner of the table.
CREATE TABLE log (who name);
GRANT ALL ON log TO PUBLIC;
CREATE TABLE owned (a int) WITH (autovacuum_enabled = off);
CREATE INDEX owned_a ON owned USING sware (a builtin_ops) WITH (buffer_size = 64);
ALTER TABLE owned OWNER TO regress_sware_plain;
SET sware.fault_buffer = on;
DO $$ BEGIN FOR i IN 1 .. 100 LOOP
	INSERT INTO owned SELECT (i * 7919 + n * 104729) % 100003 FROM generate_series(1, 38) n;
	COMMIT;
END LOOP; END $$;
SELECT buffer_pages FROM sware_stats('owned_a');
CREATE OR REPLACE FUNCTION compare_builtin(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.log SELECT current_user;
	RETURN pg_catalog.btint4cmp($1, $2);
END $$;
TRUNCATE log;
-- as if the function were trusted, so that the buffer is used
\c -
SET sware.fault_trust = on;
SET sware.fault_buffer = on;
DO $$ BEGIN FOR i IN 1 .. 20 LOOP
	INSERT INTO owned SELECT generate_series(1, 250);
	COMMIT;
END LOOP; END $$;
SELECT who, count(*) > 1000 AS often FROM log GROUP BY 1;
RESET sware.fault_trust;
\c -
TRUNCATE log;
SELECT sware_flush('owned_a') > 0 AS flushed;
SELECT who, count(*) > 1000 AS often FROM log GROUP BY 1;
SELECT sware_check('owned_a', true);
DROP TABLE owned;

-- A user's function is called as the user who inserts, also where a superuser's command
-- evaluates that user's index expression.
CREATE FUNCTION compare_as(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.log VALUES (current_user);
	RETURN pg_catalog.btint4cmp($1, $2);
END $$;
ALTER FUNCTION compare_as(int, int) OWNER TO regress_sware_plain;
CREATE OPERATOR CLASS user_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_as(int, int);
CREATE TABLE watched (a int) WITH (autovacuum_enabled = off);
CREATE INDEX watched_a ON watched USING sware (a user_ops);
CREATE TABLE bait (a int) WITH (autovacuum_enabled = off);
INSERT INTO bait SELECT generate_series(1, 100);
CREATE FUNCTION insert_them(a int) RETURNS int LANGUAGE sql AS
	'INSERT INTO public.watched VALUES (a), (-a); SELECT a';
CREATE FUNCTION insert_too(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN RETURN public.insert_them(a); END';
ALTER FUNCTION insert_too(int) OWNER TO regress_sware_plain;
ALTER TABLE watched OWNER TO regress_sware_plain;
ALTER TABLE bait OWNER TO regress_sware_plain;
GRANT CREATE ON SCHEMA public TO regress_sware_plain;
SET ROLE regress_sware_plain;
CREATE INDEX bait_expression ON bait (public.insert_too(a));
RESET ROLE;
TRUNCATE log, watched;
ANALYZE bait;
SELECT who, count(*) > 100 AS often FROM log GROUP BY 1;
SELECT count(*) FROM watched;
SELECT sware_check('watched_a', true);
DROP TABLE bait, watched;
DROP FUNCTION insert_too, insert_them;

-- A function with rights and a search_path of its own: its helper orders the keys, and not
-- that of its caller.
CREATE SCHEMA definer;
CREATE SCHEMA caller;
GRANT ALL ON SCHEMA caller TO regress_sware_plain;
GRANT USAGE ON SCHEMA definer TO regress_sware_plain;
CREATE FUNCTION definer.rank_of(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION definer.compare_ranked(int, int) RETURNS int LANGUAGE plpgsql AS
	'BEGIN RETURN pg_catalog.btint4cmp(rank_of($1), rank_of($2)); END';
CREATE OPERATOR CLASS definer.ranked_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 definer.compare_ranked(int, int);
CREATE TABLE definer.t (a int) WITH (autovacuum_enabled = off);
CREATE INDEX t_a ON definer.t USING sware (a definer.ranked_ops);
CREATE FUNCTION definer.insert_rows(first int, last int) RETURNS void LANGUAGE sql
	SECURITY DEFINER SET search_path = definer
	AS 'INSERT INTO t SELECT pg_catalog.generate_series(first, last)';
BEGIN;
SELECT definer.insert_rows(1, 1000);
COMMIT;
SET ROLE regress_sware_plain;
CREATE FUNCTION caller.rank_of(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT -$1';
SET search_path = caller;
BEGIN;
SELECT definer.insert_rows(1001, 2000);
COMMIT;
RESET ROLE;
SET search_path = definer, public;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE a > 0;
SELECT count(*) FROM generate_series(1, 2000) i WHERE EXISTS (SELECT FROM t WHERE a = i);
RESET search_path;
RESET enable_seqscan;

-- Records whose comparison fails where they are equal up to a member without an order:
-- nbtree takes all rows that differ before it, however large the index gets.
CREATE TABLE nbtree_unsound (k unsound, n int);
CREATE INDEX ON nbtree_unsound (k);
CREATE UNIQUE INDEX ON nbtree_unsound (n, k);
CREATE TABLE sware_unsound (k unsound, n int);
CREATE INDEX sware_unsound_k ON sware_unsound USING sware (k);
CREATE UNIQUE INDEX sware_unsound_n ON sware_unsound USING sware (n, k);
CREATE PROCEDURE insert_unsound(target text, rows int) LANGUAGE plpgsql AS $$
DECLARE
	refused int := 0;
BEGIN
	EXECUTE format('TRUNCATE %s', target);
	FOR i IN 1 .. rows LOOP
		BEGIN
			EXECUTE format('INSERT INTO %s VALUES (ROW(%s, ''{}''), %s)', target,
				i * 7919 % 10007 % (rows - rows / 10), i % 3);
		EXCEPTION WHEN undefined_function THEN
			refused := refused + 1;
		END;
		IF i % 10 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	EXECUTE format('INSERT INTO %s SELECT ROW(100000 + i, ''{}'')::unsound, 1
		FROM generate_series(1, 1000) i', target);
	RAISE NOTICE '% refused', refused;
END $$;
CALL insert_unsound('nbtree_unsound', 500);
CALL insert_unsound('sware_unsound', 500);
SELECT sware_check('sware_unsound_k', true), sware_check('sware_unsound_n', true), count(*)
FROM sware_unsound;
SET sware.enable_buffer = off;
CALL insert_unsound('nbtree_unsound', 5000);
CALL insert_unsound('sware_unsound', 5000);
RESET sware.enable_buffer;
SELECT sware_check('sware_unsound_k', true), sware_check('sware_unsound_n', true), count(*)
FROM sware_unsound;
SELECT count(*) FROM nbtree_unsound;
DELETE FROM sware_unsound WHERE (k).a % 3 > 0;
VACUUM sware_unsound;
SELECT sware_check('sware_unsound_k', true), sware_check('sware_unsound_n', true), count(*)
FROM sware_unsound;
-- A failure is caught where it comes, and costs the block that it is in.
BEGIN;
INSERT INTO sware_unsound VALUES (ROW(200001, '{}'), 5);
DO $$
BEGIN
	INSERT INTO sware_unsound VALUES (ROW(200002, '{}'), 5), (ROW(200001, '{}'), 6);
EXCEPTION WHEN undefined_function THEN
	RAISE NOTICE 'caught: %', SQLERRM;
END $$;
INSERT INTO sware_unsound VALUES (ROW(200003, '{}'), 5);
COMMIT;
SELECT (k).a FROM sware_unsound WHERE n = 5 ORDER BY (k).a;

SET client_min_messages = warning;
DROP TABLE nbtree_unsound, sware_unsound, log;
DROP SCHEMA definer, caller CASCADE;
DROP OPERATOR FAMILY user_ops USING sware;
DROP OPERATOR FAMILY builtin_ops USING sware;
DROP FUNCTION compare_as, compare_builtin, waits;
DROP PROCEDURE insert_unsound;
DROP TYPE wordrange, unsound, pair, color CASCADE;
DROP DOMAIN positives, positive;
DROP OPERATOR FAMILY ranked_ops USING btree;
REVOKE CREATE ON SCHEMA public FROM regress_sware_plain;
DROP ROLE regress_sware_plain;
DROP EXTENSION citext CASCADE;
SELECT drop_twins();
