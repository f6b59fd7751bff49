# Entries that are marked though their rows live, as a flipped bit may do it: scans leave
# them out, so the check of an index against its table finds that they are missing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $node = start_server_to_damage('wrong_marks');
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE stored AS SELECT n AS key FROM generate_series(1, 300) n;
CREATE INDEX stored_key ON stored USING sware (key);
CREATE TABLE waiting (key int);
CREATE INDEX waiting_key ON waiting USING sware (key);
SET sware.fault_buffer = on;
DO \$\$
BEGIN
	FOR i IN 1 .. 100 LOOP
		INSERT INTO waiting VALUES (i);
		COMMIT;
	END LOOP;
END \$\$;
SQL
my %block = (
	stored => 'SELECT root FROM sware_metapage(\'stored_key\')',
	waiting => 'SELECT block FROM sware_buffer_pages(\'waiting_key\')');
foreach my $table (sort keys %block)
{
	$block{$table} = $node->safe_psql('postgres', $block{$table});
	check_index($node, "${table}_key", "$table, before");
}
my %file = map { $_ => $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('${_}_key')") } keys %block;
$node->stop;

# The third line pointer of the leaf, whose flags are its bits 15 and 16, becomes
# LP_DEAD; and the third entry of the buffer page gets its mark, bit 13 of t_info.
my ($page_header, $entry_size) = (24, 16);
my $page = read_page($file{stored}, $block{stored});
vec($page, ($page_header + 2 * 4) * 8 + 16, 1) = 1;
write_page($file{stored}, $block{stored}, $page);
$page = read_page($file{waiting}, $block{waiting});
vec($page, ($page_header + 2 * $entry_size + 6) * 8 + 13, 1) = 1;
write_page($file{waiting}, $block{waiting}, $page);

$node->start;
foreach my $table (sort keys %block)
{
	is($node->safe_psql('postgres', "SELECT sware_check('${table}_key')"), '',
		"$table: the index as such is sound");
	my ($status, $output, $errors) = $node->psql('postgres', check_statement("${table}_key"));
	like($errors, qr/lacks matching index tuple within index "${table}_key"/,
		"$table: a row is missing in it");
}

$node->stop;
done_testing();
