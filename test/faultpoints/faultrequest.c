/*-------------------------------------------------------------------------
 *
 * faultrequest.c
 *	  Requests for memory and for disk space that fail, for tests.
 *
 * The linker replaces the library's calls of some functions by calls of
 * functions of this file (--wrap in the Makefile, which lists the same names).
 *
 * If a test sets sware.fail_allocation to N, the Nth request for memory from
 * then on fails.  Each call of a function of core that allocates counts as one
 * request.  If it sets sware.fail_extension to N, the Nth request to make a
 * file longer fails.  SHOW gives the number of requests that are left until
 * then; 0 means that none will fail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/itup.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "../lib/testcompat.h"
#include "faultsettings.h"

static int	fail_allocation = 0;
static int	fail_extension = 0;

/* how many requests are left until one fails */
static int	allocations_left = 0;
static int	extensions_left = 0;

static void
assign_fail_allocation(int value, void *extra)
{
	allocations_left = value;
}

static void
assign_fail_extension(int value, void *extra)
{
	extensions_left = value;
}

static const char *
show_number(int number)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d", number);
	return text;
}

static const char *
show_fail_allocation(void)
{
	return show_number(allocations_left);
}

static const char *
show_fail_extension(void)
{
	return show_number(extensions_left);
}

void
sware_define_fault_requests(void)
{
	DefineCustomIntVariable("sware.fail_allocation",
							"Says which request for memory fails, for tests.",
							NULL, &fail_allocation, 0, 0, INT_MAX, PGC_SUSET, 0,
							NULL, assign_fail_allocation, show_fail_allocation);
	DefineCustomIntVariable("sware.fail_extension",
							"Says which request to make a file longer fails, for tests.",
							NULL, &fail_extension, 0, 0, INT_MAX, PGC_SUSET, 0,
							NULL, assign_fail_extension, show_fail_extension);
}

/* Is this the request that fails? */
static inline bool
is_the_one(int *left)
{
	return *left > 0 && --*left == 0;
}

static void
request_memory(void)
{
	if (is_the_one(&allocations_left))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("The test made this request fail.")));
}

static void
request_space(void)
{
	if (is_the_one(&extensions_left))
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("no space left on device"),
				 errdetail("The test made this request fail.")));
}

/* defines the replacement of a function whose call is one request for memory */
#define WRAP_ALLOCATION(type, name, parameters, arguments) \
	extern type __real_##name parameters; \
	extern type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		request_memory(); \
		return __real_##name arguments; \
	}

WRAP_ALLOCATION(void *, palloc, (Size size), (size))
WRAP_ALLOCATION(void *, palloc0, (Size size), (size))
WRAP_ALLOCATION(void *, repalloc, (void *pointer, Size size), (pointer, size))
WRAP_ALLOCATION(void *, repalloc_huge, (void *pointer, Size size),
				(pointer, size))
WRAP_ALLOCATION(void *, MemoryContextAlloc, (MemoryContext context, Size size),
				(context, size))
WRAP_ALLOCATION(void *, MemoryContextAllocZero,
				(MemoryContext context, Size size), (context, size))
WRAP_ALLOCATION(void *, MemoryContextAllocHuge,
				(MemoryContext context, Size size), (context, size))
WRAP_ALLOCATION(char *, pstrdup, (const char *string), (string))
WRAP_ALLOCATION(MemoryContext, AllocSetContextCreateInternal,
				(MemoryContext parent, const char *name, Size minimal,
				 Size first, Size largest),
				(parent, name, minimal, first, largest))
WRAP_ALLOCATION(HTAB *, hash_create,
				(const char *name, long elements, const HASHCTL *info,
				 int flags),
				(name, elements, info, flags))
WRAP_ALLOCATION(IndexTuple, index_form_tuple,
				(TupleDesc descriptor, SWARE_VALUES_TYPE values,
				 SWARE_NULLS_TYPE isnull),
				(descriptor, values, isnull))
WRAP_ALLOCATION(IndexTuple, CopyIndexTuple, (IndexTuple tuple), (tuple))

/* to lock a page is a request, too: the lock table can be full */
extern void __real_LockPage(Relation index, BlockNumber block, LOCKMODE mode);
extern void __wrap_LockPage(Relation index, BlockNumber block, LOCKMODE mode);

void
__wrap_LockPage(Relation index, BlockNumber block, LOCKMODE mode)
{
	request_memory();
	__real_LockPage(index, block, mode);
}

extern void *__real_MemoryContextAllocExtended(MemoryContext context,
											   Size size, int flags);
extern void *__wrap_MemoryContextAllocExtended(MemoryContext context,
											   Size size, int flags);

void *
__wrap_MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	if ((flags & MCXT_ALLOC_NO_OOM) == 0)
		request_memory();
	else if (is_the_one(&allocations_left))
		return NULL;
	return __real_MemoryContextAllocExtended(context, size, flags);
}

extern void *__real_hash_search(HTAB *table, const void *key,
								HASHACTION action, bool *found);
extern void *__wrap_hash_search(HTAB *table, const void *key,
								HASHACTION action, bool *found);

void *
__wrap_hash_search(HTAB *table, const void *key, HASHACTION action, bool *found)
{
	if (action == HASH_ENTER)
		request_memory();
	else if (action == HASH_ENTER_NULL && is_the_one(&allocations_left))
	{
		/* to find a key that is there takes no memory */
		if (__real_hash_search(table, key, HASH_FIND, found) == NULL)
			return NULL;
	}
	return __real_hash_search(table, key, action, found);
}

extern Buffer __real_ReadBuffer(Relation index, BlockNumber block);
extern Buffer __wrap_ReadBuffer(Relation index, BlockNumber block);

Buffer
__wrap_ReadBuffer(Relation index, BlockNumber block)
{
	if (block == P_NEW)
		request_space();
	return __real_ReadBuffer(index, block);
}

extern Buffer __real_ReadBufferExtended(Relation index, ForkNumber fork,
										BlockNumber block, ReadBufferMode mode,
										BufferAccessStrategy strategy);
extern Buffer __wrap_ReadBufferExtended(Relation index, ForkNumber fork,
										BlockNumber block, ReadBufferMode mode,
										BufferAccessStrategy strategy);

Buffer
__wrap_ReadBufferExtended(Relation index, ForkNumber fork, BlockNumber block,
						  ReadBufferMode mode, BufferAccessStrategy strategy)
{
	if (block == P_NEW)
		request_space();
	return __real_ReadBufferExtended(index, fork, block, mode, strategy);
}

#ifdef SWARE_EXTENDS_BY_SEVERAL
extern BlockNumber __real_ExtendBufferedRelBy(BufferManagerRelation relation,
											  ForkNumber fork,
											  BufferAccessStrategy strategy,
											  uint32 flags, uint32 extend_by,
											  Buffer *buffers,
											  uint32 *extended_by);
extern BlockNumber __wrap_ExtendBufferedRelBy(BufferManagerRelation relation,
											  ForkNumber fork,
											  BufferAccessStrategy strategy,
											  uint32 flags, uint32 extend_by,
											  Buffer *buffers,
											  uint32 *extended_by);

BlockNumber
__wrap_ExtendBufferedRelBy(BufferManagerRelation relation, ForkNumber fork,
						   BufferAccessStrategy strategy, uint32 flags,
						   uint32 extend_by, Buffer *buffers,
						   uint32 *extended_by)
{
	request_space();
	return __real_ExtendBufferedRelBy(relation, fork, strategy, flags,
									  extend_by, buffers, extended_by);
}
#endif

extern void __real_smgrextend(SMgrRelation file, ForkNumber fork,
							  BlockNumber block, SWARE_PAGE_TYPE page,
							  bool skip_fsync);
extern void __wrap_smgrextend(SMgrRelation file, ForkNumber fork,
							  BlockNumber block, SWARE_PAGE_TYPE page,
							  bool skip_fsync);

void
__wrap_smgrextend(SMgrRelation file, ForkNumber fork, BlockNumber block,
				  SWARE_PAGE_TYPE page, bool skip_fsync)
{
	request_space();
	__real_smgrextend(file, fork, block, page, skip_fsync);
}
