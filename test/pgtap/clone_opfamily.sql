-- sware_clone_opfamily: operator families of types that other extensions make.
BEGIN;
SET LOCAL client_min_messages = warning;
SELECT no_plan();

CREATE EXTENSION citext;
CREATE SCHEMA contrib;
CREATE EXTENSION ltree SCHEMA contrib;

CREATE FUNCTION members_of(family text, method text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s', amopstrategy, amopopr::regoperator)
    FROM pg_amop
    JOIN pg_opfamily ON pg_opfamily.oid = amopfamily
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE opfname = family AND amname = method
    UNION ALL
    SELECT format('%s %s (%s, %s)', amprocnum, amproc, amproclefttype::regtype, amprocrighttype::regtype)
    FROM pg_amproc
    JOIN pg_opfamily ON pg_opfamily.oid = amprocfamily
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE opfname = family AND amname = method
$$;
CREATE VIEW class_of AS
SELECT opcname, opcintype::regtype AS type, opckeytype::regtype AS storage, opcdefault,
       opfname, opcnamespace::regnamespace AS schema, amname, opc.oid
FROM pg_opclass AS opc
JOIN pg_opfamily AS opf ON opf.oid = opcfamily
JOIN pg_am ON pg_am.oid = opcmethod;

-- citext: by name.
CREATE TABLE person (name citext);
INSERT INTO person SELECT (CASE WHEN i % 2 = 0 THEN 'PERSON ' ELSE 'person ' END) || i / 2
FROM generate_series(1, 2000) AS i;
ANALYZE person;

CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
$$;

SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
CREATE FUNCTION plan_for_person() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(line, ' ') FROM plan_of('SELECT name FROM person WHERE name = ''Person 7''') AS line
$$;

-- citext can pass for text, so the index is made, but it has text's operators.
CREATE INDEX person_name ON person USING sware (name);
SELECT doesnt_match(plan_for_person(), 'Index Cond', 'before cloning no index serves citext''s operators');
DROP INDEX person_name;

SELECT is(sware_clone_opfamily('citext_ops'), 'public.citext_ops', 'citext_ops is cloned into its schema');
SELECT bag_eq('SELECT members_of(''citext_ops'', ''sware'')', 'SELECT members_of(''citext_ops'', ''btree'')',
              'with all members');
SELECT bag_eq(
    'SELECT opcname, type, storage, opcdefault, schema FROM class_of
        WHERE amname = ''sware'' AND type = ''citext''::regtype',
    'SELECT opcname, type, storage, opcdefault, schema FROM class_of
        WHERE amname = ''btree'' AND opfname = ''citext_ops''',
    'and all classes');
SELECT ok(amvalidate(oid), format('%s is valid', opcname))
FROM class_of WHERE amname = 'sware' AND opfname = 'citext_ops';
SELECT is_empty(
    $$SELECT FROM pg_depend JOIN class_of ON objid = oid
      WHERE classid = 'pg_opclass'::regclass AND amname = 'sware'
          AND opfname = 'citext_ops' AND deptype = 'e'$$,
    'they are the user''s, so pg_dump includes them');
SELECT lives_ok('CREATE INDEX person_name ON person USING sware (name)', 'an index on citext is made');

SELECT matches(plan_for_person(), 'Index.* using person_name .*Index Cond',
    'a query on citext uses the index');
SELECT bag_eq('SELECT name::text FROM person WHERE name = ''Person 7''',
              'VALUES (''PERSON 7''), (''person 7'')', 'and finds what is equal in the eyes of citext');

-- ltree: by OID, in another schema.
CREATE TABLE tree (path contrib.ltree);
INSERT INTO tree SELECT ('top.n' || i % 100 || '.n' || i)::contrib.ltree FROM generate_series(1, 2000) AS i;
ANALYZE tree;

SELECT is(sware_clone_opfamily((SELECT opf.oid FROM pg_opfamily AS opf JOIN pg_am ON pg_am.oid = opfmethod
                                WHERE opfname = 'ltree_ops' AND amname = 'btree')),
          'contrib.ltree_ops', 'ltree_ops is cloned by its OID, into its schema');
SELECT bag_eq('SELECT members_of(''ltree_ops'', ''sware'')', 'SELECT members_of(''ltree_ops'', ''btree'')',
              'with all members');
SELECT ok(amvalidate(oid), format('%s is valid', opcname))
FROM class_of WHERE amname = 'sware' AND opfname = 'ltree_ops';
SELECT lives_ok('CREATE INDEX tree_path ON tree USING sware (path)', 'an index on ltree is made');
SELECT matches((SELECT string_agg(line, ' ')
                FROM plan_of('SELECT path FROM tree WHERE path OPERATOR(contrib.=) ''top.n7.n107''') AS line),
               'Index.* using tree_path .*Index Cond', 'a query on ltree uses the index');
SELECT results_eq('SELECT path::text FROM tree WHERE path OPERATOR(contrib.>=) ''top.n98.n998''
                   ORDER BY tree.path USING OPERATOR(contrib.<) LIMIT 3',
                  'VALUES (''top.n98.n998''), (''top.n99.n1099''), (''top.n99.n1199'')',
                  'and finds the rows in order');
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Dropping the type's extension takes the copy along, and leaves sware.
SELECT throws_ok('DROP EXTENSION citext RESTRICT', '2BP01', NULL, 'indexes keep citext from being dropped');
SAVEPOINT with_citext;
DROP EXTENSION citext CASCADE;
SELECT is_empty('SELECT FROM class_of WHERE amname = ''sware'' AND opcname LIKE ''citext%''',
                'classes go with their type');
SELECT has_extension('sware', 'the extension does not');
ROLLBACK TO with_citext;

-- A schema of the user's choice, and names that need quotes.
SAVEPOINT cloned;
DROP TABLE person;
DROP OPERATOR FAMILY citext_ops USING sware CASCADE;
SELECT is_empty('SELECT FROM members_of(''citext_ops'', ''sware'')', 'dropping a family drops its members');
CREATE SCHEMA "Copies, ""quoted""";
SELECT is(sware_clone_opfamily('public.citext_ops', 'Copies, "quoted"'),
          '"Copies, ""quoted""".citext_ops', 'a family is cloned into the schema that is named');
SELECT bag_eq('SELECT opcname FROM class_of
    WHERE amname = ''sware'' AND schema = ''"Copies, ""quoted"""''::regnamespace',
              'VALUES (''citext_ops''::name)', 'with its classes');
SELECT throws_ok('SELECT sware_clone_opfamily(''citext_ops'')', '42710',
                 'type public.citext already has a default operator class for access method "sware"',
                 'a second copy in another schema is refused');
ROLLBACK TO cloned;
ALTER OPERATOR FAMILY contrib.ltree_ops USING btree RENAME TO "Tree ""family""";
DROP OPERATOR FAMILY contrib.ltree_ops USING sware CASCADE;
SELECT is(sware_clone_opfamily('contrib."Tree ""family"""'),
    'contrib."Tree ""family"""', 'quoted names are understood');
ROLLBACK TO cloned;

-- Functions in search_path do not get in the way.
CREATE SCHEMA trap;
CREATE FUNCTION trap.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT (1 / 0)::text';
CREATE FUNCTION trap.cardinality(text[]) RETURNS int4 LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION trap.never(name, text) RETURNS bool LANGUAGE sql AS 'SELECT 1 / 0 = 1';
CREATE OPERATOR trap.= (LEFTARG = name, RIGHTARG = text, FUNCTION = trap.never);
DROP OPERATOR FAMILY contrib.ltree_ops USING sware CASCADE;
SELECT lives_ok('SET LOCAL search_path = trap, public, pg_catalog;
                 SELECT sware_clone_opfamily(''contrib.ltree_ops'');
                 RESET search_path',
                'functions and operators are not taken from search_path');
ROLLBACK TO cloned;

-- Errors.
SELECT throws_ok('SELECT sware_clone_opfamily(''no_such_ops'')', '42704',
                 'operator family "no_such_ops" does not exist for access method "btree"', 'an unknown name');
SELECT throws_ok('SELECT sware_clone_opfamily(''public.integer_ops'')', '42809', NULL,
                 'a name that is right in another schema only');
SELECT throws_ok('SELECT sware_clone_opfamily(''ltree_ops'')', '42704',
                 'operator family "ltree_ops" does not exist for access method "btree"',
                 'a name that is not in search_path');
SELECT throws_ok('SELECT sware_clone_opfamily(''a.b.c'')', '42602',
                 'invalid operator family name: a.b.c', 'a name of three parts');
SELECT throws_ok('SELECT sware_clone_opfamily(''a b'')', '22023', NULL, 'not a name');
SELECT throws_ok('SELECT sware_clone_opfamily(1)', '42704',
                 'operator family with OID 1 does not exist', 'an unknown OID');
SELECT throws_ok('SELECT sware_clone_opfamily(''jsonb_path_ops'')', '42809',
                 'operator family pg_catalog.jsonb_path_ops belongs to access method "gin", not "btree"',
                 'a family of another access method');
SELECT throws_ok('SELECT sware_clone_opfamily(''citext_ops'')', '42710',
                 'operator family public.citext_ops for access method "sware" already exists',
                 'a family that has been cloned');
SELECT throws_ok('SELECT sware_clone_opfamily(''integer_ops'')', '42710',
                 'operator family public.integer_ops for access method "sware" already exists',
                 'a built-in family');
SELECT throws_ok('SELECT sware_clone_opfamily(''citext_ops'', ''nowhere'')', '3F000',
                 'schema "nowhere" does not exist', 'an unknown schema');

CREATE ROLE sware_test_user;
GRANT ALL ON SCHEMA contrib TO sware_test_user;
DROP OPERATOR FAMILY contrib.ltree_ops USING sware CASCADE;
SELECT throws_ok('SET LOCAL ROLE sware_test_user;
    SELECT sware_clone_opfamily(''contrib.ltree_ops'')', '42501',
                 'must be superuser to create an operator family',
                 'a user who may not make operator families');

SELECT * FROM finish();
ROLLBACK;
