"""Loads, measures, compares and reports; called by demo/run.

The server is the one that PGHOST and PGPORT name. The exit status is 1 if an
answer, a plan or an index is wrong.
"""

import argparse
import pathlib
import sys
import time

import psycopg

import answers
import buffer
import changes
import lookups
import page
import picture
import report
import subjects
import transactions
import trickle
from progress import Bar


# When the demonstration began, in seconds; until it is told, now.
begun = int(time.time())


def main():
    global begun
    options = parse_arguments()
    begun = options.begun
    connection = psycopg.connect("", autocommit=True)
    # In parallel plans the figures would depend on how many processors are free.
    connection.execute("SET max_parallel_workers_per_gather = 0")
    extension = "amcheck" if options.am == "btree" else options.am
    connection.execute(f"CREATE EXTENSION {extension}")
    compared = subjects.make_subjects(options.am)

    verdict = answers.Verdict()

    step(f"Loading lineitem {options.rounds} times into each of three tables, by COPY")
    subjects.load_companions(connection, options.data)
    subjects.load_all(connection, compared, options.data, options.rounds)
    row_count = count_rows(connection, compared)
    print("What became of the entries of the last round:", flush=True)
    show_buffer(connection, compared[-1], verdict, "entries_appended", True, "after COPY")

    if options.spoil:
        spoil(connection, compared[-1])
    step("Checking every index entry against the table")
    check_indexes(connection, compared[-1], verdict)

    step("Timing look-ups")
    days = lookups.ship_days(
        connection, compared[0].table, "1992-06-01", "1998-06-01"
    )
    times = lookups.time_all(connection, compared[1:], verdict, days)
    title = f"TPC-H lineitem, {row_count:,} rows sorted by l_shipdate"
    # The sizes are those of the load; the changes come later.
    rows = report.figures(connection, compared, times)

    step("The latest rows arrive, each in its own transaction")
    outcome = trickle.trickle_all(connection, compared, options.data, options.rounds)
    title += f", and {count_rows(connection, compared) - row_count:,} more one by one"
    print("Where their entries are:", flush=True)
    show_buffer(connection, compared[-1], verdict, "buffer_entries", True, "with rows in it")
    check_indexes(connection, compared[-1], verdict)
    step("Timing look-ups of the latest days")
    days = lookups.ship_days(connection, "arriving")
    times = lookups.time_all(connection, compared[1:], verdict, days)
    rows += report.trickle_rows(outcome, times)

    step("Comparing answers, and the plans that find them")
    answers.compare_all(connection, compared, verdict)
    step("Deleting, vacuuming, inserting, updating and vacuuming again")
    changes.change_all(connection, compared)
    show_buffer(connection, compared[-1], verdict, "buffer_entries", False, "after VACUUM")
    check_indexes(connection, compared[-1], verdict)
    step("Comparing answers after the changes")
    answers.compare_all(connection, compared, verdict)

    step("Transactions of concurrent clients: pgbench, with an index on its history")
    parts = {
        title: rows,
        transactions.title(options.rounds): transactions.measure(
            connection, compared[1:], options.data, options.rounds, verdict
        ),
    }

    labels = [subject.label for subject in compared]
    for title, rows in parts.items():
        step(title)
        print(report.as_text(rows, labels))
    about = f"{page.versions(connection)}; {page.machine()}"
    write_results(options, parts, about, labels, verdict)
    return conclude(verdict, compared)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--am", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--begun", type=int, default=begun)
    parser.add_argument("--spoil", action="store_true")
    return parser.parse_args()


def step(text):
    """Tells what comes next, and how long all has taken so far."""
    minutes, seconds = divmod(int(time.time()) - begun, 60)
    print(f"\n== {minutes}:{seconds:02} {text}", flush=True)


def count_rows(connection, compared):
    return connection.execute(f"SELECT count(*) FROM {compared[0].table}").fetchone()[0]


def show_buffer(connection, subject, verdict, column, expected, when):
    """Shows the statistics of sware's indexes; one column must be above zero, or must not."""
    if subject.access_method == "sware":
        figures = buffer.show(connection, subject)
        buffer.check(figures, verdict, column, expected, when)


def check_indexes(connection, subject, verdict):
    """Runs the access method's own check on every index of the subject."""
    function = (
        "bt_index_parent_check" if subject.access_method == "btree"
        else f"{subject.access_method}_check"
    )
    begin = time.perf_counter()
    sound = 0
    with Bar("indexes", len(subject.indexes())) as bar:
        for index in subject.indexes():
            try:
                connection.execute(f"SELECT {function}('{index}'::regclass, true)")
                sound += 1
            except psycopg.Error as error:
                verdict.complaints.append(f"{function}('{index}', true): {error}")
                bar.tell(f"WRONG  {verdict.complaints[-1]}")
            bar.advance()
    print(
        f"{sound} of {len(subject.indexes())} indexes are sound, and have all rows: "
        f"{function}, {time.perf_counter() - begin:.1f} s",
        flush=True,
    )


def spoil(connection, subject):
    """Hides a row from one index, to show that this is noticed.

    The row is deleted and stored again while the index takes no inserts.
    """
    index = subject.index("l_shipdate")
    set_ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = '{}'::regclass"
    connection.execute(set_ready.format("false", index))
    connection.execute(
        f"WITH moved AS (DELETE FROM {subject.table} WHERE ctid = (SELECT min(ctid) "
        f"FROM {subject.table} WHERE l_shipdate = '1995-06-17') RETURNING *) "
        f"INSERT INTO {subject.table} SELECT * FROM moved"
    )
    connection.execute(set_ready.format("true", index))


def write_results(options, parts, about, labels, verdict):
    context = {
        "about": about,
        "scale": options.scale,
        "rounds": options.rounds,
        "queries": verdict.queries,
        "complaints": verdict.complaints,
    }
    text = "".join(
        f"\n{title}\n\n{report.as_text(rows, labels)}\n" for title, rows in parts.items()
    )
    (options.out / "figures.txt").write_text(f"{about}\n{text}")
    (options.out / "figures.json").write_text(report.as_json(parts, **context) + "\n")
    pictures = []
    for name, (title, rows) in zip(("figures", "pgbench"), parts.items(), strict=True):
        drawn = [row for row in rows if row.name != "table"]
        paths = [options.out / f"{name}.{kind}" for kind in ("png", "svg")]
        picture.draw(drawn, labels, title, about, paths)
        pictures.append(paths[0])
    print(
        f"\nwritten to {options.out}: figures.txt and .json; as pictures, figures and "
        "pgbench, each .png and .svg"
    )
    if options.html:
        page.write(options.html, parts, about, labels, pictures, verdict)
        print(f"written to {options.html}: all of it on one page")


def conclude(verdict, compared):
    labels = " and ".join(subject.label for subject in compared[1:])
    print(
        f"\nPlanner left free: {verdict.plans - len(verdict.other_choices)} of "
        f"{verdict.plans} plans have the same scans with {labels}."
    )
    if verdict.other_choices:
        # ANALYZE samples each table anew, so a close decision may differ.
        print("Different: " + "; ".join(verdict.other_choices))
    if verdict.complaints:
        print(
            f"\nFAILED: {len(verdict.complaints)} complaints:\n  "
            + "\n  ".join(verdict.complaints),
            flush=True,
        )
        return 1
    print(
        f"ALL AGREE: {verdict.queries} queries, {verdict.rows:,} rows, the same "
        f"answers without index and with {labels}.",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
