"""Legal variants of the settle lanes: heads, turns, members and orders where the source leaves a choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.planting import HOST, Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.flow import Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE
from reference_impl.settle.model import EVENT_SQL, Event, Held
from reference_impl.settle.runtime import Lanes
from reference_impl.store import Transaction
from statemachines.lanes import READINGS, Id, Row, components, has_cycle, ingress_key

LANES = Collection("settle-lanes")

_BREAK = "Cycle broken by the ingress key"


# -- orders ------------------------------------------------------------------------------------------------------------


class _ByComponent(Lane):
    def sequence(self, events: Iterable[Event]) -> list[Id]:
        return READINGS["A"](event.key for event in events)


class _ByGap(Lane):
    def sequence(self, events: Iterable[Event]) -> list[Id]:
        return READINGS["D"](event.key for event in events)


class _FromTheEnd(Lane):
    def sequence(self, events: Iterable[Event]) -> list[Id]:
        return mirrored([event.key for event in events])


def mirrored(rows: list[Row]) -> list[Id]:
    """The mirror of the normative reading: the row with the largest ingress key of the last component goes last."""
    backwards: list[Id] = []
    left = {row.id: row for row in rows}
    while left:
        last = components(left.values())[-1]
        chosen = max((left[id_] for id_ in last), key=ingress_key)
        backwards.append(chosen.id)
        del left[chosen.id]
    return backwards[::-1]


@LANES.plant(
    "breaks-by-component",
    names=f"{_BREAK}/component-by-ingress",
    part="reader",
    readings={_BREAK: "component-by-ingress"},
)
class BreaksByComponent(Reader):
    """Sorts each component of an input by ingress key as a whole."""

    lane_class = _ByComponent


@LANES.plant(
    "breaks-by-gap", names=f"{_BREAK}/three-row-cycles-only", part="reader", readings={_BREAK: "three-row-cycles-only"}
)
class BreaksByGap(Reader):
    """Gives up only pairs that sit on a cycle of three rows."""

    lane_class = _ByGap


@LANES.plant(
    "breaks-from-the-end",
    names=f"{_BREAK}/any-reversal-towards-ingress",
    part="reader",
    readings={_BREAK: "any-reversal-towards-ingress"},
)
class BreaksFromTheEnd(Reader):
    """Breaks a cycle at its latest arrival, which goes last."""

    lane_class = _FromTheEnd


# -- heads and turns ---------------------------------------------------------------------------------------------------


def _claimer(id_: str, names: str, lane: type[Lane]) -> None:
    made = type(lane.__name__.strip("_"), (Claimer,), {"lane_class": lane, "__doc__": lane.__doc__})
    LANES.plant(id_, names=names, part="claimer")(made)


class _AnotherHeadOnACycle(Lane):
    """Where the due rows lie on a cycle, selects the first eligible one of their replay."""

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        head = super().select(now_ms, coalesces, named)
        due = [e for e in self.events.values() if e.due(now_ms)]
        if head is None or named is not None or not coalesces or not has_cycle(e.key for e in due):
            return head
        return next((self.events[i] for i in self.sequence(due) if self.eligible(self.events[i])), None)


class _TurnByArrival(Lane):
    """Gives the turn to the unfinished row with the smallest ingress key."""

    def turn(self) -> Event | None:
        unfinished = [e for e in self.events.values() if e.state in ("pending", "processing")]
        if not unfinished or any(e.state == "processing" for e in unfinished):
            return None
        return min(unfinished, key=lambda e: ingress_key(e.key))


class _BackoffHoldsNothing(Lane):
    """Lets a later due row be selected while a failed one waits for its backoff, and takes the waiting one in."""

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        first = self.turn()
        if first is None or first.due(now_ms) or not first.attempts or not coalesces:
            return super().select(now_ms, coalesces, named)
        due = [e for e in self.events.values() if e.due(now_ms) and named in (None, e.id)]
        candidates = (self.events[id_] for id_ in reversed(self.sequence(due)))
        return next((event for event in candidates if self.eligible(event)), None)


class _LateRowHoldsNothing(Lane):
    """Lets due rows go ahead of a late predecessor that has a window of its own, and takes it in."""

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        first = self.turn()
        if first is None or first.due(now_ms) or first.attempts or not coalesces:
            return super().select(now_ms, coalesces, named)
        due = [e for e in self.events.values() if e.due(now_ms) and named in (None, e.id)]
        candidates = (self.events[id_] for id_ in reversed(self.sequence(due)))
        return next((event for event in candidates if self.eligible(event)), None)


class _Beside(Lane):
    """Lets a late predecessor run beside a later head; what that head took in stays with it."""

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        running = [e for e in self.events.values() if e.state == "processing"]
        if not running or not coalesces:
            return super().select(now_ms, coalesces, named)
        due = [e for e in self.events.values() if e.due(now_ms) and named in (None, e.id)]
        ahead = [e for e in due if all(self.precedes(e, r) for r in running)]
        candidates = (self.events[id_] for id_ in reversed(self.sequence(ahead)))
        return next((event for event in candidates if self.eligible(event)), None)

    def generation(self, head: Event) -> set[int]:
        running = {e.id for e in self.events.values() if e.state == "processing"}
        theirs = {e.id for e in self.events.values() if e.state == "skipped" and e.served in running}
        return super().generation(head) - theirs


class _AfterEveryBoundary(Lane):
    """Takes in only rows that follow every executed row which precedes the head."""

    def generation(self, head: Event) -> set[int]:
        ended = [e for e in self.events.values() if self.ended(e) and e is not head and self.precedes(e, head)]
        taken = super().generation(head)
        return {i for i in taken if i == head.id or all(self.precedes(e, self.events[i]) for e in ended)}


_claimer("another-head-on-a-cycle", "Which WorkItem is selected/another-due-row-on-a-cycle", _AnotherHeadOnACycle)
_claimer("turn-by-arrival", "Claiming on a cyclic lane/another-order-that-never-blocks", _TurnByArrival)
_claimer("backoff-holds-nothing", "Row in backoff ahead of due rows/r2", _BackoffHoldsNothing)
_claimer("late-row-holds-nothing", "Late predecessor with a window of its own/r2", _LateRowHoldsNothing)
_claimer("late-predecessor-beside", "More than one execution in a lane/r2", _Beside)
_claimer("after-every-boundary", "Previous executed Event on a cycle/follow-every-executed-row", _AfterEveryBoundary)


# -- members -----------------------------------------------------------------------------------------------------------


@LANES.plant("released-when-superseded", names="Failed head superseded on a cycle/back-to-pending", part="claimer")
class ReleasedWhenSuperseded(Claimer):
    """Selects any due row, and lets go of rows that a failed member had taken in and that do not belong here."""

    class lane_class(Lane):
        """A lane in which any due row may be the head."""

        def eligible(self, head: Event) -> bool:
            del head
            return True

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        mine = "SELECT event FROM work_items WHERE served = ? AND state = 'skipped'"
        left = tx.query(f"SELECT event FROM work_items WHERE state = 'skipped' AND served IN ({mine})", (head.id,))
        for row in left:
            self._ledger.move(tx, row["event"], "release", item={"served": None})
        super().seize(tx, head, token, now)


@LANES.plant(
    "fixed-at-the-first-claim", names="Is a generation frozen at its first attempt/first-claim", part="claimer"
)
class FixedAtTheFirstClaim(Claimer):
    """Retries a head with exactly the members of its first claim."""

    class lane_class(Lane):
        """A lane in which a head that was claimed before keeps its members."""

        def generation(self, head: Event) -> set[int]:
            if not head.attempts:
                return super().generation(head)
            return {head.id} | {e.id for e in self.events.values() if e.served == head.id and e.state == "skipped"}


class _FreshReader(Reader):
    def read(self, held: Held) -> dict[str, Any]:
        try:
            self.refresh(held)
        except (StoreFailed, AckLost):
            return {"status": "unavailable"}
        return super().read(held)

    def refresh(self, held: Held) -> None:
        with self._store.transaction("input.take") as tx:
            sql = f"{EVENT_SQL} WHERE e.route = ? AND e.source = ? ORDER BY e.event"
            rows = [Event.from_row(row) for row in tx.query(sql, (held.route, held.source))]
            # Membership is asked of a row that waits: this one is the head whose members are wanted.
            lane = Lane(replace(e, state="pending") if e.id == held.event else e for e in rows)
            head = lane.events.get(held.event)
            if head is not None and head.token == held.token and self._routes[held.route].mode.coalesces:
                for id_ in sorted(lane.generation(head) - {head.id}):
                    if lane.events[id_].state == "pending":
                        self.take_in(tx, id_, head.id)

    def take_in(self, tx: Transaction, member: int, head: int) -> None:
        names = ", ".join(f"{name} = NULL" for name in FREE)
        tx.execute(f"UPDATE events SET state = 'skipped', {names} WHERE event = ?", (member,))
        tx.execute("UPDATE work_items SET state = 'skipped', served = ? WHERE event = ?", (head, member))


@LANES.plant("selected-at-each-reading", names="Is a generation frozen at its first attempt/each-attempt", part=HOST)
class SelectedAtEachReading(Lanes):
    """Takes rows that have become visible before the head in when the input is read."""

    reader_class = _FreshReader
