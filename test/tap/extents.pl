# Bulk appends make the file of an index longer by all pages that they need.
# They leave no page unused, and pages that an error or a crash leaves unused are
# found by VACUUM: the next load uses them.  VACUUM also finds a copy of a leaf that
# was not linked when the server crashed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
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

# After a crash, the free space map may list a page that is not free. Here it is the copy of
# a leaf: the server ends before VACUUM, which moves the leaf, has linked it.
$node->safe_psql('postgres', <<'SQL');
-- leaves that no page of level 1 links to
CREATE FUNCTION unlinked_leaves(index regclass) RETURNS bigint LANGUAGE sql AS $$
	WITH pages AS MATERIALIZED (
		SELECT page.* FROM generate_series(1,
				pg_relation_size(index) / current_setting('block_size')::int - 1) block,
			sware_page_stats(index, block) page
		WHERE page.kind IN ('leaf', 'internal') AND NOT 'deleted' = ANY (page.flags))
	SELECT count(*) FROM pages WHERE kind = 'leaf' AND blkno NOT IN
		(SELECT item.child FROM pages page, sware_page_items(index, page.blkno) item
		WHERE page.kind = 'internal' AND item.child IS NOT NULL) $$;
CREATE TABLE moved (a int, b text);
ALTER TABLE moved ALTER b SET STORAGE PLAIN;
CREATE INDEX moved_b ON moved USING sware (b) WITH (buffer_size = 0);
INSERT INTO moved SELECT a, rpad(lpad(a::text, 8, '0'), 1300, 'x')
FROM (SELECT i * 379 % 2003 AS a FROM generate_series(1, 2003) i) s;
DELETE FROM moved WHERE a % 20 <> 1;
VACUUM (INDEX_CLEANUP on) moved;
CHECKPOINT;
-- VACUUM changes the map in another place before it moves a leaf.
DELETE FROM moved WHERE a % 40 <> 1;
ALTER INDEX moved_b SET (group_leaves);
SQL
my $locker = $node->background_psql('postgres', on_error_stop => 1);
$locker->query_safe('SELECT pg_advisory_lock(23265)');
my $output = '';
my $vacuum = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('postgres'),
		'-c', "SET sware.fault_points = 'leaf-copied=wait'", '-c', 'VACUUM (INDEX_CLEANUP on) moved'
	],
	'<', \undef, '>', \$output, '2>', \$output, IPC::Run::timeout(600));
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or BAIL_OUT('no leaf is moved');
$node->safe_psql('postgres', 'CREATE TABLE flushes_the_log ()');
$node->stop('immediate');
$vacuum->finish;
eval { $locker->quit };
$node->start;
is($node->safe_psql('postgres', "SELECT unlinked_leaves('moved_b')"), 1, 'a crash leaves a copy unlinked');
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP on) moved');
is($node->safe_psql('postgres', "SELECT unlinked_leaves('moved_b')"), 0, 'VACUUM deletes it');
is($node->safe_psql('postgres', "SELECT sware_check('moved_b', true)"), '', 'the index is right');

$node->stop;
is(join("\n", grep_log($node, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
done_testing();
