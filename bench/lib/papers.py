"""All figures of the papers that are repeated, by name, in the order of measuring.

A figure has commands, by names. In their text, {1000000} is a number of rows or a size
that belongs to it, which --scale multiplies; {160:64} is never below 64. The function of
a figure gets the rows of each command's CSV file, writes a page, and returns what the
overview says. Figures that have a command in common run it once.
"""

import papers_sware  # noqa: F401  (each adds its figures)
import papers_others  # noqa: F401
from papers_figure import FIGURES  # noqa: F401
