/*-------------------------------------------------------------------------
 *
 * entryform.c
 *	  Forming entries of an index in memory of the caller.  See entryform.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"

#include "keys/entryform.h"
#include "layout/page.h"

StaticAssertDecl(MAXIMUM_ALIGNOF == sizeof(uint64),
				 "the padding of an entry must be in its last eight bytes");

/* Find out how the entries of an index are formed. */
void
sware_entry_form_init(SwareEntryForm *form, Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	Datum		values[INDEX_MAX_KEYS] = {0};
	bool		isnull[INDEX_MAX_KEYS] = {0};
	Size		data_size;

	memset(form, 0, sizeof(SwareEntryForm));
	form->columns = descriptor->natts;
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->attlen < 0)
			return;
	}
	data_size = heap_compute_data_size(descriptor, values, isnull);
	if (sware_size_with_data(data_size) > SWARE_MAX_ENTRY_SIZE)
		return;
	form->fixedDataSize = data_size;
	form->byValue = form->columns == 1 &&
		TupleDescAttr(descriptor, 0)->attbyval;
}

/*
 * May a value of variable size be stored as it is?  index_form_tuple fetches
 * what is stored elsewhere, and compresses large values.
 */
static inline bool
is_stored_as_is(Datum value)
{
	const struct varlena *varlena =
		(const struct varlena *) DatumGetPointer(value);

	return !VARATT_IS_EXTERNAL(varlena) &&
		(VARATT_IS_EXTENDED(varlena) || VARSIZE(varlena) <= TOAST_INDEX_TARGET);
}

/*
 * sware_entry_data_size for an index whose entries have no fixed size, or are
 * too large.
 */
Size
sware_varying_data_size(const SwareEntryForm *form, Relation index,
						Datum *values, bool *isnull)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	Size		size;

	for (int i = 0; i < form->columns; i++)
	{
		if (isnull[i] || (TupleDescAttr(descriptor, i)->attlen == -1 &&
						  !is_stored_as_is(values[i])))
			return 0;
	}
	size = heap_compute_data_size(descriptor, values, isnull);
	return sware_size_with_data(size) <= SWARE_MAX_ENTRY_SIZE ? size : 0;
}

/*
 * Form the columns of an entry without nulls, and its t_info.  The parameters
 * are those of sware_form_entry.
 */
void
sware_form_columns(Relation index, IndexTuple entry, Size data_size,
				   Datum *values, bool *isnull)
{
	Size		size = sware_size_with_data(data_size);
	uint16		flags = 0;

	/* there may be padding between columns, too */
	memset(entry, 0, size);
	heap_fill_tuple(RelationGetDescr(index), values, isnull,
					(char *) entry + sizeof(IndexTupleData), data_size, &flags,
					NULL);
	entry->t_info = size;
	if (flags & HEAP_HASVARWIDTH)
		entry->t_info |= INDEX_VAR_MASK;
}

#ifdef USE_ASSERT_CHECKING
/* Is an entry, but for its TID, what index_form_tuple makes? */
bool
sware_is_as_formed(Relation index, IndexTuple entry, Datum *values,
				   bool *isnull)
{
	IndexTuple	formed =
		index_form_tuple(RelationGetDescr(index), values, isnull);
	bool		result;

	result = formed->t_info == entry->t_info &&
		memcmp(&formed->t_info, &entry->t_info, IndexTupleSize(formed) -
			   offsetof(IndexTupleData, t_info)) == 0;
	pfree(formed);
	return result;
}
#endif
