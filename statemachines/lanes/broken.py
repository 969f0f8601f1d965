"""The edges that a sequence breaks, and the cycle that excuses each of them."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from statemachines.lanes.rows import Id, LaneError, Row, in_ingress_order, ordinal_key, precedes


def broken_edges(rows: Iterable[Row], sequence: Sequence[Id]) -> Iterator[tuple[Id, Id]]:
    """The edges (a, b), a before b by the guard, that `sequence` reverses; in the order in which the a leave.

    `sequence` must be one that `verdict` accepts; then both rows of a broken edge are stamped, and the
    search is done among the ordinal keys that are out. It costs O(n log n) and a step for each edge, of
    which there can be a quadratic number: stop when you have enough.
    """
    by_id = {row.id: row for row in rows}
    out: list[tuple[tuple[Any, ...], Id]] = []  # the stamped rows that are out, by ordinal key
    for id_ in sequence:
        row = by_id[id_]
        if row.ordinal:
            key = ordinal_key(row)
            for _, early in out[bisect_right(out, key, key=itemgetter(0)) :]:
                yield id_, early
            insort(out, (key, id_), key=itemgetter(0))


def shortest_cycle(rows: Iterable[Row], a: Id, b: Id) -> list[Id]:
    """A shortest cycle that begins with the edge a -> b, as ids; for small lanes (it may look at every edge).

    Raises `LaneError` where the two lie on no common cycle.
    """
    unseen = in_ingress_order(rows)
    by_id = {row.id: row for row in unseen}
    goal, came_from = by_id[a], {b: a}
    frontier = [by_id[b]]
    unseen.remove(by_id[b])
    while frontier:
        following: list[Row] = []
        for row in frontier:
            reached = [x for x in unseen if precedes(row, x)]
            came_from.update((x.id, row.id) for x in reached)
            if goal in reached:
                return _walk_back(came_from, a, b)
            unseen = [x for x in unseen if not precedes(row, x)]
            following += reached
        frontier = following
    raise LaneError(f"rows {a!r} and {b!r} lie on no common cycle")


def _walk_back(came_from: dict[Id, Id], a: Id, b: Id) -> list[Id]:
    path, at = [], came_from[a]
    while at != b:
        path.append(at)
        at = came_from[at]
    return [a, b, *reversed(path)]
