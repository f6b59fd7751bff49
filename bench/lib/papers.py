"""Which commands repeat each figure of the papers, and what is told of their results.

A figure has commands, by names. In their text, {1000000} is a number of rows or a size
that belongs to it, which --scale multiplies; {160:64} is never below 64. The function of
a figure gets the rows of each command's CSV file, writes a page, and returns what the
overview says. Figures that have a command in common run it once.
"""

import papers_doc
import papers_run

MIXES = ("10:90", "25:75", "50:50", "75:25", "90:10")
RATIO = "ratio_of_processor_time"
DEGREES = ("sorted", "near-sorted", "less-sorted", "scrambled")

# In the order in which they are measured, by name.
FIGURES = {}


def figure(name, label, title, **commands):
    """Makes the function that follows a figure."""

    def add(tell):
        FIGURES[name] = papers_run.Figure(name, label, title, commands, tell)
        return tell

    return add


def pick(rows, **wanted):
    """The row that has these values; that of the subject may be its end."""

    def has(row, name, value):
        return row[name].endswith(value) if name == "subject" else row[name] == value

    found = [row for row in rows if all(has(row, *one) for one in wanted.items())]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} rows have {wanted}")
    return found[0]


def span(values, digits=2):
    """The lowest and the highest of figures, as text."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = min(known), max(known)
    if f"{low:.{digits}f}" == f"{high:.{digits}f}":
        return f"{low:.{digits}f}"
    return f"{low:.{digits}f} to {high:.{digits}f}"


def each(values, digits=1):
    """Figures in a row, as text."""
    return ", ".join("-" if v is None else f"{v:.{digits}f}" for v in values)


def subjects_of(rows):
    return list(dict.fromkeys(row["subject"] for row in rows))


# SWARE: figures 10 and 11. One transaction, as the paper knows none; the smaller memory
# is its 1 % of all entries.
LOADED = """bench/ingestion --rows {2000000} --rounds {rounds}
    --vary sware.staging_size={312:64}kB,16MB"""


@figure(
    "10", "SWARE 10", "ingestion by degree of sortedness",
    calls="""bench/access_method/run --rows {2000000} --workload insert
        --operations {2000000} --rounds {rounds}
        --vary sware.staging_size={312:64}kB,16MB""",
    copy=LOADED,
)
def ingestion(page, calls, copy):
    paper = ("8.8", "5", "1.25", "0.8")
    small, large = subjects_of(calls)
    columns = {
        "calls, 1 %": [pick(calls, degree=d, subject=small)[RATIO] for d in DEGREES],
        "calls, 16 MB": [pick(calls, degree=d, subject=large)[RATIO] for d in DEGREES],
    } | {
        f"COPY, {name}": [
            pick(copy, degree=d, subject=subject)["ratio_of_processor_cost"]
            for d in DEGREES
        ]
        for name, subject in (("1 %", small), ("16 MB", large))
    }
    page.table(
        ["times as fast as the B+-tree", "paper", *columns],
        [
            [degree, paper[i], *(values[i] for values in columns.values())]
            for i, degree in enumerate(DEGREES)
        ],
    )
    values = {"paper": [float(text) for text in paper]} | columns
    page.bars([("ingestion", "times as fast as the B+-tree", list(DEGREES), values)])
    return each(columns["calls, 1 %"])


@figure("11", "SWARE 11", "share of top-inserts", copy=LOADED)
def top_inserts(page, copy):
    small, large = subjects_of(copy)
    rows = []
    for degree in DEGREES:
        row = [degree, "about 4 %" if degree == "near-sorted" else "-"]
        for subject in (small, large):
            one = pick(copy, degree=degree, subject=subject)
            row += [
                f"{papers_doc.cell(one[figure])} %"
                for figure in ("entries_inserted_of_100", "leaf_visits_of_100")
            ]
        rows.append(row)
    page.table(
        [
            "", "paper: inserted from the top", "1 %: entries merged into leaves",
            "visits of leaves an entry", "16 MB: entries merged", "visits",
        ],
        rows,
    )
    near = pick(copy, degree="near-sorted", subject=small)
    return (
        f"{near['entries_inserted_of_100']:.0f} % merged into leaves, "
        f"{near['leaf_visits_of_100']:.1f} descents for 100 entries"
    )


# SWARE: figure 12, after all keys were inserted in transactions of 10,000. The buffer
# has 1 % of the entries where it is full.
FULL = "--with buffer_size={160:64} --full-buffer --rounds {rounds}"


@figure(
    "12a", "SWARE 12a", "mixes of inserts and look-ups",
    mixed="""bench/access_method/run --rows {1000000} --rounds {rounds}
        --workload 10:90,25:75,50:50,75:25,90:10""",
)
def mixes(page, mixed):
    paper = {"10:90": "9.2", "90:10": "1.4"}
    ratios = {
        degree: [pick(mixed, degree=degree, workload=mix)[RATIO] for mix in MIXES]
        for degree in DEGREES
    }
    page.table(
        ["reads:writes", "paper, sorted", *DEGREES],
        [
            [mix, paper.get(mix), *(values[i] for values in ratios.values())]
            for i, mix in enumerate(MIXES)
        ],
    )
    share = [int(mix.split(":")[0]) for mix in MIXES]
    page.lines([
        ("mixes", "look-ups, %", "times as fast as nbtree",
         {degree: (share, values) for degree, values in ratios.items()}),
    ])
    return f"sorted {each(ratios['sorted'][::4])}; near-sorted {each(ratios['near-sorted'][::4])}"


@figure(
    "12b", "SWARE 12b", "look-ups with a full buffer",
    reads=f"bench/access_method/run --rows {{1000000}} --workload full {FULL}",
    large="bench/access_method/run --rows {1000000} --workload point --rounds {rounds}",
    none="""bench/access_method/run --rows {1000000} --workload point --with buffer_size=0
        --rounds {rounds}""",
)
def look_ups(page, reads, large, none):
    page.table(
        [
            "nbtree's time / sware's", "paper", "full buffer, 1 %", "default buffer, 16 MB",
            "no buffer", "pages of the index a look-up, full", "nbtree",
        ],
        [
            [
                degree, "0.79 to 0.95", pick(reads, degree=degree)[RATIO],
                pick(large, degree=degree)[RATIO], pick(none, degree=degree)[RATIO],
                pick(reads, degree=degree)["compared_blocks"],
                pick(reads, degree=degree)["nbtree_blocks"],
            ]
            for degree in DEGREES
        ],
    )
    return span([row[RATIO] for row in reads])


@figure(
    "12c", "SWARE 12c", "ranges with a full buffer",
    reads=f"bench/access_method/run --rows {{1000000}} --workload short,long {FULL}",
)
def ranges(page, reads):
    page.table(
        ["nbtree's time / sware's", "paper", "100 keys", "10,000 keys"],
        [
            [
                degree, "1.03 to 1.14",
                *(pick(reads, degree=degree, workload=w)[RATIO] for w in ("short", "long")),
            ]
            for degree in DEGREES
        ],
    )
    return span([row[RATIO] for row in reads])


@figure(
    "12d", "SWARE 12d", "ranges by selectivity",
    reads=f"""bench/access_method/run --rows {{1000000}} --degree near-sorted
        --workload 0.01%,0.1%,1%,10% {FULL}""",
)
def selectivity(page, reads):
    page.table(
        [
            "share of the keys", "nbtree's time / sware's", "P50", "P95", "P99",
            "nbtree's P95, µs", "sware's", "nbtree's P99, µs", "sware's",
        ],
        [
            [
                row["workload"].replace("%", " %"), row[RATIO],
                *(row[f"nbtree_{p}"] / row[f"compared_{p}"] for p in ("p50", "p95", "p99")),
                *(row[f"{who}_{p}"] for p in ("p95", "p99") for who in ("nbtree", "compared")),
            ]
            for row in reads
        ],
    )
    shares = [float(row["workload"].rstrip("%")) for row in reads]
    page.lines(
        [
            ("near-sorted, full buffer", "share of the keys, %", "nbtree's time / sware's", {
                p: (shares, [row[f"nbtree_{p}"] / row[f"compared_{p}"] for row in reads])
                for p in ("p50", "p95", "p99")
            })
        ],
        logarithmic=True,
    )
    return span([row[RATIO] for row in reads])


@figure(
    "table-3", "SWARE Table III", "mixes by size of the buffer, keys like TPC-H's",
    sizes="""bench/buffer_sizes --rows {3000000} --degree 96.67,0.1 --rounds {rounds}""",
)
def buffer_sizes(page, sizes):
    paper = {
        "10:90": (1.63, 2.60, 2.88, 4.46, 5.28), "25:75": (1.54, 2.40, 2.49, 3.62, 4.57),
        "50:50": (1.56, 2.07, 2.82, 3.21, 3.40), "75:25": (1.25, 1.65, 1.72, 2.09, 2.01),
        "90:10": (1.14, 1.24, 1.28, 1.42, 1.41),
    }
    percentages = (0.05, 0.1, 0.25, 0.5, 1)
    names = list(dict.fromkeys(row["buffer"] for row in sizes))

    def ratio(mix, beginning):
        found = [name for name in names if name.startswith(beginning)]
        if not found:
            return None
        return pick(sizes, mix=mix, buffer=found[0])[RATIO]

    page.table(
        [
            "reads:writes", *(f"{p} %: paper" if i == 0 else "here"
                              for p in percentages for i in (0, 1)), "default",
        ],
        [
            [
                mix,
                *(value for p, theirs in zip(percentages, paper[mix])
                  for value in (theirs, ratio(mix, f"{p} %,"))),
                ratio(mix, "default"),
            ]
            for mix in MIXES
        ],
    )
    return "1 %: " + each([ratio(mix, "1 %,") for mix in MIXES], 2)


@figure(
    "osm-grid", "OSM-tree, L × K", "ingestion by K and L",
    grid="""bench/ingestion --rows {300000} --rounds {rounds}
        --grid 1,5,10,50,100/1,5,10,25,50""",
)
def grid(page, grid):
    ks, ls = (sorted({row[name] for row in grid}) for name in ("k", "l"))
    ratios = [[pick(grid, k=k, l=l)["ratio_of_processor_cost"] for l in ls] for k in ks]  # noqa: E741
    page.table(
        ["net ratio of processor time", *(f"L = {l:g} %" for l in ls)],  # noqa: E741
        [[f"K = {k:g} %", *row] for k, row in zip(ks, ratios)],
    )
    page.copy_chart(grid)
    return span([value for row in ratios for value in row], 1)


@figure(
    "osm-degrees", "OSM-tree, nodes", "degrees (5, 5) and (50, 50), and sizes",
    loads="""bench/ingestion --rows {1000000} --rounds {rounds} --degree sorted
        --degree near-sorted --degree 5,5 --degree 50,50 --degree less-sorted
        --degree scrambled""",
)
def degrees(page, loads):
    paper = {"sorted": "0.52", "near-sorted": "0.6"}
    page.table(
        [
            "K, L", "net ratio", "of processor time", "paper: nodes, of the B+-tree's",
            "pages, of nbtree's", "nbtree, pages", "sware, pages",
        ],
        [
            [
                row["degree"], row["ratio_of_net_cost"], row["ratio_of_processor_cost"],
                paper.get(row["degree"]), row["ratio_of_size"],
                int(row["nbtree_index_bytes"] / 8192),
                int(row["compared_index_bytes"] / 8192),
            ]
            for row in loads
        ],
    )
    sizes = {row["degree"]: row["ratio_of_size"] for row in loads}
    return f"{sizes['sorted']:.2f} sorted, {sizes['near-sorted']:.2f} near-sorted"


# SWARE: figures 13 and 17 to 20, Table II, and topics whose figures are not known.


@figure(
    "13", "SWARE 13", "phases of ingestion",
    load="bench/phases --rows {200000} --setting sware.staging_size=64kB",
)
def phases(page, load):
    names = [
        row["figure"] for row in load
        if (row["degree"], row["subject"]) == ("sorted", "sware")
        and "of 100" not in row["figure"]
    ]

    def value(degree, subject, name):
        return pick(load, degree=degree, subject=subject, figure=name)["value"]

    page.table(
        ["instructions a row", "nbtree", *(f"sware: {name}" for name in names)],
        [
            [
                degree, value(degree, "nbtree", "the index"),
                *(value(degree, "sware", name) for name in names),
            ]
            for degree in DEGREES
        ],
    )
    parts = [name for name in names if name != "the index"]
    panel = {name: [value(degree, "sware", name) for degree in DEGREES] for name in parts}
    page.bars([("sware", "instructions a row", list(DEGREES), panel)])
    near = {name: value("near-sorted", "sware", name) for name in names}
    return ", ".join(
        f"{name} {100 * near[name] / near['the index']:.0f} %"
        for name in ("sorting", "appending", "merging")
    )


# A buffer of 6.5 % of the entries, so that what a look-up does there shows.
SEARCHED = """bench/access_method/run --rows {1000000} --degree near-sorted
    --degree scrambled --workload full,90:10 --operations 100
    --with buffer_size={1024:64} --rounds {rounds}"""


@figure(
    "17", "SWARE 17", "filters off, zones off",
    filters=f"{SEARCHED} --vary bloom_bits=10,0",
    threshold=f"{SEARCHED} --vary sort_threshold=1,10,100",
)
def filters(page, filters, threshold):
    cases = [(d, w) for d in ("near-sorted", "scrambled") for w in ("full", "90:10")]

    def ratios(rows, ending):
        return [
            pick(rows, degree=degree, workload=workload, subject=ending)[RATIO]
            for degree, workload in cases
        ]

    table = {
        "default": ratios(filters, "=10"),
        "no filters": ratios(filters, "=0"),
        "default, measured with the next two": ratios(threshold, "=10"),
        "sorted above 1 % unsorted": ratios(threshold, "=1"),
        "never sorted: no sorted zones": ratios(threshold, "=100"),
    }
    page.table(
        ["nbtree's time / sware's", *(
            f"{degree}, {'full buffer' if workload == 'full' else workload}"
            for degree, workload in cases
        )],
        [[title, *values] for title, values in table.items()],
    )
    first, no_filters, second, _, never = table.values()
    sorting = [a / b for a, b in zip(second, never)]
    gains = [100 * (a / b - 1) for a, b in zip(first, no_filters)]
    return (
        f"sorted zones make reads {span(sorting, 0)} times as fast; "
        f"filters gain {span(gains, 0)} %"
    )


@figure(
    "18", "SWARE 18", "an index larger than memory",
    inserts="""bench/larger --limit 48MB --times 4 --rounds 2 --rows 200000
        --plain-rows 40000 --inserts-only --setting synchronous_commit=off""",
)
def larger(page, inserts):
    return tell_larger(page, inserts)


@figure(
    "20", "SWARE 20", "messages in company: the Bε-tree's experiment",
    inserts="""bench/larger --limit 80MB --times 4 --with buffer_size=32768 --rounds 2
        --rows 700000 --plain-rows 60000 --inserts-only
        --setting synchronous_commit=off""",
)
def company(page, inserts):
    return tell_larger(page, inserts)


def tell_larger(page, inserts):
    wanted = (
        "rows a second", "WAL of the index, B a row", "written for the index, B a row",
        "read for the index, B a row", "whole run, rows a second",
        "entries of a visit of a leaf",
    )
    rows = {name: pick(inserts, figure=name) for name in wanted}
    page.table(
        ["", "nbtree", "sware", "sware / nbtree"],
        [
            [name, row["nbtree"], row["compared"], row["share"]]
            for name, row in rows.items()
        ],
    )
    return (
        f"{rows['rows a second']['share']:.1f}; "
        f"{rows['whole run, rows a second']['share']:.1f} with all flushed"
    )


def scaled_reads(rows, kilobytes):
    return f"""bench/access_method/run --rows {{{rows}}} --workload insert,full,point
        --degree near-sorted --with buffer_size={{{kilobytes}:64}} --rounds {{rounds}}"""


@figure(
    "19", "SWARE 19, Table II", "scale, and pages read by a look-up",
    small=scaled_reads(500_000, 80), middle=scaled_reads(1_000_000, 160),
    large=scaled_reads(2_000_000, 320), largest=scaled_reads(4_000_000, 640),
)
def scale(page, **sizes):
    ratios = {
        what: [pick(rows, workload=what)[RATIO] for rows in sizes.values()]
        for what in ("insert", "full", "point")
    }
    counts = [int(pick(rows, workload="insert")["operations"]) for rows in sizes.values()]
    pages = [pick(rows, workload="full") for rows in sizes.values()]
    page.table(
        [
            "keys", "inserts", "look-ups, full buffer", "look-ups after the load",
            "pages a look-up, full buffer", "nbtree",
        ],
        [
            [
                count, *(values[i] for values in ratios.values()),
                pages[i]["compared_blocks"], pages[i]["nbtree_blocks"],
            ]
            for i, count in enumerate(counts)
        ],
    )
    titles = {"insert": "inserts", "full": "look-ups, full", "point": "look-ups after the load"}
    page.lines(
        [("near-sorted, buffer of 1 %", "keys", "nbtree's time / sware's", {
            titles[what]: (counts, values) for what, values in ratios.items()
        })],
        logarithmic=True,
    )
    return f"inserts {each(ratios['insert'])}; {pages[-1]['compared_blocks']:.2f} pages a look-up"


@figure(
    "flush", "SWARE, flush", "the share of a flush, and the size of the buffer",
    share="""bench/access_method/run --rows {1000000} --operations {1000000}
        --degree near-sorted --degree less-sorted --workload insert --rounds {rounds}
        --setting sware.staging_size={160:64}kB --vary flush_fraction=25,50,75,100""",
    size="""bench/access_method/run --rows {2000000} --operations {2000000}
        --degree near-sorted --degree less-sorted --workload insert --rounds {rounds}
        --vary sware.staging_size=64kB,{160:72}kB,{320:80}kB,{800:96}kB,{1600:128}kB""",
)
def flush(page, share, size):
    for rows, what in ((share, "a flush takes"), (size, "memory for entries")):
        page.table(
            [f"nbtree's time / sware's; {what}", *(
                name.rpartition("=")[2] + (" %" if rows is share else "")
                for name in subjects_of(rows)
            )],
            [
                [degree, *(pick(rows, degree=degree, subject=name)[RATIO]
                           for name in subjects_of(rows))]
                for degree in ("near-sorted", "less-sorted")
            ],
        )
    return "near-sorted: " + each(
        [row[RATIO] for row in share if row["degree"] == "near-sorted"]
    )


@figure(
    "splits", "SWARE, Table I", "how many pages splits make",
    loads="""bench/ingestion --rows {500000} --rounds 1 --degree 2,1 --degree 20,10
        --degree 100,50 --setting sware.enable_buffer=off""",
)
def splits(page, loads):
    paper = {"(2,1)": "0.79", "(20,10)": "0.96", "(100,50)": "1.27"}
    rows = [[row["degree"], paper[row["degree"]], row["ratio_of_size"]] for row in loads]
    page.table(
        ["K, L", "paper: splits of 80:20 beside 50:50", "pages, of nbtree's"], rows
    )
    return ", ".join(f"{degree} {share:.2f}" for degree, _, share in rows)


@figure(
    "lineitem", "SWARE, TPC-H", "mixes on the receipt dates of lineitem",
    dates="bench/buffer_sizes --scale 0.2 --buffer-percent 1 --rounds {rounds}",
)
def lineitem(page, dates):
    names = list(dict.fromkeys(row["buffer"] for row in dates))
    page.table(
        ["reads:writes", *names],
        [
            [mix, *(pick(dates, mix=mix, buffer=name)[RATIO] for name in names)]
            for mix in MIXES
        ],
    )
    return each([pick(dates, mix=mix, buffer=names[0])[RATIO] for mix in MIXES])


@figure(
    "ycsb", "TreeLine, YCSB", "YCSB's workloads A to F",
    ycsb="""bench/ycsb --rows {500000} --seconds 1 --rounds {rounds}
        --setting synchronous_commit=off""",
)
def ycsb(page, ycsb):
    cases = list(dict.fromkeys((row["order"], row["requests"]) for row in ycsb))
    for figure, title in (
        ("ratio", "sware's throughput / nbtree's"),
        (RATIO, "nbtree's processor time / sware's"),
    ):
        page.table(
            [title, *"ABCDEF"],
            [
                [
                    f"{order} keys, {requests}",
                    *(pick(ycsb, order=order, requests=requests, workload=one)[figure]
                      for one in "ABCDEF"),
                ]
                for order, requests in cases
            ],
        )
    page.copy_chart(ycsb)
    by_workload = {
        one: [row[RATIO] for row in ycsb if row["workload"] == one] for one in "ABCDEF"
    }
    return "; ".join(f"{one} {span(values, 1)}" for one, values in by_workload.items())


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
        if row["figure"].startswith("without descent")
    }
    page.table(
        [
            "K, L", "QuIT's prototype, 100,000 keys: into its expected leaf",
            "its B+-tree: into the last leaf", "sware: into the expected leaf",
        ],
        [
            [f"{k}, {l}", f"{quit:.1f} %", f"{tail:.1f} %", f"{ours[k, l]:.1f} %"]
            for (k, l), (quit, tail) in QUIT.items()
        ],
    )
    return f"(5, 5) {ours[5, 5]:.0f} %, (25, 25) {ours[25, 25]:.0f} %"


@figure(
    "bliss", "BLISS", "inserts, mixes and look-ups by K and L",
    rows="""bench/access_method/run --rows {500000} --rounds {rounds} --preloaded 40
        --workload insert,50:50,point --degree sorted --degree 3,10 --degree 5,10
        --degree 10,10 --degree 25,25 --degree scrambled""",
)
def bliss(page, rows):
    names = list(dict.fromkeys(row["degree"] for row in rows))
    page.table(
        ["nbtree's time / sware's", "inserts", "inserts and look-ups", "look-ups"],
        [
            [name, *(pick(rows, degree=name, workload=what)[RATIO]
                     for what in ("insert", "50:50", "point"))]
            for name in names
        ],
    )
    return "inserts " + each(
        [pick(rows, degree=name, workload="insert")[RATIO] for name in names]
    )
