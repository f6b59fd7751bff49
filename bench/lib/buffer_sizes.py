"""Times mixes of inserts and look-ups by size of the buffer."""

import dataclasses
import pathlib
import statistics
import subprocess

import numpy

import access_method
import charts
import results
import server
import sortedness
import subjects

REQUIREMENTS = pathlib.Path(__file__).resolve().parents[2] / "demo/requirements.txt"

# The size of an entry with a key of 8 bytes in the buffer, and of the smallest buffer.
ENTRY_BYTES = 16
SMALLEST_KILOBYTES = 64

# Receipt dates in the order of ship dates; both are written year first.
DATES = """
    set -o pipefail
    "$0" --scale-factor "$1" --tables lineitem --stdout --quiet |
        cut -d '|' -f 11,13 | LC_ALL=C sort -t '|' -k 1,1 --stable | cut -d '|' -f 2
"""


def measure(chosen, place):
    results.step(origin(chosen))
    keys = make_keys(chosen, place)
    k, l = sortedness.measured(keys)  # noqa: E741
    print(f"{len(keys):,} keys, K = {k:.4g} %, L = {l:.4g} %", flush=True)
    connection = access_method.prepare(chosen)
    access_method.give_keys(place, connection, keys)
    everyone = {"nbtree": subjects.NBTREE} | with_buffers(chosen, len(keys))
    raw = []
    for number in range(chosen.rounds):
        found = {}
        for name in subjects.in_turn(list(everyone), number):
            subject = everyone[name]
            with server.settings_of(subject, chosen, connection):
                runs = time_mixes(chosen, connection, subject, len(keys), number)
            found[name] = [run["found"] for run in runs]
            raw += [{"round": number + 1, "buffer": name} | run for run in runs]
            texts = [f"{run['mix']} {run['seconds']:.2f} s" for run in runs]
            results.tell_run(number, name, texts)
        if any(counts != found["nbtree"] for counts in found.values()):
            raise RuntimeError(f"not the same entries were found: {found}")
    connection.close()
    tell(chosen, raw, list(everyone), len(keys))


def origin(chosen):
    """What the keys are."""
    if chosen.degree is not None:
        return f"generated keys, {chosen.degree.name}"
    return f"receipt dates of TPC-H lineitem at scale factor {chosen.scale:g}"


def make_keys(chosen, place):
    if chosen.degree is None:
        return receipt_dates(chosen, place)
    return sortedness.make_keys(
        chosen.rows, chosen.degree, chosen.alpha, chosen.beta, chosen.seed
    )


def receipt_dates(chosen, place):
    """The keys as numbers of days, made by a generator from PyPI."""
    environment = place.data / "python"
    # Debian's own Python, whatever else is in PATH.
    subprocess.run(["/usr/bin/python3", "-m", "venv", environment], check=True)
    generator = next(
        line for line in REQUIREMENTS.read_text().splitlines()
        if line.startswith("tpchgen-cli")
    )
    subprocess.run(
        [
            environment / "bin/pip", "install", "--quiet",
            "--disable-pip-version-check", generator,
        ],
        check=True,
    )
    dates = subprocess.run(
        [
            "bash", "-c", DATES, environment / "bin/tpchgen-cli",
            f"{chosen.scale:g}",
        ],
        stdout=subprocess.PIPE, check=True,
    ).stdout
    return numpy.array(dates.decode().split(), dtype="datetime64[D]").astype("int64")


def with_buffers(chosen, count):
    """One subject for each size of buffer and staging, by its name in the report."""
    (subject,) = subjects.compared(chosen)
    percentages = {}
    for percentage in chosen.percentages:
        kilobytes = round(count * ENTRY_BYTES * percentage / 100 / 1024)
        # Of several percentages that give the smallest buffer, the last one is kept.
        percentages[max(kilobytes, SMALLEST_KILOBYTES)] = percentage
    everyone = {
        f"{percentage:g} %, {size} kB": dataclasses.replace(
            subject, options=(*subject.options, ("buffer_size", size)),
            settings=(("sware.staging_size", f"{size}kB"),),
        )
        for size, percentage in percentages.items()
    }
    return everyone | {"default": subject}


def time_mixes(chosen, connection, subject, count, number):
    """Loads an index, and does all mixes, each with the same number of operations."""
    preloaded = count * chosen.preloaded // 100
    shares = {mix: access_method.writes(mix) for mix in subjects.in_turn(chosen.mixes, number)}
    operations = int((count - preloaded) / sum(shares.values()))
    access_method.make_index(connection, subject)
    processor_before = server.processor_seconds(connection)
    access_method.load(
        connection, 0, preloaded, max(chosen.operations, access_method.LOAD_OPERATIONS)
    )
    load_seconds = server.processor_seconds(connection) - processor_before
    server.execute(connection, "CHECKPOINT")
    runs = []
    rest = count - preloaded
    for mix, share in shares.items():
        inserts = int(operations * share)
        work = access_method.Work(
            preloaded, inserts, operations - inserts, limit=1
        )
        processor_before = server.processor_seconds(connection)
        seconds, found = access_method.drive(
            connection, work, chosen.operations, chosen.seed + number
        )
        processor_seconds = server.processor_seconds(connection) - processor_before
        preloaded += inserts
        runs.append(
            {
                "mix": mix, "inserts": inserts, "reads": operations - inserts,
                "seconds": seconds, "processor_seconds": processor_seconds,
                # As if this mix had inserted all keys that the load has left.
                "processor_seconds_of_all":
                load_seconds + processor_seconds * rest / inserts,
                "found": found,
            }
        )
    server.execute(connection, "DROP INDEX t_k")
    return sorted(runs, key=lambda run: chosen.mixes.index(run["mix"]))


def tell(chosen, raw, names, count):
    summary = []
    for mix in chosen.mixes:
        runs = [run for run in raw if run["mix"] == mix]
        operations = runs[0]["inserts"] + runs[0]["reads"]
        times = {
            name: [
                1e6 / operations * statistics.median(
                    run[figure] for run in runs if run["buffer"] == name
                )
                for figure in ("seconds", "processor_seconds", "processor_seconds_of_all")
            ]
            for name in names
        }
        summary += [
            {
                "mix": mix, "buffer": name, "operations": operations,
                "nbtree_microseconds": times["nbtree"][0],
                "compared_microseconds": times[name][0],
                "ratio": times["nbtree"][0] / times[name][0],
                "ratio_of_processor_time": times["nbtree"][1] / times[name][1],
                "ratio_of_whole_processor_time": times["nbtree"][2] / times[name][2],
            }
            for name in names[1:]
        ]
    ratios = table_of(summary, chosen.mixes, "ratio")
    print(f"\nnbtree's processor time / {chosen.am}'s")
    print(
        results.as_table(
            ["reads:writes", *names[1:]],
            [
                [mix, *row] for mix, row in zip(
                    chosen.mixes,
                    table_of(summary, chosen.mixes, "ratio_of_processor_time"),
                )
            ],
        )
    )
    print(f"\nnbtree's time / {chosen.am}'s", end="")
    nbtree = {row["mix"]: row["nbtree_microseconds"] for row in summary}
    results.report(
        chosen.out, chosen.name, raw, summary,
        ["reads:writes", "nbtree µs", *names[1:]],
        [[mix, nbtree[mix], *row] for mix, row in zip(chosen.mixes, ratios)],
    )
    charts.heat_map(
        chosen.out / f"{chosen.name}.png",
        f"{origin(chosen)}, {count:,} keys: nbtree's time / {chosen.am}'s\nmedians of {chosen.rounds} rounds",
        chosen.mixes, names[1:], ratios, "reads:writes",
        "size of buffer and staging, share of all entries",
    )


def table_of(summary, mixes, figure):
    """A row of figures for each mix."""
    return [[row[figure] for row in summary if row["mix"] == mix] for mix in mixes]
