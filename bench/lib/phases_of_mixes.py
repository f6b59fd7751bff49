"""Counts where the instructions of mixes of inserts and look-ups go, with callgrind."""

import access_method
import phases
import results
import server
import sortedness
import statement
import subjects

ALL = 1_000_000_000  # operations of a transaction: as many as there are

INSERT = {"sware": phases.PHASES["sware"]["the index"][0], "btree": {"btinsert"}}

# Of a look-up; the buffer's part has the search of what the transaction has staged.
LOOK_UP = {
    "sware": {
        **phases.LOOK_UP_PHASES["sware"],
        "the buffer": (
            phases.LOOK_UP_PHASES["sware"]["the buffer"][0],
            ("sware_take_staged", "sware_zones_sort_if_crowded"),
        ),
        "its own entries": ({"sware_take_staged"}, ()),
    },
    "btree": {"the look-up": phases.LOOK_UP_PHASES["btree"]["the look-up"]},
}


def measure(chosen, place):
    statement.install_valgrind()
    connection = access_method.prepare(chosen)
    server.execute(connection, "CREATE TABLE arrivals (k bigint, v integer)")
    raw = []
    for degree in chosen.degrees:
        keys = sortedness.make_keys(
            chosen.rows, degree, chosen.alpha, chosen.beta, chosen.seed
        )
        access_method.give_keys(place, connection, keys)
        server.execute(connection, "TRUNCATE arrivals")
        server.execute(connection, f"COPY arrivals FROM '{place.data}/keys'")
        for subject in [subjects.NBTREE, *subjects.compared(chosen)]:
            results.step(f"{degree.name}, {subject.label}")
            with server.settings_of(subject, chosen, connection):
                access_method.make_index(connection, subject)
                access_method.load(connection, 0, preloaded(chosen), ALL)
                server.execute(connection, "CHECKPOINT")
            for mix in chosen.mixes:
                found = count(chosen, place, subject, mix)
                texts = [f"{what} {value:,.0f}" for what, value in found.items()]
                print(f"{mix}: {', '.join(texts)}", flush=True)
                raw += [
                    {
                        "degree": degree.name, "mix": mix, "subject": subject.label,
                        "figure": what, "value": float(value),
                    }
                    for what, value in found.items()
                ]
            server.execute(connection, "DROP INDEX t_k")
    connection.close()
    results.report(
        chosen.out, chosen.name, raw, raw, ["", "", "", "", "value"],
        [list(row.values()) for row in raw],
    )


def preloaded(chosen):
    return chosen.rows * chosen.preloaded // 100


def count(chosen, place, subject, mix):
    """Instructions of an insert and of a look-up, and where those of a look-up go."""
    first = preloaded(chosen)
    inserts = chosen.rows - first
    share = access_method.writes(mix)
    reads = round(inserts * (1 - share) / share)
    settings = "".join(f"SET {name} = '{v}';\n\n" for name, v in subject.settings)
    edges = statement.Runner(chosen, place).calls(
        f"{settings}SELECT drive_index_keys(array_agg(k ORDER BY v)) FROM arrivals;\n\n"
        f"SELECT drive_index('t_k', {first}, {inserts}, {reads}, 1, 0, {chosen.seed}, 0);"
        "\n\n"
    )
    found = {
        "an insert": phases.inclusive(edges, INSERT[subject.access_method]) / inserts
    }
    return found | phases.phases_of(edges, LOOK_UP[subject.access_method], reads)
