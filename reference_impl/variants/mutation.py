"""Legal variants of one attempt: anchoring, the gate, the deadline, the terminal write, and what the caller hears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call
from reference_impl.planting import Collection
from reference_impl.store import Transaction

ATTEMPTS = Collection("mutation-host")


@ATTEMPTS.plant("leaves-dispatching", names="deadline-settlement-timing/leave-dispatching", part="dispatcher")
class LeavesDispatching(Dispatcher):
    """Leaves the row Dispatching when the deadline passes after the gate; recovery settles it."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        if evidence.kind == "ambiguous" and evidence.cause == "timeout":
            return voice.unknown("timeout", attempt)
        return super().conclude(attempt, evidence, voice)


@ATTEMPTS.plant(
    "late-gate-sends",
    names="late-gate-acknowledgement/late-success-still-sends",
    part="dispatcher",
    readings={"late-gate-acknowledgement": "late-success-still-sends"},
)
class LateGateSends(Dispatcher):
    """Uses the permission of a gate that opened, though the deadline passed before its success was known."""

    def withheld(self, call: Call, attempt: str) -> str | None:
        del call, attempt
        return None


@ATTEMPTS.plant("rereads-own-gate", names="MUT-009/reread-before-send", part="dispatcher")
class RereadsOwnGate(Dispatcher):
    """Reads its row again behind the open gate and sends only while it is still Dispatching."""

    def withheld(self, call: Call, attempt: str) -> str | None:
        try:
            state = self._ledger.find_attempt("invoke.recheck", attempt).state
        except StoreFailed:
            return "unavailable"
        return super().withheld(call, attempt) if state == "Dispatching" else "unavailable"


@ATTEMPTS.plant("lost-gate-to-recovery", names="MUT-066/leave-to-recovery", part="dispatcher")
class LostGateToRecovery(Dispatcher):
    """After a lost gate acknowledgement it touches nothing, answers unknown and leaves the row to recovery."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        del call
        return voice.unknown("unavailable", attempt)


@ATTEMPTS.plant("unsure-until-aborted", names="abort-failure-classification/outcome-unknown", part="dispatcher")
class UnsureUntilAborted(Dispatcher):
    """Answers unknown where the abort of a refused attempt could not be made durable."""

    def refuse(self, attempt: str, cause: str, voice: Voice) -> Answer:
        if self.abort(attempt, "abort_on_refusal", cause):
            return voice.not_attempted(cause, attempt)
        return voice.unknown("unavailable", attempt)


@ATTEMPTS.plant("retries-terminal-write", names="terminal-write-retry/retry-unless-fenced", part="dispatcher")
class RetriesTerminalWrite(Dispatcher):
    """Tries a terminal write that failed, or whose acknowledgement was lost, once more."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        recorded = super().settle(attempt, trigger, state, result, cause)
        return recorded or super().settle(attempt, trigger, state, result, cause)


@ATTEMPTS.plant("drops-late-evidence", names="MUT-048/not-kept", part="dispatcher")
class DropsLateEvidence(Dispatcher):
    """Keeps no diagnostics of evidence that comes after the attempt was settled by somebody else."""

    def _report(self, attempt: str, problem: str) -> None:
        if not problem.endswith("already settled"):
            super()._report(attempt, problem)


@ATTEMPTS.plant("survivor-to-recovery", names="ambiguous-prepare-then-duplicate/both-viewpoints", part="dispatcher")
class SurvivorToRecovery(Dispatcher):
    """Leaves the row that may have survived an uncertain prepare to recovery."""

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        del attempt
        return voice.not_attempted("unavailable", None)


@ATTEMPTS.plant("reserves-first", names="REPLAY-007/reservation-row-first", part="ledger")
class ReservesFirst(Ledger):
    """Inserts the reservation ahead of its attempt, both in the one transaction."""

    def anchor(self, tx: Transaction, call: Call, attempt: str, worker: str) -> None:
        if call.key is None:
            super().anchor(tx, call, attempt, worker)
        else:
            self._worker = worker

    def reserve(self, tx: Transaction, call: Call, attempt: str, reservation: str) -> None:
        tx.execute("PRAGMA defer_foreign_keys=ON")
        super().reserve(tx, call, attempt, reservation)
        super().anchor(tx, call, attempt, self._worker)


@ATTEMPTS.plant("names-itself-as-original", names="fresh-original-request-id/own-request-id", part="host")
class NamesItselfAsOriginal(MutationHost):
    """Gives its own request id as the original's wherever nothing is replayed."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        mutation = answer.get("mutation")
        if mutation is None or mutation["attempt"] is None or mutation["original_request_id"] is not None:
            return answer
        return {**answer, "mutation": {**mutation, "original_request_id": answer["request_id"]}}
