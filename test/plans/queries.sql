-- Tables and queries for test/plans_unchanged.  No sware index anywhere.
--
-- Table "query" gets every query; plans_of() returns all their plans.

CREATE TYPE mood AS ENUM ('bad', 'fair', 'good');
CREATE TYPE pair AS (first int4, second text);
CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);

-- A column for every type that has a default btree operator class, and some
-- that borrow another type's.  Smaller numbers have more duplicates.
CREATE TABLE sample AS
SELECT i::int4 AS id,
       i % 100 = 0 AS boolean,
       (i % 100)::int2 AS int2,
       (i % 500)::int4 AS int4,
       i::int8 AS int8,
       (i % 500)::oid AS oid,
       i::float4 AS float4,
       i::float8 AS float8,
       i::numeric / 7 AS numeric,
       i::money AS money,
       (i % 500 + 1)::positive AS domain,
       chr(65 + i % 26)::"char" AS character1,
       ('text ' || i % 500)::text AS text,
       ('text ' || i % 500)::text COLLATE "C" AS text_c,
       ('varchar ' || i)::varchar(20) AS varchar,
       ('char ' || i)::char(12) AS character,
       ('name ' || i % 500)::name AS name,
       convert_to('bytea ' || i, 'UTF8') AS bytea,
       date '2000-01-01' + i % 300 AS date,
       timestamp '2000-01-01' + i * interval '1 hour' AS timestamp,
       timestamptz '2000-01-01 00:00+00' + i * interval '1 hour' AS timestamptz,
       time '00:00' + i * interval '1 second' AS time,
       timetz '00:00+00' + i * interval '1 second' AS timetz,
       i * interval '1 minute' AS interval,
       lpad(i::text, 32, '0')::uuid AS uuid,
       ('10.0.' || i / 250 || '.' || i % 250)::inet AS inet,
       ('10.' || i / 250 || '.' || i % 250 || '.0/24')::cidr AS cidr,
       lpad(to_hex(i), 12, '0')::macaddr AS macaddr,
       lpad(to_hex(i), 16, '0')::macaddr8 AS macaddr8,
       i::bit(16) AS bit,
       i::bit(16)::varbit AS varbit,
       ('(0,' || i % 60000 || ')')::tid AS tid,
       (i % 500)::text::xid8 AS xid8,
       ('0/' || to_hex(i))::pg_lsn AS pg_lsn,
       ('word' || i)::tsvector AS tsvector,
       ('word' || i)::tsquery AS tsquery,
       to_jsonb(i) AS jsonb,
       int4range(i, i + 10) AS int4range,
       int4multirange(int4range(i, i + 10)) AS int4multirange,
       array[i % 500, i] AS int4_array,
       (i % 500)::text::oidvector AS oidvector,
       (array['bad', 'fair', 'good'])[i % 3 + 1]::mood AS enum,
       ROW(i % 500, 'text')::pair AS composite
FROM generate_series(1, 2000) AS i;

-- The same without indexes, and smaller.
CREATE TABLE heap_only AS SELECT * FROM sample WHERE id % 4 = 0;

DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = 'sample'::regclass AND attnum > 0 LOOP
        EXECUTE format('CREATE INDEX ON sample USING btree (%I)', name);
    END LOOP;
END
$$;
ALTER TABLE sample ADD PRIMARY KEY (id);
CREATE INDEX ON sample USING btree (int2, int8);
CREATE INDEX ON sample USING btree (int4 DESC NULLS LAST, text) INCLUDE (date);
CREATE INDEX ON sample USING btree (text text_pattern_ops);
CREATE INDEX ON sample USING btree (varchar varchar_pattern_ops);
CREATE INDEX ON sample USING btree (character bpchar_pattern_ops);
CREATE INDEX ON sample USING hash (int4);
CREATE INDEX ON sample USING brin (timestamp);

CREATE TABLE part (key int4, stamp timestamptz, value text) PARTITION BY RANGE (key);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (500);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (500) TO (1000);
CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (1000) TO (3000);
INSERT INTO part SELECT id, timestamptz, text FROM sample;
CREATE INDEX ON part (key);
CREATE TABLE child (id int8 PRIMARY KEY, parent int4 REFERENCES sample (id), note text);
INSERT INTO child SELECT id, id, text FROM sample;

ANALYZE;

CREATE TABLE query (number int GENERATED ALWAYS AS IDENTITY, text text NOT NULL);

CREATE FUNCTION one_value(column_name name) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    value text;
BEGIN
    EXECUTE format('SELECT %I::text FROM sample WHERE id = 77', column_name) INTO value;
    RETURN value;
END
$$;

-- Queries about one column.
INSERT INTO query (text)
SELECT replace(replace(template, '@value', quote_literal(value) || '::' || type),
               '@', quote_ident(attname))
FROM (SELECT attnum, attname, format_type(atttypid, atttypmod) AS type,
             one_value(attname) AS value
      FROM pg_attribute
      WHERE attrelid = 'sample'::regclass AND attnum > 0) AS columns,
     unnest(array[
         'SELECT @ FROM sample ORDER BY @',
         'SELECT @, id FROM sample ORDER BY @ DESC NULLS LAST, id LIMIT 5',
         'SELECT DISTINCT @ FROM sample',
         'SELECT DISTINCT ON (@) @, id FROM sample ORDER BY @, id',
         'SELECT @, count(*) FROM sample GROUP BY @',
         'SELECT count(DISTINCT @) FROM sample',
         'SELECT rank() OVER (PARTITION BY @ ORDER BY id), row_number() OVER (ORDER BY @) FROM sample',
         'SELECT @ FROM sample UNION SELECT @ FROM heap_only',
         'SELECT @ FROM sample INTERSECT SELECT @ FROM heap_only',
         'SELECT @ FROM sample EXCEPT SELECT @ FROM heap_only ORDER BY 1',
         'SELECT a.id, b.id FROM sample a JOIN sample b USING (@)',
         'SELECT a.id, b.id FROM sample a LEFT JOIN heap_only b ON a.@ = b.@ ORDER BY a.@',
         'SELECT a.id, b.id FROM sample a FULL JOIN heap_only b ON a.@ = b.@',
         'SELECT a.id FROM sample a, heap_only b, sample c WHERE a.@ = b.@ AND b.@ = c.@ ORDER BY c.@',
         'SELECT a.id FROM sample a, heap_only b, sample c WHERE a.@ = b.@ AND b.@ = c.@ AND c.@ = @value',
         'SELECT id FROM sample a WHERE @ IN (SELECT @ FROM heap_only)',
         'SELECT id FROM sample a WHERE NOT EXISTS (SELECT FROM heap_only b WHERE a.@ = b.@)',
         'SELECT id FROM sample WHERE @ = @value',
         'SELECT @ FROM sample WHERE @ >= @value AND @ < @value ORDER BY @',
         'SELECT id FROM sample WHERE @ = ANY (array[@value, @value]) ORDER BY @',
         'SELECT count(*) FROM sample WHERE @ IS NULL',
         'SELECT id FROM sample WHERE @ <> @value AND @ IS NOT DISTINCT FROM @value'
     ]) AS template
-- There are no arrays of arrays.
WHERE NOT (attname = 'int4_array' AND template LIKE '%ANY (array%');

-- Queries about columns of two types.
INSERT INTO query (text)
SELECT replace(replace(template, '@1', a), '@2', b)
FROM (VALUES ('int2', 'int4'), ('int2', 'int8'), ('int4', 'int8'), ('int4', 'int2'), ('int8', 'int4'),
             ('domain', 'int8'), ('float4', 'float8'), ('date', 'timestamp'), ('date', 'timestamptz'),
             ('timestamp', 'timestamptz'), ('timestamptz', 'date'), ('text', 'name'), ('name', 'text'),
             ('text', 'varchar'), ('varchar', 'text_c'), ('inet', 'cidr'), ('int4', 'numeric'),
             ('"character"', 'varchar'), ('"bit"', 'varbit')) AS pairs (a, b),
     unnest(array[
         'SELECT a.id FROM sample a JOIN sample b ON a.@1::@2 = b.@2',
         'SELECT a.id FROM sample a JOIN heap_only b ON a.@1 = b.@2',
         'SELECT a.id FROM sample a JOIN heap_only b ON a.@1 = b.@2 ORDER BY a.@1',
         'SELECT a.id FROM sample a JOIN heap_only b ON a.@1 = b.@2 ORDER BY b.@2 DESC',
         'SELECT a.id FROM sample a, sample b, sample c WHERE a.@1 = b.@2 AND b.@2 = c.@1',
         'SELECT a.id FROM sample a, sample b, sample c WHERE a.@1 = b.@2 AND b.@2 = c.@2',
         'SELECT a.id FROM sample a, sample b, heap_only c WHERE a.@1 = b.@2 AND a.@1 = c.@1 ORDER BY c.@1',
         'SELECT a.id FROM sample a, sample b '
         'WHERE a.@1 = b.@2 AND b.@2 = (SELECT max(id) FROM sample)::text::@2',
         'SELECT a.id FROM sample a, heap_only b, heap_only c '
         'WHERE a.@1 = b.@2 AND b.@2 = c.@2 AND c.@2 = a.@2',
         'SELECT id FROM sample WHERE @1 = @2 ORDER BY @1, @2',
         'SELECT id FROM sample WHERE @1 IN (SELECT @2 FROM heap_only)',
         'SELECT id FROM sample a '
         'WHERE NOT EXISTS (SELECT FROM heap_only b WHERE a.@1 = b.@2 AND b.@2 = a.@2)',
         'SELECT a.@1, count(*) FROM sample a JOIN heap_only b ON a.@1 = b.@2 GROUP BY a.@1',
         'SELECT a.id FROM sample a JOIN heap_only b ON a.@1 < b.@2 AND a.id = b.id'
     ]) AS template
WHERE NOT (template LIKE '%::text::%' AND a IN ('"bit"'))
AND (template NOT LIKE '%::@2%' OR b NOT IN ('text_c'));

-- Others.
INSERT INTO query (text) VALUES
    ('SELECT id FROM sample WHERE text LIKE ''text 12%'''),
    ('SELECT id FROM sample WHERE text_c LIKE ''text 12%'''),
    ('SELECT id FROM sample WHERE varchar LIKE ''varchar 12%'''),
    ('SELECT id FROM sample WHERE character LIKE ''char 12%'''),
    ('SELECT id FROM sample WHERE name LIKE ''name 12%'''),
    ('SELECT id FROM sample WHERE text ~ ''^text 1'' ORDER BY text'),
    ('SELECT id FROM sample WHERE text ~>=~ ''text 2'' AND text ~<~ ''text 3'''),
    ('SELECT text FROM sample ORDER BY text USING ~<~'),
    ('SELECT text FROM sample ORDER BY text COLLATE "C"'),
    ('SELECT a.id FROM sample a JOIN sample b ON a.text = b.text_c COLLATE "C" ORDER BY a.text'),
    ('SELECT a.id FROM sample a JOIN sample b ON a.int4_array = b.int4_array AND a.int4 = b.int8'),
    ('SELECT id FROM sample WHERE text ^@ ''text 1'''),
    ('SELECT id FROM sample WHERE (int2, int8) > (5, 100) ORDER BY int2, int8'),
    ('SELECT id FROM sample WHERE int8 = 100'),
    ('SELECT id FROM sample WHERE int2 = 5 AND int8 > 100::int4'),
    ('SELECT id FROM sample WHERE int8 IN (1, 2, 3) ORDER BY int2, int8'),
    ('SELECT min(int4), max(int4), min(text), max(date) FROM sample'),
    ('SELECT min(int4) FROM sample WHERE int2 = 3'),
    ('SELECT int4, text, date FROM sample ORDER BY int4 DESC NULLS LAST, text'),
    ('SELECT int4, text FROM sample ORDER BY int4 DESC NULLS LAST, text DESC'),
    ('SELECT int2, int4, count(*) FROM sample GROUP BY GROUPING SETS ((int2), (int4), (int2, int4), ())'),
    ('SELECT int2, int8 FROM sample GROUP BY int8, int2'),
    ('SELECT int2, text, count(*) FROM sample GROUP BY text, int2 ORDER BY int2'),
    ('SELECT * FROM part WHERE key = 700::int8'),
    ('SELECT * FROM part WHERE key > 600::int8 AND key < 1500::int2 ORDER BY key'),
    ('SELECT * FROM part a JOIN part b ON a.key = b.key ORDER BY a.key'),
    ('SELECT a.key, count(*) FROM part a JOIN part b USING (key) GROUP BY a.key'),
    ('SELECT p.key FROM part p JOIN sample s ON p.key = s.int8 '
     'JOIN heap_only h ON s.int8 = h.int8 WHERE p.key = 7'),
    ('SELECT c.note FROM child c JOIN sample s ON c.parent = s.id JOIN heap_only h ON h.id = c.id'),
    ('SELECT c.note FROM child c LEFT JOIN sample s ON c.parent = s.id'),
    ('SELECT c.note FROM child c LEFT JOIN sample s ON c.id = s.id WHERE c.parent = 5'),
    ('SELECT c.note FROM child c JOIN sample s ON c.id = s.id AND c.parent = s.int8 ORDER BY c.parent'),
    ('SELECT * FROM child c, '
     'LATERAL (SELECT * FROM sample s WHERE s.int8 = c.parent ORDER BY s.int4 LIMIT 2) x'),
    ('SELECT id FROM sample WHERE int4 = (SELECT max(parent) FROM child)'),
    ('SELECT id FROM sample WHERE int4 > ALL (SELECT parent FROM child)'),
    ('SELECT DISTINCT a.int8, b.int4 FROM sample a, heap_only b WHERE a.int8 = b.int4 AND b.int4 < 10'),
    ('SELECT int4 FROM sample UNION ALL SELECT id FROM child ORDER BY 1'),
    ('SELECT int4 FROM sample UNION SELECT id FROM child'),
    ('WITH RECURSIVE r AS (SELECT 1::int8 AS id '
     'UNION SELECT s.int4 FROM sample s JOIN r ON s.int8 = r.id + 1) TABLE r'),
    ('INSERT INTO child VALUES (1, 1, NULL) ON CONFLICT (id) DO UPDATE SET note = ''again'''),
    ('UPDATE sample s SET text = c.note FROM child c WHERE s.int8 = c.parent'),
    ('DELETE FROM child c USING sample s WHERE s.int4 = c.id AND s.int8 = c.id');

-- The ways to plan that are compared.
CREATE TABLE planner (name text PRIMARY KEY, settings text[] NOT NULL);
INSERT INTO planner VALUES
    ('default settings', '{}'),
    ('merge joins', '{enable_hashjoin, enable_nestloop, enable_memoize}'),
    ('nested loops', '{enable_hashjoin, enable_mergejoin, enable_seqscan}'),
    ('sorted groups', '{enable_hashagg, enable_seqscan, enable_bitmapscan, enable_incremental_sort}');

CREATE FUNCTION plans_of(which text)
RETURNS TABLE (planner text, number int, query text, plan text)
LANGUAGE plpgsql AS $$
DECLARE
    setting text;
    line text;
BEGIN
    FOREACH setting IN ARRAY (SELECT settings FROM planner AS p WHERE p.name = which) LOOP
        PERFORM set_config(setting, 'off', true);
    END LOOP;
    planner := which;
    FOR number, query IN SELECT q.number, q.text FROM query AS q ORDER BY 1 LOOP
        plan := '';
        FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || query LOOP
            plan := concat(plan, line, E'\n');
        END LOOP;
        RETURN NEXT;
    END LOOP;
END
$$;
