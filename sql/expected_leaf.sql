-- The leaf at which the next key is expected. Without a buffer each row goes to the tree
-- at once, and looks there first.
\set VERBOSITY terse
SELECT allow_scans('index', 'indexonly');
SELECT on_both('CREATE TABLE t (k int8, v text, d int8)');
SELECT on_both('CREATE INDEX t_k ON t USING @am (k)');
SELECT on_both('CREATE INDEX t_v ON t USING @am (v)');
SELECT on_both('CREATE INDEX t_d ON t USING @am (d DESC NULLS LAST, k)');
ALTER INDEX twin_sware.t_k SET (buffer_size = 0);
ALTER INDEX twin_sware.t_v SET (buffer_size = 0);
ALTER INDEX twin_sware.t_d SET (buffer_size = 0);

-- Keys in order, with some that are early, late, equal, or null; then in order elsewhere.
SELECT on_both('INSERT INTO t SELECT k, to_char(k, ''0000000''), nullif(k % 997, 3)
	FROM (SELECT CASE WHEN i % 20 = 0 THEN i + 5000 WHEN i % 20 = 1 THEN abs(i - 5000)
		WHEN i % 20 = 2 THEN i / 100 * 100 ELSE i END AS k FROM generate_series(1, 20000) i) s');
SELECT check_all();
SELECT on_both('INSERT INTO t SELECT k, to_char(k, ''0000000''), nullif(k % 997, 3)
	FROM (SELECT CASE WHEN i % 3000 < 1500 THEN 30000 + i ELSE 8000 - i END AS k
		FROM generate_series(1, 6000) i) s');
SELECT check_all();
SELECT same_rows('SELECT k FROM t ORDER BY k');
SELECT same_rows('SELECT v FROM t ORDER BY v');
SELECT same_rows('SELECT d, k FROM t ORDER BY d DESC NULLS LAST, k');
SELECT same_rows('SELECT k FROM t WHERE k BETWEEN 7000 AND 8000 ORDER BY k DESC');

-- The first column is equal everywhere, and says nothing of where a key belongs.
SELECT on_both('CREATE TABLE pairs (a int, b int)');
SELECT on_both('CREATE INDEX pairs_a_b ON pairs USING @am (a, b)');
ALTER INDEX twin_sware.pairs_a_b SET (buffer_size = 0);
SELECT on_both('INSERT INTO pairs SELECT 1, i * 2 FROM generate_series(1, 3000) i');
SELECT on_both('INSERT INTO pairs VALUES (1, 777), (1, 4711), (1, 6001), (1, 3)');
SELECT check_all();
SELECT same_rows('SELECT a, b FROM pairs ORDER BY a, b');

-- The leaf is deleted and reused, or the index built anew.
SELECT on_both('DELETE FROM t WHERE k < 30000');
VACUUM twin_nbtree.t, twin_sware.t;
SELECT on_both('INSERT INTO t SELECT i, i, i FROM generate_series(1, 3000) i');
SELECT check_all();
TRUNCATE twin_nbtree.t, twin_sware.t;
SELECT on_both('INSERT INTO t SELECT i, i, i FROM generate_series(1, 3000) i');
REINDEX TABLE twin_sware.t;
SELECT on_both('INSERT INTO t SELECT i * 2, i, -i FROM generate_series(1, 3000) i');
SELECT check_all();
SELECT same_rows('SELECT k FROM t ORDER BY k');

-- A split is interrupted. The next row that belongs to the left page completes it, although
-- the session remembers that page. A look-up that remembers the right page does not lead
-- rows there.
CREATE TABLE torn (k int8);
CREATE UNIQUE INDEX torn_k ON torn USING sware (k) WITH (buffer_size = 0);
CREATE FUNCTION insert_until_torn() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	i bigint := (SELECT coalesce(max(k), 0) FROM torn);
BEGIN
	PERFORM set_config('sware.fault_points', 'split-downlink=error', true);
	LOOP
		i := i + 10;
		BEGIN
			INSERT INTO torn VALUES (i);
		EXCEPTION WHEN OTHERS THEN
			RETURN i;
		END;
	END LOOP;
END
$$;
CREATE FUNCTION incomplete_splits() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*)
	FROM generate_series(1, pg_relation_size('torn_k') / current_setting('block_size')::int - 1) block,
		sware_page_stats('torn_k', block) page WHERE 'incomplete_split' = ANY (page.flags)
$$;
INSERT INTO torn SELECT i * 10 FROM generate_series(1, 2000) i;
SELECT insert_until_torn() AS torn \gset
RESET sware.fault_points;
SELECT :torn > 20000 AS is_torn, incomplete_splits();
INSERT INTO torn SELECT :torn - 1000 - i * 10 + 1 FROM generate_series(1, 100) i;
SELECT incomplete_splits();
SELECT insert_until_torn() > :torn AS is_torn;
RESET sware.fault_points;
SELECT incomplete_splits();
INSERT INTO torn SELECT max(k) FROM torn;
SELECT incomplete_splits();
INSERT INTO torn SELECT max(k) + i FROM torn, generate_series(1, 2000) i GROUP BY i;
SELECT incomplete_splits();
SELECT sware_check('torn_k', true);

-- A comparison function has all forgotten that the session remembers of the index, after it
-- was chosen which leaf to look at: there is no link to follow then, which would be to a
-- page that the file does not have yet.
SET sware.fault_trust = on;
CREATE OPERATOR CLASS acting_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 compare_and_act(int, int);
CREATE TABLE forgotten (k int);
CREATE INDEX forgotten_k ON forgotten USING sware (k acting_ops) WITH (buffer_size = 0);
CREATE PROCEDURE insert_while_forgetting(number int, calls_before int) LANGUAGE plpgsql AS $$
DECLARE
	highest int := (SELECT max(k) FROM forgotten);
	size bigint;
	action text := 'UPDATE pg_class SET relname = relname WHERE oid = ''forgotten_k''::regclass';
BEGIN
	-- the session remembers the leaf
	INSERT INTO forgotten VALUES (highest + 1);
	INSERT INTO forgotten VALUES (highest + 2);
	COMMIT;
	size := pg_relation_size('forgotten_k');
	PERFORM set_config('twin.calls_before', calls_before::text, false),
		set_config('twin.action', action, false);
	INSERT INTO forgotten SELECT highest + 2 + i FROM generate_series(1, number) i;
	COMMIT;
	RAISE NOTICE 'done: %, new pages: %', current_setting('twin.action') = '',
		(pg_relation_size('forgotten_k') - size) / current_setting('block_size')::int;
END $$;
INSERT INTO forgotten SELECT generate_series(1, 1000);
SELECT format('CALL insert_while_forgetting(%s, %s)', number, calls)
FROM unnest('{1,2}'::int[]) number, generate_series(0, 2 * number) calls \gexec
SELECT sware_check('forgotten_k', true);
RESET sware.fault_trust;
SELECT drop_twins();
DROP TABLE torn, forgotten;
DROP OPERATOR FAMILY acting_ops USING sware;
DROP FUNCTION insert_until_torn, incomplete_splits;
DROP PROCEDURE insert_while_forgetting;
