"""The mutation host: what becomes of a result, and of answers whose body and status disagree."""

from __future__ import annotations

import json

from conformance.kit import RemoteAnswer, RemoteUnknown
from reference_impl.mutation_host.dispatch import Dispatcher, Evidence, weigh
from reference_impl.mutation_host.model import Call
from reference_impl.planting import Collection

MUTATION_PAYLOAD = Collection("mutation-host")


# Given an applied attempt; when its request comes again; then it is applied, and the result is gone.
@MUTATION_PAYLOAD.plant("result-not-recorded", names="REPLAY-019", part="dispatcher")
class ResultNotRecorded(Dispatcher):
    """Keeps the outcome of an attempt and not its result."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        return super().settle(attempt, trigger, state, None if result is None else "null", cause)


# Given the same; when it comes again; then the result is there without what tells one effect from another.
@MUTATION_PAYLOAD.plant("result-trimmed", names="REPLAY-019", part="dispatcher")
class ResultTrimmed(Dispatcher):
    """Records a result without the ids of the provider, which are its business."""

    def settle(self, attempt: str, trigger: str, state: str, result: str | None, cause: str | None) -> bool:
        if result is not None:
            result = json.dumps({k: v for k, v in json.loads(result).items() if k != "id"})
        return super().settle(attempt, trigger, state, result, cause)


class _BodyDispatcher(Dispatcher):
    trusts: str

    def send(self, call: Call) -> Evidence:
        payload = {"marker": call.input.get("marker"), "input": call.input}
        try:
            answer = self._ports.remote.post("invoke.send", f"/effect/{call.operation}", payload, call.deadline_mono_ms)
        except RemoteUnknown as lost:
            return Evidence("ambiguous", cause="timeout" if str(lost) == "timeout" else None)
        body = answer.json()
        if isinstance(body, dict) and body.get("effect") == self.trusts:
            status = 200 if self.trusts == "done" else 422
            return weigh(RemoteAnswer(status, answer.body))
        return weigh(answer)


# Given a 500 whose body says that nothing was done; then that is taken for the provider's word.
@MUTATION_PAYLOAD.plant("refused-by-body", names="MUT-023", part="dispatcher")
class RefusedByBody(_BodyDispatcher):
    """Reads a refusal out of the body, whatever status it comes with."""

    trusts = "none"


# Given a 503 whose body says that all was done; then that is taken for the provider's word.
@MUTATION_PAYLOAD.plant("applied-by-body", names="OBS-049", part="dispatcher")
class AppliedByBody(_BodyDispatcher):
    """Reads a success out of the body, whatever status it comes with."""

    trusts = "done"
