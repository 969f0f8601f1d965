"""No anchor, a deadline, a recovery: OBS-033, 034, 035, 038."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    answer_says,
    at,
    attempt,
    changed,
    history,
    met,
    named,
    observed,
    row_becomes,
    told,
)

UNANCHORED = "mutation/invoke-unkeyed/w1.invoke.prepare:commit#1@{}/continue"
KEYED = "mutation/invoke-keyed/w1.invoke.prepare:commit#1@{}/continue"
CUT_OFF = "mutation/invoke-keyed/w1.invoke.prepare:commit#1@lose-ack-committed+outage/restart"
EARLY = "mutation/invoke-{}/w1.invoke.prepare:committed#1@pause+deadline/continue"
LATE = "mutation/invoke-keyed/w1.invoke.open_gate:committed#1@pause+deadline/continue"
DEAD = "mutation/recover-prepared"


class TestObs033:
    @pytest.mark.parametrize("fault", ["fail", "lose-ack-committed", "lose-ack-rolled_back"])
    @pytest.mark.parametrize(("classification", "code"), [("unknown", "outcome_unknown"), ("not_attempted", "timeout")])
    def test_an_anchor_that_failed_is_told_as_something_else(self, fault: str, classification: str, code: str) -> None:
        h = history(UNANCHORED.format(fault))
        assert "OBS-033" in named(answer_says(h, told(h, "q1"), classification, code))

    def test_a_keyed_candidate_claims_an_effect(self) -> None:
        h = history(KEYED.format("fail"))
        assert "OBS-033" in named(answer_says(h, told(h, "q1"), "applied", None))

    def test_near_miss_a_keyed_candidate_does_not_know(self) -> None:
        # keyed-anchor-unavailable: a winner may be hidden from it.
        h = history(KEYED.format("fail"))
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == set()


class TestObs034:
    @pytest.mark.parametrize("schedule", [UNANCHORED.format("lose-ack-committed"), CUT_OFF])
    @pytest.mark.parametrize("state", ["Prepared", "Indeterminate"])
    def test_a_survivor_is_not_aborted(self, schedule: str, state: str) -> None:
        h = history(schedule)
        assert "OBS-034" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state=state))

    def test_near_miss_it_waits_for_recovery(self) -> None:
        h = history(UNANCHORED.format("lose-ack-committed"))
        recovery = at(h, "command", cmd="recover")
        waits = row_becomes(h, attempt(h, "q1"), told(h, "q1"), recovery, state="Prepared")
        assert "OBS-034" not in named(waits)


class TestObs035:
    @pytest.mark.parametrize("kind", ["keyed", "unkeyed"])
    @pytest.mark.parametrize(
        ("classification", "code"), [("unknown", "outcome_unknown"), ("not_attempted", "capacity")]
    )
    def test_an_early_deadline_is_told_as_something_else(self, kind: str, classification: str, code: str) -> None:
        h = history(EARLY.format(kind))
        assert "OBS-035" in named(answer_says(h, told(h, "q1"), classification, code))

    def test_an_early_deadline_leaves_the_row(self) -> None:
        h = history(EARLY.format("keyed"))
        assert "OBS-035" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Prepared"))

    def test_near_miss_the_gate_was_open(self) -> None:
        h = history(LATE)
        assert h.events[told(h, "q1")].data["result"]["error"]["code"] == "outcome_unknown"
        assert met(h, "OBS-035") == set()


class TestObs038:
    def test_recovery_does_not_know(self) -> None:
        h = history(DEAD)
        recovered = at(h, "answer", cmd="recover")
        assert "OBS-038" in named(row_becomes(h, attempt(h, "q1"), recovered, state="Indeterminate"))

    def test_the_replay_is_unknown(self) -> None:
        h = history(DEAD)
        assert "OBS-038" in named(answer_says(h, told(h, "q8"), "unknown", "outcome_unknown"))

    def test_the_replay_gives_no_cause(self) -> None:
        h = history(DEAD)
        assert "OBS-038" in named(observed(h, told(h, "q8"), cause=None))

    def test_near_miss_a_cause_of_its_own(self) -> None:
        h = history(DEAD)
        assert named(observed(h, told(h, "q8"), cause="recovered")) == set()

    def test_near_miss_recovery_declines(self) -> None:
        h = row_becomes(history(DEAD), attempt(history(DEAD), "q1"), at(history(DEAD), "kill"), state="Prepared")
        for nth in range(1, 1 + sum(e.kind == "answer" and e.data["cmd"] == "recover" for e in h.events)):
            h = changed(h, at(h, "answer", None, nth, cmd="recover"), result={"status": "declined"})
        assert "OBS-038" not in named(h)
