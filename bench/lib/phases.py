"""Counts where the instructions of a load or of look-ups go, with callgrind."""

import buffer
import results
import server
import sortedness
import statement
import subjects

# The functions of a phase, and those below them that belong to another phase. No
# function of a phase is below another one of it.
PHASES = {
    "sware": {
        "the index": (
            {"sware_insert", "sware_publish_all", "sware_staging_statement_ends"}, ()
        ),
        "staging": ({"sware_stage"}, ("sware_publish_lower_part",)),
        "sorting": ({"sware_sort_arrivals"}, ()),
        "buffering": ({"sware_buffer_add", "sware_buffer_insert"}, ()),
        "appending": ({"sware_tree_append_run"}, ()),
        "splitting": ({"sware_split"}, ()),
        "merging": (
            {"sware_tree_insert_run", "sware_tree_insert_company"},
            ("sware_tree_append_run", "sware_split"),
        ),
    },
    "btree": {
        "the index": ({"btinsert"}, ()),
        "descending": ({"_bt_search"}, ()),
    },
}

LOOK_UP_PHASES = {
    "sware": {
        "the look-up": ({"sware_rescan", "sware_gettuple"}, ()),
        "the tree": (
            {
                "sware_tree_cursor_seek", "sware_tree_cursor_next",
                "sware_tree_cursor_next_page",
            },
            (),
        ),
        "the buffer": (
            {"sware_buffer_cursor_seek", "sware_buffer_cursor_read_on"},
            ("sware_zones_sort_if_crowded",),
        ),
        "sorting": ({"sware_zones_sort_if_crowded"}, ()),
    },
    "btree": {"the look-up": ({"btrescan", "btgettuple"}, ())},
}

# To fill a buffer no more rows than this share of all come one by one.
MOST_TO_FILL = 0.4

# The keys that are looked up are scattered, and each of them is there.
LOOK_UPS = """
    DO $$
    DECLARE
        found bigint;
    BEGIN
        FOR i IN 1 .. {count} LOOP
            SELECT v INTO STRICT found FROM {table} WHERE k = i * 2654435761 % {rows};
        END LOOP;
    END $$
"""


def measure(chosen, place):
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    if chosen.without_nbtree:
        everyone = everyone[1:]
    statement.install_valgrind()
    connection = server.connect(chosen)
    for number, subject in enumerate(everyone):
        server.execute(connection, f"CREATE TABLE t{number} (k bigint, v integer)")
        server.execute(connection, subject.create_index(f"t{number}"))
    server.execute(connection, "CHECKPOINT")
    connection.close()
    runner = statement.Runner(chosen, place)
    raw = []
    for degree in chosen.degrees:
        results.step(f"{degree.name}, {chosen.rows:,} rows")
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        with open(place.data / "keys", "wb") as file:
            sortedness.write_copy_text(keys, file)
        if chosen.look_ups:
            fill(chosen, place, keys, everyone)
        for number, subject in enumerate(everyone):
            settings = "".join(f"SET {name} = '{v}';\n" for name, v in subject.settings)
            if chosen.look_ups:
                found = look_ups(chosen, runner, subject, f"t{number}", settings)
            else:
                edges = runner.calls(
                    f"{settings}COPY t{number} FROM '{place.data}/keys';\n"
                )
                found = figures(edges, subject.access_method, chosen.rows)
            print(
                f"{subject.label}: "
                + ", ".join(f"{what} {value:,.1f}" for what, value in found.items()),
                flush=True,
            )
            raw += [
                {
                    "degree": degree.name, "k": degree.k, "l": degree.l,
                    "subject": subject.label, "figure": what, "value": float(value),
                }
                for what, value in found.items()
            ]
    results.report(
        chosen.out, chosen.name, raw, raw, ["", "", "", "value"],
        [[row["degree"], row["subject"], row["figure"], row["value"]] for row in raw],
    )


def fill(chosen, place, keys, everyone):
    """Loads the tables anew; the last rows come one by one, and fill sware's buffer."""
    connection = server.connect(chosen)
    most = int(len(keys) * MOST_TO_FILL)
    filling = 0
    # nbtree is the first of them, and gets as many rows one by one as the others.
    for number, subject in reversed(list(enumerate(everyone))):
        table = f"t{number}"
        if subject.access_method == "sware":
            load(place, connection, subject, table, keys[:-most])

            def insert(first, step):
                begin = len(keys) - most + first
                buffer.write_keys(place, keys[: begin + step], begin)
                buffer.trickle(place, connection, table)

            filling = buffer.fill(connection, subject, f"{table}_k", most, insert)
        load(place, connection, subject, table, keys[: len(keys) - filling])
        buffer.write_keys(place, keys, len(keys) - filling)
        buffer.trickle(place, connection, table)
        server.execute(connection, f"ANALYZE {table}")
    buffer.tell_entries(connection, {one: f"t{n}" for n, one in enumerate(everyone)})
    server.execute(connection, "CHECKPOINT")
    connection.close()


def look_ups(chosen, runner, subject, table, settings):
    """Instructions by phase of look-ups that come after as many others."""
    once, twice = (
        phases_of(
            runner.calls(settings + " ".join(
                LOOK_UPS.format(count=count, table=table, rows=chosen.rows).split()
            ) + ";\n"),
            LOOK_UP_PHASES[subject.access_method], chosen.look_ups,
        )
        for count in (chosen.look_ups, 2 * chosen.look_ups)
    )
    return {phase: twice[phase] - once[phase] for phase in once}


def load(place, connection, subject, table, keys):
    """Loads a table anew, by COPY, and leaves nothing in the buffer."""
    buffer.write_keys(place, keys, len(keys))
    server.execute(connection, f"TRUNCATE {table}")
    server.execute(connection, f"COPY {table} FROM '{place.data}/keys'")
    buffer.flush(connection, subject, f"{table}_k")


def figures(edges, access_method, rows):
    """Instructions a row by phase, and how many rows and searches do without a descent."""
    found = phases_of(edges, PHASES[access_method], rows)
    searches = calls(edges, "sware_find_leaf")
    if searches > 0:
        descents = calls(edges, "sware_descend", "sware_find_leaf")
        found["searches for a leaf, of 100 rows"] = 100 * searches / rows
        found["without descent, of 100 searches"] = 100 * (1 - descents / searches)
        # Rows that come in order go to their leaf without a search.
        found["without descent, of 100 rows"] = 100 * (1 - descents / rows)
    return found


def phases_of(edges, phases, operations):
    """Instructions of an operation by phase; the first one is the whole."""
    found = {}
    for phase, (functions, others) in phases.items():
        cost = inclusive(edges, functions) - inclusive(edges, others)
        found[phase] = cost / operations
    whole, *parts = found.values()
    found["the rest"] = whole - sum(parts)
    return found


def inclusive(edges, functions):
    """What functions cost with all they call, where none of them is called by another."""
    return sum(
        cost for (caller, called), (_, cost) in edges.items()
        if called in functions and caller not in functions
    )


def calls(edges, function, by=None):
    return sum(
        count for (caller, called), (count, _) in edges.items()
        if called == function and by in (None, caller)
    )
