"""Loads rows of which some are late, with fixed fill factors and with forecasts."""

import io

import buffer
import results
import server
import sortedness
import subjects


def measure(chosen):
    connection = server.connect(chosen)
    options = tuple(chosen.index_options)
    everyone = [
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
        name = order.name if isinstance(order, sortedness.Degree) else f"late-{order:g}"
        results.step(name)
        pieces = make_pieces(chosen, make_keys(chosen, order))
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                figures = load(connection, subject, pieces)
                raw.append(
                    {"order": name, "round": number + 1, "subject": subject.label}
                    | figures
                )
                results.tell_run(
                    number, subject.label,
                    [
                        f"{figures['splits']:,} splits",
                        f"{figures['index_bytes'] / 2**20:.1f} MB",
                        f"{figures['processor_seconds']:.2f} s",
                        f"late {figures['late']:.1f} %",
                    ],
                )
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def make_keys(chosen, order):
    """The keys in their order of arrival."""
    import numpy

    if isinstance(order, sortedness.Degree):
        return sortedness.make_keys(
            chosen.rows, order, chosen.alpha, chosen.beta, chosen.seed
        )
    random = numpy.random.default_rng(chosen.seed)
    arrivals = numpy.arange(chosen.rows, dtype=numpy.float64)
    is_late = random.random(chosen.rows) < order / 100
    reach = chosen.rows * chosen.reach / 100
    arrivals += is_late * random.uniform(1, reach, chosen.rows)
    return numpy.argsort(arrivals, kind="stable")


def make_pieces(chosen, keys):
    """What each transaction copies."""
    pieces = []
    for first in range(0, chosen.rows, chosen.transaction):
        text = io.BytesIO()
        sortedness.write_copy_text(keys[first : first + chosen.transaction], text, first)
        pieces.append(text.getvalue())
    return pieces


def load(connection, subject, pieces):
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
    splits, late = server.query(
        connection, "SELECT leaf_splits, estimated_late FROM sware_stats('t_k')"
    )[0]
    return {
        "splits": splits, "late": late,
        "index_bytes": server.relation_bytes(connection, "t_k"),
        "wal_bytes": wal_bytes, "processor_seconds": processor_seconds,
    }


def tell(chosen, raw, labels):
    summary = []
    for order in dict.fromkeys(run["order"] for run in raw):
        runs = [run for run in raw if run["order"] == order]
        for label in labels:
            summary.append(
                {"order": order, "subject": label}
                | {
                    figure: results.median(runs, label, figure)
                    for figure in (
                        "splits", "late", "index_bytes", "wal_bytes", "processor_seconds",
                    )
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "splits", "size, MB", "WAL B/row", "processor s", "late, %"],
        [
            [
                row["order"], row["subject"], int(row["splits"]),
                row["index_bytes"] / 2**20, row["wal_bytes"] / chosen.rows,
                row["processor_seconds"], row["late"],
            ]
            for row in summary
        ],
    )
