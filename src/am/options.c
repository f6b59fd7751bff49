/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Options of an index: registered, parsed and read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"

#include "am/options.h"
#include "buffer/staging.h"
#include "buffer/zones.h"

#define FILLFACTOR_DEFAULT		95
#define FILLFACTOR_MIN			10	/* as nbtree's */
#define SPLIT_RATIO_DEFAULT		80
#define BUFFER_SIZE_DEFAULT		(16 * 1024) /* all in kilobytes */
#define BUFFER_SIZE_MIN			64
#define BUFFER_SIZE_MAX			(4 * 1024 * 1024)
#define POOL_SIZE_DEFAULT		(64 * 1024)
#define FLUSH_FRACTION_DEFAULT	50
#define SORT_THRESHOLD_DEFAULT	10
#define BLOOM_BITS_DEFAULT		10
#define BLOOM_BITS_MAX			32
#define PERCENT_MIN				50
#define PERCENT_MAX				100

/* how core hands us the parsed options: as a varlena */
typedef struct SwareOptions
{
	int32		varlenaHeader;
	int			fillfactor;
	int			splitRatio;
	bool		deduplicateItems;
	int			bufferSize;		/* in kilobytes; -1: what the setting says */
	int			flushFraction;
	int			sortThreshold;
	int			bloomBits;
} SwareOptions;

/* of an index without options */
static const SwareOptions defaults = {
	.fillfactor = FILLFACTOR_DEFAULT,
	.splitRatio = SPLIT_RATIO_DEFAULT,
	.deduplicateItems = true,
	.bufferSize = -1,
	.flushFraction = FLUSH_FRACTION_DEFAULT,
	.sortThreshold = SORT_THRESHOLD_DEFAULT,
	.bloomBits = BLOOM_BITS_DEFAULT
};

static relopt_kind options_kind;

void
sware_register_options(void)
{
	/* None matters to what other sessions have read already. */
	const LOCKMODE lockmode = ShareUpdateExclusiveLock;

	options_kind = add_reloption_kind();

	add_int_reloption(options_kind, "fillfactor",
					  "Percentage to which builds and bulk appends fill leaf pages",
					  FILLFACTOR_DEFAULT, FILLFACTOR_MIN, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "split_ratio",
					  "Percentage of a leaf page that stays left when its level's rightmost page is split",
					  SPLIT_RATIO_DEFAULT, PERCENT_MIN, PERCENT_MAX, lockmode);
	add_bool_reloption(options_kind, "deduplicate_items",
					   "Stores equal keys once, with a list of row locations",
					   true, lockmode);
	add_int_reloption(options_kind, "buffer_size",
					  "Size of the SWARE-buffer, in kilobytes",
					  -1, -1, BUFFER_SIZE_MAX, lockmode);
	add_int_reloption(options_kind, "flush_fraction",
					  "Percentage of a full SWARE-buffer that goes to the tree",
					  FLUSH_FRACTION_DEFAULT, 1, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "sort_threshold",
					  "Percentage of the SWARE-buffer that scans leave unsorted; at 100 they sort nothing",
					  SORT_THRESHOLD_DEFAULT, 1, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "bloom_bits",
					  "Size of Bloom filters of the SWARE-buffer, in bits per entry; at 0 there are none",
					  BLOOM_BITS_DEFAULT, 0, BLOOM_BITS_MAX, lockmode);
}

/* Define the settings (GUCs). */
void
sware_define_settings(void)
{
	DefineCustomIntVariable("sware.buffer_size",
							"Sets the default size of an index's SWARE-buffer.",
							"The waiting entries of all indexes of a session together take no more private memory than this.",
							&sware_buffer_size, BUFFER_SIZE_DEFAULT, BUFFER_SIZE_MIN, BUFFER_SIZE_MAX,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);

	/*
	 * Without preloading there is no pool, and the server refuses settings
	 * that only a restart can change.
	 */
	DefineCustomIntVariable("sware.buffer_pool_size",
							"Sets the size of the memory in which scans keep what they found in SWARE-buffers.",
							"It is shared by all sessions. At 0, or if sware is not in shared_preload_libraries, there is none.",
							&sware_buffer_pool_size, POOL_SIZE_DEFAULT, 0, MAX_KILOBYTES,
							process_shared_preload_libraries_in_progress ?
							PGC_POSTMASTER : PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.enable_buffer",
							 "Lets this session's inserts wait in the SWARE-buffer.",
							 NULL, &sware_enable_buffer, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("sware");
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
		{.optname = "buffer_size", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, bufferSize)},
		{.optname = "flush_fraction", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, flushFraction)},
		{.optname = "sort_threshold", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, sortThreshold)},
		{.optname = "bloom_bits", .opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, bloomBits)},
	};

	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(SwareOptions),
									  elements, lengthof(elements));
}

static inline const SwareOptions *
options_of(Relation index)
{
	return index->rd_options ? (const SwareOptions *) index->rd_options : &defaults;
}

/* percentage to which leaves are filled in bulk work */
int
sware_fillfactor(Relation index)
{
	return options_of(index)->fillfactor;
}

/* percentage that stays on the left in a split at the right edge */
int
sware_split_ratio(Relation index)
{
	return options_of(index)->splitRatio;
}

/* size of the SWARE-buffer, in bytes */
Size
sware_index_buffer_size(Relation index)
{
	int			kilobytes = options_of(index)->bufferSize;

	return (Size) (kilobytes >= 0 ? kilobytes : sware_buffer_size) * 1024;
}

/* percentage of a full buffer that a flush sends to the tree */
int
sware_flush_fraction(Relation index)
{
	return options_of(index)->flushFraction;
}

/* percentage of the buffer that scans leave unsorted; at 100, all of it */
int
sware_sort_threshold(Relation index)
{
	return options_of(index)->sortThreshold;
}

/* size of Bloom filters in bits per entry; 0 if none are wanted */
int
sware_bloom_bits(Relation index)
{
	return options_of(index)->bloomBits;
}

/*
 * Are posting lists wanted, and is there no INCLUDE column to rule them out?
 * Whether the key's types allow them is known to the metapage
 * (allEqualImage).
 */
bool
sware_option_deduplicate(Relation index)
{
	return options_of(index)->deduplicateItems &&
		IndexRelationGetNumberOfAttributes(index) ==
		IndexRelationGetNumberOfKeyAttributes(index);
}
