-- Parallel workers share the leader's transaction but not its memory: what it
-- has staged is published before they start.
SET search_path = twin_sware, public;
CREATE TABLE t (a int, b text);
CREATE INDEX t_a ON t USING sware (a);
CREATE TABLE big (a int);
INSERT INTO big SELECT generate_series(1, 20000);
ANALYZE big;
SELECT allow_scans('index', 'indexonly', 'bitmap');
-- Reads the index, in the process in which it is called.
CREATE FUNCTION in_index(x int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE
SET enable_seqscan = off AS $$
BEGIN
	RETURN EXISTS (SELECT FROM t WHERE a = x);
END
$$;
CREATE FUNCTION is_worker(leader int) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	RETURN pg_backend_pid() <> leader;
END
$$;
SELECT pg_backend_pid() AS leader \gset

-- One worker runs the whole query.
SELECT FROM set_config((SELECT name FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query')), 'on', false);
BEGIN;
INSERT INTO t SELECT i, 'staged' FROM generate_series(1, 1000) i;
SELECT is_worker(:leader), in_index(5), in_index(1000), in_index(1001);
SAVEPOINT s;
INSERT INTO t SELECT i, 'staged' FROM generate_series(1001, 2000) i;
SELECT is_worker(:leader), in_index(1001), in_index(2000);
ROLLBACK TO s;
SELECT is_worker(:leader), in_index(1000), in_index(1001);
INSERT INTO t VALUES (3000, 'staged');
SELECT is_worker(:leader), count(*) FROM t WHERE a > 990;
-- By a function, a cursor, and a prepared statement.
CREATE FUNCTION insert_and_look(x int, leader int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t VALUES (x, 'function');
	RETURN QUERY SELECT is_worker(leader) || ' ' || in_index(x);
END
$$;
PREPARE look AS SELECT is_worker($1), in_index($2);
SELECT * FROM insert_and_look(4000, :leader);
INSERT INTO t VALUES (5000, 'staged');
EXECUTE look(:leader, 5000);
INSERT INTO t VALUES (6000, 'staged');
DECLARE c CURSOR FOR SELECT in_index(6000);
FETCH c;
COMMIT;
SELECT FROM set_config((SELECT name FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query')), 'off', false);

-- Workers and leader share the rows of a table.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT allow_scans('seq', 'index', 'indexonly', 'bitmap');
BEGIN;
INSERT INTO t SELECT i, 'many' FROM generate_series(10001, 20000, 2) i;
SELECT bool_and(is_worker(:leader)) AS by_workers, count(*) FROM big WHERE a > 10000 AND in_index(a);
-- Nested: a function of the leader inserts between two parallel queries.
CREATE FUNCTION insert_and_count(x int, leader int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t VALUES (x, 'function');
	RETURN QUERY SELECT bool_and(is_worker(leader)), count(*) FROM big WHERE a > 10000 AND in_index(a);
END
$$;
SELECT * FROM insert_and_count(10002, :leader) AS (by_workers boolean, count bigint);
SELECT * FROM insert_and_count(10004, :leader) AS (by_workers boolean, count bigint);
COMMIT;
VACUUM (INDEX_CLEANUP ON) t;
SELECT check_all(), (SELECT count(*) FROM t) - stored_entries('t_a') AS missing;

-- Parallel builds of other indexes call functions of the same kind.
CREATE FUNCTION index_knows(x int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET enable_seqscan = off SET search_path = twin_sware AS $$
BEGIN
	RETURN EXISTS (SELECT FROM t WHERE a = x);
END
$$;
ALTER TABLE big SET (parallel_workers = 2);
BEGIN;
DELETE FROM t;
INSERT INTO t SELECT generate_series(1, 100);
CREATE INDEX big_known ON big (a) WHERE index_knows(a);
SELECT reltuples FROM pg_class WHERE relname = 'big_known';
COMMIT;

RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;
RESET search_path;
SELECT drop_twins();
