"""Loads rows of which some are late, with fixed fill factors and with forecasts."""

import io
import statistics

import arrivals
import buffer
import leaves
import results
import server
import sortedness
import subjects


def measure(chosen):
    connection = server.connect(chosen)
    server.execute(connection, "CREATE EXTENSION pageinspect")
    options = tuple(chosen.index_options)
    everyone = [subjects.NBTREE]
    everyone += [
        subjects.Subject(
            f"fillfactor {value}", chosen.am, (*options, ("fillfactor", str(value)))
        )
        for value in chosen.fillfactor
    ]
    everyone.append(
        subjects.Subject("forecast", chosen.am, (*options, ("forecast_fill", "on")))
    )
    raw = []
    for order in chosen.orders:
        name = arrivals.name_of(order)
        results.step(name)
        pieces = make_pieces(chosen, arrivals.make_keys(chosen, order))
        cold_rows = arrivals.cold_rows(chosen, order)
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                figures = load(connection, subject, pieces, cold_rows)
                raw.append(
                    {"order": name, "round": number + 1, "subject": subject.label}
                    | figures
                )
                results.tell_run(
                    number, subject.label,
                    [
                        f"{figures['splits']:,} splits",
                        f"{figures['index_bytes'] / 2**20:.1f} MB",
                        f"{figures['fill']:.1f} % full",
                        f"{figures['processor_seconds']:.2f} s",
                    ],
                )
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def make_pieces(chosen, keys):
    """What each transaction copies."""
    pieces = []
    for first in range(0, chosen.rows, chosen.transaction):
        text = io.BytesIO()
        sortedness.write_copy_text(keys[first : first + chosen.transaction], text, first)
        pieces.append(text.getvalue())
    return pieces


def load(connection, subject, pieces, cold_rows):
    server.execute(connection, "DROP TABLE IF EXISTS t")
    server.execute(connection, "CREATE TABLE t (k bigint, v integer)")
    server.execute(connection, subject.create_index("t"))
    server.execute(connection, "CHECKPOINT")
    wal_before = server.wal_position(connection)
    processor_before = server.processor_seconds(connection)
    with connection.cursor() as cursor:
        for piece in pieces:
            cursor.copy_expert("COPY t FROM STDIN", io.BytesIO(piece))
    buffer.flush(connection, subject, "t_k")
    processor_seconds = server.processor_seconds(connection) - processor_before
    wal_bytes = server.wal_position(connection) - wal_before
    found = leaves.in_order(connection, subject, "t_k")
    late, splits = None, len(found) - 1
    if subject.access_method != "btree":
        splits, late = server.query(
            connection, "SELECT leaf_splits, estimated_late FROM sware_stats('t_k')"
        )[0]
    return {
        "splits": splits, "late": late, "leaves": len(found), "fill": fill_of(found),
        "cold_fill": fill_of(first_of(found, cold_rows)) if cold_rows else None,
        "index_bytes": server.relation_bytes(connection, "t_k"),
        "wal_bytes": wal_bytes, "processor_seconds": processor_seconds,
    }


def first_of(found, rows):
    """The leaves that have only the first rows."""
    count = 0
    for number, (_, entries, _) in enumerate(found):
        count += entries
        if count > rows:
            return found[:number]
    return found


def fill_of(found):
    return statistics.mean(fill for _, _, fill in found)


def tell(chosen, raw, labels):
    figures = (
        "splits", "late", "leaves", "fill", "cold_fill", "index_bytes", "wal_bytes",
        "processor_seconds",
    )
    summary = []
    for order in dict.fromkeys(run["order"] for run in raw):
        runs = [run for run in raw if run["order"] == order]
        for label in labels:
            summary.append(
                {"order": order, "subject": label}
                | {figure: median(runs, label, figure) for figure in figures}
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "splits", "leaves", "full, %", "cold half", "size, MB", "WAL B/row",
         "processor s", "late, %"],
        [
            [
                row["order"], row["subject"], int(row["splits"]), int(row["leaves"]),
                row["fill"], row["cold_fill"], row["index_bytes"] / 2**20,
                row["wal_bytes"] / chosen.rows, row["processor_seconds"], row["late"],
            ]
            for row in summary
        ],
    )


def median(runs, label, figure):
    """None for a figure that the subject has not."""
    if any(run[figure] is None for run in runs if run["subject"] == label):
        return None
    return results.median(runs, label, figure)
