# pg_rewind: a standby is promoted while the primary goes on, both get rows that the other
# one has not, and the old primary becomes a standby of the new one.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $primary = PostgreSQL::Test::Cluster->new('a');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', server_settings() . <<'CONF');
wal_log_hints = on
wal_keep_size = '1GB'
hot_standby_feedback = off
max_standby_streaming_delay = -1
CONF
$primary->start;
make_twins($primary);
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('b');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

foreach my $round (1 .. 2)
{
	my ($lost, $kept) = ('', '');
	my $load = start_twin_load($primary, 3, \$lost);
	wait_for_rows($primary, 300);
	$standby->promote;
	my $other_load = start_twin_load($standby, 3, \$kept);
	wait_for_rows($primary, 500);
	$primary->safe_psql('postgres', "SELECT sware_flush('ours_key')");
	wait_for_rows($standby, 500);
	stop_twin_load($primary, $load, \$lost);
	$primary->safe_psql('postgres', "INSERT INTO $_ SELECT -$round, -5 - $round, 'lost'")
	  foreach qw(ours twin);
	twins_agree($primary, "round $round, the old primary");
	$primary->stop;

	# pg_rewind compares with the source's last checkpoint, and copies its configuration.
	$standby->safe_psql('postgres', 'CHECKPOINT');
	my $configuration = slurp_file($primary->data_dir . '/postgresql.conf');
	run_tool("round $round: pg_rewind", 'pg_rewind', '--no-sync', '--target-pgdata', $primary->data_dir,
		'--source-server', $standby->connstr('postgres'));
	unlink $primary->data_dir . '/postgresql.conf';
	append_to_file($primary->data_dir . '/postgresql.conf', $configuration);
	$primary->append_conf('postgresql.conf',
		"primary_conninfo = '" . $standby->connstr . " application_name=" . $primary->name . "'\n");
	$primary->set_standby_mode;
	$primary->start;
	$standby->wait_for_catchup($primary->name, 'replay', $standby->lsn('write'));
	twins_agree($primary, "round $round, rewound, beside writers");
	stop_twin_load($standby, $other_load, \$kept);
	$standby->wait_for_catchup($primary->name, 'replay', $standby->lsn('write'));
	twins_agree($primary, "round $round, rewound");
	twins_agree($standby, "round $round, the new primary");
	is($primary->safe_psql('postgres', q{SELECT count(*) FROM ours WHERE label = 'lost'}), '0',
		"round $round: what was lost is lost");
	is($primary->safe_psql('postgres', q{SELECT sum(hashtextextended(o::text, 0)) FROM ours o}),
		$standby->safe_psql('postgres', q{SELECT sum(hashtextextended(o::text, 0)) FROM ours o}),
		"round $round: both servers have the same rows");
	($primary, $standby) = ($standby, $primary);
}
did_not_crash($_, $_->name . ': nothing crashed') foreach ($primary, $standby);
$standby->stop;
$primary->stop;
done_testing();
