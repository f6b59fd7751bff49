"""Inserts into indexes that are larger than memory, and what these cost afterwards."""

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable

import buffer
import larger_report
import pgbench
import results
import server
import speed
import subjects
import vacuum

FILL = "fill"
DRAIN = "drain"

# By so many rows a late row is late at most: a share of all rows, and a number.
LATEST = 0.3
LATEST_OF_TEN = 50_000

# A page has a header, and the largest keys of others.
FILLED_BYTES = 8192 - 80

# So few rows that VACUUM does little but read the index.
DELETED = 100

PERCENTILES = {"p50": 50, "p99": 99, "p99.9": 99.9, "p99.99": 99.99, "longest": 100}

# A phase is drawn over time in so many pieces.
PIECES = 25

RANGES = 3
RANGE_SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class Keys:
    """A kind of key: its type, what an entry takes, and SQL for keys.

    "of_arrival" is the key of the i-th row, and no two rows have the same; "at_share"
    is where that share of the keys is below. "step" says, from the number of rows, by
    how many a row may be late.
    """

    type: str
    entry_bytes: int
    of_arrival: str
    at_share: str
    step: Callable[[int], int] = lambda rows: 1


def arrival_times(is_late, step):
    """The times at which rows were made; "is_late" is SQL for 1 if one arrives late, or 0.

    The time between two rows has as many microseconds as there are rows by which a row
    may be late, and a late one comes so many microseconds after a place.
    """
    late = f"{is_late} * ((hashint8extended({{i}}, 1) & 9223372036854775807) % {{step}})"
    return Keys(
        "timestamptz", 20,
        f"timestamptz '2024-01-01' "
        f"+ (({{i}} - {late}) * {{step}} + {late}) * interval '1 us'",
        "timestamptz '2024-01-01' + {share} * {rows} * {step} * interval '1 us'", step,
    )


KEYS = {
    "bigint": Keys(
        "bigint", 20, "hashint8extended({i}, 0)",
        "(({share} - 0.5) * 18446744073709551614::numeric)::bigint",
    ),
    "uuid": Keys(
        "uuid", 28, "md5('a' || {i})::uuid",
        "(lpad(to_hex(({share} * 4294967295)::bigint), 8, '0') "
        "|| repeat('0', 24))::uuid",
    ),
    "late": arrival_times("(hashint8({i}) & 1)", lambda rows: max(1, int(rows * LATEST))),
    "late-10": arrival_times("(hashint8({i}) % 10 = 0)::integer", lambda rows: LATEST_OF_TEN),
    "sorted": arrival_times("0", lambda rows: 1),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured: the index's key, size and transactions."""

    keys: str
    times: float
    rows_per_transaction: int
    rows: int  # before the inserts begin

    @property
    def columns(self):
        return {
            "keys": self.keys, "times": f"{self.times:g}",
            "rows_per_transaction": self.rows_per_transaction,
        }

    @property
    def step(self):
        return KEYS[self.keys].step(self.rows)

    def key(self, i):
        return KEYS[self.keys].of_arrival.format(i=i, step=self.step)

    def key_at(self, share):
        return KEYS[self.keys].at_share.format(
            share=share, rows=self.rows, step=self.step
        )


class Measured:
    """The server, and the figures that were taken of it."""

    def __init__(self, chosen, place, group):
        self.chosen = chosen
        self.place = place
        self.group = group
        self.connection = server.connect(chosen)
        self.everyone = [
            subjects.NO_INDEX, subjects.NBTREE, *subjects.compared(chosen),
        ]
        self.raw = []
        self.over_time = []
        self.turns = {}

    def rows_of(self, subject, number):
        """How many rows a phase has, which is numbered from 0."""
        chosen = self.chosen
        if number > 0 and chosen.rows is not None:
            usual = chosen.rows
        elif subject.access_method == "sware":
            return buffer.capacity(self.connection, subject)
        else:
            usual = buffer.rows_to_fill(chosen, self.connection)
        if subject.access_method != "sware" and chosen.plain_rows is not None:
            return chosen.plain_rows
        return usual

    def restart(self):
        """Restarts the server with nothing in memory of what is in its files."""
        self.connection.close()
        server.stop(self.place)
        for directory, _, files in os.walk(self.place.log.parent / "base"):
            for name in files:
                vacuum.cache(os.path.join(directory, name), keep=False)
        server.start(self.place)
        self.group.add_server(self.place)
        self.connection = server.connect(self.chosen)

    def note(self, case, subject, phase, figures):
        """Keeps figures of a phase, with a line of its own for each."""
        for figure, value in figures.items():
            self.raw.append(
                case.columns
                | {
                    "subject": subject.label, "phase": phase, "figure": figure,
                    "value": value,
                }
            )


def measure(chosen, place, group):
    measured = Measured(chosen, place, group)
    group.add_server(place)
    raw, over_time = [], []
    try:
        for case in cases(chosen):
            measured.raw, measured.over_time = [], []
            measure_case(measured, case)
            raw += measured.raw
            over_time += measured.over_time
    finally:
        # What was measured is told, even if a later case has failed.
        if raw:
            labels = [subject.label for subject in measured.everyone]
            larger_report.tell(chosen, raw, over_time, labels)
    measured.connection.close()


def cases(chosen):
    for keys in chosen.keys:
        entries_a_page = FILLED_BYTES * chosen.fillfactor // 100 // KEYS[keys].entry_bytes
        for times in chosen.times:
            rows = int(times * chosen.limit) // 8192 * entries_a_page
            for size in chosen.rows_per_transaction:
                yield Case(keys, times, size, rows)


def measure_case(measured, case):
    chosen = measured.chosen
    results.step(
        f"{case.keys}, {case.times:g} times {chosen.limit >> 20} MB, "
        f"{case.rows_per_transaction} rows a transaction"
    )
    measured.group.limit(None)
    tables = {subject: f"larger_{i}" for i, subject in enumerate(measured.everyone)}
    measured.turns = {}
    for subject, table in tables.items():
        build(measured, case, subject, table)
    measured.restart()
    measured.group.limit(chosen.limit)
    every = chosen.checkpoint_rows or (
        server.relation_bytes(measured.connection, f"{tables[subjects.NBTREE]}_k") // 8192
    )
    rows_a_page = case.rows / (
        server.relation_bytes(measured.connection, tables[subjects.NBTREE]) / 8192
    )
    for number in range(chosen.rounds + 1):
        for subject in subjects.in_turn(measured.everyone, number):
            insert(
                measured, case, subject, tables[subject], number,
                Checkpoints(chosen, tables[subject], every / rows_a_page),
            )
    for subject in measured.everyone[1:]:
        # The rows are made visible to all, so that index-only scans need not see them.
        server.execute(
            measured.connection, f"VACUUM (INDEX_CLEANUP off) {tables[subject]}"
        )
    if "reads" in chosen.parts:
        read_everyone(measured, case, tables, "")
    for subject in measured.everyone:
        drain(measured, case, subject, tables[subject])
    if "reads" in chosen.parts and chosen.am == "sware":
        read_everyone(measured, case, tables, ", drained")
    if "vacuum" in chosen.parts:
        for subject in measured.everyone[1:]:
            time_vacuum(measured, case, subject, tables[subject])
    compare(measured, case, tables)
    for table in tables.values():
        server.execute(measured.connection, f"DROP TABLE {table}")


def build(measured, case, subject, table):
    """Makes the table of a subject, and its index with leaves as full as is asked for.

    Without an index, the table is empty: rows are only added at its end.
    """
    connection = measured.connection
    server.execute(connection, f"CREATE TABLE {table} (k {KEYS[case.keys].type})")
    if subject.access_method is None:
        return
    begin = time.perf_counter()
    server.execute(
        connection,
        f"INSERT INTO {table} SELECT {case.key('i')} "
        f"FROM generate_series(0::bigint, {case.rows - 1}) i",
    )
    server.execute(connection, f"VACUUM (FREEZE, ANALYZE) {table}")
    server.execute(connection, "SET maintenance_work_mem = '256MB'")
    full = dataclasses.replace(
        subject,
        options=(
            *(option for option in subject.options if option[0] != "fillfactor"),
            ("fillfactor", measured.chosen.fillfactor),
        ),
    )
    server.execute(connection, full.create_index(table, measured.chosen.unique))
    # Leaves that are appended later are as full as usual.
    server.execute(connection, f"ALTER INDEX {table}_k RESET (fillfactor)")
    server.execute(connection, "CHECKPOINT")
    size = server.relation_bytes(connection, f"{table}_k")
    measured.note(case, subject, "build", {"index MB": size / 2**20})
    print(
        f"{subject.label}: {case.rows:,} rows, index of {size / 2**20:,.0f} MB, "
        f"made in {time.perf_counter() - begin:.0f} s",
        flush=True,
    )


class Checkpoints:
    """A session that checkpoints whenever a table has grown by so many pages."""

    def __init__(self, chosen, table, pages):
        self.table = table
        self.pages = pages
        self.count = 0
        self.error = None
        self.ended = threading.Event()
        self.connection = server.connect(chosen)
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.connection.close()
        if self.error is not None:
            raise self.error

    def run(self):
        try:
            due = self.size() + self.pages
            while not self.ended.wait(0.02):
                if self.size() >= due:
                    due += self.pages
                    server.execute(self.connection, "CHECKPOINT")
                    self.count += 1
        except Exception as error:  # it is raised again by the other thread
            self.error = error

    def size(self):
        return server.relation_bytes(self.connection, self.table) / 8192


def insert(measured, case, subject, table, number, checkpoints):
    """One phase of inserts, and the checkpoint at its end."""
    chosen = measured.chosen
    size = case.rows_per_transaction
    turns = max(1, measured.rows_of(subject, number) // (size * chosen.clients))
    done = measured.turns.get(table, 0)
    script = pgbench.numbering(chosen.clients) + (
        f"\\set first :arrival * {size} + {case.rows}\n"
        f"INSERT INTO {table} SELECT {case.key('i')} "
        f"FROM generate_series(:first::bigint, :first::bigint + {size - 1}) i;\n"
    )
    with figures_of(measured, subject, table) as figures:
        with checkpoints:
            outcome = pgbench.run(
                measured.place, script,
                pgbench.how_long(chosen.seconds if number > 0 else None, turns),
                f"--define=turn={done - 1}", clients=chosen.clients, log=True,
            )
        measured.turns[table] = done + outcome.most_turns
        server.execute(measured.connection, "CHECKPOINT")
    rows = outcome.transactions * size
    figures |= {
        "rows": rows, "seconds": outcome.seconds,
        "rows a second": rows / outcome.seconds,
        "processor_seconds": outcome.processor_seconds,
        "checkpoints": checkpoints.count,
    }
    figures |= latencies_of(outcome)
    phase = FILL if number == 0 else f"round {number}"
    measured.note(case, subject, phase, figures)
    for second, rate in rates(outcome, size):
        measured.over_time.append(
            case.columns
            | {
                "subject": subject.label, "phase": phase, "second": second,
                "rows_a_second": rate,
            }
        )
    texts = [
        f"{figures['rows a second']:,.0f} rows/s",
        f"{figures['wal_bytes'] / rows:,.0f} B of WAL a row",
        f"{figures['written'] / rows:,.0f} B written",
        f"{figures['read'] / rows:,.0f} B read",
        f"{checkpoints.count} checkpoints",
    ]
    if subject.access_method == "sware":
        texts.append(
            f"{buffer.entries(measured.connection, subject, f'{table}_k'):,} in the buffer"
        )
    print(f"{phase}, {subject.label}: " + ", ".join(texts), flush=True)


def latencies_of(outcome):
    """Percentiles, in milliseconds."""
    import numpy

    return {
        name: float(numpy.percentile(outcome.latencies, percentile)) / 1000
        for name, percentile in PERCENTILES.items()
    }


def rates(outcome, size):
    """Rows a second of pieces of the time, with the second at which each one ends."""
    import numpy

    begin = outcome.ends.min() - outcome.latencies[outcome.ends.argmin()] / 1e6
    counts, edges = numpy.histogram(
        outcome.ends - begin, PIECES, (0, outcome.ends.max() - begin)
    )
    width = edges[1] - edges[0]
    return [(edge, count * size / width) for edge, count in zip(edges[1:], counts)]


@contextlib.contextmanager
def figures_of(measured, subject, table):
    """What the server does while the block runs, whose sessions have ended then."""
    before = counters(measured, subject, table)
    figures = {}
    yield figures
    after = counters(measured, subject, table)
    figures |= {name: after[name] - before[name] for name in before}


def counters(measured, subject, table):
    connection = measured.connection
    read, written = server.file_bytes(measured.place)
    found = {
        "wal_bytes": server.wal_position(connection), "read": read, "written": written,
        "images": int(server.value(connection, "SELECT wal_fpi FROM pg_stat_wal")),
    }
    if subject.access_method is not None:
        found["pages_read"] = server.value(
            connection,
            "SELECT idx_blks_read FROM pg_statio_user_indexes "
            "WHERE indexrelid = %s::regclass",
            [f"{table}_k"],
        )
    if subject.access_method == "sware":
        found |= statistics_of(connection, f"{table}_k")
    return found


def statistics_of(connection, index):
    """What sware counts of the index, and what is in its buffer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM sware_stats(%s::regclass)", [index])
        names = [column.name for column in cursor.description]
        return {
            name: value for name, value in zip(names, cursor.fetchone())
            if isinstance(value, (int, float))
        }


def drain(measured, case, subject, table):
    """Empties the buffer, if there is one; none of the others has work that was put off."""
    with figures_of(measured, subject, table) as figures:
        begin = time.perf_counter()
        buffer.flush(measured.connection, subject, f"{table}_k")
        seconds = time.perf_counter() - begin
        server.execute(measured.connection, "CHECKPOINT")
    figures["seconds"] = seconds
    if subject.access_method is not None:
        size = server.relation_bytes(measured.connection, f"{table}_k")
        figures["index MB"] = size / 2**20
    measured.note(case, subject, DRAIN, figures)
    if subject.access_method == "sware":
        print(
            f"drain, {subject.label}: {seconds:.1f} s, "
            f"{figures['wal_bytes'] / 2**20:,.0f} MB of WAL, "
            f"{figures['written'] / 2**20:,.0f} MB written",
            flush=True,
        )


def read_everyone(measured, case, tables, state):
    """Times look-ups; with an empty buffer only of indexes that have one."""
    look_ups = max(10, measured.chosen.limit // 65536)
    for subject in measured.everyone[1:]:
        if state and subject.access_method != "sware":
            continue
        table = tables[subject]
        share = RANGE_SHARE * case.rows / server.value(
            measured.connection, f"SELECT count(*) FROM {table}"
        )
        for what, script, count in (
            (
                "look-up",
                f"\\set i random(0, {case.rows - 1})\n"
                f"SELECT k FROM {table} WHERE k = {case.key(':i::bigint')};\n",
                look_ups,
            ),
            (
                "1 % of the keys",
                f"\\set a random(0, {int((1 - RANGE_SHARE) * 1e6)})\n"
                f"{range_query(case, table, '(:a / 1000000.0)', share)};\n",
                RANGES,
            ),
        ):
            read(measured, case, subject, table, what + state, script, count)


def read(measured, case, subject, table, what, script, count):
    import numpy

    measured.restart()
    # What every session reads of the catalogs is not a cost of the index.
    for name, setting in speed.READ_SETTINGS:
        server.execute(measured.connection, f"SET {name} = {setting}")
    query = range_query(case, table, "0.5", RANGE_SHARE)
    if speed.plan(measured.connection, query, "", table) != "Index Only Scan":
        raise RuntimeError("the index alone is not what is read")
    figures = {}
    for cache in ("cold", "warm"):
        before, _ = server.file_bytes(measured.place)
        outcome = pgbench.run(
            measured.place, script, f"--transactions={count}",
            settings=speed.READ_SETTINGS, log=True,
        )
        after, _ = server.file_bytes(measured.place)
        later = outcome.latencies[1:]
        if cache == "cold":
            figures |= {
                f"{what}, cold, first, ms": float(outcome.latencies[0]) / 1000,
                f"{what}, cold, kB read": (after - before) / count / 1024,
            }
        figures[f"{what}, {cache}, ms"] = float(numpy.median(later)) / 1000
    measured.note(case, subject, "reads", figures)
    texts = [f"{name.removeprefix(what + ', ')} {figures[name]:,.3f}" for name in figures]
    print(f"{what}, {subject.label}: " + ", ".join(texts), flush=True)


def compare(measured, case, tables):
    """Fails if indexes of the same rows do not find as many of them in some ranges."""
    server.execute(measured.connection, "SET enable_seqscan = off")
    found = {}
    for subject in measured.everyone[1:]:
        table = tables[subject]
        counts = tuple(
            server.value(measured.connection, range_query(case, table, begin, RANGE_SHARE))
            for begin in (0.1, 0.5, 0.9)
        )
        if found.setdefault(measured.turns[table], counts) != counts:
            raise RuntimeError(f"{counts} rows were found by {subject.label}, not {found}")


def range_query(case, table, begin, share):
    return (
        f"SELECT count(*) FROM {table} WHERE k BETWEEN {case.key_at(begin)} "
        f"AND {case.key_at(f'({begin} + {share})')}"
    )


def time_vacuum(measured, case, subject, table):
    server.execute(measured.connection, "SET enable_seqscan = off")
    server.execute(
        measured.connection,
        f"DELETE FROM {table} WHERE k = ANY (ARRAY(SELECT {case.key('i')} FROM "
        f"generate_series(0::bigint, {case.rows - 1}, {max(1, case.rows // DELETED)}) i))",
    )
    server.execute(measured.connection, f"VACUUM (INDEX_CLEANUP off) {table}")
    measured.restart()
    with figures_of(measured, subject, table) as figures:
        begin = time.perf_counter()
        server.execute(measured.connection, f"VACUUM (INDEX_CLEANUP on) {table}")
        seconds = time.perf_counter() - begin
    figures = {"VACUUM, s": seconds, "VACUUM, MB read": figures["read"] / 2**20}
    measured.note(case, subject, "vacuum", figures)
    texts = [f"{name} {figures[name]:,.2f}" for name in figures]
    print(f"{subject.label}: " + ", ".join(texts), flush=True)
