-- Prepared transactions.
SELECT on_both('CREATE TABLE t (a int)');
SELECT on_both('CREATE INDEX t_a ON t USING @am (a)');
SELECT on_both('INSERT INTO t SELECT generate_series(1, 1000)');
SELECT allow_scans('index', 'indexonly');

BEGIN;
SELECT on_both('INSERT INTO t SELECT generate_series(1001, 3000)');
SELECT on_both('DELETE FROM t WHERE a < 100');
PREPARE TRANSACTION 'sware to be committed';
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');
COMMIT PREPARED 'sware to be committed';
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');

BEGIN;
SELECT on_both('INSERT INTO t SELECT generate_series(-1000, 0)');
PREPARE TRANSACTION 'sware to be rolled back';
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');
ROLLBACK PREPARED 'sware to be rolled back';
VACUUM twin_nbtree.t, twin_sware.t;
SELECT check_all(), same_rows('SELECT a FROM t ORDER BY a');

BEGIN;
SELECT on_both('CREATE TABLE made (a int)');
SELECT on_both('CREATE INDEX made_a ON made USING @am (a)');
SELECT on_both('INSERT INTO made SELECT generate_series(1, 1000)');
PREPARE TRANSACTION 'sware with an index';
COMMIT PREPARED 'sware with an index';
SELECT check_all(), same_rows('SELECT a FROM made ORDER BY a DESC');
SELECT drop_twins();
