-- Arrays on any column: rows are returned in the order of the whole index, each once.
SELECT on_both('CREATE TABLE t (a int, b int, c text)');
SELECT on_both($$INSERT INTO t SELECT i % 50, i % 40, 'c' || i % 7 FROM generate_series(1, 10000) i$$);
SELECT on_both('INSERT INTO t VALUES (NULL, 1, NULL), (1, NULL, NULL), (NULL, NULL, NULL)');
SELECT on_both('CREATE INDEX t_abc ON t USING @am (a, b, c)');
SELECT on_both('CREATE INDEX t_b_desc ON t USING @am (b DESC, a)');
VACUUM (ANALYZE) twin_nbtree.t;
VACUUM (ANALYZE) twin_sware.t;
SET max_parallel_workers_per_gather = 0;

-- On the first column.
SELECT allow_scans('indexonly');
SELECT compare('SELECT a, b, c FROM t WHERE a = ANY (''{7,3,3,49,-1,1000}'') AND b < 5 ORDER BY a, b, c');
SELECT compare('SELECT a, b, c FROM t WHERE a = ANY (''{7,3,3,49,-1,1000}'') AND b < 5
	ORDER BY a DESC, b DESC, c DESC');
SELECT compare('SELECT a FROM t WHERE a IN (5, 6, 7)');
SELECT compare('SELECT b, a FROM t WHERE b IN (5, 39, 7, 5) AND a < 20 ORDER BY b DESC, a');
SELECT compare('SELECT b, a FROM t WHERE b IN (5, 39, 7, 5) AND a < 20 ORDER BY b, a DESC');

-- On later columns, alone or together: still in the order of the whole index. PostgreSQL
-- 15 does not rely on that and would sort. So sware's rows are taken as they come, and
-- compared with nbtree's, which are sorted. A high cost of tuples makes the planner give
-- all conditions to the index.
SELECT on_both('DROP INDEX t_b_desc');
SELECT allow_scans('index');
SET cpu_tuple_cost = 10;
CREATE FUNCTION in_index_order(condition text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN EXISTS (SELECT 1
		FROM plan_of('twin_sware', 'SELECT a, b, c FROM t WHERE ' || condition) line WHERE line ~ 'Filter')
				THEN 'WITH A FILTER, ' ELSE '' END ||
		   CASE WHEN rows_of('twin_sware', 'SELECT a, b, c FROM t WHERE ' || condition)
				   = rows_of('twin_nbtree',
				       'SELECT a, b, c FROM t WHERE ' || condition || ' ORDER BY a, b, c')
				THEN 'in order, ' ELSE 'NOT IN ORDER, ' END
		|| same_rows('SELECT a, b, c FROM t WHERE ' || condition || ' ORDER BY a, b, c');
$$;
SELECT plan_of('twin_sware',
	'SELECT a, b, c FROM t WHERE a = ANY (''{3,4,5}'') AND b = ANY (''{13,4,5,3}'')');
SELECT in_index_order('a = ANY (''{3,4,5}'') AND b = ANY (''{13,4,5,3}'')');
SELECT in_index_order('a < 9 AND b = ANY (''{13,4,5,3}'')');
SELECT in_index_order('a > 9 AND c = ANY (''{c6,c0,c3}'')');
SELECT in_index_order('a > 9 AND b = ANY (''{30,20,10,0}'') AND c = ANY (''{c6,c0,c3}'')');
SELECT in_index_order('a = ANY (''{40,30,20,10,0}'') AND b = ANY (''{30,20,10,0}'')
	AND c = ANY (''{c6,c0,c3}'')');
SELECT in_index_order('a = ANY (''{40,30,20,10,0}'') AND b > 3 AND c = ANY (''{c6,c0,c3}'')');
SELECT in_index_order('a IS NOT NULL AND b = ANY (''{30,20,10,0}'')');
SELECT in_index_order('a > 3 AND a < 30 AND b >= 3 AND b = ANY (''{30,2,10,0}'')');

RESET cpu_tuple_cost;

-- Arrays that have nulls, are empty, have only nulls, or contradict each other; several
-- on one column.
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{7,NULL,3}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{NULL}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (NULL::int[]) ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = 3 AND a = ANY (''{4,5}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{3,4,5}'')
	AND a = ANY (''{4,5,6}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{3,4,5}'') AND a > 3 ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = ANY (''{3,4,5}'') AND b IS NULL ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = 1 AND b IS NULL AND c = ANY (''{c1}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a IS NULL AND b = ANY (''{1,2}'') ORDER BY a, b, c');

-- Inequalities with ANY and ALL.
SELECT same_rows('SELECT a, b, c FROM t WHERE a < ANY (''{3,1,2}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a >= ANY (''{47,48,NULL}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a > ALL (''{47,46}'') ORDER BY a, b, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE a = 4 AND b <= ANY (''{10,20}'') ORDER BY a, b, c');

-- Elements of another type of the family.
SELECT compare_briefly('SELECT a, b FROM t
	WHERE a = ANY (''{7,3,9000000000}''::bigint[]) AND b = ANY (''{1,3,7}''::smallint[]) ORDER BY a, b');

-- In plain and bitmap scans, with LIMIT, in rescans, and as parameters.
SELECT allow_scans('index');
SELECT compare('SELECT ctid, a, b FROM t WHERE a = ANY (''{7,3}'') AND b = ANY (''{7,3,13}'')');
SELECT compare('SELECT a, b, c FROM t WHERE a = ANY (''{7,3}'') ORDER BY a DESC, b DESC, c DESC LIMIT 3');
SELECT allow_scans('bitmap');
SELECT compare_briefly('SELECT ctid, a, b FROM t WHERE a = ANY (''{7,3}'') AND b = ANY (''{7,3,13}'')');
SELECT allow_scans('index', 'indexonly');
SELECT same_rows('SELECT v.i, t.a, t.b FROM generate_series(1, 60, 7) v(i), LATERAL (SELECT a, b FROM t
	WHERE a = ANY (ARRAY[v.i, v.i + 1]) AND b = ANY (ARRAY[v.i % 40, 3]) OFFSET 0) t ORDER BY 1, 2, 3');
PREPARE by_array(int[]) AS SELECT count(*) FROM twin_sware.t WHERE a = ANY ($1);
SET plan_cache_mode = force_generic_plan;
EXECUTE by_array('{1,2,3}');
EXECUTE by_array('{3,3}');
EXECUTE by_array('{}');
EXECUTE by_array(NULL);
RESET plan_cache_mode;
DEALLOCATE by_array;

-- A long array.
SELECT same_rows('SELECT a, b FROM t WHERE a = ANY (ARRAY(SELECT generate_series(-5000, 5000)))
	AND b = ANY (ARRAY(SELECT generate_series(0, 5000, 3))) ORDER BY a, b');
-- A scan with arrays can change its direction anywhere.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a, b, c FROM twin_sware.t
	WHERE a = ANY ('{3,4,5}') AND b = ANY ('{13,4,5,3}') ORDER BY a, b, c;
FETCH 3 FROM c;
MOVE 100 IN c;
FETCH BACKWARD 2 FROM c;
MOVE FORWARD ALL IN c;
FETCH BACKWARD 2 FROM c;
MOVE BACKWARD ALL IN c;
FETCH 2 FROM c;
COMMIT;

-- Elements of another type where the operator class compares last digits: an element that
-- is no value of the column's type may equal some.
CREATE FUNCTION compare_digits(int2, int2) RETURNS int IMMUTABLE STRICT LANGUAGE sql
	AS 'SELECT $1 % 10 - $2 % 10';
CREATE FUNCTION compare_digits(int2, int4) RETURNS int IMMUTABLE STRICT LANGUAGE sql
	AS 'SELECT $1 % 10 - $2 % 10';
CREATE FUNCTION compare_digits(int4, int4) RETURNS int IMMUTABLE STRICT LANGUAGE sql
	AS 'SELECT $1 % 10 - $2 % 10';
CREATE FUNCTION same_digit(int2, int4) RETURNS boolean IMMUTABLE STRICT LANGUAGE sql
	AS 'SELECT compare_digits($1, $2) = 0';
CREATE FUNCTION same_digit(int2, int2) RETURNS boolean IMMUTABLE STRICT LANGUAGE sql
	AS 'SELECT compare_digits($1, $2) = 0';
CREATE OPERATOR =% (LEFTARG = int2, RIGHTARG = int4, FUNCTION = same_digit);
CREATE OPERATOR =% (LEFTARG = int2, RIGHTARG = int2, FUNCTION = same_digit);
SELECT on_both('CREATE OPERATOR CLASS digit_ops FOR TYPE int2 USING @am AS
	FUNCTION 1 compare_digits(int2, int2), FUNCTION 1 (int2, int4) compare_digits(int2, int4),
	FUNCTION 1 (int4, int4) compare_digits(int4, int4),
	OPERATOR 3 =% (int2, int2), OPERATOR 3 =% (int2, int4)');
SELECT on_both('CREATE TABLE digits (d int2)');
SELECT on_both('INSERT INTO digits SELECT generate_series(1, 1000)');
SELECT on_both('CREATE INDEX digits_d ON digits USING @am (d digit_ops)');
SELECT allow_scans('index');
SELECT compare_briefly('SELECT d FROM digits WHERE d =% ANY (''{70003,5,-70006}''::int4[]) ORDER BY d');

DROP FUNCTION in_index_order;
SELECT drop_twins();
SET client_min_messages = warning;
DROP FUNCTION compare_digits(int2, int2), compare_digits(int2, int4), compare_digits(int4, int4),
	same_digit(int2, int2), same_digit(int2, int4) CASCADE;
