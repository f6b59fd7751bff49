-- Sorting values of every type that is sorted by abbreviations, in staging and in builds:
-- scattered, with nulls, with values that have equal abbreviations, and with so little
-- memory that a build merges runs several times.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SET enable_sort = off;
SET max_parallel_maintenance_workers = 0;
CREATE FUNCTION check_sorts(type text, value text, rows int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	keys text;
	way text;
	verdict text;
	wrong text := '';
BEGIN
	FOREACH keys IN ARRAY '{a,a DESC,a NULLS FIRST,a DESC NULLS LAST,"a, b DESC","b DESC, a"}'::text[] LOOP
		FOREACH way IN ARRAY '{staging,build}'::text[] LOOP
			PERFORM on_both('DROP TABLE IF EXISTS t');
			PERFORM on_both(format('CREATE TABLE t (a %s, b int)', type));
			IF way = 'staging' THEN
				PERFORM on_both(format('CREATE INDEX t_i ON t USING @am (%s)', keys));
			END IF;
			PERFORM on_both(format('INSERT INTO t SELECT CASE WHEN i %% 101 > 0 THEN %s END, i %% 3 FROM
								   (SELECT i, i * 7919 %% 10007 AS r
								       FROM generate_series(1, %s) i) s', value, rows));
			IF way = 'build' THEN
				PERFORM on_both(format('CREATE INDEX t_i ON t USING @am (%s)', keys));
			END IF;
			verdict := check_all() || ', '
				|| same_rows(format('SELECT count(*), md5(string_agg(coalesce(a::text, ''null'') || b, '',''))
				FROM (SELECT a, b FROM t ORDER BY %s OFFSET 0) s', keys));
			IF verdict <> 'checked, same 1 rows' THEN
				wrong := format('%s; %s by %s: %s', wrong, way, keys, verdict);
			END IF;
		END LOOP;
	END LOOP;
	RETURN CASE WHEN wrong = '' THEN 'right' ELSE wrong END;
END
$$;
CREATE COLLATION sort_types_icu (provider = icu, locale = 'und');
SELECT type, value, check_sorts(type, value, 2500) FROM (VALUES
	('uuid', 'md5(r::text)::uuid'),
	('uuid', $$('01234567-89ab-cdef-0000-' || lpad(r::text, 12, '0'))::uuid$$),
	('numeric', '(r - 5000) * 0.37'),
	('numeric', $$CASE r % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN 0
		WHEN 4 THEN (r - 5000) * 1e300 WHEN 5 THEN (r - 5000) * 1e-300 ELSE 1 + (r % 7) * 1e-40 END$$),
	('text COLLATE "C"', 'md5(r::text)'),
	('text COLLATE "C"', $$'the same beginning ' || r$$),
	('text COLLATE "C"',
		$$CASE r % 3 WHEN 0 THEN '' WHEN 1 THEN chr(200 + r % 500) ELSE repeat(chr(1 + r % 3), r % 20) END$$),
	('text COLLATE sort_types_icu',
		$$CASE r % 2 WHEN 0 THEN upper(md5(r::text)) ELSE md5((r % 100)::text) END$$),
	('varchar COLLATE "C"', 'md5(r::text)'),
	('char(12) COLLATE "C"', $$r % 77 || repeat(' ', r % 5)$$),
	('name', 'md5(r::text)'),
	('bytea', $$decode(substr(md5(r::text), 1 + r % 12 * 2), 'hex')$$),
	('inet', $$CASE r % 3 WHEN 0 THEN '::'::inet + r WHEN 1 THEN '10.0.0.0/8'::inet + r
		ELSE set_masklen('10.1.2.3'::inet + r % 50, 8 + r % 24) END$$),
	('macaddr', $$substr(md5(r::text), 1, 12)::macaddr$$),
	('macaddr8', $$substr(md5((r % 1000)::text), 1, 16)::macaddr8$$),
	('float8', $$CASE r % 50 WHEN 0 THEN 'NaN' ELSE sin(r) END$$),
	('timestamptz', $$timestamptz '2000-01-01 00:00Z' + r * interval '1 minute'$$),
	('int2', 'r % 4000 - 2000'),
	('int8', $$CASE r % 500 WHEN 0 THEN 9223372036854775807
		WHEN 1 THEN -9223372036854775808 ELSE r * 1000000000000 END$$)) types(type, value);
-- Spilled to disk.
SET maintenance_work_mem = '1MB';
SELECT type, value, check_sorts(type, value, 30000) FROM (VALUES
	('text COLLATE "C"', $$r % 9000 || repeat('x', 200)$$)) types(type, value);
SELECT drop_twins();
DROP COLLATION sort_types_icu;
