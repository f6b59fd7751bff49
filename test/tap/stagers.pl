# Sessions load keys into the same unique index, beside others that insert single
# rows. A sequential scan shows that no key is there twice, and that each
# transaction that has committed left all of its rows. With much memory for staged
# keys, with little, and with none.
#
# SWARE_STAGERS_TRANSACTIONS sets the number of transactions of each loader
# (default 10).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $transactions = $ENV{SWARE_STAGERS_TRANSACTIONS} // 10;
my $rows = 4000;    # of a load
my $am = am();

my $node = PostgreSQL::Test::Cluster->new('stagers');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\ndeadlock_timeout = '100ms'\n"
	  . "max_connections = 20\nmax_worker_processes = 4\n");
$node->start;
prepare_database($node);

# Runs scripts in sessions of their own, side by side. Returns what each of them
# said on standard error.
sub run_sessions
{
	my ($name, @scripts) = @_;
	my @errors = ('') x @scripts;
	my @sessions;
	foreach my $number (0 .. $#scripts)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . "/$number.sql";
		open my $handle, '>', $file or die "could not write $file: $!";
		print $handle $scripts[$number];
		close $handle;
		push @sessions,
		  IPC::Run::start(
			[ 'psql', '-XAqt', '-d', $node->connstr('postgres'), '-f', $file ],
			'<', \undef, '>', '/dev/null', '2>', \$errors[$number],
			IPC::Run::timeout(300));
	}
	foreach my $session (@sessions)
	{
		ok($session->finish, "$name: a session has come to its end");
	}
	return @errors;
}

# Arrival orders: numbers from 0 on, nearly in order.
sub near_sorted
{
	my ($count) = @_;
	my @order = 0 .. $count - 1;
	foreach (1 .. $count / 20)
	{
		my ($one, $other) = (choose(0, $count - 1), 0);
		$other = $one + choose(1, 200);
		@order[ $one, $other ] = @order[ $other, $one ] if $other < $count;
	}
	return @order;
}

sub copy
{
	my ($tag, @keys) = @_;
	return "COPY t FROM stdin;\n" . join('', map { "$_\t$tag\n" } @keys) . "\\.\n";
}

sub new_table
{
	my ($definition) = @_;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t;
CREATE TABLE t (k $definition, tag text);
CREATE UNIQUE INDEX t_k ON t USING $am (k);
SQL
	return;
}

# Fails the test if a key is there twice, or a transaction in part.
sub check_table
{
	my ($name, $expected) = @_;
	is( $node->safe_psql(
			'postgres',
			$sequential_scan . 'SELECT k FROM t GROUP BY k HAVING count(*) > 1 LIMIT 5'),
		'', "$name: no key is there twice");
	foreach my $line (split /\n/,
		$node->safe_psql('postgres',
			"SELECT tag, count(*) FROM t WHERE tag LIKE 'load %' GROUP BY tag"))
	{
		my ($tag, $count) = split /\|/, $line;
		fail("$name: $tag has left $count of $expected->{$tag} rows")
		  if $count != $expected->{$tag};
	}
	check_index($node, 't_k', $name);
	return;
}

# Keys of which no two sessions have the same: no session waits, or fails.
sub disjoint_loads
{
	my ($name, $definition, $key) = @_;
	my $loaders = 3;
	new_table($definition);
	my @errors = run_sessions(
		$name,
		map {
			my $number = $_;
			copy("loader $number", map { $key->($_ * $loaders + $number) } near_sorted($rows))
		} 0 .. $loaders - 1);
	is(join('', @errors), '', "$name: no errors");
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT k) FROM t'),
		join('|', ($rows * $loaders) x 2), "$name: all rows are there");
	check_table($name, {});
	return;
}

# Loads that overlap, some of which roll back, and single rows of the same keys.
sub overlapping_loads
{
	my ($name, $definition, $key) = @_;
	my %expected;
	my @scripts;
	new_table($definition);
	foreach my $loader (1 .. 3)
	{
		my $script = '';
		foreach my $number (1 .. $transactions)
		{
			my $tag = "load $loader.$number";
			my $first = choose(0, 10 * $rows);
			my $step = choose(1, 7);
			my $count = choose(1, 4) == 1 ? choose(1, 200) : choose(200, $rows / 4);
			my @keys = map { $key->($first + $step * $_) } near_sorted($count);
			$expected{$tag} = $count;
			$script .= "BEGIN;\n" . copy($tag, @keys);
			$script .= "SELECT count(*) FROM t WHERE k = '$keys[0]';\n" if choose(1, 4) == 1;
			$script .= "SAVEPOINT s;\nINSERT INTO t VALUES ('$keys[-1]', 'again');\nROLLBACK TO s;\n"
			  if choose(1, 4) == 1;
			$script .= (choose(1, 3) == 1 ? 'ROLLBACK' : 'COMMIT') . ";\n";
		}
		push @scripts, $script;
	}
	foreach my $inserter (1 .. 2)
	{
		push @scripts, join '', map {
			"INSERT INTO t VALUES ('" . $key->(choose(0, 12 * $rows)) . "', 'single $inserter.$_');\n"
		} 1 .. 60 * $transactions;
	}
	my @errors = run_sessions($name, @scripts);
	is( join("\n",
			grep { /ERROR|FATAL|PANIC/
				&& !/duplicate key value|deadlock detected|transaction is aborted/
				&& !/savepoint "s" does not exist/ }
			  split /\n/, join('', @errors)),
		'', "$name: no errors but those of equal keys");
	check_table($name, \%expected);
	return;
}

# A stager that is terminated releases its keys.
sub terminated_stager
{
	my ($name) = @_;
	new_table('bigint');
	my $stager = IPC::Run::start(
		[ 'psql', '-XAqt', '-d', $node->connstr('postgres'), '-c',
			"BEGIN; INSERT INTO t SELECT i FROM generate_series(1, 1000) i;
				SELECT pg_advisory_lock(1); SELECT pg_sleep(300)" ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null', IPC::Run::timeout(300));
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND granted");
	my $waiter = IPC::Run::start(
		[ 'psql', '-XAqt', '-d', $node->connstr('postgres'), '-c', 'INSERT INTO t VALUES (1000, 1)' ],
		'<', \undef, '>', '/dev/null', '2>', \my $errors, IPC::Run::timeout(300));
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted");
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
	$stager->finish;
	$waiter->finish;
	is($errors, '', "$name: a session that has waited for a terminated stager goes on");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '1',
		"$name: and its row is the only one");
	return;
}

# Sessions that are terminated in the middle of a COPY leave no seat behind: there
# is only one for each possible session.
sub terminated_copies
{
	my ($name) = @_;
	new_table('bigint');
	$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION terminate() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
CREATE TRIGGER terminate BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.k = 900) EXECUTE FUNCTION terminate();
SQL
	my $sessions = 3 + $node->safe_psql('postgres',
		"SELECT sum(setting::int) FROM pg_settings WHERE name IN ('max_connections', "
		  . "'autovacuum_max_workers', 'max_worker_processes', 'max_wal_senders')");
	my $terminated = 0;
	foreach (1 .. $sessions)
	{
		my $errors = '';
		$node->psql('postgres', copy('gone', 1 .. 1000), stderr => \$errors);
		$terminated++ if $errors =~ /terminating connection due to administrator command/;
	}
	is($terminated, $sessions, "$name: $sessions sessions were terminated");

	# the first rows are stored, the others staged
	is( $node->safe_psql('postgres', <<'SQL'),
SELECT entries_buffered + entries_appended + entries_inserted AS before FROM sware_stats('t_k') \gset
BEGIN;
INSERT INTO t SELECT i FROM generate_series(1001, 1500) i;
SELECT entries_buffered + entries_appended + entries_inserted - :before < 200 FROM sware_stats('t_k');
COMMIT;
SQL
		't', "$name: and the next one can stage");
	my $errors = '';
	$node->psql('postgres', "INSERT INTO t VALUES (899), (1499)", stderr => \$errors);
	like($errors, qr/Key \(k\)=\(1499\) already exists/, "$name: whose keys are respected");
	check_table($name, {});
	return;
}

my $number = sub { return $_[0] };
my $sparse = sub { return 1_000_003 * $_[0] };
my $word = sub { return sprintf('key %09d', $_[0]) };

foreach my $server (
	[ 'not preloaded', '' ],
	[ 'little memory', preload() . "sware.shared_memory = '128kB'\n" ],
	[ 'much memory', preload() ])
{
	my ($name, $settings) = @$server;
	last if $am ne 'sware' && $name ne 'not preloaded';
	$node->append_conf('postgresql.conf', $settings);
	$node->append_conf('postgresql.conf', "sware.shared_memory = '64MB'\n")
	  if $name eq 'much memory';
	$node->restart;
	disjoint_loads("$name, numbers", 'bigint', $number);
	disjoint_loads("$name, words", 'text', $word) if $name ne 'not preloaded';
	overlapping_loads("$name, overlapping numbers", 'bigint', $number);
	overlapping_loads("$name, overlapping sparse numbers", 'bigint', $sparse)
	  if $name eq 'much memory';
	overlapping_loads("$name, overlapping words", 'text', $word);
	terminated_stager($name);
	terminated_copies($name) if $name eq 'much memory';
}
$node->stop;

done_testing();
