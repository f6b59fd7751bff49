/*-------------------------------------------------------------------------
 *
 * entrysort.c
 *	  Sorting the entries of an index, cheaply if they come nearly in order.
 *
 * Entries that come in order are set aside in a list; the others, the
 * outliers, are sorted; in the end the two are merged.  When an entry is
 * below the last of the list, there is no telling which of the two is out of
 * place, so both become outliers: an entry that came much too early would
 * otherwise make outliers of all that follow.  (The division is Cook and
 * Kim's, "Best sorting algorithm for nearly sorted lists", 1980.)
 *
 * When outliers are the rule, nothing is set aside any more.
 *
 * Outliers are sorted as rows, since a tuplesort of index tuples is for btree
 * indexes only; or as pairs of numbers, if the index has a single column that
 * is compared like an integer.  Both take the mark of a dead row as the lowest
 * bit of the TID's number, where it does not change the order.
 *
 * In a parallel build, each worker sorts its part.  What it exports is the list
 * and the sorted outliers, two files, since there is no use in merging them
 * before the leader merges everything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/tupdesc.h"
#include "catalog/index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "am/entrysort.h"
#include "am/orderedlist.h"
#include "am/pairsort.h"
#include "faultpoint.h"
#include "tree/entry.h"
#include "tree/tree.h"

/* how often to look whether setting aside is worth its cost */
#define WINDOW_ENTRIES	20000

/*
 * Share of the memory for the list, as long as there is one: a small one,
 * since a list that does not fit is written and read in sequence, while
 * outliers that do not fit are merged from several places.
 */
#define LIST_SHARE		8

struct SwareEntrySort
{
	Relation	index;
	Relation	heap;
	int			memory;			/* in kilobytes */
	Size		fixedSize;		/* of an entry without nulls, if that does not
								 * depend on its values; else zero */
	Size		fixedDataSize;	/* of its columns alone */
	SwareKeyColumn columns[INDEX_MAX_KEYS]; /* for comparisons */
	SwareOrderedList *list;		/* entries in order */
	FileSet    *files;			/* for others to read, or NULL */
	int			participant;	/* number of this process, if shared */
	bool		setsAside;
	Tuplesortstate *rows;		/* outliers, or NULL if there is none */
	SwarePairSort *pairs;		/* outliers without nulls, or NULL if pairs
								 * will not do for this index */
	int			windowEntries;	/* in the running window */
	int			windowOutliers;

	/* rows have the index columns, and the TID and mark as a number */
	TupleDesc	rowDescriptor;
	TupleTableSlot *putSlot;
	TupleTableSlot *getSlot;

	/* merging */
	IndexTuple	nextListed;
	IndexTuple	nextOutlier;
	IndexTuple	outlierSpace;	/* room for one of fixed size */
	enum
	{
		FROM_BOTH,				/* neither has been read yet */
		FROM_LIST,
		FROM_OUTLIERS
	}			returned;		/* where the previous entry came from */
};

/* Find out whether all entries without nulls have the same size. */
static void
set_fixed_size(SwareEntrySort *sort)
{
	TupleDesc	descriptor = RelationGetDescr(sort->index);
	Datum		values[INDEX_MAX_KEYS] = {0};
	bool		isnull[INDEX_MAX_KEYS] = {0};
	Size		data_size;
	Size		size;

	for (int i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->attlen < 0)
			return;
	}

	data_size = heap_compute_data_size(descriptor, values, isnull);
	size = MAXALIGN(sizeof(IndexTupleData) + data_size);
	if (size <= SWARE_MAX_ENTRY_SIZE)
	{
		sort->fixedSize = size;
		sort->fixedDataSize = data_size;
	}
}

static TupleDesc
make_row_descriptor(Relation index)
{
	TupleDesc	descriptor = RelationGetDescr(index);
	TupleDesc	result = CreateTemplateTupleDesc(descriptor->natts + 1);

	for (int i = 1; i <= descriptor->natts; i++)
		TupleDescCopyEntry(result, i, descriptor, i);
	TupleDescInitEntry(result, descriptor->natts + 1, "tid", INT8OID, -1, 0);
	return result;
}

/* Start to sort outliers that are rows. */
static Tuplesortstate *
begin_rows(SwareEntrySort *sort, int memory)
{
	Relation	index = sort->index;
	int			keys = IndexRelationGetNumberOfKeyAttributes(index);
	AttrNumber	columns[INDEX_MAX_KEYS + 1];
	Oid			operators[INDEX_MAX_KEYS + 1];
	Oid			collations[INDEX_MAX_KEYS + 1];
	bool		nulls_first[INDEX_MAX_KEYS + 1];

	for (int i = 0; i < keys; i++)
	{
		int16		option = index->rd_indoption[i];
		int			strategy = (option & INDOPTION_DESC) != 0 ?
			BTGreaterStrategyNumber : BTLessStrategyNumber;

		columns[i] = i + 1;
		operators[i] = get_opfamily_member(index->rd_opfamily[i],
										   index->rd_opcintype[i],
										   index->rd_opcintype[i],
										   strategy);
		if (!OidIsValid(operators[i]))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u", strategy,
				 index->rd_opcintype[i], index->rd_opcintype[i], index->rd_opfamily[i]);
		collations[i] = index->rd_indcollation[i];
		nulls_first[i] = (option & INDOPTION_NULLS_FIRST) != 0;
	}
	columns[keys] = sort->rowDescriptor->natts;
	operators[keys] = Int8LessOperator;
	collations[keys] = InvalidOid;
	nulls_first[keys] = false;

	return tuplesort_begin_heap(sort->rowDescriptor, keys + 1, columns, operators,
								collations, nulls_first, memory, NULL, TUPLESORT_NONE);
}

/* Start to sort into a given list. */
static SwareEntrySort *
begin_sort(Relation index, Relation heap, int memory, SwareOrderedList *list)
{
	SwareEntrySort *sort = palloc0(sizeof(SwareEntrySort));

	sort->index = index;
	sort->heap = heap;
	sort->memory = memory;
	set_fixed_size(sort);
	sort->list = list;
	sort->setsAside = true;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		sware_key_column_init(&sort->columns[i], index, i + 1, (Datum) 0, true);
	if (sort->fixedSize > 0 && RelationGetDescr(index)->natts == 1 &&
		TupleDescAttr(RelationGetDescr(index), 0)->attbyval &&
		sort->columns[0].comparison != SWARE_COMPARE_FUNCTION)
		sort->pairs = sware_pair_sort_begin(memory - memory / LIST_SHARE);
	sort->rowDescriptor = make_row_descriptor(index);
	sort->putSlot = MakeSingleTupleTableSlot(sort->rowDescriptor, &TTSOpsVirtual);
	sort->getSlot = MakeSingleTupleTableSlot(sort->rowDescriptor, &TTSOpsMinimalTuple);
	return sort;
}

/* Start to sort; `memory` in kilobytes. */
SwareEntrySort *
sware_entry_sort_begin(Relation index, Relation heap, int memory)
{
	return begin_sort(index, heap, memory,
					  sware_ordered_list_begin((Size) memory * 1024 / LIST_SHARE));
}

/* Names of the files that a participant exports. */
static void
list_file_name(char *name, int participant)
{
	snprintf(name, MAXPGPATH, "%d.list", participant);
}

static void
outliers_file_name(char *name, int participant)
{
	snprintf(name, MAXPGPATH, "%d.outliers", participant);
}

/* Start to sort what another process will read. */
SwareEntrySort *
sware_entry_sort_begin_shared(Relation index, Relation heap, int memory,
							  FileSet *files, int participant)
{
	char		name[MAXPGPATH];
	SwareEntrySort *sort;

	list_file_name(name, participant);
	sort = begin_sort(index, heap, memory, sware_ordered_list_begin_shared(files, name));
	sort->files = files;
	sort->participant = participant;
	return sort;
}

/* Compare the keys of two entries, as the index orders them. */
int
sware_entry_sort_compare_keys(SwareEntrySort *sort, IndexTuple a, IndexTuple b)
{
	TupleDesc	descriptor = RelationGetDescr(sort->index);
	int			keys = IndexRelationGetNumberOfKeyAttributes(sort->index);

	for (int i = 0; i < keys; i++)
	{
		SwareKeyColumn *column = &sort->columns[i];
		bool		is_null;
		Datum		value = index_getattr(b, i + 1, descriptor, &is_null);
		int			order;

		column->value = index_getattr(a, i + 1, descriptor, &column->isNull);
		order = sware_compare_column(column, value, is_null);
		if (order != 0)
			return order;
	}
	return 0;
}

/* Is an entry below another one?  They are not equal. */
bool
sware_entry_sort_is_below(SwareEntrySort *sort, IndexTuple a, IndexTuple b)
{
	int			order = sware_entry_sort_compare_keys(sort, a, b);

	if (order == 0)
		order = ItemPointerCompare(&a->t_tid, &b->t_tid);
	return order < 0;
}

static bool
has_nulls(TupleDesc descriptor, bool *isnull)
{
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (isnull[i])
			return true;
	}
	return false;
}

/* The number that stands for TID and mark. */
static int64
number_from_tid(ItemPointer tid, bool is_dead)
{
	return (int64) (itemptr_encode(tid) << 1) | (is_dead ? 1 : 0);
}

/* Set an entry's TID and mark. */
static void
set_tid_from_number(IndexTuple entry, int64 number)
{
	itemptr_decode(&entry->t_tid, number >> 1);
	if (number & 1)
		entry->t_info |= SWARE_DEAD_ROW;
}

/* Make an entry of fixed size in a given place, but for its TID. */
static void
fill_fixed_entry(SwareEntrySort *sort, IndexTuple entry, Datum *values, bool *isnull)
{
	uint16		unused;

	memset(entry, 0, sort->fixedSize);
	entry->t_info = sort->fixedSize;
	heap_fill_tuple(RelationGetDescr(sort->index), values, isnull,
					(char *) entry + sizeof(IndexTupleData),
					sort->fixedDataSize, &unused, NULL);
}

/* A number that takes a value's place in the order of a column. */
static int64
number_from_value(const SwareKeyColumn *column, Datum value)
{
	int64		number;

	switch (column->comparison)
	{
		case SWARE_COMPARE_INT16:
			number = DatumGetInt16(value);
			break;
		case SWARE_COMPARE_INT32:
			number = DatumGetInt32(value);
			break;
		default:
			Assert(column->comparison == SWARE_COMPARE_INT64);
			number = DatumGetInt64(value);
			break;
	}
	return column->descending ? ~number : number;
}

/* The reverse. */
static Datum
value_from_number(const SwareKeyColumn *column, int64 number)
{
	if (column->descending)
		number = ~number;

	switch (column->comparison)
	{
		case SWARE_COMPARE_INT16:
			return Int16GetDatum((int16) number);
		case SWARE_COMPARE_INT32:
			return Int32GetDatum((int32) number);
		default:
			return Int64GetDatum(number);
	}
}

/* Sort an entry, given by its columns, with the outliers. */
static void
put_outlier_values(SwareEntrySort *sort, Datum *values, bool *isnull, int64 tid_number)
{
	int			columns = RelationGetDescr(sort->index)->natts;
	TupleTableSlot *slot = sort->putSlot;

	sort->windowOutliers++;
	if (sort->pairs && !isnull[0])
	{
		sware_pair_sort_put(sort->pairs,
							number_from_value(&sort->columns[0], values[0]),
							tid_number);
		return;
	}

	if (sort->rows == NULL)
		sort->rows = begin_rows(sort, sort->pairs ? sort->memory / LIST_SHARE :
								sort->memory - sort->memory / LIST_SHARE);

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, columns * sizeof(Datum));
	memcpy(slot->tts_isnull, isnull, columns * sizeof(bool));
	slot->tts_values[columns] = Int64GetDatum(tid_number);
	slot->tts_isnull[columns] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sort->rows, slot);
}

/* Sort an entry with the outliers. */
static void
put_outlier(SwareEntrySort *sort, IndexTuple entry)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	index_deform_tuple(entry, RelationGetDescr(sort->index), values, isnull);
	put_outlier_values(sort, values, isnull,
					   number_from_tid(&entry->t_tid,
									   (entry->t_info & SWARE_DEAD_ROW) != 0));
}

/* Set an entry aside for which room was reserved, or sort it. */
static void
divide(SwareEntrySort *sort, IndexTuple entry)
{
	IndexTuple	last = sware_ordered_list_last(sort->list);

	if (last == NULL || sware_entry_sort_is_below(sort, last, entry))
		sware_ordered_list_append(sort->list);
	else
	{
		last = sware_ordered_list_take_back(sort->list);
		put_outlier(sort, entry);
		if (last != NULL)
			put_outlier(sort, last);
	}

	if (++sort->windowEntries == WINDOW_ENTRIES)
	{
		if (sort->windowOutliers > WINDOW_ENTRIES / 2)
		{
			SWARE_FAULT_POINT("build-sorts-all");
			sort->setsAside = false;
		}
		sort->windowEntries = 0;
		sort->windowOutliers = 0;
	}
}

/* Add an entry to be sorted.  An entry too large for the index is an error. */
void
sware_entry_sort_put(SwareEntrySort *sort, Datum *values, bool *isnull, ItemPointer tid,
					 bool is_dead)
{
	TupleDesc	descriptor = RelationGetDescr(sort->index);
	uint16		mark = is_dead ? SWARE_DEAD_ROW : 0;
	IndexTuple	entry;

	if (sort->fixedSize > 0 && !has_nulls(descriptor, isnull))
	{
		if (sort->setsAside)
		{
			entry = sware_ordered_list_reserve(sort->list, sort->fixedSize);
			fill_fixed_entry(sort, entry, values, isnull);
			entry->t_tid = *tid;
			entry->t_info |= mark;
			divide(sort, entry);
		}
		else
			put_outlier_values(sort, values, isnull, number_from_tid(tid, is_dead));
		return;
	}

	/* this fetches, and perhaps compresses, large values */
	entry = index_form_tuple(descriptor, values, isnull);
	entry->t_tid = *tid;
	sware_check_entry_size(sort->index, sort->heap, entry);
	entry->t_info |= mark;
	if (sort->setsAside)
	{
		Size		size = IndexTupleSize(entry);
		IndexTuple	copy = sware_ordered_list_reserve(sort->list, size);

		memcpy(copy, entry, size);
		divide(sort, copy);
	}
	else
		put_outlier(sort, entry);
	pfree(entry);
}

/* Make the next outlier of a row; false if there is none. */
static bool
fetch_row(SwareEntrySort *sort)
{
	TupleDesc	descriptor = RelationGetDescr(sort->index);
	TupleTableSlot *slot = sort->getSlot;

	if (sort->rows == NULL ||
		!tuplesort_gettupleslot(sort->rows, true, false, slot, NULL))
		return false;

	slot_getallattrs(slot);
	if (sort->fixedSize > 0 && !has_nulls(descriptor, slot->tts_isnull))
	{
		sort->nextOutlier = sort->outlierSpace;
		fill_fixed_entry(sort, sort->nextOutlier, slot->tts_values, slot->tts_isnull);
	}
	else
		sort->nextOutlier = index_form_tuple(descriptor, slot->tts_values, slot->tts_isnull);
	set_tid_from_number(sort->nextOutlier,
						DatumGetInt64(slot->tts_values[descriptor->natts]));
	return true;
}

/* Make the next outlier of a pair; false if there is none. */
static bool
fetch_pair(SwareEntrySort *sort)
{
	SwarePair	pair;
	Datum		value;
	bool		isnull = false;

	if (sort->pairs == NULL || !sware_pair_sort_next(sort->pairs, &pair))
		return false;

	value = value_from_number(&sort->columns[0], pair.major);
	sort->nextOutlier = sort->outlierSpace;
	fill_fixed_entry(sort, sort->nextOutlier, &value, &isnull);
	set_tid_from_number(sort->nextOutlier, pair.minor);
	return true;
}

/* Get the next outlier, if any. */
static void
fetch_outlier(SwareEntrySort *sort)
{
	if (sort->nextOutlier != NULL && sort->nextOutlier != sort->outlierSpace)
		pfree(sort->nextOutlier);
	sort->nextOutlier = NULL;

	/* if there are pairs, rows are those with a null */
	if (sort->columns[0].nullsFirst)
		(void) (fetch_row(sort) || fetch_pair(sort));
	else
		(void) (fetch_pair(sort) || fetch_row(sort));
}

static void
sort_outliers(SwareEntrySort *sort)
{
	if (sort->rows)
		tuplesort_performsort(sort->rows);
	if (sort->pairs)
		sware_pair_sort_perform(sort->pairs);
	sort->outlierSpace = palloc(Max(sort->fixedSize, sizeof(IndexTupleData)));
}

/* Sort; then next returns the entries in order. */
void
sware_entry_sort_perform(SwareEntrySort *sort)
{
	sort_outliers(sort);
	sware_ordered_list_rewind(sort->list);
	sort->returned = FROM_BOTH;
}

/*
 * Sort, and let another process read the result, from two lists; nothing more
 * comes from a shared sort.
 */
void
sware_entry_sort_export(SwareEntrySort *sort)
{
	char		name[MAXPGPATH];
	SwareOrderedList *outliers;

	sware_ordered_list_export(sort->list);

	sort_outliers(sort);
	outliers_file_name(name, sort->participant);
	outliers = sware_ordered_list_begin_shared(sort->files, name);
	for (fetch_outlier(sort); sort->nextOutlier != NULL; fetch_outlier(sort))
	{
		Size		size = IndexTupleSize(sort->nextOutlier);

		CHECK_FOR_INTERRUPTS();
		memcpy(sware_ordered_list_reserve(outliers, size), sort->nextOutlier, size);
		sware_ordered_list_append(outliers);
	}
	sware_ordered_list_export(outliers);
	sware_ordered_list_end(outliers);
}

/* Open what a participant has exported: ordered lists, to be merged. */
List *
sware_entry_sort_open_exported(FileSet *files, int participant)
{
	char		list[MAXPGPATH];
	char		outliers[MAXPGPATH];

	list_file_name(list, participant);
	outliers_file_name(outliers, participant);
	return list_make2(sware_ordered_list_open_shared(files, list),
					  sware_ordered_list_open_shared(files, outliers));
}

/*
 * The next entry, perhaps marked, valid until the next call, or NULL at the
 * end.
 */
IndexTuple
sware_entry_sort_next(SwareEntrySort *sort)
{
	/* replace what the previous call returned */
	if (sort->returned != FROM_OUTLIERS)
		sort->nextListed = sware_ordered_list_next(sort->list);
	if (sort->returned != FROM_LIST)
		fetch_outlier(sort);

	if (sort->nextOutlier == NULL ||
		(sort->nextListed != NULL &&
		 sware_entry_sort_is_below(sort, sort->nextListed, sort->nextOutlier)))
	{
		sort->returned = FROM_LIST;
		return sort->nextListed;
	}
	sort->returned = FROM_OUTLIERS;
	return sort->nextOutlier;
}

void
sware_entry_sort_end(SwareEntrySort *sort)
{
	if (sort->rows)
		tuplesort_end(sort->rows);
	if (sort->pairs)
		sware_pair_sort_end(sort->pairs);
	sware_ordered_list_end(sort->list);
	ExecDropSingleTupleTableSlot(sort->putSlot);
	ExecDropSingleTupleTableSlot(sort->getSlot);
	pfree(sort);
}
