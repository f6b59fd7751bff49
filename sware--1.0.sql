/* sware--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sware" to load this file. \quit

--
-- Access method
--

CREATE FUNCTION sware_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

COMMENT ON FUNCTION sware_handler(internal) IS
'handler of the sware index access method';

CREATE ACCESS METHOD sware TYPE INDEX HANDLER sware_handler;

COMMENT ON ACCESS METHOD sware IS
'ordered index access method for keys that arrive nearly in order';

--
-- Inspection
--

CREATE FUNCTION sware_check(index regclass,
    heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_check(regclass, boolean) IS
'check the structure of a sware index, and optionally that every heap tuple is in it';

-- Reads whole relations, and its errors may show what they hold.
REVOKE ALL ON FUNCTION sware_check(regclass, boolean) FROM PUBLIC;

-- The page functions below allow superusers only; C code checks that.

CREATE FUNCTION sware_metapage(IN index regclass,
    OUT magic bigint,
    OUT version integer,
    OUT root bigint,
    OUT root_incarnation bigint,
    OUT level integer,
    OUT allequalimage boolean,
    OUT index_incarnation bigint,
    OUT buffer_generation bigint,
    OUT directory_version bigint,
    OUT sealed_pages bigint,
    OUT open_pages bigint[],
    OUT directory_pages bigint[])
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_metapage(regclass) IS
'contents of the metapage of a sware index';

CREATE FUNCTION sware_page_stats(IN index regclass, IN blkno bigint,
    OUT blkno bigint,
    OUT kind text,
    OUT level integer,
    OUT incarnation bigint,
    OUT live_items integer,
    OUT append_items integer,
    OUT posting_items integer,
    OUT heap_tids bigint,
    OUT free_size integer,
    OUT left_link bigint,
    OUT left_incarnation bigint,
    OUT right_link bigint,
    OUT right_incarnation bigint,
    OUT flags text[])
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_page_stats(regclass, bigint) IS
'summary of one page of a sware index';

CREATE FUNCTION sware_page_items(IN index regclass, IN blkno bigint,
    OUT itemoffset integer,
    OUT kind text,
    OUT ctid tid,
    OUT itemlen integer,
    OUT key_attributes integer,
    OUT nulls boolean,
    OUT vars boolean,
    OUT data text,
    OUT htid tid,
    OUT tids tid[],
    OUT child bigint,
    OUT child_incarnation bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_page_items(regclass, bigint) IS
'items of one page of a sware index';

CREATE FUNCTION sware_buffer_pages(IN index regclass,
    OUT block bigint,
    OUT incarnation bigint,
    OUT state text,
    OUT entries integer,
    OUT slot bigint,
    OUT sequence bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_buffer_pages(regclass) IS
'pages of the shared buffer of a sware index';

--
-- Operation
--

CREATE FUNCTION sware_flush(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION sware_flush(regclass) IS
'move all entries of the shared buffer of a sware index to its tree';

CREATE FUNCTION sware_stats(IN index regclass,
    OUT buffer_entries bigint,
    OUT buffer_pages bigint,
    OUT estimated_k double precision,
    OUT estimated_l double precision,
    OUT entries_buffered bigint,
    OUT entries_appended bigint,
    OUT entries_inserted bigint,
    OUT flushes bigint,
    OUT flush_time double precision,
    OUT flushed_pages bigint,
    OUT flushed_entries bigint,
    OUT bloom_probes bigint,
    OUT bloom_false_positives bigint,
    OUT stats_since timestamptz)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION sware_stats(regclass) IS
'content of the shared buffer of a sware index, and what has happened to the index';

-- OFFSET keeps the function from being called for indexes of other kinds.
CREATE VIEW pg_stat_sware AS
SELECT indexes.*, stats.*
FROM (SELECT pg_class.oid AS indexrelid, pg_index.indrelid AS relid,
             pg_namespace.nspname AS schemaname, pg_class.relname AS indexrelname
      FROM pg_catalog.pg_class
      JOIN pg_catalog.pg_index ON pg_index.indexrelid OPERATOR(pg_catalog.=) pg_class.oid
      JOIN pg_catalog.pg_namespace ON pg_namespace.oid OPERATOR(pg_catalog.=) pg_class.relnamespace
      JOIN pg_catalog.pg_am ON pg_am.oid OPERATOR(pg_catalog.=) pg_class.relam
      WHERE pg_am.amname OPERATOR(pg_catalog.=) 'sware'
      AND pg_class.relkind OPERATOR(pg_catalog.=) 'i'
      AND NOT pg_catalog.pg_is_other_temp_schema(pg_class.relnamespace)
      OFFSET 0) AS indexes,
     LATERAL sware_stats(indexes.indexrelid) AS stats;

COMMENT ON VIEW pg_stat_sware IS
'sware_stats of all sware indexes of this database';

GRANT SELECT ON pg_stat_sware TO PUBLIC;

-- The settings make the table be read in its own order.
CREATE FUNCTION sware_sortedness(IN "table" regclass, IN "column" name,
    OUT rows_measured bigint,
    OUT k double precision,
    OUT l double precision,
    OUT recommendation text,
    OUT buffer_size text)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT
SET enable_indexscan = off
SET enable_indexonlyscan = off
SET enable_bitmapscan = off
SET synchronize_seqscans = off
SET max_parallel_workers_per_gather = 0;

COMMENT ON FUNCTION sware_sortedness(regclass, name) IS
'how nearly the rows of a table are in order of a column, and what index that speaks for';

--
-- Operator families
--
-- sware has the strategies and support functions of btree, so its operator
-- families are copies of btree's.  They are copied whole: from PostgreSQL 18
-- on, the planner compares the families of two equality operators over all
-- ordering access methods, and merges the operators' equivalence classes only
-- if the families agree.  A copy with a member missing would therefore change
-- plans in the whole database.
--

-- Members of an operator family, each with the clause that declares it.  Two
-- families have equal membership if this returns the same for both.
CREATE FUNCTION sware_opfamily_members(family oid,
    OUT lefttype regtype,
    OUT righttype regtype,
    OUT clause text)
RETURNS SETOF record
LANGUAGE sql
STABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT amoplefttype, amoprighttype,
           format('OPERATOR %s %s', amopstrategy, amopopr::regoperator)
    FROM pg_amop
    WHERE amopfamily = family
    UNION ALL
    SELECT amproclefttype, amprocrighttype,
           format('FUNCTION %s (%s, %s) %s', amprocnum,
                  amproclefttype::regtype, amprocrighttype::regtype,
                  amproc::regprocedure)
    FROM pg_amproc
    WHERE amprocfamily = family
$$;

COMMENT ON FUNCTION sware_opfamily_members(oid) IS
'operators and support functions of an operator family, as clauses of ALTER OPERATOR FAMILY ... ADD';

-- Makes a copy of a class in a sware family.  Of the members for the class's
-- own type, those that the family does not have yet are made part of the class:
-- they go when the class is dropped.
CREATE FUNCTION sware_clone_opclass(source_class oid, target_family oid)
RETURNS void
LANGUAGE plpgsql
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source record;
    target record;
    clauses text;
BEGIN
    SELECT opcfamily, opcname, opcdefault, opcintype::regtype AS type,
           COALESCE(NULLIF(opckeytype, 0), opcintype)::regtype AS storage
    INTO STRICT source
    FROM pg_opclass
    WHERE oid = source_class;

    SELECT nspname, opfname INTO STRICT target
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    WHERE pg_opfamily.oid = target_family;

    -- A class needs an item at least.  STORAGE always is one, and has no effect
    -- where it names the class's own type.  It does have one for name_ops, which
    -- stores names as cstring, without padding: the handler allows that by
    -- amstorage.
    SELECT concat_ws(', ', 'STORAGE ' || source.storage,
                     string_agg(clause, ', ' ORDER BY clause))
    INTO clauses
    FROM (SELECT * FROM @extschema@.sware_opfamily_members(source.opcfamily)
          EXCEPT
          SELECT * FROM @extschema@.sware_opfamily_members(target_family)) AS missing
    WHERE lefttype = source.type AND righttype = source.type;

    EXECUTE format('CREATE OPERATOR CLASS %I.%I %s FOR TYPE %s USING sware FAMILY %I.%I AS %s',
                   target.nspname, source.opcname,
                   CASE WHEN source.opcdefault THEN 'DEFAULT' END,
                   source.type, target.nspname, target.opfname, clauses);
END
$$;

COMMENT ON FUNCTION sware_clone_opclass(oid, oid) IS
'make a copy of a btree operator class in a sware operator family';

-- Adds the members that a btree family has and a sware family lacks.
CREATE FUNCTION sware_add_missing_members(source_family oid, target_family oid)
RETURNS void
LANGUAGE plpgsql
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    target record;
    clauses text;
BEGIN
    SELECT nspname, opfname INTO STRICT target
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    WHERE pg_opfamily.oid = target_family;

    SELECT string_agg(clause, ', ' ORDER BY clause)
    INTO clauses
    FROM (SELECT * FROM @extschema@.sware_opfamily_members(source_family)
          EXCEPT
          SELECT * FROM @extschema@.sware_opfamily_members(target_family)) AS missing;

    IF clauses IS NOT NULL THEN
        EXECUTE format('ALTER OPERATOR FAMILY %I.%I USING sware ADD %s',
                       target.nspname, target.opfname, clauses);
    END IF;
END
$$;

COMMENT ON FUNCTION sware_add_missing_members(oid, oid) IS
'add to a sware operator family the operators and support functions of a btree one that it lacks';

CREATE FUNCTION sware_clone_opfamily(source_family oid, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source record;
    class record;
    target text;
    target_oid oid;
BEGIN
    SELECT nspname, opfname, amname INTO source
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE pg_opfamily.oid = source_family;
    IF NOT FOUND THEN
        RAISE undefined_object
        USING MESSAGE = format('operator family with OID %s does not exist', source_family);
    END IF;

    IF source.amname <> 'btree' THEN
        RAISE wrong_object_type
        USING MESSAGE = format('operator family %I.%I belongs to access method "%s", not "btree"',
                               source.nspname, source.opfname, source.amname),
              HINT = 'Only btree operator families have the operators and support functions that sware needs.';
    END IF;

    -- The source's schema is where its users look for it, except that nothing
    -- but the built-in families belongs into pg_catalog.
    target_schema := COALESCE(target_schema, NULLIF(source.nspname, 'pg_catalog'),
                              (SELECT nspname
                               FROM pg_extension
                               JOIN pg_namespace ON pg_namespace.oid = extnamespace
                               WHERE extname = 'sware'));
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = target_schema) THEN
        RAISE invalid_schema_name
        USING MESSAGE = format('schema "%s" does not exist', target_schema),
              HINT = 'Create the schema first, or leave out the second argument to use the schema of the source.';
    END IF;
    target := format('%I.%I', target_schema, source.opfname);

    IF EXISTS (SELECT FROM pg_opfamily
               JOIN pg_namespace ON pg_namespace.oid = opfnamespace
               JOIN pg_am ON pg_am.oid = opfmethod
               WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware')
    THEN
        RAISE duplicate_object
        USING MESSAGE = format('operator family %s for access method "sware" already exists', target),
              HINT = format('Drop it first with DROP OPERATOR FAMILY %s USING sware, or name another schema.', target);
    END IF;

    SELECT existing.opcintype::regtype AS type, nspname, existing.opcname
    INTO class
    FROM pg_opclass AS wanted
    JOIN pg_opclass AS existing ON existing.opcintype = wanted.opcintype
    JOIN pg_am ON pg_am.oid = existing.opcmethod
    JOIN pg_namespace ON pg_namespace.oid = existing.opcnamespace
    WHERE wanted.opcfamily = source_family AND wanted.opcdefault
    AND existing.opcdefault AND amname = 'sware'
    ORDER BY wanted.opcname
    LIMIT 1;
    IF FOUND THEN
        RAISE duplicate_object
        USING MESSAGE = format('type %s already has a default operator class for access method "sware"', class.type),
              DETAIL = format('It is %I.%I.', class.nspname, class.opcname),
              HINT = format('Operator family %I.%I has probably been cloned before.', source.nspname, source.opfname);
    END IF;

    EXECUTE format('CREATE OPERATOR FAMILY %s USING sware', target);
    SELECT pg_opfamily.oid INTO STRICT target_oid
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware';

    -- Where two classes share a type (text_ops and varchar_ops), the default one
    -- comes first and gets the members.  A class that somebody added to a
    -- built-in family is left to sware_sync_opfamilies(): it must not become part
    -- of this extension.  OIDs below 16384 are PostgreSQL's own.
    PERFORM @extschema@.sware_clone_opclass(oid, target_oid)
    FROM (SELECT oid
          FROM pg_opclass
          WHERE opcfamily = source_family
          AND (source_family >= 16384 OR oid < 16384)
          ORDER BY opcdefault DESC, opcname) AS classes;
    PERFORM @extschema@.sware_add_missing_members(source_family, target_oid);

    RETURN target;
END
$$;

COMMENT ON FUNCTION sware_clone_opfamily(oid, name) IS
'make a sware operator family, with its classes, from the btree one of this OID';

-- Finds an unqualified name through the caller's search_path, so it cannot set
-- its own, and therefore qualifies everything it uses.
CREATE FUNCTION sware_clone_opfamily(source_family text, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    parts text[] := pg_catalog.parse_ident(source_family);
    source_oid oid;
BEGIN
    IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.>) 2 THEN
        RAISE invalid_name
        USING MESSAGE = pg_catalog.format('invalid operator family name: %s', source_family),
              HINT = 'Write family or schema.family.';
    END IF;

    -- A name can exist once per access method; btree's is preferred, any other
    -- is passed on to be refused with the reason.
    SELECT f.oid INTO source_oid
    FROM pg_catalog.pg_opfamily AS f
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) f.opfnamespace
    JOIN pg_catalog.pg_am AS a ON a.oid OPERATOR(pg_catalog.=) f.opfmethod
    WHERE f.opfname OPERATOR(pg_catalog.=) parts[pg_catalog.cardinality(parts)]::pg_catalog.name
    AND CASE pg_catalog.cardinality(parts)
        WHEN 2 THEN n.nspname OPERATOR(pg_catalog.=) parts[1]::pg_catalog.name
        ELSE pg_catalog.pg_opfamily_is_visible(f.oid) END
    ORDER BY a.amname OPERATOR(pg_catalog.=) 'btree' DESC, a.amname
    LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object
        USING MESSAGE = pg_catalog.format('operator family "%s" does not exist for access method "btree"', source_family),
              HINT = 'The families of btree are listed by \dAf btree in psql; a name outside of search_path needs its schema.';
    END IF;

    -- The extension does not move, so its schema can be named here.
    RETURN @extschema@.sware_clone_opfamily(source_oid, target_schema);
END
$$;

COMMENT ON FUNCTION sware_clone_opfamily(text, name) IS
'make a sware operator family, with its classes, from the btree one of this name';

-- Also warns of copies that PostgreSQL takes for the original.
--
-- A btree family can grow after it was cloned: another extension adds its types
-- to a built-in family, an extension is updated, or pg_upgrade moves the old
-- members to a new PostgreSQL that has more of them.
CREATE FUNCTION sware_sync_opfamilies()
RETURNS SETOF text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    pair record;
    class record;
BEGIN
    -- A copy has the name of its source and its "<" operators.
    FOR pair IN
        SELECT source.oid AS source, target.oid AS target,
               format('%I.%I', nspname, target.opfname) AS target_name
        FROM pg_opfamily AS target
        JOIN pg_am AS target_am ON target_am.oid = target.opfmethod
        JOIN pg_namespace ON pg_namespace.oid = target.opfnamespace
        JOIN pg_opfamily AS source ON source.opfname = target.opfname
        JOIN pg_am AS source_am ON source_am.oid = source.opfmethod
        WHERE target_am.amname = 'sware' AND source_am.amname = 'btree'
        AND EXISTS (SELECT FROM pg_amop AS copied
                    JOIN pg_amop AS original USING (amopopr, amopstrategy)
                    WHERE copied.amopfamily = target.oid
                    AND original.amopfamily = source.oid
                    AND amopstrategy = 1)
        ORDER BY target_name
    LOOP
        -- Among the families of all ordering access methods, PostgreSQL 18
        -- takes the one with the smallest OID for what ORDER BY means.  btree
        -- indexes serve no order of a family that is not theirs.
        IF pair.target < pair.source THEN
            RAISE WARNING 'operator family % for access method "sware" is older than the btree family that it is a copy of', pair.target_name
            USING DETAIL = 'From PostgreSQL 18 on, btree indexes of that family are not used for ORDER BY and merge joins.',
                  HINT = format('Drop the copy, and indexes that use it, with DROP OPERATOR FAMILY %s USING sware CASCADE; then clone the btree family again with sware_clone_opfamily().',
                                pair.target_name);
        END IF;

        RETURN QUERY
        SELECT format('%s: %s', pair.target_name, clause)
        FROM (SELECT * FROM @extschema@.sware_opfamily_members(pair.source)
              EXCEPT
              SELECT * FROM @extschema@.sware_opfamily_members(pair.target)) AS missing
        ORDER BY clause;

        -- Members first, so that none becomes part of a class: if pg_dump then
        -- dumps the class, it can be restored whether or not CREATE EXTENSION
        -- has already found the same members and added them.
        PERFORM @extschema@.sware_add_missing_members(pair.source, pair.target);

        FOR class IN
            SELECT original.oid, original.opcname
            FROM pg_opclass AS original
            WHERE original.opcfamily = pair.source
            AND NOT EXISTS (SELECT FROM pg_opclass AS copied
                            WHERE copied.opcfamily = pair.target
                            AND copied.opcname = original.opcname
                            AND copied.opcintype = original.opcintype)
            ORDER BY original.opcname
        LOOP
            PERFORM @extschema@.sware_clone_opclass(class.oid, pair.target);
            RETURN NEXT format('%s: OPERATOR CLASS %I', pair.target_name, class.opcname);
        END LOOP;
    END LOOP;
END
$$;

COMMENT ON FUNCTION sware_sync_opfamilies() IS
'add to all cloned operator families what their btree originals have gained since, and return what was added';

--
-- Copies of the built-in families
--
-- They live in the extension's schema, not in pg_catalog: a default operator
-- class is found by type in any schema, and others (text_pattern_ops) are
-- found through search_path or with the schema written out.
--
DO $$
DECLARE
    source oid;
BEGIN
    FOR source IN
        SELECT pg_opfamily.oid
        FROM pg_catalog.pg_opfamily
        JOIN pg_catalog.pg_am ON pg_am.oid = opfmethod
        WHERE amname = 'btree' AND pg_opfamily.oid < 16384
        ORDER BY 1
    LOOP
        PERFORM @extschema@.sware_clone_opfamily(source, pg_catalog.current_schema());
    END LOOP;
END
$$;
