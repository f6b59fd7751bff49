/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  Statistics of indexes, and pieces of work.  See statistics.h.
 *
 * An *account* has the statistics of one index.  A backend has accounts in
 * private memory.  At the end of a transaction, if 100 ms have passed since
 * the last time or there was a piece of work, it *empties* them: it adds them
 * to the accounts in shared memory, if there are any, and removes its own.
 *
 * In shared memory, a lightweight lock guards which accounts there are, and
 * the spinlock of an account guards its contents.  Another spinlock guards the
 * list of accounts in the order of their latest changes.  So a backend that
 * adds to an account needs the lightweight lock in shared mode only.  The
 * postmaster takes no locks: no other process runs when it reads or writes the
 * file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/options.h"
#include "base/sharedmemory.h"
#include "shared/statistics.h"

/* indexes that shared memory has accounts for, at most */
#define MAX_ACCOUNTS		2048

/* own accounts at most; without shared memory, counting begins anew then */
#define MAX_OWN_ACCOUNTS	1024

/* accounts that are found without a search, at most */
#define RECENT_ACCOUNTS		16

/* accounts are not emptied more often than this, in microseconds */
#define EMPTYING_INTERVAL	INT64CONST(100000)

/* after sorts of so many entries, earlier ones have a third of their weight */
#define SORTED_MEMORY		262144.0

/* the same for entries that the tree got, and the share of late ones */
#define ARRIVALS_MEMORY		131072.0

/* the same for scans and entries that came for the buffer, together */
#define USE_MEMORY			4096.0

/* fewer scans than these say little */
#define MANY_SCANS			256

typedef struct AccountKey
{
	Oid			database;
	Oid			index;
} AccountKey;

/* an account in private memory, or in the file; it has no padding */
typedef struct Account
{
	AccountKey	key;			/* hash key */
	SwareStatistics totals;
} Account;

/* an account in shared memory */
typedef struct SharedAccount
{
	AccountKey	key;			/* hash key */
	dlist_node	node;			/* in the list of all */
	slock_t		mutex;			/* guards the totals */
	SwareStatistics totals;
} SharedAccount;

/* all shared accounts; the one that was changed last is the first */
typedef struct AccountList
{
	slock_t		mutex;			/* guards the list */
	dlist_head	accounts;
} AccountList;

/* of SharedAccount; NULL if the library was not preloaded */
static HTAB *shared_accounts = NULL;
static AccountList *shared_list = NULL;
static LWLock *shared_lock = NULL;

static HTAB *own_accounts = NULL;	/* of Account */
static Account *recent_accounts[RECENT_ACCOUNTS];	/* by the OID's lowest
													 * digits: the one that
													 * was used last */
static bool is_unemptied = false;	/* have own accounts changed since they
									 * were emptied? */
static bool is_urgent = false;	/* empty at the next transaction's end,
								 * whatever the interval */
static TimestampTz latest_emptying = 0;

/* Add sums of later sorts; the earlier ones lose weight. */
static void
add_sortedness(SwareSortedness *sum, const SwareSortedness *more)
{
	double		remaining = SORTED_MEMORY / (SORTED_MEMORY + more->entries);

	sum->entries = sum->entries * remaining + more->entries;
	sum->outOfOrder = sum->outOfOrder * remaining + more->outOfOrder;
	sum->displacement = sum->displacement * remaining + more->displacement;
}

/* The weight of an entry when a number of others have come after it. */
static double
weight_after(double entries)
{
	return exp(-entries / ARRIVALS_MEMORY);
}

/*
 * Add later arrivals; the earlier ones lose weight.  It makes no difference in
 * how many portions arrivals are added.
 */
static void
add_arrivals(SwareArrivals *sum, const SwareArrivals *more)
{
	double		remaining = weight_after(more->count);

	sum->count += more->count;
	sum->entries = sum->entries * remaining + more->entries;
	sum->late = sum->late * remaining + more->late;
	sum->buffered += more->buffered;
}

/* Count entries that the tree got in this order, or at once. */
static void
count_arrivals(SwareStatistics *totals, int64 entries, int64 late)
{
	SwareArrivals arrivals = {.count = entries,.entries = entries,.late = late};

	/* the first of many have lost weight when the last ones come */
	if (entries > 1)
	{
		double		weight =
			ARRIVALS_MEMORY * (1 - weight_after(entries)) / entries;

		arrivals.entries *= weight;
		arrivals.late *= weight;
	}
	add_arrivals(&totals->arrivals, &arrivals);
}

/* Add later scans and entries; the earlier ones lose weight. */
static void
add_use(SwareUse *sum, const SwareUse *more)
{
	double		remaining =
		USE_MEMORY / (USE_MEMORY + more->scans + more->entries);

	sum->scans = sum->scans * remaining + more->scans;
	sum->entries = sum->entries * remaining + more->entries;
}

/* Add up what two accounts have. */
static void
add_totals(SwareStatistics *sum, const SwareStatistics *more)
{
	for (int i = 0; i < SWARE_COUNTERS; i++)
		sum->counters[i] = sware_counter_is_maximum(i) ?
			Max(sum->counters[i], more->counters[i]) :
			sum->counters[i] + more->counters[i];
	add_sortedness(&sum->sortedness, &more->sortedness);
	add_arrivals(&sum->arrivals, &more->arrivals);
	add_use(&sum->use, &more->use);
}

/*
 * Make room for an account in shared memory, by removing the one that has not
 * changed for longest.  The caller holds the lock exclusively.
 */
static void
forget_stalest(void)
{
	SharedAccount *stalest = dlist_tail_element(SharedAccount, node,
												&shared_list->accounts);

	dlist_delete(&stalest->node);
	hash_search(shared_accounts, &stalest->key, HASH_REMOVE, NULL);
}

/*
 * Returns the account of an index in shared memory, which is made if it is not
 * there; NULL if there is no memory.  The caller holds the lock exclusively.
 */
static SharedAccount *
make_shared_account(const AccountKey *key, TimestampTz since)
{
	SharedAccount *account;
	bool		found;

	account = hash_search(shared_accounts, key, HASH_FIND, NULL);
	if (account)
		return account;
	if (hash_get_num_entries(shared_accounts) >= MAX_ACCOUNTS)
		forget_stalest();
	account = hash_search(shared_accounts, key, HASH_ENTER_NULL, &found);
	if (account)
	{
		SpinLockInit(&account->mutex);
		memset(&account->totals, 0, sizeof(SwareStatistics));
		account->totals.since = since;
		dlist_push_head(&shared_list->accounts, &account->node);
	}
	return account;
}

/* Add an account of this backend to the index's account in shared memory. */
static void
empty_account(Account *account)
{
	SharedAccount *shared;

	LWLockAcquire(shared_lock, LW_SHARED);
	shared = hash_search(shared_accounts, &account->key, HASH_FIND, NULL);
	if (shared == NULL)
	{
		LWLockRelease(shared_lock);
		LWLockAcquire(shared_lock, LW_EXCLUSIVE);
		shared = make_shared_account(&account->key, account->totals.since);
	}
	if (shared)
	{
		SpinLockAcquire(&shared->mutex);
		add_totals(&shared->totals, &account->totals);

		/* two flushers may have taken the same entries away */
		shared->totals.arrivals.buffered =
			Max(shared->totals.arrivals.buffered, 0);
		SpinLockRelease(&shared->mutex);
		SpinLockAcquire(&shared_list->mutex);
		dlist_move_head(&shared_list->accounts, &shared->node);
		SpinLockRelease(&shared_list->mutex);
	}
	LWLockRelease(shared_lock);
}

/* Empty this backend's accounts into shared memory, if any.  Cannot fail. */
static void
empty_accounts(TimestampTz now)
{
	HASH_SEQ_STATUS status;
	Account    *account;

	/* without own accounts, the first could not be made */
	if (!is_unemptied || own_accounts == NULL || shared_accounts == NULL)
		return;
	is_unemptied = false;
	is_urgent = false;
	memset(recent_accounts, 0, sizeof(recent_accounts));
	latest_emptying = now;

	hash_seq_init(&status, own_accounts);
	while ((account = hash_seq_search(&status)) != NULL)
	{
		empty_account(account);
		hash_search(own_accounts, &account->key, HASH_REMOVE, NULL);
	}
}

void
sware_statistics_transaction_ends(void)
{
	TimestampTz now;

	if (!is_unemptied || shared_accounts == NULL)
		return;
	now = GetCurrentTransactionStopTimestamp();
	if (is_urgent || now >= latest_emptying + EMPTYING_INTERVAL)
		empty_accounts(now);
}

static void
empty_at_exit(int code, Datum arg)
{
	empty_accounts(GetCurrentTimestamp());
}

/* Find this backend's account of an index, or make it. */
static pg_noinline Account *
find_account(Relation index)
{
	static bool is_registered = false;
	HASHCTL		control = {.keysize = sizeof(AccountKey),
		.entrysize = sizeof(Account),
	.hcxt = TopMemoryContext};
	AccountKey	key = {MyDatabaseId, RelationGetRelid(index)};
	Account    *account;
	bool		found;

	/* without shared memory, accounts are never emptied */
	if (own_accounts && hash_get_num_entries(own_accounts) >= MAX_OWN_ACCOUNTS)
	{
		hash_destroy(own_accounts);
		own_accounts = NULL;
		memset(recent_accounts, 0, sizeof(recent_accounts));
	}
	if (own_accounts == NULL)
		own_accounts = hash_create("sware statistics of this backend", 64,
								   &control,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	if (!is_registered)
		on_shmem_exit(empty_at_exit, (Datum) 0);
	is_registered = true;

	account = hash_search(own_accounts, &key, HASH_ENTER, &found);
	if (!found)
	{
		memset(account, 0, sizeof(Account));
		account->key = key;
		account->totals.since = GetCurrentTimestamp();
	}
	recent_accounts[key.index % RECENT_ACCOUNTS] = account;
	return account;
}

/* Returns what this backend's account of an index has, for adding to it. */
static inline SwareStatistics *
totals_of(Relation index)
{
	Oid			oid = RelationGetRelid(index);
	Account    *account = recent_accounts[oid % RECENT_ACCOUNTS];

	is_unemptied = true;
	if (unlikely(account == NULL || account->key.index != oid))
		account = find_account(index);
	return &account->totals;
}

void
sware_count(Relation index, SwareCounter counter, int64 number)
{
	totals_of(index)->counters[counter] += number;
}

void
sware_count_arrivals(Relation index, int64 entries, int64 late)
{
	count_arrivals(totals_of(index), entries, late);
}

void
sware_count_late_buffered(Relation index, int64 entries)
{
	totals_of(index)->arrivals.buffered += entries;
}

void
sware_count_use(Relation index, int64 scans, int64 entries)
{
	SwareUse	use = {.scans = scans,.entries = entries};

	add_use(&totals_of(index)->use, &use);
}

/* A sort of one entry says nothing. */
void
sware_note_sortedness(Relation index, int64 entries, int64 out_of_order,
					  int64 largest_displacement)
{
	SwareSortedness sort = {entries, out_of_order, largest_displacement};

	if (entries > 1)
		add_sortedness(&totals_of(index)->sortedness, &sort);
}

void
sware_work_begin(SwareWork *work, Relation index, SwareDoer doer)
{
	work->index = index;
	work->doer = doer;
	memcpy(work->before, totals_of(index)->counters, sizeof(work->before));
	INSTR_TIME_SET_CURRENT(work->start);
}

typedef struct Done
{
	const char *name;
	int64		pages;
	int64		entries;
	int64		leafVisits;
} Done;

/* Tell what was done, by what the session has counted meanwhile. */
static void
tell_what_was_done(SwareWorkKind kind, const int64 *counted, Done *done)
{
	done->leafVisits = counted[SWARE_STAT_LEAF_VISITS];
	if (kind == SWARE_PUBLISH_WORK)
	{
		/* a flush may be a part of it */
		done->name = "publishing";
		done->pages = 0;
		done->entries = counted[SWARE_STAT_ENTRIES_APPENDED] +
			counted[SWARE_STAT_ENTRIES_INSERTED] +
			counted[SWARE_STAT_ENTRIES_BUFFERED] -
			counted[SWARE_STAT_FLUSHED_ENTRIES];
	}
	else if (kind == SWARE_ZONE_WORK)
	{
		done->name = "sorting for scans";
		done->pages = counted[SWARE_STAT_ZONE_PAGES];
		done->entries = counted[SWARE_STAT_ZONE_ENTRIES];
	}
	else
	{
		done->name = counted[SWARE_STAT_FLUSHES] > 0 ? "flush" :
			"sorting of pages";
		done->pages = counted[SWARE_STAT_FLUSHED_PAGES] +
			counted[SWARE_STAT_SORTED_PAGES];
		done->entries = counted[SWARE_STAT_FLUSHED_ENTRIES] +
			counted[SWARE_STAT_SORTED_ENTRIES] +
			counted[SWARE_STAT_ENTRIES_DROPPED];
	}
}

static const char *const names_of_doers[] = {
	[SWARE_INSERTER] = "inserter",
	[SWARE_READER] = "reader",
	[SWARE_VACUUM] = "VACUUM or sware_flush",
	[SWARE_FLUSH_WORKER] = "flush worker"
};

bool
sware_work_end(const SwareWork *work, SwareWorkKind kind)
{
	int64	   *now = totals_of(work->index)->counters;
	int64		counted[SWARE_COUNTERS];
	Done		done;
	int64	   *longest;
	instr_time	time;

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, work->start);
	for (int i = 0; i < SWARE_COUNTERS; i++)
		counted[i] = now[i] - work->before[i];
	tell_what_was_done(kind, counted, &done);
	if (done.pages == 0 && done.entries == 0)
		return false;

	longest = &now[SWARE_STAT_INSERTER_MAX_TIME + work->doer];
	now[SWARE_STAT_INSERTER_PIECES + work->doer]++;
	*longest = Max(*longest, (int64) INSTR_TIME_GET_MICROSEC(time));
	if (kind == SWARE_FLUSH_WORK)
		now[SWARE_STAT_FLUSH_TIME] += INSTR_TIME_GET_MICROSEC(time);
	is_urgent = true;			/* it is rare: show it to others soon */
	if (sware_log_min_flush_duration >= 0 &&
		INSTR_TIME_GET_MILLISEC(time) >= sware_log_min_flush_duration)
		ereport(LOG,
				(errmsg("%s of index \"%s.%s\" by %s took %.3f ms", done.name,
						get_namespace_name(RelationGetNamespace(work->index)),
						RelationGetRelationName(work->index),
						names_of_doers[work->doer],
						INSTR_TIME_GET_MILLISEC(time)),
				 errdetail("Pages: %lld, entries: %lld, leaf visits: %lld.",
						   (long long) done.pages, (long long) done.entries,
						   (long long) done.leafVisits)));
	return true;
}

/* Add up the shared and own accounts of an index. */
void
sware_statistics_read(Oid index, SwareStatistics *sum)
{
	AccountKey	key = {MyDatabaseId, index};
	Account    *own =
		own_accounts ? hash_search(own_accounts, &key, HASH_FIND, NULL) : NULL;
	SharedAccount *shared = NULL;

	memset(sum, 0, sizeof(SwareStatistics));
	if (shared_accounts)
	{
		LWLockAcquire(shared_lock, LW_SHARED);
		shared = hash_search(shared_accounts, &key, HASH_FIND, NULL);
		if (shared)
		{
			SpinLockAcquire(&shared->mutex);
			*sum = shared->totals;
			SpinLockRelease(&shared->mutex);
		}
		LWLockRelease(shared_lock);
	}
	if (own)
	{
		add_totals(sum, &own->totals);
		if (shared == NULL)
			sum->since = own->totals.since;
	}
}

bool
sware_map_is_checked(Relation index)
{
	SwareStatistics sum;

	sware_statistics_read(RelationGetRelid(index), &sum);
	return sum.counters[SWARE_STAT_MAP_CHECKS] > 0;
}

double
sware_late_share(Relation index, double *late)
{
	SwareStatistics sum;

	sware_statistics_read(RelationGetRelid(index), &sum);
	*late = sum.arrivals.entries > 0 ?
		sum.arrivals.late / sum.arrivals.entries : 0;
	return sum.arrivals.entries;
}

/* Note, and return, the answer that these sums give to the question below. */
static bool
note_answer(int64 *scans_prevail, const SwareUse *sum, double more,
			double fewer)
{
	*scans_prevail = sum->scans >= MANY_SCANS &&
		sum->scans >= sum->entries * (*scans_prevail ? fewer : more);
	return *scans_prevail != 0;
}

bool
sware_scans_prevail(Relation index, double more, double fewer)
{
	AccountKey	key = {MyDatabaseId, RelationGetRelid(index)};
	SwareUse   *own = &totals_of(index)->use;
	SharedAccount *shared = NULL;
	bool		answer = false;

	if (shared_accounts)
	{
		LWLockAcquire(shared_lock, LW_SHARED);
		shared = hash_search(shared_accounts, &key, HASH_FIND, NULL);
		if (shared)
		{
			SwareUse	sum;

			SpinLockAcquire(&shared->mutex);
			sum = shared->totals.use;
			add_use(&sum, own);
			answer = note_answer(&shared->totals.use.scansPrevail, &sum, more,
								 fewer);
			SpinLockRelease(&shared->mutex);
		}
		LWLockRelease(shared_lock);
	}
	return shared ? answer : note_answer(&own->scansPrevail, own, more, fewer);
}

void
sware_count_late_flushed(Relation index, int64 entries, int64 late,
						 double share)
{
	SwareStatistics sum;
	int64		gone;
	int64		counted;

	sware_statistics_read(RelationGetRelid(index), &sum);

	/*
	 * The flush takes as large a share of the buffered late entries as its
	 * share of the pages is.  They are gone, even if they came late no
	 * longer, were dropped with their rows, or had been in an older file of
	 * the index.
	 */
	gone = ceil(Max(sum.arrivals.buffered, 0) * share);
	counted = Min(late, gone);
	sware_count_arrivals(index, entries - counted, late - counted);
	totals_of(index)->arrivals.buffered -= gone;
}

/*
 * Write the accounts to the file, the one that has not changed for longest
 * first, when the postmaster ends after a clean shutdown.  No other process is
 * left, and none has died with a lock, so nothing is locked.
 */
static void
save_at_exit(int code, Datum arg)
{
	Account    *records;
	int			count = 0;
	dlist_iter	iterator;

	if (shared_accounts == NULL || !sware_server_is_shut_down())
		return;
	records = MemoryContextAllocExtended(TopMemoryContext,
										 MAX_ACCOUNTS * sizeof(Account),
										 MCXT_ALLOC_NO_OOM);
	if (records == NULL)
		return;
	dlist_reverse_foreach(iterator, &shared_list->accounts)
	{
		const SharedAccount *shared =
			dlist_container(SharedAccount, node, iterator.cur);

		if (count == MAX_ACCOUNTS)
			break;
		records[count].key = shared->key;
		records[count++].totals = shared->totals;
	}
	sware_statistics_file_write(records, count, sizeof(Account));
	pfree(records);
}

/* Read the accounts that the file has, in new shared memory. */
static void
restore(void)
{
	void	   *records;
	int			count = sware_statistics_file_read(&records, MAX_ACCOUNTS,
												   sizeof(Account));

	for (int i = 0; i < count; i++)
	{
		const Account *saved = (const Account *) records + i;
		SharedAccount *account = make_shared_account(&saved->key, 0);

		if (account == NULL)
			break;
		account->totals = saved->totals;

		/* these count since the server started */
		account->totals.counters[SWARE_STAT_MAP_CHECKS] = 0;
	}
	if (count > 0)
		pfree(records);
}

void
sware_share_statistics(void)
{
	HASHCTL		control = {.keysize = sizeof(AccountKey),
	.entrysize = sizeof(SharedAccount)};
	bool		is_new;

	shared_lock = sware_share_lock("SwareStatistics");
	shared_accounts = sware_share_hash("sware statistics", MAX_ACCOUNTS,
									   &control, 0);
	shared_list = sware_share("sware statistics list", sizeof(AccountList),
							  &is_new);
	if (is_new)
	{
		SpinLockInit(&shared_list->mutex);
		dlist_init(&shared_list->accounts);
		restore();
	}
	if (shared_list != NULL && !IsUnderPostmaster)
		on_shmem_exit(save_at_exit, (Datum) 0);
}
