# Pieces of work for the buffer: each is counted once, for the session that did it, and
# logged if it takes long enough; the log and pg_stat_sware agree.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'the buffer is sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('work');
$node->init;
$node->append_conf('postgresql.conf', fill_buffers() . <<'CONF');
shared_preload_libraries = 'sware'
autovacuum = off
fsync = off
log_statement = none
sware.flush_workers = 0
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA apart;
CREATE TABLE apart.t (a int8);
CREATE INDEX t_a ON apart.t USING sware (a) WITH (buffer_size = 160);
CREATE PROCEDURE insert_scrambled(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		INSERT INTO apart.t SELECT hashint8(i * 200 + n) FROM generate_series(1, 200) n;
		COMMIT;
	END LOOP;
END $$;
SQL
my $log_start = -s $node->logfile;

# The pieces that were logged: what was done, by whom, and the figures.
sub logged
{
	my @pieces;
	foreach (split /\n/, slurp_file($node->logfile, $log_start))
	{
		if (/LOG:  ([a-z ]+) of index "apart\.t_a" by (.*) took ([\d.]+) ms$/)
		{
			push @pieces, { work => $1, by => $2, ms => $3 };
		}
		elsif (/DETAIL:  Pages: (\d+), entries: (\d+), leaf visits: (\d+)\.$/)
		{
			@{ $pieces[-1] }{qw(pages entries visits)} = ($1, $2, $3);
		}
	}
	return @pieces;
}

# What a session does while everything is logged, and the pieces of that.
sub pieces_of
{
	my ($sql) = @_;
	my $before = () = logged();
	$node->safe_psql('postgres', "SET sware.log_min_flush_duration = 0; $sql");
	my @pieces = logged();
	return @pieces[ $before .. $#pieces ];
}

# The figures of pg_stat_sware are there after a session has ended, which may take a moment.
sub counted_becomes
{
	my ($columns, $expected, $name) = @_;
	my $query = "SELECT ($columns)::text FROM pg_stat_sware WHERE indexrelname = 't_a'";
	return ok(
		$node->poll_query_until('postgres', "SELECT ($query) = '$expected'"), $name)
	  || diag($node->safe_psql('postgres', $query));
}

# Nothing is logged unless that is wanted, and only superusers decide.
$node->safe_psql('postgres', 'CALL insert_scrambled(1, 20)');
$node->safe_psql('postgres', "SELECT sware_flush('apart.t_a')");
$node->safe_psql('postgres', "SET sware.log_min_flush_duration = '1d'; CALL insert_scrambled(21, 40)");
$node->safe_psql('postgres', "SELECT sware_flush('apart.t_a')");
is(scalar(logged()), 0, 'nothing is logged by default, nor what is faster than is asked for');
counted_becomes('inserter_pieces, reader_pieces, vacuum_pieces',
	'(0,0,2)', 'but flushes of everything count');
my ($status, $stdout, $stderr) = $node->psql('postgres',
	'CREATE ROLE guest; SET ROLE guest; SET sware.log_min_flush_duration = 0');
like($stderr, qr/permission denied to set parameter/, 'only superusers log');
$node->safe_psql('postgres', 'DROP TABLE apart.t');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE apart.t (a int8);
CREATE INDEX t_a ON apart.t USING sware (a) WITH (buffer_size = 160);
SQL

# A few rows are published without a word; they wait in the buffer.
my @pieces = pieces_of('CALL insert_scrambled(1, 10)');
is(scalar(@pieces), 0, 'a few rows are published, which is no piece of its own');

# A reader sorts them.
@pieces = pieces_of("$ordered_scan SELECT count(*) FROM apart.t WHERE a > 0");
is(scalar(@pieces), 1, 'a scan sorts pages');
is("$pieces[0]{work}, $pieces[0]{by}", 'sorting for scans, reader', 'and is said to');
is(join('|', @{ $pieces[0] }{qw(pages entries visits)}), $node->safe_psql('postgres', <<'SQL'),
SELECT count(*), sum(entries), 0 FROM sware_buffer_pages('apart.t_a') WHERE state = 'sealed'
SQL
	'with its figures');
ok($pieces[0]{pages} > 1 && $pieces[0]{entries} > 1000, 'of several pages');
@pieces = pieces_of("$ordered_scan SELECT count(*) FROM apart.t WHERE a > 0");
is(scalar(@pieces), 0, 'the next scan finds them sorted');

# Inserters flush when the quota is exceeded.
@pieces = pieces_of('CALL insert_scrambled(11, 100)');
ok(@pieces > 3, 'inserters flush');
is(join('; ', grep { !/^flush, inserter$/ } map { "$_->{work}, $_->{by}" } @pieces),
	'', 'and do nothing else');
is(scalar(grep { $_->{pages} == 0 || $_->{entries} == 0 || $_->{visits} == 0 } @pieces),
	0, 'with figures of each piece');

# They sort the pages of a large buffer, whose entries come in no order.
@pieces = pieces_of('SET sware.fault_pages_to_sort = 8; CALL insert_scrambled(101, 200)');
my %works = map { ("$_->{work}, $_->{by}" => 1) } @pieces;
ok($works{'sorting of pages, inserter'}, 'inserters sort pages');

# A statement with more rows publishes them in one go.
@pieces = pieces_of('INSERT INTO apart.t SELECT generate_series(1, 3000)');
is($pieces[-1]{work}, 'publishing', 'many rows are published');
is($pieces[-1]{entries}, 3000, 'with their number');
is($pieces[-1]{by}, 'inserter', 'by who inserts them');

# sware_flush and VACUUM flush all, and each is one piece. With nothing to do it is none.
@pieces = pieces_of("SELECT sware_flush('apart.t_a')");
is("@{[ scalar(@pieces) ]} $pieces[0]{work} $pieces[0]{by}",
	'1 flush VACUUM or sware_flush', 'sware_flush flushes');
ok($pieces[0]{pages} > 1 && $pieces[0]{entries} > 1000 && $pieces[0]{visits} > 0, 'with its figures');
@pieces = pieces_of("SELECT sware_flush('apart.t_a')");
is(scalar(@pieces), 0, 'but not if there is nothing');
$node->safe_psql('postgres', 'CALL insert_scrambled(201, 203)');
@pieces = pieces_of('VACUUM (INDEX_CLEANUP ON) apart.t');
is("@{[ scalar(@pieces) ]} $pieces[0]{work} $pieces[0]{by}",
	'1 flush VACUUM or sware_flush', 'VACUUM flushes');

# What was counted is what was logged, and the longest is the longest. The log rounds.
my (%count, %longest);
foreach (logged())
{
	my $by = $_->{by} =~ /VACUUM/ ? 'vacuum' : $_->{by};
	$count{$by}++;
	$longest{$by} = $_->{ms} if $_->{ms} > ($longest{$by} // 0);
}
counted_becomes('inserter_pieces, reader_pieces, vacuum_pieces',
	"($count{inserter},$count{reader},$count{vacuum})", 'each piece counts');
foreach my $by (qw(inserter reader vacuum))
{
	counted_becomes("abs(${by}_max_time - $longest{$by}) < 0.002", 'true', "the longest of $by");
}
check_index($node, 'apart.t_a', 'in the end');

$node->stop;
done_testing();
