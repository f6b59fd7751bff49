-- Cursors, scrolled in both directions; the table changes under an open one.
SELECT on_both('CREATE TABLE t (a int, b int)');
SELECT on_both('INSERT INTO t SELECT (i * 7) % 3001, i FROM generate_series(1, 3000) i');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('ANALYZE t');

SELECT allow_scans('index');
SELECT plan_of('twin_sware', 'SELECT a, b FROM t ORDER BY a');
SELECT unnest(walk('twin_sware', 'SELECT a, b FROM t ORDER BY a', steps)) AS sware,
	   unnest(walk('twin_nbtree', 'SELECT a, b FROM t ORDER BY a', steps)) AS nbtree
FROM (SELECT '{next,next,prior,prior,prior,next,+500,prior,next,-500,next,end,prior,prior,next,next,next,
	prior,last,prior,first,prior,next,+500,+500,-500,start,next,
	+500,+500,+500,+500,+500,+500,prior}'::text[]) s(steps);
-- The same for other scans: shows only whether both twins agree.
SELECT query, walk('twin_sware', query, steps) = walk('twin_nbtree', query, steps) AS same
FROM (SELECT '{next,next,prior,prior,prior,next,+500,prior,next,-500,next,end,prior,prior,next,next,next,
	prior,last,prior,first,prior,next,+500,+500,-500,start,next,
	+500,+500,+500,+500,+500,+500,prior}'::text[]) s(steps),
	 unnest('{SELECT a\, b FROM t ORDER BY a DESC,
			  SELECT a\, b FROM t WHERE a > 700 AND a < 1400 ORDER BY a,
			  SELECT a\, b FROM t WHERE a > 700 AND a < 1400 ORDER BY a DESC,
			  SELECT a\, b FROM t WHERE a < 0 ORDER BY a,
			  SELECT a\, b FROM t WHERE a = 70 ORDER BY a,
			  SELECT a\, b FROM t WHERE a IN (1\, 70\, 71\, 2999) ORDER BY a}'::text[]) query;

-- Inserts around an open cursor split its page and the pages on both sides. The cursor's
-- snapshot does not see the new rows, so it returns the same rows as before.
BEGIN;
DECLARE before_split SCROLL CURSOR FOR SELECT a FROM twin_sware.t ORDER BY a;
FETCH 3 FROM before_split;
MOVE 1000 IN before_split;
FETCH 1 FROM before_split;
INSERT INTO twin_sware.t SELECT i % 3001, -i FROM generate_series(1, 20000) i;
FETCH 3 FROM before_split;
FETCH BACKWARD 6 FROM before_split;
MOVE BACKWARD 990 IN before_split;
FETCH BACKWARD 3 FROM before_split;
MOVE FORWARD ALL IN before_split;
FETCH BACKWARD 2 FROM before_split;
COMMIT;

-- Deleted and updated rows stay visible to an open cursor.
BEGIN;
DECLARE before_delete SCROLL CURSOR FOR SELECT a, b FROM twin_sware.t WHERE b > 0 ORDER BY a;
MOVE 100 IN before_delete;
DELETE FROM twin_sware.t WHERE a < 200;
UPDATE twin_sware.t SET a = a + 100000 WHERE a < 300;
FETCH 2 FROM before_delete;
FETCH BACKWARD 3 FROM before_delete;
MOVE FORWARD ALL IN before_delete;
FETCH BACKWARD 1 FROM before_delete;
ROLLBACK;

-- An update through the cursor's own index does not make it run for ever.
BEGIN;
DECLARE for_update CURSOR FOR SELECT a FROM twin_sware.t
	WHERE a BETWEEN 10 AND 12 AND b > 0 ORDER BY a FOR UPDATE;
FETCH for_update;
UPDATE twin_sware.t SET a = a + 1 WHERE CURRENT OF for_update;
FETCH for_update;
FETCH for_update;
FETCH for_update;
COMMIT;
UPDATE twin_sware.t SET a = a + 1 WHERE a > 2990;
SELECT count(*), min(a), max(a) FROM twin_sware.t WHERE a > 2990;

-- WITH HOLD, and a cursor in an aborted subtransaction.
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT a FROM twin_sware.t WHERE b > 0 ORDER BY a;
FETCH 2 FROM held;
COMMIT;
FETCH 2 FROM held;
FETCH BACKWARD 1 FROM held;
CLOSE held;
BEGIN;
DECLARE outer_one SCROLL CURSOR FOR SELECT a FROM twin_sware.t WHERE b > 0 ORDER BY a DESC;
FETCH 2 FROM outer_one;
SAVEPOINT s;
DECLARE inner_one SCROLL CURSOR FOR SELECT a FROM twin_sware.t WHERE b > 0 ORDER BY a DESC;
FETCH 1 FROM inner_one;
SELECT 1 / 0;
ROLLBACK TO s;
FETCH 2 FROM outer_one;
FETCH BACKWARD 1 FROM outer_one;
COMMIT;
SELECT check_all();

SELECT drop_twins();
