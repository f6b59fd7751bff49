/* sware--1.0--0.9test.sql: to an earlier version, as the tests have it */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sware UPDATE" to load this file. \quit

ALTER EXTENSION sware DROP FUNCTION sware_sortedness(regclass, name);
DROP FUNCTION sware_sortedness(regclass, name);
