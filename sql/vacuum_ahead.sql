-- VACUUM asks for leaves ahead, which it finds on the pages of level 1: on each of them
-- once, whatever the number of leaves is that it asks for at a time.
CREATE TABLE t (a text);
ALTER TABLE t ALTER a SET STORAGE PLAIN;
CREATE INDEX t_a ON t USING sware (a);
INSERT INTO t SELECT repeat('x', 1000) || i * 7919 % 401 FROM generate_series(1, 400) i;
SELECT sware_flush('t_a') IS NOT NULL AS flushed;
SELECT count(*) AS pages_of_level_1
FROM generate_series(1, pg_relation_size('t_a') / current_setting('block_size')::int - 1) block,
	sware_page_stats('t_a', block) WHERE kind = 'internal' AND level = 1;

-- A notice for each of them, unless nothing is to be asked for.
\set SHOW_CONTEXT never
SET client_min_messages = notice;
SET sware.fault_points = 'readahead-lists=notice';
SET maintenance_io_concurrency = 0;
DELETE FROM t WHERE a LIKE '%x2';
VACUUM (INDEX_CLEANUP on) t;
SET maintenance_io_concurrency = 1;
DELETE FROM t WHERE a LIKE '%x3';
VACUUM (INDEX_CLEANUP on) t;
SET maintenance_io_concurrency = 1000;
DELETE FROM t WHERE a LIKE '%x4';
VACUUM (INDEX_CLEANUP on) t;
RESET maintenance_io_concurrency;
RESET sware.fault_points;
RESET client_min_messages;
SELECT sware_check('t_a', true);
SELECT count(*) FROM t;

-- Leaves and their parents are deleted behind the ones that are asked for.
DELETE FROM t WHERE a > repeat('x', 1000) || '2';
VACUUM (INDEX_CLEANUP on) t;
SELECT sware_check('t_a', true);
SELECT count(*) FROM t;
DROP TABLE t;
