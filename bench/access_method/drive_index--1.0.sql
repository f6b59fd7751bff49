-- Entries made by drive_index() point to rows that do not exist: the table
-- must be empty, and no query may use the index.

\echo Use "CREATE EXTENSION drive_index" to load this file. \quit

-- Remembers, for this session, the keys that drive_index() works on.
CREATE FUNCTION drive_index_keys(keys bigint[])
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

-- Inserts "inserts" of the keys, from number "first" on (the first key is
-- number 0), and does "reads" reads, spread evenly among the inserts, each for
-- "width" keys from a random one of those that were inserted so far, of whose
-- entries it takes "most" (0: all).  Returns the seconds it took and how many
-- entries the reads found.
CREATE FUNCTION drive_index(index regclass, first bigint, inserts bigint,
	reads bigint, width bigint, most bigint, seed bigint,
	OUT seconds double precision, OUT found bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

REVOKE ALL ON FUNCTION drive_index_keys(bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION drive_index(regclass, bigint, bigint, bigint, bigint, bigint, bigint) FROM PUBLIC;
