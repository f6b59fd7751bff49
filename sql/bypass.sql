-- An index that is read more often than it gets entries does without its buffer: what is
-- there is flushed, and entries go to the tree, until there are more of them again.
\set VERBOSITY terse
SET search_path = twin_sware, public;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE t (k int);
CREATE INDEX t_k ON t USING sware (k) WITH (buffer_size = 1024);
INSERT INTO t SELECT i * 100 FROM generate_series(1, 20000) i;

-- Rows in transactions of their own, whose keys come in no order; every other one comes with
-- look-ups.
CREATE PROCEDURE add_rows(first int, last int, look_ups int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO t VALUES (i * 7919 % 20000 * 100 + 1);
		COMMIT;
		FOR j IN 1 .. look_ups * (i % 2) LOOP
			PERFORM FROM t WHERE k = (i + j) * 31 % 20000 * 100;
		END LOOP;
	END LOOP;
END
$$;
CREATE FUNCTION waiting() RETURNS bigint LANGUAGE sql AS $$
	SELECT buffer_entries FROM sware_stats('t_k')
$$;

CALL add_rows(1, 4000, 0);
SELECT waiting() > 3500 AS most_wait, verdict_on('t');
-- One look-up for two rows is not enough.
CALL add_rows(4001, 6000, 1);
SELECT waiting() > 5000 AS most_wait, verdict_on('t');
CALL add_rows(6001, 8000, 6);
SELECT waiting(), verdict_on('t');
-- Rows of one transaction bypass the buffer, too.
INSERT INTO t SELECT i * 7919 % 20000 * 100 + 2 FROM generate_series(8001, 8100) i;
SELECT waiting(), verdict_on('t');
-- Rows of larger transactions count, too: without look-ups they wait again.
\set ECHO errors
SELECT format('INSERT INTO t SELECT i * 7919 %% 20000 * 100 + %s FROM generate_series(1, 300) i', n)
FROM generate_series(11, 40) n \gexec
\set ECHO all
SELECT waiting() > 1000 AS many_wait, verdict_on('t');
CALL add_rows(8101, 9100, 12);
SELECT waiting(), verdict_on('t');
-- With as many look-ups as rows it stays as it is.
CALL add_rows(9101, 10000, 2);
SELECT waiting(), verdict_on('t');
CALL add_rows(10001, 20000, 0);
SELECT waiting() > 2000 AS many_wait, verdict_on('t');
SELECT sware_check('t_k', true);
DROP TABLE t;
