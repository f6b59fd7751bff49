/*-------------------------------------------------------------------------
 *
 * delta.c
 *	  Describes how a page changes, in the form of generic WAL.
 *
 * The server's own GenericXLogFinish looks at each byte of two pages.  Most
 * changes touch a small part of a page, so here what is equal is passed over
 * in larger pieces, and where pages differ, most bytes need no look.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "wal/delta.h"

/* how many bytes are compared at once */
#define PIECE	16

/* so many equal bytes end a fragment: they take more than the next header */
#define ENOUGH	((int) sizeof(SwareFragment) + 1)

/*
 * Part of a page: bytes from `start` on, up to `end`.  Of these, what redo
 * finds at other places than those from `knownStart` to `knownEnd` is not
 * known, since they were free space before.
 */
typedef struct Region
{
	int			start;
	int			end;
	int			knownStart;
	int			knownEnd;
} Region;

/*
 * Append a fragment with `length` bytes of the changed page, from `start` on.
 */
void
sware_delta_add(SwareDelta *delta, const char *page, const void *start,
				Size length)
{
	SwareFragment fragment;
	char	   *place = delta->fragments + delta->length;

	fragment.offset = (OffsetNumber) ((const char *) start - page);
	fragment.length = (OffsetNumber) length;
	Assert(delta->length + sizeof(fragment) + length <= SWARE_MAX_DELTA);
	memcpy(place, &fragment, sizeof(fragment));
	memcpy(place + sizeof(fragment), start, length);
	delta->length += sizeof(fragment) + length;
}

/*
 * Return the first place from `place` on at which two pages differ before
 * `end`; otherwise `end`, or `place` if that is beyond it.
 */
static int
pass_over_equal(const char *before, const char *after, int place, int end)
{
	while (place + PIECE <= end &&
		   memcmp(before + place, after + place, PIECE) == 0)
		place += PIECE;
	while (place < end && before[place] == after[place])
		place++;
	return place;
}

/*
 * Return where the fragment ends that begins at `place`: where so many bytes
 * are equal that another fragment takes less than they do.
 */
static int
fragment_end(const Region *region, const char *before, const char *after,
			 int place)
{
	int			start = Max(place + 1, region->knownStart);
	int			end = region->end;

	/* looked at from behind, a byte that differs excludes all before it */
	while (start + ENOUGH <= region->knownEnd)
	{
		int			last = start + ENOUGH - 1;

		while (last >= start && before[last] == after[last])
			last--;
		if (last < start)
			return start;
		start = last + 1;
	}

	/* too few are left; behind them is the end, or what is not known */
	if (end == region->knownEnd)
	{
		while (end > start && before[end - 1] == after[end - 1])
			end--;
	}
	return end;
}

/* Append what differs in a part of a page. */
static void
compare_region(SwareDelta *delta, const Region *region, const char *before,
			   const char *after)
{
	int			place = region->start;

	for (;;)
	{
		int			end;

		/* what is not known differs */
		if (place >= region->knownStart)
			place = pass_over_equal(before, after, place, region->knownEnd);
		if (place >= region->end)
			return;
		end = fragment_end(region, before, after, place);
		sware_delta_add(delta, after, after + place, end - place);
		place = end;
	}
}

/* Make the delta that changes one page into another; free space is ignored. */
void
sware_delta_compare(SwareDelta *delta, const char *before, const char *after)
{
	const PageHeaderData *old = (const PageHeaderData *) before;
	const PageHeaderData *new = (const PageHeaderData *) after;
	Region		lower = {0, new->pd_lower,
	0, Min(new->pd_lower, old->pd_lower)};
	Region		upper = {new->pd_upper, BLCKSZ, old->pd_upper, BLCKSZ};

	delta->length = 0;
	compare_region(delta, &lower, before, after);
	compare_region(delta, &upper, before, after);
}

/* Change a page as redo does. */
void
sware_delta_apply(const SwareDelta *delta, char *page)
{
	const char *place = delta->fragments;
	PageHeader	header = (PageHeader) page;

	while (place < delta->fragments + delta->length)
	{
		SwareFragment fragment;

		memcpy(&fragment, place, sizeof(fragment));
		place += sizeof(fragment);
		memcpy(page + fragment.offset, place, fragment.length);
		place += fragment.length;
	}
	memset(page + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}
