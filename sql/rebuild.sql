-- Commands that build an index anew, or give it a new file; and rollbacks of these.
SELECT on_both('CREATE TABLE t (a int, b text)');
SELECT on_both($$INSERT INTO t SELECT (i * 7) % 10007, 'b' || i FROM generate_series(1, 10000) i$$);
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SELECT allow_scans('index');
CREATE FUNCTION all_well() RETURNS text LANGUAGE sql AS $$
	SELECT check_all() || ', ' || same_rows('SELECT ctid, a FROM t ORDER BY a') || ', '
		|| same_rows('SELECT ctid, a FROM t ORDER BY b') || ', '
		|| mirrored('SELECT ctid FROM t ORDER BY b', 'SELECT ctid FROM t ORDER BY b DESC');
$$;
SELECT all_well();

-- REINDEX of everything.
REINDEX INDEX twin_sware.t_a;
SELECT all_well();
REINDEX TABLE twin_sware.t;
SELECT all_well();
REINDEX INDEX CONCURRENTLY twin_sware.t_a;
SELECT all_well();
REINDEX TABLE CONCURRENTLY twin_sware.t;
SELECT all_well();
BEGIN;
REINDEX TABLE twin_sware.t;
INSERT INTO twin_sware.t VALUES (1, 'gone');
ROLLBACK;
SELECT all_well();

-- CREATE INDEX CONCURRENTLY, on a full and on an empty table.
CREATE INDEX CONCURRENTLY t_ab ON twin_sware.t USING sware (a, b);
SELECT indisvalid, indisready FROM pg_index WHERE indexrelid = 'twin_sware.t_ab'::regclass;
SELECT all_well();
DROP INDEX CONCURRENTLY twin_sware.t_ab;
CREATE TABLE twin_sware.empty (a int);
CREATE INDEX CONCURRENTLY empty_a ON twin_sware.empty USING sware (a);
INSERT INTO twin_sware.empty VALUES (1);
SELECT all_well();
DROP TABLE twin_sware.empty;

-- CREATE INDEX rolled back; DROP INDEX rolled back, with inserts in between.
BEGIN;
CREATE INDEX t_ab ON twin_sware.t USING sware (a, b);
ROLLBACK;
BEGIN;
DROP INDEX twin_sware.t_a;
INSERT INTO twin_sware.t VALUES (-1, 'gone');
ROLLBACK;
SELECT all_well();

-- CLUSTER on a sware index puts the table in its order.
CLUSTER twin_sware.t USING t_a;
CLUSTER twin_nbtree.t USING t_a;
SELECT all_well();
SELECT array_agg(a ORDER BY ctid) = array_agg(a ORDER BY a, ctid) AS in_order FROM twin_sware.t;
SET enable_sort = off;
SELECT on_both('UPDATE t SET a = a WHERE a % 10 = 0');
CLUSTER twin_sware.t;
CLUSTER twin_nbtree.t;
RESET enable_sort;
SELECT all_well();
VACUUM FULL twin_sware.t;
VACUUM FULL twin_nbtree.t;
SELECT all_well();

-- Rewrites of the table, by a new type or a new column.
SELECT on_both('ALTER TABLE t ALTER a TYPE bigint USING 20000 - a');
SELECT all_well();
SELECT on_both('ALTER TABLE t ADD c float8 DEFAULT random()');
SELECT all_well();
SELECT on_both('ALTER TABLE t ALTER b TYPE text COLLATE "POSIX"');
SELECT all_well();
BEGIN;
ALTER TABLE twin_sware.t ALTER a TYPE numeric;
ROLLBACK;
SELECT all_well();

-- Other tablespaces: the index, the table, and back.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE sware_other LOCATION '';
ALTER INDEX twin_sware.t_a SET TABLESPACE sware_other;
SELECT on_both('INSERT INTO t VALUES (3, ''three'', 3)');
SELECT all_well();
BEGIN;
ALTER INDEX twin_sware.t_b SET TABLESPACE sware_other;
INSERT INTO twin_sware.t VALUES (4, 'gone', 0);
ROLLBACK;
DELETE FROM twin_nbtree.t WHERE false;
SELECT check_all();
ALTER TABLE twin_sware.t SET TABLESPACE sware_other;
ALTER INDEX twin_sware.t_a SET TABLESPACE pg_default;
REINDEX (TABLESPACE pg_default) INDEX CONCURRENTLY twin_sware.t_b;
ALTER TABLE twin_sware.t SET TABLESPACE pg_default;
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');
DROP TABLESPACE sware_other;

-- TRUNCATE: alone, rolled back, and of a table made in the same transaction, whose index
-- is built again in the same file.
SELECT on_both('TRUNCATE t');
SELECT on_both('INSERT INTO t SELECT i, i::text, i FROM generate_series(1, 3000) i');
SELECT all_well();
BEGIN;
TRUNCATE twin_sware.t;
INSERT INTO twin_sware.t SELECT i, i::text, i FROM generate_series(1, 100) i;
SELECT count(*) FROM twin_sware.t WHERE a > 50;
ROLLBACK;
SELECT all_well();
BEGIN;
TRUNCATE twin_sware.t;
SAVEPOINT s;
INSERT INTO twin_sware.t SELECT i, i::text, i FROM generate_series(1, 3000) i;
TRUNCATE twin_sware.t;
INSERT INTO twin_sware.t VALUES (7, 'seven', 7);
SELECT a FROM twin_sware.t WHERE a > 0 ORDER BY a;
ROLLBACK TO s;
SELECT a FROM twin_sware.t WHERE a > 0 ORDER BY a;
INSERT INTO twin_sware.t SELECT i, i::text, i FROM generate_series(1, 3000) i;
COMMIT;
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');
BEGIN;
SELECT on_both('CREATE TABLE fresh (a int)');
SELECT on_both('CREATE INDEX fresh_a ON fresh USING @am (a)');
SELECT on_both('INSERT INTO fresh SELECT generate_series(1, 5000)');
SELECT on_both('TRUNCATE fresh');
SELECT same_rows('SELECT a FROM fresh ORDER BY a');
SELECT on_both('INSERT INTO fresh SELECT generate_series(1, 10)');
SELECT on_both('TRUNCATE fresh');
SELECT on_both('INSERT INTO fresh SELECT generate_series(5, 2000)');
SELECT check_all(), same_rows('SELECT a FROM fresh ORDER BY a');
COMMIT;
SELECT check_all(), same_rows('SELECT a FROM fresh ORDER BY a');

-- Subtransactions: rows that are rolled back are not found, others are.
BEGIN;
SELECT on_both('INSERT INTO fresh VALUES (-1)');
SAVEPOINT one;
SELECT on_both('INSERT INTO fresh SELECT -generate_series(2, 1000)');
ROLLBACK TO one;
SELECT same_rows('SELECT a FROM fresh WHERE a < 10 ORDER BY a');
SELECT on_both('INSERT INTO fresh VALUES (-2)');
SAVEPOINT two;
SELECT on_both('INSERT INTO fresh VALUES (-3)');
RELEASE two;
SELECT on_both('DELETE FROM fresh WHERE a = 6');
SELECT same_rows('SELECT a FROM fresh WHERE a < 10 ORDER BY a');
COMMIT;
SELECT check_all(), same_rows('SELECT a FROM fresh WHERE a < 10 ORDER BY a');

-- Updates, HOT and not, and broken HOT chains under a new index.
SELECT on_both('CREATE TABLE hot (a int, b int) WITH (fillfactor = 50)');
SELECT on_both('INSERT INTO hot SELECT i, i FROM generate_series(1, 500) i');
SELECT on_both('CREATE INDEX hot_a ON hot USING @am (a)');
SELECT on_both('UPDATE hot SET b = b + 1');
SELECT on_both('UPDATE hot SET a = a + 1000 WHERE a % 2 = 0');
SELECT on_both('CREATE INDEX hot_b ON hot USING @am (b)');
SELECT check_all(), same_rows('SELECT ctid, a, b FROM hot WHERE b > 100 ORDER BY b'),
	same_rows('SELECT ctid, a, b FROM hot ORDER BY a');

-- ON CONFLICT, COPY FROM, MERGE, INSERT ... RETURNING through a subquery.
SELECT on_both('CREATE TABLE up (id int PRIMARY KEY, a int)');
SELECT on_both('CREATE INDEX up_a ON up USING @am (a)');
SELECT on_both('INSERT INTO up SELECT i, i FROM generate_series(1, 100) i ON CONFLICT DO NOTHING');
SELECT on_both('INSERT INTO up SELECT i, -i FROM generate_series(51, 150) i
	ON CONFLICT (id) DO UPDATE SET a = excluded.a');
SELECT on_both('MERGE INTO up USING (SELECT i FROM generate_series(141, 160) i) s ON up.id = s.i
	WHEN MATCHED THEN UPDATE SET a = 0 WHEN NOT MATCHED THEN INSERT VALUES (s.i, s.i)');
COPY twin_nbtree.up FROM stdin;
201	-5
202	\N
203	7
\.
COPY twin_sware.up FROM stdin;
201	-5
202	\N
203	7
\.
SELECT check_all(), same_rows('SELECT * FROM up ORDER BY a DESC, id');

DROP FUNCTION all_well;
SELECT drop_twins();

-- The extension can only be dropped with its indexes; it can be made again.
CREATE TABLE needs_it (a int);
CREATE INDEX needs_it_a ON needs_it USING sware (a);
DROP EXTENSION sware;
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION sware CASCADE;
SELECT to_regclass('needs_it_a');
ROLLBACK;
SELECT sware_check('needs_it_a', true);
DROP TABLE needs_it;
