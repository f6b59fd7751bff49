"""Times single-row inserts one by one."""

import statistics

import numpy

import charts
import pgbench
import results
import server
import sortedness
import subjects

PERCENTILES = {"p50": 50, "p99": 99, "p99.9": 99.9, "max": 100}


def measure(chosen, place):
    connection = server.connect(chosen)
    pair = [subjects.NBTREE, subjects.compared(chosen)]
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        with open(place.data / "keys", "wb") as file:
            sortedness.write_copy_text(keys, file)
        for clients in chosen.clients:
            raw += time_inserts(chosen, place, connection, degree, clients, pair)
    connection.close()
    tell(chosen, raw, *(subject.label for subject in pair))


def time_inserts(chosen, place, connection, degree, clients, pair):
    results.step(f"{degree.name}, {clients} client" + ("s" if clients > 1 else ""))
    tables = dict(zip((subject.label for subject in pair), ("one", "other")))
    for subject in pair:
        table = tables[subject.label]
        server.execute(connection, f"DROP TABLE IF EXISTS {table}")
        server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
        server.execute(connection, subject.create_index(table))
        server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
    turns = max(1, chosen.inserts // clients)
    raw = []
    for number in range(chosen.rounds):
        for subject in subjects.in_turn(pair, number):
            server.execute(connection, "CHECKPOINT")
            table = tables[subject.label]
            latencies, outcome = insert(
                chosen, place, degree, clients, table, number * turns, turns
            )
            run = {
                "degree": degree.name, "clients": clients, "round": number + 1,
                "subject": subject.label, "per_second": outcome.per_second,
            }
            for name, percentile in PERCENTILES.items():
                run[name] = float(numpy.percentile(latencies, percentile))
            raw.append(run)
            print(
                f"round {number + 1}, {subject.label}: "
                + ", ".join(f"{name} {run[name]:,.0f} µs" for name in PERCENTILES),
                flush=True,
            )
    return raw


def insert(chosen, place, degree, clients, table, first_turn, turns):
    """Inserts rows; returns each transaction's microseconds, and the outcome.

    The first turn says where an earlier run has ended.
    """
    if degree.scrambled:
        key = f"random(0, {chosen.rows - 1})"
    else:
        key = pgbench.key_expression(
            f"(:arrival + {chosen.rows})", degree, chosen.rows, chosen.seed
        )
    prefix = place.data / "latency"
    outcome = pgbench.run(
        place,
        pgbench.numbering(clients)
        + f"\\set k {key}\nINSERT INTO {table} VALUES (:k, :arrival);\n",
        f"--transactions={turns}", f"--define=turn={first_turn - 1}",
        "--log", f"--log-prefix={prefix}",
        clients=clients, seed=chosen.seed + first_turn,
    )
    # One file a thread; the third field of a line is the transaction's time.
    logs = list(prefix.parent.glob(f"{prefix.name}.*"))
    latencies = numpy.concatenate([numpy.loadtxt(log, usecols=2) for log in logs])
    for log in logs:
        log.unlink()
    if len(latencies) != outcome.transactions:
        raise RuntimeError("pgbench did not log every transaction")
    return latencies, outcome


def summarise(raw, nbtree, compared):
    summary = []
    for case in dict.fromkeys((r["degree"], r["clients"]) for r in raw):
        for figure in (*PERCENTILES, "largest max", "per_second"):
            column, choose = figure, statistics.median
            if figure == "largest max":
                column, choose = "max", max

            def chosen_value(label):
                return choose(
                    run[column] for run in raw
                    if (run["degree"], run["clients"], run["subject"])
                    == (*case, label)
                )

            one, other = chosen_value(nbtree), chosen_value(compared)
            summary.append(
                {
                    "degree": case[0], "clients": case[1], "figure": figure,
                    "nbtree": one, "compared": other, "share": other / one,
                }
            )
    return summary


def tell(chosen, raw, nbtree, label):
    summary = summarise(raw, nbtree, label)
    units = {"per_second": "inserts/s"}
    table = [
        [
            f"{row['degree']} x{row['clients']}",
            f"{row['figure'].replace('per_second', 'throughput')}, "
            + units.get(row["figure"], "µs"),
            row["nbtree"], row["compared"], row["share"],
        ]
        for row in summary
    ]
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "nbtree", label, f"{label} / nbtree"], table,
    )
    panels = []
    for case in dict.fromkeys(row[0] for row in table):
        rows = [row for row in table if row[0] == case]
        panels.append(
            (
                case.replace(" x", ", clients: "), "share of nbtree's",
                [row[1] for row in rows],
                {nbtree: [1.0] * len(rows), label: [row[4] for row in rows]},
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"{chosen.inserts:,} single-row inserts after {chosen.rows:,} rows, "
        f"medians of {chosen.rounds} rounds",
        panels,
    )
