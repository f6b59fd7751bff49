"""Times YCSB's workloads by SQL."""

import operator

import charts
import pgbench
import results
import server
import speed
import subjects

# An odd number: multiplied by it, numbers below 2^32 stay different from each other.
SCATTER = 2_654_435_761
KEYS = 2**32

LONGEST_SCAN = 100

# The number of the record that is asked for, of those from 0 to :newest.
REQUESTS = {
    "zipfian": "abs(hash(random_zipfian(1, :newest + 1, 1.001))) % (:newest + 1)",
    "latest": ":newest + 1 - random_zipfian(1, :newest + 1, 1.001)",
    "uniform": "random(0, :newest)",
}

READ = "SELECT payload FROM {table} WHERE k = :k;\n"
UPDATE = "UPDATE {table} SET payload = :other WHERE k = :k;\n"
SCAN = (
    f"\\set width random(1, {LONGEST_SCAN})\n"
    "SELECT sum(length(payload)) FROM "
    "(SELECT payload FROM {table} WHERE k >= :k ORDER BY k LIMIT :width) records;\n"
)
INSERT = (
    "SELECT nextval('{table}_arrivals') AS newest \\gset\n\\set k {new_key}\n"
    "INSERT INTO {table} VALUES (:k, :other);\n"
)

# The usual operation, the other one, and the percentage of the other one.
WORKLOADS = {
    "A": (READ, UPDATE, 50), "B": (READ, UPDATE, 5), "C": (READ, "", 0),
    "D": (READ, INSERT, 5), "E": (SCAN, INSERT, 5),
    "F": (READ, "BEGIN;\n" + READ + UPDATE + "COMMIT;\n", 50),
}

CASE = ("order", "requests", "workload")


def key(order, number):
    """The key of a record, in the arithmetic of SQL and of pgbench."""
    return number if order == "ordered" else f"({number}) * {SCATTER} % {KEYS}"


def measure(chosen, place, group):
    """Measures all; with a group, its memory is limited once the tables are there."""
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for order in chosen.orders:
        tables = load(chosen, place, connection, order, everyone)
        if group:
            connection.close()
            group.restart(place)
            connection = server.connect(chosen)
        for requests in chosen.requests:
            for workload in chosen.workloads:
                results.step(f"{order} keys, {requests} requests, workload {workload}")
                case = dict(zip(CASE, (order, requests, workload)))
                for number in range(chosen.rounds):
                    for subject in subjects.in_turn(everyone, number):
                        if group:
                            group.limit(room_of(chosen, subject))
                        outcome, read = run(
                            chosen, place, connection, tables[subject], case, number
                        )
                        raw.append(
                            case
                            | {
                                "round": number + 1, "subject": subject.label,
                                "per_second": outcome.per_second,
                                "processor_microseconds": 1e6
                                * outcome.processor_seconds / outcome.transactions,
                                "kilobytes_read": read / 1024 / outcome.transactions,
                            }
                        )
                        results.tell_run(
                            number, subject.label, [f"{outcome.per_second:,.0f} a second"]
                        )
        if group:
            group.limit(None)
        for table in tables.values():
            check(connection, table)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def room_of(chosen, subject):
    """What the limit leaves besides the record cache, made before it was set."""
    return chosen.limit - (chosen.record_cache if subject.access_method == "sware" else 0)


def load(chosen, place, connection, order, everyone):
    """Makes a table for each subject, with the same records."""
    payload = f"repeat(md5(n::text), {chosen.bytes // 32 + 1})::varchar({chosen.bytes})"
    path = place.data / "records"
    with open(path, "w") as file, connection.cursor() as cursor:
        cursor.copy_expert(
            f"COPY (SELECT {key(order, 'n')}, {payload} "
            f"FROM generate_series(0, {chosen.rows - 1}::bigint) n) TO STDOUT",
            file,
        )
    tables = {}
    for number, subject in enumerate(everyone):
        table = tables[subject] = f"records_{number}"
        server.execute(connection, f"DROP TABLE IF EXISTS {table}")
        # Room on the pages keeps updated records where they are.
        server.execute(
            connection,
            f"CREATE TABLE {table} (k bigint, payload text) WITH (fillfactor = 80)",
        )
        included = ("payload",) if chosen.covering else ()
        if included:
            keep_plain(connection, table)
        server.execute(connection, subject.create_index(table, included=included))
        server.execute(connection, f"CREATE SEQUENCE IF NOT EXISTS {table}_arrivals")
        server.execute(connection, f"COPY {table} FROM '{path}'")
        server.execute(connection, f"VACUUM (FREEZE, ANALYZE) {table}")
    return tables


def keep_plain(connection, table):
    """Entries of indexes that are made later have payloads as they are, not compressed."""
    server.execute(connection, f"ALTER TABLE {table} ALTER payload SET STORAGE PLAIN")


def run(chosen, place, connection, table, case, number):
    """One run, and how many bytes it read from the disk.

    Records that earlier ones have inserted are there.
    """
    count = server.value(connection, f"SELECT count(*) FROM {table}")
    server.execute(
        connection, f"ALTER SEQUENCE {table}_arrivals MINVALUE 0 RESTART WITH {count}"
    )
    server.execute(connection, "CHECKPOINT")

    def operations(seconds, seed):
        return pgbench.run(
            place, make_script(table, case), f"--time={seconds}",
            f"--define=newest={count - 1}", f"--define=other={'y' * chosen.bytes}",
            clients=chosen.clients, seed=seed, settings=speed.READ_SETTINGS,
        )

    if chosen.limit:
        operations(chosen.settle, chosen.seed + 1000 + number)
    before, _ = server.file_bytes(place)
    outcome = operations(chosen.seconds, chosen.seed + number)
    return outcome, server.file_bytes(place)[0] - before


def make_script(table, case):
    """What a client does over and over."""
    usual, other, percentage = WORKLOADS[case["workload"]]
    order = case["order"]
    values = {"table": table, "new_key": key(order, ":newest")}
    asked = (
        f"\\set asked {REQUESTS[case['requests']]}\n\\set k {key(order, ':asked')}\n"
    )
    script = asked + usual.format(**values)
    if percentage == 0:
        return script
    if other is not INSERT:
        other = asked + other
    return (
        f"\\set dice random(1, 100)\n\\if :dice <= {percentage}\n{other.format(**values)}"
        f"\\else\n{script}\\endif\n"
    )


def check(connection, table):
    """Fails if the index does not find the records that the table has."""
    counts = []
    for switches in (("on", "off"), ("off", "on")):
        for name, value in zip(("enable_seqscan", "enable_indexscan"), switches):
            server.execute(connection, f"SET {name} = {value}")
        counts.append(
            server.query(
                connection,
                f"SELECT count(*), sum(k), sum(length(payload)) FROM {table} WHERE k >= 0",
            )
        )
    for name in ("enable_seqscan", "enable_indexscan"):
        server.execute(connection, f"RESET {name}")
    if counts[0] != counts[1]:
        raise RuntimeError(f"{table}: the index finds {counts[1]}, not {counts[0]}")


def tell(chosen, raw, labels):
    nbtree, *compared = labels
    case_of = operator.itemgetter(*CASE)
    summary = []
    for case in dict.fromkeys(map(case_of, raw)):
        runs = [row for row in raw if case_of(row) == case]
        for label in compared:
            one, other = (results.median(runs, who, "per_second") for who in (nbtree, label))
            summary.append(
                dict(zip(CASE, case))
                | {
                    "subject": label, "nbtree_per_second": one,
                    "compared_per_second": other, "ratio": other / one,
                    "ratio_of_processor_time":
                        results.median(runs, nbtree, "processor_microseconds")
                        / results.median(runs, label, "processor_microseconds"),
                    "nbtree_kilobytes_read": results.median(runs, nbtree, "kilobytes_read"),
                    "compared_kilobytes_read": results.median(runs, label, "kilobytes_read"),
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["keys", "requests", "", "", "nbtree a second", "compared", "ratio",
         "of processor time", "nbtree kB read", "compared"],
        [list(row.values()) for row in summary],
    )
    panels = [
        charts.panel(
            f"{order} keys, {requests} requests", "times nbtree's throughput",
            [row for row in summary if (row["order"], row["requests"]) == (order, requests)],
            "workload", "ratio",
        )
        for order in chosen.orders for requests in chosen.requests
    ]
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"YCSB, {chosen.rows:,} records, {chosen.clients} clients", panels,
    )
