-- Whether the indexes of tables are right, for tests of events in their lives.

-- The entries that others can see in an index: those that wait in a session's
-- private memory are not among them.
CREATE FUNCTION stored_entries(index regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(s.heap_tids), 0)::bigint +
	       (SELECT buffer_entries FROM sware_stats(index))
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) block,
		 sware_page_stats(index, block) s
	WHERE s.kind = 'leaf';
$$;

-- Pages that look alive, although nothing leads to them.
CREATE FUNCTION leaked_pages(index regclass) RETURNS bigint LANGUAGE sql AS $$
	WITH pages AS MATERIALIZED (
		SELECT s.* FROM generate_series(1,
			pg_relation_size(index) / current_setting('block_size')::int - 1) block,
			 sware_page_stats(index, block) s
		WHERE s.kind IN ('leaf', 'internal') AND NOT 'deleted' = ANY (s.flags)),
	linked AS (
		SELECT i.child FROM pages p, sware_page_items(index, p.blkno) i
		WHERE p.kind = 'internal' AND i.child IS NOT NULL
		UNION ALL SELECT root FROM sware_metapage(index))
	SELECT count(*) FROM pages WHERE blkno NOT IN (SELECT child FROM linked);
$$;

CREATE FUNCTION allow_only(VARIADIC ways text[]) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_' || way, (way = ANY (ways))::text, true)
	FROM unnest('{seqscan,indexscan,indexonlyscan,bitmapscan,sort}'::text[]) way;
$$;

-- What is wrong with an index, after all that this session has staged was stored:
-- its structure; what scans find, compared with a sequential scan; its size.
CREATE FUNCTION faults_of(index regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	tbl regclass := (SELECT indrelid FROM pg_index WHERE indexrelid = index);
	key text := pg_get_indexdef(index, 1, true);
	digest text := 'SELECT count(*) || '' rows, digest ''
		|| coalesce(sum(hashtextextended(ctid || line, 0)), 0)
					FROM (SELECT ctid, t::text AS line FROM ONLY %s t %s) s';
	expected text;
	found text;
	line text;
	plan text;
	scan record;
BEGIN
	PERFORM sware_check(index, true);
	FOR scan IN VALUES
		('ORDER BY %s', ARRAY['indexscan']), ('ORDER BY %s DESC', ARRAY['indexscan']),
		('WHERE %1$s >= (SELECT min(%1$s) FROM ONLY %2$s)', ARRAY['bitmapscan', 'sort'])
	LOOP
		PERFORM allow_only('seqscan', 'sort');
		EXECUTE format(digest, tbl, format(scan.column1, key, tbl)) INTO expected;
		PERFORM allow_only(VARIADIC scan.column2);
		EXECUTE format(digest, tbl, format(scan.column1, key, tbl)) INTO found;
		IF found <> expected THEN
			RETURN NEXT format('%s, %s: %s instead of %s', index, scan.column1, found, expected);
		END IF;
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || format(digest, tbl, format(scan.column1, key, tbl)) LOOP
			plan := plan || line;
		END LOOP;
		-- with another index on the same key, either may be
		IF plan !~ ('Index Scan (Backward )?(using|on) '
			|| (SELECT relname FROM pg_class WHERE oid = index)) AND
			NOT EXISTS (SELECT FROM pg_index
				WHERE indrelid = tbl AND indexrelid <> index AND pg_get_indexdef(indexrelid, 1, true) = key)
		THEN
			RETURN NEXT format('%s, %s: not used: %s', index, scan.column1, plan);
		END IF;
	END LOOP;
	PERFORM allow_only('seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort');
	IF leaked_pages(index) > 0 THEN
		RETURN NEXT format('%s: %s pages leaked', index, leaked_pages(index));
	END IF;
	IF pg_relation_size(index) / current_setting('block_size')::int > 20 + stored_entries(index) / 30 THEN
		RETURN NEXT format('%s: %s bytes for %s entries', index,
			pg_relation_size(index), stored_entries(index));
	END IF;
END
$$;

-- Faults of all sware indexes of tables and their partitions. If there are none:
-- how many rows and indexes there are, and how many entries too many: those of
-- rows that are dead, until VACUUM comes.
CREATE FUNCTION verdict_on(VARIADIC tables regclass[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tbl regclass;
	index regclass;
	only_rows bigint;
	rows bigint := 0;
	indexes int := 0;
	stale bigint := 0;
	faults text[] := '{}';
BEGIN
	FOR tbl IN
		SELECT coalesce(p.relid, t) FROM unnest(tables) t LEFT JOIN LATERAL pg_partition_tree(t) p ON true
		WHERE p.isleaf IS NOT FALSE
	LOOP
		EXECUTE format('SELECT count(*) FROM ONLY %s', tbl) INTO only_rows;
		rows := rows + only_rows;
		FOR index IN
			SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
				JOIN pg_am a ON a.oid = relam
			WHERE indrelid = tbl AND amname = 'sware' AND indisvalid AND indpred IS NULL AND c.relkind = 'i'
		LOOP
			faults := faults || ARRAY(SELECT faults_of(index));
			indexes := indexes + 1;
			stale := stale + stored_entries(index) - only_rows;
		END LOOP;
	END LOOP;
	IF cardinality(faults) > 0 THEN
		RETURN 'WRONG: ' || array_to_string(faults, '; ');
	END IF;
	RETURN format('%s rows, %s indexes', rows, indexes) || CASE
		WHEN stale <> 0 THEN format(', %s stale', stale) ELSE '' END;
END
$$;
