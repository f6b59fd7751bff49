"""Writes everything on one page of HTML, which can be sent as a file."""

import base64
import html
import os
import platform

from report import present

STYLE = """
body { font-family: sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222 }
img { width: 100% }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .25em .9em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
tr.section td { font-weight: bold; border: none; padding-top: 1em }
.good { color: #1a6b2f } .bad { color: #b00020 }
"""


def machine():
    """What the figures were measured on, in a line."""
    processor = ""
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
        processor = names[0] if names else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{processor}, {os.cpu_count()} processors, {memory:.0f} GB of memory"


def versions(connection):
    """The versions of server and extension, in a line."""
    server = connection.execute("SHOW server_version").fetchone()[0]
    extension = connection.execute(
        "SELECT extversion FROM pg_extension WHERE extname = 'sware'"
    ).fetchone()
    return f"PostgreSQL {server}" + (f", sware {extension[0]}" if extension else "")


def write(path, parts, about, labels, pictures, verdict):
    """Writes the page.

    Parts are rows by title; for each there is a PNG, which the page contains.
    """
    compared = html.escape(labels[-1])
    text = [
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{compared} beside nbtree</title><style>{STYLE}</style></head><body>",
        f"<h1>{compared} beside nbtree</h1>", f"<p>{html.escape(about)}.</p>",
        judgement(verdict),
    ]
    for (title, rows), picture in zip(parts.items(), pictures, strict=True):
        image = base64.b64encode(picture.read_bytes()).decode()
        text += [
            f"<h2>{html.escape(title)}</h2>",
            f'<p><img alt="the figures of the table as bars" '
            f'src="data:image/png;base64,{image}"></p>',
            table(rows, labels),
        ]
    path.write_text("\n".join([*text, "</body></html>"]) + "\n")


def judgement(verdict):
    if verdict.complaints:
        items = "".join(f"<li>{html.escape(text)}</li>" for text in verdict.complaints)
        return f'<p class="bad">These answers or indexes are wrong:</p><ul>{items}</ul>'
    return (
        f'<p class="good">All {verdict.queries} queries had the same answers with all '
        f"indexes, and without any; {verdict.rows:,} rows were compared.</p>"
    )


def table(rows, labels):
    labels = present(rows, labels)
    *_, baseline, compared = labels
    heads = ["", *labels, f"{compared} / {baseline}"]
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in heads) + "</tr>"]
    section = None
    for row in rows:
        if row.section != section:
            section = row.section
            lines.append(
                f'<tr class="section"><td colspan="{len(heads)}">{html.escape(section)}</td></tr>'
            )
        cells = [f"{row.name}, {row.unit}"]
        cells += [
            f"{row.values[label]:,.{row.decimals}f}" if label in row.values else ""
            for label in labels
        ]
        cells.append(row.ratio(compared, baseline))
        lines.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    return "\n".join([*lines, "</table>"])
