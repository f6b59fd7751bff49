"""The figures and tables of the papers on SWARE, in their order.

All keys have the paper's degrees. The private memory of a transaction and the buffer of
the index have the paper's share of the entries each; all is one transaction where the
paper's buffer shall be one.
"""

from papers_figure import (
    DEGREES, MIXES, PHASE, WHOLE, degrees_of, each, figure, percent, pick, span,
    subjects_of,
)

# The paper has no transactions: private memory is its buffer, which is flushed in parts.
ONE = "--operations 1000000000"

# 1 % of 400,000 entries is the least that private memory and a buffer may have.
LEAST = "--with buffer_size={64:64} --setting sware.staging_size={64:64}kB"

# ... and of half a million.
HALF = "--with buffer_size={80:64} --setting sware.staging_size={80:64}kB"


def both(rows, **wanted):
    """The ratios of a row: with the load before it, and without."""
    row = pick(rows, **wanted)
    return row[WHOLE], row[PHASE]


def tell_mixes(page, rows, theirs, subject=""):
    """A table of mixes by degree: of the whole, and of what follows the load."""
    page.table(
        ["reads:writes", *(f"{d}: {what}" for d in DEGREES
                           for what in (["paper"] if d in theirs else []) + ["whole", "phase"])],
        [
            [mix, *(value for d in DEGREES for value in (
                [theirs[d].get(mix)] if d in theirs else []
            ) + [*both(rows, degree=d, workload=mix, subject=subject)])]
            for mix in MIXES
        ],
    )


IN_ONE = f"""bench/access_method/run --rows {{400000}} --rounds {{rounds}} {ONE}
    --workload 10:90,25:75,50:50,75:25,90:10 {LEAST}"""


@figure(
    "10", "SWARE 10", "mixes of inserts and look-ups, by degree",
    small=IN_ONE,
    usual="""bench/access_method/run --rows {400000} --rounds {rounds}
        --workload 10:90,25:75,50:50,75:25,90:10""",
    work="""bench/phases --rows {400000} --mix 10:90,50:50 --degree sorted
        --degree near-sorted --with buffer_size=64 --setting sware.staging_size=64kB""",
)
def mixes(page, small, usual, work):
    theirs = {
        "sorted": {"10:90": "8.8", "90:10": "1.4"},
        "near-sorted": {"10:90": "5", "90:10": "1.3"},
        "less-sorted": {}, "scrambled": dict.fromkeys(MIXES, "0.8"),
    }
    page.text("1 % of the entries, in one transaction:")
    tell_mixes(page, small, theirs)
    page.text("The default memory, 16 MB, in transactions of 10,000 operations:")
    tell_mixes(page, usual, {})
    tell_work(page, work)
    share = [int(mix.split(":")[0]) for mix in MIXES]
    page.lines([
        (title, "look-ups, %", "times as fast as nbtree", {
            degree: (share, [pick(rows, degree=degree, workload=mix)[WHOLE] for mix in MIXES])
            for degree in DEGREES
        })
        for title, rows in (("1 % of the entries", small), ("default memory", usual))
    ])
    return "; ".join(
        f"{degree} " + each(
            [pick(small, degree=degree, workload=mix)[WHOLE] for mix in ("10:90", "90:10")]
        )
        for degree in DEGREES
    )


def tell_work(page, work):
    """Instructions of mixes, by what they are for."""
    columns = [
        (subject, what) for subject, names in (
            ("nbtree", ("an insert", "the look-up")),
            ("sware", ("an insert", "the look-up", "the tree", "its own entries")),
        ) for what in names
    ]
    page.text("Instructions, each, with 1 % of the entries:")
    page.table(
        ["reads:writes", *(f"{subject}: {what}" for subject, what in columns)],
        [
            [f"{degree}, {mix}", *(
                pick(work, degree=degree, mix=mix, subject=subject, figure=what)["value"]
                for subject, what in columns
            )]
            for degree, mix in dict.fromkeys((row["degree"], row["mix"]) for row in work)
        ],
    )


# Figures 11 and 12a to c: L = 5 %.
OVER_K = "--rounds {rounds} --degree sorted --grid 2,10,20,50,100/5"
LOADS = f"""bench/access_method/run --rows {{500000}} {OVER_K} {HALF}
    --workload insert,50:50 {ONE}"""


def name_k(degree):
    return "K = 0" if degree == "sorted" else f"K = {degree[1:].partition(',')[0]} %"


@figure("11", "SWARE 11", "share of top-inserts, over K", loads=LOADS)
def top_inserts(page, loads):
    # The preprint has less than 10 % where its K is 10 % or less, which is 20 % here.
    theirs = {
        "sorted": "0 %", "(2,5)": "below 10 %", "(10,5)": "about 4 %", "(20,5)": "below 10 %",
    }
    rows = [
        [
            name_k(d), theirs.get(d),
            *(percent(pick(loads, degree=d, workload="insert")[f"compared_{what}_of_100"])
              for what in ("merged", "leaf_visits")),
        ]
        for d in degrees_of(loads)
    ]
    page.table(
        ["L = 5 %", "paper: inserted from the top", "entries merged into leaves",
         "visits of leaves an entry"],
        rows,
    )
    near = pick(loads, degree="(10,5)", workload="insert")
    return (
        f"{near['compared_merged_of_100']:.0f} % merged into leaves, "
        f"{near['compared_leaf_visits_of_100']:.1f} descents for 100 entries"
    )


@figure(
    "12a", "SWARE 12a", "inserts, over K", loads=LOADS,
    copy="""bench/ingestion --rows {1000000} --rounds {rounds}
        --vary sware.staging_size={160:64}kB,16MB""",
)
def inserts(page, loads, copy):
    near, far = "5.6 (82 % less)", "1.37 (27 % less)"
    theirs = {
        "sorted": "10 (90 % less)", "(2,5)": near, "(10,5)": near, "(20,5)": near,
        "(50,5)": far, "(100,5)": f"{far}; 1.3 (23 % less)",
    }
    names = degrees_of(loads)
    ratios = [pick(loads, degree=d, workload="insert")[PHASE] for d in names]
    page.table(
        ["L = 5 %, 1 % of the entries", "paper", "calls"],
        [[name_k(d), theirs.get(d), ratio] for d, ratio in zip(names, ratios)],
    )
    small, large = subjects_of(copy)
    page.text("By COPY, and with more memory:")
    page.table(
        ["net processor time of the index", "1 %", "16 MB"],
        [
            [d, *(pick(copy, degree=d, subject=s)["ratio_of_processor_cost"]
                  for s in (small, large))]
            for d in DEGREES
        ],
    )
    return each(ratios)


@figure(
    "12b", "SWARE 12b", "look-ups with a full buffer, over K",
    reads=f"""bench/access_method/run --rows {{1000000}} {OVER_K}
        --with buffer_size={{160:64}} --workload full --reads {{100000}}""",
    without=f"""bench/access_method/run --rows {{1000000}} {OVER_K}
        --workload point --reads {{100000}} --with buffer_size=0""",
)
def look_ups(page, reads, without):
    page.table(
        [
            "nbtree's time / sware's, L = 5 %", "paper", "full buffer of 1 %", "no buffer",
            "entries in the buffer", "pages of the index a look-up", "nbtree",
        ],
        [
            [
                name_k(d), "0.79 to 0.95", pick(reads, degree=d)[PHASE],
                pick(without, degree=d)[PHASE],
                int(pick(reads, degree=d)["compared_buffer_entries"]),
                pick(reads, degree=d)["compared_blocks"],
                pick(reads, degree=d)["nbtree_blocks"],
            ]
            for d in degrees_of(reads)
        ],
    )
    return span([row[PHASE] for row in reads])


@figure("12c", "SWARE 12c", "a mix of 50:50, over K", loads=LOADS)
def even_mix(page, loads):
    # The preprint's near-sorted K are 1, 5 and 10, which are 2, 10 and 20 here.
    theirs = dict.fromkeys(("sorted", "(2,5)", "(10,5)", "(20,5)"), "3.3")
    theirs |= dict.fromkeys(("(50,5)", "(100,5)"), "1.25")
    names = degrees_of(loads)
    page.table(
        ["L = 5 %", "paper", "whole", "phase"],
        [[name_k(d), theirs.get(d), *both(loads, degree=d, workload="50:50")] for d in names],
    )
    return each([pick(loads, degree=d, workload="50:50")[WHOLE] for d in names])


RANGES = """bench/access_method/run --rows {1000000} --degree near-sorted --rounds {rounds}
    --workload 0.01%,0.1%,1%,10% --with buffer_size={160:64} --full-buffer"""


@figure(
    "12d", "SWARE 12d", "ranges by share of the keys",
    reads=RANGES, recent=f"{RANGES} --latest 1 --reads 100",
)
def ranges(page, reads, recent):
    for title, rows in (("ranges anywhere", reads), ("among the latest 1 %", recent)):
        page.table(
            [
                f"near-sorted, full buffer: {title}", "paper, mean", "nbtree's time / sware's",
                "P50", "P95", "P99",
            ],
            [
                [
                    row["workload"].replace("%", " %"),
                    "1.03 to 1.14" if rows is reads else "1.00 to 1.08", row[PHASE],
                    *(row[f"nbtree_{p}"] / row[f"compared_{p}"] for p in ("p50", "p95", "p99")),
                ]
                for row in rows
            ],
        )
    return f"{span([row[PHASE] for row in reads])}; latest {span([row[PHASE] for row in recent])}"


def tell_phases(page, load, degrees):
    """Instructions by phase, nbtree's in the first column; a chart of sware's."""
    names = list(dict.fromkeys(
        row["figure"] for row in load
        if row["subject"] == "sware" and "of 100" not in row["figure"]
    ))

    def value(degree, subject, name):
        return pick(load, degree=degree, subject=subject, figure=name)["value"]

    whole = names[0]
    page.table(
        [f"instructions, {'a row' if whole == 'the index' else 'each'}", "nbtree",
         *(f"sware: {name}" for name in names)],
        [
            [d, value(d, "nbtree", whole), *(value(d, "sware", name) for name in names)]
            for d in degrees
        ],
    )
    panel = {name: [value(d, "sware", name) for d in degrees] for name in names[1:]}
    page.bars([("sware", "instructions", list(degrees), panel)])
    return lambda degree: {name: value(degree, "sware", name) for name in names}


@figure(
    "13a", "SWARE 13a", "phases of inserts",
    load="""bench/phases --rows {400000} --setting sware.staging_size=64kB
        --degree sorted --degree near-sorted --degree less-sorted""",
)
def phases(page, load):
    near = tell_phases(page, load, DEGREES[:3])("near-sorted")
    return ", ".join(
        f"{name} {100 * near[name] / near['the index']:.0f} %"
        for name in ("sorting", "appending", "merging")
    )


@figure(
    "13b", "SWARE 13b", "phases of look-ups with a full buffer",
    reads="""bench/phases --rows {400000} --with buffer_size=64 --look-ups {8000}
        --degree sorted --degree near-sorted --degree less-sorted""",
)
def phases_of_look_ups(page, reads):
    value = tell_phases(page, reads, DEGREES[:3])
    return "in the tree " + each(
        [100 * value(d)["the tree"] / value(d)["the look-up"] for d in DEGREES[:3]], 0
    ) + " %"


GRID = """bench/access_method/run --rows {400000} --rounds {rounds} --degree sorted
    --grid 2,10,20,100/1,5,10,50 --operations 1000000000"""
KS, LS = (0, 2, 10, 20, 100), (1, 5, 10, 50)


@figure(
    "14", "SWARE 14a to d", "mixes over K and L",
    one=f"""{GRID} --workload 10:90,50:50,90:10 {LEAST}""",
    five=f"""{GRID} --workload 50:50 --with buffer_size={{320:64}}
        --setting sware.staging_size={{320:64}}kB""",
)
def maps(page, one, five):
    cases = (
        ("a: 10:90, 1 %", one, "10:90", "9.2"), ("b: 50:50, 1 %", one, "50:50", "4.2"),
        ("c: 90:10, 1 %", one, "90:10", "1.4"), ("d: 50:50, 5 %", five, "50:50", "8.2"),
    )

    def ratio(rows, mix, k, l, what):  # noqa: E741
        degree = "sorted" if k == 0 else f"({k},{l})"
        return pick(rows, degree=degree, workload=mix)[what]

    panels, told = [], []
    for title, rows, mix, best in cases:
        whole, phase = (
            [[ratio(rows, mix, k, l, what) for l in LS] for k in KS]  # noqa: E741
            for what in (WHOLE, PHASE)
        )
        page.table(
            [f"{title}; paper's best {best}: whole (phase)", *(f"L = {l} %" for l in LS)],
            [
                [f"K = {k} %", *(f"{a:.2f} ({b:.2f})" for a, b in zip(*pair))]
                for k, pair in zip(KS, zip(whole, phase))
            ],
        )
        panels.append((title, KS, LS, whole, "K, %", "L, %"))
        told.append(max(value for row in whole for value in row))
    page.heat_maps(panels)
    return "best " + each(told)


@figure(
    "15", "SWARE 15", "N inserts, then N/10 look-ups, by size of the buffer",
    load=f"""bench/access_method/run --rows {{1000000}} --rounds {{rounds}}
        --degree near-sorted --workload insert {ONE}
        --vary sware.staging_size={{80:64}}kB,{{160:72}}kB,{{320:80}}kB,{{800:96}}kB""",
    reads="""bench/access_method/run --rows {1000000} --rounds {rounds} --degree near-sorted
        --workload full --reads {100000} --vary buffer_size={80:64},{160:72},{320:80},{800:96}""",
)
def by_buffer(page, load, reads):
    ratios = [
        [pick(rows, subject=subject)[PHASE] for subject in subjects_of(rows)]
        for rows in (load, reads)
    ]
    shares = ("0.5 %", "1 %", "2 %", "5 %")
    theirs = (("5.7", "-", "-", "7"), ("", "", "", "11 % slower than at 0.5 %"))
    page.table(
        ["K = 10, L = 5", "paper: inserts", "inserts", "paper: look-ups", "look-ups"],
        [
            [share, theirs[0][i], ratios[0][i], theirs[1][i], ratios[1][i]]
            for i, share in enumerate(shares)
        ],
    )
    return f"inserts {each(ratios[0])}; look-ups {each(ratios[1], 2)}"


@figure(
    "16", "SWARE 16", "threshold of query-driven sorting",
    mixed="""bench/access_method/run --rows {400000} --rounds {rounds} --operations 100
        --degree near-sorted --degree less-sorted --workload 10:90,50:50,90:10
        --with buffer_size={64:64} --vary sort_threshold=1,5,10,25,100""",
)
def sorting(page, mixed):
    names = subjects_of(mixed)
    theirs = {"1": "7 %", "10": "25 %", "100": "0 %"}
    page.table(
        ["threshold: whole (phase)", "paper: gain", *(
            f"{d}, {mix}" for d in DEGREES[1:3] for mix in MIXES[::2]
        )],
        [
            [f"{share} %", theirs.get(share), *(
                "{:.2f} ({:.2f})".format(*both(mixed, degree=d, workload=mix, subject=name))
                for d in DEGREES[1:3] for mix in MIXES[::2]
            )]
            for name, share in ((name, name.rpartition("=")[2]) for name in names)
        ],
    )
    gains = [
        100 * (pick(mixed, degree="near-sorted", workload="90:10", subject=name)[PHASE]
               / pick(mixed, degree="near-sorted", workload="90:10", subject="=100")[PHASE] - 1)
        for name in names if not name.endswith("=100")
    ]
    return "near-sorted, 90:10, beside 100 %: " + each(gains, 0) + " % faster"


# With 6.5 % of the entries it shows more what a look-up does in the buffer.
FILTERS = """bench/access_method/run --rows {400000} --rounds {rounds} --degree near-sorted
    --degree less-sorted --degree scrambled --workload insert,full --vary bloom_bits=10,0"""


@figure(
    "17", "SWARE 17", "without filters",
    small=f"{FILTERS} --with buffer_size={{64:64}}",
    large=f"{FILTERS} --with buffer_size={{416:64}}",
)
def filters(page, small, large):
    told = []
    for title, rows in (("1 %", small), ("6.5 %", large)):
        cases = list(dict.fromkeys((row["degree"], row["workload"]) for row in rows))
        ratios = [
            [pick(rows, degree=d, workload=w, subject=ending)[PHASE] for ending in ("=10", "=0")]
            for d, w in cases
        ]
        page.table(
            [
                f"nbtree's time / sware's, buffer of {title}", "filters of 10 bits",
                "no filters", "paper: gain", "gain",
            ],
            [
                [
                    f"{d}, {'look-ups, full buffer' if w == 'full' else w}", with_them, without,
                    {"full": "up to 14 and 16 %", "insert": "little lost"}.get(w),
                    f"{100 * (with_them / without - 1):.0f} %",
                ]
                for (d, w), (with_them, without) in zip(cases, ratios)
            ],
        )
        told.append(f"{title}: " + span([
            100 * (with_them / without - 1)
            for (_, w), (with_them, without) in zip(cases, ratios) if w == "full"
        ], 0) + " %")
    return "filters gain, buffer of " + "; ".join(told)


# nbtree's index has 8.6 to 14 MB; the server takes no less than 128 kB.
@figure(
    "18", "SWARE 18", "mixes with a page pool of 1 %",
    mixed=f"""bench/access_method/run --rows {{400000}} --rounds {{rounds}}
        --workload 10:90,50:50,90:10 {ONE} {LEAST}
        --server-setting shared_buffers={{128:128}}kB""",
)
def on_disk(page, mixed):
    mixes = MIXES[::2]
    for title, value in (
        ("reads:writes; paper: 1 and more, up to 8: whole (phase)",
         lambda row: f"{row[WHOLE]:.2f} ({row[PHASE]:.2f})"),
        ("pages read an operation of the phase: nbtree, sware",
         lambda row: f"{row['nbtree_blocks_read']:.2f}, {row['compared_blocks_read']:.2f}"),
    ):
        page.table(
            [title, *DEGREES],
            [
                [mix, *(value(pick(mixed, degree=d, workload=mix)) for d in DEGREES)]
                for mix in mixes
            ],
        )
    return span([row[WHOLE] for row in mixed], 1)


def tell_scale(page, sizes, first, **columns):
    """A table by number of keys; returns the ratios of the whole mix."""
    rows = list(sizes.values())
    mixed = [pick(one, workload="50:50") for one in rows]
    counts = [int(pick(one, workload="insert")["operations"]) for one in rows]
    page.table(
        [first, *columns, "50:50: whole", "phase"],
        [
            [f"{count:,}", *(texts[i] for texts in columns.values()), row[WHOLE], row[PHASE]]
            for i, (count, row) in enumerate(zip(counts, mixed))
        ],
    )
    return counts, [row[WHOLE] for row in mixed]


def scaled(rows, kilobytes):
    return f"""bench/access_method/run --rows {{{rows}}} --rounds {{rounds}} --degree 5,5
        --workload insert,50:50 {ONE} --with buffer_size={{{kilobytes}:64}}
        --setting sware.staging_size={{{kilobytes}:64}}kB"""


@figure(
    "19a", "SWARE 19a", "scale, with L and buffer in percent",
    small=scaled(500_000, 80), middle=scaled(1_000_000, 160),
    large=scaled(2_000_000, 320),
)
def scale(page, **sizes):
    inserts = [pick(rows, workload="insert")[PHASE] for rows in sizes.values()]
    counts, ratios = tell_scale(
        page, sizes, "K = L = 5 %, buffer 1 %", **{"inserts": inserts},
    )
    page.lines(
        [("K = L = 5 %, buffer of 1 %", "keys", "nbtree's time / sware's", {
            "inserts": (counts, inserts), "50:50, whole": (counts, ratios),
        })],
        logarithmic=True,
    )
    return each(ratios)


# L is 25,000 keys, the buffer has 5,000, as many of the keys as in the paper.
FIXED = {
    rows: f"""bench/access_method/run --rows {{{rows}}} --rounds {{rounds}}
        --degree 5,{2_500_000 / rows:g} --workload insert,50:50,full {ONE} {HALF}"""
    for rows in (62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000)
}
FIXED = dict(zip(("eight", "four", "two", "one", "half", "quarter"), FIXED.values()))
SHARES = ("8 %", "4 %", "2 %", "1 %", "0.5 %", "0.25 %")


@figure("19b", "SWARE 19b", "scale, with L and buffer fixed", **FIXED)
def fixed_scale(page, **sizes):
    counts, ratios = tell_scale(
        page, sizes, "K = 5 %, L = 25,000 keys, buffer 5,000",
        **{"in the buffer": SHARES, "paper": ("1.75", "", "", "", "", "2.86")},
    )
    return each(ratios)


@figure("table-2", "SWARE Table II", "pages of the buffer that a look-up reads", **FIXED)
def pages_of_buffer(page, **sizes):
    theirs = (0.094, 0.0468, 0.0227, 0.0110, 0.0052, 0.0024)
    found = [pick(rows, workload="full") for rows in sizes.values()]
    counts = [int(pick(rows, workload="insert")["operations"]) for rows in sizes.values()]
    # Of the tree a look-up reads the leaf: inner pages are in the session's own copies.
    pages = [row["compared_blocks"] - 1 for row in found]
    page.table(
        ["keys", "in the buffer", "paper: pages of the buffer", "here", "look-ups, full buffer"],
        [
            [f"{count:,}", share, f"{their}", value, row[PHASE]]
            for count, share, their, value, row in zip(counts, SHARES, theirs, pages, found)
        ],
    )
    return each(pages, 3)


@figure(
    "20", "SWARE 20", "beside the plain tree with scrambled keys: the Bε-tree's figure",
    mixed=IN_ONE,
)
def beside_scrambled(page, mixed):
    def times(who, degree, mix):
        one = pick(mixed, degree="scrambled", workload=mix)
        other = pick(mixed, degree=degree, workload=mix)
        figure_ = "whole_processor_microseconds"
        return one[f"nbtree_{figure_}"] / other[f"{who}_{figure_}"]

    found = {
        (name, d): [times(who, d, mix) for mix in MIXES]
        for d in DEGREES for who, name in (("nbtree", "nbtree"), ("compared", "sware"))
    }
    page.table(
        ["reads:writes, whole", *(f"{d}: {name}" for name, d in found)],
        [[mix, *(values[i] for values in found.values())] for i, mix in enumerate(MIXES)],
    )
    return "sware {:.1f} to {:.1f}, nbtree {:.1f} to {:.1f}".format(*(
        extreme(value for (name, d), values in found.items() if name == who
                and d != "scrambled" for value in values)
        for who in ("sware", "nbtree") for extreme in (min, max)
    ))


def tell_buffers(page, sizes, theirs, percentages):
    """Mixes by size of the buffer: the phase, as in the paper, and the whole."""
    names = list(dict.fromkeys(row["buffer"] for row in sizes))

    def ratio(mix, beginning, what=PHASE):
        found = [name for name in names if name.startswith(beginning)]
        return pick(sizes, mix=mix, buffer=found[0])[what] if found else None

    largest = f"{percentages[-1]} %,"
    page.table(
        [
            "reads:writes", *(title for p in percentages for title in (
                [f"{p} %: paper"] if theirs else []
            ) + [f"{p} %: here" if not theirs else "here"]),
            "default", f"{percentages[-1]} %: whole",
        ],
        [
            [
                mix,
                *(value for i, p in enumerate(percentages) for value in (
                    [theirs[mix][i]] if theirs else []
                ) + [ratio(mix, f"{p} %,")]),
                ratio(mix, "default"), ratio(mix, largest, WHOLE),
            ]
            for mix in MIXES
        ],
    )
    return ratio


@figure(
    "table-3", "SWARE Table III", "mixes by size of the buffer, keys like TPC-H's",
    sizes=f"bench/buffer_sizes --rows {{6000000}} --degree 96.67,0.1 --rounds {{rounds}} {ONE}",
)
def buffer_sizes(page, sizes):
    ratio = tell_buffers(page, sizes, {
        "10:90": (1.63, 2.60, 2.88, 4.46, 5.28), "25:75": (1.54, 2.40, 2.49, 3.62, 4.57),
        "50:50": (1.56, 2.07, 2.82, 3.21, 3.40), "75:25": (1.25, 1.65, 1.72, 2.09, 2.01),
        "90:10": (1.14, 1.24, 1.28, 1.42, 1.41),
    }, (0.05, 0.1, 0.25, 0.5, 1))
    return "1 %: " + each([ratio(mix, "1 %,") for mix in MIXES], 2)


@figure(
    "21", "SWARE 21", "the same with few keys far out of order",
    sizes=f"""bench/buffer_sizes --rows {{1500000}} --degree 5,95 --buffer-percent 1,2,5
        --rounds {{rounds}} {ONE}""",
)
def far_away(page, sizes):
    ratio = tell_buffers(page, sizes, None, (1, 2, 5))
    return "; ".join(
        f"{p} %: {span([ratio(mix, f'{p} %,') for mix in MIXES])}" for p in (1, 2, 5)
    )


@figure(
    "lineitem", "SWARE, TPC-H", "mixes on the receipt dates of lineitem",
    dates=f"bench/buffer_sizes --scale 0.1 --buffer-percent 1 --rounds {{rounds}} {ONE}",
)
def lineitem(page, dates):
    ratio = tell_buffers(page, dates, None, (1,))
    return each([ratio(mix, "1 %,") for mix in MIXES])


@figure(
    "flush", "SWARE, flush", "the share of a flush",
    share=f"""bench/access_method/run --rows {{400000}} --rounds {{rounds}} --degree sorted
        --degree near-sorted --degree less-sorted --workload insert,50:50 {ONE} {LEAST}
        --vary flush_fraction=25,50,75,100""",
)
def flush(page, share):
    names = subjects_of(share)
    theirs = {"=25": "1.0 to 4.0", "=50": "1.0 to 4.3", "=75": "0.91 to 4.2"}
    page.table(
        ["a flush takes", "paper: mixes", *(
            f"{d}: {what}" for d in DEGREES[:3] for what in ("inserts", "50:50, whole")
        )],
        [
            [
                f"{name.rpartition('=')[2]} %", theirs.get(name[-3:]),
                *(value for d in DEGREES[:3] for value in (
                    pick(share, degree=d, workload="insert", subject=name)[PHASE],
                    pick(share, degree=d, workload="50:50", subject=name)[WHOLE],
                )),
            ]
            for name in names
        ],
    )
    return "near-sorted: " + each([
        pick(share, degree="near-sorted", workload="insert", subject=name)[PHASE]
        for name in names
    ])


@figure(
    "table-1", "SWARE Table I", "splits of leaves",
    loads="""bench/ingestion --rows {400000} --rounds 1 --degree 2,1 --degree 20,10
        --degree 100,50 --setting sware.staging_size={64:64}kB
        --vary sware.enable_buffer=off,on""",
)
def splits(page, loads):
    names = ("(2,1)", "(20,10)", "(100,50)")
    page.table(
        ["", *(f"K, L = {name[1:-1].replace(',', ', ')}" for name in names)],
        [
            ["paper: splits, 50:50", 1.0, 1.0, 1.0],
            ["60:40", 0.90, 0.97, 0.94], ["70:30", 0.82, 0.96, 1.04],
            ["80:20", 0.79, 0.96, 1.27], ["90:10", 0.78, 0.98, 1.82],
            *(
                [title, *(pick(loads, degree=name, subject=ending)["ratio_of_size"]
                          for name in names)]
                for title, ending in (
                    ("here: pages beside nbtree's, entries one by one", "=off"),
                    ("here: with the buffer of 1 %", "=on"),
                )
            ),
        ],
    )
    return ", ".join(
        f"{name} {pick(loads, degree=name, subject='=off')['ratio_of_size']:.2f}"
        for name in names
    )
