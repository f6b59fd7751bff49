-- Keys so large that an internal page has two or three downlinks: splits and
-- deletions on every level, where emptied internal pages give their key ranges
-- away and stay for a while.
CREATE TABLE narrow (id int, k text COLLATE "C");
ALTER TABLE narrow ALTER k SET STORAGE PLAIN;
CREATE INDEX narrow_k ON narrow USING sware (k);
INSERT INTO narrow SELECT i, lpad(i::text, 8, '0') || repeat('x', 2560) FROM generate_series(1, 600) i;
SET client_min_messages = warning;
\set ECHO errors
SELECT format('DELETE FROM narrow WHERE id BETWEEN %s AND %1$s + 90', r * 7919 % 599 + 1),
	'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) narrow',
	format($$INSERT INTO narrow SELECT i, lpad(i::text, 8, '0') || '<r %s>' || repeat('x', 2560)
		FROM generate_series(%s, %2$s + 80) i$$, lpad(r::text, 2, '0'), r * r * 104729 % 599 + 1)
FROM generate_series(1, 80) r
\gexec
\set ECHO all
SELECT sware_check('narrow_k', true);
SET enable_seqscan = off;
SELECT count(*) = (SELECT count(*) FROM (SELECT FROM narrow OFFSET 0) s) AS all_found
FROM (SELECT k FROM narrow ORDER BY k OFFSET 0) s;

-- Nothing is left behind: with all rows gone, one page remains on each level.
DELETE FROM narrow;
VACUUM (INDEX_CLEANUP ON) narrow;
SELECT sware_check('narrow_k', true);
SELECT level, count(*) FROM generate_series(1, pg_relation_size('narrow_k') / current_setting('block_size')::int - 1) AS block,
	sware_page_stats('narrow_k', block) AS page
WHERE kind IN ('leaf', 'internal') AND NOT 'deleted' = ANY (page.flags) GROUP BY level HAVING count(*) > 1;
DROP TABLE narrow;
