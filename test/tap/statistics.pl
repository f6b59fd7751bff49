# Statistics in shared memory: they add up what all sessions have done,
# survive the sessions, and make room for other indexes, in a restart, too.
# And what a standby shows and refuses.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'statistics are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('statistics');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
fsync = off
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int);
CREATE INDEX t_a ON t USING sware (a);
CREATE UNLOGGED TABLE u (a int);
CREATE INDEX u_a ON u USING sware (a);
SQL

# A new session has nothing to count in yet when memory for that is refused, and its
# transaction ends.
my ($requests, $left) = (0, 0);
while ($left eq '0')
{
	my ($status, $stdout, $stderr) = run_sql($node, 'SET sware.fail_allocation = ' . ++$requests
		  . '; INSERT INTO u VALUES (1); SHOW sware.fail_allocation');
	$left = $stdout;
}
like($left, qr/^[1-9]/, 'each request for memory of a first insert is refused');

# Each call is a session of its own.
sub counted
{
	my ($columns, $index) = @_;
	$index //= 't_a';
	return $node->safe_psql('postgres', "SELECT $columns FROM sware_stats('$index')");
}

# The counts of a session are there after it has ended; that may take a
# moment.
sub counted_becomes
{
	my ($columns, $expected, $name) = @_;
	ok( $node->poll_query_until(
			'postgres', "SELECT ($columns)::text = '$expected' FROM sware_stats('t_a')"),
		$name) || diag(counted("($columns)::text"));
	return;
}

$node->safe_psql('postgres', "INSERT INTO t SELECT generate_series($_, $_ + 9)")
  foreach 1 .. 5;
counted_becomes('entries_buffered, buffer_entries', '(50,50)',
	'what several sessions inserted is added up');
is($node->safe_psql('postgres', "SELECT sware_flush('t_a')"), 50, 'flushed by another one');
counted_becomes('flushes, flushed_entries, entries_appended + entries_inserted, buffer_entries',
	'(1,50,50,0)', 'which counts');

$node->safe_psql('postgres', 'DELETE FROM t WHERE a <= 3');
$node->safe_psql('postgres', "$ordered_scan SELECT count(*) FROM t WHERE a <= 3");
counted_becomes('entries_marked', '6', 'a session that only reads counts what it marks');

# Twice ten thousand entries: in order, and backwards.
$node->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1000, 10999)');
$node->safe_psql('postgres', 'INSERT INTO t SELECT -n FROM generate_series(1, 10000) n');
counted_becomes('entries_appended + entries_inserted, estimated_k BETWEEN 49 AND 52', '(20050,t)',
	'estimates are averages over sessions');

# More indexes than there is room for: those without news are forgotten first.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE many (a int) PARTITION BY LIST (a);
CREATE INDEX many_a ON many USING sware (a);
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES IN (%s)', n, n)
FROM generate_series(1, 2100) n \gexec
SQL
foreach my $part (0 .. 6)
{
	$node->safe_psql('postgres',
		"INSERT INTO many SELECT generate_series($part * 300 + 1, $part * 300 + 300)");

	# news of indexes whose accounts are old
	$node->safe_psql('postgres', 'INSERT INTO many SELECT generate_series(1, 60)');
}
ok( $node->poll_query_until(
		'postgres', "SELECT entries_buffered = 1 FROM sware_stats('many_2100_a_idx')"),
	'the latest index has statistics');
is(counted('entries_buffered'), 0, 'those of the index that had no news for longest made room');
is( $node->safe_psql(
		'postgres', <<'SQL'), 't', 'and only those of the first session of many');
SELECT count(*) FILTER (WHERE n <= 300) > 40 AND count(*) FILTER (WHERE n > 300) = 0
FROM generate_series(1, 2100) n, sware_stats(('many_' || n || '_a_idx')::regclass)
WHERE entries_buffered = 0
SQL
is( $node->safe_psql(
		'postgres', <<'SQL'), '8|8', 'but not those of indexes with later news');
SELECT min(entries_buffered), max(entries_buffered)
FROM generate_series(1, 60) n, sware_stats(('many_' || n || '_a_idx')::regclass)
SQL
is( $node->safe_psql(
		'postgres', "SELECT count(*) > 2000 AND count(*) <= 2048
			FROM pg_stat_sware WHERE entries_buffered > 0"),
	't', 'and there are as many as fit');

# A standby counts for itself, and flushes nothing.
$node->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1, 10)');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is( $standby->safe_psql(
		'postgres', "SELECT buffer_entries, entries_buffered FROM sware_stats('t_a')"),
	'10|0', 'a standby shows the buffer');
is( $standby->safe_psql(
		'postgres',
		"SELECT indexrelname, buffer_entries FROM pg_stat_sware
			WHERE indexrelname IN ('t_a', 'u_a') ORDER BY 1"),
	"t_a|10\nu_a|", 'and that it knows nothing of unlogged indexes');
$standby->safe_psql('postgres', "SELECT sware_check('t_a', true)");
my ($status, $stdout, $stderr) = $standby->psql('postgres', "SELECT sware_flush('t_a')");
like($stderr, qr/ERROR:  recovery is in progress/, 'a standby does not flush');
$standby->stop;

# All of it is kept over a restart, and in the order in which it would be forgotten.
my $all = q{SELECT md5(string_agg(s::text, ',' ORDER BY indexrelid)) FROM pg_stat_sware s};
my $before = $node->safe_psql('postgres', $all);
my $forgotten = $node->safe_psql('postgres',
	q{SELECT count(*) FROM pg_stat_sware WHERE stats_since IS NULL});
$node->restart;
is($node->safe_psql('postgres', $all), $before, 'statistics are kept over a restart');
$node->safe_psql('postgres', 'INSERT INTO many SELECT generate_series(1, 60)');
is( $node->safe_psql('postgres',
		'SELECT min(entries_buffered), max(entries_buffered)
			FROM generate_series(1, 60) n, sware_stats((\'many_\' || n || \'_a_idx\')::regclass)'),
	'9|9', 'counting goes on');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE another (a int);
CREATE INDEX another_a ON another USING sware (a);
INSERT INTO another SELECT generate_series(1, 10);
SQL
is( $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_sware WHERE stats_since IS NULL}),
	$forgotten + 1, 'one more is forgotten for a new index');
is( $node->safe_psql('postgres',
		'SELECT min(entries_buffered) FROM generate_series(1, 60) n,
			sware_stats((\'many_\' || n || \'_a_idx\')::regclass)'),
	'9', 'not one of those with the latest news');
is($node->safe_psql('postgres', "SELECT entries_buffered FROM sware_stats('many_2100_a_idx')"),
	1, 'nor the latest of all before the restart');

$node->stop;
done_testing();
