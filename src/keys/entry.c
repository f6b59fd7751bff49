/*-------------------------------------------------------------------------
 *
 * entry.c
 *	  Making entries, posting lists and pivots (see tuple.h).
 *
 * Tuples that functions return are palloc'ed in the current memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/nbtree.h"

#include "keys/entry.h"
#include "keys/searchkey.h"
#include "layout/page.h"

/*
 * Every row that can be stored in a table with an nbtree index can be stored
 * with a sware index: nbtree needs room for three items and a TID on a page,
 * whose special space is smaller than ours.
 */
StaticAssertDecl(SWARE_MAX_ENTRY_SIZE >=
				 MAXALIGN_DOWN((BLCKSZ -
								MAXALIGN(SizeOfPageHeaderData +
										 3 * sizeof(ItemIdData)) -
								MAXALIGN(sizeof(BTPageOpaqueData))) /
							   3) -
				 MAXALIGN(sizeof(ItemPointerData)),
				 "entries must be allowed to be as large as nbtree's");

StaticAssertDecl(MAXIMUM_ALIGNOF == sizeof(uint64),
				 "the padding of an entry must be in its last eight bytes");

/*
 * An IndexTuple of `size` bytes that starts with the first `keep` of `source`.
 */
static IndexTuple
copy_tuple_start(IndexTuple source, Size keep, Size size)
{
	IndexTuple	result = palloc0(size);

	Assert(size <= INDEX_SIZE_MASK);
	memcpy(result, source, keep);
	result->t_info &= ~(INDEX_SIZE_MASK | SWARE_SPECIAL_TUPLE);
	result->t_info |= (uint16) size;
	return result;
}

/* A pivot of a tuple's columns, with a TID and a link if there are any. */
static IndexTuple
make_pivot(IndexTuple source, Size columns_size, int columns,
		   ItemPointer tid, const SwareLink *link)
{
	Size		size = MAXALIGN(columns_size);
	IndexTuple	pivot;
	uint16		flags = 0;

	if (tid)
	{
		size += SWARE_PIVOT_FIELD_SIZE;
		flags |= SWARE_PIVOT_TID;
	}
	if (link)
	{
		size += SWARE_PIVOT_FIELD_SIZE;
		flags |= SWARE_PIVOT_LINK;
	}

	pivot = copy_tuple_start(source, columns_size, size);
	pivot->t_info |= SWARE_SPECIAL_TUPLE;
	ItemPointerSet(&pivot->t_tid, InvalidBlockNumber, flags | columns);
	if (tid)
		memcpy(sware_pivot_tid(pivot), tid, sizeof(ItemPointerData));
	if (link)
		sware_pivot_set_link(pivot, *link);
	return pivot;
}

/* The first downlink of an internal page, which is below everything. */
IndexTuple
sware_form_minus_infinity(SwareLink child)
{
	IndexTupleData nothing = {0};

	nothing.t_info = sizeof(IndexTupleData);
	return make_pivot(&nothing, sizeof(IndexTupleData), 0, NULL, &child);
}

/* A pivot equal to another one, with a link or without. */
static IndexTuple
copy_pivot(IndexTuple pivot, const SwareLink *link)
{
	bool		has_tid = sware_pivot_has_tid(pivot);
	int			fields = has_tid + sware_pivot_has_link(pivot);

	Assert(sware_tuple_is_pivot(pivot));
	return make_pivot(pivot,
					  IndexTupleSize(pivot) - fields * SWARE_PIVOT_FIELD_SIZE,
					  sware_tuple_count(pivot),
					  has_tid ? sware_pivot_tid(pivot) : NULL, link);
}

/* A downlink to `child`, whose entries are not below `pivot`. */
IndexTuple
sware_form_downlink(IndexTuple pivot, SwareLink child)
{
	return copy_pivot(pivot, &child);
}

/* A high key equal to `pivot`, which may be a downlink. */
IndexTuple
sware_form_high_key(IndexTuple pivot)
{
	return copy_pivot(pivot, NULL);
}

/*
 * The pivot between two neighbouring leaf tuples, with only the columns needed
 * to tell them apart (suffix truncation).  Calls comparators.
 */
IndexTuple
sware_form_pivot(Relation index, IndexTuple last_left, IndexTuple first_right)
{
	int			key_columns = IndexRelationGetNumberOfKeyAttributes(index);
	int			keep;
	ItemPointer tid = NULL;
	IndexTuple	base;
	IndexTuple	pivot;

	(void) sware_compare_columns(index, last_left, first_right, &keep);
	if (keep > key_columns)
	{
		keep = key_columns;
		tid = sware_leaf_tuple_tids(first_right);
	}

	/* The TIDs of a posting list are not part of the pivot. */
	base = copy_tuple_start(first_right, sware_leaf_tuple_key_size(first_right),
							sware_leaf_tuple_key_size(first_right));
	if (keep < IndexRelationGetNumberOfAttributes(index))
	{
		IndexTuple	truncated =
			index_truncate_tuple(RelationGetDescr(index), base, keep);

		pfree(base);
		base = truncated;
	}
	pivot = make_pivot(base, IndexTupleSize(base), keep, tid, NULL);
	pfree(base);
	return pivot;
}

/* The index of a posting list's first TID that is not below `tid`. */
static int
posting_search(IndexTuple posting, ItemPointer tid)
{
	ItemPointer tids = sware_posting_tids(posting);
	int			low = 0;
	int			high = sware_tuple_count(posting);

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (ItemPointerCompare(&tids[middle], tid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Does a posting list contain a TID that lies within its range? */
bool
sware_posting_contains(IndexTuple posting, ItemPointer tid)
{
	int			position = posting_search(posting, tid);

	return position < sware_tuple_count(posting) &&
		ItemPointerEquals(&sware_posting_tids(posting)[position], tid);
}

/*
 * Return a copy of a posting list with the TID of an entry, which has its key,
 * added within its range.  It is as large as the old list, since its largest
 * TID is removed, and returned in *evicted, as an entry to be stored right
 * behind the list.
 */
IndexTuple
sware_posting_insert(IndexTuple posting, IndexTuple entry, IndexTuple *evicted)
{
	*evicted = CopyIndexTuple(entry);
	return _bt_swap_posting(*evicted, posting,
							posting_search(posting, &entry->t_tid));
}

/*
 * The rest of sware_keys_equal_image.
 *
 * Usually tuples differ in size or in some byte, so a comparison of the bytes
 * is enough, unless the type can store equal values in several ways (short or
 * long varlena headers).
 */
bool
sware_equal_image_slowly(Relation index, IndexTuple a, IndexTuple b)
{
	const char *key_a = (char *) a + sizeof(IndexTupleData);
	const char *key_b = (char *) b + sizeof(IndexTupleData);
	Size		key_size = sware_leaf_tuple_key_size(a);

	if (key_size == sware_leaf_tuple_key_size(b) &&
		((a->t_info ^ b->t_info) & INDEX_NULL_MASK) == 0 &&
		memcmp(key_a, key_b, key_size - sizeof(IndexTupleData)) == 0)
		return true;
	return IndexTupleHasVarwidths(b) &&
		_bt_keep_natts_fast(index, a, b) >
		IndexRelationGetNumberOfKeyAttributes(index);
}

/*
 * Make the entry of a row, with large values fetched, and perhaps compressed.
 * Raises an error if it is too large for the index.  `heap` may be NULL.
 */
IndexTuple
sware_make_entry(Relation index, Relation heap, Datum *values, bool *isnull,
				 ItemPointer tid)
{
	IndexTuple	entry =
		index_form_tuple(RelationGetDescr(index), values, isnull);
	Size		size = IndexTupleSize(entry);

	entry->t_tid = *tid;
	if (likely(size <= SWARE_MAX_ENTRY_SIZE))
		return entry;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("index row size %zu exceeds sware version %u maximum %zu for index \"%s\"",
					size, SWARE_VERSION, (Size) SWARE_MAX_ENTRY_SIZE,
					RelationGetRelationName(index)),
			 heap == NULL ? 0 :
			 errdetail("Index row references tuple (%u,%u) in relation \"%s\".",
					   ItemPointerGetBlockNumber(&entry->t_tid),
					   ItemPointerGetOffsetNumber(&entry->t_tid),
					   RelationGetRelationName(heap)),
			 errhint("Values larger than 1/3 of a buffer page cannot be indexed.\n"
					 "Consider a function index of an MD5 hash of the value, "
					 "or use full text indexing."),
			 heap == NULL ? 0 :
			 errtableconstraint(heap, RelationGetRelationName(index))));
}

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
	form->byValue = TupleDescAttr(descriptor, 0)->attbyval;
}

/* index_form_tuple fetches what is elsewhere, and compresses large values. */
static inline bool
is_stored_as_is(Datum value)
{
	const struct varlena *varlena =
		(const struct varlena *) DatumGetPointer(value);

	return !VARATT_IS_EXTERNAL(varlena) &&
		(VARATT_IS_EXTENDED(varlena) || VARSIZE(varlena) <= TOAST_INDEX_TARGET);
}

/* sware_entry_data_size for entries of no fixed size, or too large ones. */
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

/* Form the columns of an entry without nulls, and its t_info. */
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
