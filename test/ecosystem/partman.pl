# pg_partman: it makes partitions, with the indexes of the parent and of its template, moves
# rows into them, detaches old ones and moves all rows back, beside writers.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('partman');
$node->init;
$node->append_conf('postgresql.conf', server_settings());
$node->start;
needs_extension($node, 'pg_partman');
make_twins($node, rows => 0, no_key => 1, clause => 'PARTITION BY RANGE (id)');
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
CREATE TABLE ours_template (LIKE ours);
CREATE UNIQUE INDEX ours_template_id ON ours_template USING sware (id);
CREATE TABLE twin_template (LIKE twin);
CREATE UNIQUE INDEX twin_template_id ON twin_template (id);
SQL
$node->safe_psql('postgres', <<"SQL") foreach qw(ours twin);
SELECT partman.create_parent('public.$_', 'id', 'native', '4000', p_template_table := 'public.${_}_template',
	p_premake := 20);
SQL
# Rows beyond the first partitions come to the default one, and from there to their own.
Trial::fill_twins($node, 'postgres', 20000);
$node->safe_psql('postgres', "CALL partman.partition_data_proc('public.$_', p_wait := 0)")
  foreach qw(ours twin);
twins_agree($node, 'rows moved into partitions');

my $errors = '';
my $load = start_twin_load($node, 3, \$errors);
foreach my $round (1 .. 3)
{
	wait_for_rows($node, 1500);
	$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
	twins_agree($node, "maintained beside writers, round $round");
}
stop_twin_load($node, $load, \$errors);
$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
twins_agree($node, 'maintained');
my $partitions = q{SELECT count(*) FROM pg_partition_tree('%s') WHERE isleaf};
cmp_ok($node->safe_psql('postgres', sprintf($partitions, 'ours')), '>', 10, 'there are partitions');
is($node->safe_psql('postgres', sprintf($partitions, 'ours')),
	$node->safe_psql('postgres', sprintf($partitions, 'twin')), 'the twins have as many');
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT amname, ',') FROM pg_index i
	JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indrelid IN (SELECT relid FROM pg_partition_tree('ours'))}), 'sware', 'their indexes are of sware');
is($node->safe_psql('postgres', q{SELECT count(*) > 10 FROM pg_index
	WHERE indisunique AND indrelid IN (SELECT relid FROM pg_partition_tree('ours'))}), 't',
	'with the unique ones of the template');
$node->safe_psql('postgres', q{
UPDATE partman.part_config SET retention = '4000', retention_keep_table = false;
SELECT partman.run_maintenance('public.ours'), partman.run_maintenance('public.twin')});
twins_agree($node, 'old partitions dropped');
$node->safe_psql('postgres', 'VACUUM');
twins_agree($node, 'vacuumed');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
