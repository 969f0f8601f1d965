"""Faults of approvals and event claims, each the mistake that the catalogue names for its requirement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import Approvals
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Refusal
from reference_impl.planting import Collection
from reference_impl.store import Transaction

APPROVAL_FAULTS = Collection("mutation-host")


class _Looser(Approvals):
    """Compares everything but some members of the subject."""

    ignored: tuple[str, ...] = ()

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        records = self._settings.current().get("approvals", ())
        for record in records:
            same = {member: record["subject"][member] for member in self.ignored}
            found = super().verified(replace(call, subject={**call.subject, **same}), now)
            if found is not None and found["reference"] == record["reference"]:
                return found
        return super().verified(call, now)


@APPROVAL_FAULTS.plant("executor-ignored", names="APPR-003", part="approvals")
class ExecutorIgnored(_Looser):
    """Compares the caller of an approval and not its executor."""

    ignored = ("executor",)


@APPROVAL_FAULTS.plant("connection-not-in-subject", names="APPR-004", part="approvals")
class ConnectionNotInSubject(_Looser):
    """Takes an approval for one connection on another."""

    ignored = ("connection",)


@APPROVAL_FAULTS.plant("revisions-not-in-subject", names="APPR-005", part="approvals")
class RevisionsNotInSubject(_Looser):
    """Takes an approval that was given before the operation or its connection was revised."""

    ignored = ("operation_revision", "connection_revision")


@APPROVAL_FAULTS.plant("raw-input-compared", names="APPR-006", part="approvals")
class RawInputCompared(Approvals):
    """Hashes the input as its bytes came, so that another order of members is another input."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        raw = sha256(json.dumps(call.input, separators=(",", ":")).encode()).hexdigest()
        return super().verified(replace(call, subject={**call.subject, "input_digest": raw}), now)


@APPROVAL_FAULTS.plant("any-issuer-trusted", names="APPR-007", part="approvals")
class AnyIssuerTrusted(Approvals):
    """Trusts the issuer that the evidence names."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        config = self._settings.current()
        presented = call.presented or {}
        for record in config.get("approvals", ()):
            if record["reference"] == presented["reference"] and record["issuer"] not in config.get("issuers", ()):
                return record if record["subject"] == call.subject else None
        return super().verified(call, now)


class _PerKeyApprovals(Approvals):
    def judge(self, call: Call) -> Call | Refusal:
        judged = super().judge(call)
        if isinstance(judged, Refusal) or judged.proof is None:
            return judged
        return replace(judged, proof=replace(judged.proof, reference=f"{call.key}/{judged.proof.reference}"))


@APPROVAL_FAULTS.plant("spent-per-key", names="APPR-009", part="approvals")
class SpentPerKey(_PerKeyApprovals):
    """Notes the spend under the key and the reference, so that another key finds the reference unspent."""


@APPROVAL_FAULTS.plant("retirement-deletes-spend", names="APPR-011", part="ledger", unguarded=True)
class RetirementDeletesSpend(Ledger):
    """Removes with a retired reservation the spend of its attempt."""

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        retired = super().retire(tx, reservation, namespace, key)
        if retired:
            mine = "SELECT attempt FROM reservations WHERE reservation = ?"
            tx.execute(f"DELETE FROM spends WHERE attempt = ({mine})", (reservation,))
        return retired


@APPROVAL_FAULTS.plant("read-then-insert", names="APPR-014", part="dispatcher", unguarded=True)
class ReadThenInsert(Dispatcher):
    """Trusts the look that was taken ahead of the anchor, and inserts a spend under an id of its own."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        now = self._ports.clock.now("invoke.spend")
        sql = (
            "INSERT INTO spends (spend, issuer, reference, instance, attempt, state, spent_at)"
            " VALUES (?, ?, ?, ?, ?, 'Spent', ?)"
        )
        try:
            with self._store.transaction("invoke.spend") as tx:
                tx.execute(sql, (attempt, proof.issuer, proof.reference, call.instance, attempt, now.wall_ms))
        except (StoreFailed, AckLost):
            return "unavailable"
        return None


@APPROVAL_FAULTS.plant("no-approval-no-ledger", names="APPR-015", part="dispatcher")
class NoApprovalNoLedger(Dispatcher):
    """Sends what needs neither key nor approval without any row."""

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        if call.key is not None or call.mode != "not_required":
            return super().attempt(call, voice)
        evidence = self.send(call)
        if evidence.kind == "success":
            return voice.applied(self._ports.ids.new("invoke.send"), evidence.result)
        return voice.unknown(evidence.cause)


@APPROVAL_FAULTS.plant("failed-spend-dispatches", names="APPR-016", part="dispatcher")
class FailedSpendDispatches(Dispatcher):
    """Goes on where the store refused the spend, to be made up for later."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        now = self._ports.clock.now("invoke.spend")
        try:
            with self._store.transaction("invoke.spend") as tx:
                if self._ledger.is_spent_within(tx, proof.issuer, proof.reference):
                    return "approval_replayed"
                self._ledger.spend(tx, attempt, call.instance, proof, now)
        except StoreFailed:
            return None
        except AckLost:
            return "unavailable"
        return None


@APPROVAL_FAULTS.plant("uncertain-spend-dispatches", names="APPR-017", part="dispatcher")
class UncertainSpendDispatches(Dispatcher):
    """Takes a spend whose acknowledgement was lost for done."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        now = self._ports.clock.now("invoke.spend")
        try:
            with self._store.transaction("invoke.spend") as tx:
                if self._ledger.is_spent_within(tx, proof.issuer, proof.reference):
                    return "approval_replayed"
                self._ledger.spend(tx, attempt, call.instance, proof, now)
        except StoreFailed:
            return "unavailable"
        except AckLost:
            return None
        return None


@APPROVAL_FAULTS.plant("unspent-stays-prepared", names="APPR-018", part="dispatcher")
class UnspentStaysPrepared(Dispatcher):
    """Answers after a failed spend and leaves its row Prepared."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.proof is None:
            return super().dispatch(call, attempt, voice)
        problem = self.spend(call, call.proof, attempt)
        if problem is not None:
            return voice.not_attempted(problem, attempt)
        return super().dispatch(replace(call, proof=None), attempt, voice)


@APPROVAL_FAULTS.plant("abort-refunds", names="APPR-019", part="ledger", unguarded=True)
class AbortRefunds(Ledger):
    """Gives the approval back in the transaction that aborts its attempt."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        moved = super().move(tx, attempt, trigger, **values)
        if moved and trigger.startswith("abort"):
            tx.execute("DELETE FROM spends WHERE attempt = ?", (attempt,))
        return moved


@APPROVAL_FAULTS.plant("used-up-by-verification", names="APPR-030", part="approvals")
class UsedUpByVerification(Approvals):
    """Takes a reference for used as soon as it verified."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._verified: set[tuple[str, str]] = set()

    def judge(self, call: Call) -> Call | Refusal:
        judged = super().judge(call)
        if isinstance(judged, Refusal) or judged.proof is None:
            return judged
        name = (judged.proof.issuer, judged.proof.reference)
        if name in self._verified:
            return Refusal("approval_replayed", "approval_replayed")
        self._verified.add(name)
        return judged


@APPROVAL_FAULTS.plant("missing-is-refused", names="CODE-001", part="approvals")
class MissingIsRefused(Approvals):
    """Answers a missing approval as one that did not verify."""

    def judge(self, call: Call) -> Call | Refusal:
        judged = super().judge(call)
        missing = isinstance(judged, Refusal) and judged.code == "approval_required"
        return Refusal("approval_refused", "approval_refused") if missing else judged


@APPROVAL_FAULTS.plant("bad-evidence-is-forbidden", names="CODE-002", part="approvals")
class BadEvidenceIsForbidden(Approvals):
    """Takes evidence of another hand for a lack of access."""

    def judge(self, call: Call) -> Call | Refusal:
        judged = super().judge(call)
        records = self._settings.current().get("approvals", ())
        given = call.presented or {}
        forged = any(r["reference"] == given.get("reference") != r["evidence"] for r in records) and all(
            r["evidence"] != given.get("evidence") for r in records
        )
        if isinstance(judged, Refusal) and judged.code == "approval_refused" and forged:
            return Refusal("forbidden", "forbidden")
        return judged


@APPROVAL_FAULTS.plant("says-which-axis", names="CODE-003", part="approvals")
class SaysWhichAxis(Approvals):
    """Says in the cause of the refusal what the approval is for."""

    def judge(self, call: Call) -> Call | Refusal:
        judged = super().judge(call)
        if not isinstance(judged, Refusal) or judged.code != "approval_refused":
            return judged
        for record in self._settings.current().get("approvals", ()):
            if record["reference"] == (call.presented or {}).get("reference"):
                differ = [name for name, value in call.subject.items() if record["subject"][name] != value]
                return Refusal("approval_refused", f"{differ[0]} mismatch" if differ else "approval_refused")
        return judged


@APPROVAL_FAULTS.plant("credential-first", names="EXEC-021", part="host")
class CredentialFirst(MutationHost):
    """Looks at the credential ahead of the approval."""

    def answer(self, call: Call, voice: Voice) -> Answer:
        if call.key is not None:
            observed = self.look_up(call, "invoke.lookup", voice)
            if observed is not None:
                return observed
        unready = self.preflight.judge(call)
        return super().answer(call, voice) if unready is None else self.refuse(call, unready, voice)
