"""Times VACUUM of an index whose file is not in the kernel's cache."""

import os
import pathlib
import time

import buffer
import results
import server
import sortedness
import subjects

# So few rows that little but the reading of the index takes time.
DELETED = 100


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        buffer.write_keys(place, keys, chosen.rows)
        raw += time_rounds(chosen, place, connection, degree, everyone)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def time_rounds(chosen, place, connection, degree, everyone):
    results.step(degree.name)
    tables = {subject: f"vacuumed_{i}" for i, subject in enumerate(everyone)}
    for subject, table in tables.items():
        server.execute(connection, f"DROP TABLE IF EXISTS {table}")
        server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
        server.execute(connection, subject.create_index(table))
        server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
        server.execute(connection, f"VACUUM {table}")
    raw = []
    for number in range(chosen.rounds):
        for subject in subjects.in_turn(everyone, number):
            run = {
                "degree": degree.name, "round": number + 1, "subject": subject.label,
            }
            run |= vacuum(chosen, place, connection, tables[subject], number)
            raw.append(run)
            texts = [
                f"{run['cold'] * 1000:,.0f} ms and {run['waits']:,} waits cold",
                f"{run['warm'] * 1000:,.0f} ms warm", f"{run['megabytes']:,.1f} MB",
            ]
            results.tell_run(number, subject.label, texts)
    return raw


def vacuum(chosen, place, connection, table, number):
    """Twice deletes some rows, and vacuums the index cold, and then warm."""
    figures = {}
    step = max(1, chosen.rows // DELETED)
    for kind, first in (("cold", 2 * number), ("warm", 2 * number + 1)):
        server.execute(connection, f"DELETE FROM {table} WHERE v % {step} = {first}")
        server.execute(connection, f"VACUUM (INDEX_CLEANUP off) {table}")
        # Only what is on the disk can be dropped from the cache.
        server.execute(connection, "CHECKPOINT")
        file = file_of(place, connection, f"{table}_k")
        cache(file, keep=kind == "warm")
        waits, before = waits_of(connection), time.perf_counter()
        server.execute(connection, f"VACUUM (INDEX_CLEANUP on) {table}")
        figures[kind] = time.perf_counter() - before
        if kind == "cold":
            figures["waits"] = waits_of(connection) - waits
    figures["megabytes"] = server.relation_bytes(connection, f"{table}_k") / 1e6
    return figures


def waits_of(connection):
    """How often the session's process has waited; other work adds nothing to it."""
    status = pathlib.Path(f"/proc/{connection.get_backend_pid()}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def file_of(place, connection, relation):
    path = server.value(connection, "SELECT pg_relation_filepath(%s)", [relation])
    return pathlib.Path(place.log.parent, path)


def cache(path, keep):
    """Reads a file into the kernel's cache, or drops it from there."""
    with open(path, "rb") as file:
        if keep:
            while file.read(1 << 20):
                pass
        else:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for degree in dict.fromkeys(run["degree"] for run in raw):
        runs = [run for run in raw if run["degree"] == degree]
        for label in compared:
            for figure in ("cold", "warm", "waits", "megabytes"):
                one = results.median(runs, nbtree, figure)
                other = results.median(runs, label, figure)
                summary.append(
                    {
                        "degree": degree, "subject": label, "figure": figure,
                        "nbtree": one, "compared": other,
                        "share": results.ratio(other, one),
                    }
                )
    return summary


def tell(chosen, raw, labels):
    names = {
        "cold": "not in the cache, s", "warm": "in the cache, s",
        "waits": "waits, not in the cache", "megabytes": "size of the index, MB",
    }
    summary = summarise(raw, labels)
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "nbtree", "compared", "compared / nbtree"],
        [
            [
                row["degree"], row["subject"], names[row["figure"]],
                row["nbtree"], row["compared"], row["share"],
            ]
            for row in summary
        ],
    )
