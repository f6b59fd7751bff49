"""Options that several benchmarks share."""

import argparse
import pathlib
import re

import sortedness

MIXES = ["10:90", "25:75", "50:50", "75:25", "90:10"]

BENCH = pathlib.Path(__file__).resolve().parent.parent


def make_parser(description):
    return argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"not a positive number: {text}")
    return number


def number(text):
    found = int(text)
    if found < 0:
        raise argparse.ArgumentTypeError(f"a negative number: {text}")
    return found


def positive_list(text):
    return [positive(part) for part in text.split(",")]


def factor_list(text):
    """Positive numbers, which may have a fraction, such as 0.5,2."""
    factors = [float(part) for part in text.split(",")]
    if not min(factors) > 0:
        raise argparse.ArgumentTypeError(f"not positive numbers: {text}")
    return factors


def number_list(text):
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"negative numbers: {text}")
    return numbers


def size(text):
    """A number of bytes, from a size such as 48MB."""
    found = re.fullmatch(r"([1-9][0-9]*)(kB|MB|GB)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"not a size such as 48MB: {text}")
    return int(found[1]) << {"kB": 10, "MB": 20, "GB": 30}[found[2]]


def mix(text):
    """A proportion of reads to writes, such as 10:90."""
    if not re.fullmatch(r"[1-9][0-9]?:[1-9][0-9]?", text):
        raise argparse.ArgumentTypeError(f'"{text}" is not reads:writes')
    return text


def mix_list(text):
    return [mix(part) for part in text.split(",")]


def degree(text):
    try:
        return sortedness.parse_degree(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def setting(text):
    """A name and a value, from name=value."""
    name, separator, value = text.partition("=")
    if not separator or not re.fullmatch(r"[a-zA-Z_][a-zA-Z_0-9.]*", name):
        raise argparse.ArgumentTypeError(f"not name=value: {text}")
    return name, value


def variation(text):
    """A name and several values, from name=value,value,..."""
    name, values = setting(text)
    return name, values.split(",")


def access_method(text):
    if not re.fullmatch(r"[a-z_][a-z_0-9]*", text):
        raise argparse.ArgumentTypeError(f"no name of an access method: {text}")
    return text


def choices(*names):
    """A comma-separated list of some of the names."""

    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(
                    f'"{name}" is none of: ' + ", ".join(names)
                )
        return chosen

    return parse


def add_distribution(parser):
    parser.add_argument(
        "--alpha", type=float, default=1.0, metavar="A",
        help="first parameter of the displacements' beta distribution "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--beta", type=float, default=1.0, metavar="B",
        help="second parameter (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N",
        help="the same seed makes the same keys (default: %(default)s)",
    )


def add_mixes(parser, default=MIXES):
    parser.add_argument(
        "--mix", type=mix_list, default=default, dest="mixes",
        metavar="READS:WRITES,...",
        help="mixes of look-ups and inserts "
        f"(default: {','.join(default) if default else 'none'})",
    )


def add_preloaded(parser):
    parser.add_argument(
        "--preloaded", type=preloaded, default=80, metavar="PERCENT",
        help="percentage of the keys that is loaded before a mix begins "
        "(default: %(default)s)",
    )


def preloaded(text):
    percentage = positive(text)
    if percentage >= 100:
        raise argparse.ArgumentTypeError("it must leave keys to insert")
    return percentage


def add_degrees(parser, default):
    parser.add_argument(
        "--degree", type=degree, action="append", dest="degrees",
        help="sorted, near-sorted, less-sorted, scrambled, or K,L in percent; "
        f"may be repeated (default: {', '.join(default)})",
    )
    parser.set_defaults(default_degrees=[degree(name) for name in default])


def add_grid(parser, instead):
    parser.add_argument(
        "--grid", type=grid, metavar="K,K,.../L,L,...",
        help=f"all combinations of these K and L {instead}, in percent, such as "
        "1,10,50,100/0.1,1,5,50",
    )


def grid(text):
    """Degrees, from a list of K and one of L."""
    k_values, separator, l_values = text.partition("/")
    if not separator or "/" in l_values:
        raise argparse.ArgumentTypeError(f"not K,K,.../L,L,...: {text}")
    return [degree(f"{k},{l}") for k in k_values.split(",") for l in l_values.split(",")]


def add_server(parser):
    """Options of every benchmark that runs a server."""
    group = parser.add_argument_group("server and results")
    group.add_argument(
        "--am", type=access_method, default="sware", metavar="NAME",
        help="access method to compare with nbtree (default: %(default)s); with "
        "btree, nbtree is compared with itself, which shows how much the "
        "figures of this machine vary",
    )
    group.add_argument(
        "--with", type=setting, action="append", default=[], dest="index_options",
        metavar="NAME=VALUE",
        help="option of the compared access method's indexes; may be repeated",
    )
    group.add_argument(
        "--vary", type=variation, metavar="NAME=VALUE,...",
        help="measure the compared access method with each of these values of "
        "an index option, in turn; or of a setting, whose name has a dot, such as "
        "sware.staging_size=64kB,1MB, in ingestion, mixes and access_method",
    )
    group.add_argument(
        "--setting", type=setting, action="append", default=[], dest="settings",
        metavar="NAME=VALUE",
        help="setting of every session, such as synchronous_commit=off; may be "
        "repeated",
    )
    group.add_argument(
        "--server-setting", type=setting, action="append", default=[],
        dest="server_settings", metavar="NAME=VALUE",
        help="line for postgresql.conf; may be repeated",
    )
    group.add_argument(
        "--out", type=pathlib.Path, default=BENCH / "out", metavar="DIR",
        help="where the results are written (default: bench/out)",
    )
    group.add_argument(
        "--name", metavar="NAME",
        help="name of the files of results (default: that of the benchmark)",
    )
    group.add_argument(
        "--keep", action="store_true", help="leave the cluster running at the end"
    )
    parser.epilog = (
        "Run it as root, or as a user with sudo if Debian packages are\n"
        "missing. Nothing outside a temporary directory and the directory of\n"
        "results is changed, except that missing Debian packages are installed.\n"
        "PG_CONFIG may name the pg_config of another server; TMPDIR another\n"
        "directory for the cluster and the data."
    )


def parse(parser, varies_settings=False):
    """Parses, and fills in what depends on other options."""
    chosen = parser.parse_args()
    if chosen.vary is not None and "." in chosen.vary[0] and not varies_settings:
        parser.error("--vary takes options of indexes here, and no settings")
    if hasattr(chosen, "default_degrees"):
        combined = getattr(chosen, "grid", None) or []
        chosen.degrees = (chosen.degrees or []) + combined or chosen.default_degrees
    if chosen.name is None:
        chosen.name = parser.prog
    return chosen
