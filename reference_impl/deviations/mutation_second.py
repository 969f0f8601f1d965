"""The second set of deviations of the mutation host, written without sight of the suite's checks and scenarios.

Each class is a mistake that could be made and shipped. The comment above it names an interleaving that shows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from conformance.kit import AckLost, RemoteUnknown, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import RECORD_SQL, Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

SECOND = Collection("mutation-host")


# Given A's Prepared attempt, A held ahead of its gate; when recovery aborts it and A goes on, the gate refuses A;
# then A sends all the same, one request for an Aborted row. After a cancel it does not.
@SECOND.plant("alive-despite-recovery", names="MUT-009", part="dispatcher")
class AliveDespiteRecovery(Dispatcher):
    """A worker whose gate is refused because recovery aborted its attempt takes recovery for mistaken and sends."""

    def open_gate(self, attempt: str) -> bool:
        if super().open_gate(attempt):
            return True
        record = self._ledger.find_attempt("invoke.read_back", attempt)
        return record.state == "Aborted" and record.cause == "unavailable"


# Given a Prepared attempt; when the commit of the gate loses its acknowledgement and was rolled back, the second gate
# write succeeds; then one request, where an uncertain gate must lead to none. In the committed world nothing is sent.
@SECOND.plant("gate-written-again", names="MUT-011", part="dispatcher")
class GateWrittenAgain(Dispatcher):
    """After a lost acknowledgement it writes the gate once more and sends if the second write succeeds."""

    def open_gate(self, attempt: str) -> bool:
        try:
            return super().open_gate(attempt)
        except AckLost:
            return super().open_gate(attempt)


# Given an unkeyed Prepared attempt; when the gate commits, its acknowledgement is lost and the abort is refused;
# then one request, where there must be none. Keyed calls are right.
@SECOND.plant("refused-abort-proves-gate", names="MUT-011", part="dispatcher")
class RefusedAbortProvesGate(Dispatcher):
    """An unkeyed call whose gate acknowledgement was lost takes an abort that fails for proof that its gate is open."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.key is not None:
            return super().take_back(call, attempt, voice)
        if self.abort(attempt, "abort_on_lost_gate", "unavailable"):
            return voice.not_attempted("unavailable", attempt)
        return self.conclude(attempt, self.send(call), voice)


# Given a Dispatching attempt; when the provider answers 503 after it has applied the effect (or 429, 502, 504);
# then two requests for one attempt. A 500, a reset and a timeout are not sent again.
@SECOND.plant("status-forcelist", names="MUT-015", part="dispatcher")
class StatusForcelist(Dispatcher):
    """Its HTTP client is set to repeat a request that was answered with 429, 502, 503 or 504."""

    _AGAIN: ClassVar = (429, 502, 503, 504)

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        path = f"/effect/{call.operation}"
        try:
            answer = self._ports.remote.post("invoke.send", path, payload, call.deadline_mono_ms)
            if answer.status in self._AGAIN:
                answer = self._ports.remote.post("invoke.send", path, payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        return weigh(answer)


# Given a Dispatching attempt and a provider that answers at once; when the terminal write fails, loses its
# acknowledgement or is fenced; then the request goes out a second time together with the second write.
@SECOND.plant("send-and-record-retried", names="MUT-015", part="dispatcher")
class SendAndRecordRetried(Dispatcher):
    """Sending and recording are one unit of work, which is repeated when the record is not known to be written."""

    _call: Call | None = None
    _recorded = True

    def send(self, call: Call) -> Evidence:
        self._call = call
        return super().send(call)

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._recorded = super().settle(attempt, trigger, state, result, cause)
        return self._recorded

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if self._recorded or self._call is None:
            return answer
        return super().conclude(attempt, super().send(self._call), voice)


# Given an unkeyed call; when the provider reads the ledger as the request arrives, or the host is killed after the
# send; then the row is still Prepared, and recovery calls Aborted what was sent. Keyed calls are right.
@SECOND.plant("unkeyed-gate-after-send", names="MUT-017", part="dispatcher")
class UnkeyedGateAfterSend(Dispatcher):
    """An unkeyed call, which no duplicate can join, is sent first and gets its gate and its outcome recorded after."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.key is not None:
            return super().dispatch(call, attempt, voice)
        if self._ports.clock.now("invoke.deadline").mono_ms >= call.deadline_mono_ms:
            return self._timed_out(attempt, voice)
        evidence = self.send(call)
        try:
            self.open_gate(attempt)
        except (StoreFailed, AckLost) as failure:
            self._report(attempt, f"gate not known to be recorded: {failure}")
        return self.conclude(attempt, evidence, voice)


# Given recovery that has read a Dispatching row and is held ahead of its write; when the worker records Completed and
# recovery goes on; then the stale write makes Indeterminate of the settled row. Prepared rows are compared.
@SECOND.plant("recovery-writes-what-it-scanned", names="MUT-029", part="supervisor", unguarded=True)
class RecoveryWritesWhatItScanned(Supervisor):
    """Recovery settles an open attempt by its id alone, since its scan has just seen it open."""

    def _settle(self, record: Record, trigger: str, state: str, cause: str | None) -> bool:
        if record.state != "Dispatching":
            return super()._settle(record, trigger, state, cause)
        now = self._ports.clock.now("recover.settle")
        sql = "UPDATE attempts SET state = ?, result = NULL, cause = ?, settled_at = ? WHERE attempt = ?"
        try:
            with self._store.transaction("recover.settle") as tx:
                tx.execute(sql, (state, cause, now.wall_ms if now.trusted else None, record.attempt))
                self._ledger.close_reservation(tx, record.attempt, state, now)
        except (StoreFailed, AckLost):
            return False
        return True


# Given an unkeyed Prepared attempt, its worker held ahead of the gate; when a cancel (or recovery) aborts it and the
# worker goes on; then Aborted becomes Dispatching and a request goes out. Keyed attempts are compared.
@SECOND.plant("unkeyed-gate-by-id", names="MUT-030", part="dispatcher", unguarded=True)
class UnkeyedGateById(Dispatcher):
    """The gate of an unkeyed attempt is written by id alone, since nobody else is thought to know that attempt."""

    def open_gate(self, attempt: str) -> bool:
        sql = (
            "UPDATE attempts SET state = 'Dispatching', cause = NULL, settled_at = NULL"
            " WHERE attempt = ? AND (key IS NULL OR state = 'Prepared')"
        )
        with self._store.transaction("invoke.open_gate") as tx:
            return tx.execute(sql, (attempt,)) == 1


# Given a cancel that has found the attempt Prepared and is held ahead of its write; when the gate opens and the cancel
# goes on; then it aborts the Dispatching row and says aborted. A cancel that comes after the gate is merely received.
@SECOND.plant("cancel-trusts-its-look", names="MUT-030", part="supervisor", unguarded=True)
class CancelTrustsItsLook(Supervisor):
    """A cancel looks whether the attempt is Prepared and then aborts it by its id without looking again."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        sql = "SELECT attempt, state FROM attempts WHERE caller = ? AND request_id = ? ORDER BY rowid DESC LIMIT 1"
        write = "UPDATE attempts SET state = 'Aborted', cause = 'cancelled', settled_at = ? WHERE attempt = ?"
        try:
            found = self._store.read("cancel.find", sql, (caller, request_id))
            if not found or found[0][1] != "Prepared":
                return {"status": "received"}
            now = self._ports.clock.now("cancel.abort")
            with self._store.transaction("cancel.abort") as tx:
                tx.execute(write, (now.wall_ms if now.trusted else None, found[0][0]))
                self._ledger.close_reservation(tx, found[0][0], "Aborted", now)
        except (StoreFailed, AckLost):
            return {"status": "received"}
        return {"status": "aborted"}


# Given a host that was killed with its gate open, before or after the send; when recovery runs; then the provider
# gets one more request for that attempt. Prepared rows are aborted without any.
@SECOND.plant("recovery-asks-by-posting", names="MUT-033", part="supervisor")
class RecoveryAsksByPosting(Supervisor):
    """Recovery posts an attempt with an open gate again, under its request id, to note what the provider says of it."""

    _PATIENCE_MS = 5000

    def _settle(self, record: Record, trigger: str, state: str, cause: str | None) -> bool:
        won = super()._settle(record, trigger, state, cause)
        if won and record.state == "Dispatching":
            self._note(record)
        return won

    def _note(self, record: Record) -> None:
        try:
            sql = "SELECT operation, input_digest FROM attempts WHERE attempt = ?"
            operation, digest = self._store.read("recover.scan", sql, (record.attempt,))[0]
            payload = {"marker": record.request_id, "input": {"attempt": record.attempt, "input_digest": digest}}
            until = self._ports.clock.peek().mono_ms + self._PATIENCE_MS
            answer = self._ports.remote.post("invoke.send", f"/effect/{operation}", payload, until)
            with self._store.transaction("invoke.diagnose") as tx:
                self._ledger.diagnose(tx, record.attempt, f"asked at recovery, the provider says {answer.status}")
        except (RemoteUnknown, StoreFailed, AckLost):
            return


# Given a keyed Dispatching attempt; when the provider applies the effect and drops the connection; then Failed,
# refused and a key that is replayed as refused. Unkeyed calls, and keyed ones that time out, are right.
@SECOND.plant("broken-connection-refuses", names="OBS-042", part="dispatcher")
class BrokenConnectionRefuses(Dispatcher):
    """A keyed call whose connection breaks counts as refused by the provider, which spares its key the quarantine."""

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            if str(lost) == "timeout":
                return Evidence("ambiguous", cause="timeout")
            return Evidence("ambiguous") if call.key is None else Evidence("refusal", cause="unavailable")
        return weigh(answer)


# Given a Dispatching attempt; when the response is lost; then Indeterminate and unknown as they should be, yet the
# error's code is unavailable and not outcome_unknown. A timeout, a 5xx and a replay have the right code.
@SECOND.plant("transport-error-as-code", names="OBS-042", part="dispatcher")
class TransportErrorAsCode(Dispatcher):
    """The answer to a call whose response was lost bears the code of the transport's error, unavailable."""

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else "unavailable")
        return weigh(answer)

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if evidence.kind == "ambiguous" and evidence.cause == "unavailable":
            return {**answer, "error": {"code": "unavailable"}}
        return answer


# Given a definite success; when the commit of the terminal write loses its acknowledgement and was rolled back, the
# row still reads Dispatching; then unknown is answered for a known success. A failed or fenced write is answered right.
@SECOND.plant("ledger-read-over-answer", names="OBS-057", part="dispatcher")
class LedgerReadOverAnswer(Dispatcher):
    """When the terminal write's acknowledgement is lost it answers by the row that it reads back."""

    _reread: Record | None = None

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._reread = None
        now = self._ports.clock.now("invoke.settle")
        try:
            with self._store.transaction("invoke.settle") as tx:
                won = self._ledger.move(tx, attempt, trigger, result=result, cause=cause, now=now)
                if won:
                    self._ledger.close_reservation(tx, attempt, state, now)
            problem = None if won else f"{state} refused: already settled"
        except AckLost as failure:
            problem = f"{state} not known to be recorded: {failure}"
            self._reread = self._read_back(attempt)
        except StoreFailed as failure:
            problem = f"{state} not known to be recorded: {failure}"
        if problem is not None:
            self._report(attempt, problem)
        return problem is None

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if evidence.kind == "success" and self._reread is not None and self._reread.state == "Dispatching":
            return voice.unknown("unavailable", attempt)
        return answer

    def _read_back(self, attempt: str) -> Record | None:
        try:
            return self._ledger.find_attempt("invoke.read_back", attempt)
        except StoreFailed:
            return None


# Given a keyed call; when the host is killed between the prepare and the gate, recovery runs and the same call comes
# again; then idempotency_conflict, since the reservation was committed without its fingerprint. So for a duplicate
# that comes while the original is Prepared, and after a cancel.
@SECOND.plant("fingerprint-follows", names="REPLAY-007", part="ledger")
class FingerprintFollows(Ledger):
    """The prepare reserves the key as a bare lock; the fingerprint is filled in with the worker's next write."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._owed: dict[str, str] = {}

    def reserve(self, tx: Transaction, call: Call, attempt: str, reservation: str) -> None:
        self._owed[attempt] = call.fingerprint
        super().reserve(tx, replace(call, fingerprint=""), attempt, reservation)

    def move(
        self,
        tx: Transaction,
        attempt: str,
        trigger: str,
        *,
        result: str | None = None,
        cause: str | None = None,
        now: Time | None = None,
    ) -> bool:
        if attempt in self._owed:
            sql = "UPDATE reservations SET fingerprint = ? WHERE attempt = ? AND fingerprint = ''"
            tx.execute(sql, (self._owed[attempt], attempt))
        return super().move(tx, attempt, trigger, result=result, cause=cause, now=now)


# Given exact duplicates A and B that both missed, B held ahead of its prepare; when A prepares and is held ahead of
# its gate, and B then A go on; then each opens a gate of its own: two requests. Once A's gate is open B observes it.
@SECOND.plant("left-to-the-gate", names="REPLAY-012", part="ledger", unguarded=True)
class LeftToTheGate(Ledger):
    """The check inside the prepare does not count a reservation whose attempt has not opened its gate yet."""

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        record = super().find_live_within(tx, namespace, key)
        return None if record is not None and record.state == "Prepared" else record


# Given G1 retired and exact duplicates A and B that both missed, B held ahead of its prepare; when A reserves G2, its
# request is held and B goes on; then B sees G1 ahead of the Pending G2 (NULL sorts last) and sends too: two requests.
@SECOND.plant("newest-by-expiry", names="REPLAY-012", part="ledger", unguarded=True)
class NewestByExpiry(Ledger):
    """The check inside the prepare takes the generation that expires last, and a pending one has no expiry yet."""

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        where = "WHERE r.namespace = ? AND r.key = ? ORDER BY r.replay_expires_at DESC LIMIT 1"
        rows = tx.query(f"{RECORD_SQL} {where}", (namespace, key))
        record = Record.from_row(rows[0]) if rows else None
        return None if record is None or record.reservation_state == "Expired" else record


# Given G1 past its time and candidate B that looked it up, held ahead of its prepare; when A replaces G1 by G2 and
# completes, and B goes on; then B retires G2 on the strength of G1's expiry, reserves G3 and sends.
@SECOND.plant("expiry-known-by-key", names="RET-018", part="ledger")
class ExpiryKnownByKey(Ledger):
    """A candidate judges the generation that it replaces by the expiry that its lookup noted for the key."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._due: dict[tuple[str, str], int | None] = {}

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        record = super().find_live(step, namespace, key)
        self._due[namespace, key] = None if record is None else record.replay_expires_at
        return record

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        record = super().find_live_within(tx, namespace, key)
        due = self._due.get((namespace, key))
        return record if record is None or due is None else replace(record, replay_expires_at=due)


# Given G1 expired and replaced by G2, which is Replayable and well within its time; when housekeeping runs, with no
# race at all; then G2 is retired because G1 is past its time, and the next exact call is sent again.
@SECOND.plant("sweep-joined-on-key", names="RET-018", part="ledger")
class SweepJoinedOnKey(Ledger):
    """Housekeeping finds the keys that have a generation past its time and retires whichever of them is replayable."""

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        if not now.trusted:
            return []
        sql = (
            "SELECT r.reservation, r.namespace, r.key FROM reservations r WHERE r.state = 'Replayable' AND EXISTS"
            " (SELECT 1 FROM reservations o WHERE o.namespace = r.namespace AND o.key = r.key"
            " AND o.replay_expires_at <= ?) ORDER BY r.rowid"
        )
        return [(row[0], row[1], row[2]) for row in self.store.read(step, sql, (now.wall_ms,))]
