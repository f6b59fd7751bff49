-- Several columns, in mixed orders.
SELECT on_both('CREATE TABLE t (a int, b text, c numeric)');
SELECT on_both($$INSERT INTO t SELECT i % 17, 'b' || (i * 31) % 101, (i % 7) / 2.0
	FROM generate_series(1, 10000) i$$);
SELECT on_both('CREATE INDEX t_abc ON t USING @am (a, b DESC, c)');
VACUUM (ANALYZE) twin_nbtree.t;
VACUUM (ANALYZE) twin_sware.t;
SET max_parallel_workers_per_gather = 0;
SELECT check_all();

SELECT allow_scans('indexonly');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3 AND b = ''b7''');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3 AND b = ''b7'' AND c > 1');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3 AND b > ''b7'' AND b <= ''b90'' ORDER BY b DESC, c');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3 AND b > ''b7'' AND b <= ''b90'' ORDER BY b, c DESC');
SELECT compare('SELECT a, b, c FROM t WHERE a >= 3 AND a < 6 AND b = ''b50'' ORDER BY a, b DESC, c');
SELECT compare('SELECT a, b, c FROM t WHERE a > 3 AND c = 1.5 ORDER BY a DESC, b, c DESC');
SELECT compare('SELECT a, b, c FROM t WHERE b = ''b50'' AND c = 1.5');
SELECT compare('SELECT a, b, c FROM t WHERE c < 0.5');
SELECT compare('SELECT a, b, c FROM t WHERE a = 20');
SELECT compare('SELECT a, b, c FROM t ORDER BY a, b DESC, c');
SELECT compare('SELECT a, b, c FROM t ORDER BY a DESC, b, c DESC');
SELECT compare_briefly('SELECT DISTINCT a, b FROM t ORDER BY a, b DESC');
SELECT compare('SELECT a, b, c FROM t WHERE a = 3 AND b = ''b7'' ORDER BY c DESC LIMIT 3');
SELECT allow_scans('index');
SELECT compare('SELECT ctid FROM t WHERE a = 3 AND b > ''b7'' AND c = 1.5 ORDER BY b DESC');
SELECT mirrored('SELECT ctid FROM t ORDER BY a, b DESC, c', 'SELECT ctid FROM t ORDER BY a DESC, b, c DESC');
SELECT allow_scans('bitmap');
SELECT compare('SELECT ctid FROM t WHERE a > 3 AND b > ''b7'' AND c = 1.5');

-- An order of which the index has only the first columns.
SELECT allow_scans('index', 'indexonly');
SELECT compare('SELECT a, b FROM t ORDER BY a, b LIMIT 10');

-- Row comparisons, by which only nbtree can position a scan: the rows agree.
SELECT same_rows('SELECT a, b, c FROM t WHERE (a, b) = (3, ''b7'') ORDER BY a, b DESC, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE (a, b) >= (3, ''b7'') ORDER BY a, b DESC, c');
SELECT same_rows('SELECT a, b, c FROM t WHERE (a, c) < (3, 1.5) ORDER BY a, b DESC, c');

SELECT drop_twins();
