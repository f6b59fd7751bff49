-- Scans of indexes whose entries are partly in the buffer and partly in
-- the tree.
SET sware.fault_buffer = on;
SELECT on_both('CREATE TABLE t (a int, b int, c text)');
SELECT on_both('INSERT INTO t SELECT i * 7 % 3001, i % 10, md5(i::text) FROM generate_series(1, 3000) i');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('CREATE INDEX t_b_a ON t USING @am (b, a DESC)');
SELECT on_both('CREATE INDEX t_c ON t USING @am (c)');
-- Entries of small transactions stay in the buffer: in no order, some of them between
-- the tree's entries and some above, with nulls and many duplicates of one key.
DO $$
DECLARE
	twin text;
	one_row text := '(i * 31 + n * 7919) % 5003, n % 10, md5((i * n)::text)';
BEGIN
	FOR i IN 1 .. 40 LOOP
		FOREACH twin IN ARRAY '{twin_nbtree,twin_sware}'::text[] LOOP
			EXECUTE format('INSERT INTO %I.t SELECT %s FROM generate_series(1, 40) n, (VALUES (%s)) v(i)',
				twin, one_row, i);
			EXECUTE format('INSERT INTO %I.t
				VALUES (NULL, %s, NULL), (1500, 3, ''same''), (%s, NULL, ''same'')', twin, i, i);
			EXECUTE format('UPDATE %I.t SET b = b + 1 WHERE a = %s', twin, 3000 + i);
		END LOOP;
		COMMIT;
	END LOOP;
END
$$;
SELECT on_both('DELETE FROM t WHERE a % 13 = 4');
SELECT on_both('ANALYZE t');
SET max_parallel_workers_per_gather = 0;
-- The number of entries in the buffer.
CREATE VIEW buffered AS
	SELECT relname, buffer_entries FROM pg_class, sware_stats(oid)
	WHERE relnamespace = 'twin_sware'::regnamespace AND relname LIKE 't\__%';
SELECT * FROM buffered ORDER BY 1;

-- The same queries by each kind of scan.
CREATE FUNCTION all_questions(VARIADIC ways text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM allow_scans(VARIADIC ways);
	RETURN QUERY
		SELECT format('%s: %s', query, same_rows(query))
		FROM unnest(ARRAY[
			'SELECT a FROM t WHERE a = 1500',
			'SELECT a FROM t WHERE a = 1500::bigint',
			'SELECT a FROM t WHERE a = 99999999999',
			'SELECT a FROM t WHERE a > 2900 AND a <= 3100 ORDER BY a',
			'SELECT a FROM t WHERE a > 2900 AND a <= 3100 ORDER BY a DESC',
			'SELECT a FROM t WHERE a < 10::smallint ORDER BY a',
			'SELECT a FROM t WHERE a IN (1, 1500, 1501, 2999, 4000, 4001, 6000) ORDER BY a',
			'SELECT a FROM t WHERE a IN (1, 1500, 1501, 2999, 4000, 4001, 6000) ORDER BY a DESC',
			'SELECT a FROM t WHERE a IS NULL',
			'SELECT a FROM t WHERE a IS NOT NULL AND a > 4900 ORDER BY a',
			'SELECT b, a FROM t WHERE b = 3 AND a BETWEEN 1000 AND 3500 ORDER BY a DESC',
			'SELECT b, a FROM t WHERE b IN (2, 3, 11) AND a IN (1500, 3001, 3002, 4002) ORDER BY b, a DESC',
			'SELECT b, a FROM t WHERE b >= 8 AND a % 5 = 0 ORDER BY b, a DESC',
			'SELECT b, a FROM t WHERE b IS NULL ORDER BY a',
			'SELECT c FROM t WHERE c = md5(''40'')',
			'SELECT c FROM t WHERE c > ''f'' ORDER BY c',
			'SELECT c FROM t WHERE c > ''f'' ORDER BY c DESC',
			'SELECT c FROM t WHERE c IN (md5(''40''), md5(''41''), ''same'') ORDER BY c'
		]) query;
END
$$;
SELECT all_questions('index');
SELECT all_questions('indexonly');
SELECT all_questions('bitmap');

-- The plans are the kinds of scan that are meant. Rows with equal keys are returned in
-- the order of the table.
SELECT allow_scans('index');
SELECT compare('SELECT ctid, a FROM t ORDER BY a');
SELECT compare('SELECT ctid, c FROM t ORDER BY c');
SELECT mirrored('SELECT ctid, a FROM t ORDER BY a', 'SELECT ctid, a FROM t ORDER BY a DESC');
SELECT mirrored('SELECT ctid, b, a FROM t ORDER BY b, a DESC', 'SELECT ctid, b, a FROM t ORDER BY b DESC, a');
SELECT compare('SELECT a FROM t ORDER BY a LIMIT 3');
SELECT compare('SELECT a FROM t WHERE a IS NOT NULL ORDER BY a DESC LIMIT 3');
SELECT allow_scans('indexonly');
SELECT compare('SELECT a FROM t ORDER BY a DESC');
SELECT compare('SELECT min(a), max(a) FROM t');
SELECT allow_scans('bitmap');
SELECT compare('SELECT ctid, b FROM t WHERE a > 1490 AND a < 1510');
SELECT compare('SELECT ctid FROM t WHERE a < 100 OR a > 4900');

-- Cursors that change their direction, at both ends too.
SELECT allow_scans('index', 'indexonly');
SELECT query, walk('twin_sware', query, steps) = walk('twin_nbtree', query, steps) AS same
FROM (SELECT '{next,next,prior,prior,prior,next,+500,prior,next,-500,next,end,prior,prior,next,next,next,
	prior,last,prior,first,prior,next,+500,+500,-500,first,next,+500,
	+500,+500,+500,+500,+500,+500,+500,+500,prior}'::text[]) s(steps),
	 unnest('{SELECT a FROM t ORDER BY a,
			  SELECT a FROM t ORDER BY a DESC,
			  SELECT c FROM t ORDER BY c,
			  SELECT a FROM t WHERE a > 2900 AND a < 3100 ORDER BY a,
			  SELECT a FROM t WHERE a > 4000 ORDER BY a,
			  SELECT a FROM t WHERE a = 1500 ORDER BY a,
			  SELECT a FROM t WHERE a > 9000 ORDER BY a,
			  SELECT a FROM t WHERE a IN (1\, 1500\, 4000\, 4001) ORDER BY a DESC}'::text[]) query;

-- A cursor is open while all entries are moved to the tree.
BEGIN;
DECLARE before_flush SCROLL CURSOR FOR SELECT a FROM twin_sware.t WHERE a > 2980 ORDER BY a;
FETCH 5 FROM before_flush;
SELECT sware_flush('twin_sware.t_a') > 1000 AS flushed;
FETCH 5 FROM before_flush;
FETCH BACKWARD 11 FROM before_flush;
MOVE FORWARD ALL IN before_flush;
FETCH BACKWARD 2 FROM before_flush;
ROLLBACK;
SELECT * FROM buffered ORDER BY 1;

-- Merge joins go back to marked positions.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SET enable_sort = off;
SELECT allow_scans('index', 'indexonly');
SELECT compare('SELECT x.c, y.c FROM t x JOIN t y ON x.c = y.c');
SELECT compare('SELECT x.b, y.ctid FROM t x JOIN t y ON x.b = y.b AND x.a = y.a');
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_material;
RESET enable_sort;

-- A flush that fails before it retires pages leaves entries in both places.
SELECT buffer_entries > 0 AS are_in_buffer, stored_entries('twin_sware.t_c') AS in_tree
FROM buffered WHERE relname = 't_c';
SET sware.fault_points = 'flush-inserted=error';
SELECT sware_flush('twin_sware.t_c');
SELECT sware_flush('twin_sware.t_b_a');
RESET sware.fault_points;
SELECT buffer_entries > 0 AS are_in_buffer, stored_entries('twin_sware.t_c') AS in_tree
FROM buffered WHERE relname = 't_c';
SELECT all_questions('index');
SELECT all_questions('indexonly');
SELECT all_questions('bitmap');
SELECT allow_scans('index');
SELECT compare('SELECT ctid, c FROM t ORDER BY c');
SELECT mirrored('SELECT ctid, b, a FROM t ORDER BY b, a DESC', 'SELECT ctid, b, a FROM t ORDER BY b DESC, a');
SELECT walk('twin_sware', query, steps) = walk('twin_nbtree', query, steps) AS same
FROM (SELECT '{next,next,prior,+500,prior,next,-500,next,end,prior,
	prior,next,next,next,prior,last,prior,first,next}'::text[]) s(steps),
	 unnest('{SELECT c FROM t ORDER BY c, SELECT c FROM t ORDER BY c DESC}'::text[]) query;
SELECT check_all();

-- A cursor has returned the last entry of a leaf when all are moved. Its first batch of the
-- buffer, 8 entries, ends with the first one of the next leaf, whose old first one is gone.
-- So it goes on behind the entry returned last, and not behind what is left of a way backward.
CREATE TABLE moved (a int, place text) WITH (autovacuum_enabled = off);
INSERT INTO moved SELECT i * 100, 'tree' FROM generate_series(1, 1000) i;
CREATE INDEX moved_a ON moved USING sware (a);
SELECT heap_tids * 100 AS last_of_leaf FROM sware_page_stats('moved_a', 1) WHERE kind = 'leaf' \gset
DELETE FROM moved WHERE a = :last_of_leaf + 100;
VACUUM (INDEX_CLEANUP on) moved;
INSERT INTO moved SELECT :last_of_leaf - i, 'buffer' FROM generate_series(1, 7) i;
INSERT INTO moved SELECT :last_of_leaf + 150 + i, 'buffer' FROM generate_series(1, 10) i;
SELECT allow_scans('index');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a - :last_of_leaf AS behind, place FROM moved
	WHERE a > :last_of_leaf - 2500 ORDER BY a;
MOVE 7 IN c;
FETCH BACKWARD 1 FROM c;
MOVE 25 IN c;
FETCH 1 FROM c;
SELECT sware_flush('moved_a') AS moved;
FETCH 11 FROM c;
COMMIT;
DROP TABLE moved;

-- An exclusion constraint finds entries of running transactions, in the buffer too.
CREATE TABLE excluding (a int, EXCLUDE USING sware (a WITH =));
INSERT INTO excluding VALUES (1), (2);
INSERT INTO excluding VALUES (3), (2);
INSERT INTO excluding VALUES (3), (3);
INSERT INTO excluding VALUES (3);
SELECT buffer_entries > 0 AS are_in_buffer FROM sware_stats('excluding_a_excl');
SELECT a FROM excluding ORDER BY a;
DROP TABLE excluding;

DROP VIEW buffered;
DROP FUNCTION all_questions;
SELECT drop_twins();
