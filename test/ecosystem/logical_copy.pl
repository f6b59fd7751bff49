# Logical replication: tables are copied beside writers, and followed; from 17 on a standby
# becomes a subscriber, by pg_createsubscriber.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $settings = server_settings() . "wal_retrieve_retry_interval = 100ms\n";
my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', $settings);
$publisher->start;
make_twins($publisher);
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', $settings);
$subscriber->start;
make_twins($subscriber, rows => 0);

my $errors = '';
my $load = start_twin_load($publisher, 3, \$errors);
wait_for_rows($publisher, 200);
$publisher->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE ours, twin');
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$connection' PUBLICATION p");
$subscriber->poll_query_until('postgres', q{SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel})
  or BAIL_OUT('the tables are not copied');
wait_for_rows($publisher, 500);
stop_twin_load($publisher, $load, \$errors);
$publisher->wait_for_catchup('s');
twins_agree($subscriber, 'copied and followed');
twins_agree($publisher, 'publisher');
same_rows($publisher, $subscriber, 'publisher and subscriber have the same rows');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION s');

SKIP:
{
	skip 'pg_createsubscriber is of PostgreSQL 17', 1 if $publisher->pg_version->major < 17;
	$publisher->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($publisher, 'copy', has_streaming => 1);
	$standby->start;
	my $more_errors = '';
	my $more = start_twin_load($publisher, 3, \$more_errors);
	wait_for_rows($publisher, 300);
	$standby->stop;
	run_tool('pg_createsubscriber', 'pg_createsubscriber', '-D', $standby->data_dir, '-d', 'postgres',
		'-P', $publisher->connstr . ' dbname=postgres', '-p', $standby->port, '-s', $standby->host,
		'--publication=q', '--subscription=t');
	$standby->start;
	wait_for_rows($publisher, 500);
	stop_twin_load($publisher, $more, \$more_errors);
	$publisher->safe_psql('postgres', 'DROP PUBLICATION p');
	$publisher->wait_for_catchup('t');
	twins_agree($standby, 'pg_createsubscriber');
	same_rows($publisher, $standby, 'pg_createsubscriber: the same rows');
	did_not_crash($standby, 'pg_createsubscriber: nothing crashed');
	$standby->stop;
}
did_not_crash($_, $_->name . ': nothing crashed') foreach ($publisher, $subscriber);
$subscriber->stop;
$publisher->stop;
done_testing();

sub same_rows
{
	my ($one, $other, $name) = @_;
	my $digest = 'SELECT count(*), sum(hashtextextended(o::text, 0)) FROM ours o';
	return is($other->safe_psql('postgres', $digest), $one->safe_psql('postgres', $digest), $name);
}
