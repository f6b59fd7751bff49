/*-------------------------------------------------------------------------
 *
 * descent.c
 *	  Finds pages from the root down, and parents from a child up.
 *
 * A descent holds one content lock at a time (see sware_lock_buffer).  Before
 * the second page is locked, anything may happen to it: its high key shows a
 * split, its incarnation shows deletion and reuse.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "tree/treepages.h"

#include "keys/searchkey.h"
#include "layout/page.h"
#include "pages/pageaccess.h"
#include "pages/cache.h"
#include "tree/tree.h"

/*
 * A descent that has failed this often has not failed because of concurrent
 * changes: a link leads to a page that it does not mean.
 */
#define MAX_ATTEMPTS	10000

/*
 * how many pages to look through for a downlink, to the right of where it
 * should be
 */
#define HINTED_STEPS	32

/* how many times to look for the parent of a page, which must have one */
#define MAX_PARENT_ATTEMPTS		200

/*
 * How many pages to look through for a left sibling that has been split.  If
 * it is not among them, the caller seeks from the root.
 */
#define MAX_STEPS_RIGHT		4

/* After this number of steps along a level, compare it with the file's size. */
#define MANY_STEPS		10000

/* Has the tree a level above the leaves?  The caller holds no content locks. */
bool
sware_tree_has_downlinks(Relation index)
{
	if (sware_cache(index)->level == 0)
		sware_cache_refresh(index);
	return sware_cache(index)->level > 0;
}

/*
 * Count a step along a level.  Raises an error if there have been more steps
 * than the index has pages.
 */
void
sware_count_step(Relation index, BlockNumber block, int64 *steps)
{
	if (++*steps % MANY_STEPS == 0 && *steps > RelationGetNumberOfBlocks(index))
		sware_report_corruption(index, block, "Right links form a circle.");
}

/* Count an attempt to find a page.  Raises an error if there are too many. */
static void
count_attempt(Relation index, int level, int *attempts)
{
	CHECK_FOR_INTERRUPTS();
	if (++*attempts > MAX_ATTEMPTS)
		sware_report_corruption(index, sware_cache(index)->root.block,
								"No way leads from the root to level %d.", level);
}

/* Return the link that a downlink of a locked page has. */
static inline SwareLink
downlink(Relation index, Buffer buffer, OffsetNumber offset)
{
	return sware_checked_downlink(index, BufferGetBlockNumber(buffer),
								  BufferGetPage(buffer), offset);
}

/*
 * Complete the split of a page that was flagged as incomplete, if it still
 * is.
 */
static void
finish_split(Relation index, SwareLink link, int level, SwareStack *stack)
{
	Buffer		buffer =
		sware_read_linked(index, link, level, BUFFER_LOCK_EXCLUSIVE);

	if (!BufferIsValid(buffer))
		return;
	if ((SwarePageGetOpaque(BufferGetPage(buffer))->flags &
		 SWARE_INCOMPLETE_SPLIT) != 0)
		sware_insert_downlink(index, buffer, stack);
	else
		sware_release_buffer(buffer);
}

/* Where a descent leads, and how its last page is locked. */
typedef struct Target
{
	Relation	index;
	const SwareSearchKey *key;	/* the place; NULL: an edge of the level */
	bool		rightmost;		/* the right edge? */
	int			level;
	int			lockmode;
} Target;

/* Pin and lock a page of a level on the way; see sware_read_linked. */
static inline Buffer
read_page(const Target *target, SwareLink link, int level)
{
	return sware_read_linked(target->index, link, level,
							 level == target->level ? target->lockmode :
							 BUFFER_LOCK_SHARE);
}

/*
 * Pin and lock the root, and return it.  If the root comes from the metapage,
 * it is accepted as it is: it may have been split since, and then its right
 * links lead on.  If it comes from the cache, it must still be the only page
 * of its level.
 */
static Buffer
read_root(const Target *target, int *level)
{
	for (int attempts = 0;;)
	{
		SwareCache *cache = sware_cache(target->index);
		Buffer		buffer;

		*level = cache->level;
		buffer = read_page(target, cache->root, *level);
		if (likely(BufferIsValid(buffer)))
		{
			Page		page = BufferGetPage(buffer);

			if (attempts > 0 ||
				(sware_page_is_leftmost(page) && sware_page_is_rightmost(page)))
				return buffer;
			sware_release_buffer(buffer);
		}
		count_attempt(target->index, *level, &attempts);
		sware_cache_refresh(target->index);
	}
}

/* Must a descent go on to the right sibling of a page? */
static bool
must_move_right(const Target *target, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	if (sware_page_is_rightmost(page))
		return false;
	if (!sware_page_is_leaf(page) && sware_page_data_count(page) == 0)
		return true;
	if (target->key == NULL)
		return target->rightmost;
	/* without a high key, go down: the search goes right on a lower level */
	if (!sware_page_has_high_key(page))
		return false;
	return sware_compare_key(target->key,
							 sware_checked_pivot(target->index,
												 BufferGetBlockNumber(buffer),
												 page, SWARE_HIGH_KEY)) >= 0;
}

/*
 * Step right from a pinned and locked page to the one that a descent leads to
 * on its level.  A writer completes each incomplete split that it meets, on
 * every level, so that it never returns a page without a downlink.
 *
 * Returns the page, pinned and locked, or InvalidBuffer, with nothing pinned,
 * if a link has led to a page that it does not mean.
 */
static Buffer
move_right(const Target *target, Buffer buffer, int level, SwareStack *stack)
{
	Relation	index = target->index;
	int64		steps = 0;

	for (;;)
	{
		Page		page = BufferGetPage(buffer);
		bool		is_incomplete = target->lockmode == BUFFER_LOCK_EXCLUSIVE &&
			(SwarePageGetOpaque(page)->flags & SWARE_INCOMPLETE_SPLIT) != 0;
		SwareLink	next;

		if (likely(!is_incomplete && !must_move_right(target, buffer)))
			return buffer;

		next = is_incomplete ? sware_page_link(buffer) :
			SwarePageGetOpaque(page)->right;
		sware_release_buffer(buffer);
		CHECK_FOR_INTERRUPTS();
		sware_count_step(index, next.block, &steps);
		if (is_incomplete)
			finish_split(index, next, level, stack);
		buffer = read_page(target, next, level);
		if (!BufferIsValid(buffer))
			return InvalidBuffer;
	}
}

/*
 * Begin a reader's descent: pin and share-lock the first page of which there is
 * no copy, and return it.  Returns InvalidBuffer if copies have not led to the
 * right page.  They are forgotten then.
 */
static Buffer
follow_copies(SwareCopiesUsed *used, const Target *target, int *level)
{
	SwareLink	page = sware_cache(target->index)->root;
	Buffer		buffer;

	*level = sware_cache(target->index)->level;
	sware_follow_copies(used, target->index, target->key, target->rightmost,
						&page, level);
	if (unlikely(used->count == 0))
		return read_root(target, level);

	buffer = read_page(target, page, *level);
	if (likely(BufferIsValid(buffer) && !must_move_right(target, buffer)))
		return buffer;

	if (BufferIsValid(buffer))
		sware_release_buffer(buffer);
	sware_forget_copies(used);
	return InvalidBuffer;
}

/*
 * The offset of the downlink that a descent follows on an internal page, which
 * is locked.  Raises an error if the page has none.
 */
static OffsetNumber
next_downlink(const Target *target, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);

	if (sware_page_data_count(page) == 0)
		sware_report_corruption(target->index, BufferGetBlockNumber(buffer),
								"The rightmost internal page has no downlink.");
	if (target->key)
		return sware_search_internal(target->key, BufferGetBlockNumber(buffer),
									 page);
	return target->rightmost ? PageGetMaxOffsetNumber(page) : SWARE_FIRST_DATA;
}

/*
 * Try once what descend does.  Returns InvalidBuffer if a link has led to a
 * page that it does not mean, or copies to one that is not the right one.
 */
static Buffer
try_descend(const Target *target, SwareStack **stack, SwareCopiesUsed *used)
{
	Relation	index = target->index;
	SwareStack *ancestors = NULL;
	int			level;
	Buffer		buffer = used ? follow_copies(used, target, &level) :
		read_root(target, &level);
	bool		is_right_page = used && used->count > 0;

	if (BufferIsValid(buffer) && unlikely(level < target->level))
	{
		SwareLink	root = sware_page_link(buffer);

		/* the root is on a higher level now */
		sware_release_buffer(buffer);
		sware_cache_refresh(index);
		if (sware_links_equal(sware_cache(index)->root, root))
			sware_report_corruption(index, root.block,
									"The root has no level %d above it.",
									target->level);
		return InvalidBuffer;
	}

	while (BufferIsValid(buffer))
	{
		OffsetNumber offset;
		SwareLink	child;

		if (unlikely(!is_right_page))
			buffer = move_right(target, buffer, level, ancestors);
		if (!BufferIsValid(buffer) || level == target->level)
			break;
		is_right_page = false;

		offset = next_downlink(target, buffer);
		child = downlink(index, buffer, offset);
		if (used)
			sware_note_internal_page(used, buffer);
		if (stack)
		{
			SwareStack *ancestor = palloc(sizeof(SwareStack));

			ancestor->page = sware_page_link(buffer);
			ancestor->offset = offset;
			ancestor->parent = ancestors;
			ancestors = ancestor;
		}
		sware_release_buffer(buffer);
		buffer = read_page(target, child, --level);
	}
	if (stack)
		*stack = ancestors;
	return buffer;
}

/*
 * Find the page of a level that a target means.  Returns it pinned and locked,
 * with no other page pinned.  `*stack`, unless NULL is given for it, is set to
 * the ancestors on the way, in the current memory context.  If `uses_copies`,
 * the caller is a reader that looks for a leaf, and copies of internal pages
 * may be used.
 */
static Buffer
descend(const Target *target, SwareStack **stack, bool uses_copies)
{
	SwareCopiesUsed used;
	Buffer		buffer;
	int			attempts = 0;

	do
	{
		count_attempt(target->index, target->level, &attempts);
		buffer = try_descend(target, stack, uses_copies ? &used : NULL);
	} while (unlikely(!BufferIsValid(buffer)));
	return buffer;
}

/*
 * Find the page of a level whose key range has the place, as above.  If
 * `lockmode` is exclusive, incomplete splits on the way are completed.  The
 * caller may hold locks on lower levels.
 */
Buffer
sware_descend(const SwareSearchKey *key, int level, int lockmode,
			  SwareStack **stack)
{
	Target		target = {key->index, key, false, level, lockmode};

	return descend(&target, stack, false);
}

/*
 * Find the leaf whose key range has a place, or if `key` is NULL, the leftmost
 * or rightmost one, for a reader.  Returns it pinned and share-locked.  The
 * caller holds no content locks.
 */
Buffer
sware_seek_leaf(Relation index, const SwareSearchKey *key, bool rightmost)
{
	Target		target = {index, key, rightmost, 0, BUFFER_LOCK_SHARE};

	return descend(&target, NULL, true);
}

/* Return the leftmost or rightmost page of a level, pinned and share-locked. */
Buffer
sware_descend_to_edge(Relation index, int level, bool rightmost)
{
	Target		target = {index, NULL, rightmost, level, BUFFER_LOCK_SHARE};

	return descend(&target, NULL, false);
}

/*
 * Step from `page` of a level to its left sibling, which is the page whose
 * right link leads to `page`.  It is the page that the left link names, or,
 * if that has been split, one to the right of that.  Returns it pinned and
 * share-locked, or InvalidBuffer, with nothing pinned, if it is not found.
 */
Buffer
sware_step_left(Relation index, SwareLink sibling, SwareLink page, int level)
{
	for (int steps = 0;
		 steps <= MAX_STEPS_RIGHT && sware_link_is_valid(sibling); steps++)
	{
		Buffer		buffer =
			sware_read_linked(index, sibling, level, BUFFER_LOCK_SHARE);

		if (!BufferIsValid(buffer))
			break;
		sibling = SwarePageGetOpaque(BufferGetPage(buffer))->right;
		if (sware_links_equal(sibling, page))
			return buffer;
		sware_release_buffer(buffer);
	}
	return InvalidBuffer;
}

/*
 * Return the offset of the downlink to a page; InvalidOffsetNumber if there
 * is none.
 */
static OffsetNumber
find_downlink(Relation index, Buffer buffer, SwareLink child, OffsetNumber hint)
{
	OffsetNumber last = PageGetMaxOffsetNumber(BufferGetPage(buffer));

	if (hint >= SWARE_FIRST_DATA && hint <= last &&
		sware_links_equal(downlink(index, buffer, hint), child))
		return hint;
	for (OffsetNumber offset = SWARE_FIRST_DATA; offset <= last; offset++)
	{
		if (sware_links_equal(downlink(index, buffer, offset), child))
			return offset;
	}
	return InvalidOffsetNumber;
}

/*
 * Look for the downlink to `child` on an exclusively locked page and on up to
 * `steps` pages to its right.  Returns the page that has it, or InvalidBuffer
 * with nothing pinned.  *offset is where it may be, and then where it is.
 */
static Buffer
find_downlink_to_the_right(Relation index, Buffer buffer, int64 steps,
						   SwareLink child, SwareStack *ancestors,
						   OffsetNumber *offset)
{
	while (BufferIsValid(buffer))
	{
		SwarePageOpaque opaque = SwarePageGetOpaque(BufferGetPage(buffer));
		int			level = opaque->level;
		SwareLink	next;

		if ((opaque->flags & SWARE_INCOMPLETE_SPLIT) != 0)
		{
			next = sware_page_link(buffer);
			sware_insert_downlink(index, buffer, ancestors);
		}
		else
		{
			*offset = find_downlink(index, buffer, child, *offset);
			if (*offset != InvalidOffsetNumber)
				return buffer;
			next = opaque->right;
			sware_release_buffer(buffer);
			if (!sware_link_is_valid(next) || steps-- == 0)
				return InvalidBuffer;
		}
		buffer = sware_read_linked(index, next, level, BUFFER_LOCK_EXCLUSIVE);
	}
	return InvalidBuffer;
}

/*
 * Find the downlink to a page that is neither the root nor the rightmost page
 * of its level.  The caller holds an exclusive lock on the page, so its
 * downlink stays where it is, or moves right by a split of the parent.
 *
 * Returns the parent, pinned and exclusively locked, without an incomplete
 * split, and sets `*offset`.  The stack is a hint.
 */
Buffer
sware_find_parent(Relation index, Buffer child, SwareStack *stack,
				  OffsetNumber *offset)
{
	Page		page = BufferGetPage(child);
	SwareLink	link = sware_page_link(child);
	int			level = SwarePageGetOpaque(page)->level + 1;
	SwareSearchKey key;
	Buffer		parent;

	*offset = stack ? stack->offset : InvalidOffsetNumber;
	if (stack)
	{
		parent = sware_read_linked(index, stack->page, level,
								   BUFFER_LOCK_EXCLUSIVE);
		parent = find_downlink_to_the_right(index, parent, HINTED_STEPS, link,
											stack->parent, offset);
		if (BufferIsValid(parent))
			return parent;
	}

	/*
	 * As a rule a search for the place just below the child's high key leads
	 * to its downlink.  It does not where an emptied internal page has given
	 * its range away: high keys there may be too high (page.h), and lead too
	 * far right.  Then look on all pages of the level.  Concurrent changes
	 * can make either fail.
	 */
	if (sware_page_has_high_key(page))
	{
		sware_search_key_from_tuple(&key, index, sware_page_high_key(page));
		key.below = true;
	}
	for (int attempt = 0; attempt < MAX_PARENT_ATTEMPTS; attempt++)
	{
		bool		by_key = attempt % 2 == 0 && sware_page_has_high_key(page);
		Target		target = {index, by_key ? &key : NULL, false, level,
		BUFFER_LOCK_EXCLUSIVE};
		SwareStack *ancestors;

		/*
		 * The root is read from the metapage first: after the tree has grown,
		 * the cached root may be one of the pages that the caller has locked.
		 */
		sware_cache_refresh(index);
		parent = descend(&target, &ancestors, false);
		parent = find_downlink_to_the_right(index, parent, by_key ?
											HINTED_STEPS :
											RelationGetNumberOfBlocks(index),
											link, ancestors, offset);
		if (BufferIsValid(parent))
			return parent;
	}

	sware_report_corruption(index, link.block, "No downlink to it is found.");
	return InvalidBuffer;		/* keep compiler quiet */
}
