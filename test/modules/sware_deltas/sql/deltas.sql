-- What a delta says of two pages: all that redo needs, and no more.
LOAD 'sware';
CREATE EXTENSION sware_deltas;

-- An error tells the seed.
SELECT (random() * 2147483647)::bigint AS seed \gset
SELECT change, fragments > 2000 AS many, longest = sware_delta_limit() AS reaches_limit,
	left_out > 0 AS leaves_out
FROM unnest(ARRAY['nothing', 'limits', 'scattered', 'insertion', 'runs', 'rewriting', 'new']) AS change,
	sware_check_deltas(change, 2000, :seed);
