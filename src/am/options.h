/*-------------------------------------------------------------------------
 *
 * options.h
 *	  Options of an index (WITH clause).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_OPTIONS_H
#define SWARE_OPTIONS_H

#include "utils/rel.h"

extern void sware_register_options(void);
extern void sware_define_settings(void);
extern bytea *sware_options(Datum reloptions, bool validate);

extern int	sware_fillfactor(Relation index);
extern int	sware_split_ratio(Relation index);
extern Size sware_index_buffer_size(Relation index);
extern int	sware_flush_fraction(Relation index);
extern int	sware_sort_threshold(Relation index);
extern int	sware_bloom_bits(Relation index);
extern bool sware_option_deduplicate(Relation index);

#endif							/* SWARE_OPTIONS_H */
