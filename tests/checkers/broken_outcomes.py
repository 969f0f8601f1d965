"""For each requirement about outcomes one history in which it is violated, and the schedules that these come from."""

from __future__ import annotations

from conformance.history import History
from tests.checkers.histories import answer_says, at, attempt, changed, history, observed, row_becomes, told

_KEYED, _UNKEYED = "mutation/invoke-keyed", "mutation/invoke-unkeyed"
EMPTY = f"{_KEYED}/remote@status-200-empty/continue"
BROKEN = f"{_KEYED}/remote@status-500/continue"
BARE = "mutation/unproven-refusal"
REFUSED = "mutation/refusal"
UNRECORDED = "mutation/refusal/w1.invoke.settle:commit#1@fail/continue"
NO_ANCHOR = f"{_UNKEYED}/w1.invoke.prepare:commit#1@fail/continue"
SURVIVED = f"{_UNKEYED}/w1.invoke.prepare:commit#1@lose-ack-committed/continue"
EARLY = f"{_KEYED}/w1.invoke.prepare:committed#1@pause+deadline/continue"
LATE = f"{_KEYED}/w1.invoke.open_gate:committed#1@pause+deadline/continue"
DEAD = "mutation/recover-prepared"
UNSENT = f"{_KEYED}/w1.invoke.open_gate:committed#1@crash/restart"
UNANSWERED = f"{_KEYED}/remote@hold-kill/restart"
DOWN = f"{_KEYED}/w1.invoke.open_gate:commit#1@lose-ack-committed+outage/restart"
REVOKED = "mutation/revoked-keys"
UNWRITTEN = f"{_KEYED}/w1.invoke.settle:commit#1@fail+outage/restart"

OUTCOME_SCHEDULES = (
    EMPTY,
    BROKEN,
    BARE,
    REFUSED,
    UNRECORDED,
    NO_ANCHOR,
    SURVIVED,
    EARLY,
    LATE,
    DEAD,
    UNSENT,
    UNANSWERED,
    DOWN,
    UNWRITTEN,
    REVOKED,
)


def _lie(schedule: str, request_id: str, classification: str, code: str | None) -> History:
    h = history(schedule)
    return answer_says(h, told(h, request_id), classification, code)


def _row(schedule: str, state: str) -> History:
    h = history(schedule)
    return row_becomes(h, attempt(h, "q1"), at(h, "answer", cmd="recover"), state=state)


def broken_outcomes() -> list[History]:
    """OBS-002, 006, 010, 011 and 016 by their form, the others by a lie to a caller or in a row."""
    plain, unanchored, revoked = history(_KEYED), history(NO_ANCHOR), history(REVOKED)
    denied = told(revoked, "denied-k1")
    refusal = revoked.events[denied].data["result"]
    code = {**unanchored.events[told(unanchored, "q1")].data["result"], "error": {"code": "not_attempted"}}
    return [
        observed(plain, told(plain, "q1"), cause=...),
        observed(plain, told(plain, "q8"), attempt=None),
        changed(unanchored, told(unanchored, "q1"), result=code),
        changed(revoked, denied, result={**refusal, "mutation": {"classification": "applied"}}),
        changed(revoked, denied, result={**refusal, "error": {"code": "not_found"}}),
        _lie(EMPTY, "q1", "applied", None),
        _lie(BARE, "q1", "refused", "provider_refused"),
        _lie(NO_ANCHOR, "q1", "unknown", "outcome_unknown"),
        _row(SURVIVED, "Prepared"),
        _lie(EARLY, "q1", "unknown", "outcome_unknown"),
        _row(DEAD, "Indeterminate"),
        _row(UNSENT, "Aborted"),
        _lie(DOWN, "q1", "not_attempted", "unavailable"),
        _lie(LATE, "q1", "not_attempted", "timeout"),
        _row(UNANSWERED, "Completed"),
        _lie(_KEYED, "q1", "applied", "unavailable"),
        _lie(REFUSED, "q1", "not_attempted", "not_allowed"),
        _lie(BROKEN, "q1", "unknown", "unavailable"),
        _lie(_KEYED, "q8", "not_attempted", "unavailable"),
        _lie(REFUSED, "q8", "unknown", "outcome_unknown"),
        _lie(DEAD, "q8", "unknown", "outcome_unknown"),
        _lie(UNRECORDED, "q1", "not_attempted", "unavailable"),
        _row(UNWRITTEN, "Completed"),
    ]
