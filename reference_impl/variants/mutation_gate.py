"""Legal variants about deadlines and cancels ahead of the gate, and about what a cancel may know."""

from __future__ import annotations

from typing import Any, Final

from conformance.kit import AckLost, StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.model import Call
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection

GATE = Collection("mutation-host")
_WISH: Final = "its caller has cancelled"
_STATE: Final = "SELECT state FROM attempts WHERE caller = ? AND request_id = ? ORDER BY rowid DESC LIMIT 1"


@GATE.plant("unsure-ahead-of-the-anchor", names="deadline-before-anchor/r2", part="dispatcher")
class UnsureAheadOfTheAnchor(Dispatcher):
    """Answers unknown, and makes no attempt, where the deadline passed ahead of the anchor."""

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        if self._ports.clock.now("invoke.anchor_deadline").mono_ms >= call.deadline_mono_ms:
            return voice.unknown("timeout")
        return super().attempt(call, voice)


class _Heeding(Dispatcher):
    _call: Call | None = None

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._call = call
        return super().dispatch(call, attempt, voice)

    def open_gate(self, attempt: str) -> bool:
        assert self._call is not None
        now = self._ports.clock.now("invoke.open_gate")
        sql = "SELECT 1 FROM diagnostics WHERE attempt = ? AND what = ?"
        with self._store.transaction("invoke.open_gate") as tx:
            if not tx.query(sql, (self._call.request_id, _WISH)):
                return self._ledger.move(tx, attempt, "open_gate")
            if self._ledger.move(tx, attempt, "abort_on_cancel", cause="cancelled", now=now):
                self._ledger.close_reservation(tx, attempt, "Aborted", now)
            return False


class _Noting(Supervisor):
    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        try:
            with self._store.transaction("cancel.note") as tx:
                if not tx.query(_STATE, (caller, request_id)):
                    self._ledger.diagnose(tx, request_id, _WISH)
        except (StoreFailed, AckLost):
            return {"status": "received"}
        return super().cancel(caller, request_id)


@GATE.plant("remembers-cancel", names="CANC-021/cancel-is-remembered", part="host")
class RemembersCancel(MutationHost):
    """A cancel ahead of any row is noted durably, and the gate of what comes afterwards heeds it."""

    dispatcher_class = _Heeding
    supervisor_class = _Noting


@GATE.plant("cancel-reads-back", names="CANC-001/read-back", part="supervisor")
class CancelReadsBack(Supervisor):
    """A cancel that did not hear of its abort looks at the row, and says aborted if it is."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        answer = super().cancel(caller, request_id)
        try:
            found = self._store.read("cancel.read_back", _STATE, (caller, request_id))
        except StoreFailed:
            return answer
        return {"status": "aborted"} if found and found[0][0] == "Aborted" else answer
