"""Loads keys in no order into unique indexes that are larger than memory."""

import random
import statistics
import time

import results
import server
import subjects

# An entry takes 20 bytes of a page, of which CREATE INDEX fills 70 %.
ENTRIES_A_PAGE = 280

FIGURES = ("rows a second", "waiting", "pages read")


def measure(chosen, place, group):
    group.add_server(place)
    connection = server.connect(chosen)
    compared = subjects.compared(chosen)
    tables = {subjects.NBTREE: "t0"} | {one: f"t{n}" for n, one in enumerate(compared, 1)}
    for subject, table in tables.items():
        build(chosen, connection, subject, table)
    connection.close()
    group.restart(place)
    group.limit(chosen.limit)
    connection = server.connect(chosen)
    cases = [(subjects.NBTREE, None)]
    cases += [(one, number) for one in compared for number in chosen.concurrency]
    labels = [label_of(*case) for case in cases]
    raw = []
    keys = random.Random(1)
    for number in range(chosen.rounds + 1):
        for subject, concurrency in subjects.in_turn(cases, number):
            with open(place.data / "keys", "w") as file:
                file.writelines(
                    f"{keys.getrandbits(63) - 2**62}\n" for _ in range(chosen.rows)
                )
            if concurrency is not None:
                server.execute(
                    connection, f"SET maintenance_io_concurrency = {concurrency}"
                )
            figures = load(chosen, place, connection, tables[subject])
            label = label_of(subject, concurrency)
            results.tell_run(
                number, label,
                [f"{what} {value:,.2f}" for what, value in figures.items()],
            )
            if number > 0:
                raw.append({"round": number, "subject": label} | figures)
    connection.close()
    tell(chosen, raw, labels)


def label_of(subject, concurrency):
    return subject.label + ("" if concurrency is None else f", {concurrency} ahead")


def build(chosen, connection, subject, table):
    rows = chosen.times * chosen.limit // 8192 * ENTRIES_A_PAGE
    server.execute(connection, f"CREATE TABLE {table} (k bigint)")
    server.execute(
        connection,
        f"INSERT INTO {table} SELECT hashint8extended(i, 0) "
        f"FROM generate_series(1::bigint, {rows}) i",
    )
    server.execute(connection, f"VACUUM (FREEZE) {table}")
    server.execute(connection, "SET maintenance_work_mem = '256MB'")
    server.execute(connection, subject.create_index(table, unique=True))
    server.execute(connection, f"ALTER INDEX {table}_k SET (fillfactor = 70)")
    server.execute(connection, f"REINDEX INDEX {table}_k")
    server.execute(connection, f"ALTER INDEX {table}_k RESET (fillfactor)")
    server.execute(connection, "RESET maintenance_work_mem")
    server.execute(connection, "CHECKPOINT")
    size = server.relation_bytes(connection, f"{table}_k") / 2**20
    print(f"{subject.label}: {rows:,} rows, index of {size:,.0f} MB", flush=True)


def load(chosen, place, connection, table):
    """One COPY: rows a second, the share of its time in reads, pages read a row."""
    server.execute(connection, "CHECKPOINT")
    before = counters(connection, table)
    begin = time.perf_counter()
    server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
    seconds = time.perf_counter() - begin
    pages, milliseconds = (
        after - before for after, before in zip(counters(connection, table), before)
    )
    return {
        "rows a second": chosen.rows / seconds, "waiting": milliseconds / 1000 / seconds,
        "pages read": pages / chosen.rows,
    }


def counters(connection, table):
    server.execute(connection, "SELECT pg_stat_force_next_flush()")
    return server.query(
        connection,
        "SELECT i.idx_blks_read, d.blk_read_time "
        "FROM pg_statio_user_indexes i, pg_stat_database d "
        f"WHERE i.indexrelid = '{table}_k'::regclass AND d.datname = current_database()",
    )[0]


def tell(chosen, raw, labels):
    nbtree = {row["round"]: row for row in raw if row["subject"] == subjects.NBTREE.label}
    summary = []
    for label in labels:
        shares = [
            row["rows a second"] / nbtree[row["round"]]["rows a second"]
            for row in raw if row["subject"] == label
        ]
        summary.append(
            {"subject": label}
            | {what: results.median(raw, label, what) for what in FIGURES}
            | {
                "share": statistics.median(shares), "lowest": min(shares),
                "highest": max(shares),
            }
        )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", *FIGURES, "share", "lowest", "highest"],
        [list(row.values()) for row in summary],
    )
