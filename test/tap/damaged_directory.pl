# The buffer's directory, what the metapage knows of it, and sorted pages are damaged in
# each way that sware_check looks for: it says what is wrong, and names a block.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the buffer is sware\'s' if am() ne 'sware';

# Where things are (src/layout/page.h): fields of the metapage, slots of the first directory
# page, entries of a buffer page, and the special space.
my %meta = (next_sequence => 72, next_slot => 76, sealed_pages => 80, tails => 88, directory => 120);
my ($slots_start, $slot_size) = (24, 16);
my ($first_entry, $entry_size) = (24, 16);
my $special = 8160;
my $nowhere = 0xffffffff;

my $node = start_server_to_damage('damaged_directory',
	"shared_preload_libraries = 'sware'\nsware.flush_workers = 0\n" . fill_buffers());

# Where the slot is that lists a sealed page of the index, counted from the oldest one.
sub slot
{
	my ($index, $number) = @_;
	return $slots_start + $index->{slots}[$number] * $slot_size;
}

# Where the metapage has the link to the open page.
sub tail
{
	my ($index) = @_;
	my ($tail) = grep { uint32_at(\$index->{meta}, $_) != $nowhere } map { $meta{tails} + 8 * $_ } 0 .. 3;
	return $tail;
}

# Exchanges the keys of two entries, each on a page of the file.
sub exchange_keys
{
	my ($index, @entries) = @_;
	my @keys;
	foreach my $turn (0, 1)
	{
		foreach (0, 1)
		{
			my ($block, $number) = @{ $entries[$_] };
			my $page = read_page($index->{file}, $block);
			my $offset = $first_entry + $number * $entry_size + 8;
			$keys[$_] = substr($page, $offset, 8) if $turn == 0;
			substr($page, $offset, 8) = $keys[ 1 - $_ ] if $turn == 1;
			write_page($index->{file}, $block, $page);
		}
	}
	return;
}

# What the check says, and what is changed for it, of the metapage, of the directory page, or
# in the file.  Pages 1 and 2 are sorted ones of a page run, the last ones are not sorted.
my @damages = (
	[
		qr/There are \d+ sealed pages, but the directory lists \d+/,
		sub { my ($i) = @_; vec($i->{meta}, 8 * $meta{sealed_pages}, 1) ^= 1 }
	],
	[
		qr/There are \d+ sealed pages, and slot \d+ is next, but the directory has 1 pages/,
		sub { my ($i) = @_; uint32_at(\$i->{meta}, $meta{sealed_pages}, 100_000) }
	],
	[
		qr/There are \d+ sealed pages, and slot 100000 is next, but the directory has 1 pages/,
		sub { my ($i) = @_; uint32_at(\$i->{meta}, $meta{next_slot}, 100_000) }
	],
	[
		qr/gives it the sequence number \d+, but the next one is \d+/,
		sub {
			my ($i) = @_;
			uint32_at(\$i->{meta}, $meta{next_sequence}, uint32_at(\$i->{directory}, slot($i, -1) + 8));
		}
	],
	[
		qr/The slots \d+ and \d+ of the buffer's directory have the same sequence number/,
		sub {
			my ($i) = @_;
			uint32_at(\$i->{directory}, slot($i, -1) + 8, uint32_at(\$i->{directory}, slot($i, -2) + 8));
		}
	],
	[
		qr/The page has \d+ entries, but slot \d+ of the buffer's directory says \d+/,
		sub { my ($i) = @_; vec($i->{directory}, 8 * (slot($i, -1) + 14) + 2, 1) ^= 1 }
	],
	[
		qr/The page is unsorted, but slot \d+ of the buffer's directory says that it is sorted/,
		sub { my ($i) = @_; vec($i->{directory}, 8 * (slot($i, -1) + 15) + 7, 1) ^= 1 }
	],
	[
		qr/The page is sorted, but slot \d+ of the buffer's directory says that it is unsorted/,
		sub { my ($i) = @_; vec($i->{directory}, 8 * (slot($i, 1) + 15) + 7, 1) ^= 1 }
	],
	[
		qr/lists it as a sealed page of incarnation \d+, but that it is not/,
		sub { my ($i) = @_; vec($i->{directory}, 8 * (slot($i, -1) + 4), 1) ^= 1 }
	],
	[
		qr/Slot \d+ is damaged: block \d+, state 7,/,
		sub { my ($i) = @_; substr($i->{directory}, slot($i, 0) + 12, 2) = pack('S', 7) }
	],
	[
		qr/Metapage and directory of the buffer link to it twice/,
		sub { my ($i) = @_; uint32_at(\$i->{directory}, slot($i, 0), $i->{blocks}[1]) }
	],
	[
		qr/Metapage and directory of the buffer link to it twice/,
		sub { my ($i) = @_; uint32_at(\$i->{directory}, slot($i, 0), uint32_at(\$i->{meta}, tail($i))) }
	],
	[
		qr/links to it as an open buffer page of incarnation \d+, but that it is not/,
		sub { my ($i) = @_; uint32_at(\$i->{meta}, tail($i) + 4, 4711) }
	],
	[
		qr/links to it as a directory page of incarnation 4711, but it has kind \d+ and incarnation \d+/,
		sub { my ($i) = @_; uint32_at(\$i->{meta}, $meta{directory} + 4, 4711) }
	],
	[
		qr/links to it as a directory page of incarnation \d+, but it has kind \d+ and incarnation \d+/,
		sub { my ($i) = @_; uint32_at(\$i->{meta}, $meta{directory}, $i->{blocks}[0]) }
	],
	[
		qr/A page of kind \d+ has siblings, blocks 1 and \d+/,
		sub { my ($i) = @_; uint32_at(\$i->{directory}, $special, 1) }
	],
	[
		qr/A page of kind \d+ has siblings, blocks \d+ and 1/,
		sub { my ($i) = @_; uint32_at(\$i->{directory}, $special + 16, 1) }
	],
	[
		qr/The array of slots ends at \d+/,
		sub { my ($i) = @_; vec($i->{directory}, 12, 8) += 4 }
	],
	[
		qr/A page of kind \d+ has data up to \d+ and from \d+ on/,
		sub { my ($i) = @_; substr($i->{directory}, 14, 2) = pack('S', $special - 8) }
	],
	[
		qr/The page has unknown flags: 0x0001/,
		sub { my ($i) = @_; substr($i->{directory}, $special + 10, 2) = pack('S', 1) }
	],
	[
		qr/It refers to block 100000, but the index has \d+ blocks/,
		sub { my ($i) = @_; uint32_at(\$i->{directory}, slot($i, 0), 100_000) }
	],
	[
		qr/Entry 8 of the sorted page is not above the one before/,
		sub { my ($i) = @_; exchange_keys($i, [ $i->{blocks}[1], 6 ], [ $i->{blocks}[1], 7 ]) }
	],
	[
		qr/Entry 1 of the sorted page is not above the one before/,
		sub {
			my ($i) = @_;
			exchange_keys($i, [ $i->{blocks}[1], $i->{entries}[1] - 1 ], [ $i->{blocks}[2], 0 ]);
		}
	]);

# Each index has a run of sorted pages, pages that are not sorted yet, and an open one.
foreach my $number (0 .. @damages)
{
	$node->safe_psql('postgres', <<"SQL");
SET sware.fault_pages_to_sort = 4;
CREATE TABLE t$number (k int8);
CREATE INDEX i$number ON t$number USING sware (k);
DO \$\$ BEGIN FOR i IN 0 .. 17 LOOP
	INSERT INTO t$number SELECT n * 7919 % 10007 FROM generate_series(i * 200, i * 200 + 199) n;
	COMMIT;
END LOOP; END \$\$;
SQL
}
my @indexes;
foreach my $number (0 .. @damages)
{
	my %index = (
		name => "i$number",
		file => $node->data_dir . '/'
		  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('i$number')"));
	foreach (split /\n/, $node->safe_psql('postgres', <<"SQL"))
SELECT block, slot, entries FROM sware_buffer_pages('i$number') WHERE state = 'sealed' ORDER BY sequence
SQL
	{
		my ($block, $slot, $entries) = split /\|/;
		push @{ $index{blocks} }, $block;
		push @{ $index{slots} }, $slot;
		push @{ $index{entries} }, $entries;
	}
	push @indexes, \%index;
}
my $kinds = $node->safe_psql('postgres', <<'SQL');
SELECT bool_and('sorted' = ANY (flags)) FILTER (WHERE n IN (2, 3)),
	bool_or('sorted' = ANY (flags)) FILTER (WHERE n > 5)
FROM (SELECT row_number() OVER (ORDER BY sequence) AS n, flags
	FROM sware_buffer_pages('i0') p, sware_page_stats('i0', p.block) WHERE p.state = 'sealed') s
SQL
is($kinds, 't|f', 'some pages are sorted, and the latest are not');

$node->stop;
foreach my $number (0 .. $#damages)
{
	my $index = $indexes[$number];
	my $change = $damages[$number][1];
	$index->{meta} = read_page($index->{file}, 0);
	my $block = uint32_at(\$index->{meta}, $meta{directory});
	$index->{directory} = read_page($index->{file}, $block);
	$change->($index);
	write_page($index->{file}, 0, $index->{meta});
	write_page($index->{file}, $block, $index->{directory});
}
$node->start;
foreach my $number (0 .. $#damages)
{
	my ($status, $stdout, $stderr) = run_sql($node, "SELECT sware_check('i$number')");
	like($stderr, $damages[$number][0], "what is wrong with i$number") || diag($stdout);
	like($stderr, qr/\bblock \d+/, 'and where');
}
is($node->safe_psql('postgres', "SELECT sware_check('$indexes[-1]{name}', true)"), '', 'a sound one passes');
did_not_crash($node, 'the server went on');
$node->stop;
done_testing();
