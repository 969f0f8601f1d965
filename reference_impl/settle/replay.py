"""Replay of an ended Event by an operator: a fresh row, while the original stays the boundary that it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.settle.ledger import Ledger
from reference_impl.store import Row, Transaction

_ORIGINAL = (
    "SELECT event, route, source, state, token, error, replayed_by, payload, sequence FROM events WHERE event = ?"
)


class Replayer:
    """Adds the fresh row (GEN-021, GEN-022); the original is never reopened."""

    def __init__(self, ledger: Ledger, ports: Ports) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports

    def replay(self, event: int) -> dict[str, Any]:
        """Replay one Event; refused unless it ended its generation and was not replayed yet."""
        now_ms = self._ports.clock.now("replay_event.enqueue").wall_ms
        try:
            with self._store.transaction("replay_event.enqueue") as tx:
                found = tx.query(_ORIGINAL, (event,))
                if not found or not self.may(found[0]):
                    return {"status": "refused"}
                columns = self.fresh(tx, found[0], now_ms)
                self._ledger.insert(tx, columns)
                self.mark(tx, event, int(columns["event"]))
        except StoreFailed:
            return {"status": "unavailable"}
        except AckLost:
            return {"status": "unknown"}
        return {"status": "replayed", "event": columns["event"]}

    def may(self, row: Row) -> bool:
        """Whether the row ended a generation, as processed, dead or executed skip, and was not replayed before."""
        skip = row["state"] == "skipped" and row["token"] is not None and row["error"] is None
        return row["replayed_by"] is None and (row["state"] in ("processed", "dead") or skip)

    def fresh(self, tx: Transaction, original: Row, now_ms: int) -> Mapping[str, Any]:
        """The columns of the fresh row: keys of its own, due at once (reading of 'Settle window for replay rows')."""
        return {
            "event": self._ledger.next_event(tx),
            "route": original["route"],
            "source": original["source"],
            "state": "pending",
            "ordinal": self._ledger.next_ordinal(tx),
            "created_at": now_ms,
            "sequence": 0,
            "delivery": f"replay-of-{original['event']}",
            "not_before": None,
            "payload": original["payload"],
        }

    def mark(self, tx: Transaction, original: int, fresh: int) -> None:
        """The original points to its fresh row and keeps its state."""
        tx.execute("UPDATE events SET replayed_by = ? WHERE event = ?", (fresh, original))
