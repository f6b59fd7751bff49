# Entries of dead rows are removed from the primary's indexes without VACUUM: flushes
# drop them, and leaves lose them to make room.  On a standby without
# hot_standby_feedback, a query with an older snapshot sees its rows, or is cancelled,
# and never misses one.  Marks of dead entries get there in images of pages.  They do
# not count there, nor for transactions that began there and outlive its promotion.
# dead_rows_storm.pl has the same under load.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();
my $direct = $am eq 'btree' ? '' : 'SET sware.enable_buffer = off;';

my $primary = PostgreSQL::Test::Cluster->new('primary');
# With checksums, marks are logged, in images of pages.
$primary->init(allows_streaming => 1, extra => ['--data-checksums']);
$primary->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
max_wal_size = '4GB'
wal_keep_size = '2GB'
log_statement = none
max_prepared_transactions = 5
CONF
$primary->append_conf('postgresql.conf', "sware.record_cache = 1MB\n") if $am ne 'btree';
$primary->start;
prepare_database($primary);
make_disagreements($primary);
make_mark_count($primary);

# The rows are large enough that a page has room for two and some more: so the table
# is never pruned, which would also tell the standby of the conflict.  Nor is it by
# updates whose new rows are small.
sub make_table
{
	my ($name, $rows) = @_;
	$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE $name (id int, key int, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE $name ALTER filler SET STORAGE PLAIN;
CREATE INDEX ${name}_key ON $name USING $am (key) WITH (fillfactor = 100, deduplicate_items = off);
$direct
INSERT INTO $name SELECT n, n, repeat('x', 3000) FROM generate_series(1, $rows) n;
SQL
	return;
}

$primary->safe_psql('postgres', <<'SQL') if $am ne 'btree';
CREATE FUNCTION marked_in_buffer(index regclass, wanted text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE dead)
	FROM sware_buffer_pages(index) AS page, sware_page_items(index, page.block) AS item
	WHERE page.state = wanted
$$;
-- Statements, each in a transaction of its own, until leaves have lost entries.
CREATE PROCEDURE until_deleted(index regclass, statement text) LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT entries_deleted FROM sware_stats(index));
BEGIN
	FOR n IN 1 .. 2000 LOOP
		EXECUTE format(statement, n);
		COMMIT;
		IF n % 20 = 0 AND (SELECT entries_deleted > before FROM sware_stats(index)) THEN
			RETURN;
		END IF;
	END LOOP;
	RAISE 'no entry was deleted';
END $$;
SQL

my $standby = start_standby($primary, 0);

# A transaction that only sets marks does not write a commit record, after which their
# WAL would be flushed.
$primary->safe_psql('postgres', 'CREATE TABLE tick (id int)');
sub caught_up
{
	$primary->safe_psql('postgres', 'INSERT INTO tick VALUES (1)');
	$primary->wait_for_catchup($standby);
	return;
}

# A query on the standby that waits, with the snapshot that it has by then.
sub start_query
{
	my ($name) = @_;
	my $query = { errors => '' };
	$query->{process} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d',
			$standby->connstr('postgres') . " application_name=$name",
			'-c', 'BEGIN ISOLATION LEVEL REPEATABLE READ', '-c', 'SELECT 1', '-c', 'SELECT pg_sleep(600)'
		],
		'<', \undef, '>', \$query->{output}, '2>', \$query->{errors}, IPC::Run::timeout(600));
	$standby->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$name'
			AND wait_event = 'PgSleep'");
	return $query;
}

# Once replay is beyond a conflict, the query has been cancelled, or it never will be.
sub was_cancelled
{
	my ($query, $name) = @_;
	$standby->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_stat_activity '
		  . "WHERE wait_event = 'PgSleep' AND application_name = '$name'");
	$query->{process}->finish;
	return $query->{errors} =~
	  qr/conflict with recovery\nDETAIL:  User query might have needed to see row versions/;
}

# The standby is told of each way in which entries are removed.  The transaction that
# deletes is the oldest one that runs when the query takes its snapshot, so that a
# horizon that is one too low would spare the query.
my %removals = (
	'a flush' => {
		rows => 20,
		in_buffer => 1,
		change => 'DELETE FROM %s WHERE id <= 10',
		removal => sub { $primary->safe_psql('postgres', flush_statement("$_[0]_key")) },
	},
	'making room, of marked entries' => {
		rows => 350,
		change => 'DELETE FROM %s WHERE id <= 10',
		removal => sub {
			my ($table) = @_;
			$primary->safe_psql('postgres', "$ordered_scan SELECT id FROM $table WHERE key <= 10");
			is($primary->safe_psql('postgres', "SELECT marked('${table}_key')"),
				'10', 'the entries are marked');
			$primary->safe_psql('postgres',
				"$direct CALL until_deleted('${table}_key', 'INSERT INTO $table VALUES (1000 + %s, 5)')");
		},
	},
	'making room, of versions' => {
		rows => 350,
		change => 'UPDATE %s SET id = id + 2000, filler = \'small\' WHERE id <= 10',
		removal => sub {
			my ($table) = @_;
			$primary->safe_psql('postgres',
				"$direct $sequential_scan CALL until_deleted('${table}_key',
					'UPDATE $table SET id = id + 1000, filler = ''small'' WHERE key = 20 + %s')");
		},
	});

foreach my $way ($am eq 'btree' ? () : sort keys %removals)
{
	my $removal = $removals{$way};
	my $table = 'removal_' . ($way =~ s/\W+/_/gr);
	make_table($table, $removal->{in_buffer} ? 1 : $removal->{rows});
	# An index on the updated column keeps updates from being HOT.
	$primary->safe_psql('postgres', "CREATE INDEX ON $table (id)");
	$primary->safe_psql('postgres',
		"INSERT INTO $table SELECT n, n, 'small' FROM generate_series(2, $removal->{rows}) n")
	  if $removal->{in_buffer};
	my $session = $primary->background_psql('postgres', on_error_stop => 1);
	$session->query_safe('BEGIN; ' . sprintf($removal->{change}, $table));
	my $deleter = $session->query_safe('SELECT pg_current_xact_id()');
	caught_up();
	is($standby->safe_psql('postgres', 'SELECT pg_snapshot_xmin(pg_current_snapshot())'), $deleter,
		"$way: the deleting transaction is the oldest one");
	my $query = start_query($table);
	$session->query_safe('COMMIT');
	$session->quit;
	caught_up();
	is($standby->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'
				AND application_name = '$table'"),
		'1', "$way: the deletion as such disturbs no query");
	$removal->{removal}->($table);
	caught_up();
	ok(was_cancelled($query, $table), "$way: a query that is older is cancelled") || diag($query->{errors});
	is($_->safe_psql('postgres', "SELECT disagreements('$table', 'key')"), '', "$way: on the " . $_->name)
	  foreach $primary, $standby;
}

is($standby->safe_psql('postgres', 'SELECT confl_snapshot > 0 FROM pg_stat_database_conflicts '
		. 'WHERE datname = current_database()'), 't', 'queries were cancelled for their snapshots');

# Marks get to the standby, where a snapshot still sees the rows: on leaves of one
# table's indexes, and in the buffer of the other's, on open pages and sealed ones.
make_table('kept', 300);
make_table('waiting', 1);
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE thirds (id int, key int) WITH (autovacuum_enabled = off);
CREATE INDEX thirds_key ON thirds USING $am (key);
$direct
INSERT INTO thirds SELECT n, n / 3 FROM generate_series(1, 150) n;
SQL
$primary->safe_psql('postgres', <<"SQL");
CREATE UNIQUE INDEX kept_id ON kept USING $am (id);
CREATE UNIQUE INDEX waiting_id ON waiting USING $am (id);
-- of two columns, so that a marked entry could be taken for a pivot of one
CREATE INDEX waiting_pair ON waiting USING $am ((id - id), (key + 0));
-- no scan on the standby reads it before promotion
CREATE INDEX waiting_late ON waiting USING $am ((key + 1));
DO \$\$
BEGIN
	FOR n IN 2 .. 1500 LOOP
		INSERT INTO waiting VALUES (n, n, repeat('x', 3000));
		COMMIT;
	END LOOP;
END \$\$;
SQL
caught_up();
my %summaries = map
{ $_ => "SELECT count(*), sum(hashint4(id)) FROM $_ WHERE key > 0" } 'kept', 'waiting';
my $old = $standby->background_psql('postgres', on_error_stop => 1);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my %expected = map { $_ => $old->query_safe($summaries{$_}) } keys %summaries;
like($expected{kept}, qr/^300\|/, 'a transaction on the standby sees all rows');
like($expected{waiting}, qr/^1500\|/, 'also those whose entries are in the buffer');
my $exported = $old->query_safe('SELECT pg_export_snapshot()');
my $unstarted = $standby->background_psql('postgres', on_error_stop => 1);
$unstarted->query_safe('BEGIN');

my %marks = (
	kept => "SELECT marked('kept_key'), marked('kept_id')",
	waiting => 'SELECT ' . join(', ',
		map { "marked_in_buffer('$_', 'sealed') + marked_in_buffer('$_', 'open')" }
		  'waiting_key', 'waiting_id'));
# Rows of the newest page are among those of "waiting".
my %deleted = (kept => 'id <= 100', waiting => 'id <= 70 OR id > 1470');
foreach my $table (sort keys %summaries)
{
	$primary->safe_psql('postgres', "DELETE FROM $table WHERE $deleted{$table}");
}
$primary->safe_psql('postgres', 'CHECKPOINT');
# two of the three rows of one key
# (The page is not full, so it is not pruned.)
my $third = 'SELECT count(id) FROM thirds WHERE key = 33';
$primary->safe_psql('postgres', "DELETE FROM thirds WHERE id IN (99, 100)");
$primary->safe_psql('postgres', "$ordered_scan $third");
foreach my $table (sort keys %summaries)
{
	$primary->safe_psql('postgres', "$ordered_scan $_")
	  foreach $summaries{$table}, "SELECT count(filler) FROM $table WHERE id > 0";
}
my $pairs = "SELECT count(*) FROM waiting WHERE id - id = 0 AND key + 0";
$primary->safe_psql('postgres', "$ordered_scan $pairs > 0");
my $late = 'SELECT count(*), sum(hashint4(id)) FROM waiting WHERE key + 1 > 1';
$primary->safe_psql('postgres', "$ordered_scan $late");
caught_up();
if ($am ne 'btree')
{
	is($primary->safe_psql('postgres', $marks{kept}), '100|100', 'entries of leaves are marked');
	is($primary->safe_psql('postgres', "SELECT marked('thirds_key')"), '2', 'two of one key');
	# An image has the marks that there are when the first ones are set: a scan marks the first
	# dead row that it meets at once.
	is($standby->safe_psql('postgres', "SELECT marked('thirds_key')"), '1', 'one on the standby');
	my $some = qr/^[1-9]\d*\|[1-9]\d*$/;
	like($standby->safe_psql('postgres', $marks{kept}), $some, 'some on the standby, too');
	# The first row was inserted directly.
	is($primary->safe_psql('postgres', $marks{waiting}), '99|99', 'entries in the buffer are marked');
	like($standby->safe_psql('postgres', $marks{waiting}), $some, 'some of these on the standby, too');
}

sub old_snapshot_sees_all
{
	my ($name) = @_;
	my $sets = sub { $old->query_safe($_[0] =~ s/SET /SET LOCAL /gr) };
	foreach my $table (sort keys %summaries)
	{
		my $summary = $summaries{$table};
		my $look_up = "SELECT count(*) FROM $table WHERE id BETWEEN 1 AND 100";
		$sets->("SET enable_seqscan = on; SET enable_sort = on; $sequential_scan");
		is($old->query_safe($summary), $expected{$table}, "$name: $table by a sequential scan");
		$sets->('SET enable_indexscan = on; SET enable_indexonlyscan = on;' . $ordered_scan);
		is($old->query_safe($summary), $expected{$table}, "$name: $table by an index scan");
		is($old->query_safe($look_up), '100', "$name: $table by the unique index");
		$sets->(
			'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = on;');
		is($old->query_safe($summary), $expected{$table}, "$name: $table by a bitmap");
	}
	is($old->query_safe("$pairs BETWEEN 3 AND 7"), '5', "$name: by two columns");
	is($old->query_safe("$pairs > 1480"), '20', "$name: by two columns, on the open page");
	is($old->query_safe(check_statement($_)), '', "$name: so does the check of $_")
	  foreach 'kept_key', 'waiting_key';
	return;
}
old_snapshot_sees_all('an old snapshot on the standby sees all rows');
# Look-ups on the standby make sorted zones of sealed pages.
$standby->safe_psql('postgres', <<'SQL');
SET enable_seqscan = off;
DO $$
BEGIN
	FOR i IN 1 .. 500 LOOP
		PERFORM filler FROM waiting WHERE id - id = 0 AND key + 0 = i;
		PERFORM filler FROM waiting WHERE key = i;
		PERFORM filler FROM waiting WHERE id = i;
	END LOOP;
END $$;
SQL
old_snapshot_sees_all('an old snapshot sees them in sorted zones, too');

# Promotion.  Transactions that began before go on, and see what they saw.
$primary->stop;
$standby->promote;
old_snapshot_sees_all('after promotion');
my $workers = $standby->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
$old->query_safe("SET LOCAL $workers = on");
old_snapshot_sees_all('after promotion, in a parallel worker');
$old->query_safe("SET LOCAL $workers = off");

# A scan of the new primary leaves marked entries out; and they are not removed, as
# long as a snapshot needs them.
is($standby->safe_psql('postgres', "$ordered_scan $summaries{kept}") =~ s/\|.*//r, '200',
	'others do not see them');
is($standby->safe_psql('postgres', "$ordered_scan $summaries{waiting}") =~ s/\|.*//r, '1400',
	'nor those in the buffer');

# They install a record of what they find, which is not enough for a snapshot that was
# exported in recovery.
is($standby->safe_psql('postgres', "$ordered_scan $third; $third"), "1\n1", 'nor those of one key');
is($standby->safe_psql('postgres',
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$exported'; $ordered_scan $third"),
	'3', 'an imported snapshot sees all rows of the key');

# Sorted zones have marks if they are made after promotion; the old snapshot's scans pass
# over none of the marked entries at their ends.
$standby->safe_psql('postgres', <<'SQL');
SET enable_seqscan = off;
DO $$
BEGIN
	FOR i IN 1 .. 500 LOOP
		PERFORM filler FROM waiting WHERE key + 1 = i;
	END LOOP;
END $$;
SQL
like($standby->safe_psql('postgres', "$ordered_scan EXPLAIN $late"), qr/ using waiting_late /,
	'a scan of an index that was not read before promotion');
is($old->query_safe(($ordered_scan =~ s/SET /SET LOCAL /gr) . $late), $expected{waiting},
	'an old snapshot sees all rows in sorted zones with marks');
$standby->safe_psql('postgres',
	"$direct INSERT INTO kept SELECT 1000 + n, n % 100, 'new' FROM generate_series(1, 600) n");
$standby->safe_psql('postgres', flush_statement('waiting_key', 'waiting_id', 'waiting_pair'));
old_snapshot_sees_all('after more inserts and a flush');

# A look-up of a transaction that began in recovery marks nothing.
if ($am ne 'btree')
{
	my $dead = $standby->safe_psql('postgres', "DELETE FROM kept WHERE id = 150 RETURNING id");
	$old->query_safe('COMMIT');
	$old->quit;
	my $before = $standby->safe_psql('postgres', "SELECT marked('kept_id')");
	$unstarted->query_safe('SET TRANSACTION READ WRITE');
	$unstarted->query_safe("$direct INSERT INTO kept VALUES (150, 150, 'again')");
	$unstarted->query_safe('COMMIT');
	is($standby->safe_psql('postgres', "SELECT marked('kept_id')"), $before,
		'a look-up of a transaction that began in recovery marks nothing');
	$unstarted->query_safe("$direct DELETE FROM kept WHERE id = 151");
	$unstarted->query_safe("$direct INSERT INTO kept VALUES (151, 151, 'again')");
	$unstarted->quit;
	cmp_ok($standby->safe_psql('postgres', "SELECT marked('kept_id')"), '>', $before, 'a later one does');
}

foreach my $column ([ 'kept', 'key' ], [ 'kept', 'id' ], [ 'waiting', 'key' ], [ 'waiting', 'id' ])
{
	my ($table, $key) = @$column;
	is($standby->safe_psql('postgres', "SELECT disagreements('$table', '$key')"),
		'', "in the end: $table.$key");
	check_index($standby, "${table}_$key", 'in the end');
	$standby->safe_psql('postgres', "VACUUM (INDEX_CLEANUP ON) $table");
	is($standby->safe_psql('postgres', "SELECT disagreements('$table', '$key')"),
		'', "after VACUUM: $table.$key");
	check_index($standby, "${table}_$key", 'after VACUUM');
}
did_not_crash($standby, 'the new primary had nothing to complain about');
$standby->stop;
done_testing();
