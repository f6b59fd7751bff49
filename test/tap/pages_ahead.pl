# Scans beside a buffer with page runs ask the kernel for the pages that they will read
# of these runs, if they are not in shared buffers: for one of each, and for those of the
# zones that they build.  Fault points tell what is asked for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'fault points are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('pages_ahead');
$node->init;
# A setting for tests lets a buffer of any size have sorted pages.
$node->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
effective_io_concurrency = 100
shared_buffers = 16MB
sware.fault_pages_to_sort = 32
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (key int);
CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 320);
-- Inserts rows with keys in no order, from 0 to 999,999.
CREATE PROCEDURE insert_rows(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO t SELECT abs(hashint4(n) % 1000000) FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
-- The first flush finds out that the keys are scrambled.  Then the sweeps of a small buffer
-- leave free pages here and there, to which the runs of a larger one are written.
CALL insert_rows(1, 130);
ALTER INDEX t_key SET (buffer_size = 1600);
CALL insert_rows(131, 800);
ALTER INDEX t_key SET (buffer_size = 6400);
CALL insert_rows(801, 1900);
SQL
my $runs = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) / 32 FROM sware_buffer_pages('t_key') p, sware_page_stats('t_key', p.block)
WHERE p.state = 'sealed' AND 'sorted' = ANY (flags)
SQL
cmp_ok($runs, '>', 8, "there are page runs: $runs");

# Returns what a query prints, and how many pages of the buffer are asked for.
sub run_counting
{
	my ($query, $settings) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $node->psql('postgres', <<"SQL", stdout => \$stdout, stderr => \$stderr);
$ordered_scan
SET client_min_messages = notice;
SET sware.fault_points = 'pages-ahead-asks=notice';
$settings;
$query;
SQL
	is($status, 0, 'the query succeeds') || diag($stderr);
	my $asked = () = $stderr =~ /"pages-ahead-asks" was reached/g;
	return ($stdout, $asked);
}

# Of a narrow range, each run has entries on a page or two.
foreach my $order ('', ' DESC')
{
	my $range = 'WHERE key BETWEEN 500000 AND 501000';
	my $query = "SELECT count(*) FROM (SELECT key FROM t $range ORDER BY key$order OFFSET 0) s";
	my $right = $node->safe_psql('postgres', "$sequential_scan SELECT count(*) FROM t $range");

	$node->restart;
	my ($answer, $asked) = run_counting($query, 'SET effective_io_concurrency = 0');
	is("$answer $asked", "$right 0", "none is asked for with effective_io_concurrency = 0$order");

	$node->restart;
	($answer, $asked) = run_counting($query, '');
	is($answer, $right, "the range has its rows$order");
	cmp_ok($asked, '>=', $runs - 3, "a page of nearly each run is asked for$order");
	cmp_ok($asked, '<=', 2 * $runs + 4, "and no more than two$order");

	# Each statement builds a zone, until all pages are in zones.
	$asked = 1;
	for (my $i = 0; $i < 3 * $runs && $asked > 0; $i++)
	{
		($answer, $asked) = run_counting($query, '');
		note "$asked asked for";
		is($answer, $right, "... and again$order");
	}
	is($asked, 0, "none is asked for when they are in shared buffers$order");
}

# Zones are built of all pages.  Most of these follow one another in the file, which the
# kernel notices, but not all.
$node->restart;
my $asked_to_build = 0;
run_counting('SELECT key FROM t WHERE key = 1', '');
for my $i (1 .. 2 * $runs)
{
	my (undef, $asked) = run_counting('SELECT key FROM t WHERE key = 1', '');
	$asked_to_build += $asked;
}
note "$asked_to_build of " . 32 * $runs . ' pages were asked for';
cmp_ok($asked_to_build, '>', 5, 'pages of zones that are built are asked for');
cmp_ok($asked_to_build, '<', 16 * $runs, '... but those that follow one another are not');
is($node->safe_psql('postgres', "$ordered_scan SELECT count(*), sum(key) FROM t WHERE key >= 0"),
	$node->safe_psql('postgres', "$sequential_scan SELECT count(*), sum(key) FROM t WHERE key >= 0"),
	'the index has the rows of the table');

# Of runs whose keys lie apart, a scan of a few rows reads those where it begins, and asks
# for no page of the others.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE apart (key int);
CREATE INDEX apart_key ON apart USING sware (key) WITH (buffer_size = 320);
CREATE PROCEDURE insert_apart(first int, last int, low int, width int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO apart SELECT low + abs(hashint4(n) % width)
		FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
CALL insert_apart(1, 130, 0, 1000000);
ALTER INDEX apart_key SET (buffer_size = 6400);
SQL
foreach my $part (0 .. 9)
{
	my ($first, $last, $low) = (131 + 90 * $part, 220 + 90 * $part, 100_000 * $part);
	$node->safe_psql('postgres', "CALL insert_apart($first, $last, $low, 100000)");
}
my $pages = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FROM sware_buffer_pages('apart_key') WHERE state = 'sealed'
SQL
cmp_ok($pages, '>', 9 * 32, "most rows are in the buffer: $pages pages");
foreach my $scan ('key >= 50000 ORDER BY key', 'key <= 950000 ORDER BY key DESC')
{
	my $query = "SELECT key FROM apart WHERE $scan LIMIT 1";
	my $right = $node->safe_psql('postgres', "$sequential_scan $query");

	$node->restart;
	my ($answer, $asked) = run_counting($query, '');
	is($answer, $right, "the first row is found: $scan");
	cmp_ok($asked, '<=', 4, '... without asking for pages of all runs');
}

$node->stop;
done_testing();
