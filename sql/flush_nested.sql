-- A flush calls a comparison function, which inserts into the index's table or flushes
-- the index: that is an error. It may read the table, and insert into other tables.
-- Functions that are not trusted would not be called where these are.
SET sware.fault_trust = on;
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE OPERATOR CLASS acting_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_act(int, int);
CREATE TABLE t (a int);
CREATE INDEX t_a ON t USING sware (a acting_ops) WITH (buffer_size = 64);
INSERT INTO t SELECT i FROM generate_series(1, 200) i;
INSERT INTO t SELECT i FROM generate_series(201, 400) i;
INSERT INTO t SELECT i FROM generate_series(401, 600) i;

SET twin.action = 'INSERT INTO twin_sware.t SELECT i FROM generate_series(601, 6000) i';
SELECT public.sware_flush('t_a');
SET twin.action = 'INSERT INTO twin_sware.t SELECT i
	FROM generate_series(601, 6000) i ON CONFLICT DO NOTHING';
SELECT public.sware_flush('t_a');
SET twin.action = 'UPDATE twin_sware.t SET a = a + 1000';
SELECT public.sware_flush('t_a');
SET twin.action = 'COPY twin_sware.t FROM PROGRAM ''seq 601 6000''';
SELECT public.sware_flush('t_a');
SET twin.action = '';
SELECT public.sware_check('t_a', true), count(*) FROM t;

-- Rows with ON CONFLICT are stored at once: in the buffer of the other table's index,
-- which is flushed within the flush.
CREATE TABLE other (a int);
CREATE INDEX other_a ON other USING sware (a) WITH (buffer_size = 64);
SET twin.action = 'INSERT INTO twin_sware.other SELECT count(*) + i
	FROM twin_sware.t, generate_series(1, 6000) i WHERE t.a = 5 GROUP BY i ON CONFLICT DO NOTHING';
SELECT public.sware_flush('t_a');
SET twin.action = '';
SELECT public.sware_check('t_a', true), public.sware_check('other_a', true),
	count(*), min(a), max(a) FROM other;

-- The function changes another index while the flush has a record of a leaf open, the
-- first one of the tree. The record is as it should be, and this session, which has
-- seen that the tree was empty, looks there.
CREATE TABLE few (a int);
CREATE INDEX few_a ON few USING sware (a acting_ops);
CREATE FUNCTION flush_while(action text, calls_before int, OUT was_executed bool, OUT rows_found bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
	TRUNCATE few, other;
	PERFORM set_config('twin.action', '', false);
	INSERT INTO few VALUES (4), (2), (1), (3) ON CONFLICT DO NOTHING;
	PERFORM FROM generate_series(1, 3) n, LATERAL (SELECT FROM few WHERE a > 0 AND n > 0 OFFSET 0) s;
	PERFORM set_config('twin.calls_before', calls_before::text, false);
	PERFORM set_config('twin.action', action, false);
	PERFORM public.sware_flush('few_a');
	was_executed := EXISTS (SELECT FROM other);
	PERFORM set_config('twin.action', '', false), set_config('twin.calls_before', '', false);
	rows_found := (SELECT count(*) FROM few WHERE a > 0);
	PERFORM public.sware_check('few_a', true), public.sware_check('other_a', true);
END $$;
SELECT count(*) FILTER (WHERE was_executed) > 8 AS at_many_calls, bool_or(NOT was_executed) AS at_each,
	min(rows_found), max(rows_found)
FROM generate_series(0, 30) calls_before,
	flush_while('INSERT INTO twin_sware.other SELECT generate_series(1, 10) ON CONFLICT DO NOTHING;
		SELECT public.sware_flush(''twin_sware.other_a'')', calls_before);

-- While an index is being flushed, the function publishes what the transaction has
-- staged for it, and the buffer exceeds its quota. The flush goes on.
CREATE SEQUENCE acted;
CREATE TABLE wide (a int, b text);
CREATE INDEX wide_a ON wide USING sware (a acting_ops) INCLUDE (b) WITH (buffer_size = 64);
SET enable_seqscan = off;
BEGIN;
INSERT INTO wide SELECT i, repeat('x', 100) FROM generate_series(1, 250) i;
SET twin.action = 'SET CONSTRAINTS ALL IMMEDIATE; SELECT nextval(''twin_sware.acted'')';
INSERT INTO wide SELECT i, repeat('x', 100) FROM generate_series(1001, 2000) i ON CONFLICT DO NOTHING;
SET twin.action = '';
COMMIT;
SELECT is_called AS was_flushed FROM acted;
RESET enable_seqscan;
SELECT public.sware_check('wide_a', true), count(*) FROM wide;

INSERT INTO t SELECT i FROM generate_series(6001, 6200) i;
SET twin.action = 'SELECT public.sware_flush(''twin_sware.t_a'')';
SELECT public.sware_flush('t_a');
SET twin.action = '';
SELECT public.sware_flush('t_a'), public.sware_check('t_a', true), count(*) FROM t;

RESET search_path;
SELECT public.drop_twins();
