-- What the access method says it can do, as clients ask for it.
BEGIN;
SELECT no_plan();

CREATE TABLE readings (taken int8, value float8, note text);
CREATE INDEX of_sware ON readings USING sware (taken, value DESC NULLS LAST) INCLUDE (note);
CREATE INDEX of_btree ON readings USING btree (taken, value DESC NULLS LAST) INCLUDE (note);

SELECT is(pg_indexam_has_property((SELECT oid FROM pg_am WHERE amname = 'sware'), name), value,
          format('access method: %s', name))
FROM (VALUES ('can_order', true), ('can_unique', true), ('can_multi_col', true),
             ('can_exclude', true), ('can_include', true)) AS expected (name, value);

SELECT is(pg_index_has_property('of_sware'::regclass, name), true, format('index: %s', name))
FROM unnest(array['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) AS name;
SELECT is(pg_index_column_has_property('of_sware'::regclass, 1, name), true, format('column: %s', name))
FROM unnest(array['asc', 'nulls_last', 'orderable', 'returnable', 'search_array', 'search_nulls']) AS name;
SELECT is(pg_index_column_has_property('of_sware'::regclass, 1, name), false, format('column: no %s', name))
FROM unnest(array['desc', 'nulls_first', 'distance_orderable']) AS name;

-- Column by column, included ones too, all is as with btree.
SELECT is(pg_index_column_has_property('of_sware'::regclass, number, name),
          pg_index_column_has_property('of_btree'::regclass, number, name),
          format('column %s: %s is as with btree', number, name))
FROM generate_series(1, 3) AS number,
     unnest(array['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable',
                  'returnable', 'search_array', 'search_nulls']) AS name;

-- What they mean in practice.
SELECT throws_ok('CREATE INDEX ON readings USING sware (point(taken, taken))', '42704',
                 'data type point has no default operator class for access method "sware"',
                 'a type without an order is refused');
SELECT throws_ok('CREATE INDEX ON readings USING sware (taken text_ops)', '42804', NULL,
                 'an operator class of another type is refused');
SELECT lives_ok('ALTER TABLE readings CLUSTER ON of_sware', 'a table can be clustered on the index');

SELECT * FROM finish();
ROLLBACK;
