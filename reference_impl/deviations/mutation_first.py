"""First set of deviations of the mutation host: for each live requirement one, made with the catalogue at hand."""

from __future__ import annotations

from typing import Any

from conformance.kit import StoreFailed
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

FIRST = Collection("mutation-host")


@FIRST.plant("loser-calls", names="MUT-009", part="dispatcher")
class LoserCalls(Dispatcher):
    """Sends although its compare-and-set on the gate changed nothing."""

    def open_gate(self, attempt: str) -> bool:
        super().open_gate(attempt)
        return True


@FIRST.plant("reread-and-send", names="MUT-011", part="dispatcher")
class RereadAndSend(Dispatcher):
    """Rereads the row after a lost gate acknowledgement, sees its own attempt Dispatching and sends."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if self._ledger.find_attempt("invoke.read_back", attempt).state == "Dispatching":
            return self.conclude(attempt, self.send(call), voice)
        return super().take_back(call, attempt, voice)


@FIRST.plant("client-retries", names="MUT-015", part="dispatcher")
class ClientRetries(Dispatcher):
    """Its HTTP client tries once more when a connection breaks."""

    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        return super().send(call) if evidence.kind == "ambiguous" and evidence.cause is None else evidence


@FIRST.plant("send-before-gate", names="MUT-017", part="dispatcher")
class SendBeforeGate(Dispatcher):
    """Calls first and opens the gate while the answer is on its way."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        evidence = self.send(call)
        try:
            self.open_gate(attempt)
        except StoreFailed:
            return voice.unknown("unavailable", attempt)
        return self.conclude(attempt, evidence, voice)


@FIRST.plant("settle-by-id-only", names="MUT-029", part="ledger", unguarded=True)
class SettleByIdOnly(Ledger):
    """Records an outcome by attempt id alone, over whatever recovery has settled."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        if not trigger.startswith("settle"):
            return super().move(tx, attempt, trigger, **values)
        state = self._moves["mutation_attempt", trigger][1]
        return tx.execute("UPDATE attempts SET state = ? WHERE attempt = ?", (state, attempt)) == 1


@FIRST.plant("abort-after-gate", names="MUT-030", part="ledger", unguarded=True)
class AbortAfterGate(Ledger):
    """Lets a cancel abort an attempt whose gate is already open."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        if trigger != "abort_on_cancel":
            return super().move(tx, attempt, trigger, **values)
        sql = "UPDATE attempts SET state = 'Aborted' WHERE attempt = ? AND state IN ('Prepared', 'Dispatching')"
        return tx.execute(sql, (attempt,)) == 1


@FIRST.plant("recovery-dispatches", names="MUT-033", part="supervisor")
class RecoveryDispatches(Supervisor):
    """Recovery opens the gate of a Prepared attempt and sends it."""

    def _recover_one(self, record: Record) -> bool:
        if record.state != "Prepared":
            return super()._recover_one(record)
        with self._store.transaction("recover.open_gate") as tx:
            won = self._ledger.move(tx, record.attempt, "open_gate")
        if won:
            self._ports.remote.post("recover.send", "/effect/thing.write", {"marker": record.request_id}, None)
        return won


@FIRST.plant("lost-response-is-refusal", names="OBS-042", part="dispatcher")
class LostResponseIsRefusal(Dispatcher):
    """Takes a connection that broke off for the provider's refusal."""

    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        return Evidence("refusal", cause="connection") if evidence.kind == "ambiguous" else evidence


@FIRST.plant("storage-error-hides-success", names="OBS-057", part="dispatcher")
class StorageErrorHidesSuccess(Dispatcher):
    """Answers unknown when the terminal record could not be written, though the provider said yes."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        self.recorded = True
        answer = super().conclude(attempt, evidence, voice)
        return answer if self.recorded else voice.unknown("unavailable", attempt)

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self.recorded = super().settle(attempt, trigger, state, result, cause)
        return self.recorded


@FIRST.plant("two-commit-prepare", names="REPLAY-007", part="dispatcher")
class TwoCommitPrepare(Dispatcher):
    """Commits the attempt first and its reservation in a second transaction."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        if call.key is None:
            return super().prepare(call, attempt)
        with self._store.transaction("invoke.prepare") as tx:
            held = self._ledger.find_live_within(tx, call.namespace, call.key)
            if held is not None:
                return held
            self._ledger.anchor(tx, call, attempt, self._worker)
        with self._store.transaction("invoke.reserve") as tx:
            self._ledger.reserve(tx, call, attempt, self._ports.ids.new("invoke.reserve"))
        return None


@FIRST.plant("check-then-reserve", names="REPLAY-012", part="dispatcher", unguarded=True)
class CheckThenReserve(Dispatcher):
    """Trusts the lookup made before and reserves without looking again."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        if call.key is None:
            return super().prepare(call, attempt)
        reservation = self._ports.ids.new("invoke.prepare")
        with self._store.transaction("invoke.prepare") as tx:
            self._ledger.anchor(tx, call, attempt, self._worker)
            self._ledger.reserve(tx, call, attempt, reservation)
        return None


@FIRST.plant("retire-by-key", names="RET-018", part="ledger")
class RetireByKey(Ledger):
    """Retires whatever generation lives under the namespace and key."""

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        del reservation
        sql = "UPDATE reservations SET state = 'Expired' WHERE namespace = ? AND key = ? AND state = 'Replayable'"
        return tx.execute(sql, (namespace, key)) > 0
