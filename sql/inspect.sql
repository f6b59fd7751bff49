-- Inspection functions: what they show agrees with the index; and what they refuse.
SET sware.fault_buffer = on;
CREATE TABLE twin_sware.t (a int, b text);
CREATE INDEX t_a ON twin_sware.t USING sware (a);
CREATE INDEX t_b ON twin_sware.t USING sware (b);
CREATE INDEX t_nbtree ON twin_sware.t USING btree (a);
SELECT sware_check('twin_sware.t_a'), sware_check('twin_sware.t_a', true);
INSERT INTO twin_sware.t SELECT i, 'b' || i % 3 FROM generate_series(1, 20000) i;
SELECT sware_check('twin_sware.t_a'), sware_check('twin_sware.t_a', true);
SELECT sware_check(index => 'twin_sware.t_b', heapallindexed => true);

-- Values that are passed by value, and whose unused bytes differ in table and index.
CREATE TABLE twin_sware.h (x bigint);
INSERT INTO twin_sware.h SELECT 3000000000 + i FROM generate_series(1, 100) i;
CREATE INDEX h_hash ON twin_sware.h USING sware (hashint8(x));
CREATE INDEX h_oid ON twin_sware.h USING sware ((x::oid));
CREATE INDEX h_part ON twin_sware.h USING sware ((x::oid), hashint8(x)) WHERE x % 3 = 0;
SELECT sware_check('twin_sware.h_hash', true), sware_check('twin_sware.h_oid', true),
       sware_check('twin_sware.h_part', true);
DROP TABLE twin_sware.h;

-- The buffer: its pages, by state and by kind.
CREATE TABLE twin_sware.s (a int, b text);
CREATE INDEX s_a ON twin_sware.s USING sware (a);
CREATE VIEW twin_sware.s_kinds AS
    SELECT kind, flags, count(*), sum(live_items) AS items, sum(heap_tids) AS tids
    FROM generate_series(1, pg_relation_size('twin_sware.s_a') / current_setting('block_size')::int - 1)
        AS block,
         sware_page_stats('twin_sware.s_a', block)
    GROUP BY kind, flags
    ORDER BY kind, flags;
SELECT buffer_generation, directory_version, sealed_pages, open_pages, directory_pages
FROM sware_metapage('twin_sware.s_a');
SELECT * FROM sware_buffer_pages('twin_sware.s_a');
INSERT INTO twin_sware.s VALUES (3, 'c'), (1, NULL), (NULL, 'a');
SELECT state, entries, slot, sequence FROM sware_buffer_pages('twin_sware.s_a');
SELECT itemoffset, kind, ctid, itemlen, key_attributes, nulls, vars, data, htid, tids, child
FROM sware_buffer_pages('twin_sware.s_a'), sware_page_items('twin_sware.s_a', block);
SELECT sware_check('twin_sware.s_a', true);
DO $$
BEGIN
    FOR i IN 1..10 LOOP
        INSERT INTO twin_sware.s SELECT i * 200 + n FROM generate_series(1, 200) n;
        COMMIT;
    END LOOP;
END
$$;
SELECT sealed_pages, cardinality(open_pages) AS open_pages, cardinality(directory_pages) AS directory_pages
FROM sware_metapage('twin_sware.s_a');
SELECT state, entries, slot, sequence FROM sware_buffer_pages('twin_sware.s_a');
SELECT * FROM twin_sware.s_kinds;
SELECT sware_check('twin_sware.s_a', true);
-- The pages have an entry for each row of the table.
SELECT count(*), count(DISTINCT items.htid), count(s.ctid) AS in_table
FROM sware_buffer_pages('twin_sware.s_a') AS pages,
     sware_page_items('twin_sware.s_a', pages.block) AS items
     LEFT JOIN twin_sware.s ON s.ctid = items.htid;
SELECT sware_page_items('twin_sware.s_a', directory_pages[1]) FROM sware_metapage('twin_sware.s_a');
SELECT buffer_generation AS generation FROM sware_metapage('twin_sware.s_a') \gset
SELECT sware_flush('twin_sware.s_a');
SELECT sealed_pages, open_pages, buffer_generation > :generation AS retired_some
FROM sware_metapage('twin_sware.s_a');
SELECT state, count(*), sum(entries) AS entries FROM sware_buffer_pages('twin_sware.s_a') GROUP BY state;
SELECT kind, flags, tids FROM twin_sware.s_kinds;
SELECT sware_check('twin_sware.s_a', true);
DROP TABLE twin_sware.s CASCADE;

-- Pivots have the bytes of their key, and no others: neither those of a TID nor of a link.
CREATE TABLE twin_sware.p (a int) WITH (autovacuum_enabled = off);
INSERT INTO twin_sware.p SELECT 7 FROM generate_series(1, 5000);
CREATE INDEX p_a ON twin_sware.p USING sware (a);
SELECT kind, key_attributes, htid IS NULL AS no_tid, child IS NULL AS no_child, data, count(*) > 1 AS several
FROM sware_metapage('twin_sware.p_a'), sware_page_items('twin_sware.p_a', root)
GROUP BY kind, key_attributes, no_tid, no_child, data ORDER BY 2, 3;
DROP TABLE twin_sware.p;

-- Wrong objects.
SELECT sware_check('twin_sware.t');
SELECT sware_check('twin_sware.t_nbtree');
SELECT sware_check(0);
SELECT sware_check(NULL);
SELECT sware_metapage('twin_sware.t');
SELECT sware_metapage('twin_sware.t_nbtree');
SELECT sware_page_stats('twin_sware.t_nbtree', 1);
SELECT sware_page_items('twin_sware.t_nbtree', 1);
SELECT sware_buffer_pages('twin_sware.t');
SELECT sware_buffer_pages('twin_sware.t_nbtree');

-- A partitioned index has no pages; the indexes of its partitions do.
CREATE TABLE twin_sware."by year" (a int, b text) PARTITION BY RANGE (a);
CREATE TABLE twin_sware.y1 PARTITION OF twin_sware."by year" FOR VALUES FROM (0) TO (100);
CREATE TABLE twin_sware.y2 PARTITION OF twin_sware."by year"
	FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (a);
CREATE TABLE twin_sware.y21 PARTITION OF twin_sware.y2 FOR VALUES FROM (100) TO (150);
CREATE INDEX "y's a" ON twin_sware."by year" USING sware (a);
CREATE INDEX y_nbtree ON twin_sware."by year" USING btree (a);
INSERT INTO twin_sware."by year" SELECT i, 'b' FROM generate_series(0, 149) i;
SELECT sware_check('twin_sware."y''s a"', true);
SELECT * FROM sware_stats('twin_sware."y''s a"');
SELECT sware_flush('twin_sware."y''s a"');
SELECT * FROM sware_metapage('twin_sware."y''s a"');
SELECT * FROM sware_buffer_pages('twin_sware."y''s a"');
SELECT * FROM sware_page_stats('twin_sware."y''s a"', 1);
SELECT * FROM sware_page_items('twin_sware."y''s a"', 1);
-- A partitioned index of another access method is not a sware index.
SELECT sware_check('twin_sware.y_nbtree');
SELECT sware_flush('twin_sware.y_nbtree');
-- The indexes that the hint lists can be looked at.
SELECT relid, sware_check(relid, true), (sware_stats(relid)).buffer_entries
FROM pg_partition_tree('twin_sware."y''s a"') WHERE isleaf;
SELECT indexrelname FROM pg_stat_sware WHERE relid IN ('twin_sware.y1'::regclass,
	'twin_sware.y2'::regclass, 'twin_sware.y21'::regclass, 'twin_sware."by year"'::regclass) ORDER BY 1;
DROP TABLE twin_sware."by year";

-- Wrong blocks.
SELECT sware_page_stats('twin_sware.t_a', -1);
SELECT sware_page_stats('twin_sware.t_a', 100000);
SELECT sware_page_stats('twin_sware.t_a', 4294967296);
SELECT sware_page_items('twin_sware.t_a', -1);
SELECT sware_page_items('twin_sware.t_a', 100000);
SELECT sware_page_stats('twin_sware.t_a', 0);
SELECT sware_page_items('twin_sware.t_a', 0);

-- Not for ordinary users.
CREATE ROLE regress_sware_user;
GRANT USAGE ON SCHEMA twin_sware TO regress_sware_user;
SET ROLE regress_sware_user;
SELECT sware_check('twin_sware.t_a');
SELECT sware_metapage('twin_sware.t_a');
SELECT sware_page_stats('twin_sware.t_a', 1);
SELECT sware_page_items('twin_sware.t_a', 1);
SELECT sware_buffer_pages('twin_sware.t_a');
SELECT sware_flush('twin_sware.t_a');
-- Ordinary users may call these.
SELECT entries_buffered >= 0 AS counts FROM sware_stats('twin_sware.t_a');
SELECT indexrelname, entries_buffered >= 0 AS counts
FROM pg_stat_sware WHERE indexrelid = 'twin_sware.t_a'::regclass;
RESET ROLE;
REVOKE USAGE ON SCHEMA twin_sware FROM regress_sware_user;
DROP ROLE regress_sware_user;
DROP TABLE twin_sware.t;
