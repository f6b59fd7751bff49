# A primary that marked entries of dead rows becomes a standby of its own standby, and
# is promoted again.  Its marks were not logged, so the new primary lacked them when it
# logged its changes.  They must not hide other rows now, and wal_consistency_checking
# must not complain of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();

sub count_by_index
{
	my ($node, $table) = @_;
	return $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) FROM $table WHERE k >= 0 AND v > 0;
SQL
}

foreach my $compares (0, 1)
{
	my $first = PostgreSQL::Test::Cluster->new("first_$compares");
	$first->init(allows_streaming => 1);
	# Without full images of pages, redo changes what the page had before.
	$first->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
full_page_writes = off
wal_keep_size = '1GB'
CONF
	$first->start;
	prepare_database($first);

	# In each table, rows die at another place: removing their entries shifts the line
	# pointers of those that stay, by other distances.
	my %deleted = (
		lower => 'k <= 250',
		upper => 'k > 50',
		middle => 'k BETWEEN 20 AND 270',
		alternate => 'k % 2 = 0',
		duplicates => 'k IN (0, 2)');
	foreach my $table (sort keys %deleted)
	{
		my $key = $table eq 'duplicates' ? 'k / 100' : 'k';
		$first->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (k int, v int);
INSERT INTO $table SELECT $key, k FROM generate_series(1, 300) k;
CREATE INDEX ${table}_k ON $table USING $am (k);
SQL
	}


	# These entries stay in the buffer.
	$first->safe_psql('postgres', <<"SQL");
CREATE TABLE buffered (k int, v int);
CREATE INDEX buffered_k ON buffered USING $am (k);
INSERT INTO buffered SELECT k, k FROM generate_series(1, 200) k;
SQL
	$deleted{buffered} = 'k <= 150';

	$first->backup('copy');
	my $second = PostgreSQL::Test::Cluster->new("second_$compares");
	$second->init_from_backup($first, 'copy', has_streaming => 1);
	$second->start;

	foreach my $table (sort keys %deleted)
	{
		$first->safe_psql('postgres', "DELETE FROM $table WHERE $deleted{$table}");
		count_by_index($first, $table);
		cmp_ok(
			$first->safe_psql('postgres', <<"SQL"), '>', 0, "$table: marks") unless $am eq 'btree';
SELECT count(*) FROM generate_series(1, pg_relation_size('${table}_k') / 8192 - 1) block,
  sware_page_stats('${table}_k', block) page, sware_page_items('${table}_k', block) item
WHERE page.kind IN ('leaf', 'buffer') AND item.dead;
SQL
	}
	$first->wait_for_catchup($second);
	$first->stop;

	$second->promote;
	$second->append_conf('postgresql.conf', "wal_consistency_checking = 'generic'\n") if $compares;
	$second->reload;
	# New rows meet what the first server's marks were on.
	$second->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $_")
	  foreach grep { $_ ne 'buffered' } sort keys %deleted;
	$second->safe_psql('postgres', "INSERT INTO $_ SELECT 2, v FROM generate_series(1001, 1010) v")
	  foreach sort keys %deleted;

	$first->set_standby_mode;
	$first->enable_streaming($second);
	$first->start;
	$second->wait_for_catchup($first);
	$second->stop;
	$first->promote;

	foreach my $table (sort keys %deleted)
	{
		is(count_by_index($first, $table),
			$first->safe_psql('postgres', "SELECT count(*) FROM $table WHERE v > 0"),
			"$table: the index finds each row");
		check_index($first, "${table}_k", $table);
	}
	$first->stop;
}
done_testing();
