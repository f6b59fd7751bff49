# pgbench's built-in TPC-B, with unique indexes in place of the primary keys:
# 16 clients, killed in the middle with the whole server.  After each recovery
# the sums of all balances agree, and every index with its table.
#
# SWARE_TPCB_CYCLES sets how many crashes there are (default 2).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $cycles = $ENV{SWARE_TPCB_CYCLES} // 2;
my $am = am();
my %keys = (accounts => 'aid', branches => 'bid', tellers => 'tid');

my $node = PostgreSQL::Test::Cluster->new('tpcb');
$node->init;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 500
autovacuum_vacuum_scale_factor = 0
fsync = off
max_connections = 40
log_statement = none
CONF
$node->start;
prepare_database($node);

# Few accounts, and pages without room, so that many updates need new entries.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88));
CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84));
CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84));
CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE INDEX pgbench_history_mtime ON pgbench_history USING $am (mtime);
CREATE UNIQUE INDEX pgbench_branches_bid ON pgbench_branches USING $am (bid);
CREATE UNIQUE INDEX pgbench_tellers_tid ON pgbench_tellers USING $am (tid);
CREATE UNIQUE INDEX pgbench_accounts_aid ON pgbench_accounts USING $am (aid);
INSERT INTO pgbench_branches SELECT i, 0 FROM generate_series(1, 10) i;
INSERT INTO pgbench_tellers SELECT i, (i - 1) / 10 + 1, 0 FROM generate_series(1, 100) i;
INSERT INTO pgbench_accounts SELECT i, (i - 1) % 10 + 1, 0 FROM generate_series(1, 20000) i;
SQL

# The balances changed on each of the tables, which are all the same.
my $sums = <<'SQL';
SELECT count(*) = 1, min(sum)
FROM (SELECT sum(abalance) FROM pgbench_accounts
      UNION SELECT sum(tbalance) FROM pgbench_tellers
      UNION SELECT sum(bbalance) FROM pgbench_branches
      UNION SELECT coalesce(sum(delta), 0) FROM pgbench_history) sums
SQL

my $start_size = 0;
foreach my $cycle (1 .. $cycles)
{
	my ($output, $errors) = ('', '');
	my $load = IPC::Run::start(
		[
			# the scale only says which keys there are
			'pgbench', '-n', '-M', 'prepared', '-h', $node->host, '-p', $node->port,
			'-c', '16', '-j', '2', '-T', '100000', '-s', '10',
			'--random-seed', choose(1, 1_000_000),
			'-D', 'naccounts=20000', '-f', script(), 'postgres'
		],
		'<', \undef, '>', \$output, '2>', \$errors, my $timer = IPC::Run::timeout(180));
	my $wanted = $start_size + choose(200, 4000);
	ok($node->poll_query_until('postgres',
			"SELECT count(*) >= $wanted FROM pgbench_history"),
		"cycle $cycle: transactions commit");
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	pick(0, 1) ? $node->kill9 : $node->stop('immediate');
	eval { $load->finish };
	unlike($errors, qr/ERROR:/, "cycle $cycle: no transaction failed before the crash")
	  || diag($errors);

	start_after_crash($node, $postmaster) || BAIL_OUT('no recovery');
	like($node->safe_psql('postgres', $sums), qr/^t\|/, "cycle $cycle: the sums agree");
	check_index($node, "pgbench_${_}_$keys{$_}", "cycle $cycle") foreach sort keys %keys;
	check_index($node, 'pgbench_history_mtime', "cycle $cycle");
	is( $node->safe_psql(
			'postgres', join(' UNION ALL ',
				map { "SELECT count(*) - count(DISTINCT $keys{$_}) FROM pgbench_$_" } sort keys %keys)),
		"0\n0\n0",
		"cycle $cycle: no key is there twice");
	$start_size = $node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history');
}
$node->stop;
done_testing();

# TPC-B's transaction as pgbench has it (tpcb-like), but for the number of accounts.
sub script
{
	my $file = PostgreSQL::Test::Utils::tempdir() . '/tpcb';
	my $text;
	IPC::Run::run([ 'pgbench', '--show-script=tpcb-like' ], '2>', \$text) || die 'no script';
	$text =~ s/^--.*\n//mg;
	$text =~ s/random\(1, 100000 \* :scale\)/random(1, :naccounts)/ || die 'another script';
	append_to_file($file, $text);
	return $file;
}
