"""Counts what statements cost the processor, with callgrind."""

import os
import re
import shutil
import subprocess

import options
import results
import server
import subjects

# What a miss of a first-level cache that the second level answers takes, in
# instructions: some 12 cycles, at 3 instructions a cycle.
INSTRUCTIONS_OF_MISS = 35

TABLES = """
CREATE TABLE {t}_insert (k int8, n int); CREATE INDEX ON {t}_insert USING {am} (k);
CREATE TABLE {t}_unique (k int8, n int); CREATE UNIQUE INDEX ON {t}_unique USING {am} (k);
CREATE TABLE {t}_tree (k int8, n int); CREATE INDEX ON {t}_tree USING {am} (k);
INSERT INTO {t}_tree SELECT i, i FROM generate_series(1, 200000) i;
CREATE TABLE {t}_latest (k int8, n int); CREATE INDEX ON {t}_latest USING {am} (k);
CREATE TABLE {t}_hot (k int, n int);
CREATE UNIQUE INDEX ON {t}_hot USING {am} (k); CREATE INDEX ON {t}_hot USING {am} (n);
INSERT INTO {t}_hot SELECT i, 0 FROM generate_series(1, 20) i;
CREATE TABLE {t}_sessions (k int8, seen timestamptz);
CREATE UNIQUE INDEX ON {t}_sessions USING {am} (k);
CREATE INDEX ON {t}_sessions USING {am} (seen);
INSERT INTO {t}_sessions SELECT i, clock_timestamp() FROM generate_series(-20000, 0) i;
CREATE TABLE {t}_queue (k int8, n int); CREATE INDEX ON {t}_queue USING {am} (k);
INSERT INTO {t}_queue SELECT i, 0 FROM generate_series(-99, 0) i;
"""

# The statements of the operation `i`, which is counted from 1; each one commits.
OPERATIONS = {
    "insert": ["INSERT INTO {t}_insert VALUES (i, i)"],
    "unique": ["INSERT INTO {t}_unique VALUES (i, i)"],
    "look-up": ["PERFORM n FROM {t}_tree WHERE k = i::int8 * 7919 % 200000 + 1"],
    "latest": [
        "INSERT INTO {t}_latest VALUES (i, i)",
        "PERFORM n FROM {t}_latest WHERE k = i - i::int8 * 7919 % least(i, 1000)",
    ],
    "hot": [
        "UPDATE {t}_hot SET n = i::int8 * 7919 % 1000003 WHERE k = i::int8 * 7919 % 20 + 1"
    ],
    "sessions": [
        "INSERT INTO {t}_sessions VALUES (i, clock_timestamp())",
        *(
            f"UPDATE {{t}}_sessions SET seen = clock_timestamp() WHERE k = i - {100 * j}"
            for j in range(5)
        ),
        "DELETE FROM {t}_sessions WHERE k = i - 1000",
    ],
    "queue": [
        "INSERT INTO {t}_queue VALUES (i, i)",
        "DELETE FROM {t}_queue WHERE k = "
        "(SELECT k FROM {t}_queue ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED)",
    ],
}
TABLE_OF = {"look-up": "tree"}


def measure(chosen, place):
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    install_valgrind()
    connection = server.connect(chosen)
    for number, subject in enumerate(everyone):
        prepare(chosen, connection, subject, f"t{number}")
    server.execute(connection, "CHECKPOINT")
    connection.close()
    runner = Runner(chosen, place)
    raw = []
    for name in chosen.workloads:
        results.step(name)
        for number, subject in enumerate(everyone):
            counts = runner.count(procedure(f"t{number}", name), chosen.operations)
            counts["sum"] = counts["instructions"] + INSTRUCTIONS_OF_MISS * (
                counts["misses of code"] + counts["misses of data"]
            )
            print(
                f"{subject.label}: "
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


def prepare(chosen, connection, subject, table):
    """Makes the tables of a subject, and a procedure for each workload."""
    am = subject.access_method
    for command in TABLES.format(t=table, am=am).split(";\n"):
        if command.strip():
            server.execute(connection, command)
    for name in chosen.workloads:
        body = "".join(
            f"{statement.format(t=table)}; COMMIT;\n" for statement in OPERATIONS[name]
        )
        server.execute(
            connection,
            f"CREATE PROCEDURE {procedure(table, name)}(operations int) "
            "LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. operations LOOP\n"
            f"{body}END LOOP; END $$",
        )
        server.execute(
            connection, f"VACUUM ANALYZE {table}_{TABLE_OF.get(name, name)}"
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

    def count(self, called, operations):
        """The counts of one operation: the difference between two runs."""
        once, twice = (
            self.run(f"CALL {called}({times * operations});\n") for times in (1, 2)
        )
        return {what: (twice[what] - once[what]) / operations for what in once}

    def run(self, command):
        finished = self.callgrind(
            command, "--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64",
            "--LL=33554432,16,64", "--callgrind-out-file=/dev/null",
        )
        counts = {}
        for what, pattern in (
            ("instructions", r"I +refs"), ("misses of code", r"I1 +misses"),
            ("misses of data", r"D1 +misses"),
        ):
            # those of the server come last
            found = re.findall(rf"^==\d+== {pattern}: +([\d,]+)", finished.stderr, re.M)
            if not found:
                raise RuntimeError(f"the run failed:\n{finished.stderr[-2000:]}")
            counts[what] = int(found[-1].replace(",", ""))
        return counts

    def calls(self, command):
        """Calls and their instructions, all below them included, by caller and called."""
        profile = self.copy.parent / "copy-profile"
        self.callgrind(
            command, "--compress-strings=no", "--compress-pos=no",
            f"--callgrind-out-file={self.copy}/profile",
        )
        shutil.move(self.copy / "profile", profile)
        return read_calls(profile)

    def callgrind(self, command, *options):
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
                *self.settings, "-D", self.copy, os.environ["PGDATABASE"],
            ],
            input=command, capture_output=True, text=True, cwd="/",
        )
        if finished.returncode != 0 or "ERROR:" in finished.stderr:
            raise RuntimeError(f"the run failed:\n{finished.stderr[-2000:]}")
        return finished


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
            one, other = (values[workload, each, what] for each in (nbtree, label))
            summary.append(
                {
                    "workload": workload, "count": what, "subject": label,
                    "nbtree": one, "compared": other, "share": results.ratio(other, one),
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["workload", "", "", "nbtree", "its", "its / nbtree"],
        [list(row.values()) for row in summary],
    )
