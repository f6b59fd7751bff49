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

/* settings; sizes are in kilobytes */
extern int	sware_staging_size; /* private memory for staged entries */
extern int	sware_buffer_size;	/* quota of an index's buffer */
extern int	sware_shared_memory;	/* for zones and staged keys; 0: none */
extern int	sware_record_cache; /* shared memory for records of keys; 0: none */
extern int	sware_log_min_flush_duration;	/* in ms; -1: log nothing */
extern bool sware_enable_buffer;	/* may entries wait in staging and
									 * buffers? */
extern bool sware_use_for_keys; /* do new keys get sware indexes? */

/* Register the options, in _PG_init. */
extern void sware_register_options(void);

/* Define the settings, in _PG_init, after all others with the same prefix. */
extern void sware_define_settings(void);

/* The amoptions callback. */
extern bytea *sware_options(Datum reloptions, bool validate);

/* the values of an index's options; options.c says what each means */
extern int	sware_fillfactor(Relation index);
extern bool sware_option_forecast(Relation index);
extern bool sware_option_group_leaves(Relation index);
extern int	sware_split_ratio(Relation index);
extern Size sware_index_buffer_size(Relation index);
extern int	sware_flush_fraction(Relation index);
extern int	sware_sort_threshold(Relation index);
extern int	sware_bloom_bits(Relation index);
extern bool sware_option_deduplicate(Relation index);
extern bool sware_options_ask_for_sware(Datum reloptions);

#endif							/* SWARE_OPTIONS_H */
