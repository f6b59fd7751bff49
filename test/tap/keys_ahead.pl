# COPY into a unique index whose leaves are not in shared buffers asks the kernel for those
# of the next rows, which are in the table already.  The rows are what they are with nbtree,
# and so are errors.  A fault point tells what is asked for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'fault points are sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('keys_ahead');
$node->init;
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
maintenance_io_concurrency = 10
shared_buffers = 1MB
CONF
$node->start;
prepare_database($node);

# Keys in no order, even ones; odd ones are free.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION key_of(n int) RETURNS int LANGUAGE sql AS
	$$SELECT (n::bigint * 7919 % 100003 * 20)::int$$;
CREATE TABLE ours (number int, key int, name text);
CREATE TABLE theirs (LIKE ours);
INSERT INTO ours SELECT n, key_of(n), 'name ' || key_of(n) FROM generate_series(1, 100000) n;
INSERT INTO theirs TABLE ours;
CREATE UNIQUE INDEX ours_key ON ours USING sware (key);
CREATE UNIQUE INDEX ours_name ON ours USING sware (name, number);
CREATE UNIQUE INDEX theirs_key ON theirs USING btree (key);
CREATE UNIQUE INDEX theirs_name ON theirs USING btree (name, number);
VACUUM ANALYZE ours;
SQL

# Inserts rows whose keys are free, but for the given one; returns the error, and how many
# leaves were asked for.
sub insert_rows
{
	my ($table, $first, $taken, $by_copy, $settings) = @_;
	my @rows;
	foreach my $n ($first .. $first + 2999)
	{
		my $key = $n * 7919 % 100003 * 20 + ($n == $taken ? 0 : 1);
		push @rows, "$n\t$key\tname $key";
	}
	my $stdout = '';
	my $stderr = '';
	my $rows = join("\n", @rows);
	my $command = $by_copy ? "COPY $table FROM STDIN;\n$rows\n\\.\n" :
		"INSERT INTO $table SELECT n, key_of(n) + 1, 'name ' || key_of(n) + 1\n"
		. "FROM generate_series($first, $first + 2999) n;\n";

	$node->psql('postgres', <<"SQL", stdout => \$stdout, stderr => \$stderr);
SET client_min_messages = notice;
SET sware.fault_points = 'readahead-of-key=notice';
$settings
$command
SQL
	my $asked = () = $stderr =~ /"readahead-of-key" was reached/g;
	$stderr =~ s/^.*NOTICE:.*(?:\n|\z)(?:CONTEXT:.*(?:\n|\z))?//mg;
	$stderr =~ s/^psql:<stdin>:\d+: //mg;
	$stderr =~ s/ours|theirs/table/g;
	return ($stderr, $asked);
}

sub same_rows
{
	my ($what) = @_;
	is($node->safe_psql('postgres', <<'SQL'), '0|t', "$what: the same rows are there");
SELECT (SELECT count(*) FROM (TABLE ours EXCEPT TABLE theirs) s)
	+ (SELECT count(*) FROM (TABLE theirs EXCEPT TABLE ours) s),
	sware_check('ours_key', true) IS NOT NULL AND sware_check('ours_name', true) IS NOT NULL;
SQL
}

my $first = 1;
foreach my $taken (0, 4702)
{
	$node->restart;
	my ($error, $asked) = insert_rows('ours', $first, $taken, 1, '');
	my ($their_error) = insert_rows('theirs', $first, $taken, 1, '');
	is($error, $their_error, "COPY: the error is nbtree's");
	like($error, $taken ? qr/COPY table, line 1702/ : qr/^$/, 'COPY: the error tells the line');
	cmp_ok($asked, '>', $taken ? 3000 : 5500, 'leaves are asked for, of both indexes');
	same_rows('COPY');
	$first += 3000 unless $taken;
	$node->restart;
}
($first) = (6001);
foreach my $case (
	[ 1, 'SET maintenance_io_concurrency = 0;', 'with maintenance_io_concurrency = 0' ],
	[ 0, '', 'whose rows are not in the table yet' ])
{
	my ($by_copy, $settings, $why) = @$case;

	$node->restart;
	my ($error, $asked) = insert_rows('ours', $first, 0, $by_copy, $settings);
	my ($their_error) = insert_rows('theirs', $first, 0, $by_copy, '');
	is("$error$their_error", '', 'rows are inserted');
	is($asked, 0, "no leaf is asked for $why");
	same_rows($why);
	$first += 3000;
}

$node->stop;
done_testing();
