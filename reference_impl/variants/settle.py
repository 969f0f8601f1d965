"""Legal variants of the settle lanes: times, budgets, replays, storing, and the repair of an Event and its WorkItem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, Ports, Setup, StoreFailed, Time
from reference_impl.planting import HOST, Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Finisher
from reference_impl.settle.ledger import FREE, Ledger
from reference_impl.settle.metrics import Gauge
from reference_impl.settle.model import Event, Held, Raw
from reference_impl.settle.replay import Replayer
from reference_impl.settle.runtime import Lanes
from reference_impl.store import Row, Store, Transaction
from statemachines.spec import Spec

SETTLE = Collection("settle-lanes")

_DUE = "Exact due instant"
_COUNTED = "When an attempt is counted"
_REPLAY_WINDOW = "Settle window for replay rows"


# -- times -------------------------------------------------------------------------------------------------------------


@SETTLE.plant("window-with-a-bound", names="Length of the settle window/r2", part="enqueuer")
class WindowWithABound(Enqueuer):
    """Takes the window from a host setting that has an upper limit of an hour."""

    def __init__(self, ledger: Ledger, ports: Ports, routes: Any, windows: Raw) -> None:
        super().__init__(ledger, ports, routes, {**windows, "settle_ms": min(int(windows["settle_ms"]), 3_600_000)})


@SETTLE.plant("open-on-any-row", names="Still-open settle timestamp/r1", part="ledger")
class OpenOnAnyRow(Ledger):
    """Takes over a future timestamp of any row of the lane that was never attempted, collapsed ones included."""

    def open_until(self, tx: Transaction, route: str, source: str, now_ms: int) -> int | None:
        sql = "SELECT MIN(not_before) FROM events WHERE route = ? AND source = ? AND attempts = 0 AND not_before > ?"
        found = tx.query(sql, (route, source, now_ms))[0][0]
        return None if found is None else int(found)


class _LaterClaimer(Claimer):
    def lanes(self, now: Time, named: int | None) -> list[tuple[str, str]]:
        return super().lanes(_earlier(now), named)

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        return super().take(route, source, _earlier(now), named)


class _LaterGauge(Gauge):
    due = "w.state = 'pending' AND (w.run_after IS NULL OR w.run_after < ?)"


def _earlier(now: Time) -> Time:
    return Time(now.wall_ms - 1, now.mono_ms, now.trusted)


@SETTLE.plant("due-after-the-instant", names=f"{_DUE}/r2", part=HOST, readings={_DUE: "r2"})
class DueAfterTheInstant(Lanes):
    """A row is due once its time has passed, not at that very millisecond; claim and metrics alike."""

    claimer_class = _LaterClaimer
    gauge_class = _LaterGauge


@SETTLE.plant("late-results-refused", names="Result after the lease time/r2", part="finisher")
class LateResultsRefused(Finisher):
    """Refuses a result from the end of the lease on, though nobody has claimed the row again."""

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        over = tx.query("SELECT lease_expires_at < ? FROM events WHERE event = ?", (now_ms, held.event))[0][0]
        return not over and super().record(tx, held, outcome, now_ms)


@SETTLE.plant("replay-rows-wait", names=f"{_REPLAY_WINDOW}/r1", part=HOST, readings={_REPLAY_WINDOW: "r1"})
class ReplayRowsWait(Lanes):
    """A fresh replay row of a settled route waits for a window of its own."""

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        settled = {route.id for route in self.routes.values() if route.mode.waits}
        window = int(setup.config["windows"]["settle_ms"])

        class Waits(Replayer):
            def fresh(self, tx: Transaction, original: Row, now_ms: int) -> Mapping[str, Any]:
                columns = super().fresh(tx, original, now_ms)
                later = now_ms + window if original["route"] in settled else None
                return {**columns, "not_before": later}

        self.replayer = Waits(self.ledger, ports)
        self._commands["lane.replay"] = lambda args: self.replayer.replay(int(args["event"]))


# -- attempts ----------------------------------------------------------------------------------------------------------


class _FreeClaim(Claimer):
    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        super().seize(tx, head, token, now)
        tx.execute("UPDATE events SET attempts = attempts - 1 WHERE event = ?", (head.id,))


class _ChargedFailure(Finisher):
    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        mine = (held.event, held.token)
        tx.execute("UPDATE events SET attempts = attempts + 1 WHERE event = ? AND token = ?", mine)
        recorded = super().record(tx, held, outcome, now_ms)
        if not recorded:
            tx.execute("UPDATE events SET attempts = attempts - 1 WHERE event = ? AND token = ?", mine)
        return recorded


class _FreeLoss(Reaper):
    def fate(self, row: Row) -> tuple[str, dict[str, Any]]:
        del row
        return "lease_expire", {"worker": None, "lease_expires_at": None}


@SETTLE.plant("charged-at-the-failure", names=f"{_COUNTED}/r2", part=HOST, readings={_COUNTED: "r2"})
class ChargedAtTheFailure(Lanes):
    """Charges an attempt when a failure is reported; a lease that is lost costs none."""

    claimer_class = _FreeClaim
    finisher_class = _ChargedFailure
    reaper_class = _FreeLoss


@SETTLE.plant("token-goes-with-the-lease", names="SETTLE-040/token-cleared", part="reaper")
class TokenGoesWithTheLease(Reaper):
    """Clears the token when it takes a lapsed claim back."""

    def fate(self, row: Row) -> tuple[str, dict[str, Any]]:
        trigger, values = super().fate(row)
        return trigger, {**values, **FREE}


# -- storing -----------------------------------------------------------------------------------------------------------


@SETTLE.plant("bulk-gives-up", names="Bulk and fallback path/r1", part="enqueuer")
class BulkGivesUp(Enqueuer):
    """Has two paths and no way from one to the other: a failed bulk write is told, and the sender decides."""

    def deliver(self, args: Raw) -> dict[str, Any]:
        if args["path"] != "bulk":
            return super().deliver(args)
        now_ms = self._ports.clock.now("deliver.bulk").wall_ms
        try:
            return {"status": "stored", "path": "bulk", "stored": self.bulk(list(self.incoming(args)), now_ms)}
        except AckLost:
            return {"status": "unknown", "path": "bulk"}
        except StoreFailed:
            return {"status": "unavailable", "path": "bulk"}


@SETTLE.plant("empty-means-none", names="Empty diagnostic/r2", part="enqueuer")
class EmptyMeansNone(Enqueuer):
    """Stores an empty text where there is no token and no diagnostic."""

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        return {**super().columns(tx, row, now_ms), "error": "", "token": ""}


@SETTLE.plant("count-only", names="Due metrics/r1", part="gauge")
class CountOnly(Gauge):
    """Keeps the count as its only metric on due work."""

    def read(self) -> dict[str, Any]:
        said = super().read()
        said.pop("oldest_due_at", None)
        return said


@SETTLE.plant("skips-stay", names="Replay of an executed skip/r1", part="replayer")
class SkipsStay(Replayer):
    """Refuses to replay an executed skip."""

    def may(self, row: Row) -> bool:
        return row["state"] != "skipped" and super().may(row)


class _LaterItem(Finisher):
    def finish(self, held: Held, outcome: str) -> dict[str, Any]:
        said = super().finish(held, outcome)
        if said["status"] == "recorded":
            try:
                with self._store.transaction("finish.item") as tx:
                    mend(tx)
            except (StoreFailed, AckLost):
                pass  # the next claim mends it before anything else
        return said

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        del item
        dest = {"execute_ok": "processed", "execute_skip": "skipped", "execute_fail_final": "dead"}
        sets = {"state": dest.get(trigger, "pending"), **values}
        names = ", ".join(f"{name} = ?" for name in sets)
        sql = f"UPDATE events SET {names} WHERE event = ? AND state = 'processing' AND token = ?"
        return tx.execute(sql, (*sets.values(), held.event, held.token)) == 1


class _MendingClaimer(Claimer):
    def claim(self, named: int | None) -> Held | None:
        with self._store.transaction("claim.mend") as tx:
            mend(tx)
        return super().claim(named)


def mend(tx: Transaction) -> None:
    """Take every WorkItem to where its Event stands."""
    event = "(SELECT {} FROM events e WHERE e.event = work_items.event)"
    state, time = event.format("state"), event.format("not_before")
    tx.execute(f"UPDATE work_items SET state = {state}, run_after = {time} WHERE state <> {state}")


@SETTLE.plant("repaired-before-a-claim", names="SETTLE-043/repaired-by-recovery", part=HOST)
class RepairedBeforeAClaim(Lanes):
    """Finishes the WorkItem after its Event, and repairs what a crash left before any worker can claim."""

    finisher_class = _LaterItem
    claimer_class = _MendingClaimer

    def recover(self) -> Mapping[str, Any]:
        try:
            with self._store.transaction("reap.mend") as tx:
                mend(tx)
        except (StoreFailed, AckLost):
            return {"status": "unavailable"}
        return super().recover()


@SETTLE.plant("clears-then-skips", names="GEN-017/clear-then-skip", part="claimer")
class ClearsThenSkips(Claimer):
    """Clears obsolete tokens of pending rows in a commit of its own, ahead of the one that collapses."""

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        with self._store.transaction("claim.clear") as tx:
            stale = "state = 'pending' AND token IS NOT NULL AND route = ? AND source = ?"
            tx.execute(f"UPDATE events SET token = NULL WHERE {stale}", (route, source))
        return super().take(route, source, now, named)
