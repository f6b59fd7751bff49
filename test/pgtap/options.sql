-- Index options: what is taken, what is refused, and with which words.
BEGIN;
SELECT no_plan();

CREATE TABLE readings (taken int8, value float8);
INSERT INTO readings SELECT i, i FROM generate_series(1, 1000) AS i;

CREATE FUNCTION make(options text) RETURNS text LANGUAGE sql AS $$
    SELECT format('CREATE INDEX readings_taken ON readings USING sware (taken) WITH (%s)', options)
$$;
CREATE FUNCTION alter(command text) RETURNS text LANGUAGE sql AS $$
    SELECT format('ALTER INDEX readings_taken %s', command)
$$;
CREATE FUNCTION options() RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT reloptions FROM pg_class WHERE relname = 'readings_taken'
$$;

-- The values at the bounds and inside.
SELECT lives_ok(make(option) || '; DROP INDEX readings_taken', format('%s is taken', option))
FROM unnest(array['fillfactor = 10', 'fillfactor = 95', 'fillfactor = 100',
                  'flush_fraction = 1', 'flush_fraction = 80', 'flush_fraction = 100',
                  'deduplicate_items = on', 'deduplicate_items = false', 'deduplicate_items',
                  'fillfactor = 70, flush_fraction = 60, deduplicate_items = off']) AS option;

-- The values outside.
SELECT throws_ok(make(format('%s = %s', name, value)), '22023',
                 format('value %s out of bounds for option "%s"', value, name),
                 format('%s = %s is refused', name, value))
FROM (VALUES ('fillfactor', '9'), ('flush_fraction', '0')) AS smallest (name, too_small),
     unnest(array[too_small, '101', '-1', '0']) AS value;
SELECT throws_ok(make(option || ' = much'), '22023',
                 format('invalid value for integer option "%s": much', option),
                 format('%s = much is refused', option))
FROM unnest(array['fillfactor', 'flush_fraction']) AS option;
SELECT throws_ok(make('deduplicate_items = much'), '22023',
                 'invalid value for boolean option "deduplicate_items": much',
                 'deduplicate_items = much is refused');

-- No such option; those of other access methods are none of ours.
SELECT throws_ok(make(name || ' = 1'), '22023', format('unrecognized parameter "%s"', name),
                 format('there is no option %s', name))
FROM unnest(array['no_such_option', 'fastupdate', 'pages_per_range', 'autovacuum_enabled']) AS name;
SELECT throws_ok('CREATE INDEX ON readings USING sware (taken int8_ops (no_such_option = 1))', '22023', NULL,
                 'operator classes have no options');

-- ALTER INDEX.
SELECT lives_ok(make('fillfactor = 70'), 'an index is made with an option');
SELECT is(options(), '{fillfactor=70}', 'which is kept');
SELECT lives_ok(alter('SET (fillfactor = 60, flush_fraction = 90)'), 'options can be changed');
SELECT is(options(), '{fillfactor=60,flush_fraction=90}', 'and are kept');
SELECT throws_ok(alter('SET (fillfactor = 101)'), '22023', 'value 101 out of bounds for option "fillfactor"',
                 'but not to values out of bounds');
SELECT throws_ok(alter('SET (no_such_option = 1)'), '22023', 'unrecognized parameter "no_such_option"',
                 'and there is no other');
SELECT is(options(), '{fillfactor=60,flush_fraction=90}', 'nothing was changed by that');
SELECT lives_ok(alter('RESET (fillfactor)'), 'an option can be reset');
SELECT is(options(), '{flush_fraction=90}', 'and is forgotten');
SELECT lives_ok('INSERT INTO readings SELECT i, i FROM generate_series(1001, 2000) AS i;
    REINDEX INDEX readings_taken',
                'the index works on');
SELECT matches(pg_get_indexdef('readings_taken'::regclass),
    'USING sware \(taken\) WITH \(flush_fraction=''90''\)',
               'and is dumped with its options');

-- Options do something: fewer entries a page, more pages.
SELECT lives_ok('CREATE INDEX dense ON readings USING sware (value) WITH (fillfactor = 100);
                 CREATE INDEX loose ON readings USING sware (value) WITH (fillfactor = 50)',
                'indexes of both extremes are made');
SELECT cmp_ok(pg_relation_size('loose'), '>', pg_relation_size('dense'),
    'a smaller fillfactor makes a larger index');
CREATE TABLE repeated AS SELECT 1 AS value FROM generate_series(1, 10000);
SELECT lives_ok('CREATE INDEX folded ON repeated USING sware (value);
                 CREATE INDEX plain ON repeated USING sware (value) WITH (deduplicate_items = off)',
                'indexes with and without posting lists are made');
SELECT cmp_ok(pg_relation_size('plain'), '>', 2 * pg_relation_size('folded'),
              'posting lists make an index smaller');

SELECT * FROM finish();
ROLLBACK;
