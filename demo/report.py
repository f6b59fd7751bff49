"""The table of figures, as text and as JSON."""

import json
from dataclasses import asdict, dataclass

from subjects import INDEXED_COLUMNS, size_megabytes


@dataclass
class Row:
    """One figure of every subject that has it, by label."""

    section: str
    name: str
    unit: str
    decimals: int
    values: dict

    def ratio(self, compared, baseline):
        """One subject's figure divided by another's, as text."""
        if self.values[baseline] <= 0:
            return ""
        return f"{self.values[compared] / self.values[baseline]:.2f}"


def figures(connection, subjects, lookups):
    """All rows of the report, section by section."""
    return (
        load_rows(subjects)
        + size_rows(connection, subjects)
        + lookup_rows(lookups)
    )


def load_rows(subjects):
    plain, *indexed = subjects
    section = "loading by COPY"
    return [
        Row(section, "COPY", "s", 2, {s.label: s.seconds() for s in subjects}),
        Row(
            section, "cost of the indexes", "s", 2,
            {s.label: s.seconds() - plain.seconds() for s in indexed},
        ),
        Row(section, "WAL", "MB", 0, {s.label: s.wal_megabytes() for s in subjects}),
        Row(
            section, "WAL of the indexes", "MB", 0,
            {s.label: s.wal_megabytes() - plain.wal_megabytes() for s in indexed},
        ),
    ]


def size_rows(connection, subjects):
    rows = [
        Row(
            "sizes after the load", "table", "MB", 1,
            {s.label: size_megabytes(connection, s.table) for s in subjects},
        )
    ]
    for column in INDEXED_COLUMNS:
        rows.append(
            Row(
                "sizes after the load", f"index on {column}", "MB", 1,
                {
                    s.label: size_megabytes(connection, s.index(column))
                    for s in subjects[1:]
                },
            )
        )
    return rows


def lookup_rows(lookups):
    section = "look-ups after the load"
    return [Row(section, name, "µs", 0, values) for name, values in lookups.items()]


def trickle_rows(outcome, lookups):
    """The cost of rows that arrive one by one, and of look-ups among them."""
    microseconds, wal_bytes = outcome.medians()
    rows, reads = "more rows, each a transaction", "look-ups of their days"
    return [
        Row(rows, "a row", "µs", 1, microseconds),
        Row(rows, "WAL of a row", "bytes", 0, wal_bytes),
    ] + [Row(reads, name, "µs", 0, values) for name, values in lookups.items()]


def present(rows, labels):
    """Those of the labels that have figures; the last two are always among them."""
    return [label for label in labels if any(label in row.values for row in rows)]


def as_text(rows, labels):
    """The table; the last column is the last subject's share of nbtree's."""
    labels = present(rows, labels)
    *_, baseline, compared = labels
    width = max(len(row.name) + len(row.unit) for row in rows) + 4
    ratio_title = f"{compared} / {baseline}"
    lines = [
        " " * width
        + "".join(f"{label:>13}" for label in labels)
        + f"   {ratio_title}"
    ]
    section = None
    for row in rows:
        if row.section != section:
            section = row.section
            lines.append(section)
        cells = "".join(
            f"{row.values[label]:>13,.{row.decimals}f}" if label in row.values
            else " " * 13
            for label in labels
        )
        ratio = row.ratio(compared, baseline)
        lines.append(
            f"  {row.name}, {row.unit}".ljust(width)
            + cells + f"   {ratio:>{len(ratio_title)}}"
        )
    return "\n".join(lines)


def as_json(parts, **context):
    """The parts of the report by their titles, with what else is told."""
    figures = {title: [asdict(row) for row in rows] for title, rows in parts.items()}
    return json.dumps(context | {"figures": figures}, indent=2)
