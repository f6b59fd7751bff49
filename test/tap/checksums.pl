# Marks are set on pages that others have share-locked, and perhaps write at this moment.
# With checksums, and writes that take their time, no page on the disk may have a checksum of
# other contents.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Config;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

# A library that pauses before each page is written, when its checksum has been made.
my $directory = PostgreSQL::Test::Utils::tempdir();
append_to_file("$directory/slow_writes.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

static void
pause_for_pages(size_t size)
{
	if (size >= 8192 && size % 8192 == 0)
		usleep(3000);
}

ssize_t
pwrite(int file, const void *bytes, size_t size, off_t offset)
{
	static ssize_t (*real) (int, const void *, size_t, off_t);

	if (!real)
		real = (ssize_t (*) (int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite64");
	pause_for_pages(size);
	return real(file, bytes, size, offset);
}

ssize_t
pwrite64(int file, const void *bytes, size_t size, off_t offset)
{
	return pwrite(file, bytes, size, offset);
}

ssize_t
pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
	static ssize_t (*real) (int, const struct iovec *, int, off_t);

	if (!real)
		real = (ssize_t (*) (int, const struct iovec *, int, off_t)) dlsym(RTLD_NEXT, "pwritev64");
	pause_for_pages(parts[0].iov_len);
	return real(file, parts, count, offset);
}

ssize_t
pwritev64(int file, const struct iovec *parts, int count, off_t offset)
{
	return pwritev(file, parts, count, offset);
}
C
if (!IPC::Run::run([ 'cc', '-shared', '-fPIC', '-o', "$directory/slow_writes.so",
			"$directory/slow_writes.c", '-ldl' ], '>&', \my $said))
{
	skip_file("there is no compiler: $said");
}

my $am = am();
my $node = PostgreSQL::Test::Cluster->new('checksums');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
shared_buffers = 1MB
bgwriter_delay = 10ms
bgwriter_lru_maxpages = 1000
sware.shared_memory = 8MB
sware.buffer_size = 512kB
CONF
{
	local $ENV{LD_PRELOAD} = "$directory/slow_writes.so";
	$node->start;
}
prepare_database($node);
make_mark_count($node);

# Rows die all the time, and scans mark their entries, on leaves and in the buffer.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id int, key int, note text) WITH (autovacuum_enabled = off, fillfactor = 50);
CREATE INDEX t_key ON t USING $am (key);
CREATE UNIQUE INDEX t_id ON t USING $am (id);
INSERT INTO t SELECT i, i * 7919 % 100003, 'first' FROM generate_series(1, 40000) i;
CREATE TABLE queue (number bigint GENERATED ALWAYS AS IDENTITY, note text) WITH (autovacuum_enabled = off);
CREATE INDEX queue_number ON queue USING $am (number);
SQL
my @scripts = script_files(
	update => <<'SQL',
\set id random(1, 40000)
\set key random(1, 100000)
UPDATE t SET key = :key WHERE id = :id;
SQL
	look => <<'SQL',
\set key random(1, 100000)
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(note) FROM t WHERE key BETWEEN :key AND :key + 3000;
SQL
	queue => <<'SQL',
INSERT INTO queue (note) VALUES (repeat('x', 200));
DELETE FROM queue WHERE number = (SELECT number FROM queue ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED);
SQL
	checkpoint => <<'SQL',
\set when random(1, 200)
\if :when = 1
CHECKPOINT;
\endif
SQL
);
my ($done, $cancelled, $others) =
  ask_beside_load($node, 6, $ENV{SWARE_CHECKSUM_TRANSACTIONS} // 400, @scripts);
is($others, '', 'no statement meets a page with a wrong checksum');
cmp_ok($done, '>', 1000, 'transactions were done');
my $marks = "SELECT sum(marked(i)) FROM unnest('{t_key,t_id,queue_number}'::regclass[]) i";
cmp_ok($node->safe_psql('postgres', $marks), '>', 0, 'entries are marked') if $am ne 'btree';
check_index($node, $_, 'after the storm') foreach qw(t_key t_id queue_number);
$node->stop;
command_like([ 'pg_checksums', '--check', '-D', $node->data_dir ], qr/Bad checksums:\s+0\b/,
	'all pages on the disk have the right checksums');
is(join("\n", grep_log($node, qr/page verification failed|invalid page/)), '',
	'nor does the log tell of others');
done_testing();
