"""The gate's opening and its lost acknowledgement: MUT-008, MUT-031, MUT-044, MUT-067."""

from __future__ import annotations

import pytest

from tests.checkers.histories import (
    answer_says,
    at,
    attempt,
    changed,
    drop_row,
    history,
    log_says,
    met,
    named,
    reservation,
    row_becomes,
    told,
)

ORPHAN = "mutation/recover-dispatching"
CANCELLED = "mutation/cancel-prepared"
LOST_GATE = "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-{}/continue"
WORKER_GONE = "mutation/lost-gate/w1.invoke.settle:commit#1@crash/restart"
PUT_OFF = "mutation/abort-put-off"


class TestMut008:
    def test_a_gate_that_opens_over_an_abort(self) -> None:
        h = history(CANCELLED)
        assert met(h, "MUT-008") == {"cancel"}
        assert "MUT-008" in named(log_says(h, attempt(h, "q1"), "Aborted", "Dispatching", told(h, "q1")))

    @pytest.mark.parametrize("lost", [True, False])
    def test_a_gate_that_a_crash_takes_back(self, lost: bool) -> None:
        h = history(ORPHAN)
        mine, killed = attempt(h, "q1"), at(h, "rows", why="after kill")
        edited = drop_row(h, mine, killed) if lost else row_becomes(h, mine, killed, state="Prepared")
        assert "MUT-008" in named(edited)

    def test_near_miss_a_prepared_row_that_is_aborted(self) -> None:
        h = history("mutation/recover-prepared")
        assert named(h) == set()


class TestMut031:
    @pytest.mark.parametrize("state", ["Aborted", "Prepared"])
    def test_recovery_takes_it_for_a_failed_write(self, state: str) -> None:
        h = history(WORKER_GONE)
        recovered = at(h, "answer", "e1", cmd="recover")
        assert "MUT-031" in named(row_becomes(h, attempt(h, "q1"), recovered, state=state))

    def test_a_replay_that_says_not_attempted(self) -> None:
        h = history(WORKER_GONE)
        assert "MUT-031" in named(answer_says(h, told(h, "q8"), "not_attempted", "unavailable"))

    def test_near_miss_recovery_has_not_come_by_yet(self) -> None:
        h = history(WORKER_GONE)
        recovery = at(h, "command", cmd="recover")
        assert named(row_becomes(h, attempt(h, "q1"), 0, recovery, state="Dispatching")) == set()


class TestMut044:
    def test_not_attempted_is_said_while_the_row_is_prepared(self) -> None:
        h = history(PUT_OFF)
        assert met(h, "MUT-044") == {"before-abort", "after-abort"}
        assert "MUT-044" in named(answer_says(h, told(h, "q2"), "not_attempted", "unavailable"))

    def test_unknown_is_said_once_the_abort_is_durable(self) -> None:
        h = history(PUT_OFF)
        assert "MUT-044" in named(answer_says(h, told(h, "q3"), "unknown", "outcome_unknown"))

    def test_near_miss_a_refusal_of_admission_says_nothing_of_it(self) -> None:
        h = history(PUT_OFF)
        denied = dict(h.events[told(h, "q3")].data["result"])
        denied.pop("mutation")
        denied["error"] = {"code": "forbidden"}
        assert "MUT-044" not in named(changed(h, told(h, "q3"), result=denied))


class TestMut067:
    def test_the_worker_answers_that_it_did_not_send(self) -> None:
        h = history(LOST_GATE.format("committed"))
        assert "MUT-067" in named(answer_says(h, told(h, "q1"), "not_attempted", "unavailable"))

    def test_the_worker_takes_its_attempt_back(self) -> None:
        h = history(LOST_GATE.format("committed"))
        assert "MUT-067" in named(log_says(h, attempt(h, "q1"), "Dispatching", "Aborted", at(h, "fault")))

    def test_the_key_is_freed(self) -> None:
        h = history(LOST_GATE.format("committed"))
        assert "MUT-067" in named(row_becomes(h, reservation(h, "q1"), told(h, "q1"), state="Replayable"))

    def test_near_miss_a_gate_that_was_rolled_back_is_taken_back(self) -> None:
        h = history(LOST_GATE.format("rolled_back"))
        assert h.events[told(h, "q1")].data["result"]["mutation"]["classification"] == "not_attempted"
        assert met(h, "MUT-067") == set()
        assert named(h) == set()
