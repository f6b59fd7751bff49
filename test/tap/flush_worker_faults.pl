# Faults in the flush worker: an error and a kill at each point that it passes, an index
# whose flushes fail always, and the end of the server: shutdowns under load, and the
# promotion of a standby.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FlushWorkers;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'flush workers are sware\'s' if am() ne 'sware';

my $node =
  start_worker_server('worker_faults', preload() . "restart_after_crash = on\n", allows_streaming => 1);
make_tables($node, 'postgres', qw(t u));
$node->safe_psql('postgres', 'CREATE DATABASE points');
make_tables($node, 'points', qw(t u));

sub set_points
{
	my ($points) = @_;
	return $node->safe_psql('postgres', "ALTER DATABASE points SET sware.fault_points = '$points'");
}

# Indexes that no worker has failed to flush.  Settings let one of them have sorted pages.
sub make_indexes
{
	return $node->safe_psql('points', <<'SQL');
TRUNCATE t, u;
DROP INDEX t_key, u_key;
CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 64);
CREATE INDEX u_key ON u USING sware (key) WITH (buffer_size = 512);
SQL
}

# Which points does a worker pass, again and again?
make_indexes();
$node->safe_psql('postgres', 'ALTER DATABASE points SET log_min_messages = notice;
	ALTER DATABASE points SET sware.fault_pages_to_sort = 8');
set_points('*=notice');
my $offset = -s $node->logfile;
my @inserts = map { start_inserts($node, 'points', $_) } qw(t u);
has_pieces($node, 'points', "${_}_key", 'worker', "the worker flushes ${_}_key") foreach qw(t u);
has_pieces($node, 'points', 'u_key', 'worker', 'and goes on') foreach 1 .. 10;
end_inserts($node, @inserts);
have_ended($node, 'it ends');
my %passes;
foreach (grep_log($node, qr/NOTICE/, $offset))
{
	$passes{$1}++ if /fault point "([^"]+)" was reached/;
}
my @points = sort grep { $passes{$_} >= 10 } keys %passes;
note("points: @points");
cmp_ok(scalar(@points), '>', 8, 'it passes fault points');
$node->safe_psql('postgres', 'ALTER DATABASE points RESET log_min_messages');

# VACUUM finds pages that were written, but not linked. After a kill, a new leaf may have no
# link from above until an insert comes there.
sub is_well
{
	my ($name, $is_killed) = @_;
	my $right = $is_killed ? qr/\d+ rows, [1-9]\d* indexes|WRONG: [tu]_key: 1 pages leaked\z/ :
	  qr/\d+ rows, [1-9]\d* indexes/;
	$node->safe_psql('points', 'VACUUM (INDEX_CLEANUP ON) t, u');
	return like($node->safe_psql('points', "SELECT verdict_on('t', 'u')"), qr/^($right)/,
		"$name: indexes of t, u");
}

foreach my $point (@points)
{
	make_indexes();
	set_points("$point=error");
	$offset = -s $node->logfile;
	@inserts = map { start_inserts($node, 'points', $_) } qw(t u);
	my $context = qr/CONTEXT:.*flush of index "public\.[tu]_key"/;
	ok(comes_true(sub { return scalar(grep_log($node, $context, $offset)) }),
		"an error at $point is logged");
	set_points('');
	inserts_go_on($node, 'points', "an error at $point");
	end_inserts($node, @inserts);
	have_ended($node, "$point: the worker ends");
	is(join("\n", grep { !/fault point "$point" was reached/ } grep_log($node, qr/ERROR:/, $offset)),
		'', "$point: there is no other error");
	is_well("after an error at $point");

	make_indexes();
	set_points("$point=kill");
	$offset = -s $node->logfile;
	@inserts = map { start_inserts($node, 'points', $_) } qw(t u);
	$node->wait_for_log(qr/database system is ready to accept connections/, $offset);
	$_->{run}->finish foreach @inserts;
	set_points('');
	is_well("after a kill at $point", 1);
	@inserts = start_inserts($node, 'points', 't');
	has_pieces($node, 'points', 't_key', 'worker', "$point: there is a worker again");
	end_inserts($node, @inserts);
	have_ended($node, "$point: it ends");
	is_well("$point: after more rows", 1);
}
my $killed = qr/LOG:  background worker "sware flush worker" \(PID \d+\) was terminated by signal 9/;
ok(scalar(grep_log($node, $killed)), 'workers were killed');
$node->stop;

# Shutdowns while rows arrive, and workers flush.
foreach my $mode (qw(smart fast immediate))
{
	$node->start;
	$node->safe_psql('postgres', 'TRUNCATE t');
	my $load = start_load($node, 2, script_files(insert => "CALL insert_rows('t', 5);\n"));
	has_pieces($node, 'postgres', 't_key', 'worker', "$mode: the worker flushes");
	if ($mode eq 'smart')
	{
		$node->command_ok([ 'pg_ctl', '--no-wait', '-D', $node->data_dir, '-m', 'smart', 'stop' ],
			'a smart shutdown begins');
		$node->wait_for_log(qr/received smart shutdown request/);
		$load->kill_kill;
		my $pid_file = $node->data_dir . '/postmaster.pid';
		ok(comes_true(sub { return !-e $pid_file }), 'and ends with the sessions');

		# so that the node knows it, too
		$node->stop($mode, fail_ok => 1);
	}
	else
	{
		$node->stop($mode);
		$load->kill_kill;
	}
	$node->start;
	$node->safe_psql('postgres', 'SELECT 1');
	check_index($node, 't_key', "after a shutdown, mode $mode");
	index_agrees($node, 't', 'key', "after a shutdown, mode $mode");
	$node->stop;
}

# A standby has no worker until it is promoted.
$node->start;
my $standby = start_standby($node, -1);
my $load = start_load($node, 2, script_files(insert => "CALL insert_rows('t', 5);\n"));
has_pieces($node, 'postgres', 't_key', 'worker', 'the primary has a worker');
workers_are($standby, '', 'the standby has none');
stop_load($node, $load);
have_ended($node, 'the worker of the primary ends');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$node->stop;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
@inserts = start_inserts($standby, 'postgres', 't');
has_pieces($standby, 'postgres', 't_key', 'worker', 'after its promotion it has one');
end_inserts($standby, @inserts);
have_ended($standby, 'which ends');
check_index($standby, 't_key', 'after promotion');
index_agrees($standby, 't', 'key', 'after promotion');
$standby->stop;
did_not_crash($standby, 'the standby did not crash');
is(join("\n", grep_log($node, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
done_testing();
