"""Runs serializable transactions beside each other, and counts their failures."""

import itertools

import pgbench
import results
import server
import subjects

# Only scans of indexes lock less than a whole table.
SETTINGS = (
    ("default_transaction_isolation", "serializable"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("plan_cache_mode", "force_generic_plan"),
)

INSERTS = {
    "end": "INSERT INTO {table} (v) VALUES (0)",
    "anywhere": "INSERT INTO {table} VALUES (:k, 0)",
}

SCANS = {
    "older": "SELECT sum(v) FROM {table} WHERE k BETWEEN :x AND :x + 99",
    "newest": "SELECT v FROM {table} ORDER BY k DESC LIMIT 10",
    "open": "SELECT sum(v) FROM {table} "
    "WHERE k > (SELECT last_value - 100 FROM {table}_k_seq)",
}

SCRIPT = """
\\set is_insert random(0, 1)
\\set k random(1, {rows})
\\set x random(1, {rows} / 2)
\\set other random(1, {clients}) - 1
BEGIN;
\\if :is_insert
SELECT v FROM counters WHERE id = :other;
{insert};
\\else
{scan};
UPDATE counters SET v = v + 1 WHERE id = :client_id;
\\endif
COMMIT;
"""


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    tables = {subject: f"t{i}" for i, subject in enumerate(everyone)}
    for subject, table in tables.items():
        make_table(chosen, connection, subject, table)
    make_counters(connection, max(chosen.clients))
    raw = []
    for clients, inserts, scans in itertools.product(
        chosen.clients, chosen.inserts, chosen.scans
    ):
        results.step(f"{clients} clients, inserts: {inserts}, scans: {scans}")
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                outcome = run(
                    chosen, place, tables[subject], clients, inserts, scans, number
                )
                figures = {
                    "clients": clients, "inserts": inserts, "scans": scans,
                    "round": number + 1, "subject": subject.label,
                    "per_second": outcome.per_second,
                    "failures": 100 * outcome.retries / outcome.transactions,
                }
                raw.append(figures)
                print(
                    f"round {number + 1}, {subject.label}: "
                    f"{figures['per_second']:,.0f} a second, "
                    f"{figures['failures']:.2f} failures for each 100",
                    flush=True,
                )
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def make_table(chosen, connection, subject, table):
    server.execute(connection, f"CREATE TABLE {table} (k bigserial, v integer)")
    server.execute(connection, subject.create_index(table))
    server.execute(
        connection,
        f"INSERT INTO {table} (v) SELECT 0 FROM generate_series(1, %s)", [chosen.rows],
    )
    server.execute(connection, f"VACUUM ANALYZE {table}")


def make_counters(connection, clients):
    # With room on their page, new versions of counters need no entries in the index.
    server.execute(
        connection,
        "CREATE TABLE counters (id integer PRIMARY KEY, v integer) WITH (fillfactor = 10)",
    )
    server.execute(
        connection,
        "INSERT INTO counters SELECT i, 0 FROM generate_series(0, %s - 1) i", [clients],
    )


def run(chosen, place, table, clients, inserts, scans, number):
    script = SCRIPT.format(
        rows=chosen.rows, clients=clients,
        insert=INSERTS[inserts].format(table=table),
        scan=SCANS[scans].format(table=table),
    )
    return pgbench.run(
        place, script, f"--time={chosen.seconds}", "--max-tries=0",
        clients=clients, seed=number + 1, settings=SETTINGS,
    )


def case_of(run):
    return run["clients"], run["inserts"], run["scans"]


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for case in dict.fromkeys(map(case_of, raw)):
        runs = [run for run in raw if case_of(run) == case]
        for label in compared:
            row = dict(zip(("clients", "inserts", "scans"), case))
            row["subject"] = label
            for figure in ("per_second", "failures"):
                one = results.median(runs, nbtree, figure)
                other = results.median(runs, label, figure)
                row[f"nbtree_{figure}"] = one
                row[f"compared_{figure}"] = other
                row[f"share_of_{figure}"] = results.ratio(other, one)
            summary.append(row)
    return summary


def tell(chosen, raw, labels):
    summary = summarise(raw, labels)
    results.report(
        chosen.out, chosen.name, raw, summary,
        [
            "clients", "inserts", "scans", "", "nbtree /s", "its /s", "its / nbtree",
            "nbtree's failures for each 100", "its failures", "its / nbtree",
        ],
        [list(row.values()) for row in summary],
    )
