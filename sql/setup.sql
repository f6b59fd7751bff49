-- The helpers of all other tests.
--
-- Every test works on twins: equal tables in two schemas, with equal names, whose
-- indexes differ in their access method only. nbtree's answers are taken as right, and
-- so are its plans.
\set VERBOSITY terse
SELECT extversion FROM pg_extension WHERE extname = 'sware';

CREATE SCHEMA twin_nbtree;
CREATE SCHEMA twin_sware;

-- Executes a statement for each twin. "@am" stands for the access method.
CREATE FUNCTION on_both(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
BEGIN
	SET LOCAL client_min_messages = warning;
	PERFORM set_config('search_path', 'twin_nbtree, public', true);
	EXECUTE replace(statement, '@am', 'btree');
	PERFORM set_config('search_path', 'twin_sware, public', true);
	EXECUTE replace(statement, '@am', 'sware');
	PERFORM set_config('search_path', saved_path, true);
END
$$;

-- Returns the rows of a query for one twin, as text, in the order of the query.
CREATE FUNCTION rows_of(twin text, query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
	one_row record;
	lines text[] := '{}';
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	FOR one_row IN EXECUTE query LOOP
		lines := lines || one_row::text;
	END LOOP;
	PERFORM set_config('search_path', saved_path, true);
	RETURN lines;
END
$$;

-- Returns what one twin returns in a walk over a cursor of a query: each step is a FETCH,
-- or a MOVE to one end.
CREATE FUNCTION walk(twin text, query text, steps text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
	c refcursor;
	r record;
	step text;
	lines text[] := '{}';
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	OPEN c SCROLL FOR EXECUTE query;
	FOREACH step IN ARRAY steps LOOP
		CASE step
			WHEN 'next' THEN FETCH NEXT FROM c INTO r;
			WHEN 'prior' THEN FETCH PRIOR FROM c INTO r;
			WHEN 'first' THEN FETCH FIRST FROM c INTO r;
			WHEN 'last' THEN FETCH LAST FROM c INTO r;
			WHEN '+500' THEN FETCH RELATIVE 500 FROM c INTO r;
			WHEN '-500' THEN FETCH RELATIVE -500 FROM c INTO r;
			WHEN 'start' THEN MOVE ABSOLUTE 0 FROM c; r := NULL;
			WHEN 'end' THEN MOVE FORWARD ALL IN c; r := NULL;
		END CASE;
		lines := lines || format('%s %s', step, r);
	END LOOP;
	CLOSE c;
	PERFORM set_config('search_path', saved_path, true);
	RETURN lines;
END
$$;

-- Returns the plan of a query for one twin, without costs, and without the lines that
-- only some versions of PostgreSQL show.
CREATE FUNCTION plan_of(twin text, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
	line text;
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		CONTINUE WHEN line ~ 'Disabled: true$|Replaces: ';
		line := regexp_replace(line, ' \(returns .*\)', '');
		RETURN NEXT regexp_replace(line, '((Init|Sub)Plan) [^ )]*', '\1');
	END LOOP;
	PERFORM set_config('search_path', saved_path, true);
END
$$;

-- Says whether both twins answer a query with the same rows in the same order.
CREATE FUNCTION same_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted text[] := rows_of('twin_nbtree', query);
	got text[] := rows_of('twin_sware', query);
BEGIN
	IF wanted = got THEN
		RETURN format('same %s rows', cardinality(wanted));
	END IF;
	FOR i IN 1 .. greatest(cardinality(wanted), cardinality(got)) LOOP
		IF wanted[i] IS DISTINCT FROM got[i] THEN
			RETURN format('DIFFERENT: %s rows from nbtree, %s from sware; row %s is %s and %s',
						  cardinality(wanted), cardinality(got), i,
						  coalesce(wanted[i], 'missing'), coalesce(got[i], 'missing'));
		END IF;
	END LOOP;
END
$$;

-- Says whether the sware twin answers the second query with the rows of the first one
-- in reverse order. It is for backward scans over equal keys, which cannot be compared
-- with nbtree's: nbtree returns the rows of one posting list in forward order.
CREATE FUNCTION mirrored(forward text, backward text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN rows_of('twin_sware', backward)
		= ARRAY(SELECT line FROM unnest(rows_of('twin_sware', forward))
			WITH ORDINALITY r(line, n) ORDER BY n DESC)
		THEN 'mirrored' ELSE 'NOT MIRRORED' END;
$$;

-- Shows the plan, which should be the same for both twins, and whether the
-- rows are the same.
CREATE FUNCTION compare(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	nbtree_plan text[] := ARRAY(SELECT plan_of('twin_nbtree', query));
	sware_plan text[] := ARRAY(SELECT plan_of('twin_sware', query));
BEGIN
	RETURN QUERY SELECT unnest(sware_plan);
	IF sware_plan <> nbtree_plan THEN
		RETURN NEXT 'DIFFERENT plan for nbtree:';
		RETURN QUERY SELECT unnest(nbtree_plan);
	END IF;
	RETURN NEXT same_rows(query);
END
$$;

-- Like the function above, without showing the plan: for plans that depend on the
-- version of PostgreSQL.
CREATE FUNCTION compare_briefly(query text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN ARRAY(SELECT plan_of('twin_sware', query)) = ARRAY(SELECT plan_of('twin_nbtree', query))
				THEN 'same plan, ' ELSE 'DIFFERENT PLAN, ' END || same_rows(query);
$$;

-- Lets the planner choose only among the named kinds of scan: any of seq, index,
-- indexonly, bitmap. The setting that allows index-only scans needs the one that allows
-- index scans, so indexonly allows both.
CREATE FUNCTION allow_scans(VARIADIC ways text[]) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_' || way || 'scan',
		(way = ANY (ways) OR (way = 'index' AND 'indexonly' = ANY (ways)))::text, false)
	FROM unnest('{seq,index,indexonly,bitmap}'::text[]) way;
$$;

-- Checks the structure and the contents of every index of the sware twins.
CREATE FUNCTION check_all() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	index_oid oid;
	checked int := 0;
BEGIN
	FOR index_oid IN
		SELECT c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam
		WHERE a.amname = 'sware' AND c.relkind = 'i' AND c.relnamespace = 'twin_sware'::regnamespace
		ORDER BY c.relname
	LOOP
		PERFORM sware_check(index_oid, true);
		checked := checked + 1;
	END LOOP;
	RETURN CASE WHEN checked = 0 THEN 'NOTHING checked' ELSE 'checked' END;
END
$$;

-- Defines verdict_on(table, ...), stored_entries(index) and others.
\getenv directory PG_ABS_SRCDIR
\set verdict_file :directory '/test/lib/verdict.sql'
\set ECHO none
\i :verdict_file
\set ECHO all

-- A comparison function that executes the setting twin.action, once: at the first call
-- with keys that differ, or after as many of these as twin.calls_before says.
CREATE FUNCTION compare_and_act(int, int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	action text := current_setting('twin.action', true);
	calls_before int := nullif(current_setting('twin.calls_before', true), '');
BEGIN
	IF action <> '' AND $1 <> $2 THEN
		IF calls_before > 0 THEN
			PERFORM set_config('twin.calls_before', (calls_before - 1)::text, false);
		ELSE
			PERFORM set_config('twin.action', '', false);
			EXECUTE action;
		END IF;
	END IF;
	RETURN pg_catalog.btint4cmp($1, $2);
END
$$;

-- Removes all twins.
CREATE FUNCTION drop_twins() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL client_min_messages = warning;
	DROP SCHEMA twin_nbtree, twin_sware CASCADE;
	CREATE SCHEMA twin_nbtree;
	CREATE SCHEMA twin_sware;
END
$$;

-- The helpers must notice differences: these twins differ.
SELECT on_both('CREATE TABLE t (a int)');
INSERT INTO twin_nbtree.t VALUES (1), (2);
INSERT INTO twin_sware.t VALUES (1), (3);
SELECT same_rows('SELECT a FROM t ORDER BY a');
SELECT same_rows('SELECT a FROM t WHERE a < 2');
CREATE INDEX ON twin_nbtree.t (a);
SELECT allow_scans('index');
SELECT compare('SELECT a FROM t WHERE a < 2');
SELECT check_all();
SELECT drop_twins();
-- Tells how many rows a table has, or how many whose column `counted` is not null, and how
-- many different keys; and checks its index on them.
CREATE PROCEDURE check_rows(target regclass, index regclass, counted text DEFAULT '*') LANGUAGE plpgsql
AS $$
DECLARE
	rows bigint;
	keys bigint;
BEGIN
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT count(%s), count(DISTINCT k) FROM %s', counted, target) INTO rows, keys;
	RAISE NOTICE '% rows, % keys', rows, keys;
	PERFORM sware_check(index, true);
END $$;
