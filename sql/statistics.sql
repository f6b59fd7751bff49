-- The statistics of an index, and sware_flush.
SET sware.fault_buffer = on;
CREATE TABLE twin_sware.t (a int, b text);
CREATE INDEX t_a ON twin_sware.t USING sware (a);
CREATE INDEX t_nbtree ON twin_sware.t USING btree (a);
-- The counters of an index, without times.
CREATE VIEW twin_sware.counted AS
    SELECT buffer_entries, buffer_pages, round(estimated_k::numeric, 2) AS k,
        round(estimated_l::numeric, 2) AS l,
           entries_buffered AS buffered, entries_appended + entries_inserted AS stored,
           flushes, flushed_pages, flushed_entries
    FROM sware_stats('twin_sware.t_a');
SELECT * FROM sware_stats('twin_sware.t_a');

-- A few rows stay in the buffer until they are flushed.
INSERT INTO twin_sware.t SELECT i FROM generate_series(1, 100) i;
SELECT * FROM twin_sware.counted;
SELECT sware_flush('twin_sware.t_a');
SELECT * FROM twin_sware.counted;
SELECT sware_flush('twin_sware.t_a');
SELECT flush_time > 0 AS took_time, stats_since <= now() AS was_counted_since
FROM sware_stats('twin_sware.t_a');
-- Entries that this transaction has staged are flushed as well, rolled back or not.
BEGIN;
INSERT INTO twin_sware.t SELECT i FROM generate_series(101, 110) i;
SELECT sware_flush('twin_sware.t_a');
ROLLBACK;
SELECT * FROM twin_sware.counted;
SELECT sware_check('twin_sware.t_a', true);

-- Entries from several pages of the buffer, of which one is out of order.
DO $$
BEGIN
    FOR i IN 1..30 LOOP
        INSERT INTO twin_sware.t SELECT 1000 + i * 100 + n FROM generate_series(1, 100) n;
        COMMIT;
    END LOOP;
END
$$;
INSERT INTO twin_sware.t VALUES (2500);
SELECT buffer_entries, buffer_pages FROM twin_sware.counted;
SELECT sware_check('twin_sware.t_a', true);
SELECT sware_flush('twin_sware.t_a');
SELECT * FROM twin_sware.counted;
SELECT entries_appended > 2000 AS mostly_appended FROM sware_stats('twin_sware.t_a');
SELECT sware_check('twin_sware.t_a', true);

-- Each statement is large enough to go straight to the tree; a new index begins
-- with new counters.
CREATE FUNCTION twin_sware.load(query text,
    OUT k numeric, OUT l numeric, OUT appended int8, OUT inserted int8, OUT buffered int8)
LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE IF EXISTS twin_sware.loaded;
    CREATE TABLE twin_sware.loaded (a int8);
    CREATE INDEX loaded_a ON twin_sware.loaded USING sware (a);
    EXECUTE 'INSERT INTO twin_sware.loaded ' || query;
    PERFORM sware_check('twin_sware.loaded_a');
    SELECT round(estimated_k::numeric, 2), round(estimated_l::numeric, 2),
           entries_appended, entries_inserted, entries_buffered
    INTO k, l, appended, inserted, buffered
    FROM sware_stats('twin_sware.loaded_a');
END
$$;
SET client_min_messages = warning;
-- Rows in order.
SELECT k, l, appended + inserted AS stored, appended > 19000 AS mostly_appended, buffered
FROM twin_sware.load('SELECT i FROM generate_series(1, 20000) i');
-- One of 10,000 rows is 2,000 places too late, or too early.
SELECT k, l FROM twin_sware.load('SELECT CASE i WHEN 7000 THEN 5000 ELSE i END
	FROM generate_series(1, 10000) i');
SELECT k, l FROM twin_sware.load('SELECT CASE i WHEN 5000 THEN 7000 ELSE i END
	FROM generate_series(1, 10000) i');
-- Every hundredth row is 500 places too late.
SELECT k, l FROM twin_sware.load('SELECT CASE i % 100 WHEN 0 THEN i - 500 ELSE i END
	FROM generate_series(1, 10000) i');
-- All neighbours have changed places: many rows are out of order, but not by much.
SELECT k, l FROM twin_sware.load('SELECT i # 1 FROM generate_series(0, 9999) i');
-- Rows in falling order, and in no order at all.
SELECT k, l FROM twin_sware.load('SELECT -i FROM generate_series(1, 10000) i');
SELECT k > 50 AS k, l > 50 AS l
FROM twin_sware.load('SELECT i * 7919::int8 % 10007 FROM generate_series(1, 10000) i');

-- Averages of several sorts, weighted by their entries.
CREATE TABLE twin_sware.mixed (a int8);
CREATE INDEX mixed_a ON twin_sware.mixed USING sware (a);
INSERT INTO twin_sware.mixed SELECT i FROM generate_series(1, 30000) i;
INSERT INTO twin_sware.mixed SELECT -i FROM generate_series(1, 10000) i;
SELECT estimated_k BETWEEN 25 AND 27 AS k, estimated_l BETWEEN 25 AND 27 AS l
FROM sware_stats('twin_sware.mixed_a');
DROP TABLE twin_sware.mixed, twin_sware.loaded;

-- The view has every sware index, and no other.
CREATE TEMP TABLE own (a int);
CREATE INDEX own_a ON own USING sware (a);
SELECT schemaname ~ '^pg_temp' AS is_temporary, indexrelname,
	indexrelid::regclass = 'own_a'::regclass AS is_own_a,
       relid = 'own'::regclass AS is_own, buffer_entries
FROM pg_stat_sware
WHERE relid IN ('own'::regclass, 'twin_sware.t'::regclass)
ORDER BY indexrelname;
-- A temporary index has no buffer.
INSERT INTO own VALUES (1), (2);
SELECT sware_flush('own_a');
SELECT buffer_entries, entries_buffered, entries_inserted FROM sware_stats('own_a');
-- An index that is not built yet has no pages.
UPDATE twin_sware.t SET b = a;
CREATE INDEX CONCURRENTLY t_failed ON twin_sware.t USING sware ((a / (a - 2500)));
SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'twin_sware.t_failed'::regclass;
SELECT sware_flush('twin_sware.t_failed'), buffer_pages FROM sware_stats('twin_sware.t_failed');
DROP INDEX twin_sware.t_failed;

-- Wrong objects.
SELECT sware_stats('twin_sware.t');
SELECT sware_stats('twin_sware.t_nbtree');
SELECT sware_stats(0), sware_stats(NULL);
SELECT sware_flush('twin_sware.t');
SELECT sware_flush('twin_sware.t_nbtree');
SELECT sware_flush(0);
SELECT sware_flush(NULL);
DROP TABLE twin_sware.t CASCADE;
DROP FUNCTION twin_sware.load(text);

-- Bloom filters: keys arrive scrambled, and some of them and some other keys are looked
-- up. The first look-up finds unsorted pages, and sorts them.
CREATE TABLE twin_sware.bloom (k int);
CREATE INDEX bloom_k ON twin_sware.bloom USING sware (k);
DO $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		INSERT INTO twin_sware.bloom SELECT (i * 100 + j) * 7919 % 20011 * 2 FROM generate_series(1, 100) j;
		COMMIT;
	END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*) FROM twin_sware.bloom WHERE k > 0;
SELECT count(*) > 0 AS found_some FROM generate_series(1, 300) i,
	LATERAL (SELECT FROM twin_sware.bloom WHERE k = i * 2) x;
SELECT count(*) AS found_others FROM generate_series(1, 300) i,
	LATERAL (SELECT FROM twin_sware.bloom WHERE k = i * 2 + 1) x;
SELECT bloom_probes >= 300 AS probed, bloom_false_positives < bloom_probes / 10 AS mostly_right
FROM sware_stats('twin_sware.bloom_k');
RESET enable_seqscan;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
DROP TABLE twin_sware.bloom;

-- Look-ups for unique keys do not count as scans of an index, so that one that is never
-- scanned shows; those of statements do.
CREATE FUNCTION scans_of_both() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(schemaname || ': ' || idx_scan || ', ' || idx_tup_read, '; ' ORDER BY schemaname)
	FROM pg_stat_user_indexes WHERE indexrelname = 'looked_k'
$$;
SELECT on_both('CREATE TABLE looked (k int)');
SELECT on_both('CREATE UNIQUE INDEX looked_k ON looked USING @am (k)');
CREATE PROCEDURE insert_unique(target text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 500 LOOP
		EXECUTE format('INSERT INTO %s VALUES (%s)', target, i * 7919 % 10007);
		COMMIT;
	END LOOP;
	EXECUTE format('INSERT INTO %s SELECT generate_series(20000, 20500)', target);
	COMMIT;
	FOR i IN 1 .. 100 LOOP
		BEGIN
			EXECUTE format('INSERT INTO %s VALUES (%s)', target, i * 7919 % 10007);
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
	END LOOP;
END $$;
CALL insert_unique('twin_nbtree.looked');
CALL insert_unique('twin_sware.looked');
SELECT pg_stat_force_next_flush();
SELECT scans_of_both();
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT on_both('SELECT FROM looked WHERE k = 7919');
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT pg_stat_force_next_flush();
SELECT scans_of_both();
DROP PROCEDURE insert_unique;
DROP FUNCTION scans_of_both;
SELECT drop_twins();
