"""Deviations that lie to a caller, or to the ledger, about what became of an attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.kit import AckLost, Ports, RemoteAnswer, RemoteUnknown, Setup, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Store, Transaction
from statemachines.spec import Spec

OUTCOMES = Collection("mutation-host")


class _Edited(MutationHost):
    """A host whose answers pass through :meth:`edit` on their way to the caller."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        return self.edit(answer, answer["mutation"]) if "mutation" in answer else answer

    def edit(self, answer: Answer, mutation: Mapping[str, Any]) -> Answer:
        """The answer that the caller gets."""
        raise NotImplementedError


@OUTCOMES.plant("omits-null-attempt", names="OBS-002", part="host")
class OmitsNullAttempt(_Edited):
    """Leaves the attempt out of an observation where there is none."""

    def edit(self, answer: Answer, mutation: Mapping[str, Any]) -> Answer:
        shown = {k: v for k, v in mutation.items() if k != "attempt" or v is not None}
        return {**answer, "mutation": shown}


@OUTCOMES.plant("replay-without-attempt", names="OBS-006", part="host")
class ReplayWithoutAttempt(_Edited):
    """Shows no attempt on replays."""

    def edit(self, answer: Answer, mutation: Mapping[str, Any]) -> Answer:
        return {**answer, "mutation": {**mutation, "attempt": None}} if mutation["replayed"] else answer


@OUTCOMES.plant("not-attempted-code", names="OBS-016", part="host")
class NotAttemptedCode(_Edited):
    """Gives the classification as the error code of whatever was not attempted."""

    def edit(self, answer: Answer, mutation: Mapping[str, Any]) -> Answer:
        lost = mutation["classification"] == "not_attempted"
        return {**answer, "error": {"code": "not_attempted"}} if lost else answer


class _Weighing(Dispatcher):
    """A dispatcher with a judgement of its own about complete answers."""

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        return self.judge(answer)

    def judge(self, answer: RemoteAnswer) -> Evidence:
        """What the answer is taken to prove."""
        raise NotImplementedError


@OUTCOMES.plant("any-2xx-is-success", names="OBS-021", part="dispatcher")
class AnySuccessStatus(_Weighing):
    """Takes every status of success for the effect."""

    def judge(self, answer: RemoteAnswer) -> Evidence:
        return Evidence("success", result={}) if 200 <= answer.status < 300 else weigh(answer)


@OUTCOMES.plant("any-4xx-is-refusal", names="OBS-022", part="dispatcher")
class AnyClientError(_Weighing):
    """Takes every 4xx for the provider's refusal."""

    def judge(self, answer: RemoteAnswer) -> Evidence:
        evidence = weigh(answer)
        bare = evidence.kind == "ambiguous" and 400 <= answer.status < 500
        return Evidence("refusal", cause=f"status {answer.status}") if bare else evidence


@OUTCOMES.plant("uncertain-prepare-is-unknown", names="OBS-033", part="dispatcher")
class UncertainPrepareIsUnknown(Dispatcher):
    """Answers outcome_unknown where only the prepare is uncertain."""

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        super().anchor_uncertain(attempt, voice)
        return voice.unknown("unavailable")


@OUTCOMES.plant("survivor-stays", names="OBS-034", part="supervisor")
class SurvivorStays(Supervisor):
    """Recovery passes over what is only Prepared."""

    def _recover_one(self, record: Record) -> bool:
        return record.state != "Prepared" and super()._recover_one(record)


@OUTCOMES.plant("early-deadline-is-unknown", names="OBS-035", part="dispatcher")
class EarlyDeadlineIsUnknown(Dispatcher):
    """Answers outcome_unknown whenever a deadline passes, also ahead of the gate."""

    def _timed_out(self, attempt: str, voice: Voice) -> Answer:
        super()._timed_out(attempt, voice)
        return voice.unknown("timeout", attempt)


@OUTCOMES.plant("sent-flag-in-memory", names="OBS-039", part="supervisor", unguarded=True)
class SentFlagInMemory(Supervisor):
    """Recovery asks the flag that workers of its own process set when they send, and aborts the rest."""

    def __init__(self, ledger: Ledger, ports: Ports) -> None:
        super().__init__(ledger, ports)
        self.sent: set[str] = set()

    def _recover_one(self, record: Record) -> bool:
        if record.state != "Dispatching" or record.attempt in self.sent:
            return super()._recover_one(record)
        sql = "UPDATE attempts SET state = 'Aborted', cause = 'unavailable' WHERE attempt = ? AND state = 'Dispatching'"
        try:
            with self._store.transaction("recover.settle") as tx:
                return tx.execute(sql, (record.attempt,)) == 1
        except (StoreFailed, AckLost):
            return False


@OUTCOMES.plant("unreadable-gate-is-shut", names="OBS-041", part="dispatcher")
class UnreadableGateIsShut(Dispatcher):
    """Takes a gate whose state cannot be read for one that did not open."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        del call
        if self.abort(attempt, "abort_on_lost_gate", "unavailable"):
            return voice.not_attempted("unavailable", attempt)
        try:
            state = self._ledger.find_attempt("invoke.read_back", attempt).state
        except StoreFailed:
            return voice.not_attempted("unavailable", attempt)
        if state == "Dispatching":
            self.settle(attempt, "settle_lost_gate", "Indeterminate", None, None)
        return voice.unknown("unavailable", attempt)


@OUTCOMES.plant("late-deadline-is-timeout", names="OBS-043", part="dispatcher")
class LateDeadlineIsTimeout(Dispatcher):
    """Reports a deadline behind the gate like one ahead of it."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return voice.not_attempted("timeout", attempt) if evidence.cause == "timeout" else answer


@OUTCOMES.plant("recovery-believes-the-provider", names="OBS-044", part="supervisor")
class RecoveryBelievesTheProvider(Supervisor):
    """Recovery takes every open gate for a success, as the provider would surely have complained."""

    def _recover_one(self, record: Record) -> bool:
        if record.state != "Dispatching":
            return super()._recover_one(record)
        return self._settle(record, "settle_applied", "Completed", None)


@OUTCOMES.plant("applied-with-an-error", names="OBS-045", part="host")
class AppliedWithAnError(_Edited):
    """Reports an applied effect together with an error code."""

    def edit(self, answer: Answer, mutation: Mapping[str, Any]) -> Answer:
        if mutation["classification"] != "applied" or mutation["replayed"]:
            return answer
        return {**answer, "status": "error", "error": {"code": "unavailable"}}


@OUTCOMES.plant("refusal-is-not-attempted", names="OBS-046", part="dispatcher")
class RefusalIsNotAttempted(Dispatcher):
    """Tells a refusal of the provider as if nothing had been tried."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return voice.not_attempted(str(evidence.cause), attempt) if evidence.kind == "refusal" else answer


@OUTCOMES.plant("server-error-is-unavailable", names="OBS-049", part="dispatcher")
class ServerErrorIsUnavailable(_Weighing):
    """Answers an error of the provider's server with unavailable."""

    def judge(self, answer: RemoteAnswer) -> Evidence:
        return Evidence("ambiguous", cause="server") if answer.status >= 500 else weigh(answer)

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return {**answer, "error": {"code": "unavailable"}} if evidence.cause == "server" else answer


@OUTCOMES.plant("replay-sent-nothing", names="OBS-050", part="observer")
class ReplaySentNothing(Observer):
    """Replays a success as not attempted, because nothing was sent now."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if answer["status"] != "success":
            return answer
        return {**voice.not_attempted("unavailable", None), "mutation": {**answer["mutation"], **_NOT_NOW}}


_NOT_NOW = {"classification": "not_attempted", "cause": "unavailable"}


@OUTCOMES.plant("refusal-frees-the-key", names="OBS-051", part="ledger", unguarded=True)
class RefusalFreesTheKey(Ledger):
    """Gives a key free once its attempt was refused, so that a retry is tried anew."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state == "Failed":
            tx.execute("UPDATE reservations SET state = 'Expired' WHERE attempt = ?", (attempt,))


@OUTCOMES.plant("abort-frees-the-key", names="OBS-052", part="ledger", unguarded=True)
class AbortFreesTheKey(Ledger):
    """Gives a key free once its attempt was aborted, so that a retry is sent."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state == "Aborted":
            tx.execute("UPDATE reservations SET state = 'Expired' WHERE attempt = ?", (attempt,))


@OUTCOMES.plant("storage-error-hides-refusal", names="OBS-058", part="dispatcher")
class StorageErrorHidesRefusal(Dispatcher):
    """Answers unavailable in place of the provider's refusal where that could not be recorded."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        self.recorded = True
        answer = super().conclude(attempt, evidence, voice)
        return answer if self.recorded or evidence.kind != "refusal" else voice.not_attempted("unavailable", attempt)

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self.recorded = super().settle(attempt, trigger, state, result, cause)
        return self.recorded


class _Logging(Dispatcher):
    """Keeps an access log of what the provider answered, in a file beside the ledger."""

    log: Path

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps([attempt, evidence.kind]) + "\n")
        return super().conclude(attempt, evidence, voice)


class _Inferring(Supervisor):
    """Recovers from the access log."""

    log: Path

    def _recover_one(self, record: Record) -> bool:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        seen = {attempt for attempt, kind in map(json.loads, lines) if kind == "success"}
        if record.state != "Dispatching" or record.attempt not in seen:
            return super()._recover_one(record)
        return self._settle(record, "settle_applied", "Completed", None)


@OUTCOMES.plant("infers-from-access-log", names="OBS-062", part="host")
class InfersFromAccessLog(MutationHost):
    """Recovery infers success from a log of HTTP answers that no commit vouches for."""

    dispatcher_class = _Logging
    supervisor_class = _Inferring

    def __init__(self, setup: Setup, ports: Ports, store: Store, spec: Spec) -> None:
        super().__init__(setup, ports, store, spec)
        assert isinstance(self.dispatcher, _Logging)
        assert isinstance(self.supervisor, _Inferring)
        self.dispatcher.log = self.supervisor.log = setup.state_dir / "access.log"
