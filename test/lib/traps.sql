-- Traps that user "mallory" sets for statements of a superuser: objects with the names
-- that these statements use, for arguments that fit better than those of pg_catalog's,
-- or as well.  A trap that is stepped into makes mallory a superuser, and warns of it.
CREATE SCHEMA mallory AUTHORIZATION mallory;
SET SESSION AUTHORIZATION mallory;

CREATE FUNCTION mallory.is_called(trap text) RETURNS bool LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
    RAISE WARNING 'mallory has caught a call of %', trap;
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        ALTER ROLE mallory SUPERUSER;
    END IF;
    RETURN true;
END
$$;

-- A result of this type is an error where it is used, even if the call is not reached.
CREATE TYPE mallory.misfit AS ();

-- Sets traps for a script in a schema.  Results are of the type that is usual for the
-- name in pg_catalog, or of another type.  Functions in "free", such as "f(integer)",
-- are left out.
CREATE PROCEDURE mallory.set_traps(place name, script text, other_result regtype, free text[])
LANGUAGE plpgsql
SET check_function_bodies = off AS $$
DECLARE
    scalars CONSTANT text[] :=
        '{oid, int2, int4, int8, bool, name, text, "\"char\"",
          regclass, regtype, regprocedure, regoperator, anyelement}'::regtype[];
    types CONSTANT text[] := scalars || '{oid[], name[], text[], anyarray}'::regtype[]::text[];
    statement text;
BEGIN
    FOR statement IN
        WITH operator AS (
            -- Those that keywords stand for, too.
            SELECT oprname AS name, mode() WITHIN GROUP (ORDER BY oprresult::regtype) AS result
            FROM pg_operator
            JOIN pg_type ON pg_type.oid = oprresult
            WHERE oprkind = 'b' AND typtype <> 'p'
            AND (strpos(script, oprname) > 0 OR oprname IN ('=', '<>', '<', '<=', '>', '>=', '~~', '!~~'))
            GROUP BY oprname
        ), function AS (
            SELECT word AS name, mode()
                WITHIN GROUP (ORDER BY prorettype::regtype) FILTER (WHERE typtype <> 'p') AS result
            FROM (SELECT DISTINCT match[1] AS word
                FROM regexp_matches(script, '(\w+)\s*\(', 'g') AS match) AS words
            LEFT JOIN pg_proc ON proname = word AND pronamespace = 'pg_catalog'::regnamespace
            LEFT JOIN pg_type ON pg_type.oid = prorettype
            WHERE pg_proc.oid IS NOT NULL OR word LIKE 'sware%'
            GROUP BY word
        ), arguments AS (
            SELECT '{}'::text[] AS list
            UNION ALL
            SELECT ARRAY[a] FROM unnest(types) AS a
            UNION ALL
            SELECT ARRAY[a, b] FROM unnest(types) AS a, unnest(types) AS b
            UNION ALL
            SELECT ARRAY['text', a, b] FROM unnest(scalars) AS a, unnest(scalars) AS b
        ), signature AS (
            SELECT list, array_to_string(list, ', ') AS input,
                   regexp_replace(array_to_string(list, ', '),
                       '^(text, )?(\w+\[\]|anyarray)$', '\1VARIADIC \2') AS declared
            FROM arguments
        )
        SELECT format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', place, name, declared,
                      COALESCE(other_result, result, 'text'),
                      format('BEGIN PERFORM mallory.is_called(%L); RETURN NULL; END',
                          format('%s(%s)', name, input)))
        FROM function, signature
        WHERE format('%s(%s)', name, input) <> ALL (free)
        UNION ALL
        SELECT format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', place, name, input,
                      COALESCE(other_result, result),
                      format('BEGIN PERFORM mallory.is_called(%L); RETURN NULL; END',
                          format('%s(%s)', name, input)))
               || format('; CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %I.%I)',
                         place, name, list[1], list[2], place, name)
        FROM operator, signature
        WHERE cardinality(list) = 2
        UNION ALL
        -- A view can have no column of a pseudo-type.
        SELECT format('CREATE VIEW %I.%I AS SELECT %s FROM pg_catalog.%I WHERE mallory.is_called(%L)',
                      place, relname,
                      (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
                       FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
                       WHERE attrelid = pg_class.oid AND attnum > 0 AND typtype <> 'p'),
                      relname, 'view ' || relname)
        FROM pg_class
        WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
        AND script ~ format('\m%s\M', relname)
    LOOP
        EXECUTE statement;
    END LOOP;

    FOR statement IN
        SELECT format('CREATE DOMAIN %I.%I AS pg_catalog.%I CHECK (mallory.is_called(%L))',
                      place, typname, typname, 'type ' || typname)
        FROM pg_type
        WHERE oid = ANY (scalars::regtype[]) AND typtype = 'b'
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;

RESET SESSION AUTHORIZATION;
