/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  What has happened to an index since counting began.
 *
 * An account is what is known of one index.  This backend's accounts are in
 * private memory; if there is shared memory, they are emptied into its accounts
 * at the end of a transaction, at intervals, and before anybody here asks.
 *
 * A lightweight lock protects which accounts there are in shared memory, and
 * each account's spinlock what is in it; so adding to an account takes the
 * lightweight lock in shared mode only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "buffer/statistics.h"

/* indexes that shared memory has accounts for, at most */
#define MAX_ACCOUNTS		2048

/* accounts of a backend, at most; then it begins anew */
#define MAX_OWN_ACCOUNTS	1024

/* intervals between emptying accounts at the ends of transactions, in ms */
#define EMPTYING_INTERVAL	100

/*
 * Sorts of so many entries in all reduce the weight of what was there before
 * to about a third.
 */
#define SORTED_MEMORY		262144.0

typedef struct AccountKey
{
	Oid			database;
	Oid			index;
} AccountKey;

/* fading sums over sorts */
typedef struct Sortedness
{
	double		entries;
	double		outOfOrder;
	double		displacement;	/* the largest of each sort */
} Sortedness;

typedef struct Account
{
	AccountKey	key;			/* hash key */
	SwareCounters counters;
	Sortedness	sortedness;
	TimestampTz since;			/* when it was made */
} Account;

typedef struct SharedAccount
{
	AccountKey	key;			/* hash key */
	slock_t		mutex;			/* protects what follows */
	SwareCounters counters;
	Sortedness	sortedness;
	TimestampTz since;
	TimestampTz latest;			/* when something was added last */
} SharedAccount;

/* of SharedAccount; NULL if the library was not preloaded */
static HTAB *shared_accounts = NULL;
static LWLock *shared_lock = NULL;

static HTAB *own_accounts = NULL;	/* of Account */
static Account *latest_account = NULL;	/* the one used last */
static bool is_unemptied = false;	/* is there something in own accounts? */
static bool is_urgent = false;	/* do not wait for the interval */
static TimestampTz latest_emptying = 0;

/* Make the latest sorts count, and the earlier ones fade. */
static void
add_sortedness(Sortedness *sum, const Sortedness *more)
{
	double		remaining = SORTED_MEMORY / (SORTED_MEMORY + more->entries);

	sum->entries = sum->entries * remaining + more->entries;
	sum->outOfOrder = sum->outOfOrder * remaining + more->outOfOrder;
	sum->displacement = sum->displacement * remaining + more->displacement;
}

static void
add_counters(SwareCounters *sum, const SwareCounters *more)
{
	sum->buffered += more->buffered;
	sum->appended += more->appended;
	sum->inserted += more->inserted;
	sum->flushes += more->flushes;
	sum->flushedEntries += more->flushedEntries;
	sum->flushedPages += more->flushedPages;
	sum->flushTime += more->flushTime;
	sum->bloomProbes += more->bloomProbes;
	sum->bloomFalsePositives += more->bloomFalsePositives;
}

/*
 * Make room for an account in shared memory, by forgetting the one that had
 * no news for longest.  The caller holds the lock exclusively.
 */
static void
forget_stalest(void)
{
	HASH_SEQ_STATUS status;
	SharedAccount *account;
	SharedAccount *stalest = NULL;

	hash_seq_init(&status, shared_accounts);
	while ((account = hash_seq_search(&status)) != NULL)
	{
		if (stalest == NULL || account->latest < stalest->latest)
			stalest = account;
	}
	hash_search(shared_accounts, &stalest->key, HASH_REMOVE, NULL);
}

/*
 * The account of an index in shared memory, made if need be.  The caller
 * holds the lock exclusively.  NULL if there is no memory.
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
		memset(&account->counters, 0, sizeof(SwareCounters));
		memset(&account->sortedness, 0, sizeof(Sortedness));
		account->since = since;
		account->latest = since;
	}
	return account;
}

/* Add a backend's account to the one in shared memory, and empty it. */
static void
empty_account(Account *account, TimestampTz now)
{
	SharedAccount *shared;

	LWLockAcquire(shared_lock, LW_SHARED);
	shared = hash_search(shared_accounts, &account->key, HASH_FIND, NULL);
	if (shared == NULL)
	{
		LWLockRelease(shared_lock);
		LWLockAcquire(shared_lock, LW_EXCLUSIVE);
		shared = make_shared_account(&account->key, account->since);
	}
	if (shared)
	{
		SpinLockAcquire(&shared->mutex);
		add_counters(&shared->counters, &account->counters);
		add_sortedness(&shared->sortedness, &account->sortedness);
		shared->latest = now;
		SpinLockRelease(&shared->mutex);
	}
	LWLockRelease(shared_lock);
}

/*
 * Empty this backend's accounts into those in shared memory, if there are any.
 * Raises no errors.
 */
static void
empty_accounts(TimestampTz now)
{
	HASH_SEQ_STATUS status;
	Account    *account;

	if (!is_unemptied || shared_accounts == NULL)
		return;
	is_unemptied = false;
	is_urgent = false;
	latest_account = NULL;
	latest_emptying = now;

	hash_seq_init(&status, own_accounts);
	while ((account = hash_seq_search(&status)) != NULL)
	{
		empty_account(account, now);
		hash_search(own_accounts, &account->key, HASH_REMOVE, NULL);
	}
}

static void
empty_at_transaction_end(XactEvent event, void *arg)
{
	TimestampTz now;

	if (!is_unemptied || shared_accounts == NULL ||
		(event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		 event != XACT_EVENT_PREPARE))
		return;
	now = GetCurrentTransactionStopTimestamp();
	if (is_urgent || TimestampDifferenceExceeds(latest_emptying, now, EMPTYING_INTERVAL))
		empty_accounts(now);
}

static void
empty_at_exit(int code, Datum arg)
{
	empty_accounts(GetCurrentTimestamp());
}

static void
make_own_accounts(void)
{
	static bool is_registered = false;
	HASHCTL		control = {.keysize = sizeof(AccountKey),.entrysize = sizeof(Account),
	.hcxt = TopMemoryContext};

	own_accounts = hash_create("sware statistics of this backend", 64, &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	if (!is_registered)
	{
		RegisterXactCallback(empty_at_transaction_end, NULL);
		before_shmem_exit(empty_at_exit, (Datum) 0);
		is_registered = true;
	}
}

/* This backend's account of an index, in which something will be changed. */
static Account *
account_of(Relation index)
{
	AccountKey	key = {MyDatabaseId, RelationGetRelid(index)};
	bool		found;

	is_unemptied = true;
	if (likely(latest_account && latest_account->key.index == key.index))
		return latest_account;

	/* without shared memory nobody takes what is in here */
	if (own_accounts && hash_get_num_entries(own_accounts) >= MAX_OWN_ACCOUNTS)
	{
		hash_destroy(own_accounts);
		own_accounts = NULL;
		latest_account = NULL;
	}
	if (own_accounts == NULL)
		make_own_accounts();

	latest_account = NULL;
	latest_account = hash_search(own_accounts, &key, HASH_ENTER, &found);
	if (!found)
	{
		memset(&latest_account->counters, 0, sizeof(SwareCounters));
		memset(&latest_account->sortedness, 0, sizeof(Sortedness));
		latest_account->since = GetCurrentTimestamp();
	}
	return latest_account;
}

void
sware_count_buffered(Relation index, int64 entries)
{
	account_of(index)->counters.buffered += entries;
}

void
sware_count_tree_run(Relation index, int64 appended, int64 inserted)
{
	SwareCounters *counters = &account_of(index)->counters;

	counters->appended += appended;
	counters->inserted += inserted;
}

void
sware_count_flush(Relation index, int64 entries, int64 pages, int64 microseconds)
{
	SwareCounters *counters = &account_of(index)->counters;

	counters->flushes++;
	counters->flushedEntries += entries;
	counters->flushedPages += pages;
	counters->flushTime += microseconds;
	is_urgent = true;
}

void
sware_count_bloom(Relation index, int64 probes, int64 false_positives)
{
	SwareCounters *counters = &account_of(index)->counters;

	counters->bloomProbes += probes;
	counters->bloomFalsePositives += false_positives;
}

/* A sort of one entry says nothing. */
void
sware_note_sortedness(Relation index, int64 entries, int64 out_of_order,
					  int64 largest_displacement)
{
	Sortedness	sort = {entries, out_of_order, largest_displacement};

	if (entries > 1)
		add_sortedness(&account_of(index)->sortedness, &sort);
}

/*
 * Add up what shared memory and this backend know of an index.  False if
 * that is nothing.
 */
static bool
look_up(Oid index, Account *sum)
{
	AccountKey	key = {MyDatabaseId, index};
	Account    *own = own_accounts ? hash_search(own_accounts, &key, HASH_FIND, NULL) : NULL;
	SharedAccount *shared = NULL;

	memset(sum, 0, sizeof(Account));
	if (shared_accounts)
	{
		LWLockAcquire(shared_lock, LW_SHARED);
		shared = hash_search(shared_accounts, &key, HASH_FIND, NULL);
		if (shared)
		{
			SpinLockAcquire(&shared->mutex);
			sum->counters = shared->counters;
			sum->sortedness = shared->sortedness;
			sum->since = shared->since;
			SpinLockRelease(&shared->mutex);
		}
		LWLockRelease(shared_lock);
	}
	if (own)
	{
		add_counters(&sum->counters, &own->counters);
		add_sortedness(&sum->sortedness, &own->sortedness);
		if (shared == NULL)
			sum->since = own->since;
	}
	return own || shared;
}

/* K and L in percent; false if nothing was sorted. */
static bool
estimate(const Sortedness *sortedness, double *k, double *l)
{
	*k = 0;
	*l = 0;
	if (sortedness->entries == 0)
		return false;
	*k = 100 * sortedness->outOfOrder / sortedness->entries;
	*l = 100 * sortedness->displacement / sortedness->entries;
	return true;
}

bool
sware_estimates(Relation index, double *k, double *l)
{
	Account		sum;

	(void) look_up(RelationGetRelid(index), &sum);
	return estimate(&sum.sortedness, k, l);
}

void
sware_statistics_read(Oid index, SwareStatistics *statistics)
{
	Account		sum;

	(void) look_up(index, &sum);
	statistics->counters = sum.counters;
	statistics->hasSortedness = estimate(&sum.sortedness, &statistics->k, &statistics->l);
	statistics->since = sum.since;
}

void
sware_statistics_request_memory(void)
{
	RequestAddinShmemSpace(hash_estimate_size(MAX_ACCOUNTS, sizeof(SharedAccount)));
	RequestNamedLWLockTranche("sware statistics", 1);
}

void
sware_statistics_attach(void)
{
	HASHCTL		control = {.keysize = sizeof(AccountKey),.entrysize = sizeof(SharedAccount)};

	shared_accounts = ShmemInitHash("sware statistics", MAX_ACCOUNTS, MAX_ACCOUNTS,
									&control, HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
	shared_lock = &GetNamedLWLockTranche("sware statistics")->lock;
}
