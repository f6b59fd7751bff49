# Inserts and look-ups mixed, in the manner of BoDS: keys that arrive nearly in
# order, 80 % of them loaded at first, then single inserts and look-ups, on the
# unique index of an unlogged table.  The very same statements run on a table
# with nbtree's index, and every answer, row count and error must be the same.
#
# SWARE_MIXED_ROWS sets the number of keys (default 10000).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rows = $ENV{SWARE_MIXED_ROWS} // 10_000;
my $am = am();

my $node = PostgreSQL::Test::Cluster->new('mixed');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;
prepare_database($node);

# The keys: every `out_of_place`th one changes places with one at most
# `displacement` further on.
sub near_sorted
{
	my ($out_of_place, $displacement) = @_;
	my @order = map { 10 * $_ } 0 .. $rows - 1;
	foreach (1 .. $rows * $out_of_place / 2)
	{
		my $place = choose(0, $#order);
		my $other = $place + choose(1, $rows * $displacement);
		@order[ $place, $other ] = @order[ $other, $place ] if $other <= $#order;
	}
	return @order;
}

# All statements; a schema says which access method they meet.
sub statements
{
	my ($name, @order) = @_;
	my $loaded = int(@order * 0.8);
	my @known = @order[ 0 .. $loaded - 1 ];
	my @loads = map { join("\n", @$_, '\\.') . "\n" }
	  ([ 'COPY log (k, v) FROM stdin;', map { "$order[$_]\t$_" } 0 .. $loaded - 1 ]);
	my @statements = @loads;

	foreach my $number ($loaded .. $#order)
	{
		my $key = $order[$number];
		my $old = pick(@known);
		my $kind = choose(1, 20);

		push @statements, 'BEGIN;' if $kind <= 3;
		push @statements, "INSERT INTO log VALUES ($key, $number);";
		push @statements, ($kind == 1 ? 'ROLLBACK;' : 'COMMIT;') if $kind <= 3;
		push @statements, "INSERT INTO log VALUES ($key, $number);" if $kind == 1;
		push @known, $key;
		push @statements, "SELECT * FROM log WHERE k = $old;",
		  "SELECT * FROM log WHERE k = @{[ $old + 5 ]};";
		push @statements, "INSERT INTO log VALUES ($old, -1);" if $kind == 4;
		push @statements, "SELECT * FROM log WHERE k BETWEEN $old AND @{[ $old + 200 ]} ORDER BY k;"
		  if $kind == 5;
		push @statements, 'SELECT max(k), min(k) FROM log;' if $kind == 6;
		push @statements, "UPDATE log SET v = v + 1000000, filler = 'x' WHERE k = $old;" if $kind == 7;
		push @statements, "UPDATE log SET k = @{[ $old + choose(1, 20) ]} WHERE k = $old RETURNING *;"
		  if $kind == 8;
		push @statements, "DELETE FROM log WHERE k = $old;",
		  "INSERT INTO log VALUES ($old, -$number);"
		  if $kind == 9;
		push @statements, "SELECT * FROM log ORDER BY k DESC LIMIT 20;" if $kind == 10;
		push @statements, 'VACUUM log;' if $number % 1000 == 0;
	}

	# A load that meets a key in its middle changes nothing.
	push @statements,
	  join("\n", 'COPY log (k, v) FROM stdin;', (map { "$_\t0" } map { 10 * $rows + $_ } 1 .. 500),
		"$known[0]\t0", '\\.') . "\n";
	push @statements, 'SELECT * FROM log ORDER BY k;';
	return @statements;
}

# The output of a session for all statements.
sub answers
{
	my ($schema, $file) = @_;
	my ($output, $errors) = ('', '');
	IPC::Run::run(
		[
			'psql', '-X', '-A', '-t', '-q', '-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=never',
			'-d', $node->connstr('postgres'),
			'-c', "SET search_path = $schema",
			'-c', 'SET enable_seqscan = off',
			'-c', 'SET enable_sort = off',
			'-f', $file
		],
		'<', \undef, '>', \$output, '2>&1') || die $output;

	# places in PostgreSQL's source
	$output =~ s/^psql:\S+:(\d+): /line $1: /mg;
	$output =~ s/^LOCATION: .*\n//mg;
	return $output;
}

my %degrees = (sorted => [ 0, 0 ], near => [ 0.1, 0.05 ], less => [ 1, 0.5 ]);
foreach my $degree (sort keys %degrees)
{
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$degree";
	my %answers;

	append_to_file($file, join("\n", statements($degree, near_sorted(@{ $degrees{$degree} }))) . "\n");
	my %methods = (expected => 'btree', tested => $am);
	foreach my $schema (sort keys %methods)
	{
		$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA ${schema}_$degree;
CREATE UNLOGGED TABLE ${schema}_$degree.log (k bigint, v int, filler text);
CREATE UNIQUE INDEX log_k ON ${schema}_$degree.log USING $methods{$schema} (k);
SQL
		$answers{$schema} = answers("${schema}_$degree", $file);
		# the only place where they differ
		$answers{$schema} =~ s/^(SCHEMA NAME:  )\w+$/$1log/mg;
	}
	my $duplicates = () = $answers{expected} =~ /23505: duplicate key/g;
	cmp_ok($duplicates, '>', $rows * 0.2 / 30, "$degree: some keys are there already");
	ok($answers{tested} eq $answers{expected}, "$degree: every answer is nbtree's") || do
	{
		my @found = split /\n/, $answers{tested};
		my @expected = split /\n/, $answers{expected};
		foreach my $line (0 .. $#expected)
		{
			next if ($found[$line] // '') eq $expected[$line];
			diag("expected: $expected[$line]\nfound: " . ($found[$line] // 'nothing'));
			last;
		}
	};
	check_index($node, "tested_$degree.log_k", $degree);
}
$node->stop;
done_testing();
