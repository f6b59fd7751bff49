-- Entries made by drive_index() point to the rows of the table, which must be
-- there, in the order of the keys' arrival. The index begins without entries.

\echo Use "CREATE EXTENSION drive_index" to load this file. \quit

-- Remembers, for this session, the keys that drive_index() works on.
CREATE FUNCTION drive_index_keys(keys bigint[])
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

-- Inserts "inserts" of the keys, from number "first" on (the first key is
-- number 0), and does "reads" reads, spread evenly among the inserts, each for
-- "width" keys from a random one of the "latest" (0: of all) that were inserted
-- so far, of whose entries it takes "most" (0: all).  Returns the seconds it took
-- and how many entries the reads found.
CREATE FUNCTION drive_index(index regclass, first bigint, inserts bigint,
	reads bigint, width bigint, most bigint, seed bigint, latest bigint,
	OUT seconds double precision, OUT found bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

-- Does the same in transactions of "operations" inserts and reads each, whose
-- commits count, too: work that is put off until then belongs to the inserts.
CREATE PROCEDURE drive_transactions(index regclass, first bigint,
	inserts bigint, reads bigint, width bigint, most bigint, seed bigint,
	latest bigint, operations bigint, OUT seconds double precision,
	OUT entries bigint)
LANGUAGE plpgsql AS $$
DECLARE
	total bigint := inserts + reads;
	done bigint := 0;
	done_then bigint;
	inserted bigint := 0;
	more bigint;
	part record;
	begun timestamptz;
BEGIN
	seconds := 0;
	entries := 0;
	WHILE done < total LOOP
		done_then := least(done + operations, total);
		more := inserts * done_then / total - inserted;
		SELECT * INTO part FROM drive_index(index,
			first + inserted, more, done_then - done - more, width, most,
			seed + done_then, latest);
		begun := clock_timestamp();
		COMMIT;
		seconds := seconds + part.seconds
			+ extract(epoch FROM clock_timestamp() - begun)::float8;
		entries := entries + part.found;
		inserted := inserted + more;
		done := done_then;
	END LOOP;
END $$;

REVOKE ALL ON FUNCTION drive_index_keys(bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION drive_index(regclass, bigint, bigint, bigint, bigint, bigint,
	bigint, bigint) FROM PUBLIC;
