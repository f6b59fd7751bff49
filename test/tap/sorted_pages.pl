# Crashes and errors while pages of a buffer are sorted, and while sorted pages are
# flushed in the order of their keys: no row is lost, and VACUUM frees the pages that
# no slot lists, but not those that another session is about to list.  A standby
# replays all of it, with wal_consistency_checking.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'sorted pages are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('sorted_pages');
$node->init(allows_streaming => 1);
# A setting for tests lets a small buffer have sorted pages.  The sessions of this test
# reach the fault points themselves: no flush worker does it for them.
$node->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
restart_after_crash = on
log_statement = none
wal_consistency_checking = 'generic'
sware.fault_pages_to_sort = 8
sware.flush_workers = 0
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (key int, id int);
CREATE INDEX t_key ON t USING sware (key) INCLUDE (id) WITH (buffer_size = 320);
-- Inserts rows with keys in no order, some of which are updated.
CREATE PROCEDURE insert_rows(first int, transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. first + transactions - 1 LOOP
		INSERT INTO t SELECT hashint4(n) % 1000000, n FROM generate_series(i * 200, i * 200 + 199) n;
		IF i % 10 = 0 THEN
			UPDATE t SET key = -key WHERE id = i * 200;
		END IF;
		COMMIT;
	END LOOP;
END $$;
-- Sorted pages of the file, and how many of them no slot lists.
CREATE FUNCTION sorted_pages(OUT pages bigint, OUT unlisted bigint) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE listed.block IS NULL)
	FROM generate_series(1,
			pg_relation_size('t_key') / current_setting('block_size')::int - 1) AS number,
		sware_page_stats('t_key', number) AS page
		LEFT JOIN sware_buffer_pages('t_key') AS listed ON listed.block = page.blkno
	WHERE 'sorted' = ANY (page.flags);
$$;
SQL

# Fails the test unless all is well, and stays so when the table is used.
sub is_well
{
	my ($name) = @_;
	check_index($node, 't_key', $name);
	index_agrees($node, 't', 'key', $name);
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
	is($node->safe_psql('postgres', 'SELECT unlisted FROM sorted_pages()'), '0',
		"VACUUM has found the pages that no slot lists: $name");
	$node->safe_psql('postgres', 'CALL insert_rows(9000, 20)');
	check_index($node, 't_key', "later: $name");
	index_agrees($node, 't', 'key', "later: $name");
	return;
}

# A flush finds out that keys are scrambled.  In the second state, the buffer is full of
# sorted pages, so that flushes are pieces of a sweep.
my %states = (
	'first sort' => <<'SQL',
TRUNCATE t;
CALL insert_rows(1, 20);
SELECT sware_flush('t_key');
SQL
	'full buffer' => <<'SQL');
TRUNCATE t;
CALL insert_rows(1, 20);
SELECT sware_flush('t_key');
CALL insert_rows(100, 150);
SQL
my $load = 'CALL insert_rows(1000, 200);';
my %left;
foreach my $state (sort keys %states)
{
	foreach my $point (
		qw(sorted-page-written sorted-written sorted-page-listed sorted-listed
		flush-sorted flush-inserted flush-retiring flush-retired))
	{
		foreach my $action (qw(error kill))
		{
			my $name = "$action at $point, $state";
			my $offset = -s $node->logfile;
			my ($status, $stdout, $stderr) = run_sql($node,
				"$states{$state}\nSET sware.fault_points = '$point=$action';\n$load");
			like($stderr, qr/server closed the connection|was reached/, $name);
			$node->wait_for_log(qr/database system is ready to accept connections/, $offset)
			  if $action eq 'kill';
			$left{$point} += $node->safe_psql('postgres', 'SELECT unlisted FROM sorted_pages()');
			is_well($name);
		}
	}
}
cmp_ok($left{$_}, '>', 0, "pages were left unlisted at $_") foreach qw(sorted-page-written sorted-written);

# There is no disk space for sorted pages, or for others, at one time or another.
my $refused = 0;
foreach my $number (1 .. 12)
{
	my ($status, $stdout, $stderr) = run_sql($node,
		"$states{'first sort'}\nSET sware.fail_extension = $number;\n$load");
	like($stderr, qr/^$|no space left on device/, "request $number for disk space is refused");
	$refused += $stderr =~ /no space left/;
	is_well("no disk space, request $number");
}
cmp_ok($refused, '>', 3, 'requests for disk space were refused');

# VACUUM has flushed the buffer, and waits for the pin of a cursor.  Meanwhile a session
# sorts pages, and waits before it lists them.  VACUUM goes on, and meets them.
run_sql($node, "$states{'first sort'}\nDELETE FROM t WHERE id % 7 = 0;");
my $cursor = start_session($node, 'cursor', "BEGIN; $ordered_scan
	DECLARE c CURSOR FOR SELECT key, id FROM t WHERE key > 0 ORDER BY key; FETCH 1 FROM c;
	SELECT pg_sleep(3600);\n");
wait_until($node, 'cursor', "wait_event = 'PgSleep'");
my $vacuum = start_session($node, 'vacuum', "VACUUM (INDEX_CLEANUP ON) t;\n");
wait_until($node, 'vacuum', "wait_event IN ('BufferPin', 'BufferCleanup')");
my $barrier = start_session($node, 'barrier', "SELECT pg_advisory_lock(23265); SELECT pg_sleep(3600);\n");
wait_until($node, 'barrier', "wait_event = 'PgSleep'");
my $sorter = start_session($node, 'sorter', "SET sware.fault_points = 'sorted-written=wait'; $load\n");
wait_until($node, 'sorter', "wait_event = 'advisory'");
cmp_ok($node->safe_psql('postgres', 'SELECT unlisted FROM sorted_pages()'), '>', 7, 'no slot lists them yet');
end_session($node, $cursor);
wait_until($node, 'vacuum', "wait_event_type = 'Lock' AND wait_event = 'page'");
end_session($node, $barrier);
$_->{run}->finish foreach $vacuum, $sorter;
is("$vacuum->{err}$sorter->{err}", '', 'both have succeeded');
is_well('VACUUM has left the pages that another session lists');

# Sessions that end with their first transaction leave no flush to others: pages are
# sorted and swept all the same.
$node->safe_psql('postgres', 'TRUNCATE t');
$node->pgbench('--no-vacuum --connect --transactions=400', 0, [qr{400/400}], [qr{^$}],
	'a session for each transaction',
	{ connects => 'INSERT INTO t SELECT hashint4((random() * 1e9)::int) % 1000000, n '
		  . 'FROM generate_series(1, 200) n' });
cmp_ok($node->safe_psql('postgres', 'SELECT pages FROM sorted_pages()'), '>', 7, 'their pages are sorted');
cmp_ok($node->safe_psql('postgres', "SELECT sealed_pages FROM sware_metapage('t_key')"),
	'<', 60, 'the buffer stays near its quota');
is_well('a session for each transaction');

# A standby has the same.
my $standby = start_standby($node, -1);
$node->safe_psql('postgres', "CALL insert_rows(2000, 300); DELETE FROM t WHERE id % 9 = 0; VACUUM t;");
run_sql($node, "SET sware.fault_points = 'sorted-listed=error'; CALL insert_rows(3000, 50);");
$node->safe_psql('postgres', 'CALL insert_rows(4000, 10)');
cmp_ok($node->safe_psql('postgres', 'SELECT pages FROM sorted_pages()'), '>', 7, 'there are sorted pages');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', ordered_summary('t', 'key')),
	$node->safe_psql('postgres', sequential_summary('t', 'key')), 'the standby has all rows in order');
$standby->promote;
$standby->safe_psql('postgres', 'CALL insert_rows(5000, 100)');
check_index($standby, 't_key', 'after promotion');
index_agrees($standby, 't', 'key', 'after promotion');
$standby->stop;
$node->stop;
foreach my $one ($node, $standby)
{
	is(join("\n", grep_log($one, qr/TRAP:|PANIC:|inconsistent page|signal (6|11):/)), '',
		'no process failed an assertion');
}

# The check finds entries that are not in order, within a sorted page, and from one
# page of a page run to the next.
my $damaged = start_server_to_damage('damaged_sorted_pages');
$damaged->append_conf('postgresql.conf',
	preload() . "sware.fault_pages_to_sort = 8\nsware.flush_workers = 0\n");
$damaged->restart;
$damaged->safe_psql('postgres', <<'SQL');
CREATE TABLE d (key int8);
CREATE INDEX d_key ON d USING sware (key);
DO $$ BEGIN
	FOR i IN 1 .. 40 LOOP
		INSERT INTO d SELECT hashint8(n) FROM generate_series(i * 200, i * 200 + 199) n;
		COMMIT;
	END LOOP;
END $$;
SQL
my @run = split /\n/, $damaged->safe_psql('postgres', <<'SQL');
SELECT p.block FROM sware_buffer_pages('d_key') AS p, sware_page_stats('d_key', p.block) AS s
WHERE p.state = 'sealed' AND 'sorted' = ANY (s.flags) ORDER BY sequence
SQL
cmp_ok(scalar @run, '>', 7, 'there is a page run');
my $file = $damaged->data_dir . '/' . $damaged->safe_psql('postgres', "SELECT pg_relation_filepath('d_key')");
# where entries begin, and their size
my ($start, $size) = (24, 16);
my %damages = (
	'two entries of a page' => sub {
		my ($page) = @_;
		my $first = substr($$page, $start, $size);
		substr($$page, $start, $size) = substr($$page, $start + 7 * $size, $size);
		substr($$page, $start + 7 * $size, $size) = $first;
	},
	'the first entry of a page' => sub {
		my ($page) = @_;
		substr($$page, $start + 8, 8) = pack('q', -2**40);
	});
foreach my $name (sort keys %damages)
{
	$damaged->stop;
	my $sound = my $page = read_page($file, $run[2]);
	$damages{$name}->(\$page);
	write_page($file, $run[2], $page);
	$damaged->start;
	my ($status, $stdout, $stderr) = run_sql($damaged, "SELECT sware_check('d_key', false)");
	like($stderr, qr/block $run[2]\n.*is not above the one before/, "$name: the check finds the disorder");
	$damaged->stop;
	write_page($file, $run[2], $sound);
	$damaged->start;
	check_index($damaged, 'd_key', 'without damage');
}
$damaged->stop;
done_testing();
