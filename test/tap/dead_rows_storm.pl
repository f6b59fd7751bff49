# Sessions of a standby compare what sequential scans, index scans and bitmaps find, each
# time in one snapshot, while the primary's indexes lose entries of dead rows: leaves
# drop them to make room, flushes drop them, VACUUM deletes leaves.  The standby keeps
# nothing back on the primary (hot_standby_feedback = off), nor replay from going on:
# so queries are cancelled, or they see their rows.  Then the standby is promoted with
# marks on its pages, and the same goes on there.
#
# SWARE_STORM_ANSWERS sets how many comparisons come to their end in each phase, at
# least (default 40); each compares one to six columns three times.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

my $wanted_answers = $ENV{SWARE_STORM_ANSWERS} // 40;
my $max_rounds = 20 + $wanted_answers;
my $am = am();
my $small_buffer = $am eq 'btree' ? '' : 'WITH (buffer_size = 64, group_leaves = on)';
my $set_buffer =
  $am eq 'btree' ? '' : "PERFORM set_config('sware.enable_buffer', (NOT direct)::text, true);";

my $primary = PostgreSQL::Test::Cluster->new('primary');
# With checksums, marks are logged, in images of pages.
$primary->init(allows_streaming => 1, extra => ['--data-checksums']);
$primary->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
max_wal_size = '4GB'
wal_keep_size = '2GB'
log_statement = none
CONF
$primary->start;
prepare_database($primary);
make_disagreements($primary);
make_mark_count($primary);

# A page of "wide" has room for two rows and some more, and its rows are not updated, so
# only VACUUM prunes this table: otherwise nothing but the index's own records tells the
# standby of a conflict.  Its entries are large, so that leaves and buffer are full soon.
# "hot" has versions of few rows, "queue" rows that live shortly, and in "changed" keys
# are updated.
$primary->safe_psql('postgres', <<"SQL");
CREATE TABLE wide (id int, key int8, n int8, pad text, filler text);
ALTER TABLE wide ALTER filler SET STORAGE PLAIN;
CREATE UNIQUE INDEX wide_key ON wide USING $am (key) INCLUDE (pad) $small_buffer;
CREATE INDEX wide_n ON wide USING $am (n) INCLUDE (pad) $small_buffer;
CREATE FUNCTION insert_wide(number int) RETURNS void LANGUAGE sql AS \$\$
	INSERT INTO wide VALUES (number, number, floor(random() * 100), repeat('pad', 100), repeat('x', 3000))
\$\$;
SELECT insert_wide(n) FROM generate_series(1, 60) n;
CREATE TABLE hot (id int, key int, n int, pad text) WITH (fillfactor = 50);
CREATE UNIQUE INDEX hot_key ON hot USING $am (key) INCLUDE (pad) $small_buffer;
CREATE INDEX hot_n ON hot USING $am (n) $small_buffer;
INSERT INTO hot SELECT n, n, 0, repeat('wide', 50) FROM generate_series(1, 40) n;
CREATE TABLE queue (id int, key bigserial);
CREATE INDEX queue_key ON queue USING $am (key) $small_buffer;
CREATE TABLE changed (id int, key int8);
CREATE INDEX changed_key ON changed USING $am (key) $small_buffer;
INSERT INTO changed SELECT n, n FROM generate_series(1, 400) n;
CREATE TABLE tick (id int);

-- Many small transactions in one call, whose entries go to the buffer or to the tree.
CREATE PROCEDURE change_wide(direct boolean) LANGUAGE plpgsql AS \$\$
DECLARE
	number int;
BEGIN
	FOR i IN 1 .. 30 LOOP
		$set_buffer
		number := floor(1 + random() * 60);
		DELETE FROM wide WHERE id = number;
		IF FOUND THEN
			PERFORM insert_wide(number);
		END IF;
		COMMIT;
	END LOOP;
END \$\$;
CREATE PROCEDURE change_hot(direct boolean) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN 1 .. 40 LOOP
		$set_buffer
		UPDATE hot SET n = random() * 1000 WHERE key = floor(1 + random() * 40);
		COMMIT;
	END LOOP;
END \$\$;
CREATE PROCEDURE use_queue(direct boolean) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN 1 .. 20 LOOP
		$set_buffer
		INSERT INTO queue (id) SELECT n FROM generate_series(1, 40) n;
		COMMIT;
		DELETE FROM queue WHERE key IN (SELECT key FROM queue ORDER BY key LIMIT 40 FOR UPDATE SKIP LOCKED);
		COMMIT;
	END LOOP;
END \$\$;
SQL
my @columns_of_wide = ([ 'wide', 'key' ], [ 'wide', 'n' ]);
my @columns = (@columns_of_wide, [ 'hot', 'key' ], [ 'hot', 'n' ], [ 'queue', 'key' ], [ 'changed', 'key' ]);
my %load_of_wide = (
	'wide@10' => "CALL change_wide(false);\n",
	'wide-direct@20' => "CALL change_wide(true);\n",
	'look-wide@10' => "$ordered_scan\nSELECT count(id) FROM wide WHERE key > 0;\n"
	  . "SELECT count(id) FROM wide WHERE n >= 0;\n",
	'flush-wide@3' => flush_statement('wide_key', 'wide_n') . ";\n");
my %load = (
	%load_of_wide,
	'hot@10' => "CALL change_hot(false);\n",
	'hot-direct@10' => "CALL change_hot(true);\n",
	'look-hot@10' => "$ordered_scan\nSELECT count(n) FROM hot WHERE key > 0;\n",
	'queue@10' => "CALL use_queue(false);\n",
	'queue-direct@10' => "CALL use_queue(true);\n",
	'scan@5' => "$ordered_scan\nSELECT count(id) FROM changed WHERE key > 0;\n",
	'change@10' => "\\set id random(1, 400)\n"
	  . "UPDATE changed SET key = key + 1000 WHERE id BETWEEN :id AND :id + 20;\n",
	'flush@2' => flush_statement('hot_key', 'hot_n', 'queue_key', 'changed_key') . ";\n",
	'vacuum-queue@6' => "VACUUM (INDEX_CLEANUP ON) queue;\n",
	'vacuum-others@1' => "VACUUM (INDEX_CLEANUP ON) wide, hot, changed;\n",
	'checkpoint@1' => "CHECKPOINT;\n");

# One statement, and so one snapshot, compares columns, three times.
sub comparison
{
	my @lines = map { "SELECT disagreements('$_->[0]', '$_->[1]')" } @_, @_, @_;
	return 'SELECT 1 / (count(*) = 0)::int FROM (' . join(' UNION ALL ', @lines) . ") AS found;\n";
}

my $standby = start_standby($primary, 0);

# A transaction that only sets marks does not write a commit record, after which their
# WAL would be flushed.
sub caught_up
{
	$primary->safe_psql('postgres', 'INSERT INTO tick VALUES (1)');
	$primary->wait_for_catchup($standby);
	return;
}

# What has happened to entries by now: deleted from leaves, dropped by flushes, flushed.
sub counts
{
	my ($node) = @_;
	return split /\|/, $node->safe_psql('postgres',
		'SELECT sum(entries_deleted), sum(entries_dropped), sum(flushes) FROM pg_stat_sware');
}

# Deleted pages that have not been reused yet.
sub deleted_pages
{
	my ($node) = @_;
	return $node->safe_psql('postgres', <<'SQL');
SELECT count(*)
FROM generate_series(1, pg_relation_size('queue_key') / current_setting('block_size')::int - 1) AS block,
	sware_page_stats('queue_key', block)
WHERE 'deleted' = ANY (flags)
SQL
}

# Compares on one server, with changes on another one or on the same, until there are
# enough answers, and everything has happened that is to happen meanwhile.
sub storm
{
	my ($name, $changed, $asked, $is_wide) = @_;
	my $on_standby = $changed != $asked;
	my @asked_columns = $is_wide ? @columns_of_wide : @columns;
	my @load = script_files($is_wide ? %load_of_wide : %load);
	my @queries = script_files(
		all => comparison(@asked_columns),
		map { ("$_->[0]-$_->[1]" => comparison($_)) } @asked_columns);
	my ($done, $cancelled, $other, $deleted_pages) = (0, 0, '', 0);
	my @before = $am eq 'btree' ? () : counts($changed);
	my @after;
	my $load_errors = '';
	my $load = start_load($changed, 2, @load, \$load_errors);
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=repeatable\ read';
	foreach my $round (1 .. $max_rounds)
	{
		my @outcome = ask_beside_load($asked, 2, 10, @queries);
		$done += $outcome[0];
		$cancelled += $outcome[1];
		$other .= $outcome[2];
		if ($am ne 'btree')
		{
			@after = counts($changed);
			$deleted_pages += deleted_pages($changed);
		}
		last if $other || !load_goes_on($load)
		  || ( $done >= $wanted_answers
			&& ($cancelled || !$on_standby)
			&& ($deleted_pages || $is_wide || $am eq 'btree')
			&& !grep { $after[$_] <= $before[$_] } 0 .. $#after);
	}
	ok(load_goes_on($load), "$name: changes went on all the time") || diag($load_errors);
	stop_load($changed, $load);
	unlike($load_errors, qr/error/i, "$name: and without errors");
	is($other, '', "$name: no query misses a row");
	cmp_ok($done, '>=', $wanted_answers, "$name: queries came to their end");
	cmp_ok($cancelled, $on_standby ? '>' : '==', 0, "$name: how many were cancelled");
	if ($am ne 'btree')
	{
		cmp_ok($after[0], '>', $before[0], "$name: entries were deleted from leaves");
		cmp_ok($after[1], '>', $before[1], "$name: and dropped by flushes");
		cmp_ok($after[2], '>', $before[2], "$name: others were flushed");
		cmp_ok($deleted_pages, '>', 0, "$name: leaves were deleted") if !$is_wide;
		note("$name: $done answers, $cancelled cancelled, " . ($after[0] - $before[0]) . ' entries deleted, '
			  . ($after[1] - $before[1]) . ' dropped, ' . ($after[2] - $before[2]) . ' flushes');
	}
	caught_up() if $on_standby;
	agrees($_, $name) foreach $on_standby ? ($changed, $asked) : $changed;
	return;
}

sub agrees
{
	my ($node, $name) = @_;
	foreach my $column (@columns)
	{
		my ($table, $key) = @$column;
		is($node->safe_psql('postgres', "SELECT disagreements('$table', '$key')"), '',
			"$name: $table.$key on the " . $node->name);
		check_index($node, "${table}_$key", "$name, on the " . $node->name);
	}
	return;
}

# While images are compared, records clear the marks of their pages.
$primary->append_conf('postgresql.conf', "wal_consistency_checking = 'generic'\n");
$primary->reload;
storm('images compared', $primary, $standby);
$primary->append_conf('postgresql.conf', "wal_consistency_checking = ''\n");
$primary->reload;
storm('images not compared', $primary, $standby);
storm('only indexes are in conflict', $primary, $standby, 1);
is($standby->safe_psql('postgres', 'SELECT confl_snapshot > 0 FROM pg_stat_database_conflicts '
		. 'WHERE datname = current_database()'), 't', 'queries were cancelled for their snapshots');

# Marks get to the standby, and count there after its promotion.
$primary->safe_psql('postgres', flush_statement('wide_n', 'changed_key')) if $am ne 'btree';
$primary->safe_psql('postgres', 'DELETE FROM wide WHERE id % 3 = 0; DELETE FROM changed WHERE id % 3 = 0');
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->safe_psql('postgres',
	"$ordered_scan SELECT count(id) FROM changed WHERE key > 0; SELECT count(id) FROM wide WHERE n >= 0");
caught_up();
if ($am ne 'btree')
{
	cmp_ok($standby->safe_psql('postgres', "SELECT marked('$_')"), '>', 0, "marks of $_ get to the standby")
	  foreach 'changed_key', 'wide_n';
}
agrees($standby, 'with marks');
did_not_crash($standby, 'the standby had nothing to complain about');
$primary->stop;
$standby->promote;
agrees($standby, 'after promotion');
storm('on the promoted server', $standby, $standby);
did_not_crash($standby, 'the promoted server had nothing to complain about');
$standby->stop;
done_testing();
