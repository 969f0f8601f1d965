"""Third set, made blind: settle lanes, in the seams between what the first two sets have planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.kit import Ports, Setup, StoreFailed, Time
from reference_impl.planting import HOST, Collection
from reference_impl.settle.claim import Claimer, Reaper
from reference_impl.settle.enqueue import Enqueuer, Incoming
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.model import Event, Held, Raw
from reference_impl.settle.replay import Replayer
from reference_impl.settle.runtime import Lanes
from reference_impl.store import Row, Store, Transaction
from statemachines.spec import Spec

SETTLE_THIRD = Collection("settle-lanes")


# Given two processes that deliver to one lane, one held ahead of its transaction; when the other stores a row and the
# first goes on; then the two rows wait for different times.
@SETTLE_THIRD.plant("window-read-ahead", names="SETTLE-024", part="enqueuer")
class WindowReadAhead(Enqueuer):
    """Looks for open timestamps before the transaction that stores, to keep that short."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._open: dict[tuple[str, str], int | None] = {}

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        for row in rows:
            self._look("deliver.bulk", row, now_ms)
        return super().bulk(rows, now_ms)

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        stored = 0
        for row in rows:
            self._look("deliver.row", row, now_ms)
            stored += super().fallback([row], now_ms)
        return stored

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        del tx
        still_open = self._open.get((row.route.id, row.source))
        return now_ms + int(self._windows["settle_ms"]) if still_open is None else still_open

    def _look(self, step: str, row: Incoming, now_ms: int) -> None:
        sql = (
            "SELECT MIN(not_before) FROM events WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0"
            " AND not_before > ?"
        )
        if row.route.mode.waits:
            found = self._store.read(step, sql, (row.route.id, row.source, now_ms))
            self._open[row.route.id, row.source] = found[0][0]


class _SettlingReaper(Reaper):
    waiting: frozenset[str] = frozenset()

    def reap(self, scan: str, reclaim: str) -> int:
        """One pass; a row of a settled route begins its burst anew."""
        now = self._ports.clock.now(scan)
        later = now.wall_ms + int(self._config["windows"]["settle_ms"])
        count = 0
        for row in self.lapsed(scan, now):
            trigger, values = self.fate(row)
            with self._store.transaction(reclaim) as tx:
                item: dict[str, Any] = {}
                if trigger == "lease_expire" and self._route(tx, row) in self.waiting:
                    values, item = {**values, "not_before": later}, {"run_after": later}
                count += self._ledger.move(tx, row["event"], trigger, held_by=row["token"], item=item, **values)
        return count

    def _route(self, tx: Transaction, row: Row) -> str:
        return str(tx.query("SELECT route FROM events WHERE event = ?", (row["event"],))[0][0])


# Given a settled head whose worker died; when its lease is over and recovery returns it; then it waits for another
# window before it is tried again.
@SETTLE_THIRD.plant("lost-lease-settles-again", names="SETTLE-004", part=HOST)
class LostLeaseSettlesAgain(Lanes):
    """Gives a settled row that comes back from a lost lease another window, in which its burst may go on."""

    reaper_class = _SettlingReaper

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        if isinstance(self.reaper, _SettlingReaper):
            self.reaper.waiting = frozenset(id_ for id_, route in self.routes.items() if route.mode.waits)


class _LeaseLedger(Ledger):
    now_ms = 0

    def lane(self, tx: Transaction, route: str, source: str) -> list[Event]:
        """The lane without rows whose lease the wall clock has passed."""
        sql = "SELECT event FROM events WHERE state = 'processing' AND lease_expires_at < ?"
        lapsed = {row[0] for row in tx.query(sql, (self.now_ms,))}
        return [event for event in super().lane(tx, route, source) if event.id not in lapsed]


class _LeaseClaimer(Claimer):
    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        """Judge leases by the wall clock of this poll."""
        if isinstance(self._ledger, _LeaseLedger):
            self._ledger.now_ms = now.wall_ms
        return super().take(route, source, now, named)


# Given h held and a clock that jumped beyond its lease and is not trusted; when another worker polls; then h is not
# taken back, and its due successor is claimed beside it.
@SETTLE_THIRD.plant("lapsed-lease-holds-nobody", names="SETTLE-039", part=HOST)
class LapsedLeaseHoldsNobody(Lanes):
    """Counts a row as being executed only while its lease runs by the wall clock, trusted or not."""

    ledger_class = _LeaseLedger
    claimer_class = _LeaseClaimer


# Given A's lease on h lost and h claimed by B; when A reports; then its token is the one that B has, and the result is
# recorded.
@SETTLE_THIRD.plant("token-names-the-row", names="SETTLE-041", part="claimer")
class TokenNamesTheRow(Claimer):
    """Makes the claim token of the row alone, so that each claim of it has the same one."""

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        held = super().take(route, source, now, named)
        return None if held is None else replace(held, token=f"claim-{held.event}")

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        del token
        super().seize(tx, head, f"claim-{head.id}", now)


# Given d dead with a sibling collapsed into it, and a late row that compares before d and behind that sibling; when the
# late row is executed; then the sibling is an input once more.
@SETTLE_THIRD.plant("dead-consumes-nothing", names="GEN-046", part="claimer")
class DeadConsumesNothing(Claimer):
    """Takes the siblings of a dead head for rows that no Flow has seen."""

    class Chooser(Lane):
        """Consumed are siblings of heads that came to something."""

        def find_consumed(self) -> frozenset[int]:
            dead = {e.id for e in self.events.values() if e.state == "dead"}
            freed = {e.id for e in self.events.values() if e.state == "skipped" and e.served in dead}
            return super().find_consumed() - freed

    lane_class = Chooser


# Given a burst in its open window and an ended row of its lane; when that row is replayed; then the burst is executed
# at once.
@SETTLE_THIRD.plant("replay-opens-the-lane", names="SETTLE-003", part="replayer")
class ReplayOpensTheLane(Replayer):
    """Makes what waits in a lane due when a row of it is replayed, as the replay would have to wait behind it."""

    def fresh(self, tx: Transaction, original: Row, now_ms: int) -> Mapping[str, Any]:
        waiting = "SELECT event FROM events WHERE route = ? AND source = ? AND state = 'pending' AND attempts = 0"
        for row in tx.query(f"{waiting} AND not_before > ?", (original["route"], original["source"], now_ms)):
            tx.execute("UPDATE events SET not_before = ? WHERE event = ?", (now_ms, row[0]))
            tx.execute("UPDATE work_items SET run_after = ? WHERE event = ?", (now_ms, row[0]))
        return super().fresh(tx, original, now_ms)


# Given two processes that take turns in delivering to one lane; when the first delivers again; then its row gets an
# ordinal below that of the second process.
@SETTLE_THIRD.plant("ordinals-in-blocks", names="ORDER-026", part="ledger")
class OrdinalsInBlocks(Ledger):
    """Takes ordinals in blocks of ten for each process, as a generator of sequences does."""

    _next, _last = 1, 0

    def next_ordinal(self, tx: Transaction) -> int:
        if self._next > self._last:
            block = (super().next_ordinal(tx) + 8) // 10
            self._next, self._last = block * 10 + 1, block * 10 + 10
        self._next += 1
        return self._next - 1


# Given a delivery of which the row-by-row path stored the first row only; when it is sent again; then the rest is lost.
@SETTLE_THIRD.plant("settled-delivery-known-whole", names="SETTLE-031", part="enqueuer")
class SettledDeliveryKnownWhole(Enqueuer):
    """Takes a delivery of which a settled route has any row for one that it has."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._whole: set[str] = set()

    def deliver(self, args: Raw) -> dict[str, Any]:
        sql = "SELECT DISTINCT route FROM events WHERE delivery = ?"
        try:
            self._whole = {row[0] for row in self._store.read("deliver.bulk", sql, (args["delivery"],))}
        except StoreFailed:
            return {"status": "unavailable", "path": args["path"]}
        return super().deliver(args)

    def known(self, tx: Transaction, row: Incoming) -> bool:
        return (row.route.mode.waits and row.route.id in self._whole) or super().known(tx, row)
