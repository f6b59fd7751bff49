/*-------------------------------------------------------------------------
 *
 * abbreviation.c
 *	  Numbers for values that are no integers.
 *
 * A number is taken from the first bytes or digits of a value.  So different
 * values may have the same number, but the order of two numbers is never the
 * opposite of that of their values.
 *
 * Nothing here reads catalogs or calls comparison functions, so that it can be
 * done while a page is locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "port/pg_bswap.h"

#include "keys/abbreviation.h"

#define NUMBER_BYTES	sizeof(uint64)

/*
 * ASCII characters in the order that most collations have, as far as the first
 * difference between two texts decides: upper-case letters count as lower-case
 * ones.
 */
static const char usual_order[] =
"\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
"abcdefghijklmnopqrstuvwxyz";

/*
 * How type numeric is stored: a header, perhaps the weight in its own word,
 * and the digits, to the base of 10,000, none of which is a leading zero.  The
 * weight is the exponent of the first digit.
 */
#define NUMERIC_FORM_MASK		0xC000
#define NUMERIC_SHORT_FORM		0x8000
#define NUMERIC_SPECIAL_FORM	0xC000
#define NUMERIC_IS_NEGATIVE		0x4000	/* the form of negative numbers with a
										 * weight word */
#define SHORT_IS_NEGATIVE		0x2000
#define SHORT_WEIGHT_SIGN		0x0040
#define SHORT_WEIGHT_MASK		0x003F
#define SPECIAL_MASK			0xF000
#define SPECIAL_MINUS_INFINITY	0xF000

/* of numeric's weight and digits, what a number keeps */
#define KEPT_DIGITS				4
#define LEAST_WEIGHT			(-256)
#define LARGEST_WEIGHT			255
#define BITS_OF_DIGITS			54

StaticAssertDecl(UINT64CONST(10000) * 10000 * 10000 * 10000 <=
				 UINT64CONST(1) << BITS_OF_DIGITS,
				 "the kept digits must fit into their bits");
StaticAssertDecl(((int64) (LARGEST_WEIGHT - LEAST_WEIGHT)) <
				 INT64CONST(1) << (63 - BITS_OF_DIGITS),
				 "the weight must fit beside the digits");

/* An unsigned number as a signed one in the same order. */
static inline int64
as_signed(uint64 number)
{
	return (int64) (number ^ (UINT64CONST(1) << 63));
}

/* The number of the bytes from `start` on; missing ones count as zero. */
static inline int64
number_of_bytes(SwareBytes bytes, Size start)
{
	uint64		number = 0;

	if (likely(bytes.size >= start + NUMBER_BYTES))
		memcpy(&number, bytes.data + start, NUMBER_BYTES);
	else if (bytes.size > start)
		memcpy(&number, bytes.data + start, bytes.size - start);
	return as_signed(pg_ntoh64(number));
}

static int64
number_of_float(float8 value)
{
	int64		number;

	if (isnan(value))
		return PG_INT64_MAX;
	if (value == 0)
		return 0;				/* whatever its sign */
	memcpy(&number, &value, sizeof(number));
	return number < 0 ? -(number & PG_INT64_MAX) : number;
}

/* The number of a numeric, given what follows its varlena header. */
static int64
number_of_numeric(SwareBytes numeric)
{
	uint16		header;
	int16		weight;
	bool		is_negative;
	Size		start = sizeof(uint16);
	int64		number = 0;

	memcpy(&header, numeric.data, sizeof(header));
	if ((header & NUMERIC_FORM_MASK) == NUMERIC_SPECIAL_FORM)
		return (header & SPECIAL_MASK) == SPECIAL_MINUS_INFINITY ?
			-PG_INT64_MAX : PG_INT64_MAX;
	if ((header & NUMERIC_FORM_MASK) == NUMERIC_SHORT_FORM)
	{
		is_negative = (header & SHORT_IS_NEGATIVE) != 0;
		weight = header & SHORT_WEIGHT_MASK;
		if (header & SHORT_WEIGHT_SIGN)
			weight |= ~SHORT_WEIGHT_MASK;
	}
	else
	{
		is_negative = (header & NUMERIC_FORM_MASK) == NUMERIC_IS_NEGATIVE;
		memcpy(&weight, numeric.data + start, sizeof(weight));
		start += sizeof(weight);
	}
	if (numeric.size <= start)
		return 0;				/* zero has no digits */

	if (weight > LARGEST_WEIGHT)
		number = PG_INT64_MAX;
	else if (weight >= LEAST_WEIGHT)
	{
		for (int i = 0; i < KEPT_DIGITS; i++)
		{
			int16		digit = 0;

			if (start + sizeof(digit) <= numeric.size)
				memcpy(&digit, numeric.data + start, sizeof(digit));
			start += sizeof(digit);
			number = number * 10000 + digit;
		}
		number |= (int64) (weight - LEAST_WEIGHT) << BITS_OF_DIGITS;
	}
	return is_negative ? -number : number;
}

/*
 * The number of a value that is no integer and no null, in ascending order.  Of
 * bytes, those before `start` are left out: they are the same in all values
 * whose numbers are compared.
 */
int64
sware_number_of_value(SwareComparison comparison, Datum value, Size start)
{
	SwareBytes	bytes;
	struct varlena *plain;
	int64		number;

	if (comparison == SWARE_COMPARE_FLOAT4)
		return number_of_float(DatumGetFloat4(value));
	if (comparison == SWARE_COMPARE_FLOAT8)
		return number_of_float(DatumGetFloat8(value));
	bytes = sware_bytes_of(comparison, value);
	if (likely(bytes.data != NULL))
		return comparison == SWARE_COMPARE_NUMERIC ?
			number_of_numeric(bytes) : number_of_bytes(bytes, start);

	plain = (struct varlena *) DatumGetPointer(value);
	plain = comparison == SWARE_COMPARE_BYTES ?
		detoast_attr_slice(plain, 0, start + NUMBER_BYTES) :
		detoast_attr(plain);
	number = sware_number_of_value(comparison, PointerGetDatum(plain), start);
	pfree(plain);
	return number;
}

/* The place of a byte in the usual order of text. */
static inline uint8
usual_place(uint8 byte)
{
	static uint8 places[UCHAR_MAX + 1];
	static bool is_set = false;

	if (unlikely(!is_set))
	{
		for (int i = 0; i <= UCHAR_MAX; i++)
			places[i] = IS_HIGHBIT_SET(i) ? i : 0;
		for (int i = 0; usual_order[i] != '\0'; i++)
		{
			places[(uint8) usual_order[i]] = i + 1;
			places[pg_ascii_toupper((uint8) usual_order[i])] = i + 1;
		}
		is_set = true;
	}
	return places[byte];
}

/*
 * A number of a text that is probably in the order of its collation, which is
 * not known.  The bytes before `start` are left out.
 */
int64
sware_guess_of_text(Datum value, Size start)
{
	uint64		bytes =
		(uint64) sware_number_of_value(SWARE_COMPARE_BYTES, value, start);
	uint64		places = 0;

	bytes = (uint64) as_signed(bytes);
	for (int shift = 0; shift < (int) (NUMBER_BYTES * BITS_PER_BYTE);
		 shift += BITS_PER_BYTE)
		places |= (uint64) usual_place(bytes >> shift & UCHAR_MAX) << shift;
	return as_signed(places);
}
