# Statistics survive a clean restart, on a primary and on a standby. They begin anew after
# a crash and an immediate shutdown, whatever file was there before, and when their file is
# damaged, which keeps no server from starting.

use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'statistics are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('restart');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
restart_after_crash = on
CONF
$node->start;
prepare_database($node);
my $file = $node->data_dir . '/pg_stat/sware.stat';
my $ignored = qr/LOG:  statistics of sware indexes in file "pg_stat\/sware.stat" are ignored/;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int, b int);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING sware (b);
SQL

# All that is counted, without what is in the buffer.
sub counted
{
	my ($server) = @_;
	return ($server // $node)->safe_psql('postgres', <<'SQL');
SELECT jsonb_pretty(to_jsonb(s) - 'buffer_entries' - 'buffer_pages')
FROM pg_stat_sware s ORDER BY indexrelname
SQL
}

# Does something that is counted, and waits until it shows.
sub count_something
{
	my ($name) = @_;
	$node->safe_psql('postgres', 'INSERT INTO t SELECT n, -n FROM generate_series(1, 200) n');
	$node->safe_psql('postgres', "SELECT sware_flush('t_a')");
	$node->safe_psql('postgres', 'INSERT INTO t SELECT -n, n FROM generate_series(1, 100) n');
	return ok(
		$node->poll_query_until(
			'postgres', "SELECT flushes = 1 AND entries_buffered = 300 FROM sware_stats('t_a')"),
		$name) || diag(counted());
}

sub has_begun_anew
{
	my ($name) = @_;
	return is(
		$node->safe_psql('postgres',
			'SELECT sum(entries_buffered + flushes + vacuum_pieces), max(stats_since) FROM pg_stat_sware'),
		'0|', $name);
}

count_something('something is counted');
my $before = counted();
$node->restart;
is(counted(), $before, 'it is kept over a restart, with the time since when it counts');
ok(!-e $file, 'the file is gone then');
$node->stop('smart');
$node->start;
is(counted(), $before, 'and over another one');

# Counting goes on: sums are added up, the longest is the longest of all.
my ($pieces, $longest) = split /\|/,
  $node->safe_psql('postgres', "SELECT vacuum_pieces, vacuum_max_time FROM sware_stats('t_a')");
$node->safe_psql('postgres', "SELECT sware_flush('t_a')");
ok( $node->poll_query_until(
		'postgres',
		"SELECT vacuum_pieces = $pieces + 1 AND vacuum_max_time >= $longest FROM sware_stats('t_a')"),
	'counting goes on');

# After an immediate shutdown nothing is known, nor after a crash.
$node->stop('immediate');
ok(!-e $file, 'an immediate shutdown writes no file');
$node->start;
has_begun_anew('counting begins anew after an immediate shutdown');

count_something('something is counted again');
my $log_start = -s $node->logfile;
$node->psql('postgres', "SET sware.fault_points = 'flush-sealed=kill'; SELECT sware_flush('t_a')");
ok( wait_for_answer($node, 'SELECT count(*) = 2 FROM pg_stat_sware', qr/^t$/), 'after a crash');
ok(scalar(grep_log($node, qr/was terminated by signal 9/, $log_start)), 'it was one');
has_begun_anew('counting begins anew');

# Before each start the file is damaged in another way.
count_something('something is counted a third time');
$before = counted();
$node->stop;
ok(-e $file, 'a clean shutdown writes a file');
copy($file, "$file.old") or die $!;
my %damages = (
	'empty' => sub { return '' },
	'cut off' => sub { return substr($_[0], 0, -1) },
	'with a byte too much' => sub { return "$_[0]\0" },
	'with another byte' => sub {
		return substr($_[0], 0, -9) . chr(ord(substr($_[0], -9, 1)) ^ 1) . substr($_[0], -8);
	},
	'of another version' => sub { return substr($_[0], 0, 4) . "\x7f" . substr($_[0], 5) },
	'with other records' => sub { return substr($_[0], 0, 8) . "\x10" . substr($_[0], 9) },
	'with a huge number of records' =>
	  sub { return substr($_[0], 0, 12) . "\xff\xff\xff\xff" . substr($_[0], 16) },
	'of an older shutdown' => sub { return slurp_file("$file.old") },
	'of something else' => sub { return 'x' x length $_[0] });
foreach my $damage (sort keys %damages)
{
	my $sound = slurp_file($file);
	open(my $out, '>:raw', $file) or die $!;
	print $out $damages{$damage}->($sound);
	close $out or die $!;
	$log_start = -s $node->logfile;
	$node->start;
	is(scalar(grep_log($node, $ignored, $log_start)), 1, "a file $damage is logged");
	has_begun_anew("a file $damage is ignored");
	ok(!-e $file, "a file $damage is removed");
	count_something("something is counted after a file $damage");
	$before = counted();
	$node->stop;
}

# A directory in its place can be neither read nor removed.
unlink $file;
mkdir $file or die $!;
$node->start;
has_begun_anew('a directory is ignored');
rmdir $file or die $!;
count_something('something is counted after a directory');
$before = counted();
$node->stop;

# A start that fails loses nothing: the next one takes the file.
$node->append_conf('pg_hba.conf', 'nonsense');
ok(!$node->start(fail_ok => 1), 'a start fails');
my $access = slurp_file($node->data_dir . '/pg_hba.conf');
$access =~ s/nonsense//;
open(my $out, '>', $node->data_dir . '/pg_hba.conf') or die $!;
print $out $access;
close $out or die $!;
$log_start = -s $node->logfile;
$node->start;
is(counted(), $before, 'what is sound is taken');
is(scalar(grep_log($node, $ignored, $log_start)), 0, 'without a word');

# The postmaster dies: the file from before is gone.
$node->stop('immediate');
$node->start;
has_begun_anew('it does not come back');

# A standby counts for itself, and keeps that, too.
$node->safe_psql('postgres', 'INSERT INTO t SELECT n FROM generate_series(1, 200) n') foreach 1 .. 20;
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', 'SELECT max(stats_since) FROM pg_stat_sware'),
	'', 'a standby begins anew');
$standby->safe_psql('postgres', "$ordered_scan SELECT count(*) FROM t WHERE a > 0");
ok( $standby->poll_query_until('postgres', "SELECT reader_pieces = 1 FROM sware_stats('t_a')"),
	'it counts what readers do');
$before = counted($standby);
$standby->restart;
is(counted($standby), $before, 'and keeps it over a restart');
$standby->stop;

$node->stop;
done_testing();
