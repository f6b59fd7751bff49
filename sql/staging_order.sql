-- Entries that arrive out of order are distributed by their first column before they are
-- sorted. Nulls, extreme values and equal keys must be in their places, for each order
-- of the columns.
CREATE TABLE scattered (a bigint, b integer, c smallint, d date);
CREATE INDEX scattered_a ON scattered USING sware (a);
CREATE INDEX scattered_a_desc ON scattered USING sware (a DESC);
CREATE INDEX scattered_a_first ON scattered USING sware (a NULLS FIRST);
CREATE INDEX scattered_b_desc ON scattered USING sware (b DESC NULLS LAST);
CREATE INDEX scattered_c ON scattered USING sware (c);
CREATE INDEX scattered_d_a ON scattered USING sware (d DESC, a);

INSERT INTO scattered
SELECT CASE i % 7 WHEN 0 THEN NULL
		WHEN 1 THEN 9223372036854775807 - i % 3
		WHEN 2 THEN -9223372036854775808 + i % 3
		ELSE (i * 7919::bigint) % 20011 - 10000 END,
	CASE i % 11 WHEN 0 THEN NULL
		WHEN 1 THEN 2147483647
		WHEN 2 THEN -2147483648
		ELSE (i * 7919::bigint) % 20011 - 10000 END,
	CASE i % 5 WHEN 0 THEN NULL ELSE (i * 7919::bigint) % 251 - 100 END,
	CASE i % 13 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity'
		ELSE date '2000-01-01' + (i * 7919::bigint % 97)::integer END
FROM generate_series(1, 20000) AS i;
SELECT relname, sware_check(oid, true) FROM pg_class
WHERE relname LIKE 'scattered\__%' ORDER BY relname;

-- So are outliers, if there are many, and entries whose TIDs are out of order.
CREATE TABLE nearly (a bigint, filler text);
INSERT INTO nearly SELECT 0, repeat('x', 500) FROM generate_series(1, 20000);
DELETE FROM nearly WHERE ctid < '(600,1)';
VACUUM nearly;
CREATE INDEX nearly_a ON nearly USING sware (a);
INSERT INTO nearly
SELECT CASE WHEN i % 9 = 0 THEN i - 3000 WHEN i % 100 = 0 THEN NULL ELSE i / 2 END
FROM generate_series(1, 60000) AS i;
SELECT sware_check('nearly_a', true);
DROP TABLE scattered, nearly;
