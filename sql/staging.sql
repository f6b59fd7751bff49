-- Entries of the running transaction are staged in private memory. Its own statements
-- see no difference: each sees the rows of the statements before it, by any kind of scan.
SELECT on_both('CREATE TABLE t (a int, b text)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a) INCLUDE (b)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SELECT on_both($$INSERT INTO t SELECT i, 'b' || i % 50 FROM generate_series(1, 1000) i$$);
SELECT on_both('ANALYZE t');
SELECT on_both('CREATE TABLE u (a int)');
SELECT on_both('CREATE INDEX u_a ON u USING @am (a)');
CREATE SEQUENCE added START 2000;
-- Rows with keys above, between and equal to those that are there.
CREATE FUNCTION add_rows() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	base int := nextval('added') * 100;
BEGIN
	PERFORM on_both(format('INSERT INTO t SELECT i, ''b'' || i %% 50 FROM generate_series(%s, %s) i',
		base, base + 49));
	PERFORM on_both(format('INSERT INTO t SELECT i * 7 %% 1000, ''new'' || %s FROM generate_series(1, 50) i',
		base));
END
$$;

-- The entries stay staged while this session reads the index.
BEGIN;
SELECT add_rows();
SELECT stored_entries('twin_sware.t_a') AS a, stored_entries('twin_sware.t_b') AS b;
SELECT allow_scans('index');
SELECT count(*) FROM twin_sware.t WHERE a > 0;
SELECT stored_entries('twin_sware.t_a') AS a, stored_entries('twin_sware.t_b') AS b;
COMMIT;
SELECT stored_entries('twin_sware.t_a') AS a, stored_entries('twin_sware.t_b') AS b;

-- They are not staged if the setting is off.
BEGIN;
SET LOCAL sware.enable_buffer = off;
SELECT add_rows();
SELECT stored_entries('twin_sware.t_a') AS a, stored_entries('twin_sware.t_b') AS b;
ROLLBACK;

-- Each kind of scan runs right after an insert of the same transaction.
BEGIN;
SELECT allow_scans('index');
SELECT add_rows();
SELECT same_rows('SELECT a, b FROM t WHERE a > 990 ORDER BY a, b');
SELECT add_rows();
SELECT same_rows('SELECT a FROM t ORDER BY a DESC LIMIT 20');
SELECT add_rows();
SELECT same_rows('SELECT a FROM t WHERE a IN (7, 14, 200000, 200149, 200249) ORDER BY a');
SELECT add_rows();
SELECT same_rows('SELECT min(a), max(a), (SELECT max(b) FROM t) FROM t');
SELECT allow_scans('indexonly');
SELECT add_rows();
SELECT same_rows('SELECT a, b FROM t WHERE a > 990 ORDER BY a, b');
SELECT allow_scans('bitmap');
SELECT add_rows();
SELECT compare('SELECT a, b FROM t WHERE a < 30 OR a > 200100');
SELECT add_rows();
SELECT same_rows($$SELECT a, b FROM t WHERE a < 300 AND b LIKE 'new%' AND b >= 'new' AND b < 'nex'$$);
SELECT allow_scans('index');
SELECT add_rows();
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_nestloop = off;
SELECT on_both('INSERT INTO u SELECT generate_series(1, 200500, 13)');
SELECT same_rows('SELECT t.a, b FROM t JOIN u USING (a) ORDER BY a, b');
-- A merge join that goes back among equal keys on its inner side.
SELECT on_both('INSERT INTO u SELECT i * 7 % 20 FROM generate_series(1, 100) i');
SELECT same_rows('SELECT x.a FROM u x JOIN u y USING (a) WHERE a < 30 ORDER BY a');
SET LOCAL enable_nestloop = on;
SET LOCAL enable_mergejoin = off;
SELECT add_rows();
SELECT on_both('INSERT INTO u SELECT generate_series(1, 900, 11)');
SELECT same_rows('SELECT u.a, b FROM u JOIN t USING (a) ORDER BY a, b');
SELECT add_rows();
SELECT on_both('DELETE FROM t WHERE a BETWEEN 100 AND 120');
SELECT add_rows();
SELECT on_both('UPDATE t SET b = b || ''x'' WHERE a BETWEEN 200 AND 220');
SELECT same_rows('SELECT a, b FROM t WHERE a BETWEEN 90 AND 230 ORDER BY a, b');
COMMIT;
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a, b'), same_rows('SELECT a FROM u ORDER BY a');

-- A cursor sees the rows that were there when it was opened, whether it has returned any
-- or not.
CREATE TABLE twin_sware.v (a int);
CREATE INDEX v_a ON twin_sware.v USING sware (a);
BEGIN;
INSERT INTO twin_sware.v SELECT generate_series(1, 10);
DECLARE begun SCROLL CURSOR FOR SELECT a FROM twin_sware.v WHERE a > 0 ORDER BY a;
DECLARE waiting CURSOR FOR SELECT a FROM twin_sware.v WHERE a > 0 ORDER BY a DESC;
FETCH 3 FROM begun;
INSERT INTO twin_sware.v SELECT i % 13 FROM generate_series(1, 2000) i;
FETCH ALL FROM begun;
FETCH BACKWARD 4 FROM begun;
FETCH ALL FROM waiting;
SELECT count(*) FROM twin_sware.v WHERE a > 0;
ROLLBACK;

-- A function inserts while a scan of the same index runs, and reads the index at once.
CREATE FUNCTION insert_and_count(x int) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO t VALUES (x, 'volatile'), (x + 1, 'volatile');
	RETURN (SELECT count(*) FROM t WHERE a BETWEEN x - 5 AND x + 5);
END
$$;
SELECT same_rows('SELECT a, insert_and_count(a) FROM t WHERE a BETWEEN 300 AND 400 ORDER BY a');
SELECT check_all(), same_rows('SELECT a, b FROM t WHERE a BETWEEN 290 AND 410 ORDER BY a, b');

-- A statement does not see its own rows: neither those that it inserts into the table
-- that it reads, nor those that it updates, at their new places.
BEGIN;
SELECT on_both('INSERT INTO t SELECT a, ''self'' FROM t WHERE a BETWEEN 400 AND 500');
SELECT on_both('INSERT INTO t SELECT a + 1, ''self'' FROM t WHERE a BETWEEN 400 AND 500');
SELECT on_both('UPDATE t SET a = a + 3 WHERE a BETWEEN 500 AND 600');
SELECT on_both('UPDATE t SET a = a + 3 WHERE a BETWEEN 500 AND 600');
SELECT same_rows('SELECT a, b FROM t WHERE a BETWEEN 390 AND 620 ORDER BY a, b');
COMMIT;
SELECT on_both('UPDATE t SET a = a + 1 WHERE a > 0');
SELECT on_both('DELETE FROM u');
SELECT on_both('INSERT INTO u SELECT generate_series(1, 200500, 19)');
SELECT on_both('MERGE INTO t USING u ON t.a = u.a WHEN MATCHED AND t.a < 100 THEN DELETE
				WHEN MATCHED AND t.a % 17 = 3 THEN UPDATE SET b = ''merged''
				WHEN NOT MATCHED AND u.a > 150000 THEN INSERT VALUES (u.a, ''merged'')');
SELECT check_all(), same_rows('SELECT a, b FROM t ORDER BY a, b');

-- Foreign keys are checked by queries on the index that is being filled.
SELECT on_both('CREATE TABLE parent (a int CONSTRAINT parent_key PRIMARY KEY)');
SELECT on_both('CREATE TABLE child (a int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE)');
SELECT on_both('CREATE INDEX child_a ON child USING @am (a)');
BEGIN;
SELECT on_both('INSERT INTO parent SELECT generate_series(1, 50)');
SELECT on_both('INSERT INTO child SELECT i % 50 + 1 FROM generate_series(1, 500) i');
SELECT on_both('DELETE FROM parent WHERE a % 5 = 0');
SELECT on_both('INSERT INTO child SELECT i FROM generate_series(1, 50) i WHERE i % 5 <> 0');
SELECT on_both('UPDATE parent SET a = a + 1000 WHERE a % 7 = 0');
SELECT same_rows('SELECT a FROM child WHERE a > 0 ORDER BY a');
COMMIT;
SELECT check_all(), same_rows('SELECT a FROM child ORDER BY a');

DROP FUNCTION add_rows, insert_and_count;
DROP SEQUENCE added;
SELECT drop_twins();
