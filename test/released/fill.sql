-- Fills the table of index.sql, so that its indexes have pages of all kinds: posting lists
-- and marked entries, deleted pages, sorted buffer pages, sealed, retired and open ones.
SET sware.fault_buffer = on;
SET sware.fault_pages_to_sort = 2;

CREATE PROCEDURE add_rows(first int, last int, kind text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO released
		SELECT n, CASE kind WHEN 'late' THEN n - n * 7 % 40 WHEN 'scattered' THEN n * 7919 % 100003
			ELSE n END,
			n % 7, CASE WHEN n % 50 > 0 THEN 'label ' || n % 300 END
		FROM generate_series(i * 100 + 1, i * 100 + 100) n;
		COMMIT;
	END LOOP;
END $$;

CALL add_rows(0, 9, 'in order');
CALL add_rows(10, 19, 'late');
-- Leaves become empty, and are deleted.
DELETE FROM released WHERE id BETWEEN 101 AND 900;
VACUUM (FREEZE, INDEX_CLEANUP ON) released;
CALL add_rows(20, 49, 'scattered');
SELECT sware_flush('released_label');
CALL add_rows(50, 52, 'late');
-- Marks, of rows that VACUUM leaves to be removed: a scan that finds them dead sets these.
DELETE FROM released WHERE id BETWEEN 11 AND 30 OR id BETWEEN 2001 AND 2040;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM released WHERE id BETWEEN 1 AND 2100;
SELECT count(*) FROM released WHERE id BETWEEN 1 AND 2100;
CHECKPOINT;
