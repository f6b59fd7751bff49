"""Runs the commands of figures, and writes what they tell to docs/papers.md."""

import csv
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import traceback

import papers_doc
import results

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Figure:
    """The commands of a figure by names, and the function that tells of their results."""

    name: str  # on the command line and in the document's markers
    label: str  # in the document's overview
    title: str
    commands: dict
    tell: callable


def measure(chosen, figures):
    """Measures the chosen ones of all figures, which are given by name."""
    names = list(figures)
    if "all" in chosen.figures:
        wanted = names[names.index(chosen.first or names[0]):]
    else:
        wanted = list(dict.fromkeys(chosen.figures))
    runner = Runner(chosen)
    failed = []
    begin = time.monotonic()
    for name in wanted:
        one = figures[name]
        results.step(f"{one.label}: {one.title}")
        begin_of_figure = time.monotonic()
        try:
            page, summary = runner.make_page(one)
        except Exception:
            # The other figures can be had nevertheless.
            traceback.print_exc()
            failed.append(name)
            continue
        if chosen.prints:
            print(f"\n{page}\n\n{summary}", flush=True)
        else:
            text = chosen.document.read_text()
            text = papers_doc.replace_part(text, name, str(page))
            text = papers_doc.replace_summary(text, one.label, summary)
            chosen.document.write_text(text)
        print(
            f"{name}: {time.monotonic() - begin_of_figure:.0f} s, "
            f"{time.monotonic() - begin:.0f} s in all", flush=True,
        )
    if failed:
        raise SystemExit("not measured: " + ", ".join(failed))


class Runner:
    """Runs commands, each once, and keeps their results."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.results = {}

    def make_page(self, one):
        commands = {what: self.complete(text) for what, text in one.commands.items()}
        for number, command in enumerate(commands.values()):
            if command not in self.results:
                self.run(command, f"{one.name}-{number + 1}")
        page = papers_doc.Page()
        page.commands(commands.values())
        page.text(f"{server_version()}, {os.cpu_count()} processors:")
        drawing = Drawing(self.chosen, one, page)
        summary = one.tell(
            drawing, **{what: self.results[text] for what, text in commands.items()}
        )
        return page, summary

    def complete(self, text):
        """The command for the chosen size."""

        def number(match):
            scaled = round(int(match[1]) * self.chosen.scale)
            return str(max(scaled, int(match[2] or 1)))

        text = re.sub(r"\{(\d+)(?::(\d+))?\}", number, " ".join(text.split()))
        return text.replace("{rounds}", str(self.chosen.rounds))

    def run(self, command, name):
        program, *arguments = shlex.split(command)
        out = self.chosen.out.resolve()
        finished = subprocess.run(
            [ROOT / program, *arguments, "--out", out, "--name", name]
        )
        if finished.returncode != 0:
            raise RuntimeError(f"{command} failed")
        with open(out / f"{name}.csv", newline="") as file:
            rows = Rows(
                {key: value_of(text) for key, text in row.items()}
                for row in csv.DictReader(file)
            )
        rows.chart = out / f"{name}.png"
        self.results[command] = rows


class Rows(list):
    """The rows of a command's CSV file; "chart" is where it has drawn them."""


class Drawing:
    """The page of a figure, and where its charts go."""

    def __init__(self, chosen, one, page):
        self.one = one
        self.page = page
        folder = chosen.out if chosen.prints else chosen.document.parent / "images"
        self.path = folder / f"papers_{one.name}.png"

    def table(self, titles, rows):
        self.page.table(titles, rows)

    def text(self, text):
        self.page.text(text)

    def bars(self, panels):
        import charts

        charts.bars(self.path, self.title, panels)
        self.show()

    def lines(self, panels, **looks):
        import charts

        charts.lines(self.path, self.title, panels, **looks)
        self.show()

    def heat_maps(self, panels):
        import charts

        charts.heat_maps(self.path, self.title, panels)
        self.show()

    def copy_chart(self, rows):
        """Shows the chart that the command of these results has drawn."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rows.chart, self.path)
        self.show()

    @property
    def title(self):
        return f"{self.one.label}: {self.one.title}"

    def show(self):
        self.page.image(self.title, f"images/{self.path.name}")


def server_version():
    program = os.environ.get("PG_CONFIG", "pg_config")
    found = subprocess.run([program, "--version"], capture_output=True, text=True)
    return " ".join(found.stdout.split()[:2])


def value_of(text):
    """A cell of a CSV file: a number if it is one, None if it is empty."""
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text
