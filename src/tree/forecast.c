/*-------------------------------------------------------------------------
 *
 * forecast.c
 *	  How full leaves at the right end of the tree are made.
 *
 * A leaf that is not the last one any more gets late entries only.  While the
 * key range of late entries moves on with the right end, each leaf gets as
 * large a share of them in its life as the whole tree gets.  So a leaf that is
 * full in the end has that share of late entries, and the others are what it
 * should be filled with before.
 *
 * The share is learnt from what the tree got lately, by the statistics of the
 * index.  Shared memory has these, so nothing is known after a restart, for an
 * index that they have forgotten, and, without preloading, of what other
 * sessions do.  Then the fill factor counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/options.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "shared/statistics.h"
#include "tree/split.h"

/*
 * The bounds of a forecast, in percent.  The greatest one is for indexes that
 * get hardly any late entries.  Where there are some, more may follow: their
 * share grows until the right end has moved on as far as entries come late.
 */
#define LEAST_FILL		70
#define USUAL_FILL		95
#define GREATEST_FILL	97

/* a smaller share of late entries than this is hardly any */
#define HARDLY_ANY		0.001

/* a share that was learnt from fewer entries than this does not count */
#define ENOUGH_ENTRIES	10000
#define MANY_ENTRIES	65536

/*
 * Late entries do not come evenly.  A leaf has room for as many as come by
 * chance, and this number of standard deviations more.  A split costs a page,
 * so it is better avoided than that the last percent of a leaf is used.
 */
#define DEVIATIONS		2.5

/*
 * Compute the fill in percent that leaves room for late entries, and for a high
 * key.  `size` is what an entry takes on a leaf.
 */
static int
forecast(double late, Size size, Size high_key)
{
	double		entries = (double) SWARE_PAGE_CAPACITY / size;
	double		room = late + DEVIATIONS * sqrt(late / entries) +
		(double) high_key / SWARE_PAGE_CAPACITY;

	return (int) floor(100 * (1 - room));
}

int
sware_leaf_fill(Relation index, IndexTuple entry)
{
	int			otherwise = sware_options_of(index)->fillfactor;
	double		entries;
	double		late;
	int			fill;

	if (!sware_options_of(index)->forecastFill)
		return otherwise;
	entries = sware_late_share(index, &late);
	if (entries < ENOUGH_ENTRIES)
		return otherwise;
	if (late < HARDLY_ANY)
		return entries < MANY_ENTRIES ? otherwise : GREATEST_FILL;

	/*
	 * Where so many entries are late that leaves would be split nevertheless,
	 * room does not help.
	 */
	fill = forecast(late,
					MAXALIGN(sware_leaf_tuple_key_size(entry)) +
					sizeof(ItemIdData),
					sware_pivot_space(entry));
	return fill < LEAST_FILL ? otherwise : Min(fill, USUAL_FILL);
}
