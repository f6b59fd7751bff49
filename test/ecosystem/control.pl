# What the trials ask can go wrong: an entry that is missing from an index, one that leads to
# another row, and rows that one twin has not, are noticed.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

my $node = PostgreSQL::Test::Cluster->new('control');
$node->init;
$node->append_conf('postgresql.conf', server_settings() . "allow_system_table_mods = on\n");
$node->start;
make_twins($node);
twins_agree($node, 'at first');

# While an index is not ready, it gets no entries.
my %what = (
	ours_pkey => 'look-ups', ours_key => 'by key', ours_label => 'labels', twin_key => 'by key');
foreach my $index (sort keys %what)
{
	my $table = $index =~ s/_.*//r;
	my $other = $table eq 'ours' ? 'twin' : 'ours';
	$node->safe_psql('postgres', <<"SQL");
DELETE FROM ours WHERE id = 98;
DELETE FROM twin WHERE id = 98;
UPDATE pg_index SET indisready = false WHERE indexrelid = '$index'::regclass;
INSERT INTO $table VALUES (98, 98, 'hidden');
UPDATE pg_index SET indisready = true WHERE indexrelid = '$index'::regclass;
INSERT INTO $other VALUES (98, 98, 'hidden');
SQL
	my $found = join "\n", disagreements($node);
	like($found, qr/^$what{$index}:/m, "an entry that $index lacks is noticed by an answer");
	like($found, qr/lacks matching index tuple/, '... and by the check');
	$node->safe_psql('postgres', "REINDEX INDEX $index");
	twins_agree($node, "$index made anew");
}
$node->safe_psql('postgres', 'UPDATE twin SET key = key + 1 WHERE id = 777');
my $found = join "\n", disagreements($node);
like($found, qr/^all rows:.*^by key:.*^look-ups:/ms, 'another key is noticed');
unlike($found, qr/not sound/, '... though all indexes are sound');
$node->stop;
done_testing();
