-- ALTER INDEX SET and RESET: each option takes effect at once, without a rebuild where
-- that is possible, and a rollback undoes that. sql/options has the values that are
-- refused.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE FUNCTION options_of(index regclass) RETURNS text[] LANGUAGE sql AS $$
	SELECT reloptions FROM pg_class WHERE oid = index
$$;

-- The share of free space on all leaves but the rightmost one, in percent.
CREATE FUNCTION free_space(index regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT round(avg(s.free_size) * 100 / 8192)
	FROM generate_series(1, pg_relation_size(index) / 8192 - 1) block,
		LATERAL sware_page_stats(index, block) s
	WHERE s.kind = 'leaf' AND s.right_link IS NOT NULL
$$;

-- fillfactor: bulk appends and builds fill leaves to it.
CREATE TABLE t (a int);
CREATE INDEX t_a ON t USING sware (a);
INSERT INTO t SELECT generate_series(1, 20000);
SELECT free_space('t_a') < 10 AS is_dense;
TRUNCATE t;
ALTER INDEX t_a SET (fillfactor = 50);
INSERT INTO t SELECT generate_series(1, 20000);
SELECT free_space('t_a') BETWEEN 45 AND 55 AS is_half_full, options_of('t_a');
SELECT verdict_on('t');
ALTER INDEX t_a RESET (fillfactor);
SELECT free_space('t_a') BETWEEN 45 AND 55 AS is_half_full, options_of('t_a');
REINDEX INDEX t_a;
SELECT free_space('t_a') < 10 AS is_dense;
BEGIN;
ALTER INDEX t_a SET (fillfactor = 50);
ROLLBACK;
REINDEX INDEX t_a;
SELECT free_space('t_a') < 10 AS is_dense, options_of('t_a');
-- In the middle of a transaction, and of a subtransaction that is rolled back.
TRUNCATE t;
BEGIN;
INSERT INTO t SELECT generate_series(1, 5000);
SAVEPOINT s;
ALTER INDEX t_a SET (fillfactor = 50);
INSERT INTO t SELECT generate_series(5001, 10000);
ROLLBACK TO s;
INSERT INTO t SELECT generate_series(10001, 20000);
COMMIT;
SELECT free_space('t_a') < 10 AS is_dense, options_of('t_a'), verdict_on('t');

-- deduplicate_items: from now on, posting lists are made, or are not made any more.
TRUNCATE t;
CREATE FUNCTION posting_lists(index regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT sum(s.posting_items) FROM generate_series(1, pg_relation_size(index) / 8192 - 1) block,
		LATERAL sware_page_stats(index, block) s
$$;
ALTER INDEX t_a SET (deduplicate_items = off);
INSERT INTO t SELECT i % 10 FROM generate_series(1, 5000) i;
SELECT posting_lists('t_a') AS lists, verdict_on('t');
ALTER INDEX t_a SET (deduplicate_items = on);
SELECT posting_lists('t_a') AS lists;
INSERT INTO t SELECT i % 10 + 100 FROM generate_series(1, 5000) i;
SELECT posting_lists('t_a') > 10 AS has_lists, verdict_on('t');
ALTER INDEX t_a SET (deduplicate_items = off);
REINDEX INDEX t_a;
SELECT posting_lists('t_a') AS lists, verdict_on('t');
ALTER INDEX t_a RESET (deduplicate_items);
REINDEX INDEX t_a;
SELECT posting_lists('t_a') > 10 AS has_lists, verdict_on('t');

-- Single keys that are out of order split the rightmost leaf, which stays more than half
-- full.
SET sware.enable_buffer = off;
TRUNCATE t;
INSERT INTO t SELECT i + i * 7919 % 200 FROM generate_series(1, 10000) i;
SELECT pg_relation_size('t_a') < 120000 AS is_dense, verdict_on('t');
RESET sware.enable_buffer;

-- buffer_size: it does not limit private memory, but at 0 no entries are staged either.
CREATE FUNCTION stored_of_load(low int, high int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT generate_series(low, high);
	RETURN stored_entries('t_a');
END
$$;
TRUNCATE t;
BEGIN;
SELECT stored_of_load(1, 10000) AS stored;
ALTER INDEX t_a SET (buffer_size = 64);
SELECT stored_of_load(10001, 20000) AS stored;
ALTER INDEX t_a RESET (buffer_size);
SELECT stored_of_load(20001, 30000) AS stored;
ALTER INDEX t_a SET (buffer_size = 0);
SELECT stored_of_load(30001, 30010) AS stored;
ALTER INDEX t_a SET (buffer_size = -1);
SELECT stored_of_load(30011, 30020) AS stored;
COMMIT;
SELECT options_of('t_a'), verdict_on('t');
-- From now on, no entries are added to the buffer either.
TRUNCATE t;
INSERT INTO t VALUES (1), (2);
SELECT buffer_entries FROM sware_stats('t_a');
ALTER INDEX t_a SET (buffer_size = 0);
INSERT INTO t VALUES (3), (4);
SELECT buffer_entries, verdict_on('t') FROM sware_stats('t_a');
ALTER INDEX t_a RESET (buffer_size);
INSERT INTO t VALUES (5), (6);
SELECT buffer_entries, verdict_on('t') FROM sware_stats('t_a');
-- The size of private memory is what the setting says at each statement.
TRUNCATE t;
BEGIN;
SELECT stored_of_load(1, 10000) AS stored;
SET LOCAL sware.staging_size = '64kB';
SELECT stored_of_load(10001, 10010) AS stored \gset
SELECT :stored > 5000 AS stored_more;
SET LOCAL sware.staging_size = '16MB';
SELECT stored_of_load(10011, 20000) - :stored AS stored;
COMMIT;
SELECT verdict_on('t');
-- The number of pages in the buffer follows the option.
CREATE PROCEDURE small_loads(low int, transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. transactions LOOP
		INSERT INTO t SELECT low + i * 200 + j FROM generate_series(1, 200) j;
		COMMIT;
	END LOOP;
END
$$;
TRUNCATE t;
CALL small_loads(0, 100);
SELECT buffer_entries, flushes FROM sware_stats('t_a');
ALTER INDEX t_a SET (buffer_size = 64);
CALL small_loads(100000, 100);
SELECT buffer_pages <= 20 AS is_bounded, buffer_entries < 10000 AS most_are_flushed,
	flushes > 0 AS flushed, verdict_on('t')
FROM sware_stats('t_a');
ALTER INDEX t_a RESET (buffer_size);
SELECT sware_flush('t_a') > 0 AS flushed;
CALL small_loads(200000, 100);
SELECT buffer_entries, verdict_on('t') FROM sware_stats('t_a');
-- The setting counts if the index does not have the option. Neither of them limits what
-- a load stages.
SET sware.buffer_size = '64kB';
CALL small_loads(300000, 100);
SELECT buffer_pages <= 20 AS is_bounded, buffer_entries < 10000 AS most_are_flushed, verdict_on('t')
FROM sware_stats('t_a');
ALTER INDEX t_a SET (buffer_size = 16384);
SELECT sware_flush('t_a') > 0 AS flushed;
CALL small_loads(400000, 100);
SELECT buffer_entries, verdict_on('t') FROM sware_stats('t_a');
ALTER INDEX t_a RESET (buffer_size);
TRUNCATE t;
BEGIN;
SELECT stored_of_load(1, 10000) AS stored;
COMMIT;
SELECT verdict_on('t');
RESET sware.buffer_size;

-- flush_fraction: the share of staged entries that is sent when private memory is full, unless
-- they have come in order.
CREATE FUNCTION first_sent(fraction int, step int DEFAULT -1) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	stored bigint := 0;
	n int := 0;
BEGIN
	TRUNCATE t;
	IF fraction IS NULL THEN
		ALTER INDEX t_a RESET (flush_fraction);
	ELSE
		EXECUTE format('ALTER INDEX t_a SET (flush_fraction = %s)', fraction);
	END IF;
	WHILE stored = 0 LOOP
		INSERT INTO t SELECT n + i * step FROM generate_series(1, 100) i;
		n := n + 100;
		stored := stored_entries('t_a');
	END LOOP;
	RETURN stored * 100 / n;
END
$$;
SET sware.staging_size = '64kB';
SELECT first_sent(10) BETWEEN 5 AND 12 AS a_tenth, first_sent(90) BETWEEN 80 AND 92 AS nine_tenths,
	   first_sent(NULL) BETWEEN 42 AND 52 AS half, first_sent(NULL, 1) > 90 AS all_in_order;
RESET sware.staging_size;
SELECT options_of('t_a'), verdict_on('t');

-- bloom_bits and sort_threshold: for what scans sort.
CREATE FUNCTION probes() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
	probes bigint;
	wrong int := 0;
BEGIN
	SELECT bloom_probes INTO before FROM sware_stats('t_a');
	FOR i IN 1 .. 100 LOOP
		IF EXISTS (SELECT FROM t WHERE a = i * 2 + 1) THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	SELECT bloom_probes - before INTO probes FROM sware_stats('t_a');
	RETURN CASE WHEN probes > 50 THEN 'filters are asked'
		WHEN probes = 0 THEN 'there are no filters' ELSE probes || ' probes' END
		|| CASE WHEN wrong > 0 THEN ', WRONG' ELSE '' END;
END
$$;
-- Even keys, scrambled, in the buffer.
CREATE PROCEDURE scrambled_loads() LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE t;
	COMMIT;
	FOR i IN 1 .. 60 LOOP
		INSERT INTO t SELECT (i * 200 + j) * 7919 % 20011 * 2 FROM generate_series(1, 200) j;
		COMMIT;
	END LOOP;
END
$$;
ALTER INDEX t_a RESET (flush_fraction);
SELECT allow_scans('index');
CREATE PROCEDURE probe(options text) LANGUAGE plpgsql AS $$
BEGIN
	ALTER INDEX t_a RESET (bloom_bits, sort_threshold);
	IF options <> '' THEN
		EXECUTE format('ALTER INDEX t_a SET (%s)', options);
	END IF;
	CALL scrambled_loads();
	RAISE NOTICE '%: %', options, probes();
	COMMIT;
END
$$;
CALL probe('');
CALL probe('bloom_bits = 0');
CALL probe('bloom_bits = 32');
CALL probe('sort_threshold = 100');
CALL probe('sort_threshold = 1');
CALL probe('');
SELECT options_of('t_a'), verdict_on('t');

-- The lock is the same as for nbtree's options, and does not stop inserts.
CREATE TABLE n (a int);
CREATE INDEX n_a ON n USING btree (a);
CREATE VIEW locks AS
	SELECT relation::regclass, mode FROM pg_locks
	WHERE relation IN ('t'::regclass, 't_a'::regclass, 'n'::regclass, 'n_a'::regclass)
		AND pid = pg_backend_pid();
BEGIN;
ALTER INDEX n_a SET (fillfactor = 60);
ALTER INDEX n_a RESET (fillfactor);
SELECT * FROM locks ORDER BY 1, 2;
COMMIT;
SELECT format('BEGIN; ALTER INDEX t_a SET (%s = %s);
	SELECT * FROM locks ORDER BY 1, 2; ROLLBACK', name, value)
FROM (VALUES ('fillfactor', '60'), ('deduplicate_items', 'off'), ('buffer_size', '100'),
			 ('flush_fraction', '10'), ('sort_threshold', '50'), ('bloom_bits', '5'),
			 ('forecast_fill', 'on'), ('group_leaves', 'on')) o(name, value) \gexec
BEGIN;
ALTER INDEX t_a RESET (fillfactor, deduplicate_items,
	buffer_size, flush_fraction, sort_threshold, bloom_bits, forecast_fill, group_leaves);
SELECT * FROM locks ORDER BY 1, 2;
ROLLBACK;

-- A value that is out of bounds changes nothing.
SELECT format('ALTER INDEX t_a SET (%s)', setting)
FROM unnest('{fillfactor=9,fillfactor=101,buffer_size=-2,buffer_size=4194305,
	flush_fraction=0,flush_fraction=101,sort_threshold=0,sort_threshold=101,bloom_bits=-1,
	bloom_bits=33,deduplicate_items=7,forecast_fill=97,no_such_option=1}'::text[]) setting \gexec
ALTER INDEX t_a SET (fillfactor = 60, bloom_bits = 33);
ALTER INDEX t_a RESET (no_such_option);
SELECT options_of('t_a'), verdict_on('t');

-- The other commands on an index.
CREATE ROLE sware_life_owner;
GRANT USAGE ON SCHEMA twin_sware TO sware_life_owner;
TRUNCATE t;
INSERT INTO t SELECT generate_series(1, 1000);
CREATE INDEX t_x ON t USING sware ((a % 100));
CREATE FUNCTION insert_some(low int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT low + i FROM generate_series(1, 30) i
$$;
CREATE FUNCTION each_command(VARIADIC commands text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	command text;
	before bigint := (SELECT count(*) FROM t);
BEGIN
	FOREACH command IN ARRAY commands LOOP
		PERFORM insert_some(500000);
		EXECUTE command;
		PERFORM insert_some(600000);
		before := before + 60;
		IF before <> (SELECT count(*) FROM t) THEN
			RETURN NEXT command || ': rows are lost';
		END IF;
		RETURN NEXT format('%s: %s', command, verdict_on('t'));
		BEGIN
			PERFORM insert_some(700000);
			EXECUTE command;
			PERFORM insert_some(800000);
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero OR undefined_object OR undefined_table OR undefined_column THEN
		END;
	END LOOP;
END
$$;
SELECT each_command('ALTER INDEX t_a RENAME TO t_b', 'ALTER INDEX t_b RENAME TO t_a',
	'ALTER INDEX t_x ALTER COLUMN 1 SET STATISTICS 500', 'ALTER TABLE t OWNER TO sware_life_owner',
	'ALTER INDEX t_a OWNER TO sware_life_owner', 'COMMENT ON INDEX t_a IS ''commented''',
	'ALTER INDEX t_a DEPENDS ON EXTENSION sware', 'ALTER INDEX t_a NO DEPENDS ON EXTENSION sware',
	'ALTER TABLE t CLUSTER ON t_a', 'ALTER TABLE t SET WITHOUT CLUSTER',
	'ALTER TABLE t ALTER a SET STATISTICS 10', 'ALTER TABLE t ALTER a SET NOT NULL',
	'ALTER TABLE t RENAME a TO b', 'ALTER TABLE t RENAME b TO a',
	'ALTER TABLE t SET SCHEMA public', 'ALTER TABLE t SET SCHEMA twin_sware',
	'ALTER TABLE t SET (fillfactor = 50)');
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict_on('t');
RESET search_path;
SELECT drop_twins();
DROP ROLE sware_life_owner;
