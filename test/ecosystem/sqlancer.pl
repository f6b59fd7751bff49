# SQLancer makes random tables, indexes and queries, and compares queries of which it knows
# that they have the same answer (NoREC, ternary logic partitioning), or must return a row
# (pivoted queries). Indexes that it asks for are sware's.
#
# Environment:
#   SQLANCER_CLASSPATH   where Java finds SQLancer and the libraries that it needs; without it
#                        the trial is skipped
#   SQLANCER_SECONDS     for each way to compare (default 60)

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

skip_file('SQLANCER_CLASSPATH names no SQLancer, which is in no package') if !$ENV{SQLANCER_CLASSPATH};
my $seconds = $ENV{SQLANCER_SECONDS} // 60;

my $node = PostgreSQL::Test::Cluster->new('sqlancer');
$node->init;
$node->append_conf('postgresql.conf', server_settings() =~ s/'sware'/'sware, sware_for_btree'/r . <<'CONF');
listen_addresses = '127.0.0.1'
sware_for_btree.enabled = on
statement_timeout = '60s'
log_statement = none
log_min_error_statement = panic
CONF
# Before 18, ON CONFLICT asks for nbtree's unique indexes.
$node->append_conf('postgresql.conf', "sware_for_btree.unique_stays = '*'\n")
  if $node->pg_version->major < 18;
$node->append_conf('postgresql.conf', fill_buffers());
$node->start;
# It makes databases of both templates. It does not know the types of the view's columns, and so
# must not see the view.
$node->safe_psql('postgres', 'ALTER DATABASE template0 ALLOW_CONNECTIONS true');
$node->safe_psql($_, 'CREATE SCHEMA extensions; CREATE EXTENSION sware SCHEMA extensions')
  foreach qw(template0 template1);
$node->safe_psql('postgres', 'CREATE DATABASE test');
$node->safe_psql('postgres', "CREATE ROLE sqlancer SUPERUSER LOGIN PASSWORD 'sqlancer'");

my $indexes = 0;
foreach my $oracle (qw(NOREC QUERY_PARTITIONING PQS))
{
	my $seed = choose(1, 1_000_000);
	my ($output, $said) = ('', '');
	IPC::Run::run(
		[
			# On other systems it makes no tablespaces, which it could not do here.
			'java', '-Dos.name=mac', '-cp', $ENV{SQLANCER_CLASSPATH}, 'sqlancer.Main',
			'--host', '127.0.0.1', '--port', $node->port, '--username', 'sqlancer', '--password', 'sqlancer',
			'--num-threads', '2', '--random-seed', $seed,
			'--timeout-seconds', $seconds, '--num-tries', '1000', 'postgres', "--oracle=$oracle",
			'--connection-url=postgresql://127.0.0.1:' . $node->port . '/test'
		],
		'<', \undef, '>', \$output, '2>', \$said);
	my ($queries) = "$output$said" =~ /.*Executed (\d+) queries/s;
	cmp_ok($queries // 0, '>', 100, "$oracle: there were queries");
	my @found = grep { /^--java|AssertionError|^Caused by/ } split /\n/, "$output$said";
	is(scalar(@found), 0, "$oracle: nothing is found by seed $seed, in $seconds s")
	  || diag(join("\n", @found) . "\n" . substr($said, -20000));
	note("$oracle: " . ($queries // 0) . ' queries');
	$indexes += check_all();
}
cmp_ok($indexes, '>', 0, 'there were sware indexes');
note("$indexes sware indexes were checked");
did_not_crash($node, 'nothing crashed', qr/index_corrupted|contains corrupted page/);
$node->stop;
done_testing();

# Checks the indexes that are left, in all databases, and drops these.
sub check_all
{
	my $count = 0;
	foreach my $database (split /\n/, $node->safe_psql('postgres',
		q{SELECT datname FROM pg_database WHERE datname LIKE 'database%' AND datallowconn}))
	{
		if ($node->safe_psql($database, q{SELECT count(*) FROM pg_extension WHERE extname = 'sware'}))
		{
			my ($checked, $stderr) = ('', '');
			$node->psql($database, <<'SQL', stdout => \$checked, stderr => \$stderr);
SELECT count(extensions.sware_check(c.oid, true)::text) FROM pg_class c JOIN pg_am a ON a.oid = relam
	JOIN pg_index ON indexrelid = c.oid WHERE amname = 'sware' AND relkind = 'i' AND indisvalid
SQL
			ok($stderr !~ /ERROR/, "$database: the indexes are sound") || diag($stderr);
			$count += $checked || 0;
		}
		$node->safe_psql('postgres', "DROP DATABASE $database WITH (FORCE)");
	}
	return $count;
}
