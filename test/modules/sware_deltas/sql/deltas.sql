-- What a delta says of two pages: all that redo needs, and no more.
LOAD 'sware';
CREATE EXTENSION sware_deltas;

-- An error tells the seed.
SELECT (random() * 2147483647)::bigint AS seed \gset
SELECT change, fragments > 2000 AS many, longest = sware_delta_limit() AS reaches_limit,
	left_out > 0 AS leaves_out
FROM unnest(ARRAY['nothing', 'limits', 'scattered', 'insertion', 'runs', 'rewriting', 'new']) AS change,
	sware_check_deltas(change, 2000, :seed);

-- Redo of nbtree's record that closes the gaps of a leaf trusts its items, so there is none for
-- a leaf with one that is damaged.
CREATE TABLE t AS SELECT generate_series(1, 2000) AS k;
CREATE INDEX t_k ON t USING sware (k);
SELECT min(block) AS block
FROM generate_series(1, pg_relation_size('t_k') / current_setting('block_size')::int - 1) block,
	sware_page_stats('t_k', block) page WHERE left_link IS NOT NULL AND right_link IS NOT NULL \gset
SELECT damage, sware_close_gaps('t_k', :block, damage)
FROM unnest(ARRAY['odd size', 'no size', 'large', 'other size', 'in free space', 'beyond the data',
	'posting list', 'none']) damage;
SELECT sware_check('t_k', true);
DROP TABLE t;
