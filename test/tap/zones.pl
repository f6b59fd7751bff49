# Sessions insert into several indexes and compare what index scans and
# sequential scans find. The pool has much too little room for the zones of
# all these indexes: zones are given up for others while they are read.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $transactions = $ENV{SWARE_ZONES_TRANSACTIONS} // 400;
my $tables = 6;
my $am = am();

my $node = PostgreSQL::Test::Cluster->new('zones');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n" . preload());
$node->append_conf('postgresql.conf', "sware.shared_memory = '160kB'\n")
  if $am eq 'sware';
$node->start;
prepare_database($node);

foreach my $n (1 .. $tables)
{
	my $type = $n % 2 ? 'text' : 'int';
	my $options = $am eq 'sware' ? 'WITH (buffer_size = ' . ($n % 3 ? 256 : 64) . ')' : '';
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE zones_$n (key $type, id int);
CREATE INDEX zones_${n}_key ON zones_$n USING $am (key) $options;
SQL
}

# Raises an error unless both scans find the same, in one snapshot.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION compare_scans(t regclass, low int, high int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*), sum(hashtext(key::text)::bigint)
		FROM %s WHERE key BETWEEN %L AND %L', t, low, high);
	by_index record;
	by_table record;
BEGIN
	PERFORM set_config('enable_' || kind || 'scan', (kind LIKE 'index%')::text, true)
		FROM unnest('{index,indexonly,bitmap,seq}'::text[]) kind;
	EXECUTE query INTO by_index;
	PERFORM set_config('enable_' || kind || 'scan', (kind = 'seq')::text, true)
		FROM unnest('{index,indexonly,bitmap,seq}'::text[]) kind;
	EXECUTE query INTO by_table;
	IF by_index IS DISTINCT FROM by_table THEN
		RAISE EXCEPTION '% from % to %: % by index, % by table',
			t, low, high, by_index, by_table;
	END IF;
END $$;
SQL

$node->pgbench(
	"-n -c 6 -j 2 -t $transactions --random-seed=" . choose(1, 2**31 - 1),
	0,
	[qr/number of transactions actually processed: \d+\/\d+/],
	[qr/^$|^pgbench: setting random seed/],
	'scans find what is there while zones come and go',
	{
		'zones_script' => <<"SQL" });
\\set n random(1, $tables)
\\set key random(1, 1000000)
\\set rows random(1, 20)
INSERT INTO zones_:n SELECT (random() * 1000000)::int, i FROM generate_series(1, :rows) i;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare_scans('zones_:n', :key, :key + 2000);
SELECT compare_scans('zones_:n', :key, :key);
SELECT compare_scans('zones_:n', :key, :key + 20000);
COMMIT;
SQL

check_index($node, "zones_${_}_key", 'afterwards') foreach 1 .. $tables;

$node->stop;
done_testing();
