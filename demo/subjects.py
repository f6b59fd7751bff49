"""The tables that are compared, and how they are made and loaded."""

import statistics
import threading
import time
from dataclasses import dataclass, field

import psycopg

from progress import Bar

INDEXED_COLUMNS = ("l_shipdate", "l_commitdate", "l_receiptdate")

LINEITEM_COLUMNS = """
    l_orderkey bigint NOT NULL,
    l_partkey integer NOT NULL,
    l_suppkey integer NOT NULL,
    l_linenumber integer NOT NULL,
    l_quantity numeric(15, 2) NOT NULL,
    l_extendedprice numeric(15, 2) NOT NULL,
    l_discount numeric(15, 2) NOT NULL,
    l_tax numeric(15, 2) NOT NULL,
    l_returnflag char(1) NOT NULL,
    l_linestatus char(1) NOT NULL,
    l_shipdate date,
    l_commitdate date,
    l_receiptdate date,
    l_shipinstruct char(25) NOT NULL,
    l_shipmode char(10) NOT NULL,
    l_comment varchar(44) NOT NULL
"""

ORDERS_COLUMNS = """
    o_orderkey bigint NOT NULL,
    o_custkey integer NOT NULL,
    o_orderstatus char(1) NOT NULL,
    o_totalprice numeric(15, 2) NOT NULL,
    o_orderdate date NOT NULL,
    o_orderpriority char(15) NOT NULL,
    o_clerk char(15) NOT NULL,
    o_shippriority integer NOT NULL,
    o_comment varchar(79) NOT NULL
"""

PART_COLUMNS = """
    p_partkey integer NOT NULL,
    p_name varchar(55) NOT NULL,
    p_mfgr char(25) NOT NULL,
    p_brand char(10) NOT NULL,
    p_type varchar(25) NOT NULL,
    p_size integer NOT NULL,
    p_container char(10) NOT NULL,
    p_retailprice numeric(15, 2) NOT NULL,
    p_comment varchar(23) NOT NULL
"""

MEGABYTE = 1024.0 * 1024.0


@dataclass
class Subject:
    """A table with indexes of one access method, or with none."""

    label: str
    table: str
    access_method: str | None
    load_seconds: list[float] = field(default_factory=list)
    load_wal_bytes: list[int] = field(default_factory=list)

    def index(self, column):
        return f"{self.table}_{column}"

    def indexes(self):
        if self.access_method is None:
            return []
        return [self.index(column) for column in INDEXED_COLUMNS]

    def seconds(self):
        return statistics.median(self.load_seconds)

    def wal_megabytes(self):
        return statistics.median(self.load_wal_bytes) / MEGABYTE


def make_subjects(access_method):
    """The table without indexes, the one with nbtree, and the one to compare."""
    label = access_method if access_method != "btree" else "nbtree again"
    return (
        Subject("no index", "lineitem_plain", None),
        Subject("nbtree", "lineitem_nbtree", "btree"),
        Subject(label, "lineitem_" + label.replace(" ", "_"), access_method),
    )


def load_companions(connection, data):
    """Loads the tables that the queries join with; they have no indexes."""
    for name, columns in (("orders", ORDERS_COLUMNS), ("part", PART_COLUMNS)):
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.execute(f"COPY {name} FROM '{data}/{name}.tbl' (DELIMITER '|')")
    # Some days, one of them twice, one null, and two without shipments.
    connection.execute("CREATE TABLE days (number integer, day date)")
    connection.execute(
        """
        INSERT INTO days
        SELECT i, date '1992-01-20' + i * 61 FROM generate_series(1, 40) AS i
        UNION ALL VALUES
            (41, date '1995-06-17'), (42, date '1995-06-17'), (43, NULL),
            (44, date '1991-12-31'), (45, date '2005-05-05')
        """
    )
    connection.execute("VACUUM (ANALYZE) orders, part, days")


def load(connection, subject, data, bar):
    """Loads the table of a subject anew, and notes time and WAL."""
    connection.execute(f"DROP TABLE IF EXISTS {subject.table}")
    connection.execute(f"CREATE TABLE {subject.table} ({LINEITEM_COLUMNS})")
    for column in subject.indexes() and INDEXED_COLUMNS:
        connection.execute(
            f"CREATE INDEX {subject.index(column)} ON {subject.table} "
            f"USING {subject.access_method} ({column})"
        )
    # Each load pays for its own full-page images, and not for the writes of another.
    connection.execute("CHECKPOINT")

    wal_before = wal_position(connection)
    begin = time.perf_counter()
    with CopyProgress(connection, bar):
        connection.execute(
            f"COPY {subject.table} FROM '{data}/lineitem.tbl' (DELIMITER '|')"
        )
    seconds = time.perf_counter() - begin
    wal_bytes = wal_position(connection) - wal_before

    subject.load_seconds.append(seconds)
    subject.load_wal_bytes.append(wal_bytes)
    bar.advance()


def load_all(connection, subjects, data, rounds):
    """Loads every table once a round, in another order each time."""
    with Bar("COPY", rounds * len(subjects)) as bar:
        for number in range(rounds):
            first = number % len(subjects)
            for subject in subjects[first:] + subjects[:first]:
                load(connection, subject, data, bar)
    print(
        "medians: " + "; ".join(
            f"{subject.label} {subject.seconds():.2f} s and "
            f"{subject.wal_megabytes():.0f} MB of WAL" for subject in subjects
        ),
        flush=True,
    )
    for subject in subjects:
        # Index-only scans need the visibility map, the planner statistics.
        connection.execute(f"VACUUM (FREEZE, ANALYZE) {subject.table}")


def wal_position(connection):
    return connection.execute(
        "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
    ).fetchone()[0]


def size_megabytes(connection, relation):
    return (
        connection.execute("SELECT pg_relation_size(%s::regclass)", [relation])
        .fetchone()[0]
        / MEGABYTE
    )


class CopyProgress:
    """Shows on a bar how far the COPY of another connection is."""

    def __init__(self, copying_connection, bar):
        self.backend = copying_connection.info.backend_pid
        self.bar = bar
        self.finished = threading.Event()
        self.thread = None

    def __enter__(self):
        if self.bar.shown:
            self.thread = threading.Thread(target=self.show)
            self.thread.start()

    def __exit__(self, *exception):
        self.finished.set()
        if self.thread is not None:
            self.thread.join()

    def show(self):
        with psycopg.connect("", autocommit=True) as connection:
            while not self.finished.wait(0.2):
                row = connection.execute(
                    "SELECT bytes_processed::float8 / nullif(bytes_total, 0) "
                    "FROM pg_stat_progress_copy WHERE pid = %s",
                    [self.backend],
                ).fetchone()
                if row is not None and row[0] is not None:
                    self.bar.draw(row[0])
