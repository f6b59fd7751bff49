-- Unique indexes do as nbtree's: they refuse the same rows with the same errors, wherever
-- the entry of the conflicting row is.
SET sware.fault_buffer = on;
\set VERBOSITY terse

-- Runs a statement for one twin, and returns its number of rows, or its error.
CREATE FUNCTION outcome_of(twin text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	count bigint;
	message text;
	detail text;
	hint text;
	constraint_name text;
	table_name text;
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	EXECUTE statement;
	GET DIAGNOSTICS count = ROW_COUNT;
	RETURN count || ' rows';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT,
		constraint_name = CONSTRAINT_NAME, table_name = TABLE_NAME;
	RETURN concat_ws('; ', SQLSTATE, message, nullif(detail, ''),
		nullif(hint, ''), constraint_name, table_name);
END
$$;

-- The same for both twins.
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted text := outcome_of('twin_nbtree', replace(statement, '@am', 'btree'));
	got text := outcome_of('twin_sware', replace(statement, '@am', 'sware'));
BEGIN
	RETURN CASE WHEN wanted = got THEN got
		ELSE format('DIFFERENT: %s from nbtree, %s from sware', wanted, got) END;
END
$$;

-- Inserts each of some rows three times: when none has been flushed, when all have been
-- flushed, and when every second one has been deleted. Shows the results.
CREATE FUNCTION try_rows(columns text, definition text, VARIADIC rows text[])
RETURNS TABLE (round text, result text, times bigint) LANGUAGE plpgsql AS $$
DECLARE
	one_row text;
	got text;
	outcomes text[];
BEGIN
	PERFORM on_both('CREATE TABLE tried (' || columns || ', number serial)');
	PERFORM on_both('CREATE UNIQUE INDEX tried_key ON tried USING @am ' || definition);
	FOREACH round IN ARRAY array['new', 'flushed', 'deleted'] LOOP
		IF round = 'flushed' THEN
			PERFORM sware_flush('twin_sware.tried_key');
		ELSIF round = 'deleted' THEN
			PERFORM on_both('DELETE FROM tried WHERE number % 2 = 0');
		END IF;
		outcomes := '{}';
		FOREACH one_row IN ARRAY rows LOOP
			got := outcome('INSERT INTO tried VALUES (' || one_row || ')');
			-- shows each kind of error once
			outcomes := outcomes || CASE
				WHEN got LIKE '23505; %already exists.; tried_key; tried' THEN '23505' ELSE got END;
		END LOOP;
		RETURN QUERY SELECT try_rows.round, kind, count(*)
			FROM unnest(outcomes) kind GROUP BY kind ORDER BY kind COLLATE "C";
	END LOOP;
	RETURN QUERY SELECT 'all', same_rows('SELECT tried::text FROM tried ORDER BY number'), NULL::bigint;
	PERFORM sware_check('twin_sware.tried_key', true);
	PERFORM on_both('DROP TABLE tried');
END
$$;

-- One column of integers; inserts, updates and deletes.
SELECT on_both('CREATE TABLE t (a int, b int, c text)');
SELECT on_both('CREATE UNIQUE INDEX t_key ON t USING @am (a)');
SELECT outcome('INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i');
SELECT outcome('INSERT INTO t VALUES (500, 0)');
SELECT sware_flush('twin_sware.t_key') > 0 AS flushed;
SELECT outcome('INSERT INTO t VALUES (500, 0)');
SELECT outcome('INSERT INTO t SELECT i, i FROM generate_series(1001, 3000) i');
SELECT outcome('INSERT INTO t VALUES (0, 0), (1500, 0)');
SELECT outcome('INSERT INTO t VALUES (0, 0), (0, 0)');
SELECT outcome('INSERT INTO t VALUES (0, 0)');
SELECT outcome('UPDATE t SET a = 700 WHERE a = 701');
SELECT outcome('UPDATE t SET a = a + 1 WHERE a = 3000');
SELECT outcome('UPDATE t SET a = a WHERE a BETWEEN 990 AND 1010');
SELECT outcome('UPDATE t SET c = repeat(''x'', 100) WHERE a BETWEEN 1 AND 300');
SELECT outcome('UPDATE t SET a = a + 1 WHERE a BETWEEN 100 AND 110');
SELECT outcome('UPDATE t SET a = a + 10000 WHERE a BETWEEN 100 AND 110');
SELECT outcome('UPDATE t SET a = a - 10000 WHERE a BETWEEN 10100 AND 10105');
SELECT outcome('DELETE FROM t WHERE a = 500');
SELECT outcome('INSERT INTO t VALUES (500, -1)');
SELECT outcome('INSERT INTO t VALUES (500, -2)');
SELECT outcome('INSERT INTO t VALUES (NULL, 1), (NULL, 2), (NULL, 2)');
SELECT same_rows('SELECT a, b FROM t ORDER BY a, b');
-- Plain statements, without functions and savepoints.
INSERT INTO twin_sware.t VALUES (3, 0);
\set VERBOSITY default
INSERT INTO twin_sware.t VALUES (4, 0);
COPY twin_sware.t FROM stdin;
4001	0	x
4002	0	x
5	0	x
\.
\set VERBOSITY terse
BEGIN;
INSERT INTO twin_sware.t VALUES (4001, 0);
SAVEPOINT one;
INSERT INTO twin_sware.t VALUES (4002, 0);
SAVEPOINT two;
INSERT INTO twin_sware.t VALUES (4001, 0);
ROLLBACK TO two;
INSERT INTO twin_sware.t VALUES (4002, 0);
ROLLBACK TO one;
INSERT INTO twin_sware.t VALUES (4002, 1);
DELETE FROM twin_sware.t WHERE a = 4002;
INSERT INTO twin_sware.t VALUES (4002, 2);
INSERT INTO twin_sware.t VALUES (4002, 3);
ROLLBACK;
INSERT INTO twin_sware.t VALUES (4001, 0), (4002, 0);
DELETE FROM twin_sware.t WHERE a IN (4001, 4002);
-- Inserts straight into the tree.
SET sware.enable_buffer = off;
SELECT outcome('INSERT INTO t SELECT i, i FROM generate_series(5001, 7000) i');
SELECT outcome('INSERT INTO t VALUES (6000, 0)');
SELECT outcome('INSERT INTO t VALUES (7001, 0)');
SELECT outcome('INSERT INTO t VALUES (7001, 0)');
RESET sware.enable_buffer;
SELECT outcome('INSERT INTO t VALUES (7001, 0)');
SELECT same_rows('SELECT a, b FROM t ORDER BY a, b');
-- Many dead rows of one key, with live rows of other keys between them.
SELECT count(on_both('UPDATE t SET b = b + 1, a = a WHERE a IN (1, 2, 3)')) FROM generate_series(1, 300);
SELECT outcome('INSERT INTO t VALUES (1, 0)');
SELECT outcome('UPDATE t SET a = 2 WHERE a = 1');
SELECT check_all();

-- Types whose equal values look different.
SELECT * FROM try_rows('a numeric', '(a)', '1.0', '1', '1.00', '10', '1e1', '0', '-0.000', '''NaN''',
	'''NaN''', '''Infinity''', '123456789012345678901234567890.10', '123456789012345678901234567890.1');
SELECT * FROM try_rows('a float8', '(a)', '0', '''-0''', '1', '''NaN''',
	'''NaN''', '''Infinity''', '''-Infinity''', '1.0000000001');
SELECT * FROM try_rows('a float4', '(a DESC)', '0', '''-0''',
	'1', '''NaN''', '''NaN''', '16777216', '16777217');
SELECT * FROM try_rows('a interval', '(a)', '''1 day''',
	'''24 hours''', '''1 month''', '''30 days''', '''0''');
SELECT * FROM try_rows('a timetz', '(a)', '''12:00+00''', '''13:00+01''', '''12:00+00''');
SELECT * FROM try_rows('a char(5)', '(a)', '''a''', '''a  ''', '''b''', '''''', '''  ''');
SELECT * FROM try_rows('a varchar', '(a)', '''a''', '''a  ''', '''b''', '''''', '''a''');
SELECT * FROM try_rows('a jsonb', '(a)', '''{"a": 1, "b": 2}''',
	'''{"b": 2, "a": 1.0}''', '''[]''', '''{}''', '''[1.00]''', '''[1]''');
SELECT * FROM try_rows('a numeric[]', '(a)', '''{1.0, 2}''', '''{1, 2.0}''',
	'''{}''', '''{1, NULL}''', '''{1.00, NULL}''', '''{{1}, {2}}''', '''{1, 2}''');
SELECT * FROM try_rows('a numrange', '(a)', '''[1, 2)''',
	'''[1.0, 2.00)''', '''[1, 2]''', '''empty''', '''(3, 3)''', '''[0,)''');
SELECT * FROM try_rows('a int4multirange', '(a)', '''{[1, 2)}''',
	'''{[1, 1]}''', '''{[1, 2), [2, 3)}''', '''{[1, 3)}''', '''{}''');
CREATE TYPE pair AS (a numeric, b text);
SELECT * FROM try_rows('a pair', '(a)', 'ROW(1, ''x'')', 'ROW(1.0, ''x'')',
	'ROW(1, ''y'')', 'ROW(NULL, ''x'')', 'ROW(NULL, ''x'')');
-- Types without a hash function, alone and within other types.
SELECT * FROM try_rows('a bit varying', '(a)', 'B''1''', 'B''10''', 'B''10''', 'B''''');
SELECT * FROM try_rows('a tsvector', '(a)', '''a b''', '''b a''', '''a''');
SELECT * FROM try_rows('a varbit[]', '(a)', '''{1}''', '''{10}''', '''{1}''');
CREATE TYPE bits AS (a varbit, b int);
SELECT * FROM try_rows('a bits', '(a)', 'ROW(B''1'', 1)', 'ROW(B''1'', 1)', 'ROW(B''1'', 2)');
-- Other types.
SELECT * FROM try_rows('a int2', '(a)', '1', '-1', '1', '32767', '-32768');
SELECT * FROM try_rows('a int8', '(a DESC NULLS LAST)', '1', '-1', '1',
	'9223372036854775807', '-9223372036854775808', '9223372036854775807', 'NULL', 'NULL');
SELECT * FROM try_rows('a oid', '(a)', '1', '4294967295', '1', '0');
SELECT * FROM try_rows('a bool', '(a)', 'true', 'false', 'true');
SELECT * FROM try_rows('a date', '(a)', '''2024-01-01''',
	'''infinity''', '''2024-01-01''', '''-infinity''', '''infinity''');
SELECT * FROM try_rows('a timestamptz', '(a)', '''2024-01-01 00:00+00''',
	'''2024-01-01 01:00+01''', '''infinity''');
SELECT * FROM try_rows('a uuid', '(a)', '''00000000-0000-0000-0000-000000000001''',
	'''{00000000-0000-0000-0000-000000000001}''', '''00000000-0000-0000-0000-000000000002''');
SELECT * FROM try_rows('a bytea', '(a)', '''\x00''', '''\x0000''', '''\x''', '''\x00''');
SELECT * FROM try_rows('a text', '(a)', '''a''', '''A''', '''a''', '''''',
	'repeat(''a'', 2000)', 'repeat(''a'', 2001)', 'repeat(''a'', 2000)');
SELECT * FROM try_rows('a name', '(a)', '''a''', '''b''', '''a''', 'repeat(''a'', 63)', 'repeat(''a'', 63)');
SELECT * FROM try_rows('a "char"', '(a)', '''a''', '''b''', '''a''');
SELECT * FROM try_rows('a inet', '(a)', '''10.0.0.1''', '''10.0.0.1/32''', '''10.0.0.1/24''');
SELECT * FROM try_rows('a macaddr', '(a)', '''08:00:2b:01:02:03''', '''08-00-2b-01-02-03''');
CREATE TYPE mood AS ENUM ('sad', 'glad');
SELECT * FROM try_rows('a mood', '(a)', '''sad''', '''glad''', '''sad''');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
SELECT * FROM try_rows('a positive', '(a)', '1', '2', '1', '0');

-- Several columns, included ones, expressions, predicates, operator classes.
SELECT * FROM try_rows('a int, b text', '(a, b DESC)', '1, ''x''',
	'1, ''y''', '2, ''x''', '1, ''x''', '1, NULL', '1, NULL', 'NULL, NULL');
SELECT * FROM try_rows('a varbit, b int', '(a, b)', 'B''1'', 1', 'B''1'', 2', 'B''1'', 1', 'B''0'', 1');
SELECT * FROM try_rows('a int, b text', '(a) INCLUDE (b)',
	'1, ''x''', '1, ''y''', '2, ''x''', 'NULL, ''x''', 'NULL, ''x''');
SELECT * FROM try_rows('a text', '(lower(a))', '''a''', '''A''', '''b''');
SELECT * FROM try_rows('a int, b int', '((a + b), (a IS NULL))',
	'1, 2', '2, 1', '2, 2', 'NULL, 1', 'NULL, 2');
SELECT * FROM try_rows('a int, b bool', '(a) WHERE b', '1, true',
	'1, false', '1, false', '1, true', '2, NULL', '2, NULL');
SELECT * FROM try_rows('a text COLLATE "C"', '(a text_pattern_ops)', '''a''', '''A''', '''a''');
SELECT * FROM try_rows('a int, b int', '(a) NULLS NOT DISTINCT',
	'1, 1', 'NULL, 1', 'NULL, 2', '2, 1', '1, 1');
SELECT * FROM try_rows('a int, b text', '(a NULLS FIRST, b) NULLS NOT DISTINCT', '1, ''x''',
	'NULL, ''x''', '1, NULL', 'NULL, NULL', 'NULL, ''x''', '1, NULL', 'NULL, NULL');
SELECT * FROM try_rows('a int8', '(a DESC) NULLS NOT DISTINCT', 'NULL', '1', 'NULL', '-7377949855155370625');
SELECT * FROM try_rows('a text', '(a) NULLS NOT DISTINCT WHERE a IS DISTINCT FROM ''x''',
	'NULL', '''x''', 'NULL', '''x''', '''y''');

-- Several unique indexes of both access methods on one table; temporary and unlogged
-- tables.
SELECT on_both('CREATE UNIQUE INDEX t_b_a ON t USING @am (b, a)');
CREATE UNIQUE INDEX t_b_a_too ON twin_sware.t USING btree (b, a);
SELECT outcome('INSERT INTO t VALUES (NULL, NULL), (9001, NULL), (9001, NULL)');
SELECT outcome('INSERT INTO t VALUES (NULL, NULL), (9001, NULL), (9002, NULL)');
CREATE TEMP TABLE passing (a int);
CREATE UNIQUE INDEX passing_key ON passing USING sware (a);
INSERT INTO passing VALUES (1), (2);
INSERT INTO passing VALUES (2);
SELECT count(*), sware_check('passing_key', true) FROM passing;
CREATE UNLOGGED TABLE volatile (a int);
CREATE UNIQUE INDEX volatile_key ON volatile USING sware (a);
INSERT INTO volatile SELECT generate_series(1, 5000);
INSERT INTO volatile VALUES (4000);
DROP TABLE volatile;

-- More unique indexes than a session keeps scans for; scans of dropped indexes are freed.
\connect -
CREATE TABLE crowded (a int);
DO $$
BEGIN
	FOR i IN 1..70 LOOP
		EXECUTE format('CREATE UNIQUE INDEX crowded_%s ON crowded USING sware ((a + %s))', i, i);
	END LOOP;
END
$$;
INSERT INTO crowded VALUES (1);
INSERT INTO crowded VALUES (2);
INSERT INTO crowded VALUES (1);
DO $$
BEGIN
	FOR i IN 1..69 LOOP
		EXECUTE format('DROP INDEX crowded_%s', i);
	END LOOP;
END
$$;
INSERT INTO crowded VALUES (2);
INSERT INTO crowded VALUES (3);
SELECT count(*), sware_check('crowded_70', true) FROM crowded;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'sware look-up';
DROP TABLE crowded;

-- An index is built, or built again, in the transaction that inserts.
BEGIN;
CREATE TABLE young (a int, b text);
INSERT INTO young VALUES (1), (2);
CREATE UNIQUE INDEX young_key ON young USING sware (a);
INSERT INTO young VALUES (3);
SAVEPOINT before;
INSERT INTO young VALUES (3);
ROLLBACK TO before;
TRUNCATE young;
INSERT INTO young VALUES (3);
REINDEX INDEX young_key;
INSERT INTO young VALUES (4);
SAVEPOINT before;
INSERT INTO young VALUES (3);
ROLLBACK TO before;
ALTER TABLE young ALTER a TYPE bigint;
INSERT INTO young VALUES (5);
INSERT INTO young VALUES (4);
ROLLBACK;
DROP FUNCTION outcome(text), outcome_of(text, text), try_rows(text, text, text[]);
DROP TYPE pair, bits, mood, positive;
SELECT drop_twins();
