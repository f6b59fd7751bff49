\echo Use "CREATE EXTENSION sware_intervals" to load this file. \quit

-- Scans an index from `low` to `high`, first as a whole, and then in intervals that
-- end at random entries, also between those of one key. Says how many entries there
-- are, and whether those of the intervals were the same, in the same order.
CREATE FUNCTION sware_scan_intervals(index regclass, low int, high int, intervals int,
									 backward boolean, index_only boolean, seed double precision)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The same, for entries with one of the keys.
CREATE FUNCTION sware_scan_intervals_any(index regclass, keys int[], intervals int,
										 backward boolean, index_only boolean, seed double precision)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The same, for entries with a value of the second column. With `whole_values`, an
-- interval has all entries with a value of the first column, or none.
CREATE FUNCTION sware_scan_intervals_second(index regclass, value int, intervals int,
											backward boolean, index_only boolean, whole_values boolean,
											seed double precision)
RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
