# Open pages of the buffer that are damaged after a session has made summaries of them.
# A scan that meets the damage gives an error that names the block; it ends, and never
# crashes the server or leaves rows out.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

# Where the entries of a buffer page of this test begin, and their size.
my $first_entry = 24;
my $entry_size = 16;

my $node = start_server_to_damage('damaged_buffer');
$node->append_conf('postgresql.conf', "shared_buffers = 128kB\n" . fill_buffers());
$node->restart;
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 2000);
CREATE FUNCTION look_up(tab regclass, times int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found bigint := 0;
	n bigint;
BEGIN
	FOR i IN 1 .. times LOOP
		EXECUTE format('SELECT count(k) FROM %s WHERE k = %s', tab, i) INTO n;
		found := found + n;
	END LOOP;
	RETURN found;
END $$;
SQL

# A name, and what is done to the page.
my @damages = (
	[
		'an entry smaller than its header',
		sub {
			my ($page) = @_;
			substr($$page, $first_entry + 50 * $entry_size + 6, 2) = pack('S', 3);
		}
	],
	[
		'an entry without a key',
		sub {
			my ($page) = @_;
			substr($$page, $first_entry + 50 * $entry_size + 6, 2) = pack('S', 8);
		}
	],
	[
		'an entry that is larger than the page',
		sub {
			my ($page) = @_;
			substr($$page, $first_entry + 50 * $entry_size + 6, 2) = pack('S', 0x1ff8);
		}
	],
	[
		'other keys',
		sub {
			my ($page) = @_;
			substr($$page, $first_entry + $_ * $entry_size + 8, 8) = pack('q', 1_000_000 + $_)
			  foreach 0 .. 59;
		}
	]);

my $number = 0;
foreach my $damage (@damages)
{
	my ($name, $change) = @$damage;
	my $table = 'damaged_' . $number++;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (k int8);
CREATE INDEX ${table}_k ON $table USING @{[ am() ]} (k);
DO \$\$
BEGIN
	FOR i IN 1 .. 200 LOOP
		INSERT INTO $table VALUES (i);
		COMMIT;
	END LOOP;
END \$\$;
SQL
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off;');
	is($session->query_safe("SELECT look_up('$table', 60)"), 60, "$name: a session has a summary");

	my $block = $node->safe_psql('postgres',
		"SELECT block FROM sware_buffer_pages('${table}_k') WHERE state = 'open'");
	my $file = $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${table}_k')");
	# The page is written, and gives its place in memory to others.
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->safe_psql('postgres', <<'SQL') for 1 .. 2;
SELECT count(x) FROM big
WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', b)::tid FROM generate_series(0, 200) b))
SQL
	my $page = read_page($file, $block);
	$change->(\$page);
	write_page($file, $block, $page);

	foreach my $query (
		"k BETWEEN 40 AND 60", "k BETWEEN 40 AND 60 ORDER BY k DESC LIMIT 15",
		"k >= 0 ORDER BY k LIMIT 500", "k <= 60 ORDER BY k DESC LIMIT 500")
	{
		my $answer = $session->query("SELECT count(*) FROM (SELECT k FROM $table WHERE $query) AS found");
		like($session->{stderr}, qr/is damaged|is not the buffer page/, "$name: $query")
		  || diag("answer: $answer");
		$session->{stderr} = '';
	}
	$session->quit;
}

# Fills a table by transactions of 200 rows, whose keys are in no order.
sub insert_scrambled
{
	my ($table, $transactions, $prime, $pages_to_sort) = @_;
	$node->safe_psql('postgres', <<"SQL");
SET sware.fault_pages_to_sort = $pages_to_sort;
DO \$\$
BEGIN
	FOR i IN 0 .. $transactions - 1 LOOP
		INSERT INTO $table SELECT n * 7919 % $prime FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END \$\$;
SQL
	return;
}

# A page of a page run whose zone is in shared memory is damaged, or becomes another page. Scans do not
# look for it for ever.  A flush worker would move its entries to the tree.
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'sware'\nsware.flush_workers = 0\n");
$node->restart;
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE run (k int8);
CREATE INDEX run_k ON run USING @{[ am() ]} (k);
SQL
insert_scrambled('run', 40, 10007, 8);
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off;');
my $all = 'SELECT count(*) FROM (SELECT k FROM run ORDER BY k) AS found';
is($session->query_safe($all), 8000, 'a page run is read');
my ($block) = split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT p.block FROM sware_buffer_pages('run_k') p, sware_page_stats('run_k', p.block)
WHERE p.state = 'sealed' AND 'sorted' = ANY (flags) ORDER BY p.slot OFFSET 3 LIMIT 1
SQL
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('run_k')");
$node->safe_psql('postgres', 'CHECKPOINT');
my $sound = read_page($file, $block);
foreach my $damage (
	[
		# its end is where an entry begins
		'an entry that is too large',
		sub {
			my ($page) = @_;
			substr($$page, $first_entry + 50 * $entry_size + 6, 2) = pack('S', 4000);
		},
		'The entry at byte ' . ($first_entry + 50 * $entry_size)
	],
	[
		'another incarnation',
		sub {
			my ($page) = @_;
			substr($$page, 8192 - 8, 4) = pack('L', 4711);
		},
		'is not the buffer page'
	])
{
	my ($name, $change, $reason) = @$damage;
	$node->safe_psql('postgres', <<'SQL') for 1 .. 2;
SELECT count(x) FROM big
WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', b)::tid FROM generate_series(0, 200) b))
SQL
	my $page = $sound;
	$change->(\$page);
	write_page($file, $block, $page);
	$session->query($all);
	like($session->{stderr}, qr/block $block\b.*$reason/s, "a page of a run has $name");
	$session->{stderr} = '';
}
$session->quit;

# A page of a page run is in another order than its keys, as many are when a collation has
# changed. VACUUM moves all entries nevertheless, in pieces of 32 pages and one more for each
# page run: it needs the pages to retire, since their entries may be those of rows that it
# removes. The second time, there is one run, and the page is its first one in the second piece.
foreach my $turned (
	[ 'turned', 300, 60013, 16, 10, 1_000_000, 64 ],
	[ 'turned_first', 150, 30011, 40, 34, -1_000_000, 33 ])
{
	my ($table, $transactions, $prime, $pages_to_sort, $number, $key, $least) = @$turned;
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (k int8) WITH (autovacuum_enabled = off);
CREATE INDEX ${table}_k ON $table USING @{[ am() ]} (k);
SQL
	insert_scrambled($table, $transactions, $prime, $pages_to_sort);
	my ($turned_block, $pages) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT (array_agg(p.block ORDER BY p.slot))[$number], count(*)
FROM sware_buffer_pages('${table}_k') p, sware_page_stats('${table}_k', p.block)
WHERE p.state = 'sealed' AND 'sorted' = ANY (flags)
SQL
	cmp_ok($pages, '>', $least, "$table: there are several pieces");
	my $path = $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${table}_k')");
	$node->stop;
	my $page = read_page($path, $turned_block);
	substr($page, $first_entry + $_ * $entry_size + 8, 8) = pack('q', $key + $_) foreach 200 .. 299;
	write_page($path, $turned_block, $page);
	$node->start;
	$node->safe_psql('postgres', <<"SQL");
DELETE FROM $table WHERE k % 10 = 0;
SET maintenance_work_mem = '1MB';
VACUUM (INDEX_CLEANUP on) $table;
SQL
	is($node->safe_psql('postgres', "SELECT buffer_pages FROM sware_stats('${table}_k')"),
		0, "$table: all pages retire, in whatever order their entries are");
	my ($by_index, $by_table) = map {
		$node->safe_psql('postgres',
			"SET enable_bitmapscan = off; SET $_ = off; SELECT count(k) FROM $table")
	} qw(enable_seqscan enable_indexonlyscan);
	is($by_index, $by_table, "$table: no entry is lost");
}

did_not_crash($node, 'the server went on');
$node->stop;
done_testing();
