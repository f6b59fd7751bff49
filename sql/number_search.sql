--
-- Searches among integer keys look at numbers first: keys with all kinds of
-- distances, extreme and equal ones, nulls, and values of other types.
--
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SET sware.enable_buffer = off;	-- the tree alone

CREATE TABLE numbers (k int8, v int);
INSERT INTO numbers
SELECT CASE i % 5
		WHEN 0 THEN i						-- in equal distances
		WHEN 1 THEN (2.0 ^ (i / 160))::int8	-- skewed
		WHEN 2 THEN - (i::int8 ^ 4)::int8
		WHEN 3 THEN 5000 + i / 1000			-- equal
		ELSE (ARRAY[NULL, -9223372036854775808, 9223372036854775807, 0])[1 + i / 5 % 4]
	END, i
FROM generate_series(1, 9000) i;
CREATE TABLE probes AS
SELECT p + d AS p
FROM (SELECT DISTINCT k FROM numbers WHERE v % 37 = 0 AND abs(k / 2) < 2 ^ 61) AS n(p),
	generate_series(-1, 1) d
UNION SELECT unnest(ARRAY[-9223372036854775808, -9223372036854775807, 9223372036854775806,
	9223372036854775807]);

-- All that an index answers about the probes, in a number.
CREATE FUNCTION answers(tab regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(concat_ws('','', p,
			(SELECT count(v) FROM %1$s WHERE k = p), (SELECT min(v) FROM %1$s WHERE k = p),
			(SELECT count(v) FROM %1$s WHERE k BETWEEN p AND p + 1000 AND p < 9000000000000000000),
			(SELECT k FROM %1$s WHERE k < p ORDER BY k DESC LIMIT 1),
			(SELECT k FROM %1$s WHERE k >= p ORDER BY k LIMIT 1),
			(SELECT count(v) FROM %1$s WHERE k = ANY (ARRAY[p, p / 2, NULL, 5003])),
			(SELECT count(v) FROM %1$s WHERE k IS NULL)), '';'' ORDER BY p)) FROM probes', tab) INTO result;
	RETURN result;
END
$$;
CREATE FUNCTION compare_answers(tab regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index text := answers(tab);
BEGIN
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_seqscan = on;
	RETURN CASE WHEN answers(tab) = by_index THEN 'equal' ELSE 'different' END;
END
$$;
-- as few probes as a scan of the table for each takes time for
DELETE FROM probes WHERE abs(hashint8(p)) % 8 <> 0;
SELECT count(*) > 40 FROM probes;

CREATE INDEX numbers_k ON numbers USING sware (k);
BEGIN;
EXPLAIN (COSTS OFF) SELECT count(v) FROM numbers WHERE k = 7;
SELECT compare_answers('numbers');
ROLLBACK;
DROP INDEX numbers_k;
CREATE INDEX numbers_k ON numbers USING sware (k DESC NULLS LAST, v) WITH (deduplicate_items = off);
BEGIN;
SELECT compare_answers('numbers');
ROLLBACK;
DROP INDEX numbers_k;

-- one by one, into leaves with append areas
CREATE TABLE added (k int4, v int);
CREATE INDEX added_k ON added USING sware (k NULLS FIRST);
INSERT INTO added
SELECT k, v FROM numbers WHERE k BETWEEN -2147483648 AND 2147483647 OR k IS NULL ORDER BY hashint4(v);
BEGIN;
SELECT compare_answers('added');
ROLLBACK;
SELECT sware_check('added_k', true);

-- Values of other types, some of which the column cannot have.
BEGIN;
SELECT count(v) FROM added WHERE k = 5003::int2;
SELECT count(v) FROM added WHERE k > 5003::int8 AND k < 5000000000;
SELECT count(v) FROM added WHERE k < -5000000000;
SELECT count(v) FROM added WHERE k > -9223372036854775808;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_seqscan = on;
SELECT count(v) FROM added WHERE k = 5003::int2;
SELECT count(v) FROM added WHERE k > 5003::int8 AND k < 5000000000;
SELECT count(v) FROM added WHERE k > -9223372036854775808;
ROLLBACK;

DROP TABLE numbers, probes, added;
DROP FUNCTION answers, compare_answers;
