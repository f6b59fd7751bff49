-- Sorted runs are given to the tree, as the rooms above it do.
LOAD 'sware';
CREATE EXTENSION sware_runs;

-- Rows that the index does not know: it is not ready while they are inserted.
CREATE FUNCTION insert_unindexed(index regclass, statement text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_index SET indisready = false WHERE indexrelid = index;
	EXECUTE statement;
	UPDATE pg_index SET indisready = true WHERE indexrelid = index;
END $$;

CREATE FUNCTION leaf_pages(index regclass) RETURNS bigint
LANGUAGE sql AS $$
	SELECT count(*)
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) AS block,
		sware_page_stats(index, block) AS page
	WHERE page.kind = 'leaf' AND NOT 'deleted' = ANY (page.flags)
$$;

SET allow_system_table_mods = on;
CREATE TABLE run_test (k bigint, v text);
CREATE INDEX run_test_k ON run_test USING sware (k);

-- One long run into an empty index.
SELECT insert_unindexed('run_test_k', 'INSERT INTO run_test SELECT i, i FROM generate_series(1, 100000) i');
SELECT sware_insert_runs('run_test_k', 1000000);
SELECT sware_check('run_test_k', true);

-- Leaves are filled to 95 %: the index is hardly larger than a built one.
CREATE INDEX run_test_built ON run_test USING sware (k);
SELECT pg_relation_size('run_test_k') <= 1.02 * pg_relation_size('run_test_built') AS is_dense;

-- Repeating the run changes nothing.
SELECT leaf_pages('run_test_k') AS leaves \gset
SELECT sware_insert_runs('run_test_k', 100000);
SELECT leaf_pages('run_test_k') = :leaves AS same_leaves;
SELECT sware_check('run_test_k', true);
SELECT sware_insert_runs('run_test_k', 7);
SELECT leaf_pages('run_test_k') = :leaves AS same_leaves;
SELECT sware_check('run_test_k', true);

-- Runs above the tree, of lengths around those of pages and parents.
SELECT insert_unindexed('run_test_k',
	'INSERT INTO run_test SELECT i, i FROM generate_series(100001, 400000) i');
SELECT sware_insert_runs('run_test_k', 50000);
SELECT sware_check('run_test_k', true);
SELECT insert_unindexed('run_test_k',
	'INSERT INTO run_test SELECT i, i FROM generate_series(400001, 420000) i');
SELECT sware_insert_runs('run_test_k', 811);
SELECT sware_check('run_test_k', true);

-- Runs whose keys are among those of the tree; some of their entries are new.
SELECT insert_unindexed('run_test_k',
	'INSERT INTO run_test SELECT i * 7 % 420000, i FROM generate_series(1, 60000) i');
SELECT sware_insert_runs('run_test_k', 300);
SELECT sware_check('run_test_k', true);

-- Duplicates: posting lists with TIDs added within their range.
CREATE TABLE run_duplicates (k int, v int);
CREATE INDEX run_duplicates_k ON run_duplicates USING sware (k);
INSERT INTO run_duplicates SELECT i % 10, i FROM generate_series(1, 20000) i;
DELETE FROM run_duplicates WHERE v % 3 = 0;
VACUUM run_duplicates;
SELECT insert_unindexed('run_duplicates_k',
	'INSERT INTO run_duplicates SELECT i % 10, -i FROM generate_series(1, 30000) i');
SELECT sware_insert_runs('run_duplicates_k', 5000);
SELECT sware_check('run_duplicates_k', true);
SELECT sware_insert_runs('run_duplicates_k', 1);
SELECT sware_check('run_duplicates_k', true);
SELECT sum(heap_tids) FROM generate_series(1,
	pg_relation_size('run_duplicates_k') / current_setting('block_size')::int - 1) AS block,
	sware_page_stats('run_duplicates_k', block) AS page WHERE page.kind = 'leaf';

-- Appended duplicates become posting lists.
SELECT insert_unindexed('run_duplicates_k',
	'INSERT INTO run_duplicates SELECT 100 + i / 10000, i FROM generate_series(1, 100000) i');
SELECT sware_insert_runs('run_duplicates_k', 1000000);
SELECT sware_check('run_duplicates_k', true);
SELECT pg_relation_size('run_duplicates_k') < 1100000 AS is_small;

-- Nothing is appended to an empty rightmost leaf.
CREATE TABLE run_empty (k int);
CREATE INDEX run_empty_k ON run_empty USING sware (k);
INSERT INTO run_empty SELECT generate_series(1, 5000);
DELETE FROM run_empty;
VACUUM run_empty;
SELECT insert_unindexed('run_empty_k', 'INSERT INTO run_empty SELECT generate_series(6000, 9000)');
SELECT sware_append_runs('run_empty_k', 10000);
SELECT sware_insert_runs('run_empty_k', 10000);
SELECT sware_check('run_empty_k', true);

-- Wide keys: pivots and high keys of all sizes.
CREATE TABLE run_wide (k text, n int);
CREATE INDEX run_wide_k ON run_wide USING sware (k, n);
SELECT insert_unindexed('run_wide_k', $$
	INSERT INTO run_wide
		SELECT (SELECT string_agg(md5(j::text || i), '') FROM generate_series(1, i % 80 + 1) j), i
	FROM generate_series(1, 3000) i $$);
SELECT sware_insert_runs('run_wide_k', 700);
SELECT sware_check('run_wide_k', true);
SELECT insert_unindexed('run_wide_k', $$
	INSERT INTO run_wide SELECT 'z' || to_char(i, '0000000') || repeat('x', i % 2500), i
		FROM generate_series(1, 5000) i $$);
SELECT sware_insert_runs('run_wide_k', 10000);
SELECT sware_check('run_wide_k', true);

-- Long runs among keys that are there already: leaves are split where the run fills their
-- left halves, so there are hardly more of them than in an index that is 90 % full.
CREATE TABLE run_between (k bigint, v int);
CREATE INDEX run_between_k ON run_between USING sware (k);
INSERT INTO run_between SELECT i * 20, 0 FROM generate_series(1, 2000) i;
SELECT insert_unindexed('run_between_k',
	'INSERT INTO run_between SELECT i, 1 FROM generate_series(1, 40000) i');
SELECT sware_insert_runs('run_between_k', 9000);
SELECT sware_check('run_between_k', true);
SELECT leaf_pages('run_between_k') <= 42000 / 366 * 1.05 AS is_dense;

-- The same with equal keys, which their TIDs tell apart, and with keys of all sizes.
CREATE TABLE run_equal (k int, v int);
CREATE INDEX run_equal_k ON run_equal USING sware (k) WITH (deduplicate_items = off);
INSERT INTO run_equal SELECT i % 3, i FROM generate_series(1, 30000) i;
DELETE FROM run_equal WHERE v % 20 <> 0;
VACUUM run_equal;
SELECT insert_unindexed('run_equal_k',
	'INSERT INTO run_equal SELECT i % 3, -i FROM generate_series(1, 40000) i');
SELECT sware_insert_runs('run_equal_k', 9000);
SELECT sware_check('run_equal_k', true);
CREATE TABLE run_sizes (k text COLLATE "C", v int);
CREATE INDEX run_sizes_k ON run_sizes USING sware (k);
INSERT INTO run_sizes SELECT to_char(i * 20, '000000') || repeat('a', i * 7 % 2000), 0
	FROM generate_series(1, 300) i;
SELECT insert_unindexed('run_sizes_k', $$
	INSERT INTO run_sizes SELECT to_char(i, '000000') || repeat('b', i * 11 % 2600 * (i % 5) / 4), 1
		FROM generate_series(1, 6000) i $$);
SELECT sware_insert_runs('run_sizes_k', 2500);
SELECT sware_check('run_sizes_k', true);

-- An interrupted append leaves leaves unlinked, until VACUUM finds them.
SELECT sware_leak_leaves('run_test_k');
SELECT leaf_pages('run_test_k') AS leaves \gset
DELETE FROM run_test WHERE k = 1;
VACUUM (INDEX_CLEANUP ON) run_test;
SELECT :leaves - leaf_pages('run_test_k') AS found;
SELECT sware_check('run_test_k', true);

-- ... also when no row is dead.
SELECT sware_leak_leaves('run_test_k');
SELECT leaf_pages('run_test_k') AS leaves \gset
VACUUM run_test;
SELECT :leaves - leaf_pages('run_test_k') AS found;
