/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  Arrays that grow with what is put into them, and memory for operations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_MEMORY_H
#define SWARE_MEMORY_H

#include "utils/memutils.h"

/* Make an array, which may be NULL at first, as large as this. */
static inline void *
sware_resize(void *array, Size size, MemoryContext context)
{
	return array ? repalloc_huge(array, size) :
		MemoryContextAllocHuge(context, size);
}

/*
 * Give an array room for twice as many elements, `least` of them at first.  Its
 * memory comes from the context.  An error leaves array and number as they are.
 */
#define sware_grow(array, allocated, least, context) \
do { \
	int64		wanted_ = Max((int64) (allocated) * 2, (least)); \
\
	(array) = sware_resize(array, wanted_ * sizeof(*(array)), context); \
	(allocated) = wanted_; \
} while (0)

/*
 * Switch to a new memory context, which sware_leave_context deletes, and return
 * the present one.
 */
#define sware_enter_context(name) \
	MemoryContextSwitchTo(AllocSetContextCreate(CurrentMemoryContext, name, \
												ALLOCSET_DEFAULT_SIZES))

/* Switch back, and delete the memory context that is left. */
static inline void
sware_leave_context(MemoryContext caller)
{
	MemoryContextDelete(MemoryContextSwitchTo(caller));
}

#endif							/* SWARE_MEMORY_H */
