# Index-only scans on a standby.  A scan trusts the visibility map for the entries of a
# leaf that it has copied, and redo of VACUUM waits for no pin of it.  On the primary, too,
# it trusts the map for entries of the buffer, which it has copied.  So the scan is
# stopped between its steps, while VACUUM on the primary removes entries, lets their TIDs
# be reused and makes their pages all-visible.  Then the same goes on under load, and
# the standby is promoted in the middle of open cursors.
#
# SWARE_INDEX_ONLY_ROUNDS sets how often queries run under load (default 3).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_INDEX_ONLY_ROUNDS} // 3;
my $am = am();
my $direct = $am eq 'btree' ? '' : 'SET sware.enable_buffer = off;';

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
max_wal_size = '4GB'
wal_keep_size = '2GB'
log_statement = none
CONF
$primary->start;
prepare_database($primary);
make_disagreements($primary);
my $standby = start_standby($primary, 0);

# Each row has a page of the table to itself, because a scan pins the page of the row that
# it has looked at last, and redo of VACUUM would wait for that pin.  Three rows are dead,
# and the others all-visible.  Of the dead ones a scan looks up the first one in its
# direction with its first batch of entries, and the others later.
my @dead = (3, 60, 98);
my %is_dead = map { $_ => 1 } @dead;
my @rows = grep { !$is_dead{$_} } 1 .. 100;

# With entries in the buffer, too: of rows above the others, and of two between them.
my @buffered = (12, 50, 101 .. 120);

sub make_table
{
	my ($name, $with_buffer) = @_;
	my %skipped = map { $_ => 1 } ($with_buffer ? @buffered : ());
	my $in_tree = join(', ', map { "($_, repeat('x', 5000))" } grep { !$skipped{$_} } 1 .. 100);
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE $name (a int, filler text) WITH (autovacuum_enabled = off, vacuum_truncate = off);
ALTER TABLE $name ALTER filler SET STORAGE PLAIN;
CREATE INDEX ${name}_a ON $name USING $am (a);
$direct
INSERT INTO $name VALUES $in_tree;
SQL
	$primary->safe_psql('postgres', "VACUUM (FREEZE) $name");
	if ($with_buffer)
	{
		$primary->safe_psql('postgres', "INSERT INTO $name VALUES ($_, repeat('b', 5000))") foreach @buffered;
	}
	$primary->safe_psql('postgres', "DELETE FROM $name WHERE a IN (@{[ join(', ', @dead) ]})");
	$primary->wait_for_catchup($standby);
	return;
}

# The same rows, all of them in the buffer, and all-visible before some were deleted.
sub make_buffered_table
{
	my ($name) = @_;
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE $name (a int, filler text) WITH (autovacuum_enabled = off, vacuum_truncate = off);
ALTER TABLE $name ALTER filler SET STORAGE PLAIN;
CREATE INDEX ${name}_a ON $name USING $am (a);
SQL
	$primary->safe_psql('postgres',
		join(';', map { "INSERT INTO $name VALUES ($_, repeat('x', 5000))" } reverse 1 .. 100));

	# To freeze rows, VACUUM waits for a page that the checkpointer is writing; otherwise
	# it would leave that as it is.
	$primary->safe_psql('postgres', "VACUUM (FREEZE, INDEX_CLEANUP OFF) $name");
	is($primary->safe_psql('postgres', "SELECT relallvisible FROM pg_class WHERE relname = '$name'"),
		100, 'all pages of the table are all-visible');
	is($primary->safe_psql('postgres', "SELECT sum(entries) FROM sware_buffer_pages('${name}_a')"),
		100, 'all entries are in the buffer');
	$primary->safe_psql('postgres', "DELETE FROM $name WHERE a IN (@{[ join(', ', @dead) ]})");
	$primary->wait_for_catchup($standby);
	return;
}

sub vacuum
{
	my ($name, $freeze) = @_;
	$freeze //= '';
	$primary->safe_psql('postgres', "VACUUM ($freeze INDEX_CLEANUP ON) $name");

	# VACUUM may end before its WAL has been written, so wait for all that was inserted.
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

# Inserts rows where VACUUM has made room, and returns their TIDs.
sub insert_again
{
	my ($table, @keys) = @_;
	my $rows = join(', ', map { "($_, repeat('n', 5000))" } @keys);
	return $primary->safe_psql('postgres', "$direct INSERT INTO $table VALUES $rows RETURNING ctid");
}

# What the table has to give, in either order.
sub expected
{
	my ($with_buffer, $descending) = @_;
	my @all = sort { $a <=> $b } @rows, grep { $_ > 100 } ($with_buffer ? @buffered : ());
	return join("\n", $descending ? reverse @all : @all);
}

# The setting of a parallel plan.
my $in_parallel = join(' ',
	map { "SET $_ = 0;" }
	  qw(parallel_setup_cost parallel_tuple_cost min_parallel_index_scan_size min_parallel_table_scan_size))
  . ' SET cpu_tuple_cost = 1; SET max_parallel_workers_per_gather = 2;';
my $few_ranges = join(',', 1 .. 120);
my %scans = (
	'forward' => { query => 'SELECT a FROM %s WHERE a > 0 ORDER BY a' },
	'backward' => { query => 'SELECT a FROM %s WHERE a > 0 ORDER BY a DESC', descending => 1 },
	'by an array' => { query => "SELECT a FROM %s WHERE a = ANY ('{$few_ranges}') ORDER BY a" },
	'by an array, backward' => {
		query => "SELECT a FROM %s WHERE a = ANY ('{$few_ranges}') ORDER BY a DESC", descending => 1 },
	'in parallel' => {
		query => 'SELECT a FROM %s WHERE a > 0 ORDER BY a', settings => $in_parallel,
		plan => qr/Gather.*Parallel Index Only Scan/s });

# Runs a scan that waits at a point, on the standby or another server, perhaps beside others
# that wait.  Returns when it waits.
my @points = $am eq 'btree' ? () : ('scan-leaf-copied', 'scan-map-read');
my @points_of_buffer = $am eq 'btree' ? () : ('batch-copied', 'batch-map-read');
my $waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
my $locker;
sub start_scan
{
	my ($scan, $table, $point, $node) = @_;
	$node //= $standby;
	my $query = sprintf($scan->{query}, $table);
	my $settings = "$ordered_scan @{[ $scan->{settings} // '' ]}";
	like($node->safe_psql('postgres', "$settings EXPLAIN (COSTS OFF) $query"),
		$scan->{plan} // qr/^Index Only Scan/m, 'an index-only scan is planned');
	if (!$locker)
	{
		$locker = $node->background_psql('postgres', on_error_stop => 1);
		$locker->query_safe('SELECT pg_advisory_lock(23265)');
	}
	my $others = $node->safe_psql('postgres', $waiting);
	my $run = { errors => '', output => '' };
	$run->{process} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
			'-c', "$settings SET sware.fault_points = '$point=wait'", '-c', $query
		],
		'<', \undef, '>', \$run->{output}, '2>', \$run->{errors}, IPC::Run::timeout(600));
	$node->poll_query_until('postgres', "SELECT ($waiting) > $others")
	  or BAIL_OUT("no scan waits at $point");
	return $run;
}

# Lets all that wait go on, and waits for their end.
sub end_scans
{
	my @runs = @_;
	$locker->query_safe('SELECT pg_advisory_unlock(23265)');
	$_->{process}->finish foreach @runs;
	$locker->quit;
	undef $locker;
	chomp $_->{output} foreach @runs;
	return;
}

# A plan with no look at the table.
make_table('plain', 0);
vacuum('plain');
like(
	$standby->safe_psql('postgres',
		"$ordered_scan EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT a FROM plain WHERE a > 0"),
	qr/Index Only Scan using plain_a.*Heap Fetches: 0/s, 'an index-only scan of the standby');
is($standby->safe_psql('postgres', "$ordered_scan SELECT a FROM plain WHERE a > 0"),
	expected(), 'its answer');
is($standby->safe_psql('postgres', "SELECT pg_index_column_has_property('plain_a', 1, 'returnable')"),
	't', 'the standby says that the index returns its column');

# Of a leaf with many rows, the first ones are read and looked up before the others, so that a
# scan for a few rows does not pay for all.
if ($am ne 'btree')
{
	my $count_parts = sub {
		my ($limit) = @_;
		my ($stdout, $stderr);
		$standby->psql('postgres',
			"$ordered_scan SET sware.fault_points = 'scan-leaf-copied=notice';
			SELECT a FROM plain WHERE a > 0 ORDER BY a LIMIT $limit",
			stdout => \$stdout, stderr => \$stderr);
		return scalar(() = $stderr =~ /was reached/g);
	};
	is($count_parts->(1), 1, 'a scan for one row looks up one part of the leaf');
	is($count_parts->(24), 1, 'so does one for 24 rows');
	is($count_parts->(25), 2, 'one for 25 rows looks up two');
	is($count_parts->(scalar @rows), 2, 'so does one for all rows of the leaf');
}

# Each step of each kind of scan, while VACUUM is replayed.
my $number = 0;
foreach my $point (@points)
{
	foreach my $with_buffer (0, 1)
	{
		foreach my $kind (sort keys %scans)
		{
			my $scan = $scans{$kind};
			my $name = "$kind, " . ($with_buffer ? 'with' : 'without') . " buffer, at $point";
			my $table = 'paused_' . ++$number;
			make_table($table, $with_buffer);
			my $run = start_scan($scan, $table, $point);
			vacuum($table);
			end_scans($run);
			is($run->{errors}, '', "$name: no conflict");
			is($run->{output}, expected($with_buffer, $scan->{descending}),
				"$name: no entry that VACUUM has removed is returned");
		}
	}

	# New rows take the places of the dead ones, and may have their keys, too.  As long as they
	# are not all-visible, the scan goes on.
	my %new = ('other keys' => [ 201 .. 203 ], 'the same keys' => \@dead);
	foreach my $keys (sort keys %new)
	{
		my $table = 'reused_' . ++$number;
		make_table($table, 0);
		my $run = start_scan($scans{forward}, $table, $point);
		vacuum($table);
		my $places = insert_again($table, @{ $new{$keys} });
		is(join(' ', sort split /\n/, $places),
			'(2,1) (59,1) (97,1)', "at $point: new rows with $keys have the TIDs of dead ones");
		$primary->wait_for_catchup($standby);
		end_scans($run);
		is($run->{errors}, '', "at $point: reused TIDs conflict with nothing, with $keys");
		is($run->{output}, expected(), "at $point: and their rows are not returned, with $keys");
	}

	# When they are to become all-visible, the scan is cancelled.
	my $table = "visible_$number";
	make_table($table, 0);
	my $run = start_scan($scans{forward}, $table, $point);
	vacuum($table);
	insert_again($table, 201 .. 203);

	# it must not leave out a page that the checkpointer is writing
	vacuum($table, 'FREEZE,');
	end_scans($run);
	like($run->{errors}, qr/canceling statement due to conflict with recovery/,
		"at $point: a scan is cancelled rather than that new rows become all-visible");

	# An error here leaves nothing behind.
	my ($stdout, $stderr);
	$standby->psql('postgres', "$ordered_scan SET sware.fault_points = '$point=error';
		SELECT count(a) FROM plain WHERE a > 0; RESET sware.fault_points;
		SELECT count(a) FROM plain WHERE a > 0", stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	like($stderr, qr/fault point "$point" was reached/, "an error at $point");
	unlike($stderr, qr/WARNING/, "and nothing that it has kept");
	is($stdout, scalar(@rows), "and the next scan is right");
}

# The same for entries of the buffer, on the primary, too.  VACUUM empties the buffer first.
foreach my $point (@points_of_buffer)
{
	foreach my $node ($primary, $standby)
	{
		foreach my $kind (sort keys %scans)
		{
			my $scan = $scans{$kind};
			my $name = "$kind, of the buffer, at $point, on the " . $node->name;
			my $table = 'buffered_' . ++$number;
			make_buffered_table($table);
			my $run = start_scan($scan, $table, $point, $node);
			vacuum($table);
			end_scans($run);
			is($run->{errors}, '', "$name: no error");
			is($run->{output}, expected(0, $scan->{descending}),
				"$name: no entry that VACUUM has removed is returned");
		}
	}
}

# Cursors that have read a leaf, and go on when it has been vacuumed: of a table with
# entries in the tree only, and of one with entries in the buffer, too.
sub check_cursors
{
	my ($name, $vacuum) = @_;
	my @tables = map { 'cursor_' . ++$number } 0, 1;
	make_table($tables[$_], $_) foreach 0, 1;
	my $session = $standby->background_psql('postgres', on_error_stop => 1);
	$session->query_safe("$ordered_scan BEGIN ISOLATION LEVEL REPEATABLE READ");
	my @cursors;
	foreach my $with_buffer (0, 1)
	{
		foreach my $kind ('forward', 'backward', 'by an array')
		{
			my $query = sprintf($scans{$kind}{query}, $tables[$with_buffer]);
			my $cursor = { name => 'c' . @cursors, query => $query,
				what => "$name, $kind, " . ($with_buffer ? 'with' : 'without') . ' buffer',
				expected => expected($with_buffer, $scans{$kind}{descending}) };
			$session->query_safe("DECLARE $cursor->{name} SCROLL CURSOR FOR $query");
			$cursor->{seen} = [ split /\n/, $session->query_safe("FETCH 2 FROM $cursor->{name}") ];
			push @cursors, $cursor;
		}
	}
	$vacuum->(@tables);
	foreach my $cursor (@cursors)
	{
		push @{ $cursor->{seen} }, split /\n/, $session->query_safe("FETCH ALL FROM $cursor->{name}");
		is(join("\n", @{ $cursor->{seen} }), $cursor->{expected},
			"$cursor->{what}: a cursor returns no entry that was removed");
		is($session->query_safe("FETCH BACKWARD ALL FROM $cursor->{name}"),
			join("\n", reverse split /\n/, $cursor->{expected}), "$cursor->{what}: nor on its way back");
		is($session->query_safe($cursor->{query}), $cursor->{expected},
			"$cursor->{what}: nor does a new scan under the old snapshot");
	}
	$session->query_safe('COMMIT');
	$session->quit;
	return;
}
check_cursors('replay', sub { vacuum($_) foreach @_ });

# A merge join goes back to the marked place of its inner side, on a leaf that it has left.
# Behind that place are rows that die before VACUUM, as many as have been looked up and
# found visible on the other leaf.  The live row behind these, whose page is not
# all-visible either, takes the scan's pin from their pages.
{
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE inner_side (a int, b text COLLATE "C", filler text)
  WITH (autovacuum_enabled = off, vacuum_truncate = off);
ALTER TABLE inner_side ALTER filler SET STORAGE PLAIN;
CREATE INDEX inner_side_ab ON inner_side USING $am (a, b) WITH (deduplicate_items = off);
$direct
INSERT INTO inner_side SELECT 1, rpad(b, 300, '.'), repeat('x', 5000)
  FROM unnest('{begin,dead 1,dead 2,dead 3,dead 4,dead 5}'::text[]) b;
INSERT INTO inner_side SELECT a, rpad('live ' || i, 300, '.'), repeat('x', 5000)
  FROM generate_series(1, 2) a, generate_series(10, 70) i;
CREATE TABLE outer_side (a int);
CREATE INDEX outer_side_a ON outer_side USING $am (a);
INSERT INTO outer_side VALUES (1), (1), (2);
SQL
	$primary->safe_psql('postgres', "VACUUM ANALYZE $_") foreach qw(inner_side outer_side);
	$primary->safe_psql('postgres', <<"SQL");
DELETE FROM inner_side WHERE b LIKE 'dead%';
$direct
INSERT INTO inner_side VALUES (1, rpad('in between', 300, '.'), repeat('x', 5000));
SQL
	$primary->wait_for_catchup($standby);
	my $query = 'SELECT o.a, rtrim(i.b, \'.\') FROM outer_side o JOIN inner_side i ON o.a = i.a';
	my $session = $standby->background_psql('postgres', on_error_stop => 1);
	$session->query_safe("$ordered_scan SET enable_hashjoin = off; SET enable_nestloop = off;
		SET enable_material = off; BEGIN ISOLATION LEVEL REPEATABLE READ");
	like($session->query_safe("EXPLAIN (COSTS OFF) $query"),
		qr/Merge Join.*Index Only Scan using outer_side_a.*Index Only Scan using inner_side_ab/s,
		'a merge join of index-only scans');
	$session->query_safe("DECLARE joined CURSOR FOR $query");
	my @seen = split /\n/, $session->query_safe('FETCH 40 FROM joined');
	vacuum('inner_side');
	push @seen, split /\n/, $session->query_safe('FETCH ALL FROM joined');
	my @live = map { "live $_" } 10 .. 70;
	my @first = map { "1|$_" } 'begin', 'in between', @live;
	is(join("\n", @seen), join("\n", @first, @first, map { "2|$_" } @live),
		'a merge join that goes back over VACUUM');
	$session->query_safe('COMMIT');
	$session->quit;
}

# What is known of the items of one leaf says nothing of those of the next one: cursors are
# on their second leaf, and have found all rows of the first one visible, when VACUUM removes
# entries in front of them.  A leaf has room for 26 of these keys.
{
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE leaves (b text COLLATE "C", filler text)
  WITH (autovacuum_enabled = off, vacuum_truncate = off);
ALTER TABLE leaves ALTER filler SET STORAGE PLAIN;
CREATE INDEX leaves_b ON leaves USING $am (b) WITH (deduplicate_items = off);
$direct
INSERT INTO leaves SELECT rpad('k ' || i, 300, '.'), repeat('x', 5000) FROM generate_series(100, 199) i;
SQL
	$primary->safe_psql('postgres', 'VACUUM ANALYZE leaves');
	$primary->safe_psql('postgres', "DELETE FROM leaves WHERE rtrim(b, '.') IN ('k 137', 'k 138', 'k 163')");
	$primary->wait_for_catchup($standby);
	my @live = map { "k $_" } grep { !/^(137|138|163)$/ } 100 .. 199;
	my $session = $standby->background_psql('postgres', on_error_stop => 1);
	$session->query_safe("$ordered_scan BEGIN ISOLATION LEVEL REPEATABLE READ");
	my %orders = (forward => 'ASC', backward => 'DESC');
	my %seen;
	foreach my $way (sort keys %orders)
	{
		my $query = "SELECT rtrim(b, '.') FROM leaves WHERE b > '' ORDER BY b $orders{$way}";
		like($session->query_safe("EXPLAIN (COSTS OFF) $query"), qr/^Index Only Scan/m, "$way: the plan");
		$session->query_safe("DECLARE $way CURSOR FOR $query");
		$seen{$way} = [ split /\n/, $session->query_safe("FETCH 35 FROM $way") ];
	}
	vacuum('leaves');
	foreach my $way (sort keys %orders)
	{
		push @{ $seen{$way} }, split /\n/, $session->query_safe("FETCH ALL FROM $way");
		is(join(' ', @{ $seen{$way} }), join(' ', $way eq 'forward' ? @live : reverse @live),
			"$way: VACUUM when a scan is on its second leaf");
	}
	$session->query_safe('COMMIT');
	$session->quit;
}

# A storm of deletions, VACUUM and insertions that reuse TIDs.  In each snapshot of the
# standby, index-only scans find what a sequential scan finds.
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE storm (id int, key int) WITH (autovacuum_enabled = off);
CREATE INDEX storm_key ON storm USING $am (key) INCLUDE (id);
INSERT INTO storm SELECT n, n % 500 FROM generate_series(1, 3000) n;
CREATE TABLE quiet (id int, key int) WITH (autovacuum_enabled = off);
CREATE INDEX quiet_key ON quiet USING $am (key) INCLUDE (id);
INSERT INTO quiet SELECT n, n FROM generate_series(1, 3000) n;
SQL
my @load = script_files(
	'replace@6' => "\\set from random(0, 490)\n"
	  . "DELETE FROM storm WHERE key BETWEEN :from AND :from + 10;\n"
	  . "INSERT INTO storm SELECT n + 3000, :from + n % 11 FROM generate_series(1, 60) n;\n",
	'replace_quiet@2' => "\\set from random(0, 2990)\n"
	  . "DELETE FROM quiet WHERE key BETWEEN :from AND :from + 10;\n"
	  . "$direct\nINSERT INTO quiet SELECT n + 3000, :from + n FROM generate_series(1, 11) n;\n",
	'vacuum@3' => "VACUUM (INDEX_CLEANUP ON) storm;\n",
	'vacuum_quiet@1' => "VACUUM (INDEX_CLEANUP ON) quiet;\n");
my @queries = script_files(map {
	$_ => "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
	  . "SELECT 1 / (count(*) = 0)::int FROM disagreements('$_', 'key');\nCOMMIT;\n"
} qw(storm quiet));

# Runs queries beside the load.  Returns how many came to their end and how many were
# cancelled.
sub storm
{
	my ($name, %settings) = @_;
	my ($done, $cancelled, $other) = (0, 0, '');
	$standby->safe_psql('postgres', "ALTER SYSTEM SET $_ = '$settings{$_}'") foreach sort keys %settings;
	$standby->reload;
	my $load = start_load($primary, 2, @load, \my $load_errors);
	foreach my $round (1 .. $rounds)
	{
		my @outcome = ask_beside_load($standby, 3, 8, @queries);
		$done += $outcome[0];
		$cancelled += $outcome[1];
		$other .= $outcome[2];
	}
	ok(load_goes_on($load), "$name: changes went on all the time") || diag($load_errors);
	stop_load($primary, $load);
	is($other, '', "$name: no query has a wrong answer, or an error but a conflict");
	note("$name: $done answers, $cancelled cancelled");
	$primary->wait_for_catchup($standby);
	foreach my $node ($primary, $standby)
	{
		foreach my $table (qw(storm quiet))
		{
			is($node->safe_psql('postgres', "SELECT disagreements('$table', 'key')"), '',
				"$name: $table on the " . $node->name);
			check_index($node, "${table}_key", "$name, on the " . $node->name);
		}
	}
	return ($done, $cancelled);
}

$primary->wait_for_catchup($standby);
like(
	$standby->safe_psql('postgres',
		"$ordered_scan EXPLAIN (COSTS OFF) SELECT key, id FROM storm ORDER BY key"),
	qr/^Index Only Scan/, 'the queries of the storm are index-only scans');
my ($done, $cancelled) = storm('replay waits',
	max_standby_streaming_delay => -1, hot_standby_feedback => 'on', wal_receiver_status_interval => 1);
is("$done $cancelled", 24 * $rounds . ' 0', 'replay waits: all queries came to their end');
($done, $cancelled) = storm('replay does not wait',
	max_standby_streaming_delay => 0, hot_standby_feedback => 'off');
cmp_ok($done + $cancelled, '>', 0, 'replay does not wait: each query came to its end, or was cancelled');
did_not_crash($standby, 'the standby had nothing to complain about');

# Promotion in the middle of open cursors, and of scans that wait between their steps.  VACUUM
# does not wait for any of them, since they have nothing pinned.
my @all_points = (@points, @points_of_buffer);
my %promoted = map { $_ => 'promoted_' . ++$number } @all_points;
make_table($promoted{$_}, 0) foreach @points;
make_buffered_table($promoted{$_}) foreach @points_of_buffer;
check_cursors('promotion', sub {
	my @cursor_tables = @_;
	my %runs = map { $_ => start_scan($scans{backward}, $promoted{$_}, $_) } @all_points;
	$standby->promote;
	$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	foreach my $table (@cursor_tables, values %promoted)
	{
		$standby->safe_psql('postgres', $_)
		  foreach "VACUUM (INDEX_CLEANUP ON) $table", "INSERT INTO $table VALUES (201, repeat('n', 5000))",
		  "VACUUM (INDEX_CLEANUP ON) $table";
	}
	end_scans(values %runs) if %runs;
	foreach my $point (@all_points)
	{
		is($runs{$point}{errors}, '', "promotion at $point: no error");
		is($runs{$point}{output}, expected(0, 1), "promotion at $point: no entry that VACUUM has removed");
	}
});
did_not_crash($standby, 'the promoted standby had nothing to complain about');

$_->stop foreach $primary, $standby;
done_testing();
