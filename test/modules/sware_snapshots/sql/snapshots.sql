-- On servers with old_snapshot_threshold, a scan with a snapshot that is too old
-- fails at the first leaf that has changed since, for it may miss what was removed
-- there.
CREATE EXTENSION sware_snapshots;
SELECT sware_let_snapshots_age() AS can_be_too_old \gset
\if :can_be_too_old
\else
	\echo this server has no old_snapshot_threshold
	\quit
\endif

CREATE TABLE t (k int, v int) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, i FROM generate_series(1, 2000) i;
CREATE INDEX t_k ON t USING sware (k);
CREATE INDEX t_v ON t USING btree (v);
VACUUM ANALYZE t;
SET sware.enable_buffer = off;
SET enable_seqscan = off;
SET enable_sort = off;

-- The result of a query with an old snapshot, in one of the ways to scan an index.
CREATE FUNCTION answer(query text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	line text;
BEGIN
	PERFORM set_config('enable_' || name, (name = way)::text, true)
	FROM unnest('{indexscan,indexonlyscan,bitmapscan}'::text[]) name;
	IF way = 'indexonlyscan' THEN
		SET LOCAL enable_indexscan = on;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		EXIT WHEN line LIKE '%Scan%';
	END LOOP;
	PERFORM sware_age_snapshots();
	EXECUTE query INTO result;
	RETURN regexp_replace(line, '^[ ->]*', '') || ': ' || result;
EXCEPTION WHEN snapshot_too_old THEN
	RETURN regexp_replace(line, '^[ ->]*', '') || ': ' || SQLERRM;
END
$$;
CREATE FUNCTION answers(condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*) FROM (SELECT %%s FROM t WHERE %s %%s) s', condition);
BEGIN
	RETURN NEXT answer(format(query, 'k', 'ORDER BY 1 OFFSET 0'), 'indexonlyscan');
	RETURN NEXT answer(format(query, 'k', 'ORDER BY 1 DESC OFFSET 0'), 'indexonlyscan');
	RETURN NEXT answer(format(query, 'k, v', 'ORDER BY 1 OFFSET 0'), 'indexscan');
	RETURN NEXT answer(format(query, 'k, v', 'ORDER BY 1 DESC OFFSET 0'), 'indexscan');
	RETURN NEXT answer(format(query, 'k, v', ''), 'bitmapscan');
END
$$;

-- Nothing has changed: no snapshot is too old.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM answers('k BETWEEN 1 AND 1800');
-- Now a leaf in the middle has changed.
INSERT INTO t VALUES (1000, 1000);
SELECT * FROM answers('k BETWEEN 999 AND 1001');
-- The other leaves have not changed.
SELECT * FROM answers('k <= 50');
-- The results are the same with nbtree.
SELECT answer('SELECT count(*) FROM t WHERE v = 1000', 'indexscan');
SELECT answer('SELECT count(*) FROM t WHERE v = 50', 'indexscan');
COMMIT;

-- Scans return what they have read, and fail at a leaf that has changed since they
-- began. (They have no need to look at the table; that would take old age away.)
SET enable_bitmapscan = off;
BEGIN;
DECLARE forwards CURSOR FOR SELECT k FROM t WHERE k BETWEEN 1 AND 1800 ORDER BY k;
DECLARE backwards CURSOR FOR SELECT k FROM t WHERE k BETWEEN 1 AND 1800 ORDER BY k DESC;
FETCH 1 FROM forwards;
FETCH 1 FROM backwards;
INSERT INTO t VALUES (1000, 1000);
SELECT sware_age_snapshots();
FETCH 1 FROM forwards;
FETCH 1 FROM backwards;
SAVEPOINT s;
MOVE ALL FROM forwards;
ROLLBACK TO s;
MOVE ALL FROM backwards;
ROLLBACK;

-- A snapshot that is young enough sees all that.
SELECT count(*) FROM t WHERE k BETWEEN 1 AND 1800;
SELECT sware_check('t_k', true);

-- A flush drops no entries of dead rows: leaves would not show it.
RESET sware.enable_buffer;
SET sware.fault_buffer = on;
INSERT INTO t SELECT 3000 + i, 0 FROM generate_series(1, 100) i;
DELETE FROM t WHERE k > 3000;
SELECT sware_flush('t_k') AS flushed;
SELECT entries_dropped FROM sware_stats('t_k');
