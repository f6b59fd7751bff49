# Indexes that earlier releases have left behind (test/released) come into a cluster, as
# files, as pg_upgrade would bring them. They answer what they answered then, are sound,
# and live on; if their format is another one, they are refused, with a hint, until they
# are rebuilt.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

if (am() ne 'sware')
{
	plan skip_all => 'this is about the files of sware indexes';
}

my @indexes = qw(released_id released_key released_kind released_label);
my @releases = sort map { m{/([^/]+)/release$} } glob("$FindBin::RealBin/../released/*/release");
cmp_ok(scalar(@releases), '>', 0, 'there are files of releases');
foreach my $release (@releases)
{
	receive($release);
}
done_testing();

# Everything about one release.
sub receive
{
	my ($release) = @_;
	my $directory = "$FindBin::RealBin/../released/$release";
	my %fact = map { /^(\w+) (.+)$/ } grep { !/^pages / } split /\n/, slurp_file("$directory/release");
	my $node = start_server_to_damage("of_$release" =~ tr/./_/r, preload() . "autovacuum = off\n");
	my $server = $node->safe_psql('postgres', 'SHOW server_version_num');
  SKIP:
	{
		skip "$release was kept by a newer server", 1
		  if int($fact{server} / 10000) > int($server / 10000);
		$node->safe_psql('postgres', slurp_file("$directory/index.sql"));
		my $format = $node->safe_psql('postgres', q{SELECT version FROM sware_metapage('released_key')});
		bring($node, $directory, $fact{transactions});
		is($node->safe_psql('postgres', 'SELECT count(*), sum(hashtextextended(r::text, 0)) FROM released r'),
			"$fact{rows}|$fact{digest}", "$release: the table");
		if ($format == $fact{format})
		{
			is_sound($node, "$release, as it was", \%fact);
			like($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT state, ' ' ORDER BY state)
					FROM pg_stat_sware, sware_buffer_pages(indexrelid)}),
				qr/^open.* sealed$/, "$release: there are open and sealed pages");
			lives_on($node, $release);
			become_of_another_format($node, $format);
			$fact{format}++;
		}
		refuses($node, $release, $fact{format});
		did_not_crash($node, "$release: nothing crashed");
	}
	$node->stop;
	return;
}

# Puts the files in the place of those of the empty relations.
sub bring
{
	my ($node, $directory, $transactions) = @_;
	# What wrote the rows has committed, in this cluster, too.
	$node->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN LOOP EXIT WHEN pg_current_xact_id() > '$transactions'; COMMIT; END LOOP; END \$\$;
SQL
	my %file;
	$file{$_} = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')")
	  foreach ('released', @indexes);
	$node->stop;
	# The LSNs of the pages are in the past.
	command_ok([ 'pg_resetwal', '-l', '000000010000000100000000', '-D', $node->data_dir ],
		'WAL begins behind what the pages have seen');
	foreach my $relation (sort keys %file)
	{
		unlink $file{$relation}, glob("$file{$relation}_*");
		system("gzip -dc '$directory/$relation.gz' >'$file{$relation}'") == 0
		  or die "could not unpack $relation";
	}
	$node->start;
	return;
}

# All ways through the indexes lead to what is in the table.
sub is_sound
{
	my ($node, $name, $fact) = @_;
	check_index($node, $_, $name) foreach @indexes;
	index_agrees($node, 'released', $_, $name) foreach qw(id key kind label);
	return if !$fact;
	is($node->safe_psql('postgres', "$ordered_scan
			SELECT count(*), sum(hashtextextended(r::text, 0)) FROM (SELECT * FROM released ORDER BY $_) r"),
		"$fact->{rows}|$fact->{digest}", "$name: by $_, the rows of then")
	  foreach qw(id key kind label);
	return;
}

sub lives_on
{
	my ($node, $release) = @_;
	$node->safe_psql('postgres', <<'SQL');
INSERT INTO released SELECT n, n * 7919 % 100003, n % 7, 'label ' || n % 300
FROM generate_series(100001, 103000) n;
INSERT INTO released VALUES (200001, 5, 1, 'label 7'), (200002, 6, 1, NULL);
DELETE FROM released WHERE id % 5 = 0;
UPDATE released SET key = -key WHERE id % 11 = 0;
SQL
	is_sound($node, "$release, with more rows");
	my ($status, $stdout, $stderr) =
	  run_sql($node, 'INSERT INTO released SELECT id FROM released WHERE id = 2101');
	like($stderr, qr/duplicate key value violates unique constraint "released_id"/, "$release: unique");
	$node->safe_psql('postgres', flush_statement(@indexes));
	is_sound($node, "$release, flushed");
	$node->safe_psql('postgres', 'VACUUM (FREEZE, INDEX_CLEANUP ON) released');
	is_sound($node, "$release, vacuumed");
	$node->stop('immediate');
	$node->start;
	is_sound($node, "$release, after a crash");
	return;
}

# Lets the metapages say that a later release has written them, which may have made
# pages of another frame, too.
sub become_of_another_format
{
	my ($node, $format) = @_;
	my %file;
	$file{$_} = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_')")
	  foreach @indexes;
	$node->stop;
	foreach my $index (@indexes)
	{
		my $page = read_page($file{$index}, 0);
		is(unpack('L', substr($page, 28, 4)), $format, "$index: where the version is");
		substr($page, 28, 4) = pack('L', $format + 1);
		# upper and special
		substr($page, 14, 4) = pack('SS', 8192 - 64, 8192 - 64) if $index eq 'released_id';
		write_page($file{$index}, 0, $page);
	}
	$node->start;
	return;
}

# Whatever reads an index of another format fails, until it is rebuilt or dropped.
sub refuses
{
	my ($node, $release, $format) = @_;
	foreach my $statement (
		"$ordered_scan SELECT key FROM released ORDER BY key",
		"SET enable_seqscan = off; SET enable_indexscan = off; SELECT count(*) FROM released WHERE key = 7",
		"INSERT INTO released VALUES (300001, 300001)",
		'UPDATE released SET key = key + 1',
		'DELETE FROM released WHERE id = 1; VACUUM (INDEX_CLEANUP ON) released',
		"SELECT sware_check('released_key')", "SELECT sware_flush('released_key')",
		"SELECT * FROM sware_metapage('released_key')", "SELECT * FROM sware_buffer_pages('released_key')")
	{
		my ($status, $stdout, $stderr) = run_sql($node, $statement);
		like($stderr, qr/ERROR:  version mismatch in index "released_\w+": file version $format, current/,
			"$release: a file of version $format is refused by $statement");
		like($stderr, qr/HINT:  Please REINDEX it, or install the release of sware that has made it\./,
			"$release: with a hint");
	}
	$node->safe_psql('postgres', 'DROP INDEX released_kind');
	$node->safe_psql('postgres', 'REINDEX INDEX released_id');
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY released_key');
	$node->safe_psql('postgres', 'REINDEX TABLE released');
	$node->safe_psql('postgres', 'CREATE INDEX released_kind ON released USING sware (kind)');
	is_sound($node, "$release, rebuilt");
	my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM released');
	$node->safe_psql('postgres', 'INSERT INTO released VALUES (300001, 300001); VACUUM released');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM released'), $rows + 1,
		"$release, rebuilt: a row more");
	is_sound($node, "$release, rebuilt and vacuumed");
	return;
}
