# Twins for trials of other tools: two tables with the same rows, of which one has sware
# indexes and the other one nbtree's. Whatever a tool does is done to both, beside sessions
# that change both in the same transactions, and then they must give the same answers.

package Trial;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

our @EXPORT = qw(server_settings needs_extension make_twins make_answers start_twin_load stop_twin_load
  wait_for_rows disagreements twins_agree run_tool);

# Settings of a trial's servers.
sub server_settings
{
	return preload() . "autovacuum = off\nfsync = off\nmax_prepared_transactions = 10\n";
}

# Skips the file if the server lacks an extension.
sub needs_extension
{
	my ($node, $extension) = @_;
	return if $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'") ne '0';
	$node->stop;
	skip_file("this server has no $extension");
	return;
}

# What compares the twins: answers(table) has a line for each way to ask.
sub make_answers
{
	my ($node, $database) = @_;
	$node->safe_psql($database // 'postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS sware;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE FUNCTION answers(tbl regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	way record;
	query text;
	line text;
	plan text;
	summary text := 'count(*) || '' rows, digest '' || coalesce(sum(hashtextextended(
		concat_ws('' '', id, key, label), 0)), 0)';
BEGIN
	FOR way IN VALUES
		('all rows', 'seqscan', '%2$s FROM %1$s', ''),
		('by key', 'indexscan', '%2$s || '', out of order '' || count(*) FILTER (WHERE key < before)
			FROM (SELECT *, lag(key) OVER () AS before FROM (SELECT * FROM %1$s ORDER BY key) s) o',
			'Index Scan'),
		('by key, backwards', 'indexscan', '%2$s || '', out of order '' || count(*)
				FILTER (WHERE key > before)
			FROM (SELECT *, lag(key) OVER () AS before FROM (SELECT * FROM %1$s ORDER BY key DESC) s) o',
			'Index Scan Backward'),
		('labels', 'indexonlyscan', 'md5(string_agg(label || key, '','')) FROM (
			SELECT label, key FROM %1$s WHERE label >= ''a'' ORDER BY label, key) s', 'Index Only Scan'),
		('look-ups', 'indexscan', 'string_agg(concat(n, '':'', t.key, '' '', t.label), '','' ORDER BY n)
			FROM generate_series(1, 30000, 97) n LEFT JOIN %1$s t ON id = n', 'Index Scan'),
		('ranges', 'bitmapscan', 'string_agg(concat(n, '':'', c, '' '', s), '','' ORDER BY n)
			FROM generate_series(-1000, 150000, 1511) n,
				LATERAL (SELECT count(*) AS c, sum(id) AS s FROM %1$s WHERE key BETWEEN n AND n + 300) r',
			'Bitmap'),
		('the greatest', 'indexscan', 'concat(min(key), '' '', max(key), '' '', min(id), '' '',
			max(id), '' '', max(label)) FROM %1$s', 'Index')
	LOOP
		PERFORM set_config('enable_' || kind, (kind = way.column2 OR kind = 'indexscan'
			AND way.column2 = 'indexonlyscan')::text, true)
		FROM unnest('{seqscan,indexscan,indexonlyscan,bitmapscan}'::text[]) AS kind;
		PERFORM set_config('enable_' || kind, (way.column2 = 'seqscan')::text, true)
		FROM unnest('{sort,hashjoin,mergejoin,incremental_sort}'::text[]) AS kind;
		query := 'SELECT ' || format(way.column3, tbl, summary);
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			plan := plan || line || E'\n';
		END LOOP;
		IF way.column4 <> '' AND position(way.column4 IN plan) = 0 THEN
			RAISE EXCEPTION '% of % is not answered by an index: %', way.column1, tbl, plan;
		END IF;
		EXECUTE query INTO line;
		RETURN NEXT concat(way.column1, ': ', line);
	END LOOP;
END $$;
SQL
	return;
}

# Makes the twins "ours" and "twin", with 20,000 rows each; further clauses go behind the
# columns, and keys are left out if the caller does so.
sub make_twins
{
	my ($node, %options) = @_;
	my $database = $options{database} // 'postgres';
	my $rows = $options{rows} // 20000;
	make_answers($node, $database);
	foreach my $twin ([ 'ours', 'sware' ], [ 'twin', 'btree' ])
	{
		my ($table, $am) = @$twin;
		my $key = $am eq 'sware' ? 'PRIMARY KEY WITH (sware)' : 'PRIMARY KEY';
		$key = 'NOT NULL' if $options{no_key};
		my $clause = $options{clause} // '';
		$node->safe_psql($database, <<"SQL");
CREATE TABLE $table (id bigint $key, key bigint, label text COLLATE "C") $clause;
CREATE INDEX ${table}_key ON $table USING $am (key);
CREATE INDEX ${table}_label ON $table USING $am (label, key);
SQL
	}
	fill_twins($node, $database, $rows) if $rows;
	return;
}

sub fill_twins
{
	my ($node, $database, $rows) = @_;
	$node->safe_psql($database, join ';', map {
		"INSERT INTO $_ SELECT i, i * 5 - i * 7919 % 101, 'label ' || i % 1000
			FROM generate_series(1, $rows) i"
	} qw(ours twin));
	return;
}

# Starts sessions that change both twins: new rows, whose keys are nearly in order, and rows
# of the first ones, which change and go. Further options are pgbench's.
my $loads = 0;

sub start_twin_load
{
	my ($node, $clients, $errors, @options) = @_;
	my $first = 30_000 + 10_000_000 * $loads++;
	my $inserts = join '', map { <<"SQL" } qw(ours twin);
INSERT INTO $_ SELECT :low + i, 100000 + :n * 4 + :far + i, 'new ' || :n FROM generate_series(0, 4) i;
UPDATE $_ SET key = key + :far, label = 'changed ' || :old % 100 WHERE id = :old;
SQL
	my @script = script_files('change' => <<"SQL");
\\set n :n + 5
\\set low $first + $clients * :n + 5 * :client_id
\\set old random(1, 20000)
\\set far random(-50, 50)
BEGIN;
${inserts}DELETE FROM ours WHERE id = :old + 1;
DELETE FROM twin WHERE id = :old + 1;
COMMIT;
SQL
	return start_load($node, $clients, '-D', 'n=0', @options, @script, $errors);
}

# Ends them after their transactions, if the server is still there.
sub stop_twin_load
{
	my ($node, $load, $errors) = @_;
	ok(load_goes_on($load), 'the writers go on') or diag($$errors);
	stop_load($node, $load);
	unlike($$errors, qr/ERROR/, 'the writers meet no error');
	return;
}

# Waits until sessions have added that many rows.
sub wait_for_rows
{
	my ($node, $rows) = @_;
	my $database = 'postgres';
	my $count = $node->safe_psql($database, 'SELECT count(*) FROM ours WHERE id > 20001') + $rows;
	return $node->poll_query_until($database, "SELECT count(*) >= $count FROM ours WHERE id > 20001")
	  || BAIL_OUT('no rows come');
}

# In which ways the twins answer differently, in one snapshot, and what is wrong with their
# indexes.
sub disagreements
{
	my ($node, $database) = @_;
	my ($ours, $twin) = split /^====\n/m, $node->safe_psql($database // 'postgres', <<'SQL');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL jit = off;
SELECT * FROM answers('ours');
SELECT '====';
SELECT * FROM answers('twin');
COMMIT;
SQL
	my @ours = split /\n/, $ours;
	my @twin = split /\n/, $twin;
	my @found = @ours == 7 && @twin == 7 ? () : ('answers are missing');
	foreach my $i (grep { $ours[$_] ne $twin[$_] } 0 .. 6)
	{
		push @found, substr($ours[$i], 0, 1000) . "\n    but " . substr($twin[$i], 0, 1000);
	}
	my ($checked, $stderr) = ('', '');
	$node->psql($database // 'postgres', <<'SQL', stdout => \$checked, stderr => \$stderr);
SELECT bool_and(CASE amname WHEN 'sware' THEN sware_check(c.oid, true)::text
		ELSE bt_index_check(c.oid, true)::text END IS NOT NULL),
	count(*) FILTER (WHERE amname = 'sware') >= 2, count(*) FILTER (WHERE amname = 'btree') >= 2
FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
WHERE c.relkind = 'i' AND indisvalid AND relnamespace = 'public'::regnamespace
	AND amname IN ('sware', 'btree');
SQL
	push @found, "not sound: $checked $stderr" if $checked ne 't|t|t';
	return @found;
}

# Fails the test unless both twins answer alike, and their indexes are sound.
sub twins_agree
{
	my ($node, $name, $database) = @_;
	my @found = disagreements($node, $database);
	return is(scalar(@found), 0, "$name: the twins agree, and their indexes are sound")
	  || diag(join("\n", @found));
}

# Runs a tool as a test; its output is shown if it fails.
sub run_tool
{
	my ($name, @command) = @_;
	my ($output, $said) = ('', '');
	my $done = IPC::Run::run(\@command, '<', \undef, '>', \$output, '2>', \$said);
	return ok($done, $name) || diag(join(' ', @command) . "\n$output$said");
}

1;
