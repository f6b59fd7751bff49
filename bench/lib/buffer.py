"""The buffer of an index: filling it, emptying it, and counting what is in it."""

import server
import sortedness
import subjects

# Entries with a key of 8 bytes that fit on one buffer page.
ENTRIES_A_PAGE = 508
PAGE_KILOBYTES = 8

# The size of the buffer that is assumed if sware is not there.
USUAL_KILOBYTES = 16 * 1024

# So much of what a buffer takes fills it without a flush.
FULL = 0.95

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
    load_arrivals(place, connection, table)
    insert_arrivals(connection, table)
    server.execute(connection, "DROP TABLE arrivals")


def load_arrivals(place, connection, table):
    """Makes a table of the rows of the second file, and a procedure that inserts them."""
    server.execute(connection, "DROP TABLE IF EXISTS arrivals")
    server.execute(connection, "CREATE TABLE arrivals (k bigint, v integer)")
    server.execute(connection, f"COPY arrivals FROM '{place.data}/arrivals'")
    server.execute(connection, f"DROP PROCEDURE IF EXISTS trickle_{table}")
    server.execute(connection, TRICKLE.format(table=table))


def insert_arrivals(connection, table):
    before = server.value(connection, "SHOW synchronous_commit")
    server.execute(connection, "SET synchronous_commit = off")
    server.execute(connection, f"CALL trickle_{table}()")
    server.execute(connection, "SET synchronous_commit = %s", [before])


def insert_in_twenties(place, connection, table):
    """Inserts the rows of the second file, in transactions of twenty."""
    server.execute(connection, "DROP TABLE IF EXISTS arrivals")
    server.execute(connection, "CREATE TABLE arrivals (k bigint, v integer PRIMARY KEY)")
    server.execute(connection, f"COPY arrivals FROM '{place.data}/arrivals'")
    server.execute(connection, "ANALYZE arrivals")
    server.execute(
        connection,
        "DO $$ DECLARE first integer := (SELECT min(v) FROM arrivals); BEGIN\n"
        "WHILE first <= (SELECT max(v) FROM arrivals) LOOP\n"
        f"INSERT INTO {table} SELECT k, v FROM arrivals "
        "WHERE v BETWEEN first AND first + 19;\n"
        "first := first + 20; COMMIT; END LOOP; END $$",
    )
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


def fill(connection, subject, index, most, insert):
    """Fills the buffer of an index by small transactions; returns how many rows it took.

    insert(first, count) inserts some of the rows, which are "most" at most. Rows that come
    in order go to the tree at once: it takes more rows than the buffer has entries then,
    and if all rows are in order they do not fill it.
    """
    wanted = int(capacity(connection, subject) * FULL)
    if wanted > most:
        raise RuntimeError(
            f"{wanted:,} entries fill the buffer: use more --rows or a smaller "
            "--with buffer_size"
        )
    found = 0
    while found < most:
        lacking = wanted - entries(connection, subject, index)
        if lacking < wanted // 50:
            break
        step = min(lacking, most - found)
        insert(found, step)
        found += step
    print(
        f"{found:,} rows in small transactions leave "
        f"{entries(connection, subject, index):,} in the buffer", flush=True,
    )
    return found


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


def tell_entries(connection, tables):
    """Prints the number of entries in the buffer of each table's index."""
    for subject, table in tables.items():
        count = entries(connection, subject, f"{table}_k")
        print(f"in the buffer of {subject.label}: {count:,} entries", flush=True)
