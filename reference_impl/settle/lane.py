"""One lane as it is stored: boundaries, what is consumed, who may be the next head, and whom it takes in.

Nothing here reads or writes; the order itself comes from :mod:`statemachines.lanes`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from reference_impl.settle.model import Event
from statemachines.lanes import Id, Row, members, precedes, replay


class Lane:
    """The Events of one source on one route."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = {event.id: event for event in events}

    # -- order -------------------------------------------------------------------------------------------------

    def precedes(self, a: Event, b: Event) -> bool:
        """The claim guard's comparison."""
        return precedes(a.key, b.key)

    def sequence(self, events: Iterable[Event]) -> list[Id]:
        """The normative order of some Events: reading B (ORDER-022)."""
        return replay(event.key for event in events)

    def between(self, rows: Sequence[Row], boundary: Id | None, head: Id) -> list[Id]:
        """Membership by two comparisons (GEN-005)."""
        return members(rows, boundary, head)

    # -- what has ended ----------------------------------------------------------------------------------------

    def ended(self, event: Event) -> bool:
        """Whether an Event ended a generation."""
        return event.executed

    def boundary(self, head: Event) -> Event | None:
        """The previous executed Event: the last in the replay of those that precede the head (Scope Guard, s3)."""
        before = [e for e in self.events.values() if self.ended(e) and e is not head and self.precedes(e, head)]
        return self.events[self.sequence(before)[-1]] if before else None

    @cached_property
    def consumed(self) -> frozenset[int]:
        """What no later generation may take in (GEN-044 to GEN-047)."""
        return self.find_consumed()

    def find_consumed(self) -> frozenset[int]:
        """Executed rows, and rows whose head has ended."""
        executed = {e.id for e in self.events.values() if self.ended(e)}
        collapsed = {e.id for e in self.events.values() if e.state == "skipped" and not self.ended(e)}
        on_record = {id_ for id_ in collapsed if self.events[id_].served is not None}
        ended = {id_ for id_ in on_record if self.events[id_].served in executed}
        return frozenset(executed | ended | self.admitted(collapsed - on_record, executed))

    def admitted(self, older: set[int], executed: set[int]) -> set[int]:
        """Of rows that an older version collapsed: those that an ended head's own two comparisons take in."""
        found: set[int] = set()
        rows = [self.events[id_].key for id_ in older | executed]
        for id_ in executed if older else ():
            boundary = self.boundary(self.events[id_])
            found |= older & set(self.between(rows, boundary.id if boundary else None, id_))
        return found

    # -- what may come next ------------------------------------------------------------------------------------

    def generation(self, head: Event) -> set[int]:
        """The members if this row were the head now, itself included."""
        boundary = self.boundary(head)
        left = (e for e in self.events.values() if e.id not in self.consumed and e.state != "processing")
        rows = [e.key for e in left if e is not boundary]
        if boundary is None:
            return set(self.between(rows, None, head.id))
        return set(self.between([*rows, boundary.key], boundary.id, head.id))

    @cached_property
    def _collapsed_into(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for event in self.events.values():
            if event.state == "skipped" and event.served is not None and event.id not in self.consumed:
                found[event.served].add(event.id)
        return found

    def eligible(self, head: Event) -> bool:
        """Whether no row that was collapsed into a member would be left behind (GEN-045)."""
        taken = self.generation(head)
        return all(self._collapsed_into[id_] <= taken for id_ in taken)

    def turn(self) -> Event | None:
        """The row whose turn it is: the first in the replay of the unfinished rows; None while one is executed."""
        unfinished = [e for e in self.events.values() if e.state in ("pending", "processing")]
        if not unfinished or any(e.state == "processing" for e in unfinished):
            return None
        return self.events[self.sequence(unfinished)[0]]

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        """The head to claim now, or None: the last eligible row in the replay of the due rows."""
        first = self.turn()
        if first is None or not first.due(now_ms):
            return None
        due = [e for e in self.events.values() if e.due(now_ms)]
        if named is not None:
            due_named = next((e for e in due if e.id == named), None)
            return due_named if due_named is not None and self.eligible(due_named) else None
        if not coalesces:
            return first
        candidates = (self.events[id_] for id_ in reversed(self.sequence(due)))
        return next((event for event in candidates if self.eligible(event)), None)
