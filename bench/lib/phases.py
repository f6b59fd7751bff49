"""Counts where the instructions of a load go, with callgrind."""

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
        for number, subject in enumerate(everyone):
            settings = "".join(f"SET {name} = '{v}';\n" for name, v in subject.settings)
            edges = runner.calls(f"{settings}COPY t{number} FROM '{place.data}/keys';\n")
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


def figures(edges, access_method, rows):
    """Instructions a row by phase, and of 100 searches for a leaf those without descent."""
    found = {}
    for phase, (functions, others) in PHASES[access_method].items():
        cost = inclusive(edges, functions) - inclusive(edges, others)
        found[phase] = cost / rows
    whole, *parts = found.values()
    found["the rest"] = whole - sum(parts)
    searches = calls(edges, "sware_find_leaf")
    if searches > 0:
        descents = calls(edges, "sware_descend", "sware_find_leaf")
        found["searches for a leaf, of 100 rows"] = 100 * searches / rows
        found["without descent, of 100 searches"] = 100 * (1 - descents / searches)
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
