"""One new attempt from prepare to settlement: the only code that ever sends (mutation-profile 4, steps 7 to 11)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.kit import AckLost, Ports, RemoteAnswer, RemoteUnknown, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import lapsed
from reference_impl.mutation_host.keys import is_expired
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Record
from statemachines.model import Table


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the provider's answer proves: ``success``, ``refusal`` or ``ambiguous``, with its payload or cause."""

    kind: str
    result: Any = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Winner:
    """Another attempt holds the key: this call becomes an observer of it."""

    record: Record


class NoRoom(Exception):
    """A bounded store holds no further reservation, and nobody governs the key."""


class IndexUnreadable(Exception):
    """Whether the key is held could not be established; that is never the same as absence."""


def weigh(answer: RemoteAnswer) -> Evidence:
    """Judge a complete answer by the effect contract; a status alone proves neither success nor refusal."""
    body = answer.json()
    effect = body.get("effect") if isinstance(body, dict) else None
    if answer.status == 200 and effect == "done":
        return Evidence("success", result={k: v for k, v in body.items() if k != "effect"})
    if answer.status == 422 and effect == "none":
        return Evidence("refusal", cause=str(body.get("code")))
    return Evidence("ambiguous")


class Dispatcher:
    """Carries one call through prepare, gate, send and settle."""

    #: What an attempt's outcome fires, by the state that the outcome table gives.
    _SETTLE: ClassVar = {"Completed": "settle_applied", "Failed": "settle_refused", "Indeterminate": "settle_ambiguous"}

    def __init__(self, ledger: Ledger, ports: Ports, outcomes: Table, worker: str) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._ports = ports
        self._outcomes = outcomes
        self._worker = worker

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        """Try the call as a new attempt; a live reservation found while preparing makes it a :class:`Winner`."""
        attempt = self._ports.ids.new("invoke.prepare")
        try:
            winner = self.prepare(call, attempt)
        except IndexUnreadable:
            return self.index_unread(call, voice)
        except NoRoom:
            return voice.not_attempted("capacity", None)
        except StoreFailed:
            return self.not_anchored(call, voice)
        except AckLost:
            return self.anchor_uncertain(attempt, voice)
        if winner is not None:
            return Winner(winner)
        return self.dispatch(call, attempt, voice)

    def index_unread(self, call: Call, voice: Voice) -> Answer:
        """Nobody knows whether the key of ``call`` is held: an unreadable index is never absence."""
        del call
        return voice.unknown("unavailable")

    def not_anchored(self, call: Call, voice: Voice) -> Answer:
        """The anchor of ``call`` certainly failed, and nobody held its key."""
        del call
        return voice.not_attempted("unavailable", None)

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        """The prepare lost its acknowledgement: a row that survived must not stay open, and nothing is sent for it."""
        self.abort(attempt, "abort_after_late_prepare", "unavailable")
        return voice.not_attempted("unavailable", None)

    def prepare(self, call: Call, attempt: str) -> Record | None:
        """Anchor and reserve in one transaction; returns the winner instead when the key is held.

        Raises IndexUnreadable when nobody knows whether the key is held.
        """
        now = self._ports.clock.now("invoke.prepare")
        if call.key is None:
            with self._store.transaction("invoke.prepare") as tx:
                self._ledger.anchor(tx, call, attempt, self._worker)
            return None
        reservation = self._ports.ids.new("invoke.prepare")
        absent = False
        try:
            with self._store.transaction("invoke.prepare") as tx:
                held = self._ledger.find_live_within(tx, call.namespace, call.key)
                if held is not None and not self.may_replace(held, now):
                    return held
                absent = True
                if held is not None and held.reservation is not None:
                    self._ledger.retire(tx, held.reservation, call.namespace, call.key)
                if self._ledger.is_full(tx, call.capacity):
                    raise NoRoom
                self._ledger.anchor(tx, call, attempt, self._worker)
                self._ledger.reserve(tx, call, attempt, reservation)
        except StoreFailed as failure:
            if absent:
                raise
            raise IndexUnreadable from failure
        return None

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        """From the Prepared row to the answer: the spend, the gate, then the one request, then the record."""
        if call.proof is not None:
            problem = self.spend(call, call.proof, attempt)
            if problem is not None:
                return self.refuse(attempt, problem, voice)
        if self._ports.clock.now("invoke.deadline").mono_ms >= call.deadline_mono_ms:
            return self._timed_out(attempt, voice)
        try:
            opened = self.open_gate(attempt)
        except StoreFailed:
            return self.refuse(attempt, "unavailable", voice)
        except AckLost:
            return self.take_back(call, attempt, voice)
        if not opened:
            return self._lost_race(attempt, voice)
        cause = self.withheld(call, attempt)
        evidence = self.send(call) if cause is None else Evidence("ambiguous", cause=cause)
        return self.conclude(attempt, evidence, voice)

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        """Spend the proof of ``call`` once; None when that is certain, else the cause for which the gate stays shut.

        A transaction of its own: it is acknowledged apart from the attempt, and no abort takes it back.
        """
        now = self._ports.clock.now("invoke.spend")
        try:
            with self._store.transaction("invoke.spend") as tx:
                if self._ledger.is_spent_within(tx, proof.issuer, proof.reference):
                    return "approval_replayed"
                if lapsed(proof.expires_at, now):
                    return "approval_refused"
                self._ledger.spend(tx, attempt, call.instance, proof, now)
        except (StoreFailed, AckLost):
            return "unavailable"
        return None

    def may_replace(self, held: Record, now: Time) -> bool:
        """Whether a candidate may retire the generation that holds its key."""
        return is_expired(held, now)

    def refuse(self, attempt: str, cause: str, voice: Voice) -> Answer:
        """Close an attempt whose gate stayed shut. Only this worker could open it, so the answer does not wait."""
        self.abort(attempt, "abort_on_refusal", cause)
        return voice.not_attempted(cause, attempt)

    def withheld(self, call: Call, attempt: str) -> str | None:
        """Why the permission of an open gate is not used: success that comes after the deadline comes too late."""
        del attempt
        late = self._ports.clock.now("invoke.gate_deadline").mono_ms >= call.deadline_mono_ms
        return "timeout" if late else None

    def open_gate(self, attempt: str) -> bool:
        """The dispatch gate. Only definite success of this very call permits one send."""
        with self._store.transaction("invoke.open_gate") as tx:
            return self._ledger.move(tx, attempt, "open_gate")

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        """The gate's acknowledgement was lost: never send ``call``; close the attempt if the ledger allows."""
        del call
        if self.abort(attempt, "abort_on_lost_gate", "unavailable"):
            return voice.not_attempted("unavailable", attempt)
        try:
            state = self._ledger.find_attempt("invoke.read_back", attempt).state
        except StoreFailed:
            return voice.unknown("unavailable", attempt)
        if state == "Aborted":
            return voice.not_attempted("unavailable", attempt)
        if state == "Dispatching":
            self.settle(attempt, "settle_lost_gate", "Indeterminate", None, None)
        return voice.unknown("unavailable", attempt)

    def abort(self, attempt: str, trigger: str, cause: str) -> bool:
        """Fence the attempt before its gate; True only when the abort certainly won."""
        now = self._ports.clock.now("invoke.abort")
        try:
            with self._store.transaction("invoke.abort") as tx:
                won = self._ledger.move(tx, attempt, trigger, cause=cause, now=now)
                if won:
                    self._ledger.close_reservation(tx, attempt, "Aborted", now)
                return won
        except (StoreFailed, AckLost):
            return False

    def send(self, call: Call) -> Evidence:
        """The one request of the attempt."""
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        return weigh(answer)

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        """Record the outcome, then tell the caller what this live observer knows, recorded or not."""
        decision = self._outcomes.decide(gate="open", evidence=evidence.kind)
        result = json.dumps(evidence.result, sort_keys=True) if evidence.kind == "success" else None
        state = str(decision["state"])
        self.settle(attempt, self._SETTLE[state], state, result, evidence.cause)
        if decision["classification"] == "applied":
            return voice.applied(attempt, evidence.result)
        if decision["classification"] == "refused":
            return voice.refused(attempt, str(evidence.cause))
        return voice.unknown(evidence.cause, attempt)

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        """Write the terminal state and let the reservation follow; True when it is known to be recorded.

        A fenced or failed write goes to the diagnostics and changes nothing of what the caller is told.
        """
        now = self._ports.clock.now("invoke.settle")
        try:
            with self._store.transaction("invoke.settle") as tx:
                won = self._ledger.move(tx, attempt, trigger, result=result, cause=cause, now=now)
                if won:
                    self._ledger.close_reservation(tx, attempt, state, now)
            problem = None if won else f"{state} refused: already settled"
        except (StoreFailed, AckLost) as failure:
            problem = f"{state} not known to be recorded: {failure}"
        if problem is not None:
            self._report(attempt, problem)
        return problem is None

    def _report(self, attempt: str, problem: str) -> None:
        try:
            with self._store.transaction("invoke.diagnose") as tx:
                self._ledger.diagnose(tx, attempt, problem)
        except (StoreFailed, AckLost):
            # The ledger is down altogether: the answer is still the truth, and nothing else can be done here.
            return

    def _timed_out(self, attempt: str, voice: Voice) -> Answer:
        if self.abort(attempt, "abort_on_deadline", "timeout"):
            return voice.not_attempted("timeout", attempt)
        # This worker is the only one that could open the gate, and it will not.
        return self._lost_race(attempt, voice)

    def _lost_race(self, attempt: str, voice: Voice) -> Answer:
        try:
            record = self._ledger.find_attempt("invoke.read_back", attempt)
        except StoreFailed:
            return voice.unknown("unavailable", attempt)
        if record.state == "Aborted":
            return voice.not_attempted(record.cause or "unavailable", attempt)
        return voice.unknown("unavailable", attempt)
