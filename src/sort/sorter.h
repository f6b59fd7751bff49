/*-------------------------------------------------------------------------
 *
 * sorter.h
 *	  Sorting entries: in memory, cheaply if they come nearly in order, with
 *	  numbers that stand for their first columns; and those of an index that is
 *	  built, to files, too.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_SORTER_H
#define SWARE_SORTER_H

#include "storage/fileset.h"

#include "keys/comparator.h"

extern void sware_sort_entries(Relation index, IndexTuple *entries,
							   int64 sorted, int64 count);
extern bool sware_are_in_order(Relation index, IndexTuple *entries,
							   int64 sorted, int64 count);
extern void sware_sort_arrivals(Relation index, IndexTuple *entries,
								int64 sorted, int64 count);
extern bool sware_sort_nearly_sorted(SwareComparator *comparator,
									 IndexTuple *entries, int64 count);

typedef struct SwareSortItem
{
	int64		abbreviation;	/* or another number: orders two entries if
								 * theirs differ */
	IndexTuple	entry;
} SwareSortItem;

/* Make an item of an entry and its number. */
static inline SwareSortItem
sware_make_item(const SwareComparator *comparator, IndexTuple entry)
{
	SwareSortItem item = {.entry = entry};

	item.abbreviation = comparator->partCount == 0 ?
		sware_abbreviate(&comparator->key.columns[0],
						 RelationGetDescr(comparator->key.index), entry) :
		sware_refined_number(comparator, entry);
	return item;
}

/* Compare two items by (key, TID).  Calls comparators. */
static inline int
sware_compare_items(const SwareSortItem *a, const SwareSortItem *b,
					SwareComparator *comparator)
{
	if (a->abbreviation != b->abbreviation)
		return a->abbreviation < b->abbreviation ? -1 : 1;
	/* A null has the abbreviation of an extreme value. */
	if (comparator->numbersDecide &&
		a->abbreviation != PG_INT64_MIN && a->abbreviation != PG_INT64_MAX)
		return sware_compare_tids(&a->entry->t_tid, &b->entry->t_tid);
	return sware_comparator_entries(comparator, a->entry, b->entry);
}

/* entrysort.c: sorting the entries of an index that is built */

typedef struct SwareEntrySort SwareEntrySort;
typedef struct SwareEntryMerge SwareEntryMerge;

extern SwareEntrySort *sware_entry_sort_begin(Relation index, Relation heap,
											  int memory, FileSet *files,
											  int participant);
extern void sware_entry_sort_put(SwareEntrySort *sort, Datum *values,
								 bool *isnull, ItemPointer tid, bool is_dead);
extern void sware_entry_sort_perform(SwareEntrySort *sort);
extern SwareEntryMerge *sware_entry_sort_merge(SwareEntrySort *sort);
extern int	sware_entry_sort_export(SwareEntrySort *sort);
extern void sware_entry_sort_end(SwareEntrySort *sort);

/* the sorted entries, and those of other processes, one after the other */
extern void sware_entry_merge_add_exported(SwareEntryMerge *merge,
										   FileSet *files, int participant,
										   int number);
extern IndexTuple sware_entry_merge_next(SwareEntryMerge *merge);
extern void sware_entry_merge_end(SwareEntryMerge *merge);

#endif							/* SWARE_SORTER_H */
