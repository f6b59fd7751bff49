"""Counts what statements cost the processor, with callgrind."""

import dataclasses
import os
import re
import shutil
import subprocess

import options
import results
import server
import subjects
from statement_workloads import TABLES, WORKLOADS, chosen_workloads

# What a miss of a first-level cache that the second level answers takes, in
# instructions: some 12 cycles, at 3 instructions a cycle.
INSTRUCTIONS_OF_MISS = 35

# nbtree is counted in a server that has not loaded the library, which has hooks.
WITHOUT_SWARE = ("-c", "shared_preload_libraries=")


def measure(chosen, place):
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    if chosen.loaded:
        everyone.insert(1, dataclasses.replace(subjects.NBTREE, label="nbtree, loaded"))
    install_valgrind()
    workloads = chosen_workloads(chosen.workloads)
    connection = server.connect(chosen)
    for number, subject in enumerate(everyone):
        prepare(connection, subject, f"t{number}", workloads)
    server.execute(connection, "CHECKPOINT")
    connection.close()
    runner = Runner(chosen, place)
    raw = []
    for number, subject in enumerate(everyone):
        results.step(subject.label)
        names = [name for name in workloads if not is_left_out(name, subject)]
        calls = [
            (procedure(f"t{number}", name), WORKLOADS[name].operations or chosen.operations)
            for name in names
        ]
        settings = WITHOUT_SWARE if subject is subjects.NBTREE else ()
        for name, counts in zip(names, runner.count(calls, settings)):
            counts["sum"] = counts["instructions"] + INSTRUCTIONS_OF_MISS * (
                counts["misses of code"] + counts["misses of data"]
            )
            print(
                f"{name}: "
                + ", ".join(f"{what} {count:,.0f}" for what, count in counts.items()),
                flush=True,
            )
            raw += [
                {
                    "workload": name, "subject": subject.label, "count": what,
                    "value": float(count),
                }
                for what, count in counts.items()
            ]
    tell(chosen, raw, [subject.label for subject in everyone])


def install_valgrind():
    library = options.BENCH.parent / "test/lib/private_server.sh"
    subprocess.run(
        ["bash", "-c", '. "$0"; install_packages valgrind', library], check=True
    )


def procedure(table, name):
    return f"{table}_run_{name}".replace("-", "_")


def is_left_out(name, subject):
    return WORKLOADS[name].without_nbtree and subject.access_method == "btree"


def prepare(connection, subject, table, workloads):
    """Makes the tables of a subject, and a procedure for each workload."""
    texts = {
        "t": table, "am": subject.access_method,
        # begins a command that is for sware alone, and of which nothing else is left
        "sware": "SELECT --" if subject.access_method == "btree" else "",
    }
    tables = [name for workload in workloads for name in WORKLOADS[workload].tables]
    for name in dict.fromkeys(tables):
        for command in TABLES[name]:
            server.execute(connection, command.format(**texts))
    for name in workloads:
        if is_left_out(name, subject):
            continue
        body = "".join(
            f"{statement.format(**texts)}; COMMIT;\n"
            for statement in WORKLOADS[name].statements
        )
        server.execute(
            connection,
            f"CREATE PROCEDURE {procedure(table, name)}(first int, last int) "
            "LANGUAGE plpgsql AS $$ BEGIN FOR i IN first .. last LOOP\n"
            f"{body}END LOOP; END $$",
        )


class Runner:
    """Runs copies of the server's data in single-user mode."""

    def __init__(self, chosen, place):
        self.place = place
        self.settings = [
            part
            for name, value in (
                ("synchronous_commit", "off"), ("enable_seqscan", "off"),
                ("enable_bitmapscan", "off"), ("shared_buffers", "256MB"),
                *chosen.settings,
            )
            for part in ("-c", f"{name}={value}")
        ]
        self.original = place.log.parent
        self.copy = place.data / "copy"
        self.owner = self.original.owner()

    def count(self, calls, settings=()):
        """The counts of one operation for each procedure and number of operations.

        As many others come before, or none if it is one. "settings" are arguments for
        the server.
        """
        # the call of a function that is called nowhere else ends a part
        end = "SELECT pg_sleep(0)"
        commands = []
        for called, operations in calls:
            before = operations if operations > 1 else 0
            commands += [
                f"CALL {called}(1, {before})", end,
                f"CALL {called}({before + 1}, {before + operations})", end,
            ]
        profile = f"{self.copy}/profile"
        self.callgrind(
            "".join(f"{command};\n\n" for command in commands),
            "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64",
            "--LL=33554432,16,64", "--dump-before=pg_sleep",
            f"--callgrind-out-file={profile}", settings=settings,
        )
        return [
            {
                what: count / operations
                for what, count in read_totals(f"{profile}.{2 * number}").items()
            }
            for number, (_, operations) in enumerate(calls, 1)
        ]

    def calls(self, command):
        """Calls and their instructions, all below them included, by caller and called."""
        profile = self.copy.parent / "copy-profile"
        self.callgrind(
            command, "--compress-strings=no", "--compress-pos=no",
            f"--callgrind-out-file={self.copy}/profile",
        )
        shutil.move(self.copy / "profile", profile)
        return read_calls(profile)

    def callgrind(self, command, *options, settings=()):
        """Runs a command in a new copy of the server's data."""
        shutil.rmtree(self.copy, ignore_errors=True)
        subprocess.run(["cp", "-a", self.original, self.copy], check=True)
        (self.copy / "postmaster.pid").unlink()
        user = [] if os.geteuid() != 0 else ["runuser", "-u", self.owner, "--"]
        finished = subprocess.run(
            [
                # a server that was made for another system starts its own loader
                *user, "valgrind", "--tool=callgrind", "--trace-children=yes", *options,
                self.place.programs / "postgres", "--single", "-j",
                *self.settings, *settings, "-D", self.copy, os.environ["PGDATABASE"],
            ],
            input=command, capture_output=True, text=True, cwd="/",
        )
        if finished.returncode != 0 or "ERROR:" in finished.stderr:
            raise RuntimeError(f"the run failed:\n{finished.stderr[-2000:]}")
        return finished


def read_totals(path):
    """Reads the totals of a file that callgrind has written."""
    lines = dict(
        line.split(": ", 1) for line in open(path, errors="replace")
        if line.startswith(("events: ", "totals: "))
    )
    counts = dict(zip(lines["events"].split(), map(int, lines["totals"].split())))
    return {
        "instructions": counts["Ir"],
        "misses of code": counts["I1mr"],
        "misses of data": counts["D1mr"] + counts["D1mw"],
    }


def read_calls(path):
    """Reads the file that callgrind writes with neither compression.

    A line "calls=N ..." says how often the function of the last "cfn=" was called by
    that of the last "fn="; the next line ends with the instructions.
    """
    edges = {}
    caller = called = count = None
    with open(path, errors="replace") as file:
        for line in file:
            if line.startswith("fn="):
                caller = plain_name(line[3:])
            elif line.startswith("cfn="):
                called = plain_name(line[4:])
            elif line.startswith("calls="):
                count = int(line[6:].split()[0])
            elif count is not None:
                before = edges.get((caller, called), (0, 0))
                edges[caller, called] = (
                    before[0] + count, before[1] + int(line.split()[1])
                )
                count = None
    return edges


def plain_name(name):
    """A function's name without what the compiler or callgrind adds to it."""
    return re.split(r"[.']", name.strip())[0]


def tell(chosen, raw, labels):
    nbtree, *compared = labels
    values = {(row["workload"], row["subject"], row["count"]): row["value"] for row in raw}
    summary = []
    for workload, what in dict.fromkeys((row["workload"], row["count"]) for row in raw):
        for label in compared:
            one = values.get((workload, nbtree, what))
            other = values[workload, label, what]
            summary.append(
                {
                    "workload": workload, "count": what, "subject": label,
                    "nbtree": one, "compared": other,
                    "share": one and results.ratio(other, one),
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["workload", "", "", "nbtree", "its", "its / nbtree"],
        [list(row.values()) for row in summary],
    )
