-- Conditions on later columns, where leading ones have no equality: entries that cannot
-- qualify are skipped. The rows are the same as nbtree's, and few pages are read.
SET sware.fault_buffer = on;
SET max_parallel_workers_per_gather = 0;
SELECT on_both('CREATE TABLE t (a int, b int, c text) WITH (autovacuum_enabled = off)');
SELECT on_both($$INSERT INTO t SELECT i % 10, i / 10, 'c' || i % 70 FROM generate_series(10, 30000) i$$);
SELECT on_both('INSERT INTO t SELECT NULL, i, ''c1'' FROM generate_series(1, 3000) i');
SELECT on_both('INSERT INTO t SELECT i % 10, NULL, NULL FROM generate_series(1, 300) i');
SELECT on_both('CREATE INDEX t_ab ON t USING @am (a, b)');
VACUUM (ANALYZE) twin_nbtree.t;
VACUUM (ANALYZE) twin_sware.t;

-- Returns an item of what EXPLAIN says of an index-only scan of one twin; the planner
-- has no other choice.
CREATE FUNCTION explained(twin text, query text, VARIADIC items text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
	plan json;
	total int := 0;
	item text;
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	PERFORM set_config('search_path', saved_path, true);
	plan := plan -> 0 -> 'Plan';
	IF plan ->> 'Node Type' NOT LIKE 'Index%Scan' THEN
		RAISE 'the plan is %', plan;
	END IF;
	FOREACH item IN ARRAY items LOOP
		total := total + (plan ->> item)::int;
	END LOOP;
	RETURN total;
END $$;
-- The number of pages that a query reads, if it is above a limit.
CREATE FUNCTION pages_read(query text, most int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN pages <= most THEN 'few pages' ELSE pages || ' PAGES' END
	FROM explained('twin_sware', query, 'Shared Hit Blocks', 'Shared Read Blocks') pages;
$$;
-- Compares the rows of a query in both directions, and says whether it reads few pages.
-- Before PostgreSQL 17 the planner leaves arrays on later columns to the index only if no
-- order is asked for, so then there is another limit for backward scans.
CREATE FUNCTION skipped(condition text, most int, most_backward int DEFAULT NULL)
RETURNS TABLE (forward text, backward text, pages text) LANGUAGE sql AS $$
	SELECT same_rows(format('SELECT a, b FROM t WHERE %s ORDER BY a, b', condition)),
		same_rows(format('SELECT a, b FROM t WHERE %s ORDER BY a DESC, b DESC', condition)),
		pages_read(format('SELECT a, b FROM t WHERE %s', condition), most) || ' and ' ||
		pages_read(format('SELECT a, b FROM t WHERE %s ORDER BY a DESC, b DESC', condition),
				   coalesce(most_backward, most));
$$;
SELECT allow_scans('indexonly');
SET enable_sort = off;
-- The whole index, for comparison.
SELECT pages_read('SELECT a, b FROM t', 80) <> 'few pages' AS many_pages;
SELECT * FROM skipped('b = 500', 40);
SELECT * FROM skipped('b = 0', 40);
SELECT * FROM skipped('b = 3000', 40);
SELECT * FROM skipped('b = 9999', 40);
-- A high cost of tuples makes the planner give arrays to the index.
SET cpu_tuple_cost = 10;
SELECT * FROM skipped('b IN (5, 1000, 1001, 2900, 2900)', 65, 95);
-- A cursor goes backward in every version, in the order that the scan has.
SELECT walk('twin_sware', 'SELECT a, b FROM t WHERE b IN (5, 1000, 1001, 2900, 2900)',
			ARRAY['end'] || array_fill('prior'::text, '{44}')) =
	ARRAY['end '] || ARRAY(SELECT format('prior %s', (a, b)) FROM twin_sware.t
						   WHERE b + 0 IN (5, 1000, 1001, 2900) ORDER BY a DESC, b DESC) AS same_backward;
RESET cpu_tuple_cost;
SELECT * FROM skipped('b BETWEEN 1000 AND 1010', 40);
SELECT * FROM skipped('b > 2990', 40);
SELECT * FROM skipped('b < 10', 40);
SELECT * FROM skipped('b > 500 AND b < 500', 40);
SELECT * FROM skipped('b IS NULL', 40);
SELECT * FROM skipped('a BETWEEN 2 AND 3 AND b = 5', 12);
SELECT * FROM skipped('a > 2 AND a < 4 AND b = 5', 12);
SELECT * FROM skipped('a > 7 AND b IN (5, 2999)', 20);
SELECT * FROM skipped('a <= 2 AND b = 5', 20);
SELECT * FROM skipped('a IS NOT NULL AND b >= 2995', 40);
SELECT * FROM skipped('a > 3::bigint AND a < 8::smallint AND b = 77::bigint', 30);
SELECT * FROM skipped('a > 5 AND a < 5 AND b = 77', 5);
-- nbtree reads no fewer where it skips, and searches as often. PostgreSQL before 18 does
-- not show searches, and nbtree does not skip.
CREATE FUNCTION searches(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT a, b FROM t WHERE %s', condition);
	nbtree int;
	sware int;
BEGIN
	IF current_setting('server_version_num')::int < 180000 THEN
		RETURN 'several, as many as nbtree';
	END IF;
	nbtree := explained('twin_nbtree', query, 'Index Searches');
	sware := explained('twin_sware', query, 'Index Searches');
	RETURN CASE WHEN sware > 2 THEN 'several, ' ELSE sware || ', ' END ||
		CASE WHEN sware <= nbtree THEN 'as many as nbtree' ELSE format('%s, nbtree %s', sware, nbtree) END;
END $$;
SELECT searches('b = 500'), searches('b IN (5, 1000, 2900)'), searches('a > 3 AND b = 500');
-- Where skipping would not pay, the leaves are read one after another: here a leaf has
-- hundreds of values of the first column.
SELECT on_both('CREATE TABLE u (a int, b int) WITH (autovacuum_enabled = off)');
SELECT on_both('INSERT INTO u SELECT i, i % 5 FROM generate_series(1, 20000) i');
SELECT on_both('CREATE INDEX u_ab ON u USING @am (a, b)');
VACUUM (ANALYZE) twin_nbtree.u;
VACUUM (ANALYZE) twin_sware.u;
SELECT pages_read(format('SELECT a, b FROM u WHERE %s', condition), pages + 10), condition
FROM pg_class, explained('twin_sware', 'SELECT a FROM u', 'Shared Hit Blocks', 'Shared Read Blocks') pages,
	unnest('{b = 3,b < 2,b = 7,"b IN (1, 4)","b IN (1, 4) AND a > 1"}'::text[]) condition
WHERE relname = 'u_ab' AND relnamespace = 'twin_sware'::regnamespace;
SELECT pages_read(format('SELECT a, b FROM u WHERE %s ORDER BY a DESC, b DESC', condition), pages + 20),
	condition
FROM pg_class, explained('twin_sware', 'SELECT a FROM u', 'Shared Hit Blocks', 'Shared Read Blocks') pages,
	unnest('{b = 3,b < 2,b = 7,b = 0,"a > 1 AND b = 0"}'::text[]) condition
WHERE relname = 'u_ab' AND relnamespace = 'twin_sware'::regnamespace;
-- Values of an array that lie far apart cost a search each, also behind some that lie on
-- neighbouring leaves.
SELECT * FROM unnest('{"", DESC}'::text[]) direction, pages_read(format(
	'SELECT a, b FROM u WHERE a IN (19000, 18700, 18400, 10000, 700, 300)
	ORDER BY a %1$s, b %1$s', direction), 20);
SELECT same_rows(format('SELECT a, b FROM u WHERE a IN (19000, 18700, 18400, 10000, 700, 300) AND b < 4
	ORDER BY a %1$s, b %1$s', direction)) FROM unnest('{"", DESC}'::text[]) direction;
-- A search may lead to a leaf that has become empty, and cannot be deleted.
SELECT on_both('CREATE TABLE x (a text COLLATE "C", b int) WITH (autovacuum_enabled = off)');
SELECT on_both($$INSERT INTO x SELECT lpad(i::text, 450, '0'), i % 3 FROM generate_series(1, 2000) i$$);
SELECT on_both('CREATE INDEX x_ab ON x USING @am (a, b)');
SELECT on_both($$DELETE FROM x WHERE a BETWEEN lpad('301', 450, '0') AND lpad('1700', 450, '0')$$);
VACUUM (ANALYZE) twin_nbtree.x;
VACUUM (ANALYZE) twin_sware.x;
SELECT same_rows(format('SELECT a, b FROM x WHERE a = ANY (ARRAY(SELECT lpad(i::text, 450, ''0'')
	FROM generate_series(1, 2000, 100) i)) ORDER BY a %1$s, b %1$s', direction)),
	same_rows(format('SELECT a, b FROM x WHERE b = 2 ORDER BY a %1$s, b %1$s', direction))
FROM unnest('{"", DESC}'::text[]) direction;
-- What follows an infinite timestamp is no timestamp, so it must not be compared with a
-- bound of another type. (nbtree fails here.)
CREATE TABLE twin_sware.w (a timestamp, b int);
CREATE INDEX ON twin_sware.w USING sware (a, b);
INSERT INTO twin_sware.w SELECT a, b FROM generate_series(1, 300) b,
	unnest('{-infinity,2000-01-01,2000-01-02,infinity}'::timestamp[]) a;
SELECT a, b FROM twin_sware.w WHERE a <= '2000-01-02'::timestamptz AND b = 5;
SELECT a, b FROM twin_sware.w WHERE a >= '2000-01-02'::timestamptz AND b = 5 ORDER BY a DESC, b DESC;
SELECT sware_flush('twin_sware.w_a_b_idx') >= 0 AS flushed;
SELECT a, b FROM twin_sware.w WHERE a < '2000-01-02'::timestamptz AND b = 5;
SELECT a, b FROM twin_sware.w WHERE a > '2000-01-01'::timestamptz AND b = 5 ORDER BY a DESC, b DESC;
-- An operator family may lack the function that compares with another type.
CREATE OPERATOR FAMILY lax_family USING sware;
CREATE OPERATOR CLASS lax_ops FOR TYPE date USING sware FAMILY lax_family AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 date_cmp(date, date);
ALTER OPERATOR FAMILY lax_family USING sware ADD
	OPERATOR 3 = (date, timestamp), OPERATOR 1 < (date, timestamp);
CREATE TABLE twin_sware.w2 (a int, b date);
CREATE INDEX ON twin_sware.w2 USING sware (a, b lax_ops);
INSERT INTO twin_sware.w2 SELECT i % 2, date '2000-01-01' + i / 2 FROM generate_series(0, 999) i;
SELECT a, b FROM twin_sware.w2 WHERE b = timestamp '2000-01-05' ORDER BY a, b;
SELECT a, b FROM twin_sware.w2 WHERE a > 0 AND b < timestamp '2000-01-03' ORDER BY a, b;
DROP TABLE twin_sware.w2;
DROP OPERATOR FAMILY lax_family USING sware CASCADE;
DROP TABLE twin_sware.w;
-- The planner makes the same plans as for nbtree.
SELECT allow_scans('seq', 'index', 'indexonly', 'bitmap');
RESET enable_sort;
SELECT compare_briefly('SELECT a, b FROM t WHERE b = 500 ORDER BY a, b');
SELECT line ~ 'Index Only Scan' OR current_setting('server_version_num')::int < 180000 AS uses_index
FROM plan_of('twin_sware', 'SELECT a, b FROM t WHERE b = 500 ORDER BY a, b') line LIMIT 1;
SELECT compare_briefly('SELECT a, b, c FROM t WHERE b = 500 ORDER BY a, b');
SELECT compare_briefly('SELECT a, b, c FROM t WHERE b BETWEEN 100 AND 200 ORDER BY a, b');
SELECT compare_briefly('SELECT a, b FROM t WHERE a > 3 AND b IN (7, 500) ORDER BY a, b');
SELECT compare_briefly('SELECT a, b FROM u WHERE b = 3 ORDER BY a, b');

-- Three columns, two of them without an equality; text, whose next value is not known;
-- columns that descend; nulls at either end.
SELECT allow_scans('indexonly');
SET enable_sort = off;
SELECT on_both('DROP INDEX t_ab');
-- Asks in the order of an index and backward, and compares with a sequential scan.
CREATE FUNCTION ask(definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	rows text[];
	forward text := 'SELECT %s FROM t WHERE %s ORDER BY %s';
	found text[];
	reverse text;
BEGIN
	EXECUTE format('CREATE INDEX skip_i ON twin_sware.t USING sware (%s)', definition);
	-- each column the other way round
	SELECT string_agg(CASE
			WHEN item LIKE '%DESC NULLS LAST' THEN split_part(item, ' ', 1) || ' NULLS FIRST'
			WHEN item LIKE '%DESC' THEN split_part(item, ' ', 1)
			WHEN item LIKE '%NULLS FIRST' THEN split_part(item, ' ', 1) || ' DESC NULLS LAST'
			ELSE item || ' DESC' END, ', ' ORDER BY n) INTO reverse
	FROM unnest(string_to_array(definition, ', ')) WITH ORDINALITY items(item, n);
	FOREACH condition IN ARRAY ARRAY[
		'b = 500', 'b IN (3, 4, 500, 2999)', 'c = ''c5''', 'c IN (''c5'', ''c69'', ''d'') AND b < 100',
		'a = 3 AND c = ''c13''', 'b IS NULL', 'c IS NULL AND a > 3', 'a IS NULL AND b BETWEEN 7 AND 9',
		'a IS NOT NULL AND b = 9', 'a > 2 AND c > ''c60'' AND b IN (6, 13, 20)',
		'a < 8 AND a >= 2 AND b > 2990',
		'a IN (1, 5, 9) AND c = ''c1''', 'b = 9 AND c IS NOT NULL', 'c < ''c1'' AND b < 50'] LOOP
		PERFORM allow_scans('seq');
		SET LOCAL enable_sort = on;
		rows := rows_of('twin_sware', format(forward, 'a, b, c', condition, definition));
		PERFORM allow_scans('indexonly');
		SET LOCAL enable_sort = off;
		IF NOT EXISTS (
			SELECT 1 FROM plan_of('twin_sware', format(forward, 'a, b, c', condition, definition)) line
			WHERE line LIKE '%Index Only Scan using skip_i%') THEN
			RETURN NEXT condition || ': OTHER PLAN';
		END IF;
		found := rows_of('twin_sware', format(forward, 'a, b, c', condition, definition));
		IF rows IS DISTINCT FROM found THEN
			RETURN NEXT format('%s: DIFFERENT: %s rows, not %s',
							   condition, cardinality(found), cardinality(rows));
		END IF;
		found := rows_of('twin_sware', format(forward, 'a, b, c', condition, reverse));
		IF rows IS DISTINCT FROM
		   ARRAY(SELECT line FROM unnest(found) WITH ORDINALITY f(line, n) ORDER BY n DESC) THEN
			RETURN NEXT format('%s backward: DIFFERENT: %s rows, not %s',
							   condition, cardinality(found), cardinality(rows));
		END IF;
	END LOOP;
	DROP INDEX twin_sware.skip_i;
	RETURN NEXT definition || ' has been asked';
END $$;
SELECT ask('a, b, c');
SELECT ask('a DESC, b, c');
SELECT ask('a NULLS FIRST, b DESC, c');
SELECT ask('c, a, b');
SELECT ask('c DESC NULLS LAST, b, a');
SELECT ask('c NULLS FIRST, a DESC NULLS LAST, b NULLS FIRST');
SELECT ask('b, c DESC, a');

-- How often an operator of a condition is called tells how many entries were looked at,
-- wherever they are. Calls are counted by a sequence, which transactions do not undo.
SET search_path = twin_sware, public;
CREATE SEQUENCE calls;
CREATE FUNCTION counted_eq(int, int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nextval('calls');
	RETURN $1 = $2;
END $$;
CREATE OPERATOR === (
	LEFTARG = int, RIGHTARG = int, FUNCTION = counted_eq, COMMUTATOR = ===, RESTRICT = eqsel);
CREATE OPERATOR CLASS counted_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 ===, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE FUNCTION looks(query text, most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := nextval('calls');
	rows text[] := rows_of('twin_sware', query);
	calls bigint := nextval('calls') - before - 1;
BEGIN
	RETURN cardinality(rows) || ' rows, ' ||
		CASE WHEN calls <= most THEN 'few looks' ELSE calls || ' LOOKS' END;
END $$;
CREATE TABLE v (a int, b int) WITH (autovacuum_enabled = off);
CREATE INDEX v_ab ON v USING sware (a, b counted_ops);
-- All entries wait in private memory.
BEGIN;
INSERT INTO v SELECT i % 10, i / 10 FROM generate_series(0, 9999) i;
SELECT looks('SELECT a, b FROM v WHERE b === 700', 150);
SELECT looks('SELECT a, b FROM v WHERE b === 700 ORDER BY a DESC, b DESC', 150);
ROLLBACK;
-- All are in the buffer, where the entries of full pages are in order.
DO $$
BEGIN
	FOR i IN 0 .. 49 LOOP
		INSERT INTO v SELECT n % 10, n / 10 FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
SELECT buffer_entries FROM sware_stats('v_ab');
SELECT looks('SELECT a, b FROM v WHERE b === 700', 1500);
SELECT looks('SELECT a, b FROM v WHERE b === 700', 700);
SELECT looks('SELECT a, b FROM v WHERE b === 700 ORDER BY a DESC, b DESC', 700);
-- In buffer and tree.
SELECT sware_flush('v_ab') > 0 AS flushed;
DO $$
BEGIN
	FOR i IN 0 .. 9 LOOP
		INSERT INTO v SELECT n % 10, n / 10 FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
SELECT looks('SELECT a, b FROM v WHERE b === 70', 700);
SELECT looks('SELECT a, b FROM v WHERE b === 70 AND a > 3 ORDER BY a DESC, b DESC', 700);
SELECT allow_scans('bitmap');
SELECT looks('SELECT a, b FROM v WHERE b === 70', 700);
-- Only in the tree.
SELECT sware_flush('v_ab') > 0 AS flushed;
SELECT allow_scans('indexonly');
SELECT looks('SELECT a, b FROM v WHERE b === 70', 100);
SELECT looks('SELECT a, b FROM v WHERE b === 70 ORDER BY a DESC, b DESC', 100);
SELECT sware_check('v_ab', true);
RESET search_path;

-- A cursor that turns around.
SELECT on_both('CREATE INDEX t_ab ON t USING @am (a, b)');
SELECT on_both('INSERT INTO t SELECT i % 10, 700 + i % 3, ''d'' FROM generate_series(1, 60) i');
CREATE FUNCTION same_walk(query text, VARIADIC steps text[]) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN walk('twin_nbtree', query, steps) = walk('twin_sware', query, steps)
		THEN 'same walk' ELSE 'DIFFERENT' END;
$$;
SELECT same_walk('SELECT a, b FROM t WHERE b BETWEEN 699 AND 702 ORDER BY a, b',
	'next', 'next', 'prior', 'last', 'prior', 'prior', 'next', 'start', 'next', 'end', 'prior', 'prior',
	'-500', 'next', '+500', 'prior');
SELECT same_walk('SELECT a, b FROM t WHERE b IN (3, 1500) ORDER BY a DESC, b DESC',
	'next', 'next', 'next', 'prior', 'prior', 'prior', 'next', 'last', 'prior', 'first', 'prior', 'next',
	'end', 'prior');
-- A merge join, which goes back to a mark.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SELECT same_rows('SELECT count(*), sum(x.b) FROM (SELECT a, b FROM t WHERE b IN (5, 6) AND a > 2) x
	JOIN (SELECT a, b FROM t WHERE b IN (6, 7, 700) AND a < 9) y USING (a)');
SET enable_hashjoin = on;
SET enable_nestloop = on;
-- Parallel scans: an interval begins where the next entry can be.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET cpu_tuple_cost = 1;
SELECT on_both('ALTER TABLE t SET (parallel_workers = 2)');
SELECT plan_of('twin_sware', 'SELECT sum(a), count(*), sum(b) FROM t WHERE b < 2000 AND b > 30');
SELECT same_rows('SELECT sum(a), count(*), sum(b) FROM t WHERE b < 2000 AND b > 30');
SELECT same_rows('SELECT a, b FROM t WHERE b IN (1, 33, 700, 2001) ORDER BY a, b');
SELECT same_rows('SELECT a, b FROM t WHERE a > 2 AND b IN (1, 33, 700, 2001) ORDER BY a DESC, b DESC');
SELECT same_rows('SELECT count(*) FROM t WHERE b = 9999');
-- Intervals that begin and end with a value of the first column alone.
SELECT on_both('ALTER TABLE u SET (parallel_workers = 2)');
SELECT plan_of('twin_sware', 'SELECT a, b FROM u WHERE b = 3 AND a > 9 ORDER BY a, b');
SELECT same_rows('SELECT a, b FROM u WHERE b = 3 AND a > 9 ORDER BY a, b');
SELECT same_rows('SELECT a, b FROM u WHERE b = 3 AND a > 9 ORDER BY a DESC, b DESC');
SELECT same_rows('SELECT count(*), sum(a) FROM u WHERE b < 3');
SELECT check_all();
RESET ALL;
SET sware.fault_buffer = on;
DROP FUNCTION explained, pages_read, skipped, searches, ask, same_walk;
SELECT drop_twins();
