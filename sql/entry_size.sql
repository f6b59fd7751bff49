-- The largest entry is as large as nbtree's, in whichever way it is inserted. A tree of
-- such entries alone grows, shrinks and is searched like any other.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SET enable_sort = off;
CREATE FUNCTION value(n int, size int) RETURNS text IMMUTABLE LANGUAGE sql
	AS $$ SELECT rpad(lpad(n::text, 8, '0'), size, 'x') COLLATE "C" $$;
CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM on_both('DROP TABLE IF EXISTS t');
	PERFORM on_both('CREATE TABLE t (k text COLLATE "C", n int) WITH (autovacuum_enabled = off)');
	PERFORM on_both('ALTER TABLE t ALTER k SET STORAGE PLAIN');
END
$$;
-- Runs a statement for one twin, and returns its result or its error.
CREATE FUNCTION attempt(twin text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	EXECUTE replace(statement, '@am', substr(twin, 6));
	RETURN 'taken';
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN regexp_replace(SQLERRM, 'btree version 4', 'sware version 3');
END
$$;
CREATE FUNCTION attempts(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted text := attempt('twin_nbtree', replace(statement, '@am', 'btree'));
	got text := attempt('twin_sware', statement);
BEGIN
	RETURN CASE WHEN got = wanted THEN got ELSE format('DIFFERENT: nbtree "%s", sware "%s"', wanted, got) END;
END
$$;

-- At the limit and above it: built, inserted one by one, and as a run.
CREATE FUNCTION limits(definition text, largest int) RETURNS TABLE (way text, size int, result text)
	LANGUAGE plpgsql AS $$
BEGIN
	FOREACH way IN ARRAY '{build,insert,run}'::text[] LOOP
		FOREACH size IN ARRAY ARRAY[largest, largest + 1] LOOP
			PERFORM make_tables();
			IF way = 'build' THEN
				PERFORM on_both(format('INSERT INTO t SELECT value(i, %s), i FROM generate_series(1, 5) i',
					size));
				result := attempts(definition);
			ELSE
				PERFORM on_both(definition);
				result := attempts(format('INSERT INTO t
					SELECT value(i, %s), i FROM generate_series(1, %s) i',
										  size, CASE way WHEN 'run' THEN 900 ELSE 3 END));
			END IF;
			result := format('%s; %s, %s', result, check_all(), same_rows('SELECT k FROM t ORDER BY k'));
			RETURN NEXT;
		END LOOP;
	END LOOP;
END
$$;
SELECT * FROM limits('CREATE INDEX i ON t USING @am (k)', 2692);
SELECT * FROM limits('CREATE UNIQUE INDEX i ON t USING @am (k)', 2692);
SELECT * FROM limits('CREATE INDEX i ON t USING @am (n, k DESC)', 2688);
SELECT * FROM limits('CREATE INDEX i ON t USING @am (k) INCLUDE (n)', 2688);
SET sware.enable_buffer = off;
SELECT * FROM limits('CREATE INDEX i ON t USING @am (k)', 2692);
SELECT * FROM limits('CREATE UNIQUE INDEX i ON t USING @am (k)', 2692);
RESET sware.enable_buffer;
-- An entry of that size is on a buffer page, which is then flushed.
SELECT make_tables();
SELECT on_both('CREATE INDEX i ON t USING @am (k)');
INSERT INTO twin_sware.t SELECT value(i * 7 % 100, 2692) FROM generate_series(1, 100) i;
SELECT buffer_entries FROM sware_stats('twin_sware.i');
SELECT sware_check('twin_sware.i', true);
SELECT sware_flush('twin_sware.i');
SELECT sware_check('twin_sware.i', true);

-- Keys arrive in each order, by one insert for each row and in runs. Internal pages have
-- room for three downlinks, so the tree stays low. If they had less, each row whose key
-- is between two others could add a level.
CREATE FUNCTION levels(index regclass) RETURNS int LANGUAGE sql
	AS $$ SELECT level FROM sware_metapage(index) $$;
CREATE FUNCTION grow(definition text, at_once boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	patterns CONSTANT text[] := ARRAY['i', '1000 - i', 'i * 7919 % 997',
		'i % 2 * 5000 + i', '5000 + CASE i % 2 WHEN 0 THEN i ELSE -i END',
									  '5000 - CASE i % 2 WHEN 0 THEN -1000 + i ELSE 1000 - i END',
									  'CASE i WHEN 1 THEN 0 WHEN 2 THEN 9000 ELSE i END',
									  'CASE i WHEN 1 THEN 0 WHEN 2 THEN 9000 ELSE 5000 - i END',
									  'i % 3', '1'];
	sizes CONSTANT text[] := ARRAY['2692', '2684', '2692 - i % 2 * 2000', '10 + i * 7919 % 2682'];
	insertion text;
	verdict text;
	good int := 0;
BEGIN
	FOR insertion IN
		SELECT format('INSERT INTO t SELECT value(%s, %s), i FROM generate_series(@from, @to) i',
			pattern, size)
		FROM unnest(patterns) pattern, unnest(sizes) size
	LOOP
		CONTINUE WHEN definition LIKE '%UNIQUE%'
			AND (insertion LIKE '%value(1,%' OR insertion LIKE '%i \% 3%' OR insertion LIKE '%997%');
		PERFORM make_tables();
		PERFORM on_both(definition);
		IF at_once THEN
			PERFORM on_both(replace(replace(insertion, '@from', '1'), '@to', '100'));
		ELSE
			FOR i IN 1 .. 100 LOOP
				PERFORM on_both(replace(replace(insertion, '@from', i::text), '@to', i::text));
			END LOOP;
		END IF;
		verdict := check_all() || ', ' || same_rows('SELECT md5(k), n FROM t ORDER BY k, n');
		IF verdict <> 'checked, same 100 rows' OR levels('twin_sware.i') > 8 THEN
			RETURN NEXT format('%s, height %s: %s', verdict, levels('twin_sware.i'), insertion);
		ELSE
			good := good + 1;
		END IF;
	END LOOP;
	RETURN NEXT format('good for %s orders', good);
END
$$;
SET enable_sort = on;
SET sware.enable_buffer = off;
SELECT grow('CREATE INDEX i ON t USING @am (k)', false);
SELECT grow('CREATE UNIQUE INDEX i ON t USING @am (k)', false);
SELECT grow('CREATE INDEX i ON t USING @am (k) WITH (deduplicate_items = off)', false);
RESET sware.enable_buffer;
SELECT grow('CREATE INDEX i ON t USING @am (k)', true);
SET sware.staging_size = '64kB';
SELECT grow('CREATE INDEX i ON t USING @am (k)', true);
SELECT grow('CREATE INDEX i ON t USING @am (k) WITH (fillfactor = 100)', true);
RESET sware.staging_size;

-- A build keeps what it has written to files no longer in memory, nor what it has made of large values.
SET maintenance_work_mem = '1MB';
CREATE TABLE large AS SELECT i, (SELECT string_agg(md5(i || ' ' || j), '') FROM generate_series(1, 20) j) AS v
	FROM generate_series(1, 8000) i;
CREATE FUNCTION tell_memory(i int, v text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	bytes bigint;
BEGIN
	IF i IN (1, 8000) THEN
		bytes := (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
		IF i = 1 THEN
			PERFORM set_config('memory.before', bytes::text, false);
		ELSIF bytes - current_setting('memory.before')::bigint < 3 * 1024 * 1024 THEN
			RAISE NOTICE 'within bounds';
		ELSE
			RAISE NOTICE '% bytes more in use', bytes - current_setting('memory.before')::bigint;
		END IF;
	END IF;
	RETURN v;
END
$$;
CREATE INDEX large_v ON large USING sware (tell_memory(i, v));
DROP TABLE large;
DROP FUNCTION tell_memory;
RESET maintenance_work_mem;
SELECT drop_twins();
