# Staging where only a whole server shows it: a subscriber's apply worker, a crash
# right after the commit of a load and in the middle of one, and sessions in which
# the library is loaded while a statement runs already.
#
# Nothing here preloads the library.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();
# Counts the entries in an index.  Pages that a crash left empty have none.
my $stored_entries = <<'SQL';
CREATE FUNCTION stored_entries(index regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	block bigint;
	count bigint := (SELECT buffer_entries FROM sware_stats(index));
BEGIN
	FOR block IN 1 .. pg_relation_size(index) / current_setting('block_size')::int - 1 LOOP
		BEGIN
			count := count + (SELECT heap_tids FROM sware_page_stats(index, block)
				WHERE kind = 'leaf' UNION ALL SELECT 0 LIMIT 1);
		EXCEPTION WHEN index_corrupted THEN
			IF SQLERRM NOT LIKE '%zero page%' THEN
				RAISE;
			END IF;
		END;
	END LOOP;
	RETURN count;
END
$$;
SQL

# A subscriber.

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "autovacuum = off\n");
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "autovacuum = off\n");
$subscriber->start;
prepare_database($subscriber);
$subscriber->safe_psql('postgres', $stored_entries) if $am eq 'sware';

my $tables = 'CREATE TABLE data (id int PRIMARY KEY, key int, label text);'
  . 'CREATE TABLE audit (id int, key int);';
$publisher->safe_psql('postgres', $tables);
$subscriber->safe_psql('postgres', <<"SQL");
$tables
CREATE INDEX data_key ON data USING $am (key);
CREATE INDEX data_label ON data USING $am (label) INCLUDE (key);
CREATE INDEX audit_key ON audit USING $am (key);
SQL
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR TABLE data, audit');
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION mine CONNECTION '$connection' PUBLICATION everything");
$subscriber->wait_for_subscription_sync($publisher, 'mine');

# Fails the test unless an index on a subscriber has an entry for each row and
# none besides: TIDs of rows that a TRUNCATE removed are those of other rows now.
sub no_entry_besides
{
	my ($name) = @_;
	return if $am ne 'sware';
	foreach my $index (qw(data_key data_label audit_key))
	{
		my ($table) = $index =~ /^([a-z]+)_/;
		is( $subscriber->safe_psql('postgres', "SELECT stored_entries('$index')"),
			$subscriber->safe_psql('postgres', "SELECT count(*) FROM $table"),
			"$name: $index has an entry for each row");
	}
	return;
}

my $insert = 'INSERT INTO data SELECT i, i * 7919 % 10007, \'label \' || i FROM generate_series';
foreach my $step (
	[ 'insert', "$insert(1, 2000) i" ],
	[ 'several statements',
		"BEGIN; $insert(2001, 3000) i; UPDATE data SET key = key + 1 WHERE id % 5 = 0; COMMIT;" ],
	[ 'savepoints',
		"BEGIN; $insert(3001, 3100) i; SAVEPOINT s; $insert(3101, 3200) i; "
		  . "ROLLBACK TO s; $insert(3201, 3300) i; COMMIT;" ],
	[ 'rollback', "BEGIN; $insert(5001, 5100) i; ROLLBACK; $insert(5101, 5200) i;" ])
{
	my ($name, $sql) = @$step;
	$publisher->safe_psql('postgres', $sql);
	$publisher->wait_for_catchup('mine');
	foreach my $key (qw(key label))
	{
		check_index($subscriber, "data_$key", "replicated $name");
		index_agrees($subscriber, 'data', $key, "replicated $name");
	}
	is( $subscriber->safe_psql('postgres', 'SELECT count(*), sum(key) FROM data'),
		$publisher->safe_psql('postgres', 'SELECT count(*), sum(key) FROM data'),
		"replicated $name: the same rows");
}
# VACUUM, because the updates left old versions.
$subscriber->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) data');
no_entry_besides('after the updates');

# The apply worker makes the indexes anew without any utility command, in the
# middle of the transaction.
foreach my $rounds (1 .. 2)
{
	my $name = "TRUNCATE between inserts, $rounds times";
	my $sql = "BEGIN; TRUNCATE data; INSERT INTO audit SELECT i, -i FROM generate_series(1, 30) i;";
	foreach my $round (1 .. $rounds)
	{
		my $low = 10000 * $round;
		$sql .= "$insert($low, $low + 500) i; TRUNCATE data, audit;"
		  . "$insert($low + 1000, $low + 1100) i;"
		  . "INSERT INTO audit SELECT i, i FROM generate_series(1, 10) i;";
	}
	$publisher->safe_psql('postgres', "$sql COMMIT;");
	$publisher->wait_for_catchup('mine');
	check_index($subscriber, $_, $name) foreach qw(data_key data_label audit_key);
	index_agrees($subscriber, 'data', 'key', $name);
	index_agrees($subscriber, 'audit', 'key', $name);
	is( $subscriber->safe_psql('postgres', 'SELECT count(*), sum(key) FROM data'),
		$publisher->safe_psql('postgres', 'SELECT count(*), sum(key) FROM data'),
		"$name: the same rows");
	no_entry_besides($name);
}
did_not_crash($subscriber, 'the subscriber did not crash');
$subscriber->stop;
$publisher->stop;

# Crashes.

my $node = PostgreSQL::Test::Cluster->new('crashing');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
max_prepared_transactions = 10
checkpoint_timeout = 1h
restart_after_crash = on
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE data (id int, key int, label text);
CREATE INDEX data_key ON data USING $am (key);
CREATE INDEX data_label ON data USING $am (label);
SQL

# The last thing before the crash is a commit: each row of it is found.
my $rows = 0;
foreach my $load (
	[ 'a load that fits', 3000, '' ],
	[ 'a load beyond the memory', 30000, "SET sware.staging_size = '64kB';" ],
	[ 'a single row', 1, '' ],
	[ 'a load without staging', 3000, 'SET sware.enable_buffer = off;' ])
{
	my ($name, $count, $setting) = @$load;
	$setting = '' if $am ne 'sware';
	$node->safe_psql('postgres', <<"SQL");
$setting
INSERT INTO data SELECT i, i + i * 7919 % 200, 'label ' || i
  FROM generate_series($rows + 1, $rows + $count) i;
SQL
	$node->stop('immediate');
	$rows += $count;
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM data'),
		$rows, "crash after $name: all rows are there");
	foreach my $key (qw(key label))
	{
		check_index($node, "data_$key", "crash after $name");
		index_agrees($node, 'data', $key, "crash after $name");
	}
}

# PREPARE has published everything, too.
$node->safe_psql('postgres', <<"SQL");
BEGIN;
INSERT INTO data SELECT i, i, 'prepared ' || i FROM generate_series($rows + 1, $rows + 1000) i;
PREPARE TRANSACTION 'staging';
SQL
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', "COMMIT PREPARED 'staging'");
$rows += 1000;
foreach my $key (qw(key label))
{
	check_index($node, "data_$key", 'crash after PREPARE');
	index_agrees($node, 'data', $key, 'crash after PREPARE');
}

# The crash comes in the middle of a load that has sent a part of its entries to
# the tree: none of its rows is found, and no other is lost.
foreach my $how ('immediate stop', 'backend killed')
{
	my $load = $node->background_psql('postgres');
	$load->query_safe("SET sware.staging_size = '64kB'") if $am eq 'sware';
	my $pid = $load->query_safe('SELECT pg_backend_pid()');
	$load->query_safe('BEGIN');
	$load->query_safe(<<"SQL");
INSERT INTO data SELECT i, i * 79 % 100003, 'lost ' || i FROM generate_series(1000001, 1030000) i
SQL
	cmp_ok($load->query_safe("SELECT entries_appended + entries_inserted FROM sware_stats('data_key')"),
		'>', 0, "$how during a load: a part of it is in the tree") if $am eq 'sware';
	if ($how eq 'immediate stop')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $offset = -s $node->logfile;
		kill 'KILL', $pid;
		$node->wait_for_log(qr/all server processes terminated; reinitializing/, $offset);
		$node->poll_query_until('postgres', 'SELECT true') or BAIL_OUT('no recovery');
	}
	eval { $load->quit };
	is($node->safe_psql('postgres', 'SELECT count(*) FROM data'),
		$rows, "$how during a load: nothing of it, and all that was committed");
	foreach my $key (qw(key label))
	{
		check_index($node, "data_$key", "$how during a load");
		index_agrees($node, 'data', $key, "$how during a load");
	}
}
# VACUUM removes the entries that the killed loads left.
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) data');
if ($am eq 'sware')
{
	$node->safe_psql('postgres', $stored_entries);
	is($node->safe_psql('postgres', "SELECT stored_entries('data_key'), stored_entries('data_label')"),
		"$rows|$rows", 'after VACUUM there is an entry for each row');
}

# Each statement is the first one of its session that needs the library, so it is
# loaded while the statement runs: when a row has been put into the table, or when
# a function or trigger does that.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE late (id int PRIMARY KEY, key int);
CREATE INDEX late_key ON late USING $am (key);
CREATE FUNCTION insert_late(low int, high int) RETURNS bigint LANGUAGE plpgsql AS \$\$
BEGIN
	INSERT INTO late SELECT i, i FROM generate_series(low, high) i;
	RETURN (SELECT count(*) FROM late WHERE key BETWEEN low AND high);
END
\$\$;
CREATE TABLE plain (id int);
CREATE FUNCTION copy_to_late() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
	INSERT INTO late VALUES (NEW.id, NEW.id) ON CONFLICT DO NOTHING;
	RETURN NEW;
END
\$\$;
CREATE TRIGGER copied AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION copy_to_late();
SQL
my $expected = 0;
foreach my $statement (
	[ 'INSERT', 'INSERT INTO late SELECT i, i FROM generate_series(1, 100) i', 100 ],
	[ 'COPY', "COPY late FROM stdin;\n101\t101\n102\t102\n\\.\n", 2 ],
	[ 'ON CONFLICT',
		'INSERT INTO late SELECT i, i FROM generate_series(91, 110) i ON CONFLICT DO NOTHING', 8 ],
	[ 'a function', 'SET enable_seqscan = off; SELECT insert_late(201, 300)', 100 ],
	[ 'a trigger', 'INSERT INTO plain SELECT generate_series(291, 310)', 10 ],
	[ 'a CTE', 'WITH new AS (INSERT INTO late SELECT i, i FROM generate_series(401, 410) i RETURNING key)
		SELECT count(*) FROM new', 10 ],
	[ 'DO', 'DO $$ BEGIN PERFORM insert_late(501, 510);
		BEGIN PERFORM insert_late(511, 520); PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN END; END $$', 10 ],
	[ 'a failing statement', 'BEGIN; SAVEPOINT s; INSERT INTO late VALUES (601, 601), (1, 1);
		ROLLBACK TO s; INSERT INTO late VALUES (602, 602); COMMIT', 1 ])
{
	my ($name, $sql, $count) = @$statement;
	# The error of the last one is expected.
	$node->psql('postgres', $sql, on_error_stop => 0);
	$expected += $count;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM late'),
		$expected, "library loaded by $name: the rows are there");
	check_index($node, 'late_key', "library loaded by $name");
}
is( $node->safe_psql('postgres',
		"$ordered_scan SELECT count(*), count(DISTINCT key) FROM (SELECT key FROM late ORDER BY key) found"),
	"$expected|$expected",
	'library loaded by any of them: each row is found once');
is(scalar(grep_log($node, qr/PANIC|TRAP|segmentation/)), 0, 'nothing else crashed');
$node->stop;

done_testing();
