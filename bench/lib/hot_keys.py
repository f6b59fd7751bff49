"""Looks hot keys up in indexes larger than memory, and rows by their places."""

import dataclasses
import re

import numpy

import pgbench
import results
import server
import subjects

KEY = "hashint8extended({i}, 0)"

# Of an index on bigint: a page without its header, and an entry.
LEAF_BYTES = 8192 - 80
ENTRY_BYTES = 20

# Rows of (bigint, int) that a page of a table has, which is filled by one INSERT.
ROWS_A_PAGE = 185

# The keys of a join, and how many joins have other keys.
JOINED = 1000
BATCHES = 1000

SETTINGS = (
    ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"), ("max_parallel_workers_per_gather", "0"),
)

# Rows are read by their places in the table.
BY_PLACE = subjects.Subject("by ctid", None)


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    where: str
    theta: float

    @property
    def rows_a_statement(self):
        return JOINED if self.kind == "joins" else 1

    def row(self, rank, rows):
        """In pgbench's arithmetic: which row has that rank, from 0."""
        return f"permute({rank}, {rows}, 1)" if self.where == "scattered" else rank


def measure(chosen, place, group):
    connection = server.connect(chosen)
    rows = (
        chosen.times * chosen.limit // 8192
        * (LEAF_BYTES * chosen.fillfactor // 100 // ENTRY_BYTES)
    )
    everyone = [subjects.NBTREE, *subjects.compared(chosen), BY_PLACE]
    tables = build(chosen, connection, everyone, rows)
    group.add_server(place)
    connection.close()
    group.restart(place)
    connection = server.connect(chosen)
    group.limit(chosen.limit)
    raw = []
    try:
        for kind in chosen.kinds:
            for where in chosen.rows:
                for theta in chosen.theta:
                    case = Case(kind, where, theta)
                    # This takes memory that is no cache.
                    group.limit(None)
                    ask(chosen, place, case, rows)
                    group.limit(chosen.limit)
                    raw += measure_case(
                        chosen, place, group, connection, case, tables, rows
                    )
    finally:
        # What was measured is told, even if a later case has failed.
        if raw:
            tell(chosen, raw, [subject.label for subject in everyone])
    connection.close()


def build(chosen, connection, everyone, rows):
    """The table of each subject; those that differ in settings only have one."""
    by_method = {}
    tables = {}
    for subject in everyone:
        if subject.access_method is None:
            tables[subject] = by_method["btree", ()]
            continue
        kind = subject.access_method, subject.options
        if kind not in by_method:
            table = by_method[kind] = f"hot_{len(by_method)}"
            full = dataclasses.replace(
                subject, options=(*subject.options, ("fillfactor", chosen.fillfactor))
            )
            for command in (
                f"CREATE TABLE {table} (k bigint, v int)",
                f"INSERT INTO {table} SELECT {KEY.format(i='i')}, 1 "
                f"FROM generate_series(0::bigint, {rows - 1}) i",
                "SET maintenance_work_mem = '256MB'",
                full.create_index(table),
                f"VACUUM (FREEZE, ANALYZE) {table}",
                "CHECKPOINT",
            ):
                server.execute(connection, command)
            index, heap = (
                server.relation_bytes(connection, name) / 2**20
                for name in (f"{table}_k", table)
            )
            print(
                f"{subject.label}: {rows:,} rows, index of {index:,.0f} MB, "
                f"table of {heap:,.0f} MB", flush=True,
            )
        tables[subject] = by_method[kind]
    return tables


def measure_case(chosen, place, group, connection, case, tables, rows):
    results.step(f"{case.kind}, rows {case.where}, theta {case.theta}")
    raw = []
    for subject, table in tables.items():
        check(connection, case, subject, script_of(case, subject, table, rows))
    for number in range(chosen.rounds):
        for subject in subjects.in_turn(list(tables), number):
            script = script_of(case, subject, tables[subject], rows)
            figures = run(
                chosen, place, group, subject, tables[subject], script, number + 1,
                case.rows_a_statement,
            )
            raw.append(
                dataclasses.asdict(case)
                | {"round": number + 1, "subject": subject.label} | figures
            )
            results.tell_run(
                number, subject.label,
                [f"{figures[name]:,.3f} {name}" for name in figures],
            )
    return raw


def script_of(case, subject, table, rows):
    rank = f"(random_zipfian(1, {rows}, {case.theta}) - 1)"
    row = case.row(rank, rows)
    if case.kind == "points":
        text = f"\\set i {row}\n"
        if subject is BY_PLACE:
            return text + (
                f"\\set block :i / {ROWS_A_PAGE}\n\\set line 1 + :i % {ROWS_A_PAGE}\n"
                f"SELECT v FROM {table} "
                "WHERE ctid = ('(' || :block || ',' || :line || ')')::tid;\n"
            )
        return text + f"SELECT v FROM {table} WHERE k = {KEY.format(i=':i::bigint')};\n"
    place = "asked.place" if subject is BY_PLACE else "asked.k"
    column = "ctid" if subject is BY_PLACE else "k"
    return (
        f"\\set batch random(1, {BATCHES})\n"
        f"SELECT sum(v) FROM (SELECT * FROM asked WHERE batch = :batch OFFSET 0) asked "
        f"JOIN {table} ON {table}.{column} = {place};\n"
    )


def ask(chosen, place, case, rows):
    """Makes a table of keys, drawn from the distribution: for joins, and to warm up."""
    random = numpy.random.default_rng(1)
    shares = numpy.cumsum(numpy.arange(1, rows + 1, dtype=float) ** -case.theta)
    numbers = numpy.searchsorted(shares, random.random(BATCHES * JOINED) * shares[-1])
    if case.where == "scattered":
        numbers = random.permutation(rows)[numbers]
    path = place.data / "asked"
    numpy.savetxt(
        path,
        numpy.column_stack((numpy.arange(len(numbers)) // JOINED + 1, numbers)),
        fmt="%d",
    )
    connection = server.connect(chosen)
    for command in (
        "DROP TABLE IF EXISTS asked, numbers",
        "CREATE TEMPORARY TABLE numbers (batch int, i bigint)",
        f"COPY numbers FROM '{path}' (DELIMITER ' ')",
        f"CREATE TABLE asked AS SELECT batch, {KEY.format(i='i')} AS k, "
        f"('(' || i / {ROWS_A_PAGE} || ',' || 1 + i % {ROWS_A_PAGE} || ')')::tid AS place "
        "FROM numbers ORDER BY batch",
        "DROP TABLE numbers",
        "CREATE INDEX ON asked (batch)",
        "VACUUM (FREEZE, ANALYZE) asked",
        "CHECKPOINT",
    ):
        server.execute(connection, command)
    connection.close()


def check(connection, case, subject, script):
    """Fails if a statement does not find what it asks for, or not by the index."""
    statement = script.splitlines()[-1]
    for name, value in (("batch", 1), ("i", 0), ("block", 0), ("line", 1)):
        statement = re.sub(rf"(?<!:):{name}\b", str(value), statement)
    for name, value in SETTINGS:
        server.execute(connection, f"SET {name} = {value}")
    plan = [row[0] for row in server.query(connection, f"EXPLAIN {statement}")]
    wanted = "Tid Scan" if subject is BY_PLACE else "Index Scan using hot_"
    if server.value(connection, statement) != case.rows_a_statement or wanted not in "".join(plan):
        raise RuntimeError("\n".join([statement, *plan]))
    print(
        f"{subject.label}: {'with' if 'Memoize' in ''.join(plan) else 'without'} Memoize"
        if case.kind == "joins" else f"{subject.label}: {wanted}", flush=True,
    )


def warm_up(chosen, subject, table):
    """Looks up so many keys that all hot ones are among them, without a limit."""
    connection = server.connect(chosen)
    for name, value in (*SETTINGS, ("enable_memoize", "off")):
        server.execute(connection, f"SET {name} = {value}")
    place, column = ("place", "ctid") if subject is BY_PLACE else ("k", "k")
    server.execute(
        connection,
        f"SELECT sum(v) FROM (SELECT {place} FROM asked OFFSET 0) asked "
        f"JOIN {table} ON {table}.{column} = asked.{place}",
    )
    connection.close()


def run(chosen, place, group, subject, table, script, seed, rows_a_statement):
    def statements(seconds, seed):
        return pgbench.run(
            place, script, f"--time={seconds}", clients=chosen.clients, seed=seed,
            settings=SETTINGS,
        )

    group.limit(None)
    warm_up(chosen, subject, table)
    # The server had made the record cache before it was moved to the group.
    outside = chosen.record_cache if subject.access_method == "sware" else 0
    group.limit(chosen.limit - outside)
    statements(chosen.settle, 2 * seed)
    before, _ = server.file_bytes(place)
    outcome = statements(chosen.seconds, 2 * seed + 1)
    read = server.file_bytes(place)[0] - before
    count = outcome.transactions * rows_a_statement
    return {
        "rows a second": outcome.per_second * rows_a_statement,
        "processor time, µs a row": outcome.processor_seconds * 1e6 / count,
        "kB read a row": read / 1024 / count,
    }


def tell(chosen, raw, labels):
    summary, table = [], []
    for case in dict.fromkeys((run["kind"], run["where"], run["theta"]) for run in raw):
        runs = [run for run in raw if (run["kind"], run["where"], run["theta"]) == case]
        for figure in ("rows a second", "processor time, µs a row", "kB read a row"):
            medians = [results.median(runs, label, figure) for label in labels]
            shares = [results.ratio(value, medians[0]) for value in medians[1:]]
            for label, value in zip(labels, medians):
                summary.append(
                    dict(zip(("kind", "where", "theta"), case))
                    | {
                        "figure": figure, "subject": label, "median": value,
                        "share": results.ratio(value, medians[0]),
                    }
                )
            table.append([*case, figure, *medians, *shares])
    results.report(
        chosen.out, chosen.name, raw, summary,
        [
            "look-ups", "rows", "theta", "", *labels,
            *(f"{label} / {labels[0]}" for label in labels[1:]),
        ],
        table,
    )
