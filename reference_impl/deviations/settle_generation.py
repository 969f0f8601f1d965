"""First set of deviations of the settle lanes, part two: boundaries, members, marks and conservation (GEN)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.kit import Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE, Ledger
from reference_impl.settle.model import EVENT_SQL, Event, Held
from reference_impl.store import Transaction
from statemachines.lanes import Id, members, precedes
from statemachines.lanes import Row as Key

GENERATION = Collection("settle-lanes")


def _claimer(id_: str, names: str, lane: type[Lane]) -> None:
    """Plant a claimer whose only fault is its lane."""
    made = type(lane.__name__.strip("_"), (Claimer,), {"lane_class": lane, "__doc__": lane.__doc__})
    GENERATION.plant(id_, names=names, part="claimer")(made)


# -- boundaries --------------------------------------------------------------------------------------------------------


class _DeadIsNoBoundary(Lane):
    """Counts only successful rows as executed."""

    def ended(self, event: Event) -> bool:
        return event.executed and event.state != "dead"


class _TokenIsEnough(Lane):
    """Takes every skipped row with a token for an executed skip."""

    def ended(self, event: Event) -> bool:
        return event.executed or (event.state == "skipped" and event.token is not None)


class _NoErrorIsEnough(Lane):
    """Takes every skipped row without a diagnostic for an executed skip."""

    def ended(self, event: Event) -> bool:
        return event.executed or (event.state == "skipped" and event.error is None)


class _AnyHistoryIsEnough(Lane):
    """Takes a skipped row with any history, token or diagnostic, for an executed one."""

    def ended(self, event: Event) -> bool:
        return event.executed or (event.state == "skipped" and (event.token or event.error) is not None)


class _SkipIsNoBoundary(Lane):
    """Treats a skipped head as a collapsed sibling of the next generation."""

    def ended(self, event: Event) -> bool:
        return event.executed and event.state != "skipped"


class _OnlyNewSkips(Lane):
    """Recognises only those executed skips that it made itself."""

    def ended(self, event: Event) -> bool:
        return event.executed and (event.state != "skipped" or event.attempts > 0)


class _ReplayedDeadIsNone(Lane):
    """Does not know a dead row as a boundary once it has been replayed."""

    def ended(self, event: Event) -> bool:
        return event.executed and not (event.replayed and event.state == "dead")


class _ReplayedProcessedIsNone(Lane):
    """Handles replays of dead originals only: a replayed processed one is no boundary."""

    def ended(self, event: Event) -> bool:
        return event.executed and not (event.replayed and event.state == "processed")


class _BoundaryMovesBack(Lane):
    """Moves the boundary back behind a replayed original once its fresh row waits for a retry."""

    def ended(self, event: Event) -> bool:
        waits = any(e.state == "pending" and e.attempts and e.id > event.id for e in self.events.values())
        return event.executed and not (event.replayed and waits)


class _FailedRowBounds(Lane):
    """Takes any row with an attempt for a boundary."""

    def boundary(self, head: Event) -> Event | None:
        before = [
            e
            for e in self.events.values()
            if (self.ended(e) or (e.attempts and e.state == "pending")) and e is not head and self.precedes(e, head)
        ]
        return self.events[self.sequence(before)[-1]] if before else None


_claimer("only-success-ends", "GEN-007", _DeadIsNoBoundary)
_claimer("token-is-enough", "GEN-010", _TokenIsEnough)
_claimer("no-error-is-enough", "GEN-011", _NoErrorIsEnough)
_claimer("any-history-is-enough", "GEN-012", _AnyHistoryIsEnough)
_claimer("skip-is-no-boundary", "GEN-039", _SkipIsNoBoundary)
_claimer("only-new-skips", "GEN-041", _OnlyNewSkips)
_claimer("replayed-dead-is-no-boundary", "GEN-021", _ReplayedDeadIsNone)
_claimer("replayed-processed-is-no-boundary", "GEN-022", _ReplayedProcessedIsNone)
_claimer("boundary-moves-back", "GEN-037", _BoundaryMovesBack)
_claimer("failed-row-bounds", "GEN-034", _FailedRowBounds)


@GENERATION.plant("boundary-by-route", names="GEN-033", part="ledger")
class BoundaryByRoute(Ledger):
    """Looks the boundary up by route only: executed rows of other sources count."""

    def lane(self, tx: Transaction, route: str, source: str) -> list[Event]:
        sql = f"{EVENT_SQL} WHERE e.route = ? AND (e.source = ? OR e.state IN ('processed', 'dead')) ORDER BY e.event"
        return [Event.from_row(row) for row in tx.query(sql, (route, source))]


# -- consumed rows -----------------------------------------------------------------------------------------------------


class _ComparisonsAlone(Lane):
    """Decides by the two comparisons alone, without a test for consumed rows, on lanes of an upgrade."""

    def find_consumed(self) -> frozenset[int]:
        if not any(e.key.ordinal == 0 for e in self.events.values()):
            return super().find_consumed()
        return frozenset(e.id for e in self.events.values() if self.ended(e))


class _ConsumedOnMixedLanes(Lane):
    """Tests for consumed rows only where the lane has a row without an ordinal."""

    def find_consumed(self) -> frozenset[int]:
        if any(e.key.ordinal == 0 for e in self.events.values()):
            return super().find_consumed()
        return frozenset(e.id for e in self.events.values() if self.ended(e))


class _AdmittedIsConsumed(Lane):
    """Counts a collapsed row as consumed as soon as the comparisons of some ended head admit it."""

    def find_consumed(self) -> frozenset[int]:
        ended = {e.id for e in self.events.values() if self.ended(e)}
        collapsed = {e.id for e in self.events.values() if e.state == "skipped" and e.id not in ended}
        return frozenset(super().find_consumed() | self.admitted(collapsed, ended))


class _AnyHead(Lane):
    """Collapses a failed head into the row that it selects next, whatever had been collapsed into it."""

    def eligible(self, head: Event) -> bool:
        del head
        return True


class _IdIgnored(Lane):
    """Compares ordinals at the upper end and ignores the Id."""

    def between(self, rows: Sequence[Key], boundary: Id | None, head: Id) -> list[Id]:
        found = set(members(rows, boundary, head))
        top = next(r for r in rows if r.id == head)
        low = next((r for r in rows if r.id == boundary), None)
        equal = {r.id for r in rows if r.ordinal and r.ordinal == top.ordinal and r is not low}
        return sorted(found | {i for i in equal if low is None or precedes(low, next(r for r in rows if r.id == i))})


_claimer("comparisons-alone", "GEN-044", _ComparisonsAlone)
_claimer("consumed-on-mixed-lanes-only", "GEN-046", _ConsumedOnMixedLanes)
_claimer("any-head-after-a-failure", "GEN-045", _AnyHead)
_claimer("upper-end-by-ordinal-alone", "GEN-043", _IdIgnored)


@GENERATION.plant("admitted-is-consumed", names="GEN-047", part="claimer")
class AdmittedIsConsumed(Claimer):
    """Counts a collapsed row as consumed as soon as the comparisons of some ended head admit it, and lets go of it."""

    lane_class = _AdmittedIsConsumed

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        held = super().take(route, source, now, named)
        if held is not None:
            with self._store.transaction("claim.prune") as tx:
                lane = self.lane_class(self._ledger.lane(tx, route, source))
                for id_ in sorted(lane.consumed):
                    mine = "UPDATE work_items SET served = NULL WHERE event = ? AND served = ?"
                    tx.execute(mine, (id_, held.event))
        return held


# -- what a claim leaves on rows ---------------------------------------------------------------------------------------


@GENERATION.plant("siblings-of-this-claim-only", names="GEN-014", part="claimer")
class SiblingsOfThisClaimOnly(Claimer):
    """Collects the rows that the very claim collapses, so that a retry has lost its siblings."""

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        if head.attempts:
            tx.execute("UPDATE work_items SET served = NULL WHERE served = ?", (head.id,))
        super().seize(tx, head, token, now)


@GENERATION.plant("collapsed-rows-not-taken-over", names="GEN-028", part="claimer")
class CollapsedRowsNotTakenOver(Claimer):
    """Restores only rows that the claims of this very head collapsed, not those of a head that failed before."""

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        if member.state != "skipped" or member.served is None:
            super().collapse(tx, member, head)


@GENERATION.plant("collapse-keeps-the-token", names="GEN-016", part="claimer")
class CollapseKeepsTheToken(Claimer):
    """Records the collapsed skip and leaves the old claim token on the row."""

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        if member.state == "skipped":
            super().collapse(tx, member, head)
        else:
            self._ledger.move(tx, member.id, "collapse", item={"served": head.id}, worker=None)


@GENERATION.plant("lease-cleared-later", names="GEN-017", part="claimer")
class LeaseClearedLater(Claimer):
    """Commits the skip first and clears the lease in a later transaction."""

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        if member.state == "skipped":
            super().collapse(tx, member, head)
        else:
            self._ledger.move(tx, member.id, "collapse", item={"served": head.id}, worker=None)

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        held = super().take(route, source, now, named)
        if held is not None:
            mine = "event IN (SELECT event FROM work_items WHERE served = ?)"
            with self._store.transaction("claim.clear") as tx:
                tx.execute(f"UPDATE events SET token = NULL WHERE state = 'skipped' AND {mine}", (held.event,))
        return held


@GENERATION.plant("error-survives-the-skip", names="GEN-018", part="finisher")
class ErrorSurvivesTheSkip(Finisher):
    """Leaves the LastError of an earlier attempt on a row that ends as a skip."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        if outcome == "skip":
            return self.move(tx, held, "execute_skip", worker=None, lease_expires_at=None)
        return super().record(tx, held, outcome, now_ms)


@GENERATION.plant("finish-skips-the-lane", names="GEN-031", part="finisher")
class FinishSkipsTheLane(Finisher):
    """Finishing a head marks every pending sibling skipped."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        recorded = super().record(tx, held, outcome, now_ms)
        if recorded and outcome == "success":
            for event in self._ledger.lane(tx, held.route, held.source):
                if event.state == "pending" and precedes(next(e.key for e in self._heads(tx, held)), event.key):
                    self._ledger.move(tx, event.id, "collapse", item={"served": held.event}, **FREE)
        return recorded

    def _heads(self, tx: Transaction, held: Held) -> list[Event]:
        return [e for e in self._ledger.lane(tx, held.route, held.source) if e.id == held.event]


@GENERATION.plant("attempts-of-the-whole-lane", names="GEN-036", part="finisher")
class AttemptsOfTheWholeLane(Finisher):
    """A failed attempt counts for every row of the lane."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        recorded = super().record(tx, held, outcome, now_ms)
        if recorded and outcome == "retryable":
            lane = "route = ? AND source = ? AND state = 'pending' AND event <> ?"
            tx.execute(f"UPDATE events SET attempts = attempts + 1 WHERE {lane}", (held.route, held.source, held.event))
        return recorded


@GENERATION.plant("left-out-means-unknown", names="GEN-035", part="enqueuer", unguarded=True)
class LeftOutMeansUnknown(Enqueuer):
    """Gives a row that a running execution left out another identity for its later generation."""

    def known(self, tx: Transaction, row: Incoming) -> bool:
        running = "SELECT 1 FROM events WHERE route = ? AND source = ? AND state = 'processing'"
        return super().known(tx, row) and not tx.query(running, (row.route.id, row.source))


# -- what a Flow gets --------------------------------------------------------------------------------------------------


class _OtherMembers(Reader):
    """Reads other rows than those that the claim took in: ``more`` is a further condition by which rows come in."""

    more = ""

    def params(self, held: Held) -> tuple[Any, ...]:
        return (held.event,)

    def members(self, held: Held) -> list[Event]:
        sql = (
            f"{EVENT_SQL} WHERE e.event = ? OR (w.served = ? AND e.state = 'skipped') OR ({self.more}) ORDER BY e.event"
        )
        rows = self._store.read("input.read", sql, (held.event, held.event, *self.params(held)))
        return [Event.from_row(row) for row in rows]


@GENERATION.plant("whole-delivery-restored", names="GEN-025", part="reader")
class WholeDeliveryRestored(_OtherMembers):
    """Restores the whole delivery of the head."""

    more = "e.delivery = (SELECT delivery FROM events WHERE event = ?) AND e.state <> 'pending'"


@GENERATION.plant("one-delivery-at-a-time", names="GEN-026", part="reader")
class OneDeliveryAtATime(Reader):
    """Filters the input by the DeliveryId of the head."""

    def members(self, held: Held) -> list[Event]:
        same = "e.delivery = (SELECT delivery FROM events WHERE event = ?)"
        sql = f"{EVENT_SQL} WHERE {same} AND (e.event = ? OR (w.served = ? AND e.state = 'skipped')) ORDER BY e.event"
        rows = self._store.read("input.read", sql, (held.event, held.event, held.event))
        return [Event.from_row(row) for row in rows]


@GENERATION.plant("payloads-merged", names="GEN-027", part="reader")
class PayloadsMerged(Reader):
    """Merges the payloads, the latest wins."""

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        rows = said.get("rows", [])
        return {**said, "rows": [{**row, "payload": rows[-1]["payload"]} for row in rows]} if rows else said


@GENERATION.plant("every-collapsed-row-restored", names="GEN-029", part="reader")
class EveryCollapsedRowRestored(_OtherMembers):
    """Restores all collapsed rows of the lane."""

    more = "e.state = 'skipped' AND e.token IS NULL AND e.route = ? AND e.source = ?"

    def params(self, held: Held) -> tuple[Any, ...]:
        return (held.route, held.source)


@GENERATION.plant("no-upper-end-at-the-reading", names="GEN-030", part="reader")
class NoUpperEndAtTheReading(_OtherMembers):
    """Reads everything of the lane that has not ended, successors too."""

    more = "e.state = 'pending' AND e.route = ? AND e.source = ? AND e.event > ?"

    def params(self, held: Held) -> tuple[Any, ...]:
        return (held.route, held.source, held.event)


@GENERATION.plant("inner-join-on-the-boundary", names="GEN-032", part="reader")
class InnerJoinOnTheBoundary(Reader):
    """Joins with the boundary, so that a lane without one has an empty input."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        ended = "SELECT 1 FROM events WHERE route = ? AND source = ? AND state IN ('processed', 'dead')"
        if not self._store.read("input.boundary", ended, (held.route, held.source)):
            return []
        return super().chosen(held, found, head)


@GENERATION.plant("read-afresh-not-collapsed", names="GEN-048", part="reader")
class ReadAfreshNotCollapsed(_OtherMembers):
    """Reads pending rows before the head afresh, though only those known at the claim were collapsed."""

    more = "e.state = 'pending' AND e.route = ? AND e.source = ?"

    def params(self, held: Held) -> tuple[Any, ...]:
        return (held.route, held.source)

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        before = [e for e in found if e.state != "pending" or precedes(e.key, head.key)]
        return super().chosen(held, before, head)
