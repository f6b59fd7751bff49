-- Runs of transactions whose keys belong between others: how full the leaves are afterwards.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SET sware.buffer_size = '4MB';
CREATE FUNCTION begin_anew() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM on_both('DROP TABLE IF EXISTS t');
	PERFORM on_both('CREATE TABLE t (k bigint, v int)');
	PERFORM on_both('CREATE INDEX t_k ON t USING @am (k)');
END $$;
SELECT begin_anew();
CREATE FUNCTION leaves(OUT leaves bigint, OUT fewest int) LANGUAGE sql AS $$
	SELECT count(*), min(s.heap_tids)
	FROM generate_series(1, pg_relation_size('twin_sware.t_k') / 8192 - 1) p,
		LATERAL sware_page_stats('twin_sware.t_k', p) s
	WHERE s.kind = 'leaf'
$$;

-- A few keys are ahead of the others, in the last leaf. The next ones follow each other, below them.
\o /dev/null
SELECT on_both('INSERT INTO t SELECT i, 0 FROM generate_series(1, 10000) i
	UNION ALL SELECT 10000 + i * 300, 0 FROM generate_series(1, 150) i');
DO $$
BEGIN
	FOR n IN 10 .. 49 LOOP
		PERFORM on_both(format('INSERT INTO t SELECT i, 1 FROM generate_series(%s, %s) i',
			n * 1000 + 1, n * 1000 + 1000));
		COMMIT;
	END LOOP;
END $$;
\o
SELECT leaves < 152 AS are_filled FROM leaves();
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t ORDER BY k, v');

-- Entries that lie here and there in a leaf, but for some of them: it is split evenly.
\o /dev/null
SELECT begin_anew();
SELECT on_both('INSERT INTO t SELECT i * 10, 0 FROM generate_series(1, 20000) i');
SELECT on_both('INSERT INTO t SELECT i * 200 + 1, 1 FROM generate_series(1, 1000) i
	UNION ALL SELECT i / 20 * 3860 + 3600 + i % 20, 1 FROM generate_series(0, 999) i');
SELECT sware_flush('twin_sware.t_k');
\o
SELECT fewest > 150 AS are_even FROM leaves();
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t ORDER BY k, v');

-- Each transaction has keys in order, between those of others: they follow the keys of an earlier one.
\o /dev/null
SELECT begin_anew();
DO $$
BEGIN
	FOR n IN 0 .. 299 LOOP
		PERFORM on_both(format('INSERT INTO t SELECT %s * 1000000 + i, 1
			FROM generate_series(%s, %s) i', n % 6, n / 6 * 260, n / 6 * 260 + 259));
		COMMIT;
	END LOOP;
END $$;
\o
SELECT leaves < 230 AS are_filled FROM leaves();
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t ORDER BY k, v');

-- A run has a few entries for the start of each full leaf, and a few for its end: no leaf is left tiny.
\o /dev/null
SELECT begin_anew();
SELECT on_both('DROP INDEX t_k');
SELECT on_both('INSERT INTO t SELECT i * 10, 0 FROM generate_series(1, 40000) i');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k) WITH (fillfactor = 100)');
SELECT max(s.heap_tids) AS full
FROM generate_series(1, pg_relation_size('twin_sware.t_k') / 8192 - 1) p,
	LATERAL sware_page_stats('twin_sware.t_k', p) s
WHERE s.kind = 'leaf' \gset
SELECT on_both(format('INSERT INTO t
	SELECT leaf * %1$s * 10 + CASE WHEN i < 15 THEN 11 + i ELSE %1$s * 10 - 30 + i END, 1
	FROM generate_series(0, 95) leaf, generate_series(0, 29) i ORDER BY 1', :full));
SELECT sware_flush('twin_sware.t_k');
\o
SELECT fewest > 100 AS is_none_tiny FROM leaves();
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t ORDER BY k, v');

-- Several sessions load rows nearly in order, and their transactions do not end in the order of the
-- keys; one key in ten is early or late, and some come twice. The index is smaller than nbtree's.
\o /dev/null
SELECT begin_anew();
DO $$
DECLARE
	block int;
BEGIN
	FOR n IN 0 .. 79 LOOP
		block := n + (ARRAY[2, -1, 1, -2])[n % 4 + 1];
		PERFORM on_both(format('INSERT INTO t
			SELECT CASE WHEN hashint4(i) %% 10 = 0 THEN i + hashint4(-i) %% 4000 ELSE i END, 1
			FROM generate_series(%s, %s) i', block * 1000, block * 1000 + 999));
		COMMIT;
	END LOOP;
END $$;
SELECT sware_flush('twin_sware.t_k');
\o
SELECT pg_relation_size('twin_sware.t_k') < 0.88 * pg_relation_size('twin_nbtree.t_k') AS is_smaller;
SELECT check_all();
SELECT same_rows('SELECT k, v FROM t ORDER BY k, v');
SELECT drop_twins();
