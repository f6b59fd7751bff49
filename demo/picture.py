"""Draws the figures: one panel a section, three panels side by side."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

COLOURS = ("#b8b8b8", "#4878a8", "#d1741f")
COLUMNS = 3


def draw(rows, labels, title, about, paths):
    """Writes the picture to the given files; their names say in which format.

    Figures of different units share a panel: each bar's length is its share of
    nbtree's figure, and the figure itself is written beside it.
    """
    baseline = labels[1]
    sections = list(dict.fromkeys(row.section for row in rows))
    lines = -(-len(sections) // COLUMNS)
    figure, grid = pyplot.subplots(
        lines, COLUMNS, figsize=(15, 3.4 * lines + 1.2), layout="constrained",
        squeeze=False,
    )
    panels = list(grid.flat)
    for section, panel in zip(sections, panels):
        draw_panel(panel, [r for r in rows if r.section == section], labels, baseline)
        panel.set_title(section, loc="left", fontsize=11, fontweight="bold")
    for panel in panels[len(sections):]:
        panel.axis("off")
    figure.suptitle(f"Shorter is better.  {title}", fontsize=12)
    figure.supxlabel(
        f"Bars are shares of {baseline}'s figure, which the line marks.  {about}.", fontsize=9
    )
    handles = [
        matplotlib.patches.Patch(color=colour, label=label)
        for colour, label in zip(COLOURS, labels)
    ]
    if len(panels) > len(sections):
        panels[len(sections)].legend(
            handles=handles, loc="center", frameon=False, fontsize=13
        )
    else:
        figure.legend(
            handles=handles, loc="outside right upper", ncols=len(labels), frameon=False
        )
    for path in paths:
        figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_panel(panel, rows, labels, baseline):
    thickness = 0.8 / len(labels)
    for position, row in enumerate(rows):
        unit = row.values[baseline] if row.values[baseline] > 0 else 1.0
        for number, (label, colour) in enumerate(zip(labels, COLOURS)):
            if label not in row.values:
                continue
            value = row.values[label]
            place = position + (number - (len(labels) - 1) / 2) * thickness
            panel.barh(place, max(value, 0) / unit, thickness * 0.92, color=colour)
            panel.text(
                max(value, 0) / unit, place, f" {value:,.{row.decimals}f}",
                va="center", fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.8},
            )
    panel.set_yticks(
        range(len(rows)), [f"{row.name}, {row.unit}" for row in rows], fontsize=9
    )
    panel.invert_yaxis()
    panel.axvline(1.0, color="black", linewidth=0.6)
    panel.margins(x=0.14)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
