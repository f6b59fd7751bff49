# Events in the life of an index with entries in its buffer that only a whole
# server, or several, can show: databases copied, moved and dropped; crashes, clean
# restarts, prepared transactions across them; backups, recovery to a point in
# time, promotion; dumps; pg_upgrade; wal_level = minimal; and a disk that is full.
# The library is preloaded, except in one part. sql/buffer_life and sql/life_* show
# what a single session can show; this part runs them as well.
#
# The library is preloaded, but in one part. What a single session can show is in
# sql/buffer_life and sql/life_*, which this part runs as well.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();
my $preload = $am eq 'sware' ? "shared_preload_libraries = 'sware'\n" : '';

my $common_settings = <<'CONF';
autovacuum = off
max_prepared_transactions = 10
checkpoint_timeout = 1h
allow_in_place_tablespaces = on
wal_consistency_checking = 'generic'
CONF

# Tables with indexes that have 1000 rows in the tree, 200 in the buffer, and a
# sealed page or more if there are many rows; shared memory knows something of all
# these parts.
my $make = <<"SQL";
CREATE TABLE data (id int, key int, label text);
CREATE INDEX data_key ON data USING $am (key);
CREATE INDEX data_label ON data USING $am (label) INCLUDE (id);
CREATE PROCEDURE add_rows(name text, low int, transactions int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR n IN 1 .. transactions LOOP
		INSERT INTO data SELECT low + n * 100 + i, (low + n * 100 + i) * 79 % 10007, name || i
		  FROM generate_series(1, 100) i;
		COMMIT;
	END LOOP;
END
\$\$;
INSERT INTO data SELECT i, i * 7919 % 10007, 'tree ' || i FROM generate_series(1, 1000) i;
CALL add_rows('first', 1000, 15);
SQL

# The rows that every scan finds, which are the same for all if the indexes are
# right.
my $verdict = <<"SQL";
CREATE FUNCTION verdict() RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	answers text[];
	way text;
	other text;
	column_name text;
	ordered boolean;
BEGIN
	FOREACH way IN ARRAY '{seqscan,indexscan,indexonlyscan,bitmapscan}'::text[] LOOP
		FOREACH other IN ARRAY '{seqscan,indexscan,indexonlyscan,bitmapscan}'::text[] LOOP
			PERFORM set_config('enable_' || other,
				(way = other OR (way = 'indexonlyscan' AND other = 'indexscan'))::text, true);
		END LOOP;
		answers := answers ||
			((SELECT count(*) || ' ' || coalesce(md5(string_agg(key || ' ' || id, ',' ORDER BY key, id)), '')
				FROM data WHERE key >= 0)
			 || (SELECT count(*) || ' '
			     || coalesce(md5(string_agg(label || ' ' || id, ',' ORDER BY label, id)), '')
			     FROM data WHERE label >= ''));
	END LOOP;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_sort', 'off', true);
	FOREACH column_name IN ARRAY '{key,label}'::text[] LOOP
		EXECUTE format('SELECT coalesce(bool_and(o), true) FROM (
			SELECT lag(%1\$I, 1, %1\$I) OVER () <= %1\$I AS o
			FROM (SELECT %1\$I FROM data ORDER BY %1\$I) s) w', column_name) INTO ordered;
		IF NOT ordered THEN
			RETURN column_name || ' is out of order';
		END IF;
	END LOOP;
	IF cardinality(answers) <> 4 OR answers[2] <> answers[1] OR answers[3] <> answers[1]
		OR answers[4] <> answers[1] THEN
		RETURN 'different: ' || answers::text;
	END IF;
	RETURN split_part(answers[1], ' ', 1) || ' rows';
END
\$\$;
SQL

# The verdict of a database, and the check of its indexes.
sub is_right
{
	my ($node, $database, $rows, $name) = @_;
	is($node->safe_psql($database, 'SELECT verdict()'),
		"$rows rows", "$name: $rows rows, by all scans");
	my $function = $am eq 'sware' ? 'sware_check' : 'bt_index_check';
	my ($stdout, $stderr) = ('', '');
	my $status = $node->psql(
		$database, "SELECT $function('data_key', true), $function('data_label', true)",
		stdout => \$stdout, stderr => \$stderr);
	ok($status == 0, "$name: check") || diag($stderr);
	return;
}

# The number of entries in the buffer of a table's index on its key.
sub buffered
{
	my ($node, $database, $table) = @_;
	return 0 if $am ne 'sware';
	$table //= 'data';
	return $node->safe_psql($database,
		"SELECT buffer_entries FROM sware_stats('${table}_key')");
}

sub has_buffered
{
	my ($node, $database, $name) = @_;
	return if $am ne 'sware';
	cmp_ok(buffered($node, $database), '>', 0, "$name: there are entries in the buffer");
	return;
}

sub flush
{
	my ($node, $database) = @_;
	return if $am ne 'sware';
	return $node->safe_psql($database, "SELECT sware_flush('data_key'), sware_flush('data_label')");
}

sub prepare
{
	my ($node, $database) = @_;
	my $extension = $am eq 'btree' ? 'amcheck' : $am;
	$node->safe_psql($database, "CREATE EXTENSION $extension");
	$node->safe_psql($database, "$verdict $make");
	return;
}

# A server with databases "postgres" and "model", whose tables are filled.
sub start_server
{
	my ($name, $settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1, has_archiving => 1);
	$node->append_conf('postgresql.conf', "$common_settings$settings");
	$node->start;
	prepare($node, 'postgres');
	is_right($node, 'postgres', 2500, "$name, at first");
	has_buffered($node, 'postgres', "$name, at first");
	return $node;
}

# A clean restart and a crash.
sub restart_and_crash
{
	my ($node) = @_;
	my $name = $node->name;
	$node->restart;
	has_buffered($node, 'postgres', "$name, restart");
	is_right($node, 'postgres', 2500, "$name, restart");
	$node->safe_psql('postgres', q{CALL add_rows('before the crash', 10000, 3)});
	$node->stop('immediate');
	$node->start;
	has_buffered($node, 'postgres', "$name, crash");
	is_right($node, 'postgres', 2800, "$name, crash");
	return;
}

# Transactions prepared before a crash, and ended after it.
sub end_prepared
{
	my ($node) = @_;
	my $name = $node->name;
	foreach my $gid ('commit', 'rollback')
	{
		$node->safe_psql('postgres', <<"SQL");
BEGIN;
INSERT INTO data SELECT 20000 + i, i, '$gid ' || i FROM generate_series(1, 100) i;
PREPARE TRANSACTION '$gid';
SQL
	}
	$node->stop('immediate');
	$node->start;
	is_right($node, 'postgres', 2800, "$name, prepared and crashed");
	$node->safe_psql('postgres', q{COMMIT PREPARED 'commit'});
	is_right($node, 'postgres', 2900, "$name, committed");
	flush($node, 'postgres');
	$node->safe_psql('postgres', q{ROLLBACK PREPARED 'rollback'});
	is_right($node, 'postgres', 2900, "$name, rolled back");
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) data');
	is_right($node, 'postgres', 2900, "$name, rolled back and vacuumed");
	return;
}

# Databases with the same OID, from the same template, have files with the same
# names and the same random numbers in them. What shared memory knows of the first
# one must not be believed of the second one.
sub copy_databases
{
	my ($node, $rounds) = @_;
	my $server = $node->name;
	$node->safe_psql('postgres', 'CREATE DATABASE model');
	prepare($node, 'model');
	is_right($node, 'model', 2500, "$server, template");
	foreach my $strategy ('wal_log', 'file_copy')
	{
		foreach my $round (1 .. $rounds)
		{
			my $name = "$server, $strategy, copy $round";
			$node->safe_psql('postgres',
				"CREATE DATABASE copy TEMPLATE model STRATEGY $strategy OID = 50000");
			is_right($node, 'copy', 2500, $name);
			has_buffered($node, 'copy', $name);
			# Other keys in each round, on as many pages.
			$node->safe_psql('copy',
				"CALL add_rows('copy', 20000 * $round, 12)");
			is_right($node, 'copy', 3700, "$name, more rows");
			flush($node, 'copy') if $round == 2;
			$node->safe_psql('copy', "CALL add_rows('copy again', 20000 * $round + 110000, 12)");
			is_right($node, 'copy', 4900, "$name, even more");
			$node->stop('immediate'), $node->start if $round == $rounds;
			is_right($node, 'copy', 4900, "$name, once more");
			$node->safe_psql('postgres', 'DROP DATABASE copy');
		}
	}
	is_right($node, 'model', 2500, "$server, template after all");
	return;
}

# A database moves to another tablespace and back.
sub move_database
{
	my ($node) = @_;
	my $name = $node->name;
	$node->safe_psql('postgres', q{CREATE TABLESPACE elsewhere LOCATION ''});
	$node->safe_psql('postgres', 'ALTER DATABASE model SET TABLESPACE elsewhere');
	is_right($node, 'model', 2500, "$name, moved database");
	has_buffered($node, 'model', "$name, moved database");
	$node->safe_psql('model', q{CALL add_rows('elsewhere', 20000, 12)});
	flush($node, 'model');
	$node->safe_psql('model', q{CALL add_rows('elsewhere', 40000, 12)});
	is_right($node, 'model', 4900, "$name, moved database, more rows");
	$node->safe_psql('postgres', 'ALTER DATABASE model SET TABLESPACE pg_default');
	is_right($node, 'model', 4900, "$name, database moved back");
	$node->safe_psql('model', q{CALL add_rows('back', 60000, 12)});
	$node->stop('immediate');
	$node->start;
	is_right($node, 'model', 6100, "$name, database moved back, and a crash");
	return;
}

# An unlogged table with entries in the buffer of its index.
sub make_unlogged
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<"SQL");
CREATE UNLOGGED TABLE unlogged (id int, key int);
CREATE INDEX unlogged_key ON unlogged USING $am (key);
SET sware.fault_buffer = on;
INSERT INTO unlogged SELECT i, i FROM generate_series(1, 1000) i;
INSERT INTO unlogged SELECT i, i FROM generate_series(1001, 1200) i;
SQL
	cmp_ok(buffered($node, 'postgres', 'unlogged'), '>', 0, 'unlogged: there are entries in the buffer')
	  if $am eq 'sware';
	return;
}

sub unlogged_is_right
{
	my ($node, $rows, $name) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'), $rows, "unlogged, $name: $rows rows");
	check_index($node, 'unlogged_key', "unlogged, $name");
	index_agrees($node, 'unlogged', 'key', "unlogged, $name") if $rows > 0;
	return;
}

my $node = start_server('main', $preload);
restart_and_crash($node);
end_prepared($node);
copy_databases($node, 3);
move_database($node);

# Dump and restore.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/model.sql";
$node->command_ok([ 'pg_dump', '--file', $dump, $node->connstr('model') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ],
	'the dump is restored');
is_right($node, 'restored', 6100, 'restored');
$node->safe_psql('restored', q{CALL add_rows('restored', 80000, 3)});
is_right($node, 'restored', 6400, 'restored, more rows');

# Unlogged tables: kept over a clean restart, reset by a crash.
make_unlogged($node);
$node->restart;
unlogged_is_right($node, 1200, 'clean restart');
foreach my $round (1, 2)
{
	$node->stop('immediate');
	$node->start;
	unlogged_is_right($node, 0, 'crash');
	$node->safe_psql('postgres', 'INSERT INTO unlogged SELECT i, -i FROM generate_series(1, 200) i');
	unlogged_is_right($node, 200, 'filled again');
}
$node->safe_psql('postgres', 'DROP TABLE unlogged');

# A backup taken while rows come in and are flushed.
$node->safe_psql('postgres', q{CALL add_rows('before the backup', 100000, 12)});
$node->backup('backup');
my $rows = 4100;
is_right($node, 'postgres', $rows, 'backup');

# A standby, promoted with entries in the buffer.
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "archive_mode = off\n");
$standby->start;
$node->safe_psql('postgres', q{CALL add_rows('for the standby', 110000, 3)});
$rows += 300;
$node->wait_for_catchup($standby);
has_buffered($standby, 'postgres', 'standby');
is_right($standby, 'postgres', $rows, 'standby');
flush($node, 'postgres');
$node->wait_for_catchup($standby);
is_right($standby, 'postgres', $rows, 'standby, flushed');
$node->safe_psql('postgres', q{CALL add_rows('for the standby', 120000, 12)});
$rows += 1200;
$node->wait_for_catchup($standby);
is_right($standby, 'postgres', $rows, 'standby, refilled');
$standby->promote;
is_right($standby, 'postgres', $rows, 'promoted');
$standby->safe_psql('postgres', q{CALL add_rows('promoted', 200000, 12)});
is_right($standby, 'postgres', $rows + 1200, 'promoted, more rows');
flush($standby, 'postgres');
$standby->safe_psql('postgres', q{CALL add_rows('promoted', 210000, 12)});
is_right($standby, 'postgres', $rows + 2400, 'promoted, flushed, more rows');
$standby->stop;

# Recovery to a point before a flush and more rows.
$node->safe_psql('postgres', q{SELECT pg_create_restore_point('here')});
flush($node, 'postgres');
$node->safe_psql('postgres', q{CALL add_rows('too late', 130000, 12)});
$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
my $recovered = PostgreSQL::Test::Cluster->new('recovered');
$recovered->init_from_backup($node, 'backup', has_restoring => 1);
$recovered->append_conf('postgresql.conf',
	"recovery_target_name = 'here'\nrecovery_target_action = 'promote'\n"
	. "recovery_target_timeline = 'current'\narchive_mode = off\n");
$recovered->start;
$recovered->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or BAIL_OUT('no promotion');
has_buffered($recovered, 'postgres', 'point-in-time recovery');
is_right($recovered, 'postgres', $rows, 'point-in-time recovery');
$recovered->safe_psql('postgres', q{CALL add_rows('again', 130000, 12)});
is_right($recovered, 'postgres', $rows + 1200, 'point-in-time recovery, more rows');
$recovered->stop;
did_not_crash($_, $_->name . ' did not crash') foreach ($node, $standby, $recovered);
$node->stop;

# pg_upgrade takes files over as they are: here to servers of the same version,
# by copying them, and from there by linking them.
my $old = start_server('old', $preload);
make_unlogged($old);
my $upgraded_rows = 2500;
foreach my $mode ('copy', 'link')
{
	my $name = "pg_upgrade, $mode";
	my $new = PostgreSQL::Test::Cluster->new($mode);
	$new->init;
	$new->append_conf('postgresql.conf', "$common_settings$preload");
	my @buffered = map { buffered($old, 'postgres', $_) } ('data', 'unlogged');
	$old->stop;
	$old->command_ok(
		[
			'pg_upgrade', '--no-sync', '--old-datadir', $old->data_dir, '--new-datadir', $new->data_dir,
			'--old-bindir', $old->config_data('--bindir'), '--new-bindir', $new->config_data('--bindir'),
			'--socketdir', $new->host, '--old-port', $old->port, '--new-port', $new->port,
			$mode eq 'link' ? ('--link') : ()
		],
		$name);
	$new->start;
	is_deeply([ map { buffered($new, 'postgres', $_) } ('data', 'unlogged') ],
		\@buffered, "$name: the entries are in the buffer");
	is_right($new, 'postgres', $upgraded_rows, $name);
	unlogged_is_right($new, 1200, $name);
	$new->safe_psql('postgres', "CALL add_rows('$mode', $upgraded_rows * 10, 12)");
	is_right($new, 'postgres', $upgraded_rows + 1200, "$name, more rows");
	flush($new, 'postgres');
	$new->safe_psql('postgres', "CALL add_rows('$mode again', $upgraded_rows * 10 + 2000, 12)");
	$upgraded_rows += 2400;
	is_right($new, 'postgres', $upgraded_rows, "$name, flushed, more rows");
	has_buffered($new, 'postgres', "$name, flushed, more rows");
	$old = $new;
}
$old->stop('immediate');
$old->start;
is_right($old, 'postgres', $upgraded_rows, 'pg_upgrade, crash');
unlogged_is_right($old, 0, 'pg_upgrade, crash');
$old->stop;

# Where the library is not preloaded, nothing is in shared memory, and the buffer
# is small.
my $plain = start_server('not-preloaded', '');
restart_and_crash($plain);
end_prepared($plain);
copy_databases($plain, 1);
move_database($plain);
SKIP:
{
	skip 'this is about another access method', 1 if $am ne 'sware';
	my $tests = "$FindBin::RealBin/../..";
	my $output = PostgreSQL::Test::Utils::tempdir();
	$plain->safe_psql('postgres', 'CREATE DATABASE regression');
	$plain->safe_psql('regression', 'CREATE EXTENSION sware');
	$plain->command_ok(
		[
			$ENV{PG_REGRESS}, '--use-existing', '--dbname', 'regression',
				'--host', $plain->host, '--port', $plain->port,
			'--bindir', $plain->config_data('--bindir'), '--inputdir',
				$tests, '--outputdir', $output, 'setup', 'buffer_life',
			'life_tables', 'life_partitions', 'life_unique'
		],
		'not preloaded: sql/buffer_life, sql/life_*')
	  || diag(-e "$output/regression.diffs" ? slurp_file("$output/regression.diffs") : '');
}
did_not_crash($_, $_->name . ' did not crash') foreach ($old, $plain);
$plain->stop;

# wal_level = minimal: what is made in a transaction is not logged, but synced.
my $minimal = PostgreSQL::Test::Cluster->new('minimal');
$minimal->init;
$minimal->append_conf('postgresql.conf', <<"CONF");
$preload
autovacuum = off
wal_level = minimal
max_wal_senders = 0
max_prepared_transactions = 10
checkpoint_timeout = 1h
CONF
foreach my $threshold ('0', '1GB')
{
	my $name = "wal_level = minimal, wal_skip_threshold = $threshold";
	$minimal->append_conf('postgresql.conf', "wal_skip_threshold = '$threshold'\n");
	$minimal->start;
	my $database = $threshold eq '0' ? 'synced' : 'written';
	$minimal->safe_psql('postgres', "CREATE DATABASE $database");
	$minimal->safe_psql($database, 'CREATE EXTENSION ' . ($am eq 'btree' ? 'amcheck' : $am));
	$minimal->safe_psql($database, $verdict);
	(my $in_transaction = $make) =~ s/CALL add_rows.*//;
	# The buffer is filled in the transaction itself.
	my $publish = 'SET CONSTRAINTS ALL IMMEDIATE;';
	my $insert = "INSERT INTO data SELECT i, i * 79 % 1009, 'x ' || i FROM generate_series";
	$minimal->safe_psql($database, <<"SQL");
BEGIN;
$in_transaction
$publish
$insert(5001, 5100) i;
$publish
COMMIT;
SQL
	$minimal->stop('immediate');
	$minimal->start;
	is_right($minimal, $database, 1100, "$name, made in a transaction");
	$minimal->safe_psql($database, <<"SQL");
BEGIN;
TRUNCATE data;
$insert(1, 200) i;
$publish
SAVEPOINT s;
TRUNCATE data;
$insert(1001, 1100) i;
$publish
ROLLBACK TO s;
$insert(2001, 2100) i;
COMMIT;
SQL
	$minimal->stop('immediate');
	$minimal->start;
	is_right($minimal, $database, 300, "$name, truncated");
	$minimal->safe_psql($database,
		"$insert(3001, 3100) i; BEGIN; TRUNCATE data; $insert(1, 99) i; $publish ROLLBACK;");
	$minimal->stop('immediate');
	$minimal->start;
	is_right($minimal, $database, 400, "$name, truncated and rolled back");
	$minimal->safe_psql($database, <<"SQL");
BEGIN;
ALTER TABLE data ALTER id TYPE bigint;
REINDEX TABLE data;
$insert(4001, 4100) i;
$publish
PREPARE TRANSACTION 'minimal';
SQL
	$minimal->stop('immediate');
	$minimal->start;
	$minimal->safe_psql($database, q{COMMIT PREPARED 'minimal'});
	is_right($minimal, $database, 500, "$name, rewritten and prepared");
	flush($minimal, $database);
	is_right($minimal, $database, 500, "$name, flushed");
	$minimal->stop;
}

# The disk is full when a file of the index would have to grow: by a publish, and
# by a flush. The limit of one session's file sizes does that; WAL and the table
# have smaller files.
SKIP:
{
	skip 'there is no prlimit', 1 if system('prlimit --version >/dev/null 2>&1') != 0;
	my $full = PostgreSQL::Test::Cluster->new('full');
	$full->init(extra => ['--wal-segsize=1']);
	$full->append_conf('postgresql.conf', "$preload\nautovacuum = off\n");
	$full->start;
	$full->safe_psql('postgres', 'CREATE EXTENSION ' . ($am eq 'btree' ? 'amcheck' : $am));
	$full->safe_psql('postgres', <<"SQL");
CREATE FUNCTION wide(int) RETURNS text IMMUTABLE LANGUAGE sql AS
  \$\$ SELECT md5(\$1::text) || md5((\$1 + 1)::text) || md5((\$1 + 2)::text) || md5((\$1 + 3)::text)
      || md5((\$1 + 4)::text) || md5((\$1 + 5)::text) || md5((\$1 + 6)::text) || md5((\$1 + 7)::text) \$\$;
CREATE TABLE data (id int, key int);
CREATE INDEX data_wide ON data USING $am (wide(key));
INSERT INTO data SELECT i, i FROM generate_series(1, 8000) i;
SQL
	my $session = $full->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	# Returns the result of a statement, and its messages.
	my $query = sub {
		my ($sql) = @_;
		$session->{stderr} = '';
		my $result = $session->query($sql);
		return ($result, $session->{stderr});
	};
	my $limit = sub {
		my ($bytes) = @_;
		system('prlimit', '--pid', $pid, "--fsize=$bytes:unlimited") == 0 or die 'prlimit failed';
	};
	my $right = sub {
		my ($name) = @_;
		my $count = $full->safe_psql('postgres', 'SELECT count(*) FROM data');
		is( $full->safe_psql('postgres',
				"SET enable_seqscan = off; SET enable_bitmapscan = off;
					SELECT count(*), count(DISTINCT wide(key)) FROM data WHERE wide(key) >= ''"),
			"$count|$count", "$name: the index has all $count rows");
		check_index($full, 'data_wide', $name);
		return $count;
	};
	my $fill = sub {
		my ($low) = @_;
		my $failed = 0;
		foreach my $n (0 .. 39)
		{
			my ($from, $to) = ($low + 100 * $n, $low + 100 * $n + 99);
			my ($result, $said) =
			  $query->("INSERT INTO data SELECT i, i FROM generate_series($from, $to) i");
			$failed++ if $said =~ /could not extend.*File too large/;
		}
		return $failed;
	};
	my $size = $full->safe_psql('postgres', "SELECT pg_relation_size('data_wide')");
	cmp_ok($size, '>', 2 * 1024 * 1024, 'the index is larger than files of WAL and the table');
	$right->('disk not full');
	$limit->($size);
	cmp_ok($fill->(10000), '>', 0, 'disk full: inserts fail while they publish');
	$right->('disk full');
	$limit->('unlimited');
	is($fill->(20000), 0, 'there is room: inserts succeed');
	$right->('disk not full any more');
	if ($am eq 'sware')
	{
		my $entries = $full->safe_psql('postgres', "SELECT buffer_entries FROM sware_stats('data_wide')");
		cmp_ok($entries, '>', 0, 'there is something to flush');
		$limit->($full->safe_psql('postgres', "SELECT pg_relation_size('data_wide')"));
		my ($moved, $said) = $query->("SELECT sware_flush('data_wide')");
		like($said, qr/could not extend.*File too large/, 'disk full: the flush fails');
		$right->('disk full for a flush');
		$limit->('unlimited');
		($moved, $said) = $query->("SELECT sware_flush('data_wide')");
		is($moved, $entries, 'the next flush succeeds');
		is($full->safe_psql('postgres', "SELECT buffer_entries FROM sware_stats('data_wide')"),
			'0', 'and leaves nothing');
		$right->('flushed');
	}
	$session->quit;
	did_not_crash($full, 'a full disk crashes nothing');
	$full->stop;
}

done_testing();
