/*-------------------------------------------------------------------------
 *
 * flushrequests.c
 *	  Requests to flush workers.  See flushrequests.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/options.h"
#include "base/sharedmemory.h"
#include "shared/flushrequests.h"

/* indexes of one worker that are requested */
#define INDEXES_OF_POST		16

/* what is remembered for some time, of all databases */
#define NOTES				32

/*
 * Requests are frequent if another one came so many milliseconds ago, or less.
 * It is shorter than a worker stays idle, so that none ends only to be started
 * again.
 */
#define FREQUENT			500

/* so many milliseconds after a worker was to start, it is not expected */
#define START_TIMEOUT		10000

/* so long no worker is started if the server had none left, or one failed */
#define REFUSAL_TIME		10000

/*
 * After so many requests in vain, in a row, an index is left to inserters for
 * so many milliseconds.  Some are in vain when all goes well: an inserter may
 * ask for what the worker has done meanwhile.
 */
#define MANY_IN_VAIN		8
#define IN_VAIN_REST		200

typedef struct Request
{
	Oid			index;
	bool		isPending;
	int			inVain;			/* times in a row that nothing was to be done */
} Request;

/*
 * What is to be remembered until a time: of an index, that its requests are
 * refused; of a database, with no index, that a request has found no post; and
 * with neither, that no worker is started.
 */
typedef struct Note
{
	Oid			database;
	Oid			index;
	TimestampTz until;
} Note;

typedef struct Post
{
	Oid			database;		/* InvalidOid: the post is free */
	uint32		number;
	TimestampTz startTime;		/* when the worker was to start */
	Latch	   *worker;			/* NULL: it has not begun */
	int			inWork;			/* number of the request that it is serving;
								 * -1: none */
	int			next;			/* where it looks for the next request */
	Request		requests[INDEXES_OF_POST];
} Post;

typedef struct Posts
{
	uint32		latestNumber;
	Note		notes[NOTES];
	Post		posts[SWARE_MAX_FLUSH_WORKERS];
} Posts;

int			sware_rest_at_exit = SWARE_ENDED_REST;

static Posts *shared = NULL;	/* NULL: there is no shared memory */
static LWLock *lock = NULL;
static Post *own = NULL;		/* of this worker */

void
sware_share_flush_requests(void)
{
	bool		is_new;

	lock = sware_share_lock("SwareFlushRequests");
	shared = sware_share("sware flush requests", sizeof(Posts), &is_new);
	if (is_new)
		memset(shared, 0, sizeof(Posts));
}

/*
 * Could a worker flush the index?  It does not see relations or files that are
 * new in this transaction.  There is to be none where the server is upgraded.
 * While interrupts are held, pages may be locked.
 */
static bool
can_be_requested(Relation index)
{
	return shared != NULL && sware_flush_workers > 0 &&
		IsUnderPostmaster && !IsBinaryUpgrade &&
		index->rd_rel->relpersistence != RELPERSISTENCE_TEMP &&
		!sware_file_is_new(index) && !IsParallelWorker() &&
		InterruptHoldoffCount == 0 && CritSectionCount == 0 &&
		!RecoveryInProgress();
}

/* Is something remembered?  The caller holds the lock. */
static bool
is_remembered(Oid database, Oid index, TimestampTz now)
{
	for (int i = 0; i < NOTES; i++)
	{
		const Note *note = &shared->notes[i];

		/* if it is further ahead than any rest, the clock was set back */
		if (note->database == database && note->index == index)
			return now < note->until && note->until <=
				TimestampTzPlusMilliseconds(now, SWARE_FAILED_REST);
	}
	return false;
}

/*
 * Remember something for some time.  If there is too much, what ends first is
 * forgotten.  The caller holds the lock exclusively.
 */
static void
remember(Oid database, Oid index, int milliseconds)
{
	Note	   *chosen = &shared->notes[0];

	for (int i = 1; i < NOTES; i++)
	{
		Note	   *other = &shared->notes[i];

		if (chosen->database == database && chosen->index == index)
			break;
		if ((other->database == database && other->index == index) ||
			other->until < chosen->until)
			chosen = other;
	}
	chosen->database = database;
	chosen->index = index;
	chosen->until =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
}

/* The post of a database; NULL if it has none.  The caller holds the lock. */
static Post *
find_post(Oid database, TimestampTz now)
{
	for (int i = 0; i < SWARE_MAX_FLUSH_WORKERS; i++)
	{
		Post	   *post = &shared->posts[i];

		if (post->database == InvalidOid)
			continue;
		if (post->worker == NULL &&
			(now < post->startTime ||	/* the clock was set back */
			 now >= TimestampTzPlusMilliseconds(post->startTime,
												START_TIMEOUT)))
			post->database = InvalidOid;
		else if (post->database == database)
			return post;
	}
	return NULL;
}

/*
 * Take a free post for a database, if there is one, and if a worker is to be
 * started.  Returns NULL if not.  The caller holds the lock exclusively.
 */
static Post *
take_post(Oid database, TimestampTz now, SwareStart start)
{
	bool		is_frequent = is_remembered(database, InvalidOid, now);
	Post	   *free = NULL;
	int			taken = 0;

	remember(database, InvalidOid, FREQUENT);
	for (int i = 0; i < SWARE_MAX_FLUSH_WORKERS; i++)
	{
		if (shared->posts[i].database != InvalidOid)
			taken++;
		else
			free = &shared->posts[i];
	}
	if ((start == SWARE_START_IF_FREQUENT && !is_frequent) ||
		taken >= sware_flush_workers || is_remembered(InvalidOid, InvalidOid, now))
		return NULL;
	memset(free, 0, sizeof(Post));
	free->database = database;
	free->number = ++shared->latestNumber;
	free->startTime = now;
	free->inWork = -1;
	return free;
}

/*
 * Note a request at a post.  If there is room for no more, it is refused.  The
 * caller holds the lock exclusively.
 */
static SwareRequested
note_request(Post *post, Oid index)
{
	int			chosen = -1;

	for (int i = 0; i < INDEXES_OF_POST; i++)
	{
		const Request *request = &post->requests[i];

		if (request->index == index)
		{
			chosen = i;
			break;
		}
		if (!request->isPending && i != post->inWork)
			chosen = i;
	}
	if (chosen < 0)
		return SWARE_REQUEST_REFUSED;
	if (post->requests[chosen].index != index)
		post->requests[chosen] = (Request)
	{
		.index = index
	};
	post->requests[chosen].isPending = true;
	if (post->worker == NULL)
		return SWARE_REQUEST_NOTED;
	SetLatch(post->worker);
	return post->inWork == chosen || post->inWork < 0 ?
		SWARE_REQUEST_IN_WORK : SWARE_REQUEST_NOTED;
}

/* Have the postmaster start a worker.  Returns whether it has noted that. */
static bool
start_worker(uint32 number)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "sware",
		.bgw_function_name = "sware_flush_worker_main",
		.bgw_name = "sware flush worker",
		.bgw_type = "sware flush worker",
		.bgw_main_arg = UInt32GetDatum(number),
	};

	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/* No worker can be started for a post: free it, if it is still there. */
static void
note_refusal(uint32 number)
{
	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (int i = 0; i < SWARE_MAX_FLUSH_WORKERS; i++)
	{
		if (shared->posts[i].number == number)
			shared->posts[i].database = InvalidOid;
	}
	remember(InvalidOid, InvalidOid, REFUSAL_TIME);
	LWLockRelease(lock);
}

SwareRequested
sware_request_flush(Relation index, SwareStart start)
{
	SwareRequested result = SWARE_REQUEST_REFUSED;
	uint32		to_start = 0;
	TimestampTz now;
	Post	   *post;

	if (!can_be_requested(index))
		return SWARE_REQUEST_REFUSED;
	now = GetCurrentTimestamp();
	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (!is_remembered(MyDatabaseId, RelationGetRelid(index), now))
	{
		post = find_post(MyDatabaseId, now);
		if (post == NULL && start != SWARE_START_NEVER)
		{
			post = take_post(MyDatabaseId, now, start);
			if (post)
				to_start = post->number;
		}
		if (post)
			result = note_request(post, RelationGetRelid(index));
	}
	LWLockRelease(lock);

	if (to_start > 0 && !start_worker(to_start))
	{
		note_refusal(to_start);
		return SWARE_REQUEST_REFUSED;
	}
	return result;
}

/*
 * Give up the post of a worker that ends.  If it fails, so may the next one: it
 * is not to flush the same index, or not started at once.
 */
static void
end_at_exit(int code, Datum arg)
{
	if (own && code != 0)
	{
		LWLockAcquire(lock, LW_EXCLUSIVE);
		if (own->inWork >= 0)
			remember(own->database, own->requests[own->inWork].index,
					 sware_rest_at_exit);
		else
			remember(InvalidOid, InvalidOid, REFUSAL_TIME);
		LWLockRelease(lock);
	}
	(void) sware_post_end(false);
}

bool
sware_post_begin(uint32 number, Oid *database)
{
	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (int i = 0; i < SWARE_MAX_FLUSH_WORKERS; i++)
	{
		Post	   *post = &shared->posts[i];

		if (post->number == number && post->database != InvalidOid &&
			post->worker == NULL)
		{
			own = post;
			own->worker = MyLatch;
			*database = own->database;
		}
	}
	LWLockRelease(lock);
	if (own)
		before_shmem_exit(end_at_exit, (Datum) 0);
	return own != NULL;
}

Oid
sware_post_next(void)
{
	Oid			index = InvalidOid;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	own->inWork = -1;
	for (int i = 0; i < INDEXES_OF_POST && own->inWork < 0; i++)
	{
		Request    *request = &own->requests[own->next];

		if (request->isPending)
		{
			own->inWork = own->next;
			index = request->index;
		}
		request->isPending = false;
		own->next = (own->next + 1) % INDEXES_OF_POST;
	}
	LWLockRelease(lock);
	return index;
}

void
sware_post_is_done(bool flushed, int rest)
{
	Request    *request;

	if (own->inWork < 0)
		return;
	request = &own->requests[own->inWork];
	LWLockAcquire(lock, LW_EXCLUSIVE);
	request->inVain = flushed ? 0 : request->inVain + 1;
	if (request->inVain >= MANY_IN_VAIN && rest == 0)
		rest = IN_VAIN_REST;
	if (rest == 0)
		request->isPending |= flushed;
	else
	{
		request->isPending = false;
		request->inVain = 0;
		remember(own->database, request->index, rest);
	}
	LWLockRelease(lock);
}

bool
sware_post_end(bool if_idle)
{
	bool		is_idle = true;

	if (own == NULL)
		return true;
	LWLockAcquire(lock, LW_EXCLUSIVE);
	for (int i = 0; i < INDEXES_OF_POST; i++)
		is_idle &= !own->requests[i].isPending;
	if (is_idle || !if_idle)
	{
		own->database = InvalidOid;
		own->worker = NULL;
		own = NULL;
	}
	LWLockRelease(lock);
	return own == NULL;
}
