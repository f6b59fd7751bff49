# The command REPACK, which PostgreSQL has from version 19 on, and autovacuum's parallel
# workers.  REPACK (CONCURRENTLY) works beside writers, in sessions in which sware has done
# nothing before, and is cancelled now and then.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $am = am();
my $node = PostgreSQL::Test::Cluster->new('repack_command');
$node->init(allows_streaming => 1);
skip_file('this server has no REPACK') if $node->pg_version->major < 19;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
fsync = off
wal_level = replica
autovacuum_naptime = 1s
autovacuum_max_parallel_workers = 2
min_parallel_index_scan_size = 0
log_autovacuum_min_duration = 0
CONF
$node->start;
prepare_database($node);
make_disagreements($node);

# The identity is a primary key, and the index of it sware's.
my $unique = $am eq 'sware' ? 'ALTER TABLE t ADD CONSTRAINT t_id PRIMARY KEY (id) WITH (sware);' :
  "CREATE UNIQUE INDEX t_id ON t USING $am (id);";
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t (id bigint NOT NULL, key bigint, label text) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, i * 7919 % 100003, 'label ' || i FROM generate_series(1, 20000) i;
$unique
CREATE INDEX t_key ON t USING $am (key);
CREATE INDEX t_label ON t USING $am (label) INCLUDE (key);
ALTER TABLE t REPLICA IDENTITY USING INDEX t_id;
CREATE SEQUENCE numbers START 30000;
SQL
my @writers = script_files(
	insert => <<'SQL',
INSERT INTO t SELECT nextval('numbers'), random() * 100000, 'new' FROM generate_series(1, 5) i;
SQL
	change => <<'SQL',
\set id random(1, 20000)
BEGIN;
UPDATE t SET key = key + 1 WHERE id = :id;
INSERT INTO t VALUES (nextval('numbers'), :id, 'changed');
DELETE FROM t WHERE id = :id + 1;
COMMIT;
SQL
);
my $errors = '';
my $load = start_load($node, 3, @writers, \$errors);

sub is_right
{
	my ($name) = @_;
	check_index($node, $_, $name) foreach qw(t_id t_key t_label);
	return;
}

foreach my $round (1 .. 3)
{
	$node->safe_psql('postgres', 'REPACK (CONCURRENTLY) t');
	is_right("round $round: REPACK (CONCURRENTLY)");

	# while it waits for the writers, which it does in the end
	my $holder = start_holder($node, 'BEGIN; INSERT INTO t VALUES (-1, -1, \'held\');');
	interrupt($node, $round % 2 ? 'pg_cancel_backend' : 'pg_terminate_backend',
		"wait_event_type IN ('Lock', 'IPC')", 'REPACK (CONCURRENTLY) t;', undef,
		"round $round: it is interrupted");
	end_session($node, $holder);
	is_right("round $round: after that");
}
ok(load_goes_on($load), 'the writers go on') or diag($errors);
stop_load($node, $load);
unlike($errors, qr/ERROR/, 'the writers meet no error');
$node->safe_psql('postgres', $_) foreach 'REPACK t', 'REPACK t USING INDEX t_key', 'REPACK (ANALYZE) t';
is_right('REPACK');
is($node->safe_psql('postgres', "SELECT disagreements('t', '$_')"), '', "$_ agrees with the table")
  foreach qw(id key label);
is($node->safe_psql('postgres', "SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE c.oid = 't_id'::regclass"), $am, 'the key has the same kind of index');

# Autovacuum, with parallel workers.
$node->safe_psql('postgres', <<'SQL');
DELETE FROM t WHERE id % 3 = 0;
ALTER TABLE t SET (autovacuum_enabled = on, autovacuum_vacuum_threshold = 100,
	autovacuum_vacuum_scale_factor = 0, autovacuum_parallel_workers = 2);
SQL
$node->poll_query_until('postgres',
	"SELECT autovacuum_count > 0 FROM pg_stat_user_tables WHERE relname = 't'")
  or die 'there was no autovacuum';
ok(grep_log($node, qr/parallel workers: index vacuum: [1-9]|launched .*parallel/), 'it had parallel workers')
  or diag(join("\n", grep_log($node, qr/parallel|automatic vacuum/)));
is_right('autovacuum');
is($node->safe_psql('postgres', "SELECT disagreements('t', '$_')"), '', "$_ still agrees")
  foreach qw(id key label);

$node->stop;
is(join("\n", grep_log($node, qr/TRAP:|PANIC:|terminated by signal (?!15)/)), '', 'nothing has crashed');
done_testing();
