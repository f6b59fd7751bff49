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

/* all sizes are in kilobytes */
#define BUFFER_SIZE_DEFAULT		(16 * 1024)
#define STAGING_SIZE_DEFAULT	(16 * 1024)
#define SMALLEST_SIZE			64
#define LARGEST_SIZE			(4 * 1024 * 1024)
#define SHARED_MEMORY_DEFAULT	(64 * 1024)

/* an option of indexes */
typedef struct Option
{
	const char *name;
	int			offset;			/* in SwareOptions */
	int			usual;
	int			least;
	int			most;			/* 0: the option is a boolean */
	const char *description;
} Option;

static const Option known[] = {
	/* 10 is nbtree's, too */
	{"fillfactor", offsetof(SwareOptions, fillfactor), 95, 10, 100,
	"Percentage to which builds and bulk appends fill leaf pages"},
	{"deduplicate_items", offsetof(SwareOptions, deduplicateItems), true, 0, 0,
	"Stores equal keys once, with a list of row locations"},
	{"buffer_size", offsetof(SwareOptions, bufferSize), -1, -1, LARGEST_SIZE,
	"Quota of the buffer, in kilobytes; 0 means that nothing waits, -1 the setting sware.buffer_size"},
	{"flush_fraction", offsetof(SwareOptions, flushFraction), 50, 1, 100,
	"Percentage of a full staging that goes to the tree"},
	{"sort_threshold", offsetof(SwareOptions, sortThreshold), 10, 1, 100,
	"Percentage of the buffer that scans leave unsorted; at 100 they sort nothing"},
	{"bloom_bits", offsetof(SwareOptions, bloomBits), 10, 0, 32,
	"Size of Bloom filters of the buffer, in bits per entry; at 0 there are none"},
	{"forecast_fill", offsetof(SwareOptions, forecastFill), false, 0, 0,
	"Fills leaf pages at the right end as the share of late entries asks for"},
	{"group_leaves", offsetof(SwareOptions, groupLeaves), false, 0, 0,
	"Lets VACUUM bring scattered leaf pages into the order of their keys"},
	{"sware", offsetof(SwareOptions, asksForSware), false, 0, 0,
	"Asks for a sware index where a primary key or unique constraint makes one"},
};

static relopt_kind options_kind;
static relopt_parse_elt elements[lengthof(known)];
static SwareOptions defaults;	/* of an index without options */

int			sware_staging_size = STAGING_SIZE_DEFAULT;
int			sware_buffer_size = BUFFER_SIZE_DEFAULT;
int			sware_shared_memory = 0;
int			sware_record_cache = 0;
int			sware_log_min_flush_duration = -1;
int			sware_flush_workers = 1;
bool		sware_enable_buffer = true;
bool		sware_prefetch = true;
bool		sware_use_for_keys = false;

/* is the library one that all sessions have? */
static bool is_preloaded = false;

void
sware_register_options(void)
{
	/* no option changes the meaning of pages that other sessions have read */
	const LOCKMODE lockmode = ShareUpdateExclusiveLock;

	options_kind = add_reloption_kind();
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		const Option *option = &known[i];

		elements[i].optname = option->name;
		elements[i].opttype = option->most > 0 ? RELOPT_TYPE_INT :
			RELOPT_TYPE_BOOL;
		elements[i].offset = option->offset;
		if (option->most > 0)
			add_int_reloption(options_kind, option->name, option->description,
							  option->usual, option->least, option->most,
							  lockmode);
		else
			add_bool_reloption(options_kind, option->name, option->description,
							   option->usual, lockmode);
	}
	defaults = *(SwareOptions *) sware_options((Datum) 0, false);
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
	is_preloaded = process_shared_preload_libraries_in_progress;
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
	 * Without preloading there is no shared memory.  Its settings must not be
	 * PGC_POSTMASTER then: the server does not let a library that is loaded
	 * later define such settings.
	 */
	DefineCustomIntVariable(
							"sware.shared_memory",
							"Sets the shared memory for zones and staged keys.",
							"At 0, or if sware is not in shared_preload_libraries, there is none.",
							&sware_shared_memory, SHARED_MEMORY_DEFAULT, 0, MAX_KILOBYTES,
							is_preloaded ? PGC_POSTMASTER : PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.record_cache",
							"Sets the shared memory that remembers where the rows of keys are.",
							"At 0, or if sware is not in shared_preload_libraries, there is none.",
							&sware_record_cache, 0, 0, MAX_KILOBYTES,
							is_preloaded ? PGC_POSTMASTER : PGC_SIGHUP,
							GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.flush_workers",
							"Sets how many background workers may flush buffers at a time.",
							"Each works for one database. At 0, or if sware is not in shared_preload_libraries, inserters flush.",
							&sware_flush_workers, 1, 0, SWARE_MAX_FLUSH_WORKERS,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.enable_buffer",
							 "Lets entries of this session wait in staging and in buffers.",
							 NULL, &sware_enable_buffer, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.prefetch",
							 "Lets index scans ask for pages of the table before they are read.",
							 "They ask for effective_io_concurrency pages at most.",
							 &sware_prefetch, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
							"sware.log_min_flush_duration",
							"Sets the time from which on a piece of work for a buffer is logged.",
							"-1 logs none of them, and 0 all.",
							&sware_log_min_flush_duration, -1, -1, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("sware.use_for_keys",
							 "Gives new primary keys and unique constraints sware indexes where they can have them.",
							 NULL, &sware_use_for_keys, false,
							 PGC_USERSET, 0, check_use_for_keys, NULL, NULL);
	MarkGUCPrefixReserved("sware");
}

bytea *
sware_options(Datum reloptions, bool validate)
{
	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(SwareOptions),
									  elements, lengthof(elements));
}

const SwareOptions *
sware_options_of(Relation index)
{
	return index->rd_options ? (const SwareOptions *) index->rd_options :
		&defaults;
}

/* quota of the buffer, in bytes; 0: no entries are staged or buffered */
Size
sware_index_buffer_size(Relation index)
{
	int			kilobytes = sware_options_of(index)->bufferSize;

	return (Size) (kilobytes >= 0 ? kilobytes : sware_buffer_size) * 1024;
}

/* Do options as pg_class has them, or 0 if there are none, ask for sware? */
bool
sware_options_ask_for_sware(Datum reloptions)
{
	return ((SwareOptions *) sware_options(reloptions, false))->asksForSware;
}

/*
 * Are posting lists wanted, and possible, as far as INCLUDE columns do not
 * forbid them?  Whether the types of the key allow them is another matter:
 * allEqualImage in the metapage.
 */
bool
sware_option_deduplicate(Relation index)
{
	return sware_options_of(index)->deduplicateItems &&
		IndexRelationGetNumberOfAttributes(index) ==
		IndexRelationGetNumberOfKeyAttributes(index);
}
