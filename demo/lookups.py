"""Times look-ups and ranges on the indexed tables, alternately."""

import random
import statistics
import time
from dataclasses import dataclass

from answers import plan_nodes
from progress import Bar
from subjects import INDEXED_COLUMNS

# The same days each time the demonstration runs.
SEED = 19920101

# The first look-ups, which fill caches, are not counted.
WARM_UP = 30

# With large scale factors no kind takes longer than this.
SECONDS_PER_KIND = 20.0


@dataclass
class Kind:
    """A kind of look-up: its text, the scan it must use, and how many to do at most."""

    name: str
    sql: str
    node: str
    repetitions: int


KINDS = (
    Kind(
        "first row of a day",
        "SELECT l_orderkey FROM {table} WHERE {column} = {day} LIMIT 1",
        "Index Scan", 5000,
    ),
    Kind(
        "count of a day",
        "SELECT count(*) FROM {table} WHERE {column} = {day}",
        "Index Only Scan", 2000,
    ),
    Kind(
        "count of 30 days",
        "SELECT count(*) FROM {table} WHERE {column} >= {day} AND {column} < {day} + 30",
        "Index Only Scan", 300,
    ),
    Kind(
        "sum over 30 days",
        "SELECT sum(l_quantity) FROM {table} "
        "WHERE {column} >= {day} AND {column} < {day} + 30",
        "Index Scan", 300,
    ),
)


def ship_days(connection, table, first="-infinity", last="infinity"):
    """The days on which rows of a table were shipped."""
    rows = connection.execute(
        f"SELECT DISTINCT l_shipdate FROM {table} "
        f"WHERE l_shipdate BETWEEN '{first}' AND '{last}' ORDER BY 1"
    )
    return [row[0] for row in rows.fetchall()]


def time_all(connection, subjects, verdict, days):
    """Median microseconds of each kind of look-up, by kind and by label."""
    for name in ("enable_seqscan", "enable_bitmapscan"):
        connection.execute(f"SET {name} = off")
    medians = {}
    with Bar("look-ups", sum(kind.repetitions for kind in KINDS)) as bar:
        for kind in KINDS:
            for subject in subjects:
                for column in INDEXED_COLUMNS:
                    check_plan(connection, subject, kind, column, verdict)
            medians[kind.name] = time_kind(connection, subjects, kind, days, bar)
    print(
        f"{len(KINDS)} kinds of look-ups, on {len(INDEXED_COLUMNS)} columns in turn",
        flush=True,
    )
    for name in ("enable_seqscan", "enable_bitmapscan"):
        connection.execute(f"RESET {name}")
    return medians


def time_kind(connection, subjects, kind, days, bar):
    generator = random.Random(SEED)
    cursor = connection.cursor()
    seconds = {subject.label: [] for subject in subjects}
    deadline = time.perf_counter() + SECONDS_PER_KIND
    done_then = bar.done + kind.repetitions
    for number in range(WARM_UP + kind.repetitions):
        if number > 2 * WARM_UP and time.perf_counter() > deadline:
            break
        column = INDEXED_COLUMNS[number % len(INDEXED_COLUMNS)]
        day = generator.choice(days)
        # The second one may profit from the caches that the first one has warmed.
        order = subjects if (number // len(INDEXED_COLUMNS)) % 2 else subjects[::-1]
        for subject in order:
            text = kind.sql.format(table=subject.table, column=column, day="%(day)s::date")
            begin = time.perf_counter()
            cursor.execute(text, {"day": day}, prepare=True).fetchall()
            elapsed = time.perf_counter() - begin
            if number >= WARM_UP:
                seconds[subject.label].append(elapsed)
        if number >= WARM_UP and number % 50 == 0:
            bar.advance(50)
    bar.advance(done_then - bar.done)
    return {
        label: 1e6 * statistics.median(values) for label, values in seconds.items()
    }


def check_plan(connection, subject, kind, column, verdict):
    text = kind.sql.format(
        table=subject.table, column=column, day="'1995-01-01'::date"
    )
    nodes = plan_nodes(connection, text)
    if not any(
        node["Node Type"] == kind.node
        and node.get("Index Name") == subject.index(column)
        for node in nodes
    ):
        verdict.complain(
            kind, f"no {kind.node} on {subject.index(column)} in the plan"
        )
