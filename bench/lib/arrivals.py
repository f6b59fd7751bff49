"""Orders in which rows of bench/forecast and bench/split_policies arrive."""

import argparse
import re

import options
import sortedness

WANDERING = "wandering"

# Keys of the wandering order are smaller than this.
KEYS = 2**40


def order(text):
    """A degree of sortedness, the percentage of a late-P, or "wandering"."""
    if text == WANDERING:
        return text
    found = re.fullmatch(r"late-(\d+(?:\.\d+)?)", text)
    if not found:
        return options.degree(text)
    if not 0 < float(found[1]) < 100:
        raise argparse.ArgumentTypeError(f"no percentage of late rows: {text}")
    return float(found[1])


def add_orders(parser):
    parser.add_argument(
        "--rows", type=options.positive, default=2_000_000, metavar="N",
        help="number of rows (default: %(default)s)",
    )
    parser.add_argument(
        "--order", type=order, action="append", dest="orders",
        help="sorted, near-sorted, scrambled, K,L in percent, late-P, or wandering; may be "
        "repeated (default: sorted, near-sorted, scrambled, late-1, late-5, late-20, "
        "wandering)",
    )
    parser.add_argument(
        "--reach", type=float, default=20.0, metavar="PERCENT",
        help="how late rows are at most, in percent of the rows (default: %(default)s)",
    )
    parser.add_argument(
        "--hot", type=options.positive, default=5, metavar="PERCENT",
        help="width of a hot range of wandering, in percent of all keys (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--loaded", type=options.positive, default=50, metavar="PERCENT",
        help="of wandering, how many of the rows come first, in order (default: "
        "%(default)s)",
    )
    options.add_distribution(parser)


def orders_of(chosen):
    names = (
        "sorted", "near-sorted", "scrambled", "late-1", "late-5", "late-20", WANDERING,
    )
    return chosen.orders or [order(name) for name in names]


def name_of(order):
    if isinstance(order, sortedness.Degree):
        return order.name
    return order if order == WANDERING else f"late-{order:g}"


def make_keys(chosen, order):
    """The keys in their order of arrival."""
    import numpy

    if order == WANDERING:
        return wandering_keys(chosen)
    if isinstance(order, sortedness.Degree):
        return sortedness.make_keys(
            chosen.rows, order, chosen.alpha, chosen.beta, chosen.seed
        )
    random = numpy.random.default_rng(chosen.seed)
    arrivals = numpy.arange(chosen.rows, dtype=numpy.float64)
    is_late = random.random(chosen.rows) < order / 100
    reach = chosen.rows * chosen.reach / 100
    arrivals += is_late * random.uniform(1, reach, chosen.rows)
    return numpy.argsort(arrivals, kind="stable")


def wandering_keys(chosen):
    """--loaded % of the keys in order; then two ranges that wander over the upper half.

    Nothing more comes to the lower half of the keys, which is cold.
    """
    import numpy

    random = numpy.random.default_rng(chosen.seed)
    first = chosen.rows * chosen.loaded // 100
    later = chosen.rows - first
    width = KEYS * chosen.hot // 100
    way = KEYS // 4 - width
    begins = KEYS // 2 + random.integers(0, 2, later) * (KEYS // 4)
    begins += numpy.arange(later) * way // later
    arrived = numpy.arange(first) * (KEYS // first)
    return numpy.concatenate((arrived, begins + random.integers(0, width, later)))


def cold_rows(chosen, order):
    """How many rows the cold half has, in the order that has one."""
    return chosen.rows * chosen.loaded // 200 if order == WANDERING else 0
