-- A look-up in an empty tree touches no page of it, once the session has seen it empty.
SET sware.fault_buffer = on;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- Returns how many pages a query touches when it is executed for the third time.
CREATE FUNCTION pages_touched(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1..3 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	END LOOP;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;

CREATE TABLE e (k int) WITH (autovacuum_enabled = off);
CREATE INDEX e_k ON e USING sware (k);
SELECT pages_touched('SELECT * FROM e WHERE k = 5');
SELECT pages_touched('SELECT * FROM e ORDER BY k DESC');
-- The page of the buffer, and the table's.
INSERT INTO e VALUES (5);
SELECT pages_touched('SELECT * FROM e WHERE k = 5');
SELECT pages_touched('SELECT * FROM e WHERE k = 6');
-- The tree has an entry.
SELECT sware_flush('e_k');
SELECT * FROM e WHERE k = 5;
SELECT * FROM e ORDER BY k DESC;
SELECT pages_touched('SELECT * FROM e WHERE k = 6');
-- It has none any more, and one again.
DELETE FROM e;
VACUUM (INDEX_CLEANUP ON) e;
SELECT pages_touched('SELECT * FROM e WHERE k = 5');
SET sware.enable_buffer = off;
INSERT INTO e VALUES (7);
SELECT * FROM e WHERE k = 7;
TRUNCATE e;
SELECT pages_touched('SELECT * FROM e WHERE k = 7');
INSERT INTO e SELECT generate_series(1, 1000);
SELECT count(*) FROM e WHERE k > 0;
-- The file is built anew in its place.
BEGIN;
CREATE TABLE f (k int);
CREATE UNIQUE INDEX f_k ON f USING sware (k);
SELECT pages_touched('SELECT * FROM f WHERE k = 1');
INSERT INTO f VALUES (1);
SELECT * FROM f WHERE k = 1;
TRUNCATE f;
SELECT * FROM f WHERE k = 1;
INSERT INTO f VALUES (1);
SAVEPOINT s;
INSERT INTO f VALUES (1);
ROLLBACK TO s;
SELECT * FROM f WHERE k = 1;
COMMIT;
RESET sware.enable_buffer;
DROP FUNCTION pages_touched;
DROP TABLE e, f;
