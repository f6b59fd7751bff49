"""The leaves of an index, as the functions of pageinspect and of sware tell them."""

import server

# How many entries a leaf has, how full it is, in percent of what it has room for,
# whether it is the first one, and the next one. nbtree counts the high key as an item.
QUERIES = {
    "btree": """
        SELECT blkno, live_items - (btpo_next <> 0)::integer,
            100 - 100.0 * free_size / 8152, btpo_prev = 0, btpo_next
        FROM generate_series(1, pg_relation_size('{index}') / 8192 - 1) block,
            bt_page_stats('{index}', block) WHERE type IN ('l', 'r') AND btpo_level = 0
    """,
    "sware": """
        SELECT blkno, heap_tids, 100 - 100.0 * free_size / 8136, left_link IS NULL,
            right_link
        FROM generate_series(1, pg_relation_size('{index}') / 8192 - 1) block,
            sware_page_stats('{index}', block)
        WHERE kind = 'leaf' AND flags @> '{{deleted}}' IS NOT TRUE
    """,
}


def in_order(connection, subject, index):
    """Of each leaf the block, the number of entries, and how full it is; left to right.

    Entries of the buffer are in none. nbtree's need pageinspect.
    """
    found = {
        block: rest for block, *rest in
        server.query(connection, QUERIES[subject.access_method].format(index=index))
    }
    block = next(block for block, (_, _, is_first, _) in found.items() if is_first)
    leaves = []
    while block in found:
        entries, fill, _, right = found[block]
        leaves.append((block, entries, float(fill)))
        block = right
    if len(leaves) != len(found):
        raise RuntimeError(f"{len(found)} leaves, but {len(leaves)} are linked")
    return leaves
