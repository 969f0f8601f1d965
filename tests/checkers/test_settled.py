"""The first settlement, and answers that prove nothing: MUT-023, MUT-025, MUT-046, MUT-049."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    answer_says,
    at,
    attempt,
    history,
    log_says,
    met,
    named,
    row_becomes,
    told,
    without_kind,
    without_rows,
)

ERROR = "mutation/invoke-keyed/remote@status-503/continue"
LIMITED = "mutation/invoke-keyed/remote@status-429/continue"
CUT = "mutation/invoke-unkeyed/remote@partial/continue"
PART_DONE = "mutation/part-done"
FENCED = "mutation/recover-beside-held-worker"
CANCELLED = "mutation/cancel-prepared"
PLAIN = "mutation/invoke-keyed"


class TestMut023:
    @pytest.mark.parametrize(
        ("classification", "code"), [("refused", "provider_refused"), ("applied", None), ("unknown", "unavailable")]
    )
    def test_a_server_error_told_as_something_else(self, classification: str, code: str | None) -> None:
        h = history(ERROR)
        edited = answer_says(h, told(h, "q1"), classification, code)
        assert "MUT-023" in named(edited)
        assert "MUT-023" in named(without_rows(edited))

    @pytest.mark.parametrize("state", ["Failed", "Completed"])
    def test_a_server_error_recorded_as_something_else(self, state: str) -> None:
        h = history(ERROR)
        assert "MUT-023" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state=state))

    def test_near_miss_the_row_waits_for_recovery(self) -> None:
        h = history(ERROR)
        recovery = at(h, "command", cmd="recover")
        assert named(row_becomes(h, attempt(h, "q1"), 0, recovery, state="Dispatching")) == set()

    def test_near_miss_a_status_below_500(self) -> None:
        h = history(LIMITED)
        assert met(h, "MUT-023") == set()
        assert "MUT-023" not in named(answer_says(h, told(h, "q1"), "refused", "provider_refused"))


class TestMut025:
    @pytest.mark.parametrize("schedule", [CUT, PART_DONE])
    def test_a_partial_result_told_as_a_refusal(self, schedule: str) -> None:
        h = history(schedule)
        assert "MUT-025" in named(answer_says(h, told(h, "q1"), "refused", "provider_refused"))

    @pytest.mark.parametrize("state", ["Failed", "Completed"])
    def test_a_partial_result_recorded_as_known(self, state: str) -> None:
        h = history(PART_DONE)
        assert "MUT-025" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state=state))

    def test_near_miss_a_definite_refusal(self) -> None:
        h = history("mutation/invoke-keyed/remote@definite-refusal/continue")
        assert met(h, "MUT-025") == set()
        assert named(h) == set()


class TestMut046:
    @pytest.mark.parametrize(("schedule", "dest"), [(FENCED, "Completed"), (CANCELLED, "Indeterminate")])
    def test_the_last_write_wins(self, schedule: str, dest: str) -> None:
        h = history(schedule)
        assert "MUT-046" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state=dest))

    def test_without_a_log_the_snapshots_show_it(self) -> None:
        h = without_kind(history(FENCED), "status_log")
        assert met(h, "MUT-046") == {"indeterminate"}
        assert "MUT-046" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Failed"))

    def test_near_miss_a_row_that_is_settled_late(self) -> None:
        # deadline-settlement-timing: what is not settled yet may be settled once.
        h = history("mutation/invoke-keyed/remote@hold+deadline+success/continue")
        recovery = at(h, "command", cmd="recover")
        late = without_kind(h, "status_log")
        assert named(row_becomes(late, attempt(h, "q1"), told(h, "q1"), recovery, state="Dispatching")) == set()


class TestMut049:
    def test_a_late_success_that_is_recorded(self) -> None:
        h = history(FENCED)
        assert met(h, "MUT-049") == {"late-success"}
        assert "MUT-049" in named(log_says(h, attempt(h, "q1"), "Indeterminate", "Completed", told(h, "q1")))

    def test_a_replay_that_knows_better(self) -> None:
        h = history(FENCED)
        assert "MUT-049" in named(answer_says(h, told(h, "q8"), "applied", None))

    def test_near_miss_the_live_observer_says_applied(self) -> None:
        # live-applied-versus-indeterminate: consistent by viewpoint.
        h = history(FENCED)
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "applied"
        assert named(h) == set()

    def test_near_miss_a_completed_attempt_is_replayed_as_applied(self) -> None:
        h = history(PLAIN)
        assert h.events[told(h, "q8")].data["result"]["mutation"]["classification"] == "applied"
        assert met(h, "MUT-049") == set()
