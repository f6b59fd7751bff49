-- A copy of an operator family that is older than its original is reported: PostgreSQL
-- 18 takes the oldest family as the one that ORDER BY means.
CREATE TYPE rank AS (number int);
CREATE FUNCTION rank_compare(rank, rank) RETURNS int
	LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($1.number, $2.number)';
CREATE FUNCTION rank_lt(rank, rank) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.number < $2.number';
CREATE FUNCTION rank_le(rank, rank) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.number <= $2.number';
CREATE FUNCTION rank_eq(rank, rank) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.number = $2.number';
CREATE FUNCTION rank_ge(rank, rank) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.number >= $2.number';
CREATE FUNCTION rank_gt(rank, rank) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.number > $2.number';
CREATE OPERATOR < (LEFTARG = rank, RIGHTARG = rank, FUNCTION = rank_lt);
CREATE OPERATOR <= (LEFTARG = rank, RIGHTARG = rank, FUNCTION = rank_le);
CREATE OPERATOR = (LEFTARG = rank, RIGHTARG = rank, FUNCTION = rank_eq);
CREATE OPERATOR >= (LEFTARG = rank, RIGHTARG = rank, FUNCTION = rank_ge);
CREATE OPERATOR > (LEFTARG = rank, RIGHTARG = rank, FUNCTION = rank_gt);

-- The original is dropped and made again, as an update of another extension or a dump
-- may do.
CREATE OPERATOR CLASS rank_ops DEFAULT FOR TYPE rank USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 rank_compare(rank, rank);
SELECT sware_clone_opfamily('rank_ops');
SELECT * FROM sware_sync_opfamilies();
DROP OPERATOR FAMILY rank_ops USING btree CASCADE;
CREATE OPERATOR CLASS rank_ops DEFAULT FOR TYPE rank USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 rank_compare(rank, rank);
SELECT * FROM sware_sync_opfamilies();

-- Until it is cloned again.
DROP OPERATOR FAMILY rank_ops USING sware CASCADE;
SELECT sware_clone_opfamily('rank_ops');
SELECT * FROM sware_sync_opfamilies();
SET client_min_messages = warning;
DROP TYPE rank CASCADE;
DROP OPERATOR FAMILY rank_ops USING sware;
DROP OPERATOR FAMILY rank_ops USING btree;
