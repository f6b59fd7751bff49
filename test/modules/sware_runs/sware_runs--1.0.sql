\echo Use "CREATE EXTENSION sware_runs" to load this file. \quit

-- Inserts the entries of all rows of the index's table into the index, as
-- sorted runs of at most run_length entries; returns the number of entries.
CREATE FUNCTION sware_insert_runs(index regclass, run_length int)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The same, but each run is given to the bulk append only; returns the number
-- of entries that it took.
CREATE FUNCTION sware_append_runs(index regclass, run_length int)
RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Writes the leaves of an append and fails before they are linked.
CREATE FUNCTION sware_leak_leaves(index regclass)
RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
