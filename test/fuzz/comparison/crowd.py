"""Concurrent sessions on one table, with twin columns.

Each key is stored twice, in a column that ends in b and has an nbtree index, and in one that ends
in t and has an index of the access method under test.  Several sessions change rows, mostly one
row to a transaction, and ask: a question is written once, with @ for the last letter, and must
have the same answer on both sides in the same snapshot.  One more session flushes and vacuums.

Keys of a third pair of columns are unique in most seeds.  Of the two unique indexes, the one that
was made first refuses whatever is there already, and the other one must never have to: so it shows
what the access method under test has overlooked in some seeds, and in the others what it refuses
for no reason.

Each session draws from random numbers of its own, so a seed decides what every session does, but
not how the sessions interleave.  A writer changes only rows that it wrote, so none waits for rows
of another one, but for those with the same unique key.
"""

import itertools
import random
import threading

import psycopg2

from . import questions
from .changes import set_staging_size
from .pair import Cancelled, Difference, Pair, Removals, ServerLost, Session

# Declaration, and the value at a place, which is a bigint: another one at each place, or not.
UNIQUE_TYPES = (
    ("int8", "place"), ("int8", "place"), ("int4", "place::int4"), ("numeric", "place / 4.0"),
    ("float8", "place / 4.0::float8"),
    ("timestamptz", "timestamptz '2020-01-01 00:00+00' + place * interval '1 minute'"),
    ("text", "'w' || lpad((place + 100000)::text, 8, '0')"),
    ('text COLLATE "C"', "'w' || (place % 97) || ' ' || place"),
    ('text COLLATE "C"', "lpad((place + 100000)::text, 8, '0') || repeat('long', 60)"),
    ("uuid", "md5(place::text)::uuid"))
KEY_TYPES = UNIQUE_TYPES + (
    ("int2", "(place % 30000)::int2"), ("date", "date '2020-01-01' + (place / 20)::int4"))

# Finds the first question whose answers differ.  A question that begins with "!" is answered by a
# sequential scan on the base side.
COMPARE = """
CREATE FUNCTION crowd.digest(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
  EXECUTE 'SELECT count(*) || '' '' || coalesce(md5(string_agg(coalesce(o, ''~''), '' '')), '''')
                  || '' '' || coalesce(sum(hashtextextended(b, 0))::text, '''')
           FROM (' || question || ') AS found (o, b)' INTO answer;
  RETURN answer;
END $$;

CREATE FUNCTION crowd.first_difference(questions text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE question text; base text; index_scan text; index_only text; bitmap text;
BEGIN
  FOREACH question IN ARRAY questions LOOP
    IF left(question, 1) = '!' THEN
      SELECT current_setting('enable_indexscan'), current_setting('enable_indexonlyscan'),
             current_setting('enable_bitmapscan') INTO index_scan, index_only, bitmap;
      PERFORM set_config('enable_indexscan', 'off', true),
              set_config('enable_indexonlyscan', 'off', true),
              set_config('enable_bitmapscan', 'off', true);
    END IF;
    base := crowd.digest(replace(ltrim(question, '!'), '@', 'b'));
    IF left(question, 1) = '!' THEN
      PERFORM set_config('enable_indexscan', index_scan, true),
              set_config('enable_indexonlyscan', index_only, true),
              set_config('enable_bitmapscan', bitmap, true);
    END IF;
    IF base IS DISTINCT FROM crowd.digest(replace(ltrim(question, '!'), '@', 't')) THEN
      RETURN question;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
"""

# Rows whose places stand in arrays: a transaction for each row, or one for all.
WRITE = """
CREATE PROCEDURE crowd.insert_each(writer int, places1 int8[], places2 int8[], unique_places int8[],
                                   conflict bool)
LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. cardinality(places1) LOOP
    IF conflict THEN
      INSERT INTO crowd.t SELECT * FROM crowd.new_row(writer, places1[i], places2[i], unique_places[i])
        ON CONFLICT DO NOTHING;
    ELSE
      INSERT INTO crowd.t SELECT * FROM crowd.new_row(writer, places1[i], places2[i], unique_places[i]);
    END IF;
    COMMIT;
  END LOOP;
END $$;

-- One of the rows that a writer inserted last is updated in each transaction.
CREATE PROCEDURE crowd.update_each(writer int, places int8[], rows int)
LANGUAGE plpgsql AS $$
DECLARE
  ids int8[] := ARRAY(SELECT id FROM crowd.t WHERE w = writer ORDER BY id DESC LIMIT rows);
BEGIN
  FOR i IN 1 .. cardinality(places) LOOP
    UPDATE crowd.t SET (kb, kt) = (SELECT k, k FROM (SELECT crowd.k(places[i]) AS k OFFSET 0) q)
      WHERE id = ids[1 + i % rows];
    COMMIT;
  END LOOP;
END $$;

CREATE FUNCTION crowd.insert_all(writer int, places1 int8[], places2 int8[], unique_places int8[])
RETURNS void LANGUAGE sql AS $$
  INSERT INTO crowd.t SELECT row.*
  FROM unnest(places1, places2, unique_places) AS place (first, second, third),
    crowd.new_row(writer, first, second, third) AS row
$$;
"""


class Crowd:
    """Everything a seed decides, and the counts it leaves."""

    def __init__(self, seed, settings, log):
        self.seed = seed
        self.settings = settings
        self.log = log
        self.rng = random.Random("crowd %d" % seed)
        self.main = Session(settings.dsn, log, "main")
        self.moved = threading.Condition()
        self.problem = None
        self.operations = self.comparisons = 0
        self.explained = self.with_index = 0
        self.with_buffer = self.looked = 0     # how many times entries were in the buffer
        self.high = 100                        # about the largest place so far
        self.indexes = []
        self.refuses = None                    # the unique index that was made first
        self.unique_index = None               # the one of the access method under test
        self.unique_places = itertools.count(100)
        self.dead_rows = settings.dead_rows
        self.standby_readers = []
        self.removals = Removals()
        self.refused = 0                       # how often a key was there already
        self.working = 0                       # sessions that have something left to do
        self.waiting = 0                       # those of them that wait for operations of others

    def summary(self):
        return ("%d comparisons by several sessions, entries in the buffer at %d of %d looks%s%s%s" % (
            self.comparisons, self.with_buffer, self.looked,
            ", %d times refused by %s" % (self.refused, self.refuses) if self.refuses else "",
            self.removals.summary(),
            ", %d looks on the standby, %d cancelled there" % (
                sum(reader.looks for reader in self.standby_readers),
                sum(reader.cancelled for reader in self.standby_readers))
            if self.standby_readers else ""))

    # What sessions report.

    def count(self, operations, comparisons=0):
        with self.moved:
            self.operations += operations
            self.comparisons += comparisons
            self.moved.notify_all()

    def fail(self, problem):
        with self.moved:
            if self.problem is None:
                self.problem = problem
            self.moved.notify_all()

    def wait_for_operations(self, number):
        """Wait until this number is reached; false if no session is left to reach it."""
        with self.moved:
            self.moved.wait_for(lambda: self.operations >= number or
                                self.working == self.waiting or self.problem)
            return self.working > self.waiting and self.problem is None

    def is_going_on(self):
        """Does any session have something left to do?"""
        with self.moved:
            return self.working > 0

    def let_others_work(self, count):
        """A session waits until others have done this number of operations."""
        with self.moved:
            self.waiting += 1
            self.moved.notify_all()
        self.wait_for_operations(self.operations + count)
        with self.moved:
            self.waiting -= 1

    # The run.

    def run(self):
        self.prepare()
        rng = self.rng
        writers, readers = rng.randint(2, 4), rng.randint(1, 3)
        share = self.settings.operations // 10
        members = [Writer(self, "writer%d" % n, n, share * 8 // writers) for n in range(writers)]
        members += [Reader(self, "reader%d" % n, share * 2 // readers) for n in range(readers)]
        self.working = len(members)
        others = [Caretaker(self)]      # they work as long as the members do
        if self.settings.standby and not self.unlogged:
            self.standby_readers = [StandbyReader(self, "standby%d" % n) for n in range(2)]
            others += self.standby_readers
            self.standby_readers[0].session.wait_for_replay(self.main)
        threads = [threading.Thread(target=member.work) for member in members + others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        try:
            if self.problem is not None:
                raise self.problem
            self.final_comparison()
            self.indexes_were_used()
        finally:
            for member in members + others:
                member.session.close()
            self.main.close()

    def prepare(self):
        rng, execute, method = self.rng, self.main.execute, self.settings.am
        if method != "btree":
            execute("CREATE EXTENSION IF NOT EXISTS %s" % method)
        execute("DROP SCHEMA IF EXISTS crowd CASCADE")
        execute("CREATE SCHEMA crowd")
        first, second = rng.choice(KEY_TYPES), rng.choice(KEY_TYPES)
        third = rng.choice(UNIQUE_TYPES)
        execute("CREATE SEQUENCE crowd.ids")
        self.unlogged = rng.random() < 0.1
        execute("CREATE %sTABLE crowd.t (id int8, w int2, pad int4, kb %s, kt %s, "
                "mb %s, mt %s, ub %s, ut %s) WITH (autovacuum_enabled = %s, fillfactor = %d)" % (
                    "UNLOGGED " if self.unlogged else "", first[0], first[0], second[0],
                    second[0], third[0], third[0], rng.choice(("on", "off", "off")),
                    rng.choice((100, 100, 70))))
        execute("CREATE UNIQUE INDEX ON crowd.t (id)")
        for name, (declaration, value) in (("k", first), ("m", second), ("u", third)):
            execute("CREATE FUNCTION crowd.%s(place int8) RETURNS %s IMMUTABLE LANGUAGE sql "
                    "AS $$ SELECT (%s)::%s $$" % (
                        name, declaration.partition(" ")[0], value, declaration.partition(" ")[0]))
        execute("CREATE FUNCTION crowd.new_row(writer int, p1 int8, p2 int8, p3 int8) RETURNS crowd.t "
                "LANGUAGE sql AS $$ SELECT nextval('crowd.ids'), writer::int2, 0, k, k, m, m, u, u "
                "FROM (SELECT crowd.k(p1) AS k, crowd.m(p2) AS m, crowd.u(p3) AS u OFFSET 0) AS keys $$")
        execute(COMPARE)
        execute(WRITE)
        shapes = [("k@", "")] + rng.sample(
            [("m@", ""), ("m@", "INCLUDE (id)"), ("k@, m@", ""), ("k@", "INCLUDE (id, w)"),
             ("m@ DESC, k@", ""), ("k@ DESC NULLS LAST", "WHERE id % 3 <> 0"),
             ("(k@ IS NULL), m@", "")], rng.randint(1, 3))
        for number, (keys, rest) in enumerate(shapes):
            options = self.random_options()
            for side in "bt":
                self.create_index("i%d%s" % (number, side), side, "", keys, rest, options)
            self.indexes.append("crowd.i%dt" % number)
        if rng.random() < 0.7:
            self.create_unique_indexes()
        if rng.random() < 0.5:
            execute("SELECT crowd.insert_all(0, array_agg(p), array_agg(p * 7919 %% 1000), array_agg(-p)) "
                    "FROM generate_series(1, %d) p" % rng.choice((100, 1000, 4000)))

    def random_options(self):
        """Options of an index of the access method under test."""
        rng = self.rng
        if self.settings.am != "sware":
            return []
        options = rng.choice((["buffer_size = 64"], ["buffer_size = 64"], ["buffer_size = 128"],
                              ["buffer_size = 1024"], []))
        if rng.random() < 0.3:
            options = options + ["flush_fraction = %d" % rng.choice((1, 50, 100))]
        if rng.random() < 0.5:
            options = options + ["group_leaves = on"]
        return options

    def create_index(self, name, side, unique, keys, rest, options):
        include, _, where = rest.partition("WHERE")
        self.main.execute("CREATE %s INDEX %s ON crowd.t USING %s (%s) %s %s %s" % (
            unique, name, self.settings.am if side == "t" else "btree", keys.replace("@", side),
            include, "WITH (%s)" % ", ".join(options) if options and side == "t" else "",
            "WHERE " + where if where else ""))

    def create_unique_indexes(self):
        """Makes two indexes with the same keys.

        Rows are inserted into the one with the lower number first.
        """
        rng = self.rng
        keys, rest = rng.choice((
            ("u@", ""), ("u@", ""), ("u@", "INCLUDE (id)"), ("u@ DESC", ""), ("w, u@", ""),
            ("u@, (id IS NULL)", ""), ("u@", "NULLS NOT DISTINCT"), ("u@", "WHERE id % 3 <> 0")))
        options = self.random_options()
        for side in rng.choice(("bt", "tb")):
            self.create_index("u" + side, side, "UNIQUE", keys, rest, options)
            self.refuses = self.refuses or "u" + side
        self.unique_index = "crowd.ut"
        self.indexes.append(self.unique_index)

    def may_skip_conflicts(self):
        """Before 18, core refuses ON CONFLICT where any unique index is not nbtree's."""
        return (self.unique_index is None or self.settings.am == "btree" or
                self.main.connection.server_version >= 180000)

    def is_refusal(self, error):
        """Has a transaction failed because others insert the same keys?"""
        if self.refuses is None or error.pgcode not in ("23505", "40P01"):
            return False
        if error.pgcode == "23505" and error.diag.constraint_name != self.refuses:
            raise Difference("%s refuses a key, and %s has not refused it before: %s" % (
                error.diag.constraint_name, self.refuses, error))
        with self.moved:
            self.refused += 1
        return True

    def final_comparison(self):
        self.compare_all(self.main)
        if self.settings.am == "sware":
            self.removals.add(self.main, self.indexes)
        if self.standby_readers:
            self.standby_readers[0].attempt(self.compare_on_standby)

    def compare_on_standby(self):
        session = self.standby_readers[0].session
        session.wait_for_replay(self.main)
        self.compare_all(session)

    def compare_all(self, session):
        session.begin("ISOLATION LEVEL REPEATABLE READ")
        for key in self.key_columns():
            for direction in ("ASC", "DESC"):
                self.same(session, ["!" + whole_order(key, direction)], ORDERED)
        session.end("COMMIT")
        if self.settings.am == "btree":
            return
        for index in self.indexes:
            try:
                session.execute("SELECT %s_check('%s', true)" % (self.settings.am, index))
            except psycopg2.Error as error:
                raise Difference("check of %s failed: %s" % (index, error))

    def key_columns(self):
        """The key columns, nearly all of which have an index of their own."""
        return "kmu" if self.unique_index else "km"

    def same(self, session, asked, toggles):
        """The answers are equal on both sides; the session is in a transaction with one
        snapshot."""
        session.execute("; ".join("SET LOCAL %s = %s" % item for item in toggles.items()))
        found = self.different(session, asked)
        self.count(len(asked), len(asked))
        if found is None:
            return
        again = self.different(session, [found])
        plain = found.lstrip("!")
        plan = session.execute("EXPLAIN (COSTS OFF) " + plain.replace("@", "t"))
        base, test = (session.execute(plain.replace("@", side)) for side in "bt")
        problem = "answers differ in one snapshot, and %s when asked again; settings %s\nplan:\n%s" % (
            "agree" if again is None else "differ", toggles, "\n".join(row[0] for row in plan))
        try:
            Pair.same_rows(plain, base, test, "prefix", 1)
        except Difference as difference:
            problem += "\n%s" % difference
        raise Difference("%s: %s\nquery: %s" % (session.name, problem, found))

    @staticmethod
    def different(session, asked):
        return session.execute("SELECT crowd.first_difference(ARRAY[%s])" % ", ".join(
            "$q$%s$q$" % question for question in asked))[0][0]

    def look_at_plan(self, session, question):
        plan = "".join(row[0] for row in session.execute(
            "EXPLAIN (COSTS OFF) " + question.lstrip("!").replace("@", "t")))
        with self.moved:
            self.explained += 1
            self.with_index += "Index" in plan

    def look_at_buffer(self, session):
        if self.settings.am != "sware":
            return
        entries = session.execute("SELECT sum(buffer_entries) FROM (SELECT (sware_stats(i)).* "
                                  "FROM unnest(ARRAY[%s]) AS i) AS s" % ", ".join(
                                      "'%s'::regclass" % index for index in self.indexes))[0][0]
        with self.moved:
            self.looked += 1
            self.with_buffer += int(entries or 0) > 0

    def indexes_were_used(self):
        # only few queries are explained: by chance less than half of them may use an index, but
        # not less than a quarter
        if self.explained >= 20 and self.with_index * 4 < self.explained:
            raise Difference("only %d of %d explained queries used an index" % (
                self.with_index, self.explained))


# Questions.  Each gives two texts: the values that must come in the same order, and those whose
# order may differ.

def key_text(key, column=None):
    return "coalesce(%s::text, '~')" % (column or key + "@")


def whole_order(key, direction):
    return "SELECT %s, id::text || ' ' || w FROM crowd.t ORDER BY %s@ %s" % (
        key_text(key), key, direction)


def random_range(rng, high, key):
    """A condition; often about what came last."""
    low = rng.choice((rng.randint(-20, high + 20), high - rng.randint(0, 300), rng.randint(0, 1000)))
    width = rng.choice((0, 1, 10, 100, 1000, 100000))
    kind = rng.random()
    if kind < 0.15:
        return "%s@ = crowd.%s(%d)" % (key, key, low)
    if kind < 0.35:
        return "%s@ = ANY (ARRAY[%s])" % (key, ", ".join(
            "crowd.%s(%d)" % (key, low + rng.randint(0, width))
            for _ in range(rng.choice((1, 3, 12)))))
    if kind < 0.45:
        return "%s@ %s crowd.%s(%d)" % (key, rng.choice(("<", "<=", ">=", ">")), key, low)
    if kind < 0.5:
        return "%s@ IS %sNULL" % (key, rng.choice(("", "NOT ")))
    return "%s@ >= crowd.%s(%d) AND %s@ <%s crowd.%s(%d)" % (
        key, key, low, key, rng.choice(("", "=")), key, low + width)


def random_question(rng, high, columns):
    key, other = rng.choice(("km", "km", "mk") if columns == "km" else ("km", "km", "mk", "uk", "mu"))
    direction = rng.choice(("ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"))
    kind = rng.randrange(13)
    where = random_range(rng, high, key)
    if kind < 3:
        question = "SELECT %s, id::text || ' ' || pad FROM crowd.t WHERE %s ORDER BY %s@ %s" % (
            key_text(key), where, key, direction)
    elif kind < 5:
        question = "SELECT %s, '' FROM (SELECT %s@ AS found FROM crowd.t%s ORDER BY %s@ %s LIMIT %d) q" % (
            key_text(key, "found"), key, rng.choice(("", " WHERE " + where)), key, direction,
            rng.choice((1, 1, 10, 300)))
    elif kind == 5:
        question = ("SELECT (SELECT coalesce(%s(%s@::text)::text, '~') "
                    "FROM (SELECT %s@ FROM crowd.t%s) q), ''" % (
                        rng.choice(("min", "max", "count")), key, key, " WHERE " + where))
        if rng.random() < 0.7:
            question = ("SELECT (SELECT found::text FROM (SELECT %s@ AS found FROM crowd.t "
                        "WHERE %s@ IS NOT NULL ORDER BY %s@ %s LIMIT 1) q), ''" % (
                            key, key, key, direction.split()[0]))
    elif kind == 6:
        question = "SELECT '', %s FROM crowd.t WHERE %s" % (key_text(key), where)
    elif kind == 7:
        question = "SELECT '', id::text FROM crowd.t WHERE %s AND %s" % (
            where, random_range(rng, high, other))
    elif kind == 8:
        question = "SELECT '', id::text FROM crowd.t WHERE %s OR %s" % (
            where, random_range(rng, high, other))
    elif kind == 9:         # duplicates on the outer side send a merge join back to a mark
        question = ("SELECT '', a.id || ' ' || b.id FROM (SELECT * FROM crowd.t ORDER BY id DESC LIMIT %d) a "
                    "JOIN crowd.t b ON a.%s@ = b.%s@ WHERE b.id %% 5 = 0" % (
                        rng.choice((5, 60)), key, key))
    elif kind == 10:
        question = ("SELECT '', a.id || ' ' || coalesce((SELECT b.%s@::text FROM crowd.t b "
                    "WHERE b.%s@ > a.%s@ ORDER BY b.%s@ LIMIT 1), '~') "
                    "FROM (SELECT * FROM crowd.t ORDER BY id DESC LIMIT 15) a" % (
                        key, key, key, key))
    elif kind == 11:
        question = "SELECT '', %s || ' ' || count(*) || ' ' || min(id) FROM crowd.t WHERE %s GROUP BY %s@" % (
            key_text(key), where, key)
    else:
        question = ("SELECT '', count(*) || ' ' || coalesce(sum(b.id), 0) FROM crowd.t a JOIN crowd.t b "
                    "ON a.%s@ = b.%s@ AND a.%s@ = b.%s@ WHERE a.id %% 50 = %d AND %s" % (
                        key, key, other, other, rng.randrange(50),
                        where.replace(key + "@", "b.%s@" % key)))
    return ("!" if rng.random() < 0.15 else "") + question


# What had been in the buffer has to come in order.
ORDERED = {"enable_seqscan": "off", "enable_sort": "off", "enable_bitmapscan": "off"}


def random_toggles(rng):
    toggles = questions.random_toggles(rng)
    if rng.random() < 0.6:      # what was in the buffer has to come in order
        toggles["enable_sort"] = toggles["enable_bitmapscan"] = "off"
        toggles["enable_indexscan"] = "on"
    return toggles


class Member:
    """One session with a thread of its own."""

    on_standby = False

    def __init__(self, crowd, name, share):
        self.crowd = crowd
        self.rng = random.Random("%s of crowd %d" % (name, crowd.seed))
        self.session = Session(crowd.settings.standby if self.on_standby else crowd.settings.dsn,
                               crowd.log, name, self.on_standby)
        self.left = share

    def work(self):
        try:
            while self.left > 0 and self.crowd.problem is None:
                self.step()
        except (Difference, psycopg2.Error) as problem:
            self.crowd.fail(self.explained(problem))
        finally:
            with self.crowd.moved:
                self.crowd.working -= 1
                self.crowd.moved.notify_all()

    def explained(self, problem):
        if isinstance(problem, psycopg2.Error):
            return Difference("%s: unexpected error: %s %s" % (
                self.session.name, problem.pgcode, problem))
        if isinstance(problem, ServerLost):
            return ServerLost("%s: %s" % (self.session.name, problem))
        return problem

    def did(self, operations):
        self.left -= operations
        self.crowd.count(operations)

    def ask(self, count):
        """Some questions in the open transaction's snapshot."""
        rng = self.rng
        asked = [random_question(rng, self.crowd.high, self.crowd.key_columns()) for _ in range(count)]
        if rng.random() < 0.1:
            self.crowd.look_at_plan(self.session, rng.choice(asked))
        self.crowd.same(self.session, asked, random_toggles(rng))
        self.left -= count


class Reader(Member):
    """Queries in snapshots of different ages."""

    modes = ("ISOLATION LEVEL REPEATABLE READ", "ISOLATION LEVEL REPEATABLE READ, READ ONLY",
             "ISOLATION LEVEL SERIALIZABLE, READ ONLY")

    def let_others_work(self, count):
        self.crowd.let_others_work(count)

    def step(self):
        self.session.begin(self.rng.choice(self.modes))
        if self.rng.random() < 0.3:
            self.read_cursors()
        else:
            for number in range(self.rng.choice((1, 1, 1, 5))):
                # where rows die, the snapshot gets old meanwhile
                if number > 0 and self.crowd.dead_rows:
                    self.let_others_work(self.rng.choice((50, 300)))
                self.ask(self.rng.randint(1, 12))
                if self.crowd.dead_rows and self.rng.random() < 0.5:
                    self.look_at_all()
        self.session.end("COMMIT")
        if self.rng.random() < 0.2:
            self.crowd.look_at_buffer(self.session)

    def look_at_all(self):
        """Index scans of everything, which mark the entries of dead rows."""
        self.crowd.same(self.session, ["!" + whole_order(key, "ASC")
                                       for key in self.crowd.key_columns()], ORDERED)

    def read_cursors(self):
        """Two cursors side by side, in steps, while others change and flush."""
        rng, execute = self.rng, self.session.execute
        key = rng.choice(self.crowd.key_columns())
        direction = rng.choice(("ASC", "DESC"))
        where = rng.choice(("true", random_range(rng, self.crowd.high, key)))
        query = "SELECT %s@::text FROM crowd.t WHERE %s ORDER BY %s@ %s" % (
            key, where, key, direction)
        execute("; ".join("SET LOCAL %s = %s" % item for item in {
            "enable_seqscan": "off", "enable_sort": "off", "enable_bitmapscan": "off",
            "enable_indexonlyscan": rng.choice(("on", "off"))}.items()))
        for side in "bt":
            execute("DECLARE c%s SCROLL CURSOR FOR %s" % (side, query.replace("@", side)))
        steps = rng.randint(3, 20)
        for _ in range(steps):
            move = rng.choice(("FORWARD", "FORWARD", "FORWARD", "BACKWARD"))
            move = "FETCH %s %s FROM c" % (move, rng.choice((1, 2, 10, 100, 1000, "ALL")))
            base, test = execute(move + "b"), execute(move + "t")
            if base != test:
                Pair.same_rows("%s: %s of %s" % (self.session.name, move, query), base, test,
                               "order", 0)
            if rng.random() < 0.3:
                self.let_others_work(rng.choice((50, 500)))
            elif rng.random() < 0.2:
                self.ask(rng.randint(1, 3))
        self.crowd.count(steps, steps)
        self.left -= steps
        execute("CLOSE cb")
        execute("CLOSE ct")


class StandbyReader(Reader):
    """The same on a standby, where queries may be cancelled."""

    on_standby = True
    modes = Reader.modes[:2]

    def __init__(self, crowd, name):
        super().__init__(crowd, name, 0)
        self.looks = self.cancelled = 0

    def let_others_work(self, count):
        # the others do not wait for this session
        self.crowd.wait_for_operations(self.crowd.operations + count)

    def attempt(self, action):
        try:
            action()
            self.looks += 1
        except Cancelled:
            self.cancelled += 1
            self.session.recover()

    def work(self):
        try:
            while self.crowd.problem is None and self.crowd.is_going_on():
                self.attempt(self.step)
        except (Difference, psycopg2.Error) as problem:
            self.crowd.fail(self.explained(problem))


class Writer(Member):
    """Changes rows of its own, and queries inside its transactions."""

    def __init__(self, crowd, name, number, share):
        super().__init__(crowd, name, share)
        self.number = number
        self.place = 100
        self.prepared = 0
        if crowd.settings.am == "sware":
            set_staging_size(self.rng, self.session)

    def places(self, count):
        rng = self.rng
        pattern = rng.choice(("sorted", "near", "near", "near", "scrambled", "few", "down"))
        result = []
        for _ in range(count):
            self.place += rng.choice((0, 1, 1, 2))
            place = {"sorted": self.place, "near": self.place - rng.choice((0, 0, 0, rng.randint(0, 100))),
                     "scrambled": rng.randint(0, self.place), "few": rng.randint(0, 5),
                     "down": -self.place}[pattern]
            result.append("NULL" if rng.random() < 0.02 else str(place))
        self.crowd.high = max(self.crowd.high, self.place)
        return "ARRAY[%s]::int8[]" % ", ".join(result)

    def unique_places(self, count):
        """Returns new values, nearly in order. Every second list also has some that may be there already,
        or that another session is about to insert."""
        rng = self.rng
        result = [next(self.crowd.unique_places) for _ in range(count)]
        self.crowd.high = max(self.crowd.high, result[-1])
        if rng.random() < 0.3:
            rng.shuffle(result)
        for _ in range(rng.choice((0, 0, 1, 1 + count // 20))):
            at, other = rng.randrange(count), rng.choice((
                rng.choice(result), result[-1] - rng.randint(0, 300), result[-1] + rng.randint(1, 2000),
                -rng.randint(1, 5000)))
            if rng.random() < 0.5:
                result.insert(at, result.pop())
            else:
                result[at] = other
        if rng.random() < 0.1:
            result[rng.randrange(count)] = "NULL"
        return "ARRAY[%s]::int8[]" % ", ".join(map(str, result))

    def insert_each(self):
        count = self.rng.choice((1, 3, 10, 30, 30, 100))
        conflict = self.rng.random() < 1 / 3 and self.crowd.may_skip_conflicts()
        self.session.execute("CALL crowd.insert_each(%d, %s, %s, %s, %s)" % (
            self.number, self.places(count), self.places(count), self.unique_places(count), conflict))
        self.did(count)

    def insert_together(self):
        count = self.rng.choice((2, 10, 10, 100, 400, 1500))
        self.session.execute("SELECT crowd.insert_all(%d, %s, %s, %s)" % (
            self.number, self.places(count), self.places(count), self.unique_places(count)))
        self.did(1)

    def update_keys(self):
        self.session.execute(
            "UPDATE crowd.t SET (kb, kt) = (SELECT k, k FROM (SELECT crowd.k(%d) AS k OFFSET 0) q) "
            "WHERE w = %d AND %s" % (self.place - self.rng.randint(0, 200), self.number, self.own_rows()))
        self.did(1)

    def update_each(self):
        count = self.rng.choice((10, 30, 100))
        self.session.execute("CALL crowd.update_each(%d, %s, %d)" % (
            self.number, self.places(count), self.rng.choice((1, 3, 20))))
        self.did(count)

    def update_unique(self):
        self.session.execute(
            "UPDATE crowd.t SET (ub, ut) = (SELECT u, u FROM (SELECT crowd.u(%d) AS u OFFSET 0) q) "
            "WHERE w = %d AND id = (SELECT max(id) FROM crowd.t WHERE w = %d)" % (
                next(self.crowd.unique_places) - self.rng.choice((0, 0, self.rng.randint(0, 500))),
                self.number, self.number))
        self.did(1)

    def update_pad(self):
        self.session.execute("UPDATE crowd.t SET pad = pad + 1 WHERE w = %d AND %s" % (
            self.number, self.own_rows()))
        self.did(1)

    def own_rows(self):
        rng = self.rng
        return rng.choice((
            "id %% 40 = %d" % rng.randrange(40),
            "id = (SELECT max(id) FROM crowd.t WHERE w = %d)" % self.number,
            "id > (SELECT max(id) - 300 FROM crowd.t) AND id % 3 = 0"))

    def delete(self):
        self.session.execute("DELETE FROM crowd.t WHERE w = %d AND %s" % (
            self.number, self.rng.choice((
                self.own_rows(), self.own_rows(), "id < (SELECT max(id) - %d FROM crowd.t)" % (
                    500 if self.crowd.dead_rows else 3000)))))
        self.did(1)

    def transaction(self):
        rng, session = self.rng, self.session
        session.begin(rng.choice(("", "ISOLATION LEVEL REPEATABLE READ")))
        one_snapshot = "REPEATABLE" in session.mode
        for number in range(rng.randint(1, 6)):
            guarded = rng.random() < 0.4
            if guarded:
                session.execute("SAVEPOINT s%d" % number)
            rng.choice((self.insert_together, self.insert_together, self.update_keys,
                        self.update_unique, self.delete))()
            if one_snapshot and rng.random() < 0.5:
                self.ask(rng.randint(1, 4))
            if guarded:
                session.execute("%s SAVEPOINT s%d" % (
                    rng.choice(("ROLLBACK TO", "RELEASE")), number))
        if rng.random() < 0.15:
            self.prepared += 1
            name = "%s-%d-%d" % (session.name, self.crowd.seed, self.prepared)
            session.end("PREPARE TRANSACTION '%s'" % name)
            session.execute("%s PREPARED '%s'" % (rng.choice(("COMMIT", "COMMIT", "ROLLBACK")), name))
        else:
            session.end(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    def compare(self):
        self.session.begin("ISOLATION LEVEL REPEATABLE READ")
        self.ask(self.rng.randint(1, 6))
        self.session.end("COMMIT")

    def settings(self):
        if self.crowd.settings.am == "sware":
            self.session.execute("SET sware.enable_buffer = %s" % self.rng.choice(("on", "on", "off")))
        self.did(1)

    def step(self):
        try:
            self.rng.choices(
                (self.insert_each, self.insert_together, self.update_keys, self.update_each,
                 self.update_unique, self.update_pad, self.delete, self.transaction, self.compare,
                 self.settings),
                (4, 1, 4, 8, 3, 1, 6, 3, 4, 0.3) if self.crowd.dead_rows
                else (12, 2, 2, 0, 1, 1, 2, 3, 4, 0.3))[0]()
        except psycopg2.Error as error:
            if not self.crowd.is_refusal(error):
                raise
            if self.session.in_transaction:
                self.session.end("ROLLBACK")
            self.did(1)


class Caretaker(Member):
    """Flushes, vacuums and rebuilds as the others go on."""

    def __init__(self, crowd):
        super().__init__(crowd, "caretaker", 0)

    def work(self):
        rng, crowd = self.rng, self.crowd
        done = 0
        try:
            while crowd.wait_for_operations(done + rng.choice((20, 100, 400))):
                done = crowd.operations
                self.session.execute(self.random_task())
                crowd.count(1)
        except (Difference, psycopg2.Error) as problem:
            crowd.fail(self.explained(problem))

    def random_task(self):
        rng, tested = self.rng, self.crowd.settings.am == "sware"
        index = rng.choice(self.crowd.indexes)
        kind = rng.random()
        if kind < 0.45 and tested:
            return "SELECT sware_flush('%s')" % index
        if kind < 0.85:
            return "VACUUM (INDEX_CLEANUP %s%s) crowd.t" % (
                rng.choice(("ON", "ON", "AUTO")), rng.choice(("", "", ", FREEZE", ", PARALLEL 2")))
        if kind < 0.93 and tested:
            return "ALTER INDEX %s SET (buffer_size = %d)" % (
                index, rng.choice((0, 64, 64, 128, 1024, 16384)))
        return rng.choice(("ANALYZE crowd.t", "CHECKPOINT", self.rebuild(index)))

    def rebuild(self, index):
        # A new index would no longer be the one that is asked first, or second.
        return ("ANALYZE crowd.t" if index == self.crowd.unique_index else
                "REINDEX INDEX CONCURRENTLY %s" % index)
