-- Collations of ICU: orders that are not those of bytes, and different texts that are
-- equal. A server that was built without ICU leaves this test out.
CREATE COLLATION german (provider = icu, locale = 'de-DE');
CREATE COLLATION ignore_accents (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);

-- Scans. Half of the rows are there before the index, half come after.
SELECT on_both('CREATE TABLE t (a text COLLATE german, b text COLLATE ignore_accents)');
SELECT on_both($$INSERT INTO t SELECT (ARRAY['Zoo', 'Äpfel', 'apfel', 'ähre', 'zoo'])[1 + i % 5] || i % 100,
		(ARRAY['e', 'é', 'E', 'f', 'Ê'])[1 + i % 5] || i % 10
	FROM generate_series(1, 1500) i$$);
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SELECT on_both($$INSERT INTO t SELECT (ARRAY['Zoo', 'Äpfel', 'apfel', 'ähre', 'zoo'])[1 + i % 5] || i % 100,
		(ARRAY['e', 'é', 'E', 'f', 'Ê'])[1 + i % 5] || i % 10
	FROM generate_series(1501, 3000) i$$);
SELECT on_both('INSERT INTO t VALUES (NULL, NULL)');
SELECT on_both('ANALYZE t');
SELECT check_all();
SELECT allow_scans('index', 'indexonly');
SELECT k, operator, probe, same_rows(query),
	EXISTS (SELECT FROM plan_of('twin_sware', query) line WHERE line LIKE '%Index Cond%') AS by_the_index
FROM (VALUES ('a', 'b'), ('b', 'e5')) v(k, probe), unnest(ARRAY['<', '=', '>=']) operator,
	format('SELECT ctid, %1$s FROM t WHERE %1$s %2$s %3$L ORDER BY %1$s, ctid', k, operator, probe) query
ORDER BY k, operator;
SELECT k, same_rows(format('SELECT ctid, %1$s FROM t ORDER BY %1$s', k)),
	mirrored(format('SELECT ctid FROM t ORDER BY %s', k), format('SELECT ctid FROM t ORDER BY %s DESC', k))
FROM unnest(ARRAY['a', 'b']) k;

-- What a statement does to each twin, if it does the same to both.
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	twin text;
	outcomes text[] := '{}';
BEGIN
	FOREACH twin IN ARRAY ARRAY['nbtree', 'sware'] LOOP
		BEGIN
			PERFORM set_config('search_path', 'twin_' || twin || ', public', true);
			EXECUTE replace(statement, '@am', CASE twin WHEN 'nbtree' THEN 'btree' ELSE 'sware' END);
			outcomes := outcomes || 'done'::text;
		EXCEPTION WHEN OTHERS THEN
			outcomes := outcomes || SQLERRM;
		END;
	END LOOP;
	RETURN CASE WHEN outcomes[1] = outcomes[2] THEN outcomes[2] ELSE 'DIFFERENT: ' || outcomes::text END;
END
$$;

-- Unique indexes: rows are inserted when none has been flushed, when all have been, and
-- when half of them have been deleted.
CREATE FUNCTION try_rows(type text, definition text, VARIADIC rows text[]) RETURNS SETOF text
	LANGUAGE plpgsql AS $$
DECLARE
	round text;
	one_row text;
BEGIN
	PERFORM on_both(format('CREATE TABLE tried (a %s, number serial)', type));
	PERFORM on_both(format('CREATE UNIQUE INDEX tried_key ON tried USING @am (%s)', definition));
	FOREACH round IN ARRAY array['new', 'flushed', 'deleted'] LOOP
		IF round = 'flushed' THEN
			PERFORM sware_flush('twin_sware.tried_key');
		ELSIF round = 'deleted' THEN
			PERFORM on_both('DELETE FROM tried WHERE number % 2 = 0');
		END IF;
		FOREACH one_row IN ARRAY rows LOOP
			RETURN NEXT format('%s, %s: %s', round, one_row,
				outcome(format('INSERT INTO tried VALUES (%L)', one_row)));
		END LOOP;
	END LOOP;
	RETURN NEXT check_all() || ', ' || same_rows('SELECT a FROM tried ORDER BY number');
	PERFORM on_both('DROP TABLE tried');
END
$$;
SELECT try_rows('text COLLATE ignore_case', 'a', 'a', 'A', 'b', 'B ', 'B');
SELECT try_rows('text COLLATE ignore_case', 'a COLLATE "C"', 'a', 'A', 'b', 'A');
SELECT try_rows('text[] COLLATE ignore_case', 'a', '{a}', '{A}', '{a, B}', '{A, b}');
SELECT on_both('CREATE TABLE built (a text COLLATE ignore_accents)');
SELECT on_both($$INSERT INTO built VALUES ('Bar'), ('bär')$$);
SELECT outcome('CREATE UNIQUE INDEX built_a ON built USING @am (a)');
SELECT outcome('CREATE UNIQUE INDEX built_a ON built USING @am (a COLLATE german)');
SELECT check_all();

-- Pattern operator classes compare bytes, so they are refused with a collation for which
-- different bytes may be equal.
SELECT outcome('CREATE INDEX ON t USING @am (a COLLATE ignore_case text_pattern_ops)');
SELECT outcome('CREATE INDEX ON t USING @am ((a::varchar) COLLATE ignore_case varchar_pattern_ops)');
SELECT outcome('CREATE INDEX ON t USING @am ((a::bpchar) COLLATE ignore_case bpchar_pattern_ops)');

DROP FUNCTION try_rows, outcome;
SELECT drop_twins();
DROP COLLATION german, ignore_accents, ignore_case;
