-- Sets of fingerprints, compared with a plain hash table.
LOAD 'sware';
CREATE EXTENSION sware_keysets;
SELECT sware_key_set_chunks() AS before \gset

-- Exact fingerprints stay in groups while keys share them, and become plain when
-- they do not. The others are plain.
SELECT (random() * 2147483647)::bigint AS seed \gset
SELECT is_exact, shape, has_groups, chunks > 1 AS has_grown, fingerprints > 0 AS some
FROM unnest(ARRAY['dense', 'descending', 'strided', 'random', 'near', 'extreme', 'few']) AS shape,
	unnest(ARRAY[true, false]) AS is_exact,
	sware_compare_key_set(is_exact, shape, 40000, :seed)
ORDER BY is_exact DESC, shape;
SELECT shape, has_groups, chunks > 1 AS has_grown
FROM unnest(ARRAY['dense', 'near']) AS shape, sware_compare_key_set(true, shape, 100000, :seed)
ORDER BY shape;

-- Few steps: sets with one chunk, and with none.
SELECT is_exact, shape, max(chunks)
FROM unnest(ARRAY['dense', 'descending', 'strided', 'random', 'near', 'extreme', 'few']) AS shape,
	unnest(ARRAY[true, false]) AS is_exact, generate_series(4, 100, 6) AS steps,
	sware_compare_key_set(is_exact, shape, steps, :seed + steps)
GROUP BY 1, 2 ORDER BY is_exact DESC, shape;
SELECT sware_check_company();
SELECT sware_key_set_chunks() - :before AS lost;

-- The pool has no more room: nothing is lost, and half of it is left.
SELECT is_exact, sets, share <= 0.5 AS leaves_half, share > 0.2 AS much_is_used
FROM unnest(ARRAY[true, false]) AS is_exact, unnest(ARRAY[1, 2, 7]) AS sets,
	sware_exhaust_key_sets(is_exact, sets) AS share
ORDER BY is_exact DESC, sets;
SELECT sware_key_set_chunks() - :before AS lost;
