"""Deviations about the gate and what is known around it: for each core requirement one, with the catalogue at hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, Ports, RemoteAnswer, RemoteUnknown, StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

CORE_GATE = Collection("mutation-host")
_PATIENCE_MS = 5000
_OUTBOX = "outbox"
_SENT = "sent"


@CORE_GATE.plant("gate-with-outcome", names="MUT-004", part="dispatcher")
class GateWithOutcome(Dispatcher):
    """A keyed call is sent while it is Prepared, and its gate and outcome are recorded in one transaction."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.key is None:
            return super().dispatch(call, attempt, voice)
        if self._ports.clock.now("invoke.deadline").mono_ms >= call.deadline_mono_ms:
            return self._timed_out(attempt, voice)
        return self.conclude(attempt, self.send(call), voice)

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        now = self._ports.clock.now("invoke.settle")
        try:
            with self._store.transaction("invoke.settle") as tx:
                self._ledger.move(tx, attempt, "open_gate")
                won = self._ledger.move(tx, attempt, trigger, result=result, cause=cause, now=now)
                if won:
                    self._ledger.close_reservation(tx, attempt, state, now)
                return won
        except (StoreFailed, AckLost):
            return False


@CORE_GATE.plant("unrecorded-when-down", names="MUT-005", part="dispatcher")
class UnrecordedWhenDown(Dispatcher):
    """An unkeyed call is sent without a record where the ledger takes none: the caller's wish comes first."""

    def not_anchored(self, call: Call, voice: Voice) -> Answer:
        if call.key is not None:
            return super().not_anchored(call, voice)
        evidence = self.send(call)
        return (
            voice.unknown(evidence.cause)
            if evidence.kind == "ambiguous"
            else voice.applied("unrecorded", evidence.result)
        )


@CORE_GATE.plant("own-prepared-row-goes-on", names="MUT-006", part="dispatcher")
class OwnPreparedRowGoesOn(Dispatcher):
    """After a lost acknowledgement of its prepare it looks its row up and, finding it Prepared, goes on."""

    _call: Call | None = None

    def prepare(self, call: Call, attempt: str) -> Record | None:
        self._call = call
        return super().prepare(call, attempt)

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        rows = self._store.read("invoke.read_back", "SELECT state FROM attempts WHERE attempt = ?", (attempt,))
        if rows and self._call is not None:
            return self.dispatch(self._call, attempt, voice)
        return super().anchor_uncertain(attempt, voice)


@CORE_GATE.plant("gate-ahead-of-the-spend", names="MUT-007", part="dispatcher")
class GateAheadOfTheSpend(Dispatcher):
    """Opens the gate first, so that nobody can abort any more, and spends the approval behind it."""

    _owed: Call | None = None

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._owed = call if call.proof is not None else None
        return super().dispatch(replace(call, proof=None), attempt, voice)

    def withheld(self, call: Call, attempt: str) -> str | None:
        if self._owed is not None and self._owed.proof is not None:
            problem = self.spend(self._owed, self._owed.proof, attempt)
            if problem is not None:
                return problem
        return super().withheld(call, attempt)


@CORE_GATE.plant("gate-by-update-alone", names="MUT-008", part="dispatcher", unguarded=True)
class GateByUpdateAlone(Dispatcher):
    """Opens its gate by id alone, over an abort as well, and looks at the number of rows only."""

    def open_gate(self, attempt: str) -> bool:
        with self._store.transaction("invoke.open_gate") as tx:
            return tx.execute("UPDATE attempts SET state = 'Dispatching' WHERE attempt = ?", (attempt,)) == 1


@CORE_GATE.plant("duplicate-resumes", names="MUT-010", part="observer")
class DuplicateResumes(Observer):
    """An exact duplicate that finds its original Dispatching does the original's sending at once."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.fingerprint == call.fingerprint and record.state == "Dispatching":
            _post(self._ports, "observe.send", call)
        return super().observe(call, record, voice)


@CORE_GATE.plant("abort-is-only-news", names="MUT-013", part="dispatcher")
class AbortIsOnlyNews(Dispatcher):
    """A worker whose gate was refused since a cancel aborted its attempt sends what it has prepared all the same."""

    def open_gate(self, attempt: str) -> bool:
        if super().open_gate(attempt):
            return True
        try:
            return self._ledger.find_attempt("invoke.read_back", attempt).cause == "cancelled"
        except StoreFailed:
            return False


@CORE_GATE.plant("timeout-tries-once-more", names="MUT-014", part="dispatcher")
class TimeoutTriesOnceMore(Dispatcher):
    """The wrapper around a call that timed out makes the call once more, on a fresh connection."""

    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        if evidence.cause == "timeout":
            _post(self._ports, "invoke.send", call)
        return evidence


class _Outbox(Dispatcher):
    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        if evidence.kind == "ambiguous":
            letter = json.dumps({"operation": call.operation, "marker": call.input.get("marker"), "input": call.input})
            try:
                with self._store.transaction("invoke.outbox") as tx:
                    self._ledger.diagnose(tx, _OUTBOX, letter)
            except (StoreFailed, AckLost):
                return evidence
        return evidence


class _Postman(Supervisor):
    def housekeep(self) -> dict[str, Any]:
        try:
            letters = self._store.read("housekeep.outbox", "SELECT what FROM diagnostics WHERE attempt = ?", (_OUTBOX,))
            with self._store.transaction("housekeep.outbox") as tx:
                tx.execute("DELETE FROM diagnostics WHERE attempt = ?", (_OUTBOX,))
        except (StoreFailed, AckLost):
            letters = []
        for (letter,) in letters:
            payload = json.loads(letter)
            path, until = f"/effect/{payload.pop('operation')}", self._ports.clock.peek().mono_ms + _PATIENCE_MS
            try:
                self._ports.remote.post("housekeep.send", path, payload, until)
            except RemoteUnknown:
                continue
        return super().housekeep()


@CORE_GATE.plant("outbox-drained-by-housekeeper", names="MUT-016", part="host")
class OutboxDrainedByHousekeeper(MutationHost):
    """A request without a definite answer goes to a durable outbox, which the housekeeper sends again."""

    dispatcher_class = _Outbox
    supervisor_class = _Postman


@CORE_GATE.plant("unavailable-is-refusal", names="MUT-023", part="dispatcher")
class UnavailableIsRefusal(Dispatcher):
    """Takes a 503 for a refusal, as the provider says that it was not in a state to do anything."""

    def send(self, call: Call) -> Evidence:
        answer = _ask(self._ports, call)
        if answer is not None and answer.status == 503:
            return Evidence("refusal", cause="provider_unavailable")
        return Evidence("ambiguous", cause="timeout") if answer is None else weigh(answer)


@CORE_GATE.plant("part-counts-as-refusal", names="MUT-025", part="dispatcher")
class PartCountsAsRefusal(Dispatcher):
    """A report in which one of the steps failed is recorded as a refusal of the whole."""

    def send(self, call: Call) -> Evidence:
        answer = _ask(self._ports, call)
        if answer is None:
            return Evidence("ambiguous", cause="timeout")
        body = answer.json()
        steps = body.get("steps") if isinstance(body, dict) else None
        failed = isinstance(steps, dict) and "failed" in steps.values()
        return Evidence("refusal", cause="step_failed") if failed else weigh(answer)


class _Marking(Dispatcher):
    def send(self, call: Call) -> Evidence:
        try:
            with self._store.transaction("invoke.mark") as tx:
                self._ledger.diagnose(tx, call.request_id, _SENT)
        except (StoreFailed, AckLost):
            return Evidence("ambiguous", cause="unavailable")
        return super().send(call)


class _ByMark(Supervisor):
    def _recover_one(self, record: Record) -> bool:
        sql = "SELECT 1 FROM diagnostics WHERE attempt = ? AND what = ?"
        if record.state != "Dispatching" or self._store.read("recover.mark", sql, (record.request_id, _SENT)):
            return super()._recover_one(record)
        now = self._ports.clock.now("recover.settle")
        try:
            with self._store.transaction("recover.settle") as tx:
                tx.execute(
                    "UPDATE attempts SET state = 'Aborted', cause = 'unavailable' WHERE attempt = ?", (record.attempt,)
                )
                self._ledger.close_reservation(tx, record.attempt, "Aborted", now)
        except (StoreFailed, AckLost):
            return False
        return True


@CORE_GATE.plant("unmarked-was-not-sent", names="MUT-031", part="host", unguarded=True)
class UnmarkedWasNotSent(MutationHost):
    """Marks each request in the ledger before it goes out; recovery aborts an open gate without a mark."""

    dispatcher_class = _Marking
    supervisor_class = _ByMark


@CORE_GATE.plant("orphan-is-as-good-as-aborted", names="MUT-044", part="observer")
class OrphanIsAsGoodAsAborted(Observer):
    """A duplicate whose original is still Prepared at its deadline is told that nothing was attempted."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if (answer.get("mutation") or {}).get("cause") != "timeout":
            return answer
        try:
            seen = self._ledger.find_attempt("observe.look", record.attempt)
        except StoreFailed:
            return answer
        return voice.replay(seen, "not_attempted") if seen.state == "Prepared" else answer


@CORE_GATE.plant("last-write-wins", names="MUT-046", part="ledger", unguarded=True)
class LastWriteWins(Ledger):
    """Recovery and workers write what they know over whatever stands there, as long as the gate had opened."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        source, dest = self._moves["mutation_attempt", trigger]
        if source != "Dispatching":
            return super().move(tx, attempt, trigger, **values)
        sql = "UPDATE attempts SET state = ?, result = ?, cause = ? WHERE attempt = ? AND state <> 'Prepared'"
        return tx.execute(sql, (dest, values.get("result"), values.get("cause"), attempt)) == 1


@CORE_GATE.plant("late-evidence-reconciles", names="MUT-049", part="supervisor", unguarded=True)
class LateEvidenceReconciles(Supervisor):
    """Housekeeping completes what is Indeterminate where a late success stands in the diagnostics."""

    def housekeep(self) -> dict[str, Any]:
        sql = (
            "UPDATE attempts SET state = 'Completed', result = 'null' WHERE state = 'Indeterminate' AND attempt IN"
            " (SELECT attempt FROM diagnostics WHERE what = 'Completed refused: already settled')"
        )
        try:
            with self._store.transaction("housekeep.reconcile") as tx:
                tx.execute(sql)
        except (StoreFailed, AckLost):
            return {"status": "unavailable", "retired": 0}
        return super().housekeep()


@CORE_GATE.plant("takes-open-gate-back", names="MUT-067", part="dispatcher", unguarded=True)
class TakesOpenGateBack(Dispatcher):
    """A worker that lost its gate's acknowledgement knows that it has not sent, and aborts from Dispatching."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        del call
        now = self._ports.clock.now("invoke.abort")
        try:
            with self._store.transaction("invoke.abort") as tx:
                tx.execute("UPDATE attempts SET state = 'Aborted', cause = 'unavailable' WHERE attempt = ?", (attempt,))
                self._ledger.close_reservation(tx, attempt, "Aborted", now)
        except (StoreFailed, AckLost):
            return voice.unknown("unavailable", attempt)
        return voice.not_attempted("unavailable", attempt)


def _ask(ports: Ports, call: Call) -> RemoteAnswer | None:
    """The one request of a call; None where no answer came."""
    payload = {"marker": call.input.get("marker"), "input": call.input}
    try:
        return ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
    except RemoteUnknown:
        return None


def _post(ports: Ports, step: str, call: Call) -> None:
    payload = {"marker": call.input.get("marker"), "input": call.input}
    until = ports.clock.peek().mono_ms + _PATIENCE_MS
    try:
        ports.remote.post(step, f"/effect/{call.operation}", payload, until)
    except RemoteUnknown:
        return
