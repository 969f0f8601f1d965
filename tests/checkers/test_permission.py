"""Who may not send: MUT-010, MUT-013, MUT-014, MUT-016."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    asked,
    at,
    attempt,
    history,
    log_says,
    met,
    named,
    told,
    with_connection,
    without_kind,
    without_rows,
)

PLAIN = "mutation/invoke-keyed"
LOST = "mutation/invoke-keyed/remote@apply-then-drop/continue"
BESIDE_DUPLICATE = "mutation/invoke-keyed/remote@hold+duplicate+success/continue"
BESIDE_DEADLINE = "mutation/invoke-keyed/remote@hold+deadline+success/continue"
LOST_GATE = "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-committed/continue"
ORPHAN = "mutation/recover-dispatching"
CANCELLED = "mutation/cancel-prepared"
RECOVERED = "mutation/recover-beside-prepared-worker"
NEXT_CALL = "mutation/next-call"
OVERTIME = "mutation/invoke-keyed/w1.invoke.prepare:committed#1@pause+deadline/continue"


class TestMut010:
    def test_a_duplicate_that_goes_on_with_the_row_that_it_reads(self) -> None:
        h = history(BESIDE_DUPLICATE)
        assert "MUT-010" in named(with_connection(h, asked(h, "q2"), "w2", "m1"))

    def test_recovery_that_resumes_an_orphan(self) -> None:
        h = history(ORPHAN)
        assert "MUT-010" in named(with_connection(h, at(h, "command", "r1"), "r1", "m1"))

    def test_the_worker_that_finds_its_own_gate_open(self) -> None:
        h = history(LOST_GATE)
        assert "MUT-010" in named(with_connection(h, at(h, "fault"), "w1", "m1"))

    def test_near_miss_a_second_effect_with_an_attempt_of_its_own(self) -> None:
        h = history(PLAIN)
        assert at(h, "connection", "e1")
        assert named(h) == set()


class TestMut013:
    @pytest.mark.parametrize(
        ("schedule", "cell"), [(CANCELLED, "cancel"), (RECOVERED, "recovery"), (OVERTIME, "deadline")]
    )
    def test_a_loser_that_sends(self, schedule: str, cell: str) -> None:
        h = history(schedule)
        assert met(h, "MUT-013") == {cell}
        assert "MUT-013" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))

    def test_a_row_that_is_opened_after_all(self) -> None:
        h = history(CANCELLED)
        assert "MUT-013" in named(log_says(h, attempt(h, "q1"), "Aborted", "Dispatching", told(h, "q1")))

    def test_near_miss_the_winner_of_the_gate_sends_beside_a_cancel(self) -> None:
        h = without_kind(history("mutation/invoke-keyed/remote@hold+cancel+success/continue"), "status_log")
        assert met(h, "MUT-013") == set()
        assert named(h) == set()


class TestMut014:
    def test_a_timeout_that_tries_once_more(self) -> None:
        h = history(BESIDE_DEADLINE)
        assert "MUT-014" in named(with_connection(h, at(h, "abandoned"), "w1", "m1"))

    def test_a_restarted_worker_that_goes_on(self) -> None:
        h = history(ORPHAN)
        assert "MUT-014" in named(with_connection(h, at(h, "start", "e1"), "e1", "m1"))

    def test_a_duplicate_caller(self) -> None:
        h = history(BESIDE_DUPLICATE)
        assert "MUT-014" in named(with_connection(h, asked(h, "q2"), "w2", "m1"))

    def test_near_miss_a_second_connection_ahead_of_the_deadline(self) -> None:
        # That is one call too many all the same, and MUT-015's to say.
        h = history(BESIDE_DEADLINE)
        assert "timeout" in met(h, "MUT-014")
        assert "MUT-014" not in named(with_connection(h, at(h, "request"), "w1", "m1", effect="unknown"))


class TestMut016:
    def test_a_request_that_is_sent_again_from_the_background(self) -> None:
        h = history(LOST)
        assert named(with_connection(h, told(h, "q1") + 1, "w1", "m1")) >= {"MUT-016"}

    def test_a_housekeeper_that_sends_it_again(self) -> None:
        h = history(LOST)
        assert "MUT-016" in named(with_connection(h, at(h, "command", cmd="host.housekeep"), "e1", "m1"))

    def test_it_is_judged_without_rows(self) -> None:
        h = history(LOST)
        assert "MUT-016" in named(without_rows(with_connection(h, at(h, "command", cmd="recover"), "e1", "m1")))

    def test_near_miss_another_call_has_its_own_request(self) -> None:
        h = history(NEXT_CALL)
        assert met(h, "MUT-016") == {"dropped"}
        assert named(h) == set()
