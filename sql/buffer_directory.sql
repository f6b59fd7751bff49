-- The directory can have no more slots, and all of them list sealed or retired pages.
-- VACUUM finds one for the open page all the same.
SET sware.fault_buffer = on;
\set VERBOSITY terse
SET sware.fault_points = '';
SET sware.fault_directory_slots = 144;
CREATE TABLE directory_full (k int, t text);
CREATE INDEX directory_full_k ON directory_full USING sware (k) INCLUDE (t) WITH (buffer_size = 4096);
ALTER TABLE directory_full ALTER t SET STORAGE PLAIN;
DO $$ BEGIN
	FOR i IN 1 .. 101 LOOP
		INSERT INTO directory_full SELECT i * 4 + g, repeat('x', 1900) FROM generate_series(1, 4) g;
		COMMIT;
	END LOOP;
END $$;
SELECT count(*) FILTER (WHERE slot IS NOT NULL) AS slots,
	count(*) FILTER (WHERE state = 'retired') > 0 AS some_are_retired,
	count(*) FILTER (WHERE state = 'free') AS free,
	count(*) FILTER (WHERE state = 'open' AND entries > 0) > 0 AS one_is_open
FROM sware_buffer_pages('directory_full_k') \gset
SELECT :'some_are_retired' AS some_are_retired, :free AS free, :'one_is_open' AS one_is_open;
SET sware.fault_directory_slots = :slots;
VACUUM directory_full;
SELECT buffer_entries FROM sware_stats('directory_full_k');
SELECT sware_check('directory_full_k', true);
INSERT INTO directory_full VALUES (0, 'y');
SELECT k, t FROM directory_full WHERE k = 0;
DROP TABLE directory_full;
