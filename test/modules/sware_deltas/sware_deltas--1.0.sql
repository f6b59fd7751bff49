\echo Use "CREATE EXTENSION sware_deltas" to load this file. \quit

-- Makes pairs of pages at random, the second one by a kind of change from the first one,
-- and the delta between them; a delta that is not as it should be is an error.
CREATE FUNCTION sware_check_deltas(change text,	-- see the names in sware_deltas.c
	pairs int, seed bigint,
	OUT fragments bigint,	-- of all deltas
	OUT longest int,		-- the number of bytes of the longest delta
	OUT left_out bigint)	-- bytes outside free space that deltas did not need
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The number of bytes that no delta may exceed.
CREATE FUNCTION sware_delta_limit() RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Damages an item of a leaf that has siblings, in one respect, and tries to close the leaf's
-- gaps; then mends it, unless they were closed.
CREATE FUNCTION sware_close_gaps(index regclass, block int, damage text) RETURNS bool
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
