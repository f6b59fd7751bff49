\echo Use "CREATE EXTENSION sware_keysets" to load this file. \quit

-- Adds, removes and looks up fingerprints at random, and compares with a plain
-- hash table; a difference is an error.  Returns the chunks that there are then,
-- before the set is emptied.
CREATE FUNCTION sware_compare_key_set(
	shape text,				-- dense, descending, strided, random, near, extreme, few
	steps int, seed bigint)
RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Fills sets, side by side, until none of them gets more memory; what goes wrong
-- is an error.  Returns the share of the pool that they have then.
CREATE FUNCTION sware_exhaust_key_sets(sets int) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Chunks of the pool that sets have.
CREATE FUNCTION sware_key_set_chunks() RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
