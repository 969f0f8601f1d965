"""Claims: a worker selects the head of a lane and collapses its siblings, in one commit; lapsed claims go back."""

from __future__ import annotations

from typing import Any

from conformance.kit import Ports, Time
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE, Ledger
from reference_impl.settle.model import Event, Held, Raw, Route
from reference_impl.store import Row, Transaction


class Reaper:
    """Takes back claims whose lease is over by a trusted clock, and no others (SETTLE-040, SETTLE-042)."""

    def __init__(self, ledger: Ledger, ports: Ports, config: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._config = config

    def reap(self, scan: str, reclaim: str) -> int:
        """One pass; how many claims went back. ``scan`` and ``reclaim`` are the names of its steps."""
        now = self._ports.clock.now(scan)
        count = 0
        for row in self.lapsed(scan, now):
            trigger, values = self.fate(row)
            with self._store.transaction(reclaim) as tx:
                count += self._ledger.move(tx, row["event"], trigger, held_by=row["token"], item={}, **values)
        return count

    def lapsed(self, scan: str, now: Time) -> list[Row]:
        """The claims whose lease is over."""
        if not now.trusted:
            return []
        sql = "SELECT event, token, attempts FROM events WHERE state = 'processing' AND lease_expires_at < ?"
        return self._store.read(scan, sql, (now.wall_ms,))

    def fate(self, row: Row) -> tuple[str, dict[str, Any]]:
        """(trigger, columns) for one lapsed claim: attempts were charged at the claim."""
        if row["attempts"] >= self._config["retry"]["budget"]:
            return "lease_exhaust", {**FREE, "error": "lease lost"}
        # The obsolete token stays until the row is claimed again or collapsed.
        return "lease_expire", {"worker": None, "lease_expires_at": None}


class Claimer:
    """One poll of a worker over all lanes."""

    lane_class = Lane

    def __init__(self, ledger: Ledger, reaper: Reaper, ports: Ports, routes: dict[str, Route], config: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._reaper = reaper
        self._ports = ports
        self._routes = routes
        self._config = config

    def claim(self, named: int | None) -> Held | None:
        """The claim that was taken, or None; raises StoreFailed or AckLost."""
        self._reaper.reap("claim.lapsed", "claim.reclaim")
        now = self._ports.clock.now("claim.scan")
        for route, source in self.lanes(now, named):
            held = self.take(route, source, now, named)
            if held is not None:
                return held
        return None

    def lanes(self, now: Time, named: int | None) -> list[tuple[str, str]]:
        """The lanes to look at."""
        if named is not None:
            return self._ledger.lane_of("claim.scan", named)
        return self._ledger.due_lanes("claim.scan", now.wall_ms)

    def take(self, route: str, source: str, now: Time, named: int | None) -> Held | None:
        """Select, claim and collapse over the rows as they are inside the transaction."""
        token = self._ports.ids.new("claim.take")
        mode = self._routes[route].mode
        with self._store.transaction("claim.take") as tx:
            lane = self.lane_class(self._ledger.lane(tx, route, source))
            head = lane.select(now.wall_ms, mode.coalesces, named)
            if head is None:
                return None
            taken = lane.generation(head) if mode.coalesces else {head.id}
            for id_ in sorted(taken - {head.id}):
                self.collapse(tx, lane.events[id_], head)
            self.seize(tx, head, token, now)
        return Held(head.id, token, route, source)

    def seize(self, tx: Transaction, head: Event, token: str, now: Time) -> None:
        """The head gets token and lease; the attempt is charged here (reading of 'When an attempt is counted')."""
        lease = now.wall_ms + int(self._config["windows"]["lease_ms"])
        holder = {"token": token, "worker": self._ports.actor, "lease_expires_at": lease}
        self._ledger.move(tx, head.id, "claim", item={"served": None}, attempts=head.attempts + 1, **holder)

    def collapse(self, tx: Transaction, member: Event, head: Event) -> None:
        """Skipped, without lease identity, and the head that it serves on record (GEN-016, GEN-047)."""
        if member.state == "skipped":
            self._ledger.serve(tx, member.id, head.id)
        else:
            self._ledger.move(tx, member.id, "collapse", item={"served": head.id}, **FREE)
