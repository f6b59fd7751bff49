/*-------------------------------------------------------------------------
 *
 * entryform.h
 *	  Forming entries of an index in memory of the caller.
 *
 * index_form_tuple allocates each entry, which costs more than to form it.
 * Most entries can be formed where they are to stay, since their size is known
 * before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYFORM_H
#define SWARE_ENTRYFORM_H

#include "access/htup_details.h"
#include "access/itup.h"
#include "access/tupmacs.h"
#include "utils/rel.h"

/* How the entries of an index are formed. */
typedef struct SwareEntryForm
{
	int			columns;		/* number of columns, INCLUDE columns too */
	Size		fixedDataSize;	/* size of the columns of each entry without
								 * nulls; zero if it varies */
	bool		byValue;		/* is the only column passed by value?  Not
								 * set if there are several */
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

#endif							/* SWARE_ENTRYFORM_H */
