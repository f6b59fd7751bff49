# A buffer has no more pages than shared memory can have zones for: inserts and scans
# flush the rest of it, in pieces.  Indexes in use keep their zones when others grow,
# and indexes that are not in use make room.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'zones are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('zone_limits');
$node->init;
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
fsync = off
max_locks_per_transaction = 200
sware.shared_memory = '1MB'
CONF
$node->start;
prepare_database($node);

# 64 chunks, so no more than 64 pages; four of an index are always allowed.
my $chunks = 64;
my $open = 4;

$node->safe_psql('postgres', <<'SQL');
CREATE PROCEDURE insert_some(target text, first int, transactions int, size int DEFAULT 60)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. transactions - 1 LOOP
		EXECUTE format('INSERT INTO %I SELECT g::bigint * 7919 %% 1000003 FROM generate_series(%s, %s) g',
			target, first + i * size, first + i * size + size - 1);
		COMMIT;
	END LOOP;
END $$;
CREATE TABLE kept (k bigint);
CREATE INDEX kept_k ON kept USING sware (k);
CREATE TABLE other (k bigint);
CREATE INDEX other_k ON other USING sware (k);
CREATE TABLE keys (k bigint);
CREATE UNIQUE INDEX keys_k ON keys USING sware (k);
CREATE TABLE rows (k bigint);
CREATE INDEX rows_k ON rows USING sware (k);
SQL

sub buffer_pages
{
	my ($index) = @_;
	return $node->safe_psql('postgres', "SELECT buffer_pages FROM sware_stats('$index')");
}

# How many pages does a look-up read, after others?  The first may bring zones up to
# date, and each of a few may sort something.  Look-ups in another table read the
# catalogs.
sub pages_of_look_up
{
	my ($table, $others) = @_;
	my $look_up = "SELECT count(*) FROM $table WHERE k = 500000";
	my $plan = $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM other WHERE k = 500000;
SELECT count(*) FROM other WHERE k = 500001;
DO \$\$ BEGIN FOR i IN 1 .. $others LOOP EXECUTE '$look_up'; END LOOP; END \$\$;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $look_up;
SQL
	my ($hit) = $plan =~ /shared hit=(\d+)/;
	my ($read) = $plan =~ /shared [^\n]*read=(\d+)/;
	return $hit + ($read // 0);
}

# Insert until an index has many pages, with the memory of others that are no longer
# in use.
sub grow_rows
{
	my ($start) = @_;
	my $rounds = 0;
	my $grown = 0;
	while (!$grown && $rounds++ < 1000)
	{
		my $first = $start * 10_000_000 + $rounds * 1200;
		$node->safe_psql('postgres',
			"CALL insert_some('rows', $first, 20); SELECT pg_sleep(0.1)");
		$grown = buffer_pages('rows_k') > 45;
	}
	ok($grown, 'an index gets what others had that are out of use');
	return;
}

# It has a page in its buffer, so that look-ups work there as they do elsewhere.
$node->safe_psql('postgres', "CALL insert_some('other', 1, 40)");

# An index that is in use, and has zones.
$node->safe_psql('postgres', 'CALL insert_some(\'kept\', 1, 150)');
my $kept_pages = buffer_pages('kept_k');
cmp_ok($kept_pages, '>=', 15, 'a buffer has some pages');
cmp_ok(pages_of_look_up('kept', 20), '<', 10, 'which a look-up need not read');

# Other indexes, which need much more memory than there is, grow side by side while
# it is used.
$node->safe_psql('postgres', <<'SQL');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
DO $$ BEGIN
	FOR i IN 0 .. 119 LOOP
		CALL insert_some('keys', 1 + i * 600, 10);
		CALL insert_some('rows', 1 + i * 600, 10);
		PERFORM FROM kept WHERE k = 500000;
	END LOOP;
END $$;
SQL
my %pages = map { $_ => buffer_pages($_) } qw(kept_k keys_k rows_k);
note "pages: kept $pages{kept_k}, keys $pages{keys_k}, rows $pages{rows_k}";
is($pages{kept_k}, $kept_pages, 'an index keeps its buffer while others grow');
cmp_ok($pages{kept_k} + $pages{keys_k} + $pages{rows_k}, '<=', $chunks + 2 * $open,
	'all have as many pages as can have zones');
cmp_ok($_, '>', 10, 'each has its share') foreach values %pages;
cmp_ok(pages_of_look_up('kept', 0), '<', 10, 'it has its zones, too');
cmp_ok(pages_of_look_up($_, 20), '<', 15, "as have $_") foreach qw(keys rows);

# Indexes that are not used for some seconds make room.
grow_rows(1);

# More indexes than the pool has room for: each gets a few pages.
$node->safe_psql('postgres', <<'SQL');
DO $$ BEGIN
	FOR i IN 1 .. 40 LOOP
		EXECUTE format('CREATE TABLE many_%s (k bigint)', i);
		EXECUTE format('CREATE INDEX many_%s_k ON many_%s USING sware (k)', i, i);
	END LOOP;
END $$;
SQL
$node->safe_psql('postgres', join(';', map { "CALL insert_some('many_$_', 1, 40, 200)" } 1 .. 40));
my $more = $node->safe_psql('postgres', <<"SQL");
SELECT sum(greatest(0, buffer_pages - 4 - $open))
FROM generate_series(1, 40) i, sware_stats(('many_' || i || '_k')::regclass)
SQL
cmp_ok($more, '<=', $chunks, 'many indexes have a few pages each, or more within the pool');

# With less memory than before, scans flush what can have no zones, a bounded
# number of pages each.
grow_rows(2);
$node->append_conf('postgresql.conf', "sware.shared_memory = '256kB'");
$node->restart;
my $before = buffer_pages('rows_k');
cmp_ok($before, '>', 16 + $open, 'there is more than can have zones');
my $scans = 0;
my $largest = 0;
my $now = $before;
while ($now > 16 + $open && $scans++ < 20)
{
	is($node->safe_psql('postgres', <<'SQL'), 't', 'a scan finds its row');
SET enable_seqscan = off;
BEGIN READ ONLY;
SELECT count(*) > 0 FROM rows WHERE k = 20001200::bigint * 7919 % 1000003;
COMMIT;
SQL
	my $left = buffer_pages('rows_k');
	$largest = $before - $left if $before - $left > $largest;
	$before = $now = $left;
}
cmp_ok($now, '<=', 16 + $open, "scans flush what is too much ($scans of them)");
cmp_ok($largest, '<=', 32, 'in pieces');

check_index($node, $_, 'afterwards') foreach qw(kept_k keys_k rows_k many_1_k);

$node->stop;
done_testing();
