# Events in the life of indexes for which it takes several sessions, files of the
# server, or its configuration: the extension is updated and dropped, partitions
# are detached while others insert, partitions are foreign tables, databases are
# reindexed as a whole, and the library is preloaded no longer. All on one server.
#
# The versions to which the extension is updated are in test/tap/versions; test/run
# installs them in its private server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

if (am() ne 'sware')
{
	plan skip_all => 'the verdicts are about sware indexes';
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
allow_in_place_tablespaces = on
sware.shared_memory = 16MB
sware.buffer_size = 8MB
max_prepared_transactions = 10
CONF
$node->start;

sub sql
{
	my ($statements, $database) = @_;
	return $node->safe_psql($database // 'postgres', $statements);
}

# A database with a table of 1100 rows: 1000 in the tree, 100 in the buffer.
my $fill = <<'SQL';
CREATE TABLE data (id int, key int, label text);
CREATE INDEX data_key ON data USING sware (key);
CREATE INDEX data_label ON data USING sware (label) INCLUDE (id);
CREATE UNIQUE INDEX data_id ON data USING sware (id);
INSERT INTO data SELECT i, i * 79 % 1009, 'tree ' || i FROM generate_series(1, 1000) i;
INSERT INTO data SELECT i, i * 79 % 1009, 'buffer ' || i FROM generate_series(1001, 1100) i;
SQL

sub make_database
{
	my ($name) = @_;
	sql("CREATE DATABASE $name");
	sql('CREATE EXTENSION sware', $name);
	make_verdicts($node, $name);
	sql($fill, $name);
	return;
}

# A session in whose transaction rows wait.
sub open_session
{
	my ($database, $table, $low) = @_;
	my $session = $node->background_psql($database, on_error_stop => 0);
	$session->query_safe("BEGIN;
		INSERT INTO $table SELECT i, i, 'staged ' || i FROM generate_series($low, $low + 39) i");
	return $session;
}

sub command_fails_with
{
	my ($statement, $database, $pattern, $name) = @_;
	my ($stdout, $stderr) = ('', '');
	my $status = $node->psql($database, $statement, stdout => \$stdout, stderr => \$stderr);
	ok($status != 0, "$name: refused");
	like($stderr, $pattern, "$name: the error says why");
	return;
}

# Version by version, with indexes in use in another session.
make_database('versions');
my $session = open_session('versions', 'data', 2001);
$session->query_safe('DECLARE c CURSOR FOR SELECT key FROM data WHERE key > 0 ORDER BY key; FETCH 10 FROM c');
my $stderr = '';
$node->psql('versions', 'ALTER EXTENSION sware UPDATE', stderr => \$stderr);
like($stderr, qr/NOTICE:  version "1.0" of extension "sware" is already installed/,
	'there is nothing to update to');
has_good_indexes($node, 'versions', 'data', 'nothing to update', 1100);
foreach my $to ('0.9test', '1.0')
{
	# the default version is 1.0
	sql('ALTER EXTENSION sware UPDATE' . ($to eq '1.0' ? '' : " TO '$to'"), 'versions');
	is(sql(q{SELECT extversion FROM pg_extension WHERE extname = 'sware'}, 'versions'), $to, "version $to");
	is(sql(q{SELECT count(*) FROM pg_proc WHERE proname = 'sware_flush'}, 'versions'),
		$to eq '1.0' ? '1' : '0', "version $to: its functions");
	has_good_indexes($node, 'versions', 'data', "version $to", 1100);
}
sql(q{BEGIN; INSERT INTO data SELECT i, i, 'update' FROM generate_series(3001, 3040) i;
	ALTER EXTENSION sware UPDATE TO '1.1test';
	INSERT INTO data SELECT i, i, 'update' FROM generate_series(3041, 3060) i; COMMIT}, 'versions');
has_good_indexes($node, 'versions', 'data', 'version 1.1test', 1160);
cmp_ok(sql(q{SELECT sware_entries('data_key')}, 'versions'), '>', 0, 'version 1.1test: its function works');
is(sql(q{SELECT obj_description(oid, 'pg_am') FROM pg_am WHERE amname = 'sware'}, 'versions'),
	'updated', 'version 1.1test: its comment');
$session->query_safe(q{INSERT INTO data SELECT i, i, 'later' FROM generate_series(2101, 2110) i;
	FETCH 10 FROM c; COMMIT});
has_good_indexes($node, 'versions', 'data', 'updated while in use', 1210);
$session->query_safe(q{INSERT INTO data VALUES (2200, 2200, 'after')});
has_good_indexes($node, 'versions', 'data', 'updated, more rows', 1211);
command_fails_with(q{ALTER EXTENSION sware UPDATE TO '9.9'}, 'versions',
	qr/has no update path from version "1.1test" to version "9.9"/, 'a version that there is not');
$session->quit;

# The extension can be dropped only with its indexes, among them those for which a
# transaction has staged rows.
make_database('drops');
my $reason = 'cannot drop extension sware because other objects depend on it';
command_fails_with('DROP EXTENSION sware', 'drops',
	qr/$reason.*index data_key depends on operator class.*index data_id depends on/s,
	'the extension with indexes');
has_good_indexes($node, 'drops', 'data', 'extension not dropped', 1100);
sql(<<'SQL', 'drops');
BEGIN;
INSERT INTO data SELECT i, i, 'rolled back' FROM generate_series(2001, 2040) i;
SAVEPOINT s;
DROP EXTENSION sware CASCADE;
INSERT INTO data SELECT i, i, 'no index' FROM generate_series(2041, 2060) i;
ROLLBACK TO s;
INSERT INTO data SELECT i, i, 'index' FROM generate_series(2061, 2080) i;
COMMIT;
SQL
has_good_indexes($node, 'drops', 'data', 'extension dropped, and rolled back', 1160);
# A session that has used them before.
$session = $node->background_psql('drops', on_error_stop => 0);
$session->query_safe(q{INSERT INTO data VALUES (2081, 1, 'here')});
sql(<<'SQL', 'drops');
BEGIN;
INSERT INTO data SELECT i, i, 'kept' FROM generate_series(3001, 3040) i;
DROP EXTENSION sware CASCADE;
INSERT INTO data SELECT i, i, 'kept' FROM generate_series(3041, 3050) i;
COMMIT;
SQL
is(sql(q{SELECT count(*) FROM pg_index WHERE indrelid = 'data'::regclass}, 'drops'),
	'0', 'the indexes are gone');
is(sql('SELECT count(*) FROM data', 'drops'), '1211', 'the rows are not');
$session->query_safe(q{BEGIN; INSERT INTO data VALUES (2082, 2, 'no index')});
$session->query_safe('COMMIT');
sql(<<'SQL', 'drops');
CREATE EXTENSION sware;
CREATE INDEX data_key ON data USING sware (key);
CREATE UNIQUE INDEX data_id ON data USING sware (id);
SQL
$session->query_safe(q{INSERT INTO data VALUES (2083, 3, 'index again')});
has_good_indexes($node, 'drops', 'data', 'extension made again', 1213);
# The extension is made, used and dropped in one transaction; and while there are
# prepared transactions.
sql(<<'SQL', 'drops');
BEGIN;
DROP EXTENSION sware CASCADE;
CREATE EXTENSION sware;
CREATE INDEX data_key ON data USING sware (key);
INSERT INTO data SELECT i, i, 'made again' FROM generate_series(4001, 4040) i;
DROP EXTENSION sware CASCADE;
CREATE EXTENSION sware;
CREATE INDEX data_label ON data USING sware (label);
INSERT INTO data SELECT i, i, 'made again' FROM generate_series(4041, 4050) i;
PREPARE TRANSACTION 'life';
SQL
sql(q{COMMIT PREPARED 'life'}, 'drops');
has_good_indexes($node, 'drops', 'data', 'dropped and made in one transaction', 1263);
is(sql(q{SELECT count(*) FROM pg_proc WHERE prosrc LIKE 'sware%'
	AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')}, 'drops'),
	'0', 'dropping left nothing behind');
$session->quit;

# A partition is detached while another session's rows wait for its indexes.
sql(<<'SQL', 'versions');
CREATE TABLE parts (id int, key int, label text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
CREATE INDEX parts_key ON parts USING sware (key);
INSERT INTO parts SELECT i, i % 100, 'tree' FROM generate_series(1, 1999) i;
SQL
$session = $node->background_psql('versions', on_error_stop => 0);
$session->query_safe(q{BEGIN;
	INSERT INTO parts SELECT i, i % 50, 'staged' FROM generate_series(980, 1020) i});
my $detach = $node->background_psql('versions', on_error_stop => 0);
$detach->query_until(qr/begin/,
	"\\echo begin\nALTER TABLE parts DETACH PARTITION parts_2 CONCURRENTLY;\n\\echo done\n");
$node->poll_query_until('versions', q{SELECT count(*) > 0 FROM pg_stat_activity
	WHERE query LIKE 'ALTER TABLE parts DETACH%' AND wait_event_type = 'Lock'})
  or BAIL_OUT('DETACH does not wait');
has_good_indexes($node, 'versions', 'parts_1, parts_2', 'while a partition is being detached');
$session->query_safe(q{INSERT INTO parts SELECT i, i % 50, 'staged too'
	FROM generate_series(990, 999) i; COMMIT});
$detach->query_until(qr/done/, '');
$detach->quit;
has_good_indexes($node, 'versions', 'parts, parts_2', 'a partition was detached', 1999 + 41 + 10);
is(sql('SELECT count(*) FROM parts', 'versions'), 999 + 20 + 10, 'it is detached');
# One that was left half detached is finished.
$session->query_safe(q{ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (1000) TO (2000)});
$session->query_safe(q{BEGIN; INSERT INTO parts SELECT i, i % 50, 'again' FROM generate_series(980, 1019) i});
my $cancelled = $node->background_psql('versions', on_error_stop => 0);
$cancelled->query_until(qr/begin/,
	"\\echo begin\nALTER TABLE parts DETACH PARTITION parts_2 CONCURRENTLY;\n\\echo done\n");
$node->poll_query_until('versions', q{SELECT count(*) > 0 FROM pg_stat_activity
	WHERE query LIKE 'ALTER TABLE parts DETACH%' AND wait_event_type = 'Lock'})
  or BAIL_OUT('DETACH does not wait');
sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE query LIKE 'ALTER TABLE parts DETACH%' AND wait_event_type = 'Lock'}, 'versions');
$cancelled->query_until(qr/done/, '');
$cancelled->{stderr} = '';
$cancelled->quit;
$session->query_safe('COMMIT');
sql('ALTER TABLE parts DETACH PARTITION parts_2 FINALIZE', 'versions');
has_good_indexes($node, 'versions', 'parts, parts_2', 'finalized', 2050 + 40);
$session->quit;

# Partitions are foreign tables, whose indexes are on the "remote" side: this same
# server, reached by its socket.
make_database('shards');
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
sql(<<"SQL", 'shards');
CREATE EXTENSION postgres_fdw;
CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '$host', port '$port', dbname 'shards',
      async_capable 'true', batch_size '50', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback OPTIONS (user '$user');
CREATE TABLE shard_1 (id int, key int, label text);
CREATE INDEX shard_1_key ON shard_1 USING sware (key);
CREATE UNIQUE INDEX shard_1_id ON shard_1 USING sware (id);
CREATE TABLE shard_2 (LIKE shard_1 INCLUDING INDEXES);
CREATE TABLE sharded (id int, key int, label text) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE foreign_1 PARTITION OF sharded FOR VALUES
	FROM (0) TO (5000) SERVER loopback OPTIONS (table_name 'shard_1');
CREATE FOREIGN TABLE foreign_2 PARTITION OF sharded FOR VALUES
	FROM (5000) TO (100000) SERVER loopback OPTIONS (table_name 'shard_2');
CREATE TABLE local (id int, key int, label text);
CREATE INDEX local_key ON local USING sware (key);
SQL
foreach my $table ('sharded', 'local')
{
	sql(<<"SQL", 'shards');
INSERT INTO $table SELECT i, i * 7919 % 10007, 'tree ' || i FROM generate_series(1, 9999) i;
BEGIN;
INSERT INTO $table SELECT i, i % 100, 'one ' || i FROM generate_series(10001, 10100) i;
SAVEPOINT s;
INSERT INTO $table SELECT i, i % 100, 'gone ' || i FROM generate_series(10101, 10200) i;
ROLLBACK TO s;
UPDATE $table SET key = key + 1 WHERE key BETWEEN 10 AND 20;
DELETE FROM $table WHERE key BETWEEN 500 AND 550;
COMMIT;
SQL
}
sql('ANALYZE shard_1, shard_2, sharded, local', 'shards');
foreach my $query (
	'SELECT id, key, label FROM %s WHERE key = 500 OR key = 600 ORDER BY key, id',
	'SELECT key, id FROM %s WHERE key BETWEEN 100 AND 200 ORDER BY key, id',
	'SELECT key FROM %s WHERE key > 9000 ORDER BY key DESC LIMIT 20',
	'SELECT count(*), sum(key), min(key), max(key) FROM %s',
	'SELECT a.key, count(*) FROM %1$s a JOIN %1$s b USING (key) WHERE a.key < 30 GROUP BY 1 ORDER BY 1')
{
	my $off = 'SET enable_seqscan = off;';
	is(sql($off . sprintf($query, 'sharded'), 'shards'),
		sql(sprintf($query, 'local'), 'shards'), 'shards: ' . sprintf($query, 'sharded'));
}
like(sql('EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM sharded WHERE key < 100', 'shards'),
	qr/Async Foreign Scan/, 'shards: asynchronous');
like(sql('EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM foreign_1 WHERE key < 100 ORDER BY key', 'shards'),
	qr/Remote SQL:.* ORDER BY key/, 'shards: sorted there');
has_good_indexes($node, 'shards', 'shard_1, shard_2', 'shards');
command_fails_with('INSERT INTO sharded VALUES (1, 1, NULL)', 'shards',
	qr/duplicate key value violates unique constraint "shard_1_id"/, 'shards, unique');
# Both sessions of this transaction insert, each sees its own rows only.
is(sql(q{BEGIN; INSERT INTO shard_1 VALUES (4999 + 100000, -1, 'here');
	INSERT INTO foreign_2 VALUES (99999, -1, 'there');
	SELECT count(*) FROM sharded WHERE key = -1; COMMIT; SELECT count(*) FROM sharded WHERE key = -1},
		'shards') =~ s/\s+/ /gr, '1 2', 'shards: two sessions in one transaction');
has_good_indexes($node, 'shards', 'shard_1, shard_2', 'shards, two sessions');

# All indexes of a database at once.
foreach my $kind ('DATABASE', 'SYSTEM', 'DATABASE CONCURRENTLY')
{
	sql("INSERT INTO data SELECT max(id) + 1, 1, 'before $kind' FROM data", 'shards');
	sql("REINDEX $kind shards", 'shards');
	has_good_indexes($node, 'shards', 'data, shard_1, shard_2', "REINDEX $kind");
	sql("INSERT INTO data SELECT max(id) + 1, 1, 'after $kind' FROM data", 'shards');
	has_good_indexes($node, 'shards', 'data', "REINDEX $kind, and more rows");
}
sql(q{CREATE TABLESPACE elsewhere LOCATION ''});
sql('REINDEX (TABLESPACE elsewhere) DATABASE shards', 'shards');
has_good_indexes($node, 'shards', 'data, shard_1, shard_2', 'REINDEX into a tablespace');
$node->command_ok([ 'vacuumdb', '--full', '--dbname', $node->connstr('shards') ], 'vacuumdb --full');
has_good_indexes($node, 'shards', 'data, shard_1, shard_2', 'vacuumdb --full');
$node->command_ok([ 'clusterdb', '--dbname', $node->connstr('shards') ], 'clusterdb');
$node->command_ok([ 'reindexdb', '--concurrently', '--jobs', '2', '--schema',
	'public', '--dbname', $node->connstr('shards') ], 'reindexdb --jobs');
has_good_indexes($node, 'shards', 'data, shard_1, shard_2', 'reindexdb');

# The library is preloaded no longer, though its settings are still there; with
# buffers that are larger than they would become then. And again, and after a crash.
sql(q{INSERT INTO data SELECT i, i * 79 % 100003, 'small' FROM generate_series(}
	. (20000 + 100 * $_) . ', ' . (20099 + 100 * $_) . ') i', 'shards') foreach 1 .. 20;
my $buffered = sql(q{SELECT buffer_entries FROM sware_stats('data_key')}, 'shards');
foreach my $libraries ('', 'sware', '', 'sware')
{
	my $name = $libraries eq '' ? 'no longer preloaded' : 'preloaded again';
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$libraries'");
	$node->stop($libraries eq '' ? 'fast' : 'immediate');
	$node->start;
	is(sql('SHOW sware.buffer_size', 'shards'), '8MB', "$name: the setting is known");
	is(sql(q{SELECT buffer_entries FROM sware_stats('data_key')}, 'shards'),
		$buffered, "$name: entries are in the buffer");
	has_good_indexes($node, 'shards', 'data', $name);
	sql(q{INSERT INTO data SELECT max(id) + 1, 7, 'row' FROM data}, 'shards');
	has_good_indexes($node, 'shards', 'data', "$name, and more rows");
	$buffered = sql(q{SELECT buffer_entries FROM sware_stats('data_key')}, 'shards');
}
foreach my $database ('versions', 'drops', 'shards')
{
	sql('VACUUM (INDEX_CLEANUP ON)', $database);
	my $verdict = sql(q{SELECT verdict_on('data')}, $database);
	like($verdict, qr/^\d+ rows, \d+ indexes$/,
		"$database: after VACUUM no entry is stale") || diag($verdict);
}
did_not_crash($node, 'nothing crashed');
$node->stop;

done_testing();
