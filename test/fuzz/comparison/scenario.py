"""One seed: a series of tables, each put through random operations and queries."""

import random
import re
import time

from . import changes, questions
from .pair import BASE, TEST, Cancelled, Difference, Pair, Removals, Session
from .tables import Table

ROW_COMPARISON = re.compile(r"\) [<>]=? \(")


def weighted(rng, choices):
    total = sum(weight for weight, _ in choices)
    pick = rng.randrange(total)
    for weight, choice in choices:
        if pick < weight:
            return choice
        pick -= weight
    raise AssertionError("weights exhausted")


class OldReader:
    """A further connection whose old snapshot, and maybe cursor, outlives changes."""

    def __init__(self, scenario, session, rng):
        self.rng = rng
        self.pair = scenario.pair
        self.table = scenario.table
        self.session = session
        self.session.begin("ISOLATION LEVEL REPEATABLE READ")
        toggles = questions.random_toggles(rng)
        # A cursor on an index-only scan keeps a page pinned, and VACUUM in the other session of
        # this single-threaded test would wait for it for ever.  The same holds for any scan of
        # an unlogged table, and for the page of a heap that FREEZE wants.
        if not session.on_standby:
            toggles["enable_indexonlyscan"] = "off"
        self.session.set_toggles(toggles)
        self.toggles = toggles
        self.queries = [questions.random_question(rng, self.table) for _ in range(4)]
        self.answers = [self.ask(question) for question in self.queries]
        self.left = rng.randint(10, 60) if not scenario.dead_rows else rng.choice((20, 60, 200))
        self.cursor = not self.table.unlogged and rng.random() < 0.6
        if self.cursor:
            declare_cursors(self.pair, self.session, "old_cursor",
                            questions.cursor_query(rng, self.table))

    def ask(self, question):
        rows, _ = self.pair.run(self.session, question.sql, compare=question.compare,
                                prefix=question.prefix)
        return rows

    def step(self):
        """Asks what was asked before: the answer must be the same, and that of a sequential scan.
        Or asks something else."""
        rng = self.rng
        if self.cursor and rng.random() < 0.4:
            fetch(rng, self.pair, self.session, "old_cursor")
            return
        if rng.random() < 0.3:
            question = questions.random_question(rng, self.table)
            before, names = self.ask(question), ("index", "sequential scan")
            self.session.set_toggles(dict(self.toggles, **questions.SEQUENTIAL))
        else:
            number = rng.randrange(len(self.queries))
            question = self.queries[number]
            before, names = self.answers[number], ("before", "now")
        Pair.same_rows(question.sql, before, self.ask(question), question.compare,
                       question.prefix, names)
        self.session.set_toggles(self.toggles)

    def end(self):
        self.session.end("ROLLBACK")


def declare_cursors(pair, session, name, query):
    pair.run(session, lambda schema: "DECLARE %s_%s SCROLL CURSOR FOR %s" % (
        name, schema, query.replace("@S", schema)))


def fetch(rng, pair, session, name):
    move = rng.choice(("FORWARD %d", "FORWARD %d", "FORWARD %d", "BACKWARD %d", "BACKWARD %d",
                       "RELATIVE %d", "ABSOLUTE %d", "ABSOLUTE -%d"))
    move = move % rng.choice((1, 1, 2, 5, 50, 500))
    if rng.random() < 0.1:
        move = rng.choice(("FIRST", "LAST", "NEXT", "PRIOR", "FORWARD ALL", "BACKWARD ALL"))
    verb = "MOVE" if rng.random() < 0.15 else "FETCH"
    pair.run(session, lambda schema: "%s %s FROM %s_%s" % (verb, move, name, schema), compare="order")


class Standby:
    """Old readers on a standby, with which replay may be in conflict.  They draw from random numbers
    of their own, since what becomes of them does not follow from the seed."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.rng = random.Random("standby of %d" % scenario.seed)
        self.spare = [Session(scenario.settings.standby, scenario.log, "standby%d" % number, True)
                      for number in range(2)]
        self.readers = []
        self.looks = self.cancelled = 0

    def summary(self):
        return ", %d looks on the standby, %d readers cancelled there" % (self.looks, self.cancelled)

    def look(self):
        if self.scenario.table.unlogged or self.rng.random() < 0.6:
            return
        # its locks would keep readers waiting, and it would wait for them
        if self.scenario.main.in_transaction:
            return
        if self.spare and self.rng.random() < 0.3:
            session = self.spare.pop()
            if not self.attempt(session, lambda: self.readers.append(self.new_reader(session))):
                self.spare.append(session)
        elif self.readers:
            reader = self.rng.choice(self.readers)
            if not self.attempt(reader.session, reader.step):
                self.free(reader)
            elif reader.left <= 0:
                self.close_reader(reader)

    def new_reader(self, session):
        session.wait_for_replay(self.scenario.main)
        return OldReader(self.scenario, session, self.rng)

    def close_reader(self, reader):
        self.attempt(reader.session, reader.end)
        self.free(reader)

    def free(self, reader):
        self.readers.remove(reader)
        self.spare.append(reader.session)

    def attempt(self, session, action):
        """Does something on the standby.  Returns false if it was cancelled."""
        try:
            action()
            self.looks += 1
            return True
        except Cancelled:
            self.cancelled += 1
            session.recover()
            return False

    def finish_table(self):
        for reader in list(self.readers):
            self.close_reader(reader)
        if not self.scenario.table.unlogged:
            self.attempt(self.spare[0], self.compare_all)

    def compare_all(self):
        session, scenario = self.spare[0], self.scenario
        session.wait_for_replay(scenario.main)
        session.set_toggles(questions.ORDERED)
        for index in scenario.table.indexes:
            question = questions.everything(self.rng, index)
            scenario.pair.run(session, question.sql, compare=question.compare, prefix=question.prefix)
            if scenario.settings.am != "btree":
                session.execute("SELECT %s_check('%s.%s', true)" % (
                    scenario.settings.am, TEST, index.name))

    def close(self):
        for session in self.spare + [reader.session for reader in self.readers]:
            session.close()


class Scenario:
    """Everything a seed decides, and the counts it leaves."""

    def __init__(self, seed, settings, log):
        self.seed = seed
        self.rng = random.Random("sware %d" % seed)
        self.settings = settings
        self.log = log
        self.pair = Pair()
        self.main = Session(settings.dsn, log, "main")
        self.dead_rows = settings.dead_rows
        self.table = None
        self.spare = []            # sessions for old readers
        self.readers = []
        self.standby = None
        self.removals = Removals()
        self.saved = []            # what ROLLBACK brings back: (savepoint, rows, indexes)
        self.toggles = {}
        self.operations = 0
        self.explained = self.with_index = 0
        self.deadline = settings.deadline

    def summary(self):
        return "%d of %d explained plans use an index%s%s" % (
            self.with_index, self.explained, self.removals.summary(),
            self.standby.summary() if self.standby else "")

    # What the changes need to know.

    @property
    def old_snapshot(self):
        return bool(self.readers)

    def alone(self):
        """Nothing else runs, so CONCURRENTLY neither fails nor waits."""
        return not self.main.in_transaction and not self.old_snapshot

    def may_fail(self):
        """Only a key that is too large may be refused, or one that is there already."""
        return self.table.wide or self.table.may_collide

    def change(self, sql):
        self.changed(self.pair.run(self.main, sql, self.may_fail()), sql)

    def changed(self, outcome, sql="COPY"):
        if outcome is None:
            return
        if sql.startswith(("INSERT", "COPY")):
            self.table.rows += outcome[1]
        elif sql.startswith("DELETE"):
            self.table.rows -= outcome[1]

    # The run.

    def run(self):
        self.prepare()
        try:
            while self.operations < self.settings.operations and time.time() < self.deadline:
                self.new_table()
                last = self.operations + self.rng.choice((200, 500, 1000))
                while self.operations < min(last, self.settings.operations):
                    self.one_operation()
                    self.operations += 1
                    if time.time() > self.deadline:
                        break
                self.finish_table()
            self.indexes_were_used()
        finally:
            for session in [self.main] + self.spare + [reader.session for reader in self.readers]:
                session.close()
            if self.standby:
                self.standby.close()

    def prepare(self):
        execute = self.main.execute
        execute("SET search_path = pg_catalog, public")
        if self.settings.am != "btree":
            execute("CREATE EXTENSION IF NOT EXISTS %s SCHEMA public" % self.settings.am)
        execute("DROP SCHEMA IF EXISTS fuzz_base, fuzz_test, fuzz_shared CASCADE")
        for schema in (BASE, TEST, "fuzz_shared"):
            execute("CREATE SCHEMA %s" % schema)
        execute("CREATE TYPE fuzz_shared.mood AS ENUM "
                "('sad', 'low', 'ok', 'fine', 'happy', 'zen')")
        # A server without ICU lists one of its collations, too, from 16 on.
        icu = execute("SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu' AND "
                      "getdatabaseencoding() = 'UTF8'")[0][0] != "0"
        execute("CREATE COLLATION fuzz_shared.case_blind (%s)" % (
            "provider = icu, locale = 'und-u-ks-level2', deterministic = false" if icu
            else "provider = libc, locale = 'C'"))
        self.spare = [Session(self.settings.dsn, self.log, "other%d" % number)
                      for number in range(3 if self.dead_rows else 1)]
        if self.settings.standby:
            self.standby = Standby(self)

    def new_table(self):
        for schema in (BASE, TEST):
            self.main.execute("DROP TABLE IF EXISTS %s.t" % schema)
        self.table = Table(self.rng, self.settings.am)
        if self.dead_rows:
            self.table.row_limit = self.rng.choice((200, 1000, 4000))
        if self.settings.am == "sware":
            changes.set_staging_size(self.rng, self.main)
        for schema in (BASE, TEST):
            for statement in self.table.create_statements(schema):
                self.main.execute(statement)
        if self.rng.random() < 0.5:
            changes.copy_rows(self)
        while not self.table.indexes:
            changes.create_index(self)
        if self.rng.random() < 0.5:
            changes.create_index(self)

    def one_operation(self):
        for reader in self.readers:
            reader.left -= 1
        weighted(self.rng, DEAD_ROWS if self.dead_rows else USUAL)(self)
        if self.standby:
            for reader in self.standby.readers:
                reader.left -= 1
            self.standby.look()
        self.close_old_readers(lambda reader: reader.left <= 0)
        if self.operations % 50 == 49 and not self.main.in_transaction:
            self.check_indexes()

    def change_something(self):
        choices = list(changes.DEADLY_ROW_CHANGES if self.dead_rows else changes.ROW_CHANGES)
        if not self.main.in_transaction:
            choices += changes.OUTSIDE
        if self.rng.random() < (0.05 if self.dead_rows else 0.15):
            choices = list(changes.RARE)
            if not self.old_snapshot:
                choices += changes.BLOCKING
        weighted(self.rng, choices)(self)

    def open_reader(self):
        if not self.spare or self.main.in_transaction:
            return self.change_something()
        self.readers.append(OldReader(self, self.spare.pop(), self.rng))

    def step_reader(self):
        if not self.readers:
            return self.change_something()
        self.rng.choice(self.readers).step()

    def look_at_all(self):
        """Index scans of everything, which mark the entries of dead rows."""
        self.main.set_toggles(dict(questions.random_toggles(self.rng), **questions.ORDERED))
        for index in self.table.indexes:
            question = questions.everything(self.rng, index)
            rows, _ = self.pair.run(self.main, question.sql, compare=question.compare,
                                    prefix=question.prefix)
        if self.rng.random() < 0.3:
            self.compare_with_sequential_scan(question, rows)
        self.toggles = {}

    def ask(self):
        rng = self.rng
        if not self.toggles or rng.random() < 0.15:
            self.toggles = questions.random_toggles(rng)
        question = questions.random_question(rng, self.table)
        self.main.set_toggles(self.toggles)
        if rng.random() < 0.1:
            self.explain(question)
        outcome = self.pair.run(self.main, question.sql, compare=question.compare,
                                prefix=question.prefix)
        if rng.random() < 0.05:
            self.compare_with_sequential_scan(question, outcome[0])

    def compare_with_sequential_scan(self, question, rows):
        self.main.set_toggles(dict(self.toggles, **questions.SEQUENTIAL))
        sequential = self.main.execute(question.sql.replace("@S", TEST))
        Pair.same_rows(question.sql, sequential, rows, question.compare, question.prefix,
                       ("sequential scan", "index"))

    def explain(self, question):
        """The planner must pick the index under test wherever it would pick nbtree's."""
        used, plans = [], []
        for schema in (BASE, TEST):
            rows = self.main.execute("EXPLAIN (COSTS OFF) " + question.sql.replace("@S", schema))
            plans.append("\n".join(row[0] for row in rows))
            used.append("Index" in plans[-1])
        self.explained += 1
        self.with_index += used[1]
        # Inside a transaction, or beside an old one, the planner may have to pass over a new index.
        # If all plans are disabled, or have the same number of disabled parts, it picks the
        # cheapest, and costs need not be equal.
        parts = [plan.count("Disabled: true") for plan in plans]
        disabled = ("Bitmap" in plans[0] and self.toggles["enable_bitmapscan"] == "off" or
                    parts[0] == parts[1] > 0)
        if (used[0] and not used[1] and self.alone() and not disabled and
                not self.for_nbtree_only(question)):
            raise Difference("the plan uses no index\nquery: %s\nsettings: %s\nbase: %s\ntest: %s" % (
                question.sql, self.toggles, plans[0], plans[1]))

    def for_nbtree_only(self, question):
        """What PostgreSQL's planner does for the built-in access method or its families only:
        a boolean column as a condition, LIKE with *_pattern_ops, and comparisons of rows."""
        return (any("bool" in column.type.features for column in self.table.columns)
                or " LIKE " in question.sql and any(
                    key.opclass for index in self.table.indexes for key in index.keys)
                or ROW_COMPARISON.search(question.sql))

    def indexes_were_used(self):
        if self.explained >= 50 and self.with_index * 2 < self.explained:
            raise Difference("only %d of %d explained queries used an index: "
                             "the comparison compares nothing" % (
                                 self.with_index, self.explained))

    def transaction_control(self):
        rng, session = self.rng, self.main
        if not session.in_transaction:
            session.begin(rng.choice(("", "", "", "ISOLATION LEVEL REPEATABLE READ",
                                      "ISOLATION LEVEL SERIALIZABLE")))
            self.saved = [self.state(None)]
            return
        kind = rng.random()
        if kind < 0.35:
            self.savepoint()
        elif kind < 0.6 and len(self.saved) > 1:
            self.roll_back_to_savepoint()
        elif kind < 0.7 and len(self.saved) > 1:
            self.release_savepoint()
        else:
            self.end_transaction(kind < 0.85)

    def savepoint(self):
        name = "s%d" % len(self.saved)
        self.main.execute("SAVEPOINT %s" % name)
        self.saved.append(self.state(name))

    def roll_back_to_savepoint(self):
        """Returns the number of savepoints that are left."""
        at = self.rng.randrange(1, len(self.saved))
        self.main.execute("ROLLBACK TO SAVEPOINT %s" % self.saved[at][0])
        self.main.toggles = {}
        self.restore(self.saved[at])
        self.saved = self.saved[:at + 1]
        return at

    def release_savepoint(self):
        """Returns the number of savepoints that are left."""
        at = self.rng.randrange(1, len(self.saved))
        self.main.execute("RELEASE SAVEPOINT %s" % self.saved[at][0])
        self.saved = self.saved[:at]
        return at - 1

    def end_transaction(self, commits):
        self.main.end("COMMIT" if commits else "ROLLBACK")
        if not commits:
            self.restore(self.saved[0])

    def state(self, name):
        return name, self.table.rows, list(self.table.indexes)

    def restore(self, state):
        self.table.rows = state[1]
        self.table.indexes = list(state[2])

    def scroll(self):
        """A scroll cursor, with changes of the same transaction between its fetches."""
        rng = self.rng
        own = not self.main.in_transaction
        if own:
            self.main.begin()
        self.main.set_toggles(questions.random_toggles(rng))
        declare_cursors(self.pair, self.main, "scroll", questions.cursor_query(rng, self.table))
        for _ in range(rng.randint(3, 15)):
            fetch(rng, self.pair, self.main, "scroll")
            if rng.random() < 0.15:
                weighted(rng, changes.ROW_CHANGES)(self)
            self.operations += 1
        self.pair.run(self.main, lambda schema: "CLOSE scroll_%s" % schema)
        if own:
            self.main.end("COMMIT")

    def turns(self):
        """A transaction that inserts and looks up in turn, and rolls back to savepoints, while
        cursors are open."""
        rng = self.rng
        if self.main.in_transaction:
            return self.ask()
        self.main.begin(rng.choice(("", "", "ISOLATION LEVEL SERIALIZABLE")))
        self.saved = [self.state(None)]
        cursors = {}               # by name: the number of savepoints before the cursor
        for number in range(rng.randint(10, 60)):
            kind = rng.random()
            if kind < 0.35:
                weighted(rng, changes.CHANGES_IN_TURN)(self)
            elif kind < 0.5:
                self.ask()
            elif kind < 0.58 and len(cursors) < 5:
                name = "turn%d" % number
                self.main.set_toggles(questions.random_toggles(rng))
                declare_cursors(self.pair, self.main, name, questions.cursor_query(rng, self.table))
                cursors[name] = len(self.saved) - 1
            elif kind < 0.8 and cursors:
                fetch(rng, self.pair, self.main, rng.choice(sorted(cursors)))
            elif kind < 0.88:
                self.savepoint()
            elif kind < 0.95 and len(self.saved) > 1:
                left = self.roll_back_to_savepoint()
                cursors = {name: before for name, before in cursors.items() if before < left}
            elif len(self.saved) > 1:
                left = self.release_savepoint()
                cursors = {name: min(before, left) for name, before in cursors.items()}
            self.operations += 1
        self.end_transaction(rng.random() < 0.7)

    def close_old_readers(self, is_to_end=lambda reader: True):
        for reader in [reader for reader in self.readers if is_to_end(reader)]:
            reader.end()
            self.readers.remove(reader)
            self.spare.append(reader.session)

    def check_indexes(self):
        """The whole table, and the structure of the indexes."""
        if self.settings.am == "btree":
            return
        for index in self.table.indexes:
            self.must_work("SELECT %s_check('%s.%s', true)" % (
                self.settings.am, TEST, index.name))

    def must_work(self, sql):
        outcome = self.pair.attempt(self.main, lambda: self.main.execute(sql), False)
        if outcome[0] == "error":
            raise Difference("check failed\nquery: %s\n%s" % (sql, outcome[1]))

    def finish_table(self):
        if self.main.in_transaction:
            self.main.end("COMMIT")
        self.close_old_readers()
        self.main.set_toggles(questions.SEQUENTIAL)
        self.pair.run(self.main, "SELECT %s FROM @S.t" % questions.all_columns(self.table))
        self.check_indexes()
        if self.settings.am == "sware":
            self.removals.add(self.main, ["%s.%s" % (TEST, index.name) for index in self.table.indexes])
        if self.standby:
            self.standby.finish_table()


# Weight, operation.  In the second mix most operations make rows die, or meet dead ones.
USUAL = ((110, Scenario.ask), (16, Scenario.transaction_control), (2, Scenario.scroll), (3, Scenario.turns),
         (3, Scenario.open_reader), (17, Scenario.step_reader), (52, Scenario.change_something))
DEAD_ROWS = ((40, Scenario.ask), (16, Scenario.look_at_all), (8, Scenario.transaction_control),
             (1, Scenario.scroll), (1, Scenario.turns), (4, Scenario.open_reader), (20, Scenario.step_reader),
             (111, Scenario.change_something))
