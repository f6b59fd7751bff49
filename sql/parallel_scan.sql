-- Parallel index scans: the participants share the entries of an index, those in the
-- buffer as well as those in the tree. The results are compared with those of a
-- sequential scan.
SET sware.fault_buffer = on;
SET search_path = twin_sware, public;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
-- Tuples cost much and comparisons little, so that the planner chooses parallel plans
-- even for few rows.
SET cpu_tuple_cost = 1;
SET cpu_operator_cost = 0;
SET enable_sort = off;

-- Returns the value of an aggregate over many rows, by a sequential scan.
CREATE FUNCTION in_sequence(query text) RETURNS text[] LANGUAGE plpgsql
SET max_parallel_workers_per_gather = 0 SET enable_seqscan = on SET enable_sort = on
SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = off AS $$
DECLARE
	found text[];
BEGIN
	EXECUTE query INTO found;
	RETURN found;
END
$$;

-- Runs a query in parallel and sequentially. Returns the kind of parallel scan, and
-- whether the rows were the same, in the same order if the query has one. The rows go
-- into an array, since a loop over them would not run in parallel.
CREATE FUNCTION in_parallel(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text := format('SELECT coalesce(array_agg(q::text%s), ''{}'') FROM (%s) q',
						CASE WHEN query LIKE '%ORDER BY%' THEN '' ELSE ' ORDER BY q::text' END, query);
	way text;
	found text[];
	wanted text[] := in_sequence(rows);
BEGIN
	SELECT substring(line, 'Parallel .*?(?= using| on)') INTO way
	FROM plan_of('twin_sware', rows) line WHERE line LIKE '%Parallel%';
	EXECUTE rows INTO found;
	RETURN format('%s: %s', coalesce(way, 'NOT PARALLEL'),
		CASE WHEN wanted = found THEN format('same %s rows', cardinality(wanted))
			ELSE format('DIFFERENT: %s rows, not %s', cardinality(found), cardinality(wanted)) END);
END
$$;

CREATE FUNCTION fives() RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT array_agg(5 * i) FROM generate_series(1, 4000) i;
$$;
CREATE TABLE questions (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO questions (query) VALUES
	('SELECT a FROM t'),
	('SELECT a FROM t ORDER BY a'),
	('SELECT a FROM t ORDER BY a DESC'),
	('SELECT a FROM t WHERE a BETWEEN 1000 AND 9000'),
	('SELECT a, c IS NULL FROM t WHERE a > 500 AND a <= 12000 ORDER BY a'),
	('SELECT a FROM t WHERE a > 500 AND a <= 12000 ORDER BY a DESC'),
	('SELECT a FROM t WHERE a < 20::bigint'),
	('SELECT a FROM t WHERE a IN (1, 1500, 1501, 2999, 4000, 4001, 16000, 99999) ORDER BY a'),
	('SELECT a FROM t WHERE a = ANY (fives()) ORDER BY a DESC'),
	('SELECT a FROM t WHERE a = 1500'),
	('SELECT a FROM t WHERE a = 1500 AND a > 2000'),
	('SELECT a FROM t WHERE a IS NULL'),
	('SELECT a FROM t WHERE a IS NOT NULL AND a % 5 = 0'),
	('SELECT b, a FROM t WHERE b = 3 AND a BETWEEN 1000 AND 3500 ORDER BY b, a DESC'),
	('SELECT b, a FROM t WHERE b IN (2, 3, 8, 11) AND a > 3000 ORDER BY b, a DESC'),
	('SELECT b, a FROM t WHERE b IN (2, 3, 8, 11) AND a = ANY (fives()) ORDER BY b DESC, a'),
	('SELECT b, a FROM t WHERE b >= 7 AND a % 5 = 0 ORDER BY b, a DESC'),
	('SELECT b, a FROM t WHERE b IS NULL AND a < 100'),
	('SELECT c FROM t WHERE c > ''f'' ORDER BY c'),
	('SELECT c FROM t WHERE c < ''f'' ORDER BY c DESC'),
	('SELECT c FROM t WHERE c IN (md5(''40''), md5(''41''), ''same'') ORDER BY c'),
	('SELECT d FROM t'),
	('SELECT d, a FROM t WHERE d = 1'),
	('SELECT d FROM t WHERE d IN (0, 2) ORDER BY d DESC'),
	('SELECT d FROM t WHERE d > 0 ORDER BY d');
-- A few of these queries.
CREATE VIEW answers AS
	SELECT regexp_replace(in_parallel(query), '\d+ ', '') AS answer, count(*)
	FROM questions WHERE n IN (2, 3, 5, 8, 9, 12, 15, 20, 22, 24) GROUP BY 1;

CREATE TABLE t (a int, b int, c text, d int) WITH (autovacuum_enabled = off, parallel_workers = 2);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b_a ON t USING sware (b, a DESC);
CREATE INDEX t_c ON t USING sware (c);
CREATE INDEX t_d ON t USING sware (d);
-- The numbers of entries in the buffers, and the heights of the trees.
CREATE VIEW places AS
	SELECT relname, (sware_stats(oid)).buffer_entries, (sware_metapage(oid)).level
	FROM pg_class WHERE relnamespace = 'twin_sware'::regnamespace AND relname LIKE 't\__%' ORDER BY relname;

-- An empty index.
SELECT allow_scans('indexonly');
SELECT * FROM answers ORDER BY 1;

-- All entries are in the buffer, and none in the tree.
DO $$
BEGIN
	FOR i IN 0 .. 19 LOOP
		INSERT INTO t SELECT n * 7 % 3001, n % 10, md5(n::text), n % 3
			FROM generate_series(i * 150 + 1, i * 150 + 150) n;
		COMMIT;
	END LOOP;
END
$$;
SELECT * FROM places;
SELECT * FROM answers ORDER BY 1;
-- More workers than leaves.
SELECT sum(sware_flush(oid)) FROM pg_class
WHERE relnamespace = 'twin_sware'::regnamespace AND relname LIKE 't\__%';
SET max_parallel_workers_per_gather = 6;
ALTER TABLE t SET (parallel_workers = 6);
SELECT * FROM places;
SELECT * FROM answers ORDER BY 1;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE t SET (parallel_workers = 2);

-- A tree of many leaves; posting lists of one key on several of them.
INSERT INTO t SELECT i * 7919 % 18000, i % 10, md5((i * 7919 % 18000)::text), i % 3
	FROM generate_series(1, 12000) i;
INSERT INTO t SELECT NULL, i % 3, NULL, NULL FROM generate_series(1, 500) i;
DELETE FROM t WHERE a % 17 = 5;
REINDEX TABLE t;
VACUUM ANALYZE t;
SELECT * FROM places;
SELECT n, in_parallel(query) FROM questions ORDER BY n;
-- The same with entries of small transactions in the buffer: some between the tree's
-- entries, some above.
DO $$
BEGIN
	FOR i IN 1 .. 70 LOOP
		INSERT INTO t SELECT (i * 31 + n * 7919) % 20000, n % 10, md5((i * n)::text), n % 4
			FROM generate_series(1, 40) n;
		INSERT INTO t VALUES (NULL, i, NULL, NULL), (1500, 3, 'same', 1), (i, NULL, 'same', 0);
		COMMIT;
	END LOOP;
END
$$;
DELETE FROM t WHERE a % 13 = 4;
SELECT relname, buffer_entries FROM places;
SELECT n, in_parallel(query) FROM questions ORDER BY n;
SELECT allow_scans('index');
SELECT in_parallel(query) FROM questions WHERE n IN (2, 3, 4, 9, 24) ORDER BY n;
-- One process makes a bitmap, and all read the table by it.
SELECT allow_scans('bitmap');
SET enable_sort = on;
SELECT in_parallel(query) FROM questions WHERE n IN (4, 5, 13, 17, 23) ORDER BY n;
SET enable_sort = off;
-- Without the leader, and with many workers.
SELECT allow_scans('indexonly');
SET parallel_leader_participation = off;
SELECT * FROM answers ORDER BY 1;
SET parallel_leader_participation = on;

-- Entries that the leader has staged.
BEGIN;
INSERT INTO t SELECT i * 11 % 21000, i % 10, md5(i::text), i % 3 FROM generate_series(1, 3000) i;
SELECT * FROM answers ORDER BY 1;
SAVEPOINT s;
UPDATE t SET a = a + 1, d = 1 WHERE b = 5;
SELECT * FROM answers ORDER BY 1;
ROLLBACK TO s;
DELETE FROM t WHERE d = 1;
COMMIT;
SELECT * FROM answers ORDER BY 1;

-- Scans that are run again.
SET enable_material = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT count(a), sum(a) FROM t WHERE a < 9000) s
	RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true;
SELECT x, count = wanted AS same FROM (SELECT count(a) FROM t WHERE a < 9000) s
	RIGHT JOIN (VALUES (1), (2), (3)) v (x) ON true,
	(SELECT cardinality(in_sequence('SELECT array_agg(a::text) FROM t WHERE a < 9000')) AS wanted) w;
-- A rescan of a scan that did not read all rows before.
SELECT x, first FROM (VALUES (1), (2), (3)) v (x)
	LEFT JOIN (SELECT a AS first FROM t WHERE a BETWEEN 7 AND 9000 ORDER BY a LIMIT 1) s ON true;
-- A statement with parameters.
SET plan_cache_mode = force_generic_plan;
PREPARE between_two(int, int) AS SELECT count(*), min(a) >= $1 AND max(a) <= $2 AS within
	FROM t WHERE a BETWEEN $1 AND $2;
EXECUTE between_two(100, 199);
EXECUTE between_two(5000, 4000);
EXECUTE between_two(NULL, 4000);
EXECUTE between_two(0, 4);

-- A serializable transaction, in which reads are tracked.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM answers ORDER BY 1;
COMMIT;

-- An error of a worker ends the query, but not the session.
CREATE FUNCTION fail_at(a int, at int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	IF a = at THEN
		RAISE 'reached %', a;
	END IF;
	RETURN a;
END
$$;
SET parallel_leader_participation = off;
\set VERBOSITY terse
SELECT count(fail_at(a, 12000)) FROM t WHERE a > 100;
\set VERBOSITY default
SELECT * FROM answers ORDER BY 1;


-- Trees of three levels or more: there are several pages on the level above the leaves.
CREATE TABLE wide (a int, e text) WITH (autovacuum_enabled = off, parallel_workers = 2);
ALTER TABLE wide ALTER e SET STORAGE plain;
CREATE INDEX wide_e ON wide USING sware (e);
INSERT INTO wide SELECT i, (SELECT string_agg(md5((i * n)::text), '') FROM generate_series(1, 20) n)
	FROM generate_series(1, 1500) i;
INSERT INTO wide SELECT * FROM wide WHERE a % 3 = 0;
VACUUM ANALYZE wide;
INSERT INTO wide SELECT * FROM wide WHERE a % 20 = 0;
SELECT (sware_stats(oid)).buffer_entries, (sware_metapage(oid)).level FROM pg_class WHERE relname = 'wide_e';
SELECT in_parallel('SELECT e FROM wide ORDER BY e'), in_parallel('SELECT e FROM wide ORDER BY e DESC'),
	in_parallel('SELECT e FROM wide WHERE e BETWEEN ''2'' AND ''d''');
SET parallel_leader_participation = on;
SELECT in_parallel('SELECT e FROM wide ORDER BY e'), in_parallel('SELECT e FROM wide ORDER BY e DESC'),
	in_parallel('SELECT e, a FROM wide WHERE e BETWEEN ''2'' AND ''d''');

-- With the default costs: the participants make groups.
RESET cpu_tuple_cost;
RESET cpu_operator_cost;
SELECT plan_of('twin_sware', 'SELECT count(*) FROM t WHERE d > 0');
SELECT plan_of('twin_sware', 'SELECT a FROM t WHERE a > 100 ORDER BY a DESC');
SELECT plan_of('twin_sware', 'SELECT count(c) FROM t WHERE a > 100');
SET parallel_leader_participation = off;
SELECT pg_backend_pid() AS leader \gset
CREATE FUNCTION is_worker(leader int, a int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	RETURN pg_backend_pid() <> leader;
END
$$;
SELECT bool_and(is_worker(:leader, a)) AS by_workers, count(*) = (SELECT count(*) FROM t WHERE a > 100) AS all
FROM t WHERE a > 100;

RESET parallel_leader_participation;
RESET plan_cache_mode;
RESET enable_material;
RESET enable_memoize;
RESET enable_sort;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_index_scan_size;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
SELECT allow_scans('seq', 'index', 'indexonly', 'bitmap');
RESET search_path;
SELECT check_all();
SELECT drop_twins();
