# The record cache: it is used where it may be, and what it says is never out of date.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'records are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('records');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', preload() . <<'CONF');
sware.record_cache = 1MB
max_prepared_transactions = 2
autovacuum = off
fsync = off
CONF
$node->start;
prepare_database($node);

# Statements look keys up by an index scan; one row of a key is a small number.
my $looks_up = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (k bigint, v int);
CREATE INDEX t_k ON t USING sware (k);
INSERT INTO t SELECT i * 7919 % 100003, i FROM generate_series(1, 100000) i;
SELECT sware_flush('t_k');
VACUUM (ANALYZE) t;
-- How many pages a statement looks at: the row's alone, if there is a record.
CREATE FUNCTION pages(statement text) RETURNS int LANGUAGE plpgsql AS \$\$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, FORMAT json) ' || statement
		INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int
		+ (plan->0->'Plan'->>'Shared Read Blocks')::int;
END \$\$;
SQL

sub look_up
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', "$looks_up\n$sql");
}

# The rows of a key, which are looked up twice.
sub rows_of
{
	my ($key) = @_;
	my $query = "SELECT string_agg(v::text, ' ' ORDER BY v) FROM t WHERE k = $key\::bigint;";
	my ($first, $second) = split /\n/, look_up("$query $query"), -1;
	is($second, $first, "key $key: the second look-up finds what the first one finds");
	return $first;
}

sub has_record
{
	my ($key, $table) = @_;
	$table //= 't';
	return look_up("SELECT pages('SELECT v FROM $table WHERE k = $key')") == 1;
}

my $first = $node->safe_psql('postgres', 'SELECT v FROM t WHERE k = 4711');
ok(!has_record('4711::bigint'), 'a key has no record at first');
ok(has_record('4711::bigint'), 'but when it was looked up');
is(rows_of(4711), $first, 'which leads to its row');

# There is room for less than 16,000 keys: keys that are looked up again and again keep their
# records nevertheless, while 60,000 others come.  Then their rows' pages are all that is looked at.
is(look_up(<<'SQL'), '50', 'keys that are looked up often keep their records');
CREATE FUNCTION rows_of(first int, last int) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(v) FROM generate_series(first, last) key,
		LATERAL (SELECT v FROM t WHERE k = key::bigint OFFSET 0) r
$$;
DO $$ BEGIN
	FOR i IN 0 .. 7 LOOP
		PERFORM rows_of(99001, 99050), rows_of(99001, 99050), rows_of(i * 7500, i * 7500 + 7499);
	END LOOP;
END $$;
SELECT count(*) FROM generate_series(99001, 99050) key
WHERE pages(format('SELECT v FROM t WHERE k = %s::bigint', key)) = 1;
SQL

# Entries that are stored later, in all ways.
my %ways = (
	'one row' => 'INSERT INTO t VALUES (%d, -1)',
	'a few rows' => 'INSERT INTO t SELECT k, -1 FROM generate_series(%d - 1, %1$d + 1) k',
	'many rows' => 'INSERT INTO t SELECT k, -1 FROM generate_series(%d - 1000, %1$d + 1000) k',
	'within a transaction' => 'BEGIN; INSERT INTO t VALUES (1, -2); INSERT INTO t VALUES (%d, -1); COMMIT',
	'a subtransaction' => 'BEGIN; SAVEPOINT s; INSERT INTO t '
	  . 'SELECT k, -1 FROM generate_series(%d - 1, %1$d + 1) k; RELEASE s; COMMIT',
	'without the buffer' => 'SET sware.enable_buffer = off; INSERT INTO t VALUES (%d, -1)',
	'COPY' => "COPY t FROM PROGRAM 'echo %d,-1' (FORMAT csv)",
	'an update' => 'UPDATE t SET k = %d, v = -1 WHERE k = 3',
);
my $key = 5000;
foreach my $way (sort keys %ways)
{
	$key += 5000;
	my $row = rows_of($key);
	ok(has_record("$key\::bigint"), "$way: there is a record");
	$node->safe_psql('postgres', sprintf($ways{$way}, $key));
	is(rows_of($key), "-1 $row", "$way: and not any more");
}

# What this session has staged, and what it takes back.
is(look_up(<<'SQL'), "1\n4\n4\n1\n1", 'rows of this session are found, and those that are gone are not');
SELECT count(v) FROM t WHERE k = 77::bigint;
BEGIN;
INSERT INTO t SELECT 77, -i FROM generate_series(1, 3) i;
SELECT count(v) FROM t WHERE k = 77::bigint;
SELECT count(v) FROM t WHERE k = 77::bigint;
ROLLBACK;
SELECT count(v) FROM t WHERE k = 77::bigint;
SELECT count(v) FROM t WHERE k = 77::bigint;
SQL

# Scans that go on in another direction, and joins that go back to a mark.
$node->safe_psql('postgres', 'INSERT INTO t VALUES (88, -1)');
my $row = rows_of(88);
is(look_up(<<'SQL'), "2\n1\n1\n2\n2\n1", 'a cursor over a record goes forward and backward');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT row_number() OVER (ORDER BY v) FROM t WHERE k = 88::bigint;
DECLARE d SCROLL CURSOR FOR SELECT CASE v WHEN -1 THEN 2 ELSE 1 END FROM t WHERE k = 88::bigint;
FETCH LAST FROM d;
FETCH PRIOR FROM d;
FETCH FIRST FROM d;
FETCH NEXT FROM d;
FETCH LAST FROM d;
FETCH BACKWARD 1 FROM d;
COMMIT;
SQL
is(look_up(<<'SQL'), '4', 'a merge join goes back to the mark');
SET enable_nestloop = off; SET enable_hashjoin = off; SET enable_material = off;
SELECT count(*) FROM t a JOIN t b USING (k) WHERE k = 88::bigint AND a.v + b.v < 1000000;
SQL

# What has no records.
foreach my $table ('i (k) ; text', 'i (k, v) ; bigint', 'i (k) ; numeric')
{
	my ($columns, $type) = split / ; /, $table;
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS u;
CREATE TABLE u (k $type, v int);
CREATE INDEX ON u USING sware @{[ $columns =~ s/^i //r ]};
INSERT INTO u VALUES ('1', 1);
SQL
	my $condition = "'1'::$type";
	$condition =~ s/'/''/g;
	look_up("SELECT pages('SELECT v FROM u WHERE k = $condition')");
	ok(!has_record($condition, 'u'), "no records of $columns of $type");
}

# A key with many rows, and one with none.
$node->safe_psql('postgres', 'INSERT INTO t SELECT 99, -i FROM generate_series(1, 3) i');
is(scalar(split(/ /, rows_of(99))), 4, 'a key with more rows than a record has');
ok(!has_record('99::bigint'), 'it has none');
is(rows_of(-1), '', 'a key that is not there');
$node->safe_psql('postgres', 'INSERT INTO t VALUES (-1, 1)');
is(rows_of(-1), '1', 'and then is');

# A Datum may have other bits than those of its value: what makes it may extend the sign or
# not.  The key of the entry and the ones of the look-ups come from different places.
my %origins = (
	'a constant' => 'SELECT v FROM d WHERE k = (%s)',
	'a constant that is read' => 'SELECT v FROM d WHERE k = %s',
	'a parameter' => 'PREPARE p(%2$s) AS SELECT v FROM d WHERE k = $1; EXECUTE p(%1$s)',
	'another table' => 'SELECT d.v FROM o JOIN d USING (k) WHERE o.k = %s',
);
my %values = (
	int => "hashtext('sware 1')", oid => '4000000500', regclass => '4000000500::oid::regclass',
	smallint => "'-5'::smallint", date => "'1999-01-01'::date", '"char"' => "E'\\\\200'::\"char\"");
ok($node->safe_psql('postgres', "SELECT $values{int} < 0") eq 't', 'a hash is negative');
foreach my $type (sort keys %values)
{
	my $value = $values{$type};
	my $insert = "INSERT INTO d VALUES ($value, 1); SELECT sware_flush('d_k');";
	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE d (k $type, v int);
CREATE TABLE o AS SELECT $value AS k;
CREATE INDEX d_k ON d USING sware (k);
ANALYZE o;
SQL
	foreach my $origin (sort keys %origins)
	{
		my $query = 'SET enable_hashjoin = off; SET enable_mergejoin = off; '
		  . 'SET plan_cache_mode = force_generic_plan; ' . sprintf($origins{$origin}, $value, $type);
		$node->safe_psql('postgres', "TRUNCATE d; $insert");
		is(look_up($query), '1', "$type by $origin: the row is found");
		$node->safe_psql('postgres', $insert);
		is(look_up($query), "1\n1", "$type by $origin: and a new one, too");
	}
	$node->safe_psql('postgres', 'DROP TABLE d, o');
}

# Statistics count look-ups that find a record, too.
my $scans = 'SELECT pg_stat_force_next_flush(); '
  . "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 't_k'";
my $scans_before = (split /\n/, $node->safe_psql('postgres', $scans))[-1];
look_up('SELECT v FROM t WHERE k = 4712::bigint; SELECT v FROM t WHERE k = 4712::bigint;');
is((split /\n/, $node->safe_psql('postgres', $scans))[-1] - $scans_before,
	2, 'each look-up counts as a scan');

# TIDs that VACUUM lets be reused lead to the rows of other keys.
rows_of($_) foreach (501 .. 520);
ok(has_record('501::bigint'), 'before VACUUM there are records');
$node->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE k BETWEEN 501 AND 520;
VACUUM (INDEX_CLEANUP on, TRUNCATE off) t;
INSERT INTO t SELECT 1000000 + i, 1 FROM generate_series(1, 40) i;
SQL
is(look_up("SELECT count(v) FROM t WHERE k = $_\::bigint"), '0', "VACUUM has removed $_")
  foreach (501, 510, 520);

# Rows that are dead to all.
$node->safe_psql('postgres', 'INSERT INTO t SELECT -2, i FROM generate_series(1, 2) i');
rows_of(-2);
$node->safe_psql('postgres', 'DELETE FROM t WHERE k = -2 AND v = 1');
is(rows_of(-2), '2', 'a dead row is not found');

# Other files and other indexes.
rows_of(4711);
$node->safe_psql('postgres', 'TRUNCATE t; INSERT INTO t VALUES (4712, 1), (4711, 2), (4710, 3)');
is(rows_of(4711), '2', 'the table is another one');
$node->safe_psql('postgres', 'VACUUM FULL t');
is(rows_of(4711), '2', 'its file is another one');
$node->safe_psql('postgres', 'REINDEX INDEX t_k');
is(rows_of(4711), '2', 'the index is another one');

# Runs a look-up that waits for a lock, and meanwhile other statements.
my $lock = 23265;

sub look_up_meanwhile
{
	my ($looked_up, $others) = @_;
	my (%holder, %reader);
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $start = sub
	{
		my ($session, $name, $sql) = @_;
		local $ENV{PGAPPNAME} = $name;
		append_to_file("$directory/$name.sql", $sql);
		$session->{run} = IPC::Run::start(
			[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', "$directory/$name.sql" ],
			'>', \$session->{out}, '2>', \$session->{err});
	};
	my $until = sub
	{
		my ($name, $event) = @_;
		$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_activity '
			  . "WHERE application_name = '$name' AND wait_event = '$event'")
		  || BAIL_OUT("$name does not wait");
	};
	$start->(\%holder, 'holder', "SELECT pg_advisory_lock($lock); SELECT pg_sleep(3600);");
	$until->('holder', 'PgSleep');
	$start->(\%reader, 'reader', "$looks_up $looked_up");
	$until->('reader', 'advisory');
	$node->safe_psql('postgres', $others);
	$node->safe_psql('postgres', 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
		  . "WHERE application_name = 'holder'");
	$holder{run}->finish;
	$reader{run}->finish;
	return $reader{out};
}

# In a unique index an old snapshot is content with the version that it sees.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE versions (k bigint, v int, w int);
INSERT INTO versions SELECT i, 0, i FROM generate_series(1, 1000) i;
CREATE UNIQUE INDEX ON versions USING sware (k);
CREATE INDEX ON versions (w);
SQL
my $update = 'UPDATE versions SET v = v + 1, w = -w WHERE k = 7;';
like(look_up_meanwhile(<<"SQL", "$update $update"), qr/^0$/m, 'an old snapshot sees its version');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'begun' FROM versions LIMIT 1;
DO 'BEGIN PERFORM pg_advisory_lock_shared($lock); END';
SELECT v FROM versions WHERE k = 7::bigint;
COMMIT;
SQL
is(look_up("SELECT v FROM versions WHERE k = 7::bigint"), '2', 'and others see the newest one')
  foreach (1 .. 3);

# A database that gets the OID of one that was dropped, with other rows: before there are
# records, a copy of the template gets a row with key 0 in the place of that with key 7.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE moved (k bigint, v int);
CREATE INDEX moved_k ON moved USING sware (k);
INSERT INTO moved SELECT i, i FROM generate_series(1, 100) i;
SELECT sware_flush('moved_k');
SQL
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE postgres") foreach qw(model changed);
$node->safe_psql('changed', $_)
  foreach 'DELETE FROM moved WHERE k = 7', 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) moved',
  'INSERT INTO moved VALUES (0, 0)';
is($node->safe_psql('changed', 'SELECT ctid FROM moved WHERE k = 0'),
	'(0,7)', 'a row is in the place of another');
my $seven = 'FROM moved WHERE k = 7::bigint';
$seven = "$looks_up SELECT v, pages('SELECT v $seven') $seven";
$node->safe_psql('postgres', 'CREATE DATABASE again OID 100000 TEMPLATE model');
$node->safe_psql('again', $seven) for 1 .. 2;
is($node->safe_psql('again', $seven), '7|1', 'there is a record in a database');
$node->safe_psql('postgres', 'DROP DATABASE again');
$node->safe_psql('postgres', 'CREATE DATABASE again OID 100000 TEMPLATE changed');
is($node->safe_psql('again', $seven), '', 'but not in the next one with its OID');
$node->safe_psql('postgres', "DROP DATABASE $_") foreach qw(again changed model);

# Sessions that wait between two steps.
SKIP:
{
	my (undef, undef, $stderr) =
	  run_sql($node, "SET sware.fault_points = 'record-read=notice';");
	skip 'there are no fault points', 1 if $stderr =~ /unrecognized|invalid/;

	foreach my $point (qw(record-missed record-read))
	{
		my $wait = sub {
			return "SET sware.fault_points = '$point=wait'; SELECT v FROM t WHERE k = $_[0]\::bigint;";
		};
		$node->safe_psql('postgres', <<'SQL');
TRUNCATE t; INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i; SELECT sware_flush('t_k');
SQL
		is(look_up_meanwhile($wait->(500), 'INSERT INTO t VALUES (500, 501)'),
			"500\n", "$point: a reader does not see a later row");
		is(rows_of(500), '500 501', "$point: but the next one does");

		$node->safe_psql('postgres', 'DELETE FROM t WHERE k = 300');
		is(look_up_meanwhile($wait->(300), <<'SQL'), '', "$point: a reader does not see a dead row");
VACUUM (INDEX_CLEANUP on, TRUNCATE off) t; INSERT INTO t VALUES (2000, 2000);
SQL
		is(rows_of(300), '', "$point: nor does the next one");
		is(rows_of(2000), '2000', "$point: the row that has its TID has another key");
	}
}

# A serializable transaction locks what it has from a record, too: of two that look each
# other's new key up, one fails.
look_up('SELECT v FROM t WHERE k = 701::bigint') for 1 .. 2;
ok(has_record('701::bigint'), 'there is a record before the serializable transactions');
my $serializable = "$looks_up BEGIN ISOLATION LEVEL SERIALIZABLE;";
$node->safe_psql('postgres', "$serializable SELECT v FROM t WHERE k = 701::bigint; "
	  . "INSERT INTO t VALUES (702, -1); PREPARE TRANSACTION 'other'");
my (undef, undef, $failure) = run_sql($node,
	"$serializable SELECT v FROM t WHERE k = 702::bigint; INSERT INTO t VALUES (701, -1); COMMIT");
like($failure, qr/could not serialize access/, 'one of two serializable transactions fails');
$node->safe_psql('postgres', "COMMIT PREPARED 'other'");
is(rows_of(702), '-1 702', 'and the row of the other one is found');

# A standby has no records, and one that was promoted has.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $query = "$looks_up SELECT string_agg(v::text, ' ' ORDER BY v) FROM t WHERE k = 600::bigint;";
$standby->safe_psql('postgres', $query) for 1 .. 2;
$node->safe_psql('postgres', 'INSERT INTO t VALUES (600, 601)');
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', $query), '600 601', 'a standby sees what was replayed');
$standby->promote;
$standby->safe_psql('postgres', $query) for 1 .. 2;
$standby->safe_psql('postgres', 'INSERT INTO t VALUES (600, 602)');
is($standby->safe_psql('postgres', $query), '600 601 602', 'and after promotion what is inserted');

check_index($node, 't_k', 'at the end');
did_not_crash($node, 'the server did not crash');
done_testing();
