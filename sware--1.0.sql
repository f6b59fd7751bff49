/* sware--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sware" to load this file. \quit

-- A user who may create objects in the extension's schema may have put functions
-- and operators there before.  So names are looked up in pg_catalog alone, and
-- the extension's own objects are named with their schema.  The extension's
-- functions are called with every argument, each of the declared type, so that
-- no other function matches as well.
SET LOCAL search_path = pg_catalog, pg_temp;

--
-- Access method
--

CREATE FUNCTION @extschema@.sware_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@.sware_handler(internal) IS
'handler of the sware index access method';

CREATE ACCESS METHOD sware TYPE INDEX HANDLER @extschema@.sware_handler;

COMMENT ON ACCESS METHOD sware IS
'ordered index access method for keys that arrive nearly in order';

--
-- Inspection
--

CREATE FUNCTION @extschema@.sware_check(index regclass,
    heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_check(regclass, boolean) IS
'check the structure of a sware index, and optionally that every heap tuple is in it';

-- The function reads whole relations, and its errors may show values of rows.
REVOKE ALL ON FUNCTION @extschema@.sware_check(regclass, boolean) FROM PUBLIC;

-- Only superusers may call the page functions below; the C code checks that.

CREATE FUNCTION @extschema@.sware_metapage(IN index regclass,
    OUT magic bigint,
    OUT version integer,
    OUT root bigint,
    OUT root_incarnation bigint,
    OUT level integer,
    OUT allequalimage boolean,
    OUT index_incarnation bigint,
    OUT buffer_generation bigint,
    OUT directory_version bigint,
    OUT sealed_pages bigint,
    OUT open_pages bigint[],
    OUT directory_pages bigint[])
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_metapage(regclass) IS
'contents of the metapage of a sware index';

CREATE FUNCTION @extschema@.sware_page_stats(IN index regclass, IN blkno bigint,
    OUT blkno bigint,
    OUT kind text,
    OUT level integer,
    OUT incarnation bigint,
    OUT live_items integer,
    OUT posting_items integer,
    OUT heap_tids bigint,
    OUT free_size integer,
    OUT left_link bigint,
    OUT left_incarnation bigint,
    OUT right_link bigint,
    OUT right_incarnation bigint,
    OUT flags text[])
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_page_stats(regclass, bigint) IS
'summary of one page of a sware index';

CREATE FUNCTION @extschema@.sware_page_items(IN index regclass, IN blkno bigint,
    OUT itemoffset integer,
    OUT kind text,
    OUT ctid tid,
    OUT itemlen integer,
    OUT key_attributes integer,
    OUT nulls boolean,
    OUT vars boolean,
    OUT data text,
    OUT dead boolean,
    OUT htid tid,
    OUT tids tid[],
    OUT child bigint,
    OUT child_incarnation bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_page_items(regclass, bigint) IS
'items of one page of a sware index';

CREATE FUNCTION @extschema@.sware_buffer_pages(IN index regclass,
    OUT block bigint,
    OUT incarnation bigint,
    OUT state text,
    OUT entries integer,
    OUT slot bigint,
    OUT sequence bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_buffer_pages(regclass) IS
'pages of the buffer of a sware index';

--
-- Operation
--

CREATE FUNCTION @extschema@.sware_flush(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION @extschema@.sware_flush(regclass) IS
'move all entries of the buffer of a sware index to its tree';

CREATE FUNCTION @extschema@.sware_stats(IN index regclass,
    OUT buffer_entries bigint,
    OUT buffer_pages bigint,
    OUT estimated_k double precision,
    OUT estimated_l double precision,
    OUT estimated_late double precision,
    OUT entries_buffered bigint,
    OUT entries_appended bigint,
    OUT entries_inserted bigint,
    OUT entries_marked bigint,
    OUT entries_deleted bigint,
    OUT entries_dropped bigint,
    OUT flushes bigint,
    OUT flush_time double precision,
    OUT flushed_pages bigint,
    OUT flushed_entries bigint,
    OUT sorted_pages bigint,
    OUT leaf_visits bigint,
    OUT leaf_splits bigint,
    OUT leaf_moves bigint,
    OUT bloom_probes bigint,
    OUT bloom_false_positives bigint,
    OUT table_prefetches bigint,
    OUT inserter_pieces bigint,
    OUT reader_pieces bigint,
    OUT vacuum_pieces bigint,
    OUT worker_pieces bigint,
    OUT inserter_max_time double precision,
    OUT reader_max_time double precision,
    OUT vacuum_max_time double precision,
    OUT worker_max_time double precision,
    OUT stats_since timestamptz)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_stats(regclass) IS
'content of the buffer of a sware index, and what has happened to the index';

-- OFFSET keeps the function from being called for indexes of other kinds.
CREATE VIEW @extschema@.pg_stat_sware AS
SELECT indexes.*, stats.*
FROM (SELECT pg_class.oid AS indexrelid, pg_index.indrelid AS relid,
             pg_namespace.nspname AS schemaname, pg_class.relname AS indexrelname
      FROM pg_class
      JOIN pg_index ON pg_index.indexrelid = pg_class.oid
      JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
      JOIN pg_am ON pg_am.oid = pg_class.relam
      WHERE pg_am.amname = 'sware'
      AND pg_class.relkind = 'i'
      AND NOT pg_is_other_temp_schema(pg_class.relnamespace)
      OFFSET 0) AS indexes,
     LATERAL @extschema@.sware_stats(indexes.indexrelid::regclass) AS stats;

COMMENT ON VIEW @extschema@.pg_stat_sware IS
'sware_stats of all sware indexes of this database';

GRANT SELECT ON @extschema@.pg_stat_sware TO PUBLIC;

CREATE FUNCTION @extschema@.sware_scan_counters(
    OUT staging_entries bigint,
    OUT buffer_entries bigint,
    OUT buffer_pages bigint,
    OUT buffer_zones bigint,
    OUT tree_entries bigint,
    OUT tree_leaves bigint,
    OUT table_prefetches bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_scan_counters() IS
'what scans of sware indexes in this session have read, by where it was';

-- It checks the caller's rights.
CREATE FUNCTION @extschema@.sware_measure_order(IN "table" regclass, IN "column" name,
    OUT rows_measured bigint,
    OUT in_order bigint,
    OUT displacement bigint,
    OUT distance bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION @extschema@.sware_measure_order(regclass, name) IS
'what sware_sortedness measures: how many rows are in order, and how far others are displaced';

-- Recommends access methods, and the size of a buffer for sware.  K and L are in
-- percent.  A buffer orders entries if it is twice as large as those of the
-- largest displacement.  Where that is too much, entries go to all parts of the
-- tree, whose pages are the less likely in memory the larger the index is.  If it
-- does not fit, entries should wait until there are 8 for each leaf; leaves that
-- split now and then are filled to 70 %.  The size is in megabytes; it is NULL if
-- nbtree is recommended.  Neighbouring blocks of a table with a small L have
-- similar values, as BRIN needs.
CREATE FUNCTION @extschema@.sware_recommend(k double precision, l double precision,
    row_count double precision, displacement double precision, entry_size double precision,
    OUT recommendation text,
    OUT megabytes integer)
LANGUAGE sql STABLE STRICT
BEGIN ATOMIC
SELECT CASE WHEN is_for_nbtree THEN 'nbtree' WHEN l <= 1 THEN 'sware or brin' ELSE 'sware' END,
       CASE WHEN NOT is_for_nbtree THEN coalesce(min(size) FILTER (WHERE size >= wanted), max(size)) END
FROM (SELECT 2 * displacement * entry_size / 1048576 AS for_order,
             row_count * (entry_size + 4) / (0.7 * current_setting('block_size')::integer) AS leaves,
             pg_size_bytes(current_setting('effective_cache_size'))
             / current_setting('block_size')::integer AS cached) AS estimates,
     LATERAL (SELECT k > 50 AND l > 50 OR for_order > 256 AND k > 10 AS is_scattered) AS order_of_rows,
     LATERAL (SELECT is_scattered AND leaves <= cached AS is_for_nbtree,
                     CASE WHEN is_scattered THEN leaves * 8 * entry_size / 1048576
                          ELSE for_order END AS wanted) AS conclusion,
     LATERAL unnest(CASE WHEN is_scattered THEN ARRAY[32, 64, 128, 256, 512, 1024, 2048, 4096]
                    ELSE ARRAY[16, 32, 64, 128, 256] END) AS size
GROUP BY is_for_nbtree;
END;

COMMENT ON FUNCTION @extschema@.sware_recommend(double precision, double precision, double precision,
    double precision, double precision) IS
'which access method, and which size of a buffer, the order of rows speaks for';

CREATE FUNCTION @extschema@.sware_sortedness(IN "table" regclass, IN "column" name,
    OUT rows_measured bigint,
    OUT k double precision,
    OUT l double precision,
    OUT recommendation text,
    OUT buffer_size text)
LANGUAGE sql STRICT
BEGIN ATOMIC
SELECT m.rows_measured, share.k, share.l, r.recommendation, r.megabytes || 'MB'
FROM @extschema@.sware_measure_order("table", "column") AS m,
     LATERAL (SELECT 100 * (m.rows_measured - m.in_order) / nullif(m.rows_measured, 0)::double precision AS k,
                     100 * m.displacement / nullif(m.rows_measured, 0)::double precision AS l) AS share,
     LATERAL @extschema@.sware_recommend(
         share.k, share.l, m.rows_measured::double precision * m.distance,
         m.displacement::double precision * m.distance,
         -- of an index entry; where sizes of values differ, 16 bytes are assumed
         (SELECT 8 + ceil(CASE WHEN attlen > 0 THEN attlen ELSE 16 END / 8.0) * 8
          FROM pg_attribute
          WHERE attrelid = "table" AND attname = "column")::double precision) AS r;
END;

COMMENT ON FUNCTION @extschema@.sware_sortedness(regclass, name) IS
'how nearly the rows of a table are in order of a column, and what index that speaks for';

--
-- Advice on indexes of nbtree
--

-- What the leaves of one nbtree index tell; sware_advise calls it.  It checks
-- the caller's rights, and waits for no lock.
CREATE FUNCTION @extschema@.sware_examine_nbtree(index oid, leaves integer,
    deadline timestamptz, number bigint, total bigint, progress bigint,
    OUT problem text,
    OUT size bigint,
    OUT used_bytes double precision,
    OUT entries bigint,
    OUT k double precision,
    OUT l double precision,
    OUT displacement double precision,
    OUT tuple_size double precision,
    OUT rows_per_transaction double precision,
    OUT wal_saved integer,
    OUT may_wait boolean,
    OUT definition text,
    OUT new_name text)
AS 'MODULE_PATHNAME'
LANGUAGE C PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_examine_nbtree(oid, integer, timestamptz, bigint, bigint, bigint) IS
'what sware_advise finds out of one nbtree index';

-- The steps are queries of their own: indexes, why some must stay, what their
-- pages tell, what is said of each, and the commands.  No step locks a relation,
-- but for sware_examine_nbtree.  The planner expects one row of each step, so
-- that it would join thousands by nested loops.
CREATE FUNCTION @extschema@.sware_advise(relations regclass[] DEFAULT NULL,
    pattern text DEFAULT NULL,
    time_limit interval DEFAULT '1 min',
    sampled_leaves integer DEFAULT 100,
    no_on_conflict boolean DEFAULT false,
    progress interval DEFAULT '10 s',
    OUT index regclass,
    OUT "table" regclass,
    OUT verdict text,
    OUT reason text,
    OUT k double precision,
    OUT l double precision,
    OUT rows_inserted bigint,
    OUT rows_per_transaction double precision,
    OUT scans bigint,
    OUT size bigint,
    OUT expected_size bigint,
    OUT wal_saved integer,
    OUT load_ratio double precision,
    OUT commands text[])
RETURNS SETOF record
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
BEGIN ATOMIC
WITH server AS MATERIALIZED (
    SELECT clock_timestamp() + time_limit AS deadline,
           current_setting('server_version_num')::integer / 10000 AS version,
           current_setting('block_size')::integer AS block_size,
           pg_is_in_recovery() AS is_standby,
           (SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
            WHERE extname = 'sware') AS extension_schema

-- nbtree's indexes, with the partitioned one that an index is a part of
), indexes AS MATERIALIZED (
    SELECT i.indexrelid, i.indrelid, i.indisunique, i.indisprimary, i.indisclustered, i.indisreplident,
           i.indclass, i.indexprs, c.relname AS name, n.nspname AS schema, t.relname AS table_name,
           c.relkind AS kind, t.relkind AS table_kind, c.relpages, c.relispartition AS is_part,
           c.relpersistence AS persistence,
           con.oid AS key, con.conname AS key_name, con.contype AS key_type,
           concat(CASE WHEN con.condeferrable THEN ' DEFERRABLE' END,
                  CASE WHEN con.condeferred THEN ' INITIALLY DEFERRED' END) AS key_deferrable,
           coalesce(tree.root, i.indexrelid) AS root, coalesce(tree.depth, 0) AS depth,
           parent.inhparent AS parent
    FROM pg_index AS i
    JOIN pg_class AS c ON c.oid = i.indexrelid
    JOIN pg_class AS t ON t.oid = i.indrelid
    JOIN pg_am ON pg_am.oid = c.relam AND amname = 'btree'
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    LEFT JOIN pg_constraint AS con ON con.conindid = i.indexrelid AND con.contype IN ('p', 'u', 'x')
    LEFT JOIN pg_inherits AS parent ON parent.inhrelid = i.indexrelid
    LEFT JOIN LATERAL (SELECT ancestor AS root, number - 1 AS depth
                       FROM pg_partition_ancestors(i.indexrelid) WITH ORDINALITY AS a (ancestor, number)
                       WHERE c.relispartition
                       ORDER BY number DESC LIMIT 1) AS tree ON true
    WHERE c.relpersistence <> 't' AND i.indexrelid >= 16384
    AND n.nspname <> ALL (ARRAY['pg_catalog', 'pg_toast', 'information_schema'])
    AND (relations IS NULL
         OR ARRAY[i.indexrelid, i.indrelid, tree.root]
            && ARRAY(SELECT named::oid FROM unnest(relations) AS named)
         OR EXISTS (SELECT FROM pg_partition_ancestors(i.indrelid) AS ancestor
                    WHERE t.relispartition AND ancestor = ANY (relations)))
    AND (pattern IS NULL OR format('%s.%s', n.nspname, c.relname) LIKE pattern)

), opclasses AS MATERIALIZED (
    SELECT indexrelid,
           min(class.opcname) FILTER (WHERE NOT EXISTS (
               SELECT FROM pg_opclass AS own
               JOIN pg_am ON pg_am.oid = own.opcmethod AND amname = 'sware'
               WHERE own.opcintype = class.opcintype
               AND CASE WHEN class.opcdefault THEN own.opcdefault
                        ELSE own.opcname = class.opcname
                             AND (own.opcnamespace = class.opcnamespace OR class.oid < 16384) END)
           ) AS missing,
           min(class.opcname) FILTER (WHERE class.opcname LIKE '%\_pattern\_ops') AS of_patterns,
           bool_or(NOT class.opcdefault) AS need_path
    FROM indexes, unnest(indclass::oid[]) AS used
    JOIN pg_opclass AS class ON class.oid = used
    GROUP BY indexrelid

-- foreign keys that use an index, as commands to drop and to make them
), referring AS MATERIALIZED (
    SELECT conindid,
           array_agg(format('ALTER TABLE %s DROP CONSTRAINT %I', place, conname) ORDER BY f.oid) AS drops,
           array_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', place, conname, written,
                            CASE WHEN is_checked THEN ' NOT VALID' END) ORDER BY f.oid) AS adds,
           array_agg(format('ALTER TABLE %s VALIDATE CONSTRAINT %I', place, conname) ORDER BY f.oid)
               FILTER (WHERE is_checked) AS validations
    FROM pg_constraint AS f
    JOIN pg_class AS c ON c.oid = conrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace,
    LATERAL (SELECT format('%I.%I', nspname, relname) AS place,
                    -- both are NULL if a table has been dropped since
                    CASE WHEN pg_table_is_visible(conrelid) IS NOT NULL
                              AND pg_table_is_visible(confrelid) IS NOT NULL
                         THEN pg_get_constraintdef(f.oid) END AS written OFFSET 0) AS d,
    LATERAL (SELECT written !~ ' NOT (VALID|ENFORCED)$' AS is_checked) AS v
    WHERE contype = 'f' AND conparentid = 0 AND conindid IN (SELECT indexrelid FROM indexes)
    AND written IS NOT NULL
    GROUP BY conindid

), checked AS (
    SELECT i.*, need_path, drops, adds, validations,
           CASE
           WHEN of_patterns IS NOT NULL THEN
               format('the planner uses operator class %s for LIKE with nbtree only', of_patterns)
           WHEN missing IS NOT NULL THEN
               format('sware has no operator class %s; sware_clone_opfamily can make it', missing)
           WHEN key_type = 'x' THEN
               'the index of an exclusion constraint cannot be exchanged while its table is in use'
           WHEN key IS NOT NULL AND (kind = 'I' OR is_part) THEN
               'a key of a partitioned table cannot be exchanged while the table is in use'
           WHEN EXISTS (SELECT FROM pg_depend
                        WHERE refclassid = 'pg_constraint'::regclass AND refobjid = key
                        AND deptype = 'n') THEN
               'views or other objects depend on its constraint'
           WHEN version >= 18 OR NOT indisunique THEN NULL
           WHEN kind = 'I' OR is_part THEN
               'before PostgreSQL 18 a unique index of a partitioned table must be one of nbtree'
           WHEN drops IS NOT NULL THEN
               'foreign keys refer to it, which before PostgreSQL 18 need an index of nbtree'
           WHEN table_kind = 'm' THEN
               'REFRESH MATERIALIZED VIEW CONCURRENTLY needs an index of nbtree before PostgreSQL 18'
           WHEN no_on_conflict IS NOT TRUE THEN
               'before PostgreSQL 18 every ON CONFLICT fails on a table with a unique sware index; '
               'if there is none for this table, call sware_advise with no_on_conflict => true'
           WHEN version = 17 AND (indisreplident OR indisprimary)
                AND EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = indrelid) THEN
               'a subscriber of PostgreSQL 17 finds the rows to change by nbtree only'
           END AS must_stay
    FROM indexes AS i
    CROSS JOIN server
    LEFT JOIN opclasses USING (indexrelid)
    LEFT JOIN referring ON conindid = indexrelid

-- large indexes first, as the time may be short
), examined AS MATERIALIZED (
    SELECT numbered.*, e.problem, e.size, e.entries, e.k, e.l, r.megabytes AS buffer_megabytes,
           -- a new index has leaves that are full to 90 %, internal pages and the metapage
           (block_size * (1 + leaves + ceil((leaves - 1) * 0.005)))::bigint AS expected_size,
           e.rows_per_transaction, e.wal_saved AS e_wal_saved, e.may_wait, e.definition, e.new_name,
           pg_stat_get_numscans(indexrelid) AS scans,
           CASE WHEN NOT is_standby THEN pg_stat_get_tuples_inserted(indrelid) END AS rows_inserted,
           pg_stat_get_tuples_deleted(indrelid) AS rows_deleted,
           pg_stat_get_tuples_updated(indrelid) - pg_stat_get_tuples_hot_updated(indrelid) AS rows_moved,
           pg_stat_get_live_tuples(indrelid) AS rows_alive,
           e.k > 50 AND e.l > 50 AS is_scattered,
           coalesce(e.rows_per_transaction < 10, false) AS is_single
    FROM (SELECT checked.*, server.*,
                 row_number() OVER (ORDER BY relpages DESC, indexrelid) AS number, count(*) OVER () AS total
          FROM checked CROSS JOIN server
          ORDER BY relpages DESC, indexrelid
          OFFSET 0) AS numbered,
         LATERAL @extschema@.sware_examine_nbtree(indexrelid,
             CASE WHEN must_stay IS NULL THEN coalesce(sampled_leaves, 100) END, deadline, number, total,
             (extract(epoch FROM sware_advise.progress) * 1000000)::bigint) AS e,
         LATERAL @extschema@.sware_recommend(e.k, e.l, e.entries::double precision, e.displacement,
                                             e.tuple_size) AS r,
         LATERAL (SELECT ceil(e.used_bytes / (0.9 * (block_size - 40))) AS leaves) AS n

), judged AS (
    SELECT examined.*, little,
           CASE WHEN problem IS NOT NULL THEN 'not looked at'
                WHEN must_stay IS NOT NULL THEN 'must stay nbtree'
                WHEN kind = 'I' THEN NULL
                WHEN little IS NOT NULL THEN 'little to gain'
                ELSE 'sware pays' END AS verdict,
           coalesce(rows_inserted, entries) AS weight,
           CASE WHEN e_wal_saved > 0 AND (is_single AND NOT is_scattered OR persistence = 'u') THEN 0
                ELSE e_wal_saved END AS wal_saved,
           -- what bench/ingestion and bench/keys_of_types have measured at least
           CASE WHEN must_stay IS NULL AND little IS NULL AND NOT is_single
                THEN CASE WHEN indisunique OR is_wide THEN 3 ELSE 5 END END AS load_ratio,
           CASE WHEN buffer_megabytes > 16
                THEN format('buffer_size = %s', buffer_megabytes * 1024) END AS buffer_option
    FROM examined,
    LATERAL (SELECT CASE
        WHEN entries < 10000 THEN format('it has about %s entries only', entries)
        WHEN examined.k IS NULL THEN 'its keys are NULL'
        WHEN NOT may_wait THEN 'comparing its keys may fail or run a user''s function, so none may wait'
        WHEN rows_inserted = 0 THEN 'no rows inserted since statistics were reset'
        WHEN rows_deleted > rows_inserted * 0.8 AND rows_alive < rows_inserted * 0.05 THEN
            'its rows are soon deleted again, as those of a queue are'
        WHEN rows_moved > rows_inserted THEN 'most of its new entries are of rows that were updated'
        WHEN buffer_megabytes IS NULL THEN
            'keys do not come in order, and the index fits into effective_cache_size'
        WHEN is_single AND NOT is_scattered THEN
            format('a transaction inserts about %s rows, and single rows cost as much as with nbtree',
                   round(rows_per_transaction::numeric, 1))
        END AS little) AS conclusion,
    LATERAL (SELECT bool_or(attlen NOT BETWEEN 1 AND 8) AS is_wide
             FROM pg_attribute WHERE attrelid = indexrelid) AS columns

-- commands that make an index beside the one there is
), made AS (
    SELECT i.*, place, old, new,
           CASE WHEN i.definition IS NOT NULL THEN array_remove(ARRAY[
               format('CREATE %sINDEX %s%I ON %s%s USING sware %s',
                      CASE WHEN i.indisunique THEN 'UNIQUE ' END,
                      CASE i.kind WHEN 'i' THEN 'CONCURRENTLY ' END, i.new_name,
                      CASE i.kind WHEN 'I' THEN 'ONLY ' END, place, i.definition),
               'ALTER INDEX ' || new || ' SET (' || nullif(concat_ws(', ',
                   CASE WHEN i.key IS NOT NULL THEN 'sware' END, i.buffer_option), '') || ')',
               CASE i.kind WHEN 'i' THEN
                   format('SELECT %I.sware_check(%L, true)', i.extension_schema, new) END,
               CASE WHEN p.new_name IS NOT NULL THEN
                   format('ALTER INDEX %I.%I ATTACH PARTITION %s', p.schema, p.new_name, new) END,
               CASE WHEN i.indisclustered THEN format('ALTER TABLE %s CLUSTER ON %I', place, i.new_name) END,
               CASE WHEN i.indisreplident THEN
                   format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', place, i.new_name) END], NULL)
           END AS creation
    FROM judged AS i
    LEFT JOIN judged AS p ON p.indexrelid = i.parent,
    LATERAL (SELECT format('%I.%I', i.schema, i.table_name) AS place,
                    format('%I.%I', i.schema, i.name) AS old,
                    CASE WHEN i.new_name IS NOT NULL
                         THEN format('%I.%I', i.schema, i.new_name) END AS new) AS names

), steps AS (
    SELECT root, array_agg(command ORDER BY depth, indexrelid, step) AS creation
    FROM made, unnest(creation) WITH ORDINALITY AS u (command, step)
    GROUP BY root

-- what belongs to a partitioned index together
), trees AS (
    SELECT m.root AS indexrelid,
           count(*) FILTER (WHERE m.kind = 'i') AS parts,
           count(*) FILTER (WHERE m.verdict = 'sware pays') AS paying,
           count(*) FILTER (WHERE m.verdict = 'not looked at') AS unseen,
           count(*) FILTER (WHERE m.verdict = 'must stay nbtree') AS staying,
           coalesce(sum(m.weight) FILTER (WHERE m.verdict = 'sware pays')
                    / nullif(sum(m.weight), 0), 0) AS share,
           sum(m.k * m.weight) / nullif(sum(m.weight) FILTER (WHERE m.k IS NOT NULL), 0) AS k, max(m.l) AS l,
           sum(m.rows_inserted)::bigint AS rows_inserted, sum(m.scans)::bigint AS scans,
           sum(m.size)::bigint AS size, sum(m.expected_size)::bigint AS expected_size,
           (sum(m.wal_saved * m.weight) / nullif(sum(m.weight), 0))::integer AS wal_saved,
           min(m.load_ratio) AS load_ratio, sum(m.weight) AS weight,
           array_agg(format('ALTER INDEX %s RENAME TO %I', m.new, m.name)
                     ORDER BY m.depth, m.indexrelid) AS renames
    FROM made AS m
    JOIN made AS r ON r.indexrelid = m.root AND r.kind = 'I'
    GROUP BY m.root

-- indexes, with the sums of their parts, and the commands of the whole exchange
), whole AS (
    SELECT m.indexrelid, m.indrelid, m.problem, m.must_stay, m.little, m.rows_per_transaction, m.is_scattered,
           m.kind, m.is_part, m.indisunique, m.root, m.is_standby, m.rows_deleted, m.rows_moved, parts,
           paying, unseen, staying, share,
           CASE WHEN m.verdict IS NOT NULL THEN m.verdict
                WHEN staying > 0 THEN 'must stay nbtree'
                WHEN share > 0.5 THEN 'sware pays'
                WHEN unseen > 0 THEN 'not looked at'
                ELSE 'little to gain' END AS verdict,
           coalesce(t.k, m.k) AS k, coalesce(t.l, m.l) AS l, coalesce(t.scans, m.scans) AS scans,
           coalesce(t.rows_inserted, m.rows_inserted) AS rows_inserted,
           coalesce(t.size, m.size) AS size, coalesce(t.expected_size, m.expected_size) AS expected_size,
           coalesce(t.wal_saved, m.wal_saved) AS wal_saved,
           coalesce(t.load_ratio, m.load_ratio) AS load_ratio,
           coalesce(t.weight, m.weight) AS weight,
           CASE WHEN m.must_stay IS NULL AND NOT m.is_part AND m.definition IS NOT NULL
                     AND coalesce(unseen, 0) = 0
           THEN array_remove(
               ARRAY[CASE WHEN need_path THEN format(
                   'SELECT set_config(''search_path'', '
                   'concat_ws('', '', nullif(current_setting(''search_path''), ''''), %L), false)',
                   quote_ident(extension_schema)) END]
               || steps.creation
               || CASE WHEN indexprs IS NOT NULL THEN format('ANALYZE %s', place) END
               || 'SET lock_timeout = ''5s'''::text
               || CASE WHEN drops IS NOT NULL THEN 'BEGIN'::text || drops END
               || CASE WHEN key IS NOT NULL THEN
                      format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s USING INDEX %I%s',
                             place, key_name, key_name,
                             CASE key_type WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END,
                             new_name, key_deferrable)
                  ELSE format('DROP INDEX %s%s',
                              CASE WHEN m.kind = 'i' AND drops IS NULL THEN 'CONCURRENTLY ' END, old) END
               || CASE WHEN drops IS NOT NULL THEN adds || 'COMMIT'::text || validations END
               || CASE WHEN key IS NULL THEN
                      coalesce(t.renames, ARRAY[format('ALTER INDEX %s RENAME TO %I', new, name)]) END
               || 'RESET lock_timeout'::text, NULL)
           END AS commands
    FROM made AS m
    LEFT JOIN trees AS t USING (indexrelid)
    LEFT JOIN steps ON steps.root = m.indexrelid
)
SELECT indexrelid, indrelid, verdict,
       CASE verdict
       WHEN 'not looked at' THEN
           coalesce(problem, format('%s of its %s parts were not looked at', unseen, parts))
       WHEN 'must stay nbtree' THEN coalesce(must_stay, format('%s of its parts must stay', staying))
       ELSE concat_ws('; ',
           CASE WHEN parts IS NOT NULL THEN
                    format('sware pays for %s of its %s parts, with %s %% of the rows', paying, parts,
                           round(100 * share))
                WHEN little IS NOT NULL THEN little
                WHEN is_scattered THEN
                    'keys come in no order, and the index does not fit into effective_cache_size'
                WHEN k < 0.01 THEN 'keys come in order'
                ELSE 'keys come nearly in order' END,
           CASE WHEN parts IS NULL AND k > 1 AND rows_deleted + rows_moved > rows_inserted / 10 THEN
                    'there may be more order, as rows fill gaps that others left' END,
           CASE WHEN size > 1.3 * expected_size AND expected_size > 1000000 THEN
                    format('it is %s times as large as it should be',
                           round(size::numeric / expected_size, 1)) END,
           CASE WHEN scans = 0 AND NOT indisunique THEN 'no scans since statistics were reset' END,
           CASE WHEN is_standby THEN 'only the primary knows how many rows are inserted' END,
           CASE WHEN is_part THEN format('it is exchanged as a part of %s', root::regclass) END)
       END,
       k, l, rows_inserted, rows_per_transaction, scans, size, expected_size, wal_saved, load_ratio,
       CASE WHEN verdict IN ('sware pays', 'little to gain') THEN commands END
FROM whole
WHERE kind = 'i' OR NOT is_part
ORDER BY array_position(ARRAY['sware pays', 'little to gain', 'must stay nbtree', 'not looked at'], verdict),
         weight::numeric * wal_saved + greatest(size - expected_size, 0) DESC NULLS LAST,
         size DESC NULLS LAST, indexrelid::regclass::text;
END;

COMMENT ON FUNCTION @extschema@.sware_advise(regclass[], text, interval, integer, boolean, interval) IS
'which nbtree indexes of this database sware would serve better, why, and how they are exchanged';

--
-- Operator families
--
-- sware has the strategies and support functions of btree, so its operator
-- families are copies of btree's, with all members.  A copy that lacked a member
-- would change plans in the whole database: from PostgreSQL 18 on, the planner
-- compares the families of two equality operators over all ordering access
-- methods, and merges the operators' equivalence classes only if they agree.
--
-- PL/pgSQL looks up names whenever a function runs.  Therefore PL/pgSQL functions
-- have a search_path of their own, and call no function of this extension: its
-- schema may have been renamed, and another user may have made a schema of its
-- old name.  Functions that call functions of this extension are written in SQL,
-- with bodies that are parsed here.
--

-- Makes an empty sware family with the name of a btree family.
CREATE FUNCTION @extschema@.sware_create_opfamily(source_family oid, target_schema name,
    OUT target_family oid,
    OUT target_name text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source record;
    class record;
BEGIN
    SELECT nspname, opfname, amname INTO source
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE pg_opfamily.oid = source_family;
    IF NOT FOUND THEN
        RAISE undefined_object
        USING MESSAGE = format('operator family with OID %s does not exist', source_family);
    END IF;

    IF source.amname <> 'btree' THEN
        RAISE wrong_object_type
        USING MESSAGE = format('operator family %I.%I belongs to access method "%s", not "btree"',
                               source.nspname, source.opfname, source.amname),
              HINT = 'Only btree operator families have the operators and support functions '
                     'that sware needs.';
    END IF;

    -- By default the copy goes to the schema of the source, where users expect
    -- it; but nothing of this extension belongs into pg_catalog.
    target_schema := COALESCE(target_schema, NULLIF(source.nspname, 'pg_catalog'),
                              (SELECT nspname
                               FROM pg_extension
                               JOIN pg_namespace ON pg_namespace.oid = extnamespace
                               WHERE extname = 'sware'));
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = target_schema) THEN
        RAISE invalid_schema_name
        USING MESSAGE = format('schema "%s" does not exist', target_schema),
              HINT = 'Create the schema first, or leave out the second argument '
                     'to use the schema of the source.';
    END IF;
    target_name := format('%I.%I', target_schema, source.opfname);

    IF EXISTS (SELECT FROM pg_opfamily
               JOIN pg_namespace ON pg_namespace.oid = opfnamespace
               JOIN pg_am ON pg_am.oid = opfmethod
               WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware')
    THEN
        RAISE duplicate_object
        USING MESSAGE = format('operator family %s for access method "sware" already exists', target_name),
              HINT = format('Drop it first with DROP OPERATOR FAMILY %s USING sware, or name another schema.',
                            target_name);
    END IF;

    SELECT existing.opcintype::regtype AS type, nspname, existing.opcname
    INTO class
    FROM pg_opclass AS wanted
    JOIN pg_opclass AS existing ON existing.opcintype = wanted.opcintype
    JOIN pg_am ON pg_am.oid = existing.opcmethod
    JOIN pg_namespace ON pg_namespace.oid = existing.opcnamespace
    WHERE wanted.opcfamily = source_family AND wanted.opcdefault
    AND existing.opcdefault AND amname = 'sware'
    ORDER BY wanted.opcname
    LIMIT 1;
    IF FOUND THEN
        RAISE duplicate_object
        USING MESSAGE = format('type %s already has a default operator class for access method "sware"',
                               class.type),
              DETAIL = format('It is %I.%I.', class.nspname, class.opcname),
              HINT = format('Operator family %I.%I has probably been cloned before.',
                            source.nspname, source.opfname);
    END IF;

    EXECUTE format('CREATE OPERATOR FAMILY %s USING sware', target_name);
    SELECT pg_opfamily.oid INTO STRICT target_family
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware';
END
$$;

COMMENT ON FUNCTION @extschema@.sware_create_opfamily(oid, name) IS
'make an empty sware operator family for a copy of a btree one';

-- Adds the classes and members that a btree family has and a sware family lacks,
-- and returns what was added.
CREATE FUNCTION @extschema@.sware_complete_opfamily(source_family oid, target_family oid)
RETURNS SETOF text
LANGUAGE plpgsql
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    target record;
    class record;
    is_new boolean;
    types oid[];
    clauses text[];
BEGIN
    SELECT nspname, opfname INTO STRICT target
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    WHERE pg_opfamily.oid = target_family;
    is_new := NOT EXISTS (SELECT FROM pg_amop WHERE amopfamily = target_family);

    -- The clauses that declare missing members, each with its type, or NULL if
    -- it is for two types.
    SELECT array_agg(type), array_agg(clause)
    INTO types, clauses
    FROM (SELECT CASE WHEN lefttype = righttype THEN lefttype END AS type, clause
          FROM (SELECT amopfamily AS family, amoplefttype AS lefttype, amoprighttype AS righttype,
                       format('OPERATOR %s %s', amopstrategy, amopopr::regoperator) AS clause
                FROM pg_amop
                UNION ALL
                SELECT amprocfamily, amproclefttype, amprocrighttype,
                       format('FUNCTION %s (%s, %s) %s', amprocnum,
                              amproclefttype::regtype, amprocrighttype::regtype,
                              amproc::regprocedure)
                FROM pg_amproc) AS member
          WHERE family IN (source_family, target_family)
          GROUP BY lefttype, righttype, clause
          HAVING every(family = source_family)
          ORDER BY clause) AS missing;

    -- If two classes share a type (text_ops and varchar_ops), the default one
    -- comes first.  A class that a user has added to a built-in family must not
    -- become part of this extension, so it is left to sware_sync_opfamilies().
    -- OIDs below 16384 are PostgreSQL's own.
    FOR class IN
        SELECT opcname, opcdefault, opcintype, COALESCE(NULLIF(opckeytype, 0), opcintype) AS storage
        FROM pg_opclass AS original
        WHERE opcfamily = source_family
        AND NOT (is_new AND source_family < 16384 AND oid >= 16384)
        AND NOT EXISTS (SELECT FROM pg_opclass AS copied
                        WHERE copied.opcfamily = target_family
                        AND copied.opcname = original.opcname
                        AND copied.opcintype = original.opcintype)
        ORDER BY opcdefault DESC, opcname
    LOOP
        -- A class needs one item at least: STORAGE, which has no effect if it
        -- names the class's own type.  Only for name_ops it has: that stores names
        -- as cstring, without padding, which the handler allows by amstorage.
        --
        -- In a new family, the first class of a type also gets the members of this
        -- type, which are dropped with it.  Members that are added later belong to
        -- the family.  Then a class that pg_dump dumps can be restored, whether or
        -- not CREATE EXTENSION has found the same members and added them.
        EXECUTE format('CREATE OPERATOR CLASS %I.%I %s FOR TYPE %s USING sware FAMILY %I.%I AS %s',
                       target.nspname, class.opcname,
                       CASE WHEN class.opcdefault THEN 'DEFAULT' END,
                       class.opcintype::regtype, target.nspname, target.opfname,
                       (SELECT concat_ws(', ', 'STORAGE ' || class.storage::regtype,
                                         string_agg(clause, ', ' ORDER BY clause))
                        FROM unnest(types, clauses) AS missing (type, clause)
                        WHERE is_new AND type = class.opcintype));
        RETURN NEXT format('OPERATOR CLASS %I', class.opcname);

        IF is_new THEN
            SELECT array_agg(type), array_agg(clause)
            INTO types, clauses
            FROM unnest(types, clauses) AS missing (type, clause)
            WHERE type IS DISTINCT FROM class.opcintype;
        END IF;
    END LOOP;

    IF cardinality(clauses) > 0 THEN
        EXECUTE format('ALTER OPERATOR FAMILY %I.%I USING sware ADD %s',
                       target.nspname, target.opfname, array_to_string(clauses, ', '));
        RETURN QUERY SELECT unnest(clauses);
    END IF;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_complete_opfamily(oid, oid) IS
'add to a sware operator family the classes and members of a btree one that it lacks';

CREATE FUNCTION @extschema@.sware_clone_opfamily(source_family oid, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE sql
BEGIN ATOMIC
    SELECT target_name
    FROM @extschema@.sware_create_opfamily(source_family, target_schema),
         LATERAL (SELECT count(*)
                  FROM @extschema@.sware_complete_opfamily(source_family, target_family)) AS added;
END;

COMMENT ON FUNCTION @extschema@.sware_clone_opfamily(oid, name) IS
'make a sware operator family, with its classes, from the btree one of this OID';

-- Finds a family by its name.  If the name has no schema, these schemas are
-- searched.
CREATE FUNCTION @extschema@.sware_find_opfamily(family text, schemas name[])
RETURNS oid
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    parts text[] := parse_ident(family);
    found_family oid;
BEGIN
    IF cardinality(parts) > 2 THEN
        RAISE invalid_name
        USING MESSAGE = format('invalid operator family name: %s', family),
              HINT = 'Write family or schema.family.';
    ELSIF cardinality(parts) = 2 THEN
        schemas := parts[1:1];
    END IF;

    -- Each access method can have a family of this name.  btree's is preferred;
    -- another one is returned too, so that the caller can say why it is refused.
    SELECT pg_opfamily.oid INTO found_family
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE opfname = parts[cardinality(parts)]::name AND nspname = ANY (schemas)
    ORDER BY amname = 'btree' DESC, array_position(schemas, nspname), amname
    LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object
        USING MESSAGE = format('operator family "%s" does not exist for access method "btree"', family),
              HINT = 'The families of btree are listed by \dAf btree in psql; '
                     'a name outside of search_path needs its schema.';
    END IF;
    RETURN found_family;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_find_opfamily(text, name[]) IS
'OID of an operator family, preferably one of btree, of this name';

CREATE FUNCTION @extschema@.sware_clone_opfamily(source_family text, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE sql
RETURN @extschema@.sware_clone_opfamily(
    @extschema@.sware_find_opfamily(source_family, current_schemas(true)), target_schema);

COMMENT ON FUNCTION @extschema@.sware_clone_opfamily(text, name) IS
'make a sware operator family, with its classes, from the btree one of this name';

-- Lists copies with their originals, and warns of copies that PostgreSQL prefers
-- to their originals.
CREATE FUNCTION @extschema@.sware_opfamily_copies(
    OUT source_family oid,
    OUT target_family oid,
    OUT target_name text)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- A copy has the name of its source and its "<" operators.
    FOR source_family, target_family, target_name IN
        SELECT source.oid, target.oid, format('%I.%I', nspname, target.opfname) AS name
        FROM pg_opfamily AS target
        JOIN pg_am AS target_am ON target_am.oid = target.opfmethod
        JOIN pg_namespace ON pg_namespace.oid = target.opfnamespace
        JOIN pg_opfamily AS source ON source.opfname = target.opfname
        JOIN pg_am AS source_am ON source_am.oid = source.opfmethod
        WHERE target_am.amname = 'sware' AND source_am.amname = 'btree'
        AND EXISTS (SELECT FROM pg_amop AS copied
                    JOIN pg_amop AS original USING (amopopr, amopstrategy)
                    WHERE copied.amopfamily = target.oid
                    AND original.amopfamily = source.oid
                    AND amopstrategy = 1)
        ORDER BY name
    LOOP
        -- From version 18 on, PostgreSQL looks for the meaning of ORDER BY among
        -- the families of all ordering access methods, and takes the one with the
        -- smallest OID.  btree indexes are of use only for an order of a family
        -- of btree.
        IF target_family < source_family THEN
            RAISE WARNING 'operator family % for access method "sware" is older than '
                          'the btree family that it is a copy of', target_name
            USING DETAIL = 'From PostgreSQL 18 on, btree indexes of that family are not used '
                           'for ORDER BY and merge joins.',
                  HINT = format('Drop the copy, and indexes that use it, with '
                                'DROP OPERATOR FAMILY %s USING sware CASCADE; then clone the btree family '
                                'again with sware_clone_opfamily().',
                                target_name);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_opfamily_copies() IS
'sware operator families that are copies of btree ones';

-- Adds to all copies what their originals have gained.  A btree family can grow
-- after it was cloned: another extension adds its types to a built-in family, an
-- extension is updated, or pg_upgrade moves a copy to a new PostgreSQL whose
-- families have more members.
--
-- The aggregate makes sure that everything is done before the first line is
-- returned.
CREATE FUNCTION @extschema@.sware_sync_opfamilies()
RETURNS SETOF text
LANGUAGE sql
BEGIN ATOMIC
    SELECT unnest(array_agg(format('%s: %s', target_name, line)))
    FROM @extschema@.sware_opfamily_copies(),
         LATERAL @extschema@.sware_complete_opfamily(source_family, target_family) AS line;
END;

COMMENT ON FUNCTION @extschema@.sware_sync_opfamilies() IS
'add to all cloned operator families what their btree originals have gained since, and return what was added';

--
-- Copies of the built-in families
--
-- They are in the extension's schema, not in pg_catalog.  A default operator class
-- is found by its type in any schema; others (text_pattern_ops) are found through
-- search_path, or by their name with the schema.
--
SELECT @extschema@.sware_clone_opfamily(family, NULL::name)
FROM (SELECT pg_opfamily.oid
      FROM pg_opfamily
      JOIN pg_am ON pg_am.oid = opfmethod
      WHERE amname = 'btree' AND pg_opfamily.oid < 16384
      ORDER BY 1) AS built_in (family);
