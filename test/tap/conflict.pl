# Before entries of dead rows are removed outside VACUUM, a record tells standbys up to
# which transaction these rows were deleted.  Here the record is looked for in the WAL:
# what it says, that it comes first, and that there is none where none is needed.
# tap/dead_rows shows what it does on a standby.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the records are sware\'s' if am() ne 'sware';

my $settings = preload() . fill_buffers() . <<'CONF';
autovacuum = off
fsync = off
CONF

# What a server's WAL has of conflicts for an index, in what a piece of code does: a
# list of horizons, each with its epoch, and with "catalog" for a table that logical
# decoding reads.
sub conflicts
{
	my ($node, $index, $code) = @_;
	my $begin = $node->lsn('insert');
	$code->();
	my $end = $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	my $file = $node->safe_psql('postgres', "SELECT pg_relation_filenode('$index')");
	my ($records, $errors) = run_command(
		[ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $begin, '-e', $end, '-r', 'Btree' ]);
	my @found;
	foreach (split /\n/, $records)
	{
		my ($horizon, $rest) = m{REUSE_PAGE.*\d+/\d+/$file\b.* (\d+:\d+)(.*)} or next;
		push @found, $horizon . ($rest =~ /isCatalogRel:? T/ ? ' catalog' : '');
	}
	return join(', ', @found);
}

# Makes a table of rows whose entries are in the buffer, and deletes some of them.
# Returns the transaction that did so last.
sub make_dead_rows
{
	my ($node, $table, $kind, $options) = @_;
	return $node->safe_psql('postgres', <<"SQL");
CREATE $kind TABLE $table (key int) $options;
CREATE INDEX ${table}_key ON $table USING sware (key);
INSERT INTO $table SELECT generate_series(1, 20);
DELETE FROM $table WHERE key <= 5;
BEGIN;
DELETE FROM $table WHERE key <= 10;
SELECT pg_current_xact_id()::xid;
COMMIT;
SQL
}

sub flush
{
	my ($node, $table) = @_;
	return sub { $node->safe_psql('postgres', "SELECT sware_flush('${table}_key')") };
}

sub counted
{
	my ($node, $columns, $index) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM sware_stats('$index')");
}

# Fails the test unless a flush drops a number of entries, and logs these conflicts.
sub flush_is
{
	my ($node, $table, $expected, $dropped, $name) = @_;
	is(conflicts($node, "${table}_key", flush($node, $table)), $expected, $name);
	is(counted($node, 'entries_dropped', "${table}_key"), $dropped, "$name: entries are dropped");
	return;
}

my $node = PostgreSQL::Test::Cluster->new('conflict');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', $settings);
$node->start;
prepare_database($node);

# Flushes.
my $deleter = make_dead_rows($node, 'flushed', '', '');
my $errors;
is( conflicts(
		$node,
		'flushed_key',
		sub {
			(undef, undef, $errors) = $node->psql('postgres',
				"SET sware.fault_points = 'flush-dead-dropped=error'; SELECT sware_flush('flushed_key')");
		}),
	"0:$deleter",
	'a flush logs the conflict');
like($errors, qr/fault point "flush-dead-dropped" was reached/, 'and is stopped');
is(counted($node, 'buffer_entries, flushes', 'flushed_key'), '20|0', 'before it has removed anything');
flush_is($node, 'flushed', "0:$deleter", 10, 'a flush of dead rows');
$node->safe_psql('postgres', 'INSERT INTO flushed SELECT generate_series(21, 40)');
flush_is($node, 'flushed', '', 10, 'a flush without dead rows logs no conflict');

# Rows that were rolled back were never seen by anybody.
$node->safe_psql('postgres', <<'SQL');
BEGIN;
INSERT INTO flushed SELECT generate_series(41, 60);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
SQL
flush_is($node, 'flushed', '', 30, 'a flush of rows that were rolled back logs no conflict');

make_dead_rows($node, 'unlogged', 'UNLOGGED', '');
flush_is($node, 'unlogged', '', 10, 'a flush of an index that is not logged logs no conflict');

# Records say whether it is one from 16 on; pg_waldump shows that from 17 on.
$deleter = make_dead_rows($node, 'catalog', '', 'WITH (user_catalog_table = true)');
flush_is(
	$node, 'catalog',
	"0:$deleter" . ($node->pg_version >= 17 ? ' catalog' : ''), 10,
	'a flush of a table that logical decoding reads');

# Leaves.  The rows are large enough that a page has room for two and some more: so the
# table is not pruned, which would tell standbys of the conflict.
$deleter = $node->safe_psql('postgres', <<"SQL");
CREATE TABLE leaf (key int, filler text);
ALTER TABLE leaf ALTER filler SET STORAGE PLAIN;
CREATE INDEX leaf_key ON leaf USING sware (key) WITH (fillfactor = 100, deduplicate_items = off);
SET sware.enable_buffer = off;
INSERT INTO leaf SELECT n, repeat('x', 3000) FROM generate_series(1, 350) n;
BEGIN;
DELETE FROM leaf WHERE key <= 10;
SELECT pg_current_xact_id()::xid;
COMMIT;
SQL
$node->safe_psql('postgres', "$ordered_scan SELECT count(filler) FROM leaf WHERE key <= 20");
is(counted($node, 'entries_marked', 'leaf_key'), 10, 'entries of a leaf are marked');

# Inserts rows until the leaf makes room.
my $fill = <<'SQL';
SET sware.enable_buffer = off;
DO $$
BEGIN
	FOR i IN 1 .. 1000 LOOP
		INSERT INTO leaf VALUES (500);
		COMMIT;
		EXIT WHEN (SELECT entries_deleted > 0 FROM sware_stats('leaf_key'));
	END LOOP;
END $$;
SQL
is( conflicts(
		$node,
		'leaf_key',
		sub {
			(undef, undef, $errors) =
			  $node->psql('postgres', "SET sware.fault_points = 'delete-conflict-logged=error'; $fill");
		}),
	"0:$deleter",
	'a leaf that makes room logs the conflict');
like($errors, qr/fault point "delete-conflict-logged" was reached/, 'and is stopped');
is( $node->safe_psql('postgres',
		"SELECT count(*) FILTER (WHERE dead) FROM sware_page_items('leaf_key', 1)"),
	'10',
	'before it has removed anything');
is(conflicts($node, 'leaf_key', sub { $node->safe_psql('postgres', $fill) }),
	"0:$deleter", 'a leaf that makes room');
cmp_ok(counted($node, 'entries_deleted', 'leaf_key'), '>=', 10, 'entries are deleted');

# Without WAL for standbys.
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\n");
$node->restart;
make_dead_rows($node, 'minimal', '', '');
flush_is($node, 'minimal', '', 10, 'without standbys, a flush logs no conflict');
$node->stop;

# A server whose numbers of transactions begin anew soon.  Its old rows are frozen, so
# that it needs no older transaction.
my $last = PostgreSQL::Test::Cluster->new('last_of_epoch');
$last->init(allows_streaming => 1);
$last->append_conf('postgresql.conf', $settings);
$last->start;
prepare_database($last);
$last->command_ok([ 'vacuumdb', '--all', '--freeze' ], 'rows are frozen');
$last->stop;
my $next = 4_294_967_000;
command_ok(
	[ 'pg_resetwal', '-x', $next, '-u', $next - 100, '-e', 0, '-D', $last->data_dir ],
	'the next transaction is one of the last of its epoch');
open my $log, '>:raw', $last->data_dir . '/pg_xact/0FFF' or die "could not make a file: $!";
print $log "\0" x (32 * $page_size);
close $log or die "could not write: $!";
$last->start;

my $before = make_dead_rows($last, 'before', '', '');
cmp_ok($before, '>', $next, 'rows are deleted at the end of an epoch');
my $at_the_end = make_dead_rows($last, 'at_the_end', '', '');
flush_is($last, 'at_the_end', "0:$at_the_end", 10, 'and flushed then');
$last->safe_psql('postgres', <<'SQL');
DO $$
BEGIN
	WHILE pg_current_xact_id()::text::int8 < (1::int8 << 32) LOOP
		COMMIT;
	END LOOP;
END $$;
SQL
flush_is($last, 'before', "0:$before", 10, 'a flush in the next epoch');
my $after = make_dead_rows($last, 'after', '', '');
cmp_ok($after, '<', 1000, 'rows are deleted in the next epoch');
flush_is($last, 'after', "1:$after", 10, 'and flushed then');
$last->stop;
done_testing();
