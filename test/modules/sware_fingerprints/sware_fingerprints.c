/*-------------------------------------------------------------------------
 *
 * sware_fingerprints.c
 *	  Tells fingerprints of keys, and the locks of keys, for tests; and hash
 *	  functions that keep something between calls.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "keys/fingerprint.h"
#include "takenkeys/keylock.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(sware_fingerprint_of);
PG_FUNCTION_INFO_V1(sware_key_stripe_of);
PG_FUNCTION_INFO_V1(sware_hash_keeping);
PG_FUNCTION_INFO_V1(sware_hash_beginnings);

/* what hash functions keep */
#define KEPT_NUMBER		UINT64CONST(0x5357415245)

static int64 beginnings = 0;

Datum
sware_fingerprint_of(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	HeapTupleHeader header = PG_GETARG_HEAPTUPLEHEADER(1);
	TupleDesc	descriptor =
		lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
							   HeapTupleHeaderGetTypMod(header));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header),
	.t_data = header};
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	uint64		fingerprint;

	if (descriptor->natts != IndexRelationGetNumberOfKeyAttributes(index))
		elog(ERROR, "the index has another number of key columns");
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (TupleDescAttr(descriptor, i)->atttypid != index->rd_opcintype[i])
			elog(ERROR, "column %d is of another type", i + 1);
	}
	heap_deform_tuple(&tuple, descriptor, values, isnull);
	fingerprint = sware_fingerprint(index, values, isnull).value;
	ReleaseTupleDesc(descriptor);
	index_close(index, NoLock);
	PG_RETURN_INT64((int64) fingerprint);
}

Datum
sware_key_stripe_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(sware_key_stripe((uint64) PG_GETARG_INT64(0)));
}

/* Execute what the setting asks for, once. */
static void
act(void)
{
	const char *action = GetConfigOption("hashing.action", true, false);

	if (action == NULL || action[0] == '\0')
		return;
	action = pstrdup(action);
	SetConfigOption("hashing.action", "", PGC_USERSET, PGC_S_SESSION);
	if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(action, false, 0) < 0 ||
		SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not execute \"%s\"", action);
}

Datum
sware_hash_keeping(PG_FUNCTION_ARGS)
{
	uint64	   *kept = fcinfo->flinfo->fn_extra;
	Oid			function = fcinfo->flinfo->fn_oid;

	if (kept == NULL)
	{
		beginnings++;
		kept = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(uint64));
		*kept = KEPT_NUMBER;
		fcinfo->flinfo->fn_extra = kept;
	}
	act();
	if (fcinfo->flinfo->fn_oid != function ||
		fcinfo->flinfo->fn_extra != kept || *kept != KEPT_NUMBER)
		elog(ERROR, "what a hash function keeps has got lost while it was running");
	PG_RETURN_UINT64(hash_bytes_uint32_extended(PG_GETARG_UINT32(0),
												PG_GETARG_INT64(1)));
}

Datum
sware_hash_beginnings(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(beginnings);
}
