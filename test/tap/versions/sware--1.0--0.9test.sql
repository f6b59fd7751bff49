/* sware--1.0--0.9test.sql: to an earlier version, as the tests have it */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sware UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

ALTER EXTENSION sware DROP FUNCTION @extschema@.sware_flush(regclass);
DROP FUNCTION @extschema@.sware_flush(regclass);
