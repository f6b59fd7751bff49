-- Indexes are locked as long as entries are staged for them. If that is so for more than
-- a quarter of max_locks_per_transaction indexes when a statement ends, their entries are
-- published. So a transaction that inserts into many indexes, one after another, needs
-- hardly more locks than with nbtree.
CREATE TABLE p (a int, b int, c int) PARTITION BY LIST (c);
CREATE INDEX p_a ON p USING sware (a);
CREATE INDEX p_b ON p USING sware (b);
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i);
	END LOOP;
END $$;
SELECT allow_scans('index', 'bitmap');

-- How many indexes has this transaction locked?
CREATE FUNCTION locked_indexes() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks l
	WHERE l.pid = pg_backend_pid() AND l.mode = 'RowExclusiveLock' AND l.granted AND
		l.relation IN (SELECT indexrelid FROM pg_index i JOIN pg_inherits h ON i.indexrelid = h.inhrelid);
$$;
CREATE FUNCTION number_is_limited() RETURNS boolean LANGUAGE sql AS $$
	SELECT locked_indexes() <= current_setting('max_locks_per_transaction')::int / 4;
$$;
CREATE FUNCTION add_rows(low int, high int, partitions int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO p SELECT i, -i, i % partitions FROM generate_series(low, high) i;
$$;
-- The same with a statement for each row.
CREATE FUNCTION add_row_by_row(low int, high int, partitions int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN low .. high LOOP
		INSERT INTO p VALUES (i, -i, i % partitions);
	END LOOP;
END
$$;

-- An index is locked from its first staged entry on, until the entries are published.
BEGIN;
SELECT locked_indexes();
SELECT add_rows(1, 20, 3);
SELECT locked_indexes();
SELECT add_rows(21, 40, 5);
SELECT locked_indexes();
SELECT sware_check('p0_a_idx');
SELECT locked_indexes();
SELECT add_rows(41, 60, 2);
SELECT locked_indexes();
SAVEPOINT s;
SELECT add_rows(61, 80, 6);
SELECT locked_indexes();
ROLLBACK TO s;
SELECT locked_indexes();
SELECT add_rows(61, 80, 7);
SELECT locked_indexes();
RELEASE s;
SELECT locked_indexes();
CREATE TABLE other ();
SELECT locked_indexes();
ROLLBACK;

-- Many indexes by one statement, by statements one after another, by COPY, within a
-- function that a statement calls while it inserts, and in a subtransaction.
BEGIN;
SELECT add_rows(1, 1000, 100);
SELECT number_is_limited();
COMMIT;
BEGIN;
SELECT add_row_by_row(1001, 2000, 100);
SELECT number_is_limited();
SELECT add_row_by_row(2001, 2005, 100);
SELECT locked_indexes() > 0, number_is_limited();
COMMIT;
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		INSERT INTO p VALUES (2100 + i, -2100 - i, i);
		IF NOT number_is_limited() THEN
			RAISE '% indexes are locked', locked_indexes();
		END IF;
	END LOOP;
END $$;
BEGIN;
COPY p1 FROM stdin;
3001	-3001	1
\.
SELECT locked_indexes();
COPY p FROM PROGRAM 'seq 0 99 | sed "s/.*/4000 -4000 &/"' (DELIMITER ' ');
SELECT number_is_limited();
COMMIT;
CREATE FUNCTION add_beside(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO p VALUES (5000 + i, -5000 - i, 50 + i % 50);
	RETURN i;
END
$$;
BEGIN;
INSERT INTO p SELECT 6000 + add_beside(i), -6000 - i, i % 50 FROM generate_series(1, 200) i;
SELECT number_is_limited();
SAVEPOINT s;
SELECT add_row_by_row(7001, 7100, 100);
SELECT number_is_limited();
ROLLBACK TO s;
SELECT number_is_limited();
COMMIT;

SELECT count(*), sum(a) + sum(b) AS zero FROM p;
SELECT count(*) AS indexes, count(sware_check(inhrelid, true)) AS checked FROM pg_inherits
	WHERE inhparent IN ('p_a'::regclass, 'p_b'::regclass);
DROP FUNCTION add_beside, add_row_by_row, add_rows, number_is_limited, locked_indexes;
DROP TABLE p;

-- Rows that are too large for an index leave no lock behind.
CREATE TABLE wide (v text);
CREATE PROCEDURE insert_wide(indexes int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. indexes LOOP
		EXECUTE format('CREATE INDEX wide_%s ON wide USING sware ((substr(v, %s)))', i, i);
	END LOOP;
	COMMIT;
	FOR i IN 1 .. 10 LOOP
		BEGIN
			INSERT INTO wide SELECT string_agg(sha512((n * i)::text::bytea)::text, '')
			FROM generate_series(1, 60) n;
		EXCEPTION WHEN program_limit_exceeded THEN
			NULL;
		END;
	END LOOP;
	RAISE NOTICE '% locked', (SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation
		WHERE relname LIKE 'wide_%' AND pid = pg_backend_pid());
END $$;
CALL insert_wide(20);
DROP PROCEDURE insert_wide;
DROP TABLE wide;
