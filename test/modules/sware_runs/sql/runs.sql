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
ALTER TABLE run_sizes ALTER k SET STORAGE EXTERNAL;	-- not compressed
CREATE INDEX run_sizes_k ON run_sizes USING sware (k);
INSERT INTO run_sizes SELECT to_char(i * 20, '000000') || repeat('a', i * 7 % 2000), 0
	FROM generate_series(1, 300) i;
SELECT insert_unindexed('run_sizes_k', $$
	INSERT INTO run_sizes SELECT to_char(i, '000000') || repeat('b', i * 11 % 2600 * (i % 5) / 4), 1
		FROM generate_series(1, 6000) i $$);
SELECT sware_insert_runs('run_sizes_k', 2500);
SELECT sware_check('run_sizes_k', true);

-- Runs of rows that the index has not got: it has those that are not late.
CREATE FUNCTION is_indexed(late boolean) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE current_setting('runs.rows', true)
		WHEN 'all' THEN true WHEN 'late' THEN late ELSE NOT late END;
END $$;

-- A full leaf begins with a posting list.  A run has entries for its left half and for the
-- list: a TID within the list's range makes another one leave it, and smaller TIDs make it grow.
CREATE FUNCTION insert_before_list(entries int, list text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
BEGIN
	PERFORM set_config('runs.rows', 'early', true);
	DROP TABLE IF EXISTS run_list;
	CREATE TABLE run_list (k int, late boolean);
	EXECUTE 'INSERT INTO run_list SELECT 10000, ' || list;
	INSERT INTO run_list SELECT 10000 + i, false FROM generate_series(1, 1000) i;
	INSERT INTO run_list SELECT i, true FROM generate_series(1, entries) i;
	CREATE INDEX run_list_k ON run_list USING sware (k) WITH (fillfactor = 100) WHERE is_indexed(late);
	PERFORM set_config('runs.rows', 'late', true);
	rows := sware_insert_runs('run_list_k', 10000);
	PERFORM set_config('runs.rows', 'all', true);
	PERFORM sware_check('run_list_k', true);
	RETURN rows;
END $$;
SET client_min_messages = warning;
SELECT sum(insert_before_list(entries, 'i = 100 FROM generate_series(1, 225) i'))
	FROM generate_series(330, 380) entries;
SELECT sum(insert_before_list(entries, 'i <= 2 FROM generate_series(1, 219) i'))
	FROM generate_series(330, 380) entries;

-- Random keys, duplicates, columns and options.
CREATE FUNCTION insert_random(seed int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	places int;
	around int;
	share float;
	wide int;
	wide_share float;
	rows int[];
	inserted bigint;
BEGIN
	PERFORM setseed(seed / 1000.0), set_config('runs.rows', 'early', true);
	places := (ARRAY[3, 10, 100, 1000, 100000])[1 + floor(random() * 5)];
	around := floor(random() * places);
	share := (ARRAY[1, 1, 0.1, 0.01])[1 + floor(random() * 4)];
	rows := ARRAY[(ARRAY[50, 300, 1000, 2000])[1 + floor(random() * 4)],
				  (ARRAY[50, 400, 1000, 2000])[1 + floor(random() * 4)]];
	wide := (ARRAY[0, 0, 10, 100, 600, 2600])[1 + floor(random() * 6)];
	wide_share := (ARRAY[0.02, 0.3, 1])[1 + floor(random() * 3)];
	DROP TABLE IF EXISTS run_random;
	CREATE TABLE run_random (k text COLLATE "C", n int, late boolean);
	ALTER TABLE run_random ALTER k SET STORAGE EXTERNAL;	-- not compressed
	INSERT INTO run_random
		SELECT to_char(CASE WHEN late THEN around + floor(random() * places * share)
						ELSE floor(random() * places) END, '000000') ||
				CASE WHEN random() < wide_share THEN repeat('x', floor(random() ^ 2 * wide)::int) ELSE '' END,
			nullif(floor(random() * 5), 0), late
		FROM (SELECT i > rows[1] AS late FROM generate_series(1, rows[1] + rows[2]) i ORDER BY random()) r;
	EXECUTE format('CREATE INDEX run_random_k ON run_random USING sware (%s) %s '
				   'WITH (fillfactor = %s, deduplicate_items = %s) WHERE is_indexed(late)',
		(ARRAY['k', 'k', 'k DESC', 'k, n DESC', 'n, k'])[1 + floor(random() * 5)],
		(ARRAY['', '', 'INCLUDE (n)'])[1 + floor(random() * 3)],
		(ARRAY[100, 100, 90])[1 + floor(random() * 3)], (ARRAY['on', 'on', 'off'])[1 + floor(random() * 3)]);
	-- a run may have entries that the index has already
	PERFORM set_config('runs.rows', (ARRAY['all', 'late', 'late'])[1 + floor(random() * 3)], true);
	inserted := sware_insert_runs('run_random_k', (ARRAY[20, 500, 10000, 10000])[1 + floor(random() * 4)]);
	PERFORM set_config('runs.rows', 'all', true);
	PERFORM sware_check('run_random_k', true);
	RETURN inserted;
EXCEPTION WHEN others THEN
	RAISE WARNING 'seed %: %', seed, SQLERRM;
	RETURN 0;
END $$;
SELECT count(*) AS runs FROM generate_series(1, 300) seed WHERE insert_random(seed) > 0;
RESET client_min_messages;

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
