"""Tables, indexes and transactions in the manner of TPC-B and TPC-C."""

import dataclasses
import os
import subprocess

import server

DISTRICTS = 10
CUSTOMERS = 3000  # of a district, who have as many orders at first
ITEMS = 20_000  # fewer than TPC-C has
LINES = 5  # of an order, the fewest of TPC-C

TPCB_TABLES = tuple(
    f"pgbench_{name}" for name in ("branches", "tellers", "accounts", "history")
)
TPCC_TABLES = (
    "warehouse", "district", "customer", "stock", "orders", "order_line", "history",
)


@dataclasses.dataclass
class Workload:
    """The tables, the indexes that are measured, and the script of a transaction."""

    tables: tuple
    indexes: list
    script: str


def make(chosen, place, connection, subject, name):
    """Makes tables and indexes of a workload, and vacuums them."""
    maker = Maker(chosen, connection, subject)
    if name == "tpcc":
        tables = TPCC_TABLES
        script = make_tpcc(maker)
    else:
        tables = TPCB_TABLES
        script = make_tpcb(maker, place, with_keys=name == "tpcb-all")
    server.execute(connection, "VACUUM ANALYZE")
    return Workload(tables, maker.indexes, script)


class Maker:
    """Makes indexes of what is measured, and keeps their names."""

    def __init__(self, chosen, connection, subject):
        self.chosen = chosen
        self.connection = connection
        self.subject = subject
        self.indexes = []

    def execute(self, *commands):
        for command in commands:
            server.execute(self.connection, command)

    def index(self, table, columns, unique=False):
        # Leaves that are made later are as full as usual.
        options = dict(self.subject.options)
        usual = options.pop("fillfactor", None)
        options["fillfactor"] = self.chosen.fillfactor
        listed = ", ".join(f"{key} = '{value}'" for key, value in options.items())
        name = f"measured_{len(self.indexes)}"
        self.execute(
            f"CREATE {'UNIQUE ' if unique else ''}INDEX {name} ON {table} "
            f"USING {self.subject.access_method} ({columns}) WITH ({listed})",
            f"ALTER INDEX {name} RESET (fillfactor)" if usual is None
            else f"ALTER INDEX {name} SET (fillfactor = {usual})",
        )
        self.indexes.append(name)


def make_tpcb(maker, place, with_keys):
    scale, history = maker.chosen.scale, maker.chosen.history
    finished = subprocess.run(
        [
            place.programs / "pgbench", "--initialize", "--quiet", f"--scale={scale}",
            f"--init-steps=dtG{'' if with_keys else 'p'}",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"PGHOST": place.host},
    )
    if finished.returncode != 0:
        raise RuntimeError(f"pgbench failed:\n{finished.stdout}")
    if with_keys:
        for table, column in (("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")):
            maker.index(f"pgbench_{table}", column, unique=True)
    maker.execute(
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
        f"SELECT 1, 1, 1 + (hashint8extended(i, 0) & 2147483647) % {100_000 * scale}, 0, "
        f"timestamp '2024-01-01' + i * interval '1 ms' FROM generate_series(1, {history}) i"
    )
    maker.index("pgbench_history", "aid, mtime")
    # pgbench's own tpcb-like script, but for the name of the variables of the scale
    return f"""\\set aid random(1, {100_000 * scale})
\\set bid random(1, {scale})
\\set tid random(1, {10 * scale})
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""


def make_tpcc(maker):
    warehouses = maker.chosen.scale
    districts = (
        f"generate_series(1, {warehouses}) w, generate_series(1, {DISTRICTS}) d"
    )
    maker.execute(
        "CREATE TABLE warehouse (w int PRIMARY KEY, ytd int) WITH (fillfactor = 10)",
        f"INSERT INTO warehouse SELECT w, 0 FROM generate_series(1, {warehouses}) w",
        "CREATE TABLE district (w int, d int, next int, ytd int, PRIMARY KEY (w, d)) "
        "WITH (fillfactor = 10)",
        f"INSERT INTO district SELECT w, d, {CUSTOMERS + 1}, 0 FROM {districts}",
        "CREATE TABLE customer (w int, d int, c int, balance int, data char(400))",
        f"INSERT INTO customer SELECT w, d, c, 0, '' FROM {districts}, "
        f"generate_series(1, {CUSTOMERS}) c",
        "CREATE TABLE stock (w int, i int, quantity int, data char(280))",
        f"INSERT INTO stock SELECT w, i, 50, '' FROM generate_series(1, {warehouses}) w, "
        f"generate_series(1, {ITEMS}) i",
        "CREATE TABLE orders (w int, d int, o int, c int, made timestamptz)",
        # A district's customers have ordered in another order than that of their numbers.
        f"INSERT INTO orders SELECT w, d, o, 1 + o * 1009 % {CUSTOMERS}, now() "
        f"FROM {districts}, generate_series(1, {CUSTOMERS}) o",
        "CREATE TABLE order_line (w int, d int, o int, n int, i int, info char(24))",
        f"INSERT INTO order_line SELECT w, d, o, n, 1 + (o * 7919 + n) % {ITEMS}, '' "
        f"FROM {districts}, generate_series(1, {CUSTOMERS}) o, "
        f"generate_series(1, {LINES}) n",
        "CREATE TABLE history (w int, d int, c int, amount int, made timestamptz)",
    )
    maker.index("customer", "w, d, c", unique=True)
    maker.index("stock", "w, i", unique=True)
    maker.index("orders", "w, d, o", unique=True)
    maker.index("orders", "w, d, c, o", unique=True)
    maker.index("order_line", "w, d, o, n", unique=True)
    items = f"1 + (:item + n * 7919) % {ITEMS}"
    return f"""\\set w random(1, {warehouses})
\\set d random(1, {DISTRICTS})
\\set c random(1, {CUSTOMERS})
\\set item random(0, {ITEMS - 1})
\\set amount random(1, 5000)
\\set kind random(1, 2)
BEGIN;
\\if :kind = 1
SELECT balance FROM customer WHERE w = :w AND d = :d AND c = :c;
UPDATE district SET next = next + 1 WHERE w = :w AND d = :d
RETURNING next - 1 AS o \\gset
INSERT INTO orders VALUES (:w, :d, :o, :c, now());
INSERT INTO order_line SELECT :w, :d, :o, n, {items}, ''
FROM generate_series(1, {LINES}) n;
UPDATE stock SET quantity = quantity - 1
WHERE w = :w AND i = ANY (ARRAY(SELECT {items} FROM generate_series(1, {LINES}) n));
\\else
UPDATE warehouse SET ytd = ytd + :amount WHERE w = :w;
UPDATE district SET ytd = ytd + :amount WHERE w = :w AND d = :d;
UPDATE customer SET balance = balance - :amount WHERE w = :w AND d = :d AND c = :c;
INSERT INTO history VALUES (:w, :d, :c, :amount, now());
\\endif
END;
"""
