# Logical replication of a table whose primary key, a sware index on both sides, is the
# replica identity. PostgreSQL 17 cannot apply updates and deletes by it, and warns.

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

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
my $version;
foreach my $node ($publisher, $subscriber)
{
	$node->append_conf('postgresql.conf',
		preload() . "autovacuum = off\nwal_retrieve_retry_interval = 100ms\n");
	$node->start;
	prepare_database($node);
	$version = $node->safe_psql('postgres', 'SHOW server_version_num');
	my ($status, $stdout, $stderr) = run_sql($node,
		'CREATE TABLE t (id bigint PRIMARY KEY WITH (sware), a text UNIQUE WITH (sware))');
	my $warning = qr/WARNING:  as a logical subscriber, PostgreSQL 17 cannot apply .* constraint "t_pkey"/;
	if ($version >= 170000 && $version < 180000)
	{
		like($stderr, $warning, '17 warns of the key');
	}
	else
	{
		is($stderr, '', 'other versions do not warn');
	}
	# The index of a unique constraint is the identity; 17 could not use it.
	run_sql($node, 'CREATE TABLE u (id bigint NOT NULL, a text, CONSTRAINT u_id UNIQUE (id) WITH (sware));
		ALTER TABLE u REPLICA IDENTITY USING INDEX u_id');
}
$publisher->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE t, u;
	INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i; INSERT INTO u SELECT * FROM t');
$subscriber->safe_psql('postgres', 'CREATE SUBSCRIPTION s CONNECTION \''
	  . $publisher->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');

sub same
{
	my ($name) = @_;
	foreach my $table ('t', 'u')
	{
		my $query = "SELECT count(*), sum(hashtextextended($table\::text, 0)) FROM $table";
		is($subscriber->safe_psql('postgres', $query), $publisher->safe_psql('postgres', $query),
			"$name: the same rows of $table");
	}
	check_index($subscriber, $_, $name) foreach qw(t_pkey t_a_key u_id);
	return;
}
same('initial copy');
$publisher->safe_psql('postgres', 'INSERT INTO t SELECT i, i FROM generate_series(1001, 2000) i;
	INSERT INTO u SELECT * FROM t WHERE id > 1000');
$publisher->wait_for_catchup('s');
same('inserts');

my $offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', <<'SQL');
UPDATE t SET a = 'changed ' || a WHERE id % 10 = 1;
UPDATE t SET id = id + 10000 WHERE id % 10 = 2;
DELETE FROM t WHERE id % 10 = 3;
UPDATE u SET a = 'changed ' || a WHERE id % 10 = 1;
UPDATE u SET id = id + 10000 WHERE id % 10 = 2;
DELETE FROM u WHERE id % 10 = 3;
SQL
if ($version >= 170000 && $version < 180000)
{
	$subscriber->wait_for_log(qr/missing operator 0\(20,20\) in opfamily/, $offset);
	# What the warning says.
	$subscriber->safe_psql('postgres', 'CREATE UNIQUE INDEX t_btree ON t (id);
		ALTER TABLE t REPLICA IDENTITY USING INDEX t_btree;
		CREATE UNIQUE INDEX u_btree ON u (id); ALTER TABLE u REPLICA IDENTITY USING INDEX u_btree');
}
$publisher->wait_for_catchup('s');
same('updates and deletes');
is($subscriber->safe_psql('postgres', "SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE c.oid = 't_pkey'::regclass"), 'sware', 'the key is of sware');
did_not_crash($_, $_->name . ' did not crash') foreach $publisher, $subscriber;
$subscriber->stop;
$publisher->stop;
done_testing();
