# Transactions that change a foreign table, too.  Its wrapper commits on the other server
# before this one does, in a callback that may run before sware's.  So nothing must be
# left then that can fail: after an error or a cancel, wherever it comes, either both
# servers have the rows or none.
#
# The other server is the same one; the wrapper connects to it in the transaction that
# is tested, after entries were staged.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('foreign');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;
prepare_database($node);
my ($directory, $port) = ($node->host, $node->port);
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$directory', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER other;
CREATE TABLE there (a int);
CREATE FOREIGN TABLE there_from_here (a int) SERVER other OPTIONS (table_name 'there');
CREATE TABLE parts (a int) PARTITION BY RANGE (a);
CREATE FOREIGN TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (1000)
	SERVER other OPTIONS (table_name 'there');

CREATE TABLE here (a int, b text);
CREATE INDEX here_a ON here USING sware (a);
CREATE UNIQUE INDEX here_u ON here USING sware (b, a);

-- A trigger at the end of the transaction, whose statement stages entries.
CREATE FUNCTION insert_more() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN
	INSERT INTO here SELECT i, 'trigger' FROM generate_series(1, 20) i;
	RETURN NULL;
END \$\$;
CREATE TABLE starts_trigger (a int);
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON starts_trigger DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION insert_more();
SQL

# Ways to change the foreign table, among statements that stage.
my $stage = "INSERT INTO here SELECT i, 'many' FROM generate_series(100, 160) i;";
my %transactions = (
	insert => "$stage INSERT INTO there_from_here VALUES (1);",
	large => "INSERT INTO here SELECT i, 'many' FROM generate_series(100, 900) i;"
	  . 'INSERT INTO there_from_here VALUES (1);',
	before => "INSERT INTO there_from_here VALUES (1); $stage",
	partition => "$stage INSERT INTO parts VALUES (1);",
	'partition before' => "INSERT INTO parts VALUES (1); $stage",
	copy => "$stage COPY parts FROM PROGRAM 'echo 1';",
	function => "$stage DO 'BEGIN INSERT INTO there_from_here VALUES (1); END';",
	cte => "WITH far AS (INSERT INTO there_from_here VALUES (1)) $stage",
	trigger => 'INSERT INTO starts_trigger VALUES (1); INSERT INTO there_from_here VALUES (1);',
	savepoint => "$stage SAVEPOINT s; INSERT INTO there_from_here VALUES (2); ROLLBACK TO s;"
	  . 'INSERT INTO there_from_here VALUES (1);',);

# Runs a transaction in a session of its own, with faults; returns its errors.
sub run_transaction
{
	my ($name, $faults) = @_;
	$node->safe_psql('postgres', 'TRUNCATE here, there, starts_trigger');
	my ($output, $errors) = ('', '');
	$node->psql(
		'postgres',
		"SET sware.fault_points = '$faults'; BEGIN; $transactions{$name} COMMIT;",
		stdout => \$output,
		stderr => \$errors);
	return $errors;
}

# The numbers of rows there and here.
sub rows
{
	return $node->safe_psql('postgres',
		"$sequential_scan SELECT (SELECT count(*) FROM there), (SELECT count(*) FROM here)");
}

sub expect_both
{
	my ($name) = @_;
	my ($there, $here) = split /\|/, rows();
	is($there, 1, "$name: the row is there");
	cmp_ok($here, '>=', 20, "$name: the rows are here");
	check_index($node, $_, $name) foreach qw(here_a here_u);
}

# Without a fault, which tells what points a transaction passes; and with an error at each
# of them.
my %met;
foreach my $name (sort keys %transactions)
{
	my $reports = run_transaction($name, '*=notice');
	my %points = map { $_ => 1 } $reports =~ /NOTICE:  fault point "([^"]+)" was reached/g;
	unlike($reports, qr/ERROR/, "$name: no error");
	expect_both($name);
	foreach my $point (sort keys %points)
	{
		like(run_transaction($name, "$point=error"), qr/ERROR/, "$name, error at $point");
		is(rows(), '0|0', "$name, error at $point: no rows, here or there");
		$met{$point} = 1;
	}
}
ok($met{$_}, "an error came at $_")
  foreach qw(publish-begins publish-sorted publish-stored staged-keys-published);

# A cancel while entries are published.
foreach my $name (sort keys %transactions)
{
	foreach my $point (qw(publish-begins publish-stored))
	{
		$node->safe_psql('postgres', 'TRUNCATE here, there, starts_trigger');
		my $barrier = start_holder($node, 'SELECT pg_advisory_lock(23265);');
		interrupt($node, 'pg_cancel_backend', "wait_event = 'advisory'",
			"SET sware.fault_points = '$point=wait'; BEGIN; $transactions{$name} COMMIT;",
			$barrier, "$name: cancelled at $point");
		# a savepoint may have been rolled back, and the transaction gone on
		like(rows(), qr/^(0\|0|1\|\d\d+)$/, "$name, cancelled at $point: rows here and there, or none");
	}
}

$node->stop;
done_testing();
