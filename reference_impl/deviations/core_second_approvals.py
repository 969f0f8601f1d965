"""Second set, made blind: what an approval or event claim is checked against, and the one use of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.approvals import RECORDS, Approvals, lapsed
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.identity import canonical_json, input_digest
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Refusal
from reference_impl.planting import Collection
from reference_impl.store import Transaction

APPROVALS_SECOND = Collection("mutation-host")


# Given an approval for a caller that comes directly, when the same caller presents it through a trusted gateway, then
# approval_refused; here it is spent and the request sent.
@APPROVALS_SECOND.plant("direct-approval-for-gateway", names="APPR-003", part="approvals")
class DirectApprovalForGateway(Approvals):
    """Accepts an approval of the direct caller also where that caller comes through a federated origin."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        direct = {**call.subject, "origin": {"kind": "direct", "authority": call.instance}}
        return super().verified(call, now) or super().verified(replace(call, subject=direct), now)


# Given an event claim for operation P, when it is presented for Q on the same connection with the same input, then
# approval_refused; here Q is sent. Approvals proper are told apart.
@APPROVALS_SECOND.plant("claim-covers-connection", names="APPR-004", part="approvals")
class ClaimCoversConnection(Approvals):
    """Accepts an event claim for every operation of the connection that it was admitted for."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        found = super().verified(call, now)
        for operation in self._settings.current()["operations"] if call.mode == "event_claim" else ():
            if found is None and operation["connection"] == call.connection:
                other = {"operation": operation["id"], "operation_revision": operation["revision"]}
                found = super().verified(replace(call, subject={**call.subject, **other}), now)
        return found


# Given an approval for an input of the required members, when it is presented with an optional member besides, then
# approval_refused; here it is spent and the larger input sent.
@APPROVALS_SECOND.plant("optional-members-not-approved", names="APPR-006", part="approvals")
class OptionalMembersNotApproved(Approvals):
    """Accepts an approval of the required members of the input alone, whatever stands beside them."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        operations = self._settings.current()["operations"]
        shape = next((op.get("input") for op in operations if op["id"] == call.operation), None) or {}
        needed = {name: call.input[name] for name in ("marker", *shape.get("required", ())) if name in call.input}
        core = {**call.subject, "input_digest": input_digest(needed)}
        return super().verified(call, now) or super().verified(replace(call, subject=core), now)


# Given a configuration that names no trusted issuers, when an approval of some issuer is presented, then
# approval_refused; here it is spent and the request sent.
@APPROVALS_SECOND.plant("no-issuers-means-any", names="APPR-007", part="approvals")
class NoIssuersMeansAny(Approvals):
    """Trusts every issuer where the configuration lists none."""

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        config, presented = self._settings.current(), call.presented or {}
        trusted = config.get("issuers")
        for record in config.get(RECORDS[call.mode], ()):
            known = not trusted or record["issuer"] in trusted
            shown = all(record[member] == presented[member] for member in ("reference", "evidence"))
            if known and shown and record["subject"] == call.subject and not lapsed(record["expires_at"], now):
                found: Mapping[str, Any] = record
                return found
        return None


class _Reopening(Ledger):
    """Counts a spend only while ``counted`` holds for it, and otherwise gives its row to the next attempt."""

    counted = "1"

    def is_spent(self, step: str, issuer: str, reference: str) -> bool:
        return bool(self.store.read(step, self._sql(), (issuer, reference)))

    def is_spent_within(self, tx: Transaction, issuer: str, reference: str) -> bool:
        return bool(tx.query(self._sql(), (issuer, reference)))

    def spend(self, tx: Transaction, attempt: str, instance: str, proof: Proof, now: Time) -> None:
        sql = "UPDATE spends SET attempt = ?, instance = ?, spent_at = ? WHERE issuer = ? AND reference = ?"
        if tx.execute(sql, (attempt, instance, now.wall_ms, proof.issuer, proof.reference)) == 0:
            super().spend(tx, attempt, instance, proof, now)

    def _sql(self) -> str:
        joined = "FROM spends s JOIN attempts a ON a.attempt = s.attempt"
        return f"SELECT 1 {joined} WHERE s.issuer = ? AND s.reference = ? AND {self.counted}"


# Given an approval spent by an attempt that the provider refused, when a new key carries it, then approval_replayed;
# here it is sent again.
@APPROVALS_SECOND.plant("refusal-frees-approval", names="APPR-009", part="ledger")
class RefusalFreesApproval(_Reopening):
    """Lets an approval authorise another attempt when the provider refused the one that it was spent for."""

    counted = "a.state <> 'Failed'"


# Given an approval that outlives the retention of the key that spent it, when housekeeping has retired the key and the
# same request comes again, then approval_replayed; here it is sent.
@APPROVALS_SECOND.plant("spend-bound-to-live-key", names="APPR-011", part="ledger")
class SpendBoundToLiveKey(_Reopening):
    """Counts a spend no longer once the reservation of its attempt has expired."""

    counted = "NOT EXISTS (SELECT 1 FROM reservations r WHERE r.attempt = s.attempt AND r.state = 'Expired')"


# Given two keys with one approval, both verified, when both reach the spend, then one goes on; here the second insert
# is ignored, nobody looks at its row count, and both are sent with one spend on record.
@APPROVALS_SECOND.plant("spend-ignores-duplicate", names="APPR-014", part="ledger", unguarded=True)
class SpendIgnoresDuplicate(Ledger):
    """Spends with an insert that is silently ignored when the reference is there already."""

    def is_spent_within(self, tx: Transaction, issuer: str, reference: str) -> bool:
        del tx, issuer, reference
        return False

    def spend(self, tx: Transaction, attempt: str, instance: str, proof: Proof, now: Time) -> None:
        spend = canonical_json([proof.issuer, proof.reference])
        columns = "spend, issuer, reference, instance, attempt, state, spent_at"
        row = (spend, proof.issuer, proof.reference, instance, attempt, now.wall_ms)
        tx.execute(f"INSERT OR IGNORE INTO spends ({columns}) VALUES (?, ?, ?, ?, ?, 'Spent', ?)", row)


# Given an operation that needs no approval, when a call presents one that would verify, then no spend; here it is used
# up. Without an approval, or with one that does not verify, nothing is different.
@APPROVALS_SECOND.plant("needless-approval-spent", names="APPR-015", part="approvals")
class NeedlessApprovalSpent(Approvals):
    """Spends a valid approval that is presented to an operation which requires none."""

    def judge(self, call: Call) -> Call | Refusal:
        if call.mode != "not_required" or call.presented is None:
            return super().judge(call)
        needing = super().judge(replace(call, mode="required"))
        return replace(needing, mode=call.mode) if isinstance(needing, Call) else call


# Given a Prepared attempt, when its spend fails once, then the gate stays shut and the attempt is Aborted; here the
# spend is tried again, and the request sent.
@APPROVALS_SECOND.plant("failed-spend-retried", names="APPR-016", part="dispatcher")
class FailedSpendRetried(Dispatcher):
    """Tries a spend that certainly failed a second time and goes on when that succeeds."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        now = self._ports.clock.now("invoke.spend")
        for _ in range(2):
            with suppress(StoreFailed):
                try:
                    with self._store.transaction("invoke.spend") as tx:
                        if self._ledger.is_spent_within(tx, proof.issuer, proof.reference):
                            return "approval_replayed"
                        if lapsed(proof.expires_at, now):
                            return "approval_refused"
                        self._ledger.spend(tx, attempt, call.instance, proof, now)
                except AckLost:
                    return "unavailable"
                return None
        return "unavailable"


# Given a Prepared attempt, when the acknowledgement of its spend is lost, then the gate stays shut; here the row is
# read back, found to be this attempt's own, and the request sent.
@APPROVALS_SECOND.plant("lost-spend-read-back", names="APPR-017", part="dispatcher")
class LostSpendReadBack(Dispatcher):
    """Goes on after a lost spend acknowledgement when it finds the spend on record for its own attempt."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        problem = super().spend(call, proof, attempt)
        if problem != "unavailable":
            return problem
        try:
            own = self._store.read("invoke.spend", "SELECT 1 FROM spends WHERE attempt = ?", (attempt,))
        except StoreFailed:
            return problem
        return None if own else problem


# Given a Prepared attempt, when its spend fails, then its row is kept as Aborted; here attempt and reservation are
# gone, as if the call had never been anchored.
@APPROVALS_SECOND.plant("failed-spend-forgets-attempt", names="APPR-018", part="dispatcher", unguarded=True)
class FailedSpendForgetsAttempt(Dispatcher):
    """Takes the prepared rows out of the ledger after a failed spend, so that the key can be used again."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        problem = super().spend(call, proof, attempt)
        if problem == "unavailable":
            unspent = "attempt = ? AND NOT EXISTS (SELECT 1 FROM spends s WHERE s.attempt = ?)"
            with suppress(StoreFailed, AckLost), self._store.transaction("invoke.abort") as tx:
                tx.execute(f"DELETE FROM reservations WHERE {unspent}", (attempt, attempt))
                tx.execute(f"DELETE FROM attempts WHERE {unspent} AND state = 'Prepared'", (attempt, attempt))
        return problem


# Given an approval spent for an attempt that its caller then cancelled ahead of the gate, when it is presented with a
# new key, then approval_replayed; here it is sent. After a deadline or a recovery it stays spent.
@APPROVALS_SECOND.plant("cancel-gives-approval-back", names="APPR-019", part="ledger")
class CancelGivesApprovalBack(_Reopening):
    """Gives an approval back when the caller cancels the attempt that it was spent for."""

    counted = "NOT (a.state = 'Aborted' AND a.cause IS 'cancelled')"


# Given a call with a valid approval that ends at its credential or a failed anchor, when the next call carries it in
# the same process, then it is sent; here approval_replayed, though nothing was spent.
@APPROVALS_SECOND.plant("verified-once-is-used", names="APPR-030", part="approvals")
class VerifiedOnceIsUsed(Approvals):
    """Remembers each reference that verified in this process and takes it for used when it comes again."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._seen: set[tuple[str, str]] = set()

    def judge(self, call: Call) -> Call | Refusal:
        verdict = super().judge(call)
        if isinstance(verdict, Refusal) or verdict.proof is None:
            return verdict
        used = (verdict.proof.issuer, verdict.proof.reference)
        if used in self._seen:
            return Refusal("approval_replayed", "approval_replayed")
        self._seen.add(used)
        return verdict
