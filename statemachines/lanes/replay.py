"""The sequence in which a lane's rows reach the Flow, under each reading of "only that cycle is broken".

All readings keep every edge of an acyclic lane and differ only in the order of stamped rows between the
same two zero rows. B is normative (ORDER-022): release a row that nothing left precedes; where there is
none, release the one with the smallest ingress key; look again.

Source: source-settle, Scope Guard, sentences 5 and 6 (ORDER-009 to ORDER-024).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from statemachines.lanes.components import components
from statemachines.lanes.rows import Id, Row, in_ingress_order, ordinal_key


def replay(rows: Iterable[Row]) -> list[Id]:
    """The normative sequence (reading B), as ids, in O(n log n) time and linear memory.

    A zero row leaves when all that arrived before it has left, so zero rows keep ingress order and every
    stamped row leaves between its two zero rows, in its gap. The *floor* of a gap is the smallest ordinal
    key of all later gaps. A row below the floor is preceded by nothing but smaller ordinals: those leave
    first, by ordinal. The others are all preceded by the row on the floor, which itself has to wait for the
    next zero row: a cycle, so they leave by ingress.

    Raises `LaneError` for duplicate ids and for ids or dates that cannot be compared.
    """
    backwards: list[Id] = []
    gap: list[Row] = []
    floor: tuple[Any, ...] = (math.inf,)  # the last gap has no later one
    for row in reversed(in_ingress_order(rows)):
        if row.ordinal:
            gap.append(row)
            continue
        if gap:
            floor = _leave(gap, floor, backwards)
            gap.clear()
        backwards.append(row.id)
    _leave(gap, floor, backwards)
    backwards.reverse()
    return backwards


def _leave(gap: list[Row], floor: tuple[Any, ...], backwards: list[Id]) -> tuple[Any, ...]:
    """Append one gap's rows, latest first, to the reversed sequence; return the floor of the gap before."""
    free = [row for row in gap if ordinal_key(row) < floor]
    if len(free) < len(gap):
        backwards += [row.id for row in gap if ordinal_key(row) > floor]
    if not free:
        return floor
    free.sort(key=ordinal_key, reverse=True)
    backwards += [row.id for row in free]
    return ordinal_key(free[-1])


def replay_by_component(rows: Iterable[Row]) -> list[Id]:
    """Reading A: components in their order, each one sorted by ingress key as a whole."""
    rows = list(rows)
    place = {row.id: i for i, row in enumerate(in_ingress_order(rows))}
    return [id_ for component in components(rows) for id_ in sorted(component, key=place.__getitem__)]


def replay_by_gap(rows: Iterable[Row]) -> list[Id]:
    """Reading D: only a pair that sits on a three-row cycle falls back to ingress; no other edge is given up.

    Such a pair has a zero row between, so the rows of one gap always keep their ordinals.
    """
    sequence: list[Id] = []
    gap: list[Row] = []
    for row in in_ingress_order(rows):
        if row.ordinal:
            gap.append(row)
            continue
        sequence += [stamped.id for stamped in sorted(gap, key=ordinal_key)]
        sequence.append(row.id)
        gap.clear()
    return sequence + [stamped.id for stamped in sorted(gap, key=ordinal_key)]


READINGS: Mapping[str, Callable[[Iterable[Row]], list[Id]]] = MappingProxyType(
    {"A": replay_by_component, "B": replay, "D": replay_by_gap}
)
"""The readings that an implementation may declare, by their letter in `spec/interpretations`."""
