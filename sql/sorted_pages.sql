-- Buffers whose unsorted pages become sorted pages, which are flushed in the order of their
-- keys. A setting for tests lets small buffers have them; sware.fault_points has this test
-- run with a library that knows it.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET sware.fault_points = '';
SELECT allow_scans('index', 'indexonly', 'bitmap');

-- Numbers in no order, the same in each run of this test.
CREATE FUNCTION scrambled(n bigint) RETURNS int LANGUAGE sql IMMUTABLE AS
	'SELECT hashint8(n) % 1000000';
-- What the buffer of an index has: unsorted pages, sorted ones, and page runs.
CREATE FUNCTION sealed_pages(index regclass, OUT unsorted bigint, OUT sorted bigint) LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE 'sorted' <> ALL (flags)), count(*) FILTER (WHERE 'sorted' = ANY (flags))
	FROM sware_buffer_pages(index) p, sware_page_stats(index, p.block)
	WHERE p.state = 'sealed';
$$;
-- Inserts rows of one transaction after the other.
CREATE PROCEDURE insert_scrambled(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM on_both(format('INSERT INTO t SELECT scrambled(n), n, repeat(chr(97 + n %% 26), n %% 20)
			FROM generate_series(%s * 200 + 1, %s * 200 + 200) n', i, i));
		COMMIT;
	END LOOP;
END $$;

SELECT on_both('CREATE TABLE t (k int, id int, note text)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k) INCLUDE (id)');
SELECT on_both('CREATE INDEX t_note ON t USING @am (note, k)');
ALTER INDEX twin_sware.t_k SET (buffer_size = 320);
ALTER INDEX twin_sware.t_note SET (buffer_size = 320);
-- The first flush finds out that the keys are scrambled.
CALL insert_scrambled(0, 119);
SELECT estimated_k > 50 AND estimated_l > 50 AS is_scrambled FROM sware_stats('twin_sware.t_k');
SELECT unsorted > 8 AS many_are_unsorted, sorted FROM sealed_pages('twin_sware.t_k');
SET sware.fault_pages_to_sort = 8;
CALL insert_scrambled(120, 299);
SELECT unsorted <= 24 AS few_are_unsorted, sorted > 20 AS many_are_sorted
FROM sealed_pages('twin_sware.t_k');
SELECT unsorted <= 24 AS few_are_unsorted, sorted > 20 AS many_are_sorted
FROM sealed_pages('twin_sware.t_note');
SELECT sorted_pages > 50 AS were_sorted, leaf_visits > 0 AS has_visits FROM sware_stats('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
SELECT same_rows('SELECT k FROM t ORDER BY k DESC');
SELECT same_rows('SELECT k, id FROM t WHERE k BETWEEN 1000 AND 50000 ORDER BY k, id');
SELECT same_rows('SELECT k, note FROM t WHERE note >= ''c'' AND note < ''d'' ORDER BY note DESC, k DESC');

-- Rows that die, changed rows, and marks of dead entries.
SELECT on_both('DELETE FROM t WHERE id % 7 = 0 AND k < 0');
SELECT same_rows('SELECT k, id FROM t WHERE k < 0 ORDER BY k, id');
SELECT on_both('UPDATE t SET k = -k WHERE id % 11 = 0');
CALL insert_scrambled(300, 349);
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');

-- Pages with versions of rows.
SELECT on_both('UPDATE t SET note = note || ''!'' WHERE id BETWEEN 20000 AND 20100');
CALL insert_scrambled(900, 929);
SELECT count(*) > 0 AS some_have_versions
FROM sware_buffer_pages('twin_sware.t_k') p, sware_page_stats('twin_sware.t_k', p.block)
WHERE p.state = 'sealed' AND flags @> '{sorted,has_versions}';
SELECT check_all();

-- A smaller quota is swept down to. What is swept does not count as arrivals.
SELECT estimated_k AS k, estimated_l AS l, flushed_pages AS flushed
FROM sware_stats('twin_sware.t_k') \gset
ALTER INDEX twin_sware.t_k SET (buffer_size = 240);
RESET sware.fault_pages_to_sort;
CALL insert_scrambled(930, 933);
SELECT flushed_pages > :flushed AS was_swept, estimated_k = :k AND estimated_l = :l AS is_not_measured
FROM sware_stats('twin_sware.t_k');
ALTER INDEX twin_sware.t_k SET (buffer_size = 80);
SET sware.fault_pages_to_sort = 8;
CALL insert_scrambled(350, 369);
SELECT unsorted + sorted <= 20 AS is_smaller FROM sealed_pages('twin_sware.t_k');
SELECT check_all();

-- A larger one is filled.
ALTER INDEX twin_sware.t_k SET (buffer_size = 640);
CALL insert_scrambled(370, 469);
SELECT unsorted + sorted > 20 AS is_larger FROM sealed_pages('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');

-- Without a reason for sorted pages, those that there are go to the tree, too.
RESET sware.fault_pages_to_sort;
CALL insert_scrambled(470, 569);
SELECT unsorted > 0 AS some_are_unsorted FROM sealed_pages('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
ALTER INDEX twin_sware.t_k SET (buffer_size = 0);
SELECT on_both('INSERT INTO t SELECT -n, n, ''last'' FROM generate_series(1, 10) n');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
ALTER INDEX twin_sware.t_k SET (buffer_size = 640);

-- VACUUM and sware_flush flush everything, also page runs that are not of the sweep that
-- is under way.
SET sware.fault_pages_to_sort = 8;
CALL insert_scrambled(570, 669);
SELECT sorted > 20 AS many_are_sorted
FROM sealed_pages('twin_sware.t_k');
ALTER INDEX twin_sware.t_k SET (buffer_size = 1600);
SELECT flushed_pages AS flushed FROM sware_stats('twin_sware.t_k') \gset
CALL insert_scrambled(5000, 5449);
SELECT flushed_pages > :flushed AS was_swept FROM sware_stats('twin_sware.t_k');
SELECT on_both('DELETE FROM t WHERE id % 3 = 0');
VACUUM twin_sware.t;
VACUUM twin_nbtree.t;
SELECT * FROM sealed_pages('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
CALL insert_scrambled(670, 719);
SELECT sware_flush('twin_sware.t_k') > 0 AS is_flushed;
SELECT * FROM sealed_pages('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');

-- An error between the two steps leaves entries on unsorted and on sorted pages. Scans
-- return them once.
SELECT on_both('TRUNCATE t');
SET sware.fault_points = 'sorted-listed=error';
CALL insert_scrambled(1000, 1099);
RESET sware.fault_points;
SELECT unsorted >= 8 AS some_are_unsorted, sorted >= 8 AS some_are_sorted
FROM sealed_pages('twin_sware.t_note');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
SELECT same_rows('SELECT k FROM t ORDER BY k DESC');
SELECT same_rows('SELECT k, note FROM t WHERE k BETWEEN -50000 AND 50000 ORDER BY k, note');
SELECT allow_scans('bitmap');
SELECT same_rows('SELECT k, id FROM t WHERE k BETWEEN -500000 AND 500000 ORDER BY k, id');
SELECT allow_scans('index', 'indexonly');
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_index_scan_size = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SELECT same_rows('SELECT count(*), sum(k), sum(id) FROM t WHERE k < 900000');
COMMIT;
CALL insert_scrambled(1100, 1149);
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
SELECT same_rows('SELECT note, k FROM t ORDER BY note DESC, k DESC');

-- Such errors, again and again, do not make the buffer grow.
CREATE TABLE twin_sware.again (k int);
CREATE INDEX again_k ON twin_sware.again USING sware (k) WITH (buffer_size = 80);
SET sware.fault_pages_to_sort = 8;
SET sware.fault_points = 'sorted-listed=error';
SELECT format('INSERT INTO twin_sware.again SELECT scrambled(n) FROM generate_series(1, %s) n', 200 + i)
FROM generate_series(1, 80) i \gexec
RESET sware.fault_points;
SET sware.fault_pages_to_sort = 8;
SELECT unsorted + sorted <= 20 AS is_bounded FROM sealed_pages('twin_sware.again_k');
SELECT sware_check('twin_sware.again_k', true) IS NOT NULL AS checked;
DROP TABLE twin_sware.again;

-- The same with a unique index: each key is found once.
SELECT on_both('CREATE TABLE u (k int)');
SELECT on_both('CREATE UNIQUE INDEX u_k ON u USING @am (k)');
ALTER INDEX twin_sware.u_k SET (buffer_size = 320);
CREATE PROCEDURE insert_unique(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM on_both(format('INSERT INTO u SELECT (n * 611953::bigint) %% 1000003
			FROM generate_series(%s * 200 + 1, %s * 200 + 200) n', i, i));
		COMMIT;
	END LOOP;
END $$;
CALL insert_unique(0, 199);
SELECT sorted > 8 AS many_are_sorted
FROM sealed_pages('twin_sware.u_k');
SET sware.fault_points = 'sorted-listed=error';
CALL insert_unique(200, 299);
RESET sware.fault_points;
SELECT same_rows('SELECT k FROM u ORDER BY k');
SELECT count(*) FROM twin_sware.u WHERE k = 611953;
INSERT INTO twin_sware.u VALUES (611953);
INSERT INTO twin_sware.u SELECT max(k) FROM twin_sware.u;
SELECT check_all();
-- If the directory has no room for sorted pages, pages are flushed as they are.
SELECT on_both('TRUNCATE t');
ALTER INDEX twin_sware.t_k SET (buffer_size = 4096);
SET sware.fault_directory_slots = 30;
CALL insert_scrambled(2000, 2099);
SELECT unsorted + sorted <= 30 AS has_slots FROM sealed_pages('twin_sware.t_k');
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
RESET sware.fault_directory_slots;
CALL insert_scrambled(2100, 2149);
SELECT check_all();
SELECT same_rows('SELECT k, id FROM t ORDER BY k, id');
-- Pages are sorted before any are flushed, in whatever order entries arrive.
SET sware.fault_pages_to_sort = 8;
CREATE TABLE fresh (k int) WITH (autovacuum_enabled = off);
CREATE INDEX fresh_k ON fresh USING sware (k) WITH (buffer_size = 640);
CREATE PROCEDURE insert_fresh(key text, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('INSERT INTO fresh SELECT %s FROM generate_series(%s * 200 + 1, %s * 200 + 200) n',
			key, i, i);
		COMMIT;
	END LOOP;
END $$;
INSERT INTO fresh VALUES (-1000000), (1000000);
CALL insert_fresh('scrambled(n)', 0, 79);
SELECT flushed_pages, sorted_pages > 16 AS many_were_sorted FROM sware_stats('fresh_k');
TRUNCATE fresh;
DROP INDEX fresh_k;
CREATE INDEX fresh_k ON fresh USING sware (k) WITH (buffer_size = 640);
INSERT INTO fresh VALUES (-1000000), (1000000);
CALL insert_fresh('n / 10 * 10 + n * 7 % 10', 0, 299);
SELECT flushed_pages > 0 AS some_were_flushed, sorted_pages > 50 AS many_were_sorted
FROM sware_stats('fresh_k');
SELECT sware_check('fresh_k', true);
RESET sware.fault_pages_to_sort;
DROP TABLE fresh;
DROP PROCEDURE insert_fresh;
DROP TABLE twin_sware.t, twin_nbtree.t, twin_sware.u, twin_nbtree.u;
-- An index that is emptied in its file, in the transaction that has made it, numbers its
-- pages anew. A sweep that had begun before leaves out nothing of what comes then.
CREATE PROCEDURE insert_published(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('INSERT INTO emptied SELECT scrambled(n) FROM generate_series(%s, %s) n',
			i * 200, i * 200 + 199);
		COMMENT ON TABLE emptied IS 'publishes what is staged';
	END LOOP;
END $$;
SET sware.fault_pages_to_sort = 8;
BEGIN;
CREATE TABLE emptied (k int);
CREATE INDEX emptied_k ON emptied USING sware (k) WITH (buffer_size = 160);
CALL insert_published(1, 200);
SELECT leaf_visits > 0 AS was_swept FROM sware_stats('emptied_k');
TRUNCATE emptied;
CALL insert_published(201, 300);
COMMIT;
CALL insert_published(301, 400);
SELECT sware_check('emptied_k', true) IS NOT NULL AS checked;
DROP TABLE emptied;
RESET sware.fault_pages_to_sort;
DROP PROCEDURE insert_published;
DROP PROCEDURE insert_scrambled, insert_unique;
DROP FUNCTION scrambled, sealed_pages;
