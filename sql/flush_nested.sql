-- A comparison function of an index that inserts into its table, or flushes it,
-- while it is called by a flush.
\set VERBOSITY terse
SET search_path = twin_sware, public;
CREATE FUNCTION compare_and_act(int, int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	action text := current_setting('twin.action', true);
BEGIN
	IF action <> '' THEN
		PERFORM set_config('twin.action', '', false);
		EXECUTE action;
	END IF;
	RETURN pg_catalog.btint4cmp($1, $2);
END
$$;
CREATE OPERATOR CLASS acting_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_act(int, int);
CREATE TABLE t (a int);
CREATE INDEX t_a ON t USING sware (a acting_ops) WITH (buffer_size = 64);
INSERT INTO t SELECT i FROM generate_series(1, 200) i;
INSERT INTO t SELECT i FROM generate_series(201, 400) i;
INSERT INTO t SELECT i FROM generate_series(401, 600) i;

-- Rows with ON CONFLICT go straight into the buffer: more of them than it takes.
SET twin.action = 'INSERT INTO twin_sware.t SELECT i FROM generate_series(601, 6000) i ON CONFLICT DO NOTHING';
SELECT public.sware_flush('t_a');
SET twin.action = '';
SELECT public.sware_check('t_a', true), count(*) FROM t;
SELECT public.sware_flush('t_a') > 0 AS moved, public.sware_check('t_a', true);

INSERT INTO t SELECT i FROM generate_series(6001, 6200) i;
SET twin.action = 'SELECT public.sware_flush(''twin_sware.t_a'')';
SELECT public.sware_flush('t_a');
SET twin.action = '';
SELECT public.sware_flush('t_a'), public.sware_check('t_a', true), count(*) FROM t;

RESET search_path;
SELECT public.drop_twins();
