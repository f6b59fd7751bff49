# Pages of a tree are damaged in each way that sware_check looks for on its levels: it says
# what is wrong, and names a block.  (tap/damaged_tree has what scans and VACUUM say.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the check is sware\'s' if am() ne 'sware';

# Where things are (src/layout/page.h): fields of the metapage and of the special space, and
# the digits at the end of a key.
my %meta = (root => 40, level => 48, all_equal_image => 52);
my %special = (left => 8160, level => 8168, flags => 8170, unused => 8172, right => 8176, kind => 8188);
my ($digits_start, $digits) = (412, 5);
my $nowhere = 0xffffffff;

my $node = start_server_to_damage('damaged_levels');

# Changes a page of an index.
sub change
{
	my ($index, $block, $code) = @_;
	my $page = read_page($index->{file}, $block);
	$code->(\$page);
	write_page($index->{file}, $block, $page);
	return;
}

# Gives an item of a page, which is counted from 1, other digits at the end of its key.
sub set_digits
{
	my ($index, $block, $item, $value, $after) = @_;
	change($index, $block, sub {
		my ($page) = @_;
		my ($start) = line_pointer($page, $item);
		substr($$page, $start + ($after // $digits_start), $digits) = sprintf('%05d', $value);
	});
	return;
}

# Sets a link of a leaf, counted from 0 on the left, to another one.
sub set_link
{
	my ($index, $leaf, $side, $to) = @_;
	change($index, $index->{0}[$leaf][0], sub {
		my ($page) = @_;
		uint32_at($page, $special{$side}, $index->{0}[$to][0]);
		uint32_at($page, $special{$side} + 4, $index->{0}[$to][1]);
	});
	return;
}

# Sets a field of two bytes in the special space of a page.
sub set_field
{
	my ($index, $block, $field, $value) = @_;
	change($index, $block, sub { substr(${ $_[0] }, $special{$field}, 2) = pack('S', $value) });
	return;
}

# Removes an item of a page.
sub remove_item
{
	my ($index, $block, $item) = @_;
	change($index, $block, sub {
		my ($page) = @_;
		my $lower = unpack('S', substr($$page, 12, 2));
		substr($$page, 20 + 4 * $item, $lower - 24 - 4 * $item) =
		  substr($$page, 24 + 4 * $item, $lower - 24 - 4 * $item);
		substr($$page, 12, 2) = pack('S', $lower - 4);
	});
	return;
}

# How many items a page has.
sub items
{
	my ($index, $block) = @_;
	return (unpack('S', substr(read_page($index->{file}, $block), 12, 2)) - 24) / 4;
}

# The block of a page of a level, counted from 0 on the left.
sub block
{
	my ($index, $level, $number) = @_;
	return $index->{$level}[$number][0];
}

# What the check says, and what is changed for it.  The high key is the first item of each page
# that has one.
my @damages = (
	[
		qr/The root is block 0 on level 2/,
		sub { my ($i) = @_; change($i, 0, sub { uint32_at($_[0], $meta{root}, 0) }) }
	],
	[
		qr/The page is not the one that a link to it means. Found as root, on level 1/,
		sub { my ($i) = @_; change($i, 0, sub { uint32_at($_[0], $meta{level}, 1) }) }
	],
	[
		qr/It is the last child of the rightmost parent, but it has a right sibling. Found as root/,
		sub {
			my ($i) = @_;
			change($i, 0, sub {
				uint32_at($_[0], $meta{root}, $i->{1}[0][0]);
				uint32_at($_[0], $meta{root} + 4, $i->{1}[0][1]);
				uint32_at($_[0], $meta{level}, 1);
			});
		}
	],
	[
		qr/The page is not the one that a link to it means. Found through item 3 of block \d+ on level 1/,
		sub {
			my ($i) = @_;
			change($i, block($i, 1, 1), sub {
				my ($start, undef, $length) = line_pointer($_[0], 3);
				uint32_at($_[0], $start + $length - 8, 4711);
			});
		}
	],
	[
		qr/It is the last child of the rightmost parent, but it has a right sibling. Found through/,
		sub { my ($i) = @_; remove_item($i, block($i, 1, -1), items($i, block($i, 1, -1))) }
	],
	[
		qr/Its high key is not equal to the parent's next downlink or high key. Found through item 3/,
		sub { my ($i) = @_; remove_item($i, block($i, 1, 1), 4) }
	],
	[
		qr/Its high key is not equal to the parent's next downlink or high key/,
		sub { my ($i) = @_; set_digits($i, block($i, 0, 5), 1, 1199) }
	],
	[
		qr/Its right sibling has no downlink. Found through/,
		sub {
			my ($i) = @_;
			change($i, block($i, 1, 1), sub {
				my ($page) = @_;
				my ($to, undef, $length) = line_pointer($page, 2);
				my ($from, undef, $size) = line_pointer($page, 3);
				substr($$page, $to, 4) = substr($$page, $from, 4);
				substr($$page, $to + $length - 8, 8) = substr($$page, $from + $size - 8, 8);
			});
			remove_item($i, block($i, 1, 1), 3);
		}
	],
	[
		qr/The rightmost page of level 0 has a high key/,
		sub { my ($i) = @_; change($i, block($i, 0, 5), sub { uint32_at($_[0], $special{right}, $nowhere) }) }
	],
	[
		qr/Its right siblings form a circle/,
		sub {
			my ($i) = @_;
			set_link($i, 5, 'right', 3);
			foreach my $leaf (3 .. 5)
			{
				# its split is incomplete
				set_field($i, block($i, 0, $leaf), 'flags', 1);
			}
		}
	],
	[
		qr/The downlink to it is not below the parent's next downlink or high key/,
		sub {
			my ($i) = @_;
			set_digits($i, block($i, 1, 0), 5, 1);
			set_digits($i, block($i, 0, 2), 1, 1);
		}
	],
	[
		# where the last leaf below the downlink to the left is three levels further down
		qr/The downlink to it is not below the parent's next downlink or high key/,
		sub {
			my ($i) = @_;
			set_digits($i, block($i, 3, 0), 4, 1, 2572);
			set_digits($i, block($i, 2, 1), 1, 1, 2572);
		},
		"SELECT (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 80) n)
			|| to_char(n, 'FM00000') COLLATE \"C\" FROM generate_series(0, 39) n"
	],
	[
		qr/Items 3 and 4 of the leaf are not in order/,
		sub { my ($i) = @_; set_digits($i, block($i, 0, 0), 3, 19) }
	],
	[
		qr/Item \d+ of the leaf is not below the high key/,
		sub { my ($i) = @_; set_digits($i, block($i, 0, 5), items($i, block($i, 0, 5)), 1199) }
	],
	[
		qr/The left link does not lead to the left sibling. Reached from block \d+ on level 0/,
		sub { my ($i) = @_; set_link($i, 5, 'left', 3) }
	],
	[
		qr/The first item is below the high key of the left sibling/,
		sub { my ($i) = @_; set_digits($i, block($i, 0, 5), 2, 0) }
	],
	[
		qr/The leftmost page of level 0 has block \d+ for a left sibling/,
		sub { my ($i) = @_; set_link($i, 0, 'left', 3) }
	],
	[
		qr/A page of kind \d+ is on level 3/,
		sub { my ($i) = @_; set_field($i, block($i, 0, 5), 'level', 3) }
	],
	[
		qr/A page of kind \d+ is on level 0/,
		sub { my ($i) = @_; set_field($i, block($i, 1, 1), 'level', 0) }
	],
	[
		qr/A page of kind 99 is on level 0/,
		sub { my ($i) = @_; set_field($i, block($i, 0, 5), 'kind', 99) }
	],
	[
		qr/The page has unknown flags: 0x8000, unused space 0x0000 and 0x0000/,
		sub { my ($i) = @_; set_field($i, block($i, 0, 5), 'flags', 0x8000) }
	],
	[
		qr/The page has unknown flags: 0x0000, unused space 0x0007 and 0x0000/,
		sub { my ($i) = @_; set_field($i, block($i, 0, 5), 'unused', 7) }
	],
	[
		qr/The page has unknown flags: 0x0000, unused space 0x0000 and 0x0007/,
		sub { my ($i) = @_; change($i, block($i, 0, 5), sub { uint32_at($_[0], $special{unused}, 7 << 16) }) }
	],
	(map {
		my ($side, $block) = @$_;
		[
			qr/The siblings are blocks \d+ and \d+/,
			sub {
				my ($i) = @_;
				my $self = block($i, 0, 5);
				change($i, $self, sub { uint32_at($_[0], $special{$side}, $block // $self) });
			}
		]
	} [ 'left', undef ], [ 'right', undef ], [ 'left', 0 ], [ 'right', 0 ]),
	[
		qr/The rightmost page of level 0 is marked as incompletely split/,
		sub { my ($i) = @_; set_field($i, block($i, 0, -1), 'flags', 1) }
	],
	[
		qr/The line pointer array ends at \d+/,
		sub { my ($i) = @_; change($i, block($i, 0, 5), sub { vec(${ $_[0] }, 12, 8) += 2 }) }
	],
	[
		qr/Item \d+ is a posting list, but the metapage forbids them/,
		sub { my ($i) = @_; change($i, 0, sub { vec(${ $_[0] }, $meta{all_equal_image}, 8) = 0 }) },
		"SELECT repeat('k', 400) FROM generate_series(1, 100)"
	],
	[
		qr/Posting lists are allowed, but equal keys may differ/,
		sub { my ($i) = @_; change($i, 0, sub { vec(${ $_[0] }, $meta{all_equal_image}, 8) = 1 }) },
		'SELECT n::numeric FROM generate_series(1, 100) n'
	]);

my @indexes;
foreach my $number (0 .. @damages)
{
	my $rows = ($damages[$number] ? $damages[$number][2] : undef)
	  // "SELECT repeat('k', 400) || to_char(n, 'FM00000') COLLATE \"C\" FROM generate_series(0, 1199) n";
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t$number (key) AS $rows;
CREATE INDEX i$number ON t$number USING sware (key);
SQL
	my %index = (
		file => $node->data_dir . '/'
		  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('i$number')"));
	foreach (split /\n/, $node->safe_psql('postgres', <<"SQL"))
SELECT level, s.blkno, incarnation FROM generate_series(1, pg_relation_size('i$number') / $page_size - 1) b,
	sware_page_stats('i$number', b) s
WHERE kind IN ('leaf', 'internal') ORDER BY level, right_link IS NULL,
	(SELECT data FROM sware_page_items('i$number', b) WHERE itemoffset = 1)
SQL
	{
		my ($level, $block, $incarnation) = split /\|/;
		push @{ $index{$level} }, [ $block, $incarnation ];
	}
	push @indexes, \%index;
}
is(scalar(grep { @{ $_->{2} // [] } == 1 && @{ $_->{1} } > 2 && @{ $_->{0} } > 20 } @indexes),
	@damages - 2, 'the trees have three levels');
is(scalar(grep { @{ $_->{3} // [] } == 1 && @{ $_->{2} } > 2 } @indexes), 1, 'one has four');

$node->stop;
$damages[$_][1]->($indexes[$_]) foreach 0 .. $#damages;
$node->start;
foreach my $number (0 .. $#damages)
{
	my ($status, $stdout, $stderr) = run_sql($node, "SELECT sware_check('i$number')");
	like($stderr, $damages[$number][0], "what is wrong with i$number") || diag($stdout);
	like($stderr, qr/\bblock \d+/, 'and where');
}
is($node->safe_psql('postgres', "SELECT sware_check('i" . @damages . "', true)"), '', 'a sound one passes');
did_not_crash($node, 'the server went on');
$node->stop;
done_testing();
