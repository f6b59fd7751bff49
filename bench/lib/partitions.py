"""Inserts into thousands of partitions by one statement."""

import itertools
import pathlib
import re
import time

import charts
import results
import server
import subjects

# How many partitions each table in the middle has. The more partitions a table
# has, the longer it takes to make one more.
GROUP = 500


def measure(chosen, place):
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for partitions, indexes in itertools.product(chosen.partitions, chosen.indexes):
        results.step(f"{partitions} partitions with {indexes} indexes each")
        connection = server.connect(chosen)
        tables = {}
        for number, subject in enumerate(everyone):
            tables[subject] = f"t{number}"
            make_table(connection, tables[subject], subject, partitions, indexes)
        for rows, memory, number in itertools.product(
            chosen.rows, chosen.memory, range(chosen.rounds)
        ):
            for subject in subjects.in_turn(everyone, number):
                server.execute(connection, "CHECKPOINT")
                run = {
                    "partitions": partitions, "indexes": indexes, "rows": rows,
                    "memory": memory, "round": number + 1, "subject": subject.label,
                }
                run |= insert(chosen, tables[subject], run)
                raw.append(run)
                print(
                    f"{rows} rows, {memory}, round {number + 1}, {subject.label}: "
                    f"{run['seconds']:.2f} s, {run['bytes'] / 2**20:.0f} MB",
                    flush=True,
                )
        for table in tables.values():
            drop_table(connection, table, partitions)
        connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def make_table(connection, table, subject, partitions, indexes):
    columns = [f"k{i}" for i in range(indexes)]
    server.execute(
        connection,
        f"CREATE TABLE {table} (p integer, "
        + ", ".join(f"{column} bigint" for column in columns)
        + ") PARTITION BY RANGE (p)",
    )
    with_options = ", ".join(f"{name} = '{value}'" for name, value in subject.options)
    for column in columns:
        server.execute(
            connection,
            f"CREATE INDEX ON {table} USING {subject.access_method} ({column})"
            + (f" WITH ({with_options})" if with_options else ""),
        )
    for first in range(0, partitions, GROUP):
        group = f"{table}_from_{first}"
        server.execute(
            connection,
            f"CREATE TABLE {group} PARTITION OF {table} "
            f"FOR VALUES FROM ({first}) TO ({first + GROUP}) PARTITION BY LIST (p)",
        )
        server.execute(
            connection,
            f"""DO $$ BEGIN
                FOR i IN {first} .. {min(first + GROUP, partitions) - 1} LOOP
                    EXECUTE format('CREATE TABLE {table}_%s PARTITION OF {group} '
                                   'FOR VALUES IN (%s)', i, i);
                END LOOP;
            END $$""",
        )


def drop_table(connection, table, partitions):
    for first in range(0, partitions, GROUP):
        server.execute(connection, f"DROP TABLE {table}_from_{first}")
    server.execute(connection, f"DROP TABLE {table}")


def insert(chosen, table, run):
    """Inserts rows, in a session of its own."""
    connection = server.connect(chosen)
    server.execute(connection, f"SET sware.staging_size = '{run['memory']}'")
    keys = ", i" * run["indexes"]
    processor = server.processor_seconds(connection)
    started = time.perf_counter()
    server.execute(connection, "BEGIN")
    server.execute(
        connection,
        f"INSERT INTO {table} SELECT i %% %s{keys} FROM generate_series(1, %s) i",
        [run["partitions"], run["rows"]],
    )
    memory = private_bytes(connection)
    server.execute(connection, "COMMIT")
    outcome = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": server.processor_seconds(connection) - processor,
        "bytes": memory,
    }
    connection.close()
    return outcome


def private_bytes(connection):
    """The memory of a session's process that it does not share with others."""
    status = pathlib.Path(f"/proc/{connection.get_backend_pid()}/status").read_text()
    return int(re.search(r"RssAnon:\s*(\d+) kB", status)[1]) * 1024


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for case in dict.fromkeys(map(case_of, raw)):
        runs = [run for run in raw if case_of(run) == case]
        for label in compared:
            row = dict(zip(("partitions", "indexes", "rows", "memory"), case))
            row["subject"] = label
            for figure in ("seconds", "processor_seconds", "bytes"):
                row[f"nbtree_{figure}"] = results.median(runs, nbtree, figure)
                row[f"compared_{figure}"] = results.median(runs, label, figure)
            row["share"] = row["compared_seconds"] / row["nbtree_seconds"]
            row["share_of_processor_time"] = (
                row["compared_processor_seconds"] / row["nbtree_processor_seconds"]
            )
            summary.append(row)
    return summary


def case_of(run):
    return run["partitions"], run["indexes"], run["rows"], run["memory"]


def tell(chosen, raw, labels):
    summary = summarise(raw, labels)
    titles = [
        "partitions", "indexes", "rows", "memory", "", "nbtree s", "its s",
        "its / nbtree", "of processor time", "nbtree's session MB", "its session MB",
    ]
    table = [
        [
            row["partitions"], row["indexes"], row["rows"], row["memory"],
            row["subject"], row["nbtree_seconds"], row["compared_seconds"],
            row["share"], row["share_of_processor_time"],
            row["nbtree_bytes"] / 2**20, row["compared_bytes"] / 2**20,
        ]
        for row in summary
    ]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)
    panels = []
    for row in summary:
        row["case"] = f"{row['rows']:,} rows, {row['memory']}"
    for partitions, indexes in dict.fromkeys(
        (row["partitions"], row["indexes"]) for row in summary
    ):
        rows = [
            row for row in summary
            if (row["partitions"], row["indexes"]) == (partitions, indexes)
        ]
        panels.append(
            charts.panel(
                f"{partitions:,} partitions, indexes of each: {indexes}",
                "processor time, share of nbtree's", rows, "case",
                "share_of_processor_time", labels[0],
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"rows inserted into partitions in turn, medians of {chosen.rounds} rounds",
        panels,
    )
