"""Approvals and their spend: every checker fails on edited histories and passes what looks like them."""

from __future__ import annotations

import pytest

from conformance.history import History
from tests.checkers.edits import Edit, Mutant, code, message, observed, sent, spend_of, spends
from tests.checkers.histories import (
    at,
    attempt,
    drop_row,
    history,
    met,
    named,
    row_becomes,
    told,
    with_connection,
    without_kind,
)

AXES = "approvals/axes"
SPEND = "approvals/spend"
RIVAL = "approvals/spend/w1.invoke.spend:begin#1@pause+rival/continue"
CANCELLED = "approvals/spend/w1.invoke.spend:committed#1@pause+cancel/continue"
LATE = "approvals/spend/w1.invoke.spend:committed#1@pause+deadline/continue"
FAILED = "approvals/spend/w1.invoke.spend:{}#1@fail/continue"
LOST = "approvals/spend/w1.invoke.spend:commit#1@lose-ack-{}/continue"
LATER = "approvals/after-retention"
CARRIED = "approvals/carried"
BOUND = "approvals/bound"
NEEDLESS = "approvals/needless"
#: The calls of one scenario that are refused for what they present.
REFUSED = [
    f"q-{axis}"
    for axis in (
        *("caller", "executor", "origin", "operation", "connection", "operation-revision", "connection-revision"),
        *("issuer", "expiry", "evidence", "input"),
    )
]


def _after_fault(h: History) -> History:
    return with_connection(h, at(h, "fault"), "w1", "m1")


def _prepared(h: History) -> History:
    return row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Prepared")


def _nameless(h: History) -> History:
    return row_becomes(h, attempt(h, "q1"), 0, request_id=None)


def _unspent(request_id: str) -> Edit:
    return spends(lambda _: [], lambda h: told(h, request_id))


def _doubled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [*rows, *({**row, "spend": "again"} for row in rows)]


def _other_issuer(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [*rows, *({**row, "spend": "again", "issuer": "another", "attempt": "far away"} for row in rows)]


MUTANTS: list[Mutant] = [
    ("APPR-003", AXES, code("q-caller", "approval_replayed")),
    ("APPR-003", AXES, sent("q-executor")),
    ("APPR-004", AXES, code("q-operation", "forbidden")),
    ("APPR-004", AXES, sent("q-connection")),
    ("APPR-005", AXES, code("q-operation-revision", "stale_description")),
    ("APPR-005", AXES, sent("q-connection-revision")),
    ("APPR-006", AXES, sent("q-input")),
    ("APPR-006", AXES, code("q-order", "approval_refused")),
    ("APPR-007", AXES, code("q-expiry", "approval_replayed")),
    ("APPR-007", AXES, sent("q-issuer")),
    ("APPR-003", BOUND, sent("thing.pay-by-origin")),
    ("APPR-003", BOUND, sent("thing.claim-for-executor")),
    ("APPR-004", BOUND, sent("thing.claim-by-operation")),
    ("APPR-006", BOUND, sent("thing.pay-with-more")),
    ("APPR-006", BOUND, code("thing.claim-for-more", "approval_replayed")),
    ("APPR-007", BOUND, sent("no-list-thing.pay")),
    ("APPR-007", BOUND, code("no-issuer-thing.claim", "forbidden")),
    ("APPR-015", NEEDLESS, spend_of("ap-unkeyed")),
    ("APPR-015", NEEDLESS, spend_of("ev-keyed")),
    ("APPR-009", AXES, code("q-old", "approval_refused")),
    ("APPR-009", AXES, sent("q-old")),
    ("APPR-009", SPEND, sent("q7")),
    ("APPR-011", LATER, sent("q3")),
    ("APPR-011", LATER, code("q4", "approval_replayed")),
    ("APPR-014", RIVAL, sent("q1")),
    ("APPR-014", SPEND, spends(_doubled, lambda h: told(h, "q1"))),
    ("APPR-015", "mutation/invoke-unkeyed", lambda h: drop_row(h, attempt(h, "q1"))),
    ("APPR-015", "mutation/invoke-unkeyed", spend_of("q1")),
    ("APPR-016", FAILED.format("begin"), _after_fault),
    ("APPR-016", FAILED.format("commit"), _after_fault),
    ("APPR-016", RIVAL, sent("q1")),
    ("APPR-017", LOST.format("committed"), _after_fault),
    ("APPR-017", LOST.format("rolled_back"), _after_fault),
    ("APPR-018", FAILED.format("commit"), _prepared),
    ("APPR-018", FAILED.format("begin"), lambda h: drop_row(h, attempt(h, "q1"), 0)),
    ("APPR-018", LOST.format("committed"), observed("q1", classification="unknown")),
    ("APPR-019", CANCELLED, _unspent("q1")),
    ("APPR-019", CANCELLED, sent("q7")),
    ("APPR-019", LATE, sent("q7")),
    ("APPR-030", CARRIED, code("q4", "approval_replayed")),
    ("APPR-030", "approvals/carried-through-changes", code("q3", "approval_refused")),
    ("CODE-001", AXES, code("q-none", "approval_refused")),
    ("CODE-001", AXES, code("q-once", "forbidden")),
    ("CODE-002", AXES, code("q-evidence", "forbidden")),
    ("CODE-002", AXES, sent("q-evidence")),
    ("CODE-003", AXES, message("input mismatch", "q-input")),
    ("CODE-003", AXES, observed("q-expiry", cause="expired")),
]
NEAR: list[tuple[str, str, Edit]] = [
    ("refusals with one message for all", AXES, message("not approved", *REFUSED)),
    ("another answer once the retention is over", LATER, code("q3", "approval_refused")),
    ("the same reference of another issuer", SPEND, spends(_other_issuer, lambda h: told(h, "q1"))),
    ("a driver that shows no spends", SPEND, lambda h: without_kind(h, "spends")),
    ("rows that do not say whose attempt it is", FAILED.format("commit"), _nameless),
    ("no spends to be seen, and a cancel", CANCELLED, lambda h: without_kind(h, "spends")),
    ("no spends to be seen without an approval", "mutation/invoke-unkeyed", lambda h: without_kind(h, "spends")),
    ("a finer cause behind a failed spend", FAILED.format("commit"), observed("q1", cause="spend_unavailable")),
    ("a finer cause behind an uncertain spend", LOST.format("committed"), observed("q1", cause="spend_unsure")),
    ("a message beside the conflict of a call that carries it", CARRIED, message("taken", "q3")),
    ("a message beside approval_required", AXES, message("ask the board", "q-none", "q-once")),
    ("a message beside approval_replayed", AXES, message("ask the board", "q-old")),
]


@pytest.mark.parametrize(("requirement", "schedule", "edit"), MUTANTS)
def test_an_edited_history_is_named(requirement: str, schedule: str, edit: Edit) -> None:
    assert requirement in named(edit(history(schedule)))


@pytest.mark.parametrize(("schedule", "edit"), [near[1:] for near in NEAR], ids=[near[0] for near in NEAR])
def test_near_miss(schedule: str, edit: Edit) -> None:
    whole = history(schedule)
    edited = edit(whole)
    assert edited != whole
    assert named(edited) == set()


def test_a_spend_by_a_rival_is_met_by_its_rows() -> None:
    assert met(history(RIVAL), "APPR-016") == {"refused"}
    assert met(history(LATE), "APPR-019") == {"deadline"}
