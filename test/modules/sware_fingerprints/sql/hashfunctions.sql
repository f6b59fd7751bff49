-- A hash function may keep memory as long as the session lives. Invalidations, which
-- come often, must neither lose nor free it, whether the function is running or not.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sware_fingerprints;
RESET client_min_messages;
CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int, COMMUTATOR = ===, HASHES, MERGES);
CREATE OPERATOR FAMILY keeping_family USING hash;
CREATE OPERATOR CLASS keeping_hash FOR TYPE int USING hash FAMILY keeping_family AS
	OPERATOR 1 ===, FUNCTION 1 hashint4(int);
ALTER OPERATOR FAMILY keeping_family USING hash ADD FUNCTION 2 (int, int) sware_hash_keeping(int, bigint);
CREATE FUNCTION compare(int, int) RETURNS int IMMUTABLE STRICT LANGUAGE internal AS 'btint4cmp';
CREATE OPERATOR CLASS keeping_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 ===, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 compare(int, int);
CREATE DOMAIN changing AS int;
CREATE PROCEDURE insert_many(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE 'ALTER DOMAIN changing SET DEFAULT ' || i;
		INSERT INTO h VALUES (i);
	END LOOP;
END $$;

CREATE TABLE h (k int);
CREATE UNIQUE INDEX h_k ON h USING sware (k keeping_ops);
INSERT INTO h VALUES (-1);
SELECT sware_hash_beginnings();
CALL insert_many(1, 20);
SELECT sware_hash_beginnings();

-- While it is running: what it keeps is invalidated, and reused within the call.
SET hashing.action = 'CALL insert_many(21, 22)';
SELECT sware_fingerprint('h_k', row(1)) = sware_fingerprint('h_k', row(1));
SELECT sware_hash_beginnings();

-- Another function takes its place, also while it is running; one that comes back begins anew.
CREATE PROCEDURE exchange(name text) LANGUAGE plpgsql AS $$
BEGIN
	ALTER OPERATOR FAMILY keeping_family USING hash DROP FUNCTION 2 (int, int);
	EXECUTE format('ALTER OPERATOR FAMILY keeping_family
		USING hash ADD FUNCTION 2 (int, int) %I(int, bigint)', name);
	PERFORM sware_fingerprint('h_k', row(2));
END $$;
CALL exchange('sware_hash_keeping_too');
SELECT sware_hash_beginnings();
SET hashing.action = $$CALL exchange('sware_hash_keeping')$$;
SELECT sware_fingerprint('h_k', row(1)) = sware_fingerprint('h_k', row(1));
SET hashing.action = $$CALL exchange('sware_hash_keeping_too')$$;
SELECT sware_fingerprint('h_k', row(1)) = sware_fingerprint('h_k', row(1));
SELECT sware_hash_beginnings();
SELECT count(*), count(DISTINCT k), sware_check('h_k', true) FROM h;
