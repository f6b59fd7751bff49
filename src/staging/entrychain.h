/*-------------------------------------------------------------------------
 *
 * entrychain.h
 *	  Entries in private memory, one behind another.
 *
 * A chain is a list of pieces of memory called bins.  The first has a few
 * hundred bytes, and each next one is larger: a transaction may have thousands
 * of chains, or one of many megabytes.  All chains of a transaction are in one
 * memory context, and the sizes of their bins are added up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_ENTRYCHAIN_H
#define SWARE_ENTRYCHAIN_H

#include "access/itup.h"

typedef struct SwareEntryBin
{
	struct SwareEntryBin *next;
	Size		size;			/* of the bin, in bytes, this header included */
	Size		used;			/* bytes in use, this header included */
	char		data[FLEXIBLE_ARRAY_MEMBER];
} SwareEntryBin;

/* The entries, in the order in which they came.  All zero if there are none. */
typedef struct SwareEntryChain
{
	SwareEntryBin *first;
	SwareEntryBin *last;
	Size		bytes;			/* sum of the bins' sizes */
} SwareEntryChain;

/*
 * A place between two entries of a chain: its end at some time, to which it can
 * be cut later, or how far it has been read.
 */
typedef struct SwareChainPlace
{
	SwareEntryBin *bin;			/* the bin of the entry before the place; NULL
								 * if the place is where the chain begins */
	Size		used;			/* bytes of the bin before the place */
} SwareChainPlace;

/* The place where every chain begins. */
static const SwareChainPlace sware_chain_begin = {NULL, 0};

/* sum of the sizes of all chains' bins */
extern Size sware_staged_bytes;

extern MemoryContext sware_chain_context(void);
extern void sware_chains_are_gone(void);
extern SwareEntryBin *sware_add_bin(SwareEntryChain *chain, Size entry_size);
extern void sware_clear_chain(SwareEntryChain *chain);
extern void sware_cut_chain(SwareEntryChain *chain, SwareChainPlace end);
extern IndexTuple *sware_chain_entries(SwareEntryChain *chain, int64 count);
extern void sware_add_copy(SwareEntryChain *chain, IndexTuple entry);
extern void sware_copy_to_chain(SwareEntryChain *chain, IndexTuple *entries,
								int64 count);

/*
 * Return room for an entry at the end of a chain.  The entry becomes part of
 * the chain by sware_add_reserved.
 */
static inline IndexTuple
sware_reserve(SwareEntryChain *chain, Size size)
{
	SwareEntryBin *bin = chain->last;

	if (unlikely(bin == NULL || bin->used + size > bin->size))
		bin = sware_add_bin(chain, size);
	return (IndexTuple) ((char *) bin + bin->used);
}

/* Add the entry of the given size for which room was reserved. */
static inline void
sware_add_reserved(SwareEntryChain *chain, Size size)
{
	chain->last->used += size;
}

/* The end of a chain as it is now, for sware_cut_chain. */
static inline SwareChainPlace
sware_chain_end(const SwareEntryChain *chain)
{
	SwareChainPlace end = {chain->last, chain->last ? chain->last->used : 0};

	return end;
}

/*
 * Return the entry behind a place, and move the place behind it; NULL at the
 * end of the chain.
 */
static inline IndexTuple
sware_chain_next(const SwareEntryChain *chain, SwareChainPlace *place)
{
	SwareEntryBin *bin = place->bin;
	IndexTuple	entry;

	while (bin == NULL || place->used == bin->used)
	{
		bin = bin == NULL ? chain->first : bin->next;
		if (bin == NULL)
			return NULL;
		place->bin = bin;
		place->used = offsetof(SwareEntryBin, data);
	}
	entry = (IndexTuple) ((char *) bin + place->used);
	place->used += IndexTupleSize(entry);
	return entry;
}

#endif							/* SWARE_ENTRYCHAIN_H */
