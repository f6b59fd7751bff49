# Crashes in the middle of concurrent work.  After each recovery the structural
# check passes, and index scans find each row of the table exactly once.
#
# SWARE_CRASH_CYCLES sets how many crashes there are (default 6).
#
# When to crash is decided by how much WAL the sessions have written, and drawn
# from the seed on a logarithmic scale, so that crashes also come very early.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Time::HiRes qw(usleep);

my $cycles = $ENV{SWARE_CRASH_CYCLES} // 6;
my $am = am();
my @keys = qw(near scrambled few label);

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
# Few buffers, so that dirty pages are written and read again all the time.
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
fsync = off
shared_buffers = '4MB'
max_prepared_transactions = 20
max_connections = 30
max_wal_size = '64MB'
checkpoint_timeout = 30s
log_statement = none
CONF
$node->start;
prepare_database($node);

$node->safe_psql('postgres', 'CREATE SEQUENCE ids CACHE 50');
foreach my $table (qw(logged unlogged))
{
	my $kind = $table eq 'unlogged' ? 'UNLOGGED' : '';
	$node->safe_psql('postgres', <<"SQL");
CREATE $kind TABLE $table (id bigint, near bigint, scrambled int, few int, label text)
  WITH (fillfactor = 80);
CREATE INDEX ${table}_near ON $table USING $am (near);
CREATE INDEX ${table}_scrambled ON $table USING $am (scrambled) INCLUDE (id);
CREATE INDEX ${table}_few ON $table USING $am (few);
CREATE INDEX ${table}_label ON $table USING $am (label DESC);
SQL
}

# The sessions.  Rows are locked with SKIP LOCKED, so sessions never wait for
# each other's rows and cannot deadlock.
my $insert = <<'SQL';
INSERT INTO <table>
  SELECT i, i + (random() * 50)::int, (random() * 1000000000)::int, (random() * 20)::int,
         md5(random()::text) || repeat(md5(i::text), (random() * 12)::int)
  FROM (SELECT nextval('ids') AS i FROM generate_series(1, :rows)) new;
SQL
my %scripts = (
	insert => [ 5, "\\set rows random(1, 30)\n$insert" ],
	bulk => [ 1, "\\set rows random(500, 3000)\n$insert" ],
	abort => [ 2, "\\set rows random(1, 300)\nBEGIN;\n${insert}ROLLBACK;\n" ],
	savepoints => [
		2, "\\set rows random(1, 40)\nBEGIN;\n${insert}SAVEPOINT a;\n$insert"
		  . "ROLLBACK TO a;\n${insert}SAVEPOINT b;\n${insert}RELEASE b;\nCOMMIT;\n"
	],
	prepared => [
		1, "\\set rows random(1, 40)\n\\set number random(1, 1000000000)\nBEGIN;\n$insert"
		  . "PREPARE TRANSACTION 'p-:client_id-:number';\n"
		  . "COMMIT PREPARED 'p-:client_id-:number';\n"
	],
	rollback_prepared => [
		1, "\\set rows random(1, 40)\n\\set number random(1, 1000000000)\nBEGIN;\n$insert"
		  . "PREPARE TRANSACTION 'r-:client_id-:number';\n"
		  . "ROLLBACK PREPARED 'r-:client_id-:number';\n"
	],
	update => [ 3, <<'SQL' ],
UPDATE <table> SET scrambled = (random() * 1000000000)::int, label = md5(random()::text)
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM <table> WHERE few = (random() * 20)::int
                          LIMIT 20 FOR UPDATE SKIP LOCKED));
SQL
	delete_left => [ 3, <<'SQL' ],
DELETE FROM <table> WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM <table> ORDER BY near LIMIT 300 FOR UPDATE SKIP LOCKED));
SQL
	delete_any => [ 2, <<'SQL' ],
\set low random(1, 1000000000)
DELETE FROM <table> WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM <table> WHERE scrambled BETWEEN :low AND :low + 50000000
  FOR UPDATE SKIP LOCKED));
SQL
	vacuum => [ 2, "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) <table>;\n" ],
	checkpoint => [ 1, "CHECKPOINT;\n" ],
	rebuild => [ 1, <<'SQL' ],
SELECT pg_try_advisory_lock(1) AS mine \gset
\if :mine
REINDEX INDEX CONCURRENTLY <table>_few;
SELECT pg_advisory_unlock(1);
\endif
SQL
);

my $directory = PostgreSQL::Test::Utils::tempdir();
my @files;
foreach my $table (qw(logged unlogged))
{
	foreach my $name (sort keys %scripts)
	{
		my ($weight, $text) = @{ $scripts{$name} };
		$weight *= 3 if $table eq 'logged';
		$text =~ s/<table>/$table/g;
		append_to_file("$directory/$table-$name", $text);
		push @files, '-f', "$directory/$table-$name\@$weight";
	}
}

my $crashes = 0;
foreach my $cycle (1 .. $cycles)
{
	my $how = pick('SIGKILL', 'immediate stop');
	my $consistency = pick(0, 0, 1);
	my $wal = int(2**(11 + rand(12)));
	my $name = "cycle $cycle";
	note("$name: $how after $wal bytes of WAL, wal_consistency_checking "
		  . ($consistency ? 'on' : 'off'));
	$node->safe_psql('postgres',
		"ALTER SYSTEM SET wal_consistency_checking = '"
		  . ($consistency ? 'generic' : '')
		  . "'");
	$node->reload;

	my ($output, $errors) = ('', '');
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port,
			'-c', '6', '-j', '2', '-T', '100000', '--max-tries', '100',
			'--random-seed', choose(1, 1_000_000), @files, 'postgres'
		],
		'<', \undef, '>', \$output, '2>', \$errors);

	# Ends when the sessions have written enough.  It commits all the time, or
	# REINDEX CONCURRENTLY would wait for its snapshot, and VACUUM for REINDEX.
	my $status = $node->psql('postgres', <<"SQL", stderr => \my $stderr);
SET statement_timeout = '300s';
DO \$\$
DECLARE start pg_lsn := pg_current_wal_insert_lsn();
BEGIN
  WHILE pg_current_wal_insert_lsn() - start < $wal LOOP
    PERFORM pg_sleep(0.0002);
    COMMIT;
  END LOOP;
END \$\$;
SQL
	ok($status == 0, "$name: the sessions make progress") || diag($stderr);

	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	$how eq 'SIGKILL' ? $node->kill9 : $node->stop('immediate');
	$load->finish;
	unlike($errors, qr/ERROR:/, "$name: no session saw an error before the crash")
	  || diag($errors);

	# After SIGKILL of the postmaster the other processes end by themselves, and
	# a new one can only start when the last of them is gone.
	my $started = 0;
	foreach my $attempt (1 .. 600)
	{
		last if !kill(0, $postmaster) && ($started = $node->start(fail_ok => 1));
		usleep(100_000);
	}
	ok($started, "$name: the server recovers") || BAIL_OUT('no recovery');
	$crashes++;

	# With transactions still prepared, and after they ended.
	check_index($node, "logged_$_", $name) foreach @keys;
	my @prepared = split /\n/,
	  $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	foreach my $gid (@prepared)
	{
		$node->safe_psql('postgres', pick('COMMIT', 'ROLLBACK') . " PREPARED '$gid'");
	}
	foreach my $key (@keys)
	{
		check_index($node, "logged_$key", "$name, nothing prepared") if @prepared;
		check_index($node, "unlogged_$key", $name);
		index_agrees($node, 'logged', $key, $name);
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'),
		'0', "$name: the unlogged table is empty");

	# What an interrupted REINDEX CONCURRENTLY leaves.
	my $leftover = $node->safe_psql('postgres',
		"SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid OR indexrelid::regclass::text LIKE '%\\_cc%'");
	$node->safe_psql('postgres', "DROP INDEX $_") foreach split /\n/, $leftover;

	# The index works on.
	$node->safe_psql('postgres',
		'DELETE FROM logged WHERE id < (SELECT max(id) FROM logged) - 30000');
	$node->safe_psql('postgres', 'VACUUM logged') if pick(0, 1);
}
is($crashes, $cycles, 'every cycle ended in a crash');
# A leader of parallel VACUUM that loses its postmaster fails an assertion of
# PostgreSQL's own, in pgstat.c, on its way out.
my @complaints =
  grep { !/TRAP:.*!IsTransactionOrTransactionBlock\(\)".*pgstat\.c/ }
  grep_log($node, qr/PANIC|TRAP|inconsistent page|was terminated by signal/);
is(join("\n", @complaints), '', 'nothing else crashed');

$node->stop;
done_testing();
