"""Runs the queries on every table and compares answers and plans."""

import re

import psycopg

from progress import Bar
from queries import QUERIES

SCAN_NODES = ("Index Scan", "Index Only Scan", "Bitmap Index Scan")


class Verdict:
    """What was found wrong, and how much was looked at."""

    def __init__(self):
        self.queries = 0
        self.rows = 0
        self.complaints = []
        self.plans = 0
        self.other_choices = []

    def complain(self, query, text):
        self.complaints.append(f"{query.name}: {text}")


def compare_all(connection, subjects, verdict):
    """Compares the answers of the subjects, the first of which has no index."""
    plain, *indexed = subjects
    total = len(QUERIES) + 1
    wrong = 0
    with Bar("queries", total) as bar:
        for number in range(total):
            before = len(verdict.complaints)
            if number < len(QUERIES):
                compare_query(connection, QUERIES[number], plain, indexed, verdict)
            else:
                compare_cursors(connection, plain, indexed, verdict)
            for complaint in verdict.complaints[before:]:
                bar.tell("WRONG  " + complaint)
            wrong += len(verdict.complaints) > before
            bar.advance()
    print(f"{total - wrong} of {total} queries agree", flush=True)


def compare_query(connection, query, plain, indexed, verdict):
    verdict.queries += 1
    try:
        compare_one(connection, query, plain, indexed, verdict)
    except psycopg.Error as error:
        if connection.broken:
            raise
        verdict.complain(query, str(error))


def compare_one(connection, query, plain, indexed, verdict):
    choices = [
        free_choice(connection, subject, text_for(query, subject))
        for subject in indexed
    ]
    verdict.plans += 1
    if any(choice != choices[0] for choice in choices):
        verdict.other_choices.append(query.name)

    truth = answer(connection, query, plain)
    verdict.rows += len(truth)
    if not truth and not query.empty:
        verdict.complain(query, "no row is no proof of anything")
    if truth and query.empty:
        verdict.complain(query, f"{len(truth)} rows where none was expected")

    for subject in indexed:
        with planner_settings(connection, query):
            text = text_for(query, subject)
            for fault in plan_faults(connection, query, subject, text):
                verdict.complain(query, f"{subject.label}: {fault}")
            rows = normalised(query, connection.execute(text).fetchall())
        if rows != truth:
            verdict.complain(
                query, f"{subject.label} differs: {difference(truth, rows)}"
            )


def answer(connection, query, subject):
    return normalised(
        query, connection.execute(text_for(query, subject)).fetchall()
    )


def normalised(query, rows):
    return rows if query.ordered else sorted(rows)


def text_for(query, subject):
    sorts = subject.access_method is None
    return query.sql.format(lineitem=subject.table, tid=", ctid" if sorts else "")


def difference(expected, found):
    """The first difference between two answers, in words."""
    for number, (left, right) in enumerate(zip(expected, found), start=1):
        if left != right:
            return f"row {number} is {right} instead of {left}"
    return f"{len(found)} rows instead of {len(expected)}"


class planner_settings:
    """Switches the query's settings for the time of a block."""

    def __init__(self, connection, query):
        self.connection = connection
        self.settings = {name: "off" for name in query.off} | query.settings

    def __enter__(self):
        for name, value in self.settings.items():
            self.connection.execute(f"SET {name} = {value}")

    def __exit__(self, *exception):
        for name in self.settings:
            self.connection.execute(f"RESET {name}")


def plan_nodes(connection, text):
    """All nodes of the plan of a query, from the top down."""
    plan = connection.execute("EXPLAIN (FORMAT JSON) " + text).fetchone()[0]
    pending = [plan[0]["Plan"]]
    nodes = []
    while pending:
        node = pending.pop(0)
        nodes.append(node)
        pending += node.get("Plans", [])
    return nodes


def plan_faults(connection, query, subject, text):
    """Why the plan is not the one that the query is to be tested with."""
    nodes = plan_nodes(connection, text)
    scans = [
        (node["Node Type"], node.get("Index Name"), node.get("Scan Direction"))
        for node in nodes
        if node["Node Type"] in SCAN_NODES
    ]
    for column in query.columns:
        # A bitmap scan has no direction.
        wanted = "Backward" if query.backward else "Forward"
        if not any(
            kind == query.node()
            and index == subject.index(column)
            and direction in (None, wanted)
            for kind, index, direction in scans
        ):
            yield (
                f"no {query.node()} ({wanted}) on {subject.index(column)} "
                f"in the plan, but {scans}"
            )


def free_choice(connection, subject, text):
    """The scans that the planner chooses when it is free to choose."""
    return [
        (
            node["Node Type"],
            re.sub(f"^{subject.table}", "", node.get("Index Name", "")),
            node.get("Scan Direction"),
        )
        for node in plan_nodes(connection, text)
        if "Scan" in node["Node Type"]
    ]


TURNS = (
    "FORWARD 700", "BACKWARD 300", "FORWARD 5", "BACKWARD 5", "FORWARD 2000",
    "LAST", "BACKWARD 400", "FIRST", "PRIOR", "FORWARD 10", "ABSOLUTE 1500",
)
WHOLE_RUNS = ("BACKWARD ALL", "FORWARD ALL", "BACKWARD ALL")


def compare_cursors(connection, plain, indexed, verdict):
    """Compares what a cursor returns when it changes its direction in mid-scan."""
    truth = cursor_answer(connection, plain)
    verdict.queries += 1
    verdict.rows += len(truth)
    for subject in indexed:
        rows = cursor_answer(connection, subject)
        if rows != truth:
            verdict.complaints.append(
                "a cursor that turns round: "
                f"{subject.label} differs: {difference(truth, rows)}"
            )


def cursor_answer(connection, subject):
    """The keys in the order of the fetches, and the rows of whole runs, sorted.

    Which of several rows with one key a backward fetch returns first is open.
    """
    rows = []
    with connection.transaction():
        if subject.access_method is not None:
            connection.execute("SET LOCAL enable_seqscan = off")
            connection.execute("SET LOCAL enable_bitmapscan = off")
        connection.execute(
            "DECLARE turning SCROLL CURSOR FOR "
            f"SELECT l_commitdate, l_orderkey, l_linenumber FROM {subject.table} "
            "WHERE l_commitdate BETWEEN '1995-01-01' AND '1995-02-15' "
            "ORDER BY l_commitdate"
        )
        for turn in TURNS:
            fetched = connection.execute(f"FETCH {turn} FROM turning").fetchall()
            rows += [row[0] for row in fetched]
        connection.execute("MOVE FORWARD ALL FROM turning")
        for run in WHOLE_RUNS:
            rows += sorted(connection.execute(f"FETCH {run} FROM turning").fetchall())
    return rows
