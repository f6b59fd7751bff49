"""Random queries over the tables and their indexes."""

from .values import quote

OPERATORS = ("<", "<=", "=", ">=", ">")


class Question:
    """A query, and how its answers compare."""

    def __init__(self, sql, compare="bag", prefix=0):
        self.sql = sql
        self.compare = compare
        self.prefix = prefix


def typed(key, text):
    return "%s::%s" % (quote(text), key.type.cast)


def constant(rng, key):
    """A constant to compare a key with: its own type, another type, or known only at run time."""
    if key.type.cross and rng.random() < 0.3:
        column = key.column
        name, literal = rng.choice(key.type.cross)
        return "%s::%s" % (quote(literal(rng.randint(column.low - 2, column.high + 2))), name)
    text = typed(key, key.literal(rng))
    return "(SELECT %s)" % text if rng.random() < 0.15 else text


def array(rng, key, size=None):
    """An array constant, maybe with NULLs, repetitions, or nothing in it."""
    size = rng.choice((0, 1, 2, 3, 5, 5, 12, 40)) if size is None else size
    if key.type.cross and rng.random() < 0.3:
        name, literal = rng.choice(key.type.cross)
        low, high = key.column.low, key.column.high
        items = [quote(literal(rng.randint(low, high))) for _ in range(size)]
    else:
        name = key.type.cast
        items = [quote(key.literal(rng)) for _ in range(size)]
    if items and rng.random() < 0.3:
        items.append(rng.choice(items))
    if rng.random() < 0.2:
        items.insert(rng.randint(0, len(items)), "NULL")
    return "ARRAY[%s]::%s[]" % (", ".join(items), name)


def arrays_allowed(key):
    return not key.type.declaration.endswith("[]")     # an array of arrays is one array


def one_qual(rng, key):
    """A condition on one key."""
    name, kind = key.expression, rng.random()
    if "bool" in key.type.features and kind < 0.4:
        return rng.choice((name, "NOT %s" % name, "%s IS TRUE" % name))
    if kind < 0.25:
        return "%s = %s" % (name, constant(rng, key))
    if kind < 0.40:
        return "%s %s %s" % (name, rng.choice(OPERATORS), constant(rng, key))
    if kind < 0.55:
        return "%s BETWEEN %s AND %s" % (name, constant(rng, key), constant(rng, key))
    if kind < 0.60:
        return "%s IS NULL" % name
    if kind < 0.65:
        return "%s IS NOT NULL" % name
    if kind < 0.85 and arrays_allowed(key):
        operator = rng.choice(("=", "=", "=", "=", "<", "<=", ">", ">="))
        return "%s %s ANY (%s)" % (name, operator, array(rng, key))
    if kind < 0.95 and "like" in key.type.features:
        prefix = key.literal(rng)[:rng.randint(1, 6)].replace("%", "").replace("_", "")
        return "%s LIKE %s" % (name, quote(prefix + "%"))
    if "pattern" in key.type.features and kind < 0.97:
        return "%s %s %s" % (name, rng.choice(("~<~", "~<=~", "~>=~", "~>~")),
                             typed(key, key.literal(rng)))
    return "%s = NULL::%s" % (name, key.type.cast)


def narrow_qual(rng, key):
    """A condition that usually leaves few rows."""
    kind = rng.random()
    if kind < 0.6 or not arrays_allowed(key):
        return "%s = %s" % (key.expression, constant(rng, key))
    return "%s = ANY (%s)" % (key.expression, array(rng, key, rng.randint(1, 4)))


def quals_of_later_keys(rng, keys):
    """Conditions on keys behind the first one, which has a range or none: scans skip entries."""
    parts = []
    if rng.random() < 0.4:
        first = keys[0]
        parts.append("%s BETWEEN %s AND %s" % (
            first.expression, constant(rng, first), constant(rng, first)))
    for key in rng.sample(keys[1:], rng.randint(1, len(keys) - 1)):
        parts.append(narrow_qual(rng, key) if rng.random() < 0.6 else one_qual(rng, key))
    return parts


def condition(rng, index):
    """A WHERE clause on keys of the index, often on leading ones, sometimes odd combinations."""
    parts = []
    keys = index.keys
    count = rng.choice((1, 1, 2, len(keys)))
    if len(keys) > 1 and rng.random() < 0.2:
        picked = []
        parts = quals_of_later_keys(rng, keys)
    else:
        picked = keys[:count] if rng.random() < 0.7 else rng.sample(keys, min(count, len(keys)))
    for key in picked:
        parts.append(one_qual(rng, key))
        if rng.random() < 0.15:             # redundant or contradictory
            parts.append(one_qual(rng, key))
    if len(keys) > 1 and rng.random() < 0.05:
        first, second = keys[0], keys[1]
        parts.append("(%s, %s) %s (%s, %s)" % (
            first.expression, second.expression, rng.choice(("<", "<=", ">", ">=")),
            typed(first, first.literal(rng)), typed(second, second.literal(rng))))
    if index.predicate and rng.random() < 0.85:
        parts.append(index.predicate)
    return " AND ".join(parts)


def all_columns(table):
    return ", ".join(["id", "pad"] + [c.name for c in table.columns])


def index_columns(index):
    """What an index-only scan can give."""
    names = [key.expression for key in index.keys if not key.is_expression]
    names += [c.name for c in index.include if c.name not in names]
    return ", ".join(names) or "count(*)"


def ordering(rng, index):
    """(ORDER BY list, list of the ordered expressions made comparable)."""
    count = rng.randint(1, len(index.keys))
    reverse = rng.random() < 0.5
    items, shown = [], []
    for key in index.keys[:count]:
        item = key.order(reverse)
        if rng.random() < 0.08:             # an order that the index does not have
            item = key.order(not reverse)
        items.append(item)
        shown.append(key.type.normalised(key.expression))
    return ", ".join(items), shown


def rows_by_condition(rng, table, index):
    where = condition(rng, index)
    columns = all_columns(table) if rng.random() < 0.6 else index_columns(index)
    if rng.random() < 0.3:
        columns = "count(*), sum(id)"
    return Question("SELECT %s FROM @S.t WHERE %s" % (columns, where))


def rows_in_order(rng, table, index):
    where = condition(rng, index)
    order, shown = ordering(rng, index)
    columns = ", ".join(shown)
    if rng.random() < 0.6:
        return Question("SELECT %s FROM @S.t WHERE %s ORDER BY %s LIMIT %d%s" % (
            columns, where, order, rng.choice((1, 1, 10, 200)),
            " OFFSET %d" % rng.choice((1, 50)) if rng.random() < 0.2 else ""), "order")
    return Question("SELECT %s, id FROM @S.t WHERE %s ORDER BY %s" % (
        columns, where, order), "prefix", len(shown))


def everything(rng, index):
    """All rows that the index has, in its order."""
    order, shown = ordering(rng, index)
    where = " WHERE %s" % index.predicate if index.predicate else ""
    return Question("SELECT %s, id FROM @S.t%s ORDER BY %s" % (
        ", ".join(shown), where, order), "prefix", len(shown))


def whole_order(rng, table, index):
    if rng.random() < 0.3:
        return everything(rng, index)
    order, shown = ordering(rng, index)
    where = " WHERE %s" % index.predicate if index.predicate else ""
    return Question("SELECT %s FROM @S.t%s ORDER BY %s LIMIT %d" % (
        ", ".join(shown), where, order, rng.choice((1, 20, 500))), "order")


def extremes(rng, table, index):
    key = rng.choice(index.keys)
    where = condition(rng, index) if rng.random() < 0.4 else "true"
    if "minmax" not in key.type.features or key.opclass:
        return Question("SELECT EXISTS (SELECT 1 FROM @S.t WHERE %s AND %s)" % (
            narrow_qual(rng, key), where))
    shown = key.type.normalised("%s(" + key.expression.replace("%", "%%") + ")")
    return Question("SELECT %s, %s FROM @S.t WHERE %s" % (
        shown % "min", shown % "max", where), "order")


def distinct_keys(rng, table, index):
    key = index.keys[0]
    shown = key.type.normalised(key.expression)
    if rng.random() < 0.5:
        return Question("SELECT DISTINCT %s FROM @S.t WHERE %s" % (
            shown, condition(rng, index)))
    return Question("SELECT %s, count(*), min(id) FROM @S.t WHERE %s GROUP BY %s" % (
        shown, condition(rng, index), shown))


def merge_join(rng, table, index):
    """Duplicates on the outer side make the join go back to a marked position."""
    key = index.keys[0]
    step = max(1, table.next_id // rng.choice((10, 60)))
    return Question(
        "SELECT count(*), sum(a.id), sum(b.id) FROM @S.t a JOIN @S.t b ON %s = %s "
        "WHERE a.id %% %d = 0 AND b.id < %d" % (
            of("a", key), of("b", key), step, rng.randint(1, table.next_id + 1)))


def nested_loop(rng, table, index):
    """Rescans of the inner index scan with keys known only at run time."""
    key = index.keys[0]
    step = max(1, table.next_id // 25)
    if rng.random() < 0.7:
        return Question(
            "SELECT a.id, b.n, b.s FROM @S.t a, LATERAL (SELECT count(*) AS n, sum(id) AS s "
            "FROM @S.t c WHERE %s = %s) b WHERE a.id %% %d = 0" % (
                of("c", key), of("a", key), step))
    return Question(
        "SELECT a.id, (SELECT %s FROM @S.t c WHERE %s >= %s ORDER BY %s USING %s LIMIT 1) "
        "FROM @S.t a WHERE a.id %% %d = 0" % (
            key.type.normalised(of("c", key)), of("c", key), of("a", key), of("c", key),
            "~<~" if key.opclass else "<", step))


def of(alias, key):
    """The key's expression over the columns of one alias."""
    name = key.column.name
    return key.expression.replace(name, "%s.%s" % (alias, name))


def semi_join(rng, table, index):
    key = rng.choice(index.keys)
    return Question(
        "SELECT count(*), sum(id) FROM @S.t a WHERE %sEXISTS (SELECT 1 FROM @S.t b WHERE %s = %s "
        "AND b.id %% 7 = 1) AND a.id %% %d = 0" % (
            rng.choice(("", "NOT ")), of("b", key), of("a", key),
            max(1, table.next_id // 100)))


def union_of_conditions(rng, table, index):
    """OR of conditions, for bitmap scans of several indexes."""
    other = rng.choice(table.indexes)
    return Question("SELECT %s FROM @S.t WHERE (%s) OR (%s)" % (
        rng.choice(("count(*), sum(id)", all_columns(table))),
        condition(rng, index), condition(rng, other)))


def narrow_rows(rng, table, index):
    parts = [narrow_qual(rng, key) for key in index.keys[:rng.randint(1, len(index.keys))]]
    if index.predicate:
        parts.append(index.predicate)
    columns = all_columns(table) if rng.random() < 0.6 else index_columns(index)
    return Question("SELECT %s FROM @S.t WHERE %s" % (columns, " AND ".join(parts)))


QUESTIONS = ((10, rows_by_condition), (10, rows_in_order), (4, whole_order), (4, extremes),
             (2, distinct_keys), (2, merge_join), (2, nested_loop), (2, semi_join),
             (3, union_of_conditions), (10, narrow_rows))


def random_question(rng, table):
    index = rng.choice(table.indexes)
    makers = [maker for weight, maker in QUESTIONS for _ in range(weight)]
    return rng.choice(makers)(rng, table, index)


def cursor_query(rng, table):
    """A query for a scroll cursor, with only ordered, comparable columns."""
    index = rng.choice(table.indexes)
    order, shown = ordering(rng, index)
    where = condition(rng, index) if rng.random() < 0.5 else (index.predicate or "true")
    return "SELECT %s FROM @S.t WHERE %s ORDER BY %s" % (", ".join(shown), where, order)


def random_toggles(rng):
    """Planner settings that keep at least one kind of index scan."""
    def switch(share):
        return "on" if rng.random() < share else "off"
    result = {name: switch(0.6) for name in ("enable_indexscan", "enable_bitmapscan")}
    if "on" not in result.values():
        result[rng.choice(sorted(result))] = "on"
    result["enable_indexonlyscan"] = switch(0.6)
    result["enable_seqscan"] = "off"
    result["enable_sort"] = switch(0.4)
    result["enable_material"] = switch(0.5)
    result["enable_hashagg"] = switch(0.5)
    result["enable_memoize"] = switch(0.5)
    join = rng.choice(("enable_mergejoin", "enable_nestloop", "enable_hashjoin"))
    for name in ("enable_mergejoin", "enable_nestloop", "enable_hashjoin"):
        result[name] = "on" if name == join else switch(0.3)
    result["max_parallel_workers_per_gather"] = rng.choice("0000002")
    result["parallel_leader_participation"] = switch(0.5)
    return result


SEQUENTIAL = {"enable_indexscan": "off", "enable_indexonlyscan": "off",
              "enable_bitmapscan": "off", "enable_seqscan": "on",
              "max_parallel_workers_per_gather": "0"}

# An index scan in the index's order, if there is one.
ORDERED = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off",
           "enable_indexscan": "on", "max_parallel_workers_per_gather": "0"}
