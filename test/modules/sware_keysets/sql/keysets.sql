-- Sets of fingerprints, compared with a plain hash table.
LOAD 'sware';
CREATE EXTENSION sware_keysets;
SELECT sware_key_set_chunks() AS before \gset

-- Fingerprints that lie close together share a place.
SELECT (random() * 2147483647)::bigint AS seed \gset
SELECT shape, sware_compare_key_set(shape, 40000, :seed) > 1 AS has_grown
FROM unnest(ARRAY['dense', 'descending', 'strided', 'random', 'near', 'extreme', 'few']) AS shape
ORDER BY shape;
SELECT shape, sware_compare_key_set(shape, 100000, :seed) > 1 AS has_grown
FROM unnest(ARRAY['dense', 'near']) AS shape ORDER BY shape;

-- Few steps: sets with one chunk, and with none.
SELECT shape, max(sware_compare_key_set(shape, steps, :seed + steps))
FROM unnest(ARRAY['dense', 'descending', 'strided', 'random', 'near', 'extreme', 'few']) AS shape,
	generate_series(4, 100, 6) AS steps
GROUP BY shape ORDER BY shape;
SELECT sware_key_set_chunks() - :before AS lost;

-- The pool has no more room: nothing is lost, and half of it is left.
SELECT sets, share <= 0.5 AS leaves_half, share > 0.2 AS much_is_used
FROM unnest(ARRAY[1, 2, 7]) AS sets, sware_exhaust_key_sets(sets) AS share ORDER BY sets;
SELECT sware_key_set_chunks() - :before AS lost;
