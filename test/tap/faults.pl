# Faults within every operation: an error and a kill at each named point of the
# source, each request for memory and for disk space refused, and sessions
# cancelled and terminated wherever they wait.  After each of them the index
# passes its check and agrees with its table, and takes further rows.
#
# By default, requests that come late in an operation are sampled, each point
# meets its fault in the first operation that passes it, and sessions that wait
# at a point are cancelled or terminated in turn.
#
# SWARE_FAULTS_EXHAUSTIVE=1 refuses each request, lets each operation meet its
# fault at each point that it passes, and cancels and terminates.
#
# SWARE_FAULTS_PARTS chooses from "points requests waits".

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $exhaustive = $ENV{SWARE_FAULTS_EXHAUSTIVE};
my %parts = map { $_ => 1 } split / /, $ENV{SWARE_FAULTS_PARTS} // 'points requests waits';

my $node = PostgreSQL::Test::Cluster->new('faults');
$node->init;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
max_prepared_transactions = 5
restart_after_crash = on
log_statement = none
sware.staging_size = 64kB
sware.buffer_size = 64kB
sware.record_cache = 256kB
sware.flush_workers = 0
CONF
$node->start;
prepare_database($node);
make_disagreements($node);

# The table is made anew before each fault: some of its rows are in the tree,
# some in the buffer.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int, key int, note text);
CREATE INDEX t_key ON t USING sware (key) INCLUDE (id) WITH (buffer_size = 64);
CREATE INDEX t_note ON t USING sware (note, key) WITH (buffer_size = 64);
CREATE TABLE u (id int, key int, note text);
CREATE UNIQUE INDEX u_key ON u USING sware (key) WITH (buffer_size = 64);

CREATE PROCEDURE prepare_tables() LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE t, u;
	INSERT INTO u SELECT i, i * 2, 'before' FROM generate_series(1, 400) i;
	INSERT INTO t SELECT i, i * 2, 'tree' FROM generate_series(1, 1500) i;
	COMMIT;
	FOR round IN 1 .. 4 LOOP
		INSERT INTO t SELECT 2000 + round * 100 + i, i * 20 + 1, 'buffer' FROM generate_series(1, 100) i;
		COMMIT;
	END LOOP;
END $$;

-- What is wrong with the table, or "fine".
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wrong text;
BEGIN
	PERFORM sware_check(index, true) FROM unnest('{t_key,t_note,u_key}'::regclass[]) index;
	SELECT string_agg(line, '; ') INTO wrong
	FROM (SELECT disagreements('t', 'key') AS line
	      UNION ALL SELECT disagreements('t', 'note')
	      UNION ALL SELECT disagreements('u', 'key')) AS lines;
	RETURN coalesce(wrong, 'fine');
END $$;

-- More rows, in every way that leads into an index.
CREATE PROCEDURE use_tables(number int) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO u SELECT 1000000 + i, 9000 + i, 'later' FROM generate_series(400, 420) i;
	INSERT INTO t SELECT 1000000 + number * 1000 + i, i * 7, 'later' FROM generate_series(1, 20) i;
	COMMIT;
	INSERT INTO t SELECT 1000020 + number * 1000 + i, 100000 + i, 'above' FROM generate_series(1, 300) i;
	COMMIT;
	DELETE FROM t WHERE key % 10 = 0;
	COMMIT;
END $$;
SQL

# The operations: what comes before the fault is armed, and the statements that
# meet it.
my $ordered = 'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;';
my $one_by_one = <<'SQL';
DO $$ BEGIN FOR n IN 1 .. 80 LOOP
  INSERT INTO u VALUES (5000 + n, 30000 + n, 'one');
  COMMIT;
END LOOP; END $$;
INSERT INTO u SELECT 5100 + i, 30100 + i, 'together' FROM generate_series(1, 40) i;
SQL
my %operations = (
	insert => [ '', <<'SQL' ],
INSERT INTO t SELECT 5000 + i, i * 30, 'new' FROM generate_series(1, 40) i;
SQL
	insert_at_once => [ 'SET sware.enable_buffer = off;', <<'SQL' ],
INSERT INTO t SELECT 5000 + i, i * 30, 'at once' FROM generate_series(1, 5) i;
SQL
	insert_serializable => [ '', <<'SQL' ],
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO t SELECT 5000 + i, i * 30, 'new' FROM generate_series(1, 40) i;
COMMIT;
SQL
	insert_unique => [ '', <<'SQL' ],
INSERT INTO u SELECT 5000 + i, 20000 + i, 'above' FROM generate_series(1, 400) i;
INSERT INTO u SELECT 6000 + i, (400 - i) * 2 + 1, 'between' FROM generate_series(1, 200) i;
SQL
	insert_unique_at_once => [ 'SET sware.enable_buffer = off;', <<'SQL' ],
INSERT INTO u SELECT 5000 + i, i * 30 + 1, 'at once' FROM generate_series(1, 5) i;
SQL
	insert_unique_one_by_one => [ '', $one_by_one ],
	insert_unique_buffered => [ 'SET sware.fault_buffer = on;', $one_by_one ],
	split => [ '', <<'SQL' ],
INSERT INTO t SELECT 5000 + i, 1000 + i % 7, 'split' || i FROM generate_series(1, 900) i;
SQL
	append => [ '', <<'SQL' ],
INSERT INTO t SELECT 5000 + i, 50000 + i, 'zzz' || i FROM generate_series(1, 2000) i;
SQL
	load => [ 'SET sware.staging_size = 64;', <<'SQL' ],
INSERT INTO t SELECT 5000 + i, 50000 + i + (i % 7) * 10, 'load' FROM generate_series(1, 4000) i;
SQL
	fill_buffer => [ '', <<'SQL' ],
DO $$ BEGIN FOR n IN 1 .. 20 LOOP
  INSERT INTO t SELECT 5000 + n * 200 + i, (n * 37 + i * 11) % 3000, 'page' FROM generate_series(1, 200) i;
  COMMIT;
END LOOP; END $$;
SQL
	sort_pages => [ "SET sware.fault_pages_to_sort = 2; $ordered", <<'SQL' ],
DO $$ BEGIN FOR n IN 1 .. 20 LOOP
  INSERT INTO t SELECT 5000 + n * 200 + i, hashint4(n * 200 + i) % 3000, 'page'
  FROM generate_series(1, 200) i;
  COMMIT;
END LOOP; END $$;
SELECT count(note) FROM (SELECT note FROM t WHERE key > -3000 ORDER BY key) s;
SQL
	savepoints => [ '', <<'SQL' ],
BEGIN;
INSERT INTO t SELECT 5000 + i, i * 30, 'kept' FROM generate_series(1, 40) i;
SAVEPOINT a;
INSERT INTO t SELECT 6000 + i, i * 30, 'dropped' FROM generate_series(1, 40) i;
ROLLBACK TO a;
INSERT INTO t SELECT 7000 + i, i * 30, 'kept' FROM generate_series(1, 40) i;
COMMIT;
SQL
	prepare => [ '', <<'SQL' ],
BEGIN;
INSERT INTO t SELECT 5000 + i, i * 30, 'prepared' FROM generate_series(1, 40) i;
PREPARE TRANSACTION 'p';
SQL
	make_room => [ "DELETE FROM t WHERE key BETWEEN 1000 AND 1200; $ordered
		SELECT count(note) FROM t WHERE key BETWEEN 1000 AND 1200; RESET ALL;", <<'SQL' ],
SET sware.enable_buffer = off;
INSERT INTO t SELECT 5000 + i, 1000 + i, 'room' FROM generate_series(1, 200) i;
SQL
	update => [ '', <<'SQL' ],
UPDATE t SET key = key + 1 WHERE key % 20 = 2;
SQL
	flush => [ '', <<'SQL' ],
SELECT sware_flush('t_key') + sware_flush('t_note');
SQL
	vacuum => [ 'DELETE FROM t WHERE key % 3 = 0 OR key BETWEEN 500 AND 2000;', <<'SQL' ],
VACUUM (INDEX_CLEANUP ON) t;
SQL
	group_leaves => [ 'INSERT INTO t SELECT 5000 + i, 9000 + (i * 37 % 3001), $$scattered$$
			FROM generate_series(1, 3001) i;
		SELECT sware_flush($$t_key$$);
		ALTER INDEX t_key SET (group_leaves);', <<'SQL' ],
VACUUM (INDEX_CLEANUP ON) t;
SQL
	scan => [ $ordered, <<'SQL' ],
SELECT count(*) FROM (SELECT key, note FROM t WHERE key > 10 ORDER BY key OFFSET 0) s;
SQL
	scan_index_only => [ $ordered, <<'SQL' ],
SELECT count(*) FROM (SELECT key FROM t WHERE key = ANY ('{1,21,41,100,200}') ORDER BY key DESC OFFSET 0) s;
SQL
	scan_of_record => [ $ordered, <<'SQL' ],
SELECT note FROM u WHERE key = 600;
SELECT note FROM u WHERE key = 600;
SQL
	scan_bitmap => [
		'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;', <<'SQL' ],
SELECT count(*) FROM t WHERE key BETWEEN 10 AND 900;
SQL
	scan_in_parallel => [ 'SET enable_seqscan = off; SET enable_bitmapscan = off;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0;', <<'SQL' ],
SELECT count(*), sum(length(note)) FROM t WHERE key > 10;
SQL
	scan_staged => [ $ordered, <<'SQL' ],
BEGIN;
INSERT INTO t SELECT 5000 + i, i * 30, 'staged' FROM generate_series(1, 40) i;
SELECT count(*) FROM (SELECT key, note FROM t WHERE key > 10 ORDER BY key OFFSET 0) s;
COMMIT;
SQL
	exclude => [ 'CREATE TABLE e (id int, key int, EXCLUDE USING sware (key WITH =));
		INSERT INTO e SELECT i, i FROM generate_series(1, 20) i;', <<'SQL' ],
INSERT INTO e VALUES (21, 21);
SQL
	build => [ '', <<'SQL' ],
CREATE INDEX t_other ON t USING sware (note, id);
SQL
	build_of_disorder => [ "INSERT INTO t SELECT i, i * 7919::bigint % 20011, 'disorder'
		FROM generate_series(1, 20000) i;", <<'SQL' ],
CREATE INDEX t_other ON t USING sware (key, id);
SQL
	build_in_parallel => [ 'ALTER TABLE t SET (parallel_workers = 2);
		SET max_parallel_maintenance_workers = 2;', <<'SQL' ],
CREATE INDEX t_other ON t USING sware (key, id);
SQL
	rebuild => [ '', <<'SQL' ],
REINDEX TABLE t;
SQL
);
# Statements that end a prepared transaction, and drop what an operation may have
# made.
my $clean = <<'SQL';
ROLLBACK;
SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts \gexec
DROP INDEX IF EXISTS t_other;
DROP TABLE IF EXISTS e;
ALTER TABLE t RESET (parallel_workers);
SQL

# The state that operations start from.
sub prepare_sql
{
	my ($operation) = @_;
	return "SET client_min_messages = warning;\nCALL prepare_tables();\n$operations{$operation}[0]\n";
}

# Fails the test unless the table is well, and stays so when it is used.
sub is_well
{
	my ($name) = @_;
	run_sql($node, $clean);
	my ($status, $stdout, $stderr) = run_sql($node, <<'SQL');
SELECT verdict();
CALL use_tables(1);
SELECT verdict();
VACUUM (INDEX_CLEANUP ON) t;
SELECT verdict();
SQL
	return is("$stdout$stderr", "fine\nfine\nfine", $name);
}

# Waits until the server has recovered from a crash that comes after an offset
# in its log; right after a kill it may still take connections.
sub wait_for_server
{
	my ($offset) = @_;
	return $node->wait_for_log(qr/database system is ready to accept connections/, $offset);
}

# The points that are named in the source.
my $source = "$FindBin::RealBin/../../src";
my %points;
foreach my $file (glob("$source/*.c $source/*/*.c"))
{
	my $text = slurp_file($file);
	$points{$1} = 1 while $text =~ /SWARE_FAULT_POINT\("([^"]+)"\)/g;
}
cmp_ok(scalar keys %points, '>', 20, 'the source names fault points');

# Which operation passes which points.
my %passing;
foreach my $operation (sort keys %operations)
{
	my ($status, $stdout, $stderr) = run_sql($node, prepare_sql($operation)
		  . "SET client_min_messages = notice; SET sware.fault_points = '*=notice';\n"
		  . "$operations{$operation}[1]\nRESET sware.fault_points; "
		  . "SET client_min_messages = warning; $clean");
	my %passed = map { $_ => 1 } $stderr =~ /NOTICE:  fault point "([^"]+)" was reached/g;
	note("$operation passes " . join(' ', sort keys %passed));
	unlike($stderr, qr/ERROR/, "$operation succeeds");
	push @{ $passing{$_} }, $operation foreach keys %passed;
}
# These are passed on a standby only, where tap/replica_index_only has errors at them,
# and by scans of pages that are not in shared buffers (tap/pages_ahead), or loads
# (tap/keys_ahead); beside another session that flushes (isolation/buffer-limit); by
# bitmap scans of more than 2,048 buffered entries (isolation/buffer-cursor-steps); and by
# flush workers (tap/flush_worker_faults).
delete @points{qw(scan-leaf-copied scan-map-read pages-ahead-asks readahead-of-key
	  flush-waiting bitmap-batch-added worker-begins)};
foreach my $point (sort keys %points)
{
	ok($passing{$point}, "point $point is passed");
}

# An error and a kill at each point, in the first operation that passes it.
foreach my $point ($parts{points} ? sort keys %passing : ())
{
	my @operations = @{ $passing{$point} };
	@operations = ($operations[0]) if !$exhaustive;
	foreach my $operation (@operations)
	{
		my ($status, $stdout, $stderr) = run_sql($node, prepare_sql($operation)
			  . "SET sware.fault_points = '$point=error';\n$operations{$operation}[1]");
		like($stderr, qr/fault point "$point" was reached/, "$operation fails at $point");
		is_well("all is well after an error at $point in $operation");

		my $offset = -s $node->logfile;
		($status, $stdout, $stderr) = run_sql($node, prepare_sql($operation)
			  . "SET sware.fault_points = '$point=kill';\n$operations{$operation}[1]");
		is($status, 2, "$operation is killed at $point");
		wait_for_server($offset);
		is_well("all is well after a kill at $point in $operation");
	}
}

# The numbers of the requests that are refused, one at a time: all, or the first
# ones and a sample of the others.
sub numbers
{
	my ($all) = @_;
	my @numbers = (1);
	while ($numbers[-1] < 50_000)
	{
		push @numbers, $all || $numbers[-1] < 8 ? $numbers[-1] + 1 : int($numbers[-1] * 1.6);
	}
	return @numbers;
}

# Refuses requests until an operation meets none that is refused; parallel
# workers count their own. All this is one script for psql, in one session.
sub refuse_requests
{
	my ($setting, $operation, $error, @numbers) = @_;
	my ($prepare, $statements) = (prepare_sql($operation), $operations{$operation}[1]);
	my $script = "\\set done false\n" . join('', map { <<"SQL" } @numbers);
\\if :done
\\else
$prepare
SET $setting = $_;
$statements
\\set failed :ERROR
ROLLBACK;
SELECT current_setting('$setting')::int > 0 AND NOT :'failed' AS done \\gset
RESET $setting;
$clean
SELECT 'request $_: ' || CASE WHEN :'done' THEN 'not made, ' ELSE '' END || verdict();
CALL use_tables(1);
SELECT 'request $_, later: ' || verdict();
\\endif
SQL
	my ($status, $stdout, $stderr) = run_sql($node, $script);
	my @verdicts = split /\n/, $stdout;
	my $refused = grep { /^request \d+: fine$/ } @verdicts;
	cmp_ok($refused, '>', 0, "$setting: $operation is refused $refused requests");
	like($stdout, qr/^request \d+: not made, fine$/m, "$setting: $operation succeeds in the end");
	is(join("\n", grep { !/^request \d+(: |: not made, |, later: )fine$/ && /^request/ } @verdicts),
		'', "$setting: all is well after each of them");
	my @unexpected = grep { /ERROR|FATAL|PANIC|closed/
		&& !/ERROR:  ($error|current transaction is aborted|savepoint "a" does not exist)/ }
	   split /\n/, $stderr;
	is(join("\n", @unexpected), '', "$setting: $operation raises the errors that it should");
	is(scalar(() = $stderr =~ /ERROR:  $error/g), $refused, "$setting: one error for each");
	return;
}

# The operations that extend an index, or make a new one.
my %extending = map { $_ => 1 } qw(split append load fill_buffer sort_pages build rebuild);
foreach my $operation ($parts{requests} ? sort keys %operations : ())
{
	refuse_requests('sware.fail_allocation', $operation, 'out of memory', numbers($exhaustive));
	refuse_requests('sware.fail_extension', $operation, 'no space left on device', numbers($exhaustive))
	  if $extending{$operation};
}

# When a request is refused in any step of a look-up, the session keeps nothing of
# the look-up but the scan that it keeps for later ones.
if ($parts{requests})
{
	my $script = "CREATE TABLE looked_up (k int);
		CREATE UNIQUE INDEX looked_up_key ON looked_up USING sware (k);\n"
	  . "INSERT INTO looked_up SELECT generate_series(1, 20);\n"
	  . join('', map { <<"SQL" } 1 .. 60)
INSERT INTO looked_up VALUES (1);
SET sware.fail_allocation = $_;
INSERT INTO looked_up VALUES (100 + $_);
RESET sware.fail_allocation;
SQL
	  . "SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'sware look-up';\n"
	  . "DROP TABLE looked_up;";
	my ($status, $stdout, $stderr) = run_sql($node, $script);
	like($stderr, qr/out of memory/, 'requests for memory are refused');
	is($stdout, '1', 'one scan for look-ups stays');
}

my @interrupts = qw(pg_cancel_backend pg_terminate_backend);
my $turn = 0;
foreach my $point ($parts{waits} ? sort keys %passing : ())
{
	my $operation = $passing{$point}[0];
	foreach my $function ($exhaustive ? @interrupts : $interrupts[ $turn++ % 2 ])
	{
		run_sql($node, prepare_sql($operation));
		my $holder = start_holder($node, 'SELECT pg_advisory_lock(23265);');
		my $settings = $operations{$operation}[0];
		$settings = '' if $settings =~ /^(DELETE|CREATE|INSERT|ALTER)/;
		interrupt($node, $function, "wait_event = 'advisory'",
			"$settings\nSET sware.fault_points = '$point=wait';\n$operations{$operation}[1]",
			$holder, "$function at $point in $operation");
		is_well("all is well after $function at $point in $operation");
	}
}

# The waits that there are without any fault point.
my %waits = (
	'for the flush lock' => [ 'flush-sealed', 'SELECT sware_flush(\'t_key\');',
		'SELECT sware_flush(\'t_key\');', "wait_event_type = 'Lock' AND wait_event = 'page'" ],
	'for the flush lock in VACUUM' => [ 'flush-sealed', 'SELECT sware_flush(\'t_key\');',
		'VACUUM (INDEX_CLEANUP ON) t;', "wait_event_type = 'Lock' AND wait_event = 'page'" ],
	'for a key' => [ 'unique-locked', 'SET sware.enable_buffer = off; INSERT INTO u VALUES (1, 5001);',
		'SET sware.enable_buffer = off; INSERT INTO u VALUES (2, 5001);',
			"wait_event_type <> 'Client' AND state = 'active'" ],
	'for another transaction' => [ undef, 'BEGIN; INSERT INTO u VALUES (1, 5001);',
		'INSERT INTO u VALUES (2, 5001);', "wait_event_type = 'Lock' AND wait_event = 'transactionid'" ],
	'for a pin, in VACUUM' => [ undef, "BEGIN; $ordered
		DECLARE c CURSOR FOR SELECT key, id FROM t WHERE key > 1000 ORDER BY key; FETCH 1 FROM c;",
		'VACUUM (INDEX_CLEANUP ON) t;', "wait_event IN ('BufferPin', 'BufferCleanup')" ],
);
foreach my $wait ($parts{waits} ? sort keys %waits : ())
{
	my ($point, $before, $statement, $event) = @{ $waits{$wait} };
	foreach my $function (@interrupts)
	{
		run_sql($node, "CALL prepare_tables(); VACUUM t; DELETE FROM t WHERE key % 3 = 0;"
		  . "INSERT INTO t SELECT 9000 + i, i * 3, 'buffer' FROM generate_series(1, 50) i;");
		my ($barrier, $holder);
		if ($point)
		{
			$barrier = start_holder($node, 'SELECT pg_advisory_lock(23265);');
			$holder = start_session($node, 'at point', "SET sware.fault_points = '$point=wait';\n$before\n");
			wait_until($node, 'at point', "wait_event = 'advisory'");
		}
		else
		{
			$holder = start_holder($node, $before);
		}
		interrupt($node, $function, $event, $statement, undef, "$function while waiting $wait");
		end_session($node, $barrier) if $barrier;
		end_session($node, $holder);
		is_well("all is well after $function while waiting $wait");
	}
}

$node->stop;
is(join("\n", grep_log($node, qr/TRAP:|PANIC:|signal (6|11):/)), '', 'no process failed an assertion');
done_testing();
