# Many sessions at once insert into a tree whose pages hold two or three items,
# so that its root is split again and again while other sessions split pages
# below it.  They insert row by row, without a buffer and through a small buffer
# that is flushed meanwhile.  None of them waits for ever, and no row is lost.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $rounds = $ENV{SWARE_GROWTH_ROUNDS} || 4;
my $am = am();

my $node = PostgreSQL::Test::Cluster->new('growth');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;
prepare_database($node);

my $directory = PostgreSQL::Test::Utils::tempdir();
my $insert = <<'SQL';
\set n random(1, 100000000)
INSERT INTO wide SELECT lpad((:n + i)::text, 9, '0') || repeat('x', 2500) FROM generate_series(1, 2) i;
SQL
my $flush = <<"SQL";
\\set flush random(0, 5) = 0
\\if :flush
SELECT ${am}_flush('wide_k');
\\endif
SQL
append_to_file("$directory/insert", $insert);
append_to_file("$directory/insert-flush", $insert . $flush);

foreach my $round (1 .. $rounds)
{
	# Without a buffer, or with one of 64 kB.
	my $buffered = $am ne 'btree' && $round % 2;
	my $script = "$directory/insert" . ($buffered ? '-flush' : '');
	my $options = $am eq 'btree' ? '' : 'WITH (buffer_size = ' . ($buffered ? 64 : 0) . ')';
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS wide;
CREATE TABLE wide (k text COLLATE "C");
ALTER TABLE wide ALTER k SET STORAGE plain;
CREATE INDEX wide_k ON wide USING $am (k) $options;
SQL

	# Sessions that wait for each other on pages cannot be cancelled: after this
	# time, which is far more than needed, the server is stopped by force.
	my ($output, $errors) = ('', '');
	my $finished = eval {
		IPC::Run::run(
			[
				'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', '8',
				'-j', '2', '-t', '60', '--random-seed', $round, '-f', $script, 'postgres'
			],
			'<', \undef, '>', \$output, '2>', \$errors, IPC::Run::timeout(180));
	};
	if (!ok($finished, "round $round: all sessions finish"))
	{
		diag($errors);
		$node->stop('immediate');
		last;
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM wide'), 960, "round $round: all rows are there");
	check_index($node, 'wide_k', "round $round");
}

done_testing();
