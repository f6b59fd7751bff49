-- Many indexes share a session's private memory: 64 kB are enough for some entries of
-- each of 180 indexes. Of 300 indexes, it can have only one or two entries each: then
-- some are stored while others come. The statement that inserts looks at that itself.
CREATE TABLE p (i int, a int, b int, c int) PARTITION BY LIST (i);
CREATE INDEX p_a ON p USING sware (a);
CREATE INDEX p_b ON p USING sware (b);
CREATE INDEX p_c ON p USING sware (c);
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i);
	END LOOP;
END $$;

-- How many entries are stored in all indexes together?
CREATE FUNCTION stored() RETURNS numeric LANGUAGE sql AS $$
	SELECT sum(s.entries_appended + s.entries_inserted + s.entries_buffered)
	FROM pg_inherits h, sware_stats(h.inhrelid::regclass) s
	WHERE h.inhparent IN ('p_a'::regclass, 'p_b'::regclass, 'p_c'::regclass);
$$;
CREATE TABLE seen (row_number int, stored numeric);
CREATE FUNCTION look(row_number int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen VALUES (row_number, stored());
	RETURN row_number;
END
$$;
-- How many entries were stored while a row was inserted, and of how many rows that is
-- true.
CREATE VIEW steps AS
	SELECT stored - before AS entries, count(*) AS rows
	FROM (SELECT stored, lag(stored) OVER (ORDER BY row_number) AS before FROM seen) s
	WHERE before IS NOT NULL GROUP BY 1 ORDER BY min(stored);

SET sware.staging_size = '64kB';
-- Memory is full when each of 256 indexes has an entry. Then a quarter of it gets free.
INSERT INTO p SELECT i % 100, i, i, i FROM (SELECT look(i) AS i FROM generate_series(1, 150) i) s;
SELECT min(entries) FILTER (WHERE entries > 0) > 50 AS many_at_once, sum(rows) FROM steps;
TRUNCATE seen;
-- Everything is staged until the end of the statement.
INSERT INTO p SELECT i % 60, i, i, i FROM (SELECT look(i) AS i FROM generate_series(501, 700) i) s;
SELECT * FROM steps;
TRUNCATE seen;
RESET sware.staging_size;

SELECT count(*), sum(a), sum(b), sum(c) FROM p;
SELECT sum(stored_entries(inhrelid)) AS entries,
	count(sware_check(inhrelid, true)) AS checked FROM pg_inherits
	WHERE inhparent IN ('p_a'::regclass, 'p_b'::regclass, 'p_c'::regclass);
DROP VIEW steps;
DROP FUNCTION look, stored;
DROP TABLE p, seen;
