# Sixteen clients insert the same keys again and again into a table whose primary key and
# unique constraint are of sware, while commands rebuild and exchange the indexes. In the
# end each key is there once, and nothing has become an nbtree index.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

if (am() ne 'sware')
{
	plan skip_all => 'the option is of sware';
}

my $clients = 16;
my $statements = $ENV{SWARE_KEYS_STATEMENTS} // 300;
my $range = 1500;

my $node = PostgreSQL::Test::Cluster->new('keys');
$node->init;
$node->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
fsync = off
autovacuum = off
deadlock_timeout = 100ms
log_min_messages = panic
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
SET client_min_messages = error;
CREATE TABLE t (id bigint PRIMARY KEY WITH (sware), other int,
	CONSTRAINT t_other UNIQUE (other) WITH (sware));
SQL

# Keys that were inserted by statements of their own must be there in the end, whoever
# was first. Those of larger statements may have failed together with another one.
my %certain;
my @sessions;
foreach my $client (1 .. $clients)
{
	my $sql = '';
	foreach (1 .. $statements)
	{
		my $key = choose(1, $range);
		my $kind = choose(1, 10);
		if ($kind <= 6)
		{
			$sql .= "INSERT INTO t VALUES ($key, $key);\n";
			$certain{$key} = 1;
		}
		elsif ($kind <= 8)
		{
			my $first = $range + choose(1, $range);
			my $last = $first + choose(1, 40);
			$sql .= "INSERT INTO t SELECT i, i FROM generate_series($first, $last) i;\n";
		}
		elsif ($kind == 9)
		{
			my $next = $key + 1;
			$sql .= "BEGIN; SAVEPOINT s; INSERT INTO t VALUES ($next, $next);\n"
			  . "ROLLBACK TO s; INSERT INTO t VALUES ($key, $key); COMMIT;\n";
		}
		else
		{
			my $new = -$key;
			$sql .= "BEGIN; UPDATE t SET id = $new, other = $new WHERE id = $key;\n"
			  . "UPDATE t SET id = $key, other = $key WHERE id = $new; COMMIT;\n";
		}
	}
	push @sessions, start_session($node, "client $client", $sql);
}

my $exchange = 'ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT t_pkey PRIMARY KEY USING INDEX t_new';
foreach my $command (
	'REINDEX TABLE CONCURRENTLY t', 'VACUUM (INDEX_CLEANUP on) t',
	'CREATE UNIQUE INDEX CONCURRENTLY t_new ON t USING sware (id) WITH (sware)', $exchange,
	'CLUSTER t USING t_other', 'ALTER TABLE t SET WITHOUT CLUSTER', 'VACUUM FULL t',
	'ALTER TABLE t ALTER id TYPE numeric, ALTER other TYPE bigint', 'ALTER TABLE t ALTER id TYPE bigint',
	'CREATE UNIQUE INDEX CONCURRENTLY t_new ON t (id)', $exchange,
	'CREATE UNIQUE INDEX CONCURRENTLY t_new ON t USING sware (id) WITH (sware)', $exchange)
{
	# A concurrent build may be the victim of a deadlock, as with nbtree.
	my ($status, $stdout, $stderr) = run_sql($node, "SET client_min_messages = error; $command");
	foreach (1 .. 20)
	{
		last if $stderr !~ /ERROR/;
		note("again: $command: $stderr");
		run_sql($node, 'DROP INDEX CONCURRENTLY IF EXISTS t_new') if $command =~ /^CREATE/;
		($status, $stdout, $stderr) = run_sql($node, "SET client_min_messages = error; $command");
	}
	is($stderr, '', $command);
}
foreach my $session (@sessions)
{
	$session->{run}->finish;
	my @strange = grep { /ERROR/ && !/duplicate key|deadlock detected|current transaction is aborted/ }
	  split /\n/, $session->{err};
	is("@strange", '', "$session->{name}: no error but duplicate keys");
}

my $all = "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;";
is( $node->safe_psql('postgres',
		"$all SELECT count(*) - count(DISTINCT id), count(*) - count(DISTINCT other) FROM t"),
	'0|0', 'no duplicates');
my $list = join(', ', map { "($_)" } sort { $a <=> $b } keys %certain);
is($node->safe_psql('postgres', "$all SELECT count(*) FROM (VALUES $list) v (id) WHERE NOT EXISTS
	(SELECT FROM t WHERE abs(t.id) = v.id)"), '0', 'each key of a statement of its own is there');
check_index($node, $_, 'in the end') foreach qw(t_pkey t_other);
is($node->safe_psql('postgres', "SELECT conname, amname FROM pg_constraint JOIN pg_class i ON i.oid = conindid
	JOIN pg_am a ON a.oid = relam WHERE conrelid = 't'::regclass AND contype IN ('p', 'u') ORDER BY 1"),
	"t_other|sware\nt_pkey|sware", 'both are of sware');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
