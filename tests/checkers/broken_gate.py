"""Schedules about gate and cancels, and one history for each of their requirements in which it is violated."""

from __future__ import annotations

from conformance.history import History
from tests.checkers.histories import (
    answer_says,
    at,
    attempt,
    changed,
    history,
    log_says,
    row_becomes,
    told,
    with_connection,
)

SCHEDULES = (
    "mutation/invoke-unkeyed/w1.invoke.prepare:commit#1@fail/continue",
    "mutation/invoke-keyed/w1.invoke.prepare:commit#1@lose-ack-committed/continue",
    "mutation/invoke-keyed/remote@status-503/continue",
    "mutation/part-done",
    "mutation/lost-gate/w1.invoke.settle:commit#1@crash/restart",
    "mutation/abort-put-off",
    "mutation/cancel-of-waiter",
    "mutation/cancel-prepared/c1.cancel.abort:commit#1@fail/continue",
    "mutation/invoke-keyed/w1.invoke.prepare:begin#1@pause+deadline/continue",
    "approvals/spend/w1.invoke.spend:commit#1@fail/continue",
)


def broken() -> list[History]:
    """One history for each of these requirements."""
    unanchored, uncertain, error, part, gone, put_off, waiter, failed, late, unspent = map(history, SCHEDULES)
    stalled = history("mutation/invoke-keyed/remote@hold+deadline+success/continue")
    cancelled = history("mutation/cancel-prepared")
    behind = history("mutation/invoke-keyed/remote@hold+cancel+success/continue")
    unheard = history("mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-committed/continue")
    aborted = {"status": "aborted"}
    return [
        row_becomes(unspent, attempt(unspent, "q1"), told(unspent, "q1"), state="Indeterminate"),
        with_connection(unanchored, at(unanchored, "fault"), "w1", "m1"),
        with_connection(uncertain, at(uncertain, "fault"), "w1", "m1"),
        answer_says(error, told(error, "q1"), "refused", "provider_refused"),
        answer_says(part, told(part, "q1"), "refused", "provider_refused"),
        row_becomes(gone, attempt(gone, "q1"), at(gone, "answer", "e1", cmd="recover"), state="Aborted"),
        answer_says(put_off, told(put_off, "q2"), "not_attempted", "unavailable"),
        row_becomes(waiter, attempt(waiter, "q1"), at(waiter, "command", "c1"), state="Aborted"),
        changed(failed, at(failed, "answer", "c1"), result=aborted),
        with_connection(late, told(late, "q1") + 1, "w1", "m1"),
        answer_says(stalled, told(stalled, "q1"), "not_attempted", "timeout"),
        log_says(cancelled, attempt(cancelled, "q1"), "Aborted", "Dispatching", told(cancelled, "q1")),
        changed(behind, at(behind, "answer", "c1"), result=aborted),
        answer_says(unheard, told(unheard, "q1"), "not_attempted", "unavailable"),
    ]
