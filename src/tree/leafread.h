/*-------------------------------------------------------------------------
 *
 * leafread.h
 *	  Reading a leaf into the position of a tree cursor.
 *
 * The items that qualify are those from the border of arrival on, in the
 * direction of the scan: of the current range, and of all further ranges that
 * have a part on the leaf.  Both ends of the position get their continuation.
 *
 * If entries of the ranges can be skipped (skip.h), they are skipped within the
 * leaf, too.  If the cursor reads a few entries of a leaf only, the others are
 * what comes next at that side, in the same leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_LEAFREAD_H
#define SWARE_LEAFREAD_H

#include "storage/buf.h"

#include "tree/treescan.h"

/*
 * Read a leaf in a direction.  The caller has locked it, and has set in the
 * position what does not depend on its entries.  If the leaf is not one that
 * the border of arrival leads to, the position gets no items.
 */
extern void sware_read_leaf(SwareTreeCursor *cursor, Buffer buffer,
							bool forward);

#endif							/* SWARE_LEAFREAD_H */
