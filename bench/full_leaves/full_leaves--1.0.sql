-- An index of this access method cannot be read, and is useless after an error.

\echo Use "CREATE EXTENSION full_leaves" to load this file. \quit

CREATE FUNCTION full_leaves_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE ACCESS METHOD full_leaves TYPE INDEX HANDLER full_leaves_handler;

CREATE OPERATOR CLASS full_leaves_int8_ops DEFAULT FOR TYPE int8 USING full_leaves AS
	OPERATOR 1 = (int8, int8);
