"""Updates and deletes rows of tables that differ in their indexes only."""

import contextlib
import statistics
import time

import pgbench
import results
import server
import subjects
import waits

# What is aimed at: a share of nbtree's that is at least this, or at most, within noise.
LEAST_SHARE = 0.97
LARGEST_SHARE = 1.03

TAKE = (
    "DELETE FROM {t} WHERE id = "
    "(SELECT id FROM {t} ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);"
)
PUT_AND_TAKE = f"INSERT INTO {{t}} (payload) VALUES ('job');\n{TAKE}\n"
UNCLEANED = "WITH (autovacuum_enabled = off)"


class Life:
    """One workload on the table of one subject."""

    def __init__(self, chosen, place, connection, subject, table, seed):
        self.chosen = chosen
        self.place = place
        self.connection = connection
        self.subject = subject
        self.table = table
        self.seed = seed
        self.tables = [table]
        self.indexes = []
        self.figures = {}

    def execute(self, command, **values):
        server.execute(self.connection, command.format(t=self.table, **values))

    def index(self, columns, unique=False, table=None):
        """Makes an index that is compared."""
        table = table or self.table
        name = f"{table}_{len(self.indexes)}"
        options = ", ".join(f"{key} = '{value}'" for key, value in self.subject.options)
        server.execute(
            self.connection,
            f"CREATE {'UNIQUE ' if unique else ''}INDEX {name} ON {table} "
            f"USING {self.subject.access_method} ({columns})"
            + (f" WITH ({options})" if options else ""),
        )
        self.indexes.append(name)

    def settle(self):
        self.execute("VACUUM ANALYZE {t}")
        server.execute(self.connection, "CHECKPOINT")

    def run(self, figure, script, clients=None, settings=()):
        outcome = pgbench.run(
            self.place, script.format(t=self.table), f"--time={self.chosen.seconds}",
            clients=clients or self.chosen.clients, seed=self.seed, settings=settings,
        )
        self.figures[figure] = outcome.per_second
        self.figures[figure.replace(" a second", ", µs of processor time")] = (
            outcome.processor_seconds * 1e6 / outcome.transactions
        )

    def stored(self):
        """How many entries have been stored in the trees, as far as they are counted."""
        if self.subject.access_method != "sware":
            return 0
        return sum(
            server.value(
                self.connection,
                "SELECT entries_inserted + entries_appended FROM sware_stats(%s)", [index],
            )
            for index in self.indexes
        )

    def measure_size(self):
        self.figures["index MB"] = sum(
            server.relation_bytes(self.connection, index) for index in self.indexes
        ) / 2**20

    @contextlib.contextmanager
    def counting_stored(self):
        before = self.stored()
        yield
        self.figures["entries stored"] = self.stored() - before


def queue(life):
    life.execute(f"CREATE TABLE {{t}} (id bigserial, payload text) {UNCLEANED}")
    life.index("id")
    life.execute(
        "INSERT INTO {t} (payload) SELECT 'job' FROM generate_series(1, {rows})",
        rows=life.chosen.rows,
    )
    life.settle()
    life.run("queue a second", TAKE + "\n")


def make_short_queue(life):
    life.execute(f"CREATE TABLE {{t}} (id bigserial, payload text) {UNCLEANED}")
    life.index("id")
    life.settle()
    life.execute("INSERT INTO {t} (payload) SELECT 'job' FROM generate_series(1, 100)")


def short_queue(clients):
    def run(life):
        make_short_queue(life)
        with life.counting_stored():
            life.run("queue a second", PUT_AND_TAKE, clients)

    return run


def held(life):
    """A queue of 100 rows while another session keeps an old snapshot."""
    make_short_queue(life)
    other = server.connect(life.chosen)
    server.execute(other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    server.value(other, f"SELECT count(*) FROM {life.table}")
    for part in ("first", "second", "third"):
        life.run(f"queue a second, held, {part} part", PUT_AND_TAKE)
    server.execute(other, "ROLLBACK")
    other.close()
    life.run("queue a second, afterwards", PUT_AND_TAKE)


def jobs(life):
    life.execute(
        "CREATE TABLE {t} (id bigserial, state text, run_at timestamptz, attempt int, "
        f"payload text) {UNCLEANED}"
    )
    life.index("id", unique=True)
    life.index("state, run_at")
    life.settle()
    life.execute(
        "INSERT INTO {t} (state, run_at, attempt, payload) "
        "SELECT 'available', clock_timestamp(), 0, 'job' FROM generate_series(1, 100)"
    )
    # a worker may find no job, if the others have taken all that its snapshot shows
    life.run(
        "changes a second",
        "\\set id 0\n"
        "INSERT INTO {t} (state, run_at, attempt, payload) "
        "VALUES ('available', clock_timestamp(), 0, 'job');\n"
        "WITH next AS (SELECT id FROM {t} WHERE state = 'available' "
        "AND run_at <= clock_timestamp() ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED) "
        "UPDATE {t} SET state = 'running', attempt = attempt + 1 "
        "FROM next WHERE {t}.id = next.id RETURNING {t}.id \\aset\n"
        "UPDATE {t} SET state = 'completed' WHERE id = :id;\n"
        "DELETE FROM {t} WHERE id = :id;\n",
        8, [("enable_seqscan", "off"), ("enable_bitmapscan", "off")],
    )


def make_readings(life, options=""):
    life.execute(f"CREATE TABLE {{t}} (k bigserial, payload text) {options}")
    life.index("k")
    life.execute(
        "INSERT INTO {t} (payload) SELECT 'reading' FROM generate_series(1, 50000)"
    )
    life.settle()


def latest(life):
    make_readings(life, UNCLEANED)
    life.run(
        "changes a second",
        "INSERT INTO {t} (payload) VALUES ('reading');\n"
        "SELECT payload FROM {t} ORDER BY k DESC LIMIT 100;\n",
        settings=[("enable_seqscan", "off")],
    )


def look_ups(life):
    life.execute(f"CREATE TABLE {{t}} (k int, payload text) {UNCLEANED}")
    life.index("k")
    life.execute(
        "INSERT INTO {t} SELECT i, 'row' FROM generate_series(1, {rows}) i",
        rows=life.chosen.rows,
    )
    life.settle()
    for clients in (1, 8):
        life.run(
            f"look-ups a second, {clients}",
            f"\\set k random(1, {life.chosen.rows})\n"
            "SELECT payload FROM {t} WHERE k = :k;\n", clients,
        )


def unique(life):
    life.execute(f"CREATE TABLE {{t}} (k bigserial, payload text) {UNCLEANED}")
    life.index("k", unique=True)
    life.settle()
    life.run(
        "changes a second", "INSERT INTO {t} (payload) VALUES ('row');\n", 16
    )


def lock_waits(life):
    life.tables = []
    for number in (1, 16, 64):
        table = f"{life.table}_{number}"
        life.tables.append(table)
        server.execute(
            life.connection,
            f"CREATE TABLE {table} (id bigserial, at timestamptz DEFAULT clock_timestamp()) "
            + UNCLEANED,
        )
        life.index("id", unique=True, table=table)
        life.index("at", table=table)
        server.execute(life.connection, "CHECKPOINT")
        with waits.sampled(life.chosen) as counts:
            outcome = pgbench.run(
                life.place, f"INSERT INTO {table} DEFAULT VALUES;\n",
                f"--transactions={max(1, life.chosen.rows // number)}",
                clients=number, seed=life.seed,
            )
        life.figures[f"inserts a second, {number}"] = outcome.per_second
        for kind, count in counts.items():
            life.figures[f"waits for {kind} in 1,000 inserts, {number}"] = (
                count * 1000 / outcome.transactions
            )


def updated(life):
    life.execute(
        f"CREATE TABLE {{t}} (id int PRIMARY KEY, updated_at timestamptz) {UNCLEANED}"
    )
    life.index("updated_at")
    life.execute(
        "INSERT INTO {t} SELECT i, clock_timestamp() FROM generate_series(1, 50000) i"
    )
    life.settle()
    life.run(
        "changes a second",
        "\\set id random(1, 50000)\n"
        "UPDATE {t} SET updated_at = clock_timestamp() WHERE id = :id;\n",
    )
    for end, order in (("oldest", ""), ("newest", " DESC")):
        life.run(
            f"look-ups a second, {end}",
            f"SELECT id FROM {{t}} ORDER BY updated_at{order} LIMIT 10;\n", 1,
            [("enable_seqscan", "off")],
        )


def hot(life):
    life.execute(f"CREATE TABLE {{t}} (id int, n int) {UNCLEANED}")
    life.index("id", unique=True)
    life.index("n")
    life.execute("INSERT INTO {t} SELECT i, 0 FROM generate_series(1, 20) i")
    life.settle()
    settings = [("enable_seqscan", "off"), ("enable_bitmapscan", "off")]
    life.run(
        "changes a second",
        "\\set id random(1, 20)\n\\set n random(1, 1000000)\n"
        "UPDATE {t} SET n = :n WHERE id = :id;\n",
        settings=settings,
    )
    life.run(
        "look-ups a second",
        "\\set id random(1, 20)\nSELECT n FROM {t} WHERE id = :id;\n", 1, settings,
    )


def vacuum(percent):
    def run(life):
        rows = life.chosen.rows
        life.execute(f"CREATE TABLE {{t}} (k int, v int) {UNCLEANED}")
        life.index("k")
        life.index("v")
        life.execute(
            # keys that are nearly in order, and scrambled ones
            "INSERT INTO {t} SELECT i + i * 7919::bigint % 50, hashint4(i) "
            "FROM generate_series(1, {rows}) i", rows=rows,
        )
        life.settle()
        life.execute(
            "DELETE FROM {t} WHERE (hashint4(k + 1) & 65535) % 100 < {percent}",
            percent=percent,
        )
        server.execute(life.connection, "CHECKPOINT")
        wal = server.wal_position(life.connection)
        begun = time.perf_counter()
        life.execute("VACUUM (INDEX_CLEANUP ON) {t}")
        life.figures["VACUUM, seconds"] = time.perf_counter() - begun
        life.figures["VACUUM, MB of WAL"] = (
            server.wal_position(life.connection) - wal
        ) / 2**20

    return run


def plan(life, figure):
    life.run(figure, "EXPLAIN SELECT * FROM {t} WHERE k > 1000000000;\n", 1)


def planning(life):
    rows = life.chosen.rows
    life.execute(f"CREATE TABLE {{t}} (k int) {UNCLEANED}")
    life.index("k")
    life.execute("INSERT INTO {t} SELECT generate_series(1, {rows})", rows=rows)
    life.settle()
    life.execute("DELETE FROM {t} WHERE k > 1000")
    plan(life, "plans a second")
    # and when the buffer has the rows that are dead
    server.execute(
        life.connection,
        f"""DO $$ BEGIN
            FOR i IN 1 .. 20000 LOOP
                INSERT INTO {life.table} VALUES (1000000 + i);
                COMMIT;
            END LOOP;
        END $$""",
    )
    life.execute("DELETE FROM {t} WHERE k > 1000")
    plan(life, "plans a second, buffered")


def retention(life):
    make_readings(life)
    life.run(
        "changes a second",
        "INSERT INTO {t} (payload) SELECT 'reading' FROM generate_series(1, 100);\n"
        "DELETE FROM {t} WHERE k IN (SELECT k FROM {t} ORDER BY k LIMIT 100 "
        "FOR UPDATE SKIP LOCKED);\n",
    )
    life.run(
        "look-ups a second", "SELECT payload FROM {t} ORDER BY k LIMIT 1;\n", 1
    )


def sessions(life):
    life.execute("CREATE TABLE {t} (id bigserial, user_id int, last_seen timestamptz)")
    life.index("id", unique=True)
    life.index("last_seen")
    life.execute(
        "INSERT INTO {t} (user_id, last_seen) "
        "SELECT i, clock_timestamp() FROM generate_series(1, 20000) i"
    )
    life.settle()
    update = (
        "UPDATE {t} SET last_seen = clock_timestamp() WHERE id = :id - {offset};\n"
    )
    life.run(
        "changes a second",
        "\\set user random(1, 1000000)\n"
        "INSERT INTO {t} (user_id, last_seen) VALUES (:user, clock_timestamp()) "
        "RETURNING id \\gset\n"
        + "".join(update.replace("{offset}", str(100 * i)) for i in range(5))
        + "DELETE FROM {t} WHERE id = :id - 1000;\n",
        settings=[("enable_seqscan", "off")],
    )
    life.run(
        "look-ups a second", "SELECT id FROM {t} ORDER BY last_seen LIMIT 10;\n", 1,
        [("enable_seqscan", "off")],
    )


def tpcb(life):
    scale = 4
    sizes = {
        "accounts": ("aid int, bid int, abalance int, filler char(84)", 100_000),
        "tellers": ("tid int, bid int, tbalance int, filler char(84)", 10),
        "branches": ("bid int, bbalance int, filler char(88)", 1),
    }
    for table, (columns, rows) in sizes.items():
        name = f"{life.table}_{table}"
        extra = ", 1" if table != "branches" else ""
        server.execute(life.connection, f"CREATE TABLE {name} ({columns})")
        server.execute(
            life.connection,
            f"INSERT INTO {name} SELECT i{extra}, 0, '' "
            f"FROM generate_series(1, {rows * scale}) i",
        )
        life.index(columns.split()[0], unique=True, table=name)
        server.execute(life.connection, f"VACUUM ANALYZE {name}")
    life.execute(
        "CREATE TABLE {t}_history (tid int, bid int, aid int, delta int, "
        "mtime timestamp, filler char(22))"
    )
    life.tables = [f"{life.table}_{name}" for name in (*sizes, "history")]
    server.execute(life.connection, "CHECKPOINT")
    life.run(
        "changes a second",
        f"\\set aid random(1, {100_000 * scale})\n\\set bid random(1, {scale})\n"
        f"\\set tid random(1, {10 * scale})\n\\set delta random(-5000, 5000)\n"
        """BEGIN;
UPDATE {t}_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM {t}_accounts WHERE aid = :aid;
UPDATE {t}_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE {t}_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO {t}_history (tid, bid, aid, delta, mtime)
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
""",
    )


WORKLOADS = {
    "queue": queue, "short-4": short_queue(4), "short-8": short_queue(8),
    "held": held, "jobs": jobs, "latest": latest, "look-ups": look_ups,
    "unique": unique, "updated": updated, "hot": hot,
    "vacuum-1": vacuum(1), "vacuum-20": vacuum(20), "vacuum-90": vacuum(90),
    "waits": lock_waits, "range": planning, "retention": retention, "sessions": sessions, "tpcb": tpcb,
}


def measure(chosen, place):
    connection = server.connect(chosen)
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    for name in chosen.workloads:
        results.step(name)
        for number in range(chosen.rounds):
            for subject in subjects.in_turn(everyone, number):
                figures = live(chosen, place, connection, subject, name, number)
                raw += [
                    {
                        "workload": name, "round": number + 1, "subject": subject.label,
                        "figure": figure, "value": value,
                    }
                    for figure, value in figures.items()
                ]
                texts = [
                    f"{figure} {results.as_text(float(value))}"
                    for figure, value in figures.items()
                ]
                results.tell_run(number, subject.label, texts)
    connection.close()
    tell(chosen, raw, [subject.label for subject in everyone])


def live(chosen, place, connection, subject, name, number):
    life = Life(chosen, place, connection, subject, f"life_{number}", number + 1)
    WORKLOADS[name](life)
    life.measure_size()
    for table in life.tables:
        server.execute(connection, f"DROP TABLE {table}")
    return life.figures


def share_of_rounds(ones, others):
    """The median of each round's share: a machine's speed changes between rounds."""
    shares = [results.ratio(other, one) for one, other in zip(ones, others)]
    return None if None in shares else statistics.median(shares)


def is_good(figure, share):
    if share is None or figure == "entries stored" or figure.startswith("waits"):
        return True
    return share >= LEAST_SHARE if " a second" in figure else share <= LARGEST_SHARE


def tell(chosen, raw, labels):
    nbtree, *compared = labels
    summary = []
    table = []
    for name, figure in dict.fromkeys((run["workload"], run["figure"]) for run in raw):
        for label in compared:
            ones, others = (
                [
                    run["value"]
                    for run in raw
                    if (run["workload"], run["figure"], run["subject"])
                    == (name, figure, subject)
                ]
                for subject in (nbtree, label)
            )
            one, other = statistics.median(ones), statistics.median(others)
            share = share_of_rounds(ones, others)
            good = is_good(figure, share)
            summary.append(
                {
                    "workload": name, "subject": label, "figure": figure,
                    "nbtree": float(one), "compared": float(other), "share": share,
                    "good": good,
                }
            )
            table.append(
                [
                    name, label, figure, float(one), float(other), share,
                    "" if good else "!",
                ]
            )
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["workload", "", "", "nbtree", "its", "its / nbtree", ""], table,
    )
