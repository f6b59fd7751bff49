"""Charts of the benchmarks."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

COLOURS = (
    "#4878a8", "#d1741f", "#b8b8b8", "#5a9a5a", "#a05a9a", "#c8a838", "#707070",
    "#58a8b8",
)


def panel(title, unit, rows, group, figure, whole=None):
    """A panel for `bars` of a summary's rows, whose subjects are next to each other.

    A group is what rows have in one column, and the length of a bar what they
    have in another. If these are shares, the label of the whole may have bars, too.
    """
    groups = list(dict.fromkeys(row[group] for row in rows))
    values = {whole: [1.0] * len(groups)} if whole is not None else {}
    for row in rows:
        values.setdefault(row["subject"], []).append(row[figure])
    return title, unit, groups, values


def bars(path, title, panels):
    """Writes groups of bars, one panel below the other.

    A panel is its title, the label of its axis, the names of the groups, and
    a value (or None) for each group by the label of its subject.
    """
    heights = [len(groups) * len(values) for _, _, groups, values in panels]
    figure, axes = pyplot.subplots(
        len(panels), 1, squeeze=False, layout="constrained",
        figsize=(9, 0.22 * sum(heights) + 0.9 * len(panels) + 0.6),
        gridspec_kw={"height_ratios": heights},
    )
    for axis, panel in zip(axes[:, 0], panels):
        draw_bars(axis, *panel)
    axes[0, 0].legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncol=4, frameon=False, fontsize=8
    )
    figure.suptitle(title, fontsize=11)
    save(figure, path)


def draw_bars(axis, title, unit, groups, values):
    thickness = 0.8 / len(values)
    for number, (label, lengths) in enumerate(values.items()):
        places = [
            group + (number - (len(values) - 1) / 2) * thickness
            for group in range(len(groups))
        ]
        lengths = [length or 0 for length in lengths]
        axis.barh(
            places, lengths, thickness * 0.92,
            color=COLOURS[number % len(COLOURS)], label=label,
        )
        for place, length in zip(places, lengths):
            text = f" {length:,.0f}" if abs(length) >= 100 else f" {length:,.2f}"
            axis.text(max(length, 0), place, text, va="center", fontsize=7)
    axis.set_yticks(range(len(groups)), groups, fontsize=8)
    axis.invert_yaxis()
    axis.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axis.set_xlabel(unit, fontsize=8)
    axis.margins(x=0.1)
    axis.spines[["top", "right"]].set_visible(False)


def lines(path, title, panels, logarithmic=False):
    """Writes lines, one panel below the other.

    A panel is its title, the labels of its axes, and two lists, of places on them, by
    the label of each subject. The axis from left to right may be logarithmic.
    """
    figure, axes = pyplot.subplots(
        len(panels), 1, squeeze=False, layout="constrained",
        figsize=(9, 2.4 * len(panels) + 0.6),
    )
    for axis, (name, x_title, y_title, values) in zip(axes[:, 0], panels):
        for number, (label, (xs, ys)) in enumerate(values.items()):
            axis.plot(
                xs, ys, color=COLOURS[number % len(COLOURS)], label=label, linewidth=1
            )
        axis.set_title(name, loc="left", fontsize=10, fontweight="bold")
        axis.set_xlabel(x_title, fontsize=8)
        axis.set_ylabel(y_title, fontsize=8)
        axis.set_ylim(bottom=0)
        if logarithmic:
            axis.set_xscale("log")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncol=4, frameon=False, fontsize=8
    )
    figure.suptitle(title, fontsize=11)
    save(figure, path)


def heat_map(path, title, *panel):
    """Writes a table of figures as coloured fields; see heat_maps."""
    heat_maps(path, title, [("", *panel)])


def heat_maps(path, title, panels):
    """Writes tables of figures as coloured fields side by side; None stays empty.

    A panel is its title, the names of its rows and columns, the rows, and the labels of
    its axes, that of the rows first.
    """
    rows = max(len(row_names) for _, row_names, *_ in panels)
    columns = sum(len(column_names) for _, _, column_names, *_ in panels)
    figure, axes = pyplot.subplots(
        1, len(panels), squeeze=False, layout="constrained",
        figsize=((1.1 if len(panels) == 1 else 0.7) * columns + 2, 0.6 * rows + 1.6),
    )
    for axis, panel in zip(axes[0], panels):
        draw_heat_map(axis, *panel)
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def draw_heat_map(axis, title, row_names, column_names, values, row_title, column_title):
    numbers = [[float("nan") if v is None else v for v in row] for row in values]
    axis.imshow(numbers, cmap="RdYlGn", aspect="auto", vmin=0)
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            if value is not None:
                axis.text(x, y, f"{value:.1f}", ha="center", va="center", fontsize=9)
    axis.set_xticks(range(len(column_names)), column_names)
    axis.set_yticks(range(len(row_names)), row_names)
    axis.set_xlabel(column_title)
    axis.set_ylabel(row_title)
    axis.set_title(title, fontsize=9)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"chart: {path}", flush=True)
