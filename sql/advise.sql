-- sware_advise: which nbtree indexes should be sware's, and the commands that exchange them.
SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
CREATE SCHEMA advice;
SET search_path = advice, public;

-- What it says of the indexes of a schema.
CREATE FUNCTION advice_on(variadic named text[])
RETURNS TABLE (index text, verdict text, reason text) LANGUAGE sql AS $$
SELECT index::text, verdict, regexp_replace(reason, 'about \d+', 'about N')
FROM public.sware_advise(named::regclass[], no_on_conflict => true)
ORDER BY index::text COLLATE "C"
$$;
-- Its commands, of one index.
CREATE FUNCTION exchange(named text) RETURNS SETOF text LANGUAGE sql AS $$
SELECT unnest(commands) FROM public.sware_advise(ARRAY[named::regclass], no_on_conflict => true)
WHERE index = named::regclass
$$;
-- The indexes of a table that are sware's, with what they are good for.
CREATE FUNCTION of_sware(named text)
RETURNS TABLE (index text, "unique" bool, "primary" bool, valid bool, options text[]) LANGUAGE sql AS $$
SELECT c.relname, indisunique, indisprimary, indisvalid, reloptions
FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
WHERE indrelid = named::regclass AND amname = 'sware' ORDER BY c.relname COLLATE "C"
$$;

-- Orders of arrival.
CREATE TABLE orders (id bigint NOT NULL, backwards bigint, late bigint, scrambled bigint, day date, same int,
                     label text COLLATE "C", halves bigint, seldom bigint, never bigint);
CREATE INDEX in_order ON orders (id);
CREATE INDEX backwards ON orders (backwards);
CREATE INDEX late ON orders (late);
CREATE INDEX scrambled ON orders (scrambled);
CREATE INDEX days ON orders (day);
CREATE INDEX same ON orders (same);
CREATE INDEX labels ON orders (label);
CREATE INDEX halves ON orders (halves);
CREATE INDEX seldom ON orders (seldom);
CREATE INDEX never ON orders (never);
CREATE INDEX few ON orders (id) WHERE id < 100;
CREATE INDEX none ON orders (id) WHERE id < 0;
INSERT INTO orders
SELECT i, -i, i + i * 7919::bigint % 500, i * 7919::bigint % 50021, date '2026-01-01' + i / 1000, 1,
    to_char(i / 10 * 10 + 9 - i % 10, 'FM000000'), (i + 25000) % 50000, CASE WHEN i % 3 = 0 THEN i END
FROM generate_series(0, 49999) i;
SELECT pg_stat_force_next_flush();
SELECT * FROM advice_on('orders');
-- K and L are those of sware_sortedness, but for the sampling.
SELECT index, round(a.k) AS k, round(s.k) AS k_of_table, abs(a.k - s.k) < 3 AS same_k,
    abs(a.l - s.l) < 3 AS same_l, rows_inserted, rows_per_transaction > 1000 AS large_transactions, scans
FROM sware_advise(ARRAY['orders'::regclass]) a JOIN pg_index i ON i.indexrelid = index
    JOIN pg_attribute ON attrelid = "table" AND attnum = indkey[0], sware_sortedness("table", attname) s
WHERE i.indpred IS NULL
ORDER BY index::text COLLATE "C";
-- Rows that are filled in at the table's end are out of order, and no others.
CREATE TABLE filled (k bigint);
INSERT INTO filled SELECT i FROM generate_series(1, 100000) i WHERE i % 125 <> 0;
INSERT INTO filled SELECT i FROM generate_series(1, 100000) i WHERE i % 125 = 0;
CREATE INDEX filled_k ON filled (k);
SELECT round(k::numeric, 1) AS k, l > 90 AS some_are_far, displacement < 300 AS most_are_not
FROM sware_examine_nbtree('filled_k'::regclass, 100, NULL, 1, 1, NULL);
DROP TABLE filled;
-- All leaves are sampled, and 1, which stands for all.
SELECT count(*), count(*) FILTER (WHERE verdict = 'sware pays')
FROM sware_advise(ARRAY['orders'::regclass], sampled_leaves => 1000);
SELECT count(*) FROM sware_advise(ARRAY['orders'::regclass], sampled_leaves => 1);
SELECT index, verdict, abs(expected_size - size) <= 8192 AS has_its_size
FROM sware_advise(ARRAY['in_order'::regclass], sampled_leaves => 1);
\set VERBOSITY terse
SELECT count(*) FROM sware_advise(ARRAY['orders'::regclass], sampled_leaves => 0);
SELECT count(*) FROM sware_advise(ARRAY['orders'::regclass], sampled_leaves => 1001);

-- The size that an index should have is that of a new one.
CREATE TABLE sizes AS
SELECT index, size, expected_size FROM sware_advise(ARRAY['orders'::regclass]);
SELECT index FROM sizes WHERE size > 1.5 * expected_size AND size > 100000 ORDER BY index::text COLLATE "C";
REINDEX TABLE orders;
SELECT index, pg_relation_size(index), expected_size FROM sizes
WHERE abs(pg_relation_size(index) - expected_size) > 16384 + pg_relation_size(index) * 0.04;
-- The time to load them and the WAL are given for those that pay, and the best is first.
SELECT index, wal_saved BETWEEN 40 AND 60 AS wal, load_ratio
FROM sware_advise(ARRAY['orders'::regclass]) WHERE verdict = 'sware pays' ORDER BY index::text COLLATE "C";
SELECT bool_and(gain <= before) FROM (
    SELECT gain, lag(gain) OVER () AS before FROM (
        SELECT verdict, wal_saved * rows_inserted::numeric + greatest(0, size - expected_size) AS gain
        FROM sware_advise(ARRAY['orders'::regclass])) a WHERE verdict = 'sware pays') b;

-- Scattered keys pay where the index is larger than memory.
SET effective_cache_size = '500kB';
SELECT * FROM advice_on('scrambled');
SELECT command FROM exchange('scrambled') command WHERE command ~ 'buffer_size';
RESET effective_cache_size;

-- Queues, rows that are updated, rows that come singly, rows that do not come.
CREATE TABLE queue (id bigint);
CREATE INDEX queue_id ON queue (id);
CREATE TABLE counters (id bigint, n bigint);
CREATE INDEX counters_n ON counters (n);
CREATE TABLE singly (id bigint);
CREATE INDEX singly_id ON singly (id);
CREATE TABLE asleep (id bigint);
CREATE INDEX asleep_id ON asleep (id);
INSERT INTO queue SELECT generate_series(1, 20000);
INSERT INTO counters SELECT i, i FROM generate_series(1, 12000) i;
INSERT INTO asleep SELECT generate_series(1, 20000);
DO $$ BEGIN
    FOR i IN 1 .. 12000 LOOP INSERT INTO singly VALUES (i); COMMIT; END LOOP;
END $$;
DELETE FROM queue WHERE id < 19990;
UPDATE counters SET n = n + 1;
UPDATE counters SET n = n + 1;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('asleep'::regclass);
SELECT * FROM advice_on('queue', 'counters', 'singly', 'asleep');
SELECT index, wal_saved, load_ratio FROM sware_advise(ARRAY['singly'::regclass]);

-- What must stay.
CREATE TABLE stays (id bigint PRIMARY KEY, name text, price numeric, n int, EXCLUDE USING btree (n WITH =));
CREATE INDEX stays_pattern ON stays (name text_pattern_ops);
CREATE OPERATOR CLASS mine FOR TYPE int8 USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint8cmp(int8, int8);
CREATE INDEX stays_class ON stays (id mine);
CREATE VIEW of_stays AS SELECT id, name FROM stays GROUP BY id;
CREATE UNIQUE INDEX stays_unique ON stays (price);
CREATE INDEX stays_invalid ON stays (price);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'stays_invalid'::regclass;
SELECT index, verdict, reason FROM advice_on('stays');
SELECT verdict = CASE WHEN :'is_18' THEN 'little to gain' ELSE 'must stay nbtree' END AS right,
    :'is_18' OR reason LIKE 'before PostgreSQL 18 every ON CONFLICT fails%' AS reason
FROM sware_advise(ARRAY['stays_unique'::regclass]);
DROP VIEW of_stays;

-- The exchange, of a plain index: options, expressions, order, predicate, included columns, a class
-- that is not the default, CLUSTER, a replica identity.
CREATE TABLE "Strange ""name" (id bigint NOT NULL, "a b" text, at timestamptz, v varchar);
INSERT INTO "Strange ""name" SELECT i, i, '2026-01-01'::timestamptz + i * interval '1 s', i
FROM generate_series(1, 20000) i;
CREATE INDEX "An "" USING btree index" ON "Strange ""name"
    USING btree (at DESC NULLS LAST, lower("a b") COLLATE "C", v varchar_ops) INCLUDE (id)
    WITH (fillfactor = 70, deduplicate_items = off) WHERE id > 10 AND "a b" <> E'x\ny''';
CREATE UNIQUE INDEX strange_id ON "Strange ""name" (id);
ALTER TABLE "Strange ""name" REPLICA IDENTITY USING INDEX strange_id;
ALTER TABLE "Strange ""name" CLUSTER ON strange_id;
SELECT * FROM exchange('"An "" USING btree index"');
SELECT exchange('"An "" USING btree index"') \gexec
SELECT * FROM exchange('strange_id');
SELECT exchange('strange_id') \gexec
SELECT * FROM of_sware('"Strange ""name"');
SELECT relreplident,
    (SELECT count(*) FROM pg_index WHERE indrelid = c.oid AND indisreplident AND indisclustered)
FROM pg_class c WHERE oid = '"Strange ""name"'::regclass;
SELECT pg_get_indexdef('"An "" USING btree index"'::regclass);
SELECT sware_check(indexrelid, true) FROM pg_index WHERE indrelid = '"Strange ""name"'::regclass;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM "Strange ""name" WHERE id BETWEEN 5 AND 7;
SELECT id FROM "Strange ""name" WHERE id BETWEEN 5 AND 7;
SELECT count(*) FROM "Strange ""name" WHERE at < '2026-01-01 00:01:00' AND id > 10 AND "a b" <> E'x\ny''';
RESET enable_seqscan;
SHOW search_path;
SET search_path = advice, public;
SHOW lock_timeout;
SELECT * FROM advice_on('"Strange ""name"');

-- Keys.
CREATE TABLE keys (id bigint PRIMARY KEY, number int NOT NULL, other int,
    CONSTRAINT keys_number UNIQUE (number) INCLUDE (other) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO keys SELECT i, i, i FROM generate_series(1, 20000) i;
SELECT * FROM exchange('keys_pkey');
SELECT * FROM exchange('keys_number');
-- 17 warns of such keys.
SET client_min_messages = error;
SELECT exchange('keys_pkey') \gexec
SELECT exchange('keys_number') \gexec
SET client_min_messages = warning;
SELECT * FROM of_sware('keys');
SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'keys'::regclass AND contype IN ('p', 'u') ORDER BY conname;
SELECT sware_check(indexrelid, true) FROM pg_index WHERE indrelid = 'keys'::regclass;
INSERT INTO keys VALUES (7, 0, 0);
INSERT INTO keys VALUES (0, 7, 0);

-- A partitioned index is exchanged as a whole.
CREATE TABLE parts (id bigint, day date) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (20000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (20000) TO (50000) PARTITION BY RANGE (id);
CREATE TABLE parts_2a PARTITION OF parts_2 FOR VALUES FROM (20000) TO (30000);
CREATE TABLE parts_2b PARTITION OF parts_2 FOR VALUES FROM (30000) TO (50000);
CREATE INDEX parts_day ON parts (day, (id % 7));
ALTER TABLE parts ADD CONSTRAINT parts_key PRIMARY KEY (id);
INSERT INTO parts SELECT i, date '2026-01-01' + i / 100 FROM generate_series(0, 45000) i;
SELECT pg_stat_force_next_flush();
SELECT index, verdict, reason FROM advice_on('parts_day');
SELECT index, verdict FROM advice_on('parts_2a', 'parts_key');
SELECT index, rows_inserted, size = (SELECT sum(pg_relation_size(relid))
    FROM pg_partition_tree('parts_day') WHERE isleaf) AS size, commands IS NULL AS no_commands
FROM sware_advise(ARRAY['parts_day'::regclass]) ORDER BY 1;
SELECT * FROM exchange('parts_day');
SELECT exchange('parts_day') \gexec
SELECT relid, parentrelid, amname, indisvalid FROM pg_partition_tree('parts_day')
    JOIN pg_class c ON c.oid = relid JOIN pg_am a ON a.oid = relam JOIN pg_index ON indexrelid = relid
ORDER BY 1;
SELECT count(*), min(id) FROM parts WHERE day = '2026-03-01';

-- Which indexes: all, by name, by table; those of the catalogs, and temporary ones, never.
CREATE TEMP TABLE passing (id int PRIMARY KEY);
SELECT count(*) = (SELECT count(*) FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE relnamespace = 'advice'::regnamespace AND NOT (relkind = 'I' AND relispartition)
    AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')) AS all
FROM sware_advise() WHERE index::text !~ '\.';
SELECT count(*) FROM sware_advise() WHERE index = 'passing_pkey'::regclass OR index::oid < 16384;
SELECT count(*) FROM sware_advise(ARRAY['passing'::regclass]);
SELECT index FROM sware_advise(pattern => 'advice.la%') ORDER BY 1;
SELECT count(*) FROM sware_advise('{}');

-- The time limit: what was not looked at is listed as such.
SELECT verdict, reason, count(*) FROM sware_advise(pattern => 'advice.%', time_limit => '0') GROUP BY 1, 2;
SELECT count(*) FILTER (WHERE verdict = 'not looked at' AND reason <> 'it is not valid')
FROM sware_advise(pattern => 'advice.%', time_limit => NULL);
-- How far it is.
SET client_min_messages = notice;
SELECT count(*) FROM sware_advise(ARRAY['orders'::regclass], progress => '0');
SELECT count(*) FROM sware_advise(ARRAY['orders'::regclass], progress => NULL);

-- No lock is kept.
BEGIN;
SELECT count(*) > 10 FROM sware_advise(pattern => 'advice.%');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'
    AND relation IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'orders'::regclass
                     UNION ALL SELECT 'orders'::regclass);
COMMIT;

-- No function of a user is called.
CREATE FUNCTION called(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'called'; RETURN $1; END $$;
CREATE FUNCTION compared(bigint, bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RAISE NOTICE 'compared'; RETURN btint8cmp($1, $2); END $$;
CREATE OPERATOR CLASS calling FOR TYPE int8 USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 compared(int8, int8);
SET client_min_messages = warning;
SELECT sware_clone_opfamily('calling');
CREATE TABLE calls (id bigint);
INSERT INTO calls SELECT generate_series(1, 12000);
CREATE INDEX calls_class ON calls (id calling);
CREATE INDEX calls_expression ON calls (called(id), called(7)) WHERE called(8) = 8;
SELECT pg_stat_force_next_flush();
SET client_min_messages = notice;
SELECT * FROM advice_on('calls');
SET client_min_messages = warning;

DROP SCHEMA advice CASCADE;
RESET search_path;
RESET client_min_messages;
