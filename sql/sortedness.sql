-- sware_sortedness: how nearly rows are in order.
\set VERBOSITY terse
CREATE TABLE twin_sware.r (id int, ordered int8, late int8, early int8, swapped int8,
                           exchanged int8, backwards int8, scrambled int8, same int, words text,
                           "no value" int, gone int);
ALTER TABLE twin_sware.r DROP COLUMN gone;
SELECT * FROM sware_sortedness('twin_sware.r', 'ordered');
INSERT INTO twin_sware.r
    SELECT i, i,
           CASE i WHEN 7000 THEN 5000 ELSE i END,
           CASE i WHEN 5000 THEN 7000 ELSE i END,
           i # 1,
           -- As keys of BoDS: 10 % have changed places, at most 500 rows apart.
           CASE WHEN i % 20 IN (0, 19) THEN i / 500 * 1000 + 499 - i ELSE i END,
           -i, i * 7919::int8 % 10007, 1, to_char(i, 'FM00000'), NULL
    FROM generate_series(0, 9999) i;
-- The table is measured in its own order, even if the planner prefers an index.
CREATE INDEX ON twin_sware.r (scrambled);
VACUUM ANALYZE twin_sware.r;
SELECT attname, rows_measured, round(k::numeric, 2) AS k,
	round(l::numeric, 2) AS l, recommendation, buffer_size
FROM pg_attribute, sware_sortedness('twin_sware.r', attname)
WHERE attrelid = 'twin_sware.r'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'scrambled'
ORDER BY attnum;
SELECT k > 90 AS k, l > 90 AS l, recommendation, buffer_size
FROM sware_sortedness('twin_sware.r', 'scrambled');
-- Scattered keys of an index that does not fit into memory: entries wait until several of
-- them go to a leaf.
SET effective_cache_size = '240kB';
SELECT recommendation, buffer_size FROM sware_sortedness('twin_sware.r', 'scrambled');
SET effective_cache_size = '320kB';
SELECT recommendation, buffer_size FROM sware_sortedness('twin_sware.r', 'scrambled');
RESET effective_cache_size;

-- Wrong objects.
SELECT sware_sortedness('twin_sware.r', 'nothing');
SELECT sware_sortedness('twin_sware.r', 'ctid');
SELECT sware_sortedness('twin_sware.r', 'gone');
SELECT sware_sortedness('twin_sware.r_scrambled_idx', 'scrambled');
SELECT sware_sortedness(0, 'a');
SELECT sware_sortedness(NULL, 'a'), sware_sortedness('twin_sware.r', NULL);
CREATE TABLE twin_sware.p (a int) PARTITION BY RANGE (a);
SELECT sware_sortedness('twin_sware.p', 'a');
CREATE TABLE twin_sware.points (a point);
SELECT sware_sortedness('twin_sware.points', 'a');
CREATE MATERIALIZED VIEW twin_sware.m AS SELECT k FROM generate_series(1, 10) k WITH NO DATA;
SELECT sware_sortedness('twin_sware.m', 'k');
REFRESH MATERIALIZED VIEW twin_sware.m;
SELECT rows_measured FROM sware_sortedness('twin_sware.m', 'k');
-- Changes of the same transaction count; rows without a new column have its default.
BEGIN;
DELETE FROM twin_sware.r WHERE id >= 100;
ALTER TABLE twin_sware.r ADD added int DEFAULT 7;
UPDATE twin_sware.r SET added = -1 WHERE id = 0;
SELECT rows_measured, k, l FROM sware_sortedness('twin_sware.r', 'added');
ROLLBACK;
-- With the caller's permissions.
CREATE ROLE regress_sware_user;
GRANT USAGE ON SCHEMA twin_sware TO regress_sware_user;
GRANT SELECT (late) ON twin_sware.r TO regress_sware_user;
SET ROLE regress_sware_user;
SELECT sware_sortedness('twin_sware.r', 'early');
SELECT rows_measured FROM sware_sortedness('twin_sware.r', 'late');
RESET ROLE;
ALTER TABLE twin_sware.r ENABLE ROW LEVEL SECURITY;
SET ROLE regress_sware_user;
SELECT rows_measured FROM sware_sortedness('twin_sware.r', 'late');
RESET ROLE;
SELECT rows_measured FROM sware_sortedness('twin_sware.r', 'late');
DROP MATERIALIZED VIEW twin_sware.m;
DROP TABLE twin_sware.r, twin_sware.p, twin_sware.points;
REVOKE USAGE ON SCHEMA twin_sware FROM regress_sware_user;
DROP ROLE regress_sware_user;
