-- Every kind of key: of fixed and variable width, passed by value and by reference, with
-- collations. For each type there is a table of values; its index is scanned in both
-- directions, by each operator, in index-only and in plain scans.
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN small_int AS int CHECK (value < 100000);
-- The order of another locale than C.
CREATE COLLATION of_a_locale (provider = libc, locale = 'C.UTF-8');

CREATE FUNCTION try_type(type text, value text, probe text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM on_both(format('CREATE TABLE t (a %s)', type));
	-- Half of the rows are there before the index, half come after.
	PERFORM on_both(format('INSERT INTO t SELECT %s FROM generate_series(1, 1500) i', value));
	PERFORM on_both('CREATE INDEX t_a ON t USING @am (a)');
	PERFORM on_both(format('INSERT INTO t SELECT %s FROM generate_series(1501, 3000) i', value));
	PERFORM on_both('INSERT INTO t VALUES (NULL)');
	PERFORM on_both('ANALYZE t');
	RETURN NEXT type || ': ' || check_all();
	PERFORM allow_scans('index', 'indexonly');
	RETURN QUERY
		SELECT format('%s: %s', condition,
			same_rows(format('SELECT %s FROM t WHERE %s ORDER BY a %s', columns, condition, direction)))
		FROM unnest(ARRAY['a < ', 'a <= ', 'a = ', 'a >= ', 'a > ']) WITH ORDINALITY o(operator, n),
			 LATERAL (SELECT operator || probe AS condition,
			     CASE n % 2 WHEN 0 THEN 'DESC' ELSE '' END AS direction) c,
			 LATERAL (SELECT CASE direction WHEN 'DESC' THEN 'a' ELSE 'ctid, a' END AS columns) d;
	RETURN NEXT same_rows('SELECT ctid, a FROM t ORDER BY a') || ', '
		|| mirrored('SELECT ctid FROM t ORDER BY a', 'SELECT ctid FROM t ORDER BY a DESC');
	IF NOT EXISTS (SELECT 1
		FROM plan_of('twin_sware', format('SELECT a FROM t WHERE a <= %s ORDER BY a', probe)) line
				   WHERE line LIKE '%Index Cond%') THEN
		RETURN NEXT 'the index is NOT USED';
	END IF;
	PERFORM on_both('DROP TABLE t');
END
$$;

SELECT try_type('boolean', 'i % 2 = 0', 'true');
SELECT try_type('"char"', 'chr(33 + i % 90)::"char"', '''A''');
SELECT try_type('smallint', 'i - 1500', '10::smallint');
SELECT try_type('integer', 'i * 7919 % 3001', '1000');
SELECT try_type('bigint', 'i * 12345678901', '12345678901000');
SELECT try_type('small_int', 'i', '700');
SELECT try_type('oid', 'i', '700');
SELECT try_type('real', '(CASE i % 10 WHEN 0 THEN ''NaN''
	WHEN 1 THEN ''-Infinity'' ELSE (i / 8.0)::text END)::real', '100::real');
SELECT try_type('double precision', '(CASE i % 10 WHEN 0 THEN ''NaN''
	WHEN 1 THEN ''Infinity'' ELSE (i / 8.0)::text END)::float8', '100::float8');
SELECT try_type('numeric',
	'(CASE i % 10 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''-Infinity'' ELSE (i / 7.0)::text END)::numeric', '100');
SELECT try_type('money', '(i / 4.0)::numeric::money', '100::money');
SELECT try_type('text', '''key '' || i', '''key 2''');
SELECT try_type('text COLLATE "C"', 'chr(200 + i) || i', 'chr(1000)');
SELECT try_type('text COLLATE of_a_locale',
	'(ARRAY[''Zoo'',''Äpfel'',''apfel'',''ähre'',''zoo''])[1 + i % 5] || i % 100', '''b''');
SELECT try_type('varchar(20)', '''key '' || i', '''key 2''');
SELECT try_type('char(20)', '''key '' || i', '''key 2''');
SELECT try_type('name', '(''key '' || i)::name', '''key 2''::name');
SELECT try_type('bytea', 'decode(md5(i::text), ''hex'')', '''\x80''');
SELECT try_type('uuid', 'md5(i::text)::uuid', '''80000000-0000-0000-0000-000000000000''');
SELECT try_type('date', 'date ''2000-01-01'' + i', '''2001-01-01''');
SELECT try_type('time', 'time ''00:00'' + i * interval ''7 seconds''', '''01:00''');
SELECT try_type('timetz',
	'((time ''00:00'' + i * interval ''7 seconds'')::text || ''+00'')::timetz', '''01:00+00''');
SELECT try_type('timestamp', 'timestamp ''2000-01-01'' + i * interval ''1 hour''', '''2000-02-01''');
SELECT try_type('timestamptz', 'timestamptz ''2000-01-01 00:00+00'' + i * interval ''1 hour''',
	'''2000-02-01 00:00+00''');
SELECT try_type('interval', 'i * interval ''1 hour''', '''30 days''');
SELECT try_type('inet', '''10.0.0.0''::inet + i', '''10.0.2.0''');
SELECT try_type('macaddr', '(''08:00:2b:01:'' || to_hex(16 + i / 100) || '':'' || 10 + i % 90)::macaddr',
	'''08:00:2b:01:20:00''');
SELECT try_type('macaddr8', '(''08:00:2b:01:02:03:'' || to_hex(16 + i / 100)
	|| '':'' || 10 + i % 90)::macaddr8', '''08:00:2b:01:02:03:20:00''');
SELECT try_type('bit(12)', 'i::bit(12)', '''001111111111''');
SELECT try_type('varbit', 'i::bit(12)::varbit', '''001111111111''');
SELECT try_type('colour', '(ARRAY[''red'',''green'',''blue''])[1 + i % 3]::colour', '''green''');
SELECT try_type('int[]', 'ARRAY[i % 100, i % 7, i]', '''{50,3}''');
SELECT try_type('text[]', 'ARRAY[''k'' || i % 100, NULL, i::text]', '''{k50}''');
SELECT try_type('pair', 'ROW(i % 100, ''y'' || i)::pair', 'ROW(50, ''y'')::pair');
SELECT try_type('int4range', 'int4range(i % 100, i % 100 + i % 7)', '''[50,52)''');
SELECT try_type('int4multirange', 'int4multirange(int4range(i % 100, 101 + i % 7))', '''{[50,102)}''');
SELECT try_type('jsonb', 'jsonb_build_object(''k'', i % 500)', '''{"k": 250}''');
SELECT try_type('tsvector', 'to_tsvector(''simple'', ''w'' || i)', '''''''w2''''''::tsvector');
SELECT try_type('tsquery', '(''w'' || i)::tsquery', '''w2''::tsquery');
SELECT try_type('tid', 'format(''(%s,%s)'', i, 1 + i % 9)::tid', '''(1500,1)''::tid');
SELECT try_type('pg_lsn', '''0/0''::pg_lsn + i', '''0/500''');
SELECT try_type('xid8', 'i::text::xid8', '''1500''::xid8');
SELECT try_type('oidvector', 'format(''%s %s'', i % 50, i)::oidvector', '''20 5''::oidvector');

-- Pattern operator classes compare bytes under any collation.
SELECT on_both('CREATE TABLE t (a text COLLATE of_a_locale, b text COLLATE "C")');
SELECT on_both('INSERT INTO t SELECT ''w'' || i, ''w'' || i FROM generate_series(1, 2000) i');
SELECT on_both('CREATE INDEX t_pattern ON t USING @am (a text_pattern_ops)');
SELECT on_both('CREATE INDEX t_b ON t USING @am (b)');
SELECT on_both('ANALYZE t');
SELECT allow_scans('index');
SELECT compare('SELECT ctid, a FROM t WHERE a ~>~ ''w5'' AND a ~<=~ ''w7'' ORDER BY a USING ~<~');
-- The planner derives index conditions from LIKE, but for its own pattern operator
-- families only; with collation C the usual operators do.
SELECT same_rows('SELECT ctid, a FROM t WHERE a LIKE ''w12%'' ORDER BY ctid');
SELECT compare('SELECT ctid, b FROM t WHERE b LIKE ''w12%'' ORDER BY b');
SELECT check_all();

DROP FUNCTION try_type;
SELECT drop_twins();
DROP TYPE colour, pair;
DROP DOMAIN small_int;
DROP COLLATION of_a_locale;

-- An order that no btree operator family has. Before version 18 the planner does not know that
-- the index has an order, but looks rows up with it. (It would inline an SQL function.)
CREATE FUNCTION abs_less(int, int) RETURNS boolean
	LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN abs($1) < abs($2); END';
CREATE FUNCTION abs_compare(int, int) RETURNS int
	LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp(abs($1), abs($2))';
CREATE OPERATOR |<| (LEFTARG = int, RIGHTARG = int, FUNCTION = abs_less);
CREATE OPERATOR CLASS abs_ops FOR TYPE int USING sware AS OPERATOR 1 |<|, FUNCTION 1 abs_compare(int, int);
CREATE TABLE unordered (a int);
INSERT INTO unordered VALUES (3), (-2), (1);
CREATE INDEX unordered_a ON unordered USING sware (a abs_ops);
INSERT INTO unordered VALUES (-1), (2), (-3);
SELECT allow_scans('index');
EXPLAIN (COSTS off) SELECT a FROM unordered WHERE a |<| 3;
SELECT a FROM unordered WHERE a |<| 3;
SELECT sware_check('unordered_a', true);
DROP TABLE unordered;
DROP OPERATOR FAMILY abs_ops USING sware;
DROP OPERATOR |<| (int, int);
DROP FUNCTION abs_less, abs_compare;
