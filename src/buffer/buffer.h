/*-------------------------------------------------------------------------
 *
 * buffer.h
 *	  The buffer: WAL-logged pages of the index that take entries before the
 *	  tree does.  layout/page.h draws them.
 *
 * Entries move from the buffer to the tree, never back.  A backend that looks
 * into the buffer first, and into the tree second, finds every entry, some of
 * them perhaps twice.
 *
 * Lock order: flush lock, buffer pages, directory pages, metapage.  A backend
 * that has locked one of these pages locks no page of the tree, and a reader
 * locks one page at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_BUFFER_H
#define SWARE_BUFFER_H

#include "access/itup.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "shared/statistics.h"

/*
 * Inserts go to the tree when the buffer has this many times its quota, or as
 * many pages as can have zones.
 */
#define SWARE_HARD_LIMIT	2

/*
 * As long as the buffer has no more pages than its quota times this, COMMIT
 * leaves flushes to the session's next insert, and inserters do not wait for
 * others that flush.
 */
#define SWARE_OWED_LIMIT	1.25

/* bufferinsert.c */
extern bool sware_buffer_is_bypassed(Relation index);
extern int	sware_buffer_usual_quota(Relation index);
extern int	sware_buffer_quota(Relation index);
extern int	sware_buffer_add(Relation index, IndexTuple *entries, int count,
							 bool has_versions, bool *needs_flush);
extern int	sware_buffer_publish(Relation index, IndexTuple *entries,
								 int count, bool has_versions);

/* flush.c */
extern void sware_flushes_attach(void);
extern int64 sware_buffer_flush_all(Relation index);
extern Size sware_buffer_run_limit(Relation index);
extern bool sware_buffer_flush_piece(Relation index, SwareDoer doer);
extern void sware_buffer_flush_owed(Relation index);
extern void sware_buffer_wait_for_readers(Relation index,
										  BufferAccessStrategy strategy);

/* tails.c */
extern int	sware_buffer_free_retired(Relation index, int most);

#endif							/* SWARE_BUFFER_H */
