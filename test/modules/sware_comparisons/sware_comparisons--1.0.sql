\echo Use "CREATE EXTENSION sware_comparisons" to load this file. \quit

-- Compare and hash as the built-in functions do, and raise an error if they are
-- called where none may be called: see sware_comparisons.c.
CREATE FUNCTION sware_compare_watching(int, int) RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sware_hash_watching(int) RETURNS int
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sware_hash_extended_watching(int, bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;

-- An order of integers that goes by these functions.  Its equality is its own.
CREATE OPERATOR === (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int, COMMUTATOR = ===,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR CLASS watching_hash_ops FOR TYPE int USING hash AS
	OPERATOR 1 ===, FUNCTION 1 sware_hash_watching(int),
	FUNCTION 2 (int, int) sware_hash_extended_watching(int, bigint);
CREATE OPERATOR CLASS watching_ops FOR TYPE int USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 ===, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 sware_compare_watching(int, int);

-- What this session has done since the last call.
CREATE FUNCTION sware_watched(
	OUT comparisons bigint,
	OUT comparisons_unlocked bigint,	-- with no page locked
	OUT hashes bigint,
	OUT most_locked_pages int)			-- by a comparison
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
