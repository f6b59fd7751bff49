\echo Use "CREATE EXTENSION sware_files" to load this file. \quit

-- Gives each of two relations the file of the other one, as extensions that rebuild
-- tables do. If `is_seen` is false, the transaction does not see it before its next
-- command.
CREATE FUNCTION sware_exchange_files(one regclass, other regclass, is_seen boolean DEFAULT true)
RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Drops a relation and all that depends on it.
CREATE FUNCTION sware_drop(relation regclass) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Copies the file of an index to another tablespace.
CREATE FUNCTION sware_move(index regclass, tablespace text) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;

-- Empties a table, and builds its indexes anew in the files that they have.
CREATE FUNCTION sware_truncate_in_place(relation regclass) RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
