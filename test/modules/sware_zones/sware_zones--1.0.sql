\echo Use "CREATE EXTENSION sware_zones" to load this file. \quit

-- Compares what shared memory knows about an index's sealed pages with the
-- pages, and raises an error where the two contradict each other.  Returns
-- what there is; sorted zones and unsorted pages together have all sealed pages.  This
-- is when `readers` readers have come; or, if that is 0, when nothing more is to be built.
CREATE FUNCTION sware_compare_zones(index regclass, readers int DEFAULT 0,
	OUT sealed int,			-- pages
	OUT zones int,			-- sorted ones
	OUT sorted int,			-- pages in sorted zones
	OUT unsorted int,		-- pages
	OUT zonemaps int,		-- of unsorted pages
	OUT filters int,		-- of sorted zones
	OUT retired int,		-- pages in sorted zones, whose entries are skipped
	OUT false_positives float8)	-- share of what the filters should deny
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The number of chunks of the pool, of unused ones, and of those that are used
-- for zones.
CREATE FUNCTION sware_count_chunks(OUT total int, OUT unused int, OUT used int)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The quota of an index's buffer, in pages, and the number of slots that its
-- directory can have.
CREATE FUNCTION sware_quota(index regclass, OUT quota int, OUT slots int)
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- The sorted zones of an index's page runs.
CREATE FUNCTION sware_run_zones(index regclass,
	OUT zones bigint,
	OUT pages bigint,		-- that these zones have
	OUT retired bigint,		-- of these pages
	OUT entries bigint,
	OUT chunks bigint,		-- of the pool
	OUT outlined bigint)	-- pages of those of these zones that are outlines
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
