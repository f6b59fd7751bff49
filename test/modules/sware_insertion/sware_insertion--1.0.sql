\echo Use "CREATE EXTENSION sware_insertion" to load this file. \quit

-- Inserts the row at a place of an index's table into the index, with one of the
-- checks 'no', 'yes', 'partial', and 'existing'; returns what the index says.
CREATE FUNCTION sware_insert_row(index regclass, place tid, check_unique text)
RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
