"""Files of results, and tables for the terminal."""

import csv
import statistics


def write_csv(path, rows):
    """Writes dictionaries that have the same keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    name: f"{cell:.8g}" if isinstance(cell, float) else cell
                    for name, cell in row.items()
                }
            )


def as_table(titles, rows):
    """Lines of text; columns of figures are aligned right, others left."""
    figures = [
        any(isinstance(row[i], (int, float)) for row in rows)
        for i in range(len(titles))
    ]
    cells = [titles] + [[as_text(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_figure else cell.ljust(width)
            for cell, width, is_figure in zip(row, widths, figures)
        ).rstrip()
        for row in cells
    )


def as_text(cell):
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.2f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    if isinstance(cell, int):
        return f"{cell:,}"
    return cell


def ratio(numerator, denominator):
    """None where there is nothing to divide by, as with a cost below zero."""
    return numerator / denominator if denominator > 0 and numerator > 0 else None


def median(runs, label, figure):
    """The median of a figure over the runs of a subject."""
    return statistics.median(run[figure] for run in runs if run["subject"] == label)


def report(out, name, raw, summary, titles, table):
    """Writes both CSV files and prints the table."""
    write_csv(out / f"{name}-runs.csv", raw)
    write_csv(out / f"{name}.csv", summary)
    print(f"\n{as_table(titles, table)}", flush=True)


def tell_run(number, label, figures):
    """Prints texts about a run of a round."""
    print(f"round {number + 1}, {label}: " + ", ".join(figures), flush=True)


def step(text):
    print(f"\n== {text}", flush=True)
