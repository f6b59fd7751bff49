# Zones of page runs: a buffer has far more sorted pages than shared memory has room for
# copies of their entries.  The zones are made again after a restart and a crash, and on a
# standby, also of page runs whose first pages have retired.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'page runs are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('page_runs');
$node->init(allows_streaming => 1);
# A setting for tests lets a buffer of any size have sorted pages.  There are 60 chunks of
# shared memory, or a few less.
$node->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
sware.shared_memory = '960kB'
sware.fault_pages_to_sort = 32
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (key int, id int);
CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 320);
-- Inserts rows with keys in no order, which are even.
CREATE PROCEDURE insert_rows(first int, transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. first + transactions - 1 LOOP
		INSERT INTO t SELECT hashint4(n) % 1000000 * 2, n FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
CREATE FUNCTION sealed() RETURNS bigint LANGUAGE sql AS
	'SELECT count(*) FROM sware_buffer_pages(''t_key'') WHERE state = ''sealed''';
-- In how many sorted zones is an odd key looked for?  Look-ups before make those that are
-- missing, one each.
CREATE FUNCTION zones() RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	before bigint;
BEGIN
	FOR i IN 1 .. 40 LOOP
		before := (SELECT bloom_probes FROM sware_stats('t_key'));
		PERFORM id FROM t WHERE key = 101;
	END LOOP;
	RETURN (SELECT bloom_probes - before FROM sware_stats('t_key'));
END $$;
-- The first flush finds out that the keys are scrambled.
CALL insert_rows(1, 130);
ALTER INDEX t_key SET (buffer_size = 3200);
SQL

# Every sealed page counts, and so do the zones of all of them together.
$node->safe_psql('postgres', 'CALL insert_rows(200, 750)');
my $sealed = $node->safe_psql('postgres', 'SELECT sealed()');
cmp_ok($sealed, '>', 250, 'more pages wait than there are chunks of shared memory');
my $zones = $node->safe_psql('postgres', 'SELECT zones()');
cmp_ok($zones, '>', 5, 'page runs have zones');
index_agrees($node, 't', 'key', 'with page runs');
is($node->safe_psql('postgres', 'SELECT sealed()'), $sealed, 'scans find no reason to flush');

# Zones are made of the pages.
foreach my $mode (qw(fast immediate))
{
	$node->stop($mode);
	$node->start;
	is($node->safe_psql('postgres', 'SELECT zones()'), $zones, "zones after stop mode $mode");
	index_agrees($node, 't', 'key', "after stop mode $mode");
}

# A standby makes its own; pages retire there while it has them.
my $standby = start_standby($node, -1);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
# Sets up the function's look-ups; statistics are those of each server.
is($standby->safe_psql('postgres', 'SELECT zones()'), $zones, 'zones of the standby');
my $summary = ordered_summary('t', 'key');
is($standby->safe_psql('postgres', $summary),
	$node->safe_psql('postgres', sequential_summary('t', 'key')), 'the standby has all rows in order');
foreach my $round (1 .. 4)
{
	# The buffer is full: each round is a part of a sweep.
	$node->safe_psql('postgres', 'CALL insert_rows(' . (1000 + $round * 100) . ', 60)');
	$node->safe_psql('postgres', "DELETE FROM t WHERE id % 50 = $round; VACUUM t") if $round == 4;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($standby->safe_psql('postgres', $summary),
		$node->safe_psql('postgres', sequential_summary('t', 'key')), "the standby in round $round");
	index_agrees($node, 't', 'key', "round $round");
	next if $round != 2;

	# The first pages of page runs retire before their zones are made. They may be in use
	# again at once.
	my $retired = 'f';
	foreach my $more (1 .. 40)
	{
		$retired = $node->safe_psql('postgres', <<'SQL');
SELECT count(*) > 0 FROM sware_buffer_pages('t_key') p, sware_page_stats('t_key', p.block) s
WHERE p.state = 'retired' AND 'sorted' = ANY (s.flags)
SQL
		last if $retired eq 't';
		$node->safe_psql('postgres', 'CALL insert_rows(' . (1300 + 2 * $more) . ', 2)');
	}
	is($retired, 't', 'some pages of page runs have retired');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	$_->restart foreach $node, $standby;
	cmp_ok($_->safe_psql('postgres', 'SELECT zones()'), '>', 5, 'zones without first pages')
	  foreach $node, $standby;
	index_agrees($node, 't', 'key', 'without first pages');
	is($standby->safe_psql('postgres', $summary),
		$node->safe_psql('postgres', sequential_summary('t', 'key')), 'the standby without first pages');
}
$node->safe_psql('postgres', 'CALL insert_rows(2000, 200)');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->promote;
$standby->safe_psql('postgres', 'DELETE FROM t WHERE id % 3 = 0');
index_agrees($standby, 't', 'key', 'after promotion');
index_agrees($standby, 't', 'key', 'after promotion, with marks');
$standby->safe_psql('postgres', 'CALL insert_rows(5000, 300)');
check_index($standby, 't_key', 'after promotion');
index_agrees($standby, 't', 'key', 'later');
$standby->stop;
$node->stop;
foreach my $one ($node, $standby)
{
	is(join("\n", grep_log($one, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
}
done_testing();
