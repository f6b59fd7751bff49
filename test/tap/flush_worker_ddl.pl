# The flush worker beside what changes its database, and its tables: a database can be
# dropped, renamed, moved and copied while its worker works, and while it starts; DDL waits
# for a piece at most, and the worker for nothing. Functions of an index's owner get no
# rights of the worker's, and keep nothing of it; what they raise is logged.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FlushWorkers;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'flush workers are sware\'s' if am() ne 'sware';

my $node = start_worker_server('worker_ddl', preload() . "allow_in_place_tablespaces = on\n");
make_tables($node, 'postgres', qw(t u));
$node->safe_psql('postgres', q{CREATE TABLESPACE place LOCATION ''});

# Fails the test if the log has something that is not expected.
sub nothing_is_logged
{
	my ($offset, $name) = @_;
	return is(join("\n", grep_log($node, qr/(WARNING|ERROR|FATAL|PANIC):/, $offset)), '', "$name: no errors");
}

# A database whose worker works, and has more to do.
my %statements = (
	'CREATE DATABASE' => [ 'CREATE DATABASE copy TEMPLATE one', qw(one copy) ],
	'RENAME' => [ 'ALTER DATABASE one RENAME TO other', 'other' ],
	'SET TABLESPACE' => [ 'ALTER DATABASE one SET TABLESPACE place', 'one' ],
	'DROP DATABASE' => ['DROP DATABASE one'],
);
foreach my $name (sort keys %statements)
{
	my ($statement, @databases) = @{ $statements{$name} };
	$node->safe_psql('postgres', 'CREATE DATABASE one');
	make_tables($node, 'one', 't');
	my $worker = stop_worker($node, 'one', 't');
	my $offset = -s $node->logfile;
	my $session = start_session($node, 'ddl', $statement);
	wait_until($node, 'ddl', "wait_event_type = 'Lock'");
	resume($worker);
	$session->{run}->finish;
	is($session->{err}, '', "$name while the worker works");
	is_gone($worker, "$name: the worker ends");
	nothing_is_logged($offset, $name);
	has_good_indexes($node, $_, 't', "$name, database $_") foreach @databases;
	foreach (@databases)
	{
		$node->safe_psql('postgres', "ALTER DATABASE $_ RESET sware.fault_points");
		my $inserts = start_inserts($node, $_, 't');
		has_pieces($node, $_, 't_key', 'worker', "$name: a worker starts in database $_");
		end_inserts($node, $inserts);
		have_ended($node, "$name: and ends");
		has_good_indexes($node, $_, 't', "$name, database $_ after a load");
		$node->safe_psql('postgres', "DROP DATABASE $_");
	}
}

# The same while it starts. What was requested by then is done if there is a database.
foreach my $name ('RENAME', 'DROP DATABASE')
{
	my ($statement, @databases) = @{ $statements{$name} };
	$node->safe_psql('postgres', 'CREATE DATABASE one');
	make_tables($node, 'one', 't');
	change_setting($node, 'sware.fault_points', 'worker-begins=stop');
	my $offset = -s $node->logfile;
	my $inserts = start_inserts($node, 'one', 't');
	my $worker = wait_for_stop($node, 'worker-begins', $offset);
	end_inserts($node, $inserts);
	$offset = -s $node->logfile;
	$node->safe_psql('postgres', $statement);
	resume($worker);
	is_gone($worker, "$name while the worker starts: it ends");
	nothing_is_logged($offset, "$name while the worker starts");
	change_setting($node, 'sware.fault_points', '');
	change_setting($node, 'log_min_messages', 'debug1');
	$offset = -s $node->logfile;
	$node->safe_psql('postgres', "CALL insert_rows('u', 100)");
	is(registered($node, $offset), 1, "$name: another database gets a worker at once");
	have_ended($node, 'it ends');
	change_setting($node, 'log_min_messages', 'warning');
	foreach (@databases)
	{
		cmp_ok(pieces($node, $_, 't_key'), '>', 0, "$name: it has done what was requested");
		has_good_indexes($node, $_, 't', "$name, database $_");
		$node->safe_psql('postgres', "DROP DATABASE $_");
	}
}

# In a database that allows no connections any more, workers start for sessions that it has.
$node->safe_psql('postgres', 'CREATE DATABASE one');
make_tables($node, 'one', 't');
my $inserts = start_inserts($node, 'one', 't');
my $first = worker_of($node, 'one');
$node->safe_psql('postgres', 'ALTER DATABASE one ALLOW_CONNECTIONS false');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($first)");
is_gone($first, 'a worker ends');
isnt(worker_of($node, 'one'), '', 'another one starts in a database that allows no connections');
end_inserts($node, $inserts);
have_ended($node, 'and ends');
$node->safe_psql('postgres', 'ALTER DATABASE one ALLOW_CONNECTIONS true');
has_good_indexes($node, 'one', 't', 'it is well');

# DDL waits for the piece that is being flushed, and for no other.
my $worker = stop_worker($node, 'postgres', 't');
my $offset = -s $node->logfile;
my $session = start_session($node, 'ddl', 'ALTER TABLE t ADD COLUMN note text; DROP INDEX t_key;');
wait_until($node, 'ddl', "wait_event_type = 'Lock'");
resume($worker);
$session->{run}->finish;
is($session->{err}, '', 'DDL waits for a piece');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET sware.fault_points');
is_gone($worker, 'then the index is gone');
$node->safe_psql('postgres', 'ALTER TABLE t DROP COLUMN note;
	CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 64)');
nothing_is_logged($offset, 'DDL');

# The worker waits for no lock: while a table is locked, it flushes others.
my @inserts = map { start_inserts($node, 'postgres', $_) } qw(t u);
has_pieces($node, 'postgres', "${_}_key", 'worker', "index ${_}_key is flushed") foreach qw(t u);
my $holder = start_holder($node, 'BEGIN; LOCK TABLE t;');
has_pieces($node, 'postgres', 'u_key', 'worker', 'a table is locked, another one is flushed') foreach 1 .. 5;
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks, $workers
		WHERE pg_locks.pid = worker.pid AND NOT granted"),
	0, 'the worker waits for no lock');
end_session($node, $holder);
has_pieces($node, 'postgres', 't_key', 'worker', 'it is flushed again when it is not locked');

# All kinds of DDL, one after another, beside the worker.
foreach my $statement ('REINDEX INDEX t_key', 'TRUNCATE t', 'REINDEX INDEX CONCURRENTLY t_key',
	'DROP INDEX t_key; CREATE INDEX t_key ON t USING sware (key) WITH (buffer_size = 64)',
	'ALTER TABLE t ALTER key TYPE numeric', 'ALTER TABLE t ALTER key TYPE int8',
	'CLUSTER t USING t_key', 'VACUUM t', 'ALTER INDEX t_key SET (fillfactor = 80)')
{
	my ($status, $output, $errors) = run_sql($node, "SET sware.fault_points = ''; $statement");
	is($errors, '', "beside the worker: $statement");
	has_pieces($node, 'postgres', 't_key', 'worker', 'and it goes on');
}
end_inserts($node, @inserts);
have_ended($node, 'in the end there is no worker');
is(join("\n", grep_log($node, qr/(WARNING|ERROR|PANIC):/, $offset)), '', 'there were no errors');
has_good_indexes($node, 'postgres', 't, u', 'after DDL beside the worker');

# A role's comparison function runs as the role, whoever flushes, and keeps nothing. It does
# what it should not once, in the worker.
$node->safe_psql('postgres', 'CREATE ROLE mallory; CREATE DATABASE trap;
	ALTER DATABASE trap SET sware.fault_trust = on');
make_tables($node, 'trap', 'u');
$node->safe_psql('trap', <<'SQL');
CREATE SCHEMA mallory AUTHORIZATION mallory;
GRANT USAGE ON SCHEMA public TO mallory;
GRANT CREATE ON DATABASE trap TO mallory;
SET ROLE mallory;
CREATE TABLE mallory.acts (number serial, act text, result text);
CREATE FUNCTION mallory.try(statement text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	result text := 'done';
BEGIN
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN OTHERS THEN
		result := sqlerrm;
	END;
	INSERT INTO mallory.acts (act, result) VALUES (statement, result);
END $$;
CREATE FUNCTION mallory.note(act text, result text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO mallory.acts (act, result) VALUES (act, result)
$$;
CREATE FUNCTION mallory.compare(a int8, b int8) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF concat(current_setting('trap.inserts', true), current_setting('trap.passed', true)) = '' THEN
		PERFORM set_config('trap.passed', 'yes', true);
		PERFORM mallory.note('lock_timeout', current_setting('lock_timeout'));
		IF (SELECT count(*) = 1 FROM mallory.acts) THEN
			PERFORM mallory.note('user', current_user);
			PERFORM mallory.note('path', current_setting('search_path'));
			PERFORM mallory.try('SET ROLE NONE');
			PERFORM mallory.try('SET SESSION AUTHORIZATION DEFAULT');
			PERFORM mallory.try('ALTER ROLE mallory SUPERUSER');
			PERFORM mallory.try('CREATE TEMPORARY TABLE pg_temp.mine (a int)');
			PERFORM mallory.try('SET lock_timeout = 0');
			PERFORM mallory.try('SELECT pg_advisory_lock(4711)');
		END IF;
	END IF;
	RETURN btint8cmp(a, b);
END $$;
RESET ROLE;
CREATE OPERATOR CLASS mallory.ops FOR TYPE int8 USING sware AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 mallory.compare(int8, int8);
SET ROLE mallory;
CREATE TABLE mallory.t (key int8, id int8);
CREATE INDEX t_key ON mallory.t USING sware (key mallory.ops) WITH (buffer_size = 64);
SQL
$node->safe_psql('postgres', q{ALTER DATABASE trap SET sware.fault_points = 'flush-sorted=stop'});
$offset = -s $node->logfile;
$inserts = start_inserts($node, 'trap', 'mallory.t', "SET trap.inserts = 'yes';");
$worker = wait_for_stop($node, 'flush-sorted', $offset);
$node->poll_query_until('trap', "SELECT buffer_pages >= 14 FROM sware_stats('mallory.t_key')");
my $locks = q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711};
is($node->safe_psql('postgres', $locks), '1', 'a comparison function has taken a lock');
$offset = -s $node->logfile;
resume($worker);
is(wait_for_stop($node, 'flush-sorted', $offset), $worker, 'the worker goes on with the next piece');
is($node->safe_psql('postgres', $locks), '0', 'the lock is gone then');
$node->safe_psql('postgres', 'ALTER DATABASE trap RESET sware.fault_points');
end_inserts($node, $inserts);
resume_to_end($worker, 'the worker ends');
is($node->safe_psql('trap', q{
	SELECT act, CASE WHEN act ~ 'SUPERUSER' AND result ~ 'must be|permission denied' THEN 'refused'
		ELSE replace(result, 'within security-restricted operation', 'here') END
	FROM mallory.acts ORDER BY number LIMIT 10}), <<'ACTS' =~ s/\n\z//r,
lock_timeout|10s
user|mallory
path|pg_catalog, pg_temp
SET ROLE NONE|cannot set parameter "role" here
SET SESSION AUTHORIZATION DEFAULT|cannot set parameter "session_authorization" here
ALTER ROLE mallory SUPERUSER|refused
CREATE TEMPORARY TABLE pg_temp.mine (a int)|cannot create temporary table here
SET lock_timeout = 0|done
SELECT pg_advisory_lock(4711)|done
lock_timeout|10s
ACTS
	'it was called as the owner of the table, with no more rights than that, and has changed nothing');
$node->stop;
done_testing();
