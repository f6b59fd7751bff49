# SQLsmith makes random queries and changes. Each is put to a database with sware indexes and
# to a twin with nbtree's, and must have the same answer, or the same error. Where an answer
# depends on the plan, it is compared with those of other plans: only what no plan without
# sware's indexes gives is wrong.
#
# Environment:
#   SQLSMITH_QUERIES   how many (default 3000)

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;
use Trial;

skip_file('there is no sqlsmith') if system('sqlsmith --version >/dev/null 2>&1') != 0;
my $queries = $ENV{SQLSMITH_QUERIES} // 3000;

my $node = PostgreSQL::Test::Cluster->new('sqlsmith');
$node->init;
$node->append_conf('postgresql.conf', server_settings() . fill_buffers() . <<'CONF');
statement_timeout = '2s'
log_statement = none
log_min_messages = fatal
CONF
$node->start;

# Tables of many types, whose rows the functions below change in the same way in both.
my $tables = <<'SQL';
CREATE TABLE orders (id int NOT NULL, ordered_at timestamp, amount numeric(10, 2), customer text COLLATE "C",
	code uuid, flags bit(8));
CREATE TABLE customers (id bigint NOT NULL, name text COLLATE "C", since date, score float8, town "char");
CREATE TABLE events (at timestamptz, kind smallint, payload bytea, source inet, tags int[]);
CREATE INDEX orders_ordered_at ON orders USING @am (ordered_at);
CREATE INDEX orders_customer ON orders USING @am (customer DESC, amount);
CREATE INDEX orders_amount ON orders USING @am (amount NULLS FIRST) INCLUDE (id);
CREATE INDEX orders_code ON orders USING @am (code) WHERE id > 100;
CREATE UNIQUE INDEX orders_id ON orders USING @am (id);
CREATE UNIQUE INDEX customers_id ON customers USING @am (id);
CREATE INDEX customers_name ON customers USING @am (name);
CREATE INDEX customers_score ON customers USING @am (score, since DESC);
CREATE INDEX customers_town ON customers USING @am (town);
CREATE INDEX events_at ON events USING @am (at);
CREATE INDEX events_kind ON events USING @am (kind, source);
CREATE INDEX events_payload ON events USING @am (payload);
CREATE INDEX events_tags ON events USING @am (tags);
SQL
# SQLsmith's own conditions are seldom those that an index serves; those of views are.
my $views = <<'SQL';
CREATE VIEW of_time AS SELECT * FROM orders
	WHERE ordered_at BETWEEN '2026-01-01 02:00' AND '2026-01-01 06:00';
CREATE VIEW of_customers AS SELECT * FROM orders
	WHERE customer IN ('customer 7', 'customer 8', 'customer 56');
CREATE VIEW of_amount AS SELECT * FROM orders WHERE amount > 70 ORDER BY amount;
CREATE VIEW without_amount AS SELECT * FROM orders WHERE amount IS NULL;
CREATE VIEW of_code AS SELECT * FROM orders
	WHERE id > 100 AND code < '80000000-0000-0000-0000-000000000000';
CREATE VIEW first_orders AS SELECT * FROM orders WHERE id < 150;
CREATE VIEW orders_of AS SELECT c.id AS customer, o.id, o.amount
	FROM customers c JOIN orders o ON o.id = c.id + 40;
CREATE VIEW names AS SELECT * FROM customers WHERE name >= 'name 2' AND name < 'name 3';
CREATE VIEW scores AS SELECT * FROM customers WHERE score > 0.5 ORDER BY score DESC, since;
CREATE VIEW towns AS SELECT * FROM customers WHERE town = 'c';
CREATE VIEW kinds AS SELECT * FROM events WHERE kind = 3 AND source > '10.0.0.20';
CREATE VIEW seconds AS SELECT * FROM events WHERE at < '2026-01-01 00:03+00' ORDER BY at DESC;
CREATE VIEW payloads AS SELECT payload, count(*) AS count FROM events
	WHERE payload > '\x80' GROUP BY payload;
CREATE VIEW tags AS SELECT * FROM events WHERE tags >= '{2,1}';
SQL
my $fill = <<'SQL';
INSERT INTO orders SELECT n, '2026-01-01'::timestamp + n * interval '1 min' - n * 7 % 50 * interval '1 min',
	CASE WHEN n % 9 > 0 THEN n * 7919 % 1000 / 7.0 END, 'customer ' || n % 57, md5(n::text)::uuid, n::bit(8)
FROM generate_series(@low, @low + 39) n;
INSERT INTO customers SELECT n, 'name ' || n * 31 % 400, '2020-01-01'::date + n % 200, sin(n),
	chr(97 + n % 26)::"char"
FROM generate_series(@low, @low + 19) n;
INSERT INTO events SELECT '2026-01-01 00:00+00'::timestamptz + (n - n * 13 % 20) * interval '1 s',
	n % 11, decode(md5((n % 90)::text), 'hex'), '10.0.0.0'::inet + n % 70, ARRAY[n % 5, n % 3]
FROM generate_series(@low, @low + 39) n;
UPDATE orders SET amount = -amount, customer = NULL WHERE id % 29 = @low / 40 % 29;
DELETE FROM events WHERE kind = @low / 40 % 11 AND at < '2026-01-01 00:05+00';
SQL
# The answer to a query: how many rows, and their digest; of a change also the digests of the
# tables; or the error. Changes are rolled back.
my $answer = <<'SQL';
CREATE FUNCTION answer(query text, plan text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows bigint;
	digest text;
	tables text;
BEGIN
	PERFORM set_config('enable_' || kind, (kind <> ALL (string_to_array(plan, ' ')))::text, true)
	FROM unnest('{indexscan,indexonlyscan,bitmapscan,hashjoin,mergejoin,nestloop,hashagg,material}'::text[])
		AS kind;
	PERFORM set_config('enable_seqscan', (plan LIKE 'indexscan%')::text, true);
	BEGIN
		IF query ~* '^\s*(select|values)' THEN
			EXECUTE 'SELECT count(*), sum(hashtextextended(r::text, 0)) FROM (' || query || ') AS r'
				INTO rows, digest;
		ELSE
			EXECUTE query;
			GET DIAGNOSTICS rows = ROW_COUNT;
		END IF;
		IF query !~* '^\s*(select|values)' THEN
			SELECT concat_ws(' ', (SELECT sum(hashtextextended(r::text, 0)) FROM orders r),
				(SELECT sum(hashtextextended(r::text, 0)) FROM customers r),
				(SELECT sum(hashtextextended(r::text, 0)) FROM events r)) INTO tables;
		END IF;
		RAISE EXCEPTION USING ERRCODE = 'TRIAL', MESSAGE = concat(rows, ' rows, ', digest, ' ', tables);
	EXCEPTION
		WHEN SQLSTATE 'TRIAL' THEN RETURN SQLERRM;
		WHEN query_canceled THEN RETURN 'canceled';
		WHEN OTHERS THEN
			RETURN concat('error ', SQLSTATE, CASE WHEN SQLSTATE LIKE 'XX%' THEN ' ' || SQLERRM END);
	END;
END $$;
SQL

$node->safe_psql('postgres', 'CREATE ROLE smith LOGIN');
# SQLsmith looks at this one: it has no other objects that it would use.
$node->safe_psql('postgres', 'CREATE DATABASE model OWNER smith');
$node->safe_psql('model', 'SET ROLE smith;' . $tables =~ s/\@am/btree/gr . $views);
my %session;
foreach my $pair ([ 'ours', 'sware' ], [ 'twin', 'btree' ])
{
	my ($database, $am) = @$pair;
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER smith");
	$node->safe_psql($database, 'CREATE SCHEMA extensions; CREATE EXTENSION sware SCHEMA extensions;
		REVOKE ALL ON ALL FUNCTIONS IN SCHEMA extensions FROM PUBLIC;
		CREATE EXTENSION amcheck SCHEMA extensions; GRANT ALL ON SCHEMA public TO smith');
	$node->safe_psql($database, 'SET ROLE smith;' . $tables =~ s/\@am/$am/gr . $views . $answer);
	add_rows($database, $_) foreach 0 .. 14;
	$node->safe_psql($database, 'ANALYZE');
	$session{$database} = $node->background_psql($database, on_error_stop => 0);
	$session{$database}->query_safe('SET ROLE smith');
}

# SQLsmith ends its statements with a semicolon at the end of a line.
my ($smith, $said) = ('', '');
my $seed = choose(1, 1_000_000);
IPC::Run::run(
	[
		'sqlsmith', '--dry-run', '--exclude-catalog', "--seed=$seed", "--max-queries=$queries",
		'--target=' . $node->connstr('model') . ' user=smith'
	],
	'<', \undef, '>', \$smith, '2>', \$said);
my @statements = split /;\s*\n/, $smith;
cmp_ok(scalar(@statements), '>=', $queries * 0.9, "there are statements, of seed $seed") or diag($said);

my %count = (answers => 0, errors => 0, canceled => 0, 'depending on the plan' => 0);
my $number = 0;
foreach my $statement (@statements)
{
	if (++$number % 250 == 0)
	{
		add_rows($_, 14 + $number / 250) foreach qw(ours twin);
		$node->safe_psql('ours', q{SELECT extensions.sware_flush('orders_amount')}) if $number % 500 == 0;
		$node->safe_psql($_, 'VACUUM') foreach $number % 1000 == 0 ? qw(ours twin) : ();
	}
	# A limit without an order lets the plan choose.
	my $query = $statement =~ s/\blimit \d+\s*$//r;
	my ($ours, $twin) = map { answer_of($_, $query, '') } qw(ours twin);
	if (grep { /canceled/ } $ours, $twin)
	{
		$count{canceled}++;
	}
	elsif ($ours eq $twin)
	{
		$count{ $ours =~ /^error/ ? 'errors' : 'answers' }++;
		# with nbtree's indexes, too
		diag("an internal error, $ours, by $query") if $ours =~ /^error XX/;
	}
	elsif (is_of_plan($query, $ours, $twin))
	{
		$count{'depending on the plan'}++;
	}
	else
	{
		is($ours, $twin, "the answer to $query");
	}
}
note(join ', ', map { "$count{$_} $_" } sort keys %count);
cmp_ok($count{answers}, '>', @statements / 5, 'there are answers');
$_->quit foreach values %session;

foreach my $database (qw(ours twin))
{
	my ($checked, $stderr) = ('', '');
	$node->psql($database, <<'SQL', stdout => \$checked, stderr => \$stderr);
SELECT count(CASE amname WHEN 'sware' THEN extensions.sware_check(c.oid, true)::text
	ELSE extensions.bt_index_check(c.oid, true)::text END)
FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'
SQL
	is("$checked$stderr", '13', "$database: the indexes are sound");
}

# SQLsmith itself, which ends when the server does.
IPC::Run::run(
	[
		'sqlsmith', "--seed=$seed", "--max-queries=$queries", '--exclude-catalog',
		'--target=' . $node->connstr('ours') . ' user=smith'
	],
	'<', \undef, '>', \$smith, '2>', \$said);
unlike($said, qr/terminat|internal error|XX000/, 'SQLsmith finds nothing');
did_not_crash($node, 'nothing crashed');
$node->stop;
done_testing();

sub add_rows
{
	my ($database, $round) = @_;
	my $low = 1 + 40 * $round;
	return $node->safe_psql($database, $fill =~ s/\@low/$low/gr);
}

sub answer_of
{
	my ($database, $query, $plan) = @_;
	my $answer = $session{$database}->query("SELECT answer(\$smith\$$query\$smith\$, '$plan')");
	BAIL_OUT("no answer to $query") if $answer eq '' && !$node->psql('postgres', 'SELECT 1');
	return $answer;
}

# Does nbtree's answer depend on the plan, or sware's without its indexes, or that of the same
# plan on the moment?
sub is_of_plan
{
	my ($query, $ours, $twin) = @_;
	my $none = 'indexscan indexonlyscan bitmapscan';
	my @plans = ('', $none, 'hashjoin', 'mergejoin nestloop', 'bitmapscan', 'hashagg material nestloop',
		"$none hashjoin");
	return 1 if grep { $_ ne $twin } map { answer_of('twin', $query, $_) } @plans;
	return 1 if grep { $_ ne $twin } map { answer_of('ours', $query, $_) } $none, "$none hashjoin";
	return answer_of('ours', $query, '') ne $ours;
}
