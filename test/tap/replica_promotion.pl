# A backup is taken in the middle of a flush, while inserts, deletions, flushes and
# VACUUM go on.  What is restored from it is right by itself, and as a standby with
# another one that follows it.  The first is promoted under load, with full buffers, rows
# staged and reads running; the second follows, takes part in a load on the new primary,
# and is promoted itself.
#
# SWARE_PROMOTION_ROUNDS sets how often all of that happens (default 1).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_PROMOTION_ROUNDS} // 1;
my $am = am();
my @keys = qw(queue scrambled label);
my ($small, $large) =
  $am eq 'btree' ? ('', '') : ('WITH (buffer_size = 64)', 'WITH (buffer_size = 4096)');

sub insert_statement
{
	my ($count) = @_;
	my $salt = choose(1, 1_000_000);
	return <<"SQL";
INSERT INTO data
  SELECT i, i + i * 31 % 40, hashint8(i + $salt), md5(($salt + i)::text) || repeat('l', 60)
  FROM (SELECT nextval('ids') AS i FROM generate_series(1, $count)) new;
SQL
}

# The load has a pace that replay can keep up with.
my @changes = ('--rate=200', script_files(
	insert => insert_statement(1),
	insert_some => insert_statement(20),
	delete => <<'SQL',
DELETE FROM data WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM data ORDER BY queue LIMIT 20 FOR UPDATE SKIP LOCKED));
SQL
	$am eq 'btree' ? () : (flush => flush_statement('data_label'))));
my @maintenance = script_files(vacuum => "VACUUM data;\n\\sleep 200 ms\n");
# A wrong answer is a division by zero.
my $one_snapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ;';
my @reads = script_files(map {
	$_ => "$one_snapshot\nSELECT 1 / (count(*) = 0)::int FROM disagreements('data', '$_');\nCOMMIT;\n"
} @keys);

sub is_right
{
	my ($node, $name) = @_;
	foreach my $key (@keys)
	{
		is($node->safe_psql('postgres', "$one_snapshot SELECT disagreements('data', '$key'); COMMIT"),
			'', "$name: data.$key");
		check_index($node, "data_$key", $name);
	}
	return;
}

# Starts a flush that waits when its entries are in the tree, and in the buffer still.
sub hold_flush
{
	my ($node) = @_;
	my $locker = $node->background_psql('postgres', on_error_stop => 1);
	$locker->query_safe('SELECT pg_advisory_lock(23265)');
	my $errors = '';
	my $flusher = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
			'-c', "SET sware.fault_points = 'flush-inserted=wait'",
			'-c', "SELECT sware_flush('data_scrambled')"
		],
		'<', \undef, '>', \my $output, '2>', \$errors, IPC::Run::timeout(600));
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	return { locker => $locker, flusher => $flusher };
}

sub release_flush
{
	my ($held) = @_;
	ok($held->{flusher}->pumpable, 'the flush was going on all the time');
	$held->{locker}->query_safe('SELECT pg_advisory_unlock(23265)');
	ok($held->{flusher}->finish, 'the flush came to its end');
	$held->{locker}->quit;
	return;
}

# Promotes a server while queries run, and sees that it works.  The load that it
# replays ends when promotion has been asked for: a standby that always has more WAL to
# replay does not look whether it is to be promoted.
sub promote
{
	my ($node, $name, @load) = @_;
	my $readers = start_load($node, 2, @reads);
	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity
			WHERE query LIKE '%disagreements%' AND pid <> pg_backend_pid()");
	ok(load_goes_on($_), "$name: the load is going on") foreach @load;
	$node->safe_psql('postgres', 'SELECT pg_promote(false)');
	$_->kill_kill foreach @load;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	unlogged_is_empty($node, $name);
	ok(load_goes_on($readers), "$name: reads went on");
	$readers->kill_kill;
	is_right($node, $name);
	$node->safe_psql('postgres', insert_statement(1)) foreach 1 .. 20;
	$node->safe_psql('postgres', insert_statement(3000));
	is_right($node, "$name, after inserts");
	return;
}

foreach my $round (1 .. $rounds)
{
	my $primary = PostgreSQL::Test::Cluster->new("primary_$round");
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf',
		preload() . ($am eq 'sware' ? "sware.staging_size = '128kB'\n" : '') . <<'CONF');
autovacuum = off
fsync = off
wal_consistency_checking = 'generic'
max_wal_size = '4GB'
wal_keep_size = '4GB'
log_statement = none
max_standby_streaming_delay = -1
hot_standby_feedback = on
wal_receiver_status_interval = 1s
CONF
	$primary->start;
	prepare_database($primary);
	make_disagreements($primary);
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE data (id bigint, queue bigint, scrambled int, label text);
CREATE INDEX data_queue ON data USING $am (queue) $small;
CREATE INDEX data_scrambled ON data USING $am (scrambled) INCLUDE (id) $large;
CREATE INDEX data_label ON data USING $am (label) $large;
CREATE UNLOGGED TABLE unlogged (key int);
CREATE INDEX unlogged_key ON unlogged USING $am (key) $small;
INSERT INTO unlogged SELECT generate_series(1, 3000);
CREATE SEQUENCE ids;
SQL
	$primary->safe_psql('postgres', insert_statement(6000));
	$primary->safe_psql('postgres',
		'DO $$ BEGIN FOR n IN 1 .. 100 LOOP ' . insert_statement(20) . ' COMMIT; END LOOP; END $$');

	# Entries are in the tree, and in the buffer still, when the backup begins and ends.
	my $held = $am eq 'btree' ? undef : hold_flush($primary);
	my @load = (start_load($primary, 2, @changes), start_load($primary, 1, @maintenance));
	$primary->backup('under_load');
	release_flush($held) if $held;

	my $restored = PostgreSQL::Test::Cluster->new("restored_$round");
	$restored->init_from_backup($primary, 'under_load');
	$restored->start;
	is_right($restored, 'restored from a backup under load');
	$restored->safe_psql('postgres', $_) foreach insert_statement(500), 'VACUUM data', insert_statement(500);
	is_right($restored, 'restored and changed');
	$restored->stop;

	my $middle = PostgreSQL::Test::Cluster->new("middle_$round");
	$middle->init_from_backup($primary, 'under_load', has_streaming => 1);
	$middle->start;
	my $last = PostgreSQL::Test::Cluster->new("last_$round");
	$last->init_from_backup($primary, 'under_load');
	$last->enable_streaming($middle);
	$last->start;

	# Rows of a transaction that will never commit are staged on the old primary.
	my $session = $primary->background_psql('postgres', on_error_stop => 1);
	$session->query_safe("BEGIN; @{[ insert_statement(2000) ]}");
	my $start = $primary->lsn('insert');
	$primary->poll_query_until('postgres', "SELECT pg_current_wal_insert_lsn() - '$start' > 1000000");

	# A cascaded standby that has got half a record when its upstream is promoted
	# may not find the file of the new timeline, and end; so it is down meanwhile.
	$last->stop;
	promote($middle, 'promoted under load', @load);
	$primary->stop('immediate');
	$session->quit;
	$last->start;

	# The last one follows, while the new primary is busy.
	my $busy = start_load($middle, 2, @changes);
	$start = $middle->lsn('insert');
	$middle->poll_query_until('postgres', "SELECT pg_current_wal_insert_lsn() - '$start' > 1000000");
	$middle->wait_for_catchup($last, 'replay', $middle->lsn('insert'));
	is($last->safe_psql('postgres', "$one_snapshot SELECT disagreements('data', '$_'); COMMIT"), '',
		"the last one, following: data.$_") foreach @keys;
	promote($last, 'the last one, promoted under load', $busy);
	is_right($middle, 'the one in the middle, afterwards');
	did_not_crash($_, $_->name . ' had nothing to complain about', qr/division by zero/)
	  foreach $middle, $last, $restored;
	$_->stop foreach $middle, $last;
}
done_testing();
