-- Keys are so large that an internal page has two or three downlinks. There are splits
-- and deletions on every level, where internal pages that became empty give their key
-- ranges away and stay for a while.
CREATE TABLE narrow (id int, k text COLLATE "C");
ALTER TABLE narrow ALTER k SET STORAGE PLAIN;
CREATE INDEX narrow_k ON narrow USING sware (k);
CREATE FUNCTION changes(size int) RETURNS SETOF text LANGUAGE sql AS $f$
	SELECT format($$INSERT INTO narrow SELECT i, rpad(lpad(i::text, 8, '0'), %s, 'x')
		FROM generate_series(1, 600) i$$, size)
	UNION ALL
	SELECT unnest(ARRAY[
		format('DELETE FROM narrow WHERE id BETWEEN %s AND %1$s + 90', r * 7919 % 599 + 1),
		'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) narrow',
		format($$INSERT INTO narrow SELECT i, rpad(lpad(i::text, 8, '0') || '<r %s>', %s, 'x')
			FROM generate_series(%s, %3$s + 80) i$$, lpad(r::text, 2, '0'), size, r * r * 104729 % 599 + 1)])
	FROM generate_series(1, 80) r
$f$;
CREATE FUNCTION index_pages() RETURNS TABLE (level int, is_rightmost boolean,
	has_high_key boolean, downlinks bigint) LANGUAGE sql AS $$
	SELECT min(page.level), bool_and(page.right_link IS NULL),
		bool_or(item.kind = 'high key'), count(*) FILTER (WHERE item.kind = 'downlink')
	FROM generate_series(1, pg_relation_size('narrow_k') / current_setting('block_size')::int - 1) AS block,
		sware_page_stats('narrow_k', block) AS page
			LEFT JOIN LATERAL sware_page_items('narrow_k', block) AS item ON true
	WHERE page.kind IN ('leaf', 'internal') AND NOT 'deleted' = ANY (page.flags)
	GROUP BY block
$$;
SET client_min_messages = warning;
\set ECHO errors
SELECT changes(2568) \gexec
\set ECHO all
SELECT sware_check('narrow_k', true);
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(*) FROM (SELECT FROM narrow OFFSET 0) s) AS all_found
FROM (SELECT k FROM narrow ORDER BY k OFFSET 0) s;

-- Nothing is left behind: with all rows gone, one page remains on each level.
DELETE FROM narrow;
VACUUM (INDEX_CLEANUP ON) narrow;
SELECT sware_check('narrow_k', true);
SELECT level, count(*) FROM index_pages() GROUP BY level HAVING count(*) > 1;

-- The largest keys: a third downlink takes the place of the high key.
\set ECHO errors
SELECT changes(2692) \gexec
\set ECHO all
SELECT sware_check('narrow_k', true);
SELECT count(*) > 0 AS any_without_high_key, max(downlinks) FROM index_pages()
WHERE level > 0 AND NOT is_rightmost AND NOT has_high_key;
SELECT count(*) = (SELECT count(*) FROM (SELECT FROM narrow OFFSET 0) s) AS all_found
FROM (SELECT k FROM narrow ORDER BY k OFFSET 0) s;
SELECT count(*) = (SELECT count(*) FROM (SELECT FROM narrow OFFSET 0) s) AS all_found
FROM (SELECT k FROM narrow ORDER BY k DESC OFFSET 0) s;
-- The intervals of a parallel scan end at pivots.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) = (SELECT count(*) FROM (SELECT FROM narrow OFFSET 0) s) AS all_found
FROM narrow WHERE k > '0';
DELETE FROM narrow;
VACUUM (INDEX_CLEANUP ON) narrow;
SELECT sware_check('narrow_k', true);
SELECT level, count(*) FROM index_pages() GROUP BY level HAVING count(*) > 1;
DROP TABLE narrow;
DROP FUNCTION changes, index_pages;
