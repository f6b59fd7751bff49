-- Unique indexes on tables that have rows: which rows are duplicates, and which errors
-- they raise.
SET client_min_messages = warning;

-- Runs a statement for each twin, and returns its error without the names of the twins;
-- or "built", after checking the index.
CREATE FUNCTION said_by(twin text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	saved_path text := current_setting('search_path');
	code text;
	message text;
	detail text;
	tablename text;
	constraintname text;
	answer text := 'built';
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	BEGIN
		EXECUTE replace(statement, '@am', CASE twin WHEN 'twin_sware' THEN 'sware' ELSE 'btree' END);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
			tablename = TABLE_NAME, constraintname = CONSTRAINT_NAME;
		answer := concat_ws(' | ', code, message, detail, tablename, constraintname);
	END;
	PERFORM set_config('search_path', saved_path, true);
	RETURN answer;
END
$$;
CREATE FUNCTION said_by_both(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	nbtree text := said_by('twin_nbtree', statement);
	sware text := said_by('twin_sware', statement);
BEGIN
	IF nbtree <> sware THEN
		RETURN 'DIFFERENT: ' || nbtree || ' but ' || sware;
	END IF;
	RETURN sware;
END
$$;

-- A unique index of one column on rows given as a VALUES list.
CREATE FUNCTION build_of(type text, rows text, clauses text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM on_both(format('CREATE TABLE one_column (a %s)', type));
	PERFORM on_both('INSERT INTO one_column VALUES ' || rows);
	answer := said_by_both('CREATE UNIQUE INDEX one_column_a ON one_column USING @am (a) ' || clauses);
	IF answer = 'built' THEN
		answer := answer || ', ' || check_all();
	END IF;
	PERFORM on_both('DROP TABLE one_column');
	RETURN answer;
END
$$;

-- Types, including those with keys that are equal but look different.
SELECT type, build_of(type, rows) FROM (VALUES
	('int', '(1), (2), (1)'),
	('int', '(1), (2), (3)'),
	('smallint', '(3), (-1), (3)'),
	('bigint', '(5000000000), (5000000000)'),
	('text', $$('b'), ('a'), ('b')$$),
	('text', $$('b'), ('a'), ('B')$$),
	('varchar(10)', $$('b'), ('b')$$),
	('char(5)', $$('b'), ('b  ')$$),
	('name', $$('b'), ('b')$$),
	('bytea', $$('\x00'), ('\x0000'), ('\x00')$$),
	('numeric', '(1.0), (1.5), (1.00)'),
	('numeric', $$('NaN'), ('NaN')$$),
	('float8', $$(0), ('-0')$$),
	('float4', $$('NaN'), ('NaN')$$),
	('bool', '(true), (false), (true)'),
	('date', $$('2001-01-01'), ('2001-01-01')$$),
	('timestamptz', $$('2001-01-01 00:00+00'), ('2001-01-01 01:00+01')$$),
	('interval', $$('1 day'), ('24 hours')$$),
	('uuid', $$('11111111-1111-1111-1111-111111111111'), ('11111111-1111-1111-1111-111111111111')$$),
	('inet', $$('10.0.0.1/32'), ('10.0.0.1')$$),
	('int[]', $$('{1,2}'), ('{1}'), ('{1,2}')$$),
	('jsonb', $$('{"a": 1.0}'), ('{"a": 1.00}')$$),
	('int4range', $$('[1,2]'), ('[1,3)')$$),
	('oid', '(7), (7)')
) v(type, rows);

-- Nulls.
SELECT build_of('int', '(NULL), (1), (NULL)');
SELECT build_of('int', '(NULL), (1), (NULL)', 'NULLS NOT DISTINCT');
SELECT build_of('int', '(NULL), (1), (2)', 'NULLS NOT DISTINCT');
SELECT build_of('text', '(NULL), (NULL)');
SELECT build_of('text', '(NULL), (NULL)', 'NULLS NOT DISTINCT');

-- Several columns, directions, INCLUDE columns, expressions, predicates.
SELECT on_both('CREATE TABLE t (a int, b text, c int)');
SELECT on_both($$INSERT INTO t VALUES (1, 'x', 1), (1, 'y', 1), (2, 'x', 2),
	(2, NULL, 3), (2, NULL, 4), (NULL, 'x', 5), (NULL, 'x', 6)$$);
SELECT said_by_both('CREATE UNIQUE INDEX t_1 ON t USING @am (a, b)');
SELECT said_by_both('CREATE UNIQUE INDEX t_2 ON t USING @am (a, b) NULLS NOT DISTINCT WHERE a IS NOT NULL');
SELECT said_by_both('CREATE UNIQUE INDEX t_3 ON t USING @am (a DESC, b NULLS FIRST) NULLS NOT DISTINCT
	WHERE b IS NOT NULL');
SELECT said_by_both('CREATE UNIQUE INDEX t_4 ON t USING @am (a, b DESC) INCLUDE (c)');
SELECT said_by_both('CREATE UNIQUE INDEX t_5 ON t USING @am (a) INCLUDE (b) WHERE c = 1');
SELECT said_by_both('CREATE UNIQUE INDEX t_6 ON t USING @am (c) INCLUDE (b) WHERE c > 1');
SELECT said_by_both('CREATE UNIQUE INDEX t_7 ON t USING @am ((c / 2)) WHERE c IN (1, 3, 4)');
SELECT said_by_both('CREATE UNIQUE INDEX t_8 ON t USING @am ((c / 2)) WHERE c BETWEEN 4 AND 5');
SELECT said_by_both('CREATE UNIQUE INDEX t_9 ON t USING @am (upper(b), c) WHERE a = 1');
SELECT check_all();
SELECT on_both('DROP TABLE t');

-- Many rows: the two duplicates are among rows in order, among outliers, or one of them
-- is among each; with enough memory and without.
CREATE FUNCTION among_many(type text, first int, second int, scrambled bool) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	key text := CASE type WHEN 'text' THEN $x$lpad((%s)::text, 12, 'x')$x$ ELSE '%s' END;
	answer text;
BEGIN
	PERFORM on_both(format('CREATE TABLE many (a %s)', type));
	PERFORM on_both(format('INSERT INTO many SELECT %s FROM generate_series(1, 60000) i',
		format(key, CASE WHEN scrambled THEN 'i * 7919::bigint % 60013'
			ELSE 'CASE WHEN i % 50 = 0 THEN 60000 - i ELSE i END' END)));
	PERFORM on_both('DELETE FROM many m USING many o WHERE m.a = o.a AND m.ctid > o.ctid');
	answer := said_by_both('CREATE UNIQUE INDEX many_a ON many USING @am (a)') || ', ' || check_all();
	PERFORM on_both('DROP INDEX IF EXISTS many_a');
	PERFORM on_both(format('INSERT INTO many SELECT a FROM many WHERE a IN (%s, %s)',
		format(key, first), format(key, second)));
	answer := answer || ', ' || said_by_both('CREATE UNIQUE INDEX many_a ON many USING @am (a)');
	PERFORM on_both('DROP TABLE many');
	RETURN answer;
END
$$;
SELECT among_many('int', 31, 31, false), among_many('int', 59950, 59950, false);
SELECT among_many('text', 31, 31, false), among_many('text', 59950, 59950, false);
SELECT among_many('int', 31, 31, true), among_many('text', 59950, 59950, true);
SET maintenance_work_mem = '1MB';
SELECT among_many('int', 31, 31, true), among_many('text', 59950, 59950, true);
RESET maintenance_work_mem;
DROP FUNCTION among_many;

-- Dead rows do not count, although they get entries: rows that this transaction has
-- deleted or updated, and rows that other transactions may still see.
SELECT on_both('CREATE TABLE t (a int, b int)');
SELECT on_both('INSERT INTO t SELECT i % 10, i FROM generate_series(1, 11) i');
BEGIN;
SELECT on_both('DELETE FROM t WHERE b > 10');
SELECT said_by_both('CREATE UNIQUE INDEX t_a ON t USING @am (a)');
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a');
ROLLBACK;
SELECT said_by_both('CREATE UNIQUE INDEX t_a ON t USING @am (a)');
BEGIN;
SELECT on_both('UPDATE t SET a = b');
SELECT on_both('UPDATE t SET a = a');
SELECT said_by_both('CREATE UNIQUE INDEX t_a ON t USING @am (a)');
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a');
SAVEPOINT s;
SELECT on_both('DROP INDEX t_a');
SELECT on_both('INSERT INTO t VALUES (7, 7)');
SELECT said_by_both('CREATE UNIQUE INDEX t_a ON t USING @am (a)');
ROLLBACK TO s;
COMMIT;
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a');
SELECT on_both('DROP TABLE t');

-- Because of a prepared transaction, deleted rows are not dead to all.
BEGIN;
CREATE TABLE keeps_rows (a int);
PREPARE TRANSACTION 'keeps_rows';
SELECT on_both('CREATE TABLE t (a text, b int)');
SELECT on_both('INSERT INTO t SELECT (i % 7)::text, i FROM generate_series(1, 700) i');
SELECT on_both('DELETE FROM t WHERE b > 7');
SELECT on_both('UPDATE t SET b = -b WHERE b IN (2, 4)');
SELECT said_by_both('CREATE UNIQUE INDEX t_a ON t USING @am (a)');
SELECT said_by_both('CREATE UNIQUE INDEX t_b ON t USING @am (b)');
SELECT entries > 7 AS dead_rows_have_entries
	FROM (SELECT count(*) AS entries FROM generate_series(1, 1) block,
		sware_page_items('twin_sware.t_b', block)) n;
SELECT check_all(), same_rows('SELECT * FROM t ORDER BY a'), same_rows('SELECT * FROM t ORDER BY b');
ROLLBACK PREPARED 'keeps_rows';
VACUUM twin_sware.t;
SELECT check_all(), same_rows('SELECT * FROM t ORDER BY a');
SELECT on_both($$INSERT INTO t SELECT (i + 7)::text, i + 1000 FROM generate_series(1, 500) i$$);
SELECT said_by_both('REINDEX TABLE t');
SELECT check_all(), same_rows('SELECT * FROM t ORDER BY a');
SELECT on_both('DROP TABLE t');

-- Broken HOT chains.
SELECT on_both('CREATE TABLE hot (a int, b int) WITH (fillfactor = 50)');
SELECT on_both('CREATE INDEX hot_a ON hot USING @am (a)');
SELECT on_both('INSERT INTO hot SELECT i, 1 FROM generate_series(1, 100) i');
BEGIN;
SELECT on_both('UPDATE hot SET b = a');
SELECT said_by_both('CREATE UNIQUE INDEX hot_b ON hot USING @am (b)');
SELECT check_all();
COMMIT;
SELECT same_rows('SELECT * FROM hot ORDER BY b');
SELECT on_both('DROP TABLE hot');

-- CONCURRENTLY: the first phase finds the duplicates, and leaves an invalid index.
-- REINDEX reports them, too.
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE TABLE twin_sware.t (a int, b text);
INSERT INTO twin_sware.t SELECT i, 'b' || i FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX CONCURRENTLY t_a ON twin_sware.t USING sware (a);
SELECT check_all();
INSERT INTO twin_sware.t VALUES (5000, 'b7');
CREATE UNIQUE INDEX CONCURRENTLY t_b ON twin_sware.t USING sware (b);
SELECT indisvalid, indisunique FROM pg_index WHERE indexrelid = 'twin_sware.t_b'::regclass;
REINDEX INDEX twin_sware.t_b;
REINDEX INDEX CONCURRENTLY twin_sware.t_b;
DELETE FROM twin_sware.t WHERE a = 5000;
REINDEX INDEX CONCURRENTLY twin_sware.t_b;
SELECT indisvalid, indisunique FROM pg_index WHERE indexrelid = 'twin_sware.t_b'::regclass;
SELECT relname FROM pg_class WHERE relname ~ '^t_b_ccnew';
DROP INDEX twin_sware.t_b_ccnew;
SELECT check_all();
DROP TABLE twin_sware.t;
\set VERBOSITY terse

-- An error does not show the key to a user without the right to read it.
CREATE ROLE regress_sware_owner;
GRANT CREATE ON SCHEMA twin_nbtree, twin_sware TO regress_sware_owner;
GRANT USAGE ON SCHEMA twin_nbtree, twin_sware TO regress_sware_owner;
SET ROLE regress_sware_owner;
SELECT on_both('CREATE TABLE secret (a int)');
SELECT on_both('INSERT INTO secret VALUES (1), (1)');
SELECT on_both('REVOKE SELECT ON secret FROM regress_sware_owner');
SELECT said_by_both('CREATE UNIQUE INDEX secret_a ON secret USING @am (a)');
RESET ROLE;
SELECT on_both('DROP TABLE secret');
DROP OWNED BY regress_sware_owner;
DROP ROLE regress_sware_owner;

DROP FUNCTION build_of;
DROP FUNCTION said_by_both;
DROP FUNCTION said_by;
