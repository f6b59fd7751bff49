-- Insert forecasting: with the option forecast_fill, leaves that leave the right end of
-- the tree get room for the late entries that are to be expected.
-- Another session that flushed would not know what this one has counted just now.
CREATE TABLE twin_sware.t (k bigint, n bigint) WITH (autovacuum_enabled = off);
CREATE INDEX t_fixed ON twin_sware.t USING sware (k);
CREATE INDEX t_forecast ON twin_sware.t USING sware (k) WITH (forecast_fill = on);
SELECT estimated_late, leaf_splits FROM sware_stats('twin_sware.t_forecast');

-- Inserts 10,000 keys in each transaction.  Every n-th key is late, by one to `reach`
-- transactions, or early by one if that is -1; with n = 0 there are none.
CREATE SEQUENCE twin_sware.transactions;
CREATE PROCEDURE twin_sware.load(transactions int, every int, reach int) LANGUAGE plpgsql AS $$
DECLARE
	n int := greatest(every, 1);
	low bigint;
BEGIN
	FOR i IN 1 .. transactions LOOP
		low := nextval('twin_sware.transactions') * 10000;
		INSERT INTO twin_sware.t SELECT k, k FROM generate_series(low, low + 9999) k
			WHERE every = 0 OR k % n <> 0;
		INSERT INTO twin_sware.t SELECT k, k FROM generate_series(low + 10000, low + 19999) k
			WHERE reach < 0 AND k % n = 0;
		INSERT INTO twin_sware.t SELECT k, k
			FROM generate_series(1, reach) delay,
				generate_series(low - 10000 * delay, low - 10000 * delay + 9999) k
			WHERE every <> 0 AND k % n = 0 AND k / n % reach = delay - 1;
		COMMIT;
	END LOOP;
END
$$;
-- Pages and splits so far, the buffer's entries included.
CREATE FUNCTION twin_sware.so_far(index regclass, OUT pages bigint, OUT splits bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sware_flush(index);
	PERFORM sware_check(index);
	pages := pg_relation_size(index) / 8192;
	splits := leaf_splits FROM sware_stats(index);
END
$$;
CREATE TABLE twin_sware.growth (fixed_pages bigint, fixed_splits bigint, pages bigint, splits bigint);
-- What a load adds to both indexes.
CREATE PROCEDURE twin_sware.measure(transactions int, every int, reach int) LANGUAGE plpgsql AS $$
DECLARE
	fixed record := twin_sware.so_far('twin_sware.t_fixed');
	forecast record := twin_sware.so_far('twin_sware.t_forecast');
BEGIN
	CALL twin_sware.load(transactions, every, reach);
	DELETE FROM twin_sware.growth;
	INSERT INTO twin_sware.growth SELECT a.pages - fixed.pages, a.splits - fixed.splits,
			b.pages - forecast.pages, b.splits - forecast.splits
		FROM twin_sware.so_far('twin_sware.t_fixed') a, twin_sware.so_far('twin_sware.t_forecast') b;
END
$$;
CREATE VIEW twin_sware.late AS
	SELECT round(a.estimated_late) AS fixed, round(b.estimated_late) AS forecast
	FROM sware_stats('twin_sware.t_fixed') a, sware_stats('twin_sware.t_forecast') b;

-- Keys in order: leaves are filled more than by default, as soon as enough is known.
CALL twin_sware.measure(1, 0, 1);
SELECT pages = fixed_pages AS are_equal FROM twin_sware.growth;
CALL twin_sware.load(7, 0, 1);
CALL twin_sware.measure(10, 0, 1);
SELECT pages < fixed_pages - 2 AS are_fewer FROM twin_sware.growth;
TABLE twin_sware.late;

-- Every tenth key is late: they find room.
CALL twin_sware.load(30, 10, 2);
CALL twin_sware.measure(10, 10, 2);
SELECT pages < fixed_pages * 0.7 AS is_smaller, splits < fixed_splits / 5 AS are_fewer
FROM twin_sware.growth;
SELECT fixed BETWEEN 7 AND 10 AS fixed, forecast BETWEEN 7 AND 10 AS forecast FROM twin_sware.late;

-- If they are more scattered, they wait in the buffer for each other; they count when
-- they come there, and not again when it is flushed.
CALL twin_sware.load(15, 10, 8);
SELECT buffer_entries > 5000 AS are_buffered FROM sware_stats('twin_sware.t_forecast');
SELECT fixed BETWEEN 7 AND 10 AS fixed, forecast BETWEEN 7 AND 10 AS forecast FROM twin_sware.late;
CALL twin_sware.measure(10, 10, 8);
SELECT pages < fixed_pages * 0.7 AS is_smaller, splits < fixed_splits / 5 AS are_fewer
FROM twin_sware.growth;
SELECT fixed BETWEEN 7 AND 10 AS fixed, forecast BETWEEN 7 AND 10 AS forecast FROM twin_sware.late;

-- A build has no forecast: the index has its late entries.
REINDEX INDEX twin_sware.t_fixed;
REINDEX INDEX twin_sware.t_forecast;
SELECT pg_relation_size('twin_sware.t_fixed') = pg_relation_size('twin_sware.t_forecast') AS are_equal;

-- Late entries that were counted and left the buffer in another way than by a flush do not
-- keep others from being counted: small transactions' late entries count when flushed.
CALL twin_sware.load(15, 10, 8);
SELECT buffer_entries > 5000 AS are_buffered FROM sware_stats('twin_sware.t_forecast');
REINDEX INDEX twin_sware.t_fixed;
REINDEX INDEX twin_sware.t_forecast;
CALL twin_sware.load(50, 0, 1);
SELECT estimated_late < 1 AS is_forgotten FROM sware_stats('twin_sware.t_forecast');
CREATE PROCEDURE twin_sware.load_late_in_small_transactions(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	low bigint;
BEGIN
	FOR i IN 1 .. rounds LOOP
		low := nextval('twin_sware.transactions') * 10000;
		INSERT INTO twin_sware.t SELECT k, k FROM generate_series(low, low + 9999) k WHERE k % 10 <> 0;
		COMMIT;
		FOR part IN 0 .. 7 LOOP
			INSERT INTO twin_sware.t SELECT k, k FROM generate_series(low - 10000, low - 1) k
				WHERE k % 10 = 0 AND k / 10 % 8 = part;
			COMMIT;
		END LOOP;
		PERFORM sware_flush('twin_sware.t_fixed'), sware_flush('twin_sware.t_forecast');
		COMMIT;
	END LOOP;
END
$$;
CALL twin_sware.load_late_in_small_transactions(6);
SELECT estimated_late BETWEEN 1.5 AND 5 AS are_counted FROM sware_stats('twin_sware.t_forecast');

-- Most keys are late: the fill factor counts.
CALL twin_sware.load(10, 2, 2);
CALL twin_sware.measure(10, 2, 2);
SELECT abs(pages - fixed_pages) < fixed_pages / 50 AS are_about_equal FROM twin_sware.growth;
SELECT fixed BETWEEN 30 AND 50 AS fixed, forecast BETWEEN 30 AND 50 AS forecast FROM twin_sware.late;

-- In order again: that is learnt, too.  Without the option it does not matter.
CALL twin_sware.load(150, 0, 1);
TABLE twin_sware.late;
CALL twin_sware.measure(10, 0, 1);
SELECT pages < fixed_pages - 2 AS are_fewer FROM twin_sware.growth;
ALTER INDEX twin_sware.t_forecast SET (forecast_fill = off);
CALL twin_sware.measure(10, 0, 1);
SELECT abs(pages - fixed_pages) <= 2 AS are_about_equal FROM twin_sware.growth;
ALTER INDEX twin_sware.t_forecast SET (forecast_fill);
ALTER INDEX twin_sware.t_fixed SET (fillfactor = 50);
CALL twin_sware.measure(10, 0, 1);
SELECT pages < fixed_pages * 0.6 AS are_fewer FROM twin_sware.growth;
ALTER INDEX twin_sware.t_fixed RESET (fillfactor);

-- Keys that begin leaves of their own between others are not late, and these leaves are
-- filled in the same way.
CALL twin_sware.load(10, 1000, -1);
CALL twin_sware.measure(10, 1000, -1);
SELECT pages < fixed_pages - 2 AS are_fewer FROM twin_sware.growth;
SELECT fixed < 5 AS fixed, forecast < 5 AS forecast FROM twin_sware.late;

SELECT sware_check('twin_sware.t_fixed', true), sware_check('twin_sware.t_forecast', true);

-- Unique, unlogged and temporary indexes, and single rows.
CREATE UNLOGGED TABLE twin_sware.u (k bigint);
CREATE UNIQUE INDEX u_k ON twin_sware.u USING sware (k) WITH (forecast_fill = on);
INSERT INTO twin_sware.u SELECT k FROM generate_series(1, 100000) k WHERE k % 20 <> 0 OR k > 50000;
INSERT INTO twin_sware.u SELECT k FROM generate_series(1, 50000) k WHERE k % 20 = 0;
INSERT INTO twin_sware.u VALUES (100001);
INSERT INTO twin_sware.u SELECT k FROM generate_series(100002, 150000) k;
SELECT sware_check('twin_sware.u_k', true);
CREATE TEMP TABLE own (k bigint);
CREATE INDEX own_k ON own USING sware (k) WITH (forecast_fill = on);
INSERT INTO own SELECT k FROM generate_series(1, 100000) k WHERE k % 20 <> 0 OR k > 50000;
INSERT INTO own SELECT k FROM generate_series(1, 50000) k WHERE k % 20 = 0;
INSERT INTO own SELECT k FROM generate_series(100001, 150000) k;
SELECT sware_check('own_k', true), round(estimated_late) BETWEEN 1 AND 3 AS late FROM sware_stats('own_k');

DROP TABLE own;
DROP SCHEMA twin_sware CASCADE;
CREATE SCHEMA twin_sware;
SELECT drop_twins();
