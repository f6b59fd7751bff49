/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Settings, and options of an index: defined, parsed and read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/reloptions.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/guc.h"

#include "base/compat.h"
#include "base/options.h"

#define FILLFACTOR_DEFAULT		95
#define FILLFACTOR_MIN			10	/* as nbtree's */
#define SPLIT_RATIO_DEFAULT		80
#define BUFFER_SIZE_DEFAULT		(16 * 1024) /* all sizes are in kilobytes */
#define STAGING_SIZE_DEFAULT	(16 * 1024)
#define SMALLEST_SIZE			64
#define LARGEST_SIZE			(4 * 1024 * 1024)
#define SHARED_MEMORY_DEFAULT		(64 * 1024)
#define FLUSH_FRACTION_DEFAULT	50
#define SORT_THRESHOLD_DEFAULT	10
#define BLOOM_BITS_DEFAULT		10
#define BLOOM_BITS_MAX			32
#define PERCENT_MIN				50
#define PERCENT_MAX				100

/* the parsed options, which are a varlena in the relation cache */
typedef struct SwareOptions
{
	int32		varlenaHeader;
	int			fillfactor;
	int			splitRatio;
	bool		deduplicateItems;
	int			bufferSize;		/* in kilobytes; -1: as the setting says */
	int			flushFraction;
	int			sortThreshold;
	int			bloomBits;
	bool		forecastFill;
	bool		groupLeaves;
	bool		asksForSware;
} SwareOptions;

/* of an index without options */
static const SwareOptions defaults = {
	.fillfactor = FILLFACTOR_DEFAULT,
	.splitRatio = SPLIT_RATIO_DEFAULT,
	.deduplicateItems = true,
	.bufferSize = -1,
	.flushFraction = FLUSH_FRACTION_DEFAULT,
	.sortThreshold = SORT_THRESHOLD_DEFAULT,
	.bloomBits = BLOOM_BITS_DEFAULT,
	.forecastFill = false,
	.groupLeaves = false,
	.asksForSware = false
};

static relopt_kind options_kind;

int			sware_staging_size = STAGING_SIZE_DEFAULT;
int			sware_buffer_size = BUFFER_SIZE_DEFAULT;
int			sware_shared_memory = 0;
int			sware_record_cache = 0;
int			sware_log_min_flush_duration = -1;
bool		sware_enable_buffer = true;
bool		sware_use_for_keys = false;

/* is the library one that all sessions have? */
static bool is_preloaded = false;

void
sware_register_options(void)
{
	/* no option changes the meaning of pages that other sessions have read */
	const LOCKMODE lockmode = ShareUpdateExclusiveLock;

	options_kind = add_reloption_kind();

	add_int_reloption(
					  options_kind, "fillfactor",
					  "Percentage to which builds and bulk appends fill leaf pages",
					  FILLFACTOR_DEFAULT, FILLFACTOR_MIN, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "split_ratio",
					  "Percentage of a leaf page that stays left when its level's rightmost page is split",
					  SPLIT_RATIO_DEFAULT, PERCENT_MIN, PERCENT_MAX, lockmode);
	add_bool_reloption(options_kind, "deduplicate_items",
					   "Stores equal keys once, with a list of row locations",
					   true, lockmode);
	add_int_reloption(options_kind, "buffer_size",
					  "Quota of the buffer, in kilobytes; 0 means that nothing waits, -1 the setting sware.buffer_size",
					  -1, -1, LARGEST_SIZE, lockmode);
	add_int_reloption(options_kind, "flush_fraction",
					  "Percentage of a full staging that goes to the tree",
					  FLUSH_FRACTION_DEFAULT, 1, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "sort_threshold",
					  "Percentage of the buffer that scans leave unsorted; at 100 they sort nothing",
					  SORT_THRESHOLD_DEFAULT, 1, PERCENT_MAX, lockmode);
	add_int_reloption(options_kind, "bloom_bits",
					  "Size of Bloom filters of the buffer, in bits per entry; at 0 there are none",
					  BLOOM_BITS_DEFAULT, 0, BLOOM_BITS_MAX, lockmode);
	add_bool_reloption(options_kind, "forecast_fill",
					   "Fills leaf pages at the right end as the share of late entries asks for",
					   false, lockmode);
	add_bool_reloption(options_kind, "group_leaves",
					   "Lets VACUUM bring scattered leaf pages into the order of their keys",
					   false, lockmode);
	add_bool_reloption(options_kind, "sware",
					   "Asks for a sware index where a primary key or unique constraint makes one",
					   false, lockmode);
}

/*
 * The setting sware.use_for_keys can be on only where the indexes serve as
 * btree's do, and where all sessions have the library: others would make btree
 * indexes.
 */
static bool
check_use_for_keys(bool *value, void **extra, GucSource source)
{
	if (!*value)
		return true;
	if (!SWARE_KEYS_SERVE_ALL)
	{
		GUC_check_errdetail("Before PostgreSQL 18, foreign keys and ON CONFLICT need btree indexes.");
		return false;
	}
	if (!is_preloaded)
	{
		GUC_check_errdetail("\"sware\" must be in \"shared_preload_libraries\".");
		return false;
	}
	return true;
}

void
sware_define_settings(void)
{
	DefineCustomIntVariable(
							"sware.staging_size",
							"Sets the private memory for staged entries of a session.",
							"Entries of all indexes of the session's running transaction share it.",
							&sware_staging_size, STAGING_SIZE_DEFAULT, SMALLEST_SIZE,
							LARGEST_SIZE, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.buffer_size",
							"Sets the quota of the buffer of indexes without the option buffer_size.",
							NULL, &sware_buffer_size, BUFFER_SIZE_DEFAULT, SMALLEST_SIZE,
							LARGEST_SIZE, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);

	/*
	 * Without preloading there is no such memory.  The setting must not be
	 * PGC_POSTMASTER then: the server does not let a library that is loaded
	 * later define such settings.
	 */
	DefineCustomIntVariable(
							"sware.shared_memory",
							"Sets the shared memory for zones and staged keys.",
							"At 0, or if sware is not in shared_preload_libraries, there is none.",
							&sware_shared_memory, SHARED_MEMORY_DEFAULT, 0, MAX_KILOBYTES,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER :
							PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.record_cache",
							"Sets the shared memory that remembers where the rows of keys are.",
							"At 0, or if sware is not in shared_preload_libraries, there is none.",
							&sware_record_cache, 0, 0, MAX_KILOBYTES,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER :
							PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.enable_buffer",
							 "Lets entries of this session wait in staging and in buffers.",
							 NULL, &sware_enable_buffer, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.log_min_flush_duration",
							"Sets the time from which on a piece of work for a buffer is logged.",
							"-1 logs none of them, and 0 all.",
							&sware_log_min_flush_duration, -1, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	is_preloaded = process_shared_preload_libraries_in_progress;
	DefineCustomBoolVariable("sware.use_for_keys",
							 "Gives new primary keys and unique constraints sware indexes where they can have them.",
							 NULL, &sware_use_for_keys, false,
							 PGC_USERSET, 0, check_use_for_keys, NULL, NULL);
	MarkGUCPrefixReserved("sware");
}

bytea *
sware_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{.optname = "fillfactor",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, fillfactor)},
		{.optname = "split_ratio",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, splitRatio)},
		{.optname = "deduplicate_items",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(SwareOptions, deduplicateItems)},
		{.optname = "buffer_size",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, bufferSize)},
		{.optname = "flush_fraction",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, flushFraction)},
		{.optname = "sort_threshold",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, sortThreshold)},
		{.optname = "bloom_bits",.opttype = RELOPT_TYPE_INT,
		.offset = offsetof(SwareOptions, bloomBits)},
		{.optname = "forecast_fill",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(SwareOptions, forecastFill)},
		{.optname = "group_leaves",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(SwareOptions, groupLeaves)},
		{.optname = "sware",.opttype = RELOPT_TYPE_BOOL,
		.offset = offsetof(SwareOptions, asksForSware)},
	};

	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(SwareOptions),
									  elements, lengthof(elements));
}

/* the options of an index; the defaults if it has none */
static inline const SwareOptions *
options_of(Relation index)
{
	return index->rd_options ? (const SwareOptions *) index->rd_options :
		&defaults;
}

/* percentage to which builds and bulk appends fill leaves */
int
sware_fillfactor(Relation index)
{
	return options_of(index)->fillfactor;
}

/* do leaves at the right end get room for the late entries to be expected? */
bool
sware_option_forecast(Relation index)
{
	return options_of(index)->forecastFill;
}

/* does VACUUM bring scattered leaves into the order of their keys? */
bool
sware_option_group_leaves(Relation index)
{
	return options_of(index)->groupLeaves;
}

/* percentage of a leaf that stays on the left if the rightmost one is split */
int
sware_split_ratio(Relation index)
{
	return options_of(index)->splitRatio;
}

/* quota of the buffer, in bytes; 0: no entries are staged or buffered */
Size
sware_index_buffer_size(Relation index)
{
	int			kilobytes = options_of(index)->bufferSize;

	return (Size) (kilobytes >= 0 ? kilobytes : sware_buffer_size) * 1024;
}

/*
 * percentage of the staged entries that goes to the tree when staging is full
 */
int
sware_flush_fraction(Relation index)
{
	return options_of(index)->flushFraction;
}

/* percentage of the sealed pages that scans leave unsorted; 100: all of them */
int
sware_sort_threshold(Relation index)
{
	return options_of(index)->sortThreshold;
}

/* size of Bloom filters in bits per entry; 0: there are none */
int
sware_bloom_bits(Relation index)
{
	return options_of(index)->bloomBits;
}

/* Do options as pg_class has them, or 0 if there are none, ask for sware? */
bool
sware_options_ask_for_sware(Datum reloptions)
{
	const SwareOptions *options =
		(const SwareOptions *) sware_options(reloptions, false);

	return options && options->asksForSware;
}

/*
 * Are posting lists wanted, and possible, as far as INCLUDE columns do not
 * forbid them?  Whether the types of the key allow them is another matter:
 * allEqualImage in the metapage.
 */
bool
sware_option_deduplicate(Relation index)
{
	return options_of(index)->deduplicateItems &&
		IndexRelationGetNumberOfAttributes(index) ==
		IndexRelationGetNumberOfKeyAttributes(index);
}
