-- Keys of types that are searched and sorted by numbers which several values may share, and
-- keys of several columns that share a number: order and look-ups, whatever way the entries
-- were stored.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SET enable_sort = off;
SET max_parallel_maintenance_workers = 0;

-- The order of another locale than C.
CREATE COLLATION of_a_locale (provider = libc, locale = 'C.UTF-8');

-- The values of each type; those with an even number are looked up.
CREATE TABLE kinds (kind text, type text, value text);
INSERT INTO kinds VALUES
	('uuid', 'uuid', $$CASE r % 5 WHEN 0 THEN md5(r::text)
		WHEN 1 THEN '01234567-89ab-cde' || substr(md5(r::text), 1, 1) || lpad(to_hex(r % 9), 16, '0')
		WHEN 2 THEN 'ffffffff-ffff-ffff-ffff-' || lpad(to_hex(r), 12, 'f')
		WHEN 3 THEN '7fffffff-ffff-ffff-ffff-' || lpad(to_hex(r), 12, 'f')
		ELSE '80000000-0000-0000-0000-' || lpad(to_hex(r), 12, '0') END::uuid$$),
	('prefix', 'text COLLATE "C"', $$left('abcdefghijk', r % 12) || CASE r / 12 % 6 WHEN 0 THEN ''
		WHEN 1 THEN chr(1) WHEN 2 THEN chr(127) WHEN 3 THEN chr(233) ELSE r::text END$$),
	('begin', 'varchar COLLATE "C"', $$'always the same beginning ' || r % 700$$),
	('long', 'text COLLATE "C"', $$CASE r % 4 WHEN 0 THEN repeat('x', 2600 + r % 30)
		WHEN 1 THEN repeat('x', r % 30) WHEN 2 THEN repeat(chr(110 + r % 20), 2500) ELSE r::text END$$),
	('pattern', 'text COLLATE of_a_locale',
		$$CASE r % 3 WHEN 0 THEN upper(md5(r::text)) ELSE md5(r::text) END$$),
	('bytea', 'bytea', $$substr('\x00ff00ff00ff00ff00ff'::bytea, 1, r % 11)
		|| decode(repeat('00', r % 7) || CASE r / 7 % 5 WHEN 0 THEN '' WHEN 1 THEN '00' WHEN 2 THEN 'ff'
			ELSE lpad(to_hex(r % 16), 2, '0') END, 'hex')$$),
	('char', 'char(14) COLLATE "C"', $$left('abcdefghijk', r % 12) || CASE r / 12 % 6 WHEN 0 THEN ''
		WHEN 1 THEN chr(1) WHEN 2 THEN ' ' WHEN 3 THEN '  z' WHEN 4 THEN chr(9)
		ELSE (r % 90)::text END$$),
	('wide', 'char(1500) COLLATE "C"',
		$$repeat('a', r % 9) || repeat(' ', r % 5) || (ARRAY['', '!', chr(9)])[1 + r % 3]$$),
	('numeric', 'numeric', $$CASE r % 12 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity'
		WHEN 2 THEN '-Infinity' WHEN 3 THEN 0 WHEN 4 THEN (r - 500) * 1e1300 WHEN 5 THEN (r - 500) * 1e-1300
		WHEN 6 THEN (r - 500) * ('1e' || r - 400)::numeric WHEN 7 THEN (r - 500) / 7.0
		WHEN 8 THEN 10000::numeric ^ (r % 9) - 1 WHEN 9 THEN -(10000::numeric ^ (r % 9))
		WHEN 10 THEN (1 + (r % 7) * 1e-30) * (CASE WHEN r % 2 = 0 THEN -1 ELSE 1 END)
		ELSE ((r - 500) / 10 || repeat('0', r % 3))::numeric + 0.50 END$$),
	('digits', 'numeric', $$('123456789' || repeat('0', 3000) || r % 90)::numeric
		* (CASE r % 3 WHEN 0 THEN -1 WHEN 1 THEN 1 ELSE 10 END)$$),
	('float8', 'float8', $$CASE r % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity'
		WHEN 2 THEN '-Infinity' WHEN 3 THEN 0 WHEN 4 THEN '-0' WHEN 5 THEN (r - 500) * 1e-300
		WHEN 7 THEN 'Infinity'::float8 - 'Infinity'::float8
		WHEN 6 THEN (r - 500) * 1e300 ELSE sin(r) END$$),
	('float4', 'float4', $$CASE r % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity'
		WHEN 2 THEN '-Infinity' WHEN 3 THEN 0 WHEN 4 THEN '-0' WHEN 5 THEN (r - 500) * 1e-35
		WHEN 7 THEN 'Infinity'::float4 - 'Infinity'::float4
		WHEN 6 THEN (r - 500) * 1e30 ELSE sin(r) END$$);

CREATE TABLE wrong (line text);

-- Fills the twins' tables t (a, b, c, d), whose index is on the given keys. The way is one
-- of: build; load, through staging; buffer, in small transactions; tree.
CREATE PROCEDURE fill(type text, value text, keys text, way text, rows int) LANGUAGE plpgsql AS $$
DECLARE
	query text := 'INSERT INTO t SELECT CASE WHEN i % 101 > 0 THEN ' || value || ' END,
		CASE WHEN i % 13 > 0 THEN i % 3 END, CASE WHEN i % 17 > 0 THEN i % 5 - 2 END, i * 1000003::bigint
		FROM (SELECT i, i * 7919 % 1009 AS r FROM generate_series(@from, @to) i) s';
	step int := CASE WHEN way = 'buffer' THEN 200 ELSE rows END;
	create_index text := format('CREATE INDEX t_i ON t USING @am (%s)', keys);
BEGIN
	PERFORM on_both('DROP TABLE IF EXISTS t');
	PERFORM on_both(format('CREATE TABLE t (a %s, b int2, c int, d bigint)', type));
	IF way <> 'build' THEN
		PERFORM on_both(create_index);
	END IF;
	PERFORM set_config('sware.enable_buffer', (way <> 'tree')::text, false);
	FOR low IN 1 .. rows BY step LOOP
		PERFORM on_both(replace(replace(query, '@from', low::text), '@to', (low + step - 1)::text));
		COMMIT;
	END LOOP;
	IF way = 'build' THEN
		PERFORM on_both(create_index);
	END IF;
	RESET sware.enable_buffer;
END
$$;

CREATE PROCEDURE compare_keys(kind text, type text, value text, keys text, ways text) LANGUAGE plpgsql AS $$
DECLARE
	way text;
	query text;
	verdict text;
	columns text := regexp_replace(keys, '( DESC)? NULLS (FIRST|LAST)', '', 'g');
	-- NULLS FIRST and LAST change places with the direction
	backward text := replace(replace(replace(replace(
		regexp_replace(replace(keys, ' DESC', '#'), '([^#]) NULLS', '\1 DESC NULLS', 'g'),
		'#', ''), 'FIRST', '@'), 'LAST', 'FIRST'), '@', 'LAST');
	-- nbtree returns the rows of a posting list in forward order, so rows are not compared backward
	queries text[] := ARRAY[
		format('SELECT count(*), md5(string_agg(concat_ws(''~'', a::text, b, c, d), '','')) FROM
			(SELECT a, b, c, d FROM t ORDER BY %s OFFSET 0) s', keys),
		format('SELECT count(*), md5(string_agg(keys, '','')) FROM
			(SELECT concat_ws(''~'', %s) AS keys FROM t ORDER BY %s OFFSET 0) s', columns, backward)];
BEGIN
	IF keys LIKE 'a%' THEN
		queries := queries || 'SELECT md5(p::text), (SELECT count(b) FROM t WHERE a = p),
				(SELECT md5(a::text) FROM t WHERE a > p ORDER BY a LIMIT 1),
				(SELECT md5(a::text) FROM t WHERE a >= p ORDER BY a LIMIT 1),
				(SELECT md5(a::text) FROM t WHERE a < p ORDER BY a DESC LIMIT 1)
			FROM probes'::text;
	END IF;
	FOREACH way IN ARRAY string_to_array(ways, ' ') LOOP
		CALL fill(type, value, keys, way,
				  CASE WHEN kind IN ('wide', 'digits', 'long') THEN 270 ELSE 1200 END);
		FOREACH query IN ARRAY queries LOOP
			verdict := check_all() || ', ' || same_rows(query);
			IF verdict !~ '^checked, same [1-9]' THEN
				INSERT INTO wrong VALUES (concat_ws('; ', kind, keys, way, verdict));
			END IF;
			IF EXISTS (SELECT FROM plan_of('twin_sware', query) AS line
					   WHERE line ~ 'Seq Scan on t' OR (query ~ 'OFFSET' AND line ~ 'Sort')) THEN
				INSERT INTO wrong VALUES (concat_ws('; ', kind, keys, 'the index is not used'));
			END IF;
		END LOOP;
	END LOOP;
END
$$;

CREATE PROCEDURE compare_kind(kind text, type text, value text) LANGUAGE plpgsql AS $$
DECLARE
	keys text;
	class text := CASE kind WHEN 'pattern' THEN 'text_pattern_ops ' ELSE '' END;
BEGIN
	PERFORM on_both('DROP TABLE IF EXISTS probes');
	PERFORM on_both(format('CREATE TABLE probes (p %s)', type));
	PERFORM on_both(format('INSERT INTO probes SELECT %s FROM generate_series(0, 1008, 37) r', value));
	COMMIT;
	IF kind = 'pattern' THEN
		-- the planner uses such a class for other operators
		CALL compare_pattern(kind, type, value);
		RETURN;
	END IF;
	FOREACH keys IN ARRAY '{a NULLS LAST,a DESC NULLS LAST}'::text[] LOOP
		CALL compare_keys(kind, type, value, keys, 'build load buffer tree');
	END LOOP;
	CALL compare_keys(kind, type, value, 'b NULLS LAST, a DESC NULLS FIRST', 'build load buffer');
	CALL compare_keys(kind, type, value, 'a NULLS FIRST, b DESC NULLS LAST', 'load buffer');
END
$$;

CREATE PROCEDURE compare_pattern(kind text, type text, value text) LANGUAGE plpgsql AS $$
DECLARE
	way text;
	verdict text;
BEGIN
	FOREACH way IN ARRAY '{build,load,buffer,tree}'::text[] LOOP
		CALL fill(type, value, 'a text_pattern_ops', way, 1200);
		verdict := check_all() || ', ' || same_rows('SELECT p, (SELECT count(b) FROM t WHERE a = p),
			(SELECT count(b) FROM t WHERE a ~>~ p), (SELECT count(b) FROM t WHERE a ~<=~ p) FROM probes');
		IF verdict !~ '^checked, same [1-9]' THEN
			INSERT INTO wrong VALUES (concat_ws('; ', kind, way, verdict));
		END IF;
	END LOOP;
END
$$;

-- One type after another.
SELECT format('CALL compare_kind(%L, %L, %L)', kind, type, value) FROM kinds ORDER BY kind
\gexec
TABLE wrong;

-- Several integer columns: they share a number, exactly, or without the last bits of the last
-- of them; then text, of which the number has the beginning.
CREATE TABLE column_lists (keys text, value text);
INSERT INTO column_lists VALUES
	('b NULLS LAST, c NULLS LAST', '''x'''),
	('c DESC NULLS LAST, b NULLS FIRST, d NULLS LAST', '''x'''),
	('b NULLS FIRST, d DESC NULLS LAST, c NULLS LAST', '''x'''),
	('c NULLS LAST, a NULLS LAST, b NULLS LAST', '''the same '' || r % 300'),
	('d DESC NULLS LAST, b NULLS LAST', '''x'''),
	('b NULLS LAST, c DESC NULLS FIRST, a DESC NULLS LAST, d NULLS LAST', 'r::text'),
	('b NULLS LAST, (d * 3000000000) NULLS LAST, c NULLS LAST', '''x'''),
	('b NULLS LAST, (CASE WHEN c > 0 THEN 9223372036854775807 - d % 3'
		' WHEN c < 0 THEN -9223372036854775807 - d % 2 END) NULLS FIRST, c NULLS LAST', '''x'''),
	('b NULLS LAST, (CASE WHEN c > 0 THEN 9223372036854775807 - d % 3 ELSE d END) NULLS LAST', '''x''');
SELECT format('CALL compare_keys(%L, ''text COLLATE "C"'', %L, %L, %L)', 'columns', value, keys,
	'build load buffer')
FROM column_lists
\gexec
TABLE wrong;

DROP PROCEDURE compare_kind, compare_pattern, compare_keys, fill;
DROP TABLE wrong, kinds, column_lists;
SELECT drop_twins();
DROP COLLATION of_a_locale;
