# User "mallory" may create objects in a schema, and sets traps there: functions,
# operators, types and views with the names that the extension uses (test/lib/traps.sql).
# CREATE EXTENSION into that schema steps into none, nor does any function of the
# extension, whether that schema is the extension's own, or comes first in search_path,
# or the extension's schema was renamed and mallory has made another one of its name.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

if (am() ne 'sware')
{
	plan skip_all => 'this is about what the extension has in SQL';
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', preload() . "autovacuum = off\nfsync = off\n");
$node->start;

sub sql
{
	my ($statements, $database) = @_;
	return $node->safe_psql($database // 'traps', $statements);
}

# Runs statements as a superuser, up to the first error.  Returns what they print, and
# then errors and warnings.
sub output_of
{
	my ($statements, $database) = @_;
	my ($stdout, $stderr) = ('', '');
	$node->psql($database // 'traps', $statements, stdout => \$stdout, stderr => \$stderr);
	return "$stdout\n$stderr";
}

# Fails the test unless statements print what they should, and nothing of mallory's was
# called; a warning tells of calls in transactions that were rolled back.
sub prints_without_mallory
{
	my ($statements, $expected, $name, $database) = @_;
	my $output = output_of($statements, $database);
	my $superusers = sql(q{SELECT count(*) FROM pg_roles WHERE rolname = 'mallory' AND rolsuper}, 'postgres');
	sql('ALTER ROLE mallory NOSUPERUSER', 'postgres') if $superusers;
	return ok($superusers == 0 && $output !~ /mallory/ && $output =~ $expected, $name) || diag($output);
}

# A single operator is enough, if it is used.
sql('CREATE ROLE mallory', 'postgres');
sql('CREATE DATABASE one_operator', 'postgres');
sql(<<'SQL', 'one_operator');
CREATE SCHEMA ext;
GRANT CREATE, USAGE ON SCHEMA ext TO mallory;
SET SESSION AUTHORIZATION mallory;
CREATE FUNCTION ext.evil(oid, int4) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
  IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN ALTER ROLE mallory SUPERUSER; END IF;
  RETURN $1 OPERATOR(pg_catalog.<) $2::oid;
END $$;
CREATE OPERATOR ext.< (LEFTARG = oid, RIGHTARG = int4, FUNCTION = ext.evil);
SQL
prints_without_mallory('CREATE EXTENSION sware SCHEMA ext; SELECT count(*) FROM pg_extension', qr/^2$/m,
	'CREATE EXTENSION with an operator in its schema', 'one_operator');

# All names that the extension uses, with results of the usual types.  Functions with
# exactly the signatures of the extension's own would make CREATE EXTENSION fail.
my $members = q{pg_depend, pg_extension WHERE extname = 'sware' AND deptype = 'e'
	AND refclassid = 'pg_extension'::regclass AND refobjid = pg_extension.oid};
my $functions = "pg_proc WHERE oid IN (SELECT objid FROM $members AND classid = 'pg_proc'::regclass)";
sql('CREATE EXTENSION sware', 'postgres');
my $own_signatures = sql("SELECT array_agg(format('%s(%s)', proname, oidvectortypes(proargtypes)))
	FROM $functions", 'postgres');

my $root = "$FindBin::RealBin/../..";
my $script = slurp_file("$root/sware--1.0.sql") =~ s/--.*//gr;
unlike($script, qr/\bOR REPLACE\b|\bIF NOT EXISTS (?!\()/, 'the script takes over nothing that exists');
is(join(' ', grep { slurp_file($_) =~ /\bSPI_/ } glob("$root/src/*.c $root/src/*/*.c")),
	'', 'C code runs no SQL');
sub set_traps
{
	my ($schema, $other_result, $free) = @_;
	sql("SET SESSION AUTHORIZATION mallory;
		CALL mallory.set_traps('$schema', \$script\$$script\$script\$, $other_result, '$free')");
	return;
}
sql('CREATE DATABASE traps', 'postgres');
sql(slurp_file("$root/test/lib/traps.sql"));
sql('GRANT CREATE ON DATABASE traps TO mallory; CREATE SCHEMA ext;
	GRANT CREATE, USAGE ON SCHEMA ext TO mallory');
set_traps('ext', 'NULL', $own_signatures);

prints_without_mallory('CREATE EXTENSION sware SCHEMA ext; SHOW search_path',
	qr/^"\$user", public$/m, 'CREATE EXTENSION among traps');
is(sql(qq{
		SELECT pg_describe_object(classid, objid, objsubid),
			pg_describe_object(refclassid, refobjid, refobjsubid)
		FROM pg_depend
		WHERE ((classid, objid) IN (SELECT classid, objid FROM $members)
			OR classid = 'pg_rewrite'::regclass AND objid IN (SELECT oid
				FROM pg_rewrite WHERE ev_class = 'ext.pg_stat_sware'::regclass))
		AND (refclassid, refobjid) IN (
			SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE proowner = 'mallory'::regrole
			UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator WHERE oprowner = 'mallory'::regrole
			UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typowner = 'mallory'::regrole)}),
	'', 'nothing in the extension refers to an object of mallory');
is(sql(qq{
		SELECT DISTINCT schema
			FROM (SELECT (pg_identify_object(classid, objid, objsubid)).* FROM $members) AS member
		WHERE schema IS NOT NULL}),
	'ext', 'all objects of the extension are in its schema');
is(sql(qq{
		SELECT proname FROM $functions AND prosqlbody IS NULL AND prolang NOT IN (SELECT oid
			FROM pg_language WHERE lanname = 'c')
		AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)}),
	'', 'its functions were parsed then, or have a search_path of their own');

# Traps that match as well as the objects in pg_catalog, among them some with the
# extension's own signatures.  No caller can use their results, so a trap is noticed even
# if the place where it is used is not reached.
sql(<<'SQL');
CREATE SCHEMA hostile AUTHORIZATION mallory;
CREATE SCHEMA data;
CREATE TABLE data.t (k int8, label text, name name, at timestamptz);
INSERT INTO data.t SELECT i, i, i, '2000-01-01'::timestamptz + i * interval '1 s'
	FROM generate_series(1, 1000) AS i;
CREATE INDEX t_k ON data.t USING sware (k);
CREATE INDEX t_at ON data.t (at);
CREATE OPERATOR FAMILY data."The ""family""" USING btree;
CREATE OPERATOR CLASS data."The ""class""" FOR TYPE int4 USING btree FAMILY data."The ""family""" AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int4, int4);
SQL
set_traps('hostile', q{'mallory.misfit'}, '{}');
foreach my $path ('ext, pg_catalog', 'hostile, pg_catalog')
{
	foreach my $trap (
		'SELECT 1::pg_catalog.oid < 2',
		q{SELECT true AND NULL::pg_catalog.name = 'a'::pg_catalog.text},
		'SELECT pg_catalog.quote_ident(format(NULL::pg_catalog.text,
			NULL::pg_catalog.name, NULL::pg_catalog.name))',
		'SELECT 1::oid', 'SELECT * FROM pg_opfamily',
			'SELECT pg_catalog.quote_ident(sware_stats(NULL::pg_catalog.oid))')
	{
		like(output_of("SET search_path = $path; BEGIN; $trap; ROLLBACK"),
			qr/mallory/, "$path: $trap steps into a trap");
	}
}

# Statements that call each function of the extension, until it ends or raises an error;
# schema EXT stands for the extension's.  Arguments have the declared types: otherwise
# the call of a trap would be correct.
my $index = q{'data.t_k'::pg_catalog.regclass};
my $plain_index = q{'data.t_at'::pg_catalog.regclass};
my $own_family = q{'data."The ""family"""'::pg_catalog.text, NULL::pg_catalog.name};
my $own_oids = q{(SELECT pg_catalog.min(oid) FROM pg_catalog.pg_opfamily
	WHERE opfname OPERATOR(pg_catalog.=) 'The "family"'),
	(SELECT pg_catalog.max(oid) FROM pg_catalog.pg_opfamily
	WHERE opfname OPERATOR(pg_catalog.=) 'The "family"')};
my @calls = (
	[ "SELECT EXT.sware_check($index, true) IS NULL", qr/^f$/m ],
	[ "SELECT version FROM EXT.sware_metapage($index)", qr/^[0-9]+$/m ],
	[ "SELECT kind, heap_tids FROM EXT.sware_page_stats($index, 1::pg_catalog.int8)", qr/^leaf\|\d+$/m ],
	[ "SELECT kind FROM EXT.sware_page_items($index, 1::pg_catalog.int8) LIMIT 1", qr/^high key$/m ],
	[ "SELECT pg_catalog.count(*) FROM EXT.sware_buffer_pages($index)", qr/^\d+$/m ],
	[ "SELECT EXT.sware_flush($index)", qr/^0$/m ],
	[ "SELECT buffer_entries FROM EXT.sware_stats($index)", qr/^0$/m ],
	[ 'SELECT tree_leaves FROM EXT.sware_scan_counters()', qr/^\d+$/m ],
	[ 'SELECT schemaname, indexrelname, buffer_entries FROM EXT.pg_stat_sware', qr/^data\|t_k\|0$/m ],
	(map { [ "SELECT rows_measured
		FROM EXT.sware_sortedness('data.t'::pg_catalog.regclass, '$_'::pg_catalog.name)", qr/^1000$/m ] }
		'k', 'label', 'name', 'at'),
	[ "SELECT rows_measured
		FROM EXT.sware_measure_order('data.t'::pg_catalog.regclass, 'k'::pg_catalog.name)", qr/^1000$/m ],
	[ 'SELECT recommendation FROM EXT.sware_recommend(0::pg_catalog.float8, 0::pg_catalog.float8,
		1000::pg_catalog.float8, 0::pg_catalog.float8, 16::pg_catalog.float8)', qr/^sware or brin$/m ],
	[ "SELECT reason FROM EXT.sware_advise(ARRAY[$plain_index], NULL::pg_catalog.text,
		'1 min'::pg_catalog.interval, 10::pg_catalog.int4, false::pg_catalog.bool,
		NULL::pg_catalog.interval)", qr/^it has about 1000 entries only/m ],
	[ "SELECT entries FROM EXT.sware_examine_nbtree(${plain_index}::pg_catalog.oid, 10::pg_catalog.int4,
		NULL::pg_catalog.timestamptz, 1::pg_catalog.int8, 1::pg_catalog.int8, NULL::pg_catalog.int8)",
		qr/^1000$/m ],
	# cloning
	[ "SELECT EXT.sware_clone_opfamily($own_family)", qr/^data\."The ""family"""$/m ],
	[ q{SELECT EXT.sware_clone_opfamily('"The ""family"""'::pg_catalog.text, NULL::pg_catalog.name)},
		qr/ERROR:  operator family .* does not exist/ ],
	[ q{SELECT EXT.sware_clone_opfamily('a.b.c'::pg_catalog.text, NULL::pg_catalog.name)},
		qr/invalid operator family name: a.b.c/ ],
	[ q{SELECT EXT.sware_clone_opfamily('integer_ops'::pg_catalog.text, NULL::pg_catalog.name)},
		qr/operator family EXT.integer_ops for access method "sware" already exists/ ],
	[ q{SELECT EXT.sware_clone_opfamily('integer_ops'::pg_catalog.text, 'data'::pg_catalog.name)},
		qr/type \w+ already has a default operator class.*DETAIL:  It is EXT\.int/s ],
	[ q{SELECT EXT.sware_clone_opfamily('integer_ops'::pg_catalog.text, 'nowhere'::pg_catalog.name)},
		qr/schema "nowhere" does not exist/ ],
	[ q{SELECT EXT.sware_clone_opfamily('jsonb_path_ops'::pg_catalog.text, 'data'::pg_catalog.name)},
		qr/belongs to access method "gin"/ ],
	[ 'SELECT EXT.sware_clone_opfamily(1::pg_catalog.oid, NULL::pg_catalog.name)',
		qr/operator family with OID 1 does not exist/ ],
	# completing
	[ "SELECT EXT.sware_clone_opfamily($own_family); SELECT * FROM EXT.sware_sync_opfamilies(); SELECT 'end'",
		qr/^data.*\nend$/m ],
	[ 'ALTER OPERATOR FAMILY EXT.integer_ops USING sware DROP OPERATOR 3 (pg_catalog.int4, pg_catalog.int8);
		SELECT EXT.sware_sync_opfamilies()',
		qr/^EXT\.integer_ops: OPERATOR 3 =\(integer,bigint\)$/m ],
	[ qq{SELECT EXT.sware_clone_opfamily($own_family);
		CREATE OPERATOR CLASS data.another FOR TYPE pg_catalog.int8 USING btree
			FAMILY data."The ""family""" AS STORAGE pg_catalog.int8;
		SELECT EXT.sware_sync_opfamilies()}, qr/^data\."The ""family""": OPERATOR CLASS another$/m ],
	[ qq{SELECT EXT.sware_clone_opfamily($own_family);
		ALTER OPERATOR FAMILY data."The ""family""" USING btree RENAME TO old;
		CREATE OPERATOR FAMILY data."The ""family""" USING btree;
		ALTER OPERATOR FAMILY data."The ""family""" USING btree
			ADD OPERATOR 1 pg_catalog.< (pg_catalog.int4, pg_catalog.int4);
		SELECT EXT.sware_sync_opfamilies()},
			qr/WARNING:  operator family data."The ""family""" for access method "sware" is older/ ],
	# what these are made of
	[ q{SELECT EXT.sware_find_opfamily('integer_ops'::pg_catalog.text,
		'{data,pg_catalog}'::pg_catalog.name[])}, qr/^1976$/m ],
	[ 'SELECT target_name FROM EXT.sware_create_opfamily(1976::pg_catalog.oid, NULL::pg_catalog.name)',
		qr/already exists/ ],
	[ "SELECT EXT.sware_clone_opfamily($own_family);
		SELECT EXT.sware_complete_opfamily($own_oids); SELECT 'end'", qr/^data.*\nend$/m ],
	[ 'SELECT pg_catalog.count(*) FROM EXT.sware_opfamily_copies()', qr/^[1-9]\d+$/m ]);
my %called = map { $_ => 1 } map { $_->[0] =~ /EXT\.(sware_\w+)\(/g } @calls;
is(join(' ', sort keys %called),
	join(' ', sort split /\n/, sql("SELECT DISTINCT proname FROM $functions AND proname <> 'sware_handler'")),
	'all functions of the extension are called');

sub call_all
{
	my ($extension, $path) = @_;
	foreach my $call (@calls)
	{
		my ($statements, $expected) = map { s/EXT/$extension/gr } @$call;
		prints_without_mallory("SET search_path = $path; BEGIN; $statements; ROLLBACK", qr/$expected/,
			"$path: " . $statements =~ s/\s+/ /gr);
	}
	return;
}
call_all('ext', 'ext, pg_catalog');
call_all('ext', 'hostile, pg_catalog');
sql('ALTER SCHEMA ext RENAME TO moved; SET SESSION AUTHORIZATION mallory;
	ALTER SCHEMA hostile RENAME TO ext');
call_all('moved', 'pg_catalog');
call_all('moved', 'ext, pg_catalog');

did_not_crash($node, 'nothing crashed');
$node->stop;

done_testing();
