"""What the host says to a caller: the v1alpha2 response with its mutation observation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from reference_impl.mutation_host.model import Record, Refusal
from statemachines.spec import load

Answer = dict[str, Any]
#: The base code under which a refusal of a provider is told whose own reason is no base code; that is the cause.
PROVIDER_REFUSAL: Final = "forbidden"
#: Causes that are no code of spec/tables/codes.yaml, and the code that they are told under.
_CODES: Final = {"cancelled": "timeout"}


def provider_code(reason: str | None) -> str:
    """The code of a provider's refusal: its reason where that is a base code, else one for all (mutation-profile 3)."""
    return reason if reason is not None and reason in _base_codes() else PROVIDER_REFUSAL


@cache
def _base_codes() -> frozenset[str]:
    rows = load().tables["codes"].rows
    return frozenset(row.id for row in rows if row.then["group"] == "code" and row.then["base"])


@dataclass(frozen=True, slots=True)
class Voice:
    """Forms answers for one host instance and one request."""

    instance: str
    request_id: str

    def denied(self, code: str) -> Answer:
        """A refusal of steps 1 to 3: it carries no mutation member at all."""
        return self._error(code)

    def conflict(self) -> Answer:
        """Another request lives under this key; nothing of it is shown."""
        return self._error("idempotency_conflict")

    def not_attempted(self, cause: str, attempt: str | None) -> Answer:
        """This attempt never had permission to send."""
        return self._error(_CODES.get(cause, cause), self._observation("not_attempted", attempt, None, False, cause))

    def refused_candidate(self, refusal: Refusal) -> Answer:
        """A candidate that never became an attempt; the code says which check refused and nothing else."""
        return self._error(refusal.code, self._observation("not_attempted", None, None, False, refusal.cause))

    def unknown(self, cause: str | None, attempt: str | None = None, original: str | None = None) -> Answer:
        """The attempt may have been sent and there is no definitive evidence."""
        replayed = original is not None
        return self._error("outcome_unknown", self._observation("unknown", attempt, original, replayed, cause))

    def applied(self, attempt: str, result: Any) -> Answer:
        """The provider's definitive success, as the live observer knows it."""
        return self._success(result, self._observation("applied", attempt, None, False, None))

    def refused(self, attempt: str, code: str) -> Answer:
        """The provider's definitive refusal, as the live observer knows it."""
        return self._error(provider_code(code), self._observation("refused", attempt, None, False, code))

    def replay(self, record: Record, classification: str) -> Answer:
        """The stored outcome of the original, with its own classification."""
        seen = self._observation(classification, record.attempt, record.request_id, True, record.cause)
        if classification == "applied":
            return self._success(json.loads(record.result or "null"), seen)
        if classification == "unknown":
            return self._error("outcome_unknown", seen)
        if classification == "refused":
            return self._error(provider_code(record.cause), seen)
        cause = record.cause or "unavailable"
        return self._error(_CODES.get(cause, cause), seen)

    def _observation(
        self,
        classification: str,
        attempt: str | None,
        original: str | None,
        replayed: bool,
        cause: str | None,
    ) -> Mapping[str, Any]:
        return {
            "classification": classification,
            "attempt": None if attempt is None else {"instance": self.instance, "id": attempt},
            "original_request_id": original,
            "replayed": replayed,
            "cause": cause,
        }

    def _success(self, result: Any, mutation: Mapping[str, Any]) -> Answer:
        return {**self._head("success"), "result": result, "mutation": dict(mutation)}

    def _error(self, code: str, mutation: Mapping[str, Any] | None = None) -> Answer:
        answer = {**self._head("error"), "error": {"code": code}}
        return answer if mutation is None else {**answer, "mutation": dict(mutation)}

    def _head(self, status: str) -> Answer:
        return {"version": "v1alpha2", "request_id": self.request_id, "status": status}
