"""Loads rows with keys of several types, builds indexes, and reports what they cost."""

import dataclasses
import statistics
import time

import results
import server
import subjects


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of key: the columns of the index, and an expression for each.

    An expression has the number of the arrival as i, and the time in tenths of a
    millisecond as t, near-sorted. No two arrivals have the same i or the same t, and
    no two rows have the same key, so that an index may be unique.
    """

    columns: tuple
    expressions: tuple


MILLISECOND = "1700000000000 + t / 10"

UUID_V7 = f"""
    (lpad(to_hex({MILLISECOND}), 12, '0') || '7' || substr(md5('a' || i), 1, 3)
        || '8' || substr(md5('b' || i), 1, 15))::uuid
"""

ULID = f"""
    (SELECT string_agg(
        substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
            (({MILLISECOND}) >> (5 * (9 - digit)) & 31)::integer + 1, 1),
        '' ORDER BY digit) FROM generate_series(0, 9) AS digit)
    || upper(substr(md5('a' || i), 1, 16))
"""

# The decimals number the arrivals: no two of a million rows are equal.
RANDOM_NUMERIC = "floor(random() * 1e9)::numeric + (i % 1000000 / 1e6)::numeric(7, 6)"

KINDS = {
    "sorted": Kind(("bigint",), ("i",)),
    "integer": Kind(("bigint",), ("t",)),
    "timestamptz": Kind(
        ("timestamptz",), ("timestamptz '2024-01-01' + t * interval '0.1 ms'",)
    ),
    "uuid_v7": Kind(("uuid",), (UUID_V7,)),
    "uuid_v4": Kind(("uuid",), ("md5('a' || i)::uuid",)),
    "ulid_c": Kind(('text COLLATE "C"',), (ULID,)),
    "ulid_icu": Kind(('text COLLATE "und-x-icu"',), (ULID,)),
    "numeric": Kind(("numeric",), ("t + 0.25",)),
    "random_text": Kind(('text COLLATE "C"',), ("substr(md5('a' || i), 1, 20)",)),
    "random_numeric": Kind(("numeric",), (RANDOM_NUMERIC,)),
    "device_time": Kind(("integer", "bigint"), ("i % 1000", "t * 100")),
}

# Names of builds, and how many workers help each.
BUILDS = {"build": 0, "build_by_two": 1}


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NO_INDEX, subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for name in chosen.kinds:
        results.step(f"{name}, {chosen.rows:,} rows")
        prepare(chosen, place, connection, KINDS[name])
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                figures = run(chosen, place, connection, KINDS[name], subject)
                raw.append(
                    {"kind": name, "round": number + 1, "subject": subject.label}
                    | figures
                )
                print(
                    f"round {number + 1}, {subject.label}: "
                    f"load {figures['load_processor_seconds']:.3f} s, "
                    f"build {figures['build_processor_seconds']:.3f} s",
                    flush=True,
                )
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def prepare(chosen, place, connection, kind):
    """Writes the rows to a file, one tenth of them late by up to 20,000 arrivals.

    The time of a row is its place in the order of the times at which all rows were
    made, so that no two rows have the same.
    """
    server.execute(connection, "SELECT setseed(0.5)")
    command = f"""
        COPY (
            SELECT {', '.join(kind.expressions)}, i
            FROM (
                SELECT i, row_number() OVER (ORDER BY made, i) AS t
                FROM (
                    SELECT i, CASE WHEN hashint8(i) % 10 = 0
                        THEN greatest(i - abs(hashint8(-i)::bigint) % 20000, 0)
                        ELSE i END AS made
                    FROM generate_series(1::bigint, {chosen.rows}) AS i
                ) AS made_at
            ) AS arrivals
            ORDER BY i
        ) TO STDOUT
    """
    with open(place.data / "rows", "wb") as file, connection.cursor() as cursor:
        cursor.copy_expert(command, file)


def run(chosen, place, connection, kind, subject):
    """Loads an empty table, builds the index anew, and returns the figures."""
    names = [f"k{i}" for i in range(len(kind.columns))]
    columns = ", ".join(" ".join(pair) for pair in zip(names, kind.columns))
    create_index = None
    server.execute(connection, "DROP TABLE IF EXISTS t")
    server.execute(connection, f"CREATE TABLE t ({columns}, v bigint)")
    if subject.access_method is not None:
        create_index = subject.create_index("t", chosen.unique, names)
        server.execute(connection, create_index)
    server.execute(connection, "CHECKPOINT")
    wal_before = server.wal_position(connection)
    figures = timed(connection, "load", f"COPY t FROM '{place.data}/rows'")
    figures["wal_bytes"] = server.wal_position(connection) - wal_before
    for name in BUILDS:
        figures |= {f"{name}_seconds": 0.0, f"{name}_processor_seconds": 0.0}
    if subject.access_method is not None:
        server.execute(connection, "VACUUM t")
        for name, workers in BUILDS.items():
            server.execute(connection, "DROP INDEX t_k")
            server.execute(
                connection, f"SET max_parallel_maintenance_workers = {workers}"
            )
            figures |= timed(connection, name, create_index)
    return figures


def timed(connection, name, command):
    """Executes a command; returns its elapsed and its processor time, in seconds."""
    processor_before = server.processor_seconds(connection)
    begin = time.perf_counter()
    server.execute(connection, command)
    return {
        f"{name}_seconds": time.perf_counter() - begin,
        f"{name}_processor_seconds":
            server.processor_seconds(connection) - processor_before,
    }


def tell(chosen, raw, labels):
    plain, nbtree, *compared = labels
    summary = []
    for kind in chosen.kinds:
        runs = [run for run in raw if run["kind"] == kind]
        for label in compared:
            summary.append(
                {"kind": kind, "subject": label}
                | summarise(chosen.rows, runs, plain, nbtree, label)
            )
    titles = [
        "", "", "nbtree net s", "compared net s", "net ratio", "lowest", "highest",
        "of elapsed time", "nbtree WAL B/entry", "compared WAL B/entry",
        "build ratio", "of elapsed time", "nbtree by two", "compared by two",
    ]
    table = [list(row.values()) for row in summary]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)


def summarise(rows, runs, plain, nbtree, compared):
    """The figures of a kind: medians, and the net ratios of single rounds."""

    def figures(subject, figure):
        return [run[figure] for run in runs if run["subject"] == subject]

    def median(subject, figure):
        return statistics.median(figures(subject, figure))

    def net(subject, figure):
        return median(subject, figure) - median(plain, figure)

    def ratio(function, figure):
        return results.ratio(function(nbtree, figure), function(compared, figure))

    def by_one_to_two(subject):
        return results.ratio(
            median(subject, "build_seconds"), median(subject, "build_by_two_seconds")
        )

    figure = "load_processor_seconds"
    of_rounds = [
        results.ratio(round_nbtree - without, round_compared - without)
        for without, round_nbtree, round_compared in zip(
            figures(plain, figure), figures(nbtree, figure), figures(compared, figure)
        )
    ]
    known = [round_ratio for round_ratio in of_rounds if round_ratio is not None]
    return {
        "nbtree_net_seconds": net(nbtree, figure),
        "compared_net_seconds": net(compared, figure),
        "ratio_of_net_cost": ratio(net, figure),
        "lowest_ratio_of_a_round": min(known, default=None),
        "highest_ratio_of_a_round": max(known, default=None),
        "ratio_of_net_elapsed_time": ratio(net, "load_seconds"),
        "nbtree_wal_bytes_an_entry": net(nbtree, "wal_bytes") / rows,
        "compared_wal_bytes_an_entry": net(compared, "wal_bytes") / rows,
        "ratio_of_build": ratio(median, "build_processor_seconds"),
        "ratio_of_build_elapsed_time": ratio(median, "build_seconds"),
        "nbtree_build_by_one_to_two": by_one_to_two(nbtree),
        "compared_build_by_one_to_two": by_one_to_two(compared),
    }
