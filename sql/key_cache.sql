-- A session remembers fingerprints of entries. A hash function makes them; it can be
-- replaced by another, and can fail. No duplicate is let in for that. The other cases
-- are in isolation/key-cache.
-- Functions that are not trusted would not be called where these are.
SET sware.fault_buffer = on;
SET sware.fault_trust = on;
\set VERBOSITY terse
CREATE SCHEMA key_cache;
SET search_path = key_cache, public;
CREATE FUNCTION hash_one(text, bigint) RETURNS bigint IMMUTABLE STRICT
	LANGUAGE sql AS 'SELECT hashtextextended($1, 1)';
CREATE FUNCTION hash_two(text, bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = current_setting('hashing.fails_for', true) THEN
		RAISE 'cannot hash %', $1;
	END IF;
	RETURN hashtextextended($1, 2);
END
$$;
CREATE OPERATOR === (FUNCTION = texteq, LEFTARG = text, RIGHTARG = text, COMMUTATOR = ===, HASHES, MERGES);
CREATE OPERATOR FAMILY hash_family USING hash;
CREATE OPERATOR CLASS hash_class FOR TYPE text USING hash FAMILY hash_family AS OPERATOR 1 ===,
	FUNCTION 1 hashtext(text);
ALTER OPERATOR FAMILY hash_family USING hash ADD FUNCTION 2 (text, text) hash_one(text, bigint);
-- (It is known of bttextcmp that the bytes of a text can be hashed instead.)
CREATE FUNCTION compare(text, text) RETURNS int IMMUTABLE STRICT LANGUAGE internal AS 'bttextcmp';
CREATE OPERATOR CLASS order_class FOR TYPE text USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 ===, OPERATOR 4 >=,
	OPERATOR 5 >, FUNCTION 1 compare(text, text);

CREATE TABLE t (v text) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX t_v ON t USING sware (v order_class);
INSERT INTO t SELECT 'key ' || i FROM generate_series(1, 50) i;
INSERT INTO t VALUES ('key 7');
INSERT INTO t VALUES ('key 51');
SELECT buffer_entries FROM sware_stats('t_v');

-- Another function, which fails half-way: the fingerprints of the first are useless.
ALTER OPERATOR FAMILY hash_family USING hash DROP FUNCTION 2 (text, text);
ALTER OPERATOR FAMILY hash_family USING hash ADD FUNCTION 2 (text, text) hash_two(text, bigint);
SET hashing.fails_for = 'key 30';
INSERT INTO t VALUES ('key 7');
INSERT INTO t VALUES ('key 52');
RESET hashing.fails_for;
INSERT INTO t VALUES ('key 7');
INSERT INTO t VALUES ('key 30');
INSERT INTO t VALUES ('key 40');
INSERT INTO t VALUES ('key 51');
INSERT INTO t VALUES ('key 52');
INSERT INTO t VALUES ('key 52');
-- The first function is reused.
ALTER OPERATOR FAMILY hash_family USING hash DROP FUNCTION 2 (text, text);
ALTER OPERATOR FAMILY hash_family USING hash ADD FUNCTION 2 (text, text) hash_one(text, bigint);
INSERT INTO t VALUES ('key 7');
INSERT INTO t VALUES ('key 52');
-- Without a function, keys are compared with all entries.
ALTER OPERATOR FAMILY hash_family USING hash DROP FUNCTION 2 (text, text);
INSERT INTO t VALUES ('key 7');
INSERT INTO t VALUES ('key 53');
INSERT INTO t VALUES ('key 53');
SELECT count(*), count(DISTINCT v) AS keys FROM t;
SELECT sware_check('t_v', true);

\set VERBOSITY default
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA key_cache CASCADE;
