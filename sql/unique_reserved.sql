-- Features that the server reserves for nbtree are refused, or not used, by the server
-- itself. Features that it gives to unique indexes of all access methods work.
\set VERBOSITY terse
SELECT current_setting('server_version_num')::int >= 180000 AS is_18 \gset
CREATE TABLE t (a int NOT NULL, b int NOT NULL, c text);
CREATE UNIQUE INDEX t_key ON t USING sware (a);
INSERT INTO t SELECT i, i, 'first' FROM generate_series(1, 10) i;

-- Constraints.
ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_key;
ALTER TABLE t ADD CONSTRAINT t_unique UNIQUE USING INDEX t_key;
ALTER TABLE t ADD CONSTRAINT t_unique UNIQUE USING INDEX t_key DEFERRABLE;
CREATE TABLE u (a int PRIMARY KEY USING sware);
CREATE TABLE u (a int, UNIQUE USING sware (a));
-- An exclusion constraint can be used instead.
CREATE TABLE u (a int, CONSTRAINT u_key EXCLUDE USING sware (a WITH =) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO u VALUES (1), (1);
INSERT INTO u VALUES (1);
DROP TABLE u;

-- Foreign keys.
CREATE TABLE u (a int REFERENCES t (a));
\if :is_18
INSERT INTO u VALUES (3);
INSERT INTO u VALUES (33);
DELETE FROM t WHERE a = 3;
DROP TABLE IF EXISTS u;
\endif

-- ON CONFLICT, also with another index as its arbiter.
CREATE UNIQUE INDEX t_b ON t USING btree (b);
INSERT INTO t VALUES (1, 100, 'again') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 100, 'again') ON CONFLICT (a) DO NOTHING;
INSERT INTO t VALUES (1, 100, 'again') ON CONFLICT (a) DO UPDATE SET c = excluded.c;
INSERT INTO t VALUES (100, 1, 'again') ON CONFLICT (b) DO NOTHING;
INSERT INTO t VALUES (100, 1, 'again') ON CONFLICT (b) DO UPDATE SET c = excluded.c || ' by b';
INSERT INTO t VALUES (1, 100, 'again') ON CONFLICT (a int4_ops) DO NOTHING;
SELECT * FROM t WHERE c <> 'first' ORDER BY a;
-- The same with an index that is not unique.
CREATE TABLE plain (a int UNIQUE, b int);
CREATE INDEX ON plain USING sware (b);
INSERT INTO plain VALUES (1, 1) ON CONFLICT DO NOTHING;
INSERT INTO plain VALUES (1, 1) ON CONFLICT DO NOTHING;
SELECT * FROM plain;
-- MERGE does what ON CONFLICT does for a single session.
MERGE INTO t USING (VALUES (1, 'merged'), (200, 'merged')) v (a, c) ON t.a = v.a
WHEN MATCHED THEN UPDATE SET c = v.c
WHEN NOT MATCHED THEN INSERT VALUES (v.a, v.a, v.c);
SELECT * FROM t WHERE c = 'merged' ORDER BY a;

-- Partitioned tables.
CREATE TABLE p (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE UNIQUE INDEX p_key ON p USING sware (a);
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX p_key ON p USING sware (b);
\set VERBOSITY terse
CREATE UNIQUE INDEX p1_key ON p1 USING sware (b);
INSERT INTO p VALUES (1, 1);
INSERT INTO p VALUES (2, 1);
SELECT relname, relkind FROM pg_class WHERE relname LIKE 'p%key' ORDER BY 1;
SELECT count(*) FROM p;

-- Replica identity, clusters, materialized views.
ALTER TABLE t REPLICA IDENTITY USING INDEX t_key;
SELECT indisreplident FROM pg_index WHERE indexrelid = 't_key'::regclass;
ALTER TABLE t REPLICA IDENTITY DEFAULT;
CLUSTER t USING t_key;
INSERT INTO t VALUES (2, 400);
CREATE MATERIALIZED VIEW m AS SELECT a, c FROM t;
CREATE UNIQUE INDEX m_key ON m USING sware (a);
UPDATE t SET c = 'refreshed' WHERE a = 2;
REFRESH MATERIALIZED VIEW CONCURRENTLY m;
SELECT c FROM m WHERE a = 2;
INSERT INTO t SELECT a + 1000, b + 1000 FROM t;
REFRESH MATERIALIZED VIEW m;
SELECT count(*), sware_check('m_key', true), sware_check('t_key', true) FROM m;

-- The planner makes use of unique indexes.
EXPLAIN (COSTS OFF) SELECT t.b FROM t LEFT JOIN m USING (a);

DROP TABLE plain, p, t CASCADE;
