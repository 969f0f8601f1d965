"""Everything that moves attempts and reservations besides their own worker: recovery, cancellation, housekeeping.

None of it ever sends.
"""

from __future__ import annotations

from typing import Any

from conformance.kit import AckLost, Ports, StoreFailed
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Record


class Supervisor:
    """Recovery, cancel and housekeeping over one ledger."""

    def __init__(self, ledger: Ledger, ports: Ports) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports

    def recover(self) -> dict[str, Any]:
        """Settle what nobody will settle any more; the compare-and-set fences a worker that still lives."""
        try:
            records = self._ledger.unsettled("recover.scan")
        except StoreFailed:
            return {"status": "unavailable", "settled": 0}
        settled = sum(self._recover_one(record) for record in records)
        return {"status": "done", "settled": settled}

    def _recover_one(self, record: Record) -> bool:
        if record.state == "Prepared":
            return self._settle(record, "recover_unopened", "Aborted", "unavailable")
        if record.state == "Dispatching":
            return self._settle(record, "recover_opened", "Indeterminate", None)
        return self._repair(record)

    def _settle(self, record: Record, trigger: str, state: str, cause: str | None) -> bool:
        now = self._ports.clock.now("recover.settle")
        try:
            with self._store.transaction("recover.settle") as tx:
                won = self._ledger.move(tx, record.attempt, trigger, cause=cause, now=now)
                if won:
                    self._ledger.close_reservation(tx, record.attempt, state, now)
                return won
        except (StoreFailed, AckLost):
            # The next pass finds the row again if this one did not happen.
            return False

    def _repair(self, record: Record) -> bool:
        now = self._ports.clock.now("recover.repair")
        try:
            with self._store.transaction("recover.repair") as tx:
                self._ledger.close_reservation(tx, record.attempt, record.state, now)
                return True
        except (StoreFailed, AckLost):
            return False

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        """Abort the caller's attempt if its gate is still shut; otherwise the cancel is merely received."""
        sql = "SELECT attempt FROM attempts WHERE caller = ? AND request_id = ? ORDER BY rowid DESC LIMIT 1"
        try:
            found = self._store.read("cancel.find", sql, (caller, request_id))
            if not found:
                return {"status": "received"}
            now = self._ports.clock.now("cancel.abort")
            with self._store.transaction("cancel.abort") as tx:
                won = self._ledger.move(tx, found[0][0], "abort_on_cancel", cause="cancelled", now=now)
                if won:
                    self._ledger.close_reservation(tx, found[0][0], "Aborted", now)
        except (StoreFailed, AckLost):
            return {"status": "received"}
        return {"status": "aborted" if won else "received"}

    def housekeep(self) -> dict[str, Any]:
        """Retire the generations whose retention is over, each by its own id."""
        now = self._ports.clock.now("housekeep.scan")
        retired = 0
        try:
            for reservation, namespace, key in self._ledger.expired("housekeep.scan", now):
                with self._store.transaction("housekeep.retire") as tx:
                    retired += self._ledger.retire(tx, reservation, namespace, key)
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "retired": retired}
        return {"status": "done", "retired": retired}
