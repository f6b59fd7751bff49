"""Lets rows arrive one by one, each in a transaction of its own."""

import statistics
import time

from progress import Bar
from subjects import LINEITEM_COLUMNS, wal_position

PROCEDURE = """
    CREATE OR REPLACE PROCEDURE trickle_{table}(first integer, count integer)
    LANGUAGE plpgsql AS $$
    DECLARE
        arrival arriving;
    BEGIN
        FOR arrival IN SELECT * FROM arriving ORDER BY ctid LIMIT count OFFSET first
        LOOP
            INSERT INTO {table} VALUES (arrival.*);
            COMMIT;
        END LOOP;
    END $$
"""


class Outcome:
    """Medians of what a row took, by label."""

    def __init__(self, subjects):
        self.microseconds = {subject.label: [] for subject in subjects}
        self.wal_bytes = {subject.label: [] for subject in subjects}

    def note(self, subject, rows, seconds, wal_bytes):
        self.microseconds[subject.label].append(1e6 * seconds / rows)
        self.wal_bytes[subject.label].append(wal_bytes / rows)

    def medians(self):
        return tuple(
            {label: statistics.median(values) for label, values in figures.items()}
            for figures in (self.microseconds, self.wal_bytes)
        )


def trickle_all(connection, subjects, data, parts):
    """Inserts the latest rows into every table, in turn, part by part.

    Commits do not wait for the disk, which would hide what the indexes cost.
    """
    connection.execute(f"CREATE TABLE arriving ({LINEITEM_COLUMNS})")
    connection.execute(f"COPY arriving FROM '{data}/arriving.tbl' (DELIMITER '|')")
    rows = connection.execute("SELECT count(*) FROM arriving").fetchone()[0]
    connection.execute("SET synchronous_commit = off")
    outcome = Outcome(subjects)
    for subject in subjects:
        connection.execute(PROCEDURE.format(table=subject.table))
    with Bar("rows", rows * len(subjects)) as bar:
        for number in range(parts):
            first = rows * number // parts
            count = rows * (number + 1) // parts - first
            turn = number % len(subjects)
            for subject in subjects[turn:] + subjects[:turn]:
                connection.execute("CHECKPOINT")
                wal_before = wal_position(connection)
                begin = time.perf_counter()
                connection.execute(f"CALL trickle_{subject.table}({first}, {count})")
                seconds = time.perf_counter() - begin
                outcome.note(
                    subject, count, seconds, wal_position(connection) - wal_before
                )
                bar.advance(count)
    print(f"{rows:,} rows for each table, in {parts} parts", flush=True)
    connection.execute("RESET synchronous_commit")
    for subject in subjects:
        connection.execute(f"ANALYZE {subject.table}")
    return outcome
