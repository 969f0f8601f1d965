"""Second set for the mutation core, made without sight of the checks: attempts, their gate, and cancellation."""

from __future__ import annotations

from dataclasses import replace

from conformance.kit import AckLost, RemoteAnswer, StoreFailed
from reference_impl.deviations.core_second_parts import Canceller, Sending, SendingHost, Weighing, noted, said
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, NoRoom, weigh
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Proof, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

ATTEMPTS_SECOND = Collection("mutation-host")


# Given an operation with event_claim, its row Prepared and the claim spent; when the worker crashes or stalls at the
# begin of invoke.open_gate; then the remote has seen no request. Here it has seen one.
@ATTEMPTS_SECOND.plant("claim-spent-is-permission", names="MUT-004", part="dispatcher")
class ClaimSpentIsPermission(Dispatcher):
    """Sends as soon as an event claim is spent and opens the gate of the Prepared row behind the answer."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.proof is None or call.mode != "event_claim":
            return super().dispatch(call, attempt, voice)
        problem = self.spend(call, call.proof, attempt)
        if problem is not None:
            return self.refuse(attempt, problem, voice)
        if self._ports.clock.now("invoke.deadline").mono_ms >= call.deadline_mono_ms:
            return self._timed_out(attempt, voice)
        evidence = self.send(call)
        try:
            self.open_gate(attempt)
        except (StoreFailed, AckLost):
            return voice.unknown("unavailable", attempt)
        return self.conclude(attempt, evidence, voice)


# Given an unkeyed candidate; when the INSERT of its prepare fails (invoke.prepare:write); then unavailable with
# not_attempted. Here the caller hears of capacity.
@ATTEMPTS_SECOND.plant("failed-insert-is-no-room", names="MUT-005", part="ledger")
class FailedInsertIsNoRoom(Ledger):
    """Takes a failed INSERT of the anchor for a full disk and answers capacity instead of unavailable."""

    def anchor(self, tx: Transaction, call: Call, attempt: str, worker: str) -> None:
        try:
            super().anchor(tx, call, attempt, worker)
        except StoreFailed as failure:
            raise NoRoom from failure


# Given a keyed candidate whose prepare committed and lost its acknowledgement; when the worker goes on; then no
# request. Here it prepares again, meets a reservation with its own attempt id, and dispatches.
@ATTEMPTS_SECOND.plant("prepares-again-by-id", names="MUT-006", part="dispatcher")
class PreparesAgainById(Dispatcher):
    """Repeats a keyed prepare whose acknowledgement was lost and goes on when the key turns out to be its own."""

    def prepare(self, call: Call, attempt: str) -> Record | None:
        try:
            return super().prepare(call, attempt)
        except AckLost:
            if call.key is None:
                raise
            held = super().prepare(call, attempt)
            return None if held is not None and held.attempt == attempt else held


# Given an operation that needs an approval; when the write of the spend fails; then the row never is Dispatching and
# nothing is sent. Here the gate opens, and the spend is made up for behind the provider's answer.
@ATTEMPTS_SECOND.plant("spend-owed", names="MUT-007", part="dispatcher")
class SpendOwed(Dispatcher):
    """Puts off a spend that the store could not take: opens the gate first and spends behind the send."""

    _owed: tuple[Call, Proof, str] | None = None

    def spend(self, call: Call, proof: Proof, attempt: str) -> str | None:
        problem = super().spend(call, proof, attempt)
        self._owed = (call, proof, attempt) if problem == "unavailable" else None
        return None if problem == "unavailable" else problem

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        if self._owed is not None and self._owed[2] == attempt:
            super().spend(*self._owed)
            self._owed = None
        return super().conclude(attempt, evidence, voice)


# Given a worker held at the begin of invoke.open_gate while a cancel or recovery aborts its row; when it goes on; then
# its gate write changes nothing. Here it turns Aborted into Dispatching.
@ATTEMPTS_SECOND.plant("gate-compares-owner", names="MUT-008", part="dispatcher", unguarded=True)
class GateComparesOwner(Dispatcher):
    """Opens the gate by comparing the worker that owns the row, not the state that the row is in."""

    def open_gate(self, attempt: str) -> bool:
        sql = "UPDATE attempts SET state = 'Dispatching' WHERE attempt = ? AND worker = ?"
        with self._store.transaction("invoke.open_gate") as tx:
            return tx.execute(sql, (attempt, self._worker)) == 1


class _ResumesOwn(Sending):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        same = record.request_id == call.request_id and record.fingerprint == call.fingerprint
        if record.state == "Dispatching" and same:
            return self.dispatcher.conclude(record.attempt, self.dispatcher.send(call), voice)
        return super().observe(call, record, voice)


# Given a keyed attempt left Dispatching; when the same request comes again under its own request id (restart of the
# client or of the host); then no further request. Here the reader of the row sends.
@ATTEMPTS_SECOND.plant("same-request-id-resumes", names="MUT-010", part="host")
class SameRequestIdResumes(SendingHost):
    """A repeat with the original's own request id that reads Dispatching resumes the call and sends it."""

    observer_class = _ResumesOwn


# Given a worker held ahead of its gate write while recovery aborts its row; when it wakes up; then no request. Here it
# sends, because it lives and recovery must have been mistaken; it gives way to a cancel and a deadline.
@ATTEMPTS_SECOND.plant("recovery-was-mistaken", names="MUT-013", part="dispatcher")
class RecoveryWasMistaken(Dispatcher):
    """Sends after losing its gate to recovery, since a worker that lives was no orphan."""

    def open_gate(self, attempt: str) -> bool:
        sql = "SELECT 1 FROM attempts WHERE attempt = ? AND state = 'Aborted' AND cause = 'unavailable'"
        with self._store.transaction("invoke.open_gate") as tx:
            return self._ledger.move(tx, attempt, "open_gate") or bool(tx.query(sql, (attempt,)))


class _TakesOver(Sending):
    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if said(answer, "cause") != "timeout" or record.state != "Dispatching":
            return answer
        try:
            seen = self._ledger.find_generation("observe.read", str(record.reservation))
        except StoreFailed:
            return answer
        if seen is None or seen.state != "Dispatching":
            return answer
        later = replace(call, deadline_mono_ms=call.deadline_mono_ms + 20_000)
        return self.dispatcher.conclude(seen.attempt, self.dispatcher.send(later), voice)


# Given a keyed original that hangs in Dispatching; when a duplicate's wait is over; then it hears unknown and the
# remote count is unchanged. Here the duplicate takes the attempt over and sends.
@ATTEMPTS_SECOND.plant("waiter-takes-attempt-over", names="MUT-014", part="host")
class WaiterTakesOver(SendingHost):
    """A duplicate whose wait ends while the original still is Dispatching takes it over and sends."""

    observer_class = _TakesOver


# Given an open gate; when the provider answers 429 or 503; then the one request stays the only one. Here a second one
# follows at once.
@ATTEMPTS_SECOND.plant("comes-back-later", names="MUT-016", part="dispatcher")
class ComesBackLater(Weighing):
    """Sends once more when the provider is busy (429 or 503), which is taken for not having been served."""

    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        return super().send(call) if self.status in (429, 503) else evidence


# Given an open gate; when the provider answers 500; then Indeterminate and unknown. Here Failed and refused, while
# 502, 503 and 504 are judged rightly.
@ATTEMPTS_SECOND.plant("internal-error-is-rollback", names="MUT-023", part="dispatcher")
class InternalErrorIsRollback(Weighing):
    """Takes status 500 for a provider that rolled back, and so for a refusal."""

    @staticmethod
    def judge(answer: RemoteAnswer) -> Evidence:
        return Evidence("refusal", cause="provider_error") if answer.status == 500 else weigh(answer)


# Given an open gate; when the provider reports with a 2xx that only a part was done; then Indeterminate and unknown.
# Here Failed and refused, as for every 2xx that names an effect other than done.
@ATTEMPTS_SECOND.plant("not-done-is-refused", names="MUT-025", part="dispatcher")
class NotDoneIsRefused(Weighing):
    """Takes a 2xx answer that names any effect but done for a refusal, so that partial work counts as none."""

    @staticmethod
    def judge(answer: RemoteAnswer) -> Evidence:
        body = answer.json()
        effect = body.get("effect") if isinstance(body, dict) else None
        if 200 <= answer.status < 300 and isinstance(effect, str) and effect != "done":
            return Evidence("refusal", cause="incomplete")
        return weigh(answer)


_UNSENT = "the gate was not acknowledged: nothing was sent"


class _LeavesNote(Dispatcher):
    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        if trigger != "settle_lost_gate":
            return super().settle(attempt, trigger, state, result, cause)
        self._report(attempt, _UNSENT)
        return False


class _TrustsNote(Supervisor):
    def _recover_one(self, record: Record) -> bool:
        if record.state != "Dispatching" or not noted(self._ledger, "recover.scan", record.attempt, _UNSENT):
            return super()._recover_one(record)
        now = self._ports.clock.now("recover.settle")
        sql = "UPDATE attempts SET state = 'Aborted', cause = 'unavailable', settled_at = ? WHERE attempt = ?"
        try:
            with self._store.transaction("recover.settle") as tx:
                tx.execute(f"{sql} AND state = 'Dispatching'", (now.wall_ms if now.trusted else None, record.attempt))
                self._ledger.close_reservation(tx, record.attempt, "Aborted", now)
        except (StoreFailed, AckLost):
            return False
        return True


# Given a gate that committed and lost its acknowledgement, and its worker gone after the answer; when recovery runs;
# then Indeterminate. Here Aborted, on the word of a note that the worker left for it.
@ATTEMPTS_SECOND.plant("note-for-recovery", names="MUT-031", part="host", unguarded=True)
class NoteForRecovery(MutationHost):
    """A worker that lost the gate's acknowledgement notes that it sent nothing, and recovery aborts the open row."""

    dispatcher_class = _LeavesNote
    supervisor_class = _TrustsNote


# Given a spent approval, the row left Prepared by a crash, and an abort of recovery that failed; when an exact
# duplicate's wait is over; then unknown. Here not_attempted, although the row is not Aborted yet.
@ATTEMPTS_SECOND.plant("spent-but-shut-is-proof", names="MUT-044", part="observer")
class SpentButShutIsProof(Observer):
    """Tells not_attempted of a row that is still Prepared at the end of a wait, where an approval was spent for it."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        if said(answer, "cause") != "timeout" or call.mode == "not_required" or record.state != "Prepared":
            return answer
        try:
            seen = self._ledger.find_generation("observe.read", str(record.reservation))
        except StoreFailed:
            return answer
        if seen is None or seen.state != "Prepared":
            return answer
        return voice.replay(replace(seen, cause="unavailable"), "not_attempted")


# Given a terminal write that committed Completed or Failed and lost its acknowledgement; when the worker goes on; then
# the row stays. Here it becomes Indeterminate.
@ATTEMPTS_SECOND.plant("unsure-record-is-unknown", names="MUT-046", part="dispatcher", unguarded=True)
class UnsureRecordIsUnknown(Dispatcher):
    """Writes Indeterminate over a terminal record whose acknowledgement was lost, to be on the safe side."""

    def _report(self, attempt: str, problem: str) -> None:
        super()._report(attempt, problem)
        if "not known to be recorded" not in problem:
            return
        now = self._ports.clock.now("invoke.settle")
        try:
            with self._store.transaction("invoke.settle") as tx:
                tx.execute("UPDATE attempts SET state = 'Indeterminate', result = NULL WHERE attempt = ?", (attempt,))
                self._ledger.close_reservation(tx, attempt, "Indeterminate", now)
        except (StoreFailed, AckLost):
            return


# Given a row that recovery settled Indeterminate and a success that its live worker reported too late; when the exact
# request is replayed; then unknown. Here applied, out of the diagnostics.
@ATTEMPTS_SECOND.plant("diagnostics-correct-replay", names="MUT-049", part="observer")
class DiagnosticsCorrectReplay(Observer):
    """Replays an Indeterminate attempt as applied once the diagnostics hold a late report of its success."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        late = "Completed refused: already settled"
        if said(answer, "classification") != "unknown" or not noted(self._ledger, "observe.read", record.attempt, late):
            return answer
        return voice.replay(replace(record, result=None, cause=None), "applied")


# Given a gate that committed and lost its acknowledgement, worker alive, ledger readable at once; when it answers; then
# outcome_unknown. Here not_attempted, beside a row that it has just settled Indeterminate.
@ATTEMPTS_SECOND.plant("knows-it-sent-nothing", names="MUT-067", part="dispatcher")
class KnowsItSentNothing(Dispatcher):
    """Settles an open gate without acknowledgement as Indeterminate, yet tells its caller not_attempted."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._settled = False
        answer = super().take_back(call, attempt, voice)
        return voice.not_attempted("unavailable", attempt) if self._settled else answer

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._settled = super().settle(attempt, trigger, state, result, cause)
        return self._settled


# Given a Prepared attempt; when the cancel's abort loses its acknowledgement and was rolled back; then received. Here
# aborted, while the row is Prepared and its worker may go on.
@ATTEMPTS_SECOND.plant("lost-abort-is-abort", names="CANC-001", part="supervisor")
class LostAbortIsAbort(Canceller):
    """Reports a cancel as aborted when its compare-and-set matched and only the acknowledgement was lost."""

    trusts_lost_ack = True


# Given a cancel held between finding the Prepared attempt and its abort while the worker opens the gate; when it goes
# on; then received. Here aborted.
@ATTEMPTS_SECOND.plant("cancel-trusts-its-find", names="CANC-002", part="supervisor")
class CancelTrustsItsFind(Canceller):
    """Reports a cancel as aborted because the attempt was Prepared when it was found, though its gate has opened."""

    trusts_find = True


# Given an original Prepared with a stalled worker, and a duplicate that waits; when the duplicate's wait is over; then
# the original stays Prepared and may complete. Here it is aborted.
@ATTEMPTS_SECOND.plant("waiter-deadline-cleans-up", names="CANC-006", part="observer")
class WaiterDeadlineCleansUp(Observer):
    """A duplicate whose own wait is over aborts the original if that is still Prepared."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if said(answer, "cause") == "timeout" and record.state == "Prepared":
            now = self._ports.clock.now("invoke.abort")
            try:
                with self._ledger.store.transaction("invoke.abort") as tx:
                    if self._ledger.move(tx, record.attempt, "abort_on_deadline", cause="timeout", now=now):
                        self._ledger.close_reservation(tx, record.attempt, "Aborted", now)
            except (StoreFailed, AckLost):
                return answer
        return answer


# Given an operation with an approval; when the deadline passes while the spend is held; then Aborted and not_attempted.
# Here the gate opens and the request is sent.
@ATTEMPTS_SECOND.plant("spend-stops-the-watch", names="CANC-012", part="dispatcher")
class SpendStopsTheWatch(Dispatcher):
    """Does not count the time of a spend against the service deadline, so that a late dispatch is not fenced."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.proof is None:
            return super().dispatch(call, attempt, voice)
        started = self._ports.clock.now("invoke.spend").mono_ms
        problem = self.spend(call, call.proof, attempt)
        if problem is not None:
            return self.refuse(attempt, problem, voice)
        due = call.deadline_mono_ms + self._ports.clock.now("invoke.deadline").mono_ms - started
        return super().dispatch(replace(call, proof=None, deadline_mono_ms=due), attempt, voice)


# Given an open gate; when the provider does not answer before the deadline; then outcome_unknown with its observation.
# Here outcome_unknown without the mutation member.
@ATTEMPTS_SECOND.plant("timeout-drops-observation", names="CANC-016", part="dispatcher")
class TimeoutDropsObservation(Dispatcher):
    """Answers a transport timeout behind the gate with outcome_unknown, but loses the observation."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return {k: v for k, v in answer.items() if evidence.cause != "timeout" or k != "mutation"}


# Given a call without approval whose prepare is held; when the deadline passes and the prepare is let go; then its row
# ends Aborted without opening. Here the gate opens, nothing is sent, and the row ends Indeterminate.
@ATTEMPTS_SECOND.plant("deadline-only-behind-gate", names="CANC-021", part="dispatcher")
class DeadlineOnlyBehindGate(Dispatcher):
    """Looks at the deadline only behind the gate where nothing is spent, so a late prepare still opens its gate."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        if call.proof is not None:
            return super().dispatch(call, attempt, voice)
        try:
            opened = self.open_gate(attempt)
        except StoreFailed:
            return self.refuse(attempt, "unavailable", voice)
        except AckLost:
            return self.take_back(call, attempt, voice)
        if not opened:
            return self._lost_race(attempt, voice)
        cause = self.withheld(call, attempt)
        evidence = self.send(call) if cause is None else Evidence("ambiguous", cause=cause)
        return self.conclude(attempt, evidence, voice)
