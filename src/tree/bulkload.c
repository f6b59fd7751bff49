/*-------------------------------------------------------------------------
 *
 * bulkload.c
 *	  Builds a tree bottom-up from all of its entries, which come in order.
 *
 * No other session can see the file yet.  So the pages are written past the
 * buffer manager, each of them once, and nothing is locked.  If the
 * transaction aborts, the file is dropped.
 *
 * A page is written when its right sibling's block number and its high key are
 * known, so each level has one page under construction.  A page gets its block
 * number when it is started.  Leaves therefore follow each other in the file,
 * except for an internal page here and there.  That is written later than the
 * leaves around it, and until then its block has zeroes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "storage/smgr.h"
#include "tree/treepages.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/cache.h"
#include "pages/pageaccess.h"
#include "tree/tree.h"
#include "wal/wal.h"

/* how full internal pages are made, in percent */
#define INTERNAL_FILLFACTOR		90

/* all built pages have this incarnation */
#define BUILD_INCARNATION		1

/* the alignment that direct I/O needs, in bytes */
#define IO_ALIGNMENT			4096

/* The page of a level that is under construction. */
typedef struct LoadLevel
{
	uint16		level;			/* 0 is the leaf level */
	SwareLink	link;			/* this page */
	SwarePacking packing;
	struct LoadLevel *parent;	/* the level above; NULL for the top level */
} LoadLevel;

struct SwareBulkload
{
	Relation	index;
	ForkNumber	fork;
	bool		allEqualImage;
	MemoryContext context;		/* freed when the build ends */
	MemoryContext scratch;		/* emptied after each leaf */
	LoadLevel  *leaf;
	BlockNumber nextBlock;		/* the next page's number */
	BlockNumber written;		/* the number of blocks that the file has */
	Page		zeroes;			/* the content of blocks that are skipped */
};

/* Allocate a page of zeroes. */
static Page
new_page(SwareBulkload *load)
{
	char	   *memory =
		MemoryContextAllocZero(load->context, BLCKSZ + IO_ALIGNMENT);

	return (Page) TYPEALIGN(IO_ALIGNMENT, memory);
}

/*
 * Log and write a page.  A block that is skipped has zeroes until it is
 * written.
 */
static void
write_page(SwareBulkload *load, BlockNumber block, Page page)
{
	SMgrRelation file = RelationGetSmgr(load->index);

	sware_wal_write_new_page(load->index, load->fork, block, page);
	while (load->written < block)
		smgrextend(file, load->fork, load->written++, (char *) load->zeroes,
				   true);
	sware_set_checksum(page, block);
	if (load->written == block)
		smgrextend(file, load->fork, load->written++, (char *) page,
				   true);
	else
		smgrwrite(file, load->fork, block, (char *) page, true);
}

static SwareLink
new_block(SwareBulkload *load)
{
	SwareLink	link;

	if (load->nextBlock == MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" would become too large",
						RelationGetRelationName(load->index))));

	link.block = load->nextBlock++;
	link.incarnation = BUILD_INCARNATION;
	return link;
}

static LoadLevel *
new_level(SwareBulkload *load, uint16 number)
{
	LoadLevel  *level =
		MemoryContextAllocZero(load->context, sizeof(LoadLevel));
	int			percent = number == 0 ?
		sware_options_of(load->index)->fillfactor : INTERNAL_FILLFACTOR;

	level->level = number;
	level->link = new_block(load);
	level->packing.index = load->index;
	level->packing.merges = number == 0 && load->allEqualImage &&
		sware_option_deduplicate(load->index);
	level->packing.fill = SWARE_PAGE_CAPACITY * percent / 100;
	sware_pack_page(&level->packing, new_page(load), number,
					BUILD_INCARNATION);
	return level;
}

static void add_item(SwareBulkload *load, LoadLevel *level, IndexTuple item);

/*
 * Write a level's page, which is full, and start its right sibling with the
 * item that the packing has kept back.
 */
static void
next_page(SwareBulkload *load, LoadLevel *level)
{
	SwarePacking *packing = &level->packing;
	Page		page = packing->page;
	IndexTuple	next = &packing->last.tuple;
	IndexTuple	pivot = level->level == 0 ?
		sware_form_pivot(load->index, sware_last_packed(packing), next) :
		sware_form_high_key(next);
	SwareLink	left = level->link;
	SwareLink	right = new_block(load);

	sware_set_high_key(page, pivot);
	SwarePageGetOpaque(page)->right = right;
	write_page(load, left.block, page);

	if (level->parent == NULL)
	{
		level->parent = new_level(load, level->level + 1);
		add_item(load, level->parent, sware_form_minus_infinity(left));
	}
	add_item(load, level->parent, sware_form_downlink(pivot, right));

	level->link = right;
	sware_pack_page(packing, page, level->level, BUILD_INCARNATION);
	SwarePageGetOpaque(page)->left = left;
}

/* Add an item behind the others of a level; NULL at the end. */
static void
add_item(SwareBulkload *load, LoadLevel *level, IndexTuple item)
{
	while (!sware_pack(&level->packing, item))
		next_page(load, level);
}

/*
 * Start to build the tree of an index, in a fork whose file is empty: the
 * initialisation fork of an unlogged index gets an empty tree.
 */
SwareBulkload *
sware_bulkload_begin(Relation index, ForkNumber fork)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware bulk load",
												  ALLOCSET_DEFAULT_SIZES);
	SwareBulkload *load =
		MemoryContextAllocZero(context, sizeof(SwareBulkload));

	load->index = index;
	load->fork = fork;
	load->allEqualImage = _bt_allequalimage(index, false);
	load->context = context;
	load->scratch = AllocSetContextCreate(context, "sware bulk load scratch",
										  ALLOCSET_DEFAULT_SIZES);

	load->zeroes = new_page(load);
	load->nextBlock = SWARE_FIRST_ROOT;
	load->leaf = new_level(load, 0);
	return load;
}

/* Add an entry.  The caller adds all of them in order. */
void
sware_bulkload_add(SwareBulkload *load, IndexTuple entry)
{
	MemoryContext caller = MemoryContextSwitchTo(load->scratch);

	while (!sware_pack(&load->leaf->packing, entry))
	{
		CHECK_FOR_INTERRUPTS();
		next_page(load, load->leaf);
		MemoryContextReset(load->scratch);
	}
	MemoryContextSwitchTo(caller);
}

/* Write the pages that are left, the metapage last, and free everything. */
void
sware_bulkload_finish(SwareBulkload *load)
{
	Relation	index = load->index;
	LoadLevel  *root = NULL;

	for (LoadLevel *level = load->leaf; level != NULL; level = level->parent)
	{
		add_item(load, level, NULL);
		write_page(load, level->link.block, level->packing.page);
		root = level;
	}
	sware_init_metapage(load->zeroes, root->link, root->level,
						load->allEqualImage);
	write_page(load, SWARE_METAPAGE, load->zeroes);

	/*
	 * Sync the file.  A checkpoint that began after the pages were logged has
	 * not synced them, since they are not in shared buffers.
	 */
	if (!RelationUsesLocalBuffers(index))
		smgrimmedsync(RelationGetSmgr(index), load->fork);

	sware_cache_forget(index);
	MemoryContextDelete(load->context);
}
