"""Shows sware's statistics: what is in its buffers, and what happened to its indexes."""

COLUMNS = (
    ("buffer_entries", "in the buffer", 0),
    ("entries_buffered", "buffered", 0),
    ("entries_appended", "bulk-appended", 0),
    ("entries_inserted", "top-inserted", 0),
    ("flushes", "flushes", 0),
    ("estimated_k", "K, %", 2),
    ("estimated_l", "L, %", 2),
)


def show(connection, subject):
    """Prints sware's statistics of the subject's indexes; returns them by index."""
    names = ", ".join(name for name, _, _ in COLUMNS)
    lines = [["index"] + [title for _, title, _ in COLUMNS]]
    figures = {}
    for index in subject.indexes():
        row = connection.execute(
            f"SELECT {names} FROM pg_stat_sware "
            "WHERE indexrelid = %s::regclass", [index]
        ).fetchone()
        figures[index] = {name: value for (name, _, _), value in zip(COLUMNS, row)}
        lines.append(
            [index]
            + [
                "-" if value is None else f"{value:,.{decimals}f}"
                for value, (_, _, decimals) in zip(row, COLUMNS)
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print(
            line[0].ljust(widths[0])
            + "".join(f"  {cell:>{w}}" for cell, w in zip(line[1:], widths[1:])),
            flush=True,
        )
    return figures


def check(figures, verdict, column, expected, when):
    """Complains if a column is above zero in no index, or in one where it must not be.

    Rows that come in order of an index wait in its buffer only if they have to.
    """
    above = [index for index, values in figures.items() if values[column] > 0]
    if bool(above) != expected:
        verdict.complaints.append(
            f"{column} is above zero {when} in {', '.join(above) or 'no index'}"
        )
        print(f"WRONG  {verdict.complaints[-1]}", flush=True)
