/*-------------------------------------------------------------------------
 *
 * options.h
 *	  Settings (GUCs), and options of an index (WITH clause).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_OPTIONS_H
#define SWARE_OPTIONS_H

#include "utils/rel.h"

/* the largest value of sware.flush_workers */
#define SWARE_MAX_FLUSH_WORKERS	16

/* settings; sizes are in kilobytes */
extern int	sware_staging_size; /* private memory for staged entries */
extern int	sware_buffer_size;	/* quota of an index's buffer */
extern int	sware_shared_memory;	/* for zones and staged keys; 0: none */
extern int	sware_record_cache; /* shared memory for records of keys; 0: none */
extern int	sware_flush_workers;	/* at a time; 0: inserters flush */
extern int	sware_log_min_flush_duration;	/* in ms; -1: log nothing */
extern bool sware_enable_buffer;	/* may entries wait in staging and
									 * buffers? */
extern bool sware_prefetch;		/* do scans ask for pages of the table? */
extern bool sware_use_for_keys; /* do new keys get sware indexes? */

/*
 * The parsed options of an index, which are a varlena in the relation cache.
 * options.c tells what they mean.
 */
typedef struct SwareOptions
{
	int32		varlenaHeader;
	int			fillfactor;		/* in percent, as those without another unit */
	bool		deduplicateItems;	/* see sware_option_deduplicate */
	int			bufferSize;		/* in kilobytes; -1: as the setting says */
	int			flushFraction;
	int			sortThreshold;
	int			bloomBits;		/* for each entry; 0: no filters */
	bool		forecastFill;
	bool		groupLeaves;
	bool		asksForSware;
} SwareOptions;

/* Register the options, in _PG_init. */
extern void sware_register_options(void);

/* Define the settings, in _PG_init, after all others with the same prefix. */
extern void sware_define_settings(void);

/* The amoptions callback. */
extern bytea *sware_options(Datum reloptions, bool validate);

/* Return the options of an index; the defaults if it has none. */
extern const SwareOptions *sware_options_of(Relation index);

extern Size sware_index_buffer_size(Relation index);
extern bool sware_option_deduplicate(Relation index);
extern bool sware_options_ask_for_sware(Datum reloptions);

#endif							/* SWARE_OPTIONS_H */
