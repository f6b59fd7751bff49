-- Inspection functions: what they show is in accordance with the index, and
-- what they refuse.
CREATE TABLE twin_sware.t (a int, b text);
CREATE INDEX t_a ON twin_sware.t USING sware (a);
CREATE INDEX t_b ON twin_sware.t USING sware (b);
CREATE INDEX t_nbtree ON twin_sware.t USING btree (a);
SELECT sware_check('twin_sware.t_a'), sware_check('twin_sware.t_a', true);
INSERT INTO twin_sware.t SELECT i, 'b' || i % 3 FROM generate_series(1, 20000) i;
SELECT sware_check('twin_sware.t_a'), sware_check('twin_sware.t_a', true);
SELECT sware_check(index => 'twin_sware.t_b', heapallindexed => true);

-- Values whose upper bytes differ in the table and in the index.
CREATE TABLE twin_sware.h (x bigint);
INSERT INTO twin_sware.h SELECT 3000000000 + i FROM generate_series(1, 100) i;
CREATE INDEX h_hash ON twin_sware.h USING sware (hashint8(x));
CREATE INDEX h_oid ON twin_sware.h USING sware ((x::oid));
CREATE INDEX h_part ON twin_sware.h USING sware ((x::oid), hashint8(x)) WHERE x % 3 = 0;
SELECT sware_check('twin_sware.h_hash', true), sware_check('twin_sware.h_oid', true),
       sware_check('twin_sware.h_part', true);
DROP TABLE twin_sware.h;

-- Wrong objects.
SELECT sware_check('twin_sware.t');
SELECT sware_check('twin_sware.t_nbtree');
SELECT sware_check(0);
SELECT sware_check(NULL);
SELECT sware_metapage('twin_sware.t');
SELECT sware_metapage('twin_sware.t_nbtree');
SELECT sware_page_stats('twin_sware.t_nbtree', 1);
SELECT sware_page_items('twin_sware.t_nbtree', 1);
-- Wrong blocks.
SELECT sware_page_stats('twin_sware.t_a', -1);
SELECT sware_page_stats('twin_sware.t_a', 100000);
SELECT sware_page_stats('twin_sware.t_a', 4294967296);
SELECT sware_page_items('twin_sware.t_a', -1);
SELECT sware_page_items('twin_sware.t_a', 100000);
SELECT sware_page_stats('twin_sware.t_a', 0);
SELECT sware_page_items('twin_sware.t_a', 0);

-- Not for ordinary users.
CREATE ROLE regress_sware_user;
GRANT USAGE ON SCHEMA twin_sware TO regress_sware_user;
SET ROLE regress_sware_user;
SELECT sware_check('twin_sware.t_a');
SELECT sware_metapage('twin_sware.t_a');
SELECT sware_page_stats('twin_sware.t_a', 1);
SELECT sware_page_items('twin_sware.t_a', 1);
RESET ROLE;
REVOKE USAGE ON SCHEMA twin_sware FROM regress_sware_user;
DROP ROLE regress_sware_user;
DROP TABLE twin_sware.t;
