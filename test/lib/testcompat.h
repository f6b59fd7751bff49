/*-------------------------------------------------------------------------
 *
 * testcompat.h
 *	  Differences between server versions that only tests and benchmarks meet.
 *	  See base/compat.h for the others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SWARE_TESTCOMPAT_H
#define SWARE_TESTCOMPAT_H

#include "base/compat.h"

/* 16 made parameters const that some functions only read */
#if PG_VERSION_NUM >= 160000
#define SWARE_VALUES_TYPE	const Datum *
#define SWARE_NULLS_TYPE	const bool *
#define SWARE_PAGE_TYPE		const void *
#else
#define SWARE_VALUES_TYPE	Datum *
#define SWARE_NULLS_TYPE	bool *
#define SWARE_PAGE_TYPE		char *
#endif

/* 17 dropped old_snapshot_threshold */
#if PG_VERSION_NUM < 170000
#define SWARE_SNAPSHOTS_GET_TOO_OLD
#endif

/* 17 has something to do at the end of inserts */
#if PG_VERSION_NUM >= 170000
#define sware_end_inserts(index, index_info) \
	index_insert_cleanup(index, index_info)
#else
#define sware_end_inserts(index, index_info) \
	((void) (index), (void) (index_info))
#endif

/*
 * Before 18, unique indexes of partitioned tables need an operator that the
 * server finds for btree only.
 */
#if PG_VERSION_NUM < 180000
#define SWARE_UNIQUE_PARTITIONS_NEED_BTREE
#endif

/* Before 19, the content lock of a page is a lightweight lock. */
#if PG_VERSION_NUM < 190000
#define SWARE_CONTENT_LOCKS_ARE_LWLOCKS
#endif

/*
 * 18 begins a scan with a place to count its descents in, and 19 with options;
 * none is wanted.
 */
#if PG_VERSION_NUM >= 190000
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, NULL, keys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, NULL, keys, 0)
#else
#define sware_index_beginscan(heap, index, snapshot, keys) \
	index_beginscan(heap, index, snapshot, keys, 0)
#endif

/* 19 wants the name of a kind of locks before there is one */
#if PG_VERSION_NUM >= 190000
#define sware_new_tranche(name)	LWLockNewTrancheId(name)
#else
#define sware_new_tranche(name)	((void) (name), LWLockNewTrancheId())
#endif

#endif							/* SWARE_TESTCOMPAT_H */
