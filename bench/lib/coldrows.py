"""Times index scans whose pages of the table are not in memory, and the same when they are."""

import concurrent.futures
import dataclasses
import os
import random
import time

import buffer
import coldranges
import results
import server
import sortedness
import subjects
import vacuum

SETTINGS = (
    "enable_seqscan = off", "enable_bitmapscan = off", "enable_sort = off",
    "max_parallel_workers_per_gather = 0", "jit = off",
)

# The first rows of so many ranges are read for one figure.
PLACES = 20

# The device is asked for so many pages for each figure.
PAGES = 2000
PAGE_BYTES = 8192

FIGURES = {
    "cold": "cold", "sparse": "sparse keys, cold", "cached": "in the kernel's cache",
    "cached_processor": "the same, processor", "warm": "warm",
    "warm_processor": "warm, processor", "first 1": "first row, cold",
    "first 10": "first 10 rows, cold", "prefetches": "pages asked for, cold",
}


def measure(chosen, place):
    everyone = [subjects.NBTREE]
    for subject in subjects.compared(chosen):
        everyone += [
            dataclasses.replace(
                subject, label=f"{subject.label}, {number}",
                settings=(*subject.settings, ("effective_io_concurrency", str(number))),
            )
            for number in chosen.concurrency
        ]
    raw = []
    for degree in chosen.degrees:
        results.step(degree.name)
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        buffer.write_keys(place, keys, chosen.rows)
        tables = {}
        for subject in everyone:
            if kind_of(subject) not in tables:
                tables[kind_of(subject)] = load(chosen, place, subject, len(tables))
        tell_device(chosen, next(iter(tables.values()))[1])
        for number in range(chosen.rounds):
            for direction in coldranges.DIRECTIONS:
                for subject in subjects.in_turn(everyone, number):
                    table, file = tables[kind_of(subject)]
                    run = time_range(
                        chosen, place, subject, table, file, direction, number
                    )
                    raw.append(
                        {
                            "degree": degree.name, "round": number + 1,
                            "subject": subject.label, "direction": direction, **run,
                        }
                    )
                    results.tell_run(
                        number, f"{subject.label}, {direction}",
                        [f"{run[f] * 1000:,.1f} ms {f}" for f in ("cold", "cached", "warm")],
                    )
    coldranges.tell(
        chosen, raw, [subject.label for subject in everyone], FIGURES, counts=["prefetches"]
    )


def kind_of(subject):
    return subject.access_method, subject.options


def load(chosen, place, subject, number):
    """Makes a table with its index.  Returns its name and its file."""
    table = f"rows_{number}"
    connection = server.connect(chosen)
    server.execute(connection, f"DROP TABLE IF EXISTS {table}")
    server.execute(
        connection, f"CREATE TABLE {table} (k bigint, v integer, filler text "
        f"DEFAULT repeat('x', {max(1, chosen.width - 48)}))",
    )
    server.execute(connection, f"ALTER TABLE {table} ALTER filler SET STORAGE PLAIN")
    server.execute(connection, subject.create_index(table))
    server.execute(connection, f"COPY {table} (k, v) FROM '{place.data}/keys'")
    server.execute(connection, f"VACUUM (ANALYZE, FREEZE) {table}")
    # Only what is on the disk can be dropped from the cache.
    server.execute(connection, "CHECKPOINT")
    file = vacuum.file_of(place, connection, table)
    size = server.relation_bytes(connection, table) / 1e6
    connection.close()
    print(f"{subject.access_method}: a table of {size:,.0f} MB", flush=True)
    return table, file


def tell_device(chosen, file):
    """Prints how many pages of a table's first file a program reads in a second.

    A scan that asks for so many pages ahead cannot gain more than the device does.
    """
    alone = None
    pages = random.Random(1).sample(
        range(file.stat().st_size // PAGE_BYTES),
        min(PAGES, file.stat().st_size // PAGE_BYTES),
    )
    for number in sorted({1, *chosen.concurrency} - {0}):
        vacuum.cache(file, keep=False)
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            with concurrent.futures.ThreadPoolExecutor(number) as pool:
                before = time.perf_counter()
                for _ in pool.map(
                    lambda page: os.pread(opened.fileno(), PAGE_BYTES, page * PAGE_BYTES), pages
                ):
                    pass
                elapsed = time.perf_counter() - before
        alone = alone or elapsed
        print(
            f"device: {len(pages) / elapsed:,.0f} pages/s, {number} at a time: "
            f"{alone / elapsed:.2f} times as many as one at a time", flush=True,
        )


def time_range(chosen, place, subject, table, file, direction, number):
    """The figures of one range, and of the first rows of others."""
    width = int(chosen.rows * chosen.percent / 100)
    order = coldranges.DIRECTIONS[direction]
    chance = random.Random(chosen.seed * 1000 + number)
    first = 1 + chance.randrange(chosen.rows - width)
    places = [1 + chance.randrange(chosen.rows - width) for _ in range(2 * PLACES)]
    query = ranged(table, first, width, order)
    figures = {}

    connection = begin(chosen, place, subject, table, file, keep=False)
    cached_index(connection, table, first, width)
    before = prefetches(subject, connection, table)
    figures["cold"], _ = timed(connection, [query], width)
    figures["prefetches"] = prefetches(subject, connection, table) - before
    figures["warm"], figures["warm_processor"] = timed(connection, [query], width)
    connection.close()

    connection = begin(chosen, place, subject, table, file, keep=False)
    cached_index(connection, table, 1, chosen.rows)
    figures["sparse"], _ = timed(connection, [sparse(table, chosen.rows, width, order)], width)
    connection.close()

    connection = begin(chosen, place, subject, table, file, keep=True)
    cached_index(connection, table, first, width)
    figures["cached"], figures["cached_processor"] = timed(connection, [query], width)
    connection.close()

    connection = begin(chosen, place, subject, table, file, keep=False)
    for place_of_range in places:
        cached_index(connection, table, place_of_range, width)
    for rows, some in ((1, places[:PLACES]), (10, places[PLACES:])):
        queries = [ranged(table, one, width, order, rows) for one in some]
        figures[f"first {rows}"], _ = timed(connection, queries, min(rows, width))
    connection.close()
    return figures


def ranged(table, first, width, order, limit=None):
    last = first + width - 1
    return (
        f"SELECT count(v) FROM (SELECT v FROM {table} WHERE k BETWEEN {first} AND {last} "
        f"ORDER BY k{order} {f'LIMIT {limit}' if limit else 'OFFSET 0'}) s"
    )


def sparse(table, rows, number, order):
    """Rows of so many keys, evenly spread, of which a leaf has few."""
    return (
        f"SELECT count(v) FROM (SELECT v FROM {table} WHERE k = ANY (ARRAY(SELECT "
        f"generate_series(1::bigint, {number} * {rows // number}, {rows // number}))) "
        f"ORDER BY k{order} OFFSET 0) s"
    )


def begin(chosen, place, subject, table, file, keep):
    """A session on a server that has been restarted, with the table in no shared buffer."""
    server.stop(place)
    for segment in coldranges.segments(file):
        vacuum.cache(segment, keep)
    server.start(place)
    connection = server.connect(chosen)
    for setting in SETTINGS:
        server.execute(connection, f"SET {setting}")
    for name, value in subject.settings:
        server.execute(connection, f"SET {name} = %s", [value])
    # The catalogs.
    server.execute(connection, ranged(table, -1, 1, ""))
    return connection


def cached_index(connection, table, first, width):
    """Reads the range's part of the index, and no row."""
    server.execute(
        connection,
        f"SELECT count(k) FROM {table} WHERE k BETWEEN {first} AND {first + width - 1}",
    )


def prefetches(subject, connection, table):
    if subject.access_method != "sware":
        return 0
    return server.value(connection, f"SELECT table_prefetches FROM sware_stats('{table}_k')")


def timed(connection, queries, rows):
    """The times of queries: those that pass, and those of the session's process."""
    processor, before = server.processor_seconds(connection), time.perf_counter()
    found = [server.value(connection, query) for query in queries]
    elapsed = time.perf_counter() - before
    processor = server.processor_seconds(connection) - processor
    if found != [rows] * len(queries):
        raise RuntimeError(f"{found} rows instead of {rows}: {queries[0]}")
    return elapsed, processor
