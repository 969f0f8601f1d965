"""What deviations of the second set for the mutation core share; nothing is planted here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.kit import AckLost, RemoteAnswer, RemoteUnknown, StoreFailed
from reference_impl.mutation_host.admission import Admission, Context, Denied, Request
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.ledger import Ledger
from reference_impl.mutation_host.model import Call, Record, Refusal
from reference_impl.mutation_host.preflight import Preflight
from reference_impl.mutation_host.supervision import Supervisor


def noted(ledger: Ledger, step: str, attempt: str, what: str) -> bool:
    """Whether the diagnostics have a report on this attempt like ``what``."""
    sql = "SELECT 1 FROM diagnostics WHERE attempt = ? AND what LIKE ?"
    try:
        return bool(ledger.store.read(step, sql, (attempt, what)))
    except StoreFailed:
        return False


def said(answer: Answer, member: str) -> Any:
    """A member of the observation of an answer, if it has one."""
    return answer.get("mutation", {}).get(member)


class Weighing(Dispatcher):
    """A dispatcher whose judgement of a complete answer can be replaced."""

    status: int | None = None

    @staticmethod
    def judge(answer: RemoteAnswer) -> Evidence:
        """What a complete answer proves."""
        return weigh(answer)

    def send(self, call: Call) -> Evidence:
        self.status = None
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        self.status = answer.status
        return self.judge(answer)


class Sending(Observer):
    """An observer that can reach the dispatcher of its host."""

    dispatcher: Dispatcher


class SendingHost(MutationHost):
    """A host whose observer has the dispatcher at hand."""

    observer_class = Sending

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert isinstance(self.observer, Sending)
        self.observer.dispatcher = self.dispatcher


class Canceller(Supervisor):
    """A supervisor whose cancel may say aborted for other reasons than a certain abort."""

    trusts_find = False
    trusts_lost_ack = False

    def cancel(self, caller: str, request_id: str) -> dict[str, Any]:
        sql = "SELECT attempt, state FROM attempts WHERE caller = ? AND request_id = ? ORDER BY rowid DESC LIMIT 1"
        won = False
        try:
            found = self._store.read("cancel.find", sql, (caller, request_id))
            if not found:
                return {"status": "received"}
            now = self._ports.clock.now("cancel.abort")
            with self._store.transaction("cancel.abort") as tx:
                won = self._ledger.move(tx, found[0][0], "abort_on_cancel", cause="cancelled", now=now)
                if won:
                    self._ledger.close_reservation(tx, found[0][0], "Aborted", now)
        except StoreFailed:
            return {"status": "received"}
        except AckLost:
            return {"status": "aborted" if won and self.trusts_lost_ack else "received"}
        return {"status": "aborted" if won or (self.trusts_find and found[0][1] == "Prepared") else "received"}


_UNSURE = "the anchor was not acknowledged"


class ReportsAnchor(Dispatcher):
    """Leaves a row of an anchor without acknowledgement open, with a report about it."""

    def anchor_uncertain(self, attempt: str, voice: Voice) -> Answer:
        self._report(attempt, _UNSURE)
        return voice.not_attempted("unavailable", None)


class LeavesReported(Supervisor):
    """Recovery that passes over Prepared rows with such a report."""

    def _recover_one(self, record: Record) -> bool:
        if record.state == "Prepared" and noted(self._ledger, "recover.scan", record.attempt, _UNSURE):
            return False
        return super()._recover_one(record)


class NamesCrash(Supervisor):
    """Recovery that records unavailable as the cause of what it settles Indeterminate."""

    def _recover_one(self, record: Record) -> bool:
        if record.state == "Dispatching":
            return self._settle(record, "recover_opened", "Indeterminate", "unavailable")
        return super()._recover_one(record)


class CauseIsCode(Observer):
    """Replays under the code unavailable whatever has that cause."""

    def _watch(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super()._watch(call, record, voice)
        if said(answer, "replayed") and said(answer, "cause") == "unavailable":
            answer["error"] = {"code": "unavailable"}
        return answer


class OutOfScope(Denied):
    """An input that names what the caller may not act on."""


class MarksScope(Admission):
    """Remembers whether the last call was refused for its scope."""

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        try:
            super().check_input(operation, grants, request)
        except Denied as denied:
            raise (OutOfScope(denied.code) if denied.code == "forbidden" else denied) from None

    def admit(self, context: Context, request: Request, deadline_mono_ms: int) -> Call:
        self.out_of_scope = False
        try:
            return super().admit(context, request, deadline_mono_ms)
        except OutOfScope:
            self.out_of_scope = True
            raise


class PutsOffExpired(Preflight):
    """Lets calls over an expired credential pass."""

    def judge(self, call: Call) -> Refusal | None:
        refusal = super().judge(call)
        return None if refusal is not None and refusal.cause == "credential_expired" else refusal


class RefreshesLate(Dispatcher):
    """Looks at the credential behind the anchor."""

    ready: Preflight

    def dispatch(self, call: Call, attempt: str, voice: Voice) -> Answer:
        refusal = self.ready.judge(call)
        if refusal is None:
            return super().dispatch(call, attempt, voice)
        self.abort(attempt, "abort_on_refusal", refusal.code)
        return voice.refused_candidate(refusal)
