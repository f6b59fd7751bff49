# A single entry that a leaf gets is logged with nbtree's record of an insert, rows that leave
# a leaf with that of a deletion, and gaps that are closed with that of a deduplication.  Redo
# of these, on a standby and after a crash, must give the page that the primary has, byte by
# byte, but for marks of dead entries, which are not logged.  Such a record is as short as
# nbtree's.  Where a standby compares pages, another record is written.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'nbtree writes these records itself' if am() eq 'btree';

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
wal_consistency_checking = ''
full_page_writes = off
wal_keep_size = '1GB'
CONF
$primary->start;
prepare_database($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION pageinspect');

# Keys of several lengths and types; one index is unique, and one has an included column.
my %indexes = (
	numbers => 'CREATE UNIQUE INDEX numbers ON t USING sware (k)',
	words => 'CREATE INDEX words ON t USING sware (w)',
	pairs => 'CREATE INDEX pairs ON t USING sware (d, k)',
	covering => 'CREATE INDEX covering ON t USING sware (k) INCLUDE (w)',
	few => 'CREATE INDEX few ON t USING sware (f)');
$primary->safe_psql('postgres', join(';', <<'SQL', sort values %indexes));
CREATE TABLE t (k bigint, w text, d timestamptz, f int);
CREATE PROCEDURE insert_rows(low int, high int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN low .. high LOOP
		-- some come early, and so the next ones between others
		INSERT INTO t SELECT k, repeat(chr(97 + k % 26), k % 40) || k,
			'2026-01-01Z'::timestamptz + k * interval '1 s', k / 5000
		FROM (SELECT CASE WHEN i % 50 = 0 THEN i + 60 + i / 50 % 7 ELSE i END * 10 + i / 50 % 10) s(k);
		COMMIT;
	END LOOP;
END $$
SQL
my $standby = start_standby($primary, -1);

my $buffer_kind = 4;    # SWARE_KIND_BUFFER (src/layout/page.h)

# The pages of an index as they matter: without checksum and hints of the header, free
# space, and the marks of line pointers.  Entries of buffer pages have other records, and
# their marks elsewhere: those pages are left out.
sub pages
{
	my ($node, $index) = @_;
	my @pages;
	foreach my $hex (split /\n/, $node->safe_psql('postgres', <<"SQL"))
SELECT encode(get_raw_page('$index', block::int), 'hex')
FROM generate_series(0, pg_relation_size('$index') / 8192 - 1) block ORDER BY block
SQL
	{
		my $page = pack('H*', $hex);
		my ($lower, $upper) = unpack('x12 S S', $page);
		next if unpack('S', substr($page, 8160 + 28, 2)) == $buffer_kind;
		substr($page, 8, 4) = "\0" x 4;
		for (my $place = 24; $place < $lower && $upper < 8160; $place += 4)
		{
			my $pointer = unpack('L', substr($page, $place, 4));
			substr($page, $place, 4) = pack('L', $pointer & ~(3 << 15));
		}
		substr($page, $lower, $upper - $lower) = "\0" x ($upper - $lower) if $upper > $lower;
		push @pages, $page;
	}
	return @pages;
}

# The numbers of the pages that differ between two nodes.
sub different_pages
{
	my ($one, $other, $index) = @_;
	my @here = pages($one, $index);
	my @there = pages($other, $index);
	return "sizes of $index" if @here != @there;
	return join(' ', map { "$index $_" } grep { $here[$_] ne $there[$_] } 0 .. $#here);
}

# Lengths of nbtree's records of a kind between two places, without images of pages.
sub lengths_of
{
	my ($kind, $node, $begin, $end) = @_;
	my ($text) = run_command(
		[ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $begin, '-e', $end, '-r', 'Btree' ]);
	return map { m{tot\): +(\d+)/ +(\d+).*$kind } && $1 == $2 && !/FPW/ ? ($2) : () }
	  split /\n/, $text;
}

# Deletes rows, and their entries, between others and whole posting lists.
sub delete_and_vacuum
{
	my ($condition) = @_;
	$primary->safe_psql('postgres', "DELETE FROM t WHERE $condition");
	$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) t');
	return;
}

sub compare
{
	my ($what) = @_;
	$primary->wait_for_catchup($standby, 'replay');
	my @different = map { different_pages($primary, $standby, $_) } sort keys %indexes;
	is(join(', ', grep { $_ ne '' } @different), '', "$what: the standby has the same pages");
	is($standby->safe_psql('postgres', <<'SQL'), "t\n" x 4 . 't', "$what: its indexes are sound");
SELECT sware_check(c.oid, true) IS NOT NULL
FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE amname = 'sware'
SQL
	return;
}

my $begin = $primary->lsn('insert');
$primary->safe_psql('postgres', 'CALL insert_rows(1, 3000)');
my $end = $primary->lsn('insert');
compare('rows, one by one');

# Some of these rows are in the buffer.
my $numbers = 'SELECT k FROM t WHERE k % 7 = 0 ORDER BY k';
is($standby->safe_psql('postgres', "SET enable_seqscan = off; $numbers"),
	$primary->safe_psql('postgres', "SET enable_indexscan = off; SET enable_indexonlyscan = off; $numbers"),
	'the standby finds the rows');

# Records of these indexes, of entries with 16 to 72 bytes.
my @lengths = sort { $a <=> $b } lengths_of('INSERT_LEAF', $primary, $begin, $end);
cmp_ok(scalar(@lengths), '>', 3000 * 4, 'most entries have such a record');
cmp_ok($lengths[0], '<=', 64, 'the shortest is as short as nbtree\'s');

# Marks of dead entries on the primary, and entries between these.
$primary->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE k % 3 = 0;
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(w) FROM t WHERE k > 0;
SELECT count(w) FROM t WHERE w > '';
SQL
cmp_ok($primary->safe_psql('postgres', "SELECT sum(entries_marked) FROM pg_stat_sware"),
	'>', 0, 'entries are marked');
$primary->safe_psql('postgres', 'CALL insert_rows(3001, 3500)');
compare('rows between marked entries');

# Redo after a crash, of pages that were not written, without images of them.
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->safe_psql('postgres', 'CALL insert_rows(3501, 4500)');
$primary->stop('immediate');
$primary->start;
compare('redo after a crash');

# Keys that come in three places of an index, so that leaves between others are split and
# their left halves filled up: the gaps of what has gone are closed by such a record, too.
$begin = $primary->lsn('insert');
$primary->safe_psql('postgres', <<'SQL');
DO $$ BEGIN FOR i IN 1 .. 3000 LOOP
	INSERT INTO t SELECT k, k || 'w', '2027-01-01Z'::timestamptz + k * interval '1 s', k / 5000
	FROM (SELECT 1000000 + i % 3 * 100000 + i / 3 * 10 + i % 5 * 41) s(k);
	COMMIT;
END LOOP; END $$
SQL
$end = $primary->lsn('insert');
compare('keys in several places');
my @closings = lengths_of('DEDUP', $primary, $begin, $end);
cmp_ok(scalar(@closings), '>', 5, 'leaves have records of closed gaps');
cmp_ok((sort { $a <=> $b } @closings)[-1], '<', 64, 'which are short');
$primary->stop('immediate');
$primary->start;
compare('redo of closed gaps after a crash');

# VACUUM, of entries, of some rows of posting lists, and of all their rows.  The leaves on the
# right, which have no high key, have other records.
$begin = $primary->lsn('insert');
delete_and_vacuum('k % 5 = 0 OR f = 2');
$end = $primary->lsn('insert');
compare('VACUUM');
my @deletions = lengths_of('DELETE', $primary, $begin, $end);
cmp_ok(scalar(@deletions), '>', 50, 'leaves have such records of VACUUM');
cmp_ok((sort { $a <=> $b } @deletions)[-1], '<', 1500, 'which are short');
$primary->safe_psql('postgres', 'CALL insert_rows(4501, 5000)');
compare('rows on leaves from which others went');
$primary->safe_psql('postgres', 'CHECKPOINT');
delete_and_vacuum('k % 7 = 0 OR f = 3');
$primary->stop('immediate');
$primary->start;
compare('redo of VACUUM after a crash');

# Where pages are compared, the standby goes on, so none of them differs.
foreach my $kind ('all', 'btree', 'generic')
{
	$primary->safe_psql('postgres', "ALTER SYSTEM SET wal_consistency_checking = '$kind'");
	$primary->reload;
	$primary->poll_query_until('postgres',
		"SELECT current_setting('wal_consistency_checking') = '$kind'");
	my $from = $primary->safe_psql('postgres', 'SELECT coalesce(max(k), 0) / 10 + 1 FROM t');
	$begin = $primary->lsn('insert');
	$primary->safe_psql('postgres', "CALL insert_rows($from, $from + 400)");
	delete_and_vacuum("k % 11 = length('$kind')");
	$end = $primary->lsn('insert');
	compare("pages are compared, $kind");
	is(scalar(lengths_of('(?:INSERT_LEAF|DELETE|DEDUP)', $primary, $begin, $end)),
		0, "$kind: no such record is written");
}
$primary->safe_psql('postgres', 'ALTER SYSTEM RESET wal_consistency_checking');
$primary->reload;

# After a promotion, the first record of each leaf has an image.
$standby->promote;
$begin = $standby->lsn('insert');
$standby->safe_psql('postgres', <<'SQL');
INSERT INTO t SELECT max(k) + 1, 'w', now(), max(f) FROM t;
SQL
$end = $standby->lsn('insert');
my ($records) = run_command(
	[ 'pg_waldump', '-p', $standby->data_dir . '/pg_wal', '-t', 2, '-s', $begin, '-e', $end, '-r', 'Btree' ]);
my @inserts = grep { /INSERT_LEAF/ } split /\n/, $records;
is(scalar(@inserts), scalar(keys %indexes), 'the row has such records');
is(scalar(grep { !/FPW/ } @inserts), 0,
	'the first record of a timeline has an image of its leaf');
is($standby->safe_psql('postgres', 'SELECT sware_check(\'numbers\', true) IS NOT NULL'), 't',
	'and the index is sound');

$standby->stop;
$primary->stop;
done_testing();
