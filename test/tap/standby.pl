# A standby replays everything, with wal_consistency_checking, while small
# transactions on the primary fill buffers, these are flushed, VACUUM deletes
# pages, reuses them, and moves leaves, and long queries run on the standby.  It gives the
# primary's answers all the time, is promoted in the middle of the load, and
# works on.
#
# SWARE_STANDBY_ROUNDS sets the number of rounds (default 3).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_STANDBY_ROUNDS} // 3;
my $am = am();
my @keys = qw(queue scrambled few label);
# Rows in order wait in the buffer, too.
my $fill_buffer = $am eq 'btree' ? '' : 'SET sware.fault_buffer = on;';

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	preload() . ($am eq 'sware' ? "sware.staging_size = '128kB'\n" : '') . <<'CONF');
autovacuum = off
fsync = off
wal_consistency_checking = 'generic'
max_wal_size = '4GB'
wal_keep_size = '2GB'
log_statement = none
CONF
$primary->start;
prepare_database($primary);
make_disagreements($primary);
# Small buffers are flushed often, large ones are full when queries run.
my ($small, $large) =
  $am eq 'btree' ? ('', '') : map { "WITH (buffer_size = $_, group_leaves = on)" } (64, 4096);
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE data (id bigint, queue bigint, scrambled int, few int, label text);
CREATE INDEX data_queue ON data USING $am (queue) $small;
CREATE INDEX data_scrambled ON data USING $am (scrambled) INCLUDE (id) $large;
CREATE INDEX data_few ON data USING $am (few) $small;
CREATE INDEX data_label ON data USING $am (label) $small;
CREATE SEQUENCE ids;
SQL

# Replay waits for queries that it would harm; so queries are never cancelled.
my $standby = start_standby($primary, -1);

# The number of pages of walk_key that were deleted and not reused.
sub free_pages
{
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'SQL');
SELECT count(*) FROM
  generate_series(1, pg_relation_size('walk_key') / current_setting('block_size')::int - 1) AS block,
  sware_page_stats('walk_key', block) AS page
WHERE 'deleted' = ANY (page.flags)
SQL
}

# Rows for one step: the queue grows on the right, the rest lands anywhere.
sub insert_statement
{
	my ($count) = @_;
	my $salt = choose(1, 1_000_000);
	return <<"SQL";
INSERT INTO data
  SELECT i, i + i * 31 % 40, hashint8(i + $salt), i % 15, md5(($salt + i)::text) || repeat('l', 150)
  FROM (SELECT nextval('ids') AS i FROM generate_series(1, $count)) new;
SQL
}

# The number of entries in the buffer of an index.
sub buffered
{
	my ($node, $index) = @_;
	return $node->safe_psql('postgres', "SELECT buffer_entries FROM ${am}_stats('$index')");
}

sub same_answers
{
	my ($name) = @_;
	$primary->wait_for_catchup($standby);
	foreach my $key (@keys)
	{
		foreach my $node ($primary, $standby)
		{
			is($node->safe_psql('postgres', "SELECT disagreements('data', '$key')"),
				'', "$name: data.$key on the " . $node->name);
		}
	}
	my $digest = 'SELECT count(*), sum(hashtextextended(data::text, 0)) FROM data';
	is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest),
		"$name: both have the same rows");
	return;
}

# The load of small transactions on the primary.
my @load = script_files(
	'insert@10' => "\\set rows 1\n" . insert_statement(':rows'),
	'insert-few@3' => "\\set rows random(2, 30)\n" . insert_statement(':rows'),
	'delete@1' => <<'SQL',
DELETE FROM data WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM data ORDER BY queue LIMIT 20 FOR UPDATE SKIP LOCKED));
SQL
	$am eq 'btree' ? () : ('flush@1' => <<"SQL"));
SELECT ${am}_flush(('data_'
	|| (ARRAY['queue', 'scrambled', 'few', 'label'])[1 + floor(random() * 4)])::regclass);
SQL

# Cursors on the standby stop in the middle of entries that are in the shared
# buffer, where some have read few of these and some many.  The primary flushes
# them, and new ones take their pages.  The cursors go on, over retired and
# reused pages.
sub cursors_over_flush
{
	my ($name) = @_;
	my $single = "$fill_buffer DO \$\$ BEGIN FOR n IN %d .. %d LOOP "
	  . "INSERT INTO arrivals VALUES (n, n + hashint4(n) %% 200); COMMIT; END LOOP; END \$\$";
	my $flush = flush_statement('arrivals_key');
	my ($in_tree, $in_buffer) = (1200, 1500);
	my $count = $in_tree + $in_buffer;
	# Order, and how many rows are read before the first flush.
	my %cursors = (
		first => [ 'ASC', $in_tree - 150 + choose(0, 100) ],
		second => [ 'ASC', choose(1, $count - 200) ],
		third => [ 'DESC', choose(1, 100) ],
		fourth => [ 'DESC', choose(1, $count - 200) ]);

	$primary->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS arrivals;
CREATE TABLE arrivals (id int, key int);
CREATE INDEX arrivals_key ON arrivals USING $am (key) $large;
INSERT INTO arrivals SELECT n, n FROM generate_series(1, $in_tree) n;
$flush;
@{[ sprintf($single, $in_tree + 1, $count) ]};
SQL
	$primary->wait_for_catchup($standby);
	cmp_ok(buffered($standby, 'arrivals_key'), '>=', $in_buffer,
		"$name: the standby sees entries in the buffer");

	my $session = $standby->background_psql('postgres', on_error_stop => 1);
	my %seen;
	my $fetch = sub {
		my ($cursor, $rows) = @_;
		push @{ $seen{$cursor} }, split /\n/, $session->query_safe("FETCH $rows FROM $cursor");
	};
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my @all = split /\n/, $session->query_safe('SELECT key, id FROM arrivals');
	$session->query_safe($ordered_scan);
	foreach my $cursor (sort keys %cursors)
	{
		my ($order, $rows) = @{ $cursors{$cursor} };
		$session->query_safe(
			"DECLARE $cursor SCROLL CURSOR FOR SELECT key, id FROM arrivals ORDER BY key $order");
		$fetch->($cursor, $rows);
	}

	# Nothing here makes rows all-visible, or replay would wait for the session.
	foreach my $round (1 .. 3)
	{
		my $first = $in_tree + $round * $in_buffer + 1;
		$primary->safe_psql('postgres', $flush);
		$primary->safe_psql('postgres', sprintf($single, $first, $first + $in_buffer - 1));
		$primary->wait_for_catchup($standby);
		$fetch->($_, choose(1, 40)) foreach sort keys %cursors;
	}
	cmp_ok(buffered($standby, 'arrivals_key'), '>=', $in_buffer,
		"$name: the standby sees new entries in the buffer");

	foreach my $cursor (sort keys %cursors)
	{
		my ($order, $rows) = @{ $cursors{$cursor} };
		my $what = "$name: a cursor $order that stopped after $rows rows";
		$fetch->($cursor, 'ALL');
		my @seen = @{ $seen{$cursor} };
		is(join("\n", sort @seen), join("\n", sort @all),
			"$what finds each row once over flushes");
		my @found = map { (split /\|/)[0] } @seen;
		my @sorted = sort { $order eq 'DESC' ? $b <=> $a : $a <=> $b } @found;
		is("@found", "@sorted", "$what finds them in order");
		my @back = reverse split /\n/, $session->query_safe("FETCH BACKWARD ALL FROM $cursor");
		is(join("\n", @back), join("\n", @seen), "$what goes all the way back");
		is($session->query_safe("SELECT key, id FROM arrivals ORDER BY key $order"),
			join("\n", @seen), "$what: a new scan under the old snapshot finds the same");
	}
	$session->query_safe('COMMIT');
	$session->quit;
	foreach my $node ($primary, $standby)
	{
		is($node->safe_psql('postgres', "SELECT disagreements('arrivals', 'key')"),
			'', "$name: arrivals on the " . $node->name);
		check_index($node, 'arrivals_key', "$name, " . $node->name);
	}
	return;
}

# A cursor on the standby stops in front of rows that its snapshot already
# finds deleted.  VACUUM on the primary then deletes the pages of those rows,
# and new rows reuse them.  The cursor goes on, over the changed pages.
sub cursor_over_replay
{
	my ($name, $descending) = @_;
	my $order = $descending ? 'DESC' : 'ASC';
	my $query =
	  "SELECT key, id, split_part(ctid::text, ',', 1) FROM walk ORDER BY key $order";
	my ($low, $high) = (choose(500, 2500), choose(3500, 5500));

	# The cursor keeps the table's page with its current row pinned, and replay of
	# VACUUM would wait for the pin if the page had dead rows.  So the rows that are
	# going to die get pages of their own, except for the last one.
	$primary->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS walk;
CREATE TABLE walk (id int, key text COLLATE "C");
CREATE INDEX walk_key ON walk USING $am (key);
INSERT INTO walk SELECT n, to_char(n, 'FM000000') || repeat('k', 200)
  FROM generate_series(1, 6000) n ORDER BY n BETWEEN $low AND $high DESC, hashint4(n);
SQL
	my %dying = map { $_ => 1 } split /\n/, $primary->safe_psql('postgres',
		"SELECT DISTINCT split_part(ctid::text, ',', 1) FROM walk WHERE id BETWEEN $low AND $high");
	$primary->safe_psql('postgres', "DELETE FROM walk WHERE id BETWEEN $low AND $high");
	$primary->wait_for_catchup($standby);

	my $session = $standby->background_psql('postgres', on_error_stop => 1);
	$session->query_safe($ordered_scan);
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my @all = split /\n/, $session->query_safe($query);
	$session->query_safe("DECLARE walk SCROLL CURSOR FOR $query");
	# Often right in front of the gap.
	my $gap = $descending ? 6000 - $high : $low - 1;
	my @seen = split /\n/, $session->query_safe(
		'FETCH ' . pick($gap - choose(0, 30), choose(10, $gap)) . ' FROM walk');
	while ($dying{ (split /\|/, $seen[-1])[2] })
	{
		push @seen, $session->query_safe('FETCH FROM walk');
	}

	# No row that the snapshot does not know may become all-visible, or replay
	# waits for the session: so VACUUM first, then new rows.  The transaction in
	# between lets the second VACUUM free the pages that the first one deleted.
	$primary->safe_psql('postgres', $_)
	  foreach ('VACUUM (TRUNCATE OFF) walk', 'SELECT pg_current_xact_id()',
		'VACUUM (TRUNCATE OFF) walk');
	my $free = free_pages($primary);
	$primary->safe_psql('postgres', <<"SQL");
INSERT INTO walk SELECT n, to_char(n % 6000, 'FM000000') || repeat('n', 200)
  FROM generate_series(10001, 12000) n ORDER BY hashint4(n);
SQL
	cmp_ok(free_pages($primary), '<', $free, "$name: new rows reused pages");
	$primary->wait_for_catchup($standby);

	push @seen, split /\n/, $session->query_safe('FETCH ALL FROM walk');
	is(join("\n", @seen), join("\n", @all),
		"$name: a cursor $order goes on over replayed changes");
	my @back = reverse split /\n/, $session->query_safe('FETCH BACKWARD ALL FROM walk');
	is(join("\n", @back), join("\n", @all), "$name: and all the way back");
	is($session->query_safe($query), join("\n", @all),
		"$name: a new scan under the old snapshot finds the same");
	$session->query_safe('COMMIT');
	$session->quit;
	$primary->safe_psql('postgres', 'VACUUM walk');
	$primary->wait_for_catchup($standby);
	check_index($_, 'walk_key', "$name, " . $_->name) foreach $primary, $standby;
	return;
}

# The participants of a parallel scan on the standby, and look-ups in a unique index,
# find what is in the tree and what is in the buffer.
sub parallel_scans_and_look_ups
{
	my $sequential = "$sequential_scan SET max_parallel_workers_per_gather = 0; ";
	my $parallel = "$ordered_scan SET max_parallel_workers_per_gather = 2; "
	  . join(' ', map { "SET $_ = 0;" }
		  qw(parallel_setup_cost parallel_tuple_cost min_parallel_index_scan_size
		  min_parallel_table_scan_size))
	  . ' SET cpu_tuple_cost = 1; ';
	my $look_up = 'SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; '
	  . 'SET enable_bitmapscan = off; ';
	my $in_order = "SELECT count(*), md5(string_agg(key || ' ' || id, ',')) FROM "
	  . '(SELECT key, id FROM numbers WHERE key > 50 ORDER BY key OFFSET 0) found';
	my $in_any = 'SELECT count(*), sum(key), sum(hashint8(id)) FROM numbers WHERE key > 50';
	my $one_by_one = 'SELECT count(*), sum(key), sum(hashint8(id))
		FROM generate_series(51, 50000) AS key JOIN numbers USING (key)';

	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE numbers (id int, key int) WITH (parallel_workers = 2);
CREATE UNIQUE INDEX numbers_key ON numbers USING $am (key) $large;
INSERT INTO numbers SELECT n, 2 * n FROM generate_series(1, 20000) n ORDER BY hashint4(n);
@{[ flush_statement('numbers_key') ]};
SQL
	# Rows between the others, and then behind them.
	foreach my $round ([ 'between', '26 * n + 1' ], [ 'behind', '40000 + n' ])
	{
		my ($where, $key) = @$round;
		my $name = "parallel scans, rows in the buffer lie $where those in the tree";
		$primary->safe_psql('postgres', "SELECT ${am}_flush('numbers_key'); "
			  . "$fill_buffer DO \$\$ BEGIN FOR n IN 1 .. 1500 LOOP INSERT INTO numbers VALUES (-n, $key);
			      COMMIT; END LOOP; END \$\$");
		$primary->wait_for_catchup($standby);
		cmp_ok(buffered($standby, 'numbers_key'), '>=', 1500, "$name: the standby sees them");
		my $expected = $standby->safe_psql('postgres', "$sequential $in_any");
		foreach my $query ($in_order, $in_any)
		{
			like(
				$standby->safe_psql('postgres', "$parallel EXPLAIN (ANALYZE, COSTS OFF) $query"),
				qr/Workers Launched: [12].*Parallel Index Scan using numbers_key/s,
				"$name: and uses several processes");
			is( $standby->safe_psql('postgres', "$parallel $query"),
				$standby->safe_psql('postgres', "$sequential $query"),
				"$name: they find what a sequential scan finds");
		}
		like($standby->safe_psql('postgres', "$look_up EXPLAIN (COSTS OFF) $one_by_one"),
			qr/Index Cond: \(key = key\.key\)/, "$name: keys are looked up one by one");
		is($standby->safe_psql('postgres', "$look_up $one_by_one"), $expected, "$name: and found");
	}
	return;
}

# Queries that compare index scans in both directions with a sequential scan of
# the same snapshot, while replay goes on.
my %queries;
foreach my $key (@keys)
{
	my $rows = "SELECT $key AS key, id FROM data ORDER BY $key";
	my @scans = (
		"SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_sort = on;",
		"SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on; SET LOCAL enable_sort = off;"
	);
	my $text = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
	  . "SET LOCAL enable_bitmapscan = off;\n";
	my $digest = "SELECT count(*) AS %s_count, coalesce(sum(hashint8(id)), 0) AS %s_sum, "
	  . "count(*) FILTER (WHERE key %s before) AS %s_wrong FROM "
	  . "(SELECT key, id, lag(key) OVER () AS before FROM (%s) found) compared \\gset\n";
	$text .= join("\n", split(/ (?=SET)/, $scans[0])) . "\n"
	  . sprintf($digest, 's', 's', '<', 's', $rows);
	$text .= join("\n", split(/ (?=SET)/, $scans[1])) . "\n"
	  . sprintf($digest, 'f', 'f', '<', 'f', $rows)
	  . sprintf($digest, 'b', 'b', '>', 'b', "$rows DESC");
	# A wrong answer ends the session with an error.
	$text .= "SELECT 1 / (CASE WHEN :s_count = :f_count AND :s_count = :b_count "
	  . "AND :s_sum = :f_sum AND :s_sum = :b_sum AND :f_wrong = 0 AND :b_wrong = 0 "
	  . "THEN 1 ELSE 0 END);\nCOMMIT;\n";
	$queries{$key} = $text;
}
my @query_files = script_files(%queries);

$primary->safe_psql('postgres', insert_statement(8000));
foreach my $round (1 .. $rounds)
{
	my $name = "round $round";
	# nbtree's replay would wait for the session before it reuses a page.
	if ($am ne 'btree')
	{
		cursor_over_replay($name, $round % 2);
		cursors_over_flush($name);
	}

	# Changes go on as long as the queries do.
	my $load = start_load($primary, 2, @load);
	my ($output, $errors) = ('', '');
	my $queries = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $standby->host, '-p', $standby->port,
			'-c', '3', '-t', '6', '--random-seed', choose(1, 1_000_000),
			@query_files, 'postgres'
		],
		'<', \undef, '>', \$output, '2>', \$errors);
	my $steps = 0;
	while ($steps < 3 || $queries->pumpable)
	{
		my $where = pick(
			'queue < (SELECT min(queue) FROM data) + 1500',
			'scrambled < (SELECT min(scrambled) FROM data) + 300000000',
			'id % 3 = 1', "label < '5'");
		$primary->safe_psql('postgres', insert_statement(choose(200, 1500)));
		$primary->safe_psql('postgres', "DELETE FROM data WHERE $where");
		$primary->safe_psql('postgres', 'UPDATE data SET few = few + 1 WHERE id % 20 = 0')
		  if pick(0, 1);
		$primary->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) data');
		# The queries may be done before three steps are.
		$queries->pump_nb if $queries->pumpable;
		$steps++;
	}
	ok($queries->finish, "$name: queries on the standby during $steps steps of changes")
	  || diag($errors);
	like($output, qr{transactions actually processed: 18/18}, "$name: all queries ran");

	stop_load($primary, $load);
	same_answers($name);
	$primary->safe_psql('postgres', insert_statement(4000));
}

parallel_scans_and_look_ups() if $am ne 'btree';
is( $primary->safe_psql('postgres', "SELECT leaf_moves > 20 FROM sware_stats('data_scrambled')"),
	't', 'leaves were moved') if $am ne 'btree';

did_not_crash($standby, 'the standby had nothing to complain about', qr/FATAL/);

# Promotion in the middle of the load.
my $load = start_load($primary, 2, @load);
my $start = $primary->lsn('insert');
$primary->poll_query_until('postgres', "SELECT pg_current_wal_insert_lsn() - '$start' > 3000000");
$standby->promote;
$load->kill_kill;
$primary->stop('immediate');
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');

sub right_on_standby
{
	my ($name) = @_;
	foreach my $key (@keys)
	{
		is($standby->safe_psql('postgres', "SELECT disagreements('data', '$key')"),
			'', "$name: data.$key");
		check_index($standby, "data_$key", $name);
	}
	return;
}

right_on_standby('after promotion');
my $singly = $fill_buffer
  . 'DO $$ BEGIN FOR n IN 1 .. 3000 LOOP ' . insert_statement(1) . 'COMMIT; END LOOP; END $$';
$standby->safe_psql('postgres', $singly);
right_on_standby('filled after promotion');
$standby->safe_psql('postgres', flush_statement(map { "data_$_" } @keys));
right_on_standby('flushed after promotion');
$standby->safe_psql('postgres', 'DELETE FROM data WHERE id % 2 = 0');
$standby->safe_psql('postgres', 'VACUUM data');
$standby->safe_psql('postgres', insert_statement(2000));
right_on_standby('vacuumed after promotion');

# A server that starts with full buffers answers from their pages.
if ($am ne 'btree')
{
	foreach my $mode (qw(fast immediate))
	{
		$standby->safe_psql('postgres', $singly);
		my $entries = buffered($standby, 'data_scrambled');
		cmp_ok($entries, '>=', 3000, "$mode: the buffer is full");
		$standby->stop($mode);
		$standby->start;
		is(buffered($standby, 'data_scrambled'), $entries, "$mode: and is so after a restart");
		right_on_standby("restarted after a stop that was $mode");
	}
}

did_not_crash($standby, 'the promoted standby had nothing to complain about');

$standby->stop;
done_testing();
