# A base backup and the WAL of a load in which everything happens that changes an
# index are recovered to many points, most of them at some record in the middle of a
# flush, a bulk append, a VACUUM, or a build.  At each of them every index agrees with its
# table, and has no entry for a row that VACUUM has removed.
#
# One server recovers to one target after the other, and pauses there.
#
# SWARE_RECOVERY_TARGETS sets how many there are (default 8).

use strict;
use warnings;

use FindBin;
use List::Util qw(shuffle);
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $targets = $ENV{SWARE_RECOVERY_TARGETS} // 8;
my $rounds = 1 + int($targets / 25);
my $am = am();
my @keys = qw(queue scrambled few label);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	preload() . ($am eq 'sware' ? "sware.staging_size = '128kB'\n" : '') . <<'CONF');
autovacuum = off
fsync = off
max_prepared_transactions = 10
max_wal_size = '8GB'
wal_keep_size = '8GB'
checkpoint_timeout = '1h'
log_statement = none
CONF
$primary->start;
prepare_database($primary);
make_disagreements($primary);

# Small buffers are flushed often, by the load itself; large ones are full.
my ($small, $large) =
  $am eq 'btree' ? ('', '') : ('WITH (buffer_size = 64)', 'WITH (buffer_size = 2048)');
$primary->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pageinspect;
CREATE TABLE data (id bigint, queue bigint, scrambled int, few int, label text);
CREATE INDEX data_queue ON data USING $am (queue) $small;
CREATE INDEX data_scrambled ON data USING $am (scrambled) INCLUDE (id) $large;
CREATE INDEX data_few ON data USING $am (few) $small;
CREATE INDEX data_label ON data USING $am (label) $large;
CREATE UNLOGGED TABLE unlogged (key int);
CREATE INDEX unlogged_key ON unlogged USING $am (key) $small;
INSERT INTO unlogged SELECT generate_series(1, 3000);
CREATE SEQUENCE ids;
SQL

# Returns what is wrong with an index whose table is there: it has entries of rows that do
# not exist, or that have no index entries of their own.
$primary->safe_psql('postgres', <<'SQL') if $am ne 'btree';
CREATE FUNCTION stale_entries(index regclass, tbl regclass) RETURNS bigint LANGUAGE sql AS $$
  WITH entries AS (
    SELECT unnest(coalesce(item.tids, ARRAY[item.htid])) AS tid
    FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) AS block,
         LATERAL (SELECT * FROM sware_page_stats(index, block)) AS page,
         LATERAL (SELECT * FROM sware_page_items(index, block)
                  WHERE page.kind IN ('leaf', 'buffer') AND NOT 'deleted' = ANY (page.flags)) AS item
    WHERE item.kind IN ('entry', 'posting list')
      AND block NOT IN (SELECT buffered.block FROM sware_buffer_pages(index) AS buffered
                        WHERE buffered.state = 'retired')
  ), rows AS (
    SELECT format('(%s,%s)', block, lp)::tid AS tid
    FROM generate_series(0, pg_relation_size(tbl) / current_setting('block_size')::int - 1) AS block,
         heap_page_items(get_raw_page(tbl::text, block::int))
    WHERE lp_flags <> 0
  )
  SELECT count(*) FROM (SELECT tid FROM entries EXCEPT SELECT tid FROM rows) stale
$$;
SQL

sub insert_statement
{
	my ($count) = @_;
	my $salt = choose(1, 1_000_000);
	return <<"SQL";
INSERT INTO data
  SELECT i, i + i * 31 % 40, hashint8(i + $salt), i % 15, md5(($salt + i)::text) || repeat('l', 60)
  FROM (SELECT nextval('ids') AS i FROM generate_series(1, $count)) new;
SQL
}

my $flush = flush_statement(map { "data_$_" } @keys);

$primary->safe_psql('postgres', insert_statement(4000));
$primary->backup('base');

# Single rows, also of subtransactions, some of them rolled back; all the time.
my $load = start_load($primary, 2, '--rate=400', script_files(
	'insert@6' => insert_statement(1),
	'insert-some@2' => "\\set rows random(2, 40)\n" . insert_statement(':rows'),
	'roll-back@1' => "BEGIN;\n" . insert_statement(3) . "ROLLBACK;\n",
	'savepoint@1' => "BEGIN;\n" . insert_statement(1) . "SAVEPOINT s;\n" . insert_statement(2)
	  . "ROLLBACK TO s;\n" . insert_statement(2) . "COMMIT;\n"), \my $errors);

# The events that happen beside the load, and between which LSNs.
my @events;

sub event
{
	my ($name, @statements) = @_;
	my $begin = $primary->lsn('insert');
	$primary->safe_psql('postgres', $_) foreach @statements;
	push @events, { name => $name, begin => $begin, end => $primary->lsn('insert') };
	return;
}

foreach my $round (1 .. $rounds)
{
	event('rows', map { insert_statement(1) } 1 .. 20);
	event('bulk append', insert_statement(6000));
	event('bulk load out of order', <<"SQL");
INSERT INTO data SELECT i, hashint8(i) % 100000, hashint8(i), i % 15, 'bulk ' || i FROM
  (SELECT nextval('ids') AS i FROM generate_series(1, 1500)) new;
SQL
	event('roll back', 'BEGIN; ' . insert_statement(3000) . ' ROLLBACK');
	event('flush', $flush);
	event('delete', "DELETE FROM data WHERE id < (SELECT max(id) FROM data) - 8000",
		'DELETE FROM data WHERE id % 7 = 0');
	event('vacuum', 'VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) data');
	event('prepare', 'BEGIN; ' . insert_statement(400) . " PREPARE TRANSACTION 'commits$round'",
		'BEGIN; ' . insert_statement(400) . " PREPARE TRANSACTION 'rolls_back$round'");
	event('update', 'UPDATE data SET few = few + 1, queue = queue + 3 WHERE id % 5 = 0');
	event('rows', map { insert_statement(1) } 1 .. 20);
	event('flush', $flush);
	event('vacuum', 'VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) data');
	event('end of prepared ones', "COMMIT PREPARED 'commits$round'",
		"ROLLBACK PREPARED 'rolls_back$round'");
	event('reindex concurrently', 'REINDEX INDEX CONCURRENTLY data_' . pick(@keys));
	event('bulk append', insert_statement(3000));
	# No session can look at the index in the middle of this.
	$primary->safe_psql('postgres', 'REINDEX INDEX data_' . pick(@keys));
	event('checkpoint', 'CHECKPOINT', insert_statement(10));
	event('restore point', "SELECT pg_create_restore_point('round $round')", insert_statement(10));
}
# The transaction that was prepared last is still prepared at the end.
$primary->safe_psql('postgres', 'BEGIN; ' . insert_statement(300) . " PREPARE TRANSACTION 'at_end'");
ok(load_goes_on($load), 'the load has run all the time') || diag($errors);
stop_load($primary, $load);
my $end = $primary->lsn('insert');
my @segments = split /\n/, $primary->safe_psql('postgres',
	"SELECT pg_walfile_name('$events[0]{begin}'); SELECT pg_walfile_name('$end')");
$primary->stop;

# All records, and among them those of generic WAL and of commits.
sub number
{
	my ($high, $low) = split m{/}, $_[0];
	return hex($high) * 2**32 + hex($low);
}

my $wal = $primary->data_dir . '/pg_wal';
my @records;
my $dump = PostgreSQL::Test::Utils::tempdir() . '/records';
IPC::Run::run([ 'pg_waldump', '-s', $events[0]{begin}, '-e', $end, map { "$wal/$_" } @segments ],
	'>', $dump, '2>', \$errors);
open my $lines, '<', $dump or die "could not open $dump: $!";
while (<$lines>)
{
	push @records, { kind => $1, xid => $2, lsn => $3, at => number($3), text => $4 }
	  if m{^rmgr: (\S+) .*? tx: +(\d+), lsn: ([0-9A-F/]+), prev \S+ desc: (.*)};
}
close $lines;
die "there are not enough records: $errors" if @records < 1000;

# Targets: records of the indexes within each kind of event in turn, then any records;
# one restore point, and one commit.
my $own_kind = $am eq 'btree' ? 'Btree' : 'Generic';
my @chosen;
my %seen;
my $take = sub {
	my ($name, @candidates) = @_;
	@candidates = grep { !$seen{ $_->{lsn} } } @candidates;
	return if !@candidates;
	my $record = pick(@candidates);
	$seen{ $record->{lsn} } = 1;
	push @chosen, { name => $name, at => $record->{at}, lsn => $record->{lsn},
		setting => "recovery_target_lsn = '$record->{lsn}'\nrecovery_target_inclusive = "
		  . pick('on', 'off') };
};
sub is_within
{
	my ($record, $event) = @_;
	return $event->{begin} <= $record->{at} && $record->{at} < $event->{end};
}
foreach my $event (@events)
{
	$event->{$_} = number($event->{$_}) foreach qw(begin end);
}
my @usable = grep {
	my $record = $_;
	grep { is_within($record, $_) } @events
} @records;
# Events that move entries come first, when there are few targets.
my $moves = qr/flush|vacuum|bulk append/;
my @order = sort { ($b->{name} =~ $moves) <=> ($a->{name} =~ $moves) } shuffle(@events);
while (@chosen < $targets - 2)
{
	my $event = shift @order;
	push @order, $event;
	if (@chosen % 4 == 3)
	{
		$take->('anywhere', @usable);
	}
	else
	{
		$take->($event->{name},
			grep { $_->{kind} eq $own_kind && is_within($_, $event) } @usable);
	}
}
push @chosen,
  { name => 'restore point',
      at => (map { $_->{at} } grep { $_->{text} =~ /^RESTORE_POINT round $rounds/ } @records)[0],
	setting => "recovery_target_name = 'round $rounds'" };
my $commit = pick(grep { $_->{kind} eq 'Transaction' && $_->{text} =~ /^COMMIT \d/ } @usable);
push @chosen, { name => "commit of $commit->{xid}", at => $commit->{at},
	setting => "recovery_target_xid = '$commit->{xid}'" };
@chosen = sort { $a->{at} <=> $b->{at} } @chosen;

my $replica = PostgreSQL::Test::Cluster->new('replica');
$replica->init_from_backup($primary, 'base');
$replica->append_conf('postgresql.conf', <<"CONF");
restore_command = 'cp "$wal/%f" "%p"'
recovery_target_action = pause
hot_standby = on
max_standby_archive_delay = -1
include_if_exists = 'target.conf'
CONF
$replica->set_recovery_mode;

# Statements about everything; each gives what is wrong.
my $questions = join(";\n",
	(map { "SELECT disagreements('data', '$_')" } @keys),
	$am eq 'btree' ? () : (
		"SELECT 'stale entries of ' || name || ': ' || stale FROM (SELECT name, "
		  . "stale_entries(name::regclass, 'data') AS stale FROM unnest('{"
		  . join(',', map { "data_$_" } @keys) . "}'::text[]) name) found WHERE stale > 0"));
my $checks = join(";\n", map { check_statement("data_$_") } @keys);

sub is_right
{
	my ($name) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $replica->psql('postgres', "SET lock_timeout = '60s'; $questions;",
		stdout => \$stdout, stderr => \$stderr);
	is("$status $stdout$stderr", '0 ', "$name: every index agrees with its table");
	$status = $replica->psql('postgres', $checks, stderr => \$stderr);
	ok($status == 0, "$name: checks") || diag($stderr);
	return;
}

my $buffered = 0;
foreach my $target (@chosen)
{
	my $name = "$target->{name}, $target->{setting}" =~ s/\n/, /r;
	unlink $replica->data_dir . '/target.conf';
	append_to_file($replica->data_dir . '/target.conf', "$target->{setting}\n");
	$replica->start;
	$replica->poll_query_until('postgres', "SELECT pg_get_wal_replay_pause_state() = 'paused'")
	  or die "recovery did not pause at $name";
	is_right($name);
	$buffered++ if $am eq 'btree'
	  || $replica->safe_psql('postgres', "SELECT sum(buffer_entries) > 0 FROM pg_stat_sware "
		  . "WHERE indexrelname LIKE 'data%'") eq 't';
	$replica->stop if $target != $chosen[-1];
}
cmp_ok($buffered, '>', 0, "entries were in buffers at $buffered of the targets");

# An unlogged table has no file there.
if ($am ne 'btree')
{
	foreach my $statement ('SELECT FROM unlogged', "SELECT sware_sortedness('unlogged', 'key')")
	{
		my $stderr = '';
		$replica->psql('postgres', $statement, stderr => \$stderr);
		like($stderr, qr/ERROR:  cannot access temporary or unlogged relations during recovery/, $statement);
	}
}

# From the last target on, the server is one as any other.
$replica->safe_psql('postgres', 'SELECT pg_promote()');
$replica->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is_right('promoted');
unlogged_is_empty($replica, 'promoted');
foreach my $prepared (split /\n/, $replica->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'))
{
	$replica->safe_psql('postgres', pick('COMMIT', 'ROLLBACK') . " PREPARED '$prepared'");
}
is_right('after the end of prepared transactions');
$replica->safe_psql('postgres', insert_statement(1)) foreach 1 .. 10;
$replica->safe_psql('postgres', $_) foreach insert_statement(3000),
  'DELETE FROM data WHERE id % 3 = 0', 'VACUUM (INDEX_CLEANUP ON) data', insert_statement(2000);
is_right('after more changes');
did_not_crash($replica, 'the server had nothing to complain about');
$replica->stop;
done_testing();
