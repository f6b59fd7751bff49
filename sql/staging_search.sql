-- What a transaction has staged is searched where it is: by every kind of scan, while
-- the transaction goes on inserting, and rolls back to savepoints under open cursors.
SELECT on_both('CREATE TABLE t (a int, b text COLLATE "C", c numeric)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a) INCLUDE (b)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b DESC, a)');
SELECT on_both('CREATE INDEX t_c ON t USING @am (c NULLS FIRST)');
SELECT on_both($$INSERT INTO t SELECT i * 10, 'b' || i % 300, i / 7.0 FROM generate_series(1, 3000) i$$);
VACUUM (ANALYZE) twin_nbtree.t, twin_sware.t;
-- Rows with keys all over the place, some of them null, some equal.
CREATE FUNCTION add_rows(low int, high int) RETURNS void LANGUAGE sql AS $f$
	SELECT on_both(format($$INSERT INTO t SELECT nullif(i * 7919 %% 31013, 0),
		CASE WHEN i %% 11 > 0 THEN 'b' || i * 31 %% 400 END, nullif(i %% 500, 13) / 7.0
		FROM generate_series(%s, %s) i$$, low, high))
$f$;
CREATE FUNCTION stored() RETURNS text LANGUAGE sql AS $$
	SELECT format('%s %s %s stored', stored_entries('twin_sware.t_a'), stored_entries('twin_sware.t_b'),
				  stored_entries('twin_sware.t_c'))
$$;
CREATE FUNCTION all_scans() RETURNS SETOF text LANGUAGE plpgsql AS $f$
DECLARE
	query text;
	ways text;
	queries text[] := ARRAY[
		'SELECT a, b FROM t WHERE a BETWEEN 5000 AND 6000 ORDER BY a, b',
		'SELECT a FROM t WHERE a < 900 ORDER BY a DESC',
		'SELECT a FROM t ORDER BY a LIMIT 700',
		'SELECT a FROM t ORDER BY a DESC LIMIT 700',
		'SELECT count(*), sum(a) FROM t WHERE a = ANY (ARRAY(SELECT generate_series(0, 31013, 13)))',
		'SELECT a FROM t WHERE a IN (10, 7919, 15838, 30999, 31000) ORDER BY a',
		'SELECT count(*) FROM t WHERE a IS NULL',
		'SELECT min(a), max(a), min(b), max(b), min(c), max(c) FROM t',
		'SELECT b, a FROM t WHERE b = ''b31'' AND a > 100 ORDER BY b, a',
		'SELECT b, a FROM t WHERE b >= ''b200'' AND b < ''b23'' ORDER BY b, a',
		'SELECT b, a FROM t ORDER BY b DESC, a LIMIT 900',
		'SELECT b, a FROM t ORDER BY b, a DESC LIMIT 900',
		'SELECT count(*), sum(a) FROM t WHERE b IN (''b1'', ''b2'', ''b310'')
			AND a = ANY (ARRAY(SELECT generate_series(0, 31013)))',
		'SELECT c FROM t WHERE c BETWEEN 3 AND 5 ORDER BY c',
		'SELECT c FROM t ORDER BY c NULLS FIRST LIMIT 800',
		'SELECT c FROM t WHERE c > 60 ORDER BY c DESC'];
BEGIN
	FOREACH ways IN ARRAY ARRAY['index', 'indexonly', 'bitmap'] LOOP
		PERFORM allow_scans(ways);
		FOREACH query IN ARRAY queries LOOP
			IF same_rows(query) NOT LIKE 'same%' THEN
				RETURN NEXT ways || ', ' || query || ': ' || same_rows(query);
			END IF;
		END LOOP;
	END LOOP;
	RETURN NEXT 'scans compared';
END
$f$;

-- Nothing is stored by scans, whether they sort what is staged or look at the newest
-- entries, and however much is staged.
BEGIN;
SELECT add_rows(1, 5), all_scans();
SELECT add_rows(6, 60), all_scans();
SELECT add_rows(61, 64), all_scans();
SELECT add_rows(65, 1500), all_scans();
SELECT add_rows(1501, 1540), all_scans();
SELECT add_rows(1541, 6000), all_scans();
SELECT stored();
COMMIT;
SELECT all_scans(), check_all();

-- Savepoints: what is rolled back is not found, and what was sorted before is.
BEGIN;
SELECT add_rows(6001, 6100), all_scans();
SAVEPOINT one;
SELECT add_rows(6101, 6103), all_scans();
ROLLBACK TO one;
SELECT all_scans();
SELECT add_rows(6104, 6300);
SAVEPOINT two;
SELECT add_rows(6301, 6500), all_scans();
SAVEPOINT three;
SELECT add_rows(6501, 6700), all_scans();
ROLLBACK TO three;
SELECT add_rows(6701, 6703), all_scans();
RELEASE three;
SELECT add_rows(6704, 6800), all_scans();
ROLLBACK TO two;
SELECT all_scans();
SELECT add_rows(6801, 6900), all_scans();
SELECT stored();
COMMIT;
SELECT all_scans(), check_all();

-- Cursors see the rows that were there when they were opened, while rows are inserted
-- before and behind them, and inserted rows are rolled back, or published. Each line
-- shows what one fetch of each cursor returned.
CREATE FUNCTION cursors(twin text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	up CURSOR FOR SELECT a, b FROM t WHERE a > 40000 ORDER BY a;
	down CURSOR FOR SELECT a FROM t WHERE a < 90000 ORDER BY a DESC;
	turning SCROLL CURSOR FOR SELECT b, a FROM t WHERE b > 'x' ORDER BY b DESC, a;
	fetched record;
	line text;
BEGIN
	PERFORM set_config('search_path', twin || ', public', true);
	INSERT INTO t SELECT 40000 + i * 7 % 401 * 10, 'x' || i % 50, i FROM generate_series(1, 400) i;
	OPEN up;
	OPEN down;
	OPEN turning;
	FOR i IN 1 .. 200 LOOP
		line := i;
		FETCH up INTO fetched;
		line := line || ' ' || fetched;
		FETCH down INTO fetched;
		line := line || ' ' || fetched;
		IF i % 7 < 4 THEN
			FETCH RELATIVE 3 FROM turning INTO fetched;
		ELSE
			FETCH RELATIVE -2 FROM turning INTO fetched;
		END IF;
		line := line || ' ' || coalesce(fetched::text, 'none');
		BEGIN
			INSERT INTO t SELECT 40000 + (i * 13 + j) % 4500, 'x' || j, j FROM generate_series(1, 20) j;
			IF i % 5 = 0 THEN
				SELECT line || ' ' || count(*) INTO line FROM t WHERE a > 40000;
			END IF;
			IF i % 3 = 0 THEN
				FETCH up INTO fetched;
				line := line || ' ' || fetched;
				FETCH down INTO fetched;
				line := line || ' ' || fetched;
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
			line := line || ' rolled back';
		END;
		IF i = 150 THEN
			SET CONSTRAINTS ALL IMMEDIATE;	-- this publishes
		END IF;
		RETURN NEXT line;
	END LOOP;
	CLOSE up;
	CLOSE down;
	CLOSE turning;
	RETURN NEXT (SELECT count(*) FROM t WHERE a > 40000);
END
$$;
CREATE FUNCTION compare_cursors() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT 'different: ' || n.line || ' and ' || s.line
	FROM cursors('twin_nbtree') WITH ORDINALITY n(line, i)
		FULL JOIN cursors('twin_sware') WITH ORDINALITY s(line, i) USING (i)
	WHERE n.line IS DISTINCT FROM s.line
	UNION ALL SELECT 'cursors compared'
$$;
SET enable_sort = off;
SELECT allow_scans('indexonly');
BEGIN;
SELECT compare_cursors();
ROLLBACK;
SELECT allow_scans('index');
BEGIN;
SELECT compare_cursors();
ROLLBACK;
-- With so little memory, staging is published while the cursors are open.
SET sware.staging_size = '64kB';
BEGIN;
SELECT compare_cursors();
SELECT add_rows(7001, 9000), all_scans();
SELECT compare_cursors();
COMMIT;
RESET sware.staging_size;
SELECT all_scans(), check_all();

-- A row that was fetched before its savepoint was rolled back is a place to go on from,
-- in both directions.
CREATE TABLE twin_sware.s (a int);
CREATE INDEX s_a ON twin_sware.s USING sware (a);
SET search_path = twin_sware, public;
BEGIN;
INSERT INTO s SELECT generate_series(10, 90, 10);
DECLARE up SCROLL CURSOR FOR SELECT a FROM s ORDER BY a;
DECLARE down SCROLL CURSOR FOR SELECT a FROM s ORDER BY a DESC;
FETCH 2 FROM up;
FETCH 2 FROM down;
SAVEPOINT one;
INSERT INTO s SELECT generate_series(5, 95, 10);
DECLARE inner_one CURSOR FOR SELECT a FROM s ORDER BY a;
FETCH 3 FROM inner_one;
FETCH 1 FROM up;
FETCH 1 FROM down;
ROLLBACK TO one;
FETCH 2 FROM up;
FETCH 2 FROM down;
INSERT INTO s SELECT generate_series(1, 100);
FETCH BACKWARD 2 FROM up;
FETCH BACKWARD 2 FROM down;
SET CONSTRAINTS ALL IMMEDIATE;
FETCH ALL FROM up;
FETCH ALL FROM down;
FETCH BACKWARD ALL FROM up;
FETCH BACKWARD ALL FROM down;
ROLLBACK;
-- The row that an inner subtransaction has inserted and that a cursor of the outer one
-- has just returned may be gone, too.
BEGIN;
INSERT INTO s SELECT generate_series(10, 50, 10);
SAVEPOINT one;
INSERT INTO s VALUES (25), (35);
DECLARE up SCROLL CURSOR FOR SELECT a FROM s ORDER BY a;
FETCH 3 FROM up;
ROLLBACK TO one;
SELECT a FROM s ORDER BY a;
COMMIT;
DELETE FROM s;

-- A cursor that is kept beyond the transaction.
BEGIN;
INSERT INTO s SELECT generate_series(1, 100);
DECLARE kept SCROLL CURSOR WITH HOLD FOR SELECT a FROM s WHERE a > 0 ORDER BY a DESC;
FETCH 3 FROM kept;
INSERT INTO s SELECT generate_series(50, 150);
SAVEPOINT one;
INSERT INTO s SELECT generate_series(60, 70);
ROLLBACK TO one;
COMMIT;
FETCH 2 FROM kept;
FETCH LAST FROM kept;
CLOSE kept;
SELECT stored_entries('s_a'), count(*) FROM s;
DELETE FROM s;

-- A function sees what the statement that calls it has inserted so far.
CREATE FUNCTION look_up(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RETURN (SELECT count(*) FROM s WHERE a BETWEEN 1 AND x);
END
$$;
INSERT INTO s SELECT i * 10000 + look_up(1000000000) FROM generate_series(1, 100) i;
SELECT count(DISTINCT a % 10000), max(a % 10000) FROM s;
DELETE FROM s;
VACUUM s;

-- If it holds a cursor, whose snapshot is later than the statement's, the cursor sees
-- those rows, too, and those that the statement inserts afterwards: from staging, the
-- buffer and the tree, whichever of these had something when the cursor was opened.
CREATE FUNCTION fetch_next(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	ahead refcursor := 'ahead';
	fetched int;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_cursors WHERE name = 'ahead') THEN
		OPEN ahead FOR SELECT a FROM s WHERE a > 0 ORDER BY a;
	END IF;
	FETCH ahead INTO fetched;
	PERFORM set_config('twin.fetched',
		current_setting('twin.fetched') || coalesce(fetched::text, 'none') || ' ', true);
	RETURN x;
END
$$;
SELECT allow_scans('index');
-- Nothing is there at first.
BEGIN;
SET LOCAL twin.fetched = '';
INSERT INTO s SELECT fetch_next(i) FROM generate_series(1, 20) i;
SHOW twin.fetched;
ROLLBACK;
-- Something is in the tree, and the other rows come between and behind.
INSERT INTO s SELECT generate_series(10, 10000, 10);
VACUUM s;
BEGIN;
SET LOCAL twin.fetched = '';
INSERT INTO s SELECT fetch_next(i * 10 + 25) FROM generate_series(1, 20) i;
SHOW twin.fetched;
ROLLBACK;
-- Something is staged.
BEGIN;
SET LOCAL twin.fetched = '';
INSERT INTO s SELECT generate_series(12, 1000, 10);
INSERT INTO s SELECT fetch_next(i * 10 + 25) FROM generate_series(1, 20) i;
SHOW twin.fetched;
ROLLBACK;
-- The rows are not staged but stored.
BEGIN;
SET LOCAL twin.fetched = '';
INSERT INTO s SELECT fetch_next(i * 10 + 25) FROM generate_series(1, 20) i ON CONFLICT DO NOTHING;
SHOW twin.fetched;
ROLLBACK;
-- COPY, with a trigger.
CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.a := fetch_next(NEW.a);
	RETURN NEW;
END
$$;
CREATE TRIGGER on_insert BEFORE INSERT ON s FOR EACH ROW EXECUTE FUNCTION on_insert();
BEGIN;
SET LOCAL twin.fetched = '';
COPY s FROM stdin;
25
35
45
55
65
75
\.
SHOW twin.fetched;
ROLLBACK;
DROP TRIGGER on_insert ON s;
-- A merge join goes back to marks while such rows come.
CREATE FUNCTION join_next(x int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	joined refcursor := 'joined';
	one record;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_cursors WHERE name = 'joined') THEN
		OPEN joined FOR SELECT l.a, l.ctid <> r.ctid FROM s l JOIN s r USING (a) WHERE l.a > 9900 ORDER BY a;
	END IF;
	FETCH joined INTO one;
	PERFORM set_config('twin.fetched', current_setting('twin.fetched') || one || ' ', true);
	RETURN x;
END
$$;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
INSERT INTO s SELECT 9950 FROM generate_series(1, 3);
VACUUM s;
BEGIN;
SET LOCAL twin.fetched = '';
INSERT INTO s SELECT join_next(CASE WHEN i = 13 THEN 9970 ELSE i END) FROM generate_series(1, 24) i;
SHOW twin.fetched;
ROLLBACK;
RESET search_path;

-- Merge joins that go back among staged rows.
SELECT on_both('CREATE TABLE x (a int, b int)');
SELECT on_both('CREATE TABLE y (a int, b int)');
SELECT on_both('CREATE INDEX x_a ON x USING @am (a)');
SELECT on_both('CREATE INDEX y_a ON y USING @am (a)');
CREATE FUNCTION disturb(key int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO y SELECT key + i % 3, 0 FROM generate_series(1, 20) i;
		IF key % 2 = 0 THEN
			RAISE division_by_zero;
		END IF;
	EXCEPTION WHEN division_by_zero THEN
	END;
	RETURN key;
END
$$;
BEGIN;
SELECT on_both('INSERT INTO x SELECT i / 3, i FROM generate_series(1, 300) i');
SELECT on_both('INSERT INTO y SELECT i / 5, i FROM generate_series(1, 500) i');
SELECT on_both('INSERT INTO y SELECT 30, i FROM generate_series(1, 300) i');
SELECT same_rows('SELECT a, x.b, y.b FROM x JOIN y USING (a)');
SELECT same_rows('SELECT a, x.b, y.b, disturb(x.a) FROM x JOIN y USING (a) WHERE a > 20');
SELECT same_rows('SELECT a, x.b, y.b FROM x JOIN y USING (a)');
COMMIT;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_material;
SELECT check_all();

-- Entries of a unique index are searched in the same way.
SELECT on_both('CREATE TABLE u (a int)');
SELECT on_both('CREATE UNIQUE INDEX u_a ON u USING @am (a)');
BEGIN;
SELECT on_both('INSERT INTO u SELECT i * 7919 % 10007 FROM generate_series(1, 3000) i');
SELECT same_rows('SELECT a FROM u WHERE a BETWEEN 100 AND 300 ORDER BY a'),
	   same_rows('SELECT a FROM u ORDER BY a DESC LIMIT 500');
SELECT stored_entries('twin_sware.u_a') < 3000 AS staged;
COMMIT;
SELECT check_all();

-- Comparison functions do all kinds of things while staging is searched or sorted. The
-- function acts when it is called for the n-th time, and the answer is right whatever n.
SET search_path = twin_sware, public;
-- Functions that are not trusted would not be called where these are.
SET sware.fault_trust = on;
SET sware.fault_buffer = on;
CREATE FUNCTION compare_and_act(text, text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	countdown int := current_setting('twin.countdown')::int;
BEGIN
	IF countdown > 0 THEN
		PERFORM set_config('twin.countdown', (countdown - 1)::text, false);
		IF countdown = 1 THEN
			EXECUTE current_setting('twin.action');
		END IF;
	END IF;
	RETURN pg_catalog.btint4cmp($1::int, $2::int);
END
$$;
CREATE FUNCTION as_below(text, text) RETURNS boolean
	LANGUAGE sql AS 'SELECT compare_and_act($1, $2) < 0';
CREATE FUNCTION as_not_above(text, text) RETURNS boolean
	LANGUAGE sql AS 'SELECT compare_and_act($1, $2) <= 0';
CREATE FUNCTION as_equal(text, text) RETURNS boolean
	LANGUAGE sql AS 'SELECT compare_and_act($1, $2) = 0';
CREATE FUNCTION as_not_below(text, text) RETURNS boolean
	LANGUAGE sql AS 'SELECT compare_and_act($1, $2) >= 0';
CREATE FUNCTION as_above(text, text) RETURNS boolean
	LANGUAGE sql AS 'SELECT compare_and_act($1, $2) > 0';
CREATE OPERATOR <# (LEFTARG = text, RIGHTARG = text, FUNCTION = as_below);
CREATE OPERATOR <=# (LEFTARG = text, RIGHTARG = text, FUNCTION = as_not_above);
CREATE OPERATOR =# (LEFTARG = text, RIGHTARG = text, FUNCTION = as_equal);
CREATE OPERATOR >=# (LEFTARG = text, RIGHTARG = text, FUNCTION = as_not_below);
CREATE OPERATOR ># (LEFTARG = text, RIGHTARG = text, FUNCTION = as_above);
CREATE OPERATOR CLASS acting_ops FOR TYPE text USING btree AS
	OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#,
	FUNCTION 1 compare_and_act(text, text);
SELECT count(*) > 0 AS cloned FROM (SELECT sware_clone_opfamily(f.oid)
	FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod WHERE opfname = 'acting_ops' AND amname = 'btree') s;
SET twin.countdown = 0;
CREATE TABLE acting (a text);
CREATE INDEX acting_a ON acting USING sware (a acting_ops);
INSERT INTO acting SELECT i * 7 FROM generate_series(1, 100) i;
-- Returns how often an action was done, and how often an answer was wrong.
CREATE FUNCTION attempt(action text, OUT done int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	found_rows text[];
	expected text[];
BEGIN
	done := 0;
	wrong := 0;
	LOOP
		n := n + 1 + n / 15;
		BEGIN
			PERFORM set_config('twin.countdown', '0', false), set_config('twin.action', action, false);
			INSERT INTO acting SELECT i * 37 % 101 FROM generate_series(1, 12) i;
			PERFORM a FROM acting WHERE a >=# '0' LIMIT 1;
			INSERT INTO acting SELECT i * 37 % 101 FROM generate_series(13, 36) i;
			expected := ARRAY(SELECT a FROM (SELECT i * 37 % 101 FROM generate_series(1, 36) i
				UNION ALL SELECT i * 7 FROM generate_series(1, 100) i) s (a)
				WHERE a BETWEEN 20 AND 90 ORDER BY a);
			PERFORM set_config('twin.countdown', n::text, false);
			found_rows := ARRAY(SELECT a FROM acting WHERE a >=# '20' AND a <=# '90'
				ORDER BY a USING <#);
			IF current_setting('twin.countdown') <> '0' THEN
				RAISE no_data_found;
			END IF;
			done := done + 1;
			IF found_rows IS DISTINCT FROM expected THEN
				wrong := wrong + 1;
			END IF;
			RAISE division_by_zero;
		EXCEPTION
			WHEN no_data_found THEN
				EXIT;
			WHEN division_by_zero THEN
				-- the next one
		END;
	END LOOP;
	PERFORM set_config('twin.countdown', '0', false);
END
$$;
SELECT allow_scans('index');
-- What was sorted before a savepoint is not sorted again when that is rolled back.
BEGIN;
INSERT INTO acting SELECT i * 37 % 1009 FROM generate_series(1, 1000) i;
SAVEPOINT one;
INSERT INTO acting SELECT generate_series(1, 2);
SELECT a FROM acting ORDER BY a USING <# LIMIT 1;
ROLLBACK TO one;
INSERT INTO acting SELECT generate_series(1, 2);
SET twin.countdown = 1000000;
SELECT a FROM acting ORDER BY a USING <# LIMIT 1;
SELECT 1000000 - current_setting('twin.countdown')::int < 500 AS few_comparisons;
ROLLBACK;
CREATE VIEW actions (name, action) AS VALUES
	('insert', 'INSERT INTO acting SELECT i FROM generate_series(21, 80) i'),
	('look up', 'SELECT count(*) FROM acting WHERE a =# ''50'''),
	('insert and look up', 'DO $do$ BEGIN INSERT INTO acting SELECT i FROM generate_series(21, 80) i;
		PERFORM FROM acting WHERE a ># ''50''; END $do$'),
	('publish', 'SET CONSTRAINTS ALL IMMEDIATE'),
	('insert, look up and publish', 'DO $do$ BEGIN INSERT INTO acting SELECT i FROM generate_series(21, 80) i;
		PERFORM FROM acting WHERE a ># ''50''; SET CONSTRAINTS ALL IMMEDIATE; END $do$'),
	('roll back', 'DO $do$ BEGIN INSERT INTO acting VALUES (50); PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN END $do$'),
	('roll back after look-up', 'DO $do$ BEGIN INSERT INTO acting SELECT i FROM generate_series(21, 80) i;
		PERFORM FROM acting WHERE a ># ''50''; PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN END $do$');
SELECT name, done > 25 AS done, wrong FROM actions, attempt(action);
SELECT allow_scans('bitmap');
SELECT name, done > 25 AS done, wrong FROM actions, attempt(action) WHERE name LIKE 'insert%';
-- With entries in the tree, too. Nothing is rolled back then: PostgreSQL would unlock
-- the leaf that the function is called for.
VACUUM acting;
SELECT allow_scans('index');
SELECT name, done > 25 AS done, wrong FROM actions, attempt(action) WHERE name NOT LIKE 'roll%';
-- An error in the middle of sorting, at each comparison.
DO $$
DECLARE
	failures int := 0;
BEGIN
	PERFORM set_config('twin.action', 'SELECT 1 / 0', false);
	FOR i IN 1 .. 300 LOOP
		INSERT INTO acting VALUES (i % 90);
		PERFORM set_config('twin.countdown', (i * 7 % 101)::text, false);
		BEGIN
			PERFORM FROM acting WHERE a =# '17';
		EXCEPTION WHEN division_by_zero THEN
			failures := failures + 1;
		END;
	END LOOP;
	PERFORM set_config('twin.countdown', '0', false);
	RAISE NOTICE '% failures, rows found: %', CASE WHEN failures > 50 THEN 'many' ELSE failures::text END,
		(SELECT count(*) FROM acting WHERE a =# '17');
END
$$;
SELECT check_all();
-- Functions that change staging again and again do not keep a scan from ending.
CREATE TABLE changing (a text);
CREATE INDEX changing_a ON changing USING sware (a acting_ops);
BEGIN;
INSERT INTO changing SELECT i FROM generate_series(500, 600) i;
CREATE FUNCTION always_change() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('twin.countdown', '0', false);
	BEGIN
		INSERT INTO changing VALUES (550);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
	END;
	PERFORM set_config('twin.countdown', '1', false);
END
$$;
SET twin.action = 'SELECT always_change()';
SET twin.countdown = 1;
SELECT count(*) FROM changing WHERE a ># '499' AND a <# '560';
SET twin.countdown = 0;
COMMIT;
-- Nor do they if only entries of the buffer are compared.
CREATE TABLE second (a int, b text);
CREATE INDEX second_a_b ON second USING sware (a, b acting_ops);
INSERT INTO second SELECT 1, i FROM generate_series(1, 20) i;
BEGIN;
INSERT INTO second VALUES (2, 1);
SET twin.countdown = 1;
SELECT count(*) FROM second WHERE a = 1;
SELECT count(*) FROM second WHERE a = 1 AND b >=# '11';
SET twin.countdown = 0;
COMMIT;
SELECT check_all();

-- The memory for sorted entries counts as staging's, and all of it is freed.
CREATE TABLE m (a int);
CREATE INDEX m_a ON m USING sware (a);
SET sware.staging_size = '64kB';
DO $$
DECLARE
	bytes bigint := 0;
BEGIN
	FOR i IN 1 .. 20000 LOOP
		INSERT INTO m VALUES (i * 7919 % 20011);
		PERFORM FROM m WHERE a = i;
		IF i % 500 = 0 THEN
			bytes := greatest(bytes, (SELECT sum(total_bytes) FROM pg_backend_memory_contexts
				WHERE name LIKE 'sware stag%'));
		END IF;
	END LOOP;
	RAISE NOTICE 'memory is %', CASE WHEN bytes < 256 * 1024 THEN 'bounded' ELSE bytes || ' bytes' END;
END
$$;
RESET sware.staging_size;
SELECT count(*) FROM m WHERE a > 0;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'sware stag%';

RESET enable_sort;
DROP FUNCTION add_rows, stored, all_scans, compare_cursors, cursors, disturb;
RESET search_path;
SELECT drop_twins();
