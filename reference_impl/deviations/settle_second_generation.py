"""Second set of deviations of the settle lanes, made blind: the ends of a generation, and what is consumed."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.kit import Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.model import Event
from reference_impl.store import Transaction
from statemachines.lanes import Id, Row, ingress_key, precedes

GENERATION_SECOND = Collection("settle-lanes")


class OwnEnds(Lane):
    """A lane that decides about the two ends of a generation row by row."""

    def between(self, rows: Sequence[Row], boundary: Id | None, head: Id) -> list[Id]:
        by_id = {row.id: row for row in rows}
        last = by_id[head]
        first = None if boundary is None else by_id[boundary]
        return sorted(
            x.id
            for x in rows
            if x is last
            or (x is not first and self.before_head(first, x, last) and (first is None or self.after(first, x, last)))
        )

    def after(self, first: Row, x: Row, last: Row) -> bool:
        """Whether the boundary precedes x."""
        del last
        return precedes(first, x)

    def before_head(self, first: Row | None, x: Row, last: Row) -> bool:
        """Whether x precedes the head."""
        del first
        return precedes(x, last)


# Given stamped b (executed), x and h, x behind b by ordinal and before b by ingress; when h executes;
# then x is missing.
@GENERATION_SECOND.plant("lower-end-by-ingress", names="GEN-003", part="claimer")
class LowerEndByIngress(Claimer):
    """Compares the boundary with a row by arrival even where both have ordinals."""

    class Ends(OwnEnds):
        """The lower end by ingress."""

        def after(self, first: Row, x: Row, last: Row) -> bool:
            del last
            return ingress_key(first) < ingress_key(x)

    lane_class = Ends


# Given zero row b executed, stamped x with an earlier ingress key than b, then h; when h executes; then x is an input.
@GENERATION_SECOND.plant("stamped-follow-old-boundary", names="GEN-004", part="claimer")
class StampedFollowOldBoundary(Claimer):
    """Takes every row with an ordinal for later than a boundary without one."""

    class Ends(OwnEnds):
        """The lower end is open for stamped rows behind a zero boundary."""

        def after(self, first: Row, x: Row, last: Row) -> bool:
            return bool(x.ordinal and not first.ordinal) or super().after(first, x, last)

    lane_class = Ends


# Given zero row b executed, stamped x before stamped h by ordinal and behind it by ingress, both after b;
# when h executes; then x is missing.
@GENERATION_SECOND.plant("boundary-picks-the-key", names="GEN-005", part="claimer")
class BoundaryPicksTheKey(Claimer):
    """Chooses the key once for a generation: a boundary without ordinal makes the upper end compare by arrival too."""

    class Ends(OwnEnds):
        """The upper end by ingress behind a zero boundary."""

        def before_head(self, first: Row | None, x: Row, last: Row) -> bool:
            if first is not None and not first.ordinal:
                return ingress_key(x) < ingress_key(last)
            return super().before_head(first, x, last)

    lane_class = Ends


# Given b with sibling x, dead because its last lease was lost; when a later h executes; then x is an input again.
@GENERATION_SECOND.plant("lost-lease-is-no-end", names="GEN-007", part="claimer")
class LostLeaseIsNoEnd(Claimer):
    """Takes a row that died of lost leases for never executed, so that it ends no generation."""

    class Ends(Lane):
        """Dead by a reported failure only."""

        def ended(self, event: Event) -> bool:
            return super().ended(event) and not (event.state == "dead" and event.error == "lease lost")

    lane_class = Ends


# Given a loaded skipped row with token and LastError, then h; when h executes; then the skipped row is missing.
@GENERATION_SECOND.plant("failed-skip-is-consumed", names="GEN-010", part="claimer")
class FailedSkipIsConsumed(Claimer):
    """Does not take a trusted-base skip for a boundary, but leaves it out as if it had been consumed."""

    class Consuming(Lane):
        """Rows skipped under a token are consumed."""

        def find_consumed(self) -> frozenset[int]:
            held = (e.id for e in self.events.values() if e.state == "skipped" and e.token and e.error)
            return super().find_consumed() | frozenset(held)

    lane_class = Consuming


# Given sibling x, then a loaded skipped row without token, diagnostic and record of a head, then h; when h executes;
# then x is missing.
@GENERATION_SECOND.plant("unrecorded-skip-ends", names="GEN-011", part="claimer")
class UnrecordedSkipEnds(Claimer):
    """Takes a clean skipped row that names no head for one that was executed."""

    class Ends(Lane):
        """Skips without a record are ends."""

        def ended(self, event: Event) -> bool:
            nameless = event.state == "skipped" and event.served is None and event.token is None and event.error is None
            return nameless or super().ended(event)

    lane_class = Ends


# Given the cycle stamped 2, zero, stamped 1, all due; the head stamped 1 collapsed the zero row and failed once;
# when workers run to idle; then stamped 2 supersedes it and the zero row is in no ended generation.
@GENERATION_SECOND.plant("old-siblings-left-behind", names="GEN-045", part="claimer")
class OldSiblingsLeftBehind(Claimer):
    """Asks of a new head only that it takes over the siblings with an ordinal from a failed one."""

    class Chooser(Lane):
        """Looks at stamped siblings only."""

        def eligible(self, head: Event) -> bool:
            taken = self.generation(head)
            left = (e for e in self.events.values() if e.served in taken and e.state == "skipped" and e.key.ordinal)
            return all(e.id in taken or e.id in self.consumed for e in left)

    lane_class = Chooser


# Given x claimed and its lease lost without a result; when a later head supersedes it;
# then x is stored as skipped with the claim token of that head.
@GENERATION_SECOND.plant("new-token-on-lost-sibling", names="GEN-016", part="claimer")
class NewTokenOnLostSibling(Claimer):
    """Replaces the obsolete token of a superseded row by the token of the claim that collapses it."""

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        super().seize(tx, head, token, now)
        sql = (
            "UPDATE events SET token = ? WHERE state = 'skipped' AND attempts > 0 AND error IS NULL AND token IS NULL"
            " AND event IN (SELECT event FROM work_items WHERE served = ?)"
        )
        tx.execute(sql, (token, head.id))


# Given x collapsed into b, b processed and replayed as r; when r executes; then x is an input again.
@GENERATION_SECOND.plant("replay-reopens-processed", names="GEN-022", part="claimer")
class ReplayReopensProcessed(Claimer):
    """Thinks that a processed row has handed its role as a boundary to the row that replays it."""

    class Ends(Lane):
        """A replayed processed row is no end."""

        def ended(self, event: Event) -> bool:
            return super().ended(event) and not (event.state == "processed" and event.replayed)

    lane_class = Ends


# Given h1 processed with sibling x, then a late row l from before x processed by itself, then h2; when h2 executes;
# then x is an input again.
@GENERATION_SECOND.plant("latest-end-only", names="GEN-029", part="ledger")
class LatestEndOnly(Ledger):
    """Reads of the processed and dead rows of a lane only the one with the largest Id."""

    def lane(self, tx: Transaction, route: str, source: str) -> list[Event]:
        events = super().lane(tx, route, source)
        ends = [e.id for e in events if e.state in ("processed", "dead")]
        return [e for e in events if e.state not in ("processed", "dead") or e.id == max(ends)]


# Given b failed once and then executed as a skip, with sibling x; when a later h executes; then x is an input again.
@GENERATION_SECOND.plant("late-skip-is-no-end", names="GEN-039", part="claimer")
class LateSkipIsNoEnd(Claimer):
    """Recognizes an executed skip only where it was the first attempt."""

    class Ends(Lane):
        """Skips after a retry are not ends."""

        def ended(self, event: Event) -> bool:
            return super().ended(event) and not (event.state == "skipped" and event.attempts > 1)

    lane_class = Ends


# Given ingress order stamped 2, zero, stamped 1, zero, the 3rd consumed by the 1st, the 2nd ended since;
# when the 4th executes; then the 3rd is an input again.
@GENERATION_SECOND.plant("last-generation-only", names="GEN-044", part="claimer")
class LastGenerationOnly(Claimer):
    """Remembers as consumed only what the latest ended head has taken in."""

    class Consuming(Lane):
        """Forgets earlier generations."""

        def find_consumed(self) -> frozenset[int]:
            executed = [e for e in self.events.values() if self.ended(e)]
            if not executed:
                return frozenset()
            last = self.sequence(executed)[-1]
            kept = (e.id for e in executed)
            served = (e.id for e in self.events.values() if e.served == last and e.state == "skipped")
            return frozenset((*kept, *served))

    lane_class = Consuming


# Given stamped y before x before h, y collapsed into h, h processed, x visible only now; when x executes;
# then y is an input again.
@GENERATION_SECOND.plant("later-heads-consume-nothing", names="GEN-046", part="claimer")
class LaterHeadsConsumeNothing(Claimer):
    """Looks for consumed rows only among the generations of heads that precede the present one."""

    class Consuming(Lane):
        """Rows that served a later ended head count as free."""

        def generation(self, head: Event) -> set[int]:
            boundary = self.boundary(head)
            left = [e for e in self.events.values() if e.state != "processing" and self.free(e, head)]
            rows = [e.key for e in left if e is not boundary]
            if boundary is None:
                return set(self.between(rows, None, head.id))
            return set(self.between([*rows, boundary.key], boundary.id, head.id))

        def free(self, event: Event, head: Event) -> bool:
            """Whether a row may be taken in by this head."""
            if event.id not in self.consumed:
                return True
            served = self.events.get(event.served) if event.served is not None else None
            return served is not None and not self.ended(event) and not self.precedes(served, head)

    lane_class = Consuming
