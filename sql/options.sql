-- Creation: options, what is refused, and how errors read.
SELECT on_both('CREATE TABLE t (a int, b text, p point)');
SELECT on_both('INSERT INTO t SELECT i, i::text, point(i, i) FROM generate_series(1, 1000) i');
SET search_path = twin_sware, public;

-- The access method and what it can do.
SELECT a.amname, a.amtype, p.name, pg_indexam_has_property(a.oid, p.name) AS value
FROM pg_am a, unnest('{can_order,can_unique,can_multi_col,can_exclude,can_include}'::text[]) p(name)
WHERE a.amname = 'sware' ORDER BY p.name;
CREATE INDEX t_a ON t USING sware (a);
SELECT p.name,
       pg_index_column_has_property('t_a'::regclass, 1, p.name) AS of_column,
       pg_index_has_property('t_a'::regclass, p.name) AS of_index
FROM unnest('{asc,desc,nulls_first,nulls_last,orderable,distance_orderable,returnable,
	search_array,search_nulls,clusterable,index_scan,bitmap_scan,backward_scan}'::text[]) p(name);
DROP INDEX t_a;

-- Options within their bounds.
CREATE INDEX t_a ON t USING sware (a) WITH (fillfactor = 50, bloom_bits = 5, deduplicate_items = off);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;
SELECT sware_check('t_a', true);
ALTER INDEX t_a SET (fillfactor = 100, deduplicate_items = on);
ALTER INDEX t_a RESET (bloom_bits);
SELECT reloptions FROM pg_class WHERE oid = 't_a'::regclass;
REINDEX INDEX t_a;
SELECT sware_check('t_a', true);
DROP INDEX t_a;

-- Options that are out of bounds, of a wrong kind, or unknown.
CREATE INDEX ON t USING sware (a) WITH (fillfactor = 9);
CREATE INDEX ON t USING sware (a) WITH (fillfactor = 101);
CREATE INDEX ON t USING sware (a) WITH (fillfactor = 'much');
CREATE INDEX ON t USING sware (a) WITH (deduplicate_items = maybe);
CREATE INDEX ON t USING sware (a) WITH (forecast_fill = 80);
CREATE INDEX ON t USING sware (a) WITH (group_leaves = 1.5);
CREATE INDEX ON t USING sware (a) WITH (no_such_option = 1);

-- What the access method does not do.
CREATE INDEX ON t USING sware (p);
CREATE INDEX ON t USING sware (a text_ops);
CREATE VIEW v AS SELECT a FROM t;
CREATE INDEX ON v USING sware (a);

-- The server checks exclusion constraints, by scans that see rows of running
-- transactions.
ALTER TABLE t ADD CONSTRAINT t_excluded EXCLUDE USING sware (a WITH =);
INSERT INTO t VALUES (2000, 'new'), (1000, 'taken');
INSERT INTO t VALUES (2000, 'new');
INSERT INTO t VALUES (2000, 'taken');
INSERT INTO t VALUES (2000, 'taken') ON CONFLICT DO NOTHING;
UPDATE t SET a = 1000 WHERE a = 2000;
DELETE FROM t WHERE a = 1000;
UPDATE t SET a = 1000 WHERE a = 2000;
BEGIN;
INSERT INTO t VALUES (2001, 'gone');
ROLLBACK;
INSERT INTO t VALUES (2001, 'stays');
SELECT a, b FROM t WHERE a >= 1000 ORDER BY a;
SELECT sware_check('t_excluded', true);
-- An exclusion constraint that is checked at the end of the transaction.
ALTER TABLE t DROP CONSTRAINT t_excluded;
ALTER TABLE t ADD CONSTRAINT t_excluded EXCLUDE USING sware (a WITH =) DEFERRABLE INITIALLY DEFERRED;
UPDATE t SET a = a + 1;
BEGIN;
INSERT INTO t VALUES (5, 'second');
DELETE FROM t WHERE a = 5 AND b <> 'second';
COMMIT;
BEGIN;
INSERT INTO t VALUES (5, 'third');
COMMIT;
SELECT a, b FROM t WHERE a = 5;
ALTER TABLE t DROP CONSTRAINT t_excluded;

-- A key that is too large changes nothing, in a build and in an insert.
CREATE TABLE large (b text);
ALTER TABLE large ALTER b SET STORAGE EXTERNAL;
INSERT INTO large VALUES (repeat('x', 3000));
CREATE INDEX large_b ON large USING sware (b);
TRUNCATE large;
CREATE INDEX large_b ON large USING sware (b);
INSERT INTO large VALUES ('a'), ('b');
INSERT INTO large VALUES (repeat('x', 3000));
INSERT INTO large VALUES ('c'), (repeat('y', 3000));
INSERT INTO large VALUES (repeat('z', 2600));
SELECT sware_check('large_b', true);
SET enable_seqscan = off;
SELECT count(*), min(length(b)), max(length(b)) FROM large WHERE b >= '';
RESET enable_seqscan;
-- A compressible value fits.
CREATE TABLE compressible (b text);
CREATE INDEX compressible_b ON compressible USING sware (b);
INSERT INTO compressible VALUES (repeat('x', 3000)), (repeat('y', 100000));
SELECT sware_check('compressible_b', true);
SET enable_seqscan = off;
SELECT length(b) FROM compressible WHERE b = repeat('y', 100000);
RESET enable_seqscan;

-- Many columns.
DO $$
BEGIN
	EXECUTE 'CREATE TABLE wide AS SELECT ' ||
		(SELECT string_agg(format('i %% %s AS c%s', n + 1, n), ', ') FROM generate_series(1, 32) n) ||
		' FROM generate_series(1, 500) i';
	EXECUTE 'CREATE INDEX wide_all ON wide USING sware (' ||
		(SELECT string_agg(format('c%s', n), ', ') FROM generate_series(1, 32) n) || ')';
END
$$;
SELECT sware_check('wide_all', true);
SELECT pg_get_indexdef('wide_all'::regclass, 32, true);

RESET search_path;
DROP SCHEMA twin_sware CASCADE;
CREATE SCHEMA twin_sware;
SELECT drop_twins();
