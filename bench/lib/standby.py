"""Times reads on a primary and on its standby."""

import contextlib
import statistics

import buffer
import charts
import pgbench
import replay
import results
import server
import speed
import subjects


def measure(chosen, place):
    connection = server.connect(chosen)
    standby = server.connect_to_standby(place)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    if chosen.trickle_rows is None:
        chosen.trickle_rows = buffer.rows_to_fill(chosen, connection)
    raw = []
    for degree in chosen.degrees:
        results.step(f"{degree.name}, {chosen.rows:,} rows and {chosen.trickle_rows:,}")
        speed.write_keys(chosen, place, degree, chosen.trickle_rows)
        if "replay" in chosen.parts:
            replay.measure(chosen, place, degree)
        if "reads" not in chosen.parts:
            continue
        tables = {subject: f"read_{i}" for i, subject in enumerate(everyone)}
        for subject, table in tables.items():
            speed.make(place, connection, "trickle", subject, table)
        server.wait_for_replay(connection, standby)
        for node in (connection, standby):
            buffer.tell_entries(node, tables)
            for table in tables.values():
                # This sets the hint bits of the rows.
                server.query(node, f"SELECT count(v) FROM {table}")
        for activity in chosen.activities:
            raw += time_queries(chosen, place, connection, standby, degree, activity, tables)
            server.wait_for_replay(connection, standby)
            compare_counts(connection, standby, tables)
    for node in (connection, standby):
        node.close()
    if raw:
        tell(chosen, raw, everyone)


def list_queries(chosen, degree):
    last = chosen.rows + chosen.trickle_rows - 1
    width = speed.SHORT_RANGE
    queries = [speed.Query("point", speed.POINT, 0, last)]
    if not degree.scrambled:
        queries.append(speed.Query("point, recent", speed.POINT, chosen.rows, last))
    queries.append(speed.range_query(f"{width} rows", speed.RANGE, width, 0, last))
    for width in (1, width, speed.LONG_RANGE):
        queries.append(speed.range_query(f"{width:,} keys only", speed.KEYS_ONLY, width, 0, last))
    return queries + [speed.Query("largest key", speed.LARGEST, 0, 0)]


def time_queries(chosen, place, connection, standby, degree, activity, tables):
    queries = list_queries(chosen, degree)
    for node in (connection, standby):
        speed.compare_answers(node, queries, list(tables.values()))
    raw = []
    with going_on(chosen, place, connection, degree, activity, tables):
        for number in range(chosen.rounds):
            for query in queries:
                for subject in subjects.in_turn(list(tables), number):
                    for node in subjects.in_turn(["primary", "standby"], number):
                        at = place if node == "primary" else place.standby
                        raw.append(
                            {
                                "what": query.what, "degree": degree.name,
                                "activity": activity, "round": number + 1,
                                "subject": subject.label, "node": node,
                            }
                            | speed.time_query(chosen, at, query, tables[subject], number)
                        )
            print(f"{activity}, round {number + 1} of {chosen.rounds}", flush=True)
    return raw


def going_on(chosen, place, connection, degree, activity, tables):
    """What happens on the primary meanwhile."""
    if activity == "idle":
        return contextlib.nullcontext()
    key = pgbench.later_key(degree, chosen.rows + chosen.trickle_rows, chosen.seed)
    # The inserts go to both tables in turn, so that reads of either table
    # meet the same load.
    inserts = "".join(
        f"INSERT INTO {table} VALUES (:k, :arrival);\n" for table in tables.values()
    )
    return pgbench.running(
        place, connection,
        pgbench.numbering(1) + f"\\set k {key}\n{inserts}",
        "--define=turn=-1", f"--rate={chosen.inserts_per_second}",
    )


def compare_counts(connection, standby, tables):
    """Fails unless the standby has the primary's rows."""
    for table in tables.values():
        query = f"SELECT count(*), sum(k), sum(v) FROM {table}"
        if server.query(connection, query) != server.query(standby, query):
            raise RuntimeError(f"the standby has other rows in {table}")


def summarise(raw, labels):
    summary = []
    for case in dict.fromkeys((r["what"], r["degree"], r["activity"]) for r in raw):
        for label in labels:
            runs = [
                r for r in raw
                if (r["what"], r["degree"], r["activity"]) == case
                and r["subject"] == label
            ]
            summary.append(summarise_one(runs, label))
    return summary


def summarise_one(runs, label):
    def figures(node, figure):
        return [run[figure] for run in runs if run["node"] == node]

    primary, standby = (figures(node, "microseconds") for node in ("primary", "standby"))
    shares = [theirs / ours for ours, theirs in zip(primary, standby)]
    row = {key: runs[0][key] for key in ("what", "degree", "activity")}
    return row | {
        "subject": label,
        "primary_microseconds": statistics.median(primary),
        "standby_microseconds": statistics.median(standby),
        "share": statistics.median(standby) / statistics.median(primary),
        "smallest_share": min(shares), "largest_share": max(shares),
        "share_of_processor_time":
            statistics.median(figures("standby", "processor_microseconds"))
            / statistics.median(figures("primary", "processor_microseconds")),
    }


def tell(chosen, raw, everyone):
    labels = [subject.label for subject in everyone]
    summary = summarise(raw, labels)
    titles = [
        "", "order", "meanwhile", "", "primary µs", "standby µs", "standby / primary",
        "in single rounds", "of processor time",
    ]
    table = [
        [
            row["what"], row["degree"], row["activity"], row["subject"],
            row["primary_microseconds"], row["standby_microseconds"], row["share"],
            f"{row['smallest_share']:.2f} to {row['largest_share']:.2f}",
            row["share_of_processor_time"],
        ]
        for row in summary
    ]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)
    panels = []
    for activity, degree in dict.fromkeys((r["activity"], r["degree"]) for r in summary):
        rows = [r for r in summary if (r["activity"], r["degree"]) == (activity, degree)]
        panels.append(
            charts.panel(
                f"{activity}, {degree}", "time on the standby, share of the primary's",
                rows, "what", "share",
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"{chosen.rows:,} rows by COPY and {chosen.trickle_rows:,} by single-row "
        f"transactions, medians of {chosen.rounds} rounds", panels,
    )
