-- Keys that arrive in any order, in bulk and one by one.
SELECT on_both('CREATE TABLE t (a int, b int)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SET max_parallel_workers_per_gather = 0;
SELECT allow_scans('index');

-- Rising, falling, rising again between the old keys, and scrambled.
SELECT on_both('INSERT INTO t SELECT i * 10, 1 FROM generate_series(1, 10000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SELECT on_both('INSERT INTO t SELECT i * 10 + 1, 2 FROM generate_series(10000, 1, -1) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
SELECT on_both('INSERT INTO t SELECT i * 10 + 2, 3 FROM generate_series(-5000, 5000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a'),
	mirrored('SELECT ctid, a FROM t ORDER BY a', 'SELECT ctid, a FROM t ORDER BY a DESC');
SELECT on_both('INSERT INTO t SELECT (i * 7919::bigint) % 100003, 4 FROM generate_series(1, 20000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');
-- Nearly sorted: each tenth key is far from its place.
SELECT on_both('INSERT INTO t SELECT CASE WHEN i % 10 = 0 THEN 200000 + (i * 37) % 20000 ELSE 200000 + i END,
	5 FROM generate_series(1, 20000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a'),
	mirrored('SELECT ctid, a FROM t ORDER BY a', 'SELECT ctid, a FROM t ORDER BY a DESC');

-- Keys are added at both ends in turn.
SELECT on_both('INSERT INTO t SELECT CASE WHEN i % 2 = 0 THEN 300000 + i ELSE -300000 - i END, 6
	FROM generate_series(1, 10000) i');
SELECT check_all(), same_rows('SELECT ctid, a FROM t ORDER BY a');

-- The same by COPY, which inserts many rows at once, and by single statements.
SELECT on_both('CREATE TABLE single (a int)');
SELECT on_both('CREATE INDEX single_a ON single USING @am (a)');
DO $$
BEGIN
	FOR i IN 1 .. 3000 LOOP
		INSERT INTO twin_nbtree.single VALUES ((i * 31) % 1009);
		INSERT INTO twin_sware.single VALUES ((i * 31) % 1009);
	END LOOP;
END
$$;
SELECT check_all(), same_rows('SELECT ctid, a FROM single ORDER BY a');

-- Wide keys make a tree of more levels, whose internal pages are split, too.
SELECT on_both('CREATE TABLE wide (a text COLLATE "C")');
SELECT on_both('ALTER TABLE wide ALTER a SET STORAGE EXTERNAL');
SELECT on_both('CREATE INDEX wide_a ON wide USING @am (a)');
SELECT on_both($$INSERT INTO wide SELECT repeat('p', 1200) || lpad(((i * 7919) % 6007)::text, 10, '0')
	FROM generate_series(1, 6000) i$$);
SELECT check_all(), same_rows('SELECT ctid, right(a, 10) FROM wide ORDER BY a');
SELECT same_rows('SELECT ctid FROM wide WHERE a = repeat(''p'', 1200) || lpad(''77'', 10, ''0'')');
SELECT on_both($$INSERT INTO wide SELECT repeat('q', 2000) || lpad(i::text, 10, '0')
	FROM generate_series(1, 2000) i$$);
SELECT check_all(), same_rows('SELECT ctid, right(a, 10) FROM wide ORDER BY a'),
	mirrored('SELECT ctid FROM wide ORDER BY a', 'SELECT ctid FROM wide ORDER BY a DESC');
SELECT on_both('REINDEX INDEX wide_a');
SELECT check_all(), same_rows('SELECT ctid, right(a, 10) FROM wide ORDER BY a');
SELECT on_both('DELETE FROM wide WHERE right(a, 10)::int % 10 <> 0');
VACUUM twin_nbtree.wide, twin_sware.wide;
SELECT check_all(), same_rows('SELECT ctid, right(a, 10) FROM wide ORDER BY a');
SELECT on_both($$INSERT INTO wide SELECT repeat('p', 1200) || lpad(((i * 7919) % 6007)::text, 10, '0')
	FROM generate_series(1, 6000) i$$);
SELECT check_all(), same_rows('SELECT ctid, right(a, 10) FROM wide ORDER BY a'),
	mirrored('SELECT ctid FROM wide ORDER BY a', 'SELECT ctid FROM wide ORDER BY a DESC');

-- Keys of very different widths.
SELECT on_both('CREATE TABLE mixed (a text COLLATE "C")');
SELECT on_both('ALTER TABLE mixed ALTER a SET STORAGE EXTERNAL');
SELECT on_both('CREATE INDEX mixed_a ON mixed USING @am (a)');
SELECT on_both($$INSERT INTO mixed SELECT md5(i::text) || repeat('x',
	CASE WHEN i % 13 = 0 THEN 2500 WHEN i % 5 = 0 THEN 700 ELSE 0 END) FROM generate_series(1, 5000) i$$);
SELECT check_all(), same_rows('SELECT ctid, left(a, 32) FROM mixed ORDER BY a');

-- Fill factors, in builds and in inserts: rising keys fill pages as
-- the options say.
CREATE TABLE rising (a int8);
INSERT INTO rising SELECT generate_series(1, 50000);
CREATE INDEX full_pages ON rising USING sware (a) WITH (fillfactor = 100);
CREATE INDEX default_pages ON rising USING sware (a);
CREATE INDEX half_pages ON rising USING sware (a) WITH (fillfactor = 50);
SELECT pg_relation_size('full_pages') < pg_relation_size('default_pages') AS full_below_default,
	   pg_relation_size('default_pages') * 1.7 < pg_relation_size('half_pages') AS default_far_below_half;
CREATE TABLE risen (a int8);
CREATE INDEX risen_full ON risen USING sware (a) WITH (fillfactor = 100);
CREATE INDEX risen_half ON risen USING sware (a) WITH (fillfactor = 50);
INSERT INTO risen SELECT generate_series(1, 50000);
SELECT pg_relation_size('risen_full') * 1.5 < pg_relation_size('risen_half') AS full_far_below_half;
SELECT sware_check(c.oid, true) IS NOT NULL AS checked, c.relname
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'sware' AND c.relnamespace = 'public'::regnamespace ORDER BY c.relname;
DROP TABLE rising, risen;

-- Keys that arrive in order in several places fill their leaves: groups that take turns;
-- and keys of which some come early.
SET sware.enable_buffer = off;
CREATE TABLE turns (a int, b int);
CREATE INDEX turns_sware ON turns USING sware (a, b);
CREATE INDEX turns_btree ON turns USING btree (a, b);
INSERT INTO turns SELECT i % 3, i FROM generate_series(1, 50000) i;
CREATE TABLE early (a int);
CREATE INDEX early_sware ON early USING sware (a);
CREATE INDEX early_btree ON early USING btree (a);
INSERT INTO early
	SELECT CASE WHEN i % 100 = 0 THEN 2 * (i + (hashint4(i) & 8191)) + 1 ELSE 2 * i END
	FROM generate_series(1, 100000) i;
SELECT i AS keys,
	   pg_relation_size(i || '_sware') < pg_relation_size(i || '_btree') AS is_smaller,
	   sware_check((i || '_sware')::regclass, true) IS NOT NULL AS checked
FROM unnest('{turns,early}'::text[]) i;
RESET sware.enable_buffer;
DROP TABLE turns, early;

-- The smallest fill factor: an entry that is larger than this share of a page gets a
-- leaf of its own, in builds and in bulk appends.
CREATE TABLE large (a text COLLATE "C");
ALTER TABLE large ALTER a SET STORAGE plain;
INSERT INTO large SELECT lpad(i::text, 2600, '0') FROM generate_series(1, 40) i;
CREATE INDEX large_a ON large USING sware (a) WITH (fillfactor = 10);
INSERT INTO large SELECT lpad(i::text, 2600, '0') FROM generate_series(1001, 1500) i;
INSERT INTO large SELECT lpad(i::text, 2600, '0') FROM generate_series(500, 900, 10) i;
SELECT sware_check('large_a', true) IS NOT NULL AS checked;
DROP TABLE large;
CREATE TABLE small (a int8);
CREATE INDEX small_a ON small USING sware (a) WITH (fillfactor = 10);
INSERT INTO small SELECT generate_series(1, 20000);
INSERT INTO small SELECT generate_series(20000, 1, -2);
SELECT sware_check('small_a', true) IS NOT NULL AS checked;
DROP TABLE small;
SELECT drop_twins();
