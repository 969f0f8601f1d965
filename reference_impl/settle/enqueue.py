"""Enqueue: a delivery becomes Events with their WorkItems, by the bulk path or row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.settle.ledger import Ledger
from reference_impl.settle.model import Raw, Route
from reference_impl.store import Transaction


@dataclass(frozen=True, slots=True)
class Incoming:
    """One row that a delivery brings to one route."""

    route: Route
    source: str
    delivery: str
    sequence: int
    payload: str


class Enqueuer:
    """Stores deliveries. The settle window is decided here and nowhere else."""

    def __init__(self, ledger: Ledger, ports: Ports, routes: Sequence[Route], windows: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._routes = routes
        self._windows = windows

    def deliver(self, args: Raw) -> dict[str, Any]:
        """One delivery. A bulk write that certainly failed is followed by the fallback."""
        rows = list(self.incoming(args))
        now_ms = self._ports.clock.now("deliver.bulk").wall_ms
        if args["path"] == "bulk":
            try:
                return {"status": "stored", "path": "bulk", "stored": self.bulk(rows, now_ms)}
            except AckLost:
                return {"status": "unknown", "path": "bulk"}
            except StoreFailed:
                pass
        try:
            return {"status": "stored", "path": "fallback", "stored": self.fallback(rows, now_ms)}
        except AckLost:
            return {"status": "unknown", "path": "fallback"}
        except StoreFailed:
            return {"status": "unavailable", "path": "fallback"}

    def incoming(self, args: Raw) -> Iterator[Incoming]:
        """One row for each Event and each route that takes its kind."""
        for sequence, event in enumerate(args["events"]):
            for route in self._routes:
                if event["kind"] in route.kinds:
                    yield Incoming(route, event["source"], args["delivery"], sequence, event["payload"])

    def bulk(self, rows: Sequence[Incoming], now_ms: int) -> int:
        """All rows in one transaction; how many are new."""
        with self._store.transaction("deliver.bulk") as tx:
            return sum(self.store(tx, row, now_ms) for row in rows)

    def fallback(self, rows: Sequence[Incoming], now_ms: int) -> int:
        """Each row in a transaction of its own."""
        stored = 0
        for row in rows:
            with self._store.transaction("deliver.row") as tx:
                stored += self.store(tx, row, now_ms)
        return stored

    def store(self, tx: Transaction, row: Incoming, now_ms: int) -> bool:
        """Store one row unless it is there already."""
        if self.known(tx, row):
            return False
        self._ledger.insert(tx, self.columns(tx, row, now_ms))
        return True

    def known(self, tx: Transaction, row: Incoming) -> bool:
        """Whether this fact is stored: neither the settle time nor any other route is part of its identity."""
        sql = "SELECT 1 FROM events WHERE delivery = ? AND sequence = ? AND route = ?"
        return bool(tx.query(sql, (row.delivery, row.sequence, row.route.id)))

    def columns(self, tx: Transaction, row: Incoming, now_ms: int) -> Mapping[str, Any]:
        """The columns of a fresh Event."""
        return {
            "event": self._ledger.next_event(tx),
            "route": row.route.id,
            "source": row.source,
            "state": "pending",
            "ordinal": self._ledger.next_ordinal(tx),
            "created_at": now_ms,
            "sequence": row.sequence,
            "delivery": row.delivery,
            "not_before": self.settle_time(tx, row, now_ms) if row.route.mode.waits else None,
            "payload": row.payload,
        }

    def settle_time(self, tx: Transaction, row: Incoming, now_ms: int) -> int:
        """The open settle timestamp of the lane, else one window from now (SETTLE-024, SETTLE-026 to SETTLE-030)."""
        still_open = self._ledger.open_until(tx, row.route.id, row.source, now_ms)
        return now_ms + int(self._windows["settle_ms"]) if still_open is None else still_open

    def load(self, args: Raw) -> dict[str, Any]:
        """Store rows as an older version left them, keys and marks as given."""
        try:
            with self._store.transaction("load.rows") as tx:
                for row in args["rows"]:
                    self._ledger.insert(tx, older(row))
        except AckLost:
            return {"status": "unknown"}
        except StoreFailed:
            return {"status": "unavailable"}
        return {"status": "stored"}


def older(row: Raw) -> Mapping[str, Any]:
    """The columns of a loaded row."""
    return {
        "event": row["id"],
        "route": row["route"],
        "source": row["source"],
        "state": row["state"],
        "ordinal": row["ordinal"],
        "created_at": row["created_at"],
        "sequence": row["sequence"],
        "delivery": row.get("delivery", f"loaded-{row['id']}"),
        "not_before": row.get("not_before"),
        "attempts": row.get("attempts", 0),
        "token": f"old-{row['id']}" if row.get("token") else None,
        "error": row.get("error"),
        "payload": row["payload"],
    }
