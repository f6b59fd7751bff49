/*-------------------------------------------------------------------------
 *
 * directory.h
 *	  What inserts and flushes need of the directory and of buffer pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_DIRECTORY_H
#define SWARE_DIRECTORY_H

#include "buffer/sharedbuffer.h"

/* number of slots of a directory page, free ones included */
static inline int
sware_slot_count(Page page)
{
	return (((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) /
		sizeof(SwareSlot);
}

/* Is a page the buffer page that a link means?  The caller holds a lock. */
static inline bool
sware_is_buffer_page(Page page, SwareLink link)
{
	SwarePageOpaque opaque = SwarePageGetOpaque(page);

	return opaque->kind == SWARE_KIND_BUFFER &&
		opaque->incarnation == link.incarnation &&
		(opaque->flags & SWARE_DELETED) == 0;
}

static inline bool
sware_buffer_page_is_sealed(Page page)
{
	return (SwarePageGetOpaque(page)->flags & SWARE_SEALED) != 0;
}

extern Buffer sware_read_directory_page(Relation index, SwareLink link, int lockmode);
extern int	sware_buffer_directory(Relation index, SwareLink **links);

/* tails.c */
extern Buffer sware_open_tail(Relation index);
extern Buffer sware_replace_tail(Relation index, Buffer full);
extern void sware_seal_tail(Relation index, SwareLink tail);
extern bool sware_free_retired_page(Relation index, SwareLink page,
									SwareLink directory, int number);

#endif							/* SWARE_DIRECTORY_H */
