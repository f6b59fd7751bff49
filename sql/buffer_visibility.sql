-- Index-only scans of the buffer ask the visibility map, and look at no row whose page is
-- all-visible.
SELECT on_both('CREATE TABLE t (k int, filler text) WITH (autovacuum_enabled = off)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k)');
DO $$ BEGIN
	FOR i IN 0 .. 199 LOOP
		PERFORM on_both(format('INSERT INTO t SELECT hashint8(n) %% 100000, repeat(''x'', 250)
			FROM generate_series(%s * 100 + 1, %s * 100 + 100) n', i, i));
		COMMIT;
	END LOOP;
END $$;
SET search_path = twin_sware, public;
-- VACUUM without the index leaves the buffer as it is.
VACUUM (INDEX_CLEANUP OFF) twin_nbtree.t, t;
SELECT pg_relation_size('t') / current_setting('block_size')::int > 300 AS many_pages_of_rows,
	(SELECT count(*) FROM sware_buffer_pages('t_k')) > 20 AS many_pages_in_buffer;

CREATE FUNCTION pages_accessed() RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_stat_force_next_flush();
	SELECT pg_stat_clear_snapshot();
	SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables
	WHERE relid = 'twin_sware.t'::regclass;
$$;
SELECT allow_scans('indexonly');

SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() AS before \gset
SELECT compare('SELECT count(*), sum(k) FROM t WHERE k > -1000000');
SELECT compare('SELECT k FROM t WHERE k BETWEEN 1000 AND 3000 ORDER BY k DESC');
SELECT same_rows('SELECT k FROM t WHERE k = ANY (ARRAY(SELECT generate_series(-70000, 70000, 7)))
	ORDER BY k');
SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() - :before < 20 AS few;

-- The rows of a page that is not all-visible any more are looked at. (A scan that stays
-- on a page of the table accesses it once.)
SELECT on_both('DELETE FROM t WHERE ctid = ''(5,3)''');
SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() AS before \gset
SELECT compare('SELECT count(*), sum(k) FROM t WHERE k > -1000000');
SELECT pages_accessed() IS NULL AS never;
SELECT pages_accessed() - :before BETWEEN 1 AND 20 AS few;

-- Rows of a transaction that has not ended are looked at, too, beside those in the buffer.
BEGIN;
SELECT on_both('INSERT INTO t SELECT n, ''new'' FROM generate_series(-3000, 3000, 2) n');
SELECT compare('SELECT count(*), sum(k) FROM t WHERE k BETWEEN -5000 AND 5000');
ROLLBACK;
SELECT compare('SELECT count(*), sum(k) FROM t WHERE k BETWEEN -5000 AND 5000');

RESET search_path;
SELECT check_all();
SELECT drop_twins();
