"""Samples what the sessions of a server wait for."""

import contextlib
import threading
import time

import server

SAMPLES_A_SECOND = 50

# What a session waits for, by type and name of its wait event. Since PostgreSQL 19
# content locks have names of their own; sware's key locks are those of an extension.
KINDS = {
    "content locks": "wait_event = 'BufferContent' OR "
    "wait_event_type = 'Buffer' AND wait_event <> 'BufferCleanup'",
    "pins": "wait_event IN ('BufferPin', 'BufferCleanup')",
    "extension locks": "wait_event_type = 'Lock' AND wait_event = 'extend'",
    "key locks": "wait_event_type = 'Extension' OR "
    "wait_event_type = 'Lock' AND wait_event <> 'extend'",
}
QUERY = "SELECT {} FROM pg_stat_activity WHERE backend_type = 'client backend'".format(
    ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in KINDS.values())
)


@contextlib.contextmanager
def sampled(chosen):
    """Yields the counts by kind, which are complete when the block has ended."""
    counts = dict.fromkeys(KINDS, 0)
    ended = threading.Event()
    connection = server.connect(chosen)

    def sample():
        due = time.monotonic()
        while not ended.wait(max(0, due - time.monotonic())):
            due += 1 / SAMPLES_A_SECOND
            (row,) = server.query(connection, QUERY)
            for kind, count in zip(KINDS, row):
                counts[kind] += count

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield counts
    finally:
        ended.set()
        thread.join()
        connection.close()
