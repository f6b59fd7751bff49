-- Duplicates and posting lists.
SELECT on_both('CREATE TABLE t (a int, b int) WITH (fillfactor = 100)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('INSERT INTO t SELECT i % 5, i FROM generate_series(1, 20000) i');
SET max_parallel_workers_per_gather = 0;
SELECT check_all();
SELECT allow_scans('index');
SELECT same_rows('SELECT ctid FROM t WHERE a = 3 ORDER BY a');
SELECT same_rows('SELECT count(*) FROM t WHERE a = 3');
SELECT same_rows('SELECT a, count(*), sum(b) FROM t GROUP BY a ORDER BY a');
-- Rows with equal keys are returned in the order of the table, and backward in the
-- reverse order.
SELECT rows_of('twin_sware', 'SELECT ctid FROM t WHERE a = 3 ORDER BY a')
	 = rows_of('twin_sware', 'SELECT ctid FROM (SELECT ctid FROM t WHERE a = 3 OFFSET 0) s ORDER BY ctid')
	     AS forward,
	   mirrored('SELECT ctid FROM t WHERE a >= 3 AND a < 4 ORDER BY a',
	       'SELECT ctid FROM t WHERE a >= 3 AND a < 4 ORDER BY a DESC') AS backward;

-- With deduplication, an index is not larger than nbtree's, however it was filled.
CREATE FUNCTION size_of(index regclass) RETURNS numeric
	LANGUAGE sql AS 'SELECT pg_relation_size(index)::numeric';
SELECT size_of('twin_sware.t_a') <= size_of('twin_nbtree.t_a') * 1.1 AS inserted;
SELECT on_both('REINDEX INDEX t_a');
SELECT size_of('twin_sware.t_a') <= size_of('twin_nbtree.t_a') * 1.1 AS built;
SELECT check_all();
CREATE INDEX t_plain ON twin_sware.t USING sware (a) WITH (deduplicate_items = off);
SELECT size_of('twin_sware.t_plain') > 2 * size_of('twin_sware.t_a') AS plain_is_larger;
SELECT check_all();
-- When the option is switched on, it takes effect for later changes.
ALTER INDEX twin_sware.t_plain SET (deduplicate_items = on);
REINDEX INDEX twin_sware.t_plain;
SELECT size_of('twin_sware.t_plain') = size_of('twin_sware.t_a') AS now_equal;
DROP INDEX twin_sware.t_plain;

-- VACUUM takes single rows out of posting lists; new rows in the freed places
-- go back into the middle of the lists.
SELECT on_both('DELETE FROM t WHERE b % 3 = 0');
VACUUM twin_nbtree.t;
VACUUM twin_sware.t;
SELECT check_all();
SELECT same_rows('SELECT ctid FROM t WHERE a = 3 ORDER BY a');
SELECT on_both('INSERT INTO t SELECT i % 7, -i FROM generate_series(1, 6000) i');
SELECT check_all();
SELECT same_rows('SELECT ctid, a, b FROM t ORDER BY a'),
	mirrored('SELECT ctid, a, b FROM t ORDER BY a', 'SELECT ctid, a, b FROM t ORDER BY a DESC');
SELECT on_both('DELETE FROM t WHERE b % 2 = 0');
VACUUM twin_nbtree.t;
VACUUM twin_sware.t;
SELECT on_both('UPDATE t SET a = a + 1 WHERE b % 5 = 0');
SELECT check_all();
SELECT same_rows('SELECT ctid, a, b FROM t ORDER BY a');
-- All rows of one key in the middle of the index are deleted.
SELECT on_both('DELETE FROM t WHERE a = 2');
VACUUM twin_nbtree.t;
VACUUM twin_sware.t;
SELECT check_all(), same_rows('SELECT ctid, a, b FROM t ORDER BY a'),
	mirrored('SELECT ctid, a, b FROM t ORDER BY a', 'SELECT ctid, a, b FROM t ORDER BY a DESC');

-- A single key, many times: pages are split between equal keys by their TIDs.
SELECT on_both('CREATE TABLE one (a text)');
SELECT on_both('CREATE INDEX one_a ON one USING @am (a)');
SELECT on_both('INSERT INTO one SELECT ''the only key'' FROM generate_series(1, 50000)');
SELECT same_rows('SELECT ctid FROM one WHERE a = ''the only key'' ORDER BY a');
SELECT mirrored('SELECT ctid FROM one WHERE a >= ''the only key'' ORDER BY a',
	'SELECT ctid FROM one WHERE a >= ''the only key'' ORDER BY a DESC');
SELECT size_of('twin_sware.one_a') <= size_of('twin_nbtree.one_a') * 1.2 AS not_larger;
-- Long duplicates: few rows to a page without posting lists.
SELECT on_both('CREATE TABLE long (a text)');
SELECT on_both('ALTER TABLE long ALTER a SET STORAGE EXTERNAL');
SELECT on_both('CREATE INDEX long_a ON long USING @am (a)');
SELECT on_both('INSERT INTO long SELECT repeat(chr(97 + i % 3), 2500) FROM generate_series(1, 3000) i');
SELECT same_rows('SELECT ctid, left(a, 1) FROM long ORDER BY a'),
	mirrored('SELECT ctid, left(a, 1) FROM long ORDER BY a',
	'SELECT ctid, left(a, 1) FROM long ORDER BY a DESC');
SELECT size_of('twin_sware.long_a') <= size_of('twin_nbtree.long_a') * 1.2 AS not_larger;
SELECT check_all();

-- Values that are equal but look different are all kept as they are.
SELECT on_both('CREATE TABLE n (a numeric, f float8)');
SELECT on_both('INSERT INTO n SELECT (ARRAY[''1'', ''1.0'', ''1.00'', ''2.5'', ''2.50''])[1 + i % 5]::numeric,
	(ARRAY[''0'', ''-0''])[1 + i % 2]::float8 FROM generate_series(1, 5000) i');
SELECT on_both('CREATE INDEX n_a ON n USING @am (a)');
SELECT on_both('CREATE INDEX n_f ON n USING @am (f)');
VACUUM (ANALYZE) twin_nbtree.n, twin_sware.n;
SELECT allow_scans('indexonly');
SELECT compare('SELECT a FROM n WHERE a = 1 ORDER BY a');
SELECT compare('SELECT f FROM n WHERE f = 0 ORDER BY f DESC');
SELECT check_all();

-- INCLUDE columns forbid posting lists.
SELECT on_both('CREATE INDEX n_a_f ON n USING @am (a) INCLUDE (f)');
VACUUM twin_nbtree.n, twin_sware.n;
SELECT compare('SELECT a, f FROM n WHERE a = 1 ORDER BY a');
SELECT check_all();
DROP FUNCTION size_of;
SELECT drop_twins();

-- A rightmost leaf, which has no high key, has room for one more entry than others.
CREATE TABLE brim (a int);
CREATE INDEX brim_a ON brim USING sware (a) WITH (deduplicate_items = off);
INSERT INTO brim SELECT generate_series(1, 406);
SELECT sware_check('brim_a', true);
SELECT live_items, free_size FROM sware_page_stats('brim_a', 1);
INSERT INTO brim VALUES (407);
SELECT sware_check('brim_a', true);
DROP TABLE brim;
