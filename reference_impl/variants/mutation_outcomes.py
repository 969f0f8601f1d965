"""Legal variants of what callers are told: causes and codes that the source leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_impl.mutation_host.answers import Answer
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.model import Record
from reference_impl.mutation_host.supervision import Supervisor
from reference_impl.planting import Collection

OUTCOMES = Collection("mutation-host")


@OUTCOMES.plant("drops-timeout-cause", names="OBS-043/cause-left-out", part="host")
class DropsTimeoutCause(MutationHost):
    """Keeps no diagnostic cause of a deadline that passed behind the gate."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        mutation = answer.get("mutation")
        if mutation is None or mutation["classification"] != "unknown" or mutation["cause"] != "timeout":
            return answer
        return {**answer, "mutation": {**mutation, "cause": None}}


@OUTCOMES.plant(
    "refuses-by-a-base-code",
    names="provider-refusal-code/r2",
    part="host",
    readings={"provider-refusal-code": "r2"},
)
class RefusesByABaseCode(MutationHost):
    """Gives every refusal of a provider the base code rate_limited; the provider's reason stays the cause."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        refused = answer.get("mutation", {}).get("classification") == "refused"
        return {**answer, "error": {"code": "rate_limited"}} if refused else answer


_WHY = "recovered_ahead_of_dispatch"


class _SaysWhy(Supervisor):
    """Recovery writes its own cause into what it aborts."""

    def _recover_one(self, record: Record) -> bool:
        if record.state == "Prepared":
            return self._settle(record, "recover_unopened", "Aborted", _WHY)
        return super()._recover_one(record)


@OUTCOMES.plant("recovery-says-why", names="recovery-cause/r2", part="host")
class RecoverySaysWhy(MutationHost):
    """Tells what recovery aborted with a cause of its own, under the code unavailable."""

    supervisor_class = _SaysWhy

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        own = answer.get("error", {}).get("code") == _WHY
        return {**answer, "error": {"code": "unavailable"}} if own else answer
