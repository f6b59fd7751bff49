/*-------------------------------------------------------------------------
 *
 * bulkload.c
 *	  Building a tree from all of its entries, bottom-up.
 *
 * Nobody else can see the file: the pages are written past the buffer
 * manager, each once, and nothing is locked.  An abort drops the file.
 *
 * A page can be written once its right sibling's block number and its high
 * key are known, so there is one page under construction per level.  Blocks
 * are numbered when a page is started.  Leaves therefore follow each other in
 * the file, but for the number of an internal page here and there, which is
 * written later than the leaves around it; until then the file has zeroes in
 * that place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/checksum.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "base/options.h"
#include "keys/entry.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/bulkload.h"
#include "tree/cache.h"
#include "tree/pagewrite.h"
#include "wal/wal.h"

/* to which internal pages are filled, in percent */
#define INTERNAL_FILLFACTOR		90

/* pages written and logged at once */
#define BATCH_PAGES				32

/* all built pages have this incarnation */
#define BUILD_INCARNATION		1

/* direct I/O wants pages aligned like this */
#define IO_ALIGNMENT			4096

/* the page of a level that is under construction */
typedef struct LoadLevel
{
	uint16		level;			/* 0 is the leaf level */
	SwareLink	link;			/* this page */
	SwareLink	left;			/* its left sibling, already written */
	Size		target;			/* how much of the page's room to use */
	Size		space;			/* room that the items take */
	int			count;			/* number of items, high key not included */
	IndexTuple	tuples[SWARE_MAX_ITEMS_PER_PAGE];	/* in `data` */
	Size		dataUsed;
	char	   *data;
	char	   *otherData;		/* for the next page */
	struct LoadLevel *parent;	/* NULL for the top level */
} LoadLevel;

struct SwareBulkload
{
	Relation	index;
	bool		allEqualImage;
	bool		deduplicate;
	MemoryContext context;		/* lives as long as this */
	MemoryContext scratch;		/* emptied after each leaf */
	LoadLevel  *leaf;
	BlockNumber nextBlock;		/* to be given to the next page */
	BlockNumber written;		/* size of the file */
	BlockNumber batchFirst;		/* block of the first page of the batch */
	int			batchCount;
	Page		batch[BATCH_PAGES];
};

/*
 * Writing
 */

/* Log, extend the file by, and forget the pages of the batch. */
static void
write_batch(SwareBulkload *load)
{
	if (load->batchCount == 0)
		return;

	sware_wal_write_new_pages(load->index, MAIN_FORKNUM, load->batchFirst,
							  load->batch, load->batchCount);

	if (load->written < load->batchFirst)
	{
		char	   *zeroes =
			(char *) TYPEALIGN(IO_ALIGNMENT,
							   MemoryContextAllocZero(load->scratch,
													  BLCKSZ + IO_ALIGNMENT));

		while (load->written < load->batchFirst)
			smgrextend(RelationGetSmgr(load->index), MAIN_FORKNUM,
					   load->written++, zeroes, true);
	}

	for (int i = 0; i < load->batchCount; i++)
	{
		PageSetChecksumInplace(load->batch[i], load->written);
		smgrextend(RelationGetSmgr(load->index), MAIN_FORKNUM,
				   load->written++, (char *) load->batch[i], true);
	}
	load->batchCount = 0;
}

/*
 * Where to make the page for a block, which must be passed to finish_write
 * before the next call.
 */
static Page
begin_write(SwareBulkload *load, BlockNumber block)
{
	if (load->batchCount == BATCH_PAGES ||
		block != load->batchFirst + load->batchCount)
		write_batch(load);
	if (load->batchCount == 0)
		load->batchFirst = block;
	return load->batch[load->batchCount];
}

static void
finish_write(SwareBulkload *load, BlockNumber block)
{
	Page		page = load->batch[load->batchCount];

	if (block >= load->written)
	{
		load->batchCount++;		/* behind the end of the file */
		return;
	}

	/* in a hole that was left for it */
	Assert(load->batchCount == 0);
	sware_wal_write_new_pages(load->index, MAIN_FORKNUM, block, &page, 1);
	PageSetChecksumInplace(page, block);
	smgrwrite(RelationGetSmgr(load->index), MAIN_FORKNUM, block, (char *) page,
			  true);
}

/* Write the page of a level; the high key is NULL if it is the rightmost. */
static void
write_level_page(SwareBulkload *load, LoadLevel *level, IndexTuple high_key,
				 SwareLink right)
{
	Page		page = begin_write(load, level->link.block);
	SwarePageOpaque opaque;

	sware_init_page(page,
					level->level == 0 ? SWARE_KIND_LEAF : SWARE_KIND_INTERNAL,
					level->level, BUILD_INCARNATION);
	opaque = SwarePageGetOpaque(page);
	opaque->left = level->left;
	opaque->right = right;
	sware_write_items(page, high_key, level->tuples, level->count);
	finish_write(load, level->link.block);
}

/*
 * Filling pages
 */

static SwareLink
no_link(void)
{
	SwareLink	link = {.block = InvalidBlockNumber};

	return link;
}

/* The link to a new page. */
static SwareLink
new_page(SwareBulkload *load)
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
	LoadLevel  *level = MemoryContextAlloc(load->context, sizeof(LoadLevel));
	int			percent = number == 0 ? sware_fillfactor(load->index) :
		INTERNAL_FILLFACTOR;

	level->level = number;
	level->link = new_page(load);
	level->left = no_link();
	level->target = SWARE_PAGE_CAPACITY * percent / 100;
	level->space = sizeof(ItemIdData);	/* the high key's line pointer */
	level->count = 0;
	level->dataUsed = 0;
	level->data = MemoryContextAlloc(load->context, BLCKSZ);
	level->otherData = MemoryContextAlloc(load->context, BLCKSZ);
	level->parent = NULL;
	return level;
}

static void
append_tuple(LoadLevel *level, IndexTuple tuple)
{
	IndexTuple	copy = (IndexTuple) (level->data + level->dataUsed);
	Size		size = IndexTupleSize(tuple);

	Assert(level->space + sware_item_space(tuple) <= SWARE_PAGE_CAPACITY);
	memcpy(copy, tuple, size);
	level->tuples[level->count++] = copy;
	level->dataUsed += MAXALIGN(size);
	level->space += sware_item_space(tuple);
}

/*
 * Is there room for this much more?  Besides the fill factor, the page needs
 * room for a high key, which is expected to be as large as the key at hand;
 * when it is not, some tuples go to the next page.
 */
static inline bool
has_room(LoadLevel *level, Size more, Size key_size)
{
	Size		used = level->space + more;

	return used <= level->target &&
		used + key_size + SWARE_SUFFIX_SIZE <= SWARE_PAGE_CAPACITY;
}

static void add_downlink(SwareBulkload *load, LoadLevel *level,
						 IndexTuple downlink);

/* The pivot between two neighbours of a level. */
static IndexTuple
pivot_between(SwareBulkload *load, LoadLevel *level, IndexTuple left,
			  IndexTuple right)
{
	return level->level == 0 ?
		sware_form_pivot(load->index, left, right) :
		sware_form_high_key(right);
}

/*
 * Write a level's page, and go on with the next one.  `next` is the tuple
 * to come behind those that the page has.
 */
static void
next_page(SwareBulkload *load, LoadLevel *level, IndexTuple next)
{
	IndexTuple	moved[SWARE_MAX_ITEMS_PER_PAGE];
	int			moved_count = 0;
	int			keep_at_least = level->level == 0 ? 1 : 2;
	IndexTuple	pivot;
	SwareLink	right;
	char	   *data = level->data;

	/* what makes the high key fit goes to the next page */
	for (;;)
	{
		IndexTuple	last = level->tuples[level->count - 1];

		pivot = pivot_between(load, level, last, next);
		if (level->space + MAXALIGN(IndexTupleSize(pivot)) <=
			SWARE_PAGE_CAPACITY)
			break;
		if (level->count <= keep_at_least)
			elog(ERROR, "high key of index \"%s\" does not fit on its page",
				 RelationGetRelationName(load->index));
		moved[moved_count++] = last;
		level->count--;
		level->space -= sware_item_space(last);
		next = last;
	}

	right = new_page(load);
	write_level_page(load, level, pivot, right);

	if (level->parent == NULL)
	{
		level->parent = new_level(load, level->level + 1);
		append_tuple(level->parent, sware_form_minus_infinity(level->link));
	}
	add_downlink(load, level->parent, sware_form_downlink(pivot, right));

	level->left = level->link;
	level->link = right;
	level->count = 0;
	level->space = sizeof(ItemIdData);
	level->dataUsed = 0;
	level->data = level->otherData;
	level->otherData = data;

	while (moved_count > 0)
	{
		IndexTuple	tuple = moved[--moved_count];

		if (level->level > 0 && level->count == 0)
			tuple = sware_form_minus_infinity(sware_pivot_link(tuple));
		append_tuple(level, tuple);
	}
}

static void
add_downlink(SwareBulkload *load, LoadLevel *level, IndexTuple downlink)
{
	Size		size = MAXALIGN(IndexTupleSize(downlink));

	while (level->count >= 2 &&
		   !has_room(level, size + sizeof(ItemIdData), size))
		next_page(load, level, downlink);

	if (level->count == 0)
		downlink = sware_form_minus_infinity(sware_pivot_link(downlink));
	append_tuple(level, downlink);
}

/*
 * Put an entry into the last tuple of the leaf, if that has the same key and
 * there is room.  The tuple is the last in `data`, so it can grow in place.
 */
static bool
extend_last_tuple(SwareBulkload *load, LoadLevel *leaf, IndexTuple entry)
{
	IndexTuple	last;
	Size		key_size;
	Size		old_size;
	Size		new_size;
	int			count;
	ItemPointerData first_tid;

	if (leaf->count == 0)
		return false;

	last = leaf->tuples[leaf->count - 1];
	key_size = sware_leaf_tuple_key_size(last);
	count = sware_leaf_tuple_tid_count(last) + 1;
	old_size = IndexTupleSize(last);
	new_size = MAXALIGN(key_size + count * sizeof(ItemPointerData));
	if (new_size > SWARE_MAX_POSTING_SIZE ||
		!has_room(leaf, new_size - old_size, key_size) ||
		!sware_keys_equal_image(load->index, last, entry))
		return false;

	if (count == 2)
	{
		first_tid = last->t_tid;
		last->t_info |= SWARE_SPECIAL_TUPLE;
	}
	if (new_size > old_size)
		memset((char *) last + old_size, 0, new_size - old_size);
	last->t_info = (last->t_info & ~INDEX_SIZE_MASK) | new_size;
	ItemPointerSet(&last->t_tid, key_size, SWARE_IS_POSTING | count);
	if (count == 2)
		sware_posting_tids(last)[0] = first_tid;
	sware_posting_tids(last)[count - 1] = entry->t_tid;

	leaf->dataUsed += new_size - old_size;
	leaf->space += new_size - old_size;
	return true;
}

/*
 * Interface
 */

/* Start to build the tree of an index whose file is empty. */
SwareBulkload *
sware_bulkload_begin(Relation index)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "sware bulk load",
												  ALLOCSET_DEFAULT_SIZES);
	SwareBulkload *load =
		MemoryContextAllocZero(context, sizeof(SwareBulkload));
	char	   *pages;

	load->index = index;
	load->allEqualImage = sware_all_equal_image(index);
	load->deduplicate = load->allEqualImage && sware_option_deduplicate(index);
	load->context = context;
	load->scratch = AllocSetContextCreate(context, "sware bulk load scratch",
										  ALLOCSET_DEFAULT_SIZES);

	pages =
		(char *) TYPEALIGN(IO_ALIGNMENT,
						   MemoryContextAlloc(context, BATCH_PAGES * BLCKSZ +
											  IO_ALIGNMENT));
	for (int i = 0; i < BATCH_PAGES; i++)
		load->batch[i] = (Page) (pages + i * BLCKSZ);

	load->nextBlock = SWARE_FIRST_ROOT;
	load->leaf = new_level(load, 0);
	return load;
}

/* Add an entry; all come in order. */
void
sware_bulkload_add(SwareBulkload *load, IndexTuple entry)
{
	LoadLevel  *leaf = load->leaf;
	Size		size = MAXALIGN(IndexTupleSize(entry));

	if (load->deduplicate && extend_last_tuple(load, leaf, entry))
		return;

	while (leaf->count >= 1 && !has_room(leaf, size + sizeof(ItemIdData), size))
	{
		MemoryContext old_context = MemoryContextSwitchTo(load->scratch);

		CHECK_FOR_INTERRUPTS();
		next_page(load, leaf, entry);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(load->scratch);
	}
	append_tuple(leaf, entry);
}

/* Write what is left, the metapage last, and free everything. */
void
sware_bulkload_finish(SwareBulkload *load)
{
	Relation	index = load->index;
	LoadLevel  *root = load->leaf;
	Page		page;

	write_level_page(load, root, NULL, no_link());
	while (root->parent != NULL)
	{
		root = root->parent;
		write_level_page(load, root, NULL, no_link());
	}
	write_batch(load);

	page = begin_write(load, SWARE_METAPAGE);
	sware_init_metapage(page, root->link, root->level, load->allEqualImage);
	finish_write(load, SWARE_METAPAGE);

	/*
	 * The pages did not go through shared buffers, so a checkpoint that has
	 * moved the redo pointer past their WAL has not synced them.
	 */
	if (!RelationUsesLocalBuffers(index))
		smgrimmedsync(RelationGetSmgr(index), MAIN_FORKNUM);

	sware_cache_forget(index);
	MemoryContextDelete(load->context);
}

/* Append a page to the initialisation fork of an unlogged index, and log it. */
static void
add_init_fork_page(Relation index, Page contents, BlockNumber block)
{
	Buffer		buffer =
		ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, NULL);

	if (BufferGetBlockNumber(buffer) != block)
		elog(ERROR, "initialization fork of index \"%s\" is not empty",
			 RelationGetRelationName(index));
	sware_lock_buffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	sware_wal_fill_init_page(buffer, contents);
	sware_release_buffer(buffer);
}

/* Make the tree that an unlogged index has after a crash: an empty one. */
void
sware_bulkload_empty_init_fork(Relation index)
{
	SwareLink	root = {.block = SWARE_FIRST_ROOT,
	.incarnation = BUILD_INCARNATION};
	PGAlignedBlock contents;
	Page		page = (Page) contents.data;

	sware_init_metapage(page, root, 0, sware_all_equal_image(index));
	add_init_fork_page(index, page, SWARE_METAPAGE);

	sware_init_page(page, SWARE_KIND_LEAF, 0, BUILD_INCARNATION);
	sware_write_items(page, NULL, NULL, 0);
	add_init_fork_page(index, page, SWARE_FIRST_ROOT);
}
