# pg_repack rebuilds a table beside writers: it fills another table, applies the changes
# that were made meanwhile, and exchanges the files of both and of their indexes, all in
# one transaction.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('repack');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;
prepare_database($node);

if ($node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'") eq '0')
{
	$node->stop;
	skip_file('this server has no pg_repack');
}

my $am = am();
my $option = $am eq 'sware' ? 'WITH (sware)' : '';
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pg_repack;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY $option, key bigint, label text);
INSERT INTO t (key, label) SELECT i, 'label ' || i FROM generate_series(1, 20000) i;
CREATE INDEX t_key ON t USING $am (key);
CREATE INDEX t_label ON t USING $am (label) INCLUDE (id);
CREATE UNIQUE INDEX t_id ON t USING $am (id, key);
SQL

my @writers = script_files(
	insert => <<'SQL',
INSERT INTO t (key, label) SELECT 20000 + random() * 1000, 'new ' || i FROM generate_series(1, 5) i;
SQL
	change => <<'SQL',
\set id random(1, 20000)
BEGIN;
UPDATE t SET key = key + 1 WHERE id = :id;
INSERT INTO t (key, label) VALUES (:id, 'changed');
DELETE FROM t WHERE id = :id + 1;
COMMIT;
SQL
);
my $errors = '';
my $load = start_load($node, 4, @writers, \$errors);
foreach my $arguments ([qw(-t t)], [qw(-t t -o key)], [qw(-t t -x)], [qw(-t t -n)], [qw(-t t)])
{
	my ($output, $said) = ('', '');
	my $done = IPC::Run::run(
		[ 'pg_repack', '-h', $node->host, '-p', $node->port, '-d', 'postgres', @$arguments ],
		'<', \undef, '>', \$output, '2>', \$said);
	ok($done, "pg_repack @$arguments") or diag("$output$said");
	check_index($node, $_, "after pg_repack @$arguments") foreach qw(t_pkey t_key t_label t_id);
}
ok(load_goes_on($load), 'the writers go on') or diag($errors);
stop_load($node, $load);
unlike($errors, qr/ERROR/, 'the writers meet no error');
index_agrees($node, 't', $_, 'in the end') foreach qw(key label id);
check_index($node, $_, 'in the end') foreach qw(t_pkey t_key t_label t_id);
is($node->safe_psql('postgres', "SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam
	WHERE c.oid = 't_pkey'::regclass"), $am, 'the primary key has the same kind of index');

$node->stop;
done_testing();
