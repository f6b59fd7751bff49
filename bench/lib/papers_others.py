"""The figures of the preprint OSM-tree that SWARE has not, and of other papers."""

from papers_figure import (
    DEGREES, PHASE, each, figure, percent, pick, span,
)


@figure(
    "osm-table-1", "OSM-tree Table 1", "nodes",
    loads="bench/ingestion --rows {1000000} --rounds 1 --vary sware.staging_size={160:64}kB,16MB",
)
def nodes(page, loads):
    paper = {"sorted": "0.52", "near-sorted": "0.60", "less-sorted": "1.01"}
    page.table(
        ["", "paper: nodes, of the B+-tree's", "1 %: pages, of nbtree's", "16 MB", "nbtree, pages"],
        [
            [
                d, paper.get(d),
                *(pick(loads, degree=d, subject=ending)["ratio_of_size"]
                  for ending in ("kB", "16MB")),
                int(pick(loads, degree=d, subject="16MB")["nbtree_index_bytes"] / 8192),
            ]
            for d in DEGREES
        ],
    )
    return each(
        [pick(loads, degree=d, subject="kB")["ratio_of_size"] for d in DEGREES[:3]], 2
    )


def tell_ycsb(page, rows, workloads, figures):
    """A table of some figures by workload, for each order of keys and of requests."""
    cases = list(dict.fromkeys((row["order"], row["requests"]) for row in rows))
    for figure_, title in figures:
        page.table(
            [title, *workloads],
            [
                [
                    f"{order} keys, {requests}",
                    *(pick(rows, order=order, requests=requests, workload=one)[figure_]
                      for one in workloads),
                ]
                for order, requests in cases
            ],
        )


SPEED = ("ratio", "sware's throughput / nbtree's")
PROCESSOR = (PHASE, "nbtree's processor time / sware's")
READS = (
    ("nbtree_kilobytes_read", "nbtree: kB read an operation"),
    ("compared_kilobytes_read", "sware: kB read an operation"),
)


def by_workload(rows, workloads, figure_, digits=1):
    return "; ".join(
        f"{one} {span([row[figure_] for row in rows if row['workload'] == one], digits)}"
        for one in workloads
    )


@figure(
    "ycsb", "TreeLine, in memory", "YCSB's workloads A to F, in memory",
    ycsb="""bench/ycsb --rows {500000} --seconds 1 --rounds {rounds}
        --requests zipfian,latest --setting synchronous_commit=off""",
)
def ycsb(page, ycsb):
    tell_ycsb(page, ycsb, "ABCDEF", (SPEED, PROCESSOR))
    page.copy_chart(ycsb)
    return by_workload(ycsb, "ABCDEF", PHASE)


# Memory a third of the records, which have 64 and 1024 bytes, keys of 8 bytes included.
THIRD = """bench/ycsb --limit 48MB --times 3 --order hashed --seconds 3 --settle 3
    --rounds {rounds} --setting synchronous_commit=off --record-cache 12MB"""


def tell_reads(page, short, without):
    """What a record cache saves of what is read: the paper's figures, and sware's."""

    def share(mine, other, workload):
        rows = [pick(rows, requests="zipfian", workload=workload) for rows in (mine, other)]
        whose = "nbtree" if other is mine else "compared"
        return rows[0]["compared_kilobytes_read"] / rows[1][f"{whose}_kilobytes_read"]

    page.text("What is read, of hashed keys and zipfian requests:")
    page.table(
        ["64 bytes", "A", "B", "C"],
        [
            ["paper: TreeLine / LeanStore", 0.28, None, 0.45],
            ["here: sware / nbtree", *(share(short, short, one) for one in "ABC")],
            ["paper: with / without record cache, 1024 bytes, mean of A to D and F", 0.32,
             0.32, 0.32],
            ["here: with / without record cache", *(share(short, without, one) for one in "ABC")],
        ],
    )


@figure(
    "treeline-5", "TreeLine 5, 8", "YCSB's points, memory a third of the records",
    short=f"{THIRD} --bytes 56 --workloads A,B,C,D,F --requests zipfian,uniform",
    long=f"{THIRD} --bytes 1016 --workloads A,B,C,D,F --requests zipfian,uniform",
    without="""bench/ycsb --limit 48MB --times 3 --order hashed --seconds 3 --settle 3
        --rounds {rounds} --setting synchronous_commit=off --bytes 56
        --workloads A,B,C --requests zipfian""",
)
def points(page, short, long, without):
    for title, rows, workloads in (
        ("Records of 64 bytes, record cache a quarter of the memory:", short, "ABCDF"),
        ("Records of 1024 bytes:", long, "ABCDF"),
        ("Records of 64 bytes, no record cache:", without, "ABC"),
    ):
        page.text(title)
        tell_ycsb(page, rows, workloads, (SPEED, *READS))
    tell_reads(page, short, without)
    return "64 bytes: " + by_workload(short, "ABCDF", "ratio")


# TreeLine's figures of Table 4, divided by those of the others.
TABLE_4 = (
    ("64 bytes", "RocksDB", 13.4 / 31.1, 550 / 797, 100 / 42),
    ("64 bytes", "LeanStore", 13.4 / 17.0, 550 / 581, 100 / 56),
    ("1024 bytes", "RocksDB", 75.9 / 147, 1079 / 958, 12 / 5.4),
    ("1024 bytes", "LeanStore", 75.9 / 76.4, 1079 / 155, 12 / 1.7),
)


@figure(
    "treeline-7", "TreeLine 7, Table 4", "YCSB's scans, memory a third of the records",
    short=f"{THIRD} --bytes 56 --workloads E --requests zipfian,uniform",
    long=f"{THIRD} --bytes 1016 --workloads E --requests zipfian,uniform",
)
def scans(page, short, long):
    cases = [
        (f"{title}, {requests}", found, {"requests": requests})
        for title, found in (("64 bytes", short), ("1024 bytes", long))
        for requests in ("zipfian", "uniform")
    ]
    rows = []
    for title, found, wanted in cases:
        row = pick(found, **wanted)
        megabytes = [
            row[f"{who}_kilobytes_read"] * row[f"{who}_per_second"] / 1024
            for who in ("nbtree", "compared")
        ]
        rows.append([
            title, row["ratio"], row["nbtree_kilobytes_read"],
            row["compared_kilobytes_read"], *megabytes,
            row["nbtree_per_second"], row["compared_per_second"],
        ])
    page.table(
        [
            "E", "sware's throughput / nbtree's", "nbtree: kB read a scan", "sware",
            "nbtree: MB read a second", "sware", "nbtree: scans a second", "sware",
        ],
        rows,
    )
    page.table(
        ["Table 4: uniform requests (the paper by 16 threads)", "read", "read a second", "scans a second"],
        [
            [f"{title}: paper, TreeLine / {other}", *figures]
            for title, other, *figures in TABLE_4
        ] + [
            [f"{title}: here, sware / nbtree", row[3] / row[2], row[5] / row[4], row[7] / row[6]]
            for title, row in (("64 bytes", rows[1]), ("1024 bytes", rows[3]))
        ],
    )
    return each([row[1] for row in rows], 2)


# QuIT: what the authors' prototype counted with the same 100,000 keys, by K and L: the
# percentage of inserts into its expected leaf, and into the last leaf of a B+-tree.
QUIT = {
    (0, 0): (100, 100), (1, 100): (99.1, 96.8), (5, 5): (96.5, 97.7),
    (5, 100): (93.0, 12.0), (10, 5): (84.0, 95.3), (10, 100): (86.8, 6.2),
    (25, 25): (69.2, 8.2), (25, 100): (70.9, 3.6), (50, 100): (45.6, 2.7),
}


@figure(
    "quit", "QuIT", "inserts without a descent",
    rows="bench/phases --without-nbtree --rows {100000} --setting sware.enable_buffer=off "
    + " ".join(f"--degree {'sorted' if k == 0 else f'{k},{l}'}" for k, l in QUIT),
)
def quit_leaf(page, rows):
    ours = {
        (row["k"], row["l"]): row["value"] for row in rows
        if row["figure"] == "without descent, of 100 rows"
    }
    page.table(
        [
            "K, L", "QuIT's prototype, 100,000 keys: into its expected leaf",
            "its B+-tree: into the last leaf", "sware: without a descent",
        ],
        [
            [f"{k}, {l}", f"{quit:.1f} %", f"{tail:.1f} %", f"{ours[k, l]:.1f} %"]
            for (k, l), (quit, tail) in QUIT.items()
        ],
    )
    return f"(5, 5) {ours[5, 5]:.0f} %, (25, 25) {ours[25, 25]:.0f} %"


@figure(
    "bliss", "BLISS", "inserts, mixes and look-ups by K and L",
    rows="""bench/access_method/run --rows {400000} --rounds {rounds} --preloaded 40
        --workload insert,50:50,point --degree sorted --degree 3,10 --degree 5,10
        --degree 10,10 --degree 25,25 --degree scrambled""",
)
def bliss(page, rows):
    names = list(dict.fromkeys(row["degree"] for row in rows))
    page.table(
        ["nbtree's time / sware's", "inserts", "inserts and look-ups", "look-ups"],
        [
            [name, *(pick(rows, degree=name, workload=what)[PHASE]
                     for what in ("insert", "50:50", "point"))]
            for name in names
        ],
    )
    return "inserts " + each(
        [pick(rows, degree=name, workload="insert")[PHASE] for name in names]
    )
