"""REPLAY-041 past the deadline: whoever asks for something else under a key in progress has nothing to wait for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from conformance.history import History
from tests.checkers.histories import asked, history, named, rebuilt, told

AGES: Final = "mutation/pending-ages"


def _late(request_id: str, error: str, cause: str, classification: str = "unknown") -> History:
    """The call for another input is answered when the waiter beside it is, with this."""
    h = history(AGES)
    place, later = told(h, request_id), told(h, "q3")
    mutation: dict[str, Any] = {"classification": classification, "attempt": None, "original_request_id": None}
    mutation |= {"replayed": False, "cause": cause}
    result = {**h.events[place].data["result"], "error": {"code": error}, "mutation": mutation}
    answer = replace(h.events[place], data={**h.events[place].data, "result": result})
    events = [*h.events[:place], *h.events[place + 1 : later + 1], answer, *h.events[later + 1 :]]
    # One process has one call outstanding, so the waiter beside it sits in another one.
    beside = {"command": asked(h, "q3"), "answer": later}
    events = [replace(e, proc="w3") if beside.get(e.kind) == e.seq else e for e in events]
    return rebuilt(h, events)


def test_mutant_it_waits_for_its_deadline_and_is_told_what_a_waiter_is() -> None:
    assert "REPLAY-041" in named(_late("q2", "outcome_unknown", "timeout"))


def test_mutant_it_waits_for_its_deadline_and_is_told_that_the_index_is_down() -> None:
    # Nothing struck the store, so there is no such doubt.
    assert "REPLAY-041" in named(_late("q2", "outcome_unknown", "unavailable"))


def test_near_miss_it_is_late_and_hears_the_conflict() -> None:
    assert "REPLAY-041" not in named(_late("q2", "idempotency_conflict", "idempotency_conflict", "not_attempted"))


def test_near_miss_the_service_ends_it_ahead_of_everything() -> None:
    assert "REPLAY-041" not in named(_late("q2", "timeout", "timeout", "not_attempted"))
