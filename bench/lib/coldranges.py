"""Times ranges of indexes that are not in memory, and of the same when they are."""

import dataclasses
import os
import random
import time

import buffer
import results
import server
import sortedness
import subjects
import vacuum

DIRECTIONS = {"forward": "", "backward": " DESC"}

SETTINGS = (
    "enable_seqscan = off", "enable_bitmapscan = off", "enable_sort = off",
    "max_parallel_workers_per_gather = 0", "allow_in_place_tablespaces = on",
)

# They change places, so that each copies the index's file.
TABLESPACES = ("ranges_one", "ranges_other")

SEGMENTS = 64

FIGURES = {"cold": "cold", "warm": "warm", "processor": "warm, processor"}

REBUILT = ", rebuilt"
GROUPED = ", grouped"


def measure(chosen, place):
    connection = server.connect(chosen)
    for setting in SETTINGS:
        server.execute(connection, f"SET {setting}")
    for name in TABLESPACES:
        server.execute(connection, f"CREATE TABLESPACE {name} LOCATION ''")
    everyone = [subjects.NBTREE]
    states = [""] + [REBUILT] * chosen.rebuilt + [GROUPED] * chosen.grouped
    for subject in subjects.compared(chosen):
        everyone += [
            dataclasses.replace(
                subject, label=f"{subject.label}, {number}{state}",
                settings=(*subject.settings, ("effective_io_concurrency", str(number))),
            )
            for state in states
            for number in chosen.concurrency
        ]
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        buffer.write_keys(place, keys, chosen.rows - chosen.buffered_rows)
        raw += time_degree(chosen, place, connection, degree, everyone)
    connection.close()
    tell_waiting(raw)
    tell(chosen, raw, [subject.label for subject in everyone], FIGURES)


def time_degree(chosen, place, connection, degree, everyone):
    results.step(degree.name)
    tables = {}
    # What differs in settings of the session only is one index.
    for subject in everyone:
        kind = kind_of(subject)
        if kind not in tables:
            table = tables[kind] = f"ranges_{len(tables)}"
            load(place, connection, subject, table)
            if chosen.buffered_rows > 0:
                buffer.insert_in_twenties(place, connection, table)
                server.execute(connection, f"VACUUM (INDEX_CLEANUP off) {table}")
                buffer.tell_entries(connection, {subject: table})
    raw = []
    for number in range(chosen.rounds):
        ranges = choose_ranges(chosen, number)
        for subject in subjects.in_turn(everyone, number):
            table = tables[kind_of(subject)]
            runs = time_ranges(chosen, place, connection, subject, table, ranges)
            for run in runs:
                run |= {
                    "degree": degree.name, "round": number + 1, "subject": subject.label,
                }
            raw += runs
            texts = [
                f"{results.median(some, subject.label, figure) * 1000:,.1f} ms "
                f"{figure} {direction}"
                for direction in DIRECTIONS
                for some in [[run for run in runs if run["direction"] == direction]]
                for figure in ("cold", "warm")
            ]
            results.tell_run(number, subject.label, texts)
    return raw


def kind_of(subject):
    state = next((s for s in (REBUILT, GROUPED) if subject.label.endswith(s)), "")
    return subject.access_method, subject.options, state


def load(place, connection, subject, table):
    server.execute(connection, f"DROP TABLE IF EXISTS {table}")
    server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
    server.execute(connection, subject.create_index(table))
    server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
    server.execute(connection, f"VACUUM (ANALYZE, FREEZE) {table}")
    if subject.label.endswith(REBUILT):
        timed(connection, "rebuilding", f"REINDEX INDEX {table}_k")
    if subject.label.endswith(GROUPED):
        server.execute(connection, f"ALTER INDEX {table}_k SET (group_leaves)")
        make_cold(place, connection, f"{table}_k")
        timed(connection, "grouping", f"VACUUM (INDEX_CLEANUP on) {table}")
    size = server.relation_bytes(connection, f"{table}_k") / 1e6
    print(f"{subject.access_method}: an index of {size:,.1f} MB", flush=True)


def timed(connection, action, statement):
    """Runs a statement, and tells its time and the WAL that it writes."""
    before, start = server.wal_position(connection), time.perf_counter()
    server.execute(connection, statement)
    elapsed = time.perf_counter() - start
    wal = server.wal_position(connection) - before
    print(f"{action}: {elapsed:,.1f} s, {wal / 1e6:,.0f} MB of WAL", flush=True)


def choose_ranges(chosen, number):
    """The first keys of ranges that do not overlap, for each direction."""
    generator = random.Random(chosen.seed * 1000 + number)
    places = generator.sample(range(int(100 / chosen.percent)), 2 * chosen.ranges)
    width = int(chosen.rows * chosen.percent / 100)
    first = [place * width + 1 for place in places]
    return {
        direction: first[i :: len(DIRECTIONS)] for i, direction in enumerate(DIRECTIONS)
    }


def time_ranges(chosen, place, connection, subject, table, ranges):
    make_cold(place, connection, f"{table}_k")
    width = int(chosen.rows * chosen.percent / 100)
    runs = []
    with server.settings_of(subject, chosen, connection):
        # The catalogs, and the visibility map.
        for direction in DIRECTIONS:
            count(connection, table, direction, -1, 1)
        for direction, places in ranges.items():
            for first in places:
                cold, _ = count(connection, table, direction, first, width)
                warm, processor = count(connection, table, direction, first, width)
                runs.append(
                    {
                        "direction": direction, "first": first, "cold": cold,
                        "warm": warm, "processor": processor,
                    }
                )
    return runs


def make_cold(place, connection, index):
    now = server.value(
        connection,
        "SELECT coalesce(t.spcname, '') FROM pg_class c "
        "LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.relname = %s",
        [index],
    )
    other = TABLESPACES[now == TABLESPACES[0]]
    server.execute(connection, f"ALTER INDEX {index} SET TABLESPACE {other}")
    # Only what is on the disk can be dropped from the cache.
    server.execute(connection, "CHECKPOINT")
    for segment in segments(vacuum.file_of(place, connection, index)):
        with open(segment, "rb") as file:
            os.fsync(file.fileno())
        vacuum.cache(segment, keep=False)


def segments(path):
    """The files of a relation, of which this is the first."""
    names = (path.name, *(f"{path.name}.{number}" for number in range(1, SEGMENTS)))
    return [path.with_name(name) for name in names if path.with_name(name).exists()]


def count(connection, table, direction, first, width):
    """The times of a range: those that pass, and those of the session's process."""
    query = (
        f"SELECT count(*) FROM (SELECT k FROM {table} "
        f"WHERE k BETWEEN {first} AND {first + width - 1} "
        f"ORDER BY k{DIRECTIONS[direction]} OFFSET 0) s"
    )
    processor, before = server.processor_seconds(connection), time.perf_counter()
    found = server.value(connection, query)
    elapsed = time.perf_counter() - before
    processor = server.processor_seconds(connection) - processor
    if first >= 0 and not 0 < found <= width:
        raise RuntimeError(f"{found} rows instead of {width}: {query}")
    return elapsed, processor


def by_direction(raw):
    """The runs of each degree and direction."""
    for degree in dict.fromkeys(run["degree"] for run in raw):
        for direction in DIRECTIONS:
            yield degree, direction, [
                run for run in raw
                if run["degree"] == degree and run["direction"] == direction
            ]


def tell_waiting(raw):
    for degree, direction, runs in by_direction(raw):
        warm, cold = (results.median(runs, subjects.NBTREE.label, f) for f in ("warm", "cold"))
        waiting = 1 - results.ratio(warm, cold)
        print(f"{degree}, {direction}: nbtree waits for {waiting:.0%} of its cold time")


def tell(chosen, raw, labels, figures, counts=()):
    """Reports the medians of figures, which are times or, if in `counts`, numbers."""
    nbtree, *compared = labels
    summary = []
    table = []
    for degree, direction, runs in by_direction(raw):
        for label in compared:
            for figure, name in figures.items():
                one, other = (results.median(runs, of, figure) for of in (nbtree, label))
                speed = results.ratio(one, other)
                summary.append(
                    {
                        "degree": degree, "direction": direction, "subject": label,
                        "figure": figure, "nbtree": one, "compared": other, "speed": speed,
                    }
                )
                factor = 1 if figure in counts else 1000
                table.append(
                    [degree, direction, label, name, one * factor, other * factor, speed]
                )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "", "nbtree, ms", "compared, ms", "nbtree / compared"], table,
    )
