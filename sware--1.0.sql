/* sware--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION sware" to load this file. \quit

-- A user who may create objects in the extension's schema may have put functions
-- and operators there before.  So names are looked up in pg_catalog alone, and
-- the extension's own objects are named with their schema.  The extension's
-- functions are called with every argument, each of the declared type, so that
-- no other function matches as well.
SET LOCAL search_path = pg_catalog, pg_temp;

--
-- Access method
--

CREATE FUNCTION @extschema@.sware_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@.sware_handler(internal) IS
'handler of the sware index access method';

CREATE ACCESS METHOD sware TYPE INDEX HANDLER @extschema@.sware_handler;

COMMENT ON ACCESS METHOD sware IS
'ordered index access method for keys that arrive nearly in order';

--
-- Inspection
--

CREATE FUNCTION @extschema@.sware_check(index regclass,
    heapallindexed boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_check(regclass, boolean) IS
'check the structure of a sware index, and optionally that every heap tuple is in it';

-- The function reads whole relations, and its errors may show values of rows.
REVOKE ALL ON FUNCTION @extschema@.sware_check(regclass, boolean) FROM PUBLIC;

-- Only superusers may call the page functions below; the C code checks that.

CREATE FUNCTION @extschema@.sware_metapage(IN index regclass,
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

COMMENT ON FUNCTION @extschema@.sware_metapage(regclass) IS
'contents of the metapage of a sware index';

CREATE FUNCTION @extschema@.sware_page_stats(IN index regclass, IN blkno bigint,
    OUT blkno bigint,
    OUT kind text,
    OUT level integer,
    OUT incarnation bigint,
    OUT live_items integer,
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

COMMENT ON FUNCTION @extschema@.sware_page_stats(regclass, bigint) IS
'summary of one page of a sware index';

CREATE FUNCTION @extschema@.sware_page_items(IN index regclass, IN blkno bigint,
    OUT itemoffset integer,
    OUT kind text,
    OUT ctid tid,
    OUT itemlen integer,
    OUT key_attributes integer,
    OUT nulls boolean,
    OUT vars boolean,
    OUT data text,
    OUT dead boolean,
    OUT htid tid,
    OUT tids tid[],
    OUT child bigint,
    OUT child_incarnation bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_page_items(regclass, bigint) IS
'items of one page of a sware index';

CREATE FUNCTION @extschema@.sware_buffer_pages(IN index regclass,
    OUT block bigint,
    OUT incarnation bigint,
    OUT state text,
    OUT entries integer,
    OUT slot bigint,
    OUT sequence bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_buffer_pages(regclass) IS
'pages of the buffer of a sware index';

--
-- Operation
--

CREATE FUNCTION @extschema@.sware_flush(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION @extschema@.sware_flush(regclass) IS
'move all entries of the buffer of a sware index to its tree';

CREATE FUNCTION @extschema@.sware_stats(IN index regclass,
    OUT buffer_entries bigint,
    OUT buffer_pages bigint,
    OUT estimated_k double precision,
    OUT estimated_l double precision,
    OUT estimated_late double precision,
    OUT entries_buffered bigint,
    OUT entries_appended bigint,
    OUT entries_inserted bigint,
    OUT entries_marked bigint,
    OUT entries_deleted bigint,
    OUT entries_dropped bigint,
    OUT flushes bigint,
    OUT flush_time double precision,
    OUT flushed_pages bigint,
    OUT flushed_entries bigint,
    OUT sorted_pages bigint,
    OUT leaf_visits bigint,
    OUT leaf_splits bigint,
    OUT leaf_moves bigint,
    OUT bloom_probes bigint,
    OUT bloom_false_positives bigint,
    OUT stats_since timestamptz)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.sware_stats(regclass) IS
'content of the buffer of a sware index, and what has happened to the index';

-- OFFSET keeps the function from being called for indexes of other kinds.
CREATE VIEW @extschema@.pg_stat_sware AS
SELECT indexes.*, stats.*
FROM (SELECT pg_class.oid AS indexrelid, pg_index.indrelid AS relid,
             pg_namespace.nspname AS schemaname, pg_class.relname AS indexrelname
      FROM pg_class
      JOIN pg_index ON pg_index.indexrelid = pg_class.oid
      JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
      JOIN pg_am ON pg_am.oid = pg_class.relam
      WHERE pg_am.amname = 'sware'
      AND pg_class.relkind = 'i'
      AND NOT pg_is_other_temp_schema(pg_class.relnamespace)
      OFFSET 0) AS indexes,
     LATERAL @extschema@.sware_stats(indexes.indexrelid::regclass) AS stats;

COMMENT ON VIEW @extschema@.pg_stat_sware IS
'sware_stats of all sware indexes of this database';

GRANT SELECT ON @extschema@.pg_stat_sware TO PUBLIC;

CREATE FUNCTION @extschema@.sware_sortedness(IN "table" regclass, IN "column" name,
    OUT rows_measured bigint,
    OUT k double precision,
    OUT l double precision,
    OUT recommendation text,
    OUT buffer_size text)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

COMMENT ON FUNCTION @extschema@.sware_sortedness(regclass, name) IS
'how nearly the rows of a table are in order of a column, and what index that speaks for';

--
-- Operator families
--
-- sware has the strategies and support functions of btree, so its operator
-- families are copies of btree's, with all members.  A copy that lacked a member
-- would change plans in the whole database: from PostgreSQL 18 on, the planner
-- compares the families of two equality operators over all ordering access
-- methods, and merges the operators' equivalence classes only if they agree.
--
-- PL/pgSQL looks up names whenever a function runs.  Therefore PL/pgSQL functions
-- have a search_path of their own, and call no function of this extension: its
-- schema may have been renamed, and another user may have made a schema of its
-- old name.  Functions that call functions of this extension are written in SQL,
-- with bodies that are parsed here.
--

-- Makes an empty sware family with the name of a btree family.
CREATE FUNCTION @extschema@.sware_create_opfamily(source_family oid, target_schema name,
    OUT target_family oid,
    OUT target_name text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source record;
    class record;
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
              HINT = 'Only btree operator families have the operators and support functions '
                     'that sware needs.';
    END IF;

    -- By default the copy goes to the schema of the source, where users expect
    -- it; but nothing of this extension belongs into pg_catalog.
    target_schema := COALESCE(target_schema, NULLIF(source.nspname, 'pg_catalog'),
                              (SELECT nspname
                               FROM pg_extension
                               JOIN pg_namespace ON pg_namespace.oid = extnamespace
                               WHERE extname = 'sware'));
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = target_schema) THEN
        RAISE invalid_schema_name
        USING MESSAGE = format('schema "%s" does not exist', target_schema),
              HINT = 'Create the schema first, or leave out the second argument '
                     'to use the schema of the source.';
    END IF;
    target_name := format('%I.%I', target_schema, source.opfname);

    IF EXISTS (SELECT FROM pg_opfamily
               JOIN pg_namespace ON pg_namespace.oid = opfnamespace
               JOIN pg_am ON pg_am.oid = opfmethod
               WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware')
    THEN
        RAISE duplicate_object
        USING MESSAGE = format('operator family %s for access method "sware" already exists', target_name),
              HINT = format('Drop it first with DROP OPERATOR FAMILY %s USING sware, or name another schema.',
                            target_name);
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
        USING MESSAGE = format('type %s already has a default operator class for access method "sware"',
                               class.type),
              DETAIL = format('It is %I.%I.', class.nspname, class.opcname),
              HINT = format('Operator family %I.%I has probably been cloned before.',
                            source.nspname, source.opfname);
    END IF;

    EXECUTE format('CREATE OPERATOR FAMILY %s USING sware', target_name);
    SELECT pg_opfamily.oid INTO STRICT target_family
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE nspname = target_schema AND opfname = source.opfname AND amname = 'sware';
END
$$;

COMMENT ON FUNCTION @extschema@.sware_create_opfamily(oid, name) IS
'make an empty sware operator family for a copy of a btree one';

-- Adds the classes and members that a btree family has and a sware family lacks,
-- and returns what was added.
CREATE FUNCTION @extschema@.sware_complete_opfamily(source_family oid, target_family oid)
RETURNS SETOF text
LANGUAGE plpgsql
STRICT
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    target record;
    class record;
    is_new boolean;
    types oid[];
    clauses text[];
BEGIN
    SELECT nspname, opfname INTO STRICT target
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    WHERE pg_opfamily.oid = target_family;
    is_new := NOT EXISTS (SELECT FROM pg_amop WHERE amopfamily = target_family);

    -- The clauses that declare missing members, each with its type, or NULL if
    -- it is for two types.
    SELECT array_agg(type), array_agg(clause)
    INTO types, clauses
    FROM (SELECT CASE WHEN lefttype = righttype THEN lefttype END AS type, clause
          FROM (SELECT amopfamily AS family, amoplefttype AS lefttype, amoprighttype AS righttype,
                       format('OPERATOR %s %s', amopstrategy, amopopr::regoperator) AS clause
                FROM pg_amop
                UNION ALL
                SELECT amprocfamily, amproclefttype, amprocrighttype,
                       format('FUNCTION %s (%s, %s) %s', amprocnum,
                              amproclefttype::regtype, amprocrighttype::regtype,
                              amproc::regprocedure)
                FROM pg_amproc) AS member
          WHERE family IN (source_family, target_family)
          GROUP BY lefttype, righttype, clause
          HAVING every(family = source_family)
          ORDER BY clause) AS missing;

    -- If two classes share a type (text_ops and varchar_ops), the default one
    -- comes first.  A class that a user has added to a built-in family must not
    -- become part of this extension, so it is left to sware_sync_opfamilies().
    -- OIDs below 16384 are PostgreSQL's own.
    FOR class IN
        SELECT opcname, opcdefault, opcintype, COALESCE(NULLIF(opckeytype, 0), opcintype) AS storage
        FROM pg_opclass AS original
        WHERE opcfamily = source_family
        AND NOT (is_new AND source_family < 16384 AND oid >= 16384)
        AND NOT EXISTS (SELECT FROM pg_opclass AS copied
                        WHERE copied.opcfamily = target_family
                        AND copied.opcname = original.opcname
                        AND copied.opcintype = original.opcintype)
        ORDER BY opcdefault DESC, opcname
    LOOP
        -- A class needs one item at least: STORAGE, which has no effect if it
        -- names the class's own type.  Only for name_ops it has: that stores names
        -- as cstring, without padding, which the handler allows by amstorage.
        --
        -- In a new family, the first class of a type also gets the members of this
        -- type, which are dropped with it.  Members that are added later belong to
        -- the family.  Then a class that pg_dump dumps can be restored, whether or
        -- not CREATE EXTENSION has found the same members and added them.
        EXECUTE format('CREATE OPERATOR CLASS %I.%I %s FOR TYPE %s USING sware FAMILY %I.%I AS %s',
                       target.nspname, class.opcname,
                       CASE WHEN class.opcdefault THEN 'DEFAULT' END,
                       class.opcintype::regtype, target.nspname, target.opfname,
                       (SELECT concat_ws(', ', 'STORAGE ' || class.storage::regtype,
                                         string_agg(clause, ', ' ORDER BY clause))
                        FROM unnest(types, clauses) AS missing (type, clause)
                        WHERE is_new AND type = class.opcintype));
        RETURN NEXT format('OPERATOR CLASS %I', class.opcname);

        IF is_new THEN
            SELECT array_agg(type), array_agg(clause)
            INTO types, clauses
            FROM unnest(types, clauses) AS missing (type, clause)
            WHERE type IS DISTINCT FROM class.opcintype;
        END IF;
    END LOOP;

    IF cardinality(clauses) > 0 THEN
        EXECUTE format('ALTER OPERATOR FAMILY %I.%I USING sware ADD %s',
                       target.nspname, target.opfname, array_to_string(clauses, ', '));
        RETURN QUERY SELECT unnest(clauses);
    END IF;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_complete_opfamily(oid, oid) IS
'add to a sware operator family the classes and members of a btree one that it lacks';

CREATE FUNCTION @extschema@.sware_clone_opfamily(source_family oid, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE sql
BEGIN ATOMIC
    SELECT target_name
    FROM @extschema@.sware_create_opfamily(source_family, target_schema),
         LATERAL (SELECT count(*)
                  FROM @extschema@.sware_complete_opfamily(source_family, target_family)) AS added;
END;

COMMENT ON FUNCTION @extschema@.sware_clone_opfamily(oid, name) IS
'make a sware operator family, with its classes, from the btree one of this OID';

-- Finds a family by its name.  If the name has no schema, these schemas are
-- searched.
CREATE FUNCTION @extschema@.sware_find_opfamily(family text, schemas name[])
RETURNS oid
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    parts text[] := parse_ident(family);
    found_family oid;
BEGIN
    IF cardinality(parts) > 2 THEN
        RAISE invalid_name
        USING MESSAGE = format('invalid operator family name: %s', family),
              HINT = 'Write family or schema.family.';
    ELSIF cardinality(parts) = 2 THEN
        schemas := parts[1:1];
    END IF;

    -- Each access method can have a family of this name.  btree's is preferred;
    -- another one is returned too, so that the caller can say why it is refused.
    SELECT pg_opfamily.oid INTO found_family
    FROM pg_opfamily
    JOIN pg_namespace ON pg_namespace.oid = opfnamespace
    JOIN pg_am ON pg_am.oid = opfmethod
    WHERE opfname = parts[cardinality(parts)]::name AND nspname = ANY (schemas)
    ORDER BY amname = 'btree' DESC, array_position(schemas, nspname), amname
    LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object
        USING MESSAGE = format('operator family "%s" does not exist for access method "btree"', family),
              HINT = 'The families of btree are listed by \dAf btree in psql; '
                     'a name outside of search_path needs its schema.';
    END IF;
    RETURN found_family;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_find_opfamily(text, name[]) IS
'OID of an operator family, preferably one of btree, of this name';

CREATE FUNCTION @extschema@.sware_clone_opfamily(source_family text, target_schema name DEFAULT NULL)
RETURNS text
LANGUAGE sql
RETURN @extschema@.sware_clone_opfamily(
    @extschema@.sware_find_opfamily(source_family, current_schemas(true)), target_schema);

COMMENT ON FUNCTION @extschema@.sware_clone_opfamily(text, name) IS
'make a sware operator family, with its classes, from the btree one of this name';

-- Lists copies with their originals, and warns of copies that PostgreSQL prefers
-- to their originals.
CREATE FUNCTION @extschema@.sware_opfamily_copies(
    OUT source_family oid,
    OUT target_family oid,
    OUT target_name text)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- A copy has the name of its source and its "<" operators.
    FOR source_family, target_family, target_name IN
        SELECT source.oid, target.oid, format('%I.%I', nspname, target.opfname) AS name
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
        ORDER BY name
    LOOP
        -- From version 18 on, PostgreSQL looks for the meaning of ORDER BY among
        -- the families of all ordering access methods, and takes the one with the
        -- smallest OID.  btree indexes are of use only for an order of a family
        -- of btree.
        IF target_family < source_family THEN
            RAISE WARNING 'operator family % for access method "sware" is older than '
                          'the btree family that it is a copy of', target_name
            USING DETAIL = 'From PostgreSQL 18 on, btree indexes of that family are not used '
                           'for ORDER BY and merge joins.',
                  HINT = format('Drop the copy, and indexes that use it, with '
                                'DROP OPERATOR FAMILY %s USING sware CASCADE; then clone the btree family '
                                'again with sware_clone_opfamily().',
                                target_name);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION @extschema@.sware_opfamily_copies() IS
'sware operator families that are copies of btree ones';

-- Adds to all copies what their originals have gained.  A btree family can grow
-- after it was cloned: another extension adds its types to a built-in family, an
-- extension is updated, or pg_upgrade moves a copy to a new PostgreSQL whose
-- families have more members.
--
-- The aggregate makes sure that everything is done before the first line is
-- returned.
CREATE FUNCTION @extschema@.sware_sync_opfamilies()
RETURNS SETOF text
LANGUAGE sql
BEGIN ATOMIC
    SELECT unnest(array_agg(format('%s: %s', target_name, line)))
    FROM @extschema@.sware_opfamily_copies(),
         LATERAL @extschema@.sware_complete_opfamily(source_family, target_family) AS line;
END;

COMMENT ON FUNCTION @extschema@.sware_sync_opfamilies() IS
'add to all cloned operator families what their btree originals have gained since, and return what was added';

--
-- Copies of the built-in families
--
-- They are in the extension's schema, not in pg_catalog.  A default operator class
-- is found by its type in any schema; others (text_pattern_ops) are found through
-- search_path, or by their name with the schema.
--
SELECT @extschema@.sware_clone_opfamily(family, NULL::name)
FROM (SELECT pg_opfamily.oid
      FROM pg_opfamily
      JOIN pg_am ON pg_am.oid = opfmethod
      WHERE amname = 'btree' AND pg_opfamily.oid < 16384
      ORDER BY 1) AS built_in (family);
