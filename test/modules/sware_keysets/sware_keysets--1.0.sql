\echo Use "CREATE EXTENSION sware_keysets" to load this file. \quit

-- Adds, removes and looks up fingerprints at random, and compares with a plain
-- hash table; a difference is an error.  Returns what there is then, before the
-- set is emptied.
CREATE FUNCTION sware_compare_key_set(is_exact bool,
	shape text,				-- dense, descending, strided, random, near, extreme, few
	steps int, seed bigint,
	OUT has_groups bool,
	OUT chunks int,
	OUT fingerprints bigint)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Fills sets, side by side, until none of them gets more memory; what goes wrong
-- is an error.  Returns the share of the pool that they have then.
CREATE FUNCTION sware_exhaust_key_sets(is_exact bool, sets int) RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Fingerprints that share a place.
CREATE FUNCTION sware_check_company() RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Chunks of the pool that sets have.
CREATE FUNCTION sware_key_set_chunks() RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
