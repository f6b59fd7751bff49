# pg_repack beside writers: it fills another table, applies the changes that were made
# meanwhile, and exchanges the files of both and of their indexes.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('repack');
$node->init;
$node->append_conf('postgresql.conf', server_settings());
$node->start;
needs_extension($node, 'pg_repack');
make_twins($node);
$node->safe_psql('postgres', 'CREATE EXTENSION pg_repack');

my $errors = '';
my $load = start_twin_load($node, 4, \$errors);
foreach my $round ([], [qw(-o key)], [qw(-x)], [qw(-n)], [])
{
	foreach my $table (qw(ours twin))
	{
		wait_for_rows($node, 100);
		run_tool("pg_repack -t $table @$round",
			'pg_repack', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', $table, @$round);
	}
	twins_agree($node, "after pg_repack @$round");
}
stop_twin_load($node, $load, \$errors);
twins_agree($node, 'in the end');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
