"""Shows how far a long step is, on one line of a terminal."""

import sys

WIDTH = 40


class Bar:
    """A bar that grows as steps are done; nothing but its last line elsewhere.

    Use it in a with statement. Lines that shall stay are written by `tell`. A step may
    be done in part.
    """

    def __init__(self, title, total):
        self.title = title
        self.total = total
        self.done = 0
        self.shown = sys.stdout.isatty()

    def __enter__(self):
        self.draw()
        return self

    def __exit__(self, *exception):
        self.clear()

    def advance(self, steps=1):
        self.done += steps
        self.draw()

    def draw(self, part=0.0):
        """Draws what is done, and a part of the next step, from 0 to 1."""
        if self.shown:
            full = int(WIDTH * min((self.done + part) / max(self.total, 1), 1))
            print(
                f"\r\x1b[K{self.title} [{'#' * full}{'.' * (WIDTH - full)}] "
                f"{self.done:,} of {self.total:,}",
                end="", flush=True,
            )

    def clear(self):
        if self.shown:
            print("\r\x1b[K", end="", flush=True)

    def tell(self, line):
        self.clear()
        print(line, flush=True)
        self.draw()
