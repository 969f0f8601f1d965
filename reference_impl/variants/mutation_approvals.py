"""Legal variants of approvals and admission: what is heard, and what an uncertain spend leaves behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, StoreFailed
from reference_impl.mutation_host.admission import Admission, Denied, Request
from reference_impl.mutation_host.approvals import Approvals
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.model import Call, Proof, Refusal
from reference_impl.planting import Collection

APPROVALS = Collection("mutation-host")


@APPROVALS.plant("missing-claim-refused", names="approval-required-for-event-claim/r2", part="approvals")
class MissingClaimRefused(Approvals):
    """Answers a missing event claim as one that did not verify."""

    def judge(self, call: Call) -> Call | Refusal:
        if call.mode == "event_claim" and call.presented is None:
            return Refusal("approval_refused", "approval_refused")
        return super().judge(call)


@APPROVALS.plant("needless-approval-refused", names="approval-when-not-required/r2", part="admission")
class NeedlessApprovalRefused(Admission):
    """Refuses an approval where none is required, as it refuses a key where none is supported."""

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        super().check_input(operation, grants, request)
        if operation["approval"] == "not_required" and request.get("approval") is not None:
            raise Denied("invalid_input")


@APPROVALS.plant("out-of-scope-is-invalid", names="containment-code/r2", part="admission")
class OutOfScopeIsInvalid(Admission):
    """Takes input that names a resource out of scope for invalid."""

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        try:
            super().check_input(operation, grants, request)
        except Denied as denied:
            raise Denied("invalid_input") from denied


@APPROVALS.plant("unsure-spend-is-spent", names="uncertain-spend-aftermath/r1", part="dispatcher")
class UnsureSpendIsSpent(Dispatcher):
    """Makes sure, after a spend of uncertain fate, that the reference is spent, for good."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        problem = super().spend(call, proof, attempt)
        if problem == "unavailable":
            now = self._ports.clock.now("invoke.spend_again")
            try:
                with self._store.transaction("invoke.spend_again") as tx:
                    if not self._ledger.is_spent_within(tx, proof.issuer, proof.reference):
                        self._ledger.spend(tx, attempt, call.instance, proof, now)
            except (StoreFailed, AckLost):
                return problem
        return problem


@APPROVALS.plant("index-decides-spend", names="APPR-014/unique-index-decides", part="dispatcher")
class IndexDecidesSpend(Dispatcher):
    """Inserts a spend without looking and lets the unique index find the one that was first."""

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        now = self._ports.clock.now("invoke.spend")
        try:
            with self._store.transaction("invoke.spend") as tx:
                self._ledger.spend(tx, attempt, call.instance, proof, now)
        except sqlite3.IntegrityError:
            return "approval_replayed"
        except (StoreFailed, AckLost):
            return "unavailable"
        return None
