"""Metrics on due work: what a worker could still take by its time, by the comparison of the claim."""

from __future__ import annotations

from typing import Any

from conformance.kit import Ports, StoreFailed
from reference_impl.settle.ledger import Ledger


class Gauge:
    """Counts due WorkItems (SETTLE-016, SETTLE-017, SETTLE-038)."""

    due = "w.state = 'pending' AND (w.run_after IS NULL OR w.run_after <= ?)"

    def __init__(self, ledger: Ledger, ports: Ports) -> None:
        self._store = ledger.store
        self._ports = ports

    def read(self) -> dict[str, Any]:
        """The count, and the age of the oldest."""
        now_ms = self._ports.clock.now("metrics.read").wall_ms
        sql = (
            "SELECT COUNT(*), MIN(COALESCE(w.run_after, e.created_at)) FROM work_items w JOIN events e"
            f" ON e.event = w.event WHERE {self.due}"
        )
        try:
            count, oldest = self._store.read("metrics.read", sql, (now_ms,) * sql.count("?"))[0]
        except StoreFailed:
            return {"status": "unavailable"}
        return {"status": "read", "due": count, **({} if oldest is None else {"oldest_due_at": oldest})}
