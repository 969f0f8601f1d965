"""Deviations about cancels and deadlines: for each core requirement one, with the catalogue at hand."""

from __future__ import annotations

from typing import Any

from conformance.kit import AckLost, StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence
from reference_impl.mutation_host.model import Call
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection

CORE_CANCEL = Collection("mutation-host")
_STATE = "SELECT state FROM attempts WHERE caller = ? AND request_id = ? ORDER BY rowid DESC LIMIT 1"


@CORE_CANCEL.plant("aborted-ahead-of-the-write", names="CANC-001", part="supervisor")
class AbortedAheadOfTheWrite(Supervisor):
    """A cancel that finds its attempt Prepared says aborted, and writes that down as well as it can."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        try:
            found = self._store.read("cancel.look", _STATE, (caller, request_id))
        except StoreFailed:
            return {"status": "received"}
        answer = super().cancel(caller, request_id)
        return {"status": "aborted"} if found and found[0][0] == "Prepared" else answer


@CORE_CANCEL.plant("cancel-says-aborted", names="CANC-002", part="supervisor")
class CancelSaysAborted(Supervisor):
    """A cancel that comes while the provider is at work says aborted, since its caller does not wait any more."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        answer = super().cancel(caller, request_id)
        try:
            found = self._store.read("cancel.look", _STATE, (caller, request_id))
        except StoreFailed:
            return answer
        return {"status": "aborted"} if found and found[0][0] == "Dispatching" else answer


@CORE_CANCEL.plant("waiter-cancels-original", names="CANC-006", part="supervisor")
class WaiterCancelsOriginal(Supervisor):
    """A cancel of a request without an attempt of its own falls upon what its caller is waiting for."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        sql = "SELECT request_id FROM attempts WHERE caller = ? AND state = 'Prepared' AND key IS NOT NULL"
        try:
            if self._store.read("cancel.look", _STATE, (caller, request_id)):
                return super().cancel(caller, request_id)
            waited = self._store.read("cancel.waits", sql, (caller,))
        except StoreFailed:
            return {"status": "received"}
        return super().cancel(caller, waited[0][0]) if waited else {"status": "received"}


@CORE_CANCEL.plant("deadline-left-to-the-transport", names="CANC-012", part="dispatcher")
class DeadlineLeftToTheTransport(Dispatcher):
    """Nobody looks at the deadline ahead of the send: the timeout of the transport is thought to be enough."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        try:
            opened = self.open_gate(attempt)
        except StoreFailed:
            return self.refuse(attempt, "unavailable", voice)
        except AckLost:
            return self.take_back(call, attempt, voice)
        return self.conclude(attempt, self.send(call), voice) if opened else self._lost_race(attempt, voice)


@CORE_CANCEL.plant("bare-timeout", names="CANC-016", part="dispatcher")
class BareTimeout(Dispatcher):
    """A call that times out behind its gate is answered by the transport, with its own error and nothing else."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return voice.denied("timeout") if evidence.cause == "timeout" else answer


@CORE_CANCEL.plant("late-prepare-goes-on", names="CANC-021", part="dispatcher")
class LatePrepareGoesOn(Dispatcher):
    """A deadline that passed while the prepare was in flight found no row to abort, and is not looked at again."""

    _excused: str | None = None

    def prepare(self, call: Call, attempt: str) -> Any:
        began = self._ports.clock.now("invoke.prepare").mono_ms
        held = super().prepare(call, attempt)
        ended = self._ports.clock.now("invoke.prepare").mono_ms
        self._excused = attempt if began < call.deadline_mono_ms <= ended else None
        return held

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if self._excused != attempt:
            return super().dispatch(call, attempt, voice)
        try:
            opened = self.open_gate(attempt)
        except (StoreFailed, AckLost):
            return voice.unknown("unavailable", attempt)
        return self.conclude(attempt, self.send(call), voice) if opened else self._lost_race(attempt, voice)
