"""Times how long a standby takes to replay what loads have written."""

import contextlib
import pathlib
import time

import buffer
import memory_limit
import pgbench
import results
import server
import subjects
import vacuum

LOADS = ("copy", "single", "random")

# Each transaction of random keys has so many rows.
ROWS_A_TRANSACTION = 20

# CREATE INDEX makes leaves as full as random inserts leave them.
FILLFACTOR = 70

RANDOM_KEY = "hashint8extended({i}, 0)"

FIGURES = {
    "seconds": "replay, s", "processor_seconds": "replay, processor, s",
    "wal_megabytes": "WAL, MB",
}


def measure(chosen, place, degree):
    """The figures of each load, round and subject."""
    everyone = [subjects.NO_INDEX, subjects.NBTREE, *subjects.compared(chosen)]
    raw = []
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(memory_limit.group()) if chosen.limit else None
        for load in chosen.loads:
            results.step(f"replay of {load}")
            for number in range(chosen.rounds):
                for subject in subjects.in_turn(everyone, number):
                    figures = time_replay(chosen, place, group, load, subject)
                    raw.append(
                        {
                            "what": load, "degree": degree.name, "round": number + 1,
                            "subject": subject.label, **figures,
                        }
                    )
                    results.tell_run(
                        number, subject.label,
                        [f"{figures[figure]:,.2f} {FIGURES[figure]}" for figure in FIGURES],
                    )
    tell(chosen, raw, [subject.label for subject in everyone])


def time_replay(chosen, place, group, load, subject):
    """Loads a table while the standby waits, and lets it replay the load."""
    connection = server.connect(chosen)
    table = f"replay_{load}"
    prepare(chosen, place, connection, load, subject, table)
    restart_standby(place, connection, group, chosen.limit)
    standby = server.connect_to_standby(place)
    # The first change of a page after this writes an image of it.  The standby has to
    # receive WAL before it is to wait.
    server.execute(connection, "CHECKPOINT")
    server.wait_for_replay(connection, standby)
    server.execute(standby, "SELECT pg_wal_replay_pause()")
    while server.value(standby, "SELECT pg_get_wal_replay_pause_state()") != "paused":
        time.sleep(0.01)
    before = server.wal_position(connection)
    run(chosen, place, connection, load, table)
    if subject.access_method == "sware":
        # No work is put off.
        buffer.flush(connection, subject, f"{table}_k")
    written = server.wal_position(connection) - before
    figures = time_until_replayed(place, connection, standby)
    query = f"SELECT count(*), sum(hashint8(k)) FROM {table}"
    if server.query(connection, query) != server.query(standby, query):
        raise RuntimeError(f"the standby has other rows in {table}")
    standby.close()
    if group is not None:
        group.limit(None)
    server.execute(connection, f"DROP TABLE {table}")
    connection.close()
    return figures | {"wal_megabytes": written / 1e6}


def prepare(chosen, place, connection, load, subject, table):
    """The table as it is before the load."""
    server.execute(connection, f"CREATE TABLE {table} (k bigint, v integer)")
    if load == "single":
        buffer.load_arrivals(place, connection, table)
    if load == "random":
        server.execute(
            connection,
            f"INSERT INTO {table} SELECT {RANDOM_KEY.format(i='i')}, i "
            f"FROM generate_series(0, {chosen.random_rows - 1}) i",
        )
    if subject.access_method is not None:
        server.execute(connection, subject.create_index(table))
        if load == "random":
            server.execute(connection, f"ALTER INDEX {table}_k SET (fillfactor = {FILLFACTOR})")
            server.execute(connection, f"REINDEX INDEX {table}_k")
            server.execute(connection, f"ALTER INDEX {table}_k RESET (fillfactor)")


def restart_standby(place, connection, group, limit):
    """Starts the standby anew, with nothing in memory of what is in its files."""
    server.execute(connection, "CHECKPOINT")
    standby = server.connect_to_standby(place)
    server.wait_for_replay(connection, standby)
    server.execute(standby, "CHECKPOINT")
    standby.close()
    server.stop(place.standby)
    for file in (place.standby.log.parent / "base").rglob("*"):
        if file.is_file():
            vacuum.cache(file, keep=False)
    server.start(place.standby)
    if group is not None:
        group.add_server(place.standby)
        group.limit(limit)


def run(chosen, place, connection, load, table):
    if load == "copy":
        server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
    elif load == "single":
        buffer.insert_arrivals(connection, table)
    else:
        first = f":arrival * {ROWS_A_TRANSACTION} + {chosen.random_rows}"
        last = f":first::bigint + {ROWS_A_TRANSACTION - 1}"
        pgbench.run(
            place,
            pgbench.numbering(1) + f"\\set first {first}\n"
            f"INSERT INTO {table} SELECT {RANDOM_KEY.format(i='i')}, i::integer "
            f"FROM generate_series(:first::bigint, {last}) i;\n",
            f"--transactions={chosen.trickle_rows // ROWS_A_TRANSACTION}",
            "--define=turn=-1", settings=[("synchronous_commit", "off")],
        )


def time_until_replayed(place, connection, standby):
    """How long the standby takes for what it has received, once it goes on."""
    # What is not flushed is not sent.
    end = server.value(connection, "SELECT pg_switch_wal()")
    while server.value(
        standby, "SELECT coalesce(pg_last_wal_receive_lsn() < %s::pg_lsn, true)", [end]
    ):
        time.sleep(0.01)
    startup = startup_process(place.standby)
    processor, begin = processor_seconds(startup), time.perf_counter()
    server.execute(standby, "SELECT pg_wal_replay_resume()")
    while server.value(standby, "SELECT pg_last_wal_replay_lsn() < %s::pg_lsn", [end]):
        time.sleep(0.005)
    return {
        "seconds": time.perf_counter() - begin,
        "processor_seconds": processor_seconds(startup) - processor,
    }


def startup_process(place):
    """The process that replays."""
    for number in server.children_of(server.postmaster_of(place)):
        process = pathlib.Path(f"/proc/{number}")
        if b"startup" in (process / "cmdline").read_bytes():
            return process
    raise RuntimeError("the standby has no process that replays")


def processor_seconds(process):
    return int((process / "schedstat").read_text().split()[0]) / 1e9


def tell(chosen, raw, labels):
    """Reports medians; shares are of nbtree's, of the whole and of what the index adds."""
    no_index, nbtree, *compared = labels
    summary = []
    table = []
    for load in dict.fromkeys(run["what"] for run in raw):
        runs = [run for run in raw if run["what"] == load]
        for label in compared:
            for figure, name in FIGURES.items():
                alone, one, other = (
                    results.median(runs, of, figure) for of in (no_index, nbtree, label)
                )
                summary.append(
                    {
                        "what": load, "subject": label, "figure": figure, "no_index": alone,
                        "nbtree": one, "compared": other, "share": results.ratio(other, one),
                        "share_of_index": results.ratio(other - alone, one - alone),
                    }
                )
                table.append([load, label, name, *list(summary[-1].values())[3:]])
    results.report(
        chosen.out, f"{chosen.name}-replay", raw, summary,
        ["", "", "", "no index", "nbtree", "compared", "compared / nbtree", "of the index"],
        table,
    )
