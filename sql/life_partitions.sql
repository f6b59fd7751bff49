-- Partitioned and inherited tables whose indexes have entries in the tree, in the buffer
-- and, in a transaction, staged. They are attached, detached, truncated, clustered and
-- loaded by COPY, and rows move between partitions. Plans for them are in
-- sql/partition.
\set VERBOSITY terse
SET search_path = twin_sware, public;
SET client_min_messages = warning;

-- Each partition has rows with entries in the tree and rows with entries in the buffer.
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS p, p1, p2, p3;
	CREATE TABLE p (a int, b text) PARTITION BY RANGE (a);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10000) TO (20000);
	CREATE TABLE p3 (a int, b text);
	CREATE INDEX p_a ON p USING sware (a);
	CREATE INDEX p_b ON p USING sware (b) WITH (buffer_size = 1024);
	CREATE INDEX p3_a ON p3 USING sware (a);
	CREATE INDEX p3_b ON p3 USING sware (b) WITH (buffer_size = 128);
	INSERT INTO p SELECT i * 10, 'tree ' || i FROM generate_series(0, 1999) i;
	INSERT INTO p3 SELECT 20000 + i, 'tree ' || i FROM generate_series(0, 999) i;
	COMMIT;
	INSERT INTO p SELECT i * 100 + 1, 'buffer ' || i FROM generate_series(0, 199) i;
	INSERT INTO p3 SELECT 20000 + i, 'buffer ' || i FROM generate_series(1, 100) i;
	COMMIT;
END
$$;
CALL fill();
CREATE FUNCTION add(low int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO p SELECT i * 200 + low, 'staged ' || low FROM generate_series(0, 99) i
$$;
CREATE PROCEDURE live_through(VARIADIC events text[]) LANGUAGE plpgsql AS $$
DECLARE
	event text;
BEGIN
	CALL fill();
	PERFORM add(2);
	FOREACH event IN ARRAY events LOOP
		EXECUTE event;
	END LOOP;
	IF to_regclass('p2') IS NOT NULL AND (SELECT relispartition
		FROM pg_class WHERE oid = to_regclass('p2')) THEN
		PERFORM add(3);
	END IF;
	COMMIT;
	RAISE WARNING '%: p: %, p3: %', events, verdict_on('p'), verdict_on('p3');
	COMMIT;
	CALL fill();
	BEGIN
		PERFORM add(2);
		FOREACH event IN ARRAY events LOOP
			EXECUTE event;
		END LOOP;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	PERFORM add(3);
	COMMIT;
	RAISE WARNING '  undone: p: %, p3: %', verdict_on('p'), verdict_on('p3');
	COMMIT;
END
$$;
CALL live_through('SELECT');
CALL live_through('ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000)');
CALL live_through('INSERT INTO p3 SELECT 25000 + i, ''staged'' FROM generate_series(1, 50) i',
	'ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000)',
	'INSERT INTO p SELECT 25000 + i, ''routed'' FROM generate_series(1, 50) i');
CALL live_through('ALTER TABLE p DETACH PARTITION p2');
CALL live_through('ALTER TABLE p DETACH PARTITION p2', 'INSERT INTO p2 VALUES (15000, ''alone'')',
	'ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000)');
CALL live_through('DROP TABLE p2');
CALL live_through('TRUNCATE p2');
CALL live_through('TRUNCATE p');
CALL live_through('UPDATE p SET a = a + 10000 WHERE a < 500');
CALL live_through('DELETE FROM p WHERE a % 3 = 0');
CALL live_through('REINDEX INDEX p1_a_idx');
CALL live_through('CREATE INDEX p_x ON p USING sware ((a % 7), b)');
CALL live_through('DROP INDEX p_a');
CALL live_through('DROP INDEX p_b', 'CREATE INDEX p_b ON ONLY p USING sware (b)',
	'CREATE INDEX p1_b_new ON p1 USING sware (b)',
	'ALTER INDEX p_b ATTACH PARTITION p1_b_new', 'INSERT INTO p VALUES (1, ''here'')',
	'CREATE INDEX p2_b_new ON p2 USING sware (b)',
	'ALTER INDEX p_b ATTACH PARTITION p2_b_new');
CALL live_through('ALTER TABLE p ALTER b TYPE varchar');
CALL live_through('CLUSTER p1 USING p1_a_idx');
CALL live_through('CREATE TABLE p_default PARTITION OF p DEFAULT',
	'INSERT INTO p SELECT 90000 + i, ''default'' FROM generate_series(1, 50) i');
CALL live_through('CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (40000) TO (50000) PARTITION BY LIST (b)',
	'CREATE TABLE p41 PARTITION OF p4 FOR VALUES IN (''one'')',
	'INSERT INTO p SELECT 40000 + i, ''one'' FROM generate_series(1, 50) i');
CALL live_through('MERGE INTO p USING (SELECT i * 10 AS i FROM generate_series(990, 1010) i) s ON p.a = s.i
	WHEN MATCHED AND s.i < 10000 THEN UPDATE SET a = 19999 - a WHEN MATCHED THEN DELETE
		WHEN NOT MATCHED THEN INSERT VALUES (s.i, ''merged'')');

-- The partitions' indexes get the options of the parent's index when they are made;
-- later each has its own.
CALL fill();
SELECT relname, reloptions FROM pg_class WHERE relname ~ '^p[0-9]?_b' ORDER BY 1;
ALTER INDEX p_b SET (buffer_size = 64);
ALTER INDEX p1_b_idx SET (buffer_size = 64);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20000) TO (30000);
SELECT relname, reloptions, relispartition FROM pg_class WHERE relname ~ '^p[0-9]?_b' ORDER BY 1;

-- COPY collects rows of several partitions, and inserts many of them at a time.
BEGIN;
SELECT add(5);
COPY p FROM stdin;
1	copied
15001	copied
2	copied
25001	copied
15002	copied
3	copied
\.
SAVEPOINT s;
COPY p FROM stdin;
4	copied
15004	copied
99999	nowhere
\.
ROLLBACK TO s;
COPY p FROM stdin;
15003	copied
5	copied
\.
COMMIT;
SELECT verdict_on('p');
SELECT tableoid::regclass, count(*) FROM p WHERE b = 'copied' GROUP BY 1 ORDER BY 1;
-- A partition was made, or truncated, in the transaction: COPY can freeze its rows.
BEGIN;
CREATE TABLE p5 PARTITION OF p FOR VALUES FROM (50000) TO (60000);
COPY p5 FROM stdin (FREEZE);
50001	frozen
50000	frozen
\.
INSERT INTO p VALUES (50002, 'routed');
COMMIT;
SELECT verdict_on('p');
BEGIN;
TRUNCATE p5;
COPY p5 FROM stdin (FREEZE);
50005	frozen
50004	frozen
50003	frozen
\.
SAVEPOINT s;
INSERT INTO p VALUES (50006, 'gone');
ROLLBACK TO s;
COMMIT;
SELECT verdict_on('p');

-- Outside of transactions.
ALTER TABLE p DETACH PARTITION p5 CONCURRENTLY;
INSERT INTO p5 VALUES (50007, 'alone');
SELECT verdict_on('p', 'p5');
REINDEX INDEX p_a;
REINDEX TABLE p;
REINDEX INDEX CONCURRENTLY p_a;
REINDEX TABLE CONCURRENTLY p;
SELECT verdict_on('p');
CALL fill();
CLUSTER p USING p_a;
SELECT verdict_on('p');
INSERT INTO p SELECT i * 100 + 7, 'buffered' FROM generate_series(0, 199) i;
VACUUM FULL p;
SELECT verdict_on('p');
DELETE FROM p WHERE b LIKE 'buffer %';
UPDATE p SET a = 19999 - a WHERE a % 50 = 0;
VACUUM (INDEX_CLEANUP ON) p;
SELECT verdict_on('p');
SELECT sum(buffer_entries) FROM pg_stat_sware WHERE relid IN ('p1'::regclass, 'p2'::regclass);

-- Inheritance.
CREATE TABLE parent (a int, b text);
CREATE INDEX parent_a ON parent USING sware (a);
CREATE TABLE child (c int) INHERITS (parent);
CREATE INDEX child_a ON child USING sware (a) INCLUDE (c);
CREATE TABLE other (a int, b text, c int);
CREATE INDEX other_a ON other USING sware (a);
INSERT INTO parent SELECT i, 'p' FROM generate_series(1, 1000) i;
INSERT INTO child SELECT i, 'c', i FROM generate_series(1, 1000) i;
INSERT INTO other SELECT i, 'o', i FROM generate_series(1, 100) i;
BEGIN;
INSERT INTO parent SELECT i, 'q' FROM generate_series(1001, 1100) i;
INSERT INTO child SELECT i, 'd', -i FROM generate_series(501, 600) i;
ALTER TABLE other INHERIT parent;
SELECT allow_scans('index', 'indexonly');
SELECT count(*), sum(a) FROM parent WHERE a BETWEEN 501 AND 1050;
UPDATE parent SET a = a + 5000 WHERE a > 990;
SELECT tableoid::regclass, count(*), min(a) FROM parent WHERE a > 990 GROUP BY 1 ORDER BY 1;
SAVEPOINT s;
ALTER TABLE child NO INHERIT parent;
SELECT count(*) FROM parent WHERE a > 990;
ROLLBACK TO s;
ALTER TABLE other NO INHERIT parent;
COMMIT;
SELECT count(*) FROM parent WHERE a > 990;
SELECT verdict_on('parent', 'child', 'other');
TRUNCATE parent;
SELECT verdict_on('parent', 'child', 'other');
DROP TABLE p, p5, parent, child, other;
RESET search_path;
SELECT drop_twins();
