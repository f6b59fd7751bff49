/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Options of an index: registered, parsed and read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "storage/lockdefs.h"

#include "am/options.h"

#define FILLFACTOR_DEFAULT		95
#define SPLIT_RATIO_DEFAULT		80
#define PERCENT_MIN				50
#define PERCENT_MAX				100

/* how core hands us the parsed options: as a varlena */
typedef struct SwareOptions
{
	int32		varlenaHeader;
	int			fillfactor;
	int			splitRatio;
	bool		deduplicateItems;
} SwareOptions;

static relopt_kind options_kind;

void
sware_register_options(void)
{
	/* None matters to what other sessions have read already. */
	const LOCKMODE lockmode = ShareUpdateExclusiveLock;

	options_kind = add_reloption_kind();

	add_int_reloption(options_kind, "fillfactor",
					  "Percentage to which builds and bulk appends fill leaf pages",
					  FILLFACTOR_DEFAULT, PERCENT_MIN, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "split_ratio",
					  "Percentage of a leaf page that stays left when its level's rightmost page is split",
					  SPLIT_RATIO_DEFAULT, PERCENT_MIN, PERCENT_MAX, lockmode);
	add_bool_reloption(options_kind, "deduplicate_items",
					   "Stores equal keys once, with a list of row locations",
					   true, lockmode);
}

/* the amoptions callback */
bytea *
sware_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{.optname = "fillfactor", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, fillfactor)},
		{.optname = "split_ratio", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, splitRatio)},
		{.optname = "deduplicate_items", .opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(SwareOptions, deduplicateItems)},
	};

	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(SwareOptions),
									  elements, lengthof(elements));
}

/* percentage to which leaves are filled in bulk work */
int
sware_fillfactor(Relation index)
{
	SwareOptions *options = (SwareOptions *) index->rd_options;

	return options ? options->fillfactor : FILLFACTOR_DEFAULT;
}

/* percentage that stays on the left in a split at the right edge */
int
sware_split_ratio(Relation index)
{
	SwareOptions *options = (SwareOptions *) index->rd_options;

	return options ? options->splitRatio : SPLIT_RATIO_DEFAULT;
}

/*
 * Are posting lists wanted, and is there no INCLUDE column to rule them out?
 * Whether the key's types allow them is known to the metapage
 * (allEqualImage).
 */
bool
sware_option_deduplicate(Relation index)
{
	SwareOptions *options = (SwareOptions *) index->rd_options;

	return (options == NULL || options->deduplicateItems) &&
		IndexRelationGetNumberOfAttributes(index) ==
		IndexRelationGetNumberOfKeyAttributes(index);
}
