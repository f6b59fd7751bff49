# Scans ask the kernel for leaves ahead: for those of their range and no others, more
# and more at a time, in both directions.  Scans that read few leaves, or leaves in
# shared buffers, ask for none.  Fault points tell what is asked for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'fault points are sware\'s' if am() ne 'sware';

my $node = start_server_to_damage('scan_ahead', fill_buffers() . <<'CONF', allows_streaming => 1);
shared_preload_libraries = 'sware'
allow_in_place_tablespaces = on
effective_io_concurrency = 1000
shared_buffers = 16MB
CONF

$node->safe_psql('postgres', "CREATE TABLESPACE elsewhere LOCATION ''");

# A leaf has about ten keys, and so has a page of level 1.  Neighbours are far apart in
# the file, since rows were inserted one by one.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int, k text);
ALTER TABLE t ALTER k SET STORAGE PLAIN;
CREATE FUNCTION key(i int) RETURNS text LANGUAGE sql IMMUTABLE
	AS $$ SELECT repeat('x', 494) || lpad(i::text, 6, '0') $$;
CREATE INDEX t_k ON t USING sware (k);
SET sware.enable_buffer = off;
DO $$ BEGIN FOR i IN 1 .. 3000 LOOP
	INSERT INTO t VALUES (i * 1201 % 3001, key(i * 1201 % 3001));
	COMMIT;
END LOOP; END $$;
VACUUM ANALYZE t;

-- The leaves in order, each with its smallest key and its place among the pages of level 1.
CREATE TABLE leaves AS
SELECT row_number() OVER (ORDER BY min(t.id)) AS number, p.block, min(t.id) AS low,
	max(t.id) AS high, count(*) AS rows
FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
	sware_page_stats('t_k', p.block) s, sware_page_items('t_k', p.block) i, t
WHERE s.kind = 'leaf' AND t.ctid = i.htid GROUP BY p.block;
SQL
my $leaves = $node->safe_psql('postgres', 'SELECT count(*) FROM leaves');
my $parents = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
	sware_page_stats('t_k', p.block) s WHERE s.kind = 'internal' AND s.level = 1
SQL
note "$leaves leaves, $parents pages of level 1";
cmp_ok($leaves, '>', 200, 'there are many leaves');
cmp_ok($parents, '>', 10, 'and several pages of level 1');

my $in_elsewhere = 0;

# Copies the file of the index, so that none of it is in shared buffers.
sub make_cold
{
	$in_elsewhere = !$in_elsewhere;
	my $where = $in_elsewhere ? 'elsewhere' : 'pg_default';
	$node->safe_psql('postgres', "ALTER INDEX t_k SET TABLESPACE $where");
	return;
}

# The smallest key of a leaf, or the largest.
sub low_of { return leaf($_[0], 'low') }
sub high_of { return leaf($_[0], 'high') }

sub leaf
{
	my ($number, $what) = @_;
	return $node->safe_psql('postgres', "SELECT $what FROM leaves WHERE number = $number");
}

# The range from the first of these leaves to the last, as a condition.
sub range
{
	my ($first, $last) = @_;
	return 'k BETWEEN key(' . (low_of($first) + 1) . ') AND key(' . (high_of($last) - 1) . ')';
}

my %settings = (
	index => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;'
	  . 'SET max_parallel_workers_per_gather = 0;',
	bitmap => 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;',
	parallel => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;'
	  . 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET cpu_tuple_cost = 1;'
	  . 'SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;'
	  . 'SET max_parallel_workers_per_gather = 2;');

# Runs commands.  Returns what they print, how many leaves are asked for, and how many
# pages of level 1 are listed.
sub run_counting
{
	my ($on, $commands) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $on->psql('postgres', <<"SQL", stdout => \$stdout, stderr => \$stderr);
SET client_min_messages = notice;
SET sware.fault_points = 'readahead-asks=notice, readahead-lists=notice';
$commands
SQL
	is($status, 0, 'commands succeed') || diag($stderr);
	my $asked = () = $stderr =~ /"readahead-asks" was reached/g;
	my $listed = () = $stderr =~ /"readahead-lists" was reached/g;
	return ($stdout, $asked, $listed);
}

# How many of the leaves from first to last does the kernel not read by itself when
# they are read forward?
sub far_leaves
{
	my ($first, $last) = @_;
	return $node->safe_psql('postgres', <<"SQL");
SELECT count(*) FROM (SELECT number, block - lag(block) OVER (ORDER BY number) AS step FROM leaves) s
WHERE number BETWEEN $first AND $last AND step NOT BETWEEN 1 AND 16
SQL
}

# A range is read cold, in all ways: the first leaf is sought, the second one is found
# not to be in shared buffers, and when the third one is read those that follow are
# asked for.
my ($first, $last) = (40, 160);
my $range = range($first, $last);
my $rows = high_of($last) - low_of($first) - 1;
my @ways = (
	[ 'an index-only scan', 'index', 'SELECT k FROM t WHERE %s ORDER BY k', 'forward' ],
	[ 'an index-only scan backward', 'index', 'SELECT k FROM t WHERE %s ORDER BY k DESC', 'backward' ],
	[ 'an index scan', 'index', 'SELECT id, k FROM t WHERE %s ORDER BY k', 'forward' ],
	[ 'an index scan backward', 'index', 'SELECT id, k FROM t WHERE %s ORDER BY k DESC', 'backward' ],
	[ 'a bitmap scan', 'bitmap', 'SELECT id FROM t WHERE %s', 'forward' ]);
my $far = far_leaves($first + 3, $last);
cmp_ok($far, '>', 80, 'most leaves are far from their neighbours');
foreach my $way (@ways)
{
	my ($name, $settings, $query, $direction) = @$way;
	my $found = 'SELECT count(*) FROM (' . sprintf($query, $range) . ' OFFSET 0) s';
	make_cold();
	my ($answer, $asked, $listed) = run_counting($node, "$settings{$settings} $found;");
	is($answer, $rows, "$name: its rows");
	is($asked, $direction eq 'forward' ? $far : $last - $first - 2,
		"$name: it asks for the leaves of its range, and no others");
	cmp_ok($listed, '>', 3, "$name: from one page of level 1 to the next");
	cmp_ok($listed, '<=', $parents, "$name: from each of them once");

	(undef, $asked, $listed) = run_counting($node, "$settings{$settings} $found;");
	is("$asked $listed", '0 0', "$name: not if the leaves are in shared buffers");
}

# Where the end of a range is at the end of a page of level 1, the next one has nothing.
my @ends = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT min(l.number), max(l.number - 1)
FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
	sware_page_stats('t_k', p.block) s, sware_page_items('t_k', p.block) i, leaves l
WHERE s.kind = 'internal' AND s.level = 1 AND i.itemoffset = 2 AND i.child = l.block
	AND l.number BETWEEN 40 AND 160
SQL
make_cold();
my (undef, $asked_at_end) = run_counting($node, "$settings{index} SELECT k FROM t WHERE "
	  . range(@ends) . ' ORDER BY k DESC;');
is($asked_at_end, $ends[1] - $ends[0] - 2, 'backward to the first leaf of a page of level 1');
make_cold();
(undef, $asked_at_end) = run_counting($node, "$settings{index} SELECT k FROM t WHERE "
	  . range(@ends) . ' ORDER BY k;');
is($asked_at_end, far_leaves($ends[0] + 3, $ends[1]), 'forward to the last leaf of a page of level 1');

# To the ends of the index.
foreach my $order ('', ' DESC')
{
	make_cold();
	my ($answer, $asked) = run_counting($node,
		"$settings{index} SELECT count(*) FROM (SELECT k FROM t ORDER BY k$order OFFSET 0) s;");
	is($answer, 3000, "all rows$order");
	my $least = ($order ? $leaves : far_leaves(1, $leaves)) - 6;
	cmp_ok($asked, '>=', $least, "all leaves are asked for$order");
	cmp_ok($asked, '<', $leaves, "each of them once$order");
}

# What is short does not begin.
make_cold();
foreach my $query (
	'SELECT k FROM t WHERE ' . range(50, 51),
	'SELECT k FROM t WHERE k > key(' . (low_of(60) - 3) . ') ORDER BY k LIMIT 10',
	'SELECT k FROM t WHERE k < key(' . (high_of(70) + 3) . ') ORDER BY k DESC LIMIT 10',
	'SELECT k FROM t WHERE k IN (SELECT key(i) FROM generate_series(1000, 2000, 50) i)',
	'SELECT k FROM t WHERE k = ANY (ARRAY(SELECT key(i) FROM generate_series(1000, 2000, 50) i))')
{
	my (undef, $asked, $listed) = run_counting($node,
		"$settings{index} SET enable_hashjoin = off; SET enable_mergejoin = off; $query;");
	is("$asked $listed", '0 0', "nothing is asked for: $query");
}

# The distance grows 1, 2, 4 ... up to the setting, that of the tablespace if it has
# one.  A cursor that goes backward is on the sixth leaf of its range, and has visited
# four with a list.
my $six = $node->safe_psql('postgres',
	"SELECT sum(rows) FROM leaves WHERE number BETWEEN $last - 5 AND $last") - 3;
sub asked_on_sixth_leaf
{
	my ($setting) = @_;
	my ($answer, $asked) = run_counting($node, <<"SQL");
SET effective_io_concurrency = $setting;
$settings{index}
BEGIN;
DECLARE c CURSOR FOR SELECT k FROM t WHERE $range ORDER BY k DESC;
MOVE $six IN c;
COMMIT;
SQL
	return $asked;
}
foreach my $case ([ 1, 4 ], [ 2, 5 ], [ 4, 7 ], [ 8, 11 ], [ 1000, 11 ], [ 0, 0 ])
{
	make_cold();
	is(asked_on_sixth_leaf($case->[0]), $case->[1],
		"leaves that are asked for with effective_io_concurrency = $case->[0]");
}
$node->safe_psql('postgres', 'ALTER TABLESPACE elsewhere SET (effective_io_concurrency = 2)');
make_cold();
make_cold() if !$in_elsewhere;
is(asked_on_sixth_leaf(1000), 5, 'leaves that are asked for with 2 for the tablespace');
$node->safe_psql('postgres', 'ALTER TABLESPACE elsewhere RESET (effective_io_concurrency)');

# Where the leaves are in shared buffers after all, it stops.
make_cold();
my (undef, $asked_after) = run_counting($node, "$settings{index} SELECT count(*) FROM t WHERE "
	  . range($first + 10, $last) . ';');
cmp_ok($asked_after, '>', 50, 'a part of a range is read');
(undef, $asked_after) = run_counting($node, "SET effective_io_concurrency = 4; $settings{index} "
	  . "SELECT count(*) FROM t WHERE $range;");
cmp_ok($asked_after, '>', 8, 'some leaves of the other part are asked for');
cmp_ok($asked_after, '<', 25, 'and few of those that have been read');

# The participants of a parallel scan ask for leaves of their intervals.
make_cold();
my ($answer, $asked) = run_counting($node,
	"$settings{parallel} SELECT count(*), count(DISTINCT id) FROM t WHERE $range;");
is($answer, "$rows|$rows", 'a parallel scan: its rows');
cmp_ok($asked, '>', 40, 'a parallel scan: leaves are asked for');
cmp_ok($asked, '<', $last - $first, 'a parallel scan: no others');

# A scan by an array asks for the leaves of each of its values, and for none between them.
# Where it ends to ask, it knows from the entry at which it has begun; of later entries the
# second column is null, so that the first one lies elsewhere in them.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE n (a text, b int);
ALTER TABLE n ALTER a SET STORAGE PLAIN;
CREATE INDEX n_a_b ON n USING sware (a, b) WITH (deduplicate_items = off);
SET sware.enable_buffer = off;
INSERT INTO n SELECT key(v), CASE WHEN i <= 1500 THEN i END
FROM generate_series(1, 3) v, generate_series(1, 3000) i;
VACUUM ANALYZE n;
SQL
my ($leaves_of_array, $parents_of_array) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FILTER (WHERE s.kind = 'leaf'), count(*) FILTER (WHERE s.level = 1)
FROM generate_series(1, pg_relation_size('n_a_b') / 8192 - 1) p (block), sware_page_stats('n_a_b', p.block) s
SQL
cmp_ok($parents_of_array, '>', 20, 'an array: several pages of level 1');
foreach my $order ('', ' DESC')
{
	my $tablespace = $order ? 'pg_default' : 'elsewhere';
	$node->safe_psql('postgres', "ALTER INDEX n_a_b SET TABLESPACE $tablespace");
	my ($found, $asked_for, $listed) = run_counting($node, "$settings{index} "
		  . 'SET effective_io_concurrency = 10; SELECT count(*) FROM (SELECT a, b FROM n '
		  . "WHERE a = ANY (ARRAY[key(1), key(3)]) ORDER BY a$order, b$order OFFSET 0) s;");
	is($found, 6000, "an array: its rows$order");
	cmp_ok($listed, '>=', $parents_of_array * 2 / 3 - 2,
		"an array: from one page of level 1 to the next$order");
	cmp_ok($listed, '<=', $parents_of_array * 2 / 3 + 5, "an array: from each of them once$order");
	my $least = $order ? $leaves_of_array * 2 / 3 - 10 : 0;
	cmp_ok($asked_for, '>=', $least, "an array: leaves are asked for$order");
	cmp_ok($asked_for, '<', $leaves_of_array * 2 / 3, "an array: no others$order");
}

# A leaf without a downlink is not asked for, but read.
make_cold();
($answer) = run_counting($node, <<"SQL");
SET sware.enable_buffer = off;
SET sware.fault_points = 'split-downlink=error';
\\set ON_ERROR_STOP 0
INSERT INTO t SELECT -id, k || 'y' FROM t WHERE id BETWEEN 1000 AND 1100;
RESET sware.fault_points;
SELECT count(*) FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
	sware_page_stats('t_k', p.block) s WHERE 'incomplete_split' = ANY (s.flags);
SQL
is($answer, 1, 'a split is incomplete');
foreach my $order ('', ' DESC')
{
	make_cold();
	($answer, $asked) = run_counting($node,
		"$settings{index} SELECT count(*) FROM (SELECT k FROM t WHERE $range ORDER BY k$order OFFSET 0) s;");
	is($answer, $rows, "beside an incomplete split: rows$order");
	cmp_ok($asked, '>', 80, "beside an incomplete split: leaves are asked for$order");
}
check_index($node, 't_k', 'afterwards');

# A damaged downlink, to a block that the file does not have, is not followed by scans
# that come from the leaf before.
make_cold() if $in_elsewhere;
my ($parent, $offset) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT p.block, i.itemoffset FROM generate_series(1, pg_relation_size('t_k') / 8192 - 1) p (block),
	sware_page_stats('t_k', p.block) s, sware_page_items('t_k', p.block) i, leaves l
WHERE s.kind = 'internal' AND s.level = 1 AND l.number = 100 AND i.child = l.block;
SQL
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('t_k')");
$node->stop;
my $sound = read_page($file, $parent);
my $damaged = $sound;
my $item = unpack('L', substr($damaged, 20 + 4 * $offset, 4)) & 0x7fff;
substr($damaged, $item, 4) = pack('S S', 0x7fff, 0xfff0);
write_page($file, $parent, $damaged);
foreach my $order ('', ' DESC')
{
	$node->start;
	($answer, $asked) = run_counting($node,
		"$settings{index} SELECT count(*) FROM (SELECT k FROM t WHERE $range ORDER BY k$order OFFSET 0) s;");
	is($answer, $rows, "beside a damaged downlink: rows$order");
	cmp_ok($asked, '>', 80, "beside a damaged downlink: leaves are asked for$order");
	$node->stop;
}
write_page($file, $parent, $sound);
$node->start;

# On a standby.
$node->safe_psql('postgres', 'DROP TABLESPACE elsewhere');
my $standby = start_standby($node, '30s');
foreach my $order ('', ' DESC')
{
	$standby->restart;
	($answer, $asked) = run_counting($standby,
		"$settings{index} SELECT count(*) FROM (SELECT k FROM t WHERE $range ORDER BY k$order OFFSET 0) s;");
	is($answer, $rows, "on a standby: rows$order");
	cmp_ok($asked, '>', 80, "on a standby: leaves are asked for$order");
}

$standby->stop;

# A flush asks for the leaves that its entries go to, and for no others: those of every
# third leaf.  It begins when two leaves had to be read.  In shared buffers it asks for
# none, and the setting is another one.
sub flush_counting
{
	my ($concurrency) = @_;
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO t SELECT -number, k FROM leaves, t WHERE id = low AND number % 3 = 0 AND number BETWEEN 30 AND 270
SQL
	$node->restart if $concurrency ne 'warm';
	$concurrency = 1000 if $concurrency eq 'warm';
	(my $moved, $asked) = run_counting($node,
		"SET maintenance_io_concurrency = $concurrency; SELECT sware_flush('t_k');");
	is($moved, 81, 'entries are flushed');
	return $asked;
}
$asked = flush_counting(1000);
cmp_ok($asked, '>', 60, 'a flush asks for leaves');
cmp_ok($asked, '<=', 79, '... that entries go to only');
is(flush_counting(0), 0, '... unless the setting is 0');
is(flush_counting('warm'), 0, '... or leaves are in shared buffers');

$node->stop;
done_testing();
