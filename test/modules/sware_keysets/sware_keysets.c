/*-------------------------------------------------------------------------
 *
 * sware_keysets.c
 *	  Compares sets of fingerprints with a plain hash table, for tests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"

#include "../../lib/testcompat.h"
#include "takenkeys/stagedkeys.h"
#include "zones/zones.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_compare_key_set);
PG_FUNCTION_INFO_V1(sware_exhaust_key_sets);
PG_FUNCTION_INFO_V1(sware_key_set_chunks);

typedef enum Shape
{
	DENSE,
	DESCENDING,
	STRIDED,
	RANDOM,
	NEAR,
	EXTREME,
	FEW
} Shape;

static const char *const shape_names[] =
{"dense", "descending", "strided", "random", "near", "extreme", "few"};

/* A set, and what should be in it. */
typedef struct Comparison
{
	SwareKeySet set;
	LWLock		lock;
	HTAB	   *expected;		/* of uint64 */
	pg_prng_state random;
	Shape		shape;
} Comparison;

static Shape
shape_of(const char *name)
{
	for (size_t i = 0; i < lengthof(shape_names); i++)
	{
		if (strcmp(name, shape_names[i]) == 0)
			return i;
	}
	elog(ERROR, "there is no shape \"%s\"", name);
}

static void
init_lock(LWLock *lock)
{
	static int	tranche = 0;

	if (tranche == 0)
		tranche = sware_new_tranche("sware_keysets");
	LWLockInitialize(lock, tranche);
}

static HTAB *
make_table(void)
{
	HASHCTL		control = {.keysize = sizeof(uint64),
		.entrysize = sizeof(uint64),
	.hcxt = CurrentMemoryContext};

	return hash_create("expected fingerprints", 1024, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static uint64
random_below(Comparison *comparison, uint64 limit)
{
	return pg_prng_uint64(&comparison->random) % limit;
}

/* A fingerprint of a step, of negative numbers, too. */
static uint64
draw(Comparison *comparison, int64 step)
{
	static const uint64 extremes[] = {0, 1, UINT64CONST(0x7FFFFFFFFFFFFFFF),
	UINT64CONST(0x8000000000000000), UINT64CONST(0xFFFFFFFFFFFFFFFF)};

	switch (comparison->shape)
	{
		case DENSE:
			return step - 1000;
		case DESCENDING:
			return 1000 - step;
		case STRIDED:
			return (step - 1000) * 1000;
		case RANDOM:
			return pg_prng_uint64(&comparison->random);
		case NEAR:
			return step - 1000 + random_below(comparison, 500);
		case EXTREME:
			return extremes[random_below(comparison, lengthof(extremes))] +
				random_below(comparison, 2000) - 1000;
		case FEW:
			return random_below(comparison, 50) * 7 + 100;
	}
	return 0;
}

static bool
is_expected(Comparison *comparison, uint64 fingerprint)
{
	return hash_search(comparison->expected, &fingerprint, HASH_FIND, NULL) !=
		NULL;
}

static void
check_contains(Comparison *comparison, uint64 fingerprint)
{
	bool		expected = is_expected(comparison, fingerprint);

	if (sware_key_set_contains(&comparison->set, fingerprint) != expected)
		elog(ERROR, expected ? "fingerprint " UINT64_FORMAT " is not found" :
			 "fingerprint " UINT64_FORMAT " is found, but not there", fingerprint);
}

/*
 * Everything that should be there is, and its neighbours are only if they
 * should be.
 */
static void
check_all(Comparison *comparison)
{
	HASH_SEQ_STATUS status;
	uint64	   *fingerprint;

	hash_seq_init(&status, comparison->expected);
	while ((fingerprint = hash_seq_search(&status)) != NULL)
	{
		check_contains(comparison, *fingerprint);
		for (int distance = 1; distance <= 2; distance++)
		{
			check_contains(comparison, *fingerprint + distance);
			check_contains(comparison, *fingerprint - distance);
		}
	}
}

static void
add(Comparison *comparison, uint64 fingerprint)
{
	bool		found;

	(void) hash_search(comparison->expected, &fingerprint, HASH_ENTER, &found);
	if (sware_key_set_add(&comparison->set, &comparison->lock, fingerprint) ==
		found)
		elog(ERROR, "to add fingerprint " UINT64_FORMAT " had the wrong result", fingerprint);
	check_contains(comparison, fingerprint);
}

/* As if a key had to be waited for. */
static void
withdraw(Comparison *comparison, uint64 fingerprint)
{
	if (is_expected(comparison, fingerprint))
		return;
	add(comparison, fingerprint);
	(void) hash_search(comparison->expected, &fingerprint, HASH_REMOVE, NULL);
	sware_key_set_remove(&comparison->set, fingerprint);
	check_contains(comparison, fingerprint);
}

static void
run_steps(Comparison *comparison, int steps)
{
	for (int step = 0; step < steps; step++)
	{
		uint64		fingerprint = draw(comparison, step);

		CHECK_FOR_INTERRUPTS();
		switch (random_below(comparison, 16))
		{
			case 0:
				withdraw(comparison, fingerprint);
				if (random_below(comparison, 2) == 0)
					add(comparison, fingerprint);
				break;
			case 1:
				withdraw(comparison, fingerprint + 64);
				break;
			case 2:
				check_contains(comparison, fingerprint);
				break;
			default:
				add(comparison, fingerprint);
				break;
		}
		/* rarely, in the middle of a run */
		if (step % (steps / 3) == steps / 4)
			check_all(comparison);
	}
	check_all(comparison);
}

Datum
sware_compare_key_set(PG_FUNCTION_ARGS)
{
	int64		seed = PG_GETARG_INT64(2);
	Comparison	comparison;
	int			chunks = 0;

	comparison.shape = shape_of(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	comparison.expected = make_table();
	pg_prng_seed(&comparison.random, seed);
	init_lock(&comparison.lock);
	memset(&comparison.set, 0, sizeof(SwareKeySet));
	PG_TRY();
	{
		run_steps(&comparison, PG_GETARG_INT32(1));
		chunks = comparison.set.allocation.chunks;
		sware_key_set_empty(&comparison.set, &comparison.lock);
		if (sware_key_set_contains(&comparison.set, draw(&comparison, 0)))
			elog(ERROR, "something is found in an empty set");
		/* it can be reused */
		hash_destroy(comparison.expected);
		comparison.expected = make_table();
		for (int step = 0; step < 100; step++)
			add(&comparison, draw(&comparison, step));
		check_all(&comparison);
	}
	PG_CATCH();
	{
		sware_key_set_empty(&comparison.set, &comparison.lock);
		ereport(NOTICE, errmsg("the seed was " INT64_FORMAT, seed));
		PG_RE_THROW();
	}
	PG_END_TRY();
	sware_key_set_empty(&comparison.set, &comparison.lock);
	PG_RETURN_INT32(chunks);
}

/* The chunks of the pool that are neither unused nor those of zones. */
static int
count_chunks(int *total)
{
	int			unused;
	int			used;

	sware_zones_count_chunks(total, &unused, &used);
	return *total - unused - used;
}

/* A set's fingerprints are these, from number 0 on. */
static uint64
numbered_fingerprint(int set, int64 number)
{
	return hash_bytes_extended((const unsigned char *) &number, sizeof(number),
							   set);
}

/* Add fingerprints to all sets in turn, until all of them refuse. */
static void
add_until_refused(SwareKeySet *sets, LWLock *lock, int set_count, int64 *counts)
{
	bool	   *is_full = palloc0(set_count * sizeof(bool));

	for (int full = 0; full < set_count;)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < set_count; i++)
		{
			uint64		fingerprint = numbered_fingerprint(i, counts[i]);

			if (is_full[i])
				continue;
			if (sware_key_set_add(&sets[i], lock, fingerprint))
				counts[i]++;
			else
			{
				is_full[i] = true;
				full++;
			}
		}
	}
	pfree(is_full);
}

/* A set has the first of its fingerprints, and not the one that was refused. */
static void
check_set(SwareKeySet *set, LWLock *lock, int number, int64 count)
{
	for (int64 i = 0; i <= count; i++)
	{
		if (sware_key_set_contains(set, numbered_fingerprint(number, i)) !=
			(i < count))
			elog(ERROR, "set %d is wrong about number " INT64_FORMAT, number, i);
	}
	if (count > 0 &&
		sware_key_set_add(set, lock, numbered_fingerprint(number, 0)))
		elog(ERROR, "what is there could be added once more");
}

Datum
sware_exhaust_key_sets(PG_FUNCTION_ARGS)
{
	int			set_count = PG_GETARG_INT32(0);
	SwareKeySet *sets = palloc0(set_count * sizeof(SwareKeySet));
	int64	   *counts = palloc0(set_count * sizeof(int64));
	LWLock		lock;
	int			total;
	int			used = 0;

	init_lock(&lock);
	PG_TRY();
	{
		add_until_refused(sets, &lock, set_count, counts);
		used = count_chunks(&total);
		for (int i = 0; i < set_count; i++)
			check_set(&sets[i], &lock, i, counts[i]);
		/* one set gives its memory back, and another one grows */
		if (set_count > 1)
		{
			int64		before = counts[1];

			sware_key_set_empty(&sets[0], &lock);
			counts[0] = 0;
			while (sware_key_set_add(&sets[1], &lock,
									 numbered_fingerprint(1, counts[1])))
				counts[1]++;
			if (counts[1] == before)
				elog(ERROR, "memory that was given back is of no use");
			check_set(&sets[1], &lock, 1, counts[1]);
		}
	}
	PG_FINALLY();
	{
		for (int i = 0; i < set_count; i++)
			sware_key_set_empty(&sets[i], &lock);
	}
	PG_END_TRY();
	PG_RETURN_FLOAT8((double) used / total);
}

Datum
sware_key_set_chunks(PG_FUNCTION_ARGS)
{
	int			total;

	PG_RETURN_INT32(count_chunks(&total));
}
