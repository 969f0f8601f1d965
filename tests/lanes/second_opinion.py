"""A second algorithm for components and replay, built on other facts than the production one.

Neither uses gaps, floors, or the chain of predecessor-closed sets.
"""

from __future__ import annotations

from typing import Any

from statemachines.lanes import Row, ingress_key, ordinal_key, precedes


def in_degree_components(rows: list[Row]) -> list[list[Any]]:
    """Landau's test on the in-degrees of a tournament.

    The k rows with the smallest in-degrees hold all their predecessors exactly if those in-degrees add up to
    k(k-1)/2: then every edge that ends among them also begins there.
    """
    in_degree = {row.id: sum(precedes(other, row) for other in rows if other is not row) for row in rows}
    components: list[list[Any]] = []
    open_: list[Any] = []
    total = 0
    for k, id_ in enumerate(sorted(in_degree, key=lambda i: (in_degree[i], i)), 1):
        open_.append(id_)
        total += in_degree[id_]
        if total == k * (k - 1) // 2:
            components.append(sorted(open_))
            open_ = []
    return components


def two_finger_replay(rows: list[Row]) -> list[Any]:
    """Reading B with two sorted lists: the smallest ordinal left, and the earliest arrival left.

    The row with the smallest ordinal key leaves if it precedes the earliest zero row left, for then it
    precedes everything. Otherwise the earliest arrival leaves: a zero row that nothing precedes, or the
    break of a cycle.
    """
    by_ordinal = sorted((row for row in rows if row.ordinal), key=ordinal_key)
    by_arrival = sorted(rows, key=ingress_key)
    zeros = [row for row in by_arrival if not row.ordinal]
    gone: set[Any] = set()

    def first(queue: list[Row]) -> Row | None:
        while queue and queue[0].id in gone:
            queue.pop(0)
        return queue[0] if queue else None

    sequence = []
    while len(gone) < len(rows):
        stamped, zero, earliest = first(by_ordinal), first(zeros), first(by_arrival)
        leaves = earliest
        if stamped is not None and (zero is None or precedes(stamped, zero)):
            leaves = stamped
        assert leaves is not None
        gone.add(leaves.id)
        sequence.append(leaves.id)
    return sequence
