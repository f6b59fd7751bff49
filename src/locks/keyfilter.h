/*-------------------------------------------------------------------------
 *
 * keyfilter.h
 *	  Key filters: which keys a stager has not staged, in its own memory.
 *
 * The table of a stager's registered keys (keyset.h) is large, and each look
 * into it waits for memory.  A key filter saves most of these looks.  It is a
 * blocked Bloom filter: it says of a key either that it is new, or nothing.
 *
 * Where the filter has a key depends on one column's value, as a number: values
 * that are close together are in the same line, of 64 bytes.  So while keys
 * arrive nearly in order, few lines are in use, and the processor's caches have
 * them.  If keys arrive in no order, there is no filter.
 *
 * The number is that of abbreviation.h, or made in the same way of the bytes
 * that follow those that nearly all keys begin with.  Equal keys always have
 * the same number, and the same fingerprint.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_KEYFILTER_H
#define SWARE_KEYFILTER_H

#include "access/itup.h"
#include "utils/rel.h"

#include "keys/abbreviation.h"
#include "keys/bytehash.h"

#define SWARE_KEY_FILTER_LINES	(16 * 1024)

typedef struct SwareKeyFilter
{
	int			column;			/* its number, from 0 on */
	SwareComparison comparison; /* ... and how it is compared */
	Size		start;			/* of its bytes, those before are left out */
	int			shift;			/* keys whose numbers differ only in this many
								 * low bits are in the same line */
	int64		added;			/* how many keys were added */
	int64		unknown;		/* ... of which the filter had not known that
								 * they are new */
	uint64	   *words;			/* eight for each line */
} SwareKeyFilter;

/*
 * Return a filter that has the keys of some entries, which are in the order of
 * their arrival; NULL if they arrived in no order, or if there is no memory.
 * The filter is allocated in TopTransactionContext.  Runs hash functions.
 */
extern SwareKeyFilter *sware_make_key_filter(Relation index,
											 IndexTuple *entries, int64 count);

/* Remove all keys, and add those of some entries.  Runs hash functions. */
extern void sware_refill_key_filter(SwareKeyFilter *filter, Relation index,
									IndexTuple *entries, int64 count);
extern void sware_free_key_filter(SwareKeyFilter *filter);

/* Does a filter say of so few keys that they are new that it is of no use? */
static inline bool
sware_key_filter_is_useless(const SwareKeyFilter *filter)
{
	return filter->unknown > 8192 && filter->unknown > filter->added / 4;
}

/* The number of a value of the filter's column that is not null. */
static inline int64
sware_key_filter_number(const SwareKeyFilter *filter, Datum value)
{
	SwareKeyColumn column = {.comparison = filter->comparison};

	return filter->start == 0 ? sware_abbreviate_value(&column, value, false) :
		sware_number_of_value(filter->comparison, value, filter->start);
}

/*
 * Add a key, none of whose columns is null.  Returns true if it is certain that
 * it was not there.
 */
static inline bool
sware_key_filter_add(SwareKeyFilter *filter, const Datum *values,
					 uint64 fingerprint)
{
	int64		number =
		sware_key_filter_number(filter, values[filter->column]);
	uint64		block = (uint64) number >> filter->shift;

	/* two blocks side by side are in lines that processors fetch together */
	uint64		line = (sware_mix(block >> 1) << 1 | (block & 1)) %
		SWARE_KEY_FILTER_LINES;
	uint64		mixed = sware_mix(fingerprint);
	uint64	   *word = &filter->words[line * 8 + mixed % 8];
	uint64		bits = UINT64CONST(1) << (mixed >> 3 & 63) |
		UINT64CONST(1) << (mixed >> 9 & 63) |
		UINT64CONST(1) << (mixed >> 15 & 63) |
		UINT64CONST(1) << (mixed >> 21 & 63);
	bool		is_new = (*word & bits) != bits;

	*word |= bits;
	filter->added++;
	filter->unknown += !is_new;
	return is_new;
}

#endif							/* SWARE_KEYFILTER_H */
