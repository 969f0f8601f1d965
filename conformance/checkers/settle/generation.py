"""The generation of each Flow input: boundary, members that must or may be there, and whose fault a wrong one is.

Membership is two comparisons (GEN-005) over what no ended generation has consumed; what was consumed is taken from the
inputs that ended heads had read, never from what the implementation records. Judged are lanes of settled routes whose
executed rows form no cycle (ambiguity 'Previous executed Event on a cycle').
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.checkers.settle.index import Attempt, Index, ids_of
from conformance.checkers.settle.stored import Lane, Stored
from conformance.checkers.timeline import Command
from statemachines.lanes import has_cycle, ingress_key, precedes, replay


def before(a: Stored, b: Stored) -> bool:
    """Whether a precedes b by the guard."""
    return precedes(a.key, b.key)


@dataclass(frozen=True, slots=True)
class Case:
    """One input that was read.

    ``rows`` are all rows of the lane at the reading, ``must`` and ``may`` the members by Id, ``consumed`` maps a row to
    the heads that consumed it before this claim.
    """

    attempt: Attempt
    read: Command
    lane: Lane
    rows: dict[int, Stored]
    head: Stored
    boundary: Stored | None
    taken: tuple[int, ...]
    must: frozenset[int]
    may: frozenset[int]
    consumed: dict[int, list[int]]
    first: Attempt

    @property
    def cyclic(self) -> bool:
        """Whether the rows of the lane form a cycle."""
        return has_cycle(e.key for e in self.rows.values())

    def admits(self, x: Stored) -> bool:
        """Whether the two comparisons take a row in."""
        if x.id == self.head.id:
            return True
        return before(x, self.head) and (self.boundary is None or before(self.boundary, x))


def cases(index: Index) -> list[Case]:
    """The inputs that can be judged, in order; computed once for each index."""
    found = _CASES.get(id(index))
    if found is None or found[0] is not index:
        _CASES.clear()
        found = _CASES[id(index)] = (index, list(_cases(index)))
    return found[1]


#: The cases of the index that was asked last: the checkers of one history come one after the other.
_CASES: dict[int, tuple[Index, list[Case]]] = {}


def _cases(index: Index) -> Iterator[Case]:
    for attempt in index.attempts:
        lane = index.lane_of(attempt.head)
        if lane is None or not index.settled(lane) or _blind_at(index, lane, attempt):
            continue
        at_claim = index.result_view(attempt.claim)
        for read in attempt.reads:
            rows = {e.id: e for e in index.result_view(read).lane(lane)}
            head = rows.get(attempt.head)
            executed = [e for e in at_claim.lane(lane) if e.executed]
            if head is None or has_cycle(e.key for e in executed):
                continue
            yield _case(index, attempt, read, lane, rows, head, executed)


def _case(
    index: Index,
    attempt: Attempt,
    read: Command,
    lane: Lane,
    rows: dict[int, Stored],
    head: Stored,
    executed: list[Stored],
) -> Case:
    earlier = {e.id: e for e in executed if e.id != head.id and before(e, head)}
    boundary = earlier[replay(e.key for e in earlier.values())[-1]] if earlier else None
    consumed = {
        id_: heads
        for id_ in rows
        if (heads := [h for h in index.consumed_by.get(id_, ()) if index.ends[h][0] <= attempt.claim.until])
    }
    for event in executed:
        if event.id in rows:  # a row that has vanished since is not asked about here
            consumed.setdefault(event.id, [event.id])
    first = index.of_head[head.id][0]
    seen = {e.id: e for e in index.before(first.claim.seq).lane(lane)}
    running = any(e.state == "processing" and e.id != head.id for e in rows.values())
    members = set()
    for x in rows.values():
        inside = before(x, head) and (boundary is None or before(boundary, x))
        if x.id == head.id or (inside and x.id not in consumed and x.state != "processing"):
            members.add(x.id)
    must = {id_ for id_ in members if id_ == head.id or (id_ in seen and not (running and rows[id_].collapsed))}
    return Case(
        attempt,
        read,
        lane,
        rows,
        head,
        boundary,
        tuple(ids_of(read)),
        frozenset(must),
        frozenset(members),
        consumed,
        first,
    )


def _blind_at(index: Index, lane: Lane, attempt: Attempt) -> bool:
    """Whether a head of the lane ended before this claim without an input that was seen."""
    if lane not in index.blind:
        return False
    for head, (seq, _) in index.ends.items():
        ended = index.consumer(head)
        unseen = head not in index.born_ended and (ended is None or not ended.reads)
        if unseen and index.lane_of(head) == lane and seq <= attempt.claim.until:
            return True
    return False


# -- whose fault ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wrong:
    """A row that is missing from an input or too much in it, and the requirement that speaks of such a row."""

    requirement: str
    case: Case
    row: Stored
    missing: bool


def wrongs(index: Index, requirement: str) -> Iterator[Wrong]:
    """The wrong rows that one requirement speaks of."""
    for case in cases(index):
        for id_ in sorted(set(case.taken) - case.may):
            row = case.rows.get(id_)
            if row is not None and blame_extra(index, case, row) == requirement:
                yield Wrong(requirement, case, row, False)
        for id_ in sorted(case.must - set(case.taken)):
            if blame_missing(index, case, case.rows[id_]) == requirement:
                yield Wrong(requirement, case, case.rows[id_], True)


def by_keys(case: Case, x: Stored) -> str:
    """Which rule of comparison a row was judged against: one key for all, a tie in it, a zero row, or two keys."""
    stamped = [bool(e.ordinal) for e in (x, case.head)]
    if case.boundary is not None:
        upper, lower = all(stamped), bool(x.ordinal and case.boundary.ordinal)
        if upper != lower:
            return "GEN-005"
    if not all(stamped):
        return "GEN-004"
    ends = (case.head, case.boundary)
    return "GEN-043" if any(e is not None and e.ordinal == x.ordinal for e in ends) else "GEN-003"


def blame_extra(index: Index, case: Case, x: Stored) -> str:
    """The requirement that keeps this row out."""
    heads = case.consumed.get(x.id, [])
    if heads:
        return _blame_consumed(index, case, x, case.rows.get(heads[-1], x))
    boundary = case.boundary
    # What this claim collapsed was no row of an earlier generation: asked is how an older version left it.
    older = x.id in index.loaded and index.births[x.id].event.collapsed
    if boundary is not None and older and before(x, boundary):
        return "GEN-041" if boundary.state == "skipped" else "GEN-029"
    if before(case.head, x):
        if index.births[x.id].seq > case.first.claim.seq:
            return "GEN-030"
        if x.ordinal and not case.head.ordinal:
            return "GEN-042"
        if x.ordinal and x.ordinal == case.head.ordinal:
            return "GEN-043"
    return by_keys(case, x)


def _blame_consumed(index: Index, case: Case, x: Stored, ended: Stored) -> str:
    fresh = index.last.events.get(ended.raw["replayed_by"] or 0)
    if fresh is not None and fresh.id in case.rows:
        if any(a.number < case.attempt.number and a.finishes for a in index.of_head.get(fresh.id, ())):
            return "GEN-037"
        return "GEN-021" if ended.state == "dead" else "GEN-022"
    if before(case.head, ended):
        return "GEN-044" if case.cyclic else "GEN-046"
    if case.cyclic and case.admits(x):
        return "GEN-044"
    if x.raw["delivery"] == case.head.raw["delivery"]:
        return "GEN-025"
    if ended.state == "dead":
        return "GEN-007"
    if ended.state == "skipped":
        return "GEN-041" if ended.id in index.born_ended else "GEN-039"
    return "GEN-029"


def marks(row: Stored) -> str | None:
    """The requirement about a collapsed row of an older version with these marks."""
    if not row.collapsed:
        return None
    if row.token is not None:
        return "GEN-010"
    return "GEN-012" if row.error is not None else "GEN-011"


def blame_missing(index: Index, case: Case, x: Stored) -> str:
    """The requirement that wants this row."""
    head = case.head
    if x.id == head.id:
        return "GEN-028" if case.boundary is not None else "GEN-032"
    known = index.before(case.attempt.claim.seq).events.get(x.id, x)
    late = any(e.executed and before(head, e) and before(x, e) for e in case.rows.values())
    if known.collapsed and late:
        return "GEN-047"
    if any(x.id in (a.input or ()) for a in index.of_head[head.id] if a.number < case.attempt.number):
        return "GEN-014"
    marked = _marked(index, case, x)
    if marked is not None:
        return "GEN-032" if opens_the_lane(index, case, x) else marked
    contradicted = x.id in index.loaded and contradictory(case, x)
    if not contradicted and foreign_between(index, case, x):
        return "GEN-033"
    if known.collapsed:
        return "GEN-028"
    seq = case.attempt.claim.seq
    failed = [e for e in index.before(seq).lane(case.lane) if e.open and index.tried(e, seq)]
    if any(e.id == x.id or before(x, e) for e in failed):
        return "GEN-034"
    if x.id not in index.loaded:
        return "GEN-026" if x.raw["delivery"] != head.raw["delivery"] else "GEN-028"
    return by_keys(case, x)


def _marked(index: Index, case: Case, x: Stored) -> str | None:
    older = [e for e in case.rows.values() if e.id in index.loaded and index.births[e.id].event.collapsed]
    for row in sorted(older, key=lambda e: e.id != x.id):
        born = index.births[row.id].event
        if row.id == x.id or (before(x, row) and before(row, case.head)):
            return marks(born)
    return None


def opens_the_lane(index: Index, case: Case, x: Stored) -> bool:
    """Whether a row is an older skip, first in a lane without a boundary, and a lane with one takes in a row like it.

    Then its marks are read rightly, and if it is missing, it is the generation without a lower bound that is wrong.
    """
    mark = marks(index.births[x.id].event)
    if mark is None or x.id not in index.loaded or case.boundary is not None:
        return False
    if any(before(case.rows[id_], x) for id_ in case.must):
        return False
    return any(
        id_ in other.taken and id_ in index.loaded and marks(index.births[id_].event) == mark
        for other in cases(index)
        if other.boundary is not None
        for id_ in other.must
    )


def foreign_between(index: Index, case: Case, x: Stored) -> list[Stored]:
    """Executed rows of other lanes that stand between a row and the head by their keys."""
    view = index.before(case.attempt.claim.seq)
    return [
        e
        for lane, events in view.lanes.items()
        if lane != case.lane
        for e in events
        if e.executed and before(x, e) and before(e, case.head)
    ]


def inverted(a: Stored, b: Stored) -> bool:
    """Whether two stamped rows stand in ingress order other than by ordinal."""
    return bool(a.ordinal and b.ordinal) and before(a, b) != (ingress_key(a.key) < ingress_key(b.key))


def contradictory(case: Case, x: Stored) -> bool:
    """Whether the keys of a row contradict each other against head or boundary, or one of the three has no ordinal."""
    ends = [case.head, *([case.boundary] if case.boundary is not None else [])]
    return any(not e.ordinal for e in (x, *ends)) or any(inverted(x, e) for e in ends)
