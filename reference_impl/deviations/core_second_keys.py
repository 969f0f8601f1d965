"""Second set, made blind: keys and fingerprints, retention, and the codes of refusals."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.kit import AckLost, StoreFailed, Time
from reference_impl.mutation_host.admission import Admission, Context, Request
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.approvals import RECORDS, Approvals
from reference_impl.mutation_host.dispatch import Dispatcher, Winner
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.identity import canonical_json
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import RECORD_SQL, Call, Record, Refusal
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Row, Transaction

KEYS_SECOND = Collection("mutation-host")
_HOUR_MS = 3_600_000
_LIVE = f"{RECORD_SQL} WHERE r.namespace = ? AND r.key = ? AND r.state <> 'Expired'"


def differing(one: str | None, other: str | None) -> set[str]:
    """The coordinates in which two fingerprints differ."""
    left, right = json.loads(one or "{}"), json.loads(other or "{}")
    return {name for name in {*left, *right} if left.get(name) != right.get(name)}


# Given a keyed attempt Prepared at a crash, when recovery runs, then its reservation still names it; here another one.
@KEYS_SECOND.plant("recovery-reanchors-unopened-key", names="KEY-008", part="supervisor")
class RecoveryReanchorsUnopenedKey(Supervisor):
    """Recovery aborts an unopened keyed attempt and hands its reservation to a fresh attempt row."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._fresh: set[str] = set()

    def _settle(self, record: Record, trigger: str, state: str, cause: str | None) -> bool:
        if trigger != "recover_unopened" or record.reservation is None or record.attempt in self._fresh:
            return super()._settle(record, trigger, state, cause)
        now, fresh = self._ports.clock.now("recover.settle"), self._ports.ids.new("recover.settle")
        columns = "request_id, operation, connection, caller, key, input_digest, worker, approval, approval_reference"
        copied = f"INSERT INTO attempts (attempt, state, {columns}) SELECT ?, 'Prepared', {columns} FROM attempts"
        try:
            with self._store.transaction("recover.settle") as tx:
                won = self._ledger.move(tx, record.attempt, trigger, cause=cause, now=now)
                if won:
                    tx.execute(f"{copied} WHERE attempt = ?", (fresh, record.attempt))
                    sql = "UPDATE reservations SET attempt = ? WHERE reservation = ?"
                    tx.execute(sql, (fresh, record.reservation))
                    self._fresh.add(fresh)
                return won
        except (StoreFailed, AckLost):
            return False


# Given one key, two inputs, both missed, when both reserve, then one live generation; here each gets its own.
@KEYS_SECOND.plant("unique-with-fingerprint", names="KEY-022", part="dispatcher", unguarded=True)
class UniqueWithFingerprint(Dispatcher):
    """Has its uniqueness over namespace, key and fingerprint together, so that a racing other request reserves too."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        winner = super().prepare(call, attempt)
        if winner is None or winner.fingerprint == call.fingerprint:
            return winner
        with self._store.transaction("invoke.prepare") as tx:
            self._ledger.anchor(tx, call, attempt, self._worker)
            self._ledger.reserve(tx, call, attempt, self._ports.ids.new("invoke.prepare"))
        return None


# Given K completed, when k comes with the same input, then a new attempt; here its reserving transaction meets K.
@KEYS_SECOND.plant("reserve-folds-case", names="KEY-025", part="ledger")
class ReserveFoldsCase(Ledger):
    """Compares keys without regard to case in the transaction that reserves."""

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        held = super().find_live_within(tx, namespace, key)
        if held is None:
            sql = f"{RECORD_SQL} WHERE r.namespace = ? AND lower(r.key) = lower(?) AND r.state <> 'Expired'"
            rows = tx.query(sql, (namespace, key))
            held = Record.from_row(rows[0]) if rows else None
        return held


# Given a live key of a.write, when b.write uses it (same connection, revisions, input), then conflict; here a replay.
@KEYS_SECOND.plant("operation-without-source", names="KEY-034", part="admission")
class OperationWithoutSource(Admission):
    """Puts the last part of the operation's name into the fingerprint, without what qualifies it."""

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        short = {"operation": call.operation.rpartition(".")[2]}
        return replace(call, fingerprint=canonical_json({**json.loads(call.fingerprint), **short}))


# Given a live key, when its operation is bound to another connection of equal revision, then conflict; here a replay.
@KEYS_SECOND.plant("connection-by-revision-alone", names="KEY-035", part="admission")
class ConnectionByRevisionAlone(Admission):
    """Knows the connection in the fingerprint by its metadata revision only, not by its reference."""

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        call = super().admit(context, request, deadline_mono_ms)
        seen = json.loads(call.fingerprint)
        return replace(call, fingerprint=canonical_json({**seen, "connection": seen["connection"][1:]}))


# Given an original Failed or Aborted, when its description is revised, then conflict; here the old refusal replays.
@KEYS_SECOND.plant("refusal-survives-revision", names="KEY-038", part="observer")
class RefusalSurvivesRevision(Observer):
    """Replays an original without effect under a new descriptor revision, since nothing was done under the old one."""

    def decide(self, call: Call, record: Record | None, now: Time) -> str:
        return super().decide(call, None if record is None else self._mended(call, record), now)

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        return super()._watch(call, self._mended(call, record), voice)

    def _mended(self, call: Call, record: Record) -> Record:
        revised = differing(record.fingerprint, call.fingerprint) == {"descriptor_revision"}
        harmless = record.state in ("Failed", "Aborted")
        return replace(record, fingerprint=call.fingerprint) if revised and harmless else record


# Given an original under way, when its exact request has a new request id, then it waits; here it conflicts.
@KEYS_SECOND.plant("waits-only-for-own-request-id", names="KEY-046", part="observer")
class WaitsOnlyForOwnRequestId(Observer):
    """Takes a call with another request id for another request while the original is under way."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        if record.reservation_state == "Pending" and record.request_id != call.request_id:
            return voice.conflict()
        return super()._watch(call, record, voice)


# Given a key settled with trusted time, when the clock leaps ahead untrusted, then it stays; here housekeeping ends it.
@KEYS_SECOND.plant("attested-once", names="RET-003", part="ledger")
class AttestedOnce(Ledger):
    """Housekeeping trusts every clock reading of a process in which one reading was attested before."""

    _attested = False

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        self._attested = self._attested or now.trusted
        super().close_reservation(tx, attempt, state, now)

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        self._attested = self._attested or now.trusted
        return super().expired(step, replace(now, trusted=self._attested))


class _LeasingDispatcher(Dispatcher):
    """Notes in the worker column since when the attempt has been its worker's."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        since = self._ports.clock.now("invoke.prepare").wall_ms
        self._worker = f"{self._worker.partition('@since:')[0]}@since:{since}"
        return super().prepare(call, attempt)


class _LeasingLedger(Ledger):
    """Counts a Pending generation as over when the lease of its unopened attempt is."""

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        if not now.trusted:
            return []
        sql = (
            "SELECT r.reservation, r.namespace, r.key FROM reservations r JOIN attempts a ON a.attempt = r.attempt"
            " WHERE (r.state = 'Replayable' AND r.replay_expires_at <= ?) OR (r.state = 'Pending'"
            " AND a.state = 'Prepared' AND"
            " CAST(substr(a.worker, instr(a.worker, '@since:') + 7) AS INTEGER) + ? <= ?) ORDER BY r.rowid"
        )
        rows = self.store.read(step, sql, (now.wall_ms, self._retention_ms, now.wall_ms))
        return [(row[0], row[1], row[2]) for row in rows]

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        del namespace, key
        sql = "UPDATE reservations SET state = 'Expired' WHERE reservation = ? AND state IN ('Replayable', 'Pending')"
        return tx.execute(sql, (reservation,)) == 1


# Given a worker halted ahead of its gate, when a day later housekeeping runs, then still Pending; here the key is free.
@KEYS_SECOND.plant("unopened-key-lapses", names="RET-007", part="host", unguarded=True)
class UnopenedKeyLapses(MutationHost):
    """The housekeeper retires a Pending key whose attempt has been Prepared for longer than the retention."""

    dispatcher_class = _LeasingDispatcher
    ledger_class = _LeasingLedger


# Given a provider's refusal, when the host dies settling it, then both rows moved or neither; here the key alone may.
@KEYS_SECOND.plant("refusal-closes-key-first", names="RET-008", part="dispatcher")
class RefusalClosesKeyFirst(Dispatcher):
    """Settles a refusal in two commits, the reservation ahead of the attempt."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        if state == "Failed":
            now = self._ports.clock.now("invoke.settle")
            with suppress(StoreFailed, AckLost), self._store.transaction("invoke.settle") as tx:
                self._ledger.close_reservation(tx, attempt, state, now)
        return super().settle(attempt, trigger, state, result, cause)


# Given a keyed attempt aborted, when its row is read, then it expires 86,400 s after settled_at; here after an hour.
@KEYS_SECOND.plant("aborted-kept-an-hour", names="RET-010", part="ledger")
class AbortedKeptAnHour(Ledger):
    """Keeps the key of an aborted attempt for an hour only, because there is no effect to protect."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        if state == "Aborted":
            sql = (
                "UPDATE reservations SET replay_expires_at = settled_at + ? WHERE attempt = ? AND state = 'Replayable'"
            )
            tx.execute(sql, (self._retention_ms // 24, attempt))


# Given a Replayable key seconds ahead of its end, when it is replayed, then the end is as before; here an hour later.
@KEYS_SECOND.plant("late-replay-buys-an-hour", names="RET-011", part="observer")
class LateReplayBuysAnHour(Observer):
    """A replay in the last hour of the retention moves its end to an hour from then."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        now, due = self._ports.clock.now("observe.deadline"), record.replay_expires_at
        exact = record.fingerprint == call.fingerprint and record.reservation_state == "Replayable"
        if exact and now.trusted and due is not None and due - _HOUR_MS <= now.wall_ms < due:
            sql = "UPDATE reservations SET replay_expires_at = ? WHERE reservation = ? AND state = 'Replayable'"
            with suppress(StoreFailed, AckLost), self._ledger.store.transaction("invoke.settle") as tx:
                tx.execute(sql, (now.wall_ms + _HOUR_MS, record.reservation))
        return answer


# Given a gate open but its acknowledgement lost, when settled, then Quarantined; here Replayable, and free in a day.
@KEYS_SECOND.plant("lost-gate-is-replayable", names="RET-014", part="ledger")
class LostGateIsReplayable(Ledger):
    """Makes the key of a lost gate Replayable, since the worker itself knows that it did not send."""

    _unsent: str | None = None

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        self._unsent = attempt if trigger == "settle_lost_gate" else None
        return super().move(tx, attempt, trigger, **values)

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, "Aborted" if self._unsent == attempt else state, now)


# Given a key quarantined by recovery, when a definite answer comes late, then it stays so; here it becomes Replayable.
@KEYS_SECOND.plant("late-answer-lifts-quarantine", names="RET-015", part="ledger", unguarded=True)
class LateAnswerLiftsQuarantine(Ledger):
    """A definite answer that comes after recovery turns the Quarantined reservation into a Replayable one."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        won = super().move(tx, attempt, trigger, **values)
        now: Time | None = values.get("now")
        if not won and trigger in ("settle_applied", "settle_refused") and now is not None and now.trusted:
            sql = (
                "UPDATE reservations SET state = 'Replayable', settled_at = ?, replay_expires_at = ?"
                " WHERE attempt = ? AND state = 'Quarantined'"
            )
            tx.execute(sql, (now.wall_ms, now.wall_ms + self._retention_ms, attempt))
        return won


# Given Aborted without trusted time, when recovery runs with it, then Replayable; here the key is Pending for ever.
@KEYS_SECOND.plant("aborted-lag-not-repaired", names="RET-016", part="ledger")
class AbortedLagNotRepaired(Ledger):
    """Recovery looks for lagging reservations only behind attempts that were dispatched."""

    def unsettled(self, step: str) -> list[Record]:
        return [record for record in super().unsettled(step) if record.state != "Aborted"]


# Given a Quarantined key, when the host restarts and other input comes, then conflict; here a new attempt is sent.
@KEYS_SECOND.plant("quarantine-index-in-memory", names="RET-025", part="ledger", unguarded=True)
class QuarantineIndexInMemory(Ledger):
    """Keeps the index of Quarantined keys in the memory of the process that quarantined them."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._unknown: set[str] = set()

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        if state == "Indeterminate":
            self._unknown.add(attempt)
        super().close_reservation(tx, attempt, state, now)

    def find_live(self, step: str, namespace: str, key: str) -> Record | None:
        return self._known(self.store.read(step, _LIVE, (namespace, key)))

    def find_live_within(self, tx: Transaction, namespace: str, key: str) -> Record | None:
        return self._known(tx.query(_LIVE, (namespace, key)))

    def _known(self, rows: list[Row]) -> Record | None:
        records = [Record.from_row(row) for row in rows]
        seen = (r for r in records if r.reservation_state != "Quarantined" or r.attempt in self._unknown)
        return next(seen, None)


# Given a full store with an unopened Pending key, when a new key comes, then all rows stay; here that one is retired.
@KEYS_SECOND.plant("unopened-key-makes-room", names="RET-027", part="ledger", unguarded=True)
class UnopenedKeyMakesRoom(Ledger):
    """A full store makes room by aborting and retiring the oldest reservation that has not opened its gate."""

    def is_full(self, tx: Transaction, capacity: int | None) -> bool:
        if not super().is_full(tx, capacity):
            return False
        unopened = tx.query(
            "SELECT r.attempt FROM reservations r JOIN attempts a ON a.attempt = r.attempt"
            " WHERE r.state = 'Pending' AND a.state = 'Prepared' ORDER BY r.rowid LIMIT 1"
        )
        for (attempt,) in unopened:
            self.move(tx, attempt, "abort_on_deadline", cause="capacity")
            tx.execute("UPDATE reservations SET state = 'Expired' WHERE attempt = ?", (attempt,))
        return super().is_full(tx, capacity)


# Given a success settled two days back by an untrusted clock, when recovery repairs, then a full retention; here none.
@KEYS_SECOND.plant("repair-from-untrusted-stamp", names="RET-037", part="ledger")
class RepairFromUntrustedStamp(Ledger):
    """Stamps the attempt with the untrusted time, from which the later repair counts the retention."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        won = super().move(tx, attempt, trigger, **values)
        now: Time | None = values.get("now")
        if won and now is not None and not now.trusted:
            tx.execute("UPDATE attempts SET settled_at = ? WHERE attempt = ?", (now.wall_ms, attempt))
        return won


# Given an approval on file for exactly this call, when none is presented, then approval_required; here it is spent.
@KEYS_SECOND.plant("approval-on-file", names="CODE-001", part="approvals")
class ApprovalOnFile(Approvals):
    """Takes an approval that is on file for the same subject when the call presents none."""

    def judge(self, call: Call) -> Call | Refusal:
        if call.presented is None and call.mode == "required":
            for record in self._settings.current().get(RECORDS[call.mode], ()):
                if record["subject"] == call.subject:
                    return super().judge(replace(call, presented=record))
        return super().judge(call)


# Given approvals wrong in each aspect in turn, when presented, then equal answers; here the expired one has its cause.
@KEYS_SECOND.plant("expiry-shows-in-cause", names="CODE-003", part="approvals")
class ExpiryShowsInCause(Approvals):
    """Tells an approval that has merely expired apart by the cause beside approval_refused."""

    def judge(self, call: Call) -> Call | Refusal:
        verdict = super().judge(call)
        refused = isinstance(verdict, Refusal) and verdict.code == "approval_refused"
        if refused and self.verified(call, Time(0, 0, True)) is not None:
            return Refusal("approval_refused", "approval_expired")
        return verdict


# Given one key, two inputs, both missed, when the second prepares, then idempotency_conflict; here unavailable.
@KEYS_SECOND.plant("lost-race-says-unavailable", names="CODE-005", part="dispatcher")
class LostRaceSaysUnavailable(Dispatcher):
    """Answers unavailable when another request took the key between lookup and prepare."""

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        outcome = super().attempt(call, voice)
        if isinstance(outcome, Winner) and outcome.record.fingerprint != call.fingerprint:
            return voice.not_attempted("unavailable", None)
        return outcome


# Given a Replayable key, when other input comes, then nothing stored shows; here that it settled, and when.
@KEYS_SECOND.plant("conflict-says-when-free", names="CODE-007", part="observer")
class ConflictSaysWhenFree(Observer):
    """A conflict carries the seconds until the stored reservation expires as retry_after_seconds."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer, due = super()._watch(call, record, voice), record.replay_expires_at
        if record.fingerprint != call.fingerprint and due is not None:
            left = due - self._ports.clock.now("observe.deadline").wall_ms
            answer["error"]["retry_after_seconds"] = max(0, left // 1000)
        return answer


# Given a live key, when it conflicts by input, then by revision, then equal answers; here the second has a message.
@KEYS_SECOND.plant("conflict-explains-revision", names="CODE-008", part="observer")
class ConflictExplainsRevision(Observer):
    """Adds a message to a conflict in which nothing but a revision differs."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        apart = differing(record.fingerprint, call.fingerprint)
        if apart and apart <= {"descriptor_revision", "config_revision"}:
            answer["error"]["message"] = "the key was used before the last change"
        return answer
