"""Times the calls of access methods with the extension drive_index."""

import dataclasses
import statistics
import time

import charts
import results
import server
import sortedness
import subjects

WIDTHS = {"short": 100, "long": 10_000}


@dataclasses.dataclass
class Work:
    """What one run does: the keys before it, its inserts and its reads.

    A read asks for "width" neighbouring keys, and takes "limit" entries at most; zero
    is no limit.
    """

    preloaded: int
    inserts: int
    reads: int
    width: int = 1
    limit: int = 0


def measure(chosen, place):
    connection = prepare(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        give_keys(place, connection, keys)
        for workload in chosen.workloads:
            results.step(f"{degree.name}, {workload}")
            work = plan_work(chosen, workload)
            raw += [
                {
                    "degree": degree.name, "k": degree.k, "l": degree.l,
                    "workload": workload,
                }
                | run
                for run in time_work(chosen, connection, work, everyone)
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
    server.execute(connection, "DROP TABLE keys")


def plan_work(chosen, workload):
    rows = chosen.rows
    if workload == "insert":
        return Work(0, rows, 0)
    if workload == "point":
        return Work(rows, 0, chosen.reads)
    if workload in WIDTHS:
        width = WIDTHS[workload]
        return Work(rows, 0, max(1, chosen.reads * 100 // (100 + width)), width)
    reads, writes = (int(part) for part in workload.split(":"))
    preloaded = rows * chosen.preloaded // 100
    inserts = rows - preloaded
    return Work(preloaded, inserts, inserts * reads // writes)


def time_work(chosen, connection, work, everyone):
    raw = []
    for number in range(chosen.rounds):
        found = {}
        for subject in subjects.in_turn(everyone, number):
            with server.settings_of(subject, chosen, connection):
                run = time_run(chosen, connection, work, subject, number)
            found[subject.label] = run["found"]
            raw.append({"round": number + 1, "subject": subject.label} | run)
            print(
                f"round {number + 1}, {subject.label}: {run['seconds']:.3f} s",
                flush=True,
            )
        if len(set(found.values())) > 1:
            raise RuntimeError(f"not the same entries were found: {found}")
    return raw


def time_run(chosen, connection, work, subject, number):
    """Makes an index, does the work, and drops it."""
    server.execute(connection, subject.create_index("t"))
    drive(chosen, connection, Work(0, work.preloaded, 0))
    server.execute(connection, "CHECKPOINT")
    processor_before = server.processor_seconds(connection)
    seconds, found = drive(chosen, connection, work, chosen.seed + number)
    processor_seconds = server.processor_seconds(connection) - processor_before
    index_bytes = server.relation_bytes(connection, "t_k")
    server.execute(connection, "DROP INDEX t_k")
    return {
        "inserts": work.inserts, "reads": work.reads,
        "seconds": seconds, "processor_seconds": processor_seconds,
        "found": found, "index_bytes": index_bytes,
    }


def drive(chosen, connection, work, seed=0):
    """Does the work in transactions; returns seconds, and entries found."""
    total = work.inserts + work.reads
    seconds, found = 0.0, 0
    inserted = read = 0
    for done in range(0, total, chosen.operations):
        end = min(done + chosen.operations, total)
        inserts = work.inserts * end // total - inserted
        reads = end - work.inserts * end // total - read
        server.execute(connection, "BEGIN")
        part, part_found = server.query(
            connection,
            "SELECT seconds, found FROM "
            "drive_index('t_k', %s, %s, %s, %s, %s, %s)",
            [
                work.preloaded + inserted, inserts, reads, work.width, work.limit,
                seed + end,
            ],
        )[0]
        # Work that an access method puts off until the commit counts, too.
        begin = time.perf_counter()
        server.execute(connection, "COMMIT")
        seconds += part + time.perf_counter() - begin
        found += part_found
        inserted += inserts
        read += reads
    return seconds, found


def tell(chosen, raw, everyone):
    nbtree, *others = (subject.label for subject in everyone)
    summary = []
    for degree, workload in dict.fromkeys((r["degree"], r["workload"]) for r in raw):
        runs = [r for r in raw if (r["degree"], r["workload"]) == (degree, workload)]
        operations = runs[0]["inserts"] + runs[0]["reads"]

        def microseconds(label, figure="seconds"):
            return 1e6 / operations * statistics.median(
                run[figure] for run in runs if run["subject"] == label
            )

        for label in others:
            one, other = microseconds(nbtree), microseconds(label)
            summary.append(
                {
                    "degree": degree, "workload": workload, "subject": label,
                    "operations": operations, "nbtree_microseconds": one,
                    "compared_microseconds": other, "ratio": one / other,
                    "ratio_of_processor_time": microseconds(nbtree, "processor_seconds")
                    / microseconds(label, "processor_seconds"),
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "nbtree µs", "compared µs", "nbtree / compared", "of processor time"],
        [
            [
                row["degree"], row["workload"], row["subject"],
                row["nbtree_microseconds"], row["compared_microseconds"], row["ratio"],
                row["ratio_of_processor_time"],
            ]
            for row in summary
        ],
    )
    panels = []
    for degree in dict.fromkeys(row["degree"] for row in summary):
        rows = [row for row in summary if row["degree"] == degree]
        panels.append(
            charts.panel(degree, "times as fast as nbtree", rows, "workload", "ratio")
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"calls of the access method, {chosen.rows:,} keys, "
        f"medians of {chosen.rounds} rounds",
        panels,
    )
