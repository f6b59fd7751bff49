-- The phases of CREATE INDEX that pg_stat_progress_create_index names.
SELECT n, pg_indexam_progress_phasename(a.oid, n) AS phase
FROM pg_am a, generate_series(1, 8) n
WHERE a.amname = 'sware' AND pg_indexam_progress_phasename(a.oid, n) IS NOT NULL ORDER BY n;

-- An index expression looks at the phase of the build that calls it.
CREATE TABLE watched (a int);
INSERT INTO watched SELECT generate_series(1, 2000);
CREATE FUNCTION tell_phase(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF a = 1000 THEN
		RAISE NOTICE '%', (SELECT phase FROM pg_stat_progress_create_index WHERE pid = pg_backend_pid());
	END IF;
	RETURN a;
END
$$;
CREATE INDEX watched_a ON watched USING sware (tell_phase(a));
SELECT sware_check('watched_a', true);
DROP TABLE watched;
DROP FUNCTION tell_phase;
