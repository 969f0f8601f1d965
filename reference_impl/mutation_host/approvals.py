"""Step 5 for a new attempt: is an approval or event claim needed, presented, bound to exactly this, and unspent?

Nothing is spent here; that is a step of its own behind the anchor (:meth:`Dispatcher.spend`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.kit import Ports, StoreFailed, Time
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Refusal
from reference_impl.mutation_host.settings import Settings

#: The operation's approval -> where the records are that it may be satisfied with.
RECORDS: Final[Mapping[str, str]] = {"required": "approvals", "event_claim": "event_claims"}


class Approvals:
    """Verifies what a candidate presents. Observers of another attempt never come here."""

    def __init__(self, ledger: Ledger, ports: Ports, settings: Settings) -> None:
        self._ledger = ledger
        self._ports = ports
        self._settings = settings

    def judge(self, call: Call) -> Call | Refusal:
        """The call with its proof, or why it is refused; a spent reference is told only to whom it was issued."""
        if call.mode == "not_required":
            return call
        if call.presented is None:
            return Refusal("approval_required", "approval_required")
        record = self.verified(call, self._ports.clock.now("invoke.approval"))
        if record is None:
            return Refusal("approval_refused", "approval_refused")
        try:
            if record["spent"] or self._ledger.is_spent("invoke.approval", record["issuer"], record["reference"]):
                return Refusal("approval_replayed", "approval_replayed")
        except StoreFailed:
            return Refusal("unavailable", "unavailable")
        return replace(call, proof=Proof(record["issuer"], record["reference"], record["expires_at"]))

    def verified(self, call: Call, now: Time) -> Mapping[str, Any] | None:
        """The record that is presented, if it is bound to the whole subject, by a trusted issuer, and not expired."""
        config = self._settings.current()
        presented = call.presented or {}
        for record in config.get(RECORDS[call.mode], ()):
            if (
                all(record[member] == presented[member] for member in ("reference", "evidence"))
                and record["issuer"] in config.get("issuers", ())
                and record["subject"] == call.subject
                and not lapsed(record["expires_at"], now)
            ):
                found: Mapping[str, Any] = record
                return found
        return None


def lapsed(expires_at: int, now: Time) -> bool:
    """Whether a proof can no longer be used; without trusted time nobody can say that it still lives."""
    return not now.trusted or now.wall_ms >= expires_at
