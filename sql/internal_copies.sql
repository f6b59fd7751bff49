-- Look-ups use copies of internal pages, which nothing brings up to date. Whatever happens
-- to the tree, they find what there is.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET client_min_messages = warning;
SET search_path = twin_sware, public;
CREATE TABLE t (id int, k text COLLATE "C");
ALTER TABLE t ALTER k SET STORAGE PLAIN;
CREATE INDEX t_k ON t USING sware (k);
CREATE FUNCTION key_of(i numeric, size int) RETURNS text LANGUAGE sql AS $$
	SELECT rpad(lpad(i::text, 12, '0'), size, 'x')
$$;
-- Look each key up on its own, and then the ends; the scan of the table says what there is.
CREATE FUNCTION look_up_all() RETURNS TABLE (rows bigint, all_found boolean, ends_found boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_material = off SET enable_memoize = off AS $$
BEGIN
	RETURN QUERY SELECT count(*), bool_and(found.n = 1), (SELECT k FROM t ORDER BY k LIMIT 1) = min(there.k)
		AND (SELECT k FROM t ORDER BY k DESC LIMIT 1) = max(there.k)
	FROM (SELECT * FROM t OFFSET 0) there,
		LATERAL (SELECT count(*) n FROM t WHERE k = there.k AND id = there.id OFFSET 0) found;
END $$;
-- How many pages does a query read, which finds no row?
CREATE FUNCTION pages_read(query text) RETURNS int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Shared Hit Blocks}';
END $$;

-- With copies, only the leaf is read of the tree.
INSERT INTO t SELECT i, key_of(i * 100, 800) FROM generate_series(1, 1000) i;
SELECT sware_flush('t_k');
SELECT level > 1 AS has_levels FROM sware_metapage('t_k');
\set absent '$$SELECT FROM t WHERE k = ''000000005000''$$'
SELECT pages_read(:absent) AS pages_at_first \gset
SELECT count(pages_read(:absent)) FROM generate_series(1, 20);
SELECT :pages_at_first - pages_read(:absent) = level AS saves_all_levels FROM sware_metapage('t_k');
SELECT * FROM generate_series(1, 10) n, LATERAL (SELECT * FROM look_up_all() WHERE n > 0) s;

-- Pages are split, emptied, deleted and used again, at the ends and in between.
CREATE TABLE seen (rows bigint, all_found boolean, ends_found boolean);
CREATE FUNCTION change(r int) RETURNS SETOF text LANGUAGE sql AS $f$
	SELECT unnest(ARRAY[
		format($$INSERT INTO t SELECT i, key_of(i * 100 + %s, 800)
			FROM generate_series(%s, %2$s + 400) i$$, r, r * 7919 % 1200),
		'INSERT INTO seen SELECT * FROM look_up_all()',
		format('DELETE FROM t WHERE id BETWEEN %s AND %1$s + 300', r * r * 104729 % 1300 - 200),
		'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) t',
		format($$INSERT INTO t SELECT i, key_of(i * 100 + 50 + %s, 800)
			FROM generate_series(%s, %2$s + 100) i$$, r, r * 31337 % 1400),
		'INSERT INTO seen SELECT * FROM look_up_all()'])
$f$;
\set ECHO errors
SELECT change(r) FROM generate_series(1, 12) r \gexec
\set ECHO all
SELECT count(*), min(rows), max(rows), bool_and(all_found), bool_and(ends_found) FROM seen;
SELECT sware_check('t_k', true);
DROP TABLE t;

-- An index that is built anew in the same file has other pages with the same numbers.
BEGIN;
CREATE TABLE t (id int, k text COLLATE "C");
ALTER TABLE t ALTER k SET STORAGE PLAIN;
CREATE INDEX t_k ON t USING sware (k);
INSERT INTO t SELECT i, key_of(i, 2500) FROM generate_series(1, 400) i;
SELECT sware_flush('t_k');
SELECT look_up_all() FROM generate_series(1, 10) n GROUP BY 1;
TRUNCATE t;
INSERT INTO t SELECT i, key_of(i * 100, 2500) FROM generate_series(1, 400) i;
SELECT sware_flush('t_k');
SELECT look_up_all() FROM generate_series(1, 10) n GROUP BY 1;
COMMIT;

-- A rollback brings an older file of the same build back, with the same incarnations.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE copies_space LOCATION '';
CREATE TABLE moved (id int, k text COLLATE "C");
ALTER TABLE moved ALTER k SET STORAGE PLAIN;
CREATE UNIQUE INDEX moved_k ON moved USING sware (k);
INSERT INTO moved SELECT i, key_of(i * 10, 800) FROM generate_series(1, 1000) i;
SELECT sware_flush('moved_k');
CREATE FUNCTION count_found() RETURNS bigint LANGUAGE sql SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off SET enable_memoize = off AS $$
	SELECT count(*) FROM (SELECT k FROM moved OFFSET 0) there,
		LATERAL (SELECT FROM moved WHERE k = there.k OFFSET 0) found
$$;
BEGIN;
ALTER INDEX moved_k SET TABLESPACE copies_space;
INSERT INTO moved SELECT i, key_of(i * 10 + 5, 800) FROM generate_series(1, 300) i;
SELECT sware_flush('moved_k');
SELECT count_found() FROM generate_series(1, 3);
ROLLBACK;
INSERT INTO moved SELECT i, key_of(i * 10 + 5, 800) FROM generate_series(600, 900) i;
SELECT sware_flush('moved_k');
SELECT count_found();
SELECT sware_check('moved_k', true);
DROP TABLE moved;
DROP TABLESPACE copies_space;

-- A comparison function may search another index while a copy is searched, or fail. The
-- other index has so many internal pages that they drive out most copies.
CREATE TABLE many (id int, k text COLLATE "C");
ALTER TABLE many ALTER k SET STORAGE PLAIN;
CREATE INDEX many_k ON many USING sware (k);
INSERT INTO many SELECT i, key_of(i, 2568) FROM generate_series(1, 1000) i;
CREATE OPERATOR CLASS acting_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_act(int, int);
CREATE TABLE acting (a int);
INSERT INTO acting SELECT i FROM generate_series(1, 20000) i;
CREATE INDEX acting_a ON acting USING sware (a acting_ops);
CREATE FUNCTION look_up_while(action text, calls_before int) RETURNS SETOF int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_material = off SET enable_memoize = off AS $$
BEGIN
	PERFORM set_config('twin.action', '', false);
	REINDEX INDEX acting_a;
	PERFORM FROM generate_series(1, 50) n, LATERAL (SELECT FROM acting WHERE a = 1234 AND n > 0 OFFSET 0) s;
	PERFORM set_config('twin.calls_before', calls_before::text, false);
	PERFORM set_config('twin.action', action, false);
	RETURN QUERY SELECT a FROM acting WHERE a = 1234;
END $$;
SELECT look_up_while('SELECT FROM generate_series(1, 45) n, (SELECT k FROM many OFFSET 0) m,
	LATERAL (SELECT FROM many WHERE k = m.k AND n > 0 OFFSET 0) s', calls) FROM generate_series(0, 9) calls;
SELECT look_up_while('SELECT 1 / 0', 3);
-- After the error, copies are made and used again.
SET twin.action = '';
\set absent '$$SELECT FROM acting WHERE a = 9999$$'
REINDEX INDEX acting_a;
SELECT pages_read(:absent) > 0 AS is_known;
SELECT pages_read(:absent) AS pages_at_first \gset
SELECT count(pages_read(:absent)) FROM generate_series(1, 100);
SELECT :pages_at_first - pages_read(:absent) = level AS saves_all_levels FROM sware_metapage('acting_a');

RESET search_path;
SELECT public.drop_twins();
