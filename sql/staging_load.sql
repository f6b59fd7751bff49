-- Loads of more entries than private memory holds. When it is full, the lower part of
-- the entries goes to the tree, and the upper part stays with those that come later.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
-- Keys arrive in each order; private memory is small, and a small part, half, or all of
-- it is sent. Loads that are rolled back leave nothing behind that matters.
CREATE FUNCTION load(columns text, ordering text, options text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	patterns CONSTANT text[] := ARRAY['i', '6000 - i', 'i + i * 7919 % 200', 'i * 7919 % 6007', 'i % 10',
									  'CASE WHEN i % 50 = 0 THEN i * 31 % 6000 ELSE i END',
									  'NULLIF(i % 1000, 7)'];
	pattern text;
	stored bigint;
	verdict text;
BEGIN
	FOREACH pattern IN ARRAY patterns LOOP
		PERFORM on_both('DROP TABLE IF EXISTS t');
		PERFORM on_both('CREATE TABLE t (k int, v text, w numeric)');
		PERFORM on_both(format('CREATE INDEX t_i ON t USING @am (%s)', columns));
		EXECUTE format('ALTER INDEX twin_sware.t_i SET (%s)', options);
		PERFORM on_both(format('INSERT INTO t SELECT k, ''v'' || k, k * 0.5
			FROM (SELECT %s AS k FROM generate_series(1, 6000) i) s', pattern));
		-- a part is in the tree before anybody asks
		stored := stored_entries('twin_sware.t_i');
		IF stored NOT BETWEEN 1 AND 6000 THEN
			RETURN format('%s entries stored of %s', stored, pattern);
		END IF;
		verdict := check_all() || ', ' || same_rows(format('SELECT %1$s FROM t ORDER BY %1$s', ordering))
			|| ', ' || stored_entries('twin_sware.t_i') || ' entries';
		IF verdict <> 'checked, same 6000 rows, 6000 entries' THEN
			RETURN format('%s of %s', verdict, pattern);
		END IF;
	END LOOP;
	RETURN 'good for ' || cardinality(patterns) || ' orders';
END
$$;
SET enable_sort = off;
SET sware.staging_size = '64kB';
SELECT load('k', 'k', 'flush_fraction = 50');
SELECT load('k', 'k', 'flush_fraction = 1');
SELECT load('k', 'k', 'flush_fraction = 100');
SELECT load('k DESC NULLS LAST', 'k', 'flush_fraction = 50');
SELECT load('k NULLS FIRST, v', 'k, v', 'flush_fraction = 30, deduplicate_items = off');
SELECT load('k) INCLUDE (v', 'k', 'flush_fraction = 70');
SELECT load('v', 'v', 'flush_fraction = 90');
SELECT load('w, k', 'w, k', 'flush_fraction = 10');
SET sware.staging_size = '70kB';
SELECT load('v, k', 'v, k', 'flush_fraction = 25');
RESET sware.staging_size;
-- The option buffer_size sets no limit here, but at 0 nothing is staged.
SELECT load('k', 'k', 'buffer_size = 64');
SELECT load('k', 'k', 'buffer_size = 0');
RESET enable_sort;

-- When private memory is full for the first time, the share that the option says is
-- sent; nothing is sent before.
CREATE FUNCTION first_flush(fraction int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	inserted int := 0;
	stored bigint := 0;
BEGIN
	DROP TABLE IF EXISTS twin_sware.kept;
	CREATE TABLE twin_sware.kept (a int);
	EXECUTE format('CREATE INDEX kept_a ON twin_sware.kept USING sware (a)
		WITH (flush_fraction = %s)', fraction);
	WHILE stored = 0 AND inserted < 10000 LOOP
		INSERT INTO twin_sware.kept SELECT i * 7919 % 10007
			FROM generate_series(inserted + 1, inserted + 5) i;
		inserted := inserted + 5;
		stored := stored_entries('twin_sware.kept_a');
	END LOOP;
	RETURN format('%s entries wait, then %s %% are sent',
				  CASE WHEN inserted BETWEEN 1500 AND 4100 THEN 'thousands of' ELSE inserted::text END,
				  round(stored * 100.0 / inserted));
END
$$;
SET client_min_messages = warning;
SET sware.staging_size = '64kB';
SELECT first_flush(fraction) FROM unnest(ARRAY[1, 25, 50, 100]) fraction;
RESET sware.staging_size;
RESET client_min_messages;
SELECT check_all();

-- Many indexes of one transaction share the limit. Together they take little more memory
-- than one index would.
CREATE TABLE twin_sware.many (a int, b int) PARTITION BY HASH (b);
DO $$
BEGIN
	FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE twin_sware.many_%s PARTITION OF twin_sware.many
			FOR VALUES WITH (MODULUS 100, REMAINDER %s)', i, i);
	END LOOP;
END
$$;
CREATE INDEX many_a ON twin_sware.many USING sware (a);
CREATE INDEX many_b ON twin_sware.many USING sware (b, a) INCLUDE (a);
SET sware.staging_size = '1MB';
BEGIN;
INSERT INTO twin_sware.many SELECT i, i FROM generate_series(1, 3000) i;
SELECT CASE WHEN sum(total_bytes) < 3 * 1024 * 1024 THEN 'within bounds'
	ELSE pg_size_pretty(sum(total_bytes)) || ' in use' END AS memory
FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext' OR name LIKE 'sware%';
INSERT INTO twin_sware.many SELECT i, i FROM generate_series(1, 100000) i;
SELECT CASE WHEN sum(total_bytes) < 3 * 1024 * 1024 THEN 'within bounds'
	ELSE pg_size_pretty(sum(total_bytes)) || ' in use' END AS memory
FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext' OR name LIKE 'sware%';
COMMIT;
RESET sware.staging_size;
SELECT check_all();
SELECT count(*), sum(a) FROM twin_sware.many WHERE a > 50000;

-- A load is given up in the middle.
SET sware.staging_size = '64kB';
SELECT on_both('INSERT INTO t SELECT 1000 / (10000 - i), ''v'' || i FROM generate_series(1, 20000) i');
INSERT INTO twin_sware.t SELECT 1000 / (10000 - i), 'v' || i FROM generate_series(1, 20000) i;
SELECT check_all(), same_rows('SELECT k, v FROM t ORDER BY k, v');
SELECT on_both('INSERT INTO t SELECT i % 3000, ''again'' FROM generate_series(1, 20000) i');
SELECT check_all(), same_rows('SELECT k, v FROM t ORDER BY k, v');
RESET sware.staging_size;

-- The smallest private memory also lets a load send runs that become whole leaves.
CREATE TABLE twin_sware.small (a int);
CREATE INDEX small_a ON twin_sware.small USING sware (a);
CREATE TABLE twin_sware.larger (a int);
CREATE INDEX larger_a ON twin_sware.larger USING sware (a);
SET sware.staging_size = '64kB';
INSERT INTO twin_sware.small SELECT i FROM generate_series(1, 50000) i;
SET sware.staging_size = '256kB';
INSERT INTO twin_sware.larger SELECT i FROM generate_series(1, 50000) i;
RESET sware.staging_size;
SELECT index, entries_appended > 4 * entries_inserted AS appended
FROM unnest('{small_a,larger_a}'::text[]) index, sware_stats(('twin_sware.' || index)::regclass);

-- What a load keeps in order is forgotten when it is published, or rolled back: what comes then is in
-- no order.
SET sware.staging_size = '64kB';
SELECT on_both('CREATE TABLE o (k int, v int)');
SELECT on_both('CREATE INDEX o_k ON o USING @am (k)');
BEGIN;
SELECT on_both('INSERT INTO o SELECT i * 7919 % 20011, 1 FROM generate_series(1, 15000) i');
SELECT sware_flush('twin_sware.o_k') >= 0 AS is_published;
SELECT on_both('INSERT INTO o SELECT i * 7919 % 20011, 2 FROM generate_series(15001, 16500) i');
COMMIT;
BEGIN;
SAVEPOINT s;
SELECT on_both('INSERT INTO o SELECT i * 7919 % 20011, 3 FROM generate_series(1, 15000) i');
ROLLBACK TO s;
SELECT on_both('INSERT INTO o SELECT i * 7919 % 20011, 4 FROM generate_series(16501, 18000) i');
COMMIT;
SELECT check_all(), same_rows('SELECT k, v FROM o ORDER BY k, v');
RESET sware.staging_size;

-- Options and settings out of range.
CREATE INDEX bad ON twin_sware.kept USING sware (a) WITH (buffer_size = -2);
CREATE INDEX bad ON twin_sware.kept USING sware (a) WITH (flush_fraction = 0);
CREATE INDEX bad ON twin_sware.kept USING sware (a) WITH (flush_fraction = 101);
\set VERBOSITY sqlstate
SET sware.staging_size = '32kB';
\set VERBOSITY terse
SET sware.enable_buffers = off;

DROP FUNCTION load, first_flush;
SELECT drop_twins();
