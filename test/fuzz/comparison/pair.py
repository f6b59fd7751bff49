"""Runs each statement on both sides and compares the outcomes.

Statements are written once, with @S for the schema of the side.  The base side has nbtree
indexes, the test side those of the access method under test.
"""

import time

import psycopg2
import psycopg2.extensions

BASE, TEST = "fuzz_base", "fuzz_test"
TOGGLES = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_seqscan",
           "enable_sort", "enable_material", "enable_hashjoin", "enable_mergejoin",
           "enable_nestloop", "enable_hashagg", "enable_memoize")


class Difference(Exception):
    """The two sides disagree, or something failed that must not."""


class ServerLost(Difference):
    """The connection broke: most likely the server crashed."""


class Cancelled(Exception):
    """A standby has cancelled a query, or ended a session, since replay was in conflict with it."""


def everything_as_text(connection):
    """Answers are compared as the server prints them, not as Python would."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid, typarray FROM pg_type")
        oids = tuple(oid for row in cursor.fetchall() for oid in row if oid)
    psycopg2.extensions.register_type(psycopg2.extensions.new_type(
        oids, "TEXT", lambda value, cursor: value), connection)


def abridged(rows):
    if not isinstance(rows, list):
        return str(rows)
    lines = ["%d rows" % len(rows)] + ["  %s" % (row,) for row in rows[:20]]
    if len(rows) > 20:
        lines.append("  ...")
    return "\n".join(line[:300] for line in lines)


def first_difference(base, test):
    if not isinstance(base, list) or not isinstance(test, list):
        return ""
    for number, (left, right) in enumerate(zip(base, test)):
        if left != right:
            return "first difference in row %d:\n  base %s\n  test %s" % (
                number, str(left)[:300], str(right)[:300])
    if len(base) != len(test):
        longer = base if len(base) > len(test) else test
        return "one answer ends after row %d, the other goes on:\n  %s" % (
            min(len(base), len(test)), str(longer[min(len(base), len(test))])[:300])
    return ""


class Session:
    """One connection that sees both sides."""

    def __init__(self, dsn, log, name, on_standby=False):
        self.dsn = dsn
        self.name = name
        self.log = log
        self.on_standby = on_standby
        self.connect()

    def connect(self):
        self.connection = psycopg2.connect(self.dsn)
        self.connection.autocommit = True
        everything_as_text(self.connection)
        self.cursor = self.connection.cursor()
        self.in_transaction = False
        self.mode = ""
        self.toggles = {}
        # A wrong pin or lock would make a statement wait for ever: make that an error.
        self.execute("SET statement_timeout = '60s'; SET lock_timeout = '60s'; "
                     "SET TimeZone = 'UTC'; SET max_parallel_workers_per_gather = 0; "
                     "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
                     "SET min_parallel_table_scan_size = 0; "
                     "SET client_min_messages = error; SET random_page_cost = 1.1; "
                     "SET min_parallel_index_scan_size = 0; SET jit = off")

    def close(self):
        self.connection.close()

    def execute(self, sql):
        """One statement; its rows, or None when it returns none."""
        self.log.write("/* %s */ %s;\n" % (self.name, sql))
        try:
            self.cursor.execute(sql)
        except psycopg2.Error as error:
            # The reason for the end of an idle session does not always get here; test/fuzz/run looks
            # whether the standby has crashed.
            if self.on_standby and (self.connection.closed or "conflict with recovery" in str(error)):
                self.log.write("-- cancelled: %s\n" % str(error).replace("\n", " "))
                raise Cancelled(str(error))
            if self.connection.closed:
                raise ServerLost("connection lost in: %s" % sql[:2000])
            raise
        return self.cursor.fetchall() if self.cursor.description else None

    def copy_in(self, sql, lines):
        self.log.write("/* %s */ %s;\n%s\\.\n" % (self.name, sql, lines.getvalue()))
        lines.seek(0)
        try:
            self.cursor.copy_expert(sql, lines)
        except psycopg2.Error:
            if self.connection.closed:
                raise ServerLost("connection lost in: %s" % sql)
            raise

    def recover(self):
        """Make the session usable again after the standby has cancelled something."""
        deadline = time.time() + 60
        while True:
            try:
                if self.connection.closed:
                    self.connect()
                else:
                    self.end("ROLLBACK")
                return
            except (Cancelled, psycopg2.Error):
                # a new session can be ended for a conflict, too, at each step
                self.connection.close()
                if time.time() > deadline:
                    raise

    def wait_for_replay(self, primary):
        """Wait until this session's standby has replayed what a session of the primary has
        committed."""
        flushed = primary.execute("SELECT pg_current_wal_flush_lsn()")[0][0]
        deadline = time.time() + 60
        while self.execute("SELECT pg_last_wal_replay_lsn() >= '%s'" % flushed)[0][0] != "t":
            if time.time() > deadline:
                raise Difference("the standby has not replayed %s within a minute" % flushed)
            time.sleep(0.002)

    def set_toggles(self, wanted):
        """Planner settings; only what changes is sent."""
        changes = [(name, value) for name, value in wanted.items()
                   if self.toggles.get(name) != value]
        if changes:
            self.execute("; ".join("SET %s = %s" % change for change in changes))
            self.toggles.update(changes)

    def begin(self, mode=""):
        self.execute("BEGIN %s" % mode)
        self.mode = mode
        self.in_transaction = True

    def end(self, command):
        self.execute(command)
        self.in_transaction = False
        if command == "ROLLBACK":      # it also takes back what SET did
            self.toggles = {}


class Removals:
    """How many entries of dead rows indexes have lost outside VACUUM."""

    def __init__(self):
        self.deleted = self.dropped = 0

    def add(self, session, indexes):
        row = session.execute(
            "SELECT coalesce(sum(entries_deleted), 0), coalesce(sum(entries_dropped), 0) "
            "FROM unnest(ARRAY[%s]::regclass[]) AS index, sware_stats(index)" % ", ".join(
                "'%s'" % index for index in indexes))[0]
        self.deleted += int(row[0])
        self.dropped += int(row[1])

    def summary(self):
        return ", %d entries deleted from leaves, %d dropped by flushes" % (self.deleted, self.dropped)


class Pair:
    """Compares the outcome of statements on the two sides."""

    def attempt(self, session, action, may_fail):
        """('rows', rows) or ('error', code); an allowed error leaves the transaction usable."""
        guarded = session.in_transaction and may_fail
        if guarded:
            session.execute("SAVEPOINT fuzz_statement")
        try:
            outcome = ("rows", action(), session.cursor.rowcount)
        except psycopg2.Error as error:
            if guarded:
                session.execute("ROLLBACK TO SAVEPOINT fuzz_statement")
            outcome = ("error", "%s %s" % (error.pgcode, str(error).strip()), error.pgcode)
            self.log_error(session, outcome[1])
        if guarded:
            session.execute("RELEASE SAVEPOINT fuzz_statement")
        return outcome

    @staticmethod
    def log_error(session, message):
        session.log.write("-- error: %s\n" % message.replace("\n", " "))

    def run(self, session, sql, may_fail=False, compare="bag", prefix=0):
        """Run a statement on both sides; sql is text with @S, or a function of the schema.

        compare: "order" (rows in order), "bag" (rows in any order), "prefix" (the first columns
        in order and the rows in any order).  Returns (rows or None, row count), or None when both
        sides raised the same error.
        """
        outcomes = []
        for schema in (BASE, TEST):
            text = sql(schema) if callable(sql) else sql.replace("@S", schema)
            outcomes.append(self.attempt(session, lambda: session.execute(text), may_fail))
        return self.agree(text, outcomes, may_fail, compare, prefix)

    def copy(self, session, table, lines, may_fail):
        outcomes = []
        for schema in (BASE, TEST):
            sql = "COPY %s.t (%s) FROM STDIN" % (schema, table)
            outcomes.append(self.attempt(
                session, lambda: session.copy_in(sql, lines), may_fail))
        return self.agree(sql, outcomes, may_fail, "bag", 0)

    def agree(self, sql, outcomes, may_fail, compare, prefix):
        base, test = outcomes
        if base[0] == "error" or test[0] == "error":
            same = base[0] == test[0] and self.is_same_error(sql, base[2], test[2])
            if same and may_fail:
                return None
            problem = ("unexpected error on both sides" if same
                       else "an error on one side, or different errors")
            raise Difference("%s\nquery: %s\nbase: %s\ntest: %s" % (
                problem, sql[:3000], abridged(base[1]), abridged(test[1])))
        if base[1] is None and test[1] is None:
            if base[2] != test[2]:
                raise Difference("different row counts\nquery: %s\nbase: %d\ntest: %d" % (
                    sql[:3000], base[2], test[2]))
            return None, base[2]
        self.same_rows(sql, base[1], test[1], compare, prefix)
        return base[1], base[2]

    @staticmethod
    def is_same_error(sql, base, test):
        """Rows that are both too large and duplicates may be refused for either reason."""
        return base == test or (sql.startswith("CREATE UNIQUE INDEX")
                                and {base, test} == {"23505", "54000"})

    @staticmethod
    def same_rows(sql, base, test, compare, prefix, names=("base", "test")):
        if base == test:
            return
        what = "different answers"
        if compare == "prefix":
            left = [row[:prefix] for row in base]
            right = [row[:prefix] for row in test]
            if left != right:
                base, test, what = left, right, "different order"
            else:
                compare = "bag"
        if compare == "bag":
            base, test = (sorted(rows, key=lambda row: [(v is not None, v) for v in row])
                          for rows in (base, test))
            if base == test:
                return
        raise Difference("%s\nquery: %s\n%s: %s\n%s: %s\n%s" % (
            what, sql[:3000], names[0], abridged(base), names[1], abridged(test),
            first_difference(base, test)))
