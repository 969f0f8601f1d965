"""A judge of sequences that accepts every legitimate reading and nothing else.

Two axioms follow from the source without any algorithm (`docs/lane-order.md`):

containment  two rows that lie on no common cycle keep their guard order (ORDER-015);
unanimity    inside a cycle, a pair on which guard and ingress agree keeps that order (ORDER-016).

Together: whatever edge a sequence reverses joins two rows of one component and is reversed towards ingress.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from statemachines.lanes.components import components
from statemachines.lanes.replay import READINGS
from statemachines.lanes.rows import Id, LaneError, Row, in_ingress_order, ordinal_key, precedes


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok`, a `reason` for people, and the `pair` (a, b) that decided: a had to come out before b."""

    ok: bool
    reason: str
    pair: tuple[Id, Id] | None = None


def verdict(rows: Iterable[Row], sequence: Sequence[Id], reading: str | None = None) -> Verdict:
    """Judge `sequence`, the ids of one payload in the order in which they came out, in O(n log n).

    `rows` are the rows of that payload (not of the lane around it). With `reading` ("A", "B" or "D") the
    sequence must also be equal to that reading's. Raises `LaneError` for bad rows or an unknown reading.
    """
    if reading is not None and reading not in READINGS:
        raise LaneError(f"there is no reading {reading!r}; known are {', '.join(READINGS)}")
    lane = in_ingress_order(rows)
    by_id = {row.id: row for row in lane}
    problem = _permutation(by_id, sequence)
    if problem is None:
        came_out = [by_id[i] for i in sequence]
        problem = _containment(lane, came_out) or _zero_rows(lane, came_out) or _unanimity(lane, came_out)
    if problem is None and reading is not None:
        problem = _equality(lane, sequence, reading)
    return problem or Verdict(True, "every edge is kept, or lies on a cycle and is broken towards ingress")


def why(a: Row, b: Row) -> str:
    """What puts `a` before `b`, in a few words."""
    if a.ordinal and b.ordinal:
        if a.ordinal != b.ordinal:
            return f"ordinal {a.ordinal} before {b.ordinal}"
        return f"equal ordinals {a.ordinal}, id {a.id} before {b.id}"
    if a.created != b.created:
        rule = "earlier date"
    elif a.sequence != b.sequence:
        rule = f"same date, delivery sequence {a.sequence} before {b.sequence}"
    else:
        rule = f"same date and delivery sequence, id {a.id} before {b.id}"
    if not a.ordinal and not b.ordinal:
        return f"{rule}; neither has an ordinal"
    return f"{rule}; row {b.id if a.ordinal else a.id} has no ordinal"


def _permutation(by_id: dict[Id, Row], sequence: Sequence[Id]) -> Verdict | None:
    seen: set[Id] = set()
    for place, id_ in enumerate(sequence, 1):
        if not _known(by_id, id_):
            return Verdict(False, f"place {place} holds {id_!r}, which is no row of the payload")
        if id_ in seen:
            return Verdict(False, f"row {id_} comes out a second time at place {place}")
        seen.add(id_)
    missing = [id_ for id_ in by_id if id_ not in seen]
    if not missing:
        return None
    rest = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return Verdict(False, f"row {missing[0]}{rest} never came out; a cycle is no reason to drop rows")


def _known(by_id: dict[Id, Row], id_: Id) -> bool:
    try:
        return id_ in by_id
    except TypeError:  # a list, say: no id
        return False


def _containment(lane: list[Row], came_out: list[Row]) -> Verdict | None:
    component = {id_: k for k, ids in enumerate(components(lane)) for id_ in ids}
    for early, late in pairwise(came_out):
        if component[late.id] < component[early.id]:
            return _reversed(late, early, "the two lie on no common cycle")
    return None


def _zero_rows(lane: list[Row], came_out: list[Row]) -> Verdict | None:
    """An edge that touches a zero row is an ingress edge, so no cycle justifies reversing it."""
    agree = "guard and ingress agree on it, so the cycle is no excuse"
    zeros = [row for row in lane if not row.ordinal]
    gap = 0  # zero rows that are out
    for row in came_out:
        if gap < len(zeros) and row is zeros[gap]:
            gap += 1
        elif gap < len(zeros) and precedes(zeros[gap], row):
            return _reversed(zeros[gap], row, agree)
        elif gap and precedes(row, zeros[gap - 1]):
            return _reversed(row, zeros[gap - 1], agree)
    return None


def _unanimity(lane: list[Row], came_out: list[Row]) -> Verdict | None:
    """Between two zero rows, no stamped pair may be reversed under both keys."""
    place = {row.id: i for i, row in enumerate(lane)}
    gap: list[Row] = []
    for row in [*came_out, None]:
        if row is not None and row.ordinal:
            gap.append(row)
            continue
        places = [place[stamped.id] for stamped in gap]
        found = _reversed_under_both(gap, places)
        if found is not None:
            late, early = gap[found], lane[_latest_above(gap, places, found)]
            return _reversed(late, early, "it also arrived earlier, so nothing justifies the reversal")
        gap.clear()
    return None


def _reversed_under_both(gap: list[Row], places: list[int]) -> int | None:
    """The first index whose row has a smaller ordinal key and place than some row before it in `gap`.

    A Fenwick tree over the ordinals, largest first, holds the largest place seen so far.
    """
    size = len(gap)
    if all(a < b for a, b in pairwise(places)):
        return None  # ingress order reverses nothing towards the wrong side
    rank = [0] * size
    for r, i in enumerate(sorted(range(size), key=lambda i: ordinal_key(gap[i]), reverse=True), 1):
        rank[i] = r
    tree = [-1] * (size + 1)
    for i, (r, mine) in enumerate(zip(rank, places, strict=True)):
        node = r
        while node:
            if tree[node] > mine:
                return i
            node &= node - 1
        node = r
        while node <= size:
            tree[node] = max(tree[node], mine)
            node += node & -node
    return None


def _latest_above(gap: list[Row], places: list[int], found: int) -> int:
    """The largest place among the rows before index `found` whose ordinal key is larger."""
    return max(p for row, p in zip(gap[:found], places, strict=False) if precedes(gap[found], row))


def _equality(lane: list[Row], sequence: Sequence[Id], reading: str) -> Verdict | None:
    for place, (got, due) in enumerate(zip(sequence, READINGS[reading](lane), strict=True), 1):
        if got != due:
            return Verdict(
                False,
                f"reading {reading} was declared and puts row {due} at place {place}, not row {got}",
                (due, got),
            )
    return None


def _reversed(a: Row, b: Row, excuse: str) -> Verdict:
    return Verdict(
        False,
        f"row {b.id} came out before row {a.id}, but {a.id} precedes {b.id} ({why(a, b)}) and {excuse}",
        (a.id, b.id),
    )
