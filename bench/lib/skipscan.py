"""Times conditions on the second column of an index."""

import itertools

import charts
import pgbench
import results
import server
import subjects

# Only execution is compared, always of the same plan, which uses the index.
SETTINGS = (
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("max_parallel_workers_per_gather", "0"),
)

VALUES_OF_B = 65_536
ROWS = "SELECT i % {distinct}, hashint4(i) & {mask} FROM generate_series({first}, {last}) i"
ROWS_OF_A_TRANSACTION = 50

QUERIES = (
    ("b = ...", "b = {key}"),
    ("b IN (three values)", "b IN ({key}, {key} + 20000, {key} + 40000)"),
    ("b BETWEEN ... (100 values)", "b BETWEEN {key} AND {key} + 99"),
    ("a in a quarter, b = ...", "a BETWEEN {distinct} / 4 AND {distinct} / 2 AND b = {key}"),
    ("all rows", "{key} > 0"),
)


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    tables = {subject: f"t{number}" for number, subject in enumerate(everyone)}
    raw = []
    for distinct in chosen.distinct:
        results.step(f"{distinct:,} values of the first column, {chosen.rows:,} rows")
        for subject, table in tables.items():
            make(connection, chosen, subject, table, distinct)
        raw += time_queries(chosen, place, connection, distinct, "tree", tables)
        if chosen.buffered_rows > 0:
            for table in tables.values():
                trickle(connection, chosen, table, distinct)
            raw += time_queries(chosen, place, connection, distinct, "tree and buffer", tables)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def rows(distinct, first, last):
    return ROWS.format(distinct=distinct, mask=VALUES_OF_B - 1, first=first, last=last)


def make(connection, chosen, subject, table, distinct):
    server.execute(connection, f"DROP TABLE IF EXISTS {table}")
    server.execute(connection, f"CREATE TABLE {table} (a integer, b integer)")
    server.execute(connection, f"INSERT INTO {table} " + rows(distinct, 1, chosen.rows))
    server.execute(connection, subject.create_index(table, columns=("a", "b")))
    server.execute(connection, f"VACUUM (FREEZE, ANALYZE) {table}")
    server.execute(connection, "CHECKPOINT")


def trickle(connection, chosen, table, distinct):
    """Adds rows by small transactions, and makes the table all-visible again.

    VACUUM leaves the index alone, since it would empty the buffer.
    """
    size = ROWS_OF_A_TRANSACTION
    server.execute(
        connection,
        f"""DO $$ BEGIN
            FOR turn IN 0 .. {chosen.buffered_rows // size - 1} LOOP
                INSERT INTO {table} {rows(
                    distinct, f"{chosen.rows} + turn * {size} + 1", f"{chosen.rows} + (turn + 1) * {size}"
                )};
                COMMIT;
            END LOOP;
        END $$""",
    )
    server.execute(connection, f"VACUUM (INDEX_CLEANUP off, ANALYZE) {table}")
    server.execute(connection, "CHECKPOINT")


def text_of(condition, table, distinct, key):
    return f"SELECT count(*) FROM {table} WHERE " + condition.format(key=key, distinct=distinct)


def time_queries(chosen, place, connection, distinct, where, tables):
    raw = []
    pages = {}
    for (what, condition), (subject, table) in itertools.product(QUERIES, tables.items()):
        pages[what, subject] = pages_read(connection, text_of(condition, table, distinct, 12_345))
    compare_answers(connection, tables.values(), distinct)
    for number, (what, condition) in itertools.product(range(chosen.rounds), QUERIES):
        for subject in subjects.in_turn(list(tables), number):
            outcome = pgbench.run(
                place,
                f"\\set key random(1, {VALUES_OF_B // 3})\n"
                + text_of(condition, tables[subject], distinct, ":key") + ";\n",
                f"--time={chosen.seconds}", seed=number + 1, settings=SETTINGS,
            )
            raw.append(
                {
                    "distinct": distinct, "where": where, "what": what, "round": number + 1,
                    "subject": subject.label,
                    "processor_microseconds":
                        1e6 * outcome.processor_seconds / outcome.transactions,
                    "pages": pages[what, subject],
                }
            )
    print(f"{where}: {chosen.rounds} rounds", flush=True)
    return raw


def with_settings(connection):
    for name, value in SETTINGS:
        server.execute(connection, f"SET {name} = {value}")


def pages_read(connection, query):
    """The pages that a query reads; of an index-only scan these are the index's, and the map's."""
    with_settings(connection)
    explain = f"EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) {query}"
    server.query(connection, explain)       # the backend knows the index then
    plan = server.value(connection, explain)[0]["Plan"]
    scan = plan["Plans"][0]
    if scan["Node Type"] != "Index Only Scan":
        raise RuntimeError(f"not an index-only scan: {query}")
    return scan["Shared Hit Blocks"] + scan["Shared Read Blocks"]


def compare_answers(connection, tables, distinct):
    for what, condition in QUERIES:
        for key in (1, 77, VALUES_OF_B // 3):
            answers = {
                server.value(connection, text_of(condition, table, distinct, key))
                for table in tables
            }
            if len(answers) > 1:
                raise RuntimeError(f"different answers: {what} at {key}")


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for case in dict.fromkeys((r["distinct"], r["where"], r["what"]) for r in raw):
        runs = [r for r in raw if (r["distinct"], r["where"], r["what"]) == case]
        for label in compared:
            row = dict(zip(("distinct", "where", "what"), case)) | {"subject": label}
            for figure in ("processor_microseconds", "pages"):
                row[f"nbtree_{figure}"] = results.median(runs, nbtree, figure)
                row[f"compared_{figure}"] = results.median(runs, label, figure)
            row["share_of_processor_time"] = (
                row["compared_processor_microseconds"] / row["nbtree_processor_microseconds"]
            )
            summary.append(row)
    return summary


def tell(chosen, raw, labels):
    summary = summarise(raw, labels)
    titles = [
        "values of a", "entries in", "query", "", "nbtree's processor µs", "its processor µs",
        "its / nbtree's", "nbtree's pages", "its pages",
    ]
    table = [
        [
            row["distinct"], row["where"], row["what"], row["subject"],
            row["nbtree_processor_microseconds"], row["compared_processor_microseconds"],
            row["share_of_processor_time"], int(row["nbtree_pages"]), int(row["compared_pages"]),
        ]
        for row in summary
    ]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)
    panels = []
    for distinct, where in dict.fromkeys((row["distinct"], row["where"]) for row in summary):
        rows_of_panel = [
            row for row in summary if (row["distinct"], row["where"]) == (distinct, where)
        ]
        panels.append(
            charts.panel(
                f"{distinct:,} values of a, entries in {where}",
                "processor time, share of nbtree's", rows_of_panel, "what",
                "share_of_processor_time", labels[0],
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"conditions on the second column, medians of {chosen.rounds} rounds",
        panels,
    )
