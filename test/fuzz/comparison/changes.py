"""Operations that change the tables: rows, VACUUM, and the life of indexes.

Each function does one operation on both sides and returns nothing.  They draw from the seed's
random numbers only, never from what the server answers.
"""

import io

from . import values
from .pair import TEST
from .values import quote

PATTERNS = ("sorted", "sorted", "near_sorted", "near_sorted", "descending", "scrambled",
            "scrambled", "duplicates", "nulls")
# Keys between those that are there already: far from each other, close together, or both.
MINGLED = ("within", "within", "dense", "dense", "half_dense", "scrambled", "duplicates")


def next_position(rng, column, pattern):
    """The position of a column's next value, or None for NULL."""
    if pattern == "nulls" and rng.random() < 0.7 or rng.random() < column.null_share:
        return None
    if pattern == "sorted":
        position = column.high + (rng.random() < 0.7)
    elif pattern == "near_sorted":
        position = column.high + 1
        if rng.random() < 0.1:
            position -= rng.randint(0, 200)
    elif pattern == "descending":
        position = column.low - 1
    elif pattern == "duplicates":
        position = values.MIDDLE + rng.choice((0, 0, 0, 1, 5))
    elif pattern == "within" or pattern == "half_dense" and rng.random() < 0.5:
        position = rng.randint(column.low, column.high)
    elif pattern in ("dense", "half_dense"):
        position = (column.low + column.high) // 2 + rng.randint(0, 400)
    else:
        position = values.MIDDLE + rng.randint(-column.domain, column.domain)
    column.cover(position)
    return position


def new_rows(rng, table, count, choices=PATTERNS):
    """Rows as lists of text or None: id, pad, and the columns by a pattern each."""
    patterns = [rng.choice(choices) for _ in table.columns]
    rows = []
    for _ in range(count):
        row = [str(table.next_id), str(rng.randint(0, 99))]
        for column, pattern in zip(table.columns, patterns):
            position = next_position(rng, column, pattern)
            row.append(None if position is None else column.type.literal(rng, position))
        table.next_id += 1
        rows.append(row)
    return rows


def write_row(row):
    return "(%s)" % ", ".join("NULL" if v is None else quote(v) for v in row)


def room(rng, table, wanted):
    """How many rows to insert so that the table stays small."""
    return max(1, min(wanted, table.row_limit - table.rows))


def insert_one(run):
    for _ in range(run.rng.randint(1, 4)):
        rows = new_rows(run.rng, run.table, 1)
        run.change("INSERT INTO @S.t VALUES %s" % write_row(rows[0]))


def insert_singly(run):
    """Transactions of one row each: they fill the buffer."""
    if run.main.in_transaction:
        return insert_one(run)
    count = room(run.rng, run.table, run.rng.choice((20, 100, 300)))
    rows = new_rows(run.rng, run.table, count)
    # A key that is refused takes back its own row only.
    steps = ("BEGIN INSERT INTO @S.t VALUES %s; EXCEPTION WHEN program_limit_exceeded OR unique_violation "
             "THEN END; COMMIT;"
             if run.may_fail() else "INSERT INTO @S.t VALUES %s; COMMIT;")
    run.pair.run(run.main, "DO $do$ BEGIN %s END $do$" % " ".join(
        steps % write_row(row) for row in rows))
    run.table.rows += count
    run.operations += count - 1


def insert_rows(run):
    count = room(run.rng, run.table, run.rng.choice((5, 20, 100, 300)))
    rows = new_rows(run.rng, run.table, count)
    run.change("INSERT INTO @S.t VALUES %s" % ", ".join(map(write_row, rows)))


def copy_rows(run, choices=PATTERNS):
    count = room(run.rng, run.table, run.rng.choice((100, 1000, 3000)))
    lines = io.StringIO()
    for row in new_rows(run.rng, run.table, count, choices):
        lines.write("\t".join("\\N" if v is None else v.replace("\\", "\\\\") for v in row) + "\n")
    columns = ", ".join(["id", "pad"] + [c.name for c in run.table.columns])
    run.changed(run.pair.copy(run.main, columns, lines, run.may_fail()))


def mingle(run):
    """Many rows in one statement, whose keys come between others: some wait in the buffer, and
    some fill leaves."""
    copy_rows(run, MINGLED)


def insert_select(run):
    """Inserts rows of the table again: exact duplicates of its keys."""
    table = run.table
    if table.copies >= 12 or table.rows * 2 > table.row_limit:
        return insert_rows(run)
    table.copies += 1
    columns = ", ".join(c.name for c in table.columns)
    run.change("INSERT INTO @S.t SELECT id + %d, pad, %s FROM @S.t WHERE id %% %d = 0" % (
        table.next_id, columns, run.rng.choice((1, 2, 5))))
    table.next_id *= 2


def insert_conflicting(run):
    """Inserts rows with ON CONFLICT; a unique index has some of their identifiers already."""
    rng, table = run.rng, run.table
    # before 18, core refuses ON CONFLICT where any unique index is not nbtree's
    if not table.unique or (table.may_collide and
                            run.main.connection.server_version < 180000):
        return insert_one(run)
    rows = new_rows(rng, table, room(rng, table, rng.choice((1, 3, 30))))
    new = int(rows[0][0])
    old = rng.sample(range(1, new), min(len(rows), new - 1))
    for row, taken in zip(rows, old):  # each only once, or DO UPDATE would fail
        if rng.random() < 0.5:
            row[0] = str(taken)
    column = rng.choice(table.columns).name
    insert = "INSERT INTO @S.t VALUES %s ON CONFLICT %s" % (
        ", ".join(map(write_row, rows)), rng.choice((
            "DO NOTHING", "(id) DO NOTHING", "(id) DO UPDATE SET pad = 100",
            "(id) DO UPDATE SET %s = excluded.%s" % (column, column))))
    if rng.random() < 0.2:
        insert = "WITH new AS (%s RETURNING id) SELECT count(*) FROM new" % insert
    run.change(insert)


def collide(run):
    """Rows that are there already, in part or as a whole: unique indexes refuse them."""
    rng, table = run.rng, run.table
    if not table.may_collide or table.next_id < 3:
        return insert_one(run)
    taken = rng.randrange(1, table.next_id)
    kind = rng.random()
    if kind < 0.3:
        rows = new_rows(rng, table, rng.choice((1, 1, 5, 50)))
        rng.choice(rows)[0] = str(taken)
        run.change("INSERT INTO @S.t VALUES %s" % ", ".join(map(write_row, rows)))
    elif kind < 0.6:
        run.change("INSERT INTO @S.t SELECT * FROM @S.t WHERE id = %d" % taken)
    elif kind < 0.7:
        run.change("INSERT INTO @S.t (id) VALUES (%d)" % taken)
    else:
        # to an identifier that is taken, or that a deleted row had, or a new one
        run.change("UPDATE @S.t SET id = %d WHERE id = %d" % (
            rng.randrange(1, table.next_id + 5), taken))


def load(run):
    """Many rows in one transaction without subtransactions, in several statements: unique indexes
    stage them, too.  Some keys are deleted on the way and come back, or are there twice."""
    if run.main.in_transaction:
        return insert_rows(run)
    rng, table = run.rng, run.table
    rows = new_rows(rng, table, room(rng, table, rng.choice((150, 400, 1500))))
    for _ in range(rng.choice((0, 0, 1, 3)) if table.may_collide else 0):
        taken = rng.choice(rows)[0] if rng.random() < 0.6 else str(rng.randrange(1, table.next_id + 5))
        rng.choice(rows)[0] = taken
    if rng.random() < 0.4:
        rng.shuffle(rows)
    statements, done = [], 0
    while done < len(rows):
        step = rng.choice((1, 2, 50, 100, 500))
        statements.append("INSERT INTO @S.t VALUES %s" % ", ".join(
            map(write_row, rows[done:done + step])))
        done += step
        some = rng.choice(rows[:done])
        kind = rng.random()
        if kind < 0.1:
            statements.append("DELETE FROM @S.t WHERE id = %s" % some[0])
            if rng.random() < 0.7:
                statements.append("INSERT INTO @S.t VALUES %s" % write_row(some))
        elif kind < 0.15:
            statements.append("UPDATE @S.t SET pad = pad + 1, id = id + %d WHERE id = %s" % (
                rng.choice((0, 0, 1, 3)) if table.may_collide else 0, some[0]))
        elif kind < 0.2:
            statements.append("DELETE FROM @S.t WHERE %s" % some_rows(rng, table))
    statements.append("SELECT count(*), sum(id), sum(pad) FROM @S.t")
    # Statements that are sent together are one transaction.
    if run.pair.run(run.main, "; ".join(statements), run.may_fail()) is not None:
        table.rows += len(rows)
    run.operations += len(statements) - 1


def some_rows(rng, table):
    """A condition that picks some rows, the same on both sides."""
    kind = rng.random()
    if kind < 0.35:
        return "id %% %d = %d" % ((lambda m: (m, rng.randrange(m)))(rng.choice((7, 50, 300))))
    if kind < 0.6:
        start = rng.randint(1, table.next_id)
        return "id BETWEEN %d AND %d" % (start, start + rng.choice((0, 10, 200)))
    column = rng.choice(table.columns)
    if "bool" in column.type.features:
        return "%s AND id %% 5 = 1" % column.name
    position = rng.randint(column.low, column.high)
    low = column.type.literal(rng, position)
    if kind < 0.8:
        return "%s = %s::%s AND id %% 3 = 0" % (column.name, quote(low), column.type.cast)
    high = column.type.literal(rng, position + rng.randint(0, 30))
    return "%s BETWEEN %s::%s AND %s::%s AND id %% 2 = 0" % (
        column.name, quote(low), column.type.cast, quote(high), column.type.cast)


def update_keys(run):
    rng, table = run.rng, run.table
    sets = []
    for column in rng.sample(table.columns, rng.randint(1, min(2, len(table.columns)))):
        others = [c for c in table.columns
                  if c is not column and c.type.declaration == column.type.declaration]
        position = next_position(rng, column, rng.choice(PATTERNS))
        if position is None:
            sets.append("%s = NULL" % column.name)
        elif others and rng.random() < 0.3:
            sets.append("%s = %s" % (column.name, rng.choice(others).name))
        else:
            sets.append("%s = %s" % (column.name, quote(column.type.literal(rng, position))))
    run.change("UPDATE @S.t SET %s WHERE %s" % (", ".join(sets), some_rows(rng, table)))


def update_often(run):
    """Updates one of a few rows, again and again: indexes get many versions of them.

    This is no DO block with COMMITs: there an assertion of PostgreSQL 18 fails if a plan has to pass
    over a new index.
    """
    rng, table = run.rng, run.table
    hot = [rng.randint(max(1, table.next_id - 500), table.next_id) for _ in range(rng.choice((1, 3, 20)))]
    column = rng.choice(table.columns)
    count = rng.choice((5, 20, 60))
    for _ in range(count):
        position = next_position(rng, column, rng.choice(PATTERNS))
        value = "NULL" if position is None else quote(column.type.literal(rng, position))
        run.change("UPDATE @S.t SET %s = %s WHERE id = %d" % (column.name, value, rng.choice(hot)))
    run.operations += count - 1


def update_pad(run):
    """Updates no indexed column, so the update is HOT where the page has room."""
    run.change("UPDATE @S.t SET pad = pad + 1 WHERE %s" % some_rows(run.rng, run.table))


def delete_some(run):
    run.change("DELETE FROM @S.t WHERE %s" % some_rows(run.rng, run.table))


def delete_left(run):
    """Deletes the smallest values of a column, as a queue does."""
    rng, table = run.rng, run.table
    column = rng.choice(table.columns)
    position = column.low + (column.high - column.low) * rng.choice((0.1, 0.3, 0.6, 1.0))
    if "bool" in column.type.features:
        return delete_some(run)
    run.change("DELETE FROM @S.t WHERE %s < %s::%s" % (
        column.name, quote(column.type.plain_literal(int(position))), column.type.cast))


def delete_most(run):
    run.change("DELETE FROM @S.t WHERE id %% %d <> 0" % run.rng.choice((2, 10, 1000)))


def vacuum(run):
    rng = run.rng
    options = [rng.choice(("INDEX_CLEANUP ON", "INDEX_CLEANUP ON", "INDEX_CLEANUP AUTO"))]
    if run.old_snapshot:
        options.append("TRUNCATE OFF")     # truncation would wait for the old reader's lock
    elif rng.random() < 0.2:
        options.append("FREEZE")
    options.append("PARALLEL %d" % rng.choice((0, 0, 0, 2)))
    if rng.random() < 0.3:
        options.append("ANALYZE")
    run.pair.run(run.main, "VACUUM (%s) @S.t" % ", ".join(options))


def flush(run):
    """Moves what is in the buffer to the tree."""
    if run.table.test_method == "sware" and run.table.indexes:
        index = run.rng.choice(run.table.indexes)
        run.main.execute("SELECT sware_flush('%s.%s')" % (TEST, index.name))


def analyze(run):
    run.pair.run(run.main, "ANALYZE @S.t")


def create_index(run):
    rng, table = run.rng, run.table
    if len(table.indexes) >= 3:
        return drop_index(run)
    index = table.random_index(rng)
    concurrently = run.alone() and rng.random() < 0.25

    def sql(schema):
        tested = schema != "fuzz_base"
        return index.sql(schema, table.test_method if tested else "btree", tested, concurrently)

    if run.pair.run(run.main, sql, may_fail=True) is not None:
        table.indexes.append(index)
    elif concurrently:
        run.pair.run(run.main, "DROP INDEX @S.%s" % index.name)


def drop_index(run):
    table = run.table
    if len(table.indexes) > 1 and not run.old_snapshot:
        index = run.rng.choice(table.indexes)
        table.indexes.remove(index)
        run.pair.run(run.main, "DROP INDEX @S.%s" % index.name)


def reindex(run):
    rng = run.rng
    if not run.table.indexes:
        return create_index(run)
    concurrently = "CONCURRENTLY " if run.alone() and rng.random() < 0.4 else ""
    target = rng.choice(["TABLE %s@S.t" % concurrently] +
                        ["INDEX %s@S.%s" % (concurrently, i.name) for i in run.table.indexes])
    run.pair.run(run.main, "REINDEX %s" % target)


def set_options(run):
    rng, table = run.rng, run.table
    if table.indexes:
        run.pair.run(run.main, "ALTER INDEX @S.%s SET (%s)" % (
            rng.choice(table.indexes).name, rng.choice((
                "fillfactor = %d" % rng.randint(50, 100),
                "deduplicate_items = %s" % rng.choice(("on", "off"))))))
        if table.test_method == "sware":
            run.main.execute("ALTER INDEX %s.%s SET (%s)" % (
                TEST, rng.choice(table.indexes).name, rng.choice(table.buffer_options(rng))))


def set_staging_size(rng, session):
    session.execute("SET sware.staging_size = %d" % rng.choice((64, 64, 64, 100, 1024, 16384)))


def set_buffer(run):
    """The session's settings that say which entries wait."""
    if run.table.test_method != "sware":
        return
    if run.rng.random() < 0.25:
        set_staging_size(run.rng, run.main)
    else:
        run.main.execute("SET %s" % run.rng.choice((
            "sware.enable_buffer = on", "sware.enable_buffer = on", "sware.enable_buffer = off",
            "sware.buffer_size = %d" % run.rng.choice((64, 64, 1024, 16384, 1048576)))))


def burst(run):
    """Changes of rows in one transaction, with savepoints and without a question between them."""
    rng, session = run.rng, run.main
    weights, functions = zip(*ROW_CHANGES)
    own = not session.in_transaction
    before = run.state(None)
    if own:
        session.begin()
    for _ in range(rng.randint(2, 12)):
        saved = run.state(None)
        guarded = rng.random() < 0.5
        if guarded:
            session.execute("SAVEPOINT burst")
        for _ in range(rng.randint(1, 4)):
            rng.choices(functions, weights)[0](run)
            run.operations += 1
        if guarded and rng.random() < 0.4:
            session.execute("ROLLBACK TO SAVEPOINT burst")
            session.toggles = {}
            run.restore(saved)
        if guarded:
            session.execute("RELEASE SAVEPOINT burst")
    if own:
        end = rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
        session.end(end)
        if end == "ROLLBACK":
            run.restore(before)


def truncate(run):
    run.pair.run(run.main, "TRUNCATE @S.t")
    run.table.rows = 0


def rewrite(run):
    """VACUUM FULL, CLUSTER, or a change of the table that rewrites it."""
    rng, table = run.rng, run.table
    # CLUSTER wants an index that covers all rows.
    whole = [i for i in table.indexes if not i.predicate]
    if rng.random() < 0.5 and whole:
        # PostgreSQL loses rows of the transaction's own that a rolled back subtransaction updated,
        # unless a query has marked them since.
        run.pair.run(run.main, "SELECT count(pad) FROM @S.t")
        run.pair.run(run.main, "CLUSTER @S.t USING %s" % rng.choice(whole).name)
    elif not run.main.in_transaction:
        run.pair.run(run.main, "VACUUM FULL @S.t")
    else:
        run.pair.run(run.main, "ALTER TABLE @S.t ALTER pad TYPE int4 USING pad + 1")


# Weight, function.  "Blocking" ones need a lock that an old reader would keep from them, and
# those "outside" cannot run in a transaction block.
ROW_CHANGES = ((8, insert_one), (5, insert_singly), (6, insert_rows), (2, copy_rows), (3, mingle),
               (1, insert_select), (3, insert_conflicting), (4, collide), (2, load),
               (5, update_keys), (3, update_pad), (4, delete_some), (2, delete_left))
# The same where most changes make rows die.
DEADLY_ROW_CHANGES = ((6, insert_one), (6, insert_singly), (5, insert_rows), (1, copy_rows), (1, mingle),
                      (1, insert_conflicting), (2, collide), (1, load), (10, update_keys),
                      (12, update_often), (3, update_pad), (10, delete_some), (5, delete_left),
                      (1, delete_most))
# Those between look-ups of one transaction.
CHANGES_IN_TURN = ((10, insert_one), (6, insert_rows), (1, copy_rows), (1, insert_select),
                   (1, insert_conflicting), (2, update_keys), (1, delete_some))
OUTSIDE = ((6, vacuum), (4, flush), (1, analyze))
RARE = ((3, create_index), (2, set_options), (1, delete_most), (2, set_buffer), (4, burst))
BLOCKING = ((1, drop_index), (3, reindex), (1, truncate), (2, rewrite))
