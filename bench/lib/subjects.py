"""What is compared: tables that differ in their index only."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Subject:
    """An index on k of one access method, or none."""

    label: str
    access_method: str | None
    options: tuple = ()
    settings: tuple = ()

    def create_index(self, table, unique=False, columns=("k",), name=None, included=()):
        """The command that makes an index of this subject on a table."""
        options = ""
        if self.options:
            options = " WITH (" + ", ".join(
                f"{name} = '{value}'" for name, value in self.options
            ) + ")"
        return (
            f"CREATE {'UNIQUE ' if unique else ''}INDEX {name or f'{table}_k'} ON {table} "
            f"USING {self.access_method} ({', '.join(columns)})"
            + (f" INCLUDE ({', '.join(included)})" if included else "")
            + options
        )

    def create_primary_key(self, table, name, column="k"):
        """The command that makes a column the primary key of a table, with this index."""
        options = [f"{name} = '{value}'" for name, value in self.options]
        if self.access_method != "btree":
            options.insert(0, self.access_method)
        return (
            f"ALTER TABLE {table} ADD CONSTRAINT {name} PRIMARY KEY ({column})"
            + (f" WITH ({', '.join(options)})" if options else "")
        )


NO_INDEX = Subject("no index", None)
NBTREE = Subject("nbtree", "btree")


def compared(chosen):
    """What is set beside nbtree: one subject for each value that is varied."""
    label = chosen.am if chosen.am != "btree" else "nbtree again"
    options = tuple(chosen.index_options)
    if chosen.vary is None:
        return [Subject(label, chosen.am, options)]
    name, values = chosen.vary
    everyone = []
    for value in values:
        varied = Subject(f"{label}, {name}={value}", chosen.am, options)
        # The name of a setting of an extension has a dot, that of an option has none.
        what = "settings" if "." in name else "options"
        added = (*getattr(varied, what), (name, value))
        everyone.append(dataclasses.replace(varied, **{what: added}))
    return everyone


def in_turn(subjects, round_number):
    """The subjects in the order of a round: another one begins each time."""
    first = round_number % len(subjects)
    return subjects[first:] + subjects[:first]
