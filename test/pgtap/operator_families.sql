-- The copies of the built-in operator families: complete, valid, and the
-- extension's own.
BEGIN;
SET LOCAL client_min_messages = warning;
SELECT no_plan();

-- What PostgreSQL itself brings; OIDs from 16384 on are given later.
CREATE VIEW class_of AS
SELECT opcname, opcintype::regtype AS type, opckeytype::regtype AS storage, opcdefault, opfname,
       amname, opc.oid, opcfamily, opcnamespace
FROM pg_opclass AS opc
JOIN pg_opfamily AS opf ON opf.oid = opcfamily
JOIN pg_am ON pg_am.oid = opcmethod;

CREATE VIEW family_of AS
SELECT opfname, amname, opf.oid, opfnamespace
FROM pg_opfamily AS opf
JOIN pg_am ON pg_am.oid = opfmethod;

SELECT cmp_ok((SELECT count(*) FROM family_of WHERE amname = 'btree' AND oid < 16384), '>=', 30::bigint,
              'btree has the families that are expected of it');

SELECT bag_eq(
    'SELECT opfname FROM family_of WHERE amname = ''sware''',
    'SELECT opfname FROM family_of WHERE amname = ''btree'' AND oid < 16384',
    'every btree family has a copy of the same name');

SELECT bag_eq(
    'SELECT opcname, type, storage, opcdefault, opfname FROM class_of WHERE amname = ''sware''',
    'SELECT opcname, type, storage, opcdefault, opfname
        FROM class_of WHERE amname = ''btree'' AND oid < 16384',
    'every btree class has a copy with its type, storage, family and default flag');

-- Members, family by family.
CREATE FUNCTION operators_of(family oid) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s (%s, %s) %s %s', amopstrategy, amopopr::regoperator, amoplefttype::regtype,
                  amoprighttype::regtype, amoppurpose, amopsortfamily)
    FROM pg_amop
    WHERE amopfamily = family
$$;
CREATE FUNCTION support_functions_of(family oid) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s %s (%s, %s)', amprocnum, amproc, amproclefttype::regtype, amprocrighttype::regtype)
    FROM pg_amproc
    WHERE amprocfamily = family
$$;

SELECT bag_eq(format('SELECT operators_of(%s)', copy.oid), format('SELECT operators_of(%s)', original.oid),
              format('%s has the operators of its original', copy.opfname))
FROM family_of AS copy
JOIN family_of AS original USING (opfname)
WHERE copy.amname = 'sware' AND original.amname = 'btree'
ORDER BY opfname;

SELECT bag_eq(format('SELECT support_functions_of(%s)', copy.oid),
              format('SELECT support_functions_of(%s)', original.oid),
              format('%s has the support functions of its original', copy.opfname))
FROM family_of AS copy
JOIN family_of AS original USING (opfname)
WHERE copy.amname = 'sware' AND original.amname = 'btree'
ORDER BY opfname;

SELECT ok(amvalidate(oid), format('%s is valid', opcname))
FROM class_of
WHERE amname = 'sware'
ORDER BY opcname;

-- An incomplete class would be found.
SAVEPOINT complete;
ALTER OPERATOR FAMILY float_ops USING sware DROP OPERATOR 4 (float4, float8);
SELECT ok(NOT amvalidate((SELECT oid FROM class_of WHERE amname = 'sware' AND opcname = 'float4_ops')),
          'amvalidate notices a missing cross-type operator');
SELECT bag_eq('SELECT * FROM sware_sync_opfamilies()',
              $$VALUES (format('%I.float_ops: OPERATOR 4 >=(real,double precision)',
                               (SELECT extnamespace::regnamespace
                                   FROM pg_extension WHERE extname = 'sware')))$$,
              'sware_sync_opfamilies adds what is missing, and says so');
SELECT ok(amvalidate((SELECT oid FROM class_of WHERE amname = 'sware' AND opcname = 'float4_ops')),
          'then the class is valid again');
ROLLBACK TO complete;

SELECT is_empty('SELECT * FROM sware_sync_opfamilies()', 'nothing is missing otherwise');

-- A class may store its own type; name may be stored as cstring, others not.
CREATE FUNCTION stores(stored text, type text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE OPERATOR CLASS storing FOR TYPE %1$s USING sware AS
                    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
                    FUNCTION 1 bt%1$scmp(%1$s, %1$s), STORAGE %2$s',
                   type, stored);
    RETURN amvalidate((SELECT oid FROM class_of WHERE amname = 'sware' AND opcname = 'storing'));
END
$$;
SAVEPOINT no_class;
SELECT ok(stores('int4', 'int4'), 'a class that stores its type is valid');
ROLLBACK TO no_class;
SELECT ok(stores('cstring', 'name'), 'so is one that stores name as cstring');
ROLLBACK TO no_class;
SELECT ok(NOT stores('int8', 'int4'), 'one that stores another type is not');
ROLLBACK TO no_class;
SELECT ok(NOT stores('cstring', 'text'), 'nor one that stores another type than name as cstring');
ROLLBACK TO no_class;

-- Which extension owns them.
SELECT is_empty(
    $$SELECT opcname FROM class_of
      WHERE amname = 'sware'
      AND NOT EXISTS (SELECT FROM pg_depend, pg_extension
                      WHERE classid = 'pg_opclass'::regclass AND objid = class_of.oid
                      AND refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid
                      AND extname = 'sware' AND deptype = 'e')$$,
    'the classes belong to the extension, so pg_dump leaves them out');
SELECT is_empty(
    $$SELECT opfname FROM family_of
      WHERE amname = 'sware'
      AND NOT EXISTS (SELECT FROM pg_depend, pg_extension
                      WHERE classid = 'pg_opfamily'::regclass AND objid = family_of.oid
                      AND refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid
                      AND extname = 'sware' AND deptype = 'e')$$,
    'so do the families');
SELECT is_empty(
    $$SELECT opcname FROM class_of, pg_extension
      WHERE amname = 'sware' AND extname = 'sware' AND opcnamespace <> extnamespace
      UNION
      SELECT opfname FROM family_of, pg_extension
      WHERE amname = 'sware' AND extname = 'sware' AND opfnamespace <> extnamespace$$,
    'all are in the schema of the extension');

-- Default classes are found in any schema, others through search_path.
CREATE TABLE words (word text);
SELECT lives_ok('SET LOCAL search_path = pg_catalog;
    CREATE INDEX ON public.words USING sware (word); RESET search_path',
                'a default class is found without search_path');
SELECT throws_ok('SET LOCAL search_path = pg_catalog;
    CREATE INDEX ON public.words USING sware (word text_pattern_ops)',
                 '42704', 'operator class "text_pattern_ops" does not exist for access method "sware"',
                 'another class is not');
SELECT lives_ok('SET LOCAL search_path = pg_catalog;
                 CREATE INDEX ON public.words USING sware (word public.text_pattern_ops);
                 RESET search_path',
                'but with its schema it is');
SELECT lives_ok('CREATE INDEX ON words USING sware (word text_pattern_ops)',
                'or through search_path');
DROP TABLE words;

-- Names are stored without their padding, as cstring, and come back as names.
CREATE TABLE people (person name);
INSERT INTO people SELECT repeat(chr(97 + i % 26), i % 64) FROM generate_series(1, 2000) AS i;
CREATE INDEX people_sware ON people USING sware (person);
CREATE TABLE people_of_btree AS TABLE people;
CREATE INDEX people_btree ON people_of_btree USING btree (person);
SELECT is((SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'people_sware'::regclass),
          'cstring', 'an index on names stores cstring');
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
$$;
SELECT matches((SELECT string_agg(line, ' ')
    FROM plan_of('SELECT person FROM people WHERE person >= ''m'' ORDER BY 1') AS line),
               '^Index Only Scan using people_sware', 'a query on names scans the index only');
SELECT results_eq('SELECT person, length(person::text) FROM people WHERE person >= ''m'' ORDER BY 1',
                  'SELECT person, length(person::text) FROM people_of_btree WHERE person >= ''m'' ORDER BY 1',
                  'and returns what it does with btree');
SELECT cmp_ok(pg_relation_size('people_sware'), '<=', pg_relation_size('people_btree') + 8192,
              'from an index that is no larger');
RESET enable_seqscan;
RESET enable_bitmapscan;

-- A type that another extension adds to a built-in family.
CREATE TYPE ordinal AS (number int4);
CREATE FUNCTION ordinal_compare(ordinal, ordinal) RETURNS int4 LANGUAGE sql IMMUTABLE AS
    'SELECT btint4cmp($1.number, $2.number)';
CREATE FUNCTION ordinal_lt(ordinal, ordinal) RETURNS bool
    LANGUAGE sql IMMUTABLE AS 'SELECT $1.number < $2.number';
CREATE FUNCTION ordinal_le(ordinal, ordinal) RETURNS bool
    LANGUAGE sql IMMUTABLE AS 'SELECT $1.number <= $2.number';
CREATE FUNCTION ordinal_eq(ordinal, ordinal) RETURNS bool
    LANGUAGE sql IMMUTABLE AS 'SELECT $1.number = $2.number';
CREATE FUNCTION ordinal_ge(ordinal, ordinal) RETURNS bool
    LANGUAGE sql IMMUTABLE AS 'SELECT $1.number >= $2.number';
CREATE FUNCTION ordinal_gt(ordinal, ordinal) RETURNS bool
    LANGUAGE sql IMMUTABLE AS 'SELECT $1.number > $2.number';
CREATE OPERATOR < (LEFTARG = ordinal, RIGHTARG = ordinal, FUNCTION = ordinal_lt);
CREATE OPERATOR <= (LEFTARG = ordinal, RIGHTARG = ordinal, FUNCTION = ordinal_le);
CREATE OPERATOR = (LEFTARG = ordinal, RIGHTARG = ordinal, FUNCTION = ordinal_eq);
CREATE OPERATOR >= (LEFTARG = ordinal, RIGHTARG = ordinal, FUNCTION = ordinal_ge);
CREATE OPERATOR > (LEFTARG = ordinal, RIGHTARG = ordinal, FUNCTION = ordinal_gt);
CREATE OPERATOR CLASS ordinal_ops DEFAULT FOR TYPE ordinal USING btree FAMILY integer_ops AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 ordinal_compare(ordinal, ordinal);

SELECT is((SELECT count(*)::int FROM sware_sync_opfamilies()), 7,
          'a type that came later is added: five operators, a function, a class');
SELECT is_empty('SELECT * FROM sware_sync_opfamilies()', 'once');
CREATE TABLE places (place ordinal);
SELECT lives_ok('CREATE INDEX ON places USING sware (place)', 'then it can be indexed');
SELECT is_empty(
    $$SELECT FROM pg_depend, class_of
      WHERE classid = 'pg_opclass'::regclass AND objid = class_of.oid AND amname = 'sware'
      AND opcname = 'ordinal_ops' AND deptype = 'e'$$,
    'its class is the user''s');

-- The other order: the type is there when the extension comes.
DROP EXTENSION sware CASCADE;
SELECT is_empty(
    $$SELECT oid FROM pg_opclass WHERE opcmethod NOT IN (SELECT oid FROM pg_am)
      UNION ALL SELECT oid FROM pg_opfamily WHERE opfmethod NOT IN (SELECT oid FROM pg_am)
      UNION ALL SELECT oid FROM pg_amop WHERE amopmethod NOT IN (SELECT oid FROM pg_am)
      UNION ALL SELECT oid FROM pg_amproc WHERE amprocfamily NOT IN (SELECT oid FROM pg_opfamily)$$,
    'DROP EXTENSION leaves nothing behind');
CREATE SCHEMA "Odd name";
SELECT lives_ok('CREATE EXTENSION sware SCHEMA "Odd name"', 'the extension can be in any schema');
SELECT bag_eq(
    'SELECT opcname FROM class_of WHERE amname = ''sware'' AND opcnamespace = ''"Odd name"''::regnamespace',
    'SELECT opcname FROM class_of WHERE amname = ''btree'' AND oid < 16384',
    'and takes the classes there');
SELECT bag_eq(
    format('SELECT operators_of(%s)',
        (SELECT oid FROM family_of WHERE amname = 'sware' AND opfname = 'integer_ops')),
    format('SELECT operators_of(%s)',
        (SELECT oid FROM family_of WHERE amname = 'btree' AND opfname = 'integer_ops')),
    'operators that others have added to a built-in family are in its copy');
SELECT lives_ok('DROP TYPE ordinal CASCADE', 'and do not keep their type from being dropped');
SELECT is((SELECT count(*)::int FROM pg_extension WHERE extname = 'sware'),
    1, 'nor take the extension with them');
SELECT bag_eq(
    format('SELECT operators_of(%s)',
        (SELECT oid FROM family_of WHERE amname = 'sware' AND opfname = 'integer_ops')),
    format('SELECT operators_of(%s)',
        (SELECT oid FROM family_of WHERE amname = 'btree' AND opfname = 'integer_ops')),
    'then the family and its copy are equal again');

SELECT * FROM finish();
ROLLBACK;
