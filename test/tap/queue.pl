# A queue-like table, which grows on the right and shrinks on the left, does
# not grow: VACUUM deletes emptied pages, and they are reused, as are pages
# of the buffer, which single inserts fill.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_QUEUE_ROUNDS} // 100;
my $batch = 5000;
my $single = 300;    # rows of a batch that are inserted by a transaction each

my $node = PostgreSQL::Test::Cluster->new('queue');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;
prepare_database($node);

my $am = am();
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE queue (id bigint, key bigint, label text);
CREATE INDEX queue_key ON queue USING $am (key);
CREATE INDEX queue_label ON queue USING $am (label);
SQL

my @indexes = qw(queue_key queue_label);
my %size_after_5;
my %too_large;
foreach my $round (1 .. $rounds)
{
	my $low = ($round - 1) * $batch;
	my $bulk = $low + $batch - $single;
	my $label = "'label ' || to_char(n + n * 7 % 300, 'FM000000000') || repeat('x', 60)";
	# A batch stays in the table for two rounds.  The label's order is that of
	# the key, but for a little displacement.
	my $sizes = $node->safe_psql('postgres', <<"SQL");
INSERT INTO queue SELECT n, n, $label FROM generate_series($low + 1, $bulk) n;
DO \$\$ BEGIN FOR n IN $bulk + 1 .. $low + $batch LOOP
	INSERT INTO queue VALUES (n, n, $label);
	COMMIT;
END LOOP; END \$\$;
DELETE FROM queue WHERE key <= $low - $batch;
VACUUM (INDEX_CLEANUP ON) queue;
SELECT pg_relation_size('queue_key'), pg_relation_size('queue_label');
SQL
	my %size;
	@size{@indexes} = split /\|/, $sizes;
	%size_after_5 = %size if $round == 5;
	next if $round <= 5;
	foreach my $index (@indexes)
	{
		$too_large{$index} //= "$size{$index} in round $round"
		  if $size{$index} > 1.5 * $size_after_5{$index};
	}
}
foreach my $index (@indexes)
{
	is($too_large{$index}, undef,
		"$index stays within 1.5 times its size after round 5, $size_after_5{$index}");
	check_index($node, $index, 'at the end');
}
index_agrees($node, 'queue', $_, 'at the end') foreach qw(key label);

$node->stop;
done_testing();
