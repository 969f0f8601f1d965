"""Second set for the mutation core, made without sight of the checks: observations, recovery, order of the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.kit import RemoteAnswer, StoreFailed
from reference_impl.deviations.core_second_parts import (
    CauseIsCode,
    LeavesReported,
    MarksScope,
    NamesCrash,
    PutsOffExpired,
    RefreshesLate,
    ReportsAnchor,
    Weighing,
    noted,
    said,
)
from reference_impl.mutation_host.admission import Admission, Context, Denied, Request
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import CLASSIFICATION, Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record, Refusal
from reference_impl.mutation_host.preflight import Preflight
from reference_impl.mutation_host.settings import Config
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection
from reference_impl.store import Transaction

OUTCOMES_SECOND = Collection("mutation-host")


# Given a new attempt that approval or credential refuses; when the observation is read; then it has five members. Here
# replayed and original_request_id are left out.
@OUTCOMES_SECOND.plant("short-refusal-observation", names="OBS-002", part="host")
class ShortRefusalObservation(MutationHost):
    """The observation of a refused candidate leaves out what only speaks of originals."""

    def refuse(self, call: Call, refusal: Refusal, voice: Voice) -> Answer:
        answer = super().refuse(call, refusal, voice)
        if said(answer, "classification") == "not_attempted" and said(answer, "attempt") is None:
            answer["mutation"] = {k: answer["mutation"][k] for k in ("classification", "attempt", "cause")}
        return answer


# Given a keyed original R1 under way; when a duplicate R2 waits for its end; then original_request_id is R1. Here it is
# R2; a replay that had not to wait is right.
@OUTCOMES_SECOND.plant("waiter-is-its-own-original", names="OBS-006", part="observer")
class WaiterIsItsOwnOriginal(Observer):
    """A duplicate that waited for the outcome names its own request id as that of the original."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if record.state not in CLASSIFICATION and said(answer, "replayed"):
            answer["mutation"]["original_request_id"] = voice.request_id
        return answer


# Given a duplicate that waits; when its access is withdrawn during the wait and the original ends; then a refusal
# without metadata. Here it carries an observation of class unknown with null ids.
@OUTCOMES_SECOND.plant("late-denial-observes", names="OBS-010", part="observer")
class LateDenialObserves(Observer):
    """A caller that loses access during its wait is denied with an observation of class unknown."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        try:
            return super().observe(call, record, voice)
        except Denied as denied:
            return {**voice.denied(denied.code), "mutation": voice.unknown(None)["mutation"]}


# Given a used and a fresh key, and access that is withdrawn while invoke.lookup reads; when both are invoked; then both
# are denied alike. Here the fresh one goes on to a new attempt. That alone the source leaves open (a candidate is
# admitted ahead of its key, and no atomicity with a later change of policy is claimed): OBS-011 does not speak of it.
# What it breaks is the recheck: a candidate that lost its proof and its access hears its own refusal where nobody holds
# its key, and an admission refusal where somebody does.
@OUTCOMES_SECOND.plant("access-only-for-used-keys", names="REPLAY-037", part="host")
class AccessOnlyForUsedKeys(MutationHost):
    """Checks access behind the look at the index only where the index holds the key, which tells used keys apart."""

    def look_up(self, call: Call, step: str, voice: Voice) -> Answer | None:
        try:
            record = self.ledger.find_live(step, call.namespace, str(call.key))
        except StoreFailed:
            self.admission.recheck(call)
            return self.observer.unread(call, voice)
        if record is None:
            return None
        self.admission.recheck(call)
        if self.observer.decide(call, record, self._ports.clock.now(step)) == "retire_then_candidate":
            return None
        return self.observer.observe(call, record, voice)


# Given a worker held ahead of its gate; when a cancel aborts the attempt and the worker answers; then a base code such
# as timeout. Here the code is not_attempted, since cancelled is no code.
@OUTCOMES_SECOND.plant("cancelled-has-no-code", names="OBS-016", part="dispatcher")
class CancelledHasNoCode(Dispatcher):
    """Tells a cancelled attempt under the classification as its code, because its cause has none of its own."""

    def _lost_race(self, attempt: str, voice: Voice) -> Answer:
        answer = super()._lost_race(attempt, voice)
        if said(answer, "cause") == "cancelled":
            answer["error"] = {"code": said(answer, "classification")}
        return answer


# Given an open gate; when the provider answers 200 with a JSON object that says nothing of the effect; then
# Indeterminate. Here Completed and applied.
@OUTCOMES_SECOND.plant("silent-ok-is-done", names="OBS-021", part="dispatcher")
class SilentOkIsDone(Weighing):
    """Takes a 200 whose body leaves out the effect for a success, as if done were the default."""

    @staticmethod
    def judge(answer: RemoteAnswer) -> Evidence:
        body = answer.json()
        if answer.status == 200 and isinstance(body, dict) and "effect" not in body:
            return Evidence("success", result=body)
        return weigh(answer)


# Given an open gate; when the provider answers a bare 400, 401, 403 or 404; then Indeterminate and unknown. Here Failed
# and refused; 409, 422 and 429 are judged rightly.
@OUTCOMES_SECOND.plant("checked-ahead-of-work", names="OBS-022", part="dispatcher")
class CheckedAheadOfWork(Weighing):
    """Takes 400, 401, 403 and 404 for refusals, since servers check such things ahead of the work."""

    @staticmethod
    def judge(answer: RemoteAnswer) -> Evidence:
        if answer.status in (400, 401, 403, 404):
            return Evidence("refusal", cause=f"http_{answer.status}")
        return weigh(answer)


# Given an unkeyed candidate whose prepare lost its acknowledgement and was rolled back (or whose abort fails); when it
# is answered; then not_attempted, unavailable. Here outcome_unknown, because its abort found nothing.
@OUTCOMES_SECOND.plant("unfenced-anchor-is-unknown", names="OBS-033", part="dispatcher")
class UnfencedAnchorIsUnknown(Dispatcher):
    """Answers an ambiguous prepare with unknown unless its own abort of the row has won."""

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        if self.abort(attempt, "abort_after_late_prepare", "unavailable"):
            return voice.not_attempted("unavailable", None)
        return voice.unknown("unavailable")


# Given a prepare that committed and lost its acknowledgement; when recovery runs; then Aborted. Here the row stays
# Prepared for ever, for an operator who may read the report.
@OUTCOMES_SECOND.plant("reported-rows-are-left", names="OBS-034", part="host")
class ReportedRowsAreLeft(MutationHost):
    """Reports an anchor without acknowledgement to the operator, and recovery passes over what was reported."""

    dispatcher_class = ReportsAnchor
    supervisor_class = LeavesReported


# Given an operation with an approval, spent, the worker stalled ahead of its gate; when the deadline passes; then
# Aborted, not_attempted, timeout. Here the row is Aborted and the caller hears outcome_unknown.
@OUTCOMES_SECOND.plant("spent-deadline-is-unknown", names="OBS-035", part="dispatcher")
class SpentDeadlineIsUnknown(Dispatcher):
    """Tells a deadline that won ahead of the gate as unknown, where an approval was spent before."""

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._spent = call.proof is not None
        return super().dispatch(call, attempt, voice)

    def _timed_out(self, attempt: str, voice: Voice) -> Answer:
        answer = super()._timed_out(attempt, voice)
        return voice.unknown("timeout", attempt) if self._spent else answer


# Given a crash behind the spend and ahead of the gate; when recovery runs; then Aborted and the spend still Spent. Here
# the spend is gone, and the reference works once more.
@OUTCOMES_SECOND.plant("recovery-refunds", names="OBS-038", part="ledger", unguarded=True)
class RecoveryRefunds(Ledger):
    """Recovery gives the approval of an attempt that it aborts back."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        won = super().move(tx, attempt, trigger, **values)
        if won and trigger == "recover_unopened":
            tx.execute("DELETE FROM spends WHERE attempt = ?", (attempt,))
        return won


# Given an open gate and a crash ahead of the send; when recovery has run and the request is replayed; then the code is
# outcome_unknown. Here the code is unavailable, beside the classification unknown.
@OUTCOMES_SECOND.plant("crash-told-as-unavailable", names="OBS-039", part="host")
class CrashToldAsUnavailable(MutationHost):
    """Replays what recovery settled as Indeterminate under the code of its cause, unavailable."""

    supervisor_class = NamesCrash
    observer_class = CauseIsCode


# Given a gate without acknowledgement and a ledger that cannot be read until after the answer; when it is answered;
# then outcome_unknown with cause unavailable. Here the cause is timeout.
@OUTCOMES_SECOND.plant("silent-ledger-is-timeout", names="OBS-041", part="dispatcher")
class SilentLedgerIsTimeout(Dispatcher):
    """Blames a gate that the ledger neither acknowledges nor shows on a timeout of the provider."""

    def take_back(self, call: Call, attempt: str, voice: Voice) -> Answer:
        self._settling = False
        answer = super().take_back(call, attempt, voice)
        if said(answer, "classification") == "unknown" and not self._settling:
            answer["mutation"]["cause"] = "timeout"
        return answer

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._settling = True
        return super().settle(attempt, trigger, state, result, cause)


# Given a gate write that is held until the deadline has passed and then succeeds; when the worker answers without
# sending; then outcome_unknown. Here not_attempted, beside a row that is Indeterminate.
@OUTCOMES_SECOND.plant("late-gate-not-attempted", names="OBS-043", part="dispatcher")
class LateGateNotAttempted(Dispatcher):
    """Answers not_attempted when the deadline passed while the gate opened, because it did not send."""

    def withheld(self, call: Call, attempt: str) -> str | None:
        self._kept = super().withheld(call, attempt)
        return self._kept

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        return answer if self._kept is None else voice.not_attempted(self._kept, attempt)


# Given a crash in Dispatching and a recovery whose first settling write fails; when recovery runs again in that process
# with a sound store; then Indeterminate. Here it stays Dispatching.
@OUTCOMES_SECOND.plant("recovery-gives-up", names="OBS-044", part="supervisor")
class RecoveryGivesUp(Supervisor):
    """Recovery passes over an open attempt for good once it failed to settle it."""

    _given_up: frozenset[str] = frozenset()

    def _recover_one(self, record: Record) -> bool:
        if record.state != "Dispatching":
            return super()._recover_one(record)
        settled = record.attempt not in self._given_up and super()._recover_one(record)
        if not settled:
            self._given_up |= {record.attempt}
        return settled


# Given an unkeyed attempt in Dispatching; when the provider refuses definitely; then refused and Failed. Here refused,
# and the row is Aborted.
@OUTCOMES_SECOND.plant("refusal-filed-as-aborted", names="OBS-046", part="ledger", unguarded=True)
class RefusalFiledAsAborted(Ledger):
    """Files the definite refusal of an unkeyed attempt as Aborted, since nothing happened and nobody replays it."""

    def move(self, tx: Transaction, attempt: str, trigger: str, **values: Any) -> bool:
        if trigger == "settle_refused":
            now = values.get("now")
            sql = "UPDATE attempts SET state = 'Aborted', cause = ?, settled_at = ?"
            known = (values.get("cause"), now.wall_ms if now is not None and now.trusted else None, attempt)
            if tx.execute(f"{sql} WHERE attempt = ? AND state = 'Dispatching' AND key IS NULL", known):
                return True
        return super().move(tx, attempt, trigger, **values)


# Given a terminal write that committed Completed and lost its acknowledgement; when the exact request is replayed; then
# applied, as the row says. Here unknown, as long as the report about that write is in the diagnostics.
@OUTCOMES_SECOND.plant("report-outweighs-row", names="OBS-050", part="observer")
class ReportOutweighsRow(Observer):
    """Replays a Completed attempt as unknown when the ledger once reported trouble in recording it."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        lost = "Completed not known to be recorded%"
        if said(answer, "classification") != "applied" or not noted(self._ledger, "observe.read", record.attempt, lost):
            return answer
        return voice.replay(replace(record, cause="unavailable"), "unknown")


# Given a keyed attempt that recovery aborted; when the exact request is replayed; then not_attempted. Here
# outcome_unknown, while an attempt that a deadline or a cancel aborted replays rightly.
@OUTCOMES_SECOND.plant("unavailable-is-doubtful", names="OBS-052", part="observer")
class UnavailableIsDoubtful(Observer):
    """Replays an Aborted attempt as unknown when its cause is unavailable, as after a recovery."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        if said(answer, "classification") == "not_attempted" and said(answer, "cause") == "unavailable":
            return voice.replay(replace(record, cause="unavailable"), "unknown")
        return answer


# Given a definite refusal whose terminal write fails; when the caller is answered; then refused with the provider's
# cause. Here refused with cause unavailable.
@OUTCOMES_SECOND.plant("storage-cause-on-refusal", names="OBS-058", part="dispatcher")
class StorageCauseOnRefusal(Dispatcher):
    """Keeps refused when its record fails, but gives the storage failure as the cause."""

    _recorded = True

    def conclude(self, attempt: str, evidence: Evidence, voice: Voice) -> Answer:
        answer = super().conclude(attempt, evidence, voice)
        if said(answer, "classification") == "refused" and not self._recorded:
            answer["mutation"]["cause"] = "unavailable"
        return answer

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        self._recorded = super().settle(attempt, trigger, state, result, cause)
        return self._recorded


# Given an attempt under an event claim, told applied live, its terminal write failed, the host restarted; when recovery
# runs; then Indeterminate. Here Failed, so that the event can be worked off anew.
@OUTCOMES_SECOND.plant("claimed-without-record-failed", names="OBS-062", part="supervisor")
class ClaimedWithoutRecordFailed(Supervisor):
    """Recovery settles an open attempt under an event claim as Failed when no result is on record."""

    def _recover_one(self, record: Record) -> bool:
        sql = "SELECT 1 FROM attempts WHERE attempt = ? AND state = 'Dispatching' AND approval = 'event_claim'"
        try:
            claimed = bool(self._store.read("recover.scan", sql, (record.attempt,)))
        except StoreFailed:
            return False
        if claimed:
            return self._settle(record, "settle_refused", "Failed", "unavailable")
        return super()._recover_one(record)


# Given a configured caller without a grant; when it invokes an operation that exists and one that does not; then
# identical refusals. Here forbidden and not_found; a caller that is not configured hears forbidden for both.
@OUTCOMES_SECOND.plant("known-caller-sees-absence", names="EXEC-004", part="admission")
class KnownCallerSeesAbsence(Admission):
    """Tells a configured caller not_found for an operation that does not exist, though it has no grant for it."""

    def check_access(self, config: Config, context: Context, operation: str, connection: str) -> Mapping[str, Any]:
        try:
            return super().check_access(config, context, operation, connection)
        except Denied:
            who = ("caller", "tenant", "realm", "executor")
            entered = any(all(c.get(m) == context.get(m) for m in who) for c in config["callers"])
            if entered and all(op["id"] != operation for op in config["operations"]):
                raise Denied("not_found") from None
            raise


# Given a caller that may invoke the operation but not over this connection, and a stale revision; when it invokes; then
# forbidden. Here stale_description; with a current revision it hears forbidden.
@OUTCOMES_SECOND.plant("connection-checked-late", names="EXEC-006", part="admission")
class ConnectionCheckedLate(Admission):
    """Checks the caller's connections with the input, behind freshness and lookup."""

    def check_access(self, config: Config, context: Context, operation: str, connection: str) -> Mapping[str, Any]:
        callers = [{**c, "connections": None, "reach": c.get("connections")} for c in config["callers"]]
        return super().check_access({**config, "callers": callers}, context, operation, connection)

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        _reached(grants, request["connection"])
        super().check_input(operation, grants, request)

    def recheck(self, call: Call) -> None:
        grants = self.check_access(self._settings.current(), call.context, call.operation, call.connection)
        _reached(grants, call.connection)
        super().recheck(call)


def _reached(grants: Mapping[str, Any], connection: str) -> None:
    if grants["reach"] is not None and connection not in grants["reach"]:
        raise Denied("forbidden")


# Given a caller with resources; when its input names another one; then a refusal without a mutation member. Here the
# refusal carries not_attempted; all other refusals of step 3 are right.
@OUTCOMES_SECOND.plant("scope-refusal-observes", names="EXEC-013", part="host")
class ScopeRefusalObserves(MutationHost):
    """Refuses an input outside the caller's resources with an observation of class not_attempted."""

    admission_class = MarksScope

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        if isinstance(self.admission, MarksScope) and self.admission.out_of_scope:
            voice = Voice(self._settings.current()["instance"], str(request.get("request_id")))
            return voice.not_attempted("forbidden", None)
        return answer


# Given a connection whose credential is expired; when a new attempt is made; then a refusal and no row. Here the answer
# is the same, but a row was anchored and is Aborted; missing and refused credentials are right.
@OUTCOMES_SECOND.plant("expired-credential-resolved-late", names="EXEC-016", part="host")
class ExpiredCredentialResolvedLate(MutationHost):
    """Resolves an expired credential behind the anchor, where it would be refreshed."""

    preflight_class = PutsOffExpired
    dispatcher_class = RefreshesLate

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert isinstance(self.dispatcher, RefreshesLate)
        self.dispatcher.ready = Preflight(self._settings)
