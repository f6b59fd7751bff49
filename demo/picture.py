"""Draws the figures: one panel a section."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

COLOURS = ("#b8b8b8", "#4878a8", "#d1741f")


def draw(rows, subjects, title, paths):
    """Writes the picture to the given files; their names say in which format.

    Figures of different units share a panel: each bar's length is its share of
    nbtree's figure, and the figure itself is written beside it.
    """
    labels = [subject.label for subject in subjects]
    baseline = labels[1]
    sections = list(dict.fromkeys(row.section for row in rows))
    heights = [sum(row.section == section for row in rows) for section in sections]
    figure, panels = pyplot.subplots(
        len(sections), 1, sharex=True,
        figsize=(9, 0.62 * sum(heights) + 1.8),
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
    )
    for section, panel in zip(sections, panels):
        draw_panel(panel, [r for r in rows if r.section == section], labels, baseline)
        panel.set_title(section, loc="left", fontsize=10, fontweight="bold")
    panels[-1].set_xlabel(f"share of {baseline}'s figure")
    figure.suptitle(title, fontsize=11)
    figure.legend(
        handles=[
            matplotlib.patches.Patch(color=colour, label=label)
            for colour, label in zip(COLOURS, labels)
        ],
        loc="outside lower center", ncols=len(labels), frameon=False,
    )
    for path in paths:
        figure.savefig(path, dpi=120)


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
                va="center", fontsize=7,
            )
    panel.set_yticks(
        range(len(rows)), [f"{row.name}, {row.unit}" for row in rows], fontsize=8
    )
    panel.invert_yaxis()
    panel.axvline(1.0, color="black", linewidth=0.6)
    panel.margins(x=0.1)
    panel.spines[["top", "right"]].set_visible(False)
