/*-------------------------------------------------------------------------
 *
 * unlink.h
 *	  Deletes pages that have become empty.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_UNLINK_H
#define SWARE_UNLINK_H

#include "utils/rel.h"

#include "layout/page.h"

extern int	sware_delete_page(Relation index, SwareLink target, int level);

#endif							/* SWARE_UNLINK_H */
