"""Times CREATE INDEX and reads."""

import dataclasses
import statistics
import time

import buffer
import charts
import pgbench
import results
import server
import sortedness
import subjects

# Only execution is compared, always of the same plan, which uses the index.
READ_SETTINGS = (
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("max_parallel_workers_per_gather", "0"),
)

# This is planned each time, which takes very little of the time of the scan. So
# what EXPLAIN shows is what is run.
SCAN_SETTINGS = (
    ("plan_cache_mode", "force_custom_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("min_parallel_table_scan_size", "0"),
    ("min_parallel_index_scan_size", "0"),
    ("parallel_setup_cost", "0"),
    ("parallel_tuple_cost", "0"),
)

JOIN_SETTINGS = (
    *READ_SETTINGS,
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_memoize", "off"),
)

JOINED = 100_000
SHORT_RANGE = 100
LONG_RANGE = 10_000

POINT = "SELECT v FROM {table} WHERE k = {key}"
RANGE = "SELECT sum(v) FROM {table} WHERE k BETWEEN {key} AND {key} + {width}"
KEYS_ONLY = "SELECT count(*) FROM {table} WHERE k BETWEEN {key} AND {key} + {width}"
# The stride has no common factor with most numbers of rows.
JOIN = (
    "SELECT {what} FROM (SELECT ({key} + i * 7919::bigint) % {rows} AS k "
    f"FROM generate_series(1, {JOINED}) i OFFSET 0) asked JOIN {{table}} USING (k)"
)
LARGEST = "SELECT k FROM {table} ORDER BY k DESC LIMIT 1"


@dataclasses.dataclass(frozen=True)
class Query:
    """A query that is timed, and the first and last key at which it may begin."""

    name: str
    text: str
    first: int
    last: int
    workers: int | None = None  # None: it must not run in parallel
    is_join: bool = False

    @property
    def what(self):
        return named(self.name, self.workers)

    @property
    def settings(self):
        if self.workers is None:
            return JOIN_SETTINGS if self.is_join else READ_SETTINGS
        return (*SCAN_SETTINGS, ("max_parallel_workers_per_gather", str(self.workers)))


def named(name, workers):
    if not workers:
        return name
    return f"{name}, {workers} worker" + ("s" if workers > 1 else "")


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    if chosen.trickle_rows is None:
        chosen.trickle_rows = buffer.rows_to_fill(chosen, connection)
    raw = []
    for degree in chosen.degrees:
        if "build" in chosen.parts:
            write_keys(chosen, place, degree)
            raw += time_builds(chosen, place, connection, degree, everyone)
        if {"read", "scan", "join"} & set(chosen.parts):
            for made in chosen.made:
                raw += time_reads(chosen, place, connection, degree, made, everyone)
    connection.close()
    tell(chosen, raw, everyone)


def write_keys(chosen, place, degree, later_rows=0):
    keys = sortedness.make_keys(
        chosen.rows + later_rows, degree, chosen.alpha, chosen.beta, chosen.seed
    )
    buffer.write_keys(place, keys, chosen.rows)


def time_builds(chosen, place, connection, degree, everyone):
    results.step(f"CREATE INDEX, {degree.name}, {chosen.rows:,} rows")
    load(place, connection, "built", None)
    raw = []
    for memory in chosen.memory:
        server.execute(connection, "SET maintenance_work_mem = %s", [memory])
        for workers in chosen.workers:
            server.execute(
                connection, "SET max_parallel_maintenance_workers = %s", [workers]
            )
            server.execute(connection, f"ALTER TABLE built SET (parallel_workers = {workers})")
            name = f"CREATE INDEX, {memory}"
            what = named(name, workers)
            for number in range(chosen.rounds):
                for subject in subjects.in_turn(everyone, number):
                    raw.append(
                        {
                            "what": what, "name": name, "workers": workers,
                            "degree": degree.name, "made": "",
                            "round": number + 1, "subject": subject.label,
                        }
                        | time_build(place, connection, subject, what)
                    )
    server.execute(connection, "DROP TABLE built")
    server.execute(connection, "RESET maintenance_work_mem")
    return raw


def time_build(place, connection, subject, what):
    """Makes the index once, and removes it."""
    server.execute(connection, "CHECKPOINT")
    wal_before = server.wal_position(connection)
    processor_before = server.processor_seconds(connection)
    workers = server.Sessions(place)
    begin = time.perf_counter()
    server.execute(connection, subject.create_index("built"))
    seconds = time.perf_counter() - begin
    processor_seconds = server.processor_seconds(connection) - processor_before
    workers_seconds = workers.processor_seconds()
    print(
        f"{what}, {subject.label}: {seconds:.3f} s; of the processor "
        f"{processor_seconds:.3f} s, workers {workers_seconds:.2f} s", flush=True,
    )
    outcome = {
        "microseconds": seconds * 1e6,
        "processor_microseconds": processor_seconds * 1e6,
        "workers_processor_microseconds": workers_seconds * 1e6,
        "wal_bytes": server.wal_position(connection) - wal_before,
        "index_bytes": server.relation_bytes(connection, "built_k"),
        "plan": "",
    }
    server.execute(connection, "DROP INDEX built_k")
    return outcome


def load(place, connection, table, subject):
    """Makes a table of the keys; its index, if any, is there before."""
    server.execute(connection, f"DROP TABLE IF EXISTS {table}")
    server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
    if subject is not None:
        server.execute(connection, subject.create_index(table))
    server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")


def time_reads(chosen, place, connection, degree, made, everyone):
    results.step(f"reads, {degree.name}, index made by {made}")
    write_keys(chosen, place, degree, chosen.trickle_rows if made == "trickle" else 0)
    tables = {subject: f"read_{i}" for i, subject in enumerate(everyone)}
    for subject, table in tables.items():
        make(place, connection, made, subject, table)
        if "scan" in chosen.parts:
            workers = max(chosen.scan_workers)
            server.execute(connection, f"ALTER TABLE {table} SET (parallel_workers = {workers})")
    if made != "trickle":
        return time_queries(chosen, place, connection, degree, made, made, tables)
    raw = []
    for state in ("full", "empty"):
        if state not in chosen.buffer:
            continue
        if state == "empty":
            for subject, table in tables.items():
                buffer.flush(connection, subject, f"{table}_k")
        buffer.tell_entries(connection, tables)
        server.execute(connection, "CHECKPOINT")
        raw += time_queries(
            chosen, place, connection, degree, made, f"trickle, buffer {state}", tables
        )
    return raw


def time_queries(chosen, place, connection, degree, made, description, tables):
    queries = list_queries(chosen, degree, made)
    plans = compare_answers(connection, queries, list(tables.values()))
    raw = []
    for number in range(chosen.rounds):
        for query in queries:
            for subject in subjects.in_turn(list(tables), number):
                table = tables[subject]
                raw.append(
                    {
                        "what": query.what, "name": query.name, "workers": query.workers,
                        "degree": degree.name, "made": description,
                        "round": number + 1, "subject": subject.label,
                    }
                    | time_query(chosen, place, query, table, number)
                    | {
                        "workers_processor_microseconds": 0,
                        "wal_bytes": 0,
                        "index_bytes": server.relation_bytes(connection, f"{table}_k"),
                        "plan": plans[query.what, table],
                    }
                )
        print(f"round {number + 1} of {chosen.rounds}", flush=True)
    return raw


def time_query(chosen, place, query, table, number):
    """Runs a query over and over, with keys of the round; returns what one takes."""
    outcome = pgbench.run(
        place,
        f"\\set key random({query.first}, {query.last})\n"
        + query.text.format(table=table, key=":key") + ";\n",
        f"--time={chosen.seconds}",
        seed=chosen.seed + number, settings=query.settings, log=True,
    )
    return {
        "microseconds": outcome.typical_microseconds,
        "processor_microseconds": 1e6
        * outcome.processor_seconds / outcome.transactions,
    }


def make(place, connection, made, subject, table):
    if made == "create":
        load(place, connection, table, None)
        server.execute(connection, subject.create_index(table))
    else:
        load(place, connection, table, subject)
    # Index-only scans need the visibility map, the planner statistics.
    server.execute(connection, f"VACUUM (FREEZE, ANALYZE) {table}")
    if made == "trickle":
        begin = time.perf_counter()
        buffer.trickle(place, connection, table)
        print(
            f"{subject.label}: single-row transactions took "
            f"{time.perf_counter() - begin:.1f} s", flush=True,
        )
        server.execute(connection, f"ANALYZE {table}")
    server.execute(connection, "CHECKPOINT")


def list_queries(chosen, degree, made):
    rows = chosen.rows
    later_rows = chosen.trickle_rows if made == "trickle" else 0
    queries = []
    if "read" in chosen.parts:
        queries += regional_queries("", 0, rows + later_rows - 1)
        # If keys are scrambled, the recent rows are everywhere.
        if later_rows > 0 and not degree.scrambled:
            queries += regional_queries(", recent", rows, rows + later_rows - 1)
        queries.append(Query("largest key", LARGEST, 0, 0))
    if "scan" in chosen.parts:
        queries += scan_queries(rows + later_rows, chosen.scan_workers)
    if "join" in chosen.parts:
        queries += join_queries(rows + later_rows)
    return queries


def regional_queries(suffix, first, last):
    queries = [Query(f"point{suffix}", POINT, first, last)]
    for name, query, width in (
        ("rows", RANGE, SHORT_RANGE),
        ("rows", RANGE, LONG_RANGE),
        ("keys only", KEYS_ONLY, LONG_RANGE),
    ):
        if first + width <= last:
            queries.append(range_query(f"{width:,} {name}{suffix}", query, width, first, last))
    return queries


def scan_queries(rows, workers):
    """Half of the table, with each number of workers."""
    return [
        dataclasses.replace(range_query(name, query, rows // 2, 0, rows - 1), workers=number)
        for name, query in (("half of the rows", RANGE), ("half, keys only", KEYS_ONLY))
        for number in workers
    ]


def join_queries(rows):
    """A nested loop of look-ups, all over the table."""
    return [
        Query(
            f"{JOINED:,} look-ups of a join{suffix}",
            JOIN.replace("{what}", what).replace("{rows}", str(rows)),
            0, rows - 1, is_join=True,
        )
        for suffix, what in (("", "sum(v)"), (", keys only", "count(*)"))
    ]


def range_query(name, query, width, first, last):
    return Query(name, query.replace("{width}", str(width - 1)), first, last - width + 1)


def compare_answers(connection, queries, tables):
    """Fails if the tables answer differently; returns the kinds of plans."""
    plans = {}
    for query in queries:
        for name, value in query.settings:
            server.execute(connection, f"SET {name} = {value}")
        for key in (query.first, (query.first + query.last) // 2, query.last):
            one, *others = (
                sorted(server.query(connection, query.text.format(table=table, key=key)))
                for table in tables
            )
            if any(other != one for other in others):
                raise RuntimeError(f"different answers: {query.what} at {key}")
        for table in tables:
            plans[query.what, table] = plan(connection, query.text, query.first, table)
            if query.workers and not plans[query.what, table].startswith("Parallel"):
                raise RuntimeError(f"no parallel plan: {query.what}")
        if len({plans[query.what, table] for table in tables}) > 1:
            print(
                f"warning: different plans for {query.what}: "
                + ", ".join(plans[query.what, table] for table in tables),
                flush=True,
            )
        for name, _ in query.settings:
            server.execute(connection, f"RESET {name}")
    return plans


def plan(connection, query, key, table):
    """The kind of scan, such as "Index Only Scan"."""
    lines = server.query(
        connection, "EXPLAIN (COSTS OFF) " + query.format(table=table, key=key)
    )
    for (line,) in lines:
        if f" using {table}_k " in line:
            return line.strip(" ->").partition(" using ")[0]
    return "no index scan"


def summarise(raw, labels):
    nbtree, *compared = labels
    summary = []
    for case in dict.fromkeys((r["what"], r["degree"], r["made"]) for r in raw):
        runs = [r for r in raw if (r["what"], r["degree"], r["made"]) == case]
        alone = [
            r for r in raw
            if (r["name"], r["degree"], r["made"]) == (runs[0]["name"], *case[1:])
            and r["workers"] == 0
        ]
        summary += [summarise_one(runs, alone, nbtree, label) for label in compared]
    return summary


def summarise_one(runs, alone, nbtree, label):
    """Summarises the runs of one case; "alone" are those of the same case without workers."""

    def figures(subject, figure):
        return [run[figure] for run in runs if run["subject"] == subject]

    one, other = figures(nbtree, "microseconds"), figures(label, "microseconds")
    shares = [theirs / ours for ours, theirs in zip(one, other)]
    row = {key: runs[0][key] for key in ("what", "degree", "made")}
    row |= {
        "subject": label,
        "nbtree_microseconds": statistics.median(one),
        "compared_microseconds": statistics.median(other),
        "share": statistics.median(other) / statistics.median(one),
        "median_share": statistics.median(shares),
        "smallest_share": min(shares), "largest_share": max(shares),
        "nbtree_speedup": speedup(runs, alone, nbtree),
        "compared_speedup": speedup(runs, alone, label),
        "share_of_processor_time":
            statistics.median(figures(label, "processor_microseconds"))
            / statistics.median(figures(nbtree, "processor_microseconds")),
    }
    for figure in ("wal_bytes", "index_bytes"):
        row[f"nbtree_{figure}"] = statistics.median(figures(nbtree, figure))
        row[f"compared_{figure}"] = statistics.median(figures(label, figure))
    return row


def speedup(runs, alone, label):
    """The time without workers divided by the time with them; None without workers."""

    def typical(runs):
        return statistics.median(r["microseconds"] for r in runs if r["subject"] == label)

    return typical(alone) / typical(runs) if alone and runs[0]["workers"] else None


def tell(chosen, raw, everyone):
    nbtree, *labels = (subject.label for subject in everyone)
    summary = summarise(raw, [nbtree, *labels])
    titles = [
        "", "order", "index made by", "", "nbtree µs", "compared µs", "compared / nbtree",
        "in single rounds", "of processor time", "nbtree speedup", "compared speedup",
        "nbtree MB", "compared MB",
    ]
    table = [
        [
            row["what"], row["degree"], row["made"], row["subject"],
            row["nbtree_microseconds"], row["compared_microseconds"], row["share"],
            f"{row['smallest_share']:.2f} to {row['largest_share']:.2f}",
            row["share_of_processor_time"],
            row["nbtree_speedup"], row["compared_speedup"],
            row["nbtree_index_bytes"] / 2**20, row["compared_index_bytes"] / 2**20,
        ]
        for row in summary
    ]
    results.report(chosen.out, chosen.name, raw, summary, titles, table)
    panels = []
    for made, degree in dict.fromkeys((row["made"], row["degree"]) for row in summary):
        rows = [r for r in summary if (r["made"], r["degree"]) == (made, degree)]
        title = f"index made by {made}" if made else "building"
        panels.append(
            charts.panel(
                f"{title}, {degree}", "time, share of nbtree's", rows,
                "what", "share", nbtree,
            )
        )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"{chosen.rows:,} rows, medians of {chosen.rounds} rounds", panels,
    )
