"""Ahead of the gate: MUT-004, MUT-005, MUT-006, MUT-007."""

from __future__ import annotations

import pytest

from conformance.history import History
from tests.checkers.histories import (
    Kinds,
    answer_says,
    asked,
    at,
    attempt,
    changed,
    edit_rows,
    history,
    met,
    named,
    row_becomes,
    told,
    with_connection,
    without_kind,
)

PLAIN = "mutation/invoke-keyed"
CRASHED = "mutation/recover-prepared"
REJECTED = "mutation/invoke-unkeyed/w1.invoke.prepare:commit#1@fail/continue"
KEYED = "mutation/invoke-keyed/w1.invoke.prepare:commit#1@fail/continue"
SPEND_FAILED = "approvals/spend/w1.invoke.spend:commit#1@fail/continue"
LOST = "mutation/invoke-keyed/w1.invoke.prepare:commit#1@lose-ack-{}/continue"


class TestMut004:
    def test_a_request_that_finds_its_row_prepared(self) -> None:
        h = history(PLAIN)
        arrival = at(h, "rows", why="request")
        assert "MUT-004" in named(row_becomes(h, attempt(h, "q1"), arrival, arrival + 1, state="Prepared"))

    def test_a_process_that_had_sent_when_it_died_prepared(self) -> None:
        h = history(CRASHED)
        assert "MUT-004" in named(with_connection(h, asked(h, "q1"), "w1", "m1"))

    def test_near_miss_a_request_of_somebody_else_while_a_row_is_prepared(self) -> None:
        # Whose request it is decides, not that some row is Prepared meanwhile.
        h = history(CRASHED)
        assert met(h, "MUT-004") == {"crash"}
        assert "MUT-004" not in named(with_connection(h, told(h, "q8"), "e1", "m8"))


class TestMut005:
    @pytest.mark.parametrize(("classification", "code"), [("unknown", "outcome_unknown"), ("not_attempted", "timeout")])
    def test_an_unkeyed_candidate_that_says_something_else(self, classification: str, code: str) -> None:
        assert named(_says(history(REJECTED), classification, code)) >= {"MUT-005"}

    def test_a_host_that_sends_without_a_record(self) -> None:
        h = history(REJECTED)
        assert "MUT-005" in named(with_connection(h, at(h, "fault"), "w1", "m1"))

    def test_near_miss_a_keyed_candidate_that_does_not_know(self) -> None:
        # keyed-anchor-unavailable: a winner may be hidden from it.
        h = history(KEYED)
        assert met(h, "MUT-005") == {"keyed"}
        assert named(_says(h, "unknown", "outcome_unknown")) == set()
        assert "MUT-005" in named(_says(h, "applied", "unavailable"))

    def test_near_miss_the_cause_says_what_the_code_does_not(self) -> None:
        h = history(REJECTED)
        result = dict(h.events[told(h, "q1")].data["result"])
        result["error"] = {"code": "busy"}
        result["mutation"] = {**result["mutation"], "cause": "Unavailable"}
        assert "MUT-005" not in named(changed(h, told(h, "q1"), result=result))


def _says(h: History, classification: str, code: str) -> History:
    """As :func:`answer_says`, with the cause gone."""
    place = told(h, "q1")
    edited = answer_says(h, place, classification, code)
    result = dict(edited.events[place].data["result"])
    result["mutation"] = {**result["mutation"], "cause": None}
    return changed(edited, place, result=result)


class TestMut006:
    @pytest.mark.parametrize("world", ["committed", "rolled_back"])
    def test_a_send_after_the_prepare_was_answered_unheard(self, world: str) -> None:
        h = history(LOST.format(world))
        assert "MUT-006" in named(with_connection(h, at(h, "fault"), "w1", "m1"))

    def test_a_send_from_the_background(self) -> None:
        h = history(LOST.format("committed"))
        assert "MUT-006" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))

    def test_near_miss_the_next_caller_sends(self) -> None:
        h = history(LOST.format("rolled_back"))
        assert at(h, "connection", "e1")
        assert named(h) == set()


class TestMut007:
    def test_a_gate_that_opens_although_the_spend_failed(self) -> None:
        h = history(SPEND_FAILED)
        assert met(h, "MUT-007") == {"spend-failed"}
        assert "MUT-007" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Indeterminate"))

    def test_a_call_that_preflight_refuses_is_sent(self) -> None:
        h = history("admission/credentials")
        assert "preflight" in met(h, "MUT-007")
        assert "MUT-007" in named(with_connection(h, asked(h, "q-expired"), "w1", "m1"))

    def test_a_call_that_admission_refuses_is_sent(self) -> None:
        h = history("approvals/carried")
        assert met(h, "MUT-007") == {"admission"}
        assert "MUT-007" in named(with_connection(h, asked(h, "q1"), "w1", "m1"))

    def test_the_spend_comes_behind_the_gate(self) -> None:
        h = history("approvals/spend")
        assert "MUT-007" in named(edit_rows(h, _spend_last))

    def test_near_miss_a_spend_that_is_seen_together_with_the_gate(self) -> None:
        # Without a log nobody can say which of two changes between two looks came first.
        h = without_kind(history("approvals/spend"), "status_log")
        assert named(h) == set()

    def test_near_miss_a_call_that_needs_no_spend(self) -> None:
        h = history(PLAIN)
        assert met(h, "MUT-007") == set()
        assert named(h) == set()


def _spend_last(kinds: Kinds) -> Kinds:
    """The log with the spend right behind the gate that it had to come ahead of."""
    log = list(kinds["status_log"])
    names = [(entry["entity"], entry["to_state"]) for entry in log]
    if ("mutation_attempt", "Dispatching") in names:
        spent, opened = names.index(("approval", "Spent")), names.index(("mutation_attempt", "Dispatching"))
        log[spent : opened + 1] = [*log[spent + 1 : opened + 1], log[spent]]
    return {**kinds, "status_log": log}
