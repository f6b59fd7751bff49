-- Sorted zones of page runs, compared with the pages. A setting for tests lets small
-- buffers have sorted pages; sware.fault_points has the server know it.
CREATE EXTENSION sware_zones;
SET sware.fault_points = '';
SET sware.fault_buffer = on;
SET sware.fault_pages_to_sort = 8;

-- Each statement commits, so that the rows go to the buffer.
CREATE PROCEDURE run_rows(target text, expression text, first int, last int)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. (last - first) / 100 LOOP
		EXECUTE format('INSERT INTO %s SELECT %s FROM generate_series(%s, %s) i',
			target, expression, first + i * 100, least(first + i * 100 + 99, last));
		COMMIT;
	END LOOP;
END $$;
CREATE FUNCTION scrambled(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT hashint8(i)::bigint % 10000000';

-- What a test can show; other counts depend on where pages became full.
CREATE FUNCTION compare_runs(index regclass, OUT several_runs bool, OUT all_have_zones bool,
	OUT has_filters bool, OUT filters_work bool, OUT some_retired bool)
LANGUAGE sql AS $$
	SELECT r.zones > 2, r.outlined = 0, filters = z.zones, false_positives < 0.04, r.retired > 0
	FROM sware_compare_zones(index) z, sware_run_zones(index) r
$$;

-- Keys of fixed size.
CREATE TABLE run_numbers (k bigint, n int);
CREATE INDEX run_numbers_k ON run_numbers USING sware (k) WITH (buffer_size = 320);
CREATE INDEX run_numbers_desc ON run_numbers USING sware (n DESC, k) WITH (buffer_size = 320);
CALL run_rows('run_numbers', 'scrambled(i), scrambled(i) % 7', 1, 38000);
SELECT several_runs, all_have_zones, has_filters FROM compare_runs('run_numbers_k');
-- A sweep retires the first pages of runs.
CALL run_rows('run_numbers', 'scrambled(i), scrambled(i) % 7', 38001, 60000);
SELECT * FROM compare_runs('run_numbers_k');
SELECT * FROM compare_runs('run_numbers_desc');

-- Keys of all sizes; without abbreviations; large ones, of which there are no anchors.
CREATE TABLE run_texts (a text COLLATE "C", b inet, c text, n bigint);
CREATE INDEX run_texts_a ON run_texts USING sware (a, n) WITH (buffer_size = 320);
CREATE INDEX run_texts_b ON run_texts USING sware (b) INCLUDE (n) WITH (buffer_size = 320);
CREATE INDEX run_texts_c ON run_texts USING sware (c) WITH (buffer_size = 320);
CALL run_rows('run_texts',
	$$repeat(chr(97 + (scrambled(i) % 13 + 13)::int % 13), (scrambled(i) % 40 + 40)::int % 40),
	'10.0.0.0'::inet + abs(scrambled(i)),
	CASE WHEN i % 3 < 2 THEN (SELECT string_agg(md5(scrambled(i)::text || j), '')
		FROM generate_series(1, 50) j) ELSE 'x' || scrambled(i) END, i$$, 1, 24000);
SELECT * FROM compare_runs('run_texts_a');
SELECT * FROM compare_runs('run_texts_b');
SELECT * FROM compare_runs('run_texts_c');

-- Nulls, equal and extreme values.
CREATE TABLE run_shapes (k int, n int);
CREATE INDEX run_shapes_k ON run_shapes USING sware (k NULLS FIRST) WITH (buffer_size = 320);
CREATE INDEX run_shapes_few ON run_shapes USING sware (n, k) WITH (buffer_size = 320, bloom_bits = 0);
CALL run_rows('run_shapes',
	'CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 2147483647 WHEN 2 THEN -2147483648
	ELSE scrambled(i) END, scrambled(i) % 2', 1, 60000);
SELECT several_runs, all_have_zones FROM compare_runs('run_shapes_k');
SELECT several_runs, all_have_zones, has_filters FROM compare_runs('run_shapes_few');

-- Such zones need few chunks: less than a tenth of one for a page, where page runs are
-- as large as those of large buffers.
SET sware.fault_pages_to_sort = 63;
CREATE TABLE run_large (k bigint);
CREATE INDEX run_large_k ON run_large USING sware (k) WITH (buffer_size = 320);
CALL run_rows('run_large', 'scrambled(i)', 1, 30000);
ALTER INDEX run_large_k SET (buffer_size = 4096);
CALL run_rows('run_large', 'scrambled(i)', 30001, 180000);
SELECT * FROM compare_runs('run_large_k');
SELECT pages > 200 AS many_pages, chunks * 10 < pages AS few_chunks, entries > pages * 500 AS full_pages
FROM sware_run_zones('run_large_k');
-- A sweep retires the first pages of each.
CALL run_rows('run_large', 'scrambled(i)', 180001, 300000);
SELECT * FROM compare_runs('run_large_k');

-- All sorted pages that have been written are listed, also where the directory became larger
-- for them: VACUUM would have to find others.
SELECT cardinality(directory_pages) > 1 AS large_directory, (SELECT count(*)
	FROM generate_series(1, pg_relation_size('run_large_k') / current_setting('block_size')::int - 1) block,
		sware_page_stats('run_large_k', block) page
	WHERE page.kind = 'buffer' AND NOT 'deleted' = ANY (page.flags)
		AND block NOT IN (SELECT block FROM sware_buffer_pages('run_large_k'))) AS not_listed
FROM sware_metapage('run_large_k');

SET sware.fault_pages_to_sort = 80;
-- Nobody has looked into the buffer yet. Readers share what they make of it: the first
-- one outlines page runs, in which each entry is found, and each later one builds a zone of
-- some pages, which an outline loses.
CREATE TABLE run_unread (k bigint, t text COLLATE "C", u text);
CREATE INDEX run_unread_k ON run_unread USING sware (k) WITH (buffer_size = 4096);
CREATE INDEX run_unread_t ON run_unread USING sware (t DESC) WITH (buffer_size = 4096);
CREATE INDEX run_unread_u ON run_unread USING sware (u, k) WITH (buffer_size = 4096);
CALL run_rows('run_unread',
	'scrambled(i), repeat(''x'', i % 50) || scrambled(i), (scrambled(i) % 1000)::text', 1, 60000);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_k', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_k', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_t', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_t', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_t', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_u', 1);
SELECT zones > filters AS outlines, filters FROM sware_compare_zones('run_unread_u', 4);
-- Their first pages retire. Then all have zones.
CALL run_rows('run_unread',
	'scrambled(i), repeat(''x'', i % 50) || scrambled(i), (scrambled(i) % 1000)::text', 60001, 70000);
ALTER INDEX run_unread_k SET (buffer_size = 960);
ALTER INDEX run_unread_t SET (buffer_size = 2560);
ALTER INDEX run_unread_u SET (buffer_size = 960);
CALL run_rows('run_unread',
	'scrambled(i), repeat(''x'', i % 50) || scrambled(i), (scrambled(i) % 1000)::text', 70001, 80000);
SELECT zones > filters AS outlines, retired > 0 AS retired FROM sware_compare_zones('run_unread_k', 1);
SELECT zones > filters AS outlines, retired > 0 AS retired FROM sware_compare_zones('run_unread_t', 1);
SELECT zones > filters AS outlines, retired > 0 AS retired FROM sware_compare_zones('run_unread_u', 1);
SELECT * FROM compare_runs('run_unread_k');
SELECT * FROM compare_runs('run_unread_t');
-- What has retired is still in the filters of these few keys.
SELECT several_runs, all_have_zones, has_filters, some_retired FROM compare_runs('run_unread_u');

-- Outlines and zones of pages on which entries are marked already. A marked entry looks like a pivot;
-- one of a block's first row, like a pivot of one column.
SET sware.fault_pages_to_sort = 16;
CREATE TABLE run_marked (a int, k bigint, t text) WITH (fillfactor = 10);
CREATE INDEX run_marked_k ON run_marked USING sware (a, k) INCLUDE (t) WITH (buffer_size = 4096);
CALL run_rows('run_marked', '0, scrambled(i), repeat(''x'', 100)', 1, 6000);
DELETE FROM run_marked WHERE k % 2 = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(t) FROM run_marked WHERE a = 0 AND k < -2000000;
SELECT zones > filters AS outlines FROM sware_compare_zones('run_marked_k', 1);
SELECT several_runs, all_have_zones, has_filters FROM compare_runs('run_marked_k');
SELECT count(*) AS not_found FROM run_marked r
WHERE NOT EXISTS (SELECT FROM run_marked f WHERE f.a = r.a AND f.k = r.k OFFSET 0);
-- Backward, too: such an entry is not taken for the end of a range.
SET enable_sort = off;
SELECT count(*) AS wrong FROM generate_series(-10000000, -2000000, 200000) low,
	LATERAL (SELECT count(t) FROM (SELECT t FROM run_marked
		WHERE a = 0 AND k BETWEEN low AND low + 300000 ORDER BY k DESC OFFSET 0) s) f(found),
	LATERAL (SELECT count(t) FROM run_marked
		WHERE a + 0 = 0 AND k + 0 BETWEEN low AND low + 300000 OFFSET 0) w(wanted)
WHERE found <> wanted;
RESET enable_sort;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- What one statement does for the buffer is bounded, whatever the size of the tree: a
-- sweep goes on by some 32 leaves, and when it begins, too.  A piece of 16 pages would
-- visit 600.
SET sware.fault_pages_to_sort = 8;
CREATE TABLE run_bounded AS SELECT scrambled(i) AS k FROM generate_series(1, 600000) i;
CREATE INDEX run_bounded_k ON run_bounded USING sware (k) WITH (buffer_size = 320);
CREATE TABLE leaf_visits (visits bigint);
CREATE PROCEDURE note_visits(first int, last int) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	FOR i IN first .. last LOOP
		SELECT leaf_visits INTO before FROM sware_stats('run_bounded_k');
		COMMIT;
		INSERT INTO run_bounded SELECT scrambled(j) FROM generate_series(i * 100, i * 100 + 99) j;
		COMMIT;
		INSERT INTO leaf_visits SELECT leaf_visits - before FROM sware_stats('run_bounded_k');
	END LOOP;
END $$;
CALL note_visits(6001, 6800);
SELECT count(*) FILTER (WHERE visits > 100) > 10 AS often_swept, max(visits) < 400 AS bounded
FROM leaf_visits;

-- COMMIT publishes, and flushes nothing: if it did, one of these would fail.  The next
-- inserts flush.
SELECT flushes AS flushes_before FROM sware_stats('run_bounded_k') \gset
CREATE PROCEDURE commit_rows(first int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. first + 40 LOOP
		INSERT INTO run_bounded SELECT scrambled(j) FROM generate_series(i * 250, i * 250 + 249) j;
		PERFORM set_config('sware.fault_points', 'flush-sorted=error,sorted-written=error', false);
		COMMIT;
		PERFORM set_config('sware.fault_points', '', false);
	END LOOP;
END $$;
CALL commit_rows(4000);
SELECT flushes > :flushes_before AS flushed FROM sware_stats('run_bounded_k');

-- No memory is lost.
SELECT total - unused - used AS lost FROM sware_count_chunks();
DROP TABLE run_numbers, run_texts, run_shapes, run_large, run_unread, run_marked, run_bounded, leaf_visits;
DROP PROCEDURE run_rows, note_visits, commit_rows;
DROP FUNCTION compare_runs, scrambled;
DROP EXTENSION sware_zones;
