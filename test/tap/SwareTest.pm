# What the TAP tests share: the access method under test, seeds, the structural
# check, the comparison of index scans with sequential scans, and load by pgbench.
#
# Environment:
#   SWARE_TEST_AM     access method under test (default sware; with btree the
#                     tests test themselves, with amcheck as the check)
#   SWARE_TEST_SEED   repeats the random choices of an earlier run

package SwareTest;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(SEEK_SET);
use IPC::Run ();
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(am choose pick skip_file prepare_database preload fill_buffers
  check_statement check_index
  flush_statement index_agrees make_disagreements make_mark_count make_verdicts has_good_indexes
  sequential_summary ordered_summary grep_log did_not_crash unlogged_is_empty
  run_sql start_standby script_files start_load load_goes_on stop_load ask_beside_load
  $ordered_scan $sequential_scan start_after_crash wait_for_answer
  start_session wait_until signal_session start_holder end_session interrupt
  start_server_to_damage read_page write_page uint32_at line_pointer $page_size);

my $am = $ENV{SWARE_TEST_AM} // 'sware';
my $seed = $ENV{SWARE_TEST_SEED} // int(rand(2**31));
srand($seed);
note("seed: repeat with SWARE_TEST_SEED=$seed");

# Settings that leave the planner ordered index scans only.
our $ordered_scan = join(' ',
	map { "SET enable_$_ = off;" } qw(seqscan bitmapscan sort));

# Settings that leave the planner sequential scans only.
our $sequential_scan =
  join(' ', map { "SET enable_$_ = off;" } qw(indexscan indexonlyscan bitmapscan));

our $page_size = 8192;

# The access method under test.
sub am
{
	return $am;
}

# A seeded random integer, both ends included.
sub choose
{
	my ($low, $high) = @_;
	return $low + int(rand($high - $low + 1));
}

# A seeded random element.
sub pick
{
	my @list = @_;
	return $list[ choose(0, $#list) ];
}

# Ends a test that cannot be made on this machine or server: it counts as skipped.
sub skip_file
{
	my ($reason) = @_;
  SKIP: { skip $reason, 1; }
	done_testing();
	exit;
}

# The line of postgresql.conf that loads the library when the server starts.
sub preload
{
	return $am eq 'btree' ? '' : "shared_preload_libraries = '$am'\n";
}

# The setting with which rows in order wait in the buffer, too.
sub fill_buffers
{
	return $am eq 'sware' ? "sware.fault_buffer = on\n" : '';
}

sub prepare_database
{
	my ($node) = @_;
	my $extension = $am eq 'btree' ? 'amcheck' : $am;
	$node->safe_psql('postgres', "CREATE EXTENSION $extension");
	return;
}

# The statement that checks an index against its own rules and its table.
sub check_statement
{
	my ($index) = @_;
	my $function = $am eq 'btree' ? 'bt_index_check' : "${am}_check";
	return "SELECT $function('$index', true)";
}

# Fails the test unless the structural check passes.
sub check_index
{
	my ($node, $index, $name) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $node->psql(
		'postgres', check_statement($index),
		stdout => \$stdout,
		stderr => \$stderr);
	return ok($status == 0, "$name: check of $index") || diag($stderr);
}

# A statement that moves everything from the buffers of indexes to their trees; nothing
# for nbtree to do.
sub flush_statement
{
	return $am eq 'btree' ? 'SELECT 1' : join('; ', map { "SELECT ${am}_flush('$_')" } @_);
}

# A query for count, distinct identifiers, whether the keys come in order, and
# a digest that does not depend on the order of equal keys.  Input is any
# SELECT of "key" and "id".
sub summary_query
{
	my ($rows, $descending) = @_;
	my $wrong = $descending ? 'key > before' : 'key < before';
	return <<"SQL";
WITH found AS MATERIALIZED ($rows)
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE $wrong),
       md5(string_agg(coalesce(key::text, 'null') || ' ' || id, ',' ORDER BY key, id))
FROM (SELECT key, id, lag(key) OVER () AS before FROM found) compared;
SQL
}

# The summary of what a sequential scan finds.
sub sequential_summary
{
	my ($table, $key) = @_;
	return $sequential_scan
	  . summary_query("SELECT $key AS key, id FROM $table ORDER BY 1");
}

# The summary of what an ordered index scan finds.
sub ordered_summary
{
	my ($table, $key, $descending) = @_;
	my $order = $descending ? 'DESC' : 'ASC';
	return $ordered_scan
	  . summary_query("SELECT $key AS key, id FROM $table ORDER BY $key $order",
		$descending);
}

# Fails the test unless the index on a column gives each row that a sequential
# scan gives exactly once and in order: forwards, backwards, and as a bitmap.
sub index_agrees
{
	my ($node, $table, $key, $name) = @_;
	my $sequential =
	  $node->safe_psql('postgres', sequential_summary($table, $key));

	my $plan = $node->safe_psql('postgres',
		"$ordered_scan EXPLAIN (COSTS OFF) SELECT $key, id FROM $table ORDER BY $key");
	like($plan, qr/Index (Only )?Scan/, "$name: the scan of $table.$key uses an index");

	foreach my $descending (0, 1)
	{
		is( $node->safe_psql(
				'postgres', ordered_summary($table, $key, $descending)),
			$sequential,
			"$name: $table.$key "
			  . ($descending ? 'backwards' : 'forwards')
			  . ' is what a sequential scan finds');
	}
	is( $node->safe_psql(
			'postgres',
			"SET enable_seqscan = off; SET enable_indexscan = off; "
			  . "SET enable_indexonlyscan = off; "
			  . summary_query("SELECT $key AS key, id FROM $table "
				  . "WHERE $key IS NOT NULL OR $key IS NULL ORDER BY 1")),
		$sequential,
		"$name: a bitmap of $table.$key is what a sequential scan finds");
	return;
}

# Makes an SQL function that does the same as index_agrees in one snapshot, if
# its transaction has one: disagreements(table, key) returns what is wrong.
sub make_disagreements
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION use_scans(kinds text) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('enable_' || name,
      CASE WHEN name = ANY (string_to_array(kinds, ' ')) THEN 'on' ELSE 'off' END, true)
  FROM unnest(ARRAY['seqscan', 'indexscan', 'indexonlyscan', 'bitmapscan', 'sort']) AS name
$$;

CREATE FUNCTION summary(query text, wrong text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
BEGIN
  EXECUTE format('WITH found AS MATERIALIZED (%s)
    SELECT count(*) || '' rows, '' || count(DISTINCT id) || '' distinct, ''
           || count(*) FILTER (WHERE key %s before) || '' out of order, digest ''
           || coalesce(sum(hashtextextended(coalesce(key::text, ''null'') || '' '' || id, 0)), 0)
    FROM (SELECT key, id, lag(key) OVER () AS before FROM found) compared', query, wrong)
  INTO result;
  RETURN result;
END $$;

CREATE FUNCTION disagreements(tbl text, key text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  query text := format('SELECT %s AS key, id FROM %s', key, tbl);
  ordered text := query || ' ORDER BY 1';
  bitmap text := query || format(' WHERE %s IS NOT NULL OR %s IS NULL ORDER BY 1', key, key);
  expected text;
  found text;
  line text;
  plan text := '';
BEGIN
  PERFORM use_scans('seqscan sort');
  expected := summary(ordered, '<');
  PERFORM use_scans('indexscan indexonlyscan');
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || ordered LOOP
    plan := plan || line;
  END LOOP;
  IF plan !~ '^Index (Only )?Scan' THEN
    RETURN NEXT format('%s.%s: no index scan: %s', tbl, key, plan);
  END IF;
  found := summary(ordered, '<');
  IF found <> expected THEN
    RETURN NEXT format('%s.%s forwards: %s; by a sequential scan: %s', tbl, key, found, expected);
  END IF;
  found := summary(ordered || ' DESC', '>');
  IF found <> expected THEN
    RETURN NEXT format('%s.%s backwards: %s; by a sequential scan: %s', tbl, key, found, expected);
  END IF;
  PERFORM use_scans('bitmapscan sort');
  found := summary(bitmap, '<');
  IF found <> expected THEN
    RETURN NEXT format('%s.%s as a bitmap: %s; by a sequential scan: %s', tbl, key, found, expected);
  END IF;
  PERFORM use_scans('seqscan indexscan indexonlyscan bitmapscan sort');
END $$;
SQL
	return;
}

# Makes an SQL function that counts the marked entries of an index's leaves.
sub make_mark_count
{
	my ($node) = @_;
	return if $am eq 'btree';
	$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION marked(index regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE dead)
	FROM generate_series(1, pg_relation_size(index) / current_setting('block_size')::int - 1) AS block,
		sware_page_stats(index, block) AS page, sware_page_items(index, block) AS item
	WHERE page.kind = 'leaf'
$$;
SQL
	return;
}

# Starts a server when the last process of its predecessor, of which the number
# of the first is given, is gone.
sub start_after_crash
{
	my ($node, $postmaster) = @_;
	foreach my $attempt (1 .. 3000)
	{
		return 1 if !kill(0, $postmaster) && $node->start(fail_ok => 1);
		usleep(20_000);
	}
	return 0;
}

# Runs a query until it gives an answer, which must not take for ever.
sub wait_for_answer
{
	my ($node, $query, $wanted) = @_;
	foreach my $attempt (1 .. 3000)
	{
		my $output;
		# It dies when it cannot connect.
		return 1
		  if eval { $node->psql('postgres', $query, stdout => \$output) == 0 }
		  && $output =~ $wanted;
		usleep(20_000);
	}
	return 0;
}

# Makes verdict_on(table, ...) in a database, see test/lib/verdict.sql.
sub make_verdicts
{
	my ($node, $database) = @_;
	my $directory = $INC{'SwareTest.pm'} =~ s{[^/]*$}{}r;
	$node->safe_psql($database, PostgreSQL::Test::Utils::slurp_file("$directory/../lib/verdict.sql"));
	return;
}

# Fails the test unless all sware indexes of tables (separated by commas) are right;
# those of dead rows may be in them.
sub has_good_indexes
{
	my ($node, $database, $tables, $name, $rows) = @_;
	my $names = join(', ', map { "'$_'" } split /, */, $tables);
	my $verdict = $node->safe_psql($database, "SELECT verdict_on($names)");
	my $expected = defined $rows ? qr/^$rows rows, [1-9]\d* indexes/ : qr/^\d+ rows, [1-9]\d* indexes/;
	return like($verdict, $expected, "$name: indexes of $tables");
}

# The lines of a server's log, from an offset on, that match.
sub grep_log
{
	my ($node, $pattern, $offset) = @_;
	my $log =
	  PostgreSQL::Test::Utils::slurp_file($node->logfile, $offset // 0);
	return grep { /$pattern/ } split /\n/, $log;
}

# Fails the test if a server's log reports a crash, or a page that replay made
# differently, or if it has lines of a further pattern.
sub did_not_crash
{
	my ($node, $name, $also) = @_;
	my $crash = qr/PANIC|TRAP|inconsistent page|was terminated by signal/;
	my @lines = grep_log($node, defined $also ? qr/$crash|$also/ : $crash);
	return is(scalar(@lines), 0, $name) || diag(join("\n", @lines));
}

# Runs SQL in a session of its own; returns its status, output and errors.
sub run_sql
{
	my ($node, $sql) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $node->psql('postgres', $sql,
		stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	return ($status, $stdout, $stderr);
}

# Fails the test unless table "unlogged", which has had rows and an index on its key,
# is empty after recovery, and works.
sub unlogged_is_empty
{
	my ($node, $name) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'), '0',
		"$name: an unlogged table is empty");
	$node->safe_psql('postgres', 'INSERT INTO unlogged SELECT generate_series(1, 3000)');
	return check_index($node, 'unlogged_key', $name);
}

# Starts a standby of a server, for which the primary keeps nothing back.  Replay waits
# for queries that it would harm for `delay` milliseconds at most, or always (-1).
sub start_standby
{
	my ($primary, $delay) = @_;
	$primary->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'copy', has_streaming => 1);
	$standby->append_conf('postgresql.conf', <<"CONF");
hot_standby_feedback = off
max_standby_streaming_delay = $delay
CONF
	$standby->start;
	return $standby;
}

# Writes scripts for pgbench.  Returns its arguments, in the order of the names, which
# may end in "@" and the script's weight.
sub script_files
{
	my (%scripts) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my @arguments;
	foreach my $name (sort keys %scripts)
	{
		my ($file) = $name =~ /^([^@]*)/;
		PostgreSQL::Test::Utils::append_to_file("$directory/$file", $scripts{$name});
		push @arguments, '-f', "$directory/$name";
	}
	return @arguments;
}

# Starts sessions that run pgbench's scripts until they are killed, or their server is
# gone.  What they say about errors goes to a string, if a reference to one comes last.
sub start_load
{
	my ($node, $clients, @arguments) = @_;
	my $errors = ref $arguments[-1] ? pop @arguments : \my $unread;
	return IPC::Run::start(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $clients, '-T', '100000',
			'--random-seed', choose(1, 1_000_000), @arguments, 'postgres'
		],
		'<', \undef, '>', \my $output, '2>', $errors, IPC::Run::timeout(1200));
}

# Do they go on?  Reads what they have said: without that, it would not be seen that
# they have come to their end.
sub load_goes_on
{
	my ($load) = @_;
	foreach my $pipe ('of output', 'of errors')
	{
		$load->pump_nb if $load->pumpable;
	}
	return $load->pumpable;
}

# Kills them, and waits until the server has no sessions left.
sub stop_load
{
	my ($node, $load) = @_;
	$load->kill_kill;
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	return;
}

# Runs pgbench's scripts a number of times in each of some sessions.  Returns how many
# transactions came to their end, how many were cancelled, and all other errors.
sub ask_beside_load
{
	my ($node, $clients, $times, @scripts) = @_;
	my ($output, $errors) = ('', '');
	my ($done, $cancelled) = (0, 0);
	IPC::Run::run(
		[
			'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $clients, '-t', $times,
			'--max-tries=1', '--random-seed', choose(1, 1_000_000), @scripts, 'postgres'
		],
		'<', \undef, '>', \$output, '2>', \$errors);
	$done = $1 if $output =~ /transactions actually processed: (\d+)/;
	$cancelled = $1 if $output =~ /failed transactions: (\d+)/;
	# At the end of a transaction, a conflict ends the session.
	$cancelled += () = $errors =~ /perhaps the backend died/g;
	return ($done, $cancelled, join("\n", grep { /ERROR/ } split /\n/, $errors));
}

# A server without checksums, for tests that damage pages, which checksums would find
# before the index gets to see them. Takes further settings, and options of init.
sub start_server_to_damage
{
	my ($name, $settings, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%options);
	$node->command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'checksums are off')
	  if $node->pg_version >= 18;
	$node->append_conf('postgresql.conf', <<'CONF' . ($settings // ''));
autovacuum = off
fsync = off
statement_timeout = '60s'
log_statement = none
CONF
	$node->start;
	prepare_database($node);
	return $node;
}

# A page of a file.
sub read_page
{
	my ($file, $block) = @_;
	open my $handle, '<:raw', $file or die "could not open $file: $!";
	seek($handle, $block * $page_size, SEEK_SET) or die "could not seek: $!";
	read($handle, my $page, $page_size) == $page_size or die 'could not read';
	close $handle;
	return $page;
}

# Overwrites a page of a file.
sub write_page
{
	my ($file, $block, $page) = @_;
	open my $handle, '+<:raw', $file or die "could not open $file: $!";
	seek($handle, $block * $page_size, SEEK_SET) or die "could not seek: $!";
	print $handle $page;
	close $handle or die "could not write: $!";
	return;
}

# A number of 4 bytes on a page: reads it, or changes it.
sub uint32_at
{
	my ($page, $offset, $value) = @_;
	substr($$page, $offset, 4) = pack('L', $value) if defined $value;
	return unpack('L', substr($$page, $offset, 4));
}

# A line pointer, counted from 1: start, flags and length of the item.
sub line_pointer
{
	my ($page, $number) = @_;
	my $bits = unpack('L', substr($$page, 20 + 4 * $number, 4));
	return ($bits & 0x7fff, ($bits >> 15) & 3, $bits >> 17);
}

# Starts a session in the background.
sub start_session
{
	my ($node, $name, $sql) = @_;
	local $ENV{PGAPPNAME} = $name;
	my $session = { name => $name, out => '', err => '' };
	# from a file: IPC::Run feeds a program only while it is waited for
	my $file = PostgreSQL::Test::Utils::tempdir() . '/session.sql';
	PostgreSQL::Test::Utils::append_to_file($file, $sql);
	$session->{run} = IPC::Run::start(
		[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file ],
		'>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Waits until a session is in a state of pg_stat_activity.
sub wait_until
{
	my ($node, $name, $condition) = @_;
	return $node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = '$name' AND $condition")
	  || BAIL_OUT("$name never was: $condition");
}

# Calls a function with the process ID of a session.
sub signal_session
{
	my ($node, $name, $function) = @_;
	return $node->safe_psql('postgres',
		"SELECT $function(pid) FROM pg_stat_activity WHERE application_name = '$name'");
}

# A session that does something, and keeps what it has.
sub start_holder
{
	my ($node, $sql) = @_;
	my $holder = start_session($node, 'holder', "$sql\nSELECT pg_sleep(3600);\n");
	wait_until($node, 'holder', "wait_event = 'PgSleep'");
	return $holder;
}

# Terminates a session.
sub end_session
{
	my ($node, $session) = @_;
	signal_session($node, $session->{name}, 'pg_terminate_backend');
	$session->{run}->finish;
	return;
}

# Cancels or terminates a session that waits.
sub interrupt
{
	my ($node, $function, $event, $sql, $release, $name) = @_;
	my $victim = start_session($node, 'victim', $sql);
	wait_until($node, 'victim', $event);
	signal_session($node, 'victim', $function);
	# where it holds locks on pages, it goes on waiting until it is released
	end_session($node, $release) if $release;
	$victim->{run}->finish;
	like($victim->{err}, $function eq 'pg_cancel_backend'
		? qr/canceling statement/ : qr/terminating connection/, $name);
	return;
}

1;
