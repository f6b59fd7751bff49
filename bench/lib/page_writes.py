"""Compares the files of indexes, and reads the WAL, after transactions like TPC-B and C."""

import dataclasses
import os
import re
import statistics
import subprocess

import numpy

import buffer
import pgbench
import results
import server
import subjects
import tpc

PAGE_BYTES = 8192

# LSN and checksum, which change with every write.
PAGE_PREFIX = 10

# How many pages are compared at once.
STEP = 4096

REFERENCE = re.compile(r"blkref #\d+: rel \d+/\d+/(\d+)(?: fork \w+)? blk \d+( \(?FPW)?")
# The length of a record without and with its images.
LENGTHS = re.compile(r"len \(rec/tot\): *(\d+)/ *(\d+)")


@dataclasses.dataclass
class Indexes:
    """The files of a run's indexes, as they were when they were last looked at."""

    connection: object
    directory: object
    names: list
    images: dict = dataclasses.field(default_factory=dict)
    changes: list = dataclasses.field(default_factory=list)

    def look(self):
        """Notes how many bytes of each page are others than at the last look."""
        for name in self.names:
            path = server.value(
                self.connection, "SELECT pg_relation_filepath(%s::regclass)", [name]
            )
            now = numpy.fromfile(self.directory / path, dtype=numpy.uint8)
            now = now[: len(now) // PAGE_BYTES * PAGE_BYTES].reshape(-1, PAGE_BYTES)
            if name in self.images:
                self.changes.append(changed_bytes(self.images[name], now))
            self.images[name] = now

    def forget(self):
        """Begins anew with the files as they are now."""
        self.look()
        self.changes.clear()

    def file_numbers(self):
        return {
            server.value(
                self.connection, "SELECT pg_relation_filenode(%s::regclass)::text", [name]
            )
            for name in self.names
        }


def changed_bytes(before, now):
    """Of each page with other bytes than before: how many. A new page was all zeros."""
    counts = []
    for first in range(0, len(now), STEP):
        page = now[first : first + STEP]
        old = numpy.zeros_like(page)
        kept = before[first : first + len(page)]
        old[: len(kept)] = kept
        counts.append((page != old)[:, PAGE_PREFIX:].sum(axis=1))
    counts = numpy.concatenate(counts) if counts else numpy.zeros(0, dtype=int)
    return counts[counts > 0]


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE]
    for subject in subjects.compared(chosen):
        everyone.append(subject)
        if subject.access_method == "sware":
            everyone.append(
                dataclasses.replace(
                    subject, label=f"{subject.label}, no buffer",
                    settings=(*subject.settings, ("sware.enable_buffer", "off")),
                )
            )
    raw = []
    for name in chosen.workloads:
        results.step(name)
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                with server.settings_of(subject, chosen, connection):
                    figures = run(chosen, place, connection, subject, name, number + 1)
                raw += [
                    {
                        "workload": name, "round": number + 1, "subject": subject.label,
                        "figure": figure, "value": float(value),
                    }
                    for figure, value in figures.items()
                ]
                results.tell_run(
                    number, subject.label,
                    [f"{name} {results.as_text(float(figures[name]))}" for name in figures],
                )
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def run(chosen, place, connection, subject, name, seed):
    workload = tpc.make(chosen, place, connection, subject, name)
    indexes = Indexes(connection, place.log.parent, workload.indexes)
    server.execute(connection, "CHECKPOINT")
    pieces = Pieces(chosen, place, workload.script, seed)
    pieces.run()
    flush(connection, subject, indexes.names)
    server.execute(connection, "CHECKPOINT")
    indexes.forget()
    size = sum(server.relation_bytes(connection, index) for index in indexes.names)
    images = wal_images(connection)
    written = server.file_bytes(place)[1]
    # Text of the form in which pg_waldump takes it.
    begin = server.value(connection, "SELECT pg_current_wal_insert_lsn()")
    outcomes = []
    for number in range(chosen.transactions // chosen.piece):
        outcomes.append(pieces.run())
        indexes.look()
        if (number + 1) * chosen.piece % chosen.checkpoint == 0:
            server.execute(connection, "CHECKPOINT")
            indexes.look()
    flush(connection, subject, indexes.names)
    server.execute(connection, "CHECKPOINT")
    indexes.look()
    end = server.value(connection, "SELECT pg_current_wal_flush_lsn()")
    count = sum(outcome.transactions for outcome in outcomes)
    wal = server.value(connection, "SELECT %s::pg_lsn - %s::pg_lsn", [end, begin])
    index_wal, index_changes, index_images = wal_of(place, begin, end, indexes.file_numbers())
    changes = numpy.concatenate(indexes.changes)
    figures = {
        "transactions a second": count / sum(outcome.seconds for outcome in outcomes),
        "processor time, µs": 1e6 * sum(outcome.processor_seconds for outcome in outcomes)
        / count,
        "WAL, bytes": float(wal) / count,
        "WAL of the indexes, bytes": index_wal / count,
        "the same without images, bytes": index_changes / count,
        "page images": (wal_images(connection) - images) / count,
        "page images of the indexes": index_images / count,
        "written, bytes": (server.file_bytes(place)[1] - written) / count,
        "index pages written, per 1000": 1000 * len(changes) / count,
        "hardly changed, %": 100 * (changes <= chosen.bytes).mean(),
        "other bytes of a page, median": numpy.median(changes),
        "indexes, MB before": size / 2**20,
        "indexes, MB after": sum(
            server.relation_bytes(connection, index) for index in indexes.names
        ) / 2**20,
    }
    for table in workload.tables:
        server.execute(connection, f"DROP TABLE {table}")
    return figures


class Pieces:
    """Runs one piece after the other, with other random numbers each time."""

    def __init__(self, chosen, place, script, seed):
        self.chosen = chosen
        self.place = place
        self.script = script
        self.seed = 1000 * seed

    def run(self):
        self.seed += 1
        return pgbench.run(
            self.place, self.script,
            f"--transactions={self.chosen.piece // self.chosen.clients}",
            clients=self.chosen.clients, seed=self.seed,
        )


def flush(connection, subject, names):
    for name in names:
        buffer.flush(connection, subject, name)


def wal_images(connection):
    return int(server.value(connection, "SELECT wal_fpi FROM pg_stat_wal"))


def wal_of(place, begin, end, file_numbers):
    """WAL records that are about some files: bytes with and without images, and images."""
    directory = place.log.parent / "pg_wal"
    process = subprocess.Popen(
        [
            place.programs / "pg_waldump", f"--path={directory}", f"--start={begin}",
            f"--end={end}",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    size = changes = images = 0
    for line in process.stdout:
        references = REFERENCE.findall(line)
        # All pages that a record of an index is about are of that index.
        if references and references[0][0] in file_numbers:
            without, with_images = LENGTHS.search(line).groups()
            size += int(with_images)
            changes += int(without)
            images += sum(1 for _, image in references if image)
    error = process.stderr.read()
    if process.wait() != 0:
        raise RuntimeError(f"pg_waldump failed:\n{error}")
    return size, changes, images


def tell(chosen, raw, labels):
    nbtree = labels[0]
    summary, table = [], []
    for name, figure in dict.fromkeys((run["workload"], run["figure"]) for run in raw):
        medians = [
            statistics.median(
                run["value"]
                for run in raw
                if (run["workload"], run["figure"], run["subject"]) == (name, figure, label)
            )
            for label in labels
        ]
        shares = [results.ratio(value, medians[0]) for value in medians[1:]]
        for label, value in zip(labels, medians):
            summary.append(
                {
                    "workload": name, "figure": figure, "subject": label, "median": value,
                    "share": results.ratio(value, medians[0]),
                }
            )
        table.append([name, figure, *medians, *shares])
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["workload", "", *labels, *(f"{label} / {nbtree}" for label in labels[1:])], table,
    )
