# What the tests of flush workers share: sessions that insert, in any database, so that
# workers are started; what workers there are, and what they have done; workers that stop
# at a fault point, and go on.

package FlushWorkers;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(start_worker_server comes_true make_tables start_inserts end_inserts inserts_go_on
  $workers worker_of workers_are have_ended registered pieces has_pieces change_setting stop_worker
  stop_idle_worker wait_for_stop resume resume_to_end is_gone);

# The flush workers that there are, for FROM.
our $workers = q{(SELECT pid, datname FROM pg_stat_activity
	WHERE backend_type = 'sware flush worker') AS worker};

my %stopped;

# Starts a server without autovacuum, with settings of its own. `init` is what its init gets.
sub start_worker_server
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%init);
	$node->append_conf('postgresql.conf',
		fill_buffers() . "autovacuum = off\nfsync = off\nlog_statement = none\n" . $settings);
	$node->start;
	return $node;
}

# Waits until a condition is true, but not for ever.
sub comes_true
{
	my ($condition) = @_;
	foreach my $attempt (1 .. 9000)
	{
		return 1 if $condition->();
		usleep(20_000);
	}
	return 0;
}

# Makes tables with keys in no order, each with an index with a small buffer.
sub make_tables
{
	my ($node, $database, @tables) = @_;
	$node->safe_psql($database, <<'SQL');
CREATE EXTENSION IF NOT EXISTS sware;
CREATE SEQUENCE ids;
CREATE PROCEDURE insert_rows(tbl text, transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. transactions LOOP
		EXECUTE format('INSERT INTO %s SELECT hashint8(id), id
			FROM (SELECT nextval(''ids'') AS id FROM generate_series(1, 100)) new', tbl);
		COMMIT;
	END LOOP;
END $$;
SQL
	foreach my $table (@tables)
	{
		$node->safe_psql($database, <<"SQL");
CREATE TABLE $table (key int8, id int8);
CREATE INDEX ${table}_key ON $table USING sware (key) WITH (buffer_size = 64);
SQL
	}
	make_verdicts($node, $database);
	return;
}

# Starts a session that inserts until it is ended.  Fault points of the database are not
# for it.
sub start_inserts
{
	my ($node, $database, $table, $settings) = @_;
	$settings //= '';
	return start_session($node, "inserts into $table of $database", <<"SQL");
\\connect $database
SET sware.fault_points = '';
$settings
CALL insert_rows('$table', 2147483647);
SQL
}

# Ends such sessions.  No worker will be requested any more.
sub end_inserts
{
	my ($node, @sessions) = @_;
	end_session($node, $_) foreach @sessions;
	return;
}

# Does such a session insert more rows?
sub inserts_go_on
{
	my ($node, $database, $name) = @_;
	my $before = $node->safe_psql($database, 'SELECT last_value FROM ids');
	return ok(
		$node->poll_query_until($database, "SELECT last_value > $before + 1000 FROM ids"),
		"$name: inserts go on");
}

# The number of the process of a database's worker, which may be about to come.
sub worker_of
{
	my ($node, $database) = @_;
	my $pid;
	comes_true(
		sub {
			$pid = $node->safe_psql('postgres', "SELECT pid FROM $workers WHERE datname = '$database'");
			return $pid ne '';
		});
	return $pid;
}

# Of which databases are the workers?
sub workers_are
{
	my ($node, $databases, $name) = @_;
	return is($node->safe_psql('postgres', "SELECT string_agg(datname, ' ' ORDER BY datname) FROM $workers"),
		$databases, $name);
}

# Fails the test unless all workers end without being told to.
sub have_ended
{
	my ($node, $name) = @_;
	return ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM $workers"), $name);
}

# How many workers have been requested, from an offset in the log on?  The log says so
# at level DEBUG1.
sub registered
{
	my ($node, $offset) = @_;

	# before it takes this connection, the postmaster has noted earlier requests
	$node->safe_psql('postgres', 'SELECT 1');
	return scalar(grep_log($node, qr/registering background worker "sware flush worker"/, $offset));
}

# How many pieces of an index have been flushed, by its worker, or by others?
sub pieces
{
	my ($node, $database, $index, $by) = @_;
	$by //= 'worker';
	return $node->safe_psql($database, "SELECT ${by}_pieces FROM sware_stats('$index')");
}

# Fails the test unless there are more pieces after a while.
sub has_pieces
{
	my ($node, $database, $index, $by, $name) = @_;
	my $before = pieces($node, $database, $index, $by);
	return ok(
		$node->poll_query_until($database,
			"SELECT ${by}_pieces > $before + 2 FROM sware_stats('$index')"),
		$name);
}

# Changes a setting of the server, for sessions and workers that begin from now on.
sub change_setting
{
	my ($node, $setting, $value) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = '$value'");
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	return $node->poll_query_until('postgres', "SELECT current_setting('$setting') = '$value'");
}

# Waits until a worker stops at a fault point.  Returns its number.
sub wait_for_stop
{
	my ($node, $point, $offset) = @_;
	my $said = qr/fault point "$point" was reached, where process (\d+) stops/;
	my $pid;
	comes_true(
		sub {
			my ($line) = reverse grep_log($node, $said, $offset);
			($pid) = $line =~ $said if defined $line;
			return defined $pid;
		}) || BAIL_OUT("no worker stops at $point");
	$stopped{$pid} = 1;

	# The worker says so before it stops. A signal to go on must not come in between.
	comes_true(sub { return slurp_file("/proc/$pid/stat") =~ /\) T / })
	  || BAIL_OUT("worker $pid does not stop at $point");
	return $pid;
}

# Those that have stopped must not keep a server from ending.
END
{
	local $?;
	kill('CONT', $_) foreach keys %stopped;
}

# Inserts into a table until a worker stops in the middle of a piece, and its index needs
# more of them.  Returns the worker's number.  It stops there in each piece, until
# the database's fault points change.
sub stop_worker
{
	my ($node, $database, $table) = @_;
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres', "ALTER DATABASE $database SET sware.fault_points = 'flush-sorted=stop'");
	my $inserts = start_inserts($node, $database, $table);
	my $pid = wait_for_stop($node, 'flush-sorted', $offset);
	$node->poll_query_until($database, "SELECT buffer_pages >= 14 FROM sware_stats('${table}_key')")
	  || BAIL_OUT("the buffer of $table does not become full");
	end_inserts($node, $inserts);
	return $pid;
}

# Stops a worker that has nothing to do.  Returns its number.
sub stop_idle_worker
{
	my ($node, $database, $table) = @_;
	my $idle = "FROM pg_stat_activity WHERE backend_type = 'sware flush worker' AND state = 'idle'";
	my $pid;
	comes_true(
		sub {
			$node->safe_psql($database, "CALL insert_rows('$table', 40)");
			$pid = $node->safe_psql('postgres', "SELECT pid $idle AND datname = '$database'");
			return 0 if $pid eq '' || kill('STOP', $pid) != 1;
			return 1 if $node->safe_psql('postgres', "SELECT count(*) $idle AND pid = $pid") == 1;
			kill('CONT', $pid);
			return 0;
		}) || BAIL_OUT('no worker is idle');
	$stopped{$pid} = 1;
	return $pid;
}

# Lets a worker go on that has stopped.
sub resume
{
	my ($pid) = @_;
	kill('CONT', $pid) == 1 || die "worker $pid has died";
	return;
}

# Lets a worker go on that has stopped, at each further fault point, too, until it ends.
sub resume_to_end
{
	my ($pid, $name) = @_;
	return ok(comes_true(sub { kill('CONT', $pid); return kill(0, $pid) == 0 }), $name);
}

# Fails the test unless a worker ends.
sub is_gone
{
	my ($pid, $name) = @_;
	return ok(comes_true(sub { return kill(0, $pid) == 0 }), $name);
}

1;
