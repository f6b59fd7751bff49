-- INCLUDE columns: returned by index-only scans, not part of the key.
SELECT on_both('CREATE TABLE t (a int, b text, p point, c int)');
SELECT on_both($$INSERT INTO t SELECT i, repeat('b', i % 50), point(i, -i), nullif(i % 10, 0)
	FROM generate_series(1, 5000) i$$);
SELECT on_both('CREATE INDEX t_a ON t USING @am (a) INCLUDE (b, p, c)');
VACUUM (ANALYZE) twin_nbtree.t, twin_sware.t;
SELECT check_all();
SELECT allow_scans('indexonly');
SELECT compare('SELECT a, b, p, c FROM t WHERE a BETWEEN 10 AND 500 ORDER BY a');
SELECT compare('SELECT a, b, p, c FROM t WHERE a > 4000 ORDER BY a DESC');
SELECT compare('SELECT c FROM t WHERE a < 100 AND c IS NULL');
SELECT compare('SELECT c FROM t WHERE a < 100 AND b = ''bbb'' AND c = 3');
SELECT compare('SELECT p FROM t WHERE a = ANY (''{5,3,77}'')');

-- Inserts, updates of included columns, and many equal keys.
SELECT on_both($$INSERT INTO t SELECT 2500, 'x' || i, point(0, 0), i FROM generate_series(1, 3000) i$$);
SELECT on_both('UPDATE t SET c = -1 WHERE a < 50');
SELECT on_both('DELETE FROM t WHERE a > 4900');
VACUUM (ANALYZE) twin_nbtree.t, twin_sware.t;
SELECT compare('SELECT a, b, c FROM t WHERE a >= 2499 AND a < 2502');
SELECT compare('SELECT a, b, c FROM t WHERE a < 52 ORDER BY a');
SELECT check_all();

-- The table is not all-visible, also after an aborted transaction: index-only scans look
-- at its rows.
BEGIN;
INSERT INTO twin_nbtree.t VALUES (7, 'gone', NULL, 0);
INSERT INTO twin_sware.t VALUES (7, 'gone', NULL, 0);
SELECT same_rows('SELECT a, b, c FROM t WHERE a < 9');
ROLLBACK;
SELECT same_rows('SELECT a, b, c FROM t WHERE a < 9');

-- Included values count towards the size limit, long ones are compressed.
SELECT on_both('CREATE TABLE l (a int, b text)');
SELECT on_both('ALTER TABLE l ALTER b SET STORAGE EXTERNAL');
SELECT on_both('CREATE INDEX l_a ON l USING @am (a) INCLUDE (b)');
INSERT INTO twin_sware.l VALUES (1, repeat('x', 3000));
SELECT on_both('INSERT INTO l SELECT i, repeat(chr(97 + i % 26), 2000) FROM generate_series(1, 100) i');
VACUUM (ANALYZE) twin_nbtree.l, twin_sware.l;
SELECT compare('SELECT a, b FROM l WHERE a > 50 ORDER BY a DESC');
SELECT check_all();

-- Commands with INCLUDE that are refused.
\set VERBOSITY sqlstate
CREATE INDEX ON twin_sware.t USING sware (a) INCLUDE (b DESC);
CREATE INDEX ON twin_sware.t USING sware (a) INCLUDE (b text_ops);
CREATE INDEX ON twin_sware.t USING sware (a) INCLUDE ((c + 1));
SELECT drop_twins();
