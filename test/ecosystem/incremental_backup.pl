# Incremental backups, taken beside writers, flushes and VACUUM, and joined by
# pg_combinebackup, which takes blocks of a file from several backups.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('incremental');
skip_file('pg_combinebackup is of PostgreSQL 17') if $node->pg_version->major < 17;
$node->init(allows_streaming => 1, has_archiving => 1);
$node->append_conf('postgresql.conf', server_settings() . "summarize_wal = on\n");
$node->start;
make_twins($node);

my $errors = '';
my $load = start_twin_load($node, 4, \$errors);
my $directory = $node->backup_dir;
my @backups;
foreach my $step (0 .. 3)
{
	wait_for_rows($node, 500);
	$node->safe_psql('postgres', q{SELECT sware_flush('ours_key')}) if $step == 2;
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON)') if $step == 3;
	run_tool("backup $step", 'pg_basebackup', '--no-sync', '--checkpoint=fast', '-h', $node->host,
		'-p', $node->port, '-D', "$directory/step$step",
		$step ? ('--incremental', "$directory/step" . ($step - 1) . '/backup_manifest') : ());
	push @backups, "$directory/step$step";
	next if !$step;

	run_tool("backup $step: pg_combinebackup", 'pg_combinebackup', '--no-sync', '-o', "$directory/whole$step",
		@backups);
	run_tool("backup $step: pg_verifybackup", 'pg_verifybackup', "$directory/whole$step");
	cmp_ok(scalar(grep { -s $_ } glob("$directory/step$step/base/*/INCREMENTAL.*")), '>', 0,
		"backup $step is incremental");
	my $restored = PostgreSQL::Test::Cluster->new("restored$step");
	$restored->init_from_backup($node, "whole$step");
	$restored->append_conf('postgresql.conf', "archive_mode = off\nsummarize_wal = off\n");
	$restored->start;
	twins_agree($restored, "backup $step");
	my $restored_errors = '';
	my $restored_load = start_twin_load($restored, 2, \$restored_errors);
	wait_for_rows($restored, 300);
	stop_twin_load($restored, $restored_load, \$restored_errors);
	twins_agree($restored, "backup $step, more rows");
	did_not_crash($restored, "backup $step: nothing crashed");
	$restored->stop;
}
stop_twin_load($node, $load, \$errors);
twins_agree($node, 'the server itself');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
