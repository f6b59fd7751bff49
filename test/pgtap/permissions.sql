-- Which roles may call the inspection functions.
BEGIN;
SELECT no_plan();

CREATE ROLE sware_test_reader;
CREATE ROLE sware_test_checker;
CREATE TABLE readings (taken timestamptz, value float8);
INSERT INTO readings SELECT '2000-01-01'::timestamptz + i * interval '1 s', i
    FROM generate_series(1, 1000) AS i;
CREATE INDEX readings_taken ON readings USING sware (taken);
GRANT ALL ON readings TO sware_test_reader, sware_test_checker;
GRANT EXECUTE ON FUNCTION sware_check(regclass, boolean) TO sware_test_checker;

CREATE FUNCTION as_user(role text, query text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SET LOCAL ROLE %I; %s; RESET ROLE', role, query)
$$;

-- sware_check: for roles that were granted it.
SELECT lives_ok('SELECT sware_check(''readings_taken'')', 'a superuser may check an index');
SELECT lives_ok('SELECT sware_check(''readings_taken'', heapallindexed => true)', 'and its table');
SELECT throws_ok(as_user('sware_test_reader', 'SELECT sware_check(''readings_taken'')'), '42501',
                 'permission denied for function sware_check', 'others may not');
SELECT lives_ok(as_user('sware_test_checker', 'SELECT sware_check(''readings_taken'', true)'),
                'unless that was granted');

-- The page functions: for superusers, whatever was granted.
SELECT lives_ok('SELECT * FROM sware_metapage(''readings_taken'')', 'a superuser may see the metapage');
SELECT lives_ok('SELECT * FROM sware_page_stats(''readings_taken'', 1)', 'a summary of a page');
SELECT lives_ok('SELECT * FROM sware_page_items(''readings_taken'', 1)', 'its items');
SELECT lives_ok('SELECT * FROM sware_buffer_pages(''readings_taken'')', 'and the pages of the buffer');
GRANT EXECUTE ON FUNCTION sware_metapage(regclass),
    sware_page_stats(regclass, bigint), sware_page_items(regclass, bigint),
    sware_buffer_pages(regclass)
    TO sware_test_reader;
SELECT throws_ok(as_user('sware_test_reader', format('SELECT * FROM %s', call)), '42501', NULL,
                 format('others may not call %s', call))
FROM unnest(array['sware_metapage(''readings_taken'')',
                  'sware_page_stats(''readings_taken'', 1)',
                  'sware_page_items(''readings_taken'', 1)',
                  'sware_buffer_pages(''readings_taken'')']) AS call;

-- Statistics: for all users.
SELECT lives_ok(as_user('sware_test_reader', 'SELECT * FROM sware_stats(''readings_taken'')'),
                'every user may see what happened to an index');
SELECT lives_ok(as_user('sware_test_reader', 'SELECT * FROM pg_stat_sware'), 'and to all of them');

-- sware_flush: for the owner of the table.
CREATE ROLE sware_test_owner;
CREATE TABLE owned (value float8);
CREATE INDEX owned_value ON owned USING sware (value);
ALTER TABLE owned OWNER TO sware_test_owner;
GRANT ALL ON owned TO sware_test_reader;
SELECT lives_ok('SELECT sware_flush(''readings_taken'')', 'a superuser may flush an index');
SELECT lives_ok('SELECT sware_flush(''owned_value'')', 'of anybody');
SELECT lives_ok(as_user('sware_test_owner', 'SELECT sware_flush(''owned_value'')'),
    'an owner may flush the index');
SELECT throws_ok(as_user('sware_test_reader', 'SELECT sware_flush(''owned_value'')'), '42501',
                 'must be owner of index owned_value', 'others may not, whatever they may do with the table');
GRANT EXECUTE ON FUNCTION sware_flush(regclass) TO sware_test_reader;
SELECT throws_ok(as_user('sware_test_reader', 'SELECT sware_flush(''owned_value'')'), '42501',
                 'must be owner of index owned_value', 'nor with the function');

-- The index itself is for all users that may use the table.
SELECT lives_ok(as_user('sware_test_reader', 'SELECT count(*) FROM readings WHERE taken > ''2000-01-01'''),
                'an index needs no permissions of its own');
SELECT lives_ok(as_user('sware_test_reader',
    'CREATE TEMP TABLE own (a int4); CREATE INDEX ON own USING sware (a)'),
                'and every user may make one');

-- The wrong relation.
CREATE INDEX readings_value ON readings USING btree (value);
CREATE VIEW readings_view AS SELECT * FROM readings;
SELECT throws_ok(format('SELECT * FROM %s', format(call, relation)), '42809', NULL,
                 format('%s is refused', format(call, relation)))
FROM unnest(array['readings', 'readings_value', 'readings_view']) AS relation,
     unnest(array['sware_metapage(%L)', 'sware_page_stats(%L, 1)',
         'sware_page_items(%L, 1)', 'sware_buffer_pages(%L)',
                  'sware_flush(%L)', 'sware_stats(%L)']) AS call;
-- sware_check answers as amcheck does.
SELECT throws_ok(format('SELECT sware_check(%L)', relation),
    code, NULL, format('sware_check(%L) is refused', relation))
FROM (VALUES ('readings', '42809'), ('readings_value', '0A000'), ('readings_view', '42809'))
    AS refused (relation, code);

-- The wrong page.
SELECT throws_ok(format('SELECT * FROM %s(''readings_taken'', %s)', name, block), '22023', NULL,
                 format('%s of block %s is refused', name, block))
FROM unnest(array['sware_page_stats', 'sware_page_items']) AS name,
     unnest(array[-1, 0, 1000000, 4294967295, 4294967296]::bigint[]) AS block;

-- Every column is there, and all tell of the same index.
SELECT results_eq(
    'SELECT meta.version, root.level, root.incarnation, root.blkno, meta.allequalimage, root.kind
     FROM sware_metapage(''readings_taken'') AS meta,
         sware_page_stats(''readings_taken'', meta.root) AS root',
    'SELECT version, level, root_incarnation, root, true, ''internal''::text
        FROM sware_metapage(''readings_taken'')',
    'the metapage leads to the root');
SELECT is((SELECT sum(stats.heap_tids)
           FROM generate_series(1,
               pg_relation_size('readings_taken') / current_setting('block_size')::int - 1) AS block,
                sware_page_stats('readings_taken', block) AS stats
           WHERE stats.kind = 'leaf'),
          1000::numeric, 'the leaves have an entry for every row');
SELECT is((SELECT count(*)::int
           FROM generate_series(1,
               pg_relation_size('readings_taken') / current_setting('block_size')::int - 1) AS block,
                sware_page_stats('readings_taken', block) AS stats,
                sware_page_items('readings_taken', block) AS items
           WHERE stats.kind = 'leaf' AND items.kind <> 'high key'),
          1000, 'one item each, as the times are distinct');
SELECT bag_eq(
    'SELECT child, child_incarnation FROM sware_metapage(''readings_taken''),
        sware_page_items(''readings_taken'', root)
     WHERE kind = ''downlink''',
    'SELECT block, incarnation
     FROM generate_series(1, pg_relation_size(''readings_taken'') / current_setting(''block_size'')::int - 1)
         AS block,
          sware_page_stats(''readings_taken'', block)
     WHERE kind = ''leaf''',
    'the root has a downlink for every leaf');

-- NULL in, NULL out.
SELECT is((SELECT sware_check(NULL)::text), NULL, 'sware_check is strict');
SELECT is((SELECT magic FROM sware_metapage(NULL)), NULL, 'sware_metapage is strict');

SELECT * FROM finish();
ROLLBACK;
