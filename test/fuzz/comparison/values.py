"""Column types and their values.

Every type maps an integer position to a literal, for most types monotonically, so that the
insert patterns (sorted, nearly sorted, scrambled, duplicates) can be written once, in terms of
positions.  MIDDLE is the position around which tables are filled.
"""

import hashlib
from functools import lru_cache

MIDDLE = 200000


class ColumnType:
    """One column type: how it is declared, written, compared and probed."""

    def __init__(self, name, declaration, literal, special=(), variants=None, cross=(),
                 normal=None, features=(), cast=None, expressions=()):
        self.name = name
        self.declaration = declaration
        self.plain_literal = literal      # position -> text
        self.special = special            # rare literals: extremes, NaN, empty
        self.variants = variants          # (rng, text) -> another spelling of an equal value
        self.cross = cross                # (type, position -> text): comparable other types
        self.normal = normal              # expression that makes equal values look the same
        self.features = frozenset(features)
        self.cast = cast or declaration
        self.expressions = expressions    # (SQL with %s for the column, name of result type)

    def literal(self, rng, position):
        """A literal near a position; now and then a special one."""
        if self.special and rng.random() < 0.02:
            return rng.choice(self.special)
        text = self.plain_literal(position)
        if self.variants and rng.random() < 0.5:
            text = self.variants(rng, text)
        return text

    def normalised(self, expression):
        return self.normal % expression if self.normal else expression


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def digest(position, length):
    """Text that compression cannot shrink much, the same for every run."""
    out = []
    for part in range(length // 64 + 1):
        out.append(hashlib.sha256(b"%d.%d" % (position, part)).hexdigest())
    return "".join(out)[:length]


def word(position):
    return "w%06d%s" % (position, "xyz"[:position % 4])


@lru_cache(maxsize=20000)
def wide_word(position):
    """Long keys: most make low fan-out and deep trees, a few are near or above the limit."""
    kind = position % 199
    if kind == 0:
        length = 3300 + position % 100       # too large for an index
    elif kind == 1:
        length = 2000 + position * 13 % 760  # large; the largest are above the limit
    elif kind < 20:
        length = 900 + position % 300
    elif kind < 120:
        length = 150 + position % 350
    else:
        length = 20
    if kind == 2:
        return "%06d" % position + "ab" * 6000   # shrinks to a small index tuple
    return "%06d" % position + digest(position, length)


def integer(position):
    return str(position - MIDDLE)


def small_integer(position):
    return str((position - MIDDLE + 32768) % 65536 - 32768)


def bounded(low, high):
    return lambda position: str(min(max(position - MIDDLE, low), high))


def quarter(position):
    return "%.2f" % ((position - MIDDLE) / 4)


def day(position):
    """A date around 2000-01-01, position by position."""
    days = (position - MIDDLE) % 200000
    return "%04d-%02d-%02d" % (1900 + days // 336 % 600, days // 28 % 12 + 1, days % 28 + 1)


def moment(position):
    return "%s %02d:%02d:00" % (day(position // 16), position % 16, position * 7 % 60)


def respell_number(rng, text):
    return text.rstrip("0").rstrip(".") if rng.random() < 0.5 else text + "00"


def respell_case(rng, text):
    return text.upper() if rng.random() < 0.5 else text.capitalize()


def address(position):
    host = position % 65536
    mask = ("", "/24", "/16", "/32")[position % 4]
    if position % 9 == 0:
        return "2001:db8::%x%s" % (host, "/64" if position % 2 else "")
    return "10.%d.%d.%d%s" % (position >> 16 & 255, host >> 8, host & 255, mask)


def span(position):
    start = (position - MIDDLE) // 3
    if position % 31 == 0:
        return "[%d,)" % start
    return "[%d,%d)" % (start, start + 1 + position % 3)


def element_list(position):
    place = position - MIDDLE
    return ("{%d,%d}" % (place // 10, place % 10), "{%d}" % (place // 10),
            "{%d,NULL}" % (place // 10), "{%d,%d,7}" % (place // 10, place % 10))[position % 4]


INT_CROSS = (("int2", bounded(-32768, 32767)), ("int4", integer), ("int8", integer),
             ("int8", lambda position: str(10 ** 12 * (position % 3 - 1))))
TIME_CROSS = (("date", lambda position: day(position // 16)), ("timestamp", moment),
              ("timestamptz", moment))
DATE_CROSS = (("date", day), ("timestamp", lambda position: day(position) + " 00:00:00"),
              ("timestamptz", lambda position: day(position) + " 03:00:00+00"))
WORD_EXPRESSIONS = (("lower(%s)", "text"), ("length(%s)", "length"), ("left(%s, 5)", "text"))

TYPES = [
    ColumnType("int2", "int2", small_integer, ("-32768", "32767", "0"), cross=INT_CROSS,
               features=("minmax",), expressions=(("(%s %% 7)", "int2"),)),
    ColumnType("int4", "int4", integer, ("-2147483648", "2147483647", "0"), cross=INT_CROSS,
               features=("minmax",), expressions=(("(%s / 3)", "int4"), ("(%s::int8)", "int8"))),
    ColumnType("int8", "int8", integer, ("-9223372036854775808", "9223372036854775807"),
               cross=INT_CROSS, features=("minmax",), expressions=(("(%s / 3)", "int8"),)),
    ColumnType("numeric", "numeric", quarter, ("NaN", "Infinity", "-Infinity", "0", "1e40",
                                               "0.0000000000000000000000000001"),
               respell_number, normal="trim_scale(%s)", features=("minmax",),
               expressions=(("(%s * 2)", "numeric"),)),
    ColumnType("float8", "float8", quarter, ("NaN", "-0", "0", "Infinity", "-Infinity", "1e-300"),
               cross=(("float4", quarter), ("float8", quarter)), normal="(%s + 0.0::float8)",
               features=("minmax",), expressions=(("(%s * 2)", "float8"),)),
    ColumnType("float4", "float4", quarter, ("NaN", "-0", "0", "Infinity", "-Infinity"),
               cross=(("float8", quarter),), normal="(%s + 0.0::float4)", features=("minmax",)),
    ColumnType("text", "text", word, ("", " ", "é", "zzzz", "W200000"),
               features=("like", "minmax", "pattern"), expressions=WORD_EXPRESSIONS),
    ColumnType("text_c", 'text COLLATE "C"', word, ("", "~~~", "é"), cast="text",
               features=("like", "minmax", "pattern"), expressions=WORD_EXPRESSIONS),
    ColumnType("varchar", "varchar(40)", word, ("", "zz"), cast="varchar",
               features=("like", "pattern")),
    ColumnType("case_blind", "text COLLATE fuzz_shared.case_blind", word, ("", "STRASSE"),
               respell_case, normal="lower(%s)", features=("case_blind",), cast="text"),
    ColumnType("wide", "text", wide_word, ("",), features=("wide", "like", "minmax")),
    ColumnType("wide_external", "text", wide_word, ("",), features=("wide", "external")),
    ColumnType("bpchar", "char(12)", word, ("", "a"), cast="bpchar", features=("like",)),
    ColumnType("name", "name", word, ("", "n" * 63), cross=(("text", word), ("name", word))),
    ColumnType("date", "date", day, ("infinity", "-infinity", "4713-01-01 BC"),
               cross=DATE_CROSS, features=("minmax",)),
    # Without -infinity: from it nbtree's skip scan in PostgreSQL 18 steps to a timestamp that the
    # comparison with the other type rejects.
    ColumnType("timestamp", "timestamp", moment, ("infinity", "4713-01-01 BC"), cross=TIME_CROSS,
               features=("minmax",)),
    ColumnType("timestamptz", "timestamptz", moment, ("infinity", "4713-01-01 BC"),
               cross=TIME_CROSS, features=("minmax",)),
    ColumnType("time", "time", lambda p: "%02d:%02d:%02d" % (p // 3600 % 24, p // 60 % 60, p % 60),
               ("24:00:00", "00:00:00"), features=("minmax",)),
    ColumnType("interval", "interval", lambda p: "%d hours" % (p - MIDDLE),
               ("1 mon", "30 days", "720 hours", "-1 mon"), normal="justify_interval(%s)",
               features=("minmax",)),
    ColumnType("uuid", "uuid",
               lambda p: "%08x-0000-4000-8000-%012x" % (p, p * 2654435761 % 2 ** 32),
               ("00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff")),
    ColumnType("bool", "bool", lambda p: "ft"[p % 2], features=("bool",),
               expressions=(("(NOT %s)", "bool"),)),
    ColumnType("bytea", "bytea", lambda p: "\\x%06x%s" % (p, "00ff"[:p % 3 * 2]), ("", "\\x00")),
    ColumnType("inet", "inet", address, ("0.0.0.0/0", "::/0"), features=("minmax",)),
    ColumnType("macaddr", "macaddr", lambda p: "08:00:2b:%02x:%02x:%02x" % (
        p >> 16 & 255, p >> 8 & 255, p & 255)),
    ColumnType("mood", "fuzz_shared.mood",
               lambda p: ("sad", "low", "ok", "fine", "happy", "zen")[p % 6],
               features=("minmax",)),
    ColumnType("int4_array", "int4[]", element_list, ("{}", "{NULL}"), features=("minmax",)),
    ColumnType("int4range", "int4range", span, ("empty", "(,)", "(,5)")),
    ColumnType("int4multirange", "int4multirange",
               lambda p: "{%s}" % span(p) if p % 3 else "{%s,[900000,900001)}" % span(p), ("{}",)),
    ColumnType("oid", "oid", lambda p: str(p), ("0", "4294967295"), features=("minmax",)),
    ColumnType("char", '"char"', lambda p: chr(97 + p % 26), ("",)),
    ColumnType("varbit", "varbit", lambda p: bin(p)[2:], ("", "0")),
    ColumnType("jsonb", "jsonb", lambda p: ('{"a": %d}' % p, "%d" % p, '[%d, "x"]' % p,
                                            '"%s"' % word(p))[p % 4], ("null", "{}", "[]")),
    ColumnType("pg_lsn", "pg_lsn", lambda p: "%X/%X" % (p // 100, p % 100), ("0/0",),
               features=("minmax",)),
]

# Results of expression keys that are probed with other positions than columns.
LENGTH = ColumnType("length", "int4", lambda p: str(p % 14), features=("minmax",))

BY_NAME = {column_type.name: column_type for column_type in TYPES + [LENGTH]}

# Types drawn more often: the ones most indexes are made on.
FREQUENT = [BY_NAME[name] for name in ("int4", "int8", "text", "text_c", "timestamptz", "int2",
                                       "numeric", "float8", "date")]
