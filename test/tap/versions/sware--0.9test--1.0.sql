/* sware--0.9test--1.0.sql: from an earlier version, as the tests have it */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sware UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

CREATE FUNCTION @extschema@.sware_flush(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;
