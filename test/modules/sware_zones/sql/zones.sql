-- What shared memory knows about buffer pages, compared with the pages.
LOAD 'sware';
SET sware.fault_buffer = on;
CREATE EXTENSION sware_zones;

-- Each statement commits, so that the rows go to the buffer.
CREATE PROCEDURE insert_numbers(target text, expression text, first int, last int)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. (last - first) / 20 LOOP
		EXECUTE format('INSERT INTO %s SELECT %s FROM generate_series(%s, %s) i',
			target, expression, first + i * 20, least(first + i * 20 + 19, last));
		COMMIT;
	END LOOP;
END $$;

-- What a test can show. Other counts depend on where pages became full.
CREATE FUNCTION compare_zones(index regclass, OUT has_zones bool, OUT is_crowded bool,
	OUT has_zonemaps bool, OUT has_filters bool, OUT filters_work bool)
LANGUAGE sql AS $$
	SELECT zones > 0, unsorted > greatest(1, least(16, sealed / 10)),
		CASE WHEN unsorted > 0 THEN zonemaps = unsorted END,
		zones > 0 AND filters = zones, false_positives < 0.04
	FROM sware_compare_zones(index)
$$;

-- Keys of fixed size, scrambled; in several sorted zones.
CREATE TABLE zone_numbers (k bigint);
CREATE INDEX zone_numbers_k ON zone_numbers USING sware (k) WITH (buffer_size = 8192);
SELECT * FROM sware_compare_zones('zone_numbers_k');
CALL insert_numbers('zone_numbers', 'i::bigint * 7919 % 1000003 * 4000000007', 1, 400);
SELECT * FROM sware_compare_zones('zone_numbers_k');
CALL insert_numbers('zone_numbers', 'i::bigint * 7919 % 1000003 * 4000000007', 401, 3000);
SELECT * FROM compare_zones('zone_numbers_k');
CALL insert_numbers('zone_numbers', 'i::bigint * 7919 % 1000003 * 4000000007', 3001, 35000);
SELECT * FROM compare_zones('zone_numbers_k');
CALL insert_numbers('zone_numbers', 'i::bigint * 7919 % 1000003 * 4000000007', 35001, 40000);
SELECT * FROM compare_zones('zone_numbers_k');
SELECT zones FROM sware_compare_zones('zone_numbers_k');

-- In order; far from evenly spread; extreme and equal values; nulls.
CREATE TABLE zone_shapes (k int, n int8);
CREATE INDEX zone_shapes_asc ON zone_shapes USING sware (k) WITH (buffer_size = 8192);
CREATE INDEX zone_shapes_desc ON zone_shapes USING sware (k DESC, n) WITH (buffer_size = 8192);
CREATE INDEX zone_shapes_nulls ON zone_shapes USING sware (k NULLS FIRST)
	INCLUDE (n) WITH (buffer_size = 8192);
CALL insert_numbers('zone_shapes', 'i, i', 1, 4000);
CALL insert_numbers('zone_shapes',
	'(CASE i % 3 WHEN 0 THEN 1 ELSE -1 END * exp(i / 200.0))::int, i', 1, 4000);
CALL insert_numbers('zone_shapes',
	'CASE i % 4 WHEN 0 THEN 2147483647 WHEN 1 THEN -2147483648 WHEN 2 THEN 7 END, i', 1, 4000);
SELECT * FROM compare_zones('zone_shapes_asc');
SELECT * FROM compare_zones('zone_shapes_desc');
SELECT * FROM compare_zones('zone_shapes_nulls');

-- All keys are equal: a filter can exclude none of them.
CREATE TABLE zone_same (k smallint);
CREATE INDEX zone_same_k ON zone_same USING sware (k) WITH (buffer_size = 8192);
CALL insert_numbers('zone_same', '3', 1, 6000);
SELECT * FROM compare_zones('zone_same_k');

-- Keys of all sizes.
CREATE TABLE zone_texts (k text, n int);
CREATE INDEX zone_texts_k ON zone_texts USING sware (k, n) WITH (buffer_size = 8192);
CALL insert_numbers('zone_texts', $$repeat(md5(i::text), i % 7) || repeat('y', i % 300), i$$, 1, 5300);
CALL insert_numbers('zone_texts',
	$$(SELECT string_agg(md5(i::text || j), '') FROM generate_series(1, 70) j), i$$, 1, 40);
SELECT * FROM compare_zones('zone_texts_k');
CALL insert_numbers('zone_texts', $$i, i$$, 1, 1000);
SELECT * FROM compare_zones('zone_texts_k');

-- Classes that hash with their equality, or not at all, or store another type.
CREATE TABLE zone_types (a name, b int[], c varchar, d numeric, e timestamptz, f money);
CREATE INDEX zone_types_a ON zone_types USING sware (a);
CREATE INDEX zone_types_b ON zone_types USING sware (b);
CREATE INDEX zone_types_c ON zone_types USING sware (c);
CREATE INDEX zone_types_d ON zone_types USING sware (d);
CREATE INDEX zone_types_e ON zone_types USING sware (e);
CREATE INDEX zone_types_f ON zone_types USING sware (f);
CALL insert_numbers('zone_types', $$md5(i::text), ARRAY[i % 100, i], md5(i::text), i / 7.0,
	'2000-01-01Z'::timestamptz + (i * 7919 % 4000) * interval '1 hour', i::money$$, 1, 4000);
SELECT count(compare_zones(('zone_types_' || letter)::regclass))
FROM unnest(ARRAY['a', 'b', 'c', 'd', 'e', 'f']) AS letter;
CALL insert_numbers('zone_types', $$md5(i::text), ARRAY[i % 100, i], md5(i::text), i / 7.0,
	'2000-01-01Z'::timestamptz + (i * 7919 % 4000) * interval '1 minute', i::money$$, 4001, 4420);
SELECT index, zones.* FROM unnest(ARRAY['a', 'b', 'c', 'd', 'e', 'f']) AS letter,
	format('zone_types_%s', letter) AS index, compare_zones(index::regclass) AS zones ORDER BY 1;

-- Options.
CREATE TABLE zone_options (k bigint);
CREATE INDEX zone_options_never ON zone_options USING sware (k) WITH (sort_threshold = 100);
CREATE INDEX zone_options_small ON zone_options USING sware (k) WITH (bloom_bits = 1);
CREATE INDEX zone_options_large ON zone_options USING sware (k) WITH (bloom_bits = 32);
CREATE INDEX zone_options_none ON zone_options USING sware (k) WITH (bloom_bits = 0);
CALL insert_numbers('zone_options', 'i::bigint * 7919 % 1000003', 1, 10000);
SELECT zones, unsorted = sealed AS all_unsorted, zonemaps = unsorted AS has_zonemaps
FROM sware_compare_zones('zone_options_never');
SELECT zones > 0 AS has_zones, filters FROM sware_compare_zones('zone_options_none');
SELECT has_filters FROM compare_zones('zone_options_small');
SELECT has_filters FROM compare_zones('zone_options_large');
CALL insert_numbers('zone_options', 'i::bigint * 7919 % 1000003', 10001, 10800);
SELECT filters > 0 AS has_filters, false_positives BETWEEN 0.5 AND 0.8 AS filters_work
FROM sware_compare_zones('zone_options_small');
SELECT filters > 0 AS has_filters, false_positives < 0.002 AS filters_work
FROM sware_compare_zones('zone_options_large');
ALTER INDEX zone_options_never RESET (sort_threshold);
SELECT * FROM compare_zones('zone_options_never');
CREATE INDEX ON zone_options USING sware (k) WITH (sort_threshold = 0);
CREATE INDEX ON zone_options USING sware (k) WITH (bloom_bits = 33);

-- A buffer may have twice its quota, and then a third of its directory is left for
-- pages that have retired.
SELECT quota FROM sware_quota('zone_options_small');
ALTER INDEX zone_options_small SET (buffer_size = 4194304);
SELECT quota > 100000 AS is_large, slots - 2 * quota >= slots / 3 AS leaves_room
FROM sware_quota('zone_options_small');
ALTER INDEX zone_options_small RESET (buffer_size);

-- Flushes take the oldest pages; sorted zones of other pages stay.
CREATE TABLE zone_flushed (k int, t text);
CREATE INDEX zone_flushed_k ON zone_flushed USING sware (k) INCLUDE (t) WITH (buffer_size = 512);
CALL insert_numbers('zone_flushed', 'i * 31 % 5000, repeat(md5(i::text), 10)', 1, 1200);
SELECT zones > 0 AS has_zones FROM sware_compare_zones('zone_flushed_k');
CALL insert_numbers('zone_flushed', 'i * 31 % 5000, repeat(md5(i::text), 10)', 1201, 2000);
SELECT buffer_generation > 1 AS was_flushed FROM sware_metapage('zone_flushed_k');
SELECT has_zones, is_crowded, has_zonemaps FROM compare_zones('zone_flushed_k');
CALL insert_numbers('zone_flushed', 'i * 31 % 5000, repeat(md5(i::text), 10)', 2001, 5000);
SELECT has_zones, is_crowded, has_zonemaps FROM compare_zones('zone_flushed_k');
SELECT sware_flush('zone_flushed_k') > 0 AS flushed;
SELECT * FROM sware_compare_zones('zone_flushed_k');
CALL insert_numbers('zone_flushed', 'i * 31 % 5000, repeat(md5(i::text), 10)', 5001, 5800);
SELECT has_zones, is_crowded, has_zonemaps FROM compare_zones('zone_flushed_k');

-- Small sorted zones are merged with those before, entries of all sizes included; so
-- there are few.
CREATE TABLE zone_merged (k int, t text, zones int);
CREATE INDEX zone_merged_k ON zone_merged USING sware (k) WITH (buffer_size = 8192, sort_threshold = 1);
CREATE INDEX zone_merged_t ON zone_merged USING sware (t, k) WITH (buffer_size = 8192, sort_threshold = 1);
CREATE PROCEDURE merge_zones(index regclass, rounds int, INOUT most int, INOUT has_merged bool)
LANGUAGE plpgsql AS $$
DECLARE
	before int := 0;
	now int;
BEGIN
	most := 0;
	has_merged := false;
	FOR i IN 1 .. rounds LOOP
		CALL insert_numbers('zone_merged', 'i * 7919 % 100003, repeat(md5(i::text), i % 5)',
			i * 800, i * 800 + 799);
		SELECT zones INTO now FROM sware_compare_zones(index);
		most := greatest(most, now);
		has_merged := has_merged OR now < before;
		before := now;
	END LOOP;
END $$;
CALL merge_zones('zone_merged_k', 24, NULL, NULL);
CALL merge_zones('zone_merged_t', 16, NULL, NULL);

-- The oldest pages of a sorted zone retire: it goes, and a zone is made of the others.
CREATE TABLE zone_retired (k int, t text);
CREATE INDEX zone_retired_k ON zone_retired USING sware (k)
	INCLUDE (t) WITH (buffer_size = 512, flush_fraction = 5);
-- What a scan of some kind finds, in both directions.
CREATE FUNCTION found_by(kind text, low int, high int, OUT rows bigint, OUT up text, OUT down text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_' || other, (other = kind)::text, true)
		FROM unnest('{indexscan,bitmapscan,seqscan,indexonlyscan}'::text[]) other;
	SELECT count(*), md5(string_agg(k || t, ',')) INTO rows, up
	FROM (SELECT k, t FROM zone_retired WHERE k BETWEEN low AND high ORDER BY k) s;
	SELECT md5(string_agg(k || t, ',')) INTO down
	FROM (SELECT k, t FROM zone_retired WHERE k BETWEEN low AND high ORDER BY k DESC) s;
END $$;
CREATE FUNCTION count_differences(distance int) RETURNS bigint
LANGUAGE sql AS $$
	SELECT count(*)
	FROM generate_series(0, 30011, distance) low,
		found_by('indexscan', low, low + distance + 7) a,
		found_by('bitmapscan', low, low + distance + 7) b,
		found_by('seqscan', low, low + distance + 7) c
	WHERE a IS DISTINCT FROM c OR b IS DISTINCT FROM c
$$;
-- Keys differ, so that there is one order only.
CREATE PROCEDURE retire_pages(first int, rounds int, INOUT became_fewer bool, INOUT wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
	before int := 0;
	now record;
BEGIN
	became_fewer := false;
	wrong := 0;
	FOR i IN 0 .. rounds - 1 LOOP
		CALL insert_numbers('zone_retired', 'i * 7919 % 30011, repeat(md5(i::text), i % 12)',
			first + i * 100, first + i * 100 + 99);
		SELECT * INTO now FROM sware_compare_zones('zone_retired_k');
		became_fewer := became_fewer OR now.sorted < before;
		wrong := wrong + (now.retired > 0)::int;
		before := now.sorted;
		wrong := wrong + count_differences(10000);
	END LOOP;
END $$;
CALL retire_pages(1, 50, NULL, NULL);
SELECT count_differences(300);
DELETE FROM zone_retired WHERE k % 3 = 0;
VACUUM zone_retired;
CALL retire_pages(5001, 60, NULL, NULL);
SELECT count_differences(300);
SELECT sware_check('zone_retired_k', true);

-- A scan passes over the marked entries at the ends of a sorted zone, also after the
-- zone was merged with others.
CREATE TABLE zone_taken (k int, t text) WITH (autovacuum_enabled = off);
CREATE INDEX zone_taken_k ON zone_taken USING sware (k) INCLUDE (t);
CALL insert_numbers('zone_taken', 'i * 7 % 3001, repeat(''x'', i % 9)', 1, 3000);
CREATE FUNCTION zone_taken_ends(limited text, OUT smallest int, OUT largest int, OUT rows bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
	EXECUTE 'SELECT k FROM zone_taken' || limited || ' ORDER BY k LIMIT 1' INTO smallest;
	EXECUTE 'SELECT k FROM zone_taken' || limited || ' ORDER BY k DESC LIMIT 1' INTO largest;
	EXECUTE 'SELECT count(*) FROM zone_taken' || limited INTO rows;
END $$;
DELETE FROM zone_taken WHERE k < 500 OR k > 2700;
SELECT * FROM zone_taken_ends('');
SELECT * FROM zone_taken_ends('');
SELECT * FROM zone_taken_ends(' WHERE k > 100 AND k < 2900');
SELECT * FROM zone_taken_ends(' WHERE k < 100');
SELECT * FROM zone_taken_ends(' WHERE k IN (7, 8, 499, 500, 2700, 2701, 2999)');
SELECT * FROM zone_taken_ends(' WHERE k IN (7, 8)');
SELECT zones FROM sware_compare_zones('zone_taken_k');
CALL insert_numbers('zone_taken', '1000 + i * 7 % 1501, repeat(''x'', i % 9)', 3001, 12000);
SELECT * FROM zone_taken_ends('');
SELECT zones FROM sware_compare_zones('zone_taken_k');
-- They are passed over, however many they are and in whatever order they are marked.
DROP TABLE zone_taken;
CREATE TABLE zone_taken (k int) WITH (autovacuum_enabled = off);
CREATE INDEX zone_taken_k ON zone_taken USING sware (k) WITH (buffer_size = 8192, sort_threshold = 1);
CALL insert_numbers('zone_taken', 'i * 7 % 12001', 1, 12000);
SELECT * FROM zone_taken_ends('');
DELETE FROM zone_taken WHERE k BETWEEN 2 AND 9000;
SELECT * FROM zone_taken_ends(' WHERE k BETWEEN 2 AND 9000');
SELECT zones FROM sware_compare_zones('zone_taken_k');
DELETE FROM zone_taken WHERE k = 1;
SELECT * FROM zone_taken_ends(' WHERE k = 1');
DELETE FROM zone_taken WHERE k = 10000;
SELECT * FROM zone_taken_ends(' WHERE k = 10000');
SELECT * FROM zone_taken_ends('');

-- A file with another index of the same name, and an emptied one.
REINDEX INDEX zone_flushed_k;
SELECT * FROM sware_compare_zones('zone_flushed_k');
TRUNCATE zone_flushed;
CALL insert_numbers('zone_flushed', 'i * 31 % 5000, repeat(md5(i::text), 10)', 1, 1200);
SELECT has_zones, is_crowded, has_zonemaps FROM compare_zones('zone_flushed_k');
SELECT sware_check('zone_flushed_k', true);

-- A session looks at all unsorted pages, and keeps what it knows of them when the listing has
-- changed.
CREATE TABLE zone_known (k bigint);
CREATE INDEX zone_known_k ON zone_known USING sware (k) WITH (buffer_size = 8192, sort_threshold = 100);
CALL insert_numbers('zone_known', 'i * 7919 % 100003', 1, 20000);
SELECT unsorted > 34 AS many, unsorted = zonemaps AS all_known FROM sware_compare_zones('zone_known_k', 1);
CALL insert_numbers('zone_known', 'i * 7919 % 100003', 20001, 21000);
SELECT unsorted > 34 AS many, unsorted = zonemaps AS all_known FROM sware_compare_zones('zone_known_k', 1);
DROP TABLE zone_known;

-- A database's zones go with it; no memory is lost.
SELECT used > 0 AS some, total - unused - used AS lost FROM sware_count_chunks();
CREATE TABLE chunks_before AS SELECT used FROM sware_count_chunks();
SELECT current_database() AS this \gset
CREATE DATABASE zone_database;
\c zone_database
SET sware.fault_buffer = on;
SET client_min_messages = warning;
CREATE EXTENSION sware_zones CASCADE;
RESET client_min_messages;
CREATE TABLE zone_elsewhere (k text);
CREATE INDEX zone_elsewhere_k ON zone_elsewhere USING sware (k);
DO $$ BEGIN
	FOR i IN 1 .. 1000 LOOP
		INSERT INTO zone_elsewhere VALUES (repeat('x', i));
		COMMIT;
	END LOOP;
END $$;
SELECT zones > 0 AS has_zones FROM sware_compare_zones('zone_elsewhere_k');
\c :this
SET sware.fault_buffer = on;
SELECT now.used > before.used AS more FROM sware_count_chunks() now, chunks_before before;
DROP DATABASE zone_database;
SELECT now.used = before.used AS as_before, total - unused - now.used AS lost
FROM sware_count_chunks() now, chunks_before before;
