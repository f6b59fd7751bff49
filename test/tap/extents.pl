# Bulk appends make the file of an index longer by all pages that they need.
# They leave no page unused, and pages that an error or a crash leaves unused are
# found by VACUUM: the next load uses them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extents');
$node->init;
# Few shared buffers: a session may pin only some of the pages that it adds.
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
restart_after_crash = on
log_statement = none
shared_buffers = '1MB'
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
-- The pages of an index, and how many of them no part of the index uses.
CREATE FUNCTION pages(index regclass, OUT pages bigint, OUT unused bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE s.kind = 'new' OR 'deleted' = ANY (s.flags))
	FROM generate_series(1,
		pg_relation_size(index) / current_setting('block_size')::int - 1) AS block,
		sware_page_stats(index, block) AS s;
$$;
SQL

# Indexes of all kinds of tables have no unused pages after loads.
foreach my $kind ('', 'UNLOGGED', 'TEMPORARY')
{
	my ($status, $stdout, $stderr) = run_sql($node, <<"SQL");
CREATE $kind TABLE loaded (k int);
CREATE INDEX loaded_k ON loaded USING sware (k);
INSERT INTO loaded SELECT generate_series(1, 100000);
INSERT INTO loaded SELECT generate_series(100001, 100100);
INSERT INTO loaded SELECT generate_series(100101, 103000);
INSERT INTO loaded SELECT i * 10 FROM generate_series(1, 30000) i;
SELECT sware_check('loaded_k', true);
SELECT unused, pages > 250 FROM pages('loaded_k');
DROP TABLE loaded;
SQL
	is($stderr, '', "a load of a table succeeds: $kind");
	like($stdout, qr/\n0\|t$/, "no page of its index is unused: $kind");
}

# What one load leaves unused, another one uses.
my $load = 'INSERT INTO t SELECT i FROM generate_series(10001, 40000) i;';
my %faults = (
	'a crash after the file was extended' => "SET sware.fault_points = 'file-extended=kill';",
	'a crash before leaves are linked' => "SET sware.fault_points = 'append-written=kill';",
	'an error after the file was extended' => "SET sware.fault_points = 'file-extended=error';",
	'the end of the disk' => 'SET sware.staging_size = 64; SET sware.fail_extension = 2;',
);
foreach my $name (sort keys %faults)
{
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (k int);
INSERT INTO t SELECT generate_series(1, 3000);
CREATE INDEX t_k ON t USING sware (k);
SQL
	my $offset = -s $node->logfile;
	my ($status, $stdout, $stderr) = run_sql($node, "$faults{$name}\n$load");
	like($stderr, qr/server closed the connection|no space left|was reached/, $name);
	$node->wait_for_log(qr/database system is ready to accept connections/, $offset)
	  if $faults{$name} =~ /kill/;

	my $before = $node->safe_psql('postgres', "SELECT pages FROM pages('t_k')");
	is($node->safe_psql('postgres', "SELECT count(*) FROM t"), 3000, "the load is undone: $name");
	($status, $stdout, $stderr) = run_sql($node, "VACUUM t;\n$load\nSELECT sware_check('t_k', true);");
	is($stderr, '', "the load succeeds later: $name");

	$node->safe_psql('postgres', "CREATE TABLE u AS TABLE t WITH NO DATA;
		INSERT INTO u SELECT generate_series(1, 3000); CREATE INDEX u_k ON u USING sware (k);
		INSERT INTO u SELECT i FROM generate_series(10001, 40000) i;");
	my ($pages, $unused) = split /\|/, $node->safe_psql('postgres', "SELECT * FROM pages('t_k')");
	my $needed = $node->safe_psql('postgres', "SELECT pages FROM pages('u_k')");
	note("$name: $before pages after it, $pages in the end, $unused of them unused, $needed needed");
	cmp_ok($before, '>', 9, "pages were left: $name");
	is($pages, $needed, "the load used them: $name");
	is($node->safe_psql('postgres', "SELECT count(*) FROM t"), 33000, "all rows are there: $name");
	$node->safe_psql('postgres', 'DROP TABLE t, u');
}

$node->stop;
is(join("\n", grep_log($node, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
done_testing();
