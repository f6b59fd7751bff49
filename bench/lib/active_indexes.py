"""Times inserts and look-ups in many indexes."""

import random
import statistics

import results
import server
import subjects

PROCEDURES = """
CREATE OR REPLACE PROCEDURE insert_in_turn(
    prefix text, tables int, first int, transactions int, size int)
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN first .. first + transactions - 1 LOOP
        EXECUTE format(
            'INSERT INTO %s_%s SELECT generate_series(%s::bigint, %s), %s',
            prefix, i % tables,
            i / tables * size, i / tables * size + size - 1, i);
        COMMIT;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION look_up(prefix text, numbers int[], keys bigint[])
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    found int := 0;
    one int;
BEGIN
    FOR i IN 1 .. cardinality(numbers) LOOP
        EXECUTE format('SELECT count(v) FROM %s_%s WHERE k = %s',
            prefix, numbers[i], keys[i]) INTO one;
        found := found + one;
    END LOOP;
    RETURN found;
END $$;
"""

TABLES_AT_ONCE = 500


def measure(chosen, memory):
    connection = server.connect(chosen)
    server.execute(connection, PROCEDURES)
    raw = []
    for kind in chosen.kinds:
        for count in chosen.indexes:
            raw += measure_count(chosen, connection, memory, kind, count)
    connection.close()
    return raw


def measure_count(chosen, connection, memory, kind, count):
    results.step(f"{memory}, {count} {kind}")
    everyone = [subjects.NBTREE, *subjects.compared(chosen)]
    prefixes = {subject: f"t{i}" for i, subject in enumerate(everyone)}
    for subject in everyone:
        make_tables(connection, subject, prefixes[subject], count, kind == "unique")
    server.execute(connection, "CHECKPOINT")
    transactions = max(chosen.rows, chosen.rows_of_index * count)
    transactions //= chosen.rows_at_once * chosen.parts
    raw = []
    for part in range(chosen.parts):
        for subject in subjects.in_turn(everyone, part):
            run = {
                "memory": memory, "kind": kind, "indexes": count,
                "subject": subject.label, "part": part + 1,
            }
            run["insert"], run["look_up"] = time_part(
                chosen, connection, prefixes[subject], count, part * transactions,
                transactions, random.Random(part),
            )
            raw.append(run)
            print(
                f"part {part + 1}, {subject.label}: insert {run['insert']:.2f} µs, "
                f"look-up {run['look_up']:.1f} µs",
                flush=True,
            )
    for subject in everyone:
        drop_tables(connection, prefixes[subject], count)
    return raw


def in_steps(connection, command, count):
    """Runs a command for each table, TABLES_AT_ONCE of them in each transaction."""
    for first in range(0, count, TABLES_AT_ONCE):
        last = min(first + TABLES_AT_ONCE, count)
        server.execute(
            connection, ";".join(command.format(i) for i in range(first, last))
        )


def make_tables(connection, subject, prefix, count, unique):
    index = subject.create_index(prefix + "_{0}", unique)
    in_steps(
        connection, f"CREATE TABLE {prefix}_{{0}} (k bigint, v integer); {index}", count
    )


def drop_tables(connection, prefix, count):
    in_steps(connection, f"DROP TABLE {prefix}_{{0}}", count)


def time_part(chosen, connection, prefix, count, first, transactions, chance):
    """The microseconds of processor time of a row, and of a look-up."""
    size = chosen.rows_at_once
    before = server.processor_seconds(connection)
    server.execute(
        connection, "CALL insert_in_turn(%s, %s, %s, %s, %s)",
        [prefix, count, first, transactions, size],
    )
    inserted = server.processor_seconds(connection)

    numbers = [chance.randrange(count) for _ in range(chosen.look_ups)]
    keys = []
    for i, number in enumerate(numbers):
        rows = (first + transactions - number + count - 1) // count * size
        oldest = max(0, rows - 5 * size) if i % 2 == 0 else 0
        keys.append(chance.randrange(oldest, max(rows, 1)))
    begun = server.processor_seconds(connection)
    found = server.value(connection, "SELECT look_up(%s, %s, %s)", [prefix, numbers, keys])
    looked_up = server.processor_seconds(connection)
    if first + transactions >= count and found != chosen.look_ups:
        raise RuntimeError(f"{found} keys were found instead of {chosen.look_ups}")
    return (
        (inserted - before) * 1e6 / (transactions * size),
        (looked_up - begun) * 1e6 / chosen.look_ups,
    )


def tell(chosen, raw):
    """Writes and prints the results; false if a ratio is too large."""
    labels = [subject.label for subject in subjects.compared(chosen)]
    summary = []
    table = []
    for memory in chosen.memory:
        for kind in chosen.kinds:
            for count in chosen.indexes:
                for label in labels:
                    for action in ("insert", "look_up"):
                        line = summarise(raw, memory, kind, count, label, action)
                        line["good"] = line["ratio"] <= chosen.most
                        summary.append(line)
                        table.append(
                            [*list(line.values())[:-1], "" if line["good"] else "!"]
                        )
    results.report(
        chosen.out, chosen.name, raw, summary,
        [
            "memory", "kind", "indexes", "subject", "action", "nbtree, µs", "its, µs",
            "ratio", "",
        ],
        table,
    )
    return all(line["good"] for line in summary)


def summarise(raw, memory, kind, count, label, action):
    def median(subject):
        return statistics.median(
            run[action]
            for run in raw
            if (run["memory"], run["kind"], run["indexes"], run["subject"])
            == (memory, kind, count, subject) and run["part"] > 1
        )

    nbtree = median(subjects.NBTREE.label)
    other = median(label)
    return {
        "memory": memory, "kind": kind, "indexes": count, "subject": label,
        "action": action, "nbtree": nbtree, "other": other, "ratio": other / nbtree,
    }
