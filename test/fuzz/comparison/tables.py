"""Random tables and index definitions."""

from . import values


class Column:
    """A column, and how far its values reach so far (in positions)."""

    def __init__(self, rng, name, column_type):
        self.name = name
        self.type = column_type
        self.low = self.high = values.MIDDLE
        self.domain = rng.choice((3, 40, 1000, 30000))
        self.null_share = rng.choice((0, 0, 0.02, 0.1, 0.6))

    def cover(self, position):
        if position < self.low:
            self.low = position
        elif position > self.high:
            self.high = position


class Key:
    """One key of an index: a column or an expression, with its operator class and order."""

    def __init__(self, expression, key_type, column, is_expression=False):
        self.expression = expression
        self.type = key_type
        self.column = column
        self.is_expression = is_expression
        self.opclass = ""
        self.descending = False
        self.nulls_first = False

    def order(self, reverse=False):
        """The ORDER BY item that the index delivers, forwards or backwards."""
        descending = self.descending != reverse
        nulls_first = self.nulls_first != reverse
        if self.opclass:       # the order of *_pattern_ops has its own operators
            direction = "USING ~>~" if descending else "USING ~<~"
        else:
            direction = "DESC" if descending else "ASC"
        return "%s %s NULLS %s" % (self.expression, direction, "FIRST" if nulls_first else "LAST")

    def literal(self, rng):
        """A literal where the key's values are, or just outside."""
        if self.is_expression:
            scale = {"(%s / 3)" % self.column.name: 3}.get(self.expression, 1)
            middle = values.MIDDLE
            low = (self.column.low - middle) // scale + middle - 2
            high = (self.column.high - middle) // scale + middle + 2
        else:
            low, high = self.column.low - 2, self.column.high + 2
        if self.type.features & {"bool"}:
            low = values.MIDDLE
            high = low + 1
        return self.type.literal(rng, rng.randint(low, high))


class Index:
    """An index definition that both sides get, each with its own access method."""

    def __init__(self, name, keys, include, predicate, options, test_options):
        self.name = name
        self.unique = False
        self.nulls_distinct = True
        self.keys = keys
        self.include = include
        self.predicate = predicate
        self.options = options              # understood by both access methods
        self.test_options = test_options    # only by the tested one

    def sql(self, schema, method, tested, concurrently):
        parts = []
        for key in self.keys:
            parts.append(" ".join(filter(None, (
                key.expression, key.opclass, "DESC" if key.descending else "ASC",
                "NULLS FIRST" if key.nulls_first else "NULLS LAST"))))
        options = self.options + (self.test_options if tested else [])
        return "CREATE %sINDEX %s%s ON %s.t USING %s (%s)%s%s%s%s" % (
            "UNIQUE " if self.unique else "", "CONCURRENTLY " if concurrently else "",
            self.name, schema, method, ", ".join(parts),
            " INCLUDE (%s)" % ", ".join(c.name for c in self.include) if self.include else "",
            "" if self.nulls_distinct else " NULLS NOT DISTINCT",
            " WITH (%s)" % ", ".join(options) if options else "",
            " WHERE %s" % self.predicate if self.predicate else "")


class Table:
    """The pair of tables under comparison: the same columns, rows and indexes on both sides."""

    def __init__(self, rng, test_method):
        self.test_method = test_method
        self.columns = []
        wide = False
        for number in range(rng.randint(1, 5)):
            pool = values.FREQUENT if rng.random() < 0.5 else values.TYPES
            column_type = rng.choice(pool)
            if "wide" in column_type.features:
                if wide:
                    column_type = values.BY_NAME["int4"]
                wide = True
            self.columns.append(Column(rng, "c%d" % number, column_type))
        self.wide = wide
        self.unlogged = rng.random() < 0.15
        self.unique = rng.random() < 0.4    # an nbtree index on both sides, for ON CONFLICT
        self.fillfactor = rng.choice((100, 100, 80, 50))
        self.row_limit = rng.choice((400, 2000, 2000, 6000) if wide else (500, 3000, 8000, 25000))
        self.rows = 0
        self.next_id = 1
        self.copies = 0
        self.may_collide = False            # may an index refuse rows with equal keys?
        self.indexes = []
        self.next_index = 1

    def create_statements(self, schema):
        columns = ["id int8", "pad int4"]
        columns += ["%s %s" % (c.name, c.type.declaration) for c in self.columns]
        yield "CREATE %sTABLE %s.t (%s) WITH (autovacuum_enabled = off, fillfactor = %d)" % (
            "UNLOGGED " if self.unlogged else "", schema, ", ".join(columns), self.fillfactor)
        for column in self.columns:
            if "external" in column.type.features:
                yield "ALTER TABLE %s.t ALTER %s SET STORAGE EXTERNAL" % (schema, column.name)
        if self.unique:
            yield "CREATE UNIQUE INDEX u ON %s.t (id)" % schema

    def random_index(self, rng):
        keys = []
        count = min(rng.choice((1, 1, 1, 2, 2, 3, 4)), len(self.columns) + 1)
        for column in rng.sample(self.columns, min(count, len(self.columns))):
            keys.append(self.random_key(rng, column))
        unique = rng.random() < 0.25
        if unique:
            # with what differs from row to row, but not always
            keys = keys[:rng.choice((0, 0, 1, 2))]
            identifier = Column(rng, "id", values.BY_NAME["int8"])
            key = Key("id", identifier.type, identifier)
            key.descending = key.nulls_first = rng.random() < 0.3
            keys.insert(rng.randint(0, len(keys)), key)
        include = []
        if rng.random() < 0.25:
            include = rng.sample(self.columns, rng.randint(1, min(2, len(self.columns))))
            include = [c for c in include if "wide" not in c.type.features]
        predicate = None
        if rng.random() < 0.15:
            column = rng.choice(self.columns)
            key = Key(column.name, column.type, column)
            predicate = rng.choice((
                "%s IS NOT NULL" % column.name, "id % 3 <> 0",
                "%s >= %s::%s" % (column.name, values.quote(key.literal(rng)), column.type.cast)))
        options = []
        if rng.random() < 0.3:
            options.append("fillfactor = %d" % rng.randint(50, 100))
        if rng.random() < 0.3:
            options.append("deduplicate_items = %s" % rng.choice(("on", "off", "off")))
        test_options = []
        if self.test_method == "sware" and rng.random() < 0.6:
            test_options += self.buffer_options(rng)
        name = "i%d" % self.next_index
        self.next_index += 1
        index = Index(name, keys, include, predicate, options, test_options)
        if unique:
            index.unique = self.may_collide = True
            index.nulls_distinct = rng.random() < 0.5
        return index

    @staticmethod
    def buffer_options(rng):
        return ["buffer_size = %d" % rng.choice((-1, 0, 1, 64, 64, 64, 128, 1024, 16384, 1048576)),
                "flush_fraction = %d" % rng.choice((1, 20, 50, 50, 99, 100)),
                "forecast_fill = %s" % rng.choice(("on", "off")),
                "group_leaves = %s" % rng.choice(("on", "off"))]

    @staticmethod
    def random_key(rng, column):
        key = Key(column.name, column.type, column)
        if column.type.expressions and rng.random() < 0.15:
            pattern, result = rng.choice(column.type.expressions)
            key = Key(pattern % column.name, values.BY_NAME[result], column, True)
        elif "pattern" in column.type.features and rng.random() < 0.2:
            key.opclass = {"varchar(40)": "varchar_pattern_ops"}.get(
                column.type.declaration, "text_pattern_ops")
        key.descending = rng.random() < 0.3
        key.nulls_first = key.descending if rng.random() < 0.7 else rng.random() < 0.5
        return key
