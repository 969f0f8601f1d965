"""Second set, made blind: what a caller meets at a key that somebody holds, and the recheck ahead of a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.admission import Admission, Context, Denied, Request, _bound, _in_scope
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import Approvals
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.identity import canonical_json
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record, Refusal
from reference_impl.mutation_host.settings import Config
from reference_impl.planting import Collection
from reference_impl.store import Transaction

REPLAYS_SECOND = Collection("mutation-host")
_REFUSED = Refusal("approval_refused", "approval_refused")


class _TryingAgain(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        action = super().decide(call, record, now)
        unsent = record is not None and record.state == "Aborted" and action == "replay"
        return "retire_then_candidate" if unsent else action


class _ReplacingAborted(Dispatcher):
    def may_replace(self, held: Record, now: Time) -> bool:
        unsent = held.state == "Aborted" and held.reservation_state == "Replayable"
        return unsent or super().may_replace(held, now)


# Given an Aborted original within its retention, when its exact request comes, then not_attempted; here it is sent.
@REPLAYS_SECOND.plant("aborted-tried-again", names="REPLAY-002", part="host")
class AbortedTriedAgain(MutationHost):
    """Makes a new attempt of an exact request whose original was aborted and hence never sent."""

    observer_class = _TryingAgain
    dispatcher_class = _ReplacingAborted


# Given a live key and a credential that is not ready, when other input comes, then conflict; here unavailable.
@REPLAYS_SECOND.plant("credential-ahead-of-conflict", names="REPLAY-003", part="host")
class CredentialAheadOfConflict(MutationHost):
    """Looks at the credential before it tells a conflict, and tells the credential's problem instead."""

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        answer = super().look_up(call, step, voice)
        conflict = answer is not None and answer.get("error") == {"code": "idempotency_conflict"}
        unready = self.preflight.judge(call) if conflict and step == "invoke.lookup" else None
        return answer if unready is None else voice.refused_candidate(unready)


class _Knowing(Observer):
    approvals: Approvals


class _KnowingHost(MutationHost):
    observer_class = _Knowing

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        assert isinstance(self.observer, _Knowing)
        self.observer.approvals = self.approvals


class _AdmittingWaiters(_Knowing):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        waits = record.state not in CLASSIFICATION and record.fingerprint == call.fingerprint
        if waits and call.mode != "not_required":
            now = self._ports.clock.now("observe.deadline")
            if call.presented is None or self.approvals.verified(call, now) is None:
                return voice.refused_candidate(_REFUSED)
        return super().observe(call, record, voice)


# Given an original under way, when its exact request has no valid approval, then it waits; here approval_refused.
@REPLAYS_SECOND.plant("waiter-needs-approval", names="REPLAY-005", part="host")
class WaiterNeedsApproval(_KnowingHost):
    """Verifies the approval of an exact request before it may wait for the original."""

    observer_class = _AdmittingWaiters


class _BookingWaiters(_Knowing):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if record.state in CLASSIFICATION or record.fingerprint != call.fingerprint or call.presented is None:
            return answer
        now = self._ports.clock.now("invoke.spend")
        proof = None if call.mode == "not_required" else self.approvals.verified(call, now)
        if proof is not None:
            spend = [proof["issuer"], proof["reference"], call.request_id]
            row = (canonical_json(spend), *spend[:2], call.instance, record.attempt, now.wall_ms)
            columns = "spend, issuer, reference, instance, attempt, state, spent_at"
            with suppress(StoreFailed, AckLost), self._ledger.store.transaction("invoke.spend") as tx:
                tx.execute(f"INSERT OR IGNORE INTO spends ({columns}) VALUES (?, ?, ?, ?, ?, 'Spent', ?)", row)
        return answer


# Given an original under way with its approval spent, when a duplicate has waited, then one spend row; here two.
@REPLAYS_SECOND.plant("waiter-books-approval", names="REPLAY-006", part="host", unguarded=True)
class WaiterBooksApproval(_KnowingHost):
    """Enters the approval of a duplicate that has waited as a second use of it."""

    observer_class = _BookingWaiters


# Given two exact candidates that both missed, when the second finds the winner, then one attempt row; here two.
@REPLAYS_SECOND.plant("loser-kept-for-audit", names="REPLAY-008", part="dispatcher")
class LoserKeptForAudit(Dispatcher):
    """Anchors the candidate that lost the key too, and aborts that row at once."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        winner = super().prepare(call, attempt)
        if winner is not None:
            now = self._ports.clock.now("invoke.prepare")
            with suppress(StoreFailed, AckLost), self._store.transaction("invoke.prepare") as tx:
                self._ledger.anchor(tx, call, attempt, self._worker)
                self._ledger.move(tx, attempt, "abort_on_refusal", cause="unavailable", now=now)
        return winner


# Given two exact candidates that missed, when one finds the other under way, then it waits; here unknown at once.
@REPLAYS_SECOND.plant("race-loser-does-not-wait", names="REPLAY-013", part="dispatcher")
class RaceLoserDoesNotWait(Dispatcher):
    """A candidate that loses the key while it prepares answers unknown instead of waiting for the winner."""

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        outcome = super().attempt(call, voice)
        record = outcome.record if isinstance(outcome, Winner) else None
        if record is not None and record.fingerprint == call.fingerprint and record.state not in CLASSIFICATION:
            return voice.unknown(None, record.attempt, record.request_id)
        return outcome


# Given a replay halted at its lookup, when its operation is disabled, then forbidden; here the result is returned.
@REPLAYS_SECOND.plant("recheck-without-enablement", names="REPLAY-016", part="admission")
class RecheckWithoutEnablement(Admission):
    """Checks the caller's authority again before a replay, but not whether the operation is still enabled."""

    def recheck(self, call: Call) -> None:
        config = self._settings.current()
        grants = self.check_access(config, call.context, call.operation, call.connection)
        _in_scope(_bound(_enabled(config), call.operation, call.connection), grants, call.input)


# Given a waiter with revoked access, when the original ends Indeterminate, then a plain refusal; here unknown with ids.
@REPLAYS_SECOND.plant("unknown-told-to-revoked", names="REPLAY-017", part="observer")
class UnknownToldToRevoked(Observer):
    """Ends a wait without another look at access when all there is to tell is an unknown outcome."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = self._watch(call, record, voice)
        if answer.get("error") != {"code": "outcome_unknown"}:
            self._admission.recheck(call)
        return answer


class _AskingForTheClaim(_Knowing):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if call.mode != "event_claim" or record.fingerprint != call.fingerprint:
            return answer
        sql = "SELECT issuer, reference FROM spends WHERE attempt = ?"
        try:
            spent = {tuple(row) for row in self._ledger.store.read("observe.read", sql, (record.attempt,))}
        except StoreFailed:
            return voice.unknown("unavailable")
        now = self._ports.clock.now("observe.deadline").wall_ms
        claims = self.approvals._settings.current().get("event_claims", ())
        used = [claim for claim in claims if (claim["issuer"], claim["reference"]) in spent]
        return voice.refused_candidate(_REFUSED) if any(now >= c["expires_at"] for c in used) else answer


# Given a result made under an event claim, when the claim lapsed, then an exact replay; here approval_refused.
@REPLAYS_SECOND.plant("replay-needs-live-claim", names="REPLAY-023", part="host")
class ReplayNeedsLiveClaim(_KnowingHost):
    """Refuses to replay what was done under an event claim that has lapsed since."""

    observer_class = _AskingForTheClaim


# Given a missed candidate without its claim, when an exact winner reserves, then it observes; here approval_required.
@REPLAYS_SECOND.plant("missing-claim-not-rechecked", names="REPLAY-028", part="host")
class MissingClaimNotRechecked(MutationHost):
    """Refuses a call without the event claim that it needs without a second look at the index."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        if call.mode == "event_claim" and refusal.code == "approval_required":
            return voice.refused_candidate(refusal)
        return super().refuse(call, refusal, voice)


# Given a refused candidate that missed, when other input took its key, then the recheck says conflict; here unknown.
@REPLAYS_SECOND.plant("recheck-conflict-is-unknown", names="REPLAY-030", part="host")
class RecheckConflictIsUnknown(MutationHost):
    """Takes another request that turns up at the recheck for an uncertainty instead of a conflict."""

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        answer = super().look_up(call, step, voice)
        conflict = answer is not None and answer.get("error") == {"code": "idempotency_conflict"}
        return voice.unknown("unavailable") if conflict and step == "invoke.recheck" else answer


# Given a candidate whose recheck found nobody, when a winner comes after it, then the refusal stands; here a replay.
@REPLAYS_SECOND.plant("spent-looks-once-more", names="REPLAY-032", part="host")
class SpentLooksOnceMore(MutationHost):
    """Reads the index again behind an empty recheck when the approval was spent, to meet whoever spent it."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        again = call.key is not None and refusal.code == "approval_replayed"
        observed = self.look_up(call, "invoke.recheck", voice) if again else None
        return super().refuse(call, refusal, voice) if observed is None else observed


# Given a refused candidate, when its recheck cannot be read, then cause unavailable; here the cause of the refusal.
@REPLAYS_SECOND.plant("unread-keeps-refusal-cause", names="REPLAY-036", part="host")
class UnreadKeepsRefusalCause(MutationHost):
    """Tells the cause of the refusal that it could not decide instead of the ledger's, beside outcome_unknown."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        answer = super().refuse(call, refusal, voice)
        return voice.unknown(refusal.cause) if answer == voice.unknown("unavailable") else answer


# Given a credential not ready, when access is revoked ahead of the recheck, then forbidden; here unavailable.
@REPLAYS_SECOND.plant("credential-outlives-access", names="REPLAY-037", part="host")
class CredentialOutlivesAccess(MutationHost):
    """Lets a refusal by the credential stand although access was withdrawn before it was decided."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        try:
            return super().refuse(call, refusal, voice)
        except Denied:
            if refusal.cause.startswith("credential_"):
                return voice.refused_candidate(refusal)
            raise


# Given A under way with the claim of B, when B, which missed, is refused, then it waits; here approval_replayed.
@REPLAYS_SECOND.plant("spent-claim-only-meets-settled", names="REPLAY-038", part="host")
class SpentClaimOnlyMeetsSettled(MutationHost):
    """Tells a candidate that its claim is spent while the winner that spent it is still under way."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        if call.key is not None and refusal.code == "approval_replayed":
            try:
                winner = self.ledger.find_live("invoke.recheck", call.namespace, call.key)
            except StoreFailed:
                return self.observer.unread(call, voice)
            if winner and winner.fingerprint == call.fingerprint and winner.state not in CLASSIFICATION:
                self.admission.recheck(call)
                return voice.refused_candidate(refusal)
        return super().refuse(call, refusal, voice)


# Given two callers without tenant that differ in realm alone, when both use one key, then two attempts; here a replay.
@REPLAYS_SECOND.plant("realm-only-within-tenant", names="REPLAY-039", part="admission")
class RealmOnlyWithinTenant(Admission):
    """Leaves the realm out of the namespace where there is no tenant."""

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        parts = json.loads(call.namespace)
        return call if parts[2] is not None else replace(call, namespace=canonical_json([*parts[:3], None, *parts[4:]]))


# Given a key that a caller used itself, when it comes through an executor, then a new attempt; here the first shows.
@REPLAYS_SECOND.plant("executor-sees-principals-keys", names="REPLAY-040", part="ledger")
class ExecutorSeesPrincipalsKeys(Ledger):
    """Looks on among the caller's own keys when a call through an executor finds none."""

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        found, own = super().find_live(step, namespace, key), _without_executor(namespace)
        return super().find_live(step, own, key) if found is None and own != namespace else found

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        found, own = super().find_live_within(tx, namespace, key), _without_executor(namespace)
        return super().find_live_within(tx, own, key) if found is None and own != namespace else found


# Given an original under way, when other input uses its key, then conflict at once; here it waits, maybe to a timeout.
@REPLAYS_SECOND.plant("conflict-waits-for-original", names="REPLAY-041", part="observer")
class ConflictWaitsForOriginal(Observer):
    """Waits for an original under way before it tells a different request of the conflict."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.fingerprint == call.fingerprint or record.state in CLASSIFICATION:
            return super()._watch(call, record, voice)
        super()._watch(replace(call, fingerprint=str(record.fingerprint)), record, voice)
        late = self._ports.clock.now("observe.deadline").mono_ms >= call.deadline_mono_ms
        return voice.unknown("timeout") if late else voice.conflict()


class _ReplayingDisabled(RecheckWithoutEnablement):
    def check_lookup(self, config: Config, request: Request) -> Mapping[str, Any]:
        return super().check_lookup(_enabled(config), request)


# Given a Completed key, when its operation is disabled and the exact request comes, then forbidden; here the result.
@REPLAYS_SECOND.plant("disabled-still-replays", names="REPLAY-047", part="host")
class DisabledStillReplays(MutationHost):
    """A disabled keyed operation takes no new attempts, but goes on to replay the old ones."""

    admission_class = _ReplayingDisabled

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        observed = super().look_up(call, step, voice)
        if observed is None:
            _bound(self._settings.current(), call.operation, call.connection)
        return observed


# Given a Quarantined key, when its exact request comes, then unknown with the original's ids; here with null for both.
@REPLAYS_SECOND.plant("quarantine-hides-original", names="REPLAY-054", part="observer")
class QuarantineHidesOriginal(Observer):
    """Tells a Quarantined original like an unreadable index: unknown, not replayed, without its ids."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.reservation_state == "Quarantined" and record.fingerprint == call.fingerprint:
            return voice.unknown(record.cause)
        return super()._watch(call, record, voice)


class _TimedQuarantine(Ledger):
    over: str | None = None

    def is_over(self, record: Record, now: Time) -> bool:
        """Whether the attempt was settled a retention ago; notes it for the reservation to come."""
        sql = "SELECT 1 FROM attempts WHERE attempt = ? AND settled_at + ? <= ?"
        row = (record.attempt, self._retention_ms, now.wall_ms)
        self.over = record.reservation if now.trusted and self.store.read("observe.read", sql, row) else None
        return self.over is not None

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        held = super().find_live_within(tx, namespace, key)
        if held is None or held.reservation is None or held.reservation != self.over:
            return held
        tx.execute("UPDATE reservations SET state = 'Expired' WHERE reservation = ?", (held.reservation,))
        return None


class _TimedObserver(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        action = super().decide(call, record, now)
        if record is not None and action == "quarantine" and isinstance(self._ledger, _TimedQuarantine):
            with suppress(StoreFailed):
                action = "retire_then_candidate" if self._ledger.is_over(record, now) else action
        return action


# Given a key Quarantined more than 86,400 s ago, when its exact request comes, then unknown; here it is sent again.
@REPLAYS_SECOND.plant("quarantine-ends-with-retention", names="REPLAY-055", part="host", unguarded=True)
class QuarantineEndsWithRetention(MutationHost):
    """An exact request replaces a quarantine that is older than the retention with a new attempt."""

    ledger_class = _TimedQuarantine
    observer_class = _TimedObserver


class _InvokeIsEnough(Admission):
    def check_access(self, config: Config, context: Context, operation: str, connection: str) -> Mapping[str, Any]:
        callers = [{name: value for name, value in c.items() if name != "sees"} for c in config["callers"]]
        return super().check_access({**config, "callers": callers}, context, operation, connection)


# Given permission to invoke, none to see, when a used and a fresh key come, then equal; here the fresh one is sent.
@REPLAYS_SECOND.plant("visibility-only-for-replays", names="REPLAY-057", part="host")
class VisibilityOnlyForReplays(MutationHost):
    """Asks whether a caller may see results only where the key has something to show."""

    admission_class = _InvokeIsEnough

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        observed = super().look_up(call, step, voice)
        if observed is not None:
            config = self._settings.current()
            Admission.check_access(self.admission, config, call.context, call.operation, call.connection)
        return observed


def _enabled(config: Config) -> Config:
    keyed = [{**op, "enabled": op["enabled"] or op["idempotency"] == "keyed"} for op in config["operations"]]
    return {**config, "operations": keyed}


def _without_executor(namespace: str) -> str:
    parts = json.loads(namespace)
    return canonical_json([*parts[:5], None, *parts[6:]])
