"""Faults of mutation hosts that really happened; spec/field.yaml has each under the id that its docstring names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.deviations.mutation_approvals import _Looser
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import Approvals
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

FIELD = Collection("mutation-host")


@FIELD.plant("field-a01-unspent-means-unsent", names="OBS-044", part="supervisor", unguarded=True)
class UnspentMeansUnsent(Supervisor):
    """A01: recovery takes an attempt for which no approval was spent for one that was never sent."""

    def _recover_one(self, record: Record) -> bool:
        if record.state != "Dispatching":
            return super()._recover_one(record)
        now = self._ports.clock.now("recover.settle")
        unspent = (
            "UPDATE attempts SET state = 'Aborted', cause = 'unavailable', settled_at = ? WHERE attempt = ?"
            " AND state = 'Dispatching' AND attempt NOT IN (SELECT attempt FROM spends)"
        )
        try:
            with self._store.transaction("recover.settle") as tx:
                if tx.execute(unspent, (now.wall_ms, record.attempt)):
                    self._ledger.close_reservation(tx, record.attempt, "Aborted", now)
                    return True
        except (StoreFailed, AckLost):
            return False
        return super()._recover_one(record)


@FIELD.plant("field-a05-waiter-gets-capacity", names="MUT-044", part="observer")
class WaiterGetsCapacity(Observer):
    """A05: a waiter that has waited for as long as it may frees its slot and hears that there is no capacity."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        late = answer.get("mutation", {}).get("cause") == "timeout" and answer["error"]["code"] == "outcome_unknown"
        return voice.not_attempted("capacity", None) if late and record.state not in CLASSIFICATION else answer


@FIELD.plant("field-a17-replayed-for-class", names="OBS-051", part="observer")
class ReplayedForClass(Observer):
    """A17: takes the delivery for the effect: a refusal that is replayed counts as nothing that was attempted."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        seen = answer.get("mutation")
        if seen is None or not seen["replayed"] or seen["classification"] != "refused":
            return answer
        return {**answer, "mutation": {**seen, "classification": "not_attempted"}}


@FIELD.plant("field-a24-expiry-with-grace", names="APPR-007", part="approvals")
class ExpiryWithGrace(Approvals):
    """A24: verifies a proof for five seconds behind its expiry, to which its spend keeps: two windows."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        return super().verified(call, replace(now, wall_ms=now.wall_ms - 5_000))


@FIELD.plant("field-a46-open-stays-open", names="OBS-044", part="supervisor")
class OpenStaysOpen(Supervisor):
    """A46, P4b: nobody takes an attempt up again that was left Dispatching; only its own worker could settle it."""

    def _recover_one(self, record: Record) -> bool:
        return record.state != "Dispatching" and super()._recover_one(record)


@FIELD.plant("field-a48-expired-spend-returned", names="APPR-019", part="dispatcher", unguarded=True)
class ExpiredSpendReturned(Dispatcher):
    """A48: looks at the expiry once more behind the spend, and gives back what has lapsed in between."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        problem = super().spend(call, proof, attempt)
        if self._ports.clock.now("invoke.spent").wall_ms < proof.expires_at:
            return problem
        try:
            with self._store.transaction("invoke.give_back") as tx:
                tx.execute("DELETE FROM spends WHERE attempt = ?", (attempt,))
        except (StoreFailed, AckLost):
            return "unavailable"
        return problem or "approval_refused"


@FIELD.plant("field-br24-let-through", names="MUT-005", part="dispatcher")
class LetThrough(Dispatcher):
    """BR-24: a keyed call whose reservation the store did not take is let through."""

    def not_anchored(self, call: Call, voice: Voice) -> Answer:
        if call.key is None:
            return super().not_anchored(call, voice)
        evidence = self.send(call)
        if evidence.kind == "success":
            return voice.applied(self._ports.ids.new("invoke.send"), evidence.result)
        return voice.unknown(evidence.cause)


@FIELD.plant("field-br31-input-not-bound", names="APPR-006", part="approvals")
class InputNotBound(_Looser):
    """BR-31: takes an approval of the operation for an approval of whatever input comes with it."""

    ignored = ("input_digest",)


@FIELD.plant("field-br33-spent-behind-the-effect", names="MUT-007", part="dispatcher")
class SpentBehindTheEffect(Dispatcher):
    """BR-33: looks whether the proof is unspent, does the work, and uses the proof up when the work is done."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        del call, attempt
        try:
            spent = self._ledger.is_spent("invoke.spend", proof.issuer, proof.reference)
        except StoreFailed:
            return "unavailable"
        return "approval_replayed" if spent else None

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        answer = super().dispatch(call, attempt, voice)
        if call.proof is not None and answer.get("mutation", {}).get("classification") != "not_attempted":
            super().spend(call, call.proof, attempt)
        return answer


@FIELD.plant("field-p5a-failure-frees-the-key", names="REPLAY-012", part="ledger", unguarded=True)
class FailureFreesTheKey(Ledger):
    """P5a: whatever ends without a definite outcome deletes its reservation, so that a retry may try."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        if state == "Indeterminate":
            tx.execute("DELETE FROM reservations WHERE attempt = ?", (attempt,))
        else:
            super().close_reservation(tx, attempt, state, now)
