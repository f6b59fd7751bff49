"""Writes the measured parts of docs/papers.md, and keeps all else.

The document has a pair of markers for each figure, with what was measured between
them, and one table (the overview) with a row for each figure, whose first cell is the
figure's label and whose last cell is what was measured. So each figure can be written
alone.
"""

import re


class Page:
    """What is written between the markers of a figure."""

    def __init__(self):
        self.blocks = []

    def commands(self, commands):
        """The commands as a block of code; what is too long for a line is continued."""
        self.blocks.append("\n".join(f"    {line}" for one in commands for line in wrap(one)))

    def text(self, text):
        self.blocks.append(text)

    def table(self, titles, rows):
        """A table; figures are rounded as far as they mean something."""
        lines = [titles, ["---"] * len(titles), *rows]
        self.blocks.append("\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines))

    def image(self, title, path):
        self.blocks.append(f"![{title}]({path})")

    def __str__(self):
        return "\n\n".join(self.blocks)


def wrap(command, width=104):
    """Lines of a shell command; an option stays with its value."""
    lines = [""]
    for part in re.split(r" (?=--)", command):
        if len(lines[-1]) + len(part) > width - 3 and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    return lines


def cell(value):
    if value is None:
        return "-"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else value
    for least, digits in ((100, 0), (10, 1), (0.1, 2)):
        if abs(value) >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.3f}" if value else "0"


def begin_of(name):
    return f"<!-- bench/papers {name}: begin -->"


def end_of(name):
    return f"<!-- bench/papers {name}: end -->"


def replace_part(text, name, content):
    """The text with other content between the markers of a figure."""
    begin, end = place_of_part(text, name)
    return f"{text[:begin]}\n\n{content}\n\n{text[end:]}"


def place_of_part(text, name):
    """Where the text between the markers of a figure begins and ends."""
    for marker in (begin_of(name), end_of(name)):
        if text.count(marker) != 1:
            raise ValueError(f"there is not exactly one marker {marker}")
    begin, end = text.index(begin_of(name)) + len(begin_of(name)), text.index(end_of(name))
    if begin > end:
        raise ValueError(f"the markers of {name} are in the wrong order")
    return begin, end


def replace_summary(text, label, summary):
    """The text with another last cell in the row of the overview that has a label."""
    begin, end = place_of_summary(text, label)
    return f"{text[:begin]}{summary}{text[end:]}"


def place_of_summary(text, label):
    """Where the last cell of a row of the overview begins and ends.

    The label may be that of a link.
    """
    pattern = rf"^\| \[?{re.escape(label)}(?:\]\([^)]*\))? \|.*\| (.*) \|$"
    rows = list(re.finditer(pattern, text, re.M))
    if len(rows) != 1:
        raise ValueError(f'there is not exactly one row "{label}" in the overview')
    return rows[0].span(1)


def faults(text, figures):
    """What is wrong with a document that is to have figures, by name and label."""
    for name, label in figures.items():
        for find, what in ((place_of_part, name), (place_of_summary, label)):
            try:
                find(text, what)
            except ValueError as error:
                yield str(error)
    for name in re.findall(r"<!-- bench/papers (.*?): (?:begin|end) -->", text):
        if name not in figures:
            yield f"there is no figure {name}"


def faults_of_writer(figures):
    """What the writer changes that it should not, in a document made for the purpose."""
    text = "| figure | paper | here |\n|---|---|---|\n" + "".join(
        f"| [{label}](#{name}) | so much | nothing |\n" for name, label in figures.items()
    ) + "".join(
        f"before {name}\n{begin_of(name)}\n{end_of(name)}\nafter\n" for name in figures
    )
    page = Page()
    page.table(["a", "b"], [["x", 1.234], ["y", None]])
    for name, label in figures.items():
        once = replace_summary(replace_part(text, name, str(page)), label, "much")
        twice = replace_summary(replace_part(once, name, str(page)), label, "much")
        if once != twice or list(faults(once, figures)):
            yield f"{name} cannot be written twice"
        added = set(once.splitlines()) - set(text.splitlines()) - {""}
        summary = f"| [{label}](#{name}) | so much | much |"
        if added != {summary, *str(page).splitlines()}:
            yield f"writing {name} changes something else"
