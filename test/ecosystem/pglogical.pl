# pglogical: a replication set is copied beside writers, and followed, by code that stores
# rows in its own way.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $settings = server_settings() =~ s/'sware'/'sware, pglogical'/r;
my %node;
foreach my $name (qw(provider subscriber))
{
	my $node = $node{$name} = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', server_settings());
	$node->start;
	needs_extension($node, 'pglogical');
	$node->append_conf('postgresql.conf', $settings . "track_commit_timestamp = on\n");
	# Minor releases of 2026 ask for the names of libraries that may decode.
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'pglogical_output'\n")
	  if $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'}) ne '0';
	$node->restart;
	make_twins($node, rows => $name eq 'provider' ? 20000 : 0);
	$node->safe_psql('postgres', "CREATE EXTENSION pglogical;
		SELECT pglogical.create_node('$name', \$\$" . $node->connstr('postgres') . '$$)');
}
my ($provider, $subscriber) = @node{qw(provider subscriber)};
my $errors = '';
my $load = start_twin_load($provider, 3, \$errors);
wait_for_rows($provider, 200);
$provider->safe_psql('postgres',
	"SELECT pglogical.replication_set_add_table('default', '$_')")
  foreach qw(ours twin);
$subscriber->safe_psql('postgres',
	q{SELECT pglogical.create_subscription('s', $$} . $provider->connstr('postgres') . '$$)');
$subscriber->poll_query_until('postgres',
	q{SELECT status = 'replicating' FROM pglogical.show_subscription_status('s')})
  or BAIL_OUT('the tables are not copied');
wait_for_rows($provider, 500);
stop_twin_load($provider, $load, \$errors);
my $rows = $provider->safe_psql('postgres', 'SELECT count(*), sum(hashtextextended(o::text, 0)) FROM ours o');
$subscriber->poll_query_until('postgres',
	'SELECT count(*), sum(hashtextextended(o::text, 0)) FROM ours o', $rows);
$subscriber->poll_query_until('postgres',
	'SELECT count(*), sum(hashtextextended(o::text, 0)) FROM twin o', $rows);
is($subscriber->safe_psql('postgres', 'SELECT count(*), sum(hashtextextended(o::text, 0)) FROM ours o'),
	$rows, 'provider and subscriber have the same rows');
twins_agree($subscriber, 'subscriber');
twins_agree($provider, 'provider');
did_not_crash($_, $_->name . ': nothing crashed') foreach ($provider, $subscriber);
$subscriber->stop('immediate');
$provider->stop('immediate');
done_testing();
