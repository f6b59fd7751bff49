"""The buffer of an index: filling it, emptying it, and counting what is in it."""

import server
import sortedness
import subjects

# Entries with a key of 8 bytes that fit on one buffer page.
ENTRIES_A_PAGE = 508
PAGE_KILOBYTES = 8

# The size of the buffer that is assumed if sware is not there.
USUAL_KILOBYTES = 16 * 1024

# A buffer that holds so much of what it takes is full.
FULL = 0.9

# Each row is a transaction of its own.
TRICKLE = """
    CREATE PROCEDURE trickle_{table}() LANGUAGE plpgsql AS $$
    DECLARE
        arriving record;
    BEGIN
        FOR arriving IN SELECT k, v FROM arrivals ORDER BY v LOOP
            INSERT INTO {table} VALUES (arriving.k, arriving.v);
            COMMIT;
        END LOOP;
    END $$
"""


def rows_to_fill(chosen, connection):
    """How many entries the largest buffer takes before its first flush."""
    return max(capacity(connection, subject) for subject in subjects.compared(chosen))


def capacity(connection, subject):
    """How many entries the buffer of a subject's index takes before its first flush."""
    options = dict(subject.options)
    if "buffer_size" in options:
        kilobytes = int(options["buffer_size"])
    elif subject.access_method == "sware":
        # In kilobytes, whatever the unit it was given in.
        kilobytes = int(
            server.value(
                connection,
                "SELECT setting FROM pg_settings WHERE name = 'sware.buffer_size'",
            )
        )
    else:
        kilobytes = USUAL_KILOBYTES
    return kilobytes // PAGE_KILOBYTES * ENTRIES_A_PAGE


def write_keys(place, keys, first_part):
    """Writes keys to two files: a number of keys to the first, the rest to the other."""
    for name, part, number in (
        ("keys", keys[:first_part], 0),
        ("arrivals", keys[first_part:], first_part),
    ):
        with open(place.data / name, "wb") as file:
            sortedness.write_copy_text(part, file, number)


def trickle(place, connection, table):
    """Inserts the rows of the second file, each in its own transaction.

    The commits do not wait for the disk.
    """
    server.execute(connection, "DROP TABLE IF EXISTS arrivals")
    server.execute(connection, "CREATE TABLE arrivals (k bigint, v integer)")
    server.execute(connection, f"COPY arrivals FROM '{place.data}/arrivals'")
    server.execute(connection, f"DROP PROCEDURE IF EXISTS trickle_{table}")
    server.execute(connection, TRICKLE.format(table=table))
    before = server.value(connection, "SHOW synchronous_commit")
    server.execute(connection, "SET synchronous_commit = off")
    server.execute(connection, f"CALL trickle_{table}()")
    server.execute(connection, "SET synchronous_commit = %s", [before])
    server.execute(connection, "DROP TABLE arrivals")


def flush(connection, subject, index):
    """Empties the buffer of an index, if it has one."""
    if subject.access_method == "sware":
        server.execute(connection, "SELECT sware_flush(%s::regclass)", [index])


def entries(connection, subject, index):
    """How many entries are in the buffer of an index."""
    if subject.access_method != "sware":
        return 0
    return server.value(
        connection, "SELECT buffer_entries FROM sware_stats(%s::regclass)", [index]
    )


# What sware_stats counts of entries on their way to the tree.
COUNTED = ("entries_buffered", "entries_appended", "entries_inserted", "leaf_visits")


def counters(connection, subject, index):
    """What happened to the entries of an index, by the names of sware_stats."""
    if subject.access_method != "sware":
        return dict.fromkeys(COUNTED, 0)
    row = server.query(
        connection, f"SELECT {', '.join(COUNTED)} FROM sware_stats(%s::regclass)", [index]
    )[0]
    return dict(zip(COUNTED, row))


def require_full(connection, subject, index):
    """Fails unless the buffer of an index, if it has one, is nearly full."""
    if subject.access_method != "sware":
        return
    count, most = entries(connection, subject, index), capacity(connection, subject)
    if not FULL * most <= count <= most:
        raise RuntimeError(f"the buffer holds {count:,} entries, and takes {most:,}")


def tell_entries(connection, tables):
    """Prints the number of entries in the buffer of each table's index."""
    for subject, table in tables.items():
        count = entries(connection, subject, f"{table}_k")
        print(f"in the buffer of {subject.label}: {count:,} entries", flush=True)
