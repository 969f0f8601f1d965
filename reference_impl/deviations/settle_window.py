"""First set of deviations of the settle lanes, part one: windows, modes, metrics, claims and stored facts (SETTLE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher, Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import ANY, FREE, Ledger
from reference_impl.settle.metadata import Metadata
from reference_impl.settle.metrics import Gauge
from reference_impl.settle.model import Event, Held, Raw
from reference_impl.settle.replay import Replayer
from reference_impl.store import Row, Transaction

WINDOW = Collection("settle-lanes")


# -- who waits, and until when -----------------------------------------------------------------------------------------


@WINDOW.plant("one-provider-settles", names="SETTLE-001", part="enqueuer")
class OneProviderSettles(Enqueuer):
    """Gives a window to the rows of one source that it knows by name, and to no other."""

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        columns = dict(super().columns(tx, row, now_ms))
        return columns if row.source == "acme" else {**columns, "not_before": None}


@WINDOW.plant("window-for-every-full-record-route", names="SETTLE-002", part="enqueuer")
class WindowForEveryFullRecordRoute(Enqueuer):
    """Applies the window to every latest-by-source full-record route."""

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        columns = dict(super().columns(tx, row, now_ms))
        if row.route.mode.coalesces and row.route.mode.filter == "refused":
            columns["not_before"] = self.settle_time(tx, row, now_ms)
        return columns


@WINDOW.plant("mode-by-prefix", names="SETTLE-014", part="enqueuer")
class ModeByPrefix(Enqueuer):
    """Recognises the settled mode by a prefix that an existing mode shares, and dates its Events."""

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        stored = super().store(tx, row, now_ms)
        if stored and row.route.mode.name.startswith("latest"):
            later = self.settle_time(tx, row, now_ms)
            tx.execute("UPDATE events SET not_before = ? WHERE event = (SELECT MAX(event) FROM events)", (later,))
        return stored


@WINDOW.plant("one-run-after-for-the-batch", names="SETTLE-015", part="enqueuer")
class OneRunAfterForTheBatch(Enqueuer):
    """Writes the settle RunAfter on the whole batch when one row in it is settled."""

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        with self._store.transaction("deliver.bulk") as tx:
            stored = sum(self.store(tx, row, now_ms) for row in rows)
            if stored and any(row.route.mode.waits for row in rows):
                later = now_ms + int(self._windows["settle_ms"])
                sql = "UPDATE work_items SET run_after = ? WHERE run_after IS NULL AND event IN"
                tx.execute(f"{sql} (SELECT event FROM events WHERE delivery = ?)", (later, rows[0].delivery))
            return stored


@WINDOW.plant("two-clock-reads", names="SETTLE-018", part="enqueuer")
class TwoClockReads(Enqueuer):
    """The bulk path reads the clock once for Events and once for WorkItems."""

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        with self._store.transaction("deliver.bulk") as tx:
            stored = 0
            for row in rows:
                fresh = self.store(tx, row, now_ms)
                stored += fresh
                if fresh and row.route.mode.waits:
                    again = self._ports.clock.now("deliver.bulk").wall_ms + int(self._windows["settle_ms"])
                    latest = "event = (SELECT MAX(event) FROM events)"
                    tx.execute(f"UPDATE work_items SET run_after = ? WHERE {latest}", (again,))
            return stored


@WINDOW.plant("fallback-forgets-run-after", names="SETTLE-019", part="enqueuer")
class FallbackForgetsRunAfter(Enqueuer):
    """The fallback path sets NextAttemptAt and leaves RunAfter at now."""

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for row in rows:
            with self._store.transaction("deliver.row") as tx:
                if self.store(tx, row, now_ms):
                    stored += 1
                    latest = "event = (SELECT MAX(event) FROM events)"
                    tx.execute(f"UPDATE work_items SET run_after = ? WHERE {latest}", (now_ms,))
        return stored


@WINDOW.plant("run-after-patched-later", names="SETTLE-020", part="enqueuer")
class RunAfterPatchedLater(Enqueuer):
    """Commits WorkItems as due now and patches them to the settle time in a second transaction."""

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        with self._store.transaction("deliver.bulk") as tx:
            stored = sum(self.store(tx, row, now_ms) for row in rows)
            mine = "event IN (SELECT event FROM events WHERE delivery = ?)"
            tx.execute(f"UPDATE work_items SET run_after = ? WHERE {mine}", (now_ms, rows[0].delivery))
        with self._store.transaction("deliver.patch") as tx:
            right = "(SELECT not_before FROM events e WHERE e.event = work_items.event)"
            tx.execute(f"UPDATE work_items SET run_after = {right} WHERE {mine}", (rows[0].delivery,))
        return stored


class _OtherStamp(Enqueuer):
    """Looks the open timestamp up otherwise: ``sql`` with the parameters of ``params``."""

    sql = ""

    def params(self, row: Incoming, now_ms: int) -> tuple[Any, ...]:
        return (row.route.id, row.source, now_ms)

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        found = tx.query(f"SELECT {self.sql}", self.params(row, now_ms))
        if found and found[0][0] is not None:
            return int(found[0][0])
        return now_ms + int(self._windows["settle_ms"])


_OPEN = "state = 'pending' AND attempts = 0 AND not_before > ?"


@WINDOW.plant("stamp-of-the-delivery", names="SETTLE-024", part="enqueuer")
class StampOfTheDelivery(_OtherStamp):
    """Looks for the open timestamp inside the current delivery only."""

    sql = f"MIN(not_before) FROM events WHERE route = ? AND source = ? AND delivery = ? AND {_OPEN}"

    def params(self, row: Incoming, now_ms: int) -> tuple[Any, ...]:
        return (row.route.id, row.source, row.delivery, now_ms)


@WINDOW.plant("latest-stamp", names="SETTLE-026", part="enqueuer")
class LatestStamp(_OtherStamp):
    """Takes the timestamp that was written last."""

    sql = f"not_before FROM events WHERE route = ? AND source = ? AND {_OPEN} ORDER BY not_before DESC LIMIT 1"


@WINDOW.plant("sliding-debounce", names="SETTLE-027", part="enqueuer")
class SlidingDebounce(Enqueuer):
    """Each arrival rewrites the timestamp of the burst."""

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        later = now_ms + int(self._windows["settle_ms"])
        lane = f"route = ? AND source = ? AND {_OPEN}"
        params = (later, row.route.id, row.source, now_ms)
        items = f"UPDATE work_items SET run_after = ? WHERE event IN (SELECT event FROM events WHERE {lane})"
        tx.execute(items, params)
        tx.execute(f"UPDATE events SET not_before = ? WHERE {lane}", params)
        return later


@WINDOW.plant("passed-stamp", names="SETTLE-028", part="enqueuer")
class PassedStamp(_OtherStamp):
    """Takes over the timestamp of the earliest pending sibling, though it has passed."""

    sql = "MIN(not_before) FROM events WHERE route = ? AND source = ? AND state = 'pending' AND ? > 0"


@WINDOW.plant("stamp-by-route", names="SETTLE-029", part="enqueuer")
class StampByRoute(_OtherStamp):
    """Looks the open timestamp up by route only."""

    sql = f"MIN(not_before) FROM events WHERE route = ? AND ? <> '' AND {_OPEN}"


@WINDOW.plant("stamp-by-source", names="SETTLE-030", part="enqueuer")
class StampBySource(_OtherStamp):
    """Looks the open timestamp up by source only."""

    sql = f"MIN(not_before) FROM events WHERE ? <> '' AND source = ? AND {_OPEN}"


# -- facts -------------------------------------------------------------------------------------------------------------


@WINDOW.plant("collapsed-rows-removed", names="SETTLE-005", part="finisher")
class CollapsedRowsRemoved(Finisher):
    """Deletes the collapsed siblings once their head is processed."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        recorded = super().record(tx, held, outcome, now_ms)
        if recorded and outcome == "success":
            gone = tx.query("SELECT event FROM work_items WHERE served = ?", (held.event,))
            for row in gone:
                tx.execute("UPDATE work_items SET served = NULL WHERE served = ?", (row["event"],))
                tx.execute("DELETE FROM work_items WHERE event = ?", (row["event"],))
                tx.execute("DELETE FROM events WHERE event = ?", (row["event"],))
        return recorded


@WINDOW.plant("settle-time-in-the-key", names="SETTLE-031", part="enqueuer", unguarded=True)
class SettleTimeInTheKey(Enqueuer):
    """Makes the settle timestamp a part of the idempotency key."""

    def known(self, tx: Transaction, row: Incoming) -> bool:
        if not row.route.mode.waits:
            return super().known(tx, row)
        stamp = self.settle_time(tx, row, self._ports.clock.now("deliver.bulk").wall_ms)
        sql = "SELECT 1 FROM events WHERE delivery = ? AND sequence = ? AND route = ? AND not_before = ?"
        return bool(tx.query(sql, (row.delivery, row.sequence, row.route.id, stamp)))


@WINDOW.plant("key-without-route", names="SETTLE-044", part="enqueuer")
class KeyWithoutRoute(Enqueuer):
    """Leaves the route out of the idempotency key."""

    def known(self, tx: Transaction, row: Incoming) -> bool:
        sql = "SELECT 1 FROM events WHERE delivery = ? AND sequence = ?"
        return bool(tx.query(sql, (row.delivery, row.sequence)))


@WINDOW.plant("item-finished-later", names="SETTLE-043", part="finisher")
class ItemFinishedLater(Finisher):
    """Finishes the WorkItem in a transaction of its own, after that of its Event."""

    def finish(self, held: Held, outcome: str) -> dict[str, Any]:
        said = super().finish(held, outcome)
        if said["status"] == "recorded":
            state = "(SELECT state FROM events e WHERE e.event = work_items.event)"
            time = "(SELECT not_before FROM events e WHERE e.event = work_items.event)"
            try:
                with self._store.transaction("finish.item") as tx:
                    tx.execute(
                        f"UPDATE work_items SET state = {state}, run_after = {time} WHERE event = ?", (held.event,)
                    )
            except (StoreFailed, AckLost):
                pass
        return said

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        del item
        dest = {"execute_ok": "processed", "execute_skip": "skipped", "execute_fail_final": "dead"}
        sets = {"state": dest.get(trigger, "pending"), **values}
        names = ", ".join(f"{name} = ?" for name in sets)
        sql = f"UPDATE events SET {names} WHERE event = ? AND state = 'processing' AND token = ?"
        return tx.execute(sql, (*sets.values(), held.event, held.token)) == 1


@WINDOW.plant("replay-reopens", names="SETTLE-033", part="replayer", unguarded=True)
class ReplayReopens(Replayer):
    """Reopens the original instead of adding a fresh row."""

    def replay(self, event: int) -> dict[str, Any]:
        try:
            with self._store.transaction("replay_event.enqueue") as tx:
                found = tx.query("SELECT state FROM events WHERE event = ?", (event,))
                if not found or found[0]["state"] not in ("processed", "dead"):
                    return {"status": "refused"}
                for table in ("events", "work_items"):
                    tx.execute(f"UPDATE {table} SET state = 'pending' WHERE event = ?", (event,))
        except StoreFailed:
            return {"status": "unavailable"}
        except AckLost:
            return {"status": "unknown"}
        return {"status": "replayed", "event": event}


# -- claims ------------------------------------------------------------------------------------------------------------


class _BurstLane(Lane):
    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        waiting = [e for e in self.events.values() if e.state == "pending"]
        return super().select(2**60 if len(waiting) > 1 else now_ms, coalesces, named)


@WINDOW.plant("bursts-ignore-the-window", names="SETTLE-003", part="claimer")
class BurstsIgnoreTheWindow(Claimer):
    """Ignores the not-before time where the lane holds more than one row."""

    lane_class = _BurstLane

    def lanes(self, now: Time, named: int | None) -> list[tuple[str, str]]:
        return super().lanes(Time(2**60, now.mono_ms, now.trusted), named)


@WINDOW.plant("retry-opens-a-window", names="SETTLE-004", part="finisher")
class RetryOpensAWindow(Finisher):
    """Schedules a retry one settle window from now."""

    def __init__(self, ledger: Ledger, ports: Any, config: Raw) -> None:
        super().__init__(ledger, ports, config)
        self._window = int(config["windows"]["settle_ms"])

    def backoff(self, tx: Transaction, held: Held) -> int:
        return self._window if held.route == "settled" else super().backoff(tx, held)


class _FirstLane(Lane):
    def generation(self, head: Event) -> set[int]:
        return {head.id}

    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        del coalesces
        return super().select(now_ms, False, named)


@WINDOW.plant("siblings-one-by-one", names="SETTLE-006", part="claimer")
class SiblingsOneByOne(Claimer):
    """Executes each due sibling before anything is collapsed."""

    lane_class = _FirstLane


@WINDOW.plant("window-anew-at-every-poll", names="SETTLE-007", part="claimer")
class WindowAnewAtEveryPoll(Claimer):
    """Recomputes the not-before time of waiting settled rows at every poll."""

    def claim(self, named: int | None) -> Held | None:
        later = self._ports.clock.now("claim.scan").wall_ms + int(self._config["windows"]["settle_ms"])
        mine = "state = 'pending' AND attempts = 0 AND not_before IS NOT NULL"
        with self._store.transaction("claim.renew") as tx:
            ids = f"(SELECT event FROM events WHERE {mine})"
            tx.execute(f"UPDATE work_items SET run_after = ? WHERE event IN {ids}", (later,))
            tx.execute(f"UPDATE events SET not_before = ? WHERE {mine}", (later,))
        return super().claim(named)


@WINDOW.plant("coalesces-at-enqueue", names="SETTLE-008", part="enqueuer")
class CoalescesAtEnqueue(Enqueuer):
    """Collapses rows of the baseline mode when a later one is enqueued."""

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        stored = super().store(tx, row, now_ms)
        if stored and row.route.mode.name == "full_record_preserve":
            lane = self._ledger.lane(tx, row.route.id, row.source)
            for event in [e for e in lane if e.state == "pending"][:-1]:
                self._ledger.move(tx, event.id, "collapse", item={"served": lane[-1].id}, **FREE)
        return stored


@WINDOW.plant("late-arrival-folded-in", names="SETTLE-009", part="finisher")
class LateArrivalFoldedIn(Finisher):
    """Folds what arrived while a Flow ran into that execution, in the baseline mode."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        recorded = super().record(tx, held, outcome, now_ms)
        if recorded and held.route == "preserve":
            for event in self._ledger.lane(tx, held.route, held.source):
                if event.state == "pending" and event.id != held.event:
                    self._ledger.move(tx, event.id, "collapse", item={"served": held.event}, **FREE)
        return recorded


class _NamedLane(Lane):
    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        if named is None:
            return super().select(now_ms, coalesces)
        event = self.events.get(named)
        return event if event is not None and event.state == "pending" else None


@WINDOW.plant("by-name-at-any-time", names="SETTLE-021", part="claimer")
class ByNameAtAnyTime(Claimer):
    """A poll looks at the time; a claim by the name of an Event looks at nothing."""

    lane_class = _NamedLane


class _EmptyTimeLane(Lane):
    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        head = super().select(now_ms, coalesces, named)
        return head if head is not None and head.not_before is None else None


@WINDOW.plant("time-must-be-empty", names="SETTLE-022", part="claimer")
class TimeMustBeEmpty(Claimer):
    """Claims only rows whose NextAttemptAt is empty."""

    lane_class = _EmptyTimeLane


class _RunningIgnoredLane(Lane):
    def turn(self) -> Event | None:
        waiting = [e for e in self.events.values() if e.state == "pending"]
        return self.events[self.sequence(waiting)[0]] if waiting else None


@WINDOW.plant("running-holds-nothing-back", names="SETTLE-039", part="claimer")
class RunningHoldsNothingBack(Claimer):
    """Looks for pending predecessors only, so that a running one holds nothing back."""

    lane_class = _RunningIgnoredLane


@WINDOW.plant("recovery-takes-everything", names="SETTLE-040", part="reaper")
class RecoveryTakesEverything(Reaper):
    """Recovery returns every row in execution to pending, whatever its lease."""

    def lapsed(self, scan: str, now: Time) -> list[Row]:
        if scan != "reap.scan":
            return super().lapsed(scan, now)
        return self._store.read(scan, "SELECT event, token, attempts FROM events WHERE state = 'processing'")


@WINDOW.plant("result-by-id-alone", names="SETTLE-041", part="finisher")
class ResultByIdAlone(Finisher):
    """Writes a result by Event id alone and compares no tokens."""

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        return self._ledger.move(tx, held.event, trigger, held_by=ANY, item=item or {}, **values)


@WINDOW.plant("reaper-revives-skips", names="SETTLE-042", part="reaper", unguarded=True)
class ReaperRevivesSkips(Reaper):
    """Looks for a token and no running lease whatever the state, so that an executed skip comes back to life."""

    def reap(self, scan: str, reclaim: str) -> int:
        count = super().reap(scan, reclaim)
        if scan != "reap.scan":
            return count
        mine = "state = 'skipped' AND token IS NOT NULL AND error IS NULL AND lease_expires_at IS NULL"
        with self._store.transaction(reclaim) as tx:
            ids = f"(SELECT event FROM events WHERE {mine})"
            tx.execute(f"UPDATE work_items SET state = 'pending' WHERE event IN {ids}")
            return count + tx.execute(f"UPDATE events SET state = 'pending' WHERE {mine}")


@WINDOW.plant("waiting-is-attempt-one", names="SETTLE-032", part="finisher")
class WaitingIsAttemptOne(Finisher):
    """Counts the delayed enqueue of a settled row as its first attempt."""

    def budget_left(self, tx: Transaction, held: Held) -> bool:
        attempts = tx.query("SELECT attempts FROM events WHERE event = ?", (held.event,))[0][0]
        return bool(attempts + (held.route == "settled") < self._retry["budget"])


# -- modes and metrics -------------------------------------------------------------------------------------------------


@WINDOW.plant("unknown-falls-back", names="SETTLE-034", part="metadata")
class UnknownFallsBack(Metadata):
    """Normalizes a name that it does not know to the baseline full-record mode."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        return super().normalize("full_record_preserve" if mode == "settled" else mode, has_filter)


@WINDOW.plant("filter-ignored", names="SETTLE-035", part="metadata")
class FilterIgnored(Metadata):
    """Accepts a filter together with the settled mode and ignores it."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        return super().normalize(mode, has_filter and mode != "settled")


@WINDOW.plant("filter-refused-widely", names="SETTLE-036", part="metadata")
class FilterRefusedWidely(Metadata):
    """Refuses a filter for every latest-by-source mode."""

    def normalize(self, mode: str, has_filter: bool) -> dict[str, Any]:
        if has_filter and mode == "latest":
            return {"status": "refused", "reason": "a latest-by-source mode takes no filter"}
        return super().normalize(mode, has_filter)


@WINDOW.plant("restores-for-every-mode", names="SETTLE-037", part="reader")
class RestoresForEveryMode(Reader):
    """Restores the generation also where the mode does not preserve payloads."""

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        del held, head
        return found


@WINDOW.plant("every-pending-row-is-due", names="SETTLE-016", part="gauge")
class EveryPendingRowIsDue(Gauge):
    """Counts every pending row."""

    due = "w.state = 'pending'"


@WINDOW.plant("settled-rows-never-due", names="SETTLE-017", part="gauge")
class SettledRowsNeverDue(Gauge):
    """Leaves rows of the settled mode out altogether."""

    due = "w.state = 'pending' AND w.run_after IS NULL"


@WINDOW.plant("due-by-time-alone", names="SETTLE-038", part="gauge")
class DueByTimeAlone(Gauge):
    """Compares RunAfter with the clock and ignores the state of the WorkItem."""

    due = "w.run_after <= ?"
