# The first look-ups after a restart, on a primary and on a standby: none reads a whole
# buffer, and what each builds is there for the next ones. All of them find what is there,
# while sessions build zones at the same time, and sweeps retire pages.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'page runs are sware\'s' if am() ne 'sware';

my $rows = 980_000;
my $buckets = 5000;
my $look_ups = $ENV{SWARE_FIRST_LOOKUPS} // 100;

my $node = PostgreSQL::Test::Cluster->new('first_lookups');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
jit = off
max_wal_size = 4GB
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (key int, id int);
CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 16384);
CREATE SEQUENCE ids;
-- Rows with keys in no order, in transactions of 200.
CREATE PROCEDURE insert_rows(transactions int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN 1 .. transactions LOOP
		INSERT INTO t SELECT hashint4(n), n
			FROM (SELECT nextval('ids')::int FROM generate_series(1, 200)) r (n);
		COMMIT;
	END LOOP;
END \$\$;
CALL insert_rows($rows / 200);
-- Ranges of keys, and how many of these rows they have.
CREATE TABLE buckets AS
	SELECT number, low, count(id) AS rows
	FROM (SELECT n AS number, (-2147483648 + n * 4294967296 / $buckets)::int AS low,
			(-2147483649 + (n + 1) * 4294967296 / $buckets)::int AS high
		FROM generate_series(0::bigint, $buckets - 1) n) r
	LEFT JOIN t ON key BETWEEN low AND high GROUP BY number, low;
ALTER TABLE buckets ADD PRIMARY KEY (number);
-- Raises an error unless the index finds one of them, and all of a range.
CREATE FUNCTION look_up(wanted int, bucket int) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS \$\$
DECLARE
	found bigint := (SELECT count(*) FROM t WHERE key = hashint4(wanted) AND id = wanted);
	high int := coalesce((SELECT low - 1 FROM buckets WHERE number = bucket + 1), 2147483647);
	range buckets;
BEGIN
	IF found <> 1 THEN
		RAISE 'row % was found % times', wanted, found;
	END IF;
	SELECT * INTO range FROM buckets WHERE number = bucket;
	found := (SELECT count(*) FROM t WHERE key BETWEEN range.low AND high AND id <= $rows);
	IF found <> range.rows THEN
		RAISE '% of % rows from % to % were found', found, range.rows, range.low, high;
	END IF;
END \$\$;
-- How many pages does a query ask for?
CREATE FUNCTION pages_of(query text) RETURNS int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS \$\$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END \$\$;
SQL

my $sealed = $node->safe_psql('postgres',
	'SELECT count(*) FROM sware_buffer_pages(\'t_key\') WHERE state = \'sealed\'');
cmp_ok($sealed, '>', 1800, 'the buffer is full');
my $standby = start_standby($node, -1);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));

my $key = 'SELECT id FROM t WHERE key = hashint4(';
my $range = 'SELECT id FROM t WHERE key >= 0 ORDER BY key LIMIT 100';

sub pages_of
{
	my ($asked, $query) = @_;
	return $asked->safe_psql('postgres', "SELECT pages_of('$query')");
}

foreach my $asked ($node, $standby)
{
	my $name = $asked->name;
	foreach my $query ("${key}4711)", $range)
	{
		$asked->restart;
		cmp_ok(pages_of($asked, $query), '<', $sealed / 3, "first of $name: $query");
	}

	# Each is a session of its own.
	my @pages = map { pages_of($asked, "$key$_)") } 1 .. 70;
	my $most = 0;
	$most = $_ > $most ? $_ : $most foreach @pages;
	cmp_ok($most, '<', $sealed / 4, "none of those that follow reads much in $name");

	# a page of each page run at most, of which there are some 32, and of the tree
	cmp_ok($pages[-1], '<', $sealed / 30, "what they have built is there for the last one in $name");
}

# Readers build what the others look for, while pages retire.
my $before = $node->safe_psql('postgres', 'SELECT flushed_pages FROM sware_stats(\'t_key\')');
$_->restart foreach $node, $standby;
my $load = start_load($node, 2, script_files('insert' => 'CALL insert_rows(20);'));
my @asking = script_files('ask' => <<"SQL");
\\set id random(1, $rows)
\\set bucket random(0, $buckets - 1)
SELECT look_up(:id, :bucket);
SQL
foreach my $asked ($node, $standby)
{
	my ($done, $cancelled, $errors) = ask_beside_load($asked, 4, $look_ups, @asking);
	is($errors, '', $asked->name . ': each look-up finds its rows');
	is($done, 4 * $look_ups, $asked->name . ': all were made');
}
ok(load_goes_on($load), 'rows arrive meanwhile');
stop_load($node, $load);
cmp_ok($node->safe_psql('postgres', 'SELECT flushed_pages FROM sware_stats(\'t_key\')'),
	'>', $before, 'pages have retired');

foreach my $mode (qw(immediate fast))
{
	$node->stop($mode);
	$node->start;
	my ($done, $cancelled, $errors) = ask_beside_load($node, 4, $look_ups / 4, @asking);
	is($errors, '', "each look-up finds its rows after stop mode $mode");
}
check_index($node, 't_key', 'at the end');
index_agrees($node, 't', 'key', 'at the end');
$standby->stop;
$node->stop;
foreach my $one ($node, $standby)
{
	is(join("\n", grep_log($one, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
}
done_testing();
