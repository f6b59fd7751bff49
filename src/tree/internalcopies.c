/*-------------------------------------------------------------------------
 *
 * internalcopies.c
 *	  A backend's copies of internal pages, for descents of readers.
 *
 * A descent may be delayed between a page and its child as long as it likes.
 * So a reader may also take the downlink from a *copy* of the page, however
 * old it is.  But what a copy leads to must be checked: the link may be
 * refused, and the place may be to the right.  Then the copies on the way are
 * forgotten, and the descent begins again.
 *
 * A copy counts for one page of one build of an index in one file.  A build in
 * the same file has another incarnation of the index.  A command that copies
 * the file, as ALTER INDEX ... SET TABLESPACE does, keeps the incarnation: if
 * it is rolled back, the two files have different pages with the same link.
 *
 * The copies of all indexes share one table.  Each page has a pair of slots
 * there, by its hash, and may be in either.  A page that is visited often
 * drives out another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "keys/abbreviation.h"
#include "keys/searchkey.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/treepages.h"

/* The most copies.  With their numbers, they take 3 MB. */
#define SLOTS	256

/* how often a page is visited before it is copied */
#define VISITS_BEFORE_COPY	8

/* Visits above this number do not count. */
#define MAX_VISITS	32

/* The first downlink has no columns. */
#define FIRST_WITH_COLUMNS	(SWARE_FIRST_DATA + 1)

typedef struct Slot
{
	SwareIndexBuild build;
	SwareLink	link;
	int			visits;			/* by descents, less those to other pages of
								 * this slot; 0 if the slot is free */
	bool		isCopied;		/* is `copy` this page? */
	Page		copy;			/* BLCKSZ bytes that live as long as the
								 * backend, or NULL */
	int64	   *numbers;		/* the first columns' abbreviations, from
								 * FIRST_WITH_COLUMNS on; lives as long as
								 * `copy` */
	int			numberCount;	/* -1: they are not set */
} Slot;

static Slot slots[SLOTS];

/*
 * The search in copies that is going on: where it began, to be told from one
 * that an error has ended.
 */
static LocalTransactionId searching_transaction = InvalidLocalTransactionId;
static SubTransactionId searching_subtransaction;

/*
 * Is a search in copies going on?  A comparator that it called may search
 * another index, and must not replace a copy meanwhile.
 */
static inline bool
is_searching(void)
{
	return searching_transaction != InvalidLocalTransactionId &&
		searching_transaction == sware_local_transaction_id() &&
		SubTransactionIsActive(searching_subtransaction);
}

/* Is a slot that of a page of a build? */
static inline bool
is_slot_of(const Slot *slot, const SwareIndexBuild *build, SwareLink link)
{
	return slot->visits > 0 && sware_links_equal(slot->link, link) &&
		slot->build.incarnation == build->incarnation &&
		memcmp(&slot->build.file, &build->file, sizeof(SwareFile)) == 0;
}

/*
 * Return the slot of a page.  If it has none, returns the one of its two that
 * is visited less.
 */
static inline Slot *
slot_for(const SwareIndexBuild *build, SwareLink link)
{
	uint32		hash =
		murmurhash32(link.block ^ (uint32) build->incarnation);
	Slot	   *one = &slots[hash % SLOTS];
	Slot	   *other = &slots[hash % SLOTS ^ 1];

	if (is_slot_of(one, build, link))
		return one;
	if (is_slot_of(other, build, link))
		return other;
	return one->visits <= other->visits ? one : other;
}

/* Set the numbers of a copy, given a search of the first column. */
static pg_noinline void
make_numbers(const SwareSearchKey *key, const SwareSearchColumn *search,
			 BlockNumber block, Slot *slot)
{
	OffsetNumber last = PageGetMaxOffsetNumber(slot->copy);
	int			count = 0;

	for (OffsetNumber offset = FIRST_WITH_COLUMNS; offset <= last; offset++)
		slot->numbers[count++] =
			sware_tuple_number(key, search,
							   sware_checked_pivot(key->index, block,
												   slot->copy, offset));
	slot->numberCount = count;
}

/*
 * The offset of the downlink to follow in a copy.  `search` is of the place's
 * first column, or NULL if that has no abbreviation.
 */
static OffsetNumber
search_copy(const SwareSearchKey *key, const SwareSearchColumn *search,
			BlockNumber block, Slot *slot)
{
	const int64 *number;
	const int64 *end;

	if (search == NULL)
		return sware_search_internal(key, block, slot->copy);
	if (unlikely(slot->numberCount < 0))
		make_numbers(key, search, block, slot);

	/* numbers before `number` are lower; there is no branch to mispredict */
	number = slot->numbers;
	end = number + slot->numberCount;
	for (int rest = slot->numberCount; rest > 0; rest /= 2)
		number += number[rest / 2] < search->value ? rest - rest / 2 : 0;
	if (unlikely(number < end && *number == search->value))
		return sware_search_internal(key, block, slot->copy);
	return FIRST_WITH_COLUMNS + (number - slot->numbers) - 1;
}

/*
 * Follow downlinks through copies as far as there are any: to a place, or if
 * `key` is NULL, to the leftmost or rightmost leaf.  *page and *level are the
 * root as the cache knows it, and then the page that the last downlink leads
 * to.  That page must be checked.
 *
 * The caller holds no content lock.
 */
void
sware_follow_copies(SwareCopiesUsed *used, Relation index,
					const SwareSearchKey *key, bool rightmost,
					SwareLink *page, int *level)
{
	SwareSearchColumn search;
	bool		has_number;

	used->build.incarnation = sware_cache(index)->indexIncarnation;
	used->build.file = SwareRelationLocator(index);
	used->count = 0;
	if (is_searching())
		return;

	searching_transaction = sware_local_transaction_id();
	searching_subtransaction = GetCurrentSubTransactionId();
	has_number = key && sware_search_column_set(&search, key);
	while (*level > 0 && used->count < SWARE_MAX_COPIED_LEVELS)
	{
		Slot	   *slot = slot_for(&used->build, *page);
		OffsetNumber offset;

		if (!is_slot_of(slot, &used->build, *page) || !slot->isCopied)
			break;
		if (key)
			offset = search_copy(key, has_number ? &search : NULL, page->block,
								 slot);
		else
			offset = rightmost ? PageGetMaxOffsetNumber(slot->copy) :
				SWARE_FIRST_DATA;
		*page = sware_checked_downlink(index, page->block, slot->copy, offset);
		(*level)--;
		slot->visits = Min(slot->visits + 1, MAX_VISITS);
		used->slots[used->count++] = slot - slots;
	}
	searching_transaction = InvalidLocalTransactionId;
}

/* Forget copies, which have not led to the right page. */
void
sware_forget_copies(const SwareCopiesUsed *used)
{
	for (int i = 0; i < used->count; i++)
		slots[used->slots[i]].visits = 0;
}

/*
 * Count a visit of a descent to an internal page that has downlinks, and copy
 * it if it is visited often.  The caller holds a lock on the page, and has
 * called sware_follow_copies.
 */
void
sware_note_internal_page(const SwareCopiesUsed *used, Buffer buffer)
{
	SwareLink	link = sware_page_link(buffer);
	Slot	   *slot = slot_for(&used->build, link);

	if (is_searching())
		return;
	if (!is_slot_of(slot, &used->build, link))
	{
		if (slot->visits > 1)
		{
			slot->visits--;
			return;
		}
		slot->build = used->build;
		slot->link = link;
		slot->visits = 0;
		slot->isCopied = false;
	}
	if (slot->isCopied || ++slot->visits < VISITS_BEFORE_COPY)
		return;
	if (slot->copy == NULL)
	{
		slot->copy =
			MemoryContextAlloc(TopMemoryContext, BLCKSZ +
							   SWARE_MAX_ITEMS_PER_PAGE * sizeof(int64));
		slot->numbers = (int64 *) ((char *) slot->copy + BLCKSZ);
	}
	memcpy(slot->copy, BufferGetPage(buffer), BLCKSZ);
	slot->isCopied = true;
	slot->numberCount = -1;
}
