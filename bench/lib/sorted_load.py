"""Loads sorted keys into tables whose indexes do more or less."""

import statistics

import results
import server
import statement
import subjects

BOUND = subjects.Subject("full leaves", "full_leaves")

TIME = "processor time, ns"
LEAST = "processor time, least, ns"


def measure(chosen, place):
    connection = server.connect(chosen)
    server.execute(connection, "CREATE EXTENSION full_leaves")
    everyone = [
        subjects.NO_INDEX, subjects.NBTREE, *subjects.compared(chosen), BOUND,
    ]
    raw = []
    write_keys(place, chosen.rows)
    for number in range(chosen.rounds):
        for subject in subjects.in_turn(everyone, number):
            figures = load(chosen, place, connection, subject)
            results.tell_run(
                number, subject.label,
                [f"{what} {value:,.2f}" for what, value in figures.items()],
            )
            raw += lines(subject, number + 1, figures)
    if chosen.counted_rows:
        raw += count(chosen, place, connection, everyone)
    else:
        connection.close()
    tell(chosen, raw, everyone)


def write_keys(place, rows):
    with open(place.data / "keys", "w") as file:
        file.writelines(f"{key}\n" for key in range(1, rows + 1))


def make(connection, subject, table):
    server.execute(connection, f"CREATE TABLE {table} (k bigint)")
    if subject.access_method is not None:
        server.execute(connection, subject.create_index(table))


def load(chosen, place, connection, subject):
    """One COPY in a round, and its figures of a row."""
    make(connection, subject, "loaded")
    server.execute(connection, "CHECKPOINT")
    with server.settings_of(subject, chosen, connection):
        wal = server.wal_position(connection)
        seconds = server.processor_seconds(connection)
        server.execute(connection, f"COPY loaded FROM '{place.data}/keys'")
        seconds = server.processor_seconds(connection) - seconds
        wal = server.wal_position(connection) - wal
    size = 0
    if subject.access_method is not None:
        size = server.relation_bytes(connection, "loaded_k")
    server.execute(connection, "DROP TABLE loaded")
    return {
        TIME: seconds * 1e9 / chosen.rows,
        "WAL, B": wal / chosen.rows, "file, B": size / chosen.rows,
    }


def count(chosen, place, connection, everyone):
    """Counts the instructions of a COPY of each, in one session."""
    write_keys(place, chosen.counted_rows)
    for number, subject in enumerate(everyone):
        make(connection, subject, f"t{number}")
        server.execute(
            connection,
            f"CREATE PROCEDURE load_{number}(first int, last int) LANGUAGE plpgsql AS $$ "
            f"BEGIN IF first <= last THEN COPY t{number} FROM '{place.data}/keys'; "
            "COMMIT; END IF; END $$",
        )
    server.execute(connection, "CHECKPOINT")
    connection.close()
    statement.install_valgrind()
    results.step(f"callgrind, {chosen.counted_rows:,} rows")
    counts = statement.Runner(chosen, place).count(
        [(f"load_{number}", 1) for number in range(len(everyone))]
    )
    raw = []
    for subject, found in zip(everyone, counts):
        raw += lines(
            subject, 1,
            {what: value / chosen.counted_rows for what, value in found.items()},
        )
    return raw


def lines(subject, number, figures):
    return [
        {"subject": subject.label, "round": number, "figure": what, "value": value}
        for what, value in figures.items()
    ]


def tell(chosen, raw, everyone):
    """What an index adds to a row, and how they relate to the bound."""
    summary = []
    figures = dict.fromkeys(row["figure"] for row in raw)
    for figure, choose in [(LEAST, min), *((one, statistics.median) for one in figures)]:
        of_all = {
            subject: choose(
                row["value"] for row in raw
                if row["subject"] == subject.label
                and row["figure"] == (TIME if figure == LEAST else figure)
            )
            for subject in everyone
        }
        plain = of_all[subjects.NO_INDEX]
        net = {subject: value - plain for subject, value in of_all.items()}
        for subject in everyone[2:-1]:
            summary.append(
                {
                    "figure": figure, "subject": subject.label, "table": plain,
                    "nbtree": net[subjects.NBTREE], "its": net[subject],
                    "bound": net[BOUND],
                    "its / bound": results.ratio(net[subject], net[BOUND]),
                    "nbtree / its": results.ratio(net[subjects.NBTREE], net[subject]),
                }
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["of a row", "", "the table", "nbtree", "its", "bound", "its / bound",
         "nbtree / its"],
        [list(row.values()) for row in summary],
    )
