"""Times mixes of inserts and look-ups by SQL."""

import dataclasses
import functools
import itertools
import operator
import time

import access_method
import charts
import pgbench
import results
import server
import speed
import subjects

PAYLOAD = "x" * 252
RECENT = 100

# What tells one line of the report from another.
CASE = ("part", "workload", "degree", "clients", "commit_every")

# Each look-up has to find its own row. Without commit_every, the caller commits.
PROCEDURE = """
    CREATE OR REPLACE PROCEDURE mix(first bigint, inserts bigint, reads bigint,
                                    commit_every bigint, seed bigint)
    LANGUAGE plpgsql AS $$
    DECLARE
        done bigint := 0;
        looked_up bigint := 0;
        asked bigint;
        answer bigint;
    BEGIN
        FOR n IN first .. first + inserts - 1 LOOP
            INSERT INTO t VALUES ({inserted_key}, n);
            done := done + 1;
            IF done % commit_every = 0 THEN
                COMMIT;
            END IF;
            WHILE looked_up < (n - first + 1) * reads / inserts LOOP
                asked := (hashint8extended(looked_up, seed) & {largest}) % (n + 1);
                SELECT v INTO STRICT answer FROM t WHERE k = {asked_key};
                IF answer <> asked THEN
                    RAISE 'row % was found instead of row %', answer, asked;
                END IF;
                looked_up := looked_up + 1;
                done := done + 1;
                IF done % commit_every = 0 THEN
                    COMMIT;
                END IF;
            END LOOP;
        END LOOP;
    END $$
"""

DIGEST = (
    "SELECT count(*), sum(hashtextextended({table}::text, 0)::numeric) "
    "FROM {table} WHERE k >= {key}"
)

# Parts of the scripts of pgbench. The next row, by its number n:
NEXT_INSERT = """
\\set n :n + 1
\\set key {key}
INSERT INTO t VALUES (:key, '{payload}');
"""
# A row of those up to the newest; it must be there if exactly one is asked for.
LOOK_UP = """
\\set asked random(0, {newest})
\\set key {key}
SELECT {column} FROM t WHERE k = :key"""
EXACTLY_ONE = " \\gset\n"
# A row whose number is that of its arrival.
ARRIVAL = "INSERT INTO t SELECT {key}, n FROM nextval('arrivals') n"
RANGE = f"SELECT sum(v) FROM t WHERE k BETWEEN :k - {RECENT - 1} AND :k"

NEXT_ARRIVAL = (
    "SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM arrivals"
)


@dataclasses.dataclass(frozen=True)
class Table:
    """The table t of a subject, and what fills it."""

    connection: object
    subject: subjects.Subject
    degree: object
    rows: int  # of which the distances of keys are a percentage
    unique: bool = False

    def key(self, number):
        """The key of the row with a number, in the arithmetic of SQL and of pgbench."""
        return pgbench.exchanged_key(number, self.degree, self.rows)

    def make(self, columns="k bigint, v bigint"):
        server.execute(self.connection, "DROP TABLE IF EXISTS t")
        server.execute(self.connection, f"CREATE TABLE t ({columns})")
        server.execute(
            self.connection, self.subject.create_index("t", unique=self.unique)
        )

    def insert(self, count):
        """Inserts the first rows."""
        server.execute(self.connection, f"INSERT INTO t {self.first_rows(count, 'n')}")

    def copy(self, place, count):
        """Copies the first rows, with a payload, from a file."""
        path = place.data / "rows"
        rows = self.first_rows(count, f"'{PAYLOAD}'")
        with open(path, "w") as file, self.connection.cursor() as cursor:
            cursor.copy_expert(f"COPY ({rows}) TO STDOUT", file)
        server.execute(self.connection, f"COPY t FROM '{path}'")

    def first_rows(self, count, column):
        """The query that makes the first rows."""
        return (
            f"SELECT {self.key('n')}, {column} "
            f"FROM generate_series(0, {count - 1}::bigint) n"
        )

    def settle(self):
        server.execute(self.connection, "VACUUM (FREEZE, ANALYZE) t")
        server.execute(self.connection, "CHECKPOINT")

    def digest(self):
        """What tells the rows of the table, as the index finds them, from others.

        Fails if a sequential scan finds others.
        """
        if not speed.plan(self.connection, DIGEST, 0, "t").startswith("Index"):
            raise RuntimeError("the rows are not read by the index")
        by_index = self.read_digest()
        for switch in ("enable_indexscan = off", "enable_seqscan = on"):
            server.execute(self.connection, f"SET {switch}")
        by_table = self.read_digest()
        for switch in ("enable_indexscan = on", "enable_seqscan = off"):
            server.execute(self.connection, f"SET {switch}")
        if by_index != by_table:
            raise RuntimeError(f"the index finds {by_index}, the table has {by_table}")
        return by_index

    def read_digest(self):
        return server.query(self.connection, DIGEST.format(table="t", key=0))[0]


def measure(chosen, place):
    connection = server.connect(chosen)
    server.execute(connection, "CREATE SEQUENCE arrivals MINVALUE 0")
    everyone = [
        dataclasses.replace(one, settings=(*one.settings, *speed.READ_SETTINGS))
        for one in (subjects.NBTREE, *subjects.compared(chosen))
    ]
    raw = []
    for part in chosen.parts:
        for case, run in PARTS[part](chosen, place):
            results.step(", ".join(str(value) for value in (part, *case.values())))
            case = dict.fromkeys(CASE) | {"part": part} | case
            raw += time_rounds(chosen, connection, everyone, case, run)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def time_rounds(chosen, connection, everyone, case, run):
    """Runs one case with all subjects in turn, and compares their answers.

    A run returns figures by the names of workloads, and an answer.
    """
    raw = []
    for number in range(chosen.rounds):
        answers = {}
        for subject in subjects.in_turn(everyone, number):
            with server.settings_of(subject, chosen, connection):
                figures, answers[subject.label] = run(connection, subject, number)
            raw += [
                case
                | {
                    "workload": workload, "round": number + 1, "subject": subject.label,
                }
                | figure
                for workload, figure in figures.items()
            ]
            texts = [
                f"{name} {figure['microseconds']:.2f} µs" for name, figure in figures.items()
            ]
            results.tell_run(number, subject.label, texts)
        if len(set(answers.values())) > 1:
            raise RuntimeError(f"not the same rows were found: {answers}")
    return raw


def per_operation(seconds, processor_seconds, operations):
    return {
        "operations": operations,
        "microseconds": seconds * 1e6 / operations,
        "processor_microseconds": processor_seconds * 1e6 / operations,
    }


def in_turn(chosen, place):
    for degree in chosen.degrees:
        yield {"degree": degree.name}, functools.partial(time_in_turn, chosen, degree)


def time_in_turn(chosen, degree, connection, subject, number):
    table = Table(connection, subject, degree, chosen.rows)
    table.make()
    figure = call_mix(table, 0, chosen.rows, chosen.rows, None, chosen.seed + number)
    return {"insert, look-up": figure}, table.digest()


def commits(chosen, place):
    for degree, mix, every in itertools.product(
        chosen.degrees, chosen.mixes, chosen.commit_every
    ):
        case = {"workload": mix, "degree": degree.name, "commit_every": every}
        yield case, functools.partial(time_commits, chosen, degree, mix, every)


def time_commits(chosen, degree, mix, every, connection, subject, number):
    first = chosen.rows * chosen.preloaded // 100
    operations = chosen.rows - first
    inserts = max(1, int(operations * access_method.writes(mix)))
    table = Table(connection, subject, degree, chosen.rows)
    table.make()
    table.insert(first)
    figure = call_mix(
        table, first, inserts, operations - inserts, every, chosen.seed + number
    )
    return {mix: figure}, table.digest()


def call_mix(table, first, inserts, reads, commit_every, seed):
    """Calls the procedure; None as the number of commit_every is one transaction."""
    connection = table.connection
    server.execute(
        connection,
        PROCEDURE.format(
            inserted_key=table.key("n"), asked_key=table.key("asked"), largest=2**63 - 1
        ),
    )
    table.settle()
    processor_before = server.processor_seconds(connection)
    begin = time.perf_counter()
    if commit_every is None:
        server.execute(connection, "BEGIN")
    server.execute(
        connection, "CALL mix(%s, %s, %s, %s, %s)",
        [first, inserts, reads, commit_every, seed],
    )
    if commit_every is None:
        server.execute(connection, "COMMIT")
    seconds = time.perf_counter() - begin
    processor_seconds = server.processor_seconds(connection) - processor_before
    return per_operation(seconds, processor_seconds, inserts + reads)


def rows(chosen, place):
    for degree, unique in itertools.product(chosen.degrees, (False, True)):
        case = {
            "workload": "unique" if unique else "not unique", "degree": degree.name,
        }
        yield case, functools.partial(time_rows, chosen, place, degree, unique)


def time_rows(chosen, place, degree, unique, connection, subject, number):
    first = chosen.rows * chosen.preloaded // 100
    mixed = (chosen.rows - first) // 2
    table = Table(connection, subject, degree, chosen.rows, unique)
    table.make("k bigint, payload text")
    table.copy(place, first)
    table.settle()
    insert = NEXT_INSERT.format(key=table.key(":n"), payload=PAYLOAD)
    look_up = LOOK_UP.format(key=table.key(":asked"), newest=":n", column="payload")
    figures = {}
    for name, script, statements, turns, inserted in (
        ("mixed", insert + look_up + EXACTLY_ONE, 2, mixed, first),
        ("inserts", insert, 1, chosen.rows - first - mixed, first + mixed),
        ("look-ups", look_up + EXACTLY_ONE, 1, mixed, chosen.rows),
    ):
        outcome = pgbench.run(
            place, script, f"--transactions={turns}", f"--define=n={inserted - 1}",
            seed=chosen.seed + number,
        )
        figures[name + (", unique" if unique else "")] = per_operation(
            outcome.seconds, outcome.processor_seconds, outcome.transactions * statements
        )
    return figures, table.digest()


def clients(chosen, place):
    for degree, count, workload in itertools.product(
        chosen.degrees, chosen.clients, chosen.workloads
    ):
        case = {"workload": workload, "degree": degree.name, "clients": count}
        yield case, functools.partial(time_clients, chosen, place, degree, count, workload)


def time_clients(chosen, place, degree, count, workload, connection, subject, number):
    table = Table(connection, subject, degree, chosen.rows, workload.startswith("unique"))
    table.make()
    table.insert(chosen.rows)
    server.execute(connection, f"ALTER SEQUENCE arrivals RESTART WITH {chosen.rows}")
    table.settle()
    outcome = pgbench.run(
        place, make_script(table, workload), f"--time={chosen.seconds}",
        f"--define=newest={chosen.rows - 1}", clients=count, seed=chosen.seed + number,
    )
    if table.digest()[0] != server.value(connection, NEXT_ARRIVAL):
        raise RuntimeError("rows are missing, or there are too many")
    figure = per_operation(
        outcome.seconds, outcome.processor_seconds, outcome.transactions
    )
    # The tables differ: an access method that is faster inserts more rows.
    return {workload: figure}, None


def make_script(table, workload):
    """What a client does over and over."""
    insert = ARRIVAL.format(key=table.key("n"))
    look_up = LOOK_UP.format(key=table.key(":asked"), newest=":newest", column="v")
    if workload == "select":
        return look_up + ";\n"
    if workload.endswith("insert"):
        return insert + ";\n"
    if workload == "recent":
        return f"{insert} RETURNING k \\gset\n{RANGE};\n"
    percentage = round(100 * access_method.writes(workload))
    return (
        f"\\set dice random(1, 100)\n\\if :dice <= {percentage}\n"
        f"{insert} RETURNING v AS newest \\gset\n\\else\n{look_up};\n\\endif\n"
    )


PARTS = {"in-turn": in_turn, "rows": rows, "clients": clients, "commits": commits}


def tell(chosen, raw, labels):
    summary = summarise(raw, labels)
    results.report(
        chosen.out, chosen.name, raw, summary,
        [
            "", "", "", "clients", "commit every", "", "nbtree µs", "compared µs",
            "nbtree / compared", "of processor time",
        ],
        [
            [
                *(row[name] for name in CASE), row["subject"],
                row["nbtree_microseconds"], row["compared_microseconds"], row["ratio"],
                row["ratio_of_processor_time"],
            ]
            for row in summary
        ],
    )
    charts.bars(
        chosen.out / f"{chosen.name}.png",
        f"mixes of inserts and look-ups, {chosen.rows:,} rows, "
        f"medians of {chosen.rounds} rounds",
        list(panels(summary)),
    )


def panels(summary):
    """One for all workloads of a part and a degree, and of a number of clients or commits."""
    kind = operator.itemgetter("part", "degree", "clients", "commit_every")
    for part, degree, count, every in dict.fromkeys(map(kind, summary)):
        title = f"{part}, {degree}"
        if count is not None:
            title += f", clients: {count}"
        if every is not None:
            title += f", operations of a transaction: {every:,}"
        yield charts.panel(
            title, "times as fast as nbtree",
            [row for row in summary if kind(row) == (part, degree, count, every)],
            "workload", "ratio",
        )


def summarise(raw, labels):
    nbtree, *compared = labels
    case_of = operator.itemgetter(*CASE)
    summary = []
    for case in dict.fromkeys(map(case_of, raw)):
        runs = [run for run in raw if case_of(run) == case]
        for label in compared:
            one = results.median(runs, nbtree, "microseconds")
            other = results.median(runs, label, "microseconds")
            summary.append(
                dict(zip(CASE, case))
                | {
                    "subject": label,
                    "nbtree_microseconds": one, "compared_microseconds": other,
                    "ratio": one / other,
                    "ratio_of_processor_time":
                        results.median(runs, nbtree, "processor_microseconds")
                        / results.median(runs, label, "processor_microseconds"),
                }
            )
    return summary
