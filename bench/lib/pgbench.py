"""Runs pgbench and reads what it tells."""

import os
import re
import subprocess
from dataclasses import dataclass

import server


@dataclass
class Outcome:
    transactions: int
    seconds: float

    @property
    def per_second(self):
        return self.transactions / self.seconds


def run(place, script, *arguments, clients=1, seed=1, settings=()):
    """Runs the text of a script with prepared statements.

    The settings are pairs of name and value; the user's own prevail.
    """
    path = place.data / "script.sql"
    path.write_text(script)
    finished = subprocess.run(
        [
            place.programs / "pgbench", "--no-vacuum", "--protocol=prepared",
            f"--client={clients}", f"--jobs={min(clients, os.cpu_count())}",
            f"--random-seed={seed}", f"--file={path}", *arguments,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ
        | {
            "PGOPTIONS": server.session_options(settings)
            + " " + os.environ["PGOPTIONS"]
        },
    )
    transactions = re.search(
        r"number of transactions actually processed: (\d+)", finished.stdout
    )
    rate = re.search(r"^tps = ([0-9.]+) \(without initial", finished.stdout, re.M)
    if finished.returncode != 0 or transactions is None or rate is None:
        raise RuntimeError(f"pgbench failed:\n{finished.stdout}{finished.stderr}")
    transactions = int(transactions[1])
    return Outcome(transactions, transactions / float(rate[1]))


def numbering(clients):
    """Script lines that number the arrivals of all clients together.

    To be run with the variable "turn" at -1. The clients keep about the same
    pace, so that the numbers rise in the order of arrival, nearly.
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
