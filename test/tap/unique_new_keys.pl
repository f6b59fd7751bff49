# Sessions insert keys near the largest one into the same unique index, singly and in
# batches, so that many keys are new where keys are expected, and many are not. A session is
# killed in the middle, and the others go on after recovery. A sequential scan shows
# that no key is there twice.
#
# SWARE_NEW_KEYS_STATEMENTS sets the number of statements of each session (default
# 500).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Copy;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $statements = $ENV{SWARE_NEW_KEYS_STATEMENTS} // 500;
my $am = am();

my $node = PostgreSQL::Test::Cluster->new('unique_new_keys');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nrestart_after_crash = on\n"
	  . "deadlock_timeout = '100ms'\n" . preload());
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (k bigint, who text);
CREATE UNIQUE INDEX t_k ON t USING $am (k);
CREATE SEQUENCE keys;
CREATE TABLE refused (k bigint);
-- A key near the largest one; few are far behind it, or ahead of it.
CREATE FUNCTION near_key() RETURNS bigint LANGUAGE sql AS \$\$
	SELECT nextval('keys') - floor(6 * random() * random())::int +
		CASE WHEN random() < 0.02 THEN floor(800 * random())::int - 500 ELSE 0 END
\$\$;
-- Inserts keys in transactions of their own; those that are refused are replaced.
CREATE PROCEDURE insert_singly(who text, count int) LANGUAGE plpgsql AS \$\$
DECLARE
	key bigint;
BEGIN
	WHILE count > 0 LOOP
		key := near_key();
		BEGIN
			INSERT INTO t VALUES (key, who);
			count := count - 1;
		EXCEPTION WHEN unique_violation THEN
			INSERT INTO refused VALUES (key);
		END;
		COMMIT;
	END LOOP;
END \$\$;
SQL

# Before version 18, core refuses ON CONFLICT on tables with unique sware indexes.
my $or_do_nothing = $am eq 'btree' || $node->pg_version >= 18 ? ' ON CONFLICT (k) DO NOTHING' : '';

# What a session does.
sub script
{
	my ($who, $count) = @_;
	my $near = 'near_key()';
	my $script = '';
	foreach (1 .. $count)
	{
		my $rows = choose(20, 60);
		my $batch = "INSERT INTO t SELECT nextval('keys'), 'batch $who' FROM generate_series(1, $rows);";
		$script .= pick(
			("INSERT INTO t VALUES ($near, 'single $who');") x 12,
			"INSERT INTO t VALUES ($near, 'conflict $who')$or_do_nothing;",
			"CALL insert_singly('procedure $who', " . choose(1, 10) . ');',
			$batch,
			"BEGIN; $batch INSERT INTO t VALUES ($near, 'after batch $who'); COMMIT;",
			"BEGIN; $batch ROLLBACK;",
			'DELETE FROM t WHERE k = (SELECT max(k) FROM t);') . "\n";
	}
	return $script;
}

# Starts sessions that do it.
sub start_sessions
{
	my ($part, $count, $errors) = @_;
	my @sessions;
	foreach my $number (1 .. 4)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . "/$part$number.sql";
		append_to_file($file, script("$part $number", $count));
		push @sessions,
		  IPC::Run::start(
			[ 'psql', '-XAqt', '-d', $node->connstr('postgres') . " application_name=$part", '-f', $file ],
			'<', \undef, '>', '/dev/null', '2>', \$errors->[$number - 1],
			IPC::Run::timeout(180));
	}
	return @sessions;
}

sub check_table
{
	my ($name) = @_;
	is( $node->safe_psql(
			'postgres',
			$sequential_scan . 'SELECT k, array_agg(who) FROM t GROUP BY k HAVING count(*) > 1 LIMIT 5'),
		'', "$name: no key is there twice");
	check_index($node, 't_k', $name);
	return;
}

# These sessions have more to do than they will be given time for.
my @errors = ('') x 4;
my @sessions = start_sessions('first', 20 * $statements, \@errors);
ok( $node->poll_query_until('postgres', "SELECT last_value > 3 * $statements FROM keys"),
	'the sessions make progress');
my $killed = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE application_name = 'first' LIMIT 1");
ok(kill('KILL', $killed), 'a session is killed');
$_->finish foreach @sessions;
ok(wait_for_answer($node, "SELECT 'yes'", qr/yes/), 'the server recovers');
check_table('after a crash');

@errors = ('') x 4;
@sessions = start_sessions('second', $statements, \@errors);
ok($_->finish, 'a session has come to its end') foreach @sessions;
is( join("\n",
		grep { /ERROR|FATAL|PANIC/ && !/duplicate key value|deadlock detected|transaction is aborted/ }
		  split /\n/, join('', @errors)),
	'', 'no errors but those of equal keys');
check_table('in the end');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM refused'),
	't', 'some keys were refused');

# An index whose file is moved with its number, and back, by ALTER DATABASE; another
# index that gets this number; and an index whose database is dropped, and made anew
# with the same OID and the same files.
sub insert
{
	my ($database, $low, $high) = @_;
	my $errors = '';
	$node->psql(
		$database,
		join("\n", map { "INSERT INTO t VALUES ($_);" } $low .. $high),
		on_error_stop => 0,
		stderr => \$errors);
	return scalar(() = $errors =~ /duplicate key value/g);
}

$node->safe_psql('postgres', <<'SQL');
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE other LOCATION '';
SQL
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', <<"SQL");
CREATE EXTENSION @{[ $am eq 'btree' ? 'amcheck' : $am ]};
CREATE TABLE t (k int);
CREATE UNIQUE INDEX t_k ON t USING $am (k);
SQL
$node->safe_psql('postgres', 'CREATE DATABASE moved OID 100000 TEMPLATE model');
is(insert('moved', 1, 70), 0, 'there are keys');
$node->safe_psql('postgres', 'ALTER DATABASE moved SET TABLESPACE other');
is(insert('moved', 71, 80), 0, 'more keys after a move');
is(insert('moved', 80, 80), 1, 'one of them again');
$node->safe_psql('postgres', 'ALTER DATABASE moved SET TABLESPACE pg_default');
is(insert('moved', 71, 80), 10, 'all of them after the move back');
is(insert('moved', 81, 160), 0, 'more keys');
is(insert('moved', 155, 160), 6, 'some of them again');

# The number goes to another index, as it would after all numbers have been in use:
# while the database's pages are not in memory, the files are exchanged.
$node->safe_psql('moved', <<"SQL");
CREATE TABLE other (k int);
CREATE UNIQUE INDEX other_k ON other USING $am (k);
INSERT INTO other SELECT generate_series(1, 400);
SQL
my %file = map { $_ => $node->safe_psql('moved', "SELECT pg_relation_filenode('$_')") }
  qw(t t_k other other_k);
$node->safe_psql('postgres', 'ALTER DATABASE moved SET TABLESPACE other');
my $directory = $node->data_dir . '/' . $node->safe_psql('postgres', <<'SQL');
SELECT 'pg_tblspc/' || oid || '/' || pg_ls_dir('pg_tblspc/' || oid) || '/100000'
FROM pg_tablespace WHERE spcname = 'other'
SQL
foreach my $relation (qw(t t_k))
{
	my ($old, $new) = map { "$directory/$file{$_}" } $relation, $relation =~ s/^t/other/r;
	copy($new, $old) or die "$new: $!";
}
$node->safe_psql('postgres', 'ALTER DATABASE moved SET TABLESPACE pg_default');
is(insert('moved', 391, 400), 10, 'keys of another index with the same file number');
$node->safe_psql('postgres', 'DROP DATABASE moved');
is(insert('model', 1, 300), 0, 'keys in the template');
$node->safe_psql('postgres', 'CREATE DATABASE moved OID 100000 TEMPLATE model');
is(insert('moved', 161, 300), 140, 'all of them in a new database with the same OID');
$node->stop;

done_testing();
