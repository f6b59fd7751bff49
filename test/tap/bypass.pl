# An index that is only read does not keep entries in its buffer: the flush worker moves
# them. But where leaves would have to be read for it, they wait, however many look-ups
# there are.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('bypass');
$node->init;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
enable_seqscan = off
enable_bitmapscan = off
sware.flush_workers = 1
CONF
$node->start;
prepare_database($node);

# More leaves than half of the smallest shared buffers can have.
my $am = am();
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (k int);
CREATE INDEX t_k ON t USING $am (k) WITH (buffer_size = 1024);
INSERT INTO t SELECT i * 100 FROM generate_series(1, 50000) i;
CREATE PROCEDURE add_rows(first int, last int, look_ups int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO t VALUES (i * 7919 % 50000 * 100 + 1);
		COMMIT;
		CALL look_up(look_ups);
	END LOOP;
END
\$\$;
CREATE PROCEDURE look_up(times int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN 1 .. times LOOP
		PERFORM FROM t WHERE k = i * 31 % 50000 * 100;
	END LOOP;
END
\$\$;
SQL

my $waiting = "SELECT buffer_entries FROM sware_stats('t_k')";

$node->safe_psql('postgres', 'CALL add_rows(1, 3000, 0)');
cmp_ok($node->safe_psql('postgres', $waiting), '>', 2500, 'entries wait');
my $flushed = 0;
for (1 .. 200)
{
	$node->safe_psql('postgres', 'CALL look_up(2000)');
	$flushed = $node->safe_psql('postgres', $waiting) == 0;
	last if $flushed;
}
ok($flushed, 'they are flushed while the index is only read');
cmp_ok($node->safe_psql('postgres', "SELECT worker_pieces FROM sware_stats('t_k')"),
	'>', 0, 'by the worker');

$node->append_conf('postgresql.conf', 'shared_buffers = 1MB');
$node->restart;
$node->safe_psql('postgres', 'CALL add_rows(3001, 5000, 5)');
cmp_ok($node->safe_psql('postgres', $waiting),
	'>', 1500, 'entries of an index larger than half of the memory wait');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE k >= 0'),
	55000, 'all rows are there');
$node->safe_psql('postgres', "SELECT sware_check('t_k', true)");

$node->stop;
done_testing();
