# What scans have read, of staging, buffer and tree: the session's counters, and from
# PostgreSQL 18 on the option SWARE of EXPLAIN, which shows the same of each scan.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the counters are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('counters');
$node->init;
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
fsync = off
max_parallel_workers_per_gather = 0
jit = off
CONF
$node->start;
prepare_database($node);
my $has_option = $node->safe_psql('postgres', 'SHOW server_version_num') >= 180000;

# 1,000 entries in the tree, and 200 in the buffer.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int, b int);
CREATE INDEX t_a ON t USING sware (a);
CREATE INDEX t_b ON t USING btree (b);
INSERT INTO t SELECT n, n FROM generate_series(1, 1000) n;
SELECT sware_flush('t_a');
INSERT INTO t SELECT n, n FROM generate_series(1001, 1200) n;
ANALYZE t;
SQL
my $rows = 'SELECT count(b) FROM t WHERE a > 0';
my $plan = 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF';

# What a query reads after other statements of its transaction: the counters, in the order
# of the columns, and the plan with them.
sub reads_of
{
	my ($query, $before) = @_;
	my @counters = map { /^\((.*)\)$/ ? [ split /,/, $1 ] : () } split /\n/,
	  $node->safe_psql('postgres', <<"SQL");
BEGIN;
@{[ $before // '' ]}
SELECT sware_scan_counters();
$query;
SELECT sware_scan_counters();
ROLLBACK;
SQL
	return map { $counters[1][$_] - $counters[0][$_] } 0 .. 6;
}

# EXPLAIN shows these numbers.
sub is_explained
{
	my ($query, $before, $name, @reads) = @_;
  SKIP:
	{
		skip 'EXPLAIN has no options of extensions before PostgreSQL 18', 1 if !$has_option;
		my $explained = $node->safe_psql('postgres',
			"BEGIN; @{[ $before // '' ]} EXPLAIN ($plan, SWARE) $query; ROLLBACK");
		my $line = sprintf 'Sware: staging entries=%s, buffer entries=%s pages=%s zones=%s, '
		  . 'tree entries=%s leaves=%s, table prefetches=%s', @reads;
		is(join("\n", $explained =~ /^ *(Sware: .*)$/mg), $line, "$name is explained") || diag($explained);
	}
	return;
}

my @reads = reads_of($rows, $ordered_scan);
is("@reads[0, 1, 4]", '0 200 1000', 'a scan reads the buffer and the tree');
ok($reads[2] > 0 && $reads[3] == 0, 'pages of the buffer');
ok($reads[5] > 1, 'and leaves');
is($reads[6], 0, 'pages of the table that are in shared buffers are not asked for');
is_explained($rows, $ordered_scan, 'a scan', @reads);

my $stage = "$ordered_scan INSERT INTO t SELECT n, n FROM generate_series(1, 10) n;";
@reads = reads_of($rows, $stage);
is("@reads[0, 1, 4]", '10 200 1000', 'and what its transaction has staged');
is_explained($rows, $stage, 'staging', @reads);

my $point = 'SELECT b FROM t WHERE a = 500';
@reads = reads_of($point, $ordered_scan);
is("@reads[0, 1, 3, 4, 5]", '0 0 0 1 1', 'a look-up reads one leaf');
is_explained($point, $ordered_scan, 'a look-up', @reads);

my $bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;';
@reads = reads_of($rows, $bitmap);
is("@reads[0, 1, 4]", '0 200 1000', 'a bitmap scan reads the same');
is_explained($rows, $bitmap, 'a bitmap scan', @reads);

my $ends = 'SELECT a FROM t WHERE a > 0 ORDER BY a LIMIT 3';
@reads = reads_of($ends, $ordered_scan);
ok($reads[4] < 100 && $reads[5] == 1, 'a limit ends the reading early');
is_explained($ends, $ordered_scan, 'a limit', @reads);

# All loops of a node count.
my $loops = 'SELECT count(t.b) FROM generate_series(1, 7) n, LATERAL (SELECT b FROM t WHERE a = n) t';
my $nested =
  "$ordered_scan SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;";
@reads = reads_of($loops, $nested);
is("@reads[4, 5]", '7 7', 'scans in a loop add up');
is_explained($loops, $nested, 'a loop', @reads);

# Sorted zones.
$node->safe_psql('postgres', 'INSERT INTO t SELECT n, n FROM generate_series(-199, 0) n') foreach 1 .. 40;
$node->safe_psql('postgres', "$ordered_scan $rows OR a < 0");
@reads = reads_of('SELECT count(b) FROM t WHERE a < 0', $ordered_scan);
is($reads[1], 199 * 40, 'many entries of the buffer are found');
ok($reads[3] > 0, 'in sorted zones');

if ($has_option)
{
	my $json = $node->safe_psql('postgres', "$ordered_scan EXPLAIN ($plan, SWARE, FORMAT json) $point");
	like($json, qr/"Sware Tree Entries": 1,\s+"Sware Tree Leaves": 1\b/, 'in JSON, too');
	foreach my $options ("$plan", "$plan, SWARE off", 'COSTS OFF, SWARE')
	{
		unlike($node->safe_psql('postgres', "$ordered_scan EXPLAIN ($options) $point"),
			qr/Sware/, "nothing is shown with $options");
	}
	unlike(
		$node->safe_psql('postgres', "$ordered_scan EXPLAIN ($plan, SWARE) SELECT b FROM t WHERE b = 5"),
		qr/Sware/, 'nor of an index of nbtree\'s');
}
else
{
	my ($status, $stdout, $stderr) = $node->psql('postgres', "EXPLAIN (SWARE) $point");
	like($stderr, qr/unrecognized EXPLAIN option/, 'EXPLAIN has no such option');
}

$node->stop;
done_testing();
