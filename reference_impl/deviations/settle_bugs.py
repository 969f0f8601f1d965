"""Deviations after bugs that real debouncers, queues and coalescers had; each names the report that tells of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.kit import Time
from reference_impl.planting import Collection
from reference_impl.settle.claim import Claimer
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.flow import Reader
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE
from reference_impl.settle.model import Event, Held
from reference_impl.settle.replay import Replayer
from reference_impl.store import Row, Transaction

BUGS = Collection("settle-lanes")


@BUGS.plant("br-35-trailing-event-dropped", names="GEN-031", part="enqueuer")
class TrailingEventDropped(Enqueuer):
    """BR-35: an Event that comes while its lane is being executed counts as a duplicate of the running work."""

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        stored = super().store(tx, row, now_ms)
        if stored and row.route.mode.coalesces:
            lane = self._ledger.lane(tx, row.route.id, row.source)
            running = [e for e in lane if e.state == "processing"]
            if running:
                self._ledger.move(tx, lane[-1].id, "collapse", item={}, **FREE)
        return stored


@BUGS.plant("br-36-timer-after-entry", names="SETTLE-020", part="enqueuer")
class TimerAfterEntry(Enqueuer):
    """BR-36: writes the entry and then its timer; the next arrival restores a missing timer with a fresh window."""

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        with self._store.transaction("deliver.bulk") as tx:
            self.restore(tx, now_ms)
            stored = 0
            for row in rows:
                if self.store(tx, row, now_ms):
                    stored += 1
                    tx.execute("DELETE FROM work_items WHERE event = (SELECT MAX(event) FROM events)")
        with self._store.transaction("deliver.timer") as tx:
            self._insert(tx, "not_before")
        return stored

    def restore(self, tx: Transaction, now_ms: int) -> None:
        """Give every entry without a timer one that begins now."""
        self._insert(tx, str(now_ms + int(self._windows["settle_ms"])))

    def _insert(self, tx: Transaction, time: str) -> None:
        missing = "event NOT IN (SELECT event FROM work_items)"
        sql = f"INSERT INTO work_items (event, state, run_after) SELECT event, state, {time} FROM events"
        tx.execute(f"{sql} WHERE {missing}")


class _Watermark(Lane):
    def select(self, now_ms: int, coalesces: bool, named: int | None = None) -> Event | None:
        passed = max((e.key.ordinal for e in self.events.values() if self.ended(e)), default=0)
        seen = {i: e for i, e in self.events.items() if not (e.state == "pending" and 0 < e.key.ordinal <= passed)}
        return Lane(seen.values()).select(now_ms, coalesces, named)


@BUGS.plant("br-37-watermark-skips-late-commits", names="SETTLE-022", part="claimer")
class WatermarkSkipsLateCommits(Claimer):
    """BR-37: remembers the largest ordinal that was executed and never looks below it again."""

    lane_class = _Watermark


@BUGS.plant("br-38-refusal-costs-an-attempt", names="SETTLE-032", part="claimer")
class RefusalCostsAnAttempt(Claimer):
    """BR-38: a worker refuses lanes with rows of the other version, and every refusal costs those an attempt."""

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        budget = int(self._config["retry"]["budget"])
        with self._store.transaction("claim.refuse") as tx:
            mixed = "route = ? AND source = ? AND ordinal = 0 AND state = 'pending'"
            refused = tx.execute(f"UPDATE events SET attempts = attempts + 1 WHERE {mixed}", (route, source))
            spent = tx.query(f"SELECT event FROM events WHERE {mixed} AND attempts >= ?", (route, source, budget))
            for row in spent:
                for sql in ("processing", "dead"):
                    tx.execute("UPDATE events SET state = ? WHERE event = ?", (sql, row["event"]))
                    tx.execute("UPDATE work_items SET state = ? WHERE event = ?", (sql, row["event"]))
        return None if refused else super().take(route, source, now, named)


@BUGS.plant("br-39-replay-at-the-front", names="GEN-021", part="replayer")
class ReplayAtTheFront(Replayer):
    """BR-39: moves what is replayed back to the front of the queue, where nothing keeps its order."""

    def fresh(self, tx: Transaction, original: Row, now_ms: int) -> Mapping[str, Any]:
        return {**super().fresh(tx, original, now_ms), "ordinal": 1}


@BUGS.plant("br-40-folded-into-the-first", names="ORDER-024", part="reader")
class FoldedIntoTheFirst(Reader):
    """BR-40: folds the latest change into the position of the earliest one, ahead of what it builds upon."""

    def read(self, held: Held) -> dict[str, Any]:
        said = super().read(held)
        rows = said.get("rows", [])
        return {**said, "rows": [*rows[-1:], *rows[:-1]]} if len(rows) > 1 else said
