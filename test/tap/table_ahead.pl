# Index scans ask the kernel for pages of the table ahead: more and more at a time, in
# both directions, for rows that will be looked at and no others.  Short scans, and those
# that find the table in shared buffers, ask for none.  sware_scan_counters tells how many
# pages are asked for, sware_stats also while a scan goes on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the setting and the counters are sware\'s' if am() ne 'sware';

my $node = start_server_to_damage('table_ahead', fill_buffers() . <<'CONF', allows_streaming => 1);
shared_preload_libraries = 'sware'
allow_in_place_tablespaces = on
effective_io_concurrency = 1000
shared_buffers = 64MB
temp_buffers = 1MB
CONF
$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");

# Each page of the table has one row, and neighbours in the order of k are far apart.  A
# leaf has hundreds of entries, or seven of w.
my $columns = 'k int, g int, v int, filler text, w text';
my $fill = "SELECT i * 1201 % 3001, i * 1201 % 3001 / 10, i, repeat('x', 5000), "
  . "lpad((i * 1201 % 3001)::text, 1000, '0') FROM generate_series(1, 3000) i";
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t ($columns);
ALTER TABLE t ALTER filler SET STORAGE PLAIN;
ALTER TABLE t ALTER w SET STORAGE PLAIN;
CREATE TYPE wrapped AS (k int, w text);
CREATE INDEX t_k ON t USING sware (k);
CREATE INDEX t_g ON t USING sware (g);
CREATE INDEX t_w ON t USING sware (w COLLATE "C");
CREATE INDEX t_wrapped ON t USING sware ((ROW(k, w)::wrapped));
INSERT INTO t $fill;
VACUUM ANALYZE t;
SQL
is($node->safe_psql('postgres', "SELECT pg_relation_size('t') / 8192"), 3000, 'each row has a page');

my $place = 'pg_default';

# Copies the file of the table, so that none of it is in shared buffers.
sub make_cold
{
	$place = $place eq 'elsewhere' ? 'pg_default' : 'elsewhere';
	$node->safe_psql('postgres', "ALTER TABLE t SET TABLESPACE $place");
	return;
}

my $settings = "$ordered_scan SET max_parallel_workers_per_gather = 0;"
  . 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;'
  . 'SET enable_memoize = off;';
my $range = 'k BETWEEN 501 AND 900';

# How many pages a query asks for, and what it prints.
sub run_counting
{
	my ($on, $query, $before) = @_;
	my ($stdout, $stderr) = ('', '');
	my $counter = 'SELECT table_prefetches FROM sware_scan_counters()';
	my $status = $on->psql('postgres', "$settings @{[ $before // '' ]} $counter; $query; $counter",
		stdout => \$stdout, stderr => \$stderr);
	is($status, 0, 'commands succeed') || diag($stderr);
	my @lines = split /\n/, $stdout;
	return ($lines[-1] - $lines[0], join("\n", @lines[ 1 .. $#lines - 1 ]));
}

# From the twelfth row on, all pages.
sub asks_for_all
{
	my ($name, $on, $query, $rows, $before) = @_;
	my ($asked, $answer) = run_counting($on, "SELECT count(v) FROM ($query OFFSET 0) s", $before);
	is($answer, $rows, "$name: its rows");
	cmp_ok($asked, '<=', $rows - 12, "$name: it asks for pages of its range, and no others");
	cmp_ok($asked, '>=', $rows - 20, "$name: for nearly all of them");
	return;
}

sub asks_for_none
{
	my ($name, $on, $query, $before) = @_;
	my ($asked) = run_counting($on, "SELECT count(v) FROM ($query OFFSET 0) s", $before);
	is($asked, 0, "$name: it asks for nothing");
	return;
}

sub asks_while_cold
{
	my ($name, $query, $rows) = @_;
	make_cold();
	asks_for_all($name, $node, $query, $rows);
	asks_for_none("$name, warm", $node, $query);
	return;
}

my $wide = "lpad(%s::text, 1000, '0')";
my %ways = (
	'a range of small leaves' => 'SELECT v FROM t WHERE w COLLATE "C" BETWEEN '
	  . sprintf("$wide AND $wide", 501, 900) . ' ORDER BY w COLLATE "C"',
	'a range of small leaves, backward' => 'SELECT v FROM t WHERE w COLLATE "C" BETWEEN '
	  . sprintf("$wide AND $wide", 501, 900) . ' ORDER BY w COLLATE "C" DESC',
	'a range' => "SELECT v FROM t WHERE $range ORDER BY k",
	'a range backward' => "SELECT v FROM t WHERE $range ORDER BY k DESC",
	'an array' => 'SELECT v FROM t WHERE k = ANY (ARRAY(SELECT generate_series(501, 1299, 2)))');
asks_while_cold($_, $ways{$_}, 400) foreach sort keys %ways;

# A leaf has one row, or none: a scout finds those of the next ones.
my $array = 'w COLLATE "C" = ANY (ARRAY(SELECT '
  . sprintf($wide, 'i') . ' FROM generate_series(1, 2981, 20) i))';
my %sparse = (
	'an array, a row of each leaf' => "SELECT v FROM t WHERE $array",
	'the same backward' => "SELECT v FROM t WHERE $array ORDER BY w COLLATE \"C\" DESC");
asks_while_cold($_, $sparse{$_}, 150) foreach sort keys %sparse;
make_cold();
asks_for_none('a key again and again', $node,
	"SELECT t.v FROM generate_series(1, 40) i, LATERAL (SELECT v FROM t WHERE $array "
	  . 'ORDER BY w COLLATE "C" LIMIT 10) t');
# No function is called ahead that may fail, as those of a composite type's members may.
make_cold();
my ($asked_of_wrapped, $found_wrapped) = run_counting($node, 'SELECT count(v) FROM (SELECT v FROM t '
	  . 'WHERE ROW(k, w)::wrapped = ANY (ARRAY(SELECT ROW(i, ' . sprintf($wide, 'i')
	  . ')::wrapped FROM generate_series(7, 2990, 150) i)) OFFSET 0) s');
is("$found_wrapped $asked_of_wrapped", '20 0', 'keys of a composite type: no scout');

# Settings switch it off, a tablespace's, too.
foreach my $off ('sware.prefetch', 'effective_io_concurrency')
{
	make_cold();
	asks_for_none("$off = 0", $node, $ways{'a range'}, "SET $off = 0;");
}
make_cold() if $place ne 'pg_default';
$node->safe_psql('postgres', 'ALTER TABLESPACE elsewhere SET (effective_io_concurrency = 0)');
make_cold();
asks_for_none('0 for the tablespace', $node, $ways{'a range'});
$node->safe_psql('postgres', 'ALTER TABLESPACE elsewhere RESET (effective_io_concurrency)');

# Nothing before the first rows have been wanted.
make_cold();
foreach my $order ('', ' DESC')
{
	asks_for_none("LIMIT $_", $node, "SELECT v FROM t WHERE k > 1000 ORDER BY k$order LIMIT $_")
	  foreach 1, 10;
	asks_for_none("LIMIT 10 in a loop$order", $node,
		'SELECT s.v FROM generate_series(1, 2901, 100) i, LATERAL '
		  . "(SELECT v FROM t WHERE k > i ORDER BY k$order LIMIT 10) s");
}

# The distance grows 1, 2, 4 ... up to the setting, whatever rows a part of a leaf has.
sub asked_after
{
	my ($rows, $concurrency) = @_;
	my $stats = "SELECT table_prefetches FROM sware_stats('t_k')";
	my ($before, $after) = split /\n/, $node->safe_psql('postgres', <<"SQL");
$settings
SET effective_io_concurrency = $concurrency;
$stats;
BEGIN;
DECLARE c CURSOR FOR SELECT v FROM t WHERE k > 0 ORDER BY k;
MOVE $rows IN c;
$stats;
SQL
	return $after - $before;
}
foreach my $case (
	[ 11, 1000, 0 ], [ 12, 1000, 1 ], [ 13, 1000, 3 ], [ 14, 1000, 6 ], [ 15, 1000, 6 ],
	[ 16, 1000, 12 ], [ 20, 1000, 24 ], [ 25, 1000, 24 ], [ 28, 1000, 48 ],
	[ 12, 4, 1 ], [ 13, 4, 3 ], [ 14, 4, 6 ], [ 16, 4, 8 ], [ 16, 1, 5 ], [ 16, 2, 6 ])
{
	my ($rows, $concurrency, $asked) = @$case;
	make_cold();
	is(asked_after($rows, $concurrency), $asked,
		"pages that are asked for before row $rows, with effective_io_concurrency = $concurrency");
}

# Where the rest is in shared buffers, it shrinks to none.
make_cold();
$node->safe_psql('postgres', "$settings SELECT sum(v) FROM t WHERE k BETWEEN 601 AND 900");
my ($asked_in_part) = run_counting($node, "SELECT sum(v) FROM t WHERE $range");
cmp_ok($asked_in_part, '>=', 85, 'a range that is cold at first: it asks for the first rows');
cmp_ok($asked_in_part, '<', 140, '... and for few of the others');

# The inner side of a nested loop: ten rows each time.
my $loop = 'SELECT t.v FROM generate_series(50, 89) i JOIN t ON t.g = i';
make_cold();
my ($in_loop, $answer) = run_counting($node, "SELECT count(v) FROM ($loop OFFSET 0) s");
is($answer, 400, 'a nested loop: its rows');
cmp_ok($in_loop, '>=', 330, 'a nested loop: it goes on where it was');
cmp_ok($in_loop, '<=', 360, 'a nested loop: the first row of each time is not asked for');
asks_for_none('a nested loop, warm', $node, $loop);

# Index-only scans ask for pages that are not all-visible.
my $only = "SELECT k AS v FROM t WHERE $range ORDER BY k";
make_cold();
asks_for_none('all pages all-visible', $node, $only);
$node->safe_psql('postgres', 'BEGIN; DELETE FROM t WHERE v % 4 < 3; ROLLBACK');
my $looked_at = $node->safe_psql('postgres', "SELECT count(*) FROM t WHERE $range AND v % 4 < 3");
foreach my $order ('', ' DESC')
{
	make_cold();
	($in_loop, $answer) = run_counting($node, "SELECT count(v) FROM ($only$order OFFSET 0) s");
	is($answer, 400, "an index-only scan$order: its rows");
	cmp_ok($in_loop, '>=', $looked_at - 20, "an index-only scan$order: rows that it looks at");
	cmp_ok($in_loop, '<=', $looked_at, "an index-only scan$order: no others");
}

# What is in the buffer.
$node->safe_psql('postgres',
	"INSERT INTO t SELECT -i * 71 % 201, -1, i, repeat('x', 5000) FROM generate_series(1, 200) i");
is($node->safe_psql('postgres', "SELECT buffer_entries FROM sware_stats('t_k')"), 200, 'rows wait');
foreach my $way ('v', 'k * k AS v')
{
	make_cold();
	asks_for_all("$way of the buffer", $node, "SELECT $way FROM t WHERE k < 0 ORDER BY k", 200);
}
make_cold();
my ($merged) = run_counting($node, 'SELECT sum(v) FROM t WHERE k < 400');
cmp_ok($merged, '>', 540, 'rows of buffer and tree');
$node->safe_psql('postgres', "SELECT sware_flush('t_k')");

# Workers of a parallel scan.
make_cold();
my $parallel = <<"SQL";
$ordered_scan
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET cpu_tuple_cost = 1;
SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off; SET max_parallel_workers_per_gather = 2;
SQL
$node->safe_psql('postgres', 'ALTER TABLE t SET (parallel_workers = 2)');
like($node->safe_psql('postgres', "$parallel EXPLAIN SELECT sum(v) FROM t WHERE $range"),
	qr/Parallel Index Scan/, 'the scan is parallel');
my $stats = "SELECT table_prefetches FROM sware_stats('t_k')";
my $before = $node->safe_psql('postgres', $stats);
is( $node->safe_psql('postgres', "$parallel SELECT count(v) FROM t WHERE $range"),
	400, 'a parallel scan: its rows');
my $asked = $node->safe_psql('postgres', $stats) - $before;
cmp_ok($asked, '>', 250, 'a parallel scan: pages are asked for');
cmp_ok($asked, '<', 400, 'a parallel scan: no others');

# Where the table is in the order of the index, the kernel reads ahead by itself.  A page
# that comes again soon is asked for once: in the order of k, two rows of page p come by
# turns with two of page p + 300.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE o (k int, v int, filler text);
ALTER TABLE o ALTER filler SET STORAGE PLAIN;
CREATE TABLE r (LIKE o INCLUDING ALL);
INSERT INTO o SELECT i, i, repeat('x', 5000) FROM generate_series(1, 600) i;
INSERT INTO r SELECT i / 2 % 300 * 7 % 300 * 4 + i % 2 * 2 + i / 600, i, repeat('x', 3800)
FROM generate_series(0, 1199) i;
CREATE INDEX o_k ON o USING sware (k);
CREATE INDEX r_k ON r USING sware (k);
VACUUM ANALYZE o, r;
ALTER TABLE o SET TABLESPACE elsewhere;
ALTER TABLE r SET TABLESPACE elsewhere;
SQL
is($node->safe_psql('postgres', "SELECT pg_relation_size('r') / 8192"), 600, 'two rows have a page');
asks_for_none('a table in order', $node, 'SELECT v FROM o ORDER BY k');
my ($again) = run_counting($node, 'SELECT sum(v) FROM (SELECT v FROM r WHERE k < 800 ORDER BY k OFFSET 0) s');
cmp_ok($again, '>', 380, 'pages that come again are asked for');
cmp_ok($again, '<=', 400, '... once');
$node->safe_psql('postgres', 'DROP TABLE o, r');

# A temporary table, larger than the session's buffers.
asks_for_all('a temporary table', $node, "SELECT v FROM s WHERE $range ORDER BY k", 400, <<"SQL");
CREATE TEMP TABLE s ($columns);
ALTER TABLE s ALTER filler SET STORAGE PLAIN;
CREATE INDEX s_k ON s USING sware (k);
INSERT INTO s $fill;
SQL

# On a standby.
make_cold() if $place ne 'pg_default';
$node->safe_psql('postgres', 'DROP TABLESPACE elsewhere');
my $standby = start_standby($node, '30s');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->wait_for_catchup($standby, 'replay');
# so that its next start replays nothing, and leaves no page in shared buffers
$standby->safe_psql('postgres', 'CHECKPOINT');
foreach my $way ('v', 'k AS v')
{
	$standby->restart;
	my ($on_standby, $found) =
	  run_counting($standby, "SELECT count(v) FROM (SELECT $way FROM t WHERE $range ORDER BY k OFFSET 0) s");
	is($found, 400, "on a standby: its rows, $way");
	my $most = $way eq 'v' ? 388 : $looked_at;
	cmp_ok($on_standby, '<=', $most, "on a standby: pages of rows that it looks at, $way");
	cmp_ok($on_standby, '>=', $most - 20, "on a standby: nearly all of them, $way");
}
$standby->stop;

# Past the kernel's cache there is nothing to ask for.
SKIP:
{
	skip 'there is no direct I/O before PostgreSQL 16', 1 if $node->pg_version < 16;
	$node->stop;
	$node->append_conf('postgresql.conf', 'debug_io_direct = data');
	my $started = $node->start(fail_ok => 1);
	asks_for_none('direct I/O', $node, $ways{'a range'}) if $started;
	$node->stop if $started;
	$node->append_conf('postgresql.conf', "debug_io_direct = ''");
	$node->start;
	skip 'the file system has no direct I/O', 1 if !$started;
}

# Entries of a damaged index lead beyond the end of the table.  A scan that ends before
# them, and asks for what comes next, does not fail.
my @damaged = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT p.block, i.itemoffset
FROM (SELECT p.block FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
		sware_page_stats('t_k', p.block) s WHERE s.kind = 'leaf' OFFSET 0) p,
	sware_page_items('t_k', p.block) i, t
WHERE t.ctid = i.htid AND t.k IN (2019, 2020)
SQL
is(scalar @damaged, 2, 'two entries to damage');
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_k')");
$node->stop;
foreach my $i (0, 1)
{
	my ($block, $offset) = @{ $damaged[$i] };
	my $page = read_page($file, $block);
	my $item = unpack('L', substr($page, 20 + 4 * $offset, 4)) & 0x7fff;
	substr($page, $item, 4) = $i ? pack('S S', 0xffff, 0xffff) : pack('S S', 0x7fff, 0xfff0);
	write_page($file, $block, $page);
}
$node->start;
($asked) = run_counting($node, 'SELECT sum(v) FROM (SELECT v FROM t WHERE k > 2000 ORDER BY k LIMIT 18) s');
is($asked, 12, 'beside damaged entries: pages of the others are asked for');
$node->stop('fast');

done_testing();
