# A database is dropped on the primary, and another one made with its number, from
# the same template: nothing informs a standby's shared memory, where zones are left
# of files that have the same numbers, index incarnations, and pages with the same
# block numbers, incarnations and sequence numbers as those of the new database.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"autovacuum = off\nfsync = off\nwal_log_hints = on\n" . preload() . fill_buffers());
$primary->start;
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

# Rows of small transactions fill pages of the buffer. Numbers have zonemaps, texts have
# sorted zones only.
sub add_rows
{
	my ($database, $first, $transactions) = @_;
	$primary->safe_psql($database, <<"SQL");
DO \$\$ BEGIN
  FOR n IN 1 .. $transactions LOOP
    INSERT INTO data SELECT $first + n * 100 + i, ($first + n * 100 + i)::text COLLATE "C"
      FROM generate_series(0, 99) i;
    COMMIT;
  END LOOP;
END \$\$;
SQL
	return;
}

# The rows that are found with each of these settings.
sub answers
{
	my ($node, $settings) = @_;
	return $node->safe_psql('changing', $settings . <<'SQL');
SELECT count(*), sum(key), min(key), max(key) FROM data WHERE key > 0;
SELECT count(*), min(label), max(label) FROM data WHERE label > '';
SELECT string_agg(coalesce((SELECT label FROM data WHERE key = k), 'none'), ' ')
  FROM generate_series(1000, 40000, 750) k;
SELECT string_agg(coalesce((SELECT key FROM data WHERE label = k::text)::text, 'none'), ' ')
  FROM generate_series(1000, 40000, 750) k;
SQL
}

sub is_right
{
	my ($name) = @_;
	$primary->wait_for_catchup($standby);
	my $expected = answers($primary, $sequential_scan);
	foreach my $node ($primary, $standby)
	{
		# more than once: pages that are read often are sorted
		is(answers($node, 'SET enable_seqscan = off;'), $expected, "$name, on the " . $node->name)
		  foreach 1 .. 2;
	}
	return;
}

foreach my $strategy (qw(file_copy wal_log))
{
	my $make = "CREATE DATABASE changing OID 90000 TEMPLATE model STRATEGY $strategy";

	$primary->safe_psql('postgres', 'CREATE DATABASE model');
	$primary->safe_psql('model', $am eq 'btree' ? '' : "CREATE EXTENSION $am");
	$primary->safe_psql('model', <<"SQL");
CREATE TABLE data (key int, label text COLLATE "C");
CREATE INDEX data_key ON data USING $am (key);
CREATE INDEX data_label ON data USING $am (label);
SQL
	add_rows('model', 900, 20);
	$primary->safe_psql('postgres', $make);
	is_right("$strategy: copied");

	# Each copy gets other rows than the template does, in as many pages.
	foreach my $round (1 .. 3)
	{
		add_rows('changing', 10000 * $round, 30);
		is_right("$strategy, round $round: changed");
		$primary->safe_psql('postgres', 'DROP DATABASE changing');
		add_rows('model', 10000 * $round + 5000, 30 + ($round - 2));
		$primary->safe_psql('postgres', $make);
		# Some databases are read at once, others after more changes.
		is_right("$strategy, round $round: made again") if $round == 1;
		add_rows('changing', 10000 * $round + 9000, 5) if $round == 2;
		is_right("$strategy, round $round: made again and changed");
	}
	$primary->safe_psql('postgres', $_) foreach 'DROP DATABASE changing', 'DROP DATABASE model';
}

# Marks of dead entries that the standby has met in the dropped database do not hide
# rows of the other one when they begin to count.
my @strategies = qw(file_copy wal_log);
my %number = (file_copy => 90001, wal_log => 90002);
foreach my $strategy (@strategies)
{
	$primary->safe_psql('postgres', "CREATE DATABASE model_$strategy");
	$primary->safe_psql("model_$strategy", $am eq 'btree' ? '' : "CREATE EXTENSION $am");
	$primary->safe_psql("model_$strategy", <<"SQL");
CREATE TABLE data (key int, label text COLLATE "C") WITH (autovacuum_enabled = off);
CREATE INDEX data_key ON data USING $am (key);
CREATE INDEX data_label ON data USING $am (label);
SQL
	add_rows("model_$strategy", 900, 60);
	my $make = "CREATE DATABASE changing_$strategy OID $number{$strategy}
		TEMPLATE model_$strategy STRATEGY $strategy";
	$primary->safe_psql('postgres', $make);
	my $read = <<'SQL';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM data WHERE key > 0;
SELECT count(*) FROM data WHERE label > '';
SQL
	$primary->safe_psql("changing_$strategy", 'DELETE FROM data WHERE key % 2 = 0');
	# The first change of a page after a checkpoint is logged, even if it is a mark.
	$primary->safe_psql("changing_$strategy", 'CHECKPOINT');
	is($primary->safe_psql("changing_$strategy", $read), "3000\n3000", "$strategy: rows are deleted")
	  foreach 1 .. 2;
	# What sets marks alone does not flush its WAL.
	$primary->safe_psql("changing_$strategy", 'CREATE TABLE tick ()');
	$primary->wait_for_catchup($standby);
	cmp_ok($standby->safe_psql("changing_$strategy", <<'SQL'), '>', 0, "$strategy: marks arrive")
SELECT count(*) FROM generate_series(1, pg_relation_size('data_label') / 8192 - 1) block,
  sware_page_stats('data_label', block) page, sware_page_items('data_label', block) item
WHERE page.kind = 'buffer' AND item.dead;
SQL
	  if $am ne 'btree';
	$standby->safe_psql("changing_$strategy", $read) foreach 1 .. 3;
	$primary->safe_psql('postgres', "DROP DATABASE changing_$strategy");
	$primary->safe_psql('postgres', $make);
}
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
foreach my $strategy (@strategies)
{
	is($standby->safe_psql("changing_$strategy", <<'SQL'), "6000\n6000", "$strategy: all rows are found");
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM data WHERE key > 0;
SELECT count(*) FROM data WHERE label > '';
SQL
}

$standby->stop;
done_testing();
