-- All kinds of scans of a buffer with page runs, of keys of several kinds. A setting for
-- tests lets small buffers have them; sware.fault_points has this test run with a library
-- that knows it.
\set VERBOSITY terse
SET sware.fault_points = '';

-- Numbers in no order, the same in each run of this test.
CREATE FUNCTION scrambled(n bigint) RETURNS int LANGUAGE sql IMMUTABLE AS
	'SELECT abs(hashint8(n) % 30000)';
-- The number of an index's sorted pages.
CREATE FUNCTION sorted_pages(index regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE 'sorted' = ANY (flags))
	FROM sware_buffer_pages(index) p, sware_page_stats(index, p.block) WHERE p.state = 'sealed';
$$;
CREATE PROCEDURE insert_scrambled(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM on_both(format('INSERT INTO t SELECT scrambled(n), nullif(scrambled(n) %% 5, 0), n,
			repeat(chr(97 + (scrambled(n) %% 26)), scrambled(n + 1) %% 30) || n,
			''10.0.0.0''::inet + scrambled(n)
			FROM generate_series(%s * 200 + 1, %s * 200 + 200) n', i, i));
		COMMIT;
	END LOOP;
END $$;

SELECT on_both('CREATE TABLE t (k int, few int, id int, note text, address inet)
	WITH (autovacuum_enabled = off)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k) INCLUDE (id)');
SELECT on_both('CREATE INDEX t_few ON t USING @am (few DESC, note)');
SELECT on_both('CREATE INDEX t_note ON t USING @am (note)');
SELECT on_both('CREATE INDEX t_address ON t USING @am (address, id)');
SELECT on_both('CREATE UNIQUE INDEX t_id ON t USING @am ((hashint8(id)), id)');
DO $$ BEGIN
	EXECUTE (SELECT string_agg(format('ALTER INDEX twin_sware.%I SET (buffer_size = 320)', name), ';')
		FROM unnest('{t_k,t_few,t_note,t_address,t_id}'::text[]) name);
END $$;
-- The first flush finds out that the keys are scrambled.
CALL insert_scrambled(0, 119);
SET sware.fault_pages_to_sort = 8;
DO $$ BEGIN
	EXECUTE (SELECT string_agg(format('ALTER INDEX twin_sware.%I SET (buffer_size = 2048)', name), ';')
		FROM unnest('{t_k,t_few,t_note,t_address,t_id}'::text[]) name);
END $$;
CALL insert_scrambled(120, 239);

-- Rows in order, by an index; in no order, by a bitmap.
CREATE FUNCTION queries() RETURNS SETOF text LANGUAGE sql AS $$
	VALUES
	('SELECT k, id FROM t WHERE k BETWEEN 100 AND 900 ORDER BY k, id'),
	('SELECT k, id FROM t WHERE k > 29000 ORDER BY k DESC, id'),
	('SELECT k, id FROM t WHERE k IN (7, 29990, 8, 15000, 15001, -1) ORDER BY k, id'),
	('SELECT k FROM t ORDER BY k LIMIT 700'),
	('SELECT k FROM t ORDER BY k DESC LIMIT 700'),
	('SELECT few, note, id FROM t WHERE few IS NULL AND note < ''c'' ORDER BY note, id'),
	('SELECT few, note FROM t WHERE few = 3 AND note BETWEEN ''x'' AND ''xxxx'' ORDER BY note, id'),
	('SELECT few, note, id FROM t WHERE few IN (1, 4) AND note LIKE ''q%7'' ORDER BY few, note, id'),
	('SELECT note FROM t WHERE note > ''y'' ORDER BY note'),
	('SELECT note FROM t WHERE note < ''b'' ORDER BY note DESC'),
	('SELECT address, id FROM t WHERE address > ''10.0.110.0'' ORDER BY address, id'),
	('SELECT address, id FROM t WHERE address <= ''10.0.1.7'' ORDER BY address DESC, id DESC'),
	('SELECT address FROM t WHERE address = ANY (''{10.0.3.3,10.0.3.4,10.0.77.1}'') ORDER BY address'),
	('SELECT count(*), sum(k), sum(few), sum(id) FROM t WHERE k >= 0'),
	('SELECT l.id, r.id FROM t l JOIN t r ON r.k = l.k AND r.id > l.id WHERE l.k < 200 ORDER BY 1, 2')
$$;
CREATE FUNCTION scan_all() RETURNS TABLE (ways text, same bigint, others text) LANGUAGE plpgsql AS $$
DECLARE
	kinds text[];
BEGIN
	FOR ways IN VALUES ('index'), ('index indexonly'), ('bitmap') LOOP
		PERFORM allow_scans(VARIADIC string_to_array(ways, ' '));
		SELECT count(*) FILTER (WHERE result LIKE 'same%'), string_agg(query || ': ' || result, ', ')
			FILTER (WHERE result NOT LIKE 'same%') INTO same, others
		FROM (SELECT query, same_rows(query) AS result FROM queries() query) s;
		RETURN NEXT;
	END LOOP;
	PERFORM allow_scans('index', 'indexonly', 'bitmap');
END $$;
CREATE FUNCTION walk_all() RETURNS TABLE (query text, same bool) LANGUAGE sql AS $$
	SELECT query, walk('twin_sware', query, steps) = walk('twin_nbtree', query, steps)
	FROM (SELECT '{next,next,prior,prior,prior,next,+500,prior,next,-500,next,end,prior,prior,next,next,next,
		prior,last,prior,first,prior,next,+500,+500,-500,start,next,+500,+500,+500,prior}'::text[]) s(steps),
	 unnest('{SELECT k FROM t WHERE k BETWEEN 500 AND 2500 ORDER BY k,
			  SELECT k FROM t WHERE k BETWEEN 500 AND 2500 ORDER BY k DESC,
			  SELECT note FROM t WHERE note < ''c'' ORDER BY note,
			  SELECT note FROM t WHERE note < ''c'' ORDER BY note DESC,
			  SELECT address\, id FROM t WHERE address < ''10.0.7.0'' ORDER BY address\, id,
			  SELECT address\, id FROM t WHERE address < ''10.0.7.0'' ORDER BY 1 DESC\, 2 DESC}'::text[])
		query
$$;

-- Each index has page runs; the tree has rows, too.
SELECT name, sorted_pages(('twin_sware.' || name)::regclass) > 20 AS has_runs,
	tree_pages > 1 AS has_tree
FROM unnest('{t_k,t_few,t_note,t_address,t_id}'::text[]) name,
	LATERAL (SELECT count(*) AS tree_pages
		FROM generate_series(1, pg_relation_size('twin_sware.' || name) / 8192 - 1) b,
			sware_page_stats(('twin_sware.' || name)::regclass, b) p WHERE p.kind = 'leaf') s;
SELECT * FROM scan_all();
SELECT allow_scans('index');
SELECT * FROM walk_all();
-- Each key by itself.
SELECT allow_scans('index', 'indexonly');
SELECT same_rows('SELECT n, (SELECT count(*) FROM t WHERE k = n) FROM generate_series(0, 30000, 7) n');
SELECT same_rows('SELECT n, (SELECT id FROM t WHERE hashint8(id) = hashint8(n) AND id = n)
	FROM generate_series(1, 60000, 11) n');
SELECT same_rows('SELECT n, (SELECT count(*) FROM t WHERE address = ''10.0.0.0''::inet + n)
	FROM generate_series(0, 30000, 97) n');

-- Parallel scans.
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_index_scan_size = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 3;
SELECT count(*) FROM plan_of('twin_sware', 'SELECT count(*), sum(k), sum(id) FROM t WHERE k < 29000') line
WHERE line LIKE '%Parallel%';
SELECT same_rows('SELECT count(*), sum(k), sum(id) FROM t WHERE k < 29000');
SELECT same_rows('SELECT count(*), min(note), max(note) FROM t WHERE note BETWEEN ''b'' AND ''w''');
COMMIT;

-- Keys that are there, in another way than the unique index finds out.
\set ON_ERROR_STOP off
INSERT INTO twin_sware.t (id) VALUES (30000);
INSERT INTO twin_sware.t (id) VALUES (47999);

-- Dead rows, which the scans mark, and then leave out.
SELECT on_both('DELETE FROM t WHERE k % 3 = 0 OR k < 300 OR k > 29500');
SELECT * FROM scan_all();
SELECT entries_marked > 1000 AS are_marked FROM sware_stats('twin_sware.t_k');
SELECT * FROM scan_all();
SELECT allow_scans('index');
SELECT * FROM walk_all();
SELECT on_both('UPDATE t SET k = k + 1, note = note || ''+'' WHERE id % 10 = 0');
SELECT * FROM scan_all();

-- Sweeps retire pages of the runs.
CALL insert_scrambled(240, 399);
SELECT * FROM scan_all();
ALTER INDEX twin_sware.t_k SET (buffer_size = 640);
ALTER INDEX twin_sware.t_few SET (buffer_size = 640);
ALTER INDEX twin_sware.t_note SET (buffer_size = 640);
ALTER INDEX twin_sware.t_address SET (buffer_size = 640);
SET sware.fault_pages_to_sort = 24;
CALL insert_scrambled(400, 429);
SELECT * FROM scan_all();
SELECT allow_scans('index');
SELECT * FROM walk_all();
SELECT check_all();
VACUUM twin_sware.t;
VACUUM twin_nbtree.t;
SELECT * FROM scan_all();
SELECT check_all();

-- Staged entries between those of many unsorted pages: none gets lost from batch to batch.
SELECT on_both('CREATE TABLE many (k int, s int)');
SELECT on_both('CREATE INDEX many_k ON many USING @am (k)');
ALTER INDEX twin_sware.many_k SET (buffer_size = 1024, sort_threshold = 100);
RESET sware.fault_pages_to_sort;
DO $$ BEGIN
	FOR i IN 0 .. 59 LOOP
		PERFORM on_both(format('INSERT INTO many SELECT 2 * scrambled(n) + 1, 0
			FROM generate_series(%s * 200, %s * 200 + 199) n', i, i));
		COMMIT;
	END LOOP;
END $$;
BEGIN;
SELECT on_both('INSERT INTO many SELECT 2 * n, 1 FROM generate_series(1, 2000) n');
SELECT same_rows('SELECT k FROM many ORDER BY k LIMIT 200');
SELECT same_rows('SELECT k FROM many ORDER BY k DESC LIMIT 200');
SELECT same_rows('SELECT k FROM many ORDER BY k');
ROLLBACK;

-- A zone with an extreme value, or with a null, looks as if it had nearly nothing between others.
-- It gives a batch its share all the same, so that a scan does not look into all zones again for
-- every few entries.
CREATE PROCEDURE fill_runs(one_key float8) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE runs (k float8, n int) WITH (autovacuum_enabled = off);
	CREATE INDEX runs_k ON runs USING sware (k) WITH (buffer_size = 320);
	SET sware.fault_buffer = on;
	FOR i IN 0 .. 239 LOOP
		IF i = 120 THEN
			SET sware.fault_pages_to_sort = 8;
			ALTER INDEX runs_k SET (buffer_size = 2048);
		END IF;
		INSERT INTO runs SELECT CASE WHEN n = 30007 THEN one_key ELSE scrambled(n) END, n
		FROM generate_series(i * 200 + 1, i * 200 + 200) n;
		COMMIT;
	END LOOP;
	RESET sware.fault_pages_to_sort;
	RESET sware.fault_buffer;
END $$;
SELECT allow_scans('indexonly');
CALL fill_runs('infinity');
SELECT sorted_pages('runs_k') > 20 AS has_runs;
SELECT buffer_zones AS zones FROM sware_scan_counters() \gset
SELECT count(*) FROM (SELECT k FROM runs WHERE k > 0 AND k < 29000 ORDER BY k OFFSET 0) s;
SELECT buffer_zones - :zones BETWEEN 1 AND 1000 AS few_looks FROM sware_scan_counters();
DROP TABLE runs;
CALL fill_runs(NULL);
SELECT buffer_zones AS zones FROM sware_scan_counters() \gset
SELECT count(*) FROM (SELECT k FROM runs WHERE k > 0 AND k < 29000 ORDER BY k OFFSET 0) s;
SELECT buffer_zones - :zones BETWEEN 1 AND 1000 AS few_looks FROM sware_scan_counters();

-- What lies between two values of an array is not read, neither when its rows are dead, and
-- their entries marked, nor by a parallel scan, whose intervals go on from one to the next.
CREATE FUNCTION pages_of_array() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT n FROM runs WHERE k IN (100, 28900)' INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;
SELECT allow_scans('index');
SELECT pages_of_array() < 100 AS few_pages;
DELETE FROM runs WHERE k > 100 AND k < 28900;
SELECT count(*) FROM (SELECT n FROM runs WHERE k BETWEEN 100 AND 28900 OFFSET 0) s;
SELECT pages_of_array() < 100 AS few_pages_beside_marks;
SELECT bloom_probes FROM sware_stats('runs_k') \gset
BEGIN;
SET LOCAL max_parallel_workers = 0;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL min_parallel_index_scan_size = 0;
SET LOCAL cpu_tuple_cost = 1;
SET LOCAL cpu_operator_cost = 0;
SELECT count(n) FROM runs WHERE k IN (100, 28900);
EXPLAIN (COSTS OFF) SELECT count(n) FROM runs WHERE k IN (100, 28900);
SELECT bloom_probes > :bloom_probes AS asks_filters FROM sware_stats('runs_k');
COMMIT;
DROP FUNCTION pages_of_array;
DROP TABLE runs;
SELECT drop_twins();
DROP PROCEDURE insert_scrambled, fill_runs;
DROP FUNCTION scrambled, sorted_pages, queries, scan_all, walk_all;
