-- Builds with parallel workers make the same index as one process. Each worker reports
-- that it took part.
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '256MB';
SET client_min_messages = warning;
\set VERBOSITY terse

-- Makes a table whose column a is computed from i, and its index by one process
-- and by several.
CREATE FUNCTION build_twice(type text, value text, clauses text DEFAULT '(a)',
	rows int DEFAULT 10000, memory text DEFAULT '256MB') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('maintenance_work_mem', memory, true);
	PERFORM on_both(format('CREATE TABLE t (a %s, b int) WITH (parallel_workers = 2)', type));
	PERFORM on_both(format('INSERT INTO t SELECT %s, i FROM generate_series(1, %s) i', value, rows));
	SET LOCAL max_parallel_maintenance_workers = 0;
	PERFORM on_both('CREATE INDEX one ON t USING @am ' || clauses);
	SET LOCAL max_parallel_maintenance_workers = 2;
	SET LOCAL sware.fault_points = 'build-worker=notice';
	SET LOCAL client_min_messages = notice;
	EXECUTE 'CREATE INDEX several ON twin_sware.t USING sware ' || clauses;
	SET LOCAL sware.fault_points = '';
	SET LOCAL client_min_messages = warning;
	SELECT format('%s, %s, %s entries, %s, ', check_all(),
				  CASE WHEN pg_relation_size('twin_sware.one') = pg_relation_size('twin_sware.several')
				  THEN 'same size' ELSE 'DIFFERENT SIZE' END, i.reltuples,
				  CASE WHEN (SELECT reltuples FROM pg_class WHERE oid = 'twin_nbtree.t'::regclass)
				      = (SELECT reltuples FROM pg_class WHERE oid = 'twin_sware.t'::regclass)
				  THEN 'same reltuples' ELSE 'DIFFERENT RELTUPLES' END)
		INTO answer FROM pg_class i WHERE i.oid = 'twin_sware.several'::regclass;
	DROP INDEX twin_sware.one;
	answer := answer || same_rows('SELECT ctid, a FROM t WHERE a IS NOT NULL ORDER BY a');
	PERFORM on_both('DROP TABLE t');
	RETURN answer;
END
$$;
SELECT allow_scans('index', 'indexonly');

-- In order, backward, nearly in order, scrambled, all equal.
SELECT build_twice('int', 'i');
SELECT build_twice('int', '-i');
SELECT build_twice('int', 'CASE WHEN i % 10 = 0 THEN i * 7919::bigint % 20011 ELSE i END');
SELECT build_twice('bigint', 'i * 7919::bigint % 20011 - 10000');
SELECT build_twice('int', '7');
SELECT build_twice('bigint', 'i * 7919::bigint % 20011', '(a DESC)');

-- Nulls, wide and narrow keys, several columns, INCLUDE, expressions, predicates.
SELECT build_twice('int', 'CASE WHEN i % 3 > 0 THEN i * 7919::bigint % 20011 END', '(a NULLS FIRST)');
SELECT build_twice('int', 'CASE WHEN i % 3 > 0 THEN i END', '(a DESC NULLS LAST)');
SELECT build_twice('text', $$repeat('x', i % 300) || i$$);
SELECT build_twice('text', $$lpad(i::text, 10, '0')$$, '(a, b)');
SELECT build_twice('numeric', 'i * 7919::bigint % 101', '(a) INCLUDE (b)');
SELECT build_twice('text', $$'k' || i$$, '(upper(a), a)');
SELECT build_twice('int', 'i', '(a) WHERE b % 7 = 0');
SELECT build_twice('int', 'i', '(a) WHERE b < 0');

-- With too little memory for all entries: of wide ones, each process writes so many files
-- that it merges some.
SELECT build_twice('int', 'i * 7919::bigint % 60013', '(a)', 60000, '1MB');
SELECT build_twice('text', $$lpad((i * 7919::bigint % 60013)::text, 200, 'k')$$, '(a)', 60000, '1MB');
DROP FUNCTION build_twice;

-- The leader reports what workers have read: as much as one process reads, but for what comes
-- on top. The expression is slow, so that workers begin in time.
CREATE TABLE twin_sware.r (a int, b text) WITH (fillfactor = 10, parallel_workers = 2);
INSERT INTO twin_sware.r SELECT i, repeat('b', 400) FROM generate_series(1, 6000) i;
CREATE FUNCTION pages_of_build(workers text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers, true);
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT build()' INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END
$$;
CREATE FUNCTION build() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE INDEX r_a ON twin_sware.r USING sware (md5(repeat(a::text, 2000)));
	DROP INDEX twin_sware.r_a;
END
$$;
SELECT pages_of_build('0') AS pages \gset
SELECT pages_of_build('2') > :pages - 500 AS all_reported, :pages > 3000 AS are_many;
DROP FUNCTION pages_of_build, build;
DROP TABLE twin_sware.r;

-- The number of workers is the same as for nbtree. It depends on the size of the table,
-- on memory, on the table's parallel_workers, and on what is parallel safe.
CREATE FUNCTION build_with_workers(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL sware.fault_points = 'build-worker=notice';
	SET LOCAL client_min_messages = notice;
	EXECUTE statement;
END
$$;
CREATE TABLE twin_sware.t (a int, b int);
INSERT INTO twin_sware.t SELECT i, -i FROM generate_series(1, 20000) i;
SELECT build_with_workers('CREATE INDEX t_1 ON twin_sware.t USING sware (a)');
SET maintenance_work_mem = '64MB';
SELECT build_with_workers('REINDEX INDEX twin_sware.t_1');
SET maintenance_work_mem = '63MB';
SELECT build_with_workers('REINDEX INDEX twin_sware.t_1');
SET maintenance_work_mem = '256MB';
SET min_parallel_table_scan_size = '8MB';
SELECT build_with_workers('REINDEX INDEX twin_sware.t_1');
ALTER TABLE twin_sware.t SET (parallel_workers = 1);
SELECT build_with_workers('REINDEX INDEX twin_sware.t_1');
ALTER TABLE twin_sware.t SET (parallel_workers = 0);
SELECT build_with_workers('REINDEX INDEX twin_sware.t_1');
ALTER TABLE twin_sware.t SET (parallel_workers = 8);
SELECT build_with_workers('REINDEX TABLE twin_sware.t');
SET max_parallel_maintenance_workers = 0;
SELECT build_with_workers('REINDEX TABLE twin_sware.t');
SET max_parallel_maintenance_workers = 2;
CREATE FUNCTION twice_safe(x int) RETURNS int IMMUTABLE PARALLEL SAFE
	LANGUAGE plpgsql AS 'BEGIN RETURN 2 * x; END';
CREATE FUNCTION half_unsafe(x int) RETURNS int IMMUTABLE PARALLEL UNSAFE
	LANGUAGE plpgsql AS 'BEGIN RETURN x / 2; END';
SELECT build_with_workers('CREATE INDEX t_2 ON twin_sware.t USING sware (half_unsafe(a))');
SELECT build_with_workers('CREATE INDEX t_3 ON twin_sware.t USING sware (a) WHERE half_unsafe(a) > 5');
SELECT build_with_workers('CREATE INDEX t_4 ON twin_sware.t USING sware (twice_safe(a))');
SELECT check_all();
CREATE TEMP TABLE temporary (a int) WITH (parallel_workers = 2);
INSERT INTO temporary SELECT generate_series(1, 1000);
SELECT build_with_workers('CREATE INDEX temporary_a ON temporary USING sware (a)');
SELECT sware_check('temporary_a', true);
DROP TABLE temporary;

-- A table that is in order is not sorted, also if other scans of it make a synchronized
-- scan begin in its middle.
CREATE TABLE twin_sware.in_order (a int, b int) WITH (parallel_workers = 1, fillfactor = 10);
INSERT INTO twin_sware.in_order SELECT i, i * 7919::bigint % 120011 FROM generate_series(1, 120000) i;
SELECT pg_relation_size('twin_sware.in_order') > pg_size_bytes(current_setting('shared_buffers')) / 4
	AS is_synchronized;
BEGIN;
DECLARE first_half CURSOR FOR SELECT FROM twin_sware.in_order;
MOVE 60000 FROM first_half;
SET sware.fault_points = 'sort-all=notice';
SET client_min_messages = notice;
SET LOCAL max_parallel_maintenance_workers = 1;
CLOSE first_half;
CREATE INDEX in_order_a ON twin_sware.in_order USING sware (a);
SET LOCAL max_parallel_maintenance_workers = 0;
REINDEX INDEX twin_sware.in_order_a;
CREATE INDEX in_order_b ON twin_sware.in_order USING sware (b);
COMMIT;
RESET sware.fault_points;
SET client_min_messages = warning;
DROP TABLE twin_sware.in_order;

-- TRUNCATE builds an index on an empty table; rewrites build one on all rows.
BEGIN;
CREATE TABLE twin_sware.fresh (a int) WITH (parallel_workers = 2);
CREATE INDEX fresh_a ON twin_sware.fresh USING sware (a);
INSERT INTO twin_sware.fresh SELECT generate_series(1, 5000);
SELECT build_with_workers('TRUNCATE twin_sware.fresh');
INSERT INTO twin_sware.fresh SELECT generate_series(1, 5000);
SELECT build_with_workers('ALTER TABLE twin_sware.fresh ALTER a TYPE bigint');
INSERT INTO twin_sware.fresh SELECT generate_series(1, 5000);
SELECT build_with_workers('REINDEX TABLE twin_sware.fresh');
SELECT count(*) FROM twin_sware.fresh WHERE a > 4000;
COMMIT;
SELECT check_all();
SELECT build_with_workers('CREATE UNLOGGED TABLE twin_sware.copied
	WITH (parallel_workers = 2) AS SELECT * FROM twin_sware.fresh');
SELECT build_with_workers('CREATE INDEX copied_a ON twin_sware.copied USING sware (a)');
SELECT check_all();

-- Rows that this transaction, or a subtransaction, has inserted and deleted.
BEGIN;
DELETE FROM twin_sware.fresh WHERE a % 3 = 0;
SAVEPOINT s;
UPDATE twin_sware.fresh SET a = -a WHERE a % 5 = 0;
SELECT build_with_workers('REINDEX TABLE twin_sware.fresh');
SELECT check_all(), count(*), count(*) FILTER (WHERE a < 0) FROM twin_sware.fresh WHERE a IS NOT NULL;
ROLLBACK TO s;
SELECT check_all(), count(*), count(*) FILTER (WHERE a < 0) FROM twin_sware.fresh WHERE a IS NOT NULL;
SELECT build_with_workers('REINDEX TABLE twin_sware.fresh');
SELECT check_all(), count(*), count(*) FILTER (WHERE a < 0) FROM twin_sware.fresh WHERE a IS NOT NULL;
COMMIT;
SELECT check_all();
SET sware.fault_points = 'build-worker=notice';
SET client_min_messages = notice;
CREATE INDEX CONCURRENTLY fresh_b ON twin_sware.fresh USING sware (a DESC);
REINDEX INDEX CONCURRENTLY twin_sware.fresh_a;
RESET sware.fault_points;
SET client_min_messages = warning;
SELECT check_all();

-- Unique indexes: the two rows of a key are far apart, so two processes have them as a
-- rule.
CREATE TABLE twin_sware.far (a int, b text) WITH (parallel_workers = 2);
INSERT INTO twin_sware.far SELECT i, 'b' || i FROM generate_series(1, 20000) i;
INSERT INTO twin_sware.far VALUES (1, 'b1'), (NULL, NULL), (NULL, NULL);
SELECT build_with_workers('CREATE UNIQUE INDEX far_a ON twin_sware.far USING sware (a)');
SELECT build_with_workers('CREATE UNIQUE INDEX far_b ON twin_sware.far USING sware (b)');
BEGIN;
DELETE FROM twin_sware.far WHERE a = 1 AND ctid > '(1,1)';
UPDATE twin_sware.far SET b = lower(b) WHERE a % 3 = 0;
SELECT build_with_workers('CREATE UNIQUE INDEX far_a ON twin_sware.far USING sware (a)');
SELECT build_with_workers('CREATE UNIQUE INDEX far_b ON twin_sware.far USING sware (b)');
COMMIT;
SELECT build_with_workers('CREATE UNIQUE INDEX far_null
	ON twin_sware.far USING sware (a) NULLS NOT DISTINCT');
SELECT check_all();
INSERT INTO twin_sware.far VALUES (1, 'c');
INSERT INTO twin_sware.far VALUES (-1, 'b1');
DROP TABLE twin_sware.far;

-- Errors of workers are errors of the statement, which leaves nothing behind.
SET sware.fault_points = 'build-worker=error';
CREATE INDEX fails ON twin_sware.fresh USING sware (a);
RESET sware.fault_points;
CREATE INDEX fails ON twin_sware.t USING sware ((1 / (a - 20000)));
CREATE TABLE twin_sware.wide (a text) WITH (parallel_workers = 2);
ALTER TABLE twin_sware.wide ALTER a SET STORAGE EXTERNAL;
INSERT INTO twin_sware.wide SELECT CASE WHEN i = 15000 THEN repeat('x', 5000) ELSE i::text END
	FROM generate_series(1, 20000) i;
CREATE INDEX fails ON twin_sware.wide USING sware (a);
DO $$
BEGIN
	CREATE INDEX fails ON twin_sware.wide USING sware (a);
EXCEPTION WHEN program_limit_exceeded THEN
	CREATE INDEX works ON twin_sware.wide USING sware (left(a, 100));
END
$$;
SELECT check_all();
SELECT relname FROM pg_class WHERE relname = 'fails';
SELECT count(*) AS files FROM pg_ls_tmpdir();

DROP FUNCTION build_with_workers;
SELECT drop_twins();
DROP FUNCTION half_unsafe, twice_safe;
