# A standby replays everything, with wal_consistency_checking, while VACUUM on
# the primary deletes pages and uses them again and long queries run on the
# standby.  It gives the primary's answers all the time, and works on after its
# promotion.
#
# SWARE_STANDBY_ROUNDS sets the number of rounds (default 5).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_STANDBY_ROUNDS} // 5;
my $am = am();
my @keys = qw(queue scrambled few label);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
fsync = off
wal_consistency_checking = 'generic'
max_wal_size = '4GB'
wal_keep_size = '2GB'
log_statement = none
CONF
$primary->start;
prepare_database($primary);
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE data (id bigint, queue bigint, scrambled int, few int, label text);
CREATE INDEX data_queue ON data USING $am (queue);
CREATE INDEX data_scrambled ON data USING $am (scrambled) INCLUDE (id);
CREATE INDEX data_few ON data USING $am (few);
CREATE INDEX data_label ON data USING $am (label);
CREATE SEQUENCE ids;
SQL

$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
# Replay waits for queries that it would harm; so queries are never cancelled.
$standby->append_conf('postgresql.conf', <<'CONF');
hot_standby_feedback = off
max_standby_streaming_delay = -1
CONF
$standby->start;

# Rows for one step: the queue grows on the right, the rest lands anywhere.
# The number of pages of walk_key that were deleted and not used again.
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

sub same_answers
{
	my ($name) = @_;
	$primary->wait_for_catchup($standby);
	foreach my $key (@keys)
	{
		my $expected =
		  $primary->safe_psql('postgres', sequential_summary('data', $key));
		foreach my $descending (0, 1)
		{
			my $query = ordered_summary('data', $key, $descending);
			is($primary->safe_psql('postgres', $query),
				$expected, "$name: data.$key on the primary, descending $descending");
			is($standby->safe_psql('postgres', $query),
				$expected, "$name: data.$key on the standby, descending $descending");
		}
	}
	return;
}

# A cursor on the standby stops in front of rows that its snapshot already
# finds deleted.  VACUUM on the primary then deletes the pages of those rows,
# and new rows use them again.  The cursor goes on, over the changed pages.
sub cursor_over_replay
{
	my ($name, $descending) = @_;
	my $order = $descending ? 'DESC' : 'ASC';
	my $query =
	  "SELECT key, id, split_part(ctid::text, ',', 1) FROM walk ORDER BY key $order";
	my ($low, $high) = (choose(500, 2500), choose(3500, 5500));

	# The cursor keeps the table's page with its current row pinned, and replay
	# of VACUUM would wait for that where the page has dead rows.  So the rows
	# that are going to die get pages of their own, but for the last one.
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
	cmp_ok(free_pages($primary), '<', $free, "$name: new rows used pages again");
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

# Queries that compare index scans in both directions with a sequential scan of
# the same snapshot, while replay goes on.
my $directory = PostgreSQL::Test::Utils::tempdir();
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
	append_to_file("$directory/$key", $text);
}

$primary->safe_psql('postgres', insert_statement(8000));
foreach my $round (1 .. $rounds)
{
	my $name = "round $round";
	# nbtree's replay would wait for the session before it reuses a page.
	cursor_over_replay($name, $round % 2)
	  unless $am eq 'btree';

	# Changes go on as long as the queries do.
	my ($output, $errors) = ('', '');
	my $queries = IPC::Run::start(
		[
			'pgbench', '-n', '-h', $standby->host, '-p', $standby->port,
			'-c', '3', '-t', '6', '--random-seed', choose(1, 1_000_000),
			(map { ('-f', "$directory/$_") } @keys), 'postgres'
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
		$queries->pump_nb;
		$steps++;
	}
	ok($queries->finish, "$name: queries on the standby during $steps steps of changes")
	  || diag($errors);
	like($output, qr{transactions actually processed: 18/18}, "$name: all queries ran");

	same_answers($name);
	$primary->safe_psql('postgres', insert_statement(4000));
}

is(scalar(grep_log($standby, qr/FATAL|PANIC|TRAP|inconsistent page|was terminated/)),
	0, 'the standby had nothing to complain about')
  || diag(join("\n", grep_log($standby, qr/FATAL|PANIC|TRAP|inconsistent page|was terminated/)));

# Promotion.
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
foreach my $key (@keys)
{
	check_index($standby, "data_$key", 'after promotion');
	index_agrees($standby, 'data', $key, 'after promotion');
}
$standby->safe_psql('postgres', insert_statement(2000));
$standby->safe_psql('postgres', 'DELETE FROM data WHERE id % 2 = 0');
$standby->safe_psql('postgres', 'VACUUM data');
$standby->safe_psql('postgres', insert_statement(2000));
foreach my $key (@keys)
{
	check_index($standby, "data_$key", 'at work after promotion');
	index_agrees($standby, 'data', $key, 'at work after promotion');
}

$standby->stop;
done_testing();
