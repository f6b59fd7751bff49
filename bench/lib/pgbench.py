"""Runs pgbench and reads its output."""

import contextlib
import os
import re
import subprocess
import time
from dataclasses import dataclass

import server


IS_RUNNING = """
    SELECT count(*) > 0 FROM pg_stat_activity
    WHERE application_name = 'background' AND query ~ '^INSERT'
"""


@dataclass
class Outcome:
    transactions: int
    seconds: float
    processor_seconds: float  # of the sessions, from their beginning to their end
    latencies: object = None  # an array, in microseconds, if they were asked for
    ends: object = None  # then the times at which the transactions ended, in seconds
    most_turns: int | None = None  # then the most transactions of one client
    retries: int | None = None  # after serialization failures, with --max-tries only

    @property
    def per_second(self):
        return self.transactions / self.seconds

    @property
    def typical_microseconds(self):
        """The mean of the middle half of the latencies.

        What the machine does besides lengthens some transactions, not these.
        """
        import numpy

        ordered = numpy.sort(self.latencies)
        quarter = len(ordered) // 4
        return float(ordered[quarter : len(ordered) - quarter].mean())


def run(place, script, *arguments, clients=1, seed=1, settings=(), log=False):
    """Runs the text of a script with prepared statements.

    The settings are pairs of name and value; the user's own prevail.
    """
    path = place.data / "script.sql"
    path.write_text(script)
    prefix = place.data / "latencies"
    if log:
        arguments = (*arguments, "--log", f"--log-prefix={prefix}")
    sessions = server.Sessions(place)
    finished = subprocess.run(
        [
            place.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
            f"--client={clients}", f"--jobs={min(clients, os.cpu_count())}",
            f"--random-seed={seed}", f"--file={path}", *arguments,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ
        | {
            "PGHOST": place.host,
            "PGOPTIONS": server.session_options(settings)
            + " " + os.environ["PGOPTIONS"],
        },
    )
    transactions = re.search(
        r"number of transactions actually processed: (\d+)", finished.stdout
    )
    retries = re.search(r"^total number of retries: (\d+)", finished.stdout, re.M)
    rate = re.search(r"^tps = ([0-9.]+) \(without initial", finished.stdout, re.M)
    if finished.returncode != 0 or transactions is None or rate is None:
        raise RuntimeError(f"pgbench failed:\n{finished.stdout}{finished.stderr}")
    transactions = int(transactions[1])
    latencies, ends, most_turns = read_log(prefix) if log else (None, None, None)
    if log and len(latencies) != transactions:
        raise RuntimeError("pgbench did not log every transaction")
    return Outcome(
        transactions, transactions / float(rate[1]), sessions.processor_seconds(),
        latencies, ends, most_turns, int(retries[1]) if retries else None,
    )


@contextlib.contextmanager
def running(place, connection, script, *arguments):
    """Runs the text of a script as long as the block does.

    The script begins before the block does, so that its session is not taken for
    one of the block's.
    """
    path = place.data / "background.sql"
    path.write_text(script)
    process = subprocess.Popen(
        [
            place.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
            "--time=1000000", f"--file={path}", *arguments,
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PGHOST": place.host, "PGAPPNAME": "background"},
    )
    try:
        # pgbench has an earlier session, which only queries the catalog.
        while process.poll() is None and not server.value(connection, IS_RUNNING):
            time.sleep(0.01)
        yield
        if process.poll() is not None:
            raise RuntimeError(f"pgbench failed:\n{process.stderr.read()}")
    finally:
        process.kill()
        process.communicate()


def read_log(prefix):
    """Reads and removes the logs, one a thread.

    Returns how long transactions took, when they ended, and how many the busiest client
    had. The second field numbers those of a client from 1, the third is how long, the last
    two are the end.
    """
    import numpy

    logs = list(prefix.parent.glob(f"{prefix.name}.*"))
    figures = numpy.concatenate(
        [numpy.loadtxt(log, usecols=(1, 2, 4, 5), ndmin=2) for log in logs]
    )
    for log in logs:
        log.unlink()
    ends = figures[:, 2] + figures[:, 3] / 1e6
    return figures[:, 1], ends, int(figures[:, 0].max())


def how_long(seconds, turns):
    """The argument of pgbench that ends it: after so many seconds, or turns of a client."""
    return f"--time={seconds}" if seconds else f"--transactions={turns}"


def numbering(clients):
    """Script lines that number the arrivals of all clients together.

    To be run with the variable "turn" at -1. The numbers rise in the order of
    arrival as far as the clients keep pace with each other, which they do not.
    """
    return f"\\set turn :turn + 1\n\\set arrival :turn * {clients} + :client_id\n"


def key_expression(number, degree, rows, seed):
    """The key of an arrival, in pgbench's own arithmetic.

    It cannot swap pairs: K % of the keys are moved by at most L % of the rows,
    evenly spread, so that some keys come twice and others not at all.
    """
    reach = int(rows * degree.l / 100)
    if degree.scrambled:
        return f"permute({number}, {rows}, {seed})"
    if degree.k == 0 or reach == 0:
        return number
    return (
        f"case when random(1, 1000000) <= {round(degree.k * 10_000)} "
        f"then {number} + random(-{reach}, {reach}) else {number} end"
    )


def bounds(degree, rows):
    """The smallest and the largest key that there may be."""
    reach = 0 if degree.scrambled else int(rows * degree.l / 100)
    return -reach, rows - 1 + reach


def exchanged_key(number, degree, rows):
    """The key of an arrival, in the arithmetic of pgbench and of SQL.

    K % of the keys change places, at most L % of the rows apart. Each block of rows
    turns these round: its first changes with its last.
    """
    if degree.k == 0 or degree.l == 0:
        return number
    distance = round(200 / degree.k)
    block = int(rows * degree.l / 100) // distance * distance
    if block == 0:
        raise RuntimeError(f"there are too few rows for the degree {degree.name}")
    return (
        f"case when {number} % {distance} = 0 or {number} % {distance} = {distance - 1} "
        f"then {number} / {block} * {2 * block} + {block - 1} - {number} "
        f"else {number} end"
    )


def later_key(degree, rows, seed):
    """The key of an arrival that follows a number of rows, numbered from 0 again.

    Scrambled, it falls anywhere among those that there are.
    """
    if degree.scrambled:
        return f"random(0, {rows - 1})"
    return key_expression(f"(:arrival + {rows})", degree, rows, seed)
