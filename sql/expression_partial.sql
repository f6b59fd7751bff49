-- Indexes on expressions, and partial indexes.
SELECT on_both('CREATE TABLE t (a int, b text, state text)');
SELECT on_both($$INSERT INTO t SELECT i, 'Name ' || i % 500, CASE WHEN i % 20 = 0 THEN 'open' ELSE 'done' END
	FROM generate_series(1, 5000) i$$);
SELECT on_both('CREATE INDEX t_lower ON t USING @am (lower(b))');
SELECT on_both('CREATE INDEX t_sum ON t USING @am ((a % 100), b)');
SELECT on_both('CREATE INDEX t_open ON t USING @am (a) WHERE state = ''open''');
SELECT on_both('ANALYZE t');
SELECT check_all();

SELECT compare('SELECT ctid FROM t WHERE lower(b) = ''name 77''');
SELECT allow_scans('index');
SELECT compare('SELECT a FROM t WHERE lower(b) > ''name 98'' ORDER BY lower(b), a');
SELECT compare('SELECT a, b FROM t WHERE a % 100 = 5 AND b > ''Name 3'' ORDER BY b');
SELECT compare('SELECT a FROM t WHERE state = ''open'' AND a < 500 ORDER BY a');
SELECT compare('SELECT a FROM t WHERE state = ''open'' ORDER BY a DESC LIMIT 5');

-- Rows enter and leave a partial index, by HOT and other updates.
SELECT on_both('UPDATE t SET state = ''done'' WHERE a % 40 = 0');
SELECT on_both('UPDATE t SET state = ''open'' WHERE a % 30 = 1');
SELECT on_both('UPDATE t SET b = ''Other '' || a WHERE a % 50 = 7');
SELECT on_both('DELETE FROM t WHERE a BETWEEN 1000 AND 1500');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT compare('SELECT a FROM t WHERE state = ''open'' ORDER BY a');
SELECT same_rows('SELECT a FROM t WHERE lower(b) LIKE ''other%'' ORDER BY lower(b)');
SELECT check_all();

-- An expression that fails stops the statement and leaves nothing behind.
CREATE INDEX t_divided ON twin_sware.t USING sware ((100 / (a - 3000)));
DELETE FROM twin_sware.t WHERE a = 3000;
VACUUM twin_sware.t;
CREATE INDEX t_divided ON twin_sware.t USING sware ((100 / (a - 3000)));
INSERT INTO twin_sware.t VALUES (9001, 'x', 'open'), (3000, 'y', 'open');
SELECT count(*) FROM twin_sware.t WHERE state = 'open' AND a > 9000;
SELECT check_all();
SELECT drop_twins();
