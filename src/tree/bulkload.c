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
	SwareLink	left;			/* its left sibling, already written */
	Size		target;			/* how many bytes to fill, by the fill factor */
	Size		space;			/* bytes that the items take */
	int			count;			/* number of items, high key not included */
	IndexTuple	tuples[SWARE_MAX_ITEMS_PER_PAGE];	/* in `data` */
	Size		dataUsed;
	char	   *data;
	char	   *otherData;		/* memory for the next page's items */
	struct LoadLevel *parent;	/* the level above; NULL for the top level */
} LoadLevel;

struct SwareBulkload
{
	Relation	index;
	ForkNumber	fork;
	bool		allEqualImage;
	bool		deduplicate;
	MemoryContext context;		/* freed when the build ends */
	MemoryContext scratch;		/* emptied after each leaf */
	LoadLevel  *leaf;
	BlockNumber nextBlock;		/* the next page's number */
	BlockNumber written;		/* the number of blocks that the file has */
	Page		page;			/* memory in which pages are made */
	Page		zeroes;			/* the content of blocks that are skipped */
};

static const SwareLink no_link = {.block = InvalidBlockNumber};

/*
 * Log and write load->page.  A block that is skipped has zeroes until it is
 * written.
 */
static void
write_page(SwareBulkload *load, BlockNumber block)
{
	SMgrRelation file = RelationGetSmgr(load->index);

	sware_wal_write_new_page(load->index, load->fork, block, load->page);
	while (load->written < block)
		smgrextend(file, load->fork, load->written++, (char *) load->zeroes,
				   true);
	sware_set_checksum(load->page, block);
	if (load->written == block)
		smgrextend(file, load->fork, load->written++, (char *) load->page,
				   true);
	else
		smgrwrite(file, load->fork, block, (char *) load->page, true);
}

/* Write the page of a level.  `high_key` is NULL if it is the rightmost one. */
static void
write_level_page(SwareBulkload *load, LoadLevel *level, IndexTuple high_key,
				 SwareLink right)
{
	Page		page = load->page;
	SwarePageOpaque opaque;

	sware_init_page(page,
					level->level == 0 ? SWARE_KIND_LEAF : SWARE_KIND_INTERNAL,
					level->level, BUILD_INCARNATION);
	opaque = SwarePageGetOpaque(page);
	opaque->left = level->left;
	opaque->right = right;
	sware_write_items(page, high_key, level->tuples, level->count);
	write_page(load, level->link.block);
}

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

/* Begin a page of a level, and keep the tuples of the one before in memory. */
static void
begin_page(LoadLevel *level)
{
	char	   *data = level->data;

	level->space = sizeof(ItemIdData);	/* the high key's line pointer */
	level->count = 0;
	level->dataUsed = 0;
	level->data = level->otherData;
	level->otherData = data;
}

static LoadLevel *
new_level(SwareBulkload *load, uint16 number)
{
	LoadLevel  *level = MemoryContextAlloc(load->context, sizeof(LoadLevel));
	int			percent = number == 0 ?
		sware_options_of(load->index)->fillfactor : INTERNAL_FILLFACTOR;

	level->level = number;
	level->link = new_page(load);
	level->left = no_link;
	level->target = SWARE_PAGE_CAPACITY * percent / 100;
	level->data = MemoryContextAlloc(load->context, BLCKSZ);
	level->otherData = MemoryContextAlloc(load->context, BLCKSZ);
	level->parent = NULL;
	begin_page(level);
	return level;
}

static void
append_tuple(LoadLevel *level, IndexTuple tuple)
{
	IndexTuple	copy = (IndexTuple) (level->data + level->dataUsed);
	Size		size = IndexTupleSize(tuple);

	Assert(level->space + sware_item_space(tuple) <= SWARE_PAGE_CAPACITY);
	sware_copy_tuple(copy, tuple);
	level->tuples[level->count++] = copy;
	level->dataUsed += MAXALIGN(size);
	level->space += sware_item_space(tuple);
}

/*
 * May the page get `more` bytes?  That must not exceed the fill factor, and
 * must leave room for a high key, which is expected to be as large as the key
 * at hand.  If the high key is larger, next_page moves some tuples to the
 * next page.
 */
static inline bool
has_room(LoadLevel *level, Size more, Size key_size)
{
	Size		used = level->space + more;

	return used <= level->target &&
		used + key_size + SWARE_PIVOT_FIELD_SIZE <= SWARE_PAGE_CAPACITY;
}

static void add_downlink(SwareBulkload *load, LoadLevel *level,
						 IndexTuple downlink);

/*
 * Write a level's page, and start its right sibling.  `next` is the tuple
 * that comes after those of the page.
 */
static void
next_page(SwareBulkload *load, LoadLevel *level, IndexTuple next)
{
	IndexTuple	moved[SWARE_MAX_ITEMS_PER_PAGE];
	int			moved_count = 0;
	int			keep_at_least = level->level == 0 ? 1 : 2;
	IndexTuple	pivot;
	SwareLink	right;

	/* move tuples to the next page until the high key fits */
	for (;;)
	{
		IndexTuple	last = level->tuples[level->count - 1];

		pivot = level->level == 0 ?
			sware_form_pivot(load->index, last, next) :
			sware_form_high_key(next);
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
	begin_page(level);
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
 * there is room.  Returns whether it did.  The tuple is the last one in
 * `data`, so it can grow in place.
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
	char	   *pages;

	load->index = index;
	load->fork = fork;
	load->allEqualImage = _bt_allequalimage(index, false);
	load->deduplicate = load->allEqualImage && sware_option_deduplicate(index);
	load->context = context;
	load->scratch = AllocSetContextCreate(context, "sware bulk load scratch",
										  ALLOCSET_DEFAULT_SIZES);

	pages = MemoryContextAllocZero(context, 2 * BLCKSZ + IO_ALIGNMENT);
	load->page = (Page) TYPEALIGN(IO_ALIGNMENT, pages);
	load->zeroes = load->page + BLCKSZ;

	load->nextBlock = SWARE_FIRST_ROOT;
	load->leaf = new_level(load, 0);
	return load;
}

/* Add an entry.  The caller adds all of them in order. */
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

/* Write the pages that are left, the metapage last, and free everything. */
void
sware_bulkload_finish(SwareBulkload *load)
{
	Relation	index = load->index;
	LoadLevel  *root = NULL;

	for (LoadLevel *level = load->leaf; level != NULL; level = level->parent)
	{
		write_level_page(load, level, NULL, no_link);
		root = level;
	}
	sware_init_metapage(load->page, root->link, root->level,
						load->allEqualImage);
	write_page(load, SWARE_METAPAGE);

	/*
	 * Sync the file.  A checkpoint that began after the pages were logged has
	 * not synced them, since they are not in shared buffers.
	 */
	if (!RelationUsesLocalBuffers(index))
		smgrimmedsync(RelationGetSmgr(index), load->fork);

	sware_cache_forget(index);
	MemoryContextDelete(load->context);
}
