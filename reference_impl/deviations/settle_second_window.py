"""Second set of deviations of the settle lanes, made blind: the window, the queue around it, and route metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.metrics import Gauge
from reference_impl.settle.model import Event, Held
from reference_impl.store import Transaction

WINDOW_SECOND = Collection("settle-lanes")


# Given source A waiting on settled route R1 and due on unsettled R2; when a worker polls before R1's settle time;
# then R2's row of A is not claimed.
@WINDOW_SECOND.plant("source-settles-everywhere", names="SETTLE-002", part="ledger")
class SourceSettlesEverywhere(Ledger):
    """Holds back a source's rows on unsettled routes as long as the source waits on a settled one."""

    def due_lanes(self, step: str, now_ms: int) -> list[tuple[str, str]]:
        sql = (
            "SELECT e.route, e.source FROM events e WHERE e.state = 'pending' AND (e.not_before <= ?"
            " OR (e.not_before IS NULL AND NOT EXISTS (SELECT 1 FROM events o WHERE o.source = e.source"
            " AND o.route <> e.route AND o.state = 'pending' AND o.attempts = 0 AND o.not_before > ?)))"
            " GROUP BY e.route, e.source ORDER BY MIN(e.event)"
        )
        return [(row[0], row[1]) for row in self.store.read(step, sql, (now_ms, now_ms))]


# Given head h in execution, no window open; when the next burst arrives and h ends at once;
# then the burst is claimed without having waited.
@WINDOW_SECOND.plant("busy-lane-needs-no-window", names="SETTLE-003", part="enqueuer")
class BusyLaneNeedsNoWindow(Enqueuer):
    """Opens no window for a burst that arrives while its lane is executing, since it has to wait anyway."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        sql = "SELECT COUNT(*) FROM events WHERE route = ? AND source = ? AND state = 'processing'"
        still_open = self._ledger.open_until(tx, row.route.id, row.source, now_ms)
        if still_open is None and tx.query(sql, (row.route.id, row.source))[0][0]:
            return now_ms
        return super().settle_time(tx, row, now_ms)


# Given h executing, a successor opened a window until T meanwhile, backoff shorter; when h fails retryably;
# then h is retried at T and not after its backoff.
@WINDOW_SECOND.plant("retry-joins-window", names="SETTLE-004", part="finisher")
class RetryJoinsWindow(Finisher):
    """Lets a retry wait for the window that a successor has opened meanwhile."""

    now_ms = 0

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        self.now_ms = now_ms
        return super().record(tx, held, outcome, now_ms)

    def backoff(self, tx: Transaction, held: Held) -> int:
        ordinary = super().backoff(tx, held)
        still_open = self._ledger.open_until(tx, held.route, held.source, self.now_ms)
        return ordinary if still_open is None else max(ordinary, still_open - self.now_ms)


# Given x collapsed into h; when h ends as an executed skip; then the WorkItem of x is gone.
@WINDOW_SECOND.plant("skip-clears-siblings", names="SETTLE-005", part="finisher", unguarded=True)
class SkipClearsSiblings(Finisher):
    """Deletes the WorkItems of the collapsed siblings when their head ends as skipped."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        done = super().record(tx, held, outcome, now_ms)
        if done and outcome == "skip":
            tx.execute("DELETE FROM work_items WHERE served = ? AND state = 'skipped'", (held.event,))
        return done


# Given stamped x and, after it, zero row z in one due burst; when workers run to idle;
# then there are two executions, headed by x and by z.
@WINDOW_SECOND.plant("stamped-heads-first", names="SETTLE-006", part="claimer")
class StampedHeadsFirst(Claimer):
    """Selects the latest due row with an ordinal, so that later rows without one are executed by themselves."""

    class Chooser(Lane):
        """Selects among stamped rows where there are any."""

        def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
            head = super().select(now_ms, coalesces, named)
            if head is None or named is not None or not coalesces or head.key.ordinal:
                return head
            due = self.sequence(e for e in self.events.values() if e.due(now_ms) and e.key.ordinal)
            stamped = (self.events[id_] for id_ in reversed(due))
            return next((e for e in stamped if self.eligible(e)), head)

    lane_class = Chooser


# Given the due rows stamped 2, zero, stamped 1 in ingress order; when workers poll after the settle time;
# then nothing is ever claimed.
@WINDOW_SECOND.plant("cycle-stalls", names="SETTLE-007", part="claimer")
class CycleStalls(Claimer):
    """Waits for a row that no unfinished row precedes, which a lane that begins with a cycle never has."""

    class Guarded(Lane):
        """Gives the turn by the pairwise guard alone."""

        def turn(self) -> Event | None:
            unfinished = [e for e in self.events.values() if e.state in ("pending", "processing")]
            if any(e.state == "processing" for e in unfinished):
                return None
            free = (e for e in unfinished if not any(self.precedes(o, e) for o in unfinished if o is not e))
            return next(free, None)

    lane_class = Guarded


# Given a route of an existing mode whose lane still holds a row with a future NextAttemptAt (loaded, or left from a
# time as settled route); when an Event arrives; then its NextAttemptAt is that future time.
@WINDOW_SECOND.plant("open-time-before-mode", names="SETTLE-014", part="enqueuer")
class OpenTimeBeforeMode(Enqueuer):
    """Takes over an open timestamp of the lane before it asks whether the mode waits at all."""

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        columns = super().columns(tx, row, now_ms)
        if row.route.mode.waits:
            return columns
        return {**columns, "not_before": self._ledger.open_until(tx, row.route.id, row.source, now_ms)}


# Given settled route R1 and, after it, R2 of an existing mode, both taking an Event; when it is enqueued;
# then RunAfter of R2's WorkItem is R1's settle time.
@WINDOW_SECOND.plant("run-after-leaks", names="SETTLE-015", part="ledger")
class RunAfterLeaks(Ledger):
    """Carries RunAfter over to the WorkItem of the same Event on the next route."""

    last: tuple[str, int, int | None] = ("", 0, None)

    def insert(self, tx: Transaction, columns: Mapping[str, Any]) -> None:
        delivery, sequence, until = columns["delivery"], columns["sequence"], columns["not_before"]
        if until is None and self.last[:2] == (delivery, sequence):
            until = self.last[2]
        self.last = (delivery, sequence, until)
        super().insert(tx, columns)

    def insert_item(self, tx: Transaction, event: int, state: str, run_after: int | None) -> None:
        super().insert_item(tx, event, state, self.last[2] if run_after is None else run_after)


# Given D1 opened a window until T; when the bulk path stores D2 for the same source before T;
# then D2's Events wait until T and their WorkItems for one full window.
@WINDOW_SECOND.plant("bulk-items-open-their-own", names="SETTLE-018", part="enqueuer")
class BulkItemsOpenTheirOwn(Enqueuer):
    """Gives the WorkItems of a bulk write one fresh window, though their Events take over an open timestamp."""

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        with self._store.transaction("deliver.bulk") as tx:
            return sum(self.one(tx, row, now_ms) for row in rows)

    def one(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        """Store one row of a batch."""
        new = self.store(tx, row, now_ms)
        if new and row.route.mode.waits:
            fresh = now_ms + int(self._windows["settle_ms"])
            tx.execute("UPDATE work_items SET run_after = ? WHERE event = (SELECT MAX(event) FROM events)", (fresh,))
        return new


# Given a settled route and a clock that does not stand on a full second; when the fallback stores a row;
# then NextAttemptAt has milliseconds and RunAfter has none.
@WINDOW_SECOND.plant("fallback-whole-seconds", names="SETTLE-019", part="enqueuer")
class FallbackWholeSeconds(Enqueuer):
    """Writes RunAfter in whole seconds on the row-by-row path."""

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for row in rows:
            with self._store.transaction("deliver.row") as tx:
                stored += self.one(tx, row, now_ms)
        return stored

    def one(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        """Store one row by itself."""
        new = self.store(tx, row, now_ms)
        if new and row.route.mode.waits:
            last = "event = (SELECT MAX(event) FROM events)"
            tx.execute(f"UPDATE work_items SET run_after = run_after / 1000 * 1000 WHERE {last}")
        return new


# Given a burst whose settle time has come, and a late row of its lane with a window of its own that is open;
# when due metrics are read; then the late row is counted.
@WINDOW_SECOND.plant("due-lane-counts-whole", names="SETTLE-016", part="gauge")
class DueLaneCountsWhole(Gauge):
    """Counts every pending row of a lane as due once one of them is."""

    due = (
        "w.state = 'pending' AND (w.run_after IS NULL OR EXISTS (SELECT 1 FROM work_items o JOIN events oe"
        " ON oe.event = o.event WHERE o.state = 'pending' AND oe.route = e.route AND oe.source = e.source"
        " AND o.run_after <= ?))"
    )


# Given a head in execution and a row behind it whose settle time has come; when due metrics are read;
# then the row is not counted.
@WINDOW_SECOND.plant("busy-lane-counts-nothing", names="SETTLE-017", part="gauge")
class BusyLaneCountsNothing(Gauge):
    """Leaves due rows out as long as their lane is executing."""

    due = (
        f"{Gauge.due} AND NOT EXISTS (SELECT 1 FROM events o WHERE o.state = 'processing'"
        " AND o.route = e.route AND o.source = e.source)"
    )


# Given a burst whose head failed retryably and is back in the queue; when due metrics are read;
# then its collapsed siblings are counted.
@WINDOW_SECOND.plant("waiting-again-with-siblings", names="SETTLE-038", part="gauge")
class WaitingAgainWithSiblings(Gauge):
    """Counts the rows collapsed into a head that waits for its retry, since they run again with it."""

    due = (
        "(w.state = 'pending' OR (w.state = 'skipped' AND EXISTS (SELECT 1 FROM events o WHERE o.event = w.served"
        " AND o.state = 'pending'))) AND (w.run_after IS NULL OR w.run_after <= ?)"
    )


# Given an open window until T; when the fallback stores a sibling and the process dies between its two commits;
# then the Event waits until T and its WorkItem for a full window.
@WINDOW_SECOND.plant("fallback-joins-afterwards", names="SETTLE-020", part="enqueuer")
class FallbackJoinsAfterwards(Enqueuer):
    """On the row-by-row path takes the WorkItem over to the open timestamp in a second commit."""

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for row in rows:
            with self._store.transaction("deliver.row") as tx:
                new = self.store(tx, row, now_ms)
                late = new and row.route.mode.waits
                if late:
                    until = now_ms + int(self._windows["settle_ms"])
                    item = tx.query("SELECT MAX(event) FROM events")[0][0]
                    tx.execute("UPDATE work_items SET run_after = ? WHERE event = ?", (until, item))
            if late:
                with self._store.transaction("deliver.row") as tx:
                    sql = "UPDATE work_items SET run_after = (SELECT not_before FROM events WHERE event = ?)"
                    tx.execute(f"{sql} WHERE event = ? AND state = 'pending'", (item, item))
            stored += new
        return stored


# Given D1 opened a window until T; when another process, or this one after a restart, stores D2 before T;
# then D2's row has a window of its own.
@WINDOW_SECOND.plant("windows-in-memory", names="SETTLE-024", part="enqueuer")
class WindowsInMemory(Enqueuer):
    """Keeps the open windows in the memory of the process that opened them."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        del tx
        lane = (row.route.id, row.source)
        known: dict[tuple[str, str], int] = self.__dict__.setdefault("known_windows", {})
        if known.get(lane, 0) <= now_ms:
            known[lane] = now_ms + int(self._windows["settle_ms"])
        return known[lane]


# Given two open timestamps of a lane, the later one on the older row; when a sibling arrives;
# then it waits until the later one.
@WINDOW_SECOND.plant("oldest-row-not-earliest-time", names="SETTLE-026", part="ledger")
class OldestRowNotEarliestTime(Ledger):
    """Takes over the open timestamp of the oldest row instead of the earliest one."""

    def open_until(self, tx: Transaction, route: str, source: str, now_ms: int) -> int | None:
        sql = (
            "SELECT not_before FROM events WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0"
            " AND not_before > ? ORDER BY event LIMIT 1"
        )
        found = tx.query(sql, (route, source, now_ms))
        return int(found[0][0]) if found else None


# Given a row waiting until T; when its delivery is sent again before T; then it waits one window from then.
@WINDOW_SECOND.plant("redelivery-extends", names="SETTLE-027", part="enqueuer")
class RedeliveryExtends(Enqueuer):
    """Starts the window of a waiting row anew when the row is delivered a second time."""

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        new = super().store(tx, row, now_ms)
        if not new and row.route.mode.waits:
            which = (
                "state = 'pending' AND attempts = 0 AND delivery = ? AND sequence = ? AND route = ? AND not_before > ?"
            )
            found = tx.query(
                f"SELECT event FROM events WHERE {which}", (row.delivery, row.sequence, row.route.id, now_ms)
            )
            until = now_ms + int(self._windows["settle_ms"])
            for event in found:
                tx.execute("UPDATE events SET not_before = ? WHERE event = ?", (until, event[0]))
                tx.execute("UPDATE work_items SET run_after = ? WHERE event = ?", (until, event[0]))
        return new


# Given a row still pending more than one window after its settle time T; when its source arrives again;
# then the new row's not-before is T plus one window, which has passed.
@WINDOW_SECOND.plant("windows-on-a-grid", names="SETTLE-028", part="enqueuer")
class WindowsOnAGrid(Enqueuer):
    """Counts the next window from the end of the last one while a row of it is pending, not from now."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        sql = "SELECT MAX(not_before) FROM events WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0"
        last = tx.query(sql, (row.route.id, row.source))[0][0]
        if last is not None and last <= now_ms:
            return int(last) + int(self._windows["settle_ms"])
        return super().settle_time(tx, row, now_ms)


# Given source "Acme" waiting until T; when "acme" arrives on the route; then it waits until T too.
@WINDOW_SECOND.plant("source-case-folded", names="SETTLE-029", part="ledger")
class SourceCaseFolded(Ledger):
    """Looks for an open window without regard to the case of the source."""

    def open_until(self, tx: Transaction, route: str, source: str, now_ms: int) -> int | None:
        sql = (
            "SELECT MIN(not_before) FROM events WHERE route = ? AND source = ? COLLATE NOCASE AND state = 'pending'"
            " AND attempts = 0 AND not_before > ?"
        )
        found = tx.query(sql, (route, source, now_ms))[0][0]
        return None if found is None else int(found)


# Given settled routes R1 and R2, source A waiting until T on R1 alone; when an Event of A arrives that both take;
# then R2's row waits until T.
@WINDOW_SECOND.plant("event-waits-as-one", names="SETTLE-030", part="enqueuer")
class EventWaitsAsOne(Enqueuer):
    """Gives an Event that opens a window on one route the timestamp that it just got on another."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        if self._ledger.open_until(tx, row.route.id, row.source, now_ms) is None:
            sql = "SELECT MIN(not_before) FROM events WHERE delivery = ? AND sequence = ? AND not_before > ?"
            other = tx.query(sql, (row.delivery, row.sequence, now_ms))[0][0]
            if other is not None:
                return int(other)
        return super().settle_time(tx, row, now_ms)
