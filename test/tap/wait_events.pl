# What sessions wait for shows in pg_stat_activity: a lock on a key in shared memory, and
# another participant of a parallel scan. From PostgreSQL 17 on these waits have names.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the waits are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('waits');
$node->init;
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
fsync = off
log_statement = none
CONF
$node->start;
prepare_database($node);
my $has_names = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;

# Does a session wait for this?
sub waits_for
{
	my ($name, $event) = @_;
	wait_until($node, $name, "wait_event_type = 'Extension'");
	return is(
		$node->safe_psql('postgres', <<"SQL"), $has_names ? $event : 'Extension', "it is a $event");
SELECT DISTINCT wait_event FROM pg_stat_activity
WHERE wait_event_type = 'Extension' AND application_name = '$name'
SQL
}

# A session stops with a key locked. Of the many keys of another index, one has the same
# lock: tests see waits for keys of the same index as waits for heavyweight locks.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE one (k int);
CREATE UNIQUE INDEX one_k ON one USING sware (k);
CREATE TABLE other (k int);
CREATE UNIQUE INDEX other_k ON other USING sware (k);
CREATE PROCEDURE insert_many() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 20000 LOOP
		INSERT INTO other VALUES (i * 7919 % 20011);
		COMMIT;
	END LOOP;
END $$;
SQL
my $holder = start_holder($node, 'SELECT pg_advisory_lock(23265);');
my $first = start_session($node, 'first',
	"SET sware.fault_points = 'unique-locked=wait'; INSERT INTO one VALUES (1);");
wait_until($node, 'first', "wait_event = 'advisory'");
my $second = start_session($node, 'second', 'CALL insert_many();');
waits_for('second', 'SwareKeyLock');
end_session($node, $holder);
$_->{run}->finish foreach $first, $second;
is($first->{err} . $second->{err}, '', 'both go on');
is($node->safe_psql('postgres', 'SELECT count(*) FROM other'), 20000, 'and insert');

# A participant of a parallel scan stops while it claims an interval.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int) WITH (parallel_workers = 2);
CREATE INDEX t_a ON t USING sware (a);
INSERT INTO t SELECT generate_series(1, 20000);
VACUUM t;
SQL
$holder = start_holder($node, 'SELECT pg_advisory_lock(23265);');
my $scan = start_session($node, 'scan', <<"SQL");
$ordered_scan
SET parallel_leader_participation = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET sware.fault_points = 'interval-found=wait';
SELECT count(*) FROM t WHERE a > 0;
SQL
waits_for('scan', 'SwareParallelScan');
end_session($node, $holder);
$scan->{run}->finish;
is("$scan->{out}$scan->{err}", "20000\n", 'it ends');

$node->stop;
done_testing();
