"""What the caller is told: OBS-042, OBS-057."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    answer_says,
    asked,
    at,
    attempt,
    changed,
    event,
    history,
    insert,
    met,
    named,
    row_becomes,
    told,
    without_rows,
)

LOST = "mutation/invoke-keyed/remote@apply-then-drop/continue"
LOST_UNRECORDED = "mutation/next-call/w1.invoke.settle:commit#1@fail/continue"
UNRECORDED = "mutation/invoke-keyed/w1.invoke.settle:commit#1@{}/continue"
FENCED = "mutation/recover-beside-held-worker"


class TestObs042:
    @pytest.mark.parametrize(
        ("classification", "code"),
        [("applied", None), ("not_attempted", "unavailable"), ("refused", "forbidden"), ("unknown", "timeout")],
    )
    def test_another_answer_after_a_lost_response(self, classification: str, code: str | None) -> None:
        h = history(LOST)
        assert named(answer_says(h, told(h, "q1"), classification, code)) == {"OBS-042"}

    @pytest.mark.parametrize("state", ["Failed", "Completed", "Aborted"])
    def test_another_row_after_a_lost_response(self, state: str) -> None:
        h = history(LOST)
        assert "OBS-042" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state=state))

    def test_a_row_that_stays_open_after_recovery(self) -> None:
        h = history(LOST)
        assert named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Dispatching")) == {"OBS-042"}

    def test_a_store_fault_excuses_no_other_answer(self) -> None:
        h = history(LOST_UNRECORDED)
        assert named(answer_says(h, told(h, "q1"), "not_attempted", "unavailable")) == {"OBS-042"}

    def test_near_miss_the_row_waits_for_recovery(self) -> None:
        # deadline-settlement-timing: a live host may leave the row Dispatching.
        h = history(LOST)
        recovery = at(h, "command", cmd="recover")
        assert named(row_becomes(h, attempt(h, "q1"), 0, recovery, state="Dispatching")) == set()

    def test_near_miss_recovery_declines_for_as_long_as_somebody_lives(self) -> None:
        # live-worker-and-recovery: it may run only with exclusive ownership, and nobody was killed here.
        h = row_becomes(history(LOST), attempt(history(LOST), "q1"), state="Dispatching")
        for nth in (1, 2):
            h = changed(h, at(h, "answer", "e1", nth, cmd="recover"), result={"status": "declined"})
        assert named(h) == set()

    def test_without_rows_the_answer_is_judged(self) -> None:
        h = without_rows(history(LOST))
        assert met(h, "OBS-042") == {"dropped"}
        assert named(without_rows(answer_says(history(LOST), told(history(LOST), "q1"), "applied", None))) == {
            "OBS-042"
        }


class TestObs057:
    @pytest.mark.parametrize("fault", ["fail", "lose-ack-committed", "lose-ack-rolled_back"])
    def test_a_failed_record_changes_the_answer(self, fault: str) -> None:
        h = history(UNRECORDED.format(fault))
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == {"OBS-057"}

    def test_a_refused_record_changes_the_answer(self) -> None:
        h = history(FENCED)
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == {"OBS-057"}

    def test_a_failed_look_back_changes_the_answer(self) -> None:
        h = history("mutation/invoke-keyed")
        failed = event("suite", "fault", "w1", point="invoke.read_back:read", action="fail", changes=[])
        h = insert(h, at(h, "response"), failed)
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == {"OBS-057"}

    def test_near_miss_the_deadline_passed_before_the_success_was_told(self) -> None:
        # The service deadline may win against a success that a supervisor has not received (outcome table, row 7).
        h = history(FENCED)
        late = event("suite", "time", wall_ms=1_767_225_621_000, mono_ms=21_000, trusted=True)
        h = insert(h, asked(h, "q1"), late)
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == set()

    def test_near_miss_applied_although_the_row_says_indeterminate(self) -> None:
        # live-applied-versus-indeterminate: consistent by viewpoint.
        h = history(FENCED)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "applied"
        assert named(h) == set()
