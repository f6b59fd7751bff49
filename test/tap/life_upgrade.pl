# Dumps, restored by all their ways, and pg_upgrade to a newer major version, with
# entries in the buffers of the indexes.
#
# Environment:
#   SWARE_NEW_INSTALL   where a newer server with sware is installed; without it
#                       nothing is upgraded. test/run makes it of the server that
#                       SWARE_NEW_PG_CONFIG names.
#
# To a server of the same version files are taken over in life.pl.

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

my $settings = preload() . fill_buffers() . <<'CONF';
autovacuum = off
max_prepared_transactions = 10
allow_in_place_tablespaces = on
CONF
my $new_install = $ENV{SWARE_NEW_INSTALL};

my $node = PostgreSQL::Test::Cluster->new('old');
$node->init;
$node->append_conf('postgresql.conf', $settings);
$node->start;
my $old_version = $node->safe_psql('postgres', 'SHOW server_version_num');

# All kinds of indexes that a dump has to describe.
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', <<'SQL');
CREATE SCHEMA extensions;
CREATE EXTENSION sware SCHEMA extensions;
CREATE EXTENSION citext;
SET search_path = public, extensions;
SELECT sware_clone_opfamily('citext_ops');
CREATE TABLE plain (id int PRIMARY KEY, key int, label text, email citext, amount numeric);
CREATE INDEX plain_key ON plain USING sware (key)
  WITH (buffer_size = 1024, fillfactor = 80, split_ratio = 70, flush_fraction = 40,
      sort_threshold = 20, bloom_bits = 5, deduplicate_items = off);
CREATE INDEX plain_label ON plain USING sware (label COLLATE "C" text_pattern_ops DESC NULLS LAST)
	INCLUDE (id);
CREATE INDEX plain_email ON plain USING sware (email);
CREATE INDEX plain_amount ON plain USING sware ((amount * 2), key DESC);
CREATE INDEX plain_few ON plain USING sware (key) WHERE key < 100;
CREATE UNIQUE INDEX plain_unique ON plain USING sware (label, id);
COMMENT ON INDEX plain_key IS 'commented';
ALTER INDEX plain_amount ALTER COLUMN 1 SET STATISTICS 300;
ALTER TABLE plain CLUSTER ON plain_key;
CREATE UNLOGGED TABLE unlogged (id int, key int, label text);
CREATE INDEX unlogged_key ON unlogged USING sware (key);
CREATE UNIQUE INDEX unlogged_id ON unlogged USING sware (id);
CREATE TABLE parts (id int, key int, label text) PARTITION BY RANGE (id);
CREATE INDEX parts_key ON parts USING sware (key) WITH (buffer_size = 512);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (100000);
CREATE INDEX parts_label ON ONLY parts USING sware (label);
CREATE TABLE excluded (id int, key int, CONSTRAINT excluded_key EXCLUDE USING sware (key WITH =) DEFERRABLE);
CREATE TABLE empty (key int);
CREATE INDEX empty_key ON empty USING sware (key);
CREATE TABLE identity (id int NOT NULL, label text);
CREATE UNIQUE INDEX identity_id ON identity USING sware (id);
ALTER TABLE identity REPLICA IDENTITY USING INDEX identity_id;
CREATE TABLE keyed (id int PRIMARY KEY WITH (sware), key int, label text,
	CONSTRAINT keyed_label UNIQUE (label, key) INCLUDE (id) WITH (sware, fillfactor = 80),
	CONSTRAINT keyed_late UNIQUE (key, id) WITH (sware) DEFERRABLE INITIALLY DEFERRED);
CREATE EXTENSION amcheck;
SQL
my @tables = ('plain', 'unlogged', 'parts', 'excluded', 'identity', 'keyed');
my $tables = join(', ', @tables);

# Adds rows in statements of a hundred rows: their entries stay in the buffer.
sub add_rows
{
	my ($where, $database, $low, $high) = @_;
	for (my $from = $low; $from <= $high; $from += 100)
	{
		my $to = $from + 99 < $high ? $from + 99 : $high;
		my $series = "FROM generate_series($from, $to) i";
		$where->safe_psql($database, <<"SQL");
INSERT INTO plain SELECT i, i * 79 % 10007, 'label ' || i,
	'User' || i % 100 || '\@example.org', i * 0.50 $series;
INSERT INTO unlogged SELECT i, i * 79 % 10007, 'label ' || i $series;
INSERT INTO parts SELECT i, i % 5000, 'label ' || i $series;
INSERT INTO excluded SELECT i, i $series;
INSERT INTO identity SELECT i, 'label ' || i $series;
INSERT INTO keyed SELECT i, i * 79 % 10007, 'label ' || i $series;
SQL
	}
	return;
}
$node->safe_psql('model', <<'SQL');
INSERT INTO plain SELECT i, i * 79 % 10007, 'tree ' || i,
	'User' || i % 100 || '@example.org', i * 0.5 FROM generate_series(1, 1000) i;
INSERT INTO unlogged SELECT i, i * 79 % 10007, 'tree ' || i FROM generate_series(1, 1000) i;
INSERT INTO parts SELECT i, i % 5000, 'tree ' || i FROM generate_series(1, 1000) i;
INSERT INTO excluded SELECT i, i FROM generate_series(1, 1000) i;
INSERT INTO identity SELECT i, 'tree ' || i FROM generate_series(1, 1000) i;
INSERT INTO keyed SELECT i, i * 79 % 10007, 'tree ' || i FROM generate_series(1, 1000) i;
SQL
add_rows($node, 'model', 1001, 2000);

sub digests
{
	my ($where, $database) = @_;
	return $where->safe_psql($database,
		join(' UNION ALL ', map { "SELECT '$_', count(*), sum(hashtextextended(t::text, 0))
			FROM $_ t" } @tables) . ' ORDER BY 1');
}

sub buffered_in
{
	my ($where, $database) = @_;
	return $where->safe_psql($database, "SELECT indexrelname, buffer_entries
		FROM extensions.pg_stat_sware WHERE indexrelname <> 'parts_label' ORDER BY 1");
}

my $definitions = <<'SQL';
SELECT c.relname, c.reloptions, obj_description(c.oid, 'pg_class'),
	i.indisunique, i.indisvalid, i.indisclustered, i.indisreplident,
  pg_get_indexdef(c.oid),
      (SELECT attstattarget FROM pg_attribute WHERE attrelid = c.oid AND attnum = 1 AND attstattarget > 0)
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
	JOIN pg_index i ON i.indexrelid = c.oid WHERE amname = 'sware' ORDER BY 1
SQL

# A copy has the same rows and definitions, its indexes are right, and it lives on.
sub is_copy
{
	my ($where, $database, $name, $rows) = @_;
	is(digests($where, $database), digests($node, 'model'), "$name: the same rows") unless defined $rows;
	is($where->safe_psql($database, $definitions), $node->safe_psql('model', $definitions),
		"$name: the same indexes") unless defined $rows;
	# Functions of the tests are no part of the model.
	$where->safe_psql($database, "ALTER DATABASE $database SET search_path = public, extensions")
		unless defined $rows;
	make_verdicts($where, $database) unless defined $rows;
	has_good_indexes($where, $database, $tables, $name);
	is($where->safe_psql($database, "SELECT bt_index_check('plain_pkey', true)"), '',
		"$name: a key that was nbtree's is a good nbtree index");
	return;
}

sub lives_on
{
	my ($where, $database, $name) = @_;
	add_rows($where, $database, 3001, 3300);
	has_good_indexes($where, $database, $tables, "$name, more rows");
	my ($stdout, $stderr) = ('', '');
	$where->psql($database, "INSERT INTO identity VALUES (3001, 'twice')",
		stdout => \$stdout, stderr => \$stderr);
	like($stderr, qr/duplicate key value violates unique constraint "identity_id"/, "$name: unique");
	$where->psql($database, "INSERT INTO unlogged VALUES (1999, 0, 'twice')",
		stdout => \$stdout, stderr => \$stderr);
	like($stderr, qr/duplicate key value violates unique constraint "unlogged_id"/,
		"$name: unique, of a row that was there");
	$where->psql($database, "INSERT INTO keyed VALUES (1999, 0, 'twice')",
		stdout => \$stdout, stderr => \$stderr);
	like($stderr, qr/duplicate key value violates unique constraint "keyed_pkey"/, "$name: primary key");
	$where->safe_psql($database, 'SELECT extensions.sware_flush(indexrelid) FROM extensions.pg_stat_sware');
	has_good_indexes($where, $database, $tables, "$name, flushed");
	add_rows($where, $database, 4001, 4200);
	$where->safe_psql($database, "DELETE FROM $_ WHERE id % 3 = 0") foreach @tables;
	$where->safe_psql($database, 'VACUUM (INDEX_CLEANUP ON)');
	has_good_indexes($where, $database, $tables, "$name, vacuumed");
	unlike($where->safe_psql($database,
		"SELECT verdict_on('plain', 'unlogged', 'parts', 'excluded', 'identity', 'keyed')"),
		qr/stale/, "$name, vacuumed: no entry is stale");
	return;
}

# Dumps.
$node->command_ok([ 'pg_dump', '--schema-only', '--file',
	"$PostgreSQL::Test::Utils::tmp_check/schema.sql", $node->connstr('model') ],
	'pg_dump of the schema');
my $schema = slurp_file("$PostgreSQL::Test::Utils::tmp_check/schema.sql");
like($schema, qr/CREATE EXTENSION IF NOT EXISTS sware WITH SCHEMA extensions/, 'the extension is dumped');
unlike($schema,
	qr/CREATE (FUNCTION|VIEW|ACCESS METHOD)[^;]*sware|OPERATOR (CLASS|FAMILY) extensions\.(?!citext)/,
	'what it consists of is not');
like($schema, qr/CREATE OPERATOR FAMILY \S*citext_ops USING sware/, 'a clone of a family is');
my $options = "buffer_size='1024', fillfactor='80', split_ratio='70', flush_fraction='40', "
  . "sort_threshold='20', bloom_bits='5', deduplicate_items=off";
like($schema,
	qr/CREATE INDEX plain_key ON public.plain USING sware \(key\) WITH \($options\)/,
	'options are dumped');
my $column = 'label COLLATE "C" extensions.text_pattern_ops DESC NULLS LAST';
like($schema,
	qr/CREATE INDEX plain_label ON public.plain USING sware \($column\) INCLUDE \(id\)/,
	'collation, operator class and order are dumped');
like($schema, qr/COMMENT ON INDEX public.plain_key IS 'commented'/, 'comments are dumped');

my $number = 0;
foreach my $way (
	[ [], [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f' ], 'plain dump' ],
	[ ['--format=custom'], [ 'pg_restore', '--jobs=2', '--exit-on-error', '--dbname' ],
		'custom format, restored by two' ],
	[ [ '--format=directory', '--jobs=2' ], [ 'pg_restore', '--single-transaction', '--dbname' ],
		'directory, restored in one transaction' ],
	[ ['--format=custom'], 'sections', 'section by section' ])
{
	my ($dump_options, $restore, $name) = @$way;
	my $database = 'restored' . ++$number;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$database";
	$node->command_ok([ 'pg_dump', @$dump_options, '--file', $file, $node->connstr('model') ],
		"$name: pg_dump");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my $connection = $node->connstr($database);
	if ($restore eq 'sections')
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', "--section=$_", '--dbname', $connection, $file ],
			"$name: $_")
		  foreach ('pre-data', 'data', 'post-data');
	}
	elsif ($restore->[0] eq 'psql')
	{
		$node->command_ok([ @$restore, $file, $connection ], "$name: restored");
	}
	else
	{
		$node->command_ok([ @$restore, $connection, $file ], "$name: restored");
	}
	is_copy($node, $database, $name);
	lives_on($node, $database, $name) if $number == 1;
}
$node->safe_psql('postgres', "DROP DATABASE restored$_") foreach 1 .. $number;

SKIP:
{
	skip 'there is no newer server: SWARE_NEW_PG_CONFIG names none', 1 if !$new_install;

	# Files that are linked belong to the new server when it has started, so the old
	# one is copied before.
	foreach my $mode ('copy', 'link')
	{
		my $name = "pg_upgrade, $mode";
		my $old = PostgreSQL::Test::Cluster->new("old_$mode");
		$node->stop;
		$old->init;
		rmtree_and_copy($node->data_dir, $old->data_dir);
		$old->append_conf('postgresql.conf',
			'port = ' . $old->port . "\nunix_socket_directories = '" . $old->host . "'\n");
		$node->start;

		my $new = PostgreSQL::Test::Cluster->new("new_$mode", install_path => $new_install);
		my ($major) = `$new_install/bin/postgres --version` =~ /\) (\d+)/;
		$new->init($major >= 18 ? (extra => ['--no-data-checksums']) : ());
		$new->append_conf('postgresql.conf', $settings);
		# It must not count while pg_upgrade makes btree's keys for btree's files.
		$new->append_conf('postgresql.conf', "sware.use_for_keys = on\n") if $major >= 18;
		my @upgrade = (
			"$new_install/bin/pg_upgrade", '--no-sync', '--old-datadir',
				$old->data_dir, '--new-datadir', $new->data_dir,
			'--old-bindir', $node->config_data('--bindir'), '--new-bindir', "$new_install/bin",
			'--socketdir', $new->host, '--old-port', $old->port, '--new-port', $new->port);
		{
			local $ENV{LD_LIBRARY_PATH} = "$new_install/lib";
			command_ok([ @upgrade, '--check' ], "$name: checked");
			command_ok([ @upgrade, $mode eq 'link' ? ('--link') : () ], "$name to $major");
		}
		$new->start;
		cmp_ok($new->safe_psql('postgres', 'SHOW server_version_num'),
			'>=', $old_version, "$name: the version is a newer one");
		is(buffered_in($new, 'model'), buffered_in($node, 'model'), "$name: the entries are in the buffers");
		like(buffered_in($new, 'model'), qr/plain_key\|1000/, "$name: all of them");
		is($new->safe_psql('model', "SELECT string_agg(proname, ',') FROM pg_proc WHERE prosrc LIKE 'sware%'
			AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"),
			'', "$name: the extension has its functions");
		my ($stdout, $stderr) = ('', '');
		is($new->psql('model', 'SELECT count(*) FROM extensions.sware_sync_opfamilies()',
			stdout => \$stdout, stderr => \$stderr), 0,
			"$name: operator families are completed");
		note("added: $stdout $stderr");
		is_copy($new, 'model', $name);
		lives_on($new, 'model', $name);
		$new->stop('immediate');
		$new->start;
		is($new->safe_psql('model', 'SELECT count(*) FROM unlogged'),
			'0', "$name, crash: unlogged tables are empty");
		has_good_indexes($new, 'model', 'plain, parts, identity, excluded, keyed', "$name, crash");
		$new->safe_psql('postgres', 'CREATE DATABASE fresh');
		is($new->safe_psql('fresh', 'CREATE EXTENSION sware; CREATE TABLE t (a int);
			CREATE INDEX ON t USING sware (a);
			INSERT INTO t SELECT generate_series(1, 100); SELECT count(*) FROM t'),
			'100', "$name: a new database has the extension, too");
		did_not_crash($new, "$name: nothing crashed");
		$new->stop;
	}
}
did_not_crash($node, 'nothing crashed');
$node->stop;

done_testing();

# Puts a copy of a stopped server's directory in the place of another one's.
sub rmtree_and_copy
{
	my ($from, $to) = @_;
	system('rm', '-rf', $to) == 0 or die 'could not remove';
	system('cp', '-a', $from, $to) == 0 or die 'could not copy';
	return;
}
