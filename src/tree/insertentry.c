/*-------------------------------------------------------------------------
 *
 * insertentry.c
 *	  Inserts single entries at the leaf where they are expected.
 *
 * A row in order gains nothing in the buffer, and each reader of the latest
 * rows would have to look for it there.  So it goes to a leaf where others went
 * before ("QuIT your B+-tree for the Quick Insertion Tree", section IV).  The
 * buffer takes what comes late or in no order, and what comes while another
 * session has the leaf locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/faultpoint.h"
#include "keys/searchkey.h"
#include "pages/pageaccess.h"
#include "shared/statistics.h"
#include "tree/expectedleaf.h"
#include "tree/placement.h"
#include "tree/tree.h"

/*
 * Insert an entry at the expected leaf, if it belongs there and the leaf has
 * room for it, and no other session has the leaf locked.  Returns whether the
 * tree has the entry now.  If not, *seek says that it should go to the tree all
 * the same, as sware_tree_insert_run does it: so the next ones can be expected
 * there, or the leaf is split.
 *
 * The caller holds no content locks, and has checked the entry's size.  Calls
 * comparators, and allocates in the current memory context.
 */
bool
sware_tree_insert_expected(Relation index, IndexTuple entry, bool *seek)
{
	SwareSearchKey key;
	SwareExpectation expectation;
	SwarePlacementKind kind;
	Buffer		buffer;
	bool		is_late;

	sware_search_key_from_entry(&key, index, entry);
	expectation = sware_try_expected_leaf(&key, &buffer);
	*seek = expectation == SWARE_AT_UNKNOWN_LEAF;
	if (expectation != SWARE_AT_EXPECTED_LEAF)
		return false;

	kind = sware_add_entry(&key, buffer, entry);
	*seek = kind == SWARE_PLACEMENT_NO_ROOM || kind == SWARE_PLACEMENT_POSTING;
	is_late = !sware_page_is_rightmost(BufferGetPage(buffer));
	sware_release_buffer(buffer);
	if (*seek)
	{
		SWARE_FAULT_POINT("expected-leaf-full");
		return false;
	}
	sware_count_tree_entry(index, is_late);
	return true;
}
