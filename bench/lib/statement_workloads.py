"""The statements that bench/statements counts, and the tables that they need.

{t} stands for a prefix of tables, {am} for an access method, and i for the number of the
operation, which is counted from 1. Each statement commits.
"""

import dataclasses

# In the tree are even numbers, as keys, and in a full buffer odd ones, scattered.
TREE = 50_000
BUFFERED = 20_000
PRIME = 50_021
BUFFER_KILOBYTES = 1024
SOURCE = 100_000
LOADED = 10_000


@dataclasses.dataclass(frozen=True)
class Workload:
    tables: tuple
    statements: tuple
    operations: int | None = None   # that are counted; None: as many as is asked for
    without_nbtree: bool = False


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of key: the types of its columns, and their values for the number {}."""

    types: tuple
    values: tuple

    def names(self):
        return [f"k{number}" for number in range(len(self.types))]

    def columns(self):
        return ", ".join(map(" ".join, zip(self.names(), self.types)))

    def key(self, number):
        return ", ".join(value.format(f"({number})") for value in self.values)

    def equals(self, number):
        values = [value.format(f"({number})") for value in self.values]
        return " AND ".join(map(" = ".join, zip(self.names(), values)))


TEXT = ("lpad({}::text, 8, '0') || ' is a key'",)
KINDS = {
    "bigint": Kind(("bigint",), ("{}::bigint",)),
    "libc": Kind(('text COLLATE "C.utf8"',), TEXT),
    "icu": Kind(('text COLLATE "und-x-icu"',), TEXT),
    "text": Kind(('text COLLATE "C"',), TEXT),
    "uuid": Kind(
        ("uuid",), ("(lpad(to_hex({}), 12, '0') || '70008000000000000000')::uuid",)
    ),
    "numeric": Kind(("numeric",), ("{} + 0.25",)),
    "device": Kind(
        ("integer", "timestamptz"),
        ("{} % 100", "timestamptz '2024-01-01' + {} * interval '1 ms'"),
    ),
}
LOADED_KINDS = ("bigint", "text", "uuid")
UNIQUE_KINDS = (*LOADED_KINDS, "device")

# The commands that make a table.
TABLES = {
    "insert": [
        "CREATE TABLE {t}_insert (k int8, n int)",
        "CREATE INDEX ON {t}_insert USING {am} (k)",
    ],
    "latest": [
        "CREATE TABLE {t}_latest (k int8, n int)",
        "CREATE INDEX ON {t}_latest USING {am} (k)",
    ],
    "own": [
        "CREATE TABLE {t}_own (k int8, n int)",
        "CREATE INDEX ON {t}_own USING {am} (k)",
    ],
    "unique": [
        "CREATE TABLE {t}_unique (k int8, n int)",
        "CREATE UNIQUE INDEX ON {t}_unique USING {am} (k)",
    ],
    "keys": [
        "CREATE TABLE {t}_keys (k uuid, n int)",
        "INSERT INTO {t}_keys SELECT md5('old' || i)::uuid, i FROM generate_series(1, 50000) i",
        "CREATE UNIQUE INDEX ON {t}_keys USING {am} (k)",
        "VACUUM ANALYZE {t}_keys",
    ],
    "tree": [
        "CREATE TABLE {t}_tree (k int8, n int)",
        "CREATE INDEX ON {t}_tree USING {am} (k)",
        "INSERT INTO {t}_tree SELECT i, i FROM generate_series(1, 200000) i",
        "VACUUM ANALYZE {t}_tree",
    ],
    "beside": [
        "CREATE TABLE {t}_beside (k int8)",
        "INSERT INTO {t}_beside "
        "SELECT 2 * (i::int8 * 7919 % 800011) FROM generate_series(1, 800000) i",
        "CREATE INDEX {t}_beside_k ON {t}_beside USING {am} (k)",
        "{sware}ALTER INDEX {t}_beside_k SET (buffer_size = 2048)",
        "DO $$ BEGIN FOR j IN 1 .. 100000 BY 20 LOOP INSERT INTO {t}_beside "
        "SELECT 2 * (i::int8 * 7919 % 800011) + 1 FROM generate_series(j, j + 19) i; "
        "COMMIT; END LOOP; END $$",
        # all rows are visible to everybody, and the buffer stays as it is
        "VACUUM (ANALYZE, INDEX_CLEANUP off) {t}_beside",
    ],
    "hot": [
        "CREATE TABLE {t}_hot (k int, n int)",
        "CREATE UNIQUE INDEX ON {t}_hot USING {am} (k)",
        "CREATE INDEX ON {t}_hot USING {am} (n)",
        "INSERT INTO {t}_hot SELECT i, 0 FROM generate_series(1, 20) i",
        "VACUUM ANALYZE {t}_hot",
    ],
    "many": [
        "CREATE TABLE {t}_many (k int, n int)",
        "INSERT INTO {t}_many SELECT i, 0 FROM generate_series(1, 50000) i",
        "CREATE UNIQUE INDEX ON {t}_many USING {am} (k)",
        "CREATE INDEX ON {t}_many USING {am} (n)",
        "VACUUM ANALYZE {t}_many",
    ],
    "sessions": [
        "CREATE TABLE {t}_sessions (k int8, seen timestamptz)",
        "CREATE UNIQUE INDEX ON {t}_sessions USING {am} (k)",
        "CREATE INDEX ON {t}_sessions USING {am} (seen)",
        "INSERT INTO {t}_sessions SELECT i, clock_timestamp() "
        "FROM generate_series(-20000, 0) i",
        "VACUUM ANALYZE {t}_sessions",
    ],
    "queue": [
        "CREATE TABLE {t}_queue (k int8, n int)",
        "CREATE INDEX ON {t}_queue USING {am} (k)",
        "INSERT INTO {t}_queue SELECT i, 0 FROM generate_series(-99, 0) i",
        "VACUUM ANALYZE {t}_queue",
    ],
    "jobs": [
        "CREATE TABLE {t}_jobs (k int8, state text, run_at timestamptz)",
        "CREATE UNIQUE INDEX ON {t}_jobs USING {am} (k)",
        "CREATE INDEX ON {t}_jobs USING {am} (state, run_at)",
        "INSERT INTO {t}_jobs SELECT i, 'available', clock_timestamp() "
        "FROM generate_series(-99, 0) i",
        "VACUUM ANALYZE {t}_jobs",
    ],
}

WORKLOADS = {
    "insert": Workload(("insert",), ("INSERT INTO {t}_insert VALUES (i, i)",)),
    "unique": Workload(("unique",), ("INSERT INTO {t}_unique VALUES (i, i)",)),
    "keys": Workload(("keys",), ("INSERT INTO {t}_keys VALUES (md5(i::text)::uuid, i)",)),
    "many-keys": Workload(
        ("keys",),
        (
            "FOR j IN 30 * i .. 30 * i + 29 LOOP "
            "INSERT INTO {t}_keys VALUES (md5('many' || j)::uuid, j); END LOOP",
        ),
        operations=100,
    ),
    "look-up": Workload(
        ("tree",), ("PERFORM n FROM {t}_tree WHERE k = i::int8 * 7919 % 200000 + 1",)
    ),
    "latest": Workload(
        ("latest",),
        (
            "INSERT INTO {t}_latest VALUES (i, i)",
            "PERFORM n FROM {t}_latest WHERE k = i - i::int8 * 7919 % least(i, 1000)",
        ),
    ),
    "own": Workload(
        ("own",),
        (
            "FOR j IN 10 * i .. 10 * i + 9 LOOP "
            "INSERT INTO {t}_own VALUES (j::int8 * 7919 % 100003, j); "
            "PERFORM n FROM {t}_own WHERE k = j::int8 * 7919 % 100003; END LOOP",
        ),
    ),
    "newest": Workload(
        ("latest",),
        (
            "INSERT INTO {t}_latest VALUES (1000000 + i, i)",
            "PERFORM sum(n) FROM "
            "(SELECT n FROM {t}_latest ORDER BY k DESC LIMIT 100) AS newest",
        ),
    ),
    "range": Workload(
        ("tree",),
        (
            "PERFORM sum(n) FROM {t}_tree "
            "WHERE k BETWEEN i::int8 * 7919 % 199000 AND i::int8 * 7919 % 199000 + 999",
        ),
        operations=50,
    ),
    "any": Workload(
        ("tree",),
        (
            "PERFORM sum(n) FROM {t}_tree WHERE k = ANY (ARRAY("
            "SELECT (i + j)::int8 * 7919 % 200000 + 1 FROM generate_series(1, 30) j))",
        ),
    ),
    "beside": Workload(
        ("beside",),
        (
            "PERFORM count(*) FROM {t}_beside "
            "WHERE k BETWEEN i::int8 * 79190 % 1580000 AND i::int8 * 79190 % 1580000 + 17999",
        ),
        operations=50,
    ),
    "hot-of-many": Workload(
        ("many",),
        (
            "UPDATE {t}_many SET n = i::int8 * 7919 % 1000003 "
            "WHERE k = i::int8 * 7919 % 20 * 2500 + 1",
            "PERFORM n FROM {t}_many WHERE k = (i + 3)::int8 * 7919 % 20 * 2500 + 1",
        ),
    ),
    "hot": Workload(
        ("hot",),
        (
            "UPDATE {t}_hot SET n = i::int8 * 7919 % 1000003 "
            "WHERE k = i::int8 * 7919 % 20 + 1",
        ),
    ),
    "sessions": Workload(
        ("sessions",),
        (
            "INSERT INTO {t}_sessions VALUES (i, clock_timestamp())",
            *(
                "UPDATE {t}_sessions SET seen = clock_timestamp() "
                f"WHERE k = i - {100 * j}" for j in range(5)
            ),
            "DELETE FROM {t}_sessions WHERE k = i - 1000",
        ),
    ),
    "queue": Workload(
        ("queue",),
        (
            "INSERT INTO {t}_queue VALUES (i, i)",
            "DELETE FROM {t}_queue WHERE k = "
            "(SELECT k FROM {t}_queue ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED)",
        ),
    ),
    "jobs": Workload(
        ("jobs",),
        (
            "INSERT INTO {t}_jobs VALUES (i, 'available', clock_timestamp())",
            "UPDATE {t}_jobs SET state = 'running' WHERE k = "
            "(SELECT k FROM {t}_jobs WHERE state = 'available' "
            "AND run_at <= clock_timestamp() ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED)",
            "UPDATE {t}_jobs SET state = 'completed' WHERE k = i - 100",
            "DELETE FROM {t}_jobs WHERE k = i - 100",
        ),
    ),
}

# The workloads of each group.
GROUPS = {"statements": list(WORKLOADS)}


def scattered(number):
    """One of the numbers that are in a full buffer, or come to it."""
    return f"2 * (({number}) * 7919 % {PRIME}) + 1"


def add_kind(name, kind):
    """Adds tables and workloads of single rows: in the tree, and in a full buffer."""
    tree, full = f"{{t}}_tree_{name}", f"{{t}}_full_{name}"
    fill_tree = f"SELECT {kind.key('2 * i')}, i FROM generate_series(1, {TREE}) i"
    for table in tree, full:
        TABLES[table.removeprefix("{t}_")] = [
            f"CREATE TABLE {table} ({kind.columns()}, n int)",
            f"INSERT INTO {table} {fill_tree}",
            f"CREATE INDEX {table}_k ON {table} "
            f"USING {{am}} ({', '.join(kind.names())})",
            f"VACUUM ANALYZE {table}",
        ]
    TABLES[f"full_{name}"] += [
        f"{{sware}}ALTER INDEX {full}_k SET (buffer_size = {BUFFER_KILOBYTES})",
        # few at a time, so that they go to the buffer
        f"DO $$ BEGIN FOR j IN 1 .. {BUFFERED} BY 100 LOOP INSERT INTO {full} "
        f"SELECT {kind.key(scattered('i'))}, i FROM generate_series(j, j + 99) i; "
        "COMMIT; END LOOP; END $$",
        # a scan of the table notes on the rows that they are there
        f"SELECT sum(n) FROM {full}",
    ]
    looked_up = f"i * 7919 % {TREE} + 1"
    buffered = f"i * 31 % {BUFFERED} + 1"
    added = {
        "insert": (tree, f"INSERT INTO {tree} SELECT {kind.key(f'2 * ({TREE} + i)')}, i"),
        "look-up": (
            tree, f"PERFORM n FROM {tree} WHERE {kind.equals(f'2 * ({looked_up})')}"
        ),
        "scatter": (
            full, f"INSERT INTO {full} SELECT {kind.key(scattered(f'{BUFFERED} + i'))}, i"
        ),
        "buffered": (
            full, f"PERFORM n FROM {full} WHERE {kind.equals(scattered(buffered))}"
        ),
    }
    if len(kind.types) == 1:
        added["ordered"] = (
            full,
            f"PERFORM sum(n) FROM (SELECT n FROM {full} "
            f"WHERE k0 >= {kind.key(scattered(buffered))} ORDER BY k0 LIMIT 10) AS ten",
        )
    for what, (table, statement) in added.items():
        WORKLOADS[f"{name}-{what}"] = Workload(
            (table.removeprefix("{t}_"),), (statement,)
        )
    GROUPS[name] = [f"{name}-{what}" for what in added]


def add_bulk(name, kind):
    """Adds a load of near-sorted rows, a build, and a flush of a full buffer."""
    source, tree = f"{{t}}_source_{name}", f"{{t}}_tree_{name}"
    first = 4 * TREE    # above what single rows have left in the tree
    TABLES[f"source_{name}"] = [
        f"CREATE TABLE {source} ({kind.columns()}, n int)",
        # of ten rows one is late, by at most 500
        f"INSERT INTO {source} "
        f"SELECT {kind.key(f'{first} + i - i % 10 / 9 * (i * 7919 % 500)')}, i "
        f"FROM generate_series(1, {SOURCE}) i",
        f"VACUUM ANALYZE {source}",
    ]
    WORKLOADS[f"{name}-load"] = Workload(
        (f"source_{name}", f"tree_{name}"),
        (f"INSERT INTO {tree} SELECT * FROM {source} LIMIT {LOADED}",), operations=1,
    )
    WORKLOADS[f"{name}-build"] = Workload(
        (f"source_{name}",),
        (f"CREATE INDEX ON {source} USING {{am}} ({', '.join(kind.names())})",),
        operations=1,
    )
    WORKLOADS[f"{name}-flush"] = Workload(
        (f"full_{name}",), (f"PERFORM sware_flush('{{t}}_full_{name}_k')",),
        operations=1, without_nbtree=True,
    )
    bulk = [f"{name}-{what}" for what in ("load", "build", "flush")]
    GROUPS.setdefault("bulk", []).extend(bulk)


def add_unique(name, kind):
    """Adds a load of near-sorted rows into a unique index."""
    once, loaded = f"{{t}}_once_{name}", f"{{t}}_loaded_{name}"
    TABLES[f"loaded_{name}"] = [
        f"CREATE TABLE {loaded} ({kind.columns()}, n int)",
        f"INSERT INTO {loaded} SELECT {kind.key('i')}, i FROM generate_series(1, {TREE}) i",
        f"CREATE UNIQUE INDEX ON {loaded} USING {{am}} ({', '.join(kind.names())})",
        f"CREATE TABLE {once} ({kind.columns()}, n int)",
        # of ten rows one is early or late, by at most 630; no key is there twice
        f"INSERT INTO {once} "
        f"SELECT {kind.key(f'{TREE} + CASE WHEN i % 10 = 0 THEN (i / 10 # 63) * 10 ELSE i END')}, i "
        f"FROM generate_series(1000, {SOURCE}) i",
        f"VACUUM ANALYZE {once}",
    ]
    WORKLOADS[f"{name}-unique"] = Workload(
        (f"loaded_{name}",), (f"INSERT INTO {loaded} SELECT * FROM {once}",), operations=1
    )
    GROUPS["bulk"].append(f"{name}-unique")


for each, its_kind in KINDS.items():
    add_kind(each, its_kind)
for each in LOADED_KINDS:
    add_bulk(each, KINDS[each])
for each in UNIQUE_KINDS:
    add_unique(each, KINDS[each])


def chosen_workloads(names):
    """The workloads of names and groups, each once, in the order of their names."""
    found = [workload for name in names for workload in GROUPS.get(name, [name])]
    return list(dict.fromkeys(found))
