"""The second part: pgbench's own tables and transactions, by concurrent clients.

Each subject has a database of its own, with an index on the time of the history,
which pgbench fills with a row for each transaction. Every tenth transaction reads
the latest 100 rows of it.
"""

import re
import statistics
import subprocess

import psycopg

from progress import Bar
from report import Row
from subjects import size_megabytes, wal_position

CLIENTS = 4
TRANSACTIONS = 4000  # of each client
SCALE = 5
WRITES = "9"  # of ten transactions

# The names in the report of the two kinds of transactions, in pgbench's order.
KINDS = ("a TPC-B transaction", "the latest 100 rows")

LATEST = """SELECT tid, delta FROM pgbench_history ORDER BY mtime DESC LIMIT 100;
"""
INDEX = "pgbench_history_mtime"
# How many rows of the history are in each tenth of a second.
COUNTS = """
    SELECT date_bin('100 ms', mtime, '2000-01-01') AS tenth, count(*), sum(delta)
    FROM pgbench_history WHERE mtime > '2000-01-01' GROUP BY 1 ORDER BY 1
"""


def measure(connection, subjects, data, rounds, verdict):
    """Runs the clients in turn, round by round; returns rows of the report.

    Commits do not wait for the disk, which would hide what the indexes cost.
    """
    for subject in subjects:
        prepare(connection, subject)
    script = data / "latest.sql"
    script.write_text(LATEST)
    times = {kind: {subject.label: [] for subject in subjects} for kind in KINDS}
    rates = {subject.label: [] for subject in subjects}
    wal_bytes = {subject.label: [] for subject in subjects}
    with Bar("pgbench", rounds * len(subjects)) as bar:
        for number in range(rounds):
            for subject in subjects if number % 2 == 0 else subjects[::-1]:
                connection.execute("CHECKPOINT")
                before = wal_position(connection)
                count, rate, latencies = run(subject, script, number)
                rates[subject.label].append(1e6 / rate)
                for kind, latency in zip(KINDS, latencies):
                    times[kind][subject.label].append(latency)
                wal_bytes[subject.label].append(
                    (wal_position(connection) - before) / count
                )
                bar.advance()
    sizes = {subject.label: conclude(subject, verdict) for subject in subjects}
    print(
        "medians: " + "; ".join(
            f"{label} {1e6 / value:,.0f} transactions a second"
            for label, value in medians(rates).items()
        ),
        flush=True,
    )
    speed, space = "a transaction's time", "WAL and size"
    return [
        *(Row(speed, kind, "µs", 0, medians(figures)) for kind, figures in times.items()),
        Row(speed, "all clients together", "µs", 0, medians(rates)),
        Row(space, "WAL of a transaction", "bytes", 0, medians(wal_bytes)),
        Row(space, "index on time", "MB", 2, sizes),
    ]


def title(rounds):
    return (
        f"pgbench, scale {SCALE}: {CLIENTS} clients, {CLIENTS * TRANSACTIONS:,} "
        f"transactions in each of {rounds} rounds, with an index on the history's time"
    )


def medians(figures):
    return {label: statistics.median(values) for label, values in figures.items()}


def database(subject):
    return f"pgbench_{subject.label.replace(' ', '_')}"


def prepare(connection, subject):
    name = database(subject)
    connection.execute(f"CREATE DATABASE {name}")
    subprocess.run(
        ["pgbench", "--initialize", "--quiet", f"--scale={SCALE}", name],
        check=True, capture_output=True,
    )
    with psycopg.connect(dbname=name, autocommit=True) as own:
        if subject.access_method != "btree":
            own.execute(f"CREATE EXTENSION {subject.access_method}")
        own.execute(
            f"CREATE INDEX {INDEX} ON pgbench_history "
            f"USING {subject.access_method} (mtime)"
        )
        own.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")


def run(subject, script, seed):
    """Returns the number of transactions, how many there were in a second, and latencies.

    These are means of the kinds of transactions, in microseconds.
    """
    finished = subprocess.run(
        [
            "pgbench", "--no-vacuum", "--protocol=prepared", f"--client={CLIENTS}",
            f"--jobs={CLIENTS}", f"--transactions={TRANSACTIONS}",
            f"--random-seed={seed + 1}",
            f"--builtin=tpcb-like@{WRITES}", f"--file={script}@1", database(subject),
        ],
        check=True, capture_output=True, text=True,
    )
    count = re.search(r"transactions actually processed: (\d+)", finished.stdout)[1]
    rate = re.search(r"^tps = ([0-9.]+)", finished.stdout, re.M)[1]
    latencies = re.findall(r"^ - latency average = ([0-9.]+) ms", finished.stdout, re.M)
    return int(count), float(rate), [1000 * float(one) for one in latencies]


def conclude(subject, verdict):
    """Compares what the index answers with what the table has; returns its size."""
    with psycopg.connect(dbname=database(subject), autocommit=True) as own:
        own.execute("VACUUM ANALYZE pgbench_history")
        own.execute("SET enable_indexscan = off")
        own.execute("SET enable_indexonlyscan = off")
        own.execute("SET enable_bitmapscan = off")
        truth = own.execute(COUNTS).fetchall()
        own.execute("RESET ALL")
        own.execute("SET enable_seqscan = off")
        own.execute("SET enable_bitmapscan = off")
        rows = own.execute(COUNTS).fetchall()
        verdict.queries += 1
        verdict.rows += len(truth)
        if rows != truth:
            verdict.complaints.append(
                f"history of pgbench: {subject.label} has {rows} instead of {truth}"
            )
            print(f"WRONG  {verdict.complaints[-1]}", flush=True)
        return size_megabytes(own, INDEX)
