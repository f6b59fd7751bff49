# pg_basebackup beside writers, and recovery to points in the midst of their load: to an LSN,
# a transaction and a name.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1, has_archiving => 1);
$node->append_conf('postgresql.conf', server_settings());
$node->start;
make_twins($node);

my $errors = '';
my $load = start_twin_load($node, 4, \$errors);
wait_for_rows($node, 300);
run_tool('pg_basebackup', 'pg_basebackup', '--no-sync', '--checkpoint=fast', '--max-rate=20M',
	'-h', $node->host, '-p', $node->port, '-D', $node->backup_dir . '/backup');
my %target;
wait_for_rows($node, 400);
$target{lsn} = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
wait_for_rows($node, 400);
$node->safe_psql('postgres', q{SELECT sware_flush('ours_key'), sware_flush('ours_label')});
$target{xid} = $node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
wait_for_rows($node, 400);
$node->safe_psql('postgres', q{SELECT pg_create_restore_point('amidst')});
$target{name} = 'amidst';
wait_for_rows($node, 400);
stop_twin_load($node, $load, \$errors);
twins_agree($node, 'the server itself');
$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM ours WHERE id > 20001');
my $before = 0;

foreach my $kind (qw(lsn xid name))
{
	my $recovered = PostgreSQL::Test::Cluster->new("recovered_$kind");
	$recovered->init_from_backup($node, 'backup', has_restoring => 1);
	$recovered->append_conf('postgresql.conf', <<"CONF");
archive_mode = off
recovery_target_$kind = '$target{$kind}'
recovery_target_action = 'pause'
recovery_target_timeline = 'current'
CONF
	$recovered->start;
	$recovered->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'})
	  or BAIL_OUT('the target is not reached');
	twins_agree($recovered, "recovery to a $kind, in recovery");
	my $found = $recovered->safe_psql('postgres', 'SELECT count(*) FROM ours WHERE id > 20001');
	cmp_ok($found, '<', $rows, "recovery to a $kind: before the end of the load");
	cmp_ok($found, '>', $before, "recovery to a $kind: behind the point before");
	$before = $found;
	$recovered->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or BAIL_OUT('no promotion');
	twins_agree($recovered, "recovery to a $kind");
	my $new_errors = '';
	my $new_load = start_twin_load($recovered, 2, \$new_errors);
	wait_for_rows($recovered, 300);
	stop_twin_load($recovered, $new_load, \$new_errors);
	twins_agree($recovered, "recovery to a $kind, more rows");
	did_not_crash($recovered, "recovery to a $kind: nothing crashed");
	$recovered->stop;
}
$node->stop;
done_testing();
