# Corrupted index files.  The structural check either says what is wrong, with
# the number of a block, or passes; and when it passes, index scans find what a
# sequential scan finds.  It never crashes the server, and it ends.
#
# The check cannot know which row an entry of a dead row led to.  So a third of the
# indexes have such entries, and there a scan may meet a row twice.
#
# SWARE_CORRUPTION_ROUNDS sets how often a set of indexes is corrupted
# (default 2).  With SWARE_CORRUPTION_SCANS=1 indexes that the check found
# corrupt are scanned as well: scans may give errors or go in circles, but must
# not crash the server and can be cancelled.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_CORRUPTION_ROUNDS} // 2;
my $copies = 36;
my $am = am();
my $endless = 'runs for ever and cannot be cancelled';

my $node = start_server_to_damage('corruption');

sub has_dead_rows
{
	my ($number) = @_;
	return $number % 3 == 0;
}

# Equal tables, each with one index, so that a restart serves many corruptions.
# Long keys make trees of three levels; half the keys have duplicates.  The shared
# buffer has pages in all states: short transactions fill it, and it is flushed
# once in between.
sub make_table
{
	my ($number) = @_;
	my $kind = $number % 2;
	my $key = $kind ? "repeat('k', 400) || to_char(n, 'FM00000')" : "to_char(n / 5, 'FM00000')";
	my $rows = $kind ? 1200 : 6000;
	my $few = $kind ? 11 : 99;
	my $vacuum = has_dead_rows($number) ? '' : "VACUUM t$number;";
	my $flush = $am eq 'btree' ? '' : "SELECT sware_flush('i$number');";
	my $fill = <<"SQL";
DO \$\$
BEGIN
	FOR i IN 1..20 LOOP
		INSERT INTO t$number SELECT 3 * $rows + n, $key FROM generate_series(i * 17, i * 17 + $few) n;
		COMMIT;
	END LOOP;
END
\$\$;
SQL
	return <<"SQL";
DROP TABLE IF EXISTS t$number;
CREATE TABLE t$number (id int, key text COLLATE "C");
INSERT INTO t$number SELECT n, $key FROM generate_series(1, $rows) n;
CREATE INDEX i$number ON t$number USING $am (key);
INSERT INTO t$number SELECT n + $rows, $key FROM generate_series(1, $rows, 7) n;
DELETE FROM t$number WHERE id % 11 = 0;
$vacuum
$fill
$flush
$fill
SQL
}

# Where things are (src/layout/page.h): the special space, the kind in it, which is 4
# for buffer pages and 5 for those of their directory, and slots.
my $special_space = 8160;
my $kind_offset = $special_space + 28;
my ($slots_start, $slot_size) = (24, 16);
my ($buffer_kind, $directory_kind) = (4, 5);

# A block of one of some kinds; any block if there is none.
sub choose_of_kind
{
	my ($file, $blocks, @kinds) = @_;
	my @found = grep {
		my $kind = unpack('S', substr(read_page($file, $_), $kind_offset, 2));
		grep { $_ == $kind } @kinds;
	} 1 .. $blocks - 1;
	return @found ? pick(@found) : choose(0, $blocks - 1);
}

# Each corrupts a file of the given number of blocks, and returns what it did.
my @corruptions = (
	sub {
		my ($file, $blocks) = @_;
		my $block = choose(0, $blocks - 1);
		write_page($file, $block, "\0" x $page_size);
		return "block $block zeroed";
	},
	sub {
		my ($file, $blocks) = @_;
		my $left = choose(1, $blocks - 1);
		truncate($file, $left * $page_size) or die "could not truncate: $!";
		return "truncated from $blocks to $left blocks";
	},
	sub {
		my ($file, $blocks) = @_;
		my $block = choose(0, $blocks - 1);
		my $page = read_page($file, $block);
		# pd_special, the ninth 16-bit word of a page.
		my $special = pick($page_size, $page_size - 8, $page_size - 1024, 24);
		substr($page, 16, 2) = pack('S', $special);
		write_page($file, $block, $page);
		return "special space of block $block moved to $special";
	},
	sub {
		my ($file, $blocks) = @_;
		my ($one, $other) = (choose(0, $blocks - 1), choose(0, $blocks - 1));
		my ($first, $second) = (read_page($file, $one), read_page($file, $other));
		write_page($file, $one, $second);
		write_page($file, $other, $first);
		return "blocks $one and $other exchanged";
	},
	sub {
		my ($file, $blocks) = @_;
		my ($from, $to) = (choose(0, $blocks - 1), choose(0, $blocks - 1));
		write_page($file, $to, read_page($file, $from));
		return "block $from copied over block $to";
	},
	sub {
		my ($file, $blocks) = @_;
		my $block = choose_of_kind($file, $blocks, $buffer_kind, $directory_kind);
		return flip_bits($file, $blocks, $block);
	},
	sub {
		my ($file, $blocks) = @_;
		my $block = choose_of_kind($file, $blocks, $directory_kind);
		my $page = read_page($file, $block);
		my $lower = unpack('x12 S', $page);
		my $slots = int(($lower - $slots_start) / $slot_size);
		return flip_bits($file, $blocks, $block) if $slots < 2;
		my ($from, $to) = map { choose(0, $slots - 1) } 1 .. 2;
		substr($page, $slots_start + $to * $slot_size, $slot_size) =
		  substr($page, $slots_start + $from * $slot_size, $slot_size);
		write_page($file, $block, $page);
		return "slot $from of block $block copied over slot $to";
	},
	sub {
		my ($file, $blocks) = @_;
		my ($from, $to) = map { choose_of_kind($file, $blocks, $buffer_kind) } 1 .. 2;
		write_page($file, $to, read_page($file, $from));
		return "buffer page $from copied over buffer page $to";
	},
	sub {
		my ($file, $blocks) = @_;
		my $block = choose_of_kind($file, $blocks, $buffer_kind, $directory_kind);
		my ($kind) = unpack('S', substr(read_page($file, $block), $kind_offset, 2));
		write_page($file, $block, "\0" x $page_size);
		return "block $block, of kind $kind, zeroed";
	},
	sub {
		my ($file, $blocks) = @_;
		return flip_bits($file, $blocks, 0);
	});

# Flips bits: in the page header, at the front of the data, at its end, in the
# special space, or anywhere.
sub flip_bits
{
	my ($file, $blocks, $block) = @_;
	$block //= choose(0, $blocks - 1);
	my $page = read_page($file, $block);
	my ($lower, $upper, $special) = unpack('x12 S S S', $page);
	my @flipped;
	foreach (1 .. pick(1, 1, 3))
	{
		my ($low, $high) = @{
			pick(
				[ 0, 23 ],
				[ 24, $lower > 24 ? $lower - 1 : 24 ],
				[ $upper < $special ? $upper : 24, $page_size - 1 ],
				[ $special < $page_size ? $special : 0, $page_size - 1 ],
				[ 0, $page_size - 1 ])
		};
		my ($byte, $bit) = (choose($low, $high), choose(0, 7));
		vec($page, $byte * 8 + $bit, 1) ^= 1;
		push @flipped, "$byte.$bit";
	}
	write_page($file, $block, $page);
	return "bits @flipped of block $block flipped";
}

# Runs a statement; returns its answer, or the error with its code.
sub attempt
{
	my ($sql) = @_;
	my ($stdout, $stderr, $timed_out) = ('', '', 0);
	my $status = $node->psql(
		'postgres', $sql,
		stdout => \$stdout,
		stderr => \$stderr,
		on_error_stop => 1,
		timeout => 120,
		timed_out => \$timed_out,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return (0, $endless) if $timed_out;
	return ($status == 0, $status == 0 ? $stdout : $stderr);
}

# What of a table's summary the index must give: with dead rows, the number of different
# rows, which is the summary's second part.
sub comparable
{
	my ($number, $summary) = @_;
	return has_dead_rows($number) && $summary =~ /^\d+\|(\d+)\|/ ? $1 : $summary;
}

sub answers
{
	return $node->psql('postgres', 'SELECT 1') == 0;
}

# The checks of one corrupted index.
sub examine
{
	my ($number, $what) = @_;
	my $log_start = -s $node->logfile;
	my $name = "index $number: $what";

	my ($passed, $answer) = attempt(SwareTest::check_statement("i$number"));
	if (!$passed)
	{
		like($answer, qr/ERROR:  XX00[12]:/, "$name: the check says that it is corrupt");
		# A tuple that is missing in a sound tree is named by its place in the table, and the
		# format's version stands in the metapage only.
		my $places = qr/\b(block|page)[ =][0-9]+|heap tuple \([0-9]+,[0-9]+\)|: file version [0-9]+,/i;
		like($answer, $places, "$name: and where");
	}
	else
	{
		note("$name: passes");
	}
	my $patience = $passed ? '' : "SET statement_timeout = '2s'; ";

	ok(answers(), "$name: the server lives on after the check");
	return unless $passed || $ENV{SWARE_CORRUPTION_SCANS};

	my (undef, $expected) = attempt(sequential_summary("t$number", 'key'));
	foreach my $descending (0, 1)
	{
		my ($done, $found) =
		  attempt($patience . ordered_summary("t$number", 'key', $descending));
		is(comparable($number, $found), comparable($number, $expected),
			"$name: a scan, descending $descending, agrees as the check passed")
		  if $passed;
		isnt($found, $endless, "$name: a scan, descending $descending, ends or can be cancelled");
	}
	my ($done, $found) = attempt(
		"$patience$ordered_scan SELECT count(*) FROM t$number a WHERE EXISTS "
		  . "(SELECT 1 FROM t$number b WHERE b.key = a.key OFFSET 0)");
	isnt($found, $endless, "$name: look-ups end or can be cancelled");

	my $alive = answers();
	ok($alive && !grep_log($node, qr/TRAP|PANIC|was terminated by signal/, $log_start),
		"$name: the server lives on")
	  || diag(join("\n", grep_log($node, qr/TRAP|PANIC|was terminated by signal|STATEMENT/, $log_start)));
	if (!$alive)
	{
		# A crash takes the server down; the rest is tested all the same.
		$node->stop('immediate', fail_ok => 1);
		$node->start;
	}
	return;
}

foreach my $round (1 .. $rounds)
{
	$node->safe_psql('postgres', join('', map { make_table($_) } 1 .. $copies));
	my @files = split /\n/, $node->safe_psql('postgres',
		"SELECT pg_relation_filepath('i' || n) FROM generate_series(1, $copies) n ORDER BY n");
	$node->stop;

	my @what;
	foreach my $number (1 .. $copies)
	{
		my $file = $node->data_dir . '/' . $files[ $number - 1 ];
		my $corrupt = $number <= 2 * @corruptions
		  ? $corruptions[ ($number - 1) / 2 ] : \&flip_bits;
		$what[$number] = $corrupt->($file, (-s $file) / $page_size);
	}

	$node->start;
	my $postmaster = slurp_file($node->data_dir . '/postmaster.pid');
	examine($_, $what[$_]) foreach 1 .. $copies;
	is(slurp_file($node->data_dir . '/postmaster.pid'),
		$postmaster, "round $round: it is still the same postmaster");
}

$node->stop('immediate');
done_testing();
