"""Times the calls of access methods with the extension drive_index."""

import dataclasses
import itertools
import operator
import statistics

import buffer
import charts
import results
import server
import sortedness
import subjects

# As in drive_index.c.
ROWS_OF_BLOCK = 226

WIDTHS = {"short": 100, "long": 10_000}

# Reads of a share of the keys return so many entries in all, as a number of times all
# keys; but there are enough of them for a percentile.
SHARE_READS = 20
LEAST_READS = 200

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

# The transactions that load an index, and those that fill its buffer.
LOAD_OPERATIONS = 10_000
FILL_OPERATIONS = 10

# To fill a buffer no more keys than this share of all come in small transactions.
MOST_TO_FILL = 0.4


@dataclasses.dataclass
class Work:
    """What one run does: the keys before it, its inserts and its reads.

    A read asks for "width" neighbouring keys, of which one is among the "latest" that
    came, and takes "limit" entries at most; zero is no limit. The last of the keys before
    it may fill the buffer. Reads may be timed one by one.
    """

    preloaded: int
    inserts: int
    reads: int
    width: int = 1
    limit: int = 0
    latest: int = 0
    fills_buffer: bool = False
    one_by_one: bool = False


def measure(chosen, place):
    connection = prepare(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        give_keys(place, connection, keys)
        chosen.keys = keys
        for workload, operations in itertools.product(
            chosen.workloads, chosen.operations
        ):
            results.step(f"{degree.name}, {workload}, {operations:,} a transaction")
            work = plan_work(chosen, workload)
            raw += [
                {
                    "degree": degree.name, "k": degree.k, "l": degree.l,
                    "workload": workload, "operations_a_transaction": operations,
                }
                | run
                for run in time_work(chosen, connection, work, operations, everyone)
            ]
    connection.close()
    tell(chosen, raw, everyone)


def prepare(chosen):
    connection = server.connect(chosen)
    server.execute(connection, "CREATE EXTENSION drive_index")
    server.execute(connection, "CREATE TABLE t (k bigint)")
    if all(name != "synchronous_commit" for name, _ in chosen.settings):
        server.execute(connection, "SET synchronous_commit = off")
    return connection


def give_keys(place, connection, keys):
    """Hands the keys to the extension, in their order of arrival."""
    with open(place.data / "keys", "wb") as file:
        sortedness.write_copy_text(keys, file)
    server.execute(connection, "CREATE TEMPORARY TABLE keys (k bigint, v integer)")
    server.execute(connection, f"COPY keys FROM '{place.data}/keys'")
    server.execute(
        connection, "SELECT drive_index_keys(array_agg(k ORDER BY v)) FROM keys"
    )
    # A flush asks the table whether rows are dead.
    server.execute(connection, "TRUNCATE t")
    server.execute(connection, "INSERT INTO t SELECT k FROM keys ORDER BY v")
    block, last = divmod(len(keys) - 1, ROWS_OF_BLOCK)
    if server.value(connection, "SELECT max(ctid)::text FROM t") != f"({block},{last + 1})":
        raise RuntimeError("rows are not where their entries will point to")
    server.execute(connection, "DROP TABLE keys")


def make_index(connection, subject):
    """Makes an index of the table's key without the entries of its rows."""
    server.execute(connection, subject.create_index("t") + " WHERE k < 0")


def plan_work(chosen, workload):
    latest = round(chosen.rows * (chosen.latest or 0) / 100)
    return dataclasses.replace(plan_usual_work(chosen, workload), latest=latest)


def plan_usual_work(chosen, workload):
    rows = chosen.rows
    if workload == "insert":
        return Work(0, rows, 0)
    fills = workload == "full" or chosen.full_buffer
    if workload in ("point", "full"):
        return Work(rows, 0, chosen.reads, fills_buffer=fills)
    if workload in WIDTHS:
        width = WIDTHS[workload]
        reads = max(1, chosen.reads * 100 // (100 + width))
        return Work(rows, 0, reads, width, fills_buffer=fills)
    if workload.endswith("%"):
        width = max(1, round(rows * float(workload[:-1]) / 100))
        reads = max(LEAST_READS, min(chosen.reads, SHARE_READS * rows // width))
        return Work(rows, 0, reads, width, fills_buffer=fills, one_by_one=True)
    preloaded = rows * chosen.preloaded // 100
    inserts = rows - preloaded
    share = writes(workload)
    return Work(preloaded, inserts, round(inserts * (1 - share) / share))


def time_work(chosen, connection, work, operations, everyone):
    raw = []
    for number in range(chosen.rounds):
        found = {}
        for subject in subjects.in_turn(everyone, number):
            with server.settings_of(subject, chosen, connection):
                run = time_run(
                    chosen, connection, work, operations, subject, number
                )
            found[subject.label] = run["found"]
            raw.append({"round": number + 1, "subject": subject.label} | run)
            print(
                f"round {number + 1}, {subject.label}: {run['seconds']:.3f} s",
                flush=True,
            )
        if len(set(found.values())) > 1:
            raise RuntimeError(f"not the same entries were found: {found}")
    return raw


def time_run(chosen, connection, work, operations, subject, number):
    """Makes an index, does the work, and drops it."""
    make_index(connection, subject)
    processor_before = server.processor_seconds(connection)
    if work.fills_buffer:
        load_and_fill(chosen, connection, subject, work.preloaded)
    else:
        load(connection, 0, work.preloaded, max(operations, LOAD_OPERATIONS))
    load_processor_seconds = server.processor_seconds(connection) - processor_before
    server.execute(connection, "CHECKPOINT")
    blocks_before, reads_before = blocks(connection)
    processor_before = server.processor_seconds(connection)
    seconds, found, *times = measured_drive(
        connection, work, operations, chosen.seed + number
    )
    processor_seconds = server.processor_seconds(connection) - processor_before
    blocks_used, blocks_read = blocks(connection)
    index_bytes = server.relation_bytes(connection, "t_k")
    counted = buffer.counters(connection, subject, "t_k")
    buffered = buffer.entries(connection, subject, "t_k")
    server.execute(connection, "DROP INDEX t_k")
    return {
        "preloaded": work.preloaded, "inserts": work.inserts, "reads": work.reads,
        "seconds": seconds, "processor_seconds": processor_seconds,
        "processor_seconds_of_all": load_processor_seconds + processor_seconds,
        "found": found, "index_bytes": index_bytes, "buffer_entries": buffered,
        "blocks": blocks_used - blocks_before, "blocks_read": blocks_read - reads_before,
        "entries_inserted": counted["entries_inserted"],
        "leaf_visits": counted["leaf_visits"],
    } | dict(zip(PERCENTILES, times))


def blocks(connection):
    """How many blocks of the index have been asked for, and were not in shared buffers."""
    server.execute(connection, "SELECT pg_stat_force_next_flush()")
    return server.query(
        connection,
        "SELECT idx_blks_hit + idx_blks_read, idx_blks_read FROM pg_statio_user_indexes "
        "WHERE indexrelname = 't_k'",
    )[0]


def load(connection, first, count, operations=LOAD_OPERATIONS):
    """Inserts a number of keys, from the first on, in large transactions."""
    drive(connection, Work(first, count, 0), operations)


def load_and_fill(chosen, connection, subject, count):
    """Inserts keys, the last of them in small transactions that fill the buffer.

    An index without a buffer gets as many in small transactions as the first one that
    has one.
    """
    with_buffer = subject
    if subject.access_method != "sware":
        with_buffer = subjects.compared(chosen)[0]
    filling = keys_to_fill(chosen, connection, with_buffer, count)
    load(connection, 0, count - filling)
    buffer.flush(connection, subject, "t_k")
    drive(connection, Work(count - filling, filling, 0), FILL_OPERATIONS)


def keys_to_fill(chosen, connection, subject, count):
    """How many of the last keys fill the buffer of a subject, found out once for all runs."""
    known = chosen.__dict__.setdefault("keys_to_fill", {})
    case = id(chosen.keys), subject, count
    if case not in known and subject.access_method == "sware":
        most = int(count * MOST_TO_FILL)
        server.execute(connection, "ALTER INDEX t_k RENAME TO measured_k")
        make_index(connection, subject)
        load(connection, 0, count - most)
        buffer.flush(connection, subject, "t_k")
        known[case] = buffer.fill(
            connection, subject, "t_k", most,
            lambda first, step: drive(
                connection, Work(count - most + first, step, 0), FILL_OPERATIONS
            ),
        )
        server.execute(connection, "DROP INDEX t_k")
        server.execute(connection, "ALTER INDEX measured_k RENAME TO t_k")
    return known.get(case, 0)


def measured_drive(connection, work, operations, seed):
    """As drive; also returns percentiles of the times of reads, in microseconds."""
    if not work.one_by_one:
        return *drive(connection, work, operations, seed), *(None for _ in PERCENTILES)
    seconds, found, times = server.query(
        connection,
        "SELECT sum(seconds), sum(found)::bigint, percentile_cont(%s::float8[]) "
        "WITHIN GROUP (ORDER BY seconds) FROM generate_series(1, %s) n, "
        "drive_index('t_k', %s, 0, 1, %s, %s, n + %s, %s)",
        [
            list(PERCENTILES.values()), work.reads, work.preloaded, work.width,
            work.limit, seed, work.latest,
        ],
    )[0]
    return seconds, found, *(1e6 * time for time in times)


def drive(connection, work, operations, seed=0):
    """Does the work, so many operations a transaction; returns seconds, and entries found."""
    return server.query(
        connection,
        "CALL drive_transactions('t_k', %s, %s, %s, %s, %s, %s, %s, %s, NULL, NULL)",
        [
            work.preloaded, work.inserts, work.reads, work.width, work.limit, seed,
            work.latest, operations,
        ],
    )[0]


def writes(mix):
    """The share of inserts in a mix."""
    reads, inserts = (int(part) for part in mix.split(":"))
    return inserts / (reads + inserts)


def tell(chosen, raw, everyone):
    nbtree, *others = (subject.label for subject in everyone)
    summary = []
    case = operator.itemgetter("degree", "workload", "operations_a_transaction")
    for degree, workload, size in dict.fromkeys(map(case, raw)):
        runs = [run for run in raw if case(run) == (degree, workload, size)]
        operations = runs[0]["inserts"] + runs[0]["reads"]
        entries = runs[0]["preloaded"] + runs[0]["inserts"]

        def microseconds(label, figure="seconds"):
            return 1e6 / operations * statistics.median(
                run[figure] for run in runs if run["subject"] == label
            )

        def median(label, figure):
            values = [run[figure] for run in runs if run["subject"] == label]
            return None if None in values else statistics.median(values)

        for label in others:
            one, other = microseconds(nbtree), microseconds(label)
            summary.append(
                {
                    "degree": degree, "workload": workload,
                    "operations_a_transaction": size, "subject": label,
                    "operations": operations, "nbtree_microseconds": one,
                    "compared_microseconds": other, "ratio": one / other,
                    "ratio_of_processor_time": microseconds(nbtree, "processor_seconds")
                    / microseconds(label, "processor_seconds"),
                    "ratio_of_whole_processor_time":
                    microseconds(nbtree, "processor_seconds_of_all")
                    / microseconds(label, "processor_seconds_of_all"),
                    "nbtree_whole_processor_microseconds":
                    microseconds(nbtree, "processor_seconds_of_all"),
                    "compared_whole_processor_microseconds":
                    microseconds(label, "processor_seconds_of_all"),
                    "compared_merged_of_100": 100 * median(label, "entries_inserted")
                    / entries,
                    "compared_leaf_visits_of_100": 100 * median(label, "leaf_visits")
                    / entries,
                    "compared_buffer_entries": median(label, "buffer_entries"),
                    "ratio_of_size": median(label, "index_bytes")
                    / median(nbtree, "index_bytes"),
                    "nbtree_blocks": median(nbtree, "blocks") / operations,
                    "compared_blocks": median(label, "blocks") / operations,
                    "nbtree_blocks_read": median(nbtree, "blocks_read") / operations,
                    "compared_blocks_read": median(label, "blocks_read") / operations,
                }
                | {
                    f"{name}_{percentile}": median(subject, percentile)
                    for name, subject in (("nbtree", nbtree), ("compared", label))
                    for percentile in PERCENTILES
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        [
            "", "", "a transaction", "", "nbtree µs", "compared µs", "nbtree / compared",
            "of processor time", "with the load",
        ],
        [
            [
                row["degree"], row["workload"], row["operations_a_transaction"],
                row["subject"],
                row["nbtree_microseconds"], row["compared_microseconds"], row["ratio"],
                row["ratio_of_processor_time"], row["ratio_of_whole_processor_time"],
            ]
            for row in summary
        ],
    )
    panels = []
    case = operator.itemgetter("degree", "operations_a_transaction")
    for degree, size in dict.fromkeys(map(case, summary)):
        rows = [row for row in summary if case(row) == (degree, size)]
        panels.append(
            charts.panel(
                f"{degree}, {size:,} operations a transaction",
                "times as fast as nbtree", rows, "workload", "ratio",
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"calls of the access method, {chosen.rows:,} keys, "
        f"medians of {chosen.rounds} rounds",
        panels,
    )
