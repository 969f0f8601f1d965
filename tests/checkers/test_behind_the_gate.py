"""A crash, a deadline, a ledger that is down: OBS-039, 041, 043, 044, 058, 062."""

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

UNSENT = "mutation/invoke-keyed/w1.invoke.open_gate:committed#1@crash/restart"
UNREAD = "mutation/invoke-keyed/remote@hold-at-accept-kill/restart"
READ = "mutation/invoke-keyed/remote@hold-kill/restart"
ANSWERED = "mutation/invoke-keyed/w1.invoke.settle:commit#1@crash/restart"
DOWN = "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@{}+outage/restart"
BACK = "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-committed/restart"
WAITING = "mutation/invoke-keyed/remote@hold+deadline+apply-then-drop/continue"
UNUSED = "mutation/invoke-keyed/w1.invoke.open_gate:committed#1@pause+deadline/continue"
HEARD = "mutation/invoke-keyed/w1.invoke.send:answered#1@pause+deadline/continue"
REFUSAL = "mutation/refusal/w1.invoke.settle:commit#1@{}/continue"
UNWRITTEN = "mutation/invoke-keyed/w1.invoke.settle:commit#1@{}+outage/restart"
CLAIMED = "approvals/claim/w1.invoke.settle:commit#1@{}+outage/restart"
PUT_OFF = "mutation/settlement-put-off"
WRITTEN = "mutation/invoke-keyed/w1.invoke.settle:commit#1@lose-ack-committed+outage/restart"

CRASHES = [("OBS-039", UNSENT), ("OBS-039", UNREAD), ("OBS-044", READ), ("OBS-044", ANSWERED)]


class TestCrashes:
    @pytest.mark.parametrize(("requirement", "schedule"), CRASHES)
    @pytest.mark.parametrize("state", ["Aborted", "Completed", "Dispatching"])
    def test_recovery_decides_otherwise(self, requirement: str, schedule: str, state: str) -> None:
        h = history(schedule)
        recovered = at(h, "answer", cmd="recover")
        assert requirement in named(row_becomes(h, attempt(h, "q1"), recovered, state=state))

    @pytest.mark.parametrize(("requirement", "schedule"), CRASHES)
    def test_the_replay_claims_to_know(self, requirement: str, schedule: str) -> None:
        h = history(schedule)
        assert requirement in named(answer_says(h, told(h, "q8"), "not_attempted", "unavailable"))

    @pytest.mark.parametrize(("requirement", "schedule"), CRASHES)
    def test_near_miss_another_diagnostic(self, requirement: str, schedule: str) -> None:
        h = history(schedule)
        assert met(h, requirement)
        assert named(observed(h, told(h, "q8"), cause="crashed")) == set()

    def test_a_settlement_that_was_put_off_never_comes(self) -> None:
        h = history(PUT_OFF)
        assert met(h, "OBS-044") == {"unanswered"}
        second = at(h, "command", None, 2, cmd="recover")
        assert "OBS-044" in named(row_becomes(h, attempt(h, "q1"), second, state="Dispatching"))

    def test_near_miss_a_settlement_that_is_put_off_once_more(self) -> None:
        h = history(PUT_OFF)
        second, third = at(h, "command", None, 2, cmd="recover"), at(h, "command", None, 3, cmd="recover")
        assert "OBS-044" not in named(row_becomes(h, attempt(h, "q1"), second, third, state="Dispatching"))

    def test_near_miss_recovery_declined(self) -> None:
        h = row_becomes(history(READ), attempt(history(READ), "q1"), at(history(READ), "kill"), state="Dispatching")
        for nth in (1, 2):
            h = changed(h, at(h, "answer", None, nth, cmd="recover"), result={"status": "declined"})
        assert met(h, "OBS-044") == set()


class TestObs041:
    @pytest.mark.parametrize("fault", ["lose-ack-committed", "lose-ack-rolled_back"])
    @pytest.mark.parametrize(("classification", "code"), [("not_attempted", "unavailable"), ("unknown", "unavailable")])
    def test_an_uncertain_gate_is_told_as_something_else(self, fault: str, classification: str, code: str) -> None:
        h = history(DOWN.format(fault))
        assert "OBS-041" in named(answer_says(h, told(h, "q1"), classification, code))

    @pytest.mark.parametrize("cause", [None, "timeout"])
    def test_an_uncertain_gate_has_another_cause(self, cause: str | None) -> None:
        h = history(DOWN.format("lose-ack-committed"))
        assert "OBS-041" in named(observed(h, told(h, "q1"), cause=cause))

    def test_near_miss_the_ledger_is_back(self) -> None:
        h = history(BACK)
        assert met(h, "OBS-041") == set()
        assert named(observed(h, told(h, "q1"), cause=None)) == set()


class TestObs043:
    @pytest.mark.parametrize("schedule", [WAITING, UNUSED])
    @pytest.mark.parametrize(("classification", "code"), [("not_attempted", "timeout"), ("unknown", "timeout")])
    def test_a_late_deadline_is_told_like_an_early_one(self, schedule: str, classification: str, code: str) -> None:
        h = history(schedule)
        assert "OBS-043" in named(answer_says(h, told(h, "q1"), classification, code))

    def test_the_row_says_that_nothing_was_sent(self) -> None:
        h = history(UNUSED)
        assert "OBS-043" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Aborted"))

    @pytest.mark.parametrize("schedule", [WAITING, UNUSED])
    def test_near_miss_no_diagnostic(self, schedule: str) -> None:
        # A timeout may be kept as the cause; it need not.
        h = history(schedule)
        assert met(h, "OBS-043")
        assert named(observed(h, told(h, "q1"), cause=None)) == set()

    def test_near_miss_the_answer_was_heard_in_time(self) -> None:
        assert met(history(HEARD), "OBS-043") == set()


class TestObs058:
    @pytest.mark.parametrize("fault", ["fail", "lose-ack-committed", "lose-ack-rolled_back"])
    @pytest.mark.parametrize(
        ("classification", "code"), [("not_attempted", "unavailable"), ("unknown", "outcome_unknown")]
    )
    def test_a_failed_record_changes_the_answer(self, fault: str, classification: str, code: str) -> None:
        h = history(REFUSAL.format(fault))
        assert "OBS-058" in named(answer_says(h, told(h, "q1"), classification, code))

    @pytest.mark.parametrize("fault", ["fail", "lose-ack-committed", "lose-ack-rolled_back"])
    @pytest.mark.parametrize("cause", ["unavailable", None])
    def test_the_failure_takes_the_place_of_the_cause(self, fault: str, cause: str | None) -> None:
        h = history(REFUSAL.format(fault))
        assert "OBS-058" in named(observed(h, told(h, "q1"), cause=cause))

    @pytest.mark.parametrize("cause", ["the provider said no", None])
    def test_near_miss_every_refusal_has_this_cause(self, cause: str | None) -> None:
        # cause-on-refusal: finer than the code, or left out where the code says it all.
        h = history(REFUSAL.format("fail"))
        for request_id in ("q0", "q1"):
            h = observed(h, told(h, request_id), cause=cause)
        assert "OBS-058" not in named(h)

    def test_near_miss_the_row_says_indeterminate(self) -> None:
        h = history(REFUSAL.format("fail"))
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "refused"
        assert named(h) == set()


class TestObs062:
    @pytest.mark.parametrize("fault", ["fail", "lose-ack-rolled_back"])
    @pytest.mark.parametrize("state", ["Completed", "Aborted"])
    def test_recovery_claims_to_know(self, fault: str, state: str) -> None:
        h = history(UNWRITTEN.format(fault))
        assert "OBS-062" in named(row_becomes(h, attempt(h, "q1"), at(h, "answer", cmd="recover"), state=state))

    def test_the_replay_claims_to_know(self) -> None:
        h = history(UNWRITTEN.format("fail"))
        assert "OBS-062" in named(answer_says(h, told(h, "q8"), "applied", None))

    @pytest.mark.parametrize("fault", ["fail", "lose-ack-rolled_back"])
    @pytest.mark.parametrize("state", ["Failed", "Completed"])
    def test_recovery_of_a_claimed_attempt_claims_to_know(self, fault: str, state: str) -> None:
        h = history(CLAIMED.format(fault))
        assert "claimed" in met(h, "OBS-062")
        assert "OBS-062" in named(row_becomes(h, attempt(h, "q1"), at(h, "answer", cmd="recover"), state=state))

    def test_near_miss_the_record_is_there(self) -> None:
        h = history(WRITTEN)
        assert h.events[told(h, "q8")].data["result"]["mutation"]["classification"] == "applied"
        assert met(h, "OBS-062") == set()
