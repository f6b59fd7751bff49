# Crashes in the middle of concurrent work, most of it small transactions, with
# buffers that fill and are flushed.  After each recovery the structural check
# passes, index scans find each row of the table exactly once, and transactions
# that were prepared still are.
#
# SWARE_CRASH_CYCLES sets how many crashes there are (default 8).
#
# A server 18 with assertions may fail to recover because of an assertion of PostgreSQL's own,
# in restoreTwoPhaseData: if it crashed while a checkpoint wrote the state of a prepared
# transaction. This happens in one of some hundred crashes; the end of the log is shown.
#
# Some crashes come from a session that kills itself at one of the library's
# fault points, some from signals.  When is decided by how much WAL the sessions
# have written, and drawn from the seed on a logarithmic scale, so that crashes
# also come very early.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $cycles = $ENV{SWARE_CRASH_CYCLES} // 8;
my $am = am();
my @keys = qw(near scrambled few label id);
# nbtree's unique index allows ON CONFLICT before version 18.
my $unique_am = pick('btree', $am);
note("unique indexes are of $unique_am");

# The causes from which a cycle can die.  Fault points are those where something shared
# has just changed, or is about to.
my @points = $am eq 'btree' ? () : qw(publish-begins publish-sorted publish-stored
  insert-stored buffer-page-full flush-sealed flush-sorted flush-inserted flush-retiring
  flush-retired retired-freeing vacuum-flushed vacuum-waited file-extended append-written split-downlink
  sorted-page-written sorted-written sorted-page-listed sorted-listed vacuum-examined leaf-copied);
push @points, 'unique-looked-up' if @points && $unique_am eq $am;
# Without preloading, keys of unique indexes are not staged.
my @preloaded_points =
  @points && $unique_am eq $am ? qw(key-registered staged-keys-published) : ();
push @points, @preloaded_points;
my @signals = ('SIGKILL', 'immediate stop', 'SIGKILL of a session', 'SIGKILL of a session');

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
my $fault_file = $node->data_dir . '/fault.conf';
# Few shared buffers, so that dirty pages are written and read again all the
# time.
$node->append_conf('postgresql.conf', <<'CONF');
include_if_exists = 'fault.conf'
autovacuum = off
fsync = off
shared_buffers = '4MB'
max_prepared_transactions = 20
max_connections = 30
max_wal_size = '64MB'
checkpoint_timeout = 30s
log_statement = none
restart_after_crash = on
CONF
$node->start;
prepare_database($node);
make_disagreements($node);
if (@points)
{
	is( $node->safe_psql('postgres',
			"LOAD '$am'; SELECT count(*) FROM pg_settings WHERE name = '$am.fault_points'"),
		'1', 'the library was built with FAULT_POINTS=1')
	  || BAIL_OUT('no fault points');
}

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
CREATE UNIQUE INDEX ${table}_id ON $table USING $unique_am (id);
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
# Rows of statements with ON CONFLICT are not staged: their entries go to the buffer at
# once.
my $insert_at_once = $insert =~ s/;\n$/\n  ON CONFLICT DO NOTHING;\n/r;
my $insert_sorted = $insert =~ s/i \+ \(random\(\) \* 50\)::int/i + 50/r;
# These keys are above those that all other sessions insert, except for sessions that do
# the same.
my $insert_above = $insert
  =~ s/i \+ \(random\(\) \* 50\)::int/(extract(epoch FROM clock_timestamp()) * 1e6)::bigint/r;
my %scripts = (
	insert_one => [ 20, "\\set rows 1\n$insert" ],
	insert => [ 4, "\\set rows random(1, 30)\n$insert" ],
	($unique_am eq 'btree' ?
		(insert_at_once => [ 4, "\\set rows random(1, 3)\n$insert_at_once" ]) : ()),
	bulk => [ 1, "\\set rows random(300, 1500)\n$insert_sorted" ],
	append => [ 1, "\\set rows random(1000, 2000)\n$insert_above" ],
	abort => [ 2, "\\set rows random(1, 300)\nBEGIN;\n${insert}ROLLBACK;\n" ],
	savepoints => [
		2, "\\set rows random(1, 40)\nBEGIN;\n${insert}SAVEPOINT a;\n$insert"
		  . "ROLLBACK TO a;\n${insert}SAVEPOINT b;\n${insert}RELEASE b;\nCOMMIT;\n"
	],
	prepared => [
		3, "\\set rows random(1, 40)\n\\set number random(1, 1000000000)\nBEGIN;\n$insert"
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
  SELECT ctid FROM <table> ORDER BY near LIMIT 100 FOR UPDATE SKIP LOCKED));
SQL
	delete_any => [ 2, <<'SQL' ],
\set low random(1, 1000000000)
DELETE FROM <table> WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM <table> WHERE scrambled BETWEEN :low AND :low + 50000000
  FOR UPDATE SKIP LOCKED));
SQL
	vacuum => [ 1, "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) <table>;\n" ],
	checkpoint => [ 1, "CHECKPOINT;\n" ],
);
$scripts{flush} = [ 2, <<"SQL" ] if $am ne 'btree';
SELECT ${am}_flush(('<table>_'
	|| (ARRAY['near', 'scrambled', 'few', 'label'])[1 + floor(random() * 4)])::regclass);
SQL
# This command would wait for a transaction that stays prepared.
my $rebuild = <<'SQL';
SELECT pg_try_advisory_lock(1) AS mine \gset
\if :mine
REINDEX INDEX CONCURRENTLY <table>_few;
SELECT pg_advisory_unlock(1);
\endif
SQL

my $directory = PostgreSQL::Test::Utils::tempdir();
my (@files, @rebuilds);
foreach my $table (qw(logged unlogged))
{
	foreach my $name (sort keys %scripts)
	{
		my ($weight, $text) = @{ $scripts{$name} };
		$weight *= 4 if $table eq 'logged';
		$text =~ s/<table>/$table/g;
		append_to_file("$directory/$table-$name", $text);
		push @files, '-f', "$directory/$table-$name\@$weight";
	}
	append_to_file("$directory/$table-rebuild", $rebuild =~ s/<table>/$table/gr);
	push @rebuilds, '-f', "$directory/$table-rebuild\@2";
}

# All fault points, in random order, again and again, with signals in between.
my @ways;

sub next_way
{
	if (!@ways)
	{
		@ways = (@points, @signals);
		foreach my $place (reverse 1 .. $#ways)
		{
			my $other = choose(0, $place);
			@ways[ $place, $other ] = @ways[ $other, $place ];
		}
	}
	return shift @ways;
}

# Sets the fault points of all sessions.
sub set_fault_points
{
	my ($points) = @_;
	unlink $fault_file;
	append_to_file($fault_file, "$am.fault_points = '$points'\n") if @points;
	$node->reload;
	return;
}

# Starts the server when the last process of its predecessor is gone, with the
# library preloaded, and a record cache, or not.
sub start_again
{
	my ($postmaster) = @_;
	my $conf = preload();
	$conf .= "sware.record_cache = 256kB\n" if $conf && pick(0, 1);
	$conf = '' if choose(1, 4) == 1;
	unlink $node->data_dir . '/preload.conf';
	append_to_file($node->data_dir . '/preload.conf', $conf);
	return start_after_crash($node, $postmaster);
}

$node->append_conf('postgresql.conf', "include_if_exists = 'preload.conf'\n");
append_to_file($node->data_dir . '/preload.conf', preload());
$node->restart;

# Checks of all indexes, and of what scans of them find, as one statement each.
sub complaints
{
	my ($table) = @_;
	my @statements;
	foreach my $key (@keys)
	{
		push @statements, check_statement("${table}_$key")
		  unless $key eq 'id' && $unique_am ne $am;
		push @statements, "SELECT disagreements('$table', '$key')";
	}
	my $status = $node->psql('postgres', join(";\n", @statements),
		stdout => \my $output, stderr => \my $errors, on_error_stop => 0);
	return join("\n", grep { /\S/ } $output, $errors);
}

my $crashes = 0;
my %died_of;
foreach my $cycle (1 .. $cycles)
{
	my $how = next_way();
	$how = 'SIGKILL of a session'
	  if (grep { $_ eq $how } @preloaded_points) && -z $node->data_dir . '/preload.conf';
	my $point = (grep { $_ eq $how } @points) ? $how : undef;
	my $consistency = pick(0, 0, 1);
	my $wal = int(2**(11 + rand(11)));
	my $name = "cycle $cycle";
	note("$name: $how after $wal bytes of WAL, wal_consistency_checking "
		  . ($consistency ? 'on' : 'off'));

	my $setup = "ALTER SYSTEM SET wal_consistency_checking = '"
	  . ($consistency ? 'generic' : '') . "';\n";
	if ($am ne 'btree')
	{
		$setup .= "ALTER INDEX logged_$_ SET (buffer_size = " . pick(64, 64, 64, 256, -1)
		  . ', forecast_fill = ' . pick('on', 'off')
		  . ', group_leaves = ' . ($how eq 'leaf-copied' ? 'on' : pick('on', 'off')) . ");\n"
		  foreach grep { $_ ne 'id' || $unique_am eq $am } @keys;
		# A session that has loaded the library knows its settings.  Runs of the entries
		# that 64 kB hold are too short to be appended in bulk.
		my $staging_size = $how eq 'append-written' ? 16384 : pick(64, 64, 64, 256, 16384);
		$setup .= "LOAD '$am';\nALTER SYSTEM SET sware.staging_size = $staging_size;\n";
		# Buffers have sorted pages, small as they are.
		$setup .= 'ALTER SYSTEM SET sware.fault_pages_to_sort = '
		  . ($how =~ /^sorted-/ ? 2 : pick(0, 2)) . ";\n";
	}
	# A transaction that is prepared before the crash, and the rows that it inserts.
	my $survivor = pick(0, 1);
	$setup .= <<"SQL" if $survivor;
BEGIN;
INSERT INTO logged SELECT -1000 * $cycle - i, (SELECT max(near) FROM logged), i, 5, 'survivor $cycle'
  FROM generate_series(1, @{[ pick(1, 20, 600) ]}) i;
PREPARE TRANSACTION 'survivor';
SQL
	$node->safe_psql('postgres', $setup);
	$node->reload;

	my ($output, $errors) = ('', '');
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port,
			'-c', '6', '-j', '2', '-T', '100000', '--max-tries', '100',
			'--random-seed', choose(1, 1_000_000), @files,
			($survivor ? () : @rebuilds), 'postgres'
		],
		'<', \undef, '>', \$output, '2>', \$errors, my $timer = IPC::Run::timeout(180));

	# This ends when the sessions have written enough.  It commits all the time, or
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
	if ($point)
	{
		set_fault_points("$point=kill");
	}
	elsif ($how eq 'SIGKILL of a session')
	{
		my $pid = $node->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
				AND pid <> pg_backend_pid() ORDER BY hashint4(pid + $cycle) LIMIT 1");
		kill 'KILL', $pid;
	}
	else
	{
		$how eq 'SIGKILL' ? $node->kill9 : $node->stop('immediate');
	}

	# The sessions end because the server does.
	if (!ok(eval { $load->finish; 1 }, "$name: the server dies of $how"))
	{
		$load->kill_kill;
		$node->stop('immediate');
	}
	# A session may learn of the end of its parallel workers before it hears of the server's.
	unlike($errors, qr/ERROR:  (?!lost connection to parallel worker)/,
		"$name: no session saw an error before the crash")
	  || diag($errors);
	$died_of{$how}++;

	# A server whose session died starts again by itself.
	set_fault_points('') if $point;
	ok( ($point || $how eq 'SIGKILL of a session' || start_again($postmaster))
		  && wait_for_answer($node, $point ? "SHOW $am.fault_points" : "SELECT ''", qr/^$/),
		"$name: the server recovers")
	  || diag(join("\n", (split /\n/, slurp_file($node->logfile))[ -30 .. -1 ]))
	  || BAIL_OUT('no recovery');
	$crashes++;

	# Checks while transactions are still prepared, and after they have ended.
	is(complaints('logged'), '', "$name: the indexes are right after recovery");
	my @prepared = split /\n/,
	  $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	is(scalar(grep { $_ eq 'survivor' } @prepared),
		$survivor, "$name: what was prepared is prepared")
	  if $survivor;
	if (@prepared)
	{
		$node->safe_psql('postgres',
			join(";\n", map { pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$_'" } @prepared));
		is(complaints('logged'), '', "$name: the indexes are right, with nothing prepared");
	}
	is(complaints('unlogged') . $node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'),
		'0', "$name: the unlogged table is empty");

	# Drop the indexes that an interrupted REINDEX CONCURRENTLY has left.
	my $leftover = $node->safe_psql('postgres',
		"SELECT indexrelid::regclass FROM pg_index
			WHERE NOT indisvalid OR indexrelid::regclass::text LIKE '%\\_cc%'");
	$node->safe_psql('postgres', "DROP INDEX $_") foreach split /\n/, $leftover;

	# The index can still be used.
	$node->safe_psql('postgres', <<"SQL");
DELETE FROM logged WHERE id < (SELECT max(id) FROM logged) - 6000
SQL
	$node->safe_psql('postgres', 'VACUUM logged') if pick(0, 1);
}
is($crashes, $cycles, 'every cycle ended in a crash');
note("died of $_: $died_of{$_} times") foreach sort keys %died_of;

# A leader of parallel VACUUM that loses its postmaster fails an assertion of
# PostgreSQL's own, in pgstat.c, on its way out.
my @complaints =
  grep { !/TRAP:.*!IsTransactionOrTransactionBlock\(\)".*pgstat\.c/ }
  grep_log($node, qr/PANIC|TRAP|inconsistent page|was terminated by signal (?!9\b)/);
is(join("\n", @complaints), '', 'nothing else crashed');

$node->stop;
done_testing();
