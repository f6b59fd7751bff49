# An index-only scan on a standby must not return a row that never was.  The scan has copied
# a leaf with the entry of a row whose transaction is rolled back then.  The primary removes
# the entry before it splits the leaf, so VACUUM has nothing to remove from that leaf, and
# its redo does not wait for the scan's pin; VACUUM makes the row's page all-visible, and
# no snapshot is in conflict with any of it.  nbtree trusts the visibility map then, and
# returns the row.  sware looks at the leaf's LSN first.

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
$primary->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
CONF
$primary->start;
prepare_database($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_visibility');
my $standby = start_standby($primary, 0);

# What the scan returns of the keys up to 42, of which 39 is the row's that is rolled back.
# sware looks up the first 16 entries together.
sub scan_of
{
	my ($kind) = @_;
	my $settings = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';
	my $unbuffered = $kind eq 'btree' ? '' : 'SET sware.enable_buffer = off;';

	# Two pages of the table, of 58 rows each: the last one of the second page is missing.
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE of_$kind (a int, filler char(100)) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE INDEX of_${kind}_a ON of_$kind USING $kind (a);
$unbuffered
INSERT INTO of_$kind SELECT i * 2, '' FROM generate_series(1, 115) i;
SQL
	$primary->safe_psql('postgres', "VACUUM of_$kind");
	my $other = start_holder($primary,
		"BEGIN; $unbuffered INSERT INTO of_$kind VALUES (39, '') RETURNING ctid;");
	$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
	$primary->wait_for_catchup($standby);

	my $holder = start_holder($standby, 'SELECT pg_advisory_lock(1);');
	my $scan = start_session($standby, 'scan', <<"SQL");
$settings
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT a FROM of_$kind WHERE a > 0 ORDER BY a;
EXPLAIN (COSTS OFF) SELECT a FROM of_$kind WHERE a > 0 ORDER BY a;
FETCH 1 FROM c;
SELECT 'waits' FROM pg_advisory_lock(1);
FETCH 20 FROM c;
SQL
	wait_until($standby, 'scan', "wait_event_type = 'Lock'");

	end_session($primary, $other);
	is($other->{out}, "(1,58)\n", "$kind: the row was the last one of its page");

	# Rows that are younger than the snapshot of the scan must not become all-visible.  They
	# must not come to the page either, from which 19 prunes the row at its first look.
	my $old = start_holder($primary, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
	$primary->safe_psql('postgres', <<"SQL");
$settings $unbuffered
ALTER TABLE of_$kind SET (fillfactor = 50);
SELECT filler FROM of_$kind WHERE a BETWEEN 30 AND 50;
INSERT INTO of_$kind SELECT 1000 + i, '' FROM generate_series(1, 400) i;
SQL
	$primary->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) of_$kind");
	# what VACUUM logs last need not have been written yet
	$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
	$primary->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', "SELECT all_visible FROM pg_visibility('of_$kind', 1)"),
		't', "$kind: the page is all-visible on the standby");
	end_session($primary, $old);
	end_session($standby, $holder);
	IPC::Run::finish($scan->{run});
	is($scan->{err}, '', "$kind: the scan is not cancelled");
	like($scan->{out}, qr/Index Only Scan/, "$kind: it is an index-only scan");
	my ($before, $after) = $scan->{out} =~ /^((?:\d+\n)+)waits\n((?:\d+\n)+)/m;
	return join(' ', split /\n/, ($before // '') . ($after // ''));
}

note('nbtree returns ' . scan_of('btree'));
is(scan_of($am), join(' ', map { $_ * 2 } 1 .. 21), 'the scan returns no row that never was')
  if $am ne 'btree';

$standby->stop;
$primary->stop;
done_testing();
