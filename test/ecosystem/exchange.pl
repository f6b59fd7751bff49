# A module that exchanges files of tables and indexes by changing pg_class, as some tools do
# that rebuild a table (test/modules/sware_files), beside writers: the copy is filled, and
# some of its entries still wait, when its files become those of the table.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('exchange');
$node->init;
$node->append_conf('postgresql.conf', server_settings());
$node->start;
needs_extension($node, 'sware_files');
make_twins($node);
$node->safe_psql('postgres', 'CREATE EXTENSION sware_files');
my %indexes = (ours => [qw(pkey key label)], twin => [qw(pkey key label)]);

my $errors = '';
my $load = start_twin_load($node, 4, \$errors);
foreach my $round (1 .. 8)
{
	wait_for_rows($node, 200);
	my $end = $round % 4 == 0 ? 'ROLLBACK' : 'COMMIT';
	foreach my $table (qw(ours twin))
	{
		my $am = $table eq 'ours' ? 'sware' : 'btree';
		my $option = $am eq 'sware' ? 'WITH (sware)' : '';
		my $exchange = join "\n", "SELECT sware_exchange_files('$table', 'copy');",
		  map { "SELECT sware_exchange_files('${table}_$_', 'copy_$_');" } @{ $indexes{$table} };
		$node->safe_psql('postgres', <<"SQL");
CREATE TABLE copy (LIKE $table);
ALTER TABLE copy ADD PRIMARY KEY (id) $option;
CREATE INDEX copy_key ON copy USING $am (key);
CREATE INDEX copy_label ON copy USING $am (label, key);
BEGIN;
LOCK TABLE $table IN ACCESS EXCLUSIVE MODE;
INSERT INTO copy SELECT * FROM $table ORDER BY key;
$exchange
INSERT INTO $table SELECT -$round, 500 + $round, 'exchanged' WHERE '$end' = 'COMMIT';
DROP TABLE copy;
$end;
DROP TABLE IF EXISTS copy;
SQL
	}
	twins_agree($node, "round $round, $end");
}
stop_twin_load($node, $load, \$errors);
twins_agree($node, 'in the end');
is($node->safe_psql('postgres', q{SELECT count(*) FROM ours WHERE label = 'exchanged'}), '6',
	'what was inserted behind an exchange is there');
$node->stop('immediate');
$node->start;
twins_agree($node, 'after a crash');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
