"""Settle lanes at the edges of time: what ends a little too early, and is right but just ahead of its edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conformance.kit import Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import ANY
from reference_impl.settle.metrics import Gauge
from reference_impl.settle.model import Event
from reference_impl.store import Row, Transaction

SETTLE_EDGES = Collection("settle-lanes")

#: More than any tick of a clock, less than any pause in a schedule but those at an edge.
_EARLY_MS: Final = 2_000


# Given a claim whose lease ends in a second; when recovery runs or another worker polls; then it is taken back.
@SETTLE_EDGES.plant("lane-lease-over-early", names="SETTLE-040", part="reaper")
class LeaseOverEarly(Reaper):
    """Allows for clocks that disagree, on the wrong side."""

    def lapsed(self, scan: str, now: Time) -> list[Row]:
        return super().lapsed(scan, replace(now, wall_ms=now.wall_ms + _EARLY_MS))


# The same where the host stores an end of the lease that comes too early.
@SETTLE_EDGES.plant("lease-cut-short", names="SETTLE-040", part="claimer")
class LeaseCutShort(Claimer):
    """Stores a lease that is shorter than what was configured."""

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        super().seize(tx, head, token, replace(now, wall_ms=now.wall_ms - _EARLY_MS))


class _EarlyLane(Lane):
    """A lane whose rows come due a little ahead of their time, the first time or every other."""

    again: bool

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        waiting = (e for e in self.events.values() if e.state == "pending" and not e.due(now_ms))
        if all(bool(e.attempts) == self.again for e in waiting):
            now_ms += _EARLY_MS
        return super().select(now_ms, coalesces, named)


class _EarlyWindowLane(_EarlyLane):
    again = False


class _EarlyRetryLane(_EarlyLane):
    again = True


class _EarlyClaimer(Claimer):
    def lanes(self, now: Time, named: int | None) -> list[tuple[str, str]]:
        return super().lanes(replace(now, wall_ms=now.wall_ms + _EARLY_MS), named)


# Given a burst whose window ends in a second; when a worker polls; then it is executed.
@SETTLE_EDGES.plant("window-over-early", names="SETTLE-003", part="claimer")
class WindowOverEarly(_EarlyClaimer):
    """Takes fresh rows up a little ahead of their time, so that a worker need not come back for them."""

    lane_class = _EarlyWindowLane


# Given a row whose backoff ends in a second; when a worker polls; then it is executed.
@SETTLE_EDGES.plant("backoff-over-early", names="SETTLE-004", part="claimer")
class BackoffOverEarly(_EarlyClaimer):
    """Takes retries up a little ahead of their time."""

    lane_class = _EarlyRetryLane


# Given a window that ends in a second; when another delivery brings the source; then it waits for a time of its own.
@SETTLE_EDGES.plant("window-full-early", names="SETTLE-024", part="enqueuer")
class WindowFullEarly(Enqueuer):
    """Joins no window that is about to end."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        still_open = self._ledger.open_until(tx, row.route.id, row.source, now_ms + _EARLY_MS)
        return now_ms + int(self._windows["settle_ms"]) if still_open is None else still_open


# Given three rows whose window ends in a second; when due work is counted; then they are in the count.
@SETTLE_EDGES.plant("due-early", names="SETTLE-016", part="gauge")
class DueEarly(Gauge):
    """Counts what comes due until the next look."""

    due = f"w.state = 'pending' AND (w.run_after IS NULL OR w.run_after - {_EARLY_MS} <= ?)"


# Given a recovery that found a claim whose lease was over; when another worker has claimed the row before it writes;
# then that claim is taken back.
@SETTLE_EDGES.plant("takes-back-what-it-found", names="SETTLE-040", part="reaper")
class TakesBackWhatItFound(Reaper):
    """Writes by Event id alone what it found to be over when it looked."""

    def reap(self, scan: str, reclaim: str) -> int:
        count = 0
        for row in self.lapsed(scan, self._ports.clock.now(scan)):
            trigger, values = self.fate(row)
            with self._store.transaction(reclaim) as tx:
                count += self._ledger.move(tx, row["event"], trigger, held_by=ANY, item={}, **values)
        return count


class _NewestFirstLane(Lane):
    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        first = self.turn()
        if coalesces or named is not None or first is None or not first.due(now_ms):
            return super().select(now_ms, coalesces, named)
        return self.events[self.sequence(e for e in self.events.values() if e.due(now_ms))[-1]]


# Given two rows of mode each; when a worker polls; then the later one is executed first.
@SETTLE_EDGES.plant("each-newest-first", names="SETTLE-037", part="claimer")
class EachNewestFirst(Claimer):
    """Takes the newest row up first in every mode, as those that coalesce do."""

    lane_class = _NewestFirstLane
