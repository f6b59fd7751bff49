"""Inserts into a table with three indexes in no order, deletes its oldest rows, and reads."""

import bisect
import contextlib
import dataclasses
import itertools
import statistics
import threading
import time

import charts
import pgbench
import results
import server
import subjects

NUMBER = "((hashint8extended(i, {seed}) & 9223372036854775807) % {values})::int"
COLUMNS = {
    "transactionid": ("bigint", "i"),
    "dateandtime": ("timestamp", "timestamp '2024-01-01' + i * interval '1 ms'"),
    "cashregisterid": ("int", NUMBER.format(seed=1, values=1_000)),
    "customerid": ("int", NUMBER.format(seed=2, values=100_000)),
    "productid": ("int", NUMBER.format(seed=3, values=10_000)),
    "price": ("int", NUMBER.format(seed=4, values=500)),
    "data": ("varchar", "'aaaaa' || substr(md5(i::text), 1, 5)"),
}

# The columns of each index, and how many values the first one has.
INDEXES = (
    (("productid", "customerid", "price"), 10_000),
    (("cashregisterid", "customerid", "price"), 1_000),
    (("price", "dateandtime", "customerid"), 500),
)

LOADED_AT_ONCE = 1_000
BIG = 50
SMALL = 5
ROWS_OF_QUERY = 10
RATES = (100, 500)

# Sizes are looked at so often.
SECONDS_OF_SAMPLE = 0.5

# Steps that are added up: what sware puts off is done at the end of the last one.
SUMMED = ("l.i1", "l.i2", "vacuum")

BARS = {
    "rows a second": ("l.i0", "l.i1", "l.i2", "l.i1 to vacuum"),
    "rows in the slowest second": ("l.i0", "l.i1", "l.i2"),
    "queries a second": tuple(f"qr{rate}" for rate in RATES),
    "WAL, B a row": ("l.i0", "l.i1", "l.i2", "l.i1 to vacuum"),
    "written, B a row": ("l.i0", "l.i1", "l.i2", "l.i1 to vacuum"),
    "indexes, MB": ("l.i0", "l.x", "l.i1", "l.i2", "vacuum", "qr500"),
}


class Writer:
    """A session of its own, whose transactions are executed by a thread."""

    def __init__(self, chosen):
        self.connection = server.connect(chosen)
        self.ends = []
        self.longest = 0.0

    def execute(self, command):
        begin = time.perf_counter()
        server.execute(self.connection, command)
        end = time.perf_counter()
        self.ends.append(end)
        self.longest = max(self.longest, end - begin)


class Purchases:
    """The table of one subject, and the sessions that work on it."""

    def __init__(self, chosen, place, group, subject, number):
        self.chosen = chosen
        self.place = place
        self.group = group
        self.subject = subject
        self.number = number
        self.table = "purchases"
        self.inserted = self.deleted = 0
        self.indexes = []
        self.raw = []
        self.over_time = []
        self.begin = None
        self.connection = server.connect(chosen)

    def execute(self, command):
        server.execute(self.connection, command)

    def make(self):
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
        self.execute(f"CREATE TABLE {self.table} ({columns})")
        key = f"{self.table}_key"
        self.execute(
            self.subject.create_primary_key(self.table, key, "transactionid")
        )
        self.indexes.append(key)

    def make_indexes(self):
        for number, (columns, _) in enumerate(INDEXES, 1):
            name = f"{self.table}_{number}"
            self.execute(self.subject.create_index(self.table, columns=columns, name=name))
            self.indexes.append(name)
        self.execute(f"ANALYZE {self.table}")

    def sizes(self, connection):
        return [server.relation_bytes(connection, index) / 2**20 for index in self.indexes]

    def insert_command(self, count):
        values = ", ".join(value for _, value in COLUMNS.values())
        return (
            f"INSERT INTO {self.table} SELECT {values} "
            f"FROM generate_series({self.inserted}::bigint, {self.inserted + count - 1}) i"
        )

    def delete_command(self, count):
        return (
            f"DELETE FROM {self.table} WHERE transactionid >= {self.deleted} "
            f"AND transactionid < {self.deleted + count}"
        )

    @contextlib.contextmanager
    def step(self, name):
        """Adds to figures, which the block may do too, what the server does meanwhile."""
        figures = {}
        before = self.counters()
        rows = self.inserted
        begin = time.perf_counter()
        yield figures
        figures.setdefault("seconds", time.perf_counter() - begin)
        self.execute("CHECKPOINT")
        rows = self.inserted - rows
        if rows > 0:
            figures["rows"] = rows
        figures |= {
            what: count - before[what] for what, count in self.counters().items()
        }
        figures["indexes, MB"] = sum(self.sizes(self.connection))
        self.raw += [
            {
                "round": self.number + 1, "subject": self.subject.label, "step": name,
                "figure": what, "value": float(value),
            }
            for what, value in figures.items()
        ]
        results.tell_run(
            self.number, f"{self.subject.label}, {name}",
            [f"{what} {value:,.2f}" for what, value in figures.items()],
        )

    def counters(self):
        read, written = server.file_bytes(self.place)
        return {
            "WAL": server.wal_position(self.connection), "read": read, "written": written,
        }

    def write(self, figures, size, rows=None, rate=None, deletes=True, during=None):
        """Inserts and deletes rows: so many, or as long as "during" takes."""
        inserter, deleter = Writer(self.chosen), Writer(self.chosen)
        ended = threading.Event()
        due = threading.Semaphore(0)

        def insert():
            begin = time.perf_counter()
            for turn in itertools.count():
                if rows is not None and turn * size >= rows or ended.is_set():
                    break
                if rate is not None:
                    late = begin + turn * size / rate - time.perf_counter()
                    if late > 0 and ended.wait(late):
                        break
                inserter.execute(self.insert_command(size))
                self.inserted += size
                due.release()

        def delete():
            while due.acquire() and not ended.is_set():
                deleter.execute(self.delete_command(size))
                self.deleted += size

        begin = time.perf_counter()
        workers = Threads(ended, insert, *([delete] if deletes else []))
        helpers = Threads(ended, self.sampler(ended), self.checkpointer(ended))
        try:
            if during is not None:
                during()
                ended.set()
            workers.join_first()
            figures["seconds"] = time.perf_counter() - begin
        finally:
            ended.set()
            due.release()
            workers.join()
            helpers.join()
            inserter.connection.close()
            deleter.connection.close()
        # those that the other session has been too slow for
        while deletes and self.inserted - self.deleted > self.chosen.rows:
            self.execute(self.delete_command(size))
            self.deleted += size
        figures["rows a second"] = len(inserter.ends) * size / figures["seconds"]
        figures["rows in the slowest second"] = slowest(inserter.ends, begin) * size
        figures["longest insert, ms"] = inserter.longest * 1e3
        figures["longest delete, ms"] = deleter.longest * 1e3

    def sampler(self, ended):
        connection = server.connect(self.chosen)

        def run():
            while not ended.wait(SECONDS_OF_SAMPLE):
                self.sample(connection)
            connection.close()

        return run

    def sample(self, connection):
        now = time.perf_counter()
        if self.begin is None:
            self.begin = now
        sizes = self.sizes(connection)
        self.over_time.append(
            {
                "round": self.number + 1, "subject": self.subject.label,
                "second": now - self.begin, "rows": self.inserted,
                "primary_key_mb": sizes[0], "indexes_mb": sum(sizes[1:]),
            }
        )

    def checkpointer(self, ended):
        connection = server.connect(self.chosen)

        def run():
            next_one = self.inserted + self.chosen.checkpoint_rows
            while not ended.wait(0.02):
                if self.inserted >= next_one:
                    next_one += self.chosen.checkpoint_rows
                    server.execute(connection, "CHECKPOINT")
            connection.close()

        return run


class Threads:
    """Threads that work together: an error ends all, and is raised where they are joined."""

    def __init__(self, ended, *functions):
        self.ended = ended
        self.errors = []
        self.threads = [
            threading.Thread(target=self.run, args=(function,)) for function in functions
        ]
        for thread in self.threads:
            thread.start()

    def run(self, function):
        try:
            function()
        except Exception as error:  # it is raised again by the other thread
            self.errors.append(error)
            self.ended.set()

    def join_first(self):
        self.threads[0].join()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def slowest(ends, begin):
    """How many of these are in the second that has fewest, of those that are complete."""
    seconds = int(ends[-1] - begin)
    if seconds == 0:
        return len(ends) / (ends[-1] - begin)
    places = [bisect.bisect(ends, begin + second) for second in range(seconds + 1)]
    return min(after - before for before, after in itertools.pairwise(places))


def measure(chosen, place, group):
    raw, over_time = [], []
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    group.add_server(place)
    for number in range(chosen.rounds):
        found = {}
        for subject in subjects.in_turn(everyone, number):
            results.step(f"round {number + 1}, {subject.label}")
            group.restart(place)
            group.limit(chosen.limit)
            purchases = Purchases(chosen, place, group, subject, number)
            with server.settings_of(subject, chosen, purchases.connection):
                measure_one(purchases)
            found[subject.label] = answers(purchases)
            purchases.execute(f"DROP TABLE {purchases.table}")
            purchases.connection.close()
            raw += purchases.raw
            over_time += purchases.over_time
        if len(set(found.values())) > 1:
            raise RuntimeError(f"the indexes have found different rows: {found}")
    tell(chosen, raw, over_time, [subject.label for subject in everyone])


def measure_one(purchases):
    chosen = purchases.chosen
    purchases.make()
    with purchases.step("l.i0") as figures:
        purchases.write(figures, LOADED_AT_ONCE, chosen.rows, deletes=False)
    with purchases.step("l.x"):
        purchases.make_indexes()
    purchases.over_time.clear()
    purchases.begin = None
    for name, rows, size in (
        ("l.i1", chosen.big_rows, BIG), ("l.i2", chosen.small_rows, SMALL),
    ):
        with purchases.step(name) as figures:
            purchases.write(figures, size, rows)
    with purchases.step("vacuum"):
        purchases.execute(f"VACUUM (ANALYZE) {purchases.table}")
    for rate in RATES:
        with purchases.step(f"qr{rate}") as figures:
            outcome = []
            purchases.write(
                figures, SMALL, rate=rate, during=lambda: outcome.append(read(purchases))
            )
            figures |= outcome[0]


def range_query(table, columns, first):
    columns = ", ".join(columns)
    return (
        f"SELECT {columns} FROM {table} WHERE {columns.partition(',')[0]} >= {first} "
        f"ORDER BY {columns} LIMIT {ROWS_OF_QUERY}"
    )


def read(purchases):
    """Range queries, as many as there is time for."""
    import numpy

    script = f"\\set which random(1, {len(INDEXES)})\n"
    for number, (columns, values) in enumerate(INDEXES, 1):
        script += (
            f"\\if :which = {number}\n\\set first random(0, {values - 1})\n"
            f"{range_query(purchases.table, columns, ':first')};\n\\endif\n"
        )
    outcome = pgbench.run(
        purchases.place, script, f"--time={purchases.chosen.seconds}", log=True
    )
    return {
        "queries a second": outcome.per_second,
        "p99 of a query, ms": float(numpy.percentile(outcome.latencies, 99)) / 1e3,
    }


def answers(purchases):
    """What each index finds of the rows that all tables have."""
    chosen = purchases.chosen
    first = chosen.big_rows + chosen.small_rows + 2 * sum(RATES) * chosen.seconds
    last = chosen.rows + chosen.big_rows + chosen.small_rows
    for name in ("enable_seqscan", "enable_bitmapscan"):
        purchases.execute(f"SET {name} = off")
    return tuple(
        server.query(
            purchases.connection,
            f"SELECT count(*), sum(transactionid) FROM {purchases.table} "
            f"WHERE {columns[0]} BETWEEN {values // 2} AND {values // 2 + values // 50} "
            f"AND transactionid BETWEEN {first} AND {last - 1}",
        )[0]
        for columns, values in INDEXES
    )


def tell(chosen, raw, over_time, labels):
    summary = summarise(raw, labels)
    results.write_csv(chosen.out / f"{chosen.name}-over-time.csv", over_time)
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "nbtree", "its", "its / nbtree"],
        [list(row.values()) for row in summary],
    )
    draw(chosen, summary, over_time, labels)


def figures_of(raw, label):
    """The medians by step and figure; those of rows that are inserted are of each row."""
    steps = {}
    for row in raw:
        if row["subject"] == label:
            values = steps.setdefault(row["step"], {}).setdefault(row["figure"], [])
            values.append(row["value"])
    steps = {
        step: {figure: statistics.median(values) for figure, values in figures.items()}
        for step, figures in steps.items()
    }
    parts = [steps[step] for step in SUMMED]
    total = {
        what: sum(part.get(what, 0) for part in parts)
        for what in ("rows", "seconds", "WAL", "read", "written")
    }
    total["rows a second"] = total["rows"] / total["seconds"]
    steps["l.i1 to vacuum"] = total
    for figures in steps.values():
        for what in ("WAL", "read", "written"):
            if "rows" in figures:
                figures[f"{what}, B a row"] = figures.pop(what) / figures["rows"]
            else:
                figures[f"{what}, MB"] = figures.pop(what) / 2**20
        figures.pop("rows", None)
    return steps


def summarise(raw, labels):
    nbtree, *compared = labels
    theirs = figures_of(raw, nbtree)
    summary = []
    for label in compared:
        for step, figures in figures_of(raw, label).items():
            for what, value in figures.items():
                other = theirs[step][what]
                summary.append(
                    {
                        "step": step, "figure": what, "subject": label, "nbtree": other,
                        "its": value, "share": results.ratio(value, other),
                    }
                )
    return summary


def draw(chosen, summary, over_time, labels):
    nbtree, *compared = labels
    title = f"insert benchmark, memory of {chosen.limit >> 20} MB"
    panels = []
    for figure, steps in BARS.items():
        values = {label: [] for label in labels}
        for step in steps:
            rows = {
                row["subject"]: row for row in summary
                if row["figure"] == figure and row["step"] == step
            }
            values[nbtree].append(rows[compared[0]]["nbtree"])
            for label in compared:
                values[label].append(rows[label]["its"])
        what, _, unit = figure.partition(", ")
        panels.append((what, unit, list(steps), values))
    charts.bars(chosen.out / f"{chosen.name}.png", title, panels)

    first = [row for row in over_time if row["round"] == 1]
    lines = [
        (
            name, x_title.replace("_", " "), y_title,
            {
                label: (
                    [row[x_title] for row in first if row["subject"] == label],
                    [row[y] for row in first if row["subject"] == label],
                )
                for label in labels
            },
        )
        for name, x_title, y_title, y in (
            ("inserted rows, from l.i1 on", "second", "rows", "rows"),
            ("the three secondary indexes", "rows", "MB", "indexes_mb"),
            ("the primary key", "rows", "MB", "primary_key_mb"),
        )
    ]
    charts.lines(chosen.out / f"{chosen.name}-over-time.png", title, lines)
