"""Draws figures: one panel a section, three panels side by side."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

from report import present  # noqa: E402

COLOURS = ("#b8b8b8", "#4878a8", "#d1741f")
COLUMNS = 3
FEWEST_ROWS = 3


def draw(rows, labels, title, about, paths):
    """Writes the picture to the given files; their names say in which format.

    Figures of different units share a panel: each bar's length is its share of
    nbtree's figure, and the figure itself is written beside it.
    """
    colours = dict(zip(labels, COLOURS))
    labels = present(rows, labels)
    baseline = labels[-2]
    sections = list(dict.fromkeys(row.section for row in rows))
    lines = -(-len(sections) // COLUMNS)
    figure, grid = pyplot.subplots(
        lines, COLUMNS, figsize=(16, 2.9 * lines + 1.3), layout="constrained",
        squeeze=False,
    )
    panels = list(grid.flat)
    for section, panel in zip(sections, panels):
        draw_panel(panel, [r for r in rows if r.section == section], baseline, colours)
        panel.set_title(section, loc="left", fontsize=11, fontweight="bold")
    for panel in panels[len(sections):]:
        panel.axis("off")
    figure.suptitle(
        f"Shorter is better. The line is {baseline}'s figure, and all bars are shares of "
        f"it; the numbers are the figures themselves.\n{title}", fontsize=12,
    )
    figure.supxlabel(about, fontsize=9)
    handles = [
        matplotlib.patches.Patch(color=colours[label], label=label) for label in labels
    ]
    if len(panels) > len(sections):
        panels[len(sections)].legend(
            handles=handles, loc="center", frameon=False, fontsize=13
        )
    else:
        figure.legend(
            handles=handles, loc="outside lower right", ncols=len(labels), frameon=False
        )
    for path in paths:
        figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_panel(panel, rows, baseline, colours):
    labels = present(rows, colours)
    thickness = 0.8 / len(labels)
    for position, row in enumerate(rows):
        unit = row.values[baseline] if row.values[baseline] > 0 else 1.0
        for number, label in enumerate(labels):
            if label not in row.values:
                continue
            value = row.values[label]
            place = position + (number - (len(labels) - 1) / 2) * thickness
            panel.barh(place, max(value, 0) / unit, thickness * 0.92, color=colours[label])
            panel.text(
                max(value, 0) / unit, place, f" {value:,.{row.decimals}f}",
                va="center", fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.8},
            )
    panel.set_yticks(
        range(len(rows)), [f"{row.name}, {row.unit}" for row in rows], fontsize=9
    )
    # Bars of a few rows are not thicker than those of others.
    panel.set_ylim(max(len(rows), FEWEST_ROWS) - 0.5, -0.5)
    panel.axvline(1.0, color="black", linewidth=0.6)
    panel.margins(x=0.14)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
