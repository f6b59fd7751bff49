\echo Use "CREATE EXTENSION sware_snapshots" to load this file. \quit

-- Lets this session act as with old_snapshot_threshold = 0; false if the server has
-- no such setting.  Snapshots taken from then on can be too old.
CREATE FUNCTION sware_let_snapshots_age() RETURNS boolean
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Makes all snapshots too old that were taken before now.
CREATE FUNCTION sware_age_snapshots() RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
