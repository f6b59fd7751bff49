"""Times the first statements of sessions beside a full buffer."""

import dataclasses
import json
import random
import statistics

import buffer
import results
import server
import subjects

# So many rows in order are in the tree before, of each row that the buffer takes.
TREE_SHARE = 0.5

# One row in so many comes late.
LATE_EVERY = 10

# A part of what fits into the buffer: it is full then, and nothing was flushed.
FILLED = 0.97

PROCEDURE = """
CREATE PROCEDURE fill(tables text[], first bigint, last bigint, size int, keys text)
LANGUAGE plpgsql AS $$
DECLARE
    target text;
BEGIN
    FOR i IN first .. last BY size LOOP
        FOREACH target IN ARRAY tables LOOP
            EXECUTE format('INSERT INTO %s SELECT %s FROM generate_series(%s, %s) i',
                target, keys, i, least(i + size - 1, last));
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
"""

KINDS = ("look-up", "range", "unique look-up")


@dataclasses.dataclass(frozen=True)
class Keys:
    """An order of arrival: the key of row i, from 0 on, and how many rows there are."""

    of_row: str
    before: int
    rows: int

    def key(self, connection, i):
        return server.value(connection, f"SELECT {self.of_row} FROM (SELECT {i}::bigint) r (i)")


def keys_of(order, chosen, connection, subject):
    sized = dataclasses.replace(
        subject, options=(("buffer_size", buffer_size(order, chosen)),)
    )
    entries = int(buffer.capacity(connection, sized) * FILLED)
    before = int(entries * TREE_SHARE)
    if order == "none":
        return Keys("hashint8extended(i, 0)", before, before + entries)
    rows = entries * LATE_EVERY
    reach = rows * chosen.reach // 100
    late = f"(i % {LATE_EVERY} = 0)::int"
    distance = f"(hashint8(i)::bigint & 2147483647) % {reach}"
    return Keys(f"((i - {late} * {distance}) << 25) + {late} * i", 0, rows)


def buffer_size(order, chosen):
    return chosen.buffer if order == "none" else chosen.late_buffer


def measure(chosen, place):
    connection = server.connect(chosen)
    server.execute(connection, PROCEDURE)
    server.execute(connection, "SET synchronous_commit = off")
    # What sessions read of the catalogs for each statement is read with these.
    server.execute(connection, "CREATE TABLE other (k bigint, v bigint)")
    server.execute(connection, "CREATE INDEX other_k ON other (k)")
    raw = []
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    for order in chosen.orders:
        results.step(f"order: {order}")
        keys = keys_of(order, chosen, connection, everyone[1])
        tables = {}
        for number, subject in enumerate(everyone):
            tables[subject] = f"{order}_{number}"
            build(chosen, connection, order, subject, tables[subject])
        for subject, table in tables.items():
            fill(chosen, connection, keys, table)
            server.execute(connection, f"VACUUM (INDEX_CLEANUP off, ANALYZE) {table}_f")
            server.execute(connection, f"VACUUM (INDEX_CLEANUP off, ANALYZE) {table}_u")
            if subject.access_method == "sware":
                tell_pages(connection, subject, table)
        server.execute(connection, "CHECKPOINT")
        connection.close()
        for subject, table in tables.items():
            raw += measure_subject(chosen, place, keys, order, subject, table)
        connection = server.connect(chosen)
        for table in tables.values():
            server.execute(connection, f"DROP TABLE {table}_f, {table}_u")
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def build(chosen, connection, order, subject, table):
    options = subject.options
    if subject.access_method == "sware":
        options = (("buffer_size", buffer_size(order, chosen)), *options)
    sized = dataclasses.replace(subject, options=options)
    for name, unique in ((f"{table}_f", False), (f"{table}_u", True)):
        server.execute(connection, f"CREATE TABLE {name} (k bigint, v bigint)")
        server.execute(connection, sized.create_index(name, unique))


def fill(chosen, connection, keys, table):
    names = [f"{table}_f", f"{table}_u"]
    if keys.before > 0:
        for name in names:
            server.execute(
                connection, f"INSERT INTO {name} SELECT {keys.of_row}, i "
                f"FROM generate_series(0::bigint, {keys.before - 1}) i",
            )
    server.execute(
        connection, "CALL fill(%s, %s, %s, %s, %s)",
        [names, keys.before, keys.rows - 1, chosen.transaction, f"{keys.of_row}, i"],
    )


def tell_pages(connection, subject, table):
    for name in (f"{table}_f", f"{table}_u"):
        counts = server.query(
            connection,
            "SELECT count(*) FILTER (WHERE 'sorted' = ANY (s.flags)), count(*) "
            f"FROM sware_buffer_pages('{name}_k') p, "
            f"sware_page_stats('{name}_k', p.block) s WHERE p.state = 'sealed'",
        )
        print(f"{name}: {counts[0][0]:,} sorted of {counts[0][1]:,} sealed pages", flush=True)


def measure_subject(chosen, place, keys, order, subject, table):
    raw = []
    chance = random.Random(1)

    def note(event, kind, figures):
        raw.append(
            {"order": order, "subject": subject.label, "event": event, "kind": kind}
            | dict(zip(("ms", "pages"), figures))
        )

    def first(kind):
        return in_session(chosen, place, keys, table, kind, chance)

    for kind in KINDS:
        for _ in range(chosen.sessions):
            restart(place)
            note("after a restart", kind, first(kind))
    for kind in KINDS:
        restart(place)
        for _ in range(chosen.following):
            note("following", kind, first(kind))
        for _ in range(chosen.sessions):
            note("of a session", kind, first(kind))
    return raw


def restart(place):
    server.stop(place)
    server.start(place)


def in_session(chosen, place, keys, table, kind, chance):
    """Processor time in milliseconds, and pages, of the first look-up of a session."""
    connection = server.connect(chosen)
    server.execute(connection, "SET enable_seqscan = off; SET enable_bitmapscan = off")
    server.execute(connection, "SET jit = off")
    pages_of(connection, "SELECT v FROM other WHERE k = 1")
    pages_of(connection, "SELECT v FROM other WHERE k >= 1 ORDER BY k LIMIT 1")
    key = keys.key(connection, chance.randrange(keys.rows))
    name = f"{table}_u" if kind == "unique look-up" else f"{table}_f"
    where = f"k >= {key} ORDER BY k LIMIT {chosen.range}" if kind == "range" else f"k = {key}"
    before = server.processor_seconds(connection)
    pages, rows = pages_of(connection, f"SELECT v FROM {name} WHERE {where}")
    after = server.processor_seconds(connection)
    connection.close()
    if rows == 0:
        raise RuntimeError(f"key {key} was not found")
    return (after - before) * 1000, pages


def pages_of(connection, query):
    """The pages that a query asks for, and how many rows it returns."""
    found = server.value(connection, f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")
    found = found if isinstance(found, list) else json.loads(found)
    parts = [found[0]["Plan"], found[0].get("Planning", {})]
    pages = sum(
        part.get(f"Shared {what} Blocks", 0) for part in parts for what in ("Hit", "Read")
    )
    return pages, found[0]["Plan"]["Actual Rows"]


def tell(chosen, raw, labels):
    summary = []
    for order in chosen.orders:
        for event in ("after a restart", "following", "of a session"):
            for kind in KINDS:
                for label in labels:
                    runs = [
                        run for run in raw
                        if (run["order"], run["event"], run["kind"], run["subject"])
                        == (order, event, kind, label)
                    ]
                    summary.append(
                        {
                            "order": order, "event": event, "kind": kind, "subject": label,
                            "ms": statistics.median(run["ms"] for run in runs),
                            "longest": max(run["ms"] for run in runs),
                            "pages": int(statistics.median(run["pages"] for run in runs)),
                            "most": max(run["pages"] for run in runs),
                        }
                    )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["order", "event", "", "subject", "ms", "longest", "pages", "most"],
        [list(line.values()) for line in summary],
    )
