-- Merge joins go back to marked positions. Duplicates on both sides make them do so many
-- times, within a page and across pages.
SELECT on_both('CREATE TABLE x (a int, b int)');
SELECT on_both('CREATE TABLE y (a int, b int)');
SELECT on_both('INSERT INTO x SELECT i / 3, i FROM generate_series(1, 3000) i');
SELECT on_both('INSERT INTO y SELECT i / 5, i FROM generate_series(1, 3000) i');
-- Keys with more duplicates than a page holds.
SELECT on_both('INSERT INTO x SELECT 100, i FROM generate_series(1, 4) i');
SELECT on_both('INSERT INTO y SELECT 100, i FROM generate_series(1, 3000) i');
SELECT on_both('INSERT INTO x VALUES (NULL, 1)');
SELECT on_both('INSERT INTO y VALUES (NULL, 1)');
SELECT on_both('CREATE INDEX x_a ON x USING @am (a)');
SELECT on_both('CREATE INDEX y_a ON y USING @am (a)');
VACUUM (ANALYZE) twin_nbtree.x, twin_nbtree.y, twin_sware.x, twin_sware.y;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SET max_parallel_workers_per_gather = 0;

SELECT allow_scans('index');
SELECT compare('SELECT x.ctid, y.ctid FROM x JOIN y USING (a)');
SELECT compare('SELECT a FROM x JOIN y USING (a) ORDER BY a DESC');
SELECT compare('SELECT x.ctid, y.ctid FROM x LEFT JOIN y USING (a)');
SELECT compare('SELECT x.ctid, y.ctid FROM x FULL JOIN y USING (a)');
SELECT compare('SELECT x.ctid FROM x WHERE NOT EXISTS (SELECT 1 FROM y WHERE y.a = x.a)');
SELECT compare('SELECT x.ctid FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.a = x.a AND y.b % 7 = 0)');
SELECT compare('SELECT x.ctid, y.ctid FROM x JOIN y USING (a) WHERE x.a BETWEEN 90 AND 110 AND y.a > 95');
SELECT compare('SELECT x.ctid, y.ctid FROM x JOIN y USING (a) WHERE y.a = ANY (''{99,100,101,400}'')');
SELECT allow_scans('indexonly', 'index');
SELECT compare('SELECT a, x.b FROM x JOIN y USING (a)');
SELECT compare('SELECT count(*) FROM x JOIN y USING (a)');

-- The marked page is split between mark and restore: a function that is called for each
-- row inserts into the inner table while the join runs.
CREATE FUNCTION disturb(key int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF key % 10 = 0 THEN
		INSERT INTO y SELECT key - 1, 0 FROM generate_series(1, 200);
	END IF;
	RETURN key;
END
$$;
SELECT allow_scans('index');
SELECT compare('SELECT x.ctid, y.ctid, disturb(x.a) FROM x JOIN y USING (a) WHERE x.a < 95');
SELECT check_all();

DROP FUNCTION disturb;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_material;
SELECT drop_twins();
