"""What the definitions of figures share: their register, and picking figures from rows."""

import papers_doc
import papers_run

MIXES = ("10:90", "25:75", "50:50", "75:25", "90:10")
DEGREES = ("sorted", "near-sorted", "less-sorted", "scrambled")

# nbtree's processor time divided by sware's, of what comes after the load, and with it.
PHASE = "ratio_of_processor_time"
WHOLE = "ratio_of_whole_processor_time"

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


def degrees_of(rows):
    return list(dict.fromkeys(row["degree"] for row in rows))


def percent(value):
    return f"{papers_doc.cell(value)} %"
