\echo Use "CREATE EXTENSION sware_fingerprints" to load this file. \quit

-- The fingerprint of a key, given by a row of the types of the key columns.
CREATE FUNCTION sware_fingerprint(index regclass, key record) RETURNS bigint
AS 'MODULE_PATHNAME', 'sware_fingerprint_of' LANGUAGE C STRICT;

-- The number, from 0 on, of the lock that is a key's with that fingerprint.
CREATE FUNCTION sware_key_stripe(fingerprint bigint) RETURNS int
AS 'MODULE_PATHNAME', 'sware_key_stripe_of' LANGUAGE C STRICT;

-- Hash functions that keep memory between calls, as those of composite types do, and
-- raise an error if what they keep has got lost.  With the setting hashing.action,
-- the next call executes that first.
CREATE FUNCTION sware_hash_keeping(int, bigint) RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE;
CREATE FUNCTION sware_hash_keeping_too(int, bigint) RETURNS bigint
AS 'MODULE_PATHNAME', 'sware_hash_keeping' LANGUAGE C STRICT IMMUTABLE;

-- How often one of them has begun anew in this session.
CREATE FUNCTION sware_hash_beginnings() RETURNS bigint
AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
