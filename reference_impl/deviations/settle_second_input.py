"""Second set of deviations of the settle lanes, made blind: what the Flow is given, and what its end leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.kit import Ports, Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE, Ledger
from reference_impl.settle.model import EVENT_SQL, Event, Held, Raw
from reference_impl.store import Transaction
from statemachines.lanes import Id, Row, replay

INPUT_SECOND = Collection("settle-lanes")


class WiderReader(Reader):
    """A reader that looks for further rows in the same read: ``more`` is a condition on e and w, with one ``?``."""

    more = "FALSE AND ?"

    def members(self, held: Held) -> list[Event]:
        sql = (
            f"{EVENT_SQL} WHERE e.event = ? OR (w.served = ? AND e.state = 'skipped') OR ({self.more}) ORDER BY e.event"
        )
        rows = self._store.read("input.read", sql, (held.event, held.event, held.event))
        return [Event.from_row(row) for row in rows]


# Given y failed once and superseded by h, its diagnostic kept; when h executes; then y is missing.
@INPUT_SECOND.plant("failed-rows-stay-out", names="GEN-012", part="reader")
class FailedRowsStayOut(Reader):
    """Leaves collapsed rows with a diagnostic and no token out of the input."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        rows = super().chosen(held, found, head)
        return [e for e in rows if e is head or e.error is None or e.token is not None]


# Given x collapsed for h whose worker died; when h is claimed again after its lease; then h is given alone.
@INPUT_SECOND.plant("recovered-head-alone", names="GEN-014", part="reader")
class RecoveredHeadAlone(Reader):
    """Gives the head alone where an earlier claim of it ended without a result."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        silent = head.attempts > 1 and head.error is None
        return [head] if silent else super().chosen(held, found, head)


# Given a head without siblings; when it executes as a skip; then its token is gone and it bounds nothing.
@INPUT_SECOND.plant("lone-skip-drops-token", names="GEN-018", part="finisher")
class LoneSkipDropsToken(Finisher):
    """Frees the token of an executed skip that took nobody in."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        done = super().record(tx, held, outcome, now_ms)
        if done and outcome == "skip":
            alone = "NOT EXISTS (SELECT 1 FROM work_items WHERE served = ?)"
            tx.execute(f"UPDATE events SET token = NULL WHERE event = ? AND {alone}", (held.event, held.event))
        return done


# Given x collapsed into b, b dead and replayed as r; when r executes; then x is an input of it.
@INPUT_SECOND.plant("replay-of-the-generation", names="GEN-021", part="reader")
class ReplayOfTheGeneration(WiderReader):
    """Gives the replay of a dead row the siblings of the original as well."""

    more = "w.served IN (SELECT event FROM events WHERE replayed_by = ? AND state = 'dead') AND e.state = 'skipped'"


# Given x and h of one delivery, x collapsed into b which has ended; when h executes; then x is an input again.
@INPUT_SECOND.plant("siblings-of-the-delivery", names="GEN-025", part="reader")
class SiblingsOfTheDelivery(WiderReader):
    """Reads every collapsed row of the lane that came in the delivery of the head."""

    more = (
        "e.state = 'skipped' AND w.served IS NOT NULL AND (e.delivery, e.route, e.source) ="
        " (SELECT delivery, route, source FROM events WHERE event = ?)"
    )


# Given a preserving route that does not wait, x and h due; when h executes; then h is given alone.
@INPUT_SECOND.plant("only-settled-restores", names="GEN-026", part="reader")
class OnlySettledRestores(Reader):
    """Restores a generation on settled routes only, not on the other coalescing routes that preserve payloads."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        return super().chosen(held, found, head) if self._routes[held.route].mode.waits else [head]


# Given a head that failed once; when it is retried; then its payload has the diagnostic in front.
@INPUT_SECOND.plant("diagnostic-in-payload", names="GEN-027", part="reader")
class DiagnosticInPayload(Reader):
    """Puts the diagnostic of an earlier attempt in front of the raw payload."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        rows = super().chosen(held, found, head)
        return [e if e.error is None else replace(e, payload=f"{e.error}: {e.payload}") for e in rows]


# Given h, and x before it by order with a larger Id; when h executes; then x is collapsed and not delivered.
@INPUT_SECOND.plant("ids-up-to-the-head", names="GEN-028", part="reader")
class IdsUpToTheHead(Reader):
    """Reads no row with a larger Id than that of the head."""

    def members(self, held: Held) -> list[Event]:
        return [e for e in super().members(held) if e.id <= held.event]


# Given h failed once, successor s arrived and waiting in its window; when h is retried; then s is an input.
@INPUT_SECOND.plant("retry-takes-arrivals", names="GEN-030", part="reader")
class RetryTakesArrivals(WiderReader):
    """Takes whatever waits in the lane into the input of a retry."""

    more = (
        "e.state = 'pending' AND (e.route, e.source) ="
        " (SELECT route, source FROM events WHERE event = ? AND attempts > 1)"
    )


# Given s arrived due while h executed, on a preserving route that does not wait; when h succeeds;
# then s is skipped and never delivered.
@INPUT_SECOND.plant("due-at-the-end-is-done", names="GEN-031", part="finisher")
class DueAtTheEndIsDone(Finisher):
    """Skips on success the rows of the lane that were due meanwhile, as the projection has seen their state."""

    swept = "(e.not_before IS NULL OR e.not_before <= ?)"

    def __init__(self, ledger: Ledger, ports: Ports, config: Raw) -> None:
        super().__init__(ledger, ports, config)
        self._apart = {route["id"] for route in config["routes"] if route["mode"] == "each"}

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        done = super().record(tx, held, outcome, now_ms)
        if done and outcome == "success" and held.route not in self._apart:
            sql = "SELECT e.event FROM events e WHERE e.route = ? AND e.source = ? AND e.state = 'pending'"
            for row in tx.query(f"{sql} AND {self.swept}", (held.route, held.source, self.than(held, now_ms))):
                self._ledger.move(tx, row[0], "collapse", item={"served": held.event}, **FREE)
        return done

    def than(self, held: Held, now_ms: int) -> int:
        """What the swept rows are compared with."""
        del held
        return now_ms


# Given h executing, x of a smaller ordinal visible only now; when h succeeds; then x is skipped and never delivered.
@INPUT_SECOND.plant("sweeps-late-rows", names="GEN-048", part="finisher")
class SweepsLateRows(DueAtTheEndIsDone):
    """Collapses into a head that succeeded what lies before it by ordinal, though it appeared after the claim."""

    swept = "e.ordinal > 0 AND e.ordinal < (SELECT ordinal FROM events WHERE event = ?)"

    def than(self, held: Held, now_ms: int) -> int:
        del now_ms
        return held.event


# Given a lane without an executed row, x skipped by an older version without a record, then h; when h executes;
# then x is missing.
@INPUT_SECOND.plant("fresh-lane-has-no-skips", names="GEN-032", part="claimer")
class FreshLaneHasNoSkips(Claimer):
    """Restores rows that an older version skipped only behind a boundary, not from the beginning of a lane."""

    class Fresh(Lane):
        """Without a boundary only rows that wait, or that this version collapsed."""

        def generation(self, head: Event) -> set[int]:
            taken = super().generation(head)
            if self.boundary(head) is not None:
                return taken
            return {i for i in taken if self.events[i].state != "skipped" or self.events[i].served is not None}

    lane_class = Fresh


# Given an executed row of the same source on another route between x and h; when h executes; then x is missing.
@INPUT_SECOND.plant("ends-of-any-route", names="GEN-033", part="ledger")
class EndsOfAnyRoute(Ledger):
    """Looks for the previous executed Event of the source on all its routes."""

    def lane(self, tx: Transaction, route: str, source: str) -> list[Event]:
        ended = "e.state IN ('processed', 'dead')"
        sql = f"{EVENT_SQL} WHERE e.source = ? AND (e.route = ? OR {ended}) ORDER BY e.event"
        return [Event.from_row(row) for row in tx.query(sql, (source, route))]


# Given x before y, y claimed and its lease lost; when a later h is selected; then x and y are no inputs of it.
@INPUT_SECOND.plant("lost-lease-bounds", names="GEN-034", part="claimer")
class LostLeaseBounds(Claimer):
    """Takes a waiting row with the token of a lost lease, and no diagnostic, for an end."""

    class Ends(Lane):
        """Waiting rows with a token bound."""

        def boundary(self, head: Event) -> Event | None:
            def bounds(event: Event) -> bool:
                held = event.state == "pending" and event.token is not None and event.error is None
                return held or self.ended(event)

            before = [e for e in self.events.values() if bounds(e) and e is not head and self.precedes(e, head)]
            return self.events[self.sequence(before)[-1]] if before else None

    lane_class = Ends


# Given y failed once; when s supersedes it and fails; then s is charged with the attempt of y as well.
@INPUT_SECOND.plant("attempts-come-along", names="GEN-036", part="claimer")
class AttemptsComeAlong(Claimer):
    """Lets a head go on counting from the attempts of the rows that it takes in."""

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        super().seize(tx, head, token, now)
        most = (
            "SELECT 1 + COALESCE(MAX(x.attempts), 0) FROM events x JOIN work_items w ON w.event = x.event"
            " WHERE w.served = ? AND x.state = 'skipped'"
        )
        tx.execute(f"UPDATE events SET attempts = MAX(attempts, ({most})) WHERE event = ?", (head.id, head.id))


# Given x collapsed into b, b dead and replayed as r, r failed once; when successor s supersedes r;
# then x is an input of s.
@INPUT_SECOND.plant("superseded-replay-reopens", names="GEN-037", part="reader")
class SupersededReplayReopens(WiderReader):
    """Gives a head that supersedes a replay the siblings of the replayed original as well."""

    more = (
        "e.state = 'skipped' AND w.served IN (SELECT o.event FROM events o JOIN work_items r ON r.event = o.replayed_by"
        " WHERE r.served = ?)"
    )


# Given a loaded zero row that was executed as a skip, siblings before it, then h; when h executes;
# then they are inputs of it.
@INPUT_SECOND.plant("old-skip-is-collapsed", names="GEN-041", part="claimer")
class OldSkipIsCollapsed(Claimer):
    """Recognizes an executed skip only on a row with an ordinal."""

    class Ends(Lane):
        """Skips without an ordinal are no ends."""

        def ended(self, event: Event) -> bool:
            return super().ended(event) and (event.state != "skipped" or event.key.ordinal > 0)

    lane_class = Ends


# Given zero head h, and stamped s of the same CreatedDate with a larger DeliverySequence, not due; when h executes;
# then s is an input.
@INPUT_SECOND.plant("same-date-goes-along", names="GEN-042", part="claimer")
class SameDateGoesAlong(Claimer):
    """Compares rows with an ordinal to a head without one by CreatedDate alone, the same date included."""

    class Ends(Lane):
        """The upper end of a zero head by date."""

        def between(self, rows: Sequence[Row], boundary: Id | None, head: Id) -> list[Id]:
            last = next(row for row in rows if row.id == head)
            if last.ordinal:
                return super().between(rows, boundary, head)
            early = [replace(r, sequence=-1) if r.ordinal and r.created == last.created else r for r in rows]
            return super().between(early, boundary, head)

    lane_class = Ends


# Given b executed, x of the same ordinal with a larger Id, then h; when h executes; then x is missing.
@INPUT_SECOND.plant("equal-to-the-boundary", names="GEN-043", part="claimer")
class EqualToTheBoundary(Claimer):
    """Admits behind a boundary with an ordinal only larger ordinals, not an equal one with a larger Id."""

    class Ends(Lane):
        """The lower end by ordinal alone."""

        def between(self, rows: Sequence[Row], boundary: Id | None, head: Id) -> list[Id]:
            first = next((row.ordinal for row in rows if row.id == boundary), 0)
            kept = [r for r in rows if not first or r.ordinal != first or r.id in (boundary, head)]
            return super().between(kept, boundary, head)

    lane_class = Ends


# Given stamped x before x2 before h, h processed before x and x2 became visible; when x2 executes;
# then x is missing, since it arrived before h.
@INPUT_SECOND.plant("older-than-the-last-end", names="GEN-047", part="reader")
class OlderThanTheLastEnd(Reader):
    """Leaves collapsed rows out of the input that arrived before the last processed row of the lane."""

    def members(self, held: Held) -> list[Event]:
        last = "SELECT MAX(o.created_at) FROM events o WHERE o.route = ? AND o.source = ? AND o.state = 'processed'"
        sql = (
            f"{EVENT_SQL} WHERE e.event = ? OR (w.served = ? AND e.state = 'skipped'"
            f" AND e.created_at >= COALESCE(({last}), e.created_at)) ORDER BY e.event"
        )
        params = (held.event, held.event, held.route, held.source)
        return [Event.from_row(row) for row in self._store.read("input.read", sql, params)]


# Given ingress order zero, stamped 2, zero, stamped 1, the 1st executed, the 3rd not due;
# when the 2nd executes; then the input is stamped 2, stamped 1.
@INPUT_SECOND.plant("cycle-through-the-waiting", names="ORDER-023", part="reader")
class CycleThroughTheWaiting(WiderReader):
    """Judges cycles together with the rows without an ordinal that still wait in the lane."""

    more = (
        "e.state = 'pending' AND e.ordinal = 0 AND (e.route, e.source) ="
        " (SELECT route, source FROM events WHERE event = ?)"
    )

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        self.place = {id_: i for i, id_ in enumerate(replay(e.key for e in found))}
        return super().chosen(held, [e for e in found if e is head or e.state != "pending"], head)

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        if said["status"] == "read":
            said["rows"].sort(key=lambda row: self.place[row["event"]])
        return said


# Given a loaded skipped row with token and LastError; when a head takes it in; then its token is gone.
@INPUT_SECOND.plant("old-skips-cleaned-up", names="SCOPE-010", part="claimer")
class OldSkipsCleanedUp(Claimer):
    """Rewrites a row that an older version skipped, without its token, when a head takes it in."""

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        super().collapse(tx, member, head)
        if member.state == "skipped" and member.token is not None:
            tx.execute("UPDATE events SET token = NULL WHERE event = ?", (member.id,))
