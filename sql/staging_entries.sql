-- Kinds of entries that are staged: of expressions, of partial indexes, of values that
-- are stored out of line or compressed, of nulls; and keys that are too large.
SELECT on_both('CREATE TABLE t (a int, b text, c int)');
SELECT on_both('ALTER TABLE t ALTER b SET STORAGE EXTERNAL');
SELECT on_both('CREATE INDEX t_expression ON t USING @am ((a % 10), lower(b))');
SELECT on_both('CREATE INDEX t_partial ON t USING @am (a) WHERE c > 5');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b DESC) INCLUDE (c)');
SELECT on_both('CREATE INDEX t_null ON t USING @am (c NULLS FIRST)');
SELECT on_both('CREATE INDEX t_two ON t USING @am (c, a)');
SELECT allow_scans('index', 'indexonly');
CREATE FUNCTION agree() RETURNS text LANGUAGE sql AS $$
	SELECT check_all() || ', ' || same_rows('SELECT a % 10, lower(b) FROM t ORDER BY a % 10, lower(b)')
		|| ', ' || same_rows('SELECT a FROM t WHERE c > 5 ORDER BY a')
		|| ', ' || same_rows('SELECT b, c FROM t ORDER BY b DESC, c')
		|| ', ' || same_rows('SELECT c FROM t ORDER BY c NULLS FIRST')
		|| ', ' || same_rows('SELECT c, a FROM t WHERE c IS NOT NULL ORDER BY c, a');
$$;
BEGIN;
SELECT on_both($$INSERT INTO t SELECT i * 7 % 1000, CASE WHEN i % 3 = 0 THEN 'Row ' || i END,
	NULLIF(i % 11, 4) FROM generate_series(1, 3000) i$$);
SELECT stored_entries('twin_sware.t_partial') AS partial, stored_entries('twin_sware.t_null') AS nulls;
SELECT agree();
SELECT on_both($$INSERT INTO t SELECT -i, repeat(chr(97 + i % 26), 500 + i) || i, NULL
	FROM generate_series(1, 300) i$$);
-- A row that is null in every column, and one that enters the partial index.
SELECT on_both('INSERT INTO t VALUES (NULL, NULL, NULL)');
SELECT on_both('UPDATE t SET c = c + 3 WHERE a BETWEEN 100 AND 300');
SELECT agree();
COMMIT;
SELECT agree();
-- The value is copied from the table, so the row may be removed.
SELECT on_both('CREATE TABLE source (b text)');
SELECT on_both('ALTER TABLE source ALTER b SET STORAGE EXTERNAL');
SELECT on_both($$INSERT INTO source SELECT repeat(i::text, 700) FROM generate_series(1, 30) i$$);
BEGIN;
SELECT on_both('INSERT INTO t SELECT 5000, b, 1 FROM source');
SELECT on_both('TRUNCATE source');
COMMIT;
SELECT agree();

-- Types of fixed width: passed by value, of every width, and by reference.
SELECT on_both('CREATE TABLE widths (a "char", b int2, c int4,
	d int8, e uuid, f name, g timestamptz, h numeric, i boolean)');
SELECT on_both(format('CREATE INDEX widths_%1$s ON widths USING @am (%1$s)', name))
FROM unnest('{a,b,c,d,e,f,g,h,i}'::text[]) name;
BEGIN;
SELECT on_both($$INSERT INTO widths SELECT chr(33 + i % 90)::"char",
	(i * 7919 % 60000 - 30000)::int2, i * 7919 % 100003 - 50000,
	(i - 1000) * 5000000000, md5(i::text)::uuid, 'name' || i % 100,
	'epoch'::timestamptz + i * interval '1 hour' * (i % 3 - 1), i * 1.5, i % 2 = 0
	FROM generate_series(1, 2000) i$$);
SELECT on_both('INSERT INTO widths SELECT NULL FROM generate_series(1, 3)');
SELECT on_both($$INSERT INTO widths (b, c, d, g) VALUES (32767, 2147483647, 9223372036854775807, 'infinity'),
	(-32768, -2147483648, -9223372036854775808, '-infinity')$$);
SELECT name, same_rows(format('SELECT %1$s FROM widths ORDER BY %1$s', name))
FROM unnest('{a,b,c,d,e,f,g,h,i}'::text[]) name;
COMMIT;
SELECT check_all();
SELECT name, same_rows(format('SELECT %1$s FROM widths ORDER BY %1$s', name))
FROM unnest('{a,b,c,d,e,f,g,h,i}'::text[]) name;

-- A key that is too large is an error of its INSERT, not of COMMIT. The message
-- depends on the block size.
\set VERBOSITY sqlstate
SET search_path = twin_sware, public;
CREATE TABLE large (a text, b int);
ALTER TABLE large ALTER a SET STORAGE EXTERNAL;
CREATE INDEX large_a ON large USING sware (a);
CREATE INDEX large_b ON large USING sware (b);
BEGIN;
INSERT INTO large VALUES ('small', 1);
SAVEPOINT s;
INSERT INTO large VALUES ('small', 2), (repeat('x', 5000), 3);
ROLLBACK TO s;
INSERT INTO large VALUES ('small', 4);
COMMIT;
INSERT INTO large VALUES (repeat('x', 5000), 5);
INSERT INTO large VALUES ('small', 6);
\set VERBOSITY terse
SELECT b FROM large WHERE b > 0 ORDER BY b;
SELECT check_all(), stored_entries('large_a') AS a, stored_entries('large_b') AS b;

RESET search_path;
DROP FUNCTION agree;
SELECT drop_twins();
