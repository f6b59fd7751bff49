"""Keys that arrive sorted to a chosen degree, in the manner of BoDS.

BoDS, the benchmark on data sortedness, describes an order of N keys by K and
L: K % of them are out of place, by at most L % of N positions. It starts from
sorted keys and swaps pairs. How far apart the partners are is drawn from a
beta distribution that is stretched over the positions within reach, from L
before to L behind: (1, 1) spreads them evenly, (5, 5) keeps them close, and
(0.5, 0.5) sends them far.
"""

from dataclasses import dataclass

# How many times sources without a partner draw again, before those that are left
# are matched in order.
ROUNDS_OF_DRAWING = 60

ROWS_A_WRITE = 100_000


@dataclass(frozen=True)
class Degree:
    """A degree of sortedness; K and L are percentages."""

    name: str
    k: float
    l: float  # noqa: E741  (the literature's name)

    @property
    def scrambled(self):
        return self.name == "scrambled"


NAMED_DEGREES = {
    degree.name: degree
    for degree in (
        Degree("sorted", 0, 0),
        Degree("near-sorted", 10, 5),
        Degree("less-sorted", 100, 50),
        Degree("scrambled", 100, 100),
    )
}


def parse_degree(text):
    """A degree from its name, or from "K,L"."""
    if text in NAMED_DEGREES:
        return NAMED_DEGREES[text]
    k, separator, l = text.partition(",")  # noqa: E741
    if not separator:
        raise ValueError(
            f'"{text}" is neither "K,L" nor one of: ' + ", ".join(NAMED_DEGREES)
        )
    degree = Degree(f"({k},{l})", float(k), float(l))
    if not (0 <= degree.k <= 100 and 0 <= degree.l <= 100):
        raise ValueError(f"K and L are percentages, from 0 to 100: {text}")
    return degree


def make_keys(rows, degree, alpha=1.0, beta=1.0, seed=1):
    """The numbers from 0 to rows - 1, in the order in which they arrive."""
    import numpy

    random = numpy.random.default_rng(seed)
    if degree.scrambled:
        return random.permutation(rows)
    keys = numpy.arange(rows, dtype=numpy.int64)
    reach = int(rows * degree.l / 100)
    pairs = int(rows * degree.k / 200)
    if reach > 0 and pairs > 0:
        one, other = draw_pairs(rows, pairs, reach, alpha, beta, random)
        keys[one], keys[other] = other, one
    return keys


def draw_pairs(rows, pairs, reach, alpha, beta, random):
    """Positions to swap, each at most once; two arrays of the same length.

    With every key out of place and a short reach, some may find no partner:
    there are then fewer pairs than asked for.
    """
    import numpy

    pending = random.permutation(rows)[:pairs]
    taken = numpy.zeros(rows, dtype=bool)
    taken[pending] = True
    matched = []
    for _ in range(ROUNDS_OF_DRAWING):
        lowest = numpy.maximum(pending - reach, 0)
        highest = numpy.minimum(pending + reach, rows - 1)
        shares = random.beta(alpha, beta, len(pending))
        drawn = lowest + numpy.rint((highest - lowest) * shares).astype(numpy.int64)
        # One of the sources that drew the same free position gets it.
        _, first = numpy.unique(drawn, return_index=True)
        first = first[~taken[drawn[first]]]
        matched.append((pending[first], drawn[first]))
        taken[drawn[first]] = True
        pending = numpy.delete(pending, first)
        if len(pending) == 0:
            break
    matched.append(match_in_order(numpy.sort(pending), taken, reach))
    return tuple(numpy.concatenate(side) for side in zip(*matched))


def match_in_order(pending, taken, reach):
    """Matches sorted positions with free ones, in order, and keeps the pairs within reach."""
    import numpy

    free = numpy.flatnonzero(~taken)
    if len(pending) == 0 or len(free) == 0:
        return pending[:0], pending[:0]
    # If there are more free positions, the partners are spread evenly over them.
    partners = free[numpy.arange(len(pending)) * len(free) // len(pending)]
    _, first = numpy.unique(partners, return_index=True)
    first = first[abs(partners[first] - pending[first]) <= reach]
    return pending[first], partners[first]


def measured(keys):
    """K and L of keys that make_keys has made, in percent."""
    import numpy

    displacements = abs(keys - numpy.arange(len(keys)))
    return (
        100 * numpy.count_nonzero(displacements) / len(keys),
        100 * int(displacements.max()) / len(keys),
    )


def write_copy_text(keys, file, first_number=0):
    """Writes lines of key, tab and arrival number, as COPY reads them."""
    import numpy

    for begin in range(0, len(keys), ROWS_A_WRITE):
        part = keys[begin : begin + ROWS_A_WRITE]
        numbers = numpy.arange(begin, begin + len(part)) + first_number
        values = numpy.column_stack((part, numbers)).ravel().tolist()
        file.write(b"%d\t%d\n" * len(part) % tuple(values))
