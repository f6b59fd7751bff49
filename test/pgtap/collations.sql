-- Operator classes that compare bytes, with collations that take different
-- bytes for equal.  PostgreSQL refuses that for its own operator classes only;
-- an index scan would not find all equal values.
BEGIN;
SELECT no_plan();

CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words (text text COLLATE ignore_case,
                    varchar varchar COLLATE ignore_case,
                    bpchar char(10) COLLATE ignore_case,
                    plain text);
INSERT INTO words VALUES ('a', 'a', 'a', 'a'), ('A', 'A', 'A', 'A'), ('b', 'b', 'b', 'b');

SELECT throws_ok(format('CREATE INDEX ON words USING %s (%2$s %2$s_pattern_ops)', method, type), '0A000',
                 format('nondeterministic collations are not supported for operator class "%s_pattern_ops"',
                     type),
                 format('%s refuses %s_pattern_ops with a nondeterministic collation', method, type))
FROM unnest(array['btree', 'sware']) AS method,
     unnest(array['text', 'varchar', 'bpchar']) AS type;

SELECT throws_ok('CREATE INDEX ON words USING sware (plain, text text_pattern_ops)', '0A000',
                 'nondeterministic collations are not supported for operator class "text_pattern_ops"',
                 'in any column');
SELECT throws_ok('CREATE INDEX ON words USING sware (plain COLLATE ignore_case text_pattern_ops)', '0A000',
                 'nondeterministic collations are not supported for operator class "text_pattern_ops"',
                 'also where the index names the collation');
TRUNCATE words;
SELECT throws_ok('CREATE INDEX ON words USING sware (text text_pattern_ops)', '0A000',
                 'nondeterministic collations are not supported for operator class "text_pattern_ops"',
                 'also on an empty table');
CREATE UNLOGGED TABLE unlogged_words (text text COLLATE ignore_case);
SELECT throws_ok('CREATE INDEX ON unlogged_words USING sware (text text_pattern_ops)', '0A000',
                 'nondeterministic collations are not supported for operator class "text_pattern_ops"',
                 'also on an unlogged one');

INSERT INTO words VALUES ('a', 'a', 'a', 'a'), ('A', 'A', 'A', 'A'), ('b', 'b', 'b', 'b');
SELECT lives_ok('CREATE INDEX words_text ON words USING sware (text)',
    'the ordinary classes take such a collation');
SELECT lives_ok('CREATE INDEX words_pattern ON words USING sware (plain text_pattern_ops)',
                'and the pattern classes any other');

SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := concat(plan, line, ' ');
    END LOOP;
    RETURN plan;
END
$$;
SELECT matches(plan_of('SELECT plain FROM words WHERE text = ''A'''), 'using words_text .*Index Cond',
               'a query uses the index on the nondeterministic column');
SELECT bag_eq('SELECT plain FROM words WHERE text = ''A''', 'VALUES (''a''::text), (''A'')',
              'and finds all that is equal');
SELECT matches(plan_of('SELECT plain FROM words WHERE plain ~<~ ''b'''), 'using words_pattern .*Index Cond',
               'a query uses the index with a pattern class');
SELECT results_eq('SELECT plain FROM words WHERE plain ~<~ ''b'' ORDER BY plain USING ~<~',
                  'VALUES (''A''::text), (''a'')', 'and gets byte order');

-- LIKE with a prefix becomes a range of the index if bytes decide its order.
-- PostgreSQL knows that of its own pattern classes by OID; of any other access
-- method's index it knows it by the collation "C", whatever the column's is.
DROP INDEX words_pattern;
CREATE INDEX words_c ON words USING sware (plain COLLATE "C");
SELECT matches(plan_of('SELECT plain FROM words WHERE plain LIKE ''a%'''),
               'using words_c .*Index Cond: .*>= ''a''.* AND .*< ''b''',
               'LIKE uses an index with collation "C"');
SELECT results_eq('SELECT plain FROM words WHERE plain LIKE ''a%''',
    'VALUES (''a''::text)', 'and finds its rows');

SELECT * FROM finish();
ROLLBACK;
