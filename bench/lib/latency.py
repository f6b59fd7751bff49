"""Times single-row inserts one by one."""

import statistics

import numpy

import buffer
import charts
import pgbench
import results
import server
import sortedness
import subjects

PERCENTILES = {"p50": 50, "p99": 99, "p99.9": 99.9, "p99.99": 99.99, "max": 100}


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    if chosen.fill_rows is None:
        chosen.fill_rows = buffer.rows_to_fill(chosen, connection)
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows + chosen.fill_rows, degree, chosen.alpha, chosen.beta,
            chosen.seed,
        )
        buffer.write_keys(place, keys, chosen.rows)
        for clients in chosen.clients:
            raw += time_inserts(chosen, place, connection, degree, clients, everyone)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def time_inserts(chosen, place, connection, degree, clients, everyone):
    results.step(f"{degree.name}, {clients} client" + ("s" if clients > 1 else ""))
    tables = {subject: f"filled_{i}" for i, subject in enumerate(everyone)}
    for subject, table in tables.items():
        server.execute(connection, f"DROP TABLE IF EXISTS {table}")
        server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
        server.execute(connection, subject.create_index(table))
        server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
        buffer.trickle(place, connection, table)
    done = dict.fromkeys(everyone, 0)
    raw = []
    for number in range(chosen.rounds):
        for subject in subjects.in_turn(everyone, number):
            server.execute(connection, "CHECKPOINT")
            outcome = insert(
                chosen, place, degree, clients, tables[subject], done[subject]
            )
            done[subject] += outcome.most_turns
            run = {
                "degree": degree.name, "clients": clients, "round": number + 1,
                "subject": subject.label, "per_second": outcome.per_second,
            }
            for name, percentile in PERCENTILES.items():
                run[name] = float(numpy.percentile(outcome.latencies, percentile))
            raw.append(run)
            texts = [f"{name} {run[name]:,.0f} µs" for name in PERCENTILES]
            results.tell_run(number, subject.label, texts)
    return raw


def insert(chosen, place, degree, clients, table, first_turn):
    """Inserts rows; the first turn says where an earlier run has ended."""
    key = pgbench.later_key(degree, chosen.rows + chosen.fill_rows, chosen.seed)
    return pgbench.run(
        place,
        pgbench.numbering(clients)
        + f"\\set k {key}\nINSERT INTO {table} VALUES (:k, :arrival);\n",
        pgbench.how_long(chosen.seconds, max(1, chosen.inserts // clients)),
        f"--define=turn={first_turn - 1}",
        clients=clients, seed=chosen.seed + first_turn, log=True,
    )


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for degree, clients in dict.fromkeys((r["degree"], r["clients"]) for r in raw):
        runs = [r for r in raw if (r["degree"], r["clients"]) == (degree, clients)]
        for label in compared:
            for figure in (*PERCENTILES, "largest max", "per_second"):
                one, other = value(runs, nbtree, figure), value(runs, label, figure)
                summary.append(
                    {
                        "degree": degree, "clients": clients, "subject": label,
                        "figure": figure, "nbtree": one, "compared": other,
                        "share": other / one,
                    }
                )
    return summary


def value(runs, label, figure):
    """The median of a figure; of "largest max" the maximum."""
    column, choose = figure, statistics.median
    if figure == "largest max":
        column, choose = "max", max
    return choose(run[column] for run in runs if run["subject"] == label)


def tell(chosen, raw, labels):
    nbtree = labels[0]
    summary = summarise(raw, labels)
    units = {"per_second": "inserts/s"}
    for row in summary:
        row["name"] = (
            f"{row['figure'].replace('per_second', 'throughput')}, "
            + units.get(row["figure"], "µs")
        )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "nbtree", "compared", "compared / nbtree"],
        [
            [
                f"{row['degree']} x{row['clients']}", row["subject"], row["name"],
                row["nbtree"], row["compared"], row["share"],
            ]
            for row in summary
        ],
    )
    panels = []
    for case in dict.fromkeys((row["degree"], row["clients"]) for row in summary):
        rows = [row for row in summary if (row["degree"], row["clients"]) == case]
        panels.append(
            charts.panel(
                f"{case[0]}, clients: {case[1]}", "share of nbtree's", rows,
                "name", "share", nbtree,
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"{f'{chosen.seconds} s of' if chosen.seconds else f'{chosen.inserts:,}'} "
        f"single-row inserts after {chosen.rows:,} rows by COPY and "
        f"{chosen.fill_rows:,} by single-row transactions, "
        f"medians of {chosen.rounds} rounds",
        panels,
    )
