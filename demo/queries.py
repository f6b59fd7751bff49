"""The queries that must have the same answer on every table."""

from dataclasses import dataclass, field

# What to switch off so that the planner uses one kind of scan.
INDEX_SCAN = ("enable_seqscan", "enable_bitmapscan", "enable_indexonlyscan")
INDEX_ONLY_SCAN = ("enable_seqscan", "enable_bitmapscan")
BITMAP_SCAN = ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan")
MERGE_JOIN = INDEX_SCAN + ("enable_hashjoin", "enable_nestloop", "enable_sort")
NESTED_LOOP = INDEX_SCAN + ("enable_hashjoin", "enable_mergejoin")

PLAN_NODE = {
    INDEX_SCAN: "Index Scan",
    INDEX_ONLY_SCAN: "Index Only Scan",
    BITMAP_SCAN: "Bitmap Index Scan",
    MERGE_JOIN: "Index Scan",
    NESTED_LOOP: "Index Scan",
}


@dataclass
class Query:
    """A query and the plan it is meant to have.

    In the text, {lineitem} is the table. A forward scan of an index returns
    rows of equal keys in the order of their TIDs, so {tid} stands for nothing
    where an index gives the order, and for a further sort column where a sort
    does. Backward scans promise no order among equal keys (nbtree returns the
    members of a posting list in ascending order), so that those queries name
    further columns to sort by.

    "off" lists what the planner may not use; "columns" those whose indexes the
    plan must use, by the kind of node that belongs to "off", in the direction
    given. A query without a total order has "ordered" false. An empty answer
    is a mistake unless "empty" says that it is expected.
    """

    name: str
    sql: str
    off: tuple
    columns: tuple
    backward: bool = False
    ordered: bool = True
    empty: bool = False
    settings: dict = field(default_factory=dict)

    def node(self):
        return PLAN_NODE[self.off]


POINT_QUERIES = [
    Query(
        "the shipments of one day",
        "SELECT l_orderkey, l_linenumber, l_quantity FROM {lineitem} "
        "WHERE l_shipdate = '1995-06-17' ORDER BY 1, 2",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "commitments for one day, by bitmap",
        "SELECT l_orderkey, l_linenumber, l_comment FROM {lineitem} "
        "WHERE l_commitdate = '1996-02-29' ORDER BY 1, 2",
        BITMAP_SCAN, ("l_commitdate",),
    ),
    Query(
        "number of receipts on one day, from the index alone",
        "SELECT count(*) FROM {lineitem} WHERE l_receiptdate = '1993-09-09'",
        INDEX_ONLY_SCAN, ("l_receiptdate",),
    ),
    Query(
        "a day before all others",
        "SELECT l_orderkey FROM {lineitem} WHERE l_shipdate = '1991-01-01'",
        INDEX_SCAN, ("l_shipdate",), empty=True,
    ),
    Query(
        "a day after all others, by bitmap",
        "SELECT l_orderkey FROM {lineitem} WHERE l_receiptdate = '2011-11-11'",
        BITMAP_SCAN, ("l_receiptdate",), empty=True,
    ),
    Query(
        "a date compared with a timestamp",
        "SELECT count(*) FROM {lineitem} "
        "WHERE l_shipdate = timestamp '1995-03-15 00:00'",
        INDEX_ONLY_SCAN, ("l_shipdate",),
    ),
    Query(
        "no date is null",
        "SELECT l_orderkey FROM {lineitem} WHERE l_commitdate IS NULL",
        INDEX_SCAN, ("l_commitdate",), empty=True,
    ),
]

RANGE_QUERIES = [
    Query(
        "number of shipments in a month",
        "SELECT count(*) FROM {lineitem} "
        "WHERE l_shipdate >= '1994-03-01' AND l_shipdate < '1994-04-01'",
        INDEX_ONLY_SCAN, ("l_shipdate",),
    ),
    Query(
        "commitments of a month, by bitmap",
        "SELECT l_shipmode, sum(l_extendedprice) FROM {lineitem} "
        "WHERE l_commitdate BETWEEN '1997-07-01' AND '1997-07-31' "
        "GROUP BY 1 ORDER BY 1",
        BITMAP_SCAN, ("l_commitdate",),
    ),
    Query(
        "the first days of receipt",
        "SELECT l_receiptdate, l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_receiptdate < '1992-01-20' ORDER BY 1, 2, 3",
        INDEX_SCAN, ("l_receiptdate",),
    ),
    Query(
        "the last days of shipment",
        "SELECT l_shipdate, l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_shipdate > '1998-11-24' ORDER BY 1, 2, 3",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "between two days, neither included",
        "SELECT l_receiptdate, count(*) FROM {lineitem} "
        "WHERE l_receiptdate > '1995-12-24' AND l_receiptdate < '1996-01-07' "
        "GROUP BY 1 ORDER BY 1",
        INDEX_ONLY_SCAN, ("l_receiptdate",),
    ),
    Query(
        "a range with nothing in it",
        "SELECT l_orderkey FROM {lineitem} "
        "WHERE l_commitdate > '1996-06-06' AND l_commitdate < '1996-06-06'",
        INDEX_SCAN, ("l_commitdate",), empty=True,
    ),
    Query(
        "the narrower of several bounds",
        "SELECT count(*), sum(l_quantity) FROM {lineitem} "
        "WHERE l_commitdate >= '1995-01-01' AND l_commitdate > '1995-02-10' "
        "AND l_commitdate <= timestamp '1995-02-20 12:00' "
        "AND l_commitdate < '1999-01-01'",
        INDEX_SCAN, ("l_commitdate",),
    ),
    Query(
        "every row",
        "SELECT count(*) FROM {lineitem} WHERE l_shipdate IS NOT NULL",
        INDEX_ONLY_SCAN, ("l_shipdate",),
    ),
    Query(
        "any of three conditions",
        "SELECT l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_shipdate = '1994-01-02' OR l_commitdate = '1995-02-03' "
        "OR l_receiptdate = '1996-03-04' ORDER BY 1, 2",
        BITMAP_SCAN, ("l_shipdate", "l_commitdate", "l_receiptdate"),
    ),
]

ORDER_QUERIES = [
    Query(
        "the first 100 shipments",
        "SELECT l_shipdate, l_orderkey, l_linenumber FROM {lineitem} "
        "ORDER BY l_shipdate{tid} LIMIT 100",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "the last 100 receipts",
        "SELECT l_receiptdate, l_orderkey, l_linenumber FROM {lineitem} "
        "ORDER BY l_receiptdate DESC, l_orderkey, l_linenumber LIMIT 100",
        INDEX_SCAN, ("l_receiptdate",), backward=True,
    ),
    Query(
        "100 commitments from a day on",
        "SELECT l_commitdate, l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_commitdate >= '1994-05-05' ORDER BY l_commitdate{tid} LIMIT 100",
        INDEX_SCAN, ("l_commitdate",),
    ),
    Query(
        "100 commitments before a day, backward",
        "SELECT l_commitdate, l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_commitdate < '1994-05-05' "
        "ORDER BY l_commitdate DESC, l_orderkey, l_linenumber LIMIT 100",
        INDEX_SCAN, ("l_commitdate",), backward=True,
    ),
    Query(
        "100 rows after the first 50,000",
        "SELECT l_receiptdate, l_orderkey, l_linenumber FROM {lineitem} "
        "ORDER BY l_receiptdate{tid} OFFSET 50000 LIMIT 100",
        INDEX_SCAN, ("l_receiptdate",),
    ),
    Query(
        "100 rows before the last 50,000, from the index alone",
        "SELECT l_shipdate FROM {lineitem} "
        "ORDER BY l_shipdate DESC OFFSET 50000 LIMIT 100",
        INDEX_ONLY_SCAN, ("l_shipdate",), backward=True,
    ),
    Query(
        "the index's order is the order",
        "SELECT count(*), count(*) FILTER (WHERE previous > l_commitdate) FROM "
        "(SELECT l_commitdate, lag(l_commitdate) OVER (ORDER BY l_commitdate) "
        "AS previous FROM {lineitem}) AS pairs",
        INDEX_ONLY_SCAN, ("l_commitdate",), settings={"enable_sort": "off"},
    ),
    Query(
        "the index's order, backward, is the order",
        "SELECT count(*), count(*) FILTER (WHERE previous < l_receiptdate) FROM "
        "(SELECT l_receiptdate, lag(l_receiptdate) OVER (ORDER BY l_receiptdate "
        "DESC) AS previous FROM {lineitem}) AS pairs",
        INDEX_ONLY_SCAN, ("l_receiptdate",), backward=True,
        settings={"enable_sort": "off"},
    ),
    Query(
        "smallest and largest ship date",
        "SELECT min(l_shipdate), max(l_shipdate) FROM {lineitem}",
        INDEX_ONLY_SCAN, ("l_shipdate",), backward=True,
    ),
    Query(
        "last day of receipt in a year",
        "SELECT max(l_receiptdate) FROM {lineitem} "
        "WHERE l_receiptdate < '1996-01-01'",
        INDEX_ONLY_SCAN, ("l_receiptdate",), backward=True,
    ),
    Query(
        "number of shipments on every day",
        "SELECT l_shipdate, count(*) FROM {lineitem} GROUP BY 1 ORDER BY 1",
        INDEX_ONLY_SCAN, ("l_shipdate",),
        settings={"enable_sort": "off", "enable_hashagg": "off"},
    ),
]

LIST_QUERIES = [
    Query(
        "a list of days, with repetitions and a day that has none",
        "SELECT l_receiptdate, count(*) FROM {lineitem} WHERE l_receiptdate IN "
        "('1996-05-05', '1993-03-03', '1996-05-05', '2020-02-02', '1992-12-31') "
        "GROUP BY 1 ORDER BY 1",
        INDEX_ONLY_SCAN, ("l_receiptdate",),
    ),
    Query(
        "a list with a null, by bitmap",
        "SELECT l_orderkey, l_linenumber FROM {lineitem} WHERE l_commitdate = "
        "ANY ('{{1997-01-01,NULL,1992-06-06,1995-10-10}}'::date[]) ORDER BY 1, 2",
        BITMAP_SCAN, ("l_commitdate",),
    ),
    Query(
        "a list and a range",
        "SELECT l_shipdate, sum(l_quantity) FROM {lineitem} WHERE l_shipdate IN "
        "('1994-01-10', '1994-01-20', '1994-01-30', '1994-02-10') "
        "AND l_shipdate > '1994-01-15' GROUP BY 1 ORDER BY 1",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "an empty list",
        "SELECT l_orderkey FROM {lineitem} "
        "WHERE l_shipdate = ANY ('{{}}'::date[])",
        INDEX_SCAN, ("l_shipdate",), empty=True,
    ),
]

JOIN_QUERIES = [
    Query(
        "days joined with their commitments",
        "SELECT number, day, count(l_orderkey), sum(l_extendedprice) "
        "FROM days JOIN {lineitem} ON l_commitdate = day "
        "GROUP BY 1, 2 ORDER BY 1",
        NESTED_LOOP, ("l_commitdate",),
    ),
    Query(
        "days merged with their receipts",
        "SELECT number, day, count(l_orderkey), sum(l_quantity) "
        "FROM (SELECT * FROM days ORDER BY day OFFSET 0) AS sorted_days "
        "JOIN {lineitem} ON l_receiptdate = day GROUP BY 1, 2 ORDER BY 1",
        MERGE_JOIN, ("l_receiptdate",),
    ),
    Query(
        "days joined with the shipments of three days",
        "SELECT number, min(l_shipdate), max(l_shipdate), count(*) "
        "FROM days JOIN {lineitem} ON l_shipdate BETWEEN day AND day + 2 "
        "GROUP BY 1 ORDER BY 1",
        NESTED_LOOP, ("l_shipdate",),
    ),
    Query(
        "the last three receipts before some days",
        "SELECT number, last.* FROM days CROSS JOIN LATERAL "
        "(SELECT l_receiptdate, l_orderkey, l_linenumber FROM {lineitem} "
        "WHERE l_receiptdate < day "
        "ORDER BY l_receiptdate DESC, l_orderkey, l_linenumber LIMIT 3) AS last "
        "WHERE number % 5 = 1 ORDER BY number, l_receiptdate, l_orderkey, l_linenumber",
        NESTED_LOOP, ("l_receiptdate",), backward=True,
    ),
    Query(
        "days without a shipment",
        "SELECT number, day FROM days WHERE NOT EXISTS "
        "(SELECT 1 FROM {lineitem} WHERE l_shipdate = day) ORDER BY 1",
        NESTED_LOOP, ("l_shipdate",),
    ),
]

TPCH_QUERIES = [
    Query(
        "like TPC-H Q1: pricing summary",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), "
        "sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)), "
        "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), "
        "avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) "
        "FROM {lineitem} WHERE l_shipdate <= date '1998-12-01' - 90 "
        "GROUP BY 1, 2 ORDER BY 1, 2",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "like TPC-H Q3: unshipped orders",
        "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, "
        "o_orderdate FROM orders JOIN {lineitem} ON l_orderkey = o_orderkey "
        "WHERE o_orderdate < '1995-03-15' AND l_shipdate > '1995-03-15' "
        "GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, 1 LIMIT 10",
        BITMAP_SCAN, ("l_shipdate",),
    ),
    Query(
        "like TPC-H Q6: revenue of a discount",
        "SELECT sum(l_extendedprice * l_discount) FROM {lineitem} "
        "WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' "
        "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "like TPC-H Q12: ship modes and priorities",
        "SELECT l_shipmode, count(*) FILTER (WHERE o_orderpriority IN "
        "('1-URGENT', '2-HIGH')), count(*) FROM orders "
        "JOIN {lineitem} ON l_orderkey = o_orderkey "
        "WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate "
        "AND l_shipdate < l_commitdate AND l_receiptdate >= '1994-01-01' "
        "AND l_receiptdate < '1995-01-01' GROUP BY 1 ORDER BY 1",
        BITMAP_SCAN, ("l_receiptdate",),
    ),
    Query(
        "like TPC-H Q14: promotion effect",
        "SELECT 100 * sum(l_extendedprice * (1 - l_discount)) "
        "FILTER (WHERE p_type LIKE 'PROMO%') "
        "/ sum(l_extendedprice * (1 - l_discount)) "
        "FROM {lineitem} JOIN part ON l_partkey = p_partkey "
        "WHERE l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01'",
        INDEX_SCAN, ("l_shipdate",),
    ),
    Query(
        "like TPC-H Q15: top supplier",
        "SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS revenue "
        "FROM {lineitem} WHERE l_shipdate >= '1996-01-01' "
        "AND l_shipdate < '1996-04-01' "
        "GROUP BY 1 ORDER BY revenue DESC, 1 LIMIT 5",
        INDEX_SCAN, ("l_shipdate",),
    ),
]

QUERIES = (
    POINT_QUERIES + RANGE_QUERIES + ORDER_QUERIES + LIST_QUERIES
    + JOIN_QUERIES + TPCH_QUERIES
)
