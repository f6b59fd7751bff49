# Marks of dead entries change the LSNs of sealed pages, if hints are logged.  Their sorted
# zones stay what they are: nothing is sorted again because of marks.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SwareTest;
use Test::More;

plan skip_all => 'zones are sware\'s' if am() ne 'sware';

foreach my $logged_by ('data checksums', 'wal_log_hints')
{
	my $node = PostgreSQL::Test::Cluster->new($logged_by =~ s/ /_/r);
	$node->init(extra => $logged_by eq 'data checksums' ? ['--data-checksums'] : []);
	$node->append_conf('postgresql.conf', preload() . fill_buffers() . <<'CONF');
autovacuum = off
fsync = off
CONF
	$node->append_conf('postgresql.conf', "wal_log_hints = on\n") if $logged_by eq 'wal_log_hints';
	$node->start;
	prepare_database($node);
	$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int, k int, v text);
CREATE INDEX t_k ON t USING sware (k) WITH (buffer_size = 8192);
-- Rows with scrambled even keys, whose entries go to the buffer.
CREATE PROCEDURE insert_rows(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first / 100 .. last / 100 LOOP
		INSERT INTO t SELECT j, j * 7919 % 20011 * 2, 'x'
		FROM generate_series(greatest(first, i * 100), least(last, i * 100 + 99)) j;
		COMMIT;
	END LOOP;
END $$;
-- In how many sorted zones is an odd key looked for, in the second look-up?  The first
-- one sorts pages, if there are many that are not sorted.
CREATE FUNCTION zones() RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	before bigint;
BEGIN
	PERFORM v FROM t WHERE k = 10001;
	before := (SELECT bloom_probes FROM sware_stats('t_k'));
	PERFORM v FROM t WHERE k = 10001;
	RETURN (SELECT bloom_probes - before FROM sware_stats('t_k'));
END $$;
SQL

	# A large zone and a small one; if all pages were sorted at once, there would be one.
	$node->safe_psql('postgres', 'CALL insert_rows(1, 12000)');
	is($node->safe_psql('postgres', 'SELECT zones()'), 1, "$logged_by: a sorted zone");
	$node->safe_psql('postgres', 'CALL insert_rows(12001, 15000)');
	is($node->safe_psql('postgres', 'SELECT zones()'), 2, "$logged_by: and another one");

	# Rows of all sealed pages are marked, for the first time after a checkpoint.
	$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 100 = 0; CHECKPOINT');
	my $before = $node->lsn('insert');
	$node->safe_psql('postgres', "$ordered_scan SELECT count(v) FROM t WHERE k >= 0");
	is( $node->safe_psql('postgres', <<'SQL'), 't', "$logged_by: marks on all sealed pages");
SELECT count(*) = count(*) FILTER (WHERE marked > 0)
FROM (SELECT count(*) FILTER (WHERE dead) AS marked
	FROM sware_buffer_pages('t_k') AS page, sware_page_items('t_k', page.block) AS item
	WHERE page.state = 'sealed' GROUP BY page.block) AS pages
SQL
	is( $node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$before' > 100000"),
		't', "$logged_by: with images of the pages");

	# The zones are compared with the pages when another one is sealed.
	my $sealed = "SELECT count(*) FROM sware_buffer_pages('t_k') WHERE state = 'sealed'";
	my $count = $node->safe_psql('postgres', $sealed);
	$node->safe_psql('postgres', 'CALL insert_rows(15001, 15600)');
	cmp_ok($node->safe_psql('postgres', $sealed), '>', $count, "$logged_by: another page is sealed");
	is($node->safe_psql('postgres', 'SELECT zones()'), 2, "$logged_by: there are two zones as before");
	check_index($node, 't_k', $logged_by);
	$node->stop;
}
done_testing();
