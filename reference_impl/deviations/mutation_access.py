"""Deviations about keys beside access, approvals, credentials and room: what decides first, what is looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, StoreFailed
from reference_impl.mutation_host.admission import Admission
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record, Refusal
from reference_impl.mutation_host.settings import Config
from reference_impl.planting import Collection
from reference_impl.store import Transaction

ACCESS = Collection("mutation-host")
_CONFLICT = "idempotency_conflict"


class _JudgesFirst(MutationHost):
    """Looks at approval and credential before it tells what the key holds."""

    def answer(self, call: Call, voice: Voice) -> Answer:
        candidate = self.approvals.judge(call)
        refusal = candidate if isinstance(candidate, Refusal) else self.preflight.judge(call)
        found = super().answer(call, voice)
        return voice.refused_candidate(refusal) if refusal is not None and self.prefers(refusal, found) else found

    def prefers(self, refusal: Refusal, found: Answer) -> bool:
        """Whether the refusal is told in place of what was found."""
        raise NotImplementedError


def _replayed(found: Answer) -> bool:
    return bool(found.get("mutation", {}).get("replayed"))


@ACCESS.plant("approval-before-conflict", names="REPLAY-003", part="host")
class ApprovalBeforeConflict(_JudgesFirst):
    """Tells whoever lacks an approval or a credential so, before it says that the key is taken."""

    def prefers(self, refusal: Refusal, found: Answer) -> bool:
        del refusal
        return bool(found.get("error", {}).get("code") == _CONFLICT)


@ACCESS.plant("replay-needs-approval", names="REPLAY-005", part="host")
class ReplayNeedsApproval(_JudgesFirst):
    """Asks whoever observes an original for an approval."""

    def prefers(self, refusal: Refusal, found: Answer) -> bool:
        return _replayed(found) and refusal.code in ("approval_required", "approval_refused")


@ACCESS.plant("replay-redeems", names="REPLAY-006", part="host")
class ReplayRedeems(_JudgesFirst):
    """Tries to spend the original's approval once more for a replay."""

    def prefers(self, refusal: Refusal, found: Answer) -> bool:
        return _replayed(found) and refusal.code == "approval_replayed"


@ACCESS.plant("replay-spends-what-it-gets", names="REPLAY-023", part="host", unguarded=True)
class ReplaySpendsWhatItGets(MutationHost):
    """Spends whatever claim a replay presents."""

    def answer(self, call: Call, voice: Voice) -> Answer:
        candidate = self.approvals.judge(call)
        found = super().answer(call, voice)
        if isinstance(candidate, Call) and candidate.proof is not None and _replayed(found):
            now = self._ports.clock.now("observe.spend")
            attempt = found["mutation"]["attempt"]["id"]
            try:
                with self._store.transaction("observe.spend") as tx:
                    if not self.ledger.is_spent_within(tx, candidate.proof.issuer, candidate.proof.reference):
                        self.ledger.spend(tx, attempt, call.instance, candidate.proof, now)
            except (StoreFailed, AckLost):
                return found
        return found


@ACCESS.plant("checked-at-entry", names="REPLAY-016", part="admission")
class CheckedAtEntry(Admission):
    """Checks access when a call comes and never again."""

    def recheck(self, call: Call) -> None:
        del call


@ACCESS.plant("waiter-is-not-checked", names="REPLAY-017", part="observer")
class WaiterIsNotChecked(Observer):
    """Tells a waiter what it waited for, whoever it is by then."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return self._watch(call, record, voice)


@ACCESS.plant("origin-taken-for-direct", names="REPLAY-047", part="admission")
class OriginTakenForDirect(Admission):
    """Admits a call from an origin that it does not trust as if it had come directly."""

    def check_access(
        self, config: Config, context: Mapping[str, Any], operation: str, connection: str
    ) -> Mapping[str, Any]:
        trusted = {o["authority"] for o in config.get("origins", ())}
        origin = context.get("origin")
        if origin is not None and origin["kind"] == "federated" and origin["authority"] not in trusted:
            context = {k: v for k, v in context.items() if k != "origin"}
        return super().check_access(config, context, operation, connection)


class _LetsIn(Admission):
    def check_access(
        self, config: Config, context: Mapping[str, Any], operation: str, connection: str
    ) -> Mapping[str, Any]:
        blind = [{k: v for k, v in c.items() if k != "sees"} for c in config["callers"]]
        return super().check_access({**config, "callers": blind}, context, operation, connection)

    def check_sight(self, call: Call) -> None:
        """The check that was left out at the door."""
        config = self._settings.current()
        super().check_access(config, call.context, call.operation, call.connection)


class _ShowsToWhoSees(Observer):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if record.fingerprint == call.fingerprint and isinstance(self._admission, _LetsIn):
            self._admission.check_sight(call)
        return answer


@ACCESS.plant("sight-behind-fingerprint", names="REPLAY-057", part="host")
class SightBehindFingerprint(MutationHost):
    """Checks whether results may be seen only once the fingerprints agree."""

    admission_class = _LetsIn
    observer_class = _ShowsToWhoSees


@ACCESS.plant("no-recheck-for-credentials", names="REPLAY-028", part="host")
class NoRecheckForCredentials(MutationHost):
    """Looks at the index again before it refuses an approval, not before it refuses a credential."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        if refusal.cause.startswith("credential_"):
            return voice.refused_candidate(refusal)
        return super().refuse(call, refusal, voice)


@ACCESS.plant("rival-is-refused", names="REPLAY-030", part="host")
class RivalIsRefused(MutationHost):
    """Tells its refusal to a candidate whose key went to another request meanwhile."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        found = super().refuse(call, refusal, voice)
        conflict = found.get("error", {}).get("code") == _CONFLICT
        return voice.refused_candidate(refusal) if conflict else found


@ACCESS.plant("doubts-its-refusal", names="REPLAY-032", part="host")
class DoubtsItsRefusal(MutationHost):
    """Looks once more behind its decision, and knows nothing any more when a reservation has come since."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        found = super().refuse(call, refusal, voice)
        if call.key is None or found.get("error", {}).get("code") != refusal.code:
            return found
        try:
            came = self.ledger.find_live("invoke.recheck_again", call.namespace, call.key)
        except StoreFailed:
            return found
        return found if came is None else voice.unknown("unavailable")


@ACCESS.plant("unread-means-absent", names="REPLAY-036", part="host")
class UnreadMeansAbsent(MutationHost):
    """Takes an index that it cannot read a second time for one without a winner."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        found = super().refuse(call, refusal, voice)
        unread = found.get("error", {}).get("code") == "outcome_unknown" and not _replayed(found)
        return voice.refused_candidate(refusal) if unread else found


@ACCESS.plant("winner-rescues", names="REPLAY-037", part="host")
class WinnerRescues(MutationHost):
    """Shows a winner to a candidate that it would have refused, without asking who that is by now."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        if call.key is None:
            return super().refuse(call, refusal, voice)
        try:
            record = self.ledger.find_live("invoke.recheck", call.namespace, call.key)
        except StoreFailed:
            return self.observer.unread(call, voice)
        if record is None:
            return voice.refused_candidate(refusal)
        return self.observer._watch(call, record, voice)


@ACCESS.plant("shared-claim-is-gone", names="REPLAY-038", part="host")
class SharedClaimIsGone(MutationHost):
    """Refuses whoever presents a claim that is spent, and does not ask by whom."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        if refusal.code == "approval_replayed":
            return voice.refused_candidate(refusal)
        return super().refuse(call, refusal, voice)


@ACCESS.plant("evicts-the-oldest", names="RET-027", part="ledger", unguarded=True)
class EvictsTheOldest(Ledger):
    """Makes room for a new key by forgetting the oldest that is not settled."""

    def is_full(self, tx: Transaction, capacity: int | None) -> bool:
        if not super().is_full(tx, capacity):
            return False
        oldest = "SELECT min(rowid) FROM reservations WHERE state IN ('Pending', 'Quarantined')"
        return tx.execute(f"DELETE FROM reservations WHERE rowid = ({oldest})", ()) != 1
