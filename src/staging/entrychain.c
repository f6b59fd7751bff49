/*-------------------------------------------------------------------------
 *
 * entrychain.c
 *	  Entries in private memory, one behind another.  See staging.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "layout/tuple.h"
#include "staging/staging.h"

/*
 * Each bin of a chain is twice as large as the one before, between these two
 * sizes.  The first one is small, since a transaction may stage for thousands
 * of indexes.
 */
#define FIRST_BIN_SIZE	((Size) 256)
#define LAST_BIN_SIZE		((Size) 256 * 1024)

Size		sware_staged_bytes = 0;

/* The memory of the current transaction's chains; NULL if there are none. */
static MemoryContext context = NULL;

/*
 * The memory context of this transaction's chains, and of what refers to them.
 * It lives until the transaction ends.
 */
MemoryContext
sware_chain_context(void)
{
	if (context == NULL)
		context = AllocSetContextCreate(TopTransactionContext, "sware staging",
										ALLOCSET_DEFAULT_SIZES);
	return context;
}

/* Forget all chains, once the transaction has ended and its memory is freed. */
void
sware_chains_are_gone(void)
{
	context = NULL;
	sware_staged_bytes = 0;
}

/* Add a bin to a chain that is large enough for an entry, and return it. */
SwareEntryBin *
sware_add_bin(SwareEntryChain *chain, Size entry_size)
{
	Size		size = chain->last == NULL ? FIRST_BIN_SIZE :
		Min(chain->last->size * 2, LAST_BIN_SIZE);
	SwareEntryBin *bin;

	while (offsetof(SwareEntryBin, data) + entry_size > size)
		size *= 2;
	bin = MemoryContextAlloc(sware_chain_context(), size);
	bin->next = NULL;
	bin->size = size;
	bin->used = offsetof(SwareEntryBin, data);
	if (chain->last)
		chain->last->next = bin;
	else
		chain->first = bin;
	chain->last = bin;
	chain->bytes += size;
	sware_staged_bytes += size;
	return bin;
}

/* Remove all entries of a chain, and free its memory. */
void
sware_clear_chain(SwareEntryChain *chain)
{
	while (chain->first)
	{
		SwareEntryBin *bin = chain->first;

		chain->first = bin->next;
		pfree(bin);
	}
	chain->last = NULL;
	sware_staged_bytes -= chain->bytes;
	chain->bytes = 0;
}

/*
 * Remove the entries that were added after `end` was taken by sware_chain_end.
 */
void
sware_cut_chain(SwareEntryChain *chain, SwareChainPlace end)
{
	SwareEntryChain dropped = {0};

	if (end.bin == NULL)
	{
		sware_clear_chain(chain);
		return;
	}
	dropped.first = end.bin->next;
	for (SwareEntryBin *bin = dropped.first; bin; bin = bin->next)
		dropped.bytes += bin->size;
	chain->bytes -= dropped.bytes;
	sware_clear_chain(&dropped);

	end.bin->next = NULL;
	end.bin->used = end.used;
	chain->last = end.bin;
}

/*
 * Return pointers to all entries, of which there are `count`, in their order.
 * The array is allocated in the current memory context, the entries stay in
 * the chain.
 */
IndexTuple *
sware_chain_entries(SwareEntryChain *chain, int64 count)
{
	IndexTuple *entries = MemoryContextAllocHuge(CurrentMemoryContext,
												 count * sizeof(IndexTuple));
	SwareChainPlace place = sware_chain_begin;

	for (int64 i = 0; i < count; i++)
		entries[i] = sware_chain_next(chain, &place);
	return entries;
}

/*
 * Make a chain of copies of entries.  If there is no more memory, an error is
 * raised, and the chain is empty.
 */
void
sware_copy_to_chain(SwareEntryChain *chain, IndexTuple *entries, int64 count)
{
	memset(chain, 0, sizeof(SwareEntryChain));
	PG_TRY();
	{
		for (int64 i = 0; i < count; i++)
		{
			Size		size = IndexTupleSize(entries[i]);

			sware_prefetch_entry(entries, i, count);
			sware_copy_tuple(sware_reserve(chain, size), entries[i]);
			sware_add_reserved(chain, size);
		}
	}
	PG_CATCH();
	{
		sware_clear_chain(chain);
		PG_RE_THROW();
	}
	PG_END_TRY();
}
