# An extension that was made by the last release, and updated, is the one that CREATE
# EXTENSION makes today: the same objects, with the same attributes, comments, rights and
# dependencies. SQL files of releases are as they were.
#
# Environment:
#   SWARE_RELEASED_SQL   a directory with the SQL files of each release (test/lib/released_sql);
#                        if it has none, the oldest version in the checkout serves

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
	plan skip_all => 'this is about the extension sware';
}

my $node = PostgreSQL::Test::Cluster->new('released_sql');
$node->init;
$node->append_conf('postgresql.conf', preload());
$node->start;
my $installed = $node->config_data('--sharedir') . '/extension';
my $present = $node->safe_psql('postgres',
	q{SELECT default_version FROM pg_available_extensions WHERE name = 'sware'});

my $released = last_release();
$node->safe_psql('postgres', 'CREATE EXTENSION sware');
my $fresh = catalogs('postgres');
like($fresh, qr/^function .*sware_check/m, 'the catalogs are seen');

$node->safe_psql('postgres', 'CREATE DATABASE updated');
$node->safe_psql('updated', "CREATE EXTENSION sware VERSION '$released'");
my $used = use_extension('updated');
$node->safe_psql('updated', 'ALTER EXTENSION sware UPDATE');
is($node->safe_psql('updated', q{SELECT extversion FROM pg_extension WHERE extname = 'sware'}),
	$present, "version $released is updated to $present");
same_lines(catalogs('updated'), $fresh, "version $released, updated, is version $present");
is(use_extension('updated', 'again'), $used, 'indexes of before are of use');

# Before 18, libraries have no versions.
if ($node->pg_version >= 18)
{
	my ($version) = slurp_file("$FindBin::RealBin/../../META.json") =~ /^   "version": "(.*)"/m;
	is($node->safe_psql('postgres',
			q{LOAD 'sware'; SELECT version FROM pg_get_loaded_modules() WHERE module_name = 'sware'}),
		$version, "the library is that of release $version");
}

# What an update forgets is seen: the update that tests have gives sware_flush no comment.
$node->safe_psql('postgres', 'CREATE DATABASE forgetful');
$node->safe_psql('forgetful', "CREATE EXTENSION sware VERSION '1.0'");
my $whole = catalogs('forgetful');
$node->safe_psql('forgetful', "ALTER EXTENSION sware UPDATE TO '0.9test'");
my @missing = grep { !/^. extension / } difference(catalogs('forgetful'), $whole);
is(scalar(grep { /^- .*sware_flush/ } @missing), scalar(@missing), 'a function that is missing is seen');
cmp_ok(scalar(@missing), '>=', 3, '... with its comment and what it depends on');
$node->safe_psql('forgetful', "ALTER EXTENSION sware UPDATE TO '1.0'");
is(join("\n", difference(catalogs('forgetful'), $whole)),
	'- comment on function public.sware_flush(pg_catalog.regclass): '
	  . 'move all entries of the buffer of a sware index to its tree', 'a comment that is missing is seen');
$node->stop;
done_testing();

# The version that the last release made; all files of releases are unchanged.
sub last_release
{
	my %version;
	foreach my $release (glob(($ENV{SWARE_RELEASED_SQL} // '/nonexistent') . '/*'))
	{
		my $name = $release =~ s{.*/}{}r;
		foreach my $file (glob("$release/sware--*.sql"))
		{
			my $here = "$installed/" . $file =~ s{.*/}{}r;
			ok(-e $here && slurp_file($here) eq slurp_file($file),
				"$name: " . ($file =~ s{.*/}{}r) . ' is as it was released');
		}
		($version{$name}) = slurp_file("$release/sware.control") =~ /^default_version = '(.*)'/m;
	}
	my $number = sub { join '', map { sprintf '%05d', $_ } shift =~ /(\d+)/g };
	my ($last) = sort { $number->($b) cmp $number->($a) } keys %version;
	if ($last)
	{
		note("the last release is $last, with version $version{$last}");
		return $version{$last};
	}
	my ($oldest) = sort { $number->($a) cmp $number->($b) }
	  map { m{/sware--([\d.]+)\.sql$} ? $1 : () } glob("$installed/sware--*.sql");
	diag("there is no release yet: version $oldest serves, the oldest in the checkout");
	return $oldest;
}

# All that the catalogs say of the extension, a line for each thing, by names.
sub catalogs
{
	my ($database) = @_;
	return $node->safe_psql($database, <<'SQL');
SET search_path = pg_catalog;
WITH members AS (
	SELECT classid, objid, o.type || ' ' || o.identity AS name
	FROM pg_depend, pg_identify_object(classid, objid, 0) o
	WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sware')
-- what belongs to members: operators and functions of families, rules, types and columns of views
), parts AS (
	SELECT * FROM members
	UNION
	SELECT d.classid, d.objid, o.type || ' ' || o.identity
	FROM members m JOIN pg_depend d ON d.refclassid = m.classid AND d.refobjid = m.objid
			AND deptype IN ('i', 'a'),
		pg_identify_object(d.classid, d.objid, 0) o
), lines AS (
	SELECT name FROM parts
	UNION ALL SELECT format('extension %s %s, relocatable %s, configuration %s %s, of %s', extname,
			extversion, extrelocatable, extconfig::regclass[], extcondition, pg_get_userbyid(extowner))
		FROM pg_extension WHERE extname = 'sware'
	UNION ALL SELECT format('%s: %s, rights %s of %s, cost %s, rows %s, support %s', name,
			pg_get_functiondef(objid), proacl, pg_get_userbyid(proowner), procost, prorows, prosupport)
		FROM members JOIN pg_proc p ON p.oid = objid AND classid = 'pg_proc'::regclass
	UNION ALL SELECT format('%s: %s, rights %s of %s, options %s', name, pg_get_viewdef(objid), relacl,
			pg_get_userbyid(relowner), reloptions)
		FROM members JOIN pg_class c ON c.oid = objid AND classid = 'pg_class'::regclass
	UNION ALL SELECT format('%s: column %s %s, collation %s, rights %s', name, attname,
			format_type(atttypid, atttypmod), attcollation::regcollation, attacl)
		FROM members JOIN pg_attribute ON attrelid = objid AND classid = 'pg_class'::regclass
	UNION ALL SELECT format('%s: %s, handler %s', name, amtype, amhandler::regproc)
		FROM members JOIN pg_am a ON a.oid = objid AND classid = 'pg_am'::regclass
	UNION ALL SELECT format('%s: for %s, keys %s, default %s, of %s', name, opcintype::regtype,
			opckeytype::regtype, opcdefault, pg_get_userbyid(opcowner))
		FROM members JOIN pg_opclass c ON c.oid = objid AND classid = 'pg_opclass'::regclass
	UNION ALL SELECT format('%s: %s %s, sorts %s', name, amopopr::regoperator, amoppurpose, amopsortfamily)
		FROM parts JOIN pg_amop o ON o.oid = objid AND classid = 'pg_amop'::regclass
	UNION ALL SELECT format('%s: %s', name, amproc::regprocedure)
		FROM parts JOIN pg_amproc p ON p.oid = objid AND classid = 'pg_amproc'::regclass
	UNION ALL SELECT format('comment on %s: %s', name, description)
		FROM parts m JOIN pg_description d ON d.objoid = objid AND d.classoid = m.classid
	UNION ALL SELECT format('first rights on %s: %s %s', name, privtype, initprivs)
		FROM parts m JOIN pg_init_privs i ON i.objoid = objid AND i.classoid = m.classid
	UNION ALL SELECT format('%s needs %s %s, %s', m.name, o.type, o.identity, deptype)
		FROM parts m JOIN pg_depend d ON d.objid = m.objid AND d.classid = m.classid,
			pg_identify_object(refclassid, refobjid, refobjsubid) o
)
SELECT replace(name, chr(10), '\n') FROM lines ORDER BY name COLLATE "C"
SQL
}

# The lines that only one of two texts has: those of the first one with "+", and those of
# the second one with "-".
sub difference
{
	my ($one, $other) = @_;
	my %count;
	$count{$_}++ foreach split /\n/, $one;
	$count{$_}-- foreach split /\n/, $other;
	return map { ($count{$_} > 0 ? '+ ' : '- ') . $_ } grep { $count{$_} != 0 } sort keys %count;
}

sub same_lines
{
	my ($one, $other, $name) = @_;
	my @difference = difference($one, $other);
	return is(scalar(@difference), 0, $name) || diag(join("\n", @difference));
}

# Makes indexes, or uses those that are there. Returns what the extension says of them.
sub use_extension
{
	my ($database, $again) = @_;
	$node->safe_psql($database, <<'SQL') if !$again;
CREATE TABLE t (id int, label text);
INSERT INTO t SELECT i, 'label ' || i FROM generate_series(1, 3000) i;
CREATE UNIQUE INDEX t_id ON t USING sware (id);
CREATE INDEX t_label ON t USING sware (label text_pattern_ops);
SQL
	return $node->safe_psql($database, <<"SQL");
$ordered_scan
SELECT count(*) FROM t WHERE id BETWEEN 10 AND 20;
SELECT count(*) FROM t WHERE label LIKE 'label 1%';
SELECT sware_check('t_id', true), sware_check('t_label', true);
SELECT indexrelname, buffer_entries FROM pg_stat_sware ORDER BY 1;
SQL
}
