"""What the benchmark of indexes that are larger than memory reports."""

import statistics

import charts
import results

# Figures of which the report has the median of the rounds; the names are in "larger".
OF_ROUND = {
    "rows a second": "rows a second", "p50": "p50, ms", "p99": "p99, ms",
    "p99.9": "p99.9, ms", "p99.99": "p99.99, ms", "longest": "longest, ms",
}
# Figures of which it has a share of each row.
OF_ROW = {
    "processor_seconds": ("processor time, µs a row", 1e6),
    "wal_bytes": ("WAL, B a row", 1), "images": ("full-page images a row", 1),
    "read": ("read, B a row", 1), "written": ("written, B a row", 1),
    "pages_read": ("index pages not in shared buffers, a row", 1),
}
# Of these the table's own share can be told from the index's.
NET = ("wal_bytes", "read", "written")

CASE = ("keys", "times", "rows_per_transaction")

DRAWN = (
    "rows a second", "WAL of the index, B a row", "written for the index, B a row",
)


class Figures:
    """The figures of one case and subject, by phase."""

    def __init__(self, raw, case, label):
        self.phases = {}
        for row in raw:
            if case_of(row) == case and row["subject"] == label:
                phase = self.phases.setdefault(row["phase"], {})
                phase[row["figure"]] = row["value"]

    @property
    def rounds(self):
        return [
            figures for phase, figures in self.phases.items()
            if phase.startswith("round")
        ]

    @property
    def all_inserts(self):
        return [self.phases["fill"], *self.rounds]

    def median(self, figure):
        return statistics.median(one[figure] for one in self.rounds)

    def a_row(self, figure):
        return statistics.median(one[figure] / one["rows"] for one in self.rounds)

    def whole(self, figure):
        """The sum of all phases and the drain."""
        phases = [*self.all_inserts, self.phases["drain"]]
        return sum(phase[figure] for phase in phases)

    @property
    def rows(self):
        return sum(phase["rows"] for phase in self.all_inserts)


def case_of(row):
    return tuple(row[name] for name in CASE)


def figures_of(one, plain):
    """All figures of a subject by their names; "plain" is the table without index."""
    found = {name: one.median(figure) for figure, name in OF_ROUND.items()}
    found["largest of all, ms"] = max(phase["longest"] for phase in one.rounds)
    for figure, (name, unit) in OF_ROW.items():
        found[name] = one.a_row(figure) * unit
        if figure in NET:
            found[net(name)] = one.a_row(figure) - plain.a_row(figure)
    found["whole run, rows a second"] = one.rows / one.whole("seconds")
    for figure in NET:
        name = OF_ROW[figure][0]
        total = one.whole(figure) / one.rows
        found[f"whole run, {name}"] = total
        found[f"whole run, {net(name)}"] = total - plain.whole(figure) / plain.rows
    found["index at the beginning, MB"] = one.phases["build"]["index MB"]
    found["index at the end, MB"] = one.phases["drain"]["index MB"]
    for phase in ("reads", "vacuum"):
        found |= one.phases.get(phase, {})
    return found | of_buffer(one)


def net(name):
    """The name of a figure of the index alone."""
    what, unit = name.split(", ")
    return f"{what} {'of' if what == 'WAL' else 'for'} the index, {unit}"


def of_buffer(one):
    """What sware says of its buffer."""
    if "buffer_entries" not in one.phases["fill"]:
        return {}
    flushed = sum(phase["entries_inserted"] for phase in one.rounds)
    # What is counted of the buffer in each phase is the change.
    held = one.phases["fill"]["buffer_entries"]
    drain = one.phases["drain"]
    found = {"drain, s": drain["seconds"]}
    for figure, name in (("wal_bytes", "WAL"), ("written", "written"), ("read", "read")):
        found[f"drain, {name}, MB"] = drain[figure] / 2**20
    found["entries in the buffer"] = held
    found["entries in the buffer at the end"] = sum(
        phase["buffer_entries"] for phase in one.all_inserts
    )
    found["entries flushed a row"] = flushed / sum(phase["rows"] for phase in one.rounds)
    if held > 0:
        found["times the buffer was replaced"] = flushed / held
    visits = sum(phase.get("leaf_visits", 0) for phase in one.rounds)
    if visits > 0:
        found["entries of a visit of a leaf"] = flushed / visits
    return found


def summarise(raw, labels):
    plain, nbtree, *compared = labels
    summary = []
    for case in dict.fromkeys(case_of(row) for row in raw):
        without = Figures(raw, case, plain)
        theirs = Figures(raw, case, nbtree)
        one = figures_of(theirs, without)
        for label in compared:
            ours = Figures(raw, case, label)
            other = figures_of(ours, without)
            for name, value in other.items():
                # With an empty buffer there is only one of the two.
                usual = name.replace(", drained", "")
                row = dict(zip(CASE, case)) | {
                    "subject": label, "figure": name,
                    "nbtree": one.get(usual), "compared": value,
                    "share": share(value, one.get(usual)),
                }
                summary.append(row | range_of_shares(name, theirs, ours))
    return summary


def share(value, nbtree):
    return results.ratio(value, nbtree) if nbtree is not None else None


def range_of_shares(name, theirs, ours):
    """The lowest and the highest share of a round, of figures that rounds have."""
    of_round = {text: figure for figure, text in OF_ROUND.items()}
    of_row = {text: figure for figure, (text, _) in OF_ROW.items()}

    def value(one):
        if name in of_round:
            return one[of_round[name]]
        return one[of_row[name]] / one["rows"]

    if name not in of_round and name not in of_row:
        return {"lowest": None, "highest": None}
    shares = [
        share(value(our_round), value(their_round))
        for their_round, our_round in zip(theirs.rounds, ours.rounds)
    ]
    known = [one for one in shares if one is not None]
    return {"lowest": min(known, default=None), "highest": max(known, default=None)}


def describe(row):
    return (
        f"{row['keys']}, {row['times']} times, "
        f"{row['rows_per_transaction']} row{'s' if row['rows_per_transaction'] > 1 else ''}"
    )


def tell(chosen, raw, over_time, labels):
    summary = summarise(raw, labels)
    results.write_csv(chosen.out / f"{chosen.name}-over-time.csv", over_time)
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["", "", "", "nbtree", "compared", "compared / nbtree", "lowest", "highest"],
        [
            [
                describe(row), row["subject"], row["figure"],
                *(row[name] for name in ("nbtree", "compared", "share", "lowest", "highest")),
            ]
            for row in summary
        ],
    )
    draw(chosen, summary, over_time, labels)


def draw(chosen, summary, over_time, labels):
    title = (
        f"memory of {chosen.limit >> 20} MB, {chosen.clients} clients, "
        f"medians of {chosen.rounds} rounds"
    )
    nbtree, *compared = labels[1:]
    panels = []
    for figure in DRAWN:
        rows = [row for row in summary if row["figure"] == figure]
        names = list(dict.fromkeys(describe(row) for row in rows))
        first = [row for row in rows if row["subject"] == compared[0]]
        values = {nbtree: [row["nbtree"] for row in first]}
        for label in compared:
            values[label] = [row["compared"] for row in rows if row["subject"] == label]
        what, _, unit = figure.partition(", ")
        panels.append((what, unit, names, values))
    charts.bars(chosen.out / f"{chosen.name}.png", title, panels)

    lines = []
    for case in dict.fromkeys(case_of(row) for row in over_time):
        values = {}
        # The colours are those of the bars.
        for label in (*labels[1:], labels[0]):
            points = [
                row for row in over_time
                if case_of(row) == case and row["subject"] == label
            ]
            values[label] = one_after_the_other(points)
        case = describe(dict(zip(CASE, case)))
        lines.append((case, "seconds", "rows a second", values))
    charts.lines(chosen.out / f"{chosen.name}-over-time.png", title, lines)


def one_after_the_other(points):
    """The points of phases that follow each other, without the others' turns between."""
    seconds, rates = [], []
    base = 0.0
    phase = None
    for point in points:
        if point["phase"] != phase:
            base = seconds[-1] if seconds else 0.0
            phase = point["phase"]
        seconds.append(base + point["second"])
        rates.append(point["rows_a_second"])
    return seconds, rates
