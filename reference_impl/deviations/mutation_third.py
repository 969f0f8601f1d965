"""Third set of deviations of the mutation host: mistakes that an earlier suite let pass, one for each hole in it."""

from __future__ import annotations

from typing import Any

from conformance.kit import AckLost, RemoteUnknown, StoreFailed, Time
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, Winner, weigh
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

THIRD = Collection("mutation-host")
_PATIENCE_MS = 5000


# Given a Dispatching attempt; when a cancel comes too late for the gate; then the provider gets a request of it.
# The suite looked at what an invocation and what recovery sent, not at anybody else.
@THIRD.plant("cancel-tells-provider", names="MUT-009", part="supervisor")
class CancelTellsProvider(Supervisor):
    """A cancel that came too late posts the request once more, marked as cancelled, so that the provider knows."""

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        answer = super().cancel(caller, request_id)
        if answer["status"] == "received":
            until = self._ports.clock.peek().mono_ms + _PATIENCE_MS
            payload = {"marker": request_id, "input": {"cancelled": True}}
            try:
                self._ports.remote.post("cancel.tell", "/effect/thing.write", payload, until)
            except RemoteUnknown:
                return answer
        return answer


# Given A held ahead of its send and its exact duplicate B waiting; when B's deadline passes; then B sends. No schedule
# let the deadline of a waiter pass while its original stood still.
@THIRD.plant("waiter-takes-over", names="MUT-009", part="observer")
class WaiterTakesOver(Observer):
    """A waiter that has waited for as long as it may does the work itself."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        mutation = answer.get("mutation") or {}
        if mutation.get("cause") == "timeout" and record.state in ("Prepared", "Dispatching"):
            payload = {"marker": call.input.get("marker"), "input": call.input}
            until = self._ports.clock.peek().mono_ms + _PATIENCE_MS
            try:
                self._ports.remote.post("observe.send", f"/effect/{call.operation}", payload, until)
            except RemoteUnknown:
                return answer
        return answer


class _Owing(Dispatcher):
    """Sends with the next call what it believes to owe for an earlier one."""

    _owed: Call | None = None

    def attempt(self, call: Call, voice: Voice) -> Answer | Winner:
        owed, self._owed = self._owed, None
        if owed is not None and owed.input_digest != call.input_digest:
            Dispatcher.send(self, owed)
        return super().attempt(call, voice)


# Given a lost acknowledgement of the gate; when the process gets its next call; then the first one's request goes out.
# No schedule gave the process another call, and a late request counted for whichever command was open.
@THIRD.plant("sent-with-next-call", names="MUT-011", part="dispatcher")
class SentWithNextCall(_Owing):
    """A call whose gate acknowledgement was lost is kept for later and sent along with the next one."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._owed = call
        return super().take_back(call, attempt, voice)


# Given a lost response; when the process gets its next call; then the first request goes out again.
@THIRD.plant("resent-with-next-call", names="MUT-015", part="dispatcher")
class ResentWithNextCall(_Owing):
    """A request whose response was lost is repeated along with the next call, to learn what became of it."""

    def send(self, call: Call) -> Evidence:
        evidence = super().send(call)
        if evidence.kind == "ambiguous":
            self._owed = call
        return evidence


# Given a Dispatching attempt; when the provider answers 401; then the request goes out again with a fresh token.
# Of the statuses that make clients repeat, only 429 was ever answered.
@THIRD.plant("fresh-token-and-again", names="MUT-015", part="dispatcher")
class FreshTokenAndAgain(Dispatcher):
    """Its HTTP client fetches a new token after a 401 and repeats the request."""

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        path = f"/effect/{call.operation}"
        try:
            answer = self._ports.remote.post("invoke.send", path, payload, call.deadline_mono_ms)
            if answer.status == 401:
                answer = self._ports.remote.post("invoke.send", path, payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        return weigh(answer)


# Given recovery that has settled a held attempt as Indeterminate; when its worker wakes up with a success; then the
# attempt stays Indeterminate and its key becomes Replayable. Only the attempt's own state was looked at.
@THIRD.plant("stale-writer-frees-key", names="MUT-029", part="dispatcher", unguarded=True)
class StaleWriterFreesKey(Dispatcher):
    """The terminal write compares the attempt's state and then closes the reservation whatever came of it."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        won = super().settle(attempt, trigger, state, result, cause)
        if not won and state in ("Completed", "Failed"):
            try:
                with self._store.transaction("invoke.close") as tx:
                    tx.execute("UPDATE reservations SET state = 'Replayable' WHERE attempt = ?", (attempt,))
            except (StoreFailed, AckLost):
                return won
        return won


# Given a lost response; when the terminal write fails as well; then not_attempted. Such schedules were not judged.
@THIRD.plant("nothing-recorded-nothing-done", names="OBS-042", part="dispatcher")
class NothingRecordedNothingDone(Dispatcher):
    """A lost response that cannot be recorded either counts as if nothing had been attempted."""

    _recorded = True

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._recorded = super().settle(attempt, trigger, state, result, cause)
        return self._recorded

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if evidence.kind == "ambiguous" and not self._recorded:
            return voice.not_attempted("unavailable", attempt)
        return answer


# Given recovery that has settled a held attempt; when the success arrives; then unknown is answered. Only faults of
# the store counted as a terminal write that failed, not a fence.
@THIRD.plant("ledger-over-live-success", names="OBS-057", part="dispatcher")
class LedgerOverLiveSuccess(Dispatcher):
    """A success that recovery has overtaken is answered as the ledger has it."""

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if evidence.kind != "success":
            return answer
        try:
            state = self._ledger.find_attempt("invoke.read_back", attempt).state
        except StoreFailed:
            return answer
        return voice.unknown(None, attempt) if state == "Indeterminate" else answer


# Given a quarantined key; when the retention has passed; then it is retired and the next exact call is sent. Any move
# of time was taken for the end of the window.
@THIRD.plant("quarantine-expires", names="REPLAY-012", part="ledger", unguarded=True)
class QuarantineExpires(Ledger):
    """Keeps a quarantined key for no longer than a replayable one."""

    def close_reservation(self, tx: Transaction, attempt: str, state: str, now: Time) -> None:
        super().close_reservation(tx, attempt, state, now)
        due = "UPDATE reservations SET replay_expires_at = ? WHERE attempt = ? AND state = 'Quarantined'"
        tx.execute(due, (now.wall_ms + self._retention_ms, attempt))

    def expired(self, step: str, now: Time) -> list[tuple[str, str, str]]:
        if not now.trusted:
            return []
        sql = "SELECT reservation, namespace, key FROM reservations WHERE state <> 'Expired' AND replay_expires_at <= ?"
        return [(row[0], row[1], row[2]) for row in self.store.read(step, sql, (now.wall_ms,))]

    def retire(self, tx: Transaction, reservation: str, namespace: str, key: str) -> bool:
        sql = "UPDATE reservations SET state = 'Expired' WHERE reservation = ? AND namespace = ? AND key = ?"
        return tx.execute(sql, (reservation, namespace, key)) == 1
