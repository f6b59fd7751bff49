# sware_advise on a server in use: it waits for no lock, tells each role what it may
# know, works on a standby, with hundreds of indexes and with damaged ones, and its
# commands exchange keys that foreign keys refer to.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'sware_advise is sware\'s' if am() ne 'sware';

my $node = PostgreSQL::Test::Cluster->new('advise');
$node->init(allows_streaming => 1);
# A call that waits for a lock fails.
$node->append_conf('postgresql.conf', preload() . <<'CONF');
autovacuum = off
fsync = off
statement_timeout = '60s'
CONF
$node->start;
prepare_database($node);
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE keeper; CREATE ROLE heir; CREATE ROLE statistician; CREATE ROLE passer;
GRANT keeper TO heir;
GRANT pg_monitor TO statistician;
CREATE TABLE orders (id bigint PRIMARY KEY, number bigint, code bigint);
CREATE INDEX orders_number ON orders (number);
CREATE UNIQUE INDEX orders_code ON orders (code);
INSERT INTO orders SELECT i, i, i FROM generate_series(1, 20000) i;
CREATE TABLE items (order_id bigint CONSTRAINT of_order REFERENCES orders ON DELETE CASCADE DEFERRABLE,
    code bigint CONSTRAINT of_code REFERENCES orders (code));
ALTER TABLE items ADD CONSTRAINT unchecked FOREIGN KEY (code) REFERENCES orders NOT VALID;
INSERT INTO items VALUES (1, 1), (2, 2);
CREATE TABLE kept (id bigint);
CREATE INDEX kept_id ON kept (id);
INSERT INTO kept SELECT generate_series(1, 20000);
ALTER TABLE kept OWNER TO keeper;
CREATE UNLOGGED TABLE unlogged (id bigint);
CREATE INDEX unlogged_id ON unlogged (id);
INSERT INTO unlogged SELECT generate_series(1, 20000);
SQL

sub sql
{
	return $node->safe_psql('postgres', @_);
}

# What is said of indexes, one line for each.
sub verdicts
{
	my ($on, $settings, $columns) = @_;
	$columns //= 'verdict';
	return $on->safe_psql('postgres', ($settings // '') . <<"SQL");
SELECT index, $columns FROM sware_advise(no_on_conflict => true)
WHERE index::text IN ('orders_number', 'kept_id', 'unlogged_id') ORDER BY index::text COLLATE "C";
SQL
}

# Roles.
my $pays = 'sware pays';
my $unseen = 'not looked at';
my $no_rights = 'only the table\'s owner and members of pg_read_all_stats may look at it';
is(verdicts($node), "kept_id|$pays\norders_number|$pays\nunlogged_id|$pays", 'a superuser sees all');
is(verdicts($node, 'SET ROLE statistician;'), "kept_id|$pays\norders_number|$pays\nunlogged_id|$pays",
	'so does a member of pg_monitor, who may read no table');
foreach my $role ('keeper', 'heir')
{
	is(verdicts($node, "SET ROLE $role;"), "kept_id|$pays\norders_number|$unseen\nunlogged_id|$unseen",
		"$role sees the index of the own table");
}
is(verdicts($node, 'SET ROLE passer;', 'verdict, reason, k, l, size, expected_size, wal_saved, commands'),
	join("\n", map { "$_|$unseen|$no_rights||||||" } 'kept_id', 'orders_number', 'unlogged_id'),
	'another role is told nothing');
is(sql(q{SET ROLE passer;
		SELECT problem IS NULL, size FROM sware_examine_nbtree('kept_id'::regclass, 10, NULL, 1, 1, NULL)}),
	'f|', 'nor by the function that reads pages');

# Locks of other sessions.
my $holder =
  start_holder($node, 'BEGIN; REINDEX INDEX orders_number; LOCK TABLE kept IN ACCESS EXCLUSIVE MODE;');
is(verdicts($node, '', 'verdict, reason'), join("\n",
		map { $_ eq 'unlogged_id' ? "$_|$pays|keys come in order; no scans since statistics were reset"
			: "$_|$unseen|it is locked by another session" }
		'kept_id', 'orders_number', 'unlogged_id'),
	'it waits neither for an index nor for a table');
end_session($node, $holder);
$holder = start_holder($node, join(' ', 'BEGIN;',
		map { "LOCK TABLE $_ IN ACCESS EXCLUSIVE MODE;" } 'orders', 'items', 'kept', 'unlogged'));
is(sql('SELECT DISTINCT verdict FROM sware_advise()'), $unseen, 'all tables are locked');
end_session($node, $holder);

# Tables, indexes and foreign keys that the snapshot sees are dropped.
sql('CREATE TABLE gone (id int PRIMARY KEY); CREATE TABLE refers (id int REFERENCES gone);
	CREATE INDEX going ON orders ((number + 1));
	CREATE TABLE parts (id int) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parts DEFAULT;
	CREATE INDEX ON parts (id)');
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
sql('DROP TABLE gone, refers; DROP INDEX going; DROP TABLE parts');
is($session->query_safe(q{SELECT verdict, reason, count(*) FROM sware_advise() WHERE verdict = 'not looked at'
		GROUP BY 1, 2}), "$unseen|it has been dropped|4", 'what was dropped is listed as such');
$session->quit;

# Its commands exchange keys, with the foreign keys that refer to them.
my $keys = q{SELECT %s FROM sware_advise(ARRAY['orders'::regclass], no_on_conflict => true)
	WHERE index <> 'orders_number'::regclass};
my $new_keys = q{SELECT count(*) FROM pg_class JOIN pg_am a ON a.oid = relam
	WHERE amname = 'sware' AND relname IN ('orders_pkey', 'orders_code')};
my $foreign_keys = q{SELECT conname, convalidated, condeferrable, confdeltype, pg_get_constraintdef(oid),
		conindid::regclass
	FROM pg_constraint WHERE contype = 'f' ORDER BY 1};
my $before = sql($foreign_keys);
if ($node->pg_version >= 18)
{
	is(sql(sprintf $keys, 'DISTINCT verdict'), $pays, 'keys that foreign keys refer to pay');
	sql("\\set ON_ERROR_STOP on\n" . sprintf($keys, 'unnest(commands)') . " \\gexec");
	is(sql($new_keys), '2', 'they are of sware now');
	is(sql($foreign_keys), $before, 'and the foreign keys are as they were');
	sql("SELECT sware_check('orders_pkey', true), sware_check('orders_code', true)");
	my ($status, undef, $errors) = run_sql($node, 'INSERT INTO items VALUES (0, 1)');
	like($errors, qr/violates foreign key constraint "of_order"/, 'which are enforced');
	sql('INSERT INTO orders VALUES (1, 1, 1) ON CONFLICT (id) DO NOTHING');
}
else
{
	is(sql(sprintf $keys, 'DISTINCT verdict, reason, commands'),
		'must stay nbtree|foreign keys refer to it, which before PostgreSQL 18 need an index of nbtree|',
		'keys that foreign keys refer to must stay');
	sql('DROP TABLE items');
	is(sql(q{SELECT DISTINCT verdict, left(reason, 49), commands FROM sware_advise(ARRAY['orders'::regclass])
			WHERE index <> 'orders_number'::regclass}),
		'must stay nbtree|before PostgreSQL 18 every ON CONFLICT fails on a|', 'and so must unique indexes');
	sql("\\set ON_ERROR_STOP on\n" . sprintf($keys, 'unnest(commands)') . " \\gexec");
	is(sql($new_keys), '2', 'unless there is no ON CONFLICT');
}

# A standby.
my $standby = start_standby($node, -1);
$node->wait_for_catchup($standby);
is(verdicts($standby, '', 'verdict, rows_inserted, size > 0, commands IS NOT NULL'),
	"kept_id|$pays||t|t\norders_number|$pays||t|t\nunlogged_id|$unseen|||f", 'a standby');
is($standby->safe_psql('postgres', 'SET ROLE passer; SELECT DISTINCT verdict FROM sware_advise()'), $unseen,
	'rights are the same there');
$standby->stop;

# Hundreds of indexes, those of partitions among them.
sql(<<'SQL');
CREATE TABLE many (a int, b int, c int, d int, e int) PARTITION BY RANGE (a);
DO $$ BEGIN
  FOR i IN 1 .. 100 LOOP
    EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)',
      i, i * 1000, i * 1000 + 1000);
  END LOOP;
END $$;
CREATE INDEX ON many (a); CREATE INDEX ON many (b); CREATE INDEX ON many (c); CREATE INDEX ON many (d);
CREATE INDEX ON many (e);
INSERT INTO many SELECT i, i, i, i, i FROM generate_series(1000, 99999, 10) i;
SQL
is(sql(q{SELECT verdict, count(*) FROM sware_advise(pattern => 'public.many%', time_limit => NULL)
		GROUP BY 1 ORDER BY 1}), 'little to gain|505', 'hundreds of indexes');
is(sql(q{SELECT count(*), max(cardinality(commands)), count(commands)
		FROM sware_advise(ARRAY['many'::regclass], time_limit => NULL) WHERE "table" = 'many'::regclass}),
	'5|405|5', 'commands for all partitions');

# Damaged pages: whatever is on them, the server does not crash, and other indexes are
# looked at.
my $damaged = start_server_to_damage('damaged');
my $rounds = 40;
$damaged->safe_psql('postgres', <<"SQL");
DO \$\$ BEGIN
  FOR i IN 1 .. $rounds LOOP
    EXECUTE format('CREATE TABLE t%s (k int, label text); CREATE INDEX i%s ON t%s (k, label);
      INSERT INTO t%s SELECT n / 3, repeat(''k'', n %% 50) FROM generate_series(1, 12000) n;', i, i, i, i);
  END LOOP;
END \$\$;
CHECKPOINT;
SQL
my @files = map { $damaged->data_dir . "/$_" } split /\n/,
  $damaged->safe_psql('postgres',
	"SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^[it][0-9]+\$'");
$damaged->stop;
foreach my $file (@files)
{
	foreach my $block (0 .. (-s $file) / $page_size - 1)
	{
		my $page = read_page($file, $block);
		# not the checksum, flags and bounds in the header, which the server checks itself
		substr($page, choose(24, $page_size - 8), 8) = pack('V2', choose(0, 2**31), choose(0, 2**31))
			foreach 1 .. choose(0, 30);
		# line pointers and the special space
		substr($page, choose(24, 200), 2) = pack('v', choose(0, 65535)) foreach 1 .. choose(0, 8);
		substr($page, choose($page_size - 16, $page_size - 2), 2) = pack('v', choose(0, 3))
		  if choose(0, 3) == 0;
		write_page($file, $block, $page);
	}
}
$damaged->start;
foreach my $leaves (1, 10, 1000)
{
	my ($status, $output, $errors) = run_sql($damaged,
		"SELECT count(*) FROM sware_advise(pattern => 'public.i%', sampled_leaves => $leaves,
			time_limit => NULL, progress => NULL)");
	is("$output$errors", $rounds, "damaged indexes, $leaves leaves");
}
did_not_crash($_, 'nothing crashed') foreach $node, $standby, $damaged;
$damaged->stop;
$node->stop;

done_testing();
