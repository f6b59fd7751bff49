/*-------------------------------------------------------------------------
 *
 * entry.h
 *	  Making entries, posting lists and pivots, which layout/tuple.h draws; and
 *	  whether entries may wait.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRY_H
#define SWARE_ENTRY_H

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/tupmacs.h"
#include "utils/rel.h"

#include "layout/tuple.h"

/* entries that lie apart are fetched this number of entries before their use */
#define SWARE_PREFETCH_DISTANCE	8

extern IndexTuple sware_form_minus_infinity(SwareLink child);
extern IndexTuple sware_form_downlink(IndexTuple pivot, SwareLink child);
extern IndexTuple sware_form_high_key(IndexTuple pivot);
extern IndexTuple sware_form_pivot(Relation index, IndexTuple last_left,
								   IndexTuple first_right);
extern IndexTuple sware_posting_insert(IndexTuple posting, IndexTuple entry,
									   IndexTuple *evicted);
extern bool sware_posting_contains(IndexTuple posting, ItemPointer tid);
extern bool sware_equal_image_slowly(Relation index, IndexTuple a,
									 IndexTuple b);
extern IndexTuple sware_make_entry(Relation index, Relation heap,
								   Datum *values, bool *isnull,
								   ItemPointer tid);

/*
 * Do two leaf tuples have bytewise equal keys?  Calls no comparator.
 *
 * Most keys of numbers differ in their first bytes; tuples have at least that
 * many.
 */
static inline bool
sware_keys_equal_image(Relation index, IndexTuple a, IndexTuple b)
{
	if (a->t_info == b->t_info && !IndexTupleHasVarwidths(b) &&
		memcmp(a + 1, b + 1, MAXIMUM_ALIGNOF) != 0)
		return false;
	return sware_equal_image_slowly(index, a, b);
}

/*
 * Let the processor fetch an entry that will be read a little later than the
 * i-th.  Entries in order lie apart in memory if they did not come in order.
 */
static inline void
sware_prefetch_entry(const IndexTuple *entries, int64 i, int64 count)
{
	if (i + SWARE_PREFETCH_DISTANCE < count)
		__builtin_prefetch(entries[i + SWARE_PREFETCH_DISTANCE]);
}

/*
 * How the entries of an index are formed.  index_form_tuple allocates each
 * entry, which costs more than to form it.  Most entries can be formed where
 * they are to stay, since their size is known before.
 */
typedef struct SwareEntryForm
{
	int			columns;		/* number of columns, INCLUDE columns too */
	Size		fixedDataSize;	/* size of the columns of each entry without
								 * nulls; zero if it varies */
	bool		byValue;		/* is the first column passed by value? */
} SwareEntryForm;

extern void sware_entry_form_init(SwareEntryForm *form, Relation index);
extern Size sware_varying_data_size(const SwareEntryForm *form, Relation index,
									Datum *values, bool *isnull);
extern void sware_form_columns(Relation index, IndexTuple entry, Size data_size,
							   Datum *values, bool *isnull);

#ifdef USE_ASSERT_CHECKING
extern bool sware_is_as_formed(Relation index, IndexTuple entry, Datum *values,
							   bool *isnull);
#endif

/*
 * Return the size of an entry's columns if sware_form_entry can form it, and
 * zero if not: then index_form_tuple has to, because the entry has nulls or
 * large values, or is too large.
 */
static inline Size
sware_entry_data_size(const SwareEntryForm *form, Relation index, Datum *values,
					  bool *isnull)
{
	if (form->fixedDataSize == 0)
		return sware_varying_data_size(form, index, values, isnull);
	for (int i = 0; i < form->columns; i++)
	{
		if (isnull[i])
			return 0;
	}
	return form->fixedDataSize;
}

/* The size of an entry whose columns have a size. */
static inline Size
sware_size_with_data(Size data_size)
{
	return MAXALIGN(sizeof(IndexTupleData) + data_size);
}

/*
 * Form an entry at an aligned place that has room for it, given the size that
 * sware_entry_data_size has returned.  The caller sets its TID.  Raises no
 * errors.
 */
static inline void
sware_form_entry(const SwareEntryForm *form, Relation index, IndexTuple entry,
				 Size data_size, Datum *values, bool *isnull)
{
	Size		size = sware_size_with_data(data_size);
	char	   *data = (char *) entry + sizeof(IndexTupleData);

	if (form->columns == 1 && form->fixedDataSize > 0)
	{
		entry->t_info = size;
		/* the last bytes may be padding */
		*(uint64 *) ((char *) entry + size - sizeof(uint64)) = 0;
		if (form->byValue)
			store_att_byval(data, values[0], data_size);
		else
			memcpy(data, DatumGetPointer(values[0]), data_size);
	}
	else
		sware_form_columns(index, entry, data_size, values, isnull);
	Assert(sware_is_as_formed(index, entry, values, isnull));
}

/* trust.c: may entries wait, so that they are compared later? */

/* Is a function trusted?  Reads catalogs. */
extern bool sware_is_trusted(Oid function);

/*
 * May the entries of an index wait?  Decided once for each entry of the
 * relation cache.  May read catalogs and the metapage, so no lightweight lock
 * may be held, except by code that calls comparison functions, too.
 */
extern bool sware_may_wait(Relation index);

/*
 * Might they, if an index of nbtree's were one of sware's?  Reads catalogs.
 */
extern bool sware_keys_may_wait(Relation index);

#endif							/* SWARE_ENTRY_H */
