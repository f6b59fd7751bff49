-- From PostgreSQL 18 on the planner reads the ends of an index to learn a column's present
-- extremes. It passes over entries of dead rows there, and gives up after 100 pages of the
-- table. The entries that it has met are marked, so that it gets further the next time.
SET sware.fault_buffer = on;
CREATE FUNCTION pages_read_for_plan(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan->0->'Planning';
	RETURN (plan->>'Shared Hit Blocks')::int + (plan->>'Shared Read Blocks')::int;
END $$;
-- Plans queries about both ends, 30 times, and reports how many pages this reads at first,
-- at most, and in the end. Before 18 the planner does not look at the index.
CREATE PROCEDURE look_at_ends(tbl regclass, INOUT first text DEFAULT NULL, INOUT most text DEFAULT NULL,
							  INOUT last text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	old_version boolean := current_setting('server_version_num')::int < 180000;
	pages int;
	pages_most int := 0;
BEGIN
	FOR i IN 1 .. 30 LOOP
		-- a condition on each end, and a merge join, which asks for both
		pages := pages_read_for_plan(format('SELECT FROM %s WHERE k < 10', tbl))
			+ pages_read_for_plan(format('SELECT FROM %s WHERE k > 29990', tbl))
			+ pages_read_for_plan(format('SELECT FROM %s AS a JOIN %1$s AS b USING (k)', tbl));
		pages_most := greatest(pages, pages_most);
		IF i = 1 THEN
			first := CASE WHEN old_version OR pages > 200 THEN 'as expected' ELSE pages || ' pages' END;
		END IF;
		COMMIT;
	END LOOP;
	most := CASE WHEN pages_most < 3000 THEN 'as expected' ELSE pages_most || ' pages' END;
	last := CASE WHEN pages < 250 THEN 'as expected' ELSE pages || ' pages' END;
END $$;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE TABLE tree_ends (k int8, filler text) WITH (autovacuum_enabled = off);
CREATE INDEX tree_ends_k ON tree_ends USING sware (k);
INSERT INTO tree_ends SELECT n, repeat('x', 100) FROM generate_series(1, 30000) n;
SELECT sware_flush('tree_ends_k') IS NOT NULL AS flushed;
ANALYZE tree_ends;
DELETE FROM tree_ends WHERE k NOT BETWEEN 10000 AND 20000;
CALL look_at_ends('tree_ends');
-- The same where all entries are in the buffer.
CREATE TABLE buffer_ends (k int8, filler text) WITH (autovacuum_enabled = off);
CREATE INDEX buffer_ends_k ON buffer_ends USING sware (k);
DO $$
BEGIN
	FOR i IN 0 .. 149 LOOP
		INSERT INTO buffer_ends SELECT n, repeat('x', 100) FROM generate_series(i * 200 + 1, i * 200 + 200) n;
		COMMIT;
	END LOOP;
END $$;
ANALYZE buffer_ends;
DELETE FROM buffer_ends WHERE k NOT BETWEEN 10000 AND 20000;
CALL look_at_ends('buffer_ends');
SELECT sware_check('tree_ends_k', true), sware_check('buffer_ends_k', true);
SELECT sum(k) FROM buffer_ends;
DROP TABLE tree_ends, buffer_ends;
DROP PROCEDURE look_at_ends;
DROP FUNCTION pages_read_for_plan;
