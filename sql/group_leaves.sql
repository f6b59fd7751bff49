-- The option group_leaves: VACUUM brings scattered leaves into the order of their keys.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SET max_parallel_workers_per_gather = 0;

-- In how many pieces do the leaves lie, each of adjacent blocks in the order of keys? A
-- piece ends where an internal page lies between leaves. How often did VACUUM move one?
CREATE FUNCTION twin_sware.place_of_leaves(index regclass, OUT leaves bigint, OUT pieces bigint,
	OUT moves bigint, OUT blocks bigint) LANGUAGE sql AS $$
	WITH RECURSIVE page AS (
		SELECT p.* FROM generate_series(1,
			pg_relation_size(index) / current_setting('block_size')::int - 1) n, sware_page_stats(index, n) p
		WHERE NOT 'deleted' = ANY (flags)),
	leaf AS (
		SELECT blkno, right_link FROM page WHERE kind = 'leaf' AND left_link IS NULL
		UNION ALL
		SELECT p.blkno, p.right_link FROM leaf, sware_page_stats(index, leaf.right_link) p
		WHERE leaf.right_link IS NOT NULL)
	SELECT count(*), count(*) FILTER (WHERE right_link IS DISTINCT FROM blkno + 1), min(leaf_moves),
		pg_relation_size(index) / current_setting('block_size')::int
	FROM leaf, sware_stats(index) $$;

-- Keys in no order come one by one: each leaf lies somewhere.
SELECT on_both('CREATE TABLE t (k int8, v text)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k)');
SELECT on_both('CREATE INDEX t_v ON t USING @am (v)');
ALTER INDEX twin_sware.t_k SET (buffer_size = 0);
ALTER INDEX twin_sware.t_v SET (buffer_size = 0);
SELECT on_both('INSERT INTO t SELECT k, format(''%s %s'', k % 100, repeat(''x'', (k % 900)::int))
	FROM (SELECT i * 7919::int8 % 40009 AS k FROM generate_series(1, 40009) i) s');
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT * FROM twin_sware.place_of_leaves('twin_sware.t_k') \gset before_
SELECT :before_pieces > 100 AS are_scattered, :before_moves AS moves;

-- With the option they lie in order, and the file is not larger but for the spare page.
ALTER INDEX twin_sware.t_k SET (group_leaves);
ALTER INDEX twin_sware.t_v SET (group_leaves);
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT check_all();
SELECT leaves = :before_leaves AS same_leaves, pieces < 5 AS are_in_order,
	moves > 100 AND moves < leaves * 1.1 AS are_moved_once, blocks <= :before_blocks + 1 AS same_size
FROM twin_sware.place_of_leaves('twin_sware.t_k');
SELECT pieces * 10 < leaves AS are_in_order, moves > 0 AS are_moved
FROM twin_sware.place_of_leaves('twin_sware.t_v');
SELECT same_rows('SELECT k FROM t ORDER BY k'), same_rows('SELECT k FROM t ORDER BY k DESC'),
	same_rows('SELECT v FROM t ORDER BY v, ctid'),
	same_rows('SELECT k, v FROM t WHERE k BETWEEN 20000 AND 21000 ORDER BY k DESC');

-- Where they lie in order, nothing is left to do; nor after a few splits.
SELECT moves FROM twin_sware.place_of_leaves('twin_sware.t_k') \gset before_
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.t_k');
SELECT on_both('INSERT INTO t SELECT 1000, ''y'' FROM generate_series(1, 3000)');
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.t_k');

-- Rows go on coming and dying, more leaves are split, and some are deleted.
SELECT on_both('DELETE FROM t WHERE k BETWEEN 10000 AND 14000');
SELECT on_both('INSERT INTO t SELECT i * 104729::int8 % 40009, ''z'' FROM generate_series(1, 30000) i');
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT check_all();
SELECT pieces * 10 < leaves AS are_in_order, moves > :before_moves AS are_moved
FROM twin_sware.place_of_leaves('twin_sware.t_k');
SELECT same_rows('SELECT k FROM t ORDER BY k'), same_rows('SELECT k FROM t ORDER BY k DESC'),
	same_rows('SELECT v FROM t ORDER BY v, ctid');
SELECT on_both('INSERT INTO t SELECT i * 7919::int8 % 40009, ''z'' FROM generate_series(1, 5000) i');
SELECT check_all(), same_rows('SELECT k FROM t ORDER BY k');

-- The older rows were deleted, and each leaf has few entries left, so that VACUUM soon has
-- nothing left to do.
SELECT on_both('CREATE TABLE few (n int, k int)');
SELECT on_both('CREATE INDEX few_k ON few USING @am (k)');
ALTER INDEX twin_sware.few_k SET (buffer_size = 0, group_leaves = on);
SELECT on_both('INSERT INTO few SELECT i, i * 7919::int8 % 60013 FROM generate_series(1, 60013) i');
SELECT on_both('DELETE FROM few WHERE n < 59800');
VACUUM (INDEX_CLEANUP on) twin_sware.few;
VACUUM (INDEX_CLEANUP on) twin_sware.few;
SELECT pieces * 8 < leaves AS are_in_order, moves
FROM twin_sware.place_of_leaves('twin_sware.few_k') \gset before_
SELECT :'before_are_in_order' AS are_in_order;
VACUUM (INDEX_CLEANUP on) twin_sware.few;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.few_k');
SELECT check_all(), same_rows('SELECT k FROM few ORDER BY k');

-- An index that was built is in order, and one leaf is in no order.
REINDEX INDEX twin_sware.t_k;
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT moves FROM twin_sware.place_of_leaves('twin_sware.t_k') \gset before_
VACUUM (INDEX_CLEANUP on, PARALLEL 0) twin_sware.t;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.t_k');
SELECT on_both('CREATE TABLE small (k int)');
SELECT on_both('CREATE INDEX small_k ON small USING @am (k)');
ALTER INDEX twin_sware.small_k SET (group_leaves);
VACUUM (INDEX_CLEANUP on) twin_sware.small;
SELECT on_both('INSERT INTO small VALUES (2), (1)');
VACUUM (INDEX_CLEANUP on) twin_sware.small;
SELECT leaves, moves FROM twin_sware.place_of_leaves('twin_sware.small_k');
SELECT check_all(), same_rows('SELECT k FROM small ORDER BY k');

-- Leaves of an index in order were split now and then, while it grew at its end. So
-- few of their blocks are adjacent that an order would gain little: nothing is moved.
SELECT on_both('CREATE TABLE apart (a int, b text)');
SELECT on_both('ALTER TABLE apart ALTER b SET STORAGE PLAIN');
SELECT on_both('CREATE INDEX apart_a ON apart USING @am (a, b)');
ALTER INDEX twin_sware.apart_a SET (buffer_size = 0, group_leaves = on);
SELECT on_both('INSERT INTO apart SELECT i, repeat(''b'', 800) FROM generate_series(1, 9000) i');
SELECT on_both('DO $do$ BEGIN FOR n IN 0 .. 60 LOOP
	INSERT INTO apart SELECT 9001 + n * 180 + i, repeat(''b'', 800) FROM generate_series(1, 180) i;
	INSERT INTO apart SELECT 1 + n * 40, i || repeat(''c'', 800) FROM generate_series(1, 8) i;
	END LOOP; END $do$');
SELECT pieces > 150 AS are_scattered FROM twin_sware.place_of_leaves('twin_sware.apart_a');
VACUUM (INDEX_CLEANUP on) twin_sware.apart;
SELECT moves FROM twin_sware.place_of_leaves('twin_sware.apart_a');

-- Of the blocks that are free, only those that are next to others serve. Here every tenth
-- leaf of those in order is deleted, and the scattered ones are put into order behind them.
SELECT on_both('CREATE TABLE gaps (k int, v text)');
SELECT on_both('ALTER TABLE gaps ALTER v SET STORAGE PLAIN');
SELECT on_both('CREATE INDEX gaps_k ON gaps USING @am (k, v)');
ALTER INDEX twin_sware.gaps_k SET (buffer_size = 0, group_leaves = on);
SELECT on_both('INSERT INTO gaps SELECT i, repeat(''x'', 800) FROM generate_series(1, 9000) i');
SELECT on_both('INSERT INTO gaps SELECT 10000 + i * 37 % 2003, repeat(''x'', 800)
	FROM generate_series(1, 2003) i');
DELETE FROM twin_sware.gaps WHERE ctid IN (SELECT htid
	FROM generate_series(10, 900, 10) n, sware_page_items('twin_sware.gaps_k', n) WHERE kind = 'entry');
DELETE FROM twin_nbtree.gaps WHERE k NOT IN (SELECT k FROM twin_sware.gaps);
SELECT pieces > 300 AS are_scattered FROM twin_sware.place_of_leaves('twin_sware.gaps_k');
VACUUM (INDEX_CLEANUP on) twin_sware.gaps;
SELECT pieces BETWEEN 80 AND 130 AS are_in_order, moves > 200 AS are_moved
FROM twin_sware.place_of_leaves('twin_sware.gaps_k');
SELECT check_all(), same_rows('SELECT k FROM gaps ORDER BY k');

-- Pages of level 1 have a few leaves, and the tree is high. From PostgreSQL 17 on,
-- maintenance_work_mem may be too little for that number of leaves; VACUUM warns then.
SELECT on_both('CREATE UNLOGGED TABLE narrow (k text COLLATE "C")');
SELECT on_both('ALTER TABLE narrow ALTER k SET STORAGE PLAIN');
SELECT on_both('CREATE INDEX narrow_k ON narrow USING @am (k)');
ALTER INDEX twin_sware.narrow_k SET (buffer_size = 0, group_leaves = on);
SELECT on_both('INSERT INTO narrow SELECT rpad(lpad((i * 7919 % 30011)::text, 8, ''0''), 1300, ''x'')
	FROM generate_series(1, 30011) i');
SELECT pieces > 5000 AS are_scattered FROM twin_sware.place_of_leaves('twin_sware.narrow_k');
SELECT current_setting('server_version_num')::int >= 170000 AS has_small_limit \gset
SELECT set_config('maintenance_work_mem',
	CASE WHEN :'has_small_limit' THEN '64kB' ELSE '1MB' END, false) <> '' AS is_set;
SET client_min_messages = error;
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
RESET client_min_messages;
SELECT (moves = 0) = :'has_small_limit' AS are_refused FROM twin_sware.place_of_leaves('twin_sware.narrow_k');
RESET maintenance_work_mem;
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
SELECT check_all();
SELECT leaves > 6000 AS are_many, pieces * 3 < leaves AS are_in_order,
	moves BETWEEN 5000 AND leaves * 1.1 AS are_moved_once
FROM twin_sware.place_of_leaves('twin_sware.narrow_k');
SELECT same_rows('SELECT left(k, 8) FROM narrow ORDER BY k'),
	same_rows('SELECT left(k, 8) FROM narrow ORDER BY k DESC');
-- A few splits move nothing, though groups of few leaves are scattered soon.
SELECT moves FROM twin_sware.place_of_leaves('twin_sware.narrow_k') \gset before_
SELECT on_both('INSERT INTO narrow SELECT rpad(lpad((i * 1009 % 30011)::text, 8, ''0'') || ''b'', 1300, ''x'')
	FROM generate_series(1, 20) i');
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.narrow_k');

-- Half of the rows die. Some leaves are empty then, but are the last ones below their pages of
-- level 1 and stay in the tree. Among these, too, VACUUM soon has nothing left to move.
SELECT on_both('DELETE FROM narrow WHERE hashtext(left(k, 8)) % 2 = 0');
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
SELECT count(*) > 10 AS have_empty_leaves
FROM generate_series(1, pg_relation_size('twin_sware.narrow_k') / current_setting('block_size')::int - 1) n,
	sware_page_stats('twin_sware.narrow_k', n) p
WHERE kind = 'leaf' AND NOT 'deleted' = ANY (flags) AND live_items = 0;
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
SELECT moves FROM twin_sware.place_of_leaves('twin_sware.narrow_k') \gset before_
VACUUM (INDEX_CLEANUP on) twin_sware.narrow;
SELECT moves - :before_moves AS moves FROM twin_sware.place_of_leaves('twin_sware.narrow_k');
SELECT check_all(), same_rows('SELECT left(k, 8) FROM narrow ORDER BY k');

-- A temporary index.
CREATE TEMPORARY TABLE own (k int);
CREATE INDEX own_k ON own USING sware (k) WITH (buffer_size = 0, group_leaves = on);
INSERT INTO own SELECT i * 7919 % 10007 FROM generate_series(1, 10007) i;
VACUUM (INDEX_CLEANUP on) own;
SELECT leaf_moves > 10 AS are_moved FROM sware_stats('own_k');
SELECT sware_check('own_k', true);
SELECT count(*), min(k), max(k) FROM own WHERE k > 0;

SELECT drop_twins();
