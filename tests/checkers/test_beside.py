"""Namesakes, earlier settlements, late cancels, anchors nobody heard of: what breaks each, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from conformance.history import History
from tests.checkers.edits import code, spends
from tests.checkers.histories import attempt, drop_row, history, met, named, reservation, row_becomes, told

NAMESAKES: Final = "mutation/namesakes"
BEHIND: Final = "mutation/untrusted-behind-trusted"
CANCELLED: Final = "mutation/quarantine-cancelled"
UNSURE: Final = "approvals/spend/w1.invoke.prepare:commit#1@lose-ack-committed/continue"
CERTAIN: Final = "approvals/spend/w1.invoke.spend:commit#1@lose-ack-committed/continue"

Edit = Callable[[History], History]


def free(h: History) -> History:
    return row_becomes(h, reservation(h, "q1"), told(h, "q2"), state="Expired")


def spent(of: str) -> Edit:
    """A spend of the approval that q1 carried is on record, from the answer to a call on."""

    def add(found: list[Any]) -> list[Any]:
        row = {"spend": "s", "issuer": "board", "reference": of, "instance": "host-a", "attempt": "a", "state": "Spent"}
        return [*found, {**row, "spent_at": 0}]

    return spends(add, lambda h: told(h, "q1"))


#: (requirement, history, edit): each is named.
BROKEN: Final[tuple[tuple[str, str, Edit], ...]] = (
    ("REPLAY-039", NAMESAKES, lambda h: drop_row(h, attempt(h, "q2"))),
    ("RET-037", BEHIND, code("q4", "invalid_input")),
    ("RET-015", CANCELLED, free),
    ("APPR-030", UNSURE, spent("ap1")),
)


@pytest.mark.parametrize(("requirement", "schedule", "edit"), BROKEN)
def test_it_is_named(requirement: str, schedule: str, edit: Edit) -> None:
    assert named(history(schedule)) == set()
    assert requirement in named(edit(history(schedule)))


def test_a_spend_behind_an_acknowledged_anchor_is_no_break_of_that() -> None:
    assert "APPR-030" not in named(spent("ap1")(history(CERTAIN)))
    assert "APPR-030" not in named(spent("another")(history(UNSURE)))


#: (cell, where it occurs, where it does not).
MET: Final = (
    ("REPLAY-039/origin-namesake", NAMESAKES, "mutation/namespaces"),
    ("RET-037/behind-trusted", BEHIND, "mutation/untrusted-settlement"),
    ("RET-015/cancel", CANCELLED, "mutation/quarantine-lasts"),
    ("APPR-030/anchor-uncertain", UNSURE, CERTAIN),
)


@pytest.mark.parametrize(("cell", "where", "elsewhere"), MET)
def test_the_situation_is_told_apart(cell: str, where: str, elsewhere: str) -> None:
    requirement, name = cell.split("/")
    assert name in met(history(where), requirement)
    assert name not in met(history(elsewhere), requirement)
