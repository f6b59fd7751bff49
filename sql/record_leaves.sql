-- The record cache takes a key only if its entries are on one leaf: of a key that goes on
-- from leaf to leaf, the last one may have as few as a record has room for.
CREATE TABLE d (k int, note text) WITH (autovacuum_enabled = off);
INSERT INTO d SELECT k, 'n' FROM generate_series(1, 300) k, generate_series(1, k);
CREATE INDEX d_k ON d USING sware (k) WITH (deduplicate_items = off);
VACUUM ANALYZE d;
SELECT allow_scans('index');
CREATE FUNCTION wrong_keys() RETURNS TABLE (k int, rows bigint) LANGUAGE sql AS $$
	SELECT key, found FROM generate_series(1, 300) key,
		LATERAL (SELECT count(note) AS found FROM d WHERE d.k = key OFFSET 0) look
	WHERE found <> key
$$;
EXPLAIN (COSTS OFF) SELECT count(note) FROM d WHERE k = 5;
SELECT * FROM wrong_keys();
-- Now with records.
SELECT * FROM wrong_keys();
DROP FUNCTION wrong_keys;
DROP TABLE d;
