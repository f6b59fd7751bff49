/*-------------------------------------------------------------------------
 *
 * tails.h
 *	  Opening, sealing and freeing buffer pages.  A tail is an open one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TAILS_H
#define SWARE_TAILS_H

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "base/faultpoint.h"
#include "layout/page.h"

/* how many slots a directory may have */
static inline int
sware_directory_limit(void)
{
	if (SWARE_FAULT_SETTING(directory_slots) > 0)
		return SWARE_FAULT_SETTING(directory_slots);
	return sware_first_slot(SWARE_MAX_DIRECTORY_PAGES);
}

/* how many of them may be on a directory page */
static inline int
sware_directory_page_limit(int directory_page)
{
	return Min(SWARE_SLOTS_PER_PAGE,
			   sware_directory_limit() - sware_first_slot(directory_page));
}

extern Buffer sware_open_tail(Relation index);
extern Buffer sware_replace_tail(Relation index, Buffer full,
								 uint32 *sequence);
extern void sware_seal_tail(Relation index, SwareLink tail);
extern Buffer sware_try_retired_page(Relation index, SwareLink page);
extern void sware_add_directory_page(Relation index, int pages);
extern void sware_free_retired_page(Relation index, SwareLink page,
									SwareLink directory, int slot);

#endif							/* SWARE_TAILS_H */
