"""Around the Flow: reading its input, and recording what it said."""

from __future__ import annotations

from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.settle.lane import Lane
from reference_impl.settle.ledger import FREE, Ledger
from reference_impl.settle.model import EVENT_SQL, Event, Held, Raw, Route
from reference_impl.store import Transaction


class Reader:
    """Reads the Flow input, apart from the claim: the members were fixed there, their order is found here."""

    lane_class = Lane

    def __init__(self, ledger: Ledger, routes: dict[str, Route]) -> None:
        self._store = ledger.store
        self._routes = routes

    def read(self, held: Held) -> dict[str, Any]:
        """The raw Events of the claimed generation, in lane order (GEN-026 to GEN-028, ORDER-010 to ORDER-024)."""
        try:
            found = self.members(held)
        except StoreFailed:
            return {"status": "unavailable"}
        head = next((e for e in found if e.id == held.event), None)
        if head is None or head.state != "processing" or head.token != held.token:
            return {"status": "lost", "event": held.event}
        chosen = self.chosen(held, found, head)
        ordered = {e.id: e for e in chosen}
        rows = [{"event": id_, "payload": ordered[id_].payload} for id_ in self.lane_class(chosen).sequence(chosen)]
        return {"status": "read", "event": held.event, "rows": rows}

    def members(self, held: Held) -> list[Event]:
        """The head, and the rows that were collapsed into it, by this claim or by an earlier one of the same head."""
        sql = f"{EVENT_SQL} WHERE e.event = ? OR (w.served = ? AND e.state = 'skipped') ORDER BY e.event"
        return [Event.from_row(row) for row in self._store.read("input.read", sql, (held.event, held.event))]

    def chosen(self, held: Held, found: list[Event], head: Event) -> list[Event]:
        """All members, or the head alone in a mode that does not preserve payloads."""
        return found if self._routes[held.route].mode.preserves else [head]


class Finisher:
    """Records outcomes under the token of the claim, Event and WorkItem in one commit."""

    def __init__(self, ledger: Ledger, ports: Ports, config: Raw) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._retry = config["retry"]

    def finish(self, held: Held, outcome: str) -> dict[str, Any]:
        """``recorded`` only where the token was still the row's present one (SETTLE-041)."""
        now_ms = self._ports.clock.now("finish.record").wall_ms
        try:
            with self._store.transaction("finish.record") as tx:
                recorded = self.record(tx, held, outcome, now_ms)
        except StoreFailed:
            return {"status": "unavailable", "event": held.event}
        except AckLost:
            return {"status": "unknown", "event": held.event}
        return {"status": "recorded" if recorded else "lost", "event": held.event}

    def record(self, tx: Transaction, held: Held, outcome: str, now_ms: int) -> bool:
        """Move the row as the outcome says."""
        if outcome == "success":
            return self.move(tx, held, "execute_ok", error=None, **FREE)
        if outcome == "skip":
            # The token stays for good: it is what tells an executed skip from a collapse (GEN-018).
            return self.move(tx, held, "execute_skip", error=None, worker=None, lease_expires_at=None)
        if outcome == "retryable" and self.budget_left(tx, held):
            later = now_ms + self.backoff(tx, held)
            return self.move(
                tx, held, "execute_fail_retryable", {"run_after": later}, error="retryable", not_before=later, **FREE
            )
        return self.move(tx, held, "execute_fail_final", error=outcome, **FREE)

    def move(self, tx: Transaction, held: Held, trigger: str, item: Raw | None = None, **values: Any) -> bool:
        """One fenced move of Event and WorkItem."""
        return self._ledger.move(tx, held.event, trigger, held_by=held.token, item=item or {}, **values)

    def budget_left(self, tx: Transaction, held: Held) -> bool:
        """Whether another attempt is permitted; this one was charged at its claim."""
        attempts = tx.query("SELECT attempts FROM events WHERE event = ?", (held.event,))[0][0]
        return bool(attempts < self._retry["budget"])

    def backoff(self, tx: Transaction, held: Held) -> int:
        """The ordinary backoff, the same in every mode (SETTLE-004)."""
        del tx, held
        return int(self._retry["backoff_ms"])
