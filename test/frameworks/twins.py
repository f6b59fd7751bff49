"""Two databases that live the same life: one with sware's keys, one with nbtree's."""

import psycopg

KINDS = ("sware", "btree")

KEYS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(c.oid), amname,
        coalesce('sware=true' = ANY (i.reloptions), false), conindid::regclass::text
    FROM pg_constraint c JOIN pg_class i ON i.oid = conindid JOIN pg_am a ON a.oid = relam
    WHERE contype IN ('p', 'u') AND connamespace = 'public'::regnamespace
    ORDER BY 1, 2
"""
CHECKS = {"sware": "SELECT sware_check(%s, true)", "btree": "SELECT bt_index_check(%s, true)"}


class Twins:
    """The databases NAME_sware and NAME_btree, and what was found out about them."""

    def __init__(self, name):
        self.databases = {kind: f"{name}_{kind}" for kind in KINDS}
        self.failed = 0

    def report(self, is_right, name, *details):
        """One test."""
        print(f"{'ok' if is_right else 'not ok'} - {name}", flush=True)
        if not is_right:
            self.failed += 1
            for detail in details:
                print(f"#   {detail}")

    def compare(self, name, function):
        """Does a function of the kind work, and return the same for both?"""
        outcomes = {}
        for kind in KINDS:
            try:
                outcomes[kind] = function(kind)
            except Exception as error:
                self.report(False, f"{name}: {kind}", f"{type(error).__name__}: {error}")
                return
        first, second = outcomes.values()
        self.report(first == second, name,
                    *(f"{kind}: {outcome}" for kind, outcome in outcomes.items()))

    def check(self, name):
        """Are the keys the same but for their kind, and their indexes right?"""
        found = {}
        for kind, database in self.databases.items():
            with psycopg.connect(dbname=database) as connection:
                found[kind] = connection.execute(KEYS).fetchall()
                strange = [key for key in found[kind]
                           if (key[3], key[4]) != (kind, kind == "sware")]
                self.report(found[kind] and not strange,
                            f"{name}: all {len(found[kind])} keys are of {kind}", *strange)
                for key in found[kind]:
                    connection.execute(CHECKS[kind], (key[5],))
        same = [[key[:3] for key in keys] for keys in found.values()]
        self.report(same[0] == same[1], f"{name}: the same keys", *same)
