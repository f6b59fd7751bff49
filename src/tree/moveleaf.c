/*-------------------------------------------------------------------------
 *
 * moveleaf.c
 *	  Moves a leaf to another block of the file.
 *
 * The leaf is written to its new page first; no page links to that yet.  Then
 * one record changes all links to it, of both siblings and of the parent, and
 * deletes the old page.  So readers meet a deleted page, as they do when VACUUM
 * has deleted an empty one: they search again from the root.  The locks on all
 * these pages are held from before the copy to after that record.
 *
 * A crash or an error between the two records leaves the copy unlinked, as one
 * between the records of a bulk append does, and VACUUM's physical pass deletes
 * it.
 *
 * An index-only scan keeps a pin on the leaf whose entries it is returning, so
 * that VACUUM, which takes a cleanup lock on each leaf, does not release their
 * TIDs.  If that leaf moved away, VACUUM would not wait for the pin any more.
 * So a leaf moves only under a cleanup lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/indexfsm.h"

#include "base/faultpoint.h"
#include "layout/page.h"
#include "layout/tuple.h"
#include "pages/pageaccess.h"
#include "tree/neighbors.h"
#include "wal/wal.h"

/* Write a copy of a locked leaf to a new page, which is not initialised. */
static void
write_copy(Relation index, Page page, Buffer target, uint32 incarnation)
{
	PGAlignedBlock image;

	memcpy(image.data, page, BLCKSZ);
	SwarePageGetOpaque((Page) image.data)->incarnation = incarnation;
	sware_wal_fill_page(index, target, image.data);
}

/* Let all links to a locked leaf lead to its copy, and delete it. */
static void
replace_links(Relation index, SwareNeighbors *neighbors, SwareLink copy)
{
	SwareWal   *wal = sware_wal_begin(index);
	Page		parent;

	if (BufferIsValid(neighbors->left))
		SwarePageGetOpaque(sware_wal_change(wal, neighbors->left))->right =
			copy;
	sware_mark_deleted(sware_wal_change(wal, neighbors->page));
	SwarePageGetOpaque(sware_wal_change(wal, neighbors->right))->left = copy;
	parent = sware_wal_change(wal, neighbors->parent);
	sware_pivot_set_link(sware_page_tuple(parent, neighbors->offset), copy);
	sware_wal_finish(wal);
}

bool
sware_move_leaf(Relation index, SwareLink *leaf, BlockNumber to)
{
	SwareNeighbors neighbors;
	Buffer		target = InvalidBuffer;
	SwareLink	copy;

	if (!sware_lock_neighbors(index, *leaf, 0, false, &neighbors))
		return false;
	if (IsBufferCleanupOK(neighbors.page))
		target = to == InvalidBlockNumber ?
			sware_allocate_buffer(index, &copy.incarnation) :
			sware_allocate_block(index, to, &copy.incarnation);
	if (BufferIsValid(target))
	{
		copy.block = BufferGetBlockNumber(target);
		/* VACUUM may not read the pages that the free space map lists */
		RecordUsedIndexPage(index, copy.block);
		write_copy(index, BufferGetPage(neighbors.page), target,
				   copy.incarnation);
		SWARE_FAULT_POINT("leaf-copied");
		replace_links(index, &neighbors, copy);
		sware_release_buffer(target);
		*leaf = copy;
	}
	sware_release_neighbors(&neighbors);
	return BufferIsValid(target);
}
