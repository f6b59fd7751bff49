"""Keys that arrive sorted to a chosen degree, in the manner of BoDS.

BoDS, the benchmark on data sortedness, describes an order of N keys by K and
L: K % of them are out of order, by at most L % of N positions. It starts from
sorted keys and swaps pairs, K % of the keys in all. How far apart the partners are is drawn from a
beta distribution that is stretched over the positions within reach, from L
before to L behind: (1, 1) spreads them evenly, (5, 5) keeps them close, and
(0.5, 0.5) sends them far.
"""

import bisect
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
    """Matches each of the sorted positions with the first free one within reach, if any."""
    import numpy

    free = numpy.flatnonzero(~taken).tolist()
    matched = []
    first = 0
    for position in pending.tolist():
        first = bisect.bisect_left(free, position - reach, first)
        if first == len(free):
            break
        if free[first] <= position + reach:
            matched.append((position, free[first]))
            first += 1
    return numpy.array(matched, dtype=numpy.int64).reshape(-1, 2).T


def measured(keys):
    """K and L of any keys in their order of arrival, in percent.

    They mean what they mean for the SQL function sware_sortedness: K is the share of
    the keys that would have to go so that the others are in order, and L is how far
    the key furthest from its place in sorted order is from there. Equal keys are
    sorted as they arrived.
    """
    import numpy

    arrivals = numpy.argsort(keys, kind="stable")
    displacements = abs(arrivals - numpy.arange(len(keys)))
    out_of_order = len(keys) - longest_ascending(arrivals.tolist())
    return 100 * out_of_order / len(keys), 100 * int(displacements.max()) / len(keys)


def longest_ascending(numbers):
    """The length of the longest ascending subsequence of different numbers."""
    # lasts[n] is the smallest last number of those of length n + 1
    lasts = []
    for number in numbers:
        if not lasts or lasts[-1] < number:
            lasts.append(number)
        else:
            lasts[bisect.bisect_left(lasts, number)] = number
    return len(lasts)


def write_copy_text(keys, file, first_number=0, as_uuid=False):
    """Writes lines of key, tab and arrival number, as COPY reads them.

    With as_uuid, a key is a uuid of version 7 in the same order: there are ten of them
    in a millisecond, which the bits behind the version tell apart; the last 62 bits
    are scattered.
    """
    import numpy

    for begin in range(0, len(keys), ROWS_A_WRITE):
        part = keys[begin : begin + ROWS_A_WRITE].astype(numpy.uint64)
        numbers = numpy.arange(begin, begin + len(part)) + first_number
        columns = (part, numbers)
        line = b"%d\t%d\n"
        if as_uuid:
            milliseconds = part // 10 + 1_700_000_000_000
            scattered = part * 0x9E3779B97F4A7C15
            columns = (
                milliseconds << 16 | 0x7000 | part % 10 * 400,
                scattered >> 2 | 1 << 63,
                numbers,
            )
            line = b"%016x%016x\t%d\n"
        values = [value for row in zip(*(c.tolist() for c in columns)) for value in row]
        file.write(line * len(part) % tuple(values))
