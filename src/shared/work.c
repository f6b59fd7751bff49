/*-------------------------------------------------------------------------
 *
 * work.c
 *	  Pieces of work are counted and logged.  See work.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "base/options.h"
#include "shared/work.h"

void
sware_work_begin(SwareWork *work, Relation index, SwareWorker worker)
{
	work->index = index;
	work->worker = worker;
	memcpy(work->before, sware_own_counters(index), sizeof(work->before));
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

static const char *
name_of_worker(SwareWorker worker)
{
	switch (worker)
	{
		case SWARE_INSERTER:
			return "inserter";
		case SWARE_READER:
			return "reader";
		case SWARE_VACUUM:
			break;
	}
	return "VACUUM or sware_flush";
}

void
sware_work_end(const SwareWork *work, SwareWorkKind kind)
{
	const int64 *now = sware_own_counters(work->index);
	int64		counted[SWARE_COUNTERS];
	Done		done;
	instr_time	time;

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, work->start);
	for (int i = 0; i < SWARE_COUNTERS; i++)
		counted[i] = now[i] - work->before[i];
	tell_what_was_done(kind, counted, &done);
	if (done.pages == 0 && done.entries == 0)
		return;

	sware_count_piece(work->index, work->worker, INSTR_TIME_GET_MICROSEC(time));
	if (sware_log_min_flush_duration >= 0 &&
		INSTR_TIME_GET_MILLISEC(time) >= sware_log_min_flush_duration)
		ereport(LOG,
				(errmsg("%s of index \"%s.%s\" by %s took %.3f ms", done.name,
						get_namespace_name(RelationGetNamespace(work->index)),
						RelationGetRelationName(work->index),
						name_of_worker(work->worker),
						INSTR_TIME_GET_MILLISEC(time)),
				 errdetail("Pages: %lld, entries: %lld, leaf visits: %lld.",
						   (long long) done.pages, (long long) done.entries,
						   (long long) done.leafVisits)));
}
