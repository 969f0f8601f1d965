"""Third set, made blind: the mutation host, in the seams between what the first two sets have planted."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.admission import Admission, Context, Request
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import lapsed
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import HOST, Collection
from reference_impl.store import Transaction

MUTATION_THIRD = Collection("mutation-host")


class _CorrectingObserver(Observer):
    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        """As the table says, but a corrected request may follow one that was never sent."""
        if record is not None and record.state == "Aborted" and record.fingerprint != call.fingerprint:
            return "retire_then_candidate"
        return super().decide(call, record, now)


class _CorrectingDispatcher(Dispatcher):
    _fingerprint = ""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        """Keep what the candidate asks, for the comparison inside."""
        self._fingerprint = call.fingerprint
        return super().prepare(call, attempt)

    def may_replace(self, held: Record, now: Time) -> bool:
        """Also a generation that never sent, for another request."""
        corrected = held.reservation_state == "Replayable" and held.state == "Aborted"
        return (corrected and held.fingerprint != self._fingerprint) or super().may_replace(held, now)


# Given K settled as Aborted, when K comes with other input, then a conflict; here a new attempt under the same key.
@MUTATION_THIRD.plant("corrected-request-takes-key", names="REPLAY-041", part=HOST)
class CorrectedRequestTakesKey(MutationHost):
    """Lets a corrected request have the key of one that was aborted, since nothing was sent under it."""

    observer_class = _CorrectingObserver
    dispatcher_class = _CorrectingDispatcher


# Given an instance and a gateway of one name, when the gateway brings K of the same caller, then a new attempt; here a
# replay of what came directly.
@MUTATION_THIRD.plant("origin-by-name-alone", names="REPLAY-039", part="admission")
class OriginByNameAlone(Admission):
    """Puts the authority of an origin into the namespace without its kind."""

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        *who, _, authority = json.loads(call.namespace)
        return replace(call, namespace=json.dumps([*who, authority]))


# Given K completed under R1, when R2 and then R3 replay it, then both see R1; here R3 sees R2.
@MUTATION_THIRD.plant("last-asked-is-original", names="OBS-006", part="observer")
class LastAskedIsOriginal(Observer):
    """Notes the latest request id on the attempt, for support, where the original's is read from."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if record.fingerprint == call.fingerprint and record.state in CLASSIFICATION:
            sql = "UPDATE attempts SET request_id = ? WHERE attempt = ?"
            with suppress(StoreFailed, AckLost), self._ledger.store.transaction("observe.read") as tx:
                tx.execute(sql, (call.request_id, record.attempt))
        return answer


# Given an outcome settled an hour ago with trusted time, when another one is settled without, then its retention begins
# when trusted time proves it; here it began an hour ago.
@MUTATION_THIRD.plant("borrowed-stamp", names="RET-037", part="ledger")
class BorrowedStamp(Ledger):
    """Settles without trusted time by the latest stamp on record, which at least is a trusted one."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        now = values.get("now")
        return super().move(tx, attempt, trigger, **{**values, "now": now and self._known(tx, now)})

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, self._known(tx, now))

    def _known(self, tx: Transaction, now: Time) -> Time:
        if now.trusted:
            return now
        latest = tx.query("SELECT max(settled_at) FROM attempts")[0][0]
        return now if latest is None else Time(int(latest), now.mono_ms, True)


# Given K quarantined, when its caller cancels the request, then K stays as it is; here it is free.
@MUTATION_THIRD.plant("cancel-releases-quarantine", names="RET-015", part="supervisor", unguarded=True)
class CancelReleasesQuarantine(Supervisor):
    """A cancel of a request whose outcome is unknown gives its key free, as the caller has no more interest in it."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        said = super().cancel(caller, request_id)
        own = "SELECT attempt FROM attempts WHERE caller = ? AND request_id = ? AND state = 'Indeterminate'"
        sql = f"UPDATE reservations SET state = 'Expired' WHERE state = 'Quarantined' AND attempt IN ({own})"
        with suppress(StoreFailed, AckLost), self._store.transaction("cancel.abort") as tx:
            tx.execute(sql, (caller, request_id))
        return said


class _SpendingLedger(Ledger):
    at = Time(0, 0, False)

    def anchor(self, tx: Transaction, call: Call, attempt: str, worker: str) -> None:
        """The attempt and its spend, in one transaction."""
        super().anchor(tx, call, attempt, worker)
        proof = call.proof
        if proof is None or lapsed(proof.expires_at, self.at):
            return
        if not self.is_spent_within(tx, proof.issuer, proof.reference):
            self.spend(tx, attempt, call.instance, proof, self.at)


class _SpendingDispatcher(Dispatcher):
    def prepare(self, call: Call, attempt: str) -> Record | None:
        """Anchor and spend at one time."""
        if call.proof is not None and isinstance(self._ledger, _SpendingLedger):
            self._ledger.at = self._ports.clock.now("invoke.prepare")
        return super().prepare(call, attempt)

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        """Only what the anchor could not spend."""
        try:
            if self._store.read("invoke.spend", "SELECT 1 FROM spends WHERE attempt = ?", (attempt,)):
                return None
        except StoreFailed:
            return "unavailable"
        return super().spend(call, proof, attempt)


# Given an approved call, when its prepare commits and the acknowledgement is lost, then the approval is unspent; here
# it is used up by an attempt that was never acknowledged.
@MUTATION_THIRD.plant("spend-with-the-anchor", names="APPR-030", part=HOST)
class SpendWithTheAnchor(MutationHost):
    """Saves a commit by spending the approval in the transaction that anchors its attempt."""

    ledger_class = _SpendingLedger
    dispatcher_class = _SpendingDispatcher


# Given a call held ahead of its prepare, when it is cancelled, then the cancel is received; here it says aborted, and
# the call is sent.
@MUTATION_THIRD.plant("absent-counts-as-aborted", names="CANC-021", part="supervisor")
class AbsentCountsAsAborted(Supervisor):
    """Says aborted where a cancel finds no attempt, since there is nothing that could be sent."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        sql = "SELECT 1 FROM attempts WHERE caller = ? AND request_id = ?"
        try:
            if not self._store.read("cancel.find", sql, (caller, request_id)):
                return {"status": "aborted"}
        except StoreFailed:
            return {"status": "received"}
        return super().cancel(caller, request_id)


# Given a request completed once, when the same request under another key crashes behind its gate and recovery comes,
# then Indeterminate; here Completed, with the result of the first.
@MUTATION_THIRD.plant("twin-vouches", names="OBS-044", part="supervisor")
class TwinVouches(Supervisor):
    """Recovery completes an open attempt by an equal one of the same caller that was completed."""

    def _recover_one(self, record: Record) -> bool:
        same = " AND ".join(f"t.{name} = a.{name}" for name in ("caller", "operation", "connection", "input_digest"))
        sql = f"SELECT t.result FROM attempts a JOIN attempts t ON {same} WHERE a.attempt = ? AND t.state = 'Completed'"
        if record.state != "Dispatching":
            return super()._recover_one(record)
        now = self._ports.clock.now("recover.settle")
        won = False
        with suppress(StoreFailed, AckLost), self._store.transaction("recover.settle") as tx:
            twins = tx.query(sql, (record.attempt,))
            if twins:
                won = self._ledger.move(tx, record.attempt, "settle_applied", result=twins[0][0], now=now)
                if won:
                    self._ledger.close_reservation(tx, record.attempt, "Completed", now)
        return won or super()._recover_one(record)
