"""Each checker sees only what it declares: without the other classes of events it says the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from conformance.checkers.base import Checker, Finding
from conformance.checkers.mutation import CHECKERS
from conformance.history import Event, History
from tests.checkers import broken_gate, broken_keys, test_admission, test_approvals, test_edges
from tests.checkers.broken_outcomes import OUTCOME_SCHEDULES, broken_outcomes
from tests.checkers.histories import (
    FAMILY,
    answer_says,
    asked,
    at,
    attempt,
    drop_row,
    history,
    reservation,
    row_becomes,
    told,
    with_connection,
)

SCHEDULES = (
    "mutation/invoke-keyed",
    "mutation/invoke-keyed/remote@apply-then-drop/continue",
    "mutation/invoke-keyed/remote@hold+cancel+success/continue",
    "mutation/invoke-keyed/remote@hold+duplicate+success/continue",
    "mutation/invoke-keyed/remote@hold+deadline+success/continue",
    "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-committed/continue",
    "mutation/invoke-keyed/w1.invoke.settle:commit#1@fail/restart",
    "mutation/invoke-keyed/w1.invoke.prepare:commit#1@crash/restart",
    "mutation/cancel-prepared",
    "mutation/recover-dispatching",
    "mutation/recover-beside-held-worker",
    "mutation/retire-by-housekeeper/g1.housekeep.scan:read#1@pause+replacement/continue",
    "mutation/next-call",
    *OUTCOME_SCHEDULES,
    *broken_gate.SCHEDULES,
    test_edges.GATE,
)


def _edited() -> list[History]:
    """The first edited history of each requirement of approvals and admission."""
    first: dict[str, History] = {}
    for requirement, schedule, edit in (*test_approvals.MUTANTS, *test_admission.MUTANTS):
        if requirement not in first:
            first[requirement] = edit(history(schedule))
    return list(first.values())


@cache
def _broken() -> list[History]:
    """One history for each requirement in which it is violated, and some more."""
    plain, lost, cancel, held, gate, _, unrecorded, _, cancelled, orphan, fenced, stale, _ = map(
        history, SCHEDULES[:13]
    )
    arrival = at(plain, "rows", why="request")
    return [
        with_connection(cancel, at(cancel, "command", "c1"), "c1", "m1"),
        with_connection(history(SCHEDULES[5]), at(history(SCHEDULES[5]), "fault"), "w1", "m1"),
        with_connection(lost, told(lost, "q1") + 1, "w1", "m1"),
        row_becomes(plain, attempt(plain, "q1"), arrival, arrival + 1, state="Prepared"),
        row_becomes(fenced, attempt(fenced, "q1"), told(fenced, "q1"), state="Completed"),
        with_connection(cancelled, at(cancelled, "answer", "c1"), "w1", "m1"),
        with_connection(orphan, at(orphan, "command", "r1"), "r1", "m1"),
        answer_says(lost, told(lost, "q1"), "applied", None),
        answer_says(fenced, told(fenced, "q1"), "unknown", "outcome_unknown"),
        drop_row(plain, reservation(plain, "q1"), 0, told(plain, "q1")),
        with_connection(held, asked(held, "q2"), "w2", "m1"),
        drop_row(stale, reservation(stale, "q2"), at(stale, "answer", "g1")),
        *(h for h in (gate, unrecorded)),
        *_edited(),
        *broken_outcomes(),
        *broken_gate.broken(),
        *broken_keys.broken_keys(),
        *test_edges.broken(),
    ]


def _findings(checker: Checker, of: History) -> list[Finding]:
    return list(checker.judge(FAMILY.index(of)))


@pytest.mark.parametrize("checker", list(CHECKERS), ids=lambda c: c.requirement)
def test_a_checker_reads_only_what_it_declares(checker: Checker) -> None:
    said = 0
    for whole in [*map(history, SCHEDULES), *_broken()]:
        shown = replace(whole, events=tuple(whole.of(*checker.reads)))
        expected = _findings(checker, replace(whole, events=tuple(whole.of("suite", "wire", "answer", "rows"))))
        assert _findings(checker, shown) == expected
        said += len(expected)
    assert said, "nothing was found anywhere: the comparison shows nothing"


@pytest.mark.parametrize("checker", list(CHECKERS), ids=lambda c: c.requirement)
def test_every_checker_is_violated_in_one_of_these_histories(checker: Checker) -> None:
    assert any(not hasattr(f, "cell") for h in _broken() for f in _findings(checker, h))


def test_notes_never_matter() -> None:
    for whole in [*map(history, SCHEDULES[:4]), *_broken()[:4]]:
        noisy = []
        for e in whole.events:
            noisy += [e, Event(e.seq, "note", "fault", e.proc, {"action": "fail", "point": "x", "says": "all is well"})]
        for checker in CHECKERS:
            assert _findings(checker, replace(whole, events=tuple(noisy))) == _findings(checker, whole)
