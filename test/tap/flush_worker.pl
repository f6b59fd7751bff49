# The flush worker: it starts under load, flushes instead of inserters, ends when idle, and
# no more of them are started than may be. None is started if there is nothing for it to do,
# or if it could not do it: then inserters flush.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FlushWorkers;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'flush workers are sware\'s' if am() ne 'sware';

my $settings = "log_min_messages = debug1\n";
my $node = start_worker_server('workers', preload() . $settings);
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(one two);
make_tables($node, 'postgres', qw(t u));
make_tables($node, $_, 't') foreach qw(one two);

# Under load it starts, and does what inserters would do.
change_setting($node, 'sware.log_min_flush_duration', 0);
my $inserts = start_inserts($node, 'postgres', 't');
has_pieces($node, 'postgres', 't_key', 'worker', 'a worker flushes');
worker_of($node, 'postgres');
workers_are($node, 'postgres', 'there is one worker, for this database');
is( $node->safe_psql('postgres', "SELECT count(DISTINCT usename), count(DISTINCT datname)
		FROM pg_stat_activity WHERE backend_type = 'sware flush worker'"),
	'1|1', 'which shows who it is');
end_inserts($node, $inserts);
have_ended($node, 'it ends when there is nothing to be done');
cmp_ok($node->safe_psql('postgres', "SELECT buffer_pages FROM sware_stats('t_key')"),
	'<=', 12, 'the buffer has its size then');
my @logged =
  map { /LOG:  flush of index "public\.t_key" by flush worker took ([\d.]+) ms/ ? $1 : () }
  grep_log($node, qr/took/);
my ($longest) = sort { $b <=> $a } @logged;
is(scalar(@logged), pieces($node, 'postgres', 't_key'), 'each piece is logged, and counted');
is( $node->safe_psql('postgres', "SELECT abs(worker_max_time - $longest) < 0.002 FROM sware_stats('t_key')"),
	't', 'the longest, too');
check_index($node, 't_key', 'after a load');
index_agrees($node, 't', 'key', 'after a load');
change_setting($node, 'sware.log_min_flush_duration', -1);

# None is started for what follows, while the inserter flushes.
sub starts_none
{
	my ($server, $sql, $pieces, $index, $name) = @_;
	my $offset = -s $server->logfile;
	my $counted = "coalesce((SELECT inserter_pieces FROM sware_stats(to_regclass('$index'))), 0)";
	my $before = $server->safe_psql('postgres', "SELECT $counted");
	my ($status, $output, $errors) = run_sql($server, $sql);
	is($errors, '', "$name: rows are inserted");
	is(registered($server, $offset), 0, "$name: no worker is started");
	return if $pieces == 0;
	return ok($server->poll_query_until('postgres', "SELECT $counted >= $before + $pieces"),
		"$name: the inserter flushes");
}
my $create = <<'SQL';
CREATE TABLE fresh (key int8, id int8);
CREATE INDEX fresh_key ON fresh USING sware (key) WITH (buffer_size = 64);
SQL
my $fill = <<'SQL';
SET sware.staging_size = 64;
DO $$ BEGIN FOR i IN 1 .. 400 LOOP
	INSERT INTO fresh SELECT hashint8(i * 200 + n), i FROM generate_series(1, 200) n;
END LOOP; END $$;
SQL
starts_none($node, "BEGIN; $create $fill COMMIT;", 2, 'fresh_key',
	'a relation that is new in the transaction');
starts_none($node, "BEGIN; TRUNCATE fresh; $fill COMMIT;", 2, 'fresh_key',
	'a file that is new in the transaction');
starts_none($node, $create =~ s/TABLE fresh/TEMPORARY TABLE fresh/r . "CALL insert_rows('fresh', 400);",
	0, 'none', 'temporary tables');
starts_none($node, <<'SQL', 1, 't_key', 'one lone request');
DO $$
DECLARE
	before bigint := (SELECT inserter_pieces FROM sware_stats('t_key'));
BEGIN
	WHILE (SELECT inserter_pieces = before FROM sware_stats('t_key')) LOOP
		CALL insert_rows('t', 1);
	END LOOP;
END $$;
SQL

# But for pages that get sorted, one starts for each request, however rare they are.
is($node->safe_psql('postgres', <<'SQL'), '0|t', 'it sorts pages of a large buffer, also once in a while');
CREATE TABLE sorted (key int8, id int8);
CREATE INDEX sorted_key ON sorted USING sware (key) WITH (buffer_size = 2048);
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		CALL insert_rows('sorted', 100);
		PERFORM pg_sleep(0.6);
		EXIT WHEN (SELECT inserter_pieces + worker_pieces > 0 FROM sware_stats('sorted_key'));
	END LOOP;
END $$;
SELECT inserter_pieces, worker_pieces > 0 FROM sware_stats('sorted_key');
SQL
have_ended($node, 'and ends then');

change_setting($node, 'sware.flush_workers', 0);
starts_none($node, "CALL insert_rows('t', 400)", 10, 't_key', 'no worker may be started');
change_setting($node, 'sware.flush_workers', 1);

my $unprepared = start_worker_server('without_memory', $settings);
make_tables($unprepared, 'postgres', 't');
starts_none($unprepared, "CALL insert_rows('t', 400); SELECT sware_check('t_key', true)",
	0, 'none', 'without preloading');
$unprepared->stop;

# A worker ends when it is told so, and another one comes if that is wanted.
$node->safe_psql('postgres', 'TRUNCATE t');
$inserts = start_inserts($node, 'postgres', 't');
my $first = worker_of($node, 'postgres');
change_setting($node, 'sware.flush_workers', 0);
have_ended($node, 'it ends when there may be none');
has_pieces($node, 'postgres', 't_key', 'inserter', 'the inserter flushes then');
change_setting($node, 'sware.flush_workers', 1);
$first = worker_of($node, 'postgres');
has_pieces($node, 'postgres', 't_key', 'worker', 'when there may be one, it starts');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($first)");
is_gone($first, 'it can be terminated');
isnt(worker_of($node, 'postgres'), $first, 'another one starts');
has_pieces($node, 'postgres', 't_key', 'worker', 'and flushes');
inserts_go_on($node, 'postgres', 'a worker was terminated');

# A worker that is cancelled lets go of the index, and leaves it to inserters for a while.
end_inserts($node, $inserts);
have_ended($node, 'it ends');
my $cancelled = stop_worker($node, 'postgres', 't');
my $offset = -s $node->logfile;
$node->safe_psql('postgres', "SELECT pg_cancel_backend($cancelled)");
resume($cancelled);
ok( comes_true(sub { return scalar(grep_log($node, qr/CONTEXT:  flush of index "public\.t_key"/, $offset)) }),
	'its piece can be cancelled');
is(scalar(grep_log($node, qr/ERROR:  canceling statement due to user request/, $offset)),
	1, 'and that is said');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET sware.fault_points');
$inserts = start_inserts($node, 'postgres', 't');
has_pieces($node, 'postgres', 't_key', 'inserter', 'then the inserter flushes');
end_inserts($node, $inserts);
have_ended($node, 'it ends, too');

# A worker that is idle counts as one that flushes: the inserter leaves the flush to it, also
# far beyond the quota.
my $idle = stop_idle_worker($node, 'postgres', 'u');
my $inserter = pieces($node, 'postgres', 'u_key', 'inserter');
$node->safe_psql('postgres', "CALL insert_rows('u', 200)");
cmp_ok($node->safe_psql('postgres', "SELECT buffer_pages FROM sware_stats('u_key')"),
	'>', 10, 'the buffer is far beyond its quota while the worker should wake up');
is(pieces($node, 'postgres', 'u_key', 'inserter'), $inserter, 'the inserter does not flush it');
resume($idle);
have_ended($node, 'the worker does, and ends');
cmp_ok($node->safe_psql('postgres', "SELECT buffer_pages FROM sware_stats('u_key')"),
	'<=', 12, 'the buffer has its size then');

# While the only worker that may be works for one database, the other one has none. Queries
# run in parallel beside it.
my $stopped = stop_worker($node, 'one', 't');
my $snapshot = "SELECT backend_xmin::text::bigint FROM pg_stat_activity WHERE pid = $stopped";
my $before = $node->safe_psql('postgres', $snapshot);
$offset = -s $node->logfile;
resume($stopped);
is(wait_for_stop($node, 'flush-sorted', $offset), $stopped, 'a worker has a piece after another');
cmp_ok($node->safe_psql('postgres', $snapshot), '>', $before, 'each with a snapshot of its own');
$offset = -s $node->logfile;
$inserts = start_inserts($node, 'two', 't');
has_pieces($node, 'two', 't_key', 'inserter', 'without a worker, the inserter flushes');
is(registered($node, $offset), 0, 'a second worker is not started');
like($node->safe_psql('one', <<"SQL"), qr/Workers Launched: 2/, 'queries run in parallel');
$ordered_scan
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;
SET sware.fault_points = '';
ALTER TABLE t SET (parallel_workers = 2);
EXPLAIN (ANALYZE) SELECT sum(id) FROM t WHERE key > 0;
SQL
end_inserts($node, $inserts);
change_setting($node, 'sware.flush_workers', 2);
$inserts = start_inserts($node, 'two', 't');
worker_of($node, 'two');
workers_are($node, 'one two', 'if two may be, a second one starts');
has_pieces($node, 'two', 't_key', 'worker', 'and flushes');
$node->safe_psql('postgres', 'ALTER DATABASE one RESET sware.fault_points');
resume_to_end($stopped, 'the first one ends');
end_inserts($node, $inserts);
have_ended($node, 'and the second one');
has_good_indexes($node, $_, 't', "of database $_") foreach qw(one two);
$node->stop;

# The server has no slot for a worker: inserters flush. When there is one again, a worker
# starts.
$node->append_conf('postgresql.conf', "max_worker_processes = 2\nmax_logical_replication_workers = 1\n");
$node->start;
$stopped = stop_worker($node, 'one', 't');
$inserts = start_inserts($node, 'two', 't');
has_pieces($node, 'two', 't_key', 'inserter', 'without a slot, the inserter flushes');
workers_are($node, 'one', 'there is one worker only');
inserts_go_on($node, 'two', 'without a slot');
$node->safe_psql('postgres', 'ALTER DATABASE one RESET sware.fault_points');
resume_to_end($stopped, 'the worker ends');
has_pieces($node, 'two', 't_key', 'worker', 'now one is started for the other database');
end_inserts($node, $inserts);
have_ended($node, 'and ends');
has_good_indexes($node, 'two', 't', 'in the end');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
