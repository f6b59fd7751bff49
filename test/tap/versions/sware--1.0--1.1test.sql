/* sware--1.0--1.1test.sql: to a later version, as the tests have it */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sware UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE FUNCTION @extschema@.sware_entries(index regclass)
RETURNS bigint
LANGUAGE sql
RETURN (SELECT buffer_entries FROM @extschema@.sware_stats(index));

COMMENT ON ACCESS METHOD sware IS 'updated';
