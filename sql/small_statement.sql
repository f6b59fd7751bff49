-- The first row of a statement that is expected to insert one row, in a transaction of its
-- own, is not staged, but stored at once. The fault point "insert-stored" tells of that, and
-- "publish-begins" of rows that were staged.

CREATE TABLE m (k int, v int) WITH (autovacuum_enabled = off);
CREATE INDEX m_k ON m USING sware (k);
SET sware.fault_points = 'insert-stored=notice, publish-begins=notice';
INSERT INTO m VALUES (1);
INSERT INTO m VALUES (2), (3);
INSERT INTO m SELECT generate_series(4, 6);
COPY m (k) FROM stdin;
7
\.
-- A row that is updated.
RESET sware.fault_points;
VACUUM ANALYZE m;
SET sware.fault_points = 'insert-stored=notice, publish-begins=notice';
UPDATE m SET v = 1, k = 10 WHERE k = 1;
UPDATE m SET v = 2, k = k + 10 WHERE k > 1 AND k <= 7;
-- More rows than expected: the others are staged.
CREATE FUNCTION more_rows() RETURNS SETOF int ROWS 1 LANGUAGE plpgsql AS
	'BEGIN RETURN QUERY SELECT generate_series(101, 150); END';
INSERT INTO m SELECT more_rows();
-- More statements may follow in a transaction block, or in a query string. In a function, the
-- first statement is taken for the only one.
BEGIN;
INSERT INTO m VALUES (201);
COMMIT;
DO $$ BEGIN FOR i IN 203 .. 205 LOOP INSERT INTO m VALUES (i); END LOOP; END $$;
CREATE FUNCTION one_more(k int) RETURNS void LANGUAGE sql AS 'INSERT INTO m VALUES (k)';
SELECT one_more(206);
SELECT one_more(1000 + i) FROM generate_series(1, 5) i;
DELETE FROM m WHERE k > 1000;
INSERT INTO m VALUES (207) \; INSERT INTO m VALUES (208);
-- A transaction of one statement, in a procedure.
DO $$ BEGIN FOR i IN 209 .. 211 LOOP INSERT INTO m VALUES (i); COMMIT; END LOOP; END $$;
-- A trigger's statements are parts of another one; the first statement stores its row before.
CREATE FUNCTION insert_others() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO m SELECT new.k + 1000 WHERE new.k < 1000;
	INSERT INTO m SELECT new.k + 2000 WHERE new.k < 1000;
	RETURN NULL;
END $$;
CREATE TRIGGER insert_others AFTER INSERT ON m FOR EACH ROW EXECUTE FUNCTION insert_others();
INSERT INTO m VALUES (301);
DROP TRIGGER insert_others ON m;
-- What fails leaves nothing that is found.
INSERT INTO m SELECT 401 UNION ALL SELECT 1 / (random() * 0)::int;
ALTER TABLE m ADD CHECK (k <> 402);
INSERT INTO m VALUES (402);
ALTER TABLE m ADD u int UNIQUE DEFERRABLE INITIALLY DEFERRED;
INSERT INTO m VALUES (403, 1, 1);
INSERT INTO m VALUES (404, 1, 1);
RESET sware.fault_points;
SELECT allow_scans('index');
SELECT array_agg(k ORDER BY k) FILTER (WHERE k NOT BETWEEN 101 AND 150), count(*) FROM m WHERE k > 0;
SELECT sware_check('m_k', true);
DROP TABLE m;
DROP FUNCTION more_rows, one_more, insert_others;
