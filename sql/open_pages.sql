--
-- Look-ups beside inserts: the summaries of open pages. Each new row is looked for at once, so
-- that a summary is made, lacks the newest entries, and is extended again and again.
--
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

-- Counts the answers that an index gives differently from a scan of the table.
CREATE PROCEDURE look_beside_inserts(tab regclass, type text, seed float8, INOUT wrong int)
LANGUAGE plpgsql AS $$
DECLARE
	key int;
	conditions text;
	queries text[];
	answer text;
	right_answer text;
BEGIN
	PERFORM setseed(seed);
	wrong := 0;
	FOR i IN 1 .. 700 LOOP
		-- nearly in order, with equal keys and nulls
		key := CASE WHEN i % 50 = 0 THEN NULL ELSE i / 2 + (random() * 30)::int END;
		EXECUTE format('INSERT INTO %s VALUES (%L::%s, %s)', tab, key, type, i);
		IF i % 90 = 0 THEN
			EXECUTE format('DELETE FROM %s WHERE k BETWEEN %s AND %s', tab, i / 3, i / 3 + 4);
		END IF;
		COMMIT;
		key := (random() * 380)::int;
		conditions := format((ARRAY['k = %s::%s', 'k >= %s::%s', 'k < %s::%s',
			'k IS NULL AND v <> %s'])[1 + i % 4], key, type);
		queries := ARRAY[
			format('SELECT v FROM %s WHERE %s ORDER BY k, v', tab, conditions),
			format('SELECT k FROM %s WHERE k > %s::%s ORDER BY k LIMIT 5', tab, key, type),
			format('SELECT k FROM %s WHERE k < %s::%s ORDER BY k DESC LIMIT 9', tab, key, type),
			format('SELECT k FROM %s ORDER BY k LIMIT 3', tab),
			format('SELECT k FROM %s ORDER BY k DESC LIMIT 40', tab)];
		FOR j IN 1 .. 5 LOOP
			queries[j] := format('SELECT string_agg(r::text, '','') FROM (%s) AS r', queries[j]);
			SET LOCAL enable_indexscan = on;
			SET LOCAL enable_seqscan = off;
			EXECUTE queries[j] INTO answer;
			SET LOCAL enable_indexscan = off;
			SET LOCAL enable_seqscan = on;
			EXECUTE queries[j] INTO right_answer;
			IF answer IS DISTINCT FROM right_answer THEN
				wrong := wrong + 1;
			END IF;
		END LOOP;
		ROLLBACK;
	END LOOP;
END
$$;

CREATE TABLE upward (k int8, v int);
CREATE INDEX ON upward USING sware (k);
CREATE TABLE downward (k int, v int);
CREATE INDEX ON downward USING sware (k DESC NULLS LAST);
CREATE TABLE two_columns (k int2, v int);
CREATE INDEX ON two_columns USING sware (k NULLS FIRST, v);
CREATE TABLE without_abbreviations (k numeric, v int);
CREATE INDEX ON without_abbreviations USING sware (k);
CALL look_beside_inserts('upward', 'int8', 0.1, NULL);
CALL look_beside_inserts('downward', 'int', 0.2, NULL);
CALL look_beside_inserts('two_columns', 'int2', 0.3, NULL);
CALL look_beside_inserts('without_abbreviations', 'numeric', 0.4, NULL);
-- These were open pages, one of which has been sealed.
SELECT state, count(*), sum(entries) FROM sware_buffer_pages('upward_k_idx') GROUP BY state ORDER BY state;

-- A block that becomes another open page has another summary.
CREATE TABLE again (k int);
CREATE INDEX ON again USING sware (k);
CREATE PROCEDURE insert_one_by_one(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO again VALUES (i);
		COMMIT;
	END LOOP;
END
$$;
CREATE FUNCTION count_found(first int, last int) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(found.k)
	FROM generate_series(first, last) i, LATERAL (SELECT k FROM again WHERE k = i OFFSET 0) AS found
$$;
CALL insert_one_by_one(1, 30);
SELECT count_found(1, 60);
SELECT block, incarnation FROM sware_buffer_pages('again_k_idx') WHERE state = 'open' \gset
SELECT sware_flush('again_k_idx');
CALL insert_one_by_one(31, 120);
SELECT block = :block AS same_block, incarnation > :incarnation AS reused
FROM sware_buffer_pages('again_k_idx') WHERE state = 'open';
SELECT count_found(1, 140);

-- The summaries of 150 indexes do not fit into memory at once.
DO $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		EXECUTE format('CREATE TABLE many_%s (k1 int, k2 int, k3 int, k4 int, k5 int)', i);
		FOR k IN 1 .. 5 LOOP
			EXECUTE format('CREATE INDEX ON many_%s USING sware (k%s)', i, k);
		END LOOP;
		FOR j IN 1 .. 40 LOOP
			EXECUTE format('INSERT INTO many_%1$s VALUES (%2$s, %2$s, %2$s, %2$s, %2$s)', i, i * j);
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;
DO $$
DECLARE
	found int;
	wrong int := 0;
BEGIN
	FOR pass IN 1 .. 15 LOOP
		FOR i IN 1 .. 30 LOOP
			FOR k IN 1 .. 5 LOOP
				EXECUTE format('SELECT count(*) FROM many_%s WHERE k%s = %s', i, k, i * pass) INTO found;
				wrong := wrong + (found <> 1)::int;
			END LOOP;
		END LOOP;
	END LOOP;
	RAISE NOTICE '% wrong', wrong;
END
$$;

DO $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		EXECUTE format('DROP TABLE many_%s', i);
	END LOOP;
END
$$;
DROP TABLE upward, downward, two_columns, without_abbreviations, again;
DROP PROCEDURE look_beside_inserts, insert_one_by_one;
DROP FUNCTION count_found;
