# Scans of damaged pages and of links that form circles.  A scan that meets one
# gives an error that names a block, or the right answer where it finds its way
# all the same; it ends, and never crashes the server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

# Where the special space begins, and where its fields are (src/layout/page.h).
my $special = 8160;
my %field = (
	left => [ 0, 'L L' ],
	right => [ 16, 'L L' ]);

my $node = start_server_to_damage('damaged_tree');

# The leaves of an index from left to right: block and incarnation of each.
sub leaves
{
	my ($index) = @_;
	my @rows = split /\n/, $node->safe_psql('postgres', <<"SQL");
WITH RECURSIVE leaf AS (
	SELECT s.* FROM generate_series(1, pg_relation_size('$index') / $page_size - 1) b,
	       sware_page_stats('$index', b) s
	WHERE s.kind = 'leaf' AND s.left_link IS NULL AND NOT 'deleted' = ANY (s.flags)
	UNION ALL
	SELECT s.* FROM leaf, sware_page_stats('$index', leaf.right_link) s
	WHERE leaf.right_link IS NOT NULL)
SELECT blkno, incarnation FROM leaf;
SQL
	return map { [ split /\|/ ] } @rows;
}

sub set_field
{
	my ($page, $name, @values) = @_;
	my ($offset, $format) = @{ $field{$name} };
	my $bytes = pack($format, @values);
	substr($$page, $special + $offset, length $bytes) = $bytes;
	return;
}

# Changes a line pointer.
sub set_line_pointer
{
	my ($page, $number, $start, $flags, $length) = @_;
	substr($$page, 20 + 4 * $number, 4) =
	  pack('L', $start | $flags << 15 | $length << 17);
	return;
}

# Damages to a leaf of lists of equal keys: a name, what is done to the page,
# and the reason that is given, by forward scans only if there is a direction.
my @damages = (
	[
		'a posting list of too many rows',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 3);
			substr($$page, $start + 4, 2) = pack('S', 0x2000 | 0x1fff);
		},
		qr/Item 3 is damaged/
	],
	[
		'a posting list beyond its tuple',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 3);
			substr($$page, $start, 4) = pack('S S', 0x7fff, 0xfff0);
		},
		qr/Item 3 is damaged/
	],
	[
		'line pointers that all lead to the same item',
		sub {
			my ($page) = @_;
			my @item = line_pointer($page, 3);
			my $upper = unpack('S', substr($$page, 14, 2));
			my $count = int(($upper - 24) / 4);
			substr($$page, 12, 2) = pack('S', 24 + 4 * $count);
			set_line_pointer($page, $_, @item) foreach 2 .. $count;
		},
		qr/Items overlap/
	],
	[
		# a list of which VACUUM removes a row below
		'two line pointers that lead to the same list',
		sub {
			my ($page) = @_;
			my ($number) = grep {
				my ($start) = line_pointer($page, $_);
				unpack('l', substr($$page, $start + 8, 4)) % 10 == 0
			} 2 .. 12;
			set_line_pointer($page, $number + 1, line_pointer($page, $number));
		},
		qr/Item [0-9]+ overlaps another one/,
		'no scan'
	],
	[
		'more line pointers than there can be',
		sub {
			my ($page) = @_;
			substr($$page, 12, 4) = pack('S S', 8000, 8000);
		},
		qr/line pointer array ends/
	],
	[
		'no line pointer',
		sub {
			my ($page) = @_;
			substr($$page, 12, 2) = pack('S', 24);
		},
		qr/line pointer array ends/
	],
	[
		'a line pointer that leads off the page',
		sub {
			my ($page) = @_;
			my (undef, $flags, $length) = line_pointer($page, 3);
			set_line_pointer($page, 3, 32760, $flags, $length);
		},
		qr/Item 3 is damaged/
	],
	[
		'an item larger than its line pointer says',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 3);
			substr($$page, $start + 6, 2) |= pack('S', 0x1fff);
		},
		qr/Item 3 is damaged/
	],
	[
		'an entry that has become a pivot',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 3);
			substr($$page, $start + 4, 2) = pack('S', 1);
		},
		qr/Item 3 is damaged/
	],
	[
		'a high key that leads off the page',
		sub {
			my ($page) = @_;
			my (undef, $flags, $length) = line_pointer($page, 1);
			set_line_pointer($page, 1, 32760, $flags, $length);
		},
		qr/Item 1 is damaged/,
		'forward'
	]);

# The same for the root, an internal page; only searches for keys read the item.
my @root_damages = (
	[
		'a downlink that leads off the page',
		sub {
			my ($page) = @_;
			my (undef, $flags, $length) = line_pointer($page, 20);
			set_line_pointer($page, 20, 32760, $flags, $length);
		},
	],
	[
		'a downlink larger than its line pointer says',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 20);
			substr($$page, $start + 6, 2) |= pack('S', 0x1fff);
		},
	],
	[
		'a downlink that has become an entry',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 20);
			substr($$page, $start + 4, 2) = pack('S', 1);
			substr($$page, $start + 6, 2) &= pack('S', 0x7fff);
		},
	],
	[
		'a downlink without a link',
		sub {
			my ($page) = @_;
			my ($start) = line_pointer($page, 20);
			substr($$page, $start + 4, 2) &= pack('S', 0x7fff);
		},
	]);

# Changes a link of a leaf, counted from 0 on the left, to lead to another one.
sub link_leaf
{
	my ($file, $leaves, $number, $name, $to) = @_;
	my $page = read_page($file, $leaves->[$number][0]);
	set_field(\$page, $name, @{ $leaves->[$to] });
	write_page($file, $leaves->[$number][0], $page);
	return;
}

# Damages to links of leaves with one row per key: a name, what is done to the file, and
# what VACUUM says when it moves leaves, if not that a right sibling does not link back.
my @misleading_links = (
	[
		'a left link to the leftmost leaf',
		sub {
			my ($file, $leaves) = @_;
			link_leaf($file, $leaves, 30, 'left', 0);
		},
	],
	[
		'a left link to the right',
		sub {
			my ($file, $leaves) = @_;
			link_leaf($file, $leaves, 30, 'left', 40);
		},
	],
	[
		'a left link to a leaf whose right link leads back',
		sub {
			my ($file, $leaves) = @_;
			link_leaf($file, $leaves, 30, 'left', 31);
			link_leaf($file, $leaves, 31, 'right', 30);
		},
	],
	[
		'a left link into a circle of right links',
		sub {
			my ($file, $leaves) = @_;
			# VACUUM moves leaf 1 before the others, as leaf 0 is where it belongs
			link_leaf($file, $leaves, 1, 'left', -2);
			link_leaf($file, $leaves, -1, 'right', -2);
		},
		qr/Right links form a circle/
	],
	[
		'a right link to the left',
		sub {
			my ($file, $leaves) = @_;
			link_leaf($file, $leaves, 30, 'right', 20);
		},
	],
	[
		'a right link to the leaf itself',
		sub {
			my ($file, $leaves) = @_;
			link_leaf($file, $leaves, 30, 'right', 30);
		},
		qr/The right link leads to block/
	],
	[
		'a downlink into a circle of right links',
		sub {
			my ($file, $leaves, $index) = @_;
			my ($root, $item) = split /\|/, $node->safe_psql('postgres', <<"SQL");
SELECT root, itemoffset FROM sware_metapage('$index'), sware_page_items('$index', root)
WHERE child = $leaves->[40][0];
SQL
			link_leaf($file, $leaves, 30, 'right', 29);
			my $page = read_page($file, $root);
			my ($start, undef, $length) = line_pointer(\$page, $item);
			my ($block, $incarnation) = @{ $leaves->[30] };
			substr($page, $start, 4) = pack('S S', $block >> 16, $block & 0xffff);
			substr($page, $start + $length - 8, 4) = pack('L', $incarnation);
			write_page($file, $root, $page);
		},
		qr/Two downlinks lead to the same leaf/
	]);

my @cases = (
	(map { {
				name => $_->[0],
				damage => $_->[1],
				reason => $_->[2],
				scans => $_->[3] // 'ward',
				rows_per_key => 100
			} } @damages),
	(map { {
				name => $_->[0],
				damage => $_->[1],
				of_root => 1,
				reason => qr/Item 20 is damaged/,
				scans => 'look-ups',
				rows_per_key => 1
			} } @root_damages),
	(map { {
				name => $_->[0],
				misleading => $_->[1],
				move_reason => $_->[2] // qr/does not link back/,
				scans => '',
				rows_per_key => 1
			} } @misleading_links));

foreach my $number (0 .. $#cases)
{
	my $case = $cases[$number];
	my $index = "CREATE INDEX i$number ON t$number USING sware (key) WITH (buffer_size = 0);";
	my $rows = "INSERT INTO t$number SELECT n, n / $case->{rows_per_key} FROM generate_series(1, 20000) n";
	# Without order, so that leaves lie anywhere in the file, and VACUUM may move them.
	my @commands = $case->{misleading} ? ($index, "$rows ORDER BY hashint4(n);") : ("$rows;", $index);
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t$number (id int, key int);
@commands
VACUUM t$number;
SQL
	$case->{leaves} = [ leaves("i$number") ];
	$case->{root} = $node->safe_psql('postgres', "SELECT root FROM sware_metapage('i$number')");
	$case->{file} = $node->data_dir . '/'
	  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('i$number')");
}

# A deleted page is on no level of the tree: only sware_check and page functions look at it.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE emptied AS SELECT generate_series(1, 20000) AS key;
CREATE INDEX emptied_key ON emptied USING sware (key);
DELETE FROM emptied;
VACUUM emptied;
SQL
my $deleted = $node->safe_psql('postgres', <<"SQL");
SELECT min(s.blkno) FROM generate_series(1, pg_relation_size('emptied_key') / $page_size - 1) b,
       sware_page_stats('emptied_key', b) s WHERE 'deleted' = ANY (s.flags)
SQL
my $emptied = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('emptied_key')");

# All that the damages have to know of the file is asked of the server while the
# index is sound.
$node->safe_psql('postgres', 'CHECKPOINT');
foreach my $number (0 .. $#cases)
{
	my $case = $cases[$number];
	my $leaves = $case->{leaves};
	if ($case->{misleading})
	{
		$case->{misleading}->($case->{file}, $leaves, "i$number");
		next;
	}
	my $block = $case->{of_root} ? $case->{root} : $leaves->[2][0];
	my $page = read_page($case->{file}, $block);
	$case->{damage}->(\$page);
	write_page($case->{file}, $block, $page);
	$case->{block} = $block;
}
my $deleted_page = read_page($emptied, $deleted);
substr($deleted_page, 18, 1) = pack('C', 99);
write_page($emptied, $deleted, $deleted_page);
$node->stop('immediate');
$node->start;
my $postmaster = slurp_file($node->data_dir . '/postmaster.pid');

my %scans = (
	'forward' => 'SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM %s ORDER BY key OFFSET 0) s',
	'backward' => 'SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM %s ORDER BY key DESC OFFSET 0) s',
	'forward, index only' => 'SELECT count(*), count(*) FROM (SELECT key FROM %s ORDER BY key OFFSET 0) s',
	'backward, index only'
		=> 'SELECT count(*), count(*) FROM (SELECT key FROM %s ORDER BY key DESC OFFSET 0) s',
	'look-ups' => 'SELECT count(*), count(DISTINCT id) FROM (SELECT DISTINCT key FROM %1$s) a, '
	  . 'LATERAL (SELECT id FROM %1$s b WHERE b.key = a.key OFFSET 0) s');

foreach my $number (0 .. $#cases)
{
	my $case = $cases[$number];
	foreach my $scan (grep { /$case->{scans}/ } sort keys %scans)
	{
		my $name = "$case->{name}: $scan";
		my $settings = $scan eq 'look-ups'
		  ? 'SET enable_sort = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;'
		  : $ordered_scan;
		my ($stdout, $stderr) = ('', '');
		my $status = $node->psql(
			'postgres', "$settings " . sprintf($scans{$scan}, "t$number"),
			stdout => \$stdout,
			stderr => \$stderr,
			extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		if ($case->{reason})
		{
			like($stderr, qr/ERROR:  XX002: .* at block $case->{block}\n.*$case->{reason}/s,
				"$name: an error says what is wrong");
		}
		elsif ($status == 0)
		{
			is($stdout, '20000|20000', "$name: the answer is right");
		}
		else
		{
			like($stderr, qr/ERROR:  XX002: .* at block [0-9]+/,
				"$name: an error says that a link is wrong");
		}
	}
}
# VACUUM gives such an error, too, when it looks for entries of dead rows on a
# damaged leaf.
foreach my $number (grep { $cases[$_]->{reason} && !$cases[$_]->{of_root} } 0 .. $#cases)
{
	my $case = $cases[$number];
	next if $case->{scans} eq 'forward';	# of the high key
	my $stderr = '';
	$node->safe_psql('postgres', "$sequential_scan DELETE FROM t$number WHERE id % 1000 = 0");
	$node->psql(
		'postgres', "VACUUM (INDEX_CLEANUP ON) t$number",
		stderr => \$stderr,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($stderr, qr/ERROR:  XX002: .* at block $case->{block}\n.*$case->{reason}/s,
		"$case->{name}: VACUUM says what is wrong");
}

# So it does when it empties leaves below a damaged root.
my ($larger) = grep { $cases[$_]->{name} eq 'a downlink larger than its line pointer says' } 0 .. $#cases;
my (undef, undef, $of_root) = $node->psql('postgres', <<"SQL", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
$sequential_scan
DELETE FROM t$larger WHERE key BETWEEN 2000 AND 4000;
VACUUM (INDEX_CLEANUP ON) t$larger;
SQL
like($of_root, qr/ERROR:  XX002: .* at block $cases[$larger]->{block}\n.*Item 20 is damaged/s,
	'VACUUM that empties leaves says what is wrong with the root');

# Where links mislead, VACUUM ends with such an error: when it moves leaves, it does not wait
# for a lock that it has itself, and when it visits all leaves, it does not go in circles.
sub vacuum_comes_to_an_end
{
	my ($number, $what, $before, $reason) = @_;
	my $name = "$cases[$number]->{name}: VACUUM that $what";
	my ($stderr, $timed_out) = ('');
	$node->safe_psql('postgres', $before);
	$node->psql(
		'postgres', "VACUUM (INDEX_CLEANUP ON) t$number",
		stderr => \$stderr,
		timeout => $PostgreSQL::Test::Utils::timeout_default,
		timed_out => \$timed_out,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	ok(!$timed_out, "$name comes to an end");
	like($stderr, qr/ERROR:  XX002.*$reason/s, "$name says that a link is wrong");
	return;
}

foreach my $number (grep { $cases[$_]->{misleading} } 0 .. $#cases)
{
	vacuum_comes_to_an_end($number, 'moves leaves', "ALTER INDEX i$number SET (group_leaves)",
		$cases[$number]->{move_reason});
	vacuum_comes_to_an_end($number, 'removes entries',
		"$sequential_scan DELETE FROM t$number WHERE id % 1000 = 0",
		qr/does not link back|Right links form a circle/);
}
foreach my $function ('sware_check(\'emptied_key\')', "sware_page_stats('emptied_key', $deleted)")
{
	my (undef, undef, $of_deleted) = $node->psql('postgres', "SELECT $function");
	like($of_deleted, qr/block $deleted\b.*The page has layout version 99/s,
		"$function looks at a deleted page");
}
is(slurp_file($node->data_dir . '/postmaster.pid'), $postmaster, 'it is still the same postmaster');
ok(!grep_log($node, qr/TRAP|PANIC|was terminated by signal/, 0), 'no backend has crashed');

$node->stop('immediate');
done_testing();
