# A session that inserts a key that a prepared transaction has inserted into a unique index
# waits for it, however the entry was stored, and over a restart of the server: a
# commit refuses the key, and a rollback lets it go.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();

my $node = PostgreSQL::Test::Cluster->new('prepared');
$node->init;
$node->append_conf('postgresql.conf',
	preload() . "autovacuum = off\nfsync = off\nmax_prepared_transactions = 10\n");
$node->start;
prepare_database($node);

# The prepared transactions insert key 1100, and so do the sessions that wait for them.
my %inserts = (
	'a single row' => 'INSERT INTO t VALUES (1100);',
	'a load' => 'INSERT INTO t SELECT generate_series(1001, 1100);',
	'a load of equal rows that are deleted' =>
	  'INSERT INTO t SELECT generate_series(1001, 1100);
	      DELETE FROM t WHERE k = 1100; INSERT INTO t VALUES (1100);',
	'a load in parts' => 'INSERT INTO t SELECT generate_series(1001, 1080); SAVEPOINT s; '
	  . 'INSERT INTO t VALUES (2000); ROLLBACK TO s; INSERT INTO t SELECT generate_series(1081, 1100);',
	'a load in disorder'
		=> 'INSERT INTO t SELECT k FROM generate_series(1001, 1100) k ORDER BY hashint4(k);');
my %waiters = (
	'a single row' => 'INSERT INTO t VALUES (1100)',
	'a load' => 'INSERT INTO t SELECT generate_series(1100, 1001, -1)',
	'a change' => 'UPDATE t SET k = 1100 WHERE k = 1');

sub wait_for_prepared
{
	my ($prepared, $waiter, $end, $restarts) = @_;
	my $name = "$prepared, $waiter, $end" . ($restarts ? ", $restarts" : '');
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS t;
CREATE TABLE t (k int);
CREATE UNIQUE INDEX t_k ON t USING $am (k);
INSERT INTO t VALUES (1);
SQL
	$node->safe_psql('postgres', "BEGIN; $inserts{$prepared} PREPARE TRANSACTION 'p'");
	if ($restarts)
	{
		$node->stop($restarts);
		$node->start;
	}

	my $session = IPC::Run::start(
		[ 'psql', '-XAqt', '-v', 'VERBOSITY=sqlstate', '-d', $node->connstr('postgres'),
			'-c', $waiters{$waiter} ],
		'<', \undef, '>', '/dev/null', '2>', \my $errors, IPC::Run::timeout(180));
	ok( $node->poll_query_until('postgres',
			"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
		"$name: waits");
	# Other keys are nothing to wait for.
	$node->safe_psql('postgres', "SET lock_timeout = '60s'; INSERT INTO t VALUES (5000)");
	$node->safe_psql('postgres', "$end PREPARED 'p'");
	$session->finish;
	if ($end eq 'COMMIT')
	{
		like($errors, qr/23505/, "$name: the key is refused");
	}
	else
	{
		is($errors, '', "$name: the key is free");
	}
	is( $node->safe_psql('postgres',
			$sequential_scan . 'SELECT count(*) FROM t WHERE k = 1100'),
		'1', "$name: it is there once");
	check_index($node, 't_k', $name);
	return;
}

foreach my $end ('COMMIT', 'ROLLBACK')
{
	wait_for_prepared($_, 'a single row', $end, '') foreach sort keys %inserts;
	wait_for_prepared('a load', $_, $end, '') foreach ('a load', 'a change');
	wait_for_prepared('a single row', 'a load', $end, 'fast');
	wait_for_prepared('a load', 'a single row', $end, 'fast');
	wait_for_prepared('a load', $_, $end, 'immediate') foreach ('a single row', 'a load');
}
$node->stop;

done_testing();
