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
CREATE COLLATION sort_types_digits (provider = icu, locale = 'und-u-kn');
CREATE COLLATION sort_types_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
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
-- Numbers that lie close together, and others far away: half of them is in an ever smaller part of
-- the range.
SELECT type, value, check_sorts(type, value, 6000) FROM (VALUES
	('int8', 'exp(r * 0.00436)::int8'),
	('float8', 'exp((r - 5000) * 0.1)'),
	('int8', $$(1::int8 << r % 63) + r % 8$$)) types(type, value);
-- Text whose order is guessed: rightly, wrongly for few values, rightly for neighbours only, and
-- wrongly.
CREATE TABLE guesses (type text, value text);
INSERT INTO guesses VALUES
	('text COLLATE sort_types_icu', $$'01HF7YB' || upper(md5((r / 2)::text))$$),
	('text COLLATE sort_types_icu',
		$$CASE r % 40 WHEN 0 THEN 'é' WHEN 20 THEN 'Ö' ELSE '' END || md5(r::text)$$),
	('text COLLATE sort_types_icu', $$CASE i % 60 WHEN 0 THEN 'é' || i % 7 ELSE to_char(i, '000000') END$$),
	('text COLLATE sort_types_digits', $$'file' || i$$),
	('text COLLATE sort_types_digits', $$'file' || r$$),
	('text COLLATE sort_types_case',
		$$CASE r % 2 WHEN 0 THEN upper(md5((r % 500)::text)) ELSE md5((r % 900)::text) END$$),
	('text COLLATE sort_types_icu', $$repeat('long', r % 5 * 700) || r$$),
	('char(20) COLLATE sort_types_icu',
		$$'a b-c.d' || repeat(' ', r % 4) || CASE r % 3 WHEN 0 THEN '' ELSE r::text END$$);
SELECT type, value, check_sorts(type, value, 2500) FROM guesses;
-- A part of what is staged is stored, and the rest is kept.
SET sware.staging_size = '64kB';
SELECT type, value, check_sorts(type, value, 6000) FROM guesses WHERE value !~ 'long';
-- Entries that arrive in the order that is guessed, which is wrong for some of them: those
-- that are kept have moved, and the first ones that arrived are not those that were sent.  There
-- is so much memory that staging would drop the latter from its front without a copy
-- (sware_drop_chain_front): it has several bins of the largest size.
SET sware.staging_size = '1MB';
SELECT on_both('DROP TABLE t');
SELECT on_both('CREATE TABLE t (a text COLLATE sort_types_icu, b int);
	CREATE INDEX t_i ON t USING @am (a)');
ALTER INDEX twin_sware.t_i SET (flush_fraction = 55);
SELECT on_both($$INSERT INTO t
	SELECT to_char(i / 100, 'FM0000') || CASE WHEN i % 100 < 20 THEN 'f' ELSE 'é' END
		|| to_char(i % 100, 'FM00'), i
	FROM generate_series(1, 60000) i$$);
SELECT check_all(), same_rows('SELECT count(*), md5(string_agg(a || b, '',''))
	FROM (SELECT a, b FROM t ORDER BY a OFFSET 0) s');
-- Whether entries come in order is measured, and not guessed.
SELECT on_both('DROP TABLE t');
SELECT on_both('CREATE TABLE t (a text COLLATE sort_types_icu, b int);
	CREATE INDEX t_i ON t USING @am (a)');
SELECT on_both($$INSERT INTO t SELECT * FROM
	(SELECT to_char(i / 100, 'FM0000') || CASE WHEN i % 2 = 0 THEN 'f' ELSE 'é' END
		|| to_char(i % 100, 'FM00') AS a, i
	FROM generate_series(1, 20000) i) s ORDER BY a COLLATE sort_types_icu$$);
SELECT estimated_k FROM sware_stats('twin_sware.t_i');
RESET sware.staging_size;

-- An order that is guessed rightly is asked for about once for each entry; scattered ones ask for
-- more than ten comparisons each otherwise.  The order of bytes is guessed, too.
CREATE SEQUENCE comparisons;
CREATE FUNCTION counted_compare(text, text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nextval('comparisons');
	RETURN bttextcmp($1 COLLATE "C", $2 COLLATE "C");
END
$$;
CREATE OPERATOR CLASS counted_ops FOR TYPE text USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 counted_compare(text, text);
-- Functions that are not trusted would not be called where these are.
SET sware.fault_trust = on;
SET sware.fault_buffer = on;
CREATE TABLE counted (a text COLLATE sort_types_icu, i int, b text COLLATE sort_types_icu);
CREATE INDEX counted_a ON counted USING sware (a counted_ops);
CREATE INDEX counted_i_b ON counted USING sware (i, b counted_ops);
SELECT nextval('comparisons') AS before
\gset
INSERT INTO counted
	SELECT upper(md5(i::text)), i % 10, CASE i % 2 WHEN 0 THEN 'x' ELSE 'X' END || md5(i::text)
	FROM generate_series(1, 20000) i;
SELECT (nextval('comparisons') - :before) / 20000 < 4 AS "few for both indexes";
DROP TABLE counted;
DROP OPERATOR FAMILY counted_ops USING sware;
DROP FUNCTION counted_compare;
DROP SEQUENCE comparisons;
DROP TABLE guesses;

-- Spilled to disk.
SET maintenance_work_mem = '1MB';
SELECT type, value, check_sorts(type, value, 30000) FROM (VALUES
	('text COLLATE "C"', $$r % 9000 || repeat('x', 200)$$)) types(type, value);
SELECT drop_twins();
DROP COLLATION sort_types_icu, sort_types_digits, sort_types_case;
