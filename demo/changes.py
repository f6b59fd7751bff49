"""Changes a loaded table, so that its indexes are vacuumed and refilled."""

from progress import Bar

# Rows go where space was made, and every table ends with the same rows in the
# same places. The update is last: where it is heap-only, in the table without
# indexes, it leaves line pointers behind that later inserts would meet.
STATEMENTS = (
    "DELETE FROM {table} WHERE l_shipdate BETWEEN '1993-05-01' AND '1993-08-10'",
    "DELETE FROM {table} WHERE l_orderkey % 11 = 3",
    "VACUUM {table}",
    "INSERT INTO {table} SELECT * FROM late_arrivals",
    "UPDATE {table} SET l_commitdate = l_commitdate + 3 "
    "WHERE l_shipdate BETWEEN '1997-02-01' AND '1997-03-31'",
    "VACUUM (FREEZE, ANALYZE) {table}",
)


def change_all(connection, subjects):
    """Makes the same changes to every table."""
    connection.execute(
        f"CREATE TABLE late_arrivals AS SELECT * FROM {subjects[0].table} "
        "WHERE l_orderkey % 11 = 3 AND l_orderkey % 2 = 0 ORDER BY ctid DESC"
    )
    # All tables are scanned in the same order, whatever indexes they have.
    for name in ("enable_indexscan", "enable_bitmapscan"):
        connection.execute(f"SET {name} = off")
    with Bar("statements", len(subjects) * len(STATEMENTS)) as bar:
        for subject in subjects:
            for statement in STATEMENTS:
                connection.execute(statement.format(table=subject.table))
                bar.advance()
    for name in ("enable_indexscan", "enable_bitmapscan"):
        connection.execute(f"RESET {name}")
