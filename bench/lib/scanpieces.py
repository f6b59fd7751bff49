"""Counts in how many pieces of the file the leaves of scans lie."""

import leaves
import numpy
import results
import server
import subjects
import ycsb

KEY_BYTES = 8


def measure(chosen, place):
    connection = server.connect(chosen)
    server.execute(connection, "CREATE EXTENSION pageinspect")
    plain, grouped = (
        subjects.Subject(
            label, chosen.am,
            (*chosen.index_options, ("buffer_size", "0"), ("group_leaves", value)),
        )
        for label, value in (("sware", "off"), ("sware, group_leaves", "on"))
    )
    summary = []
    for size in chosen.bytes:
        results.step(f"records of {size} bytes")
        for subject in (subjects.NBTREE, plain, grouped):
            summary += states(chosen, place, connection, subject, size, subject is plain)
    connection.close()
    summary.sort(key=lambda row: (row["bytes"], list(STATES).index(row["state"].split()[0])))
    tell(chosen, summary)


# In the order of the report.
STATES = ("VACUUM", "grown", "again")


def states(chosen, place, connection, subject, size, with_segments):
    rows = chosen.megabytes * 2**20 // size
    server.execute(connection, "DROP TABLE IF EXISTS records")
    server.execute(connection, "CREATE TABLE records (k bigint, payload text)")
    ycsb.keep_plain(connection, "records")
    server.execute(connection, subject.create_index("records", included=("payload",)))
    found = []

    def note(state, moves=True):
        chain = leaves.in_order(connection, subject, "records_k")
        entries = numpy.array([count for _, count, _ in chain])
        blocks = numpy.array([block for block, _, _ in chain])
        layouts = {subject.label: numpy.diff(blocks) != 1}
        if with_segments:
            for pages in chosen.segments:
                begins = numpy.arange(1, len(blocks)) % pages == 0
                layouts[f"segments of {pages}"] = begins
        for label, begins in layouts.items():
            read, pieces = count_pieces(chosen, entries, begins)
            found.append(
                {
                    "bytes": size, "state": state, "layout": label, "leaves": len(blocks),
                    "read": read, "pieces": pieces,
                }
            )
            print(f"{state}, {label}: {read:.2f} leaves in {pieces:.2f} pieces", flush=True)

    arrive(place, connection, 0, rows, size)
    vacuum(connection, subject)
    note("VACUUM")
    come = rows
    for percent in chosen.grown:
        end = rows + rows * percent // 100
        arrive(place, connection, come, end, size)
        come = end
        note(f"grown {percent} %")
    vacuum(connection, subject)
    note("again VACUUM")
    return found


def arrive(place, connection, first, end, size):
    payload = f"left(repeat(md5(n::text), {size // 32 + 1}), {size - KEY_BYTES})"
    server.execute(
        connection,
        f"INSERT INTO records SELECT {ycsb.key('hashed', 'n')}, {payload} "
        f"FROM generate_series({first}, {end - 1}::bigint) n",
    )


def vacuum(connection, subject):
    before = server.wal_position(connection)
    server.execute(connection, "VACUUM (INDEX_CLEANUP on) records")
    moves = ""
    if subject.access_method != "btree":
        number = server.value(connection, "SELECT leaf_moves FROM sware_stats('records_k')")
        moves = f", {number:,} moves of leaves so far"
    wal = server.wal_position(connection) - before
    print(f"VACUUM of {subject.label}: {wal / 2**20:,.0f} MB of WAL{moves}", flush=True)


def count_pieces(chosen, entries, begins):
    """How many leaves a scan reads on average, and in how many pieces they lie.

    `begins` says for each leaf but the first whether it begins a piece.
    """
    random = numpy.random.default_rng(chosen.seed)
    ends = numpy.cumsum(entries)
    first = random.integers(0, ends[-1], chosen.scans)
    last = numpy.minimum(
        first + random.integers(0, ycsb.LONGEST_SCAN, chosen.scans), ends[-1] - 1
    )
    one, other = (numpy.searchsorted(ends, entry, "right") for entry in (first, last))
    begun = numpy.concatenate(((0,), numpy.cumsum(begins)))
    return (
        float(numpy.mean(other - one + 1)), float(numpy.mean(begun[other] - begun[one] + 1))
    )


def tell(chosen, summary):
    results.report(
        chosen.out, chosen.name, summary, summary,
        ["bytes", "", "", "leaves", "read by a scan", "pieces"],
        [list(row.values()) for row in summary],
    )
