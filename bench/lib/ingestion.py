"""Loads rows in several ways, and reports what the index costs."""

import statistics
import time

import buffer
import charts
import pgbench
import results
import server
import sortedness
import subjects

ROWS_A_STATEMENT = 100
STATEMENTS_A_TRANSACTION = 1000

GUARDED_INSERT = """
    CREATE OR REPLACE FUNCTION insert_guarded(k bigint, v integer) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (k, v);
    EXCEPTION WHEN unique_violation THEN
        RAISE;
    END $$
"""


def measure(chosen, place):
    """Loads, writes the results, and returns the summary."""
    connection = server.connect(chosen)
    server.execute(connection, GUARDED_INSERT)
    server.execute(connection, "CREATE SEQUENCE IF NOT EXISTS arrivals MINVALUE 0")
    everyone = [subjects.NO_INDEX, subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for degree in chosen.degrees:
        for clients in chosen.clients:
            prepare(chosen, place, degree)
            results.step(f"{describe(chosen, degree, clients)}, {chosen.rows:,} rows")
            for number in range(chosen.rounds):
                for subject in subjects.in_turn(everyone, number):
                    with server.settings_of(subject, chosen, connection):
                        figures = load(
                            chosen, place, connection, degree, clients, subject
                        )
                    raw.append(
                        {
                            "mode": chosen.mode, "degree": degree.name,
                            "k": degree.k, "l": degree.l, "clients": clients,
                            "round": number + 1, "subject": subject.label,
                        }
                        | figures
                    )
                    print(
                        f"round {number + 1}, {subject.label}: "
                        f"{figures['seconds']:.3f} s",
                        flush=True,
                    )
    connection.close()
    summary = summarise(raw, [subject.label for subject in everyone])
    tell(chosen, raw, summary)
    return summary


def describe(chosen, degree, clients):
    text = f"{chosen.mode}, {degree.name}"
    if chosen.referring:
        text += ", referring to a primary key"
    elif chosen.primary_key:
        text += ", primary key"
    elif chosen.unique:
        text += ", unique"
    if chosen.mode != "copy":
        text += f", {clients} client" + ("s" if clients > 1 else "")
    return text


def prepare(chosen, place, degree):
    if chosen.mode == "copy":
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        with open(place.data / "keys", "wb") as file:
            sortedness.write_copy_text(
                keys // chosen.duplicates, file, as_uuid=chosen.key == "uuid"
            )


def load(chosen, place, connection, degree, clients, subject):
    """Loads an empty table, and returns the figures of the run."""
    server.execute(connection, "DROP TABLE IF EXISTS t, referred")
    server.execute(connection, f"CREATE TABLE t (k {chosen.key}, v integer)")
    if subject.access_method is not None:
        make_index(chosen, place, connection, degree, subject)
    server.execute(connection, "ALTER SEQUENCE arrivals RESTART")
    # Each run pays for its own full-page images, and not for the writes of another.
    server.execute(connection, "CHECKPOINT")
    wal_before = server.wal_position(connection)
    if chosen.mode == "copy":
        processor_before = server.processor_seconds(connection)
        begin = time.perf_counter()
        server.execute(connection, f"COPY t FROM '{place.data}/keys'")
        seconds = time.perf_counter() - begin
        processor_seconds = server.processor_seconds(connection) - processor_before
        rows = chosen.rows
    else:
        outcome, rows = insert(chosen, place, degree, clients)
        seconds, processor_seconds = outcome.seconds, outcome.processor_seconds
    wal_bytes = server.wal_position(connection) - wal_before
    # The flush, which was put off, is a cost, too, and has a column of its own.
    begin = time.perf_counter()
    buffer.flush(connection, subject, "t_k")
    flush_seconds = time.perf_counter() - begin
    flush_wal_bytes = server.wal_position(connection) - wal_before - wal_bytes
    index_bytes = 0
    if subject.access_method is not None:
        index_bytes = server.relation_bytes(connection, "t_k")
    if server.value(connection, "SELECT count(*) FROM t") != rows:
        raise RuntimeError("rows are missing")
    return {
        "rows": rows, "seconds": seconds, "processor_seconds": processor_seconds,
        "wal_bytes": wal_bytes,
        "flush_seconds": flush_seconds, "flush_wal_bytes": flush_wal_bytes,
        "index_bytes": index_bytes,
    } | buffer.counters(connection, subject, "t_k")


def make_index(chosen, place, connection, degree, subject):
    """Makes what is measured: an index of t, or what t refers to; it is t_k."""
    if chosen.referring:
        server.execute(connection, f"CREATE TABLE referred (k {chosen.key}, v integer)")
        server.execute(connection, subject.create_primary_key("referred", "t_k"))
        if chosen.mode == "copy":
            fill = f"COPY referred FROM '{place.data}/keys'"
        else:
            low, high = pgbench.bounds(degree, chosen.rows)
            fill = f"INSERT INTO referred SELECT generate_series({low}, {high}), 0"
        server.execute(connection, fill)
        server.execute(connection, "ALTER TABLE t ADD FOREIGN KEY (k) REFERENCES referred")
    elif chosen.primary_key:
        server.execute(connection, subject.create_primary_key("t", "t_k"))
    else:
        server.execute(connection, subject.create_index("t", chosen.unique))


def insert(chosen, place, degree, clients):
    """Inserts with pgbench; returns the outcome and the number of rows."""
    script, rows_a_turn = make_script(chosen, degree, clients)
    turns = max(1, chosen.rows // (clients * rows_a_turn))
    outcome = pgbench.run(
        place, script, f"--transactions={turns}", "--define=turn=-1",
        clients=clients, seed=chosen.seed,
    )
    return outcome, outcome.transactions * rows_a_turn


def make_script(chosen, degree, clients):
    """The script of a mode, and how many rows it inserts each time it runs."""
    script = pgbench.numbering(clients)
    if chosen.mode == "singlerow":
        rows_a_turn = 1
    elif chosen.mode == "multirow":
        rows_a_turn = ROWS_A_STATEMENT
    else:
        rows_a_turn = STATEMENTS_A_TRANSACTION

    # a key of a sequence's number is computed by the statement
    arrival = "0" if chosen.sequence else ":n"
    expression = pgbench.key_expression(arrival, degree, chosen.rows, chosen.seed)
    if chosen.unique and not chosen.sequence and not chosen.referring:
        # the number of the arrival makes equal keys different
        expression = f"({expression}) * {chosen.rows} + :n"
    keys, statements = [], []
    for number in range(rows_a_turn):
        keys.append(
            f"\\set n :arrival * {rows_a_turn} + {number}\n"
            f"\\set k{number} {expression}\n"
        )
        if chosen.mode == "exceptions":
            statements.append(f"SELECT insert_guarded(:k{number}, {number});\n")
        elif chosen.sequence:
            key = f"(nextval('arrivals') + :k{number})"
            if chosen.unique:
                key += f" * {chosen.rows} + :n"
            statements.append(f"INSERT INTO t VALUES ({key}, {number});\n")
        else:
            statements.append(f"INSERT INTO t VALUES (:k{number}, {number});\n")
    if chosen.mode == "multirow":
        rows = ", ".join(f"(:k{number}, {number})" for number in range(rows_a_turn))
        return script + "".join(keys) + f"INSERT INTO t VALUES {rows};\n", rows_a_turn
    script += "".join(key + insert for key, insert in zip(keys, statements))
    if chosen.mode in ("transaction", "exceptions"):
        script = f"BEGIN;\n{script}COMMIT;\n"
    return script, rows_a_turn


def summarise(raw, labels):
    """One row for each degree, number of clients and subject, from the medians."""
    plain, nbtree, *compared = labels
    summary = []
    for degree, clients in dict.fromkeys((r["degree"], r["clients"]) for r in raw):
        runs = [r for r in raw if (r["degree"], r["clients"]) == (degree, clients)]
        summary += [summarise_one(runs, plain, nbtree, label) for label in compared]
    return summary


def summarise_one(runs, plain, nbtree, compared):
    def median(subject, *figures):
        return statistics.median(
            sum(run[figure] for figure in figures)
            for run in runs if run["subject"] == subject
        )

    rows = runs[0]["rows"]
    row = {
        key: runs[0][key] for key in ("mode", "degree", "k", "l", "clients", "rows")
    }
    row["subject"] = compared
    row["seconds_without_index"] = median(plain, "seconds")
    row["processor_seconds_without_index"] = median(plain, "processor_seconds")
    for name, label in (("nbtree", nbtree), ("compared", compared)):
        row |= {
            f"{name}_seconds": median(label, "seconds"),
            f"{name}_net_seconds": median(label, "seconds") - median(plain, "seconds"),
            f"{name}_net_processor_seconds": median(label, "processor_seconds")
            - median(plain, "processor_seconds"),
            f"{name}_wal_bytes_per_entry": (
                median(label, "wal_bytes", "flush_wal_bytes")
                - median(plain, "wal_bytes")
            )
            / rows,
            f"{name}_index_bytes": median(label, "index_bytes"),
        }
    row["flush_seconds"] = median(compared, "flush_seconds")
    for figure in buffer.COUNTED:
        row[f"{figure}_of_100"] = 100 * median(compared, figure) / rows
    row["flush_wal_bytes_per_entry"] = median(compared, "flush_wal_bytes") / rows
    row["ratio_of_net_cost"] = results.ratio(
        row["nbtree_net_seconds"], row["compared_net_seconds"]
    )
    row["ratio_of_processor_cost"] = results.ratio(
        row["nbtree_net_processor_seconds"], row["compared_net_processor_seconds"]
    )
    row["ratio_of_throughput"] = row["nbtree_seconds"] / row["compared_seconds"]
    row["ratio_of_wal"] = results.ratio(
        row["compared_wal_bytes_per_entry"], row["nbtree_wal_bytes_per_entry"]
    )
    row["ratio_of_size"] = row["compared_index_bytes"] / row["nbtree_index_bytes"]
    return row


def tell(chosen, raw, summary):
    titles = [
        "", "", "no index s", "nbtree net s", "compared net s", "compared flush s",
        "net ratio",
        "of processor time", "throughput ratio", "nbtree WAL B/entry",
        "compared WAL B/entry", "nbtree MB", "compared MB",
    ]
    table = [
        [
            case(chosen, row), row["subject"],
            row["seconds_without_index"], row["nbtree_net_seconds"],
            row["compared_net_seconds"], row["flush_seconds"],
            row["ratio_of_net_cost"], row["ratio_of_processor_cost"],
            row["ratio_of_throughput"],
            row["nbtree_wal_bytes_per_entry"], row["compared_wal_bytes_per_entry"],
            row["nbtree_index_bytes"] / 2**20, row["compared_index_bytes"] / 2**20,
        ]
        for row in summary
    ]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)
    draw(chosen, summary)


def case(chosen, row):
    return row["degree"] + (f" x{row['clients']}" if chosen.mode != "copy" else "")


def draw(chosen, summary):
    title = f"{chosen.mode}, {chosen.rows:,} rows, medians of {chosen.rounds} rounds"
    path = chosen.out / f"{chosen.name}.png"
    labels = list(dict.fromkeys(row["subject"] for row in summary))
    if chosen.grid is not None and len(summary) == len(chosen.degrees):
        k_values, l_values = (
            list(dict.fromkeys(f"{getattr(one, name):g}" for one in chosen.grid))
            for name in "kl"
        )
        ratios = iter([row["ratio_of_processor_cost"] for row in summary])
        charts.heat_map(
            path,
            f"nbtree's net index cost / {labels[0]}'s, processor time\n{title}",
            k_values,
            l_values, [[next(ratios) for _ in l_values] for _ in k_values],
            "K, %", "L, %",
        )
        return

    names = list(dict.fromkeys(case(chosen, row) for row in summary))

    def everyones(figure, unit=1.0):
        first = [row for row in summary if row["subject"] == labels[0]]
        return {"nbtree": [row[f"nbtree_{figure}"] / unit for row in first]} | {
            label: [
                row[f"compared_{figure}"] / unit
                for row in summary if row["subject"] == label
            ]
            for label in labels
        }

    throughputs = {"nbtree": [1.0] * len(names)} | {
        label: [
            row["ratio_of_throughput"] for row in summary if row["subject"] == label
        ]
        for label in labels
    }
    charts.bars(
        path, title,
        [
            (
                "net index cost, processor time", "s", names,
                everyones("net_processor_seconds"),
            ),
            ("throughput", "share of nbtree's", names, throughputs),
            ("WAL of the index", "bytes an entry", names,
             everyones("wal_bytes_per_entry")),
            ("size of the index", "MB", names, everyones("index_bytes", 2**20)),
        ],
    )
