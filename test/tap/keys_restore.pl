# Primary keys and unique constraints of sware where the library is not preloaded, or is
# not known at all: nothing becomes an nbtree index in silence, and no table is lost.

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
	plan skip_all => 'the option is of sware';
}

my $node = PostgreSQL::Test::Cluster->new('not_preloaded');
$node->init;
$node->start;
prepare_database($node);
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# Each call is a session of its own.
sub fails
{
	my ($sql, $error, $name) = @_;
	my ($status, $stdout, $stderr) = run_sql($node, $sql);
	return like($stderr, qr/ERROR:  $error/, $name);
}
my $kinds = <<'SQL';
SELECT conname, amname, reloptions FROM pg_constraint JOIN pg_class i ON i.oid = conindid
	JOIN pg_am a ON a.oid = relam WHERE conrelid = 't'::regclass AND contype IN ('p', 'u') ORDER BY 1
SQL
my $keys = "t_a_key|sware|{sware=true}\nt_pkey|sware|{sware=true}";

fails('CREATE TABLE t (id int PRIMARY KEY WITH (sware))', 'unrecognized parameter "sware"',
	'a session that has not loaded the library');
$node->safe_psql('postgres', "LOAD 'sware';
	CREATE TABLE t (id int PRIMARY KEY WITH (sware), a int UNIQUE WITH (sware));
	INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i");
is($node->safe_psql('postgres', $kinds), $keys, 'a session that has');
fails('ALTER INDEX t_pkey RESET (sware)',
	'index "t_pkey" of constraint "t_pkey" needs the option "sware"',
	'a session that loads the library for this statement: RESET');
fails('ALTER INDEX t_pkey SET (sware = off)',
	'index "t_pkey" of constraint "t_pkey" needs the option "sware"',
	'... SET');
fails('ALTER TABLE t ALTER id TYPE bigint', 'unrecognized parameter "sware"', '... ALTER TYPE');
$node->safe_psql('postgres', "LOAD 'sware'; ALTER TABLE t ALTER id TYPE bigint");
is($node->safe_psql('postgres', $kinds), $keys, 'ALTER TYPE in a session that has the library');
fails("LOAD 'sware'; SET sware.use_for_keys = on", 'invalid value for parameter "sware.use_for_keys"',
	'the setting needs the library to be preloaded');
$node->safe_psql('postgres', 'CREATE UNIQUE INDEX t_new ON t USING sware (id) WITH (sware)');
fails('ALTER TABLE t ADD CONSTRAINT t_key UNIQUE USING INDEX t_new', 'index "t_new" is not a btree',
	'USING INDEX without the library');
$node->safe_psql('postgres', 'DROP INDEX t_new');
$node->safe_psql('postgres', $_) foreach 'REINDEX TABLE t', 'REINDEX TABLE CONCURRENTLY t', 'VACUUM FULL t',
	'CLUSTER t USING t_pkey', 'CREATE TABLE u (LIKE t INCLUDING ALL)', 'DROP TABLE u';
is($node->safe_psql('postgres', $kinds), $keys, 'they are still of sware');
check_index($node, $_, 'not preloaded') foreach qw(t_pkey t_a_key);
fails('INSERT INTO t VALUES (7, 0)', 'duplicate key value violates unique constraint "t_pkey"', 'and unique');

# A dump of the table alone comes to a database that does not know sware.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/t.dump";
$node->command_ok([ 'pg_dump', '--format=custom', '--table=t', "--file=$dump", $node->connstr('postgres') ],
	'pg_dump');
foreach my $preloaded (0, 1)
{
	my $name = $preloaded ? 'preloaded, no extension' : 'without sware';
	my $error = $preloaded ? 'access method "sware" does not exist' : 'unrecognized parameter "sware"';
	if ($preloaded)
	{
		$node->append_conf('postgresql.conf', preload());
		$node->restart;
	}
	$node->safe_psql('postgres', "CREATE DATABASE without$preloaded TEMPLATE template0");
	my @restore = ('pg_restore', '--dbname', $node->connstr("without$preloaded"));
	$node->command_checks_all([ @restore, $dump ], 1, [qr/^$/],
		[ qr/$error.*t_a_key|t_a_key.*$error/s, qr/$error.*t_pkey|t_pkey.*$error/s,
			qr/errors ignored on restore: 2/ ],
		"$name: pg_restore says so for each key");
	is($node->safe_psql("without$preloaded", 'SELECT count(*), sum(a) FROM t'), '1000|500500',
		"$name: the table is there, with its rows");
	is($node->safe_psql("without$preloaded", $kinds), '', "$name: it has no keys");
	$node->safe_psql("without$preloaded", 'DROP TABLE t');
	$node->command_checks_all([ @restore, '--exit-on-error', $dump ], 1, [qr/^$/], [qr/$error/],
		"$name: pg_restore --exit-on-error ends there");
	$node->safe_psql("without$preloaded", 'DROP TABLE t');
}
# A dump of all comes to a server that has no extension of that name.
if ($version >= 180000)
{
	my $other = PostgreSQL::Test::Cluster->new('without_sware');
	$other->init;
	$other->append_conf('postgresql.conf', "extension_control_path = '/nonexistent'\n");
	$other->start;
	$node->safe_psql('postgres', 'CREATE TABLE more (id int, a int); INSERT INTO more VALUES (1, 1);
		CREATE INDEX more_id ON more USING sware (id); CREATE INDEX more_a ON more (a)');
	$node->command_ok([ 'pg_dump', '--format=custom', "--file=$dump.all", $node->connstr('postgres') ],
		'pg_dump of all');
	$node->command_checks_all(
		[ 'pg_restore', '--dbname', $other->connstr('postgres'), "$dump.all" ], 1, [qr/^$/],
		[ qr/extension "sware" is not available/, qr/access method "sware" does not exist.*more_id/s,
			qr/unrecognized parameter "sware".*t_a_key/s, qr/unrecognized parameter "sware".*t_pkey/s ],
		'a server without sware says what it lacks');
	is($other->safe_psql('postgres', 'SELECT count(*), sum(a) FROM t'), '1000|500500',
		'... and has each row');
	is($other->safe_psql('postgres', 'SELECT count(*) FROM more WHERE a = 1'), '1', '... of each table');
	is($other->safe_psql('postgres', "SELECT string_agg(indexname, ',') FROM pg_indexes
		WHERE schemaname = 'public'"), 'more_a', '... and nothing has become an index of another kind');
	$other->stop;
	$node->safe_psql('postgres', 'DROP TABLE more');
}
# What the documentation says: without the option the keys are nbtree's.
my $sql = "$PostgreSQL::Test::Utils::tmp_check/t.sql";
$node->command_ok([ 'pg_restore', "--file=$sql", $dump ], 'the dump as SQL');
my $text = slurp_file($sql);
is($text =~ s/ WITH \(sware='true'\)//g, 2, 'the option is where it is expected');
$node->safe_psql('without0', $text);
is($node->safe_psql('without0', $kinds), "t_a_key|btree|\nt_pkey|btree|", 'without the option: nbtree');

# With everything there; and with the setting, which makes btree's keys sware's.
$node->safe_psql('postgres', 'ALTER TABLE t ADD b int UNIQUE;
	CREATE TABLE parts (id int PRIMARY KEY, t int REFERENCES parts, UNIQUE (t, id)) PARTITION BY RANGE (id);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (1000);
	INSERT INTO parts SELECT i, i FROM generate_series(1, 200) i');
$node->command_ok(
	[ 'pg_dump', '--format=directory', '--jobs=2', "--file=$dump.d", $node->connstr('postgres') ],
	'pg_dump by two');
foreach my $setting ('off', $version >= 180000 ? ('on') : ())
{
	$node->safe_psql('postgres', 'CREATE DATABASE whole TEMPLATE template0');
	$node->safe_psql('postgres', "ALTER DATABASE whole SET sware.use_for_keys = $setting");
	$node->command_ok(
		[ 'pg_restore', '--jobs=2', '--exit-on-error', '--dbname', $node->connstr('whole'), "$dump.d" ],
		"setting $setting: restored by two");
	my $b = $setting eq 'on' ? 't_b_key|sware|{sware=true}' : 't_b_key|btree|';
	is($node->safe_psql('whole', $kinds), "t_a_key|sware|{sware=true}\n$b\nt_pkey|sware|{sware=true}",
		"setting $setting: the kinds of indexes");
	is($node->safe_psql('whole', "SELECT sware_check('t_pkey', true), sware_check('t_a_key', true)"), '|',
		"setting $setting: they are right");
	my ($am, $check) = $setting eq 'on' ? ('sware', 'sware_check') : ('btree', 'bt_index_check');
	$node->safe_psql('whole', 'CREATE EXTENSION amcheck');
	is($node->safe_psql('whole',
		"SELECT count(*), count($check(c.oid, true)::text) FILTER (WHERE relkind = 'i')
		FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE relname LIKE 'parts%key' AND amname = '$am'"), '6|4', "setting $setting: keys of partitions");
	my ($stdout, $stderr) = ('', '');
	$node->psql('whole', 'INSERT INTO parts VALUES (300, 999)', stdout => \$stdout, stderr => \$stderr);
	like($stderr, qr/violates foreign key constraint/, "setting $setting: foreign key");
	$node->safe_psql('postgres', 'DROP DATABASE whole');
}

# Scripts of extensions get what they ask for, whatever the user has set.
if ($version >= 180000)
{
	my $directory = PostgreSQL::Test::Utils::tempdir();
	mkdir "$directory/extension" or die "could not make a directory: $!";
	append_to_file("$directory/extension/keyed.control", "default_version = '1.0'\nrelocatable = true\n");
	append_to_file("$directory/extension/keyed--1.0.sql", 'CREATE TABLE keyed (id int PRIMARY KEY, a int);
		ALTER TABLE keyed ADD UNIQUE (a), ADD b int UNIQUE WITH (sware);');
	$node->safe_psql('postgres', "SET sware.use_for_keys = on;
		SET extension_control_path = '\$system:$directory'; CREATE EXTENSION keyed");
	is($node->safe_psql('postgres', $kinds =~ s/'t'/'keyed'/r),
		"keyed_a_key|btree|\nkeyed_b_key|sware|{sware=true}\nkeyed_pkey|btree|",
		'the script of an extension');
}
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();
