"""Cycles of a lane, without building a single edge.

The relation is a tournament, so its strongly connected components form a chain; a component of more than
one row is what the source calls a true cycle. Every edge that touches a zero row is an ingress edge, hence
a stamped row is described completely by its ordinal key and by its *gap*: the number of zero rows that
arrived before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter

from statemachines.lanes.rows import Id, Row, in_ingress_order, ordinal_key


def has_cycle(rows: Iterable[Row]) -> bool:
    """Whether the lane has a cycle: whether some gap holds a smaller ordinal key than an earlier gap.

    Then the later row p precedes the earlier row q by ordinal, q a zero row between them, and that one p.
    """
    largest_before: tuple[object, ...] | None = None  # over the gaps that are closed
    largest: tuple[object, ...] | None = None  # with the gap that is open
    for row in in_ingress_order(rows):
        if not row.ordinal:
            largest_before = largest
            continue
        key = ordinal_key(row)
        if largest_before is not None and key < largest_before:
            return True
        if largest is None or key > largest:
            largest = key
    return False


def components(rows: Iterable[Row]) -> list[list[Id]]:
    """The strongly connected components in the order that the guard gives them; ids ascend inside each.

    A set that holds the predecessors of all its rows is made of the first k stamped rows by ordinal and the
    first j zero rows by ingress, with max gap of the k <= j <= min gap of the other stamped rows. Those
    sets form a chain, and the components are the steps of the chain (ORDER-015).
    """
    zeros, stamped, gaps = _by_gap(in_ingress_order(rows))
    by_ordinal = _ordinal_order(stamped)
    gap_of = [gaps[i] for i in by_ordinal]
    lowest_after = [*accumulate(reversed(gap_of), min, initial=len(zeros))]
    lowest_after.reverse()  # lowest_after[k]: min gap of the stamped rows from number k on

    chain: list[list[Id]] = []
    begun = taken = 0  # stamped rows and zero rows that already stand in the chain
    highest = 0  # max gap of the stamped rows up to here
    for k, lowest in enumerate(lowest_after):
        if k:
            highest = max(highest, gap_of[k - 1])
        if highest > lowest:
            continue  # a stamped row from here on precedes, through a zero row, one that is in already
        if k > begun:
            step = [stamped[i].id for i in by_ordinal[begun:k]]
            step += [zero.id for zero in zeros[taken:highest]]
            step.sort()
            chain.append(step)
        chain += [[zero.id] for zero in zeros[highest:lowest]]
        begun, taken = k, lowest
    return chain


def _by_gap(lane: list[Row]) -> tuple[list[Row], list[Row], list[int]]:
    """The zero rows, the stamped rows, and the gap of each stamped row; all in ingress order."""
    zeros: list[Row] = []
    stamped: list[Row] = []
    gaps: list[int] = []
    for row in lane:
        if row.ordinal:
            stamped.append(row)
            gaps.append(len(zeros))
        else:
            zeros.append(row)
    return zeros, stamped, gaps


def _ordinal_order(stamped: list[Row]) -> list[int]:
    """The places of `stamped` by ordinal key; stable sorts by one attribute each, as for ingress."""
    places = list(range(len(stamped)))
    for part in ("id", "ordinal"):
        column = list(map(attrgetter(part), stamped))
        places.sort(key=column.__getitem__)
    return places
