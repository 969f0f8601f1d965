"""Recovery and stale writers: MUT-029, MUT-033."""

from __future__ import annotations

from tests.checkers.histories import (
    asked,
    at,
    attempt,
    event,
    history,
    insert,
    log_says,
    met,
    named,
    reservation,
    row_becomes,
    sent_late,
    told,
    with_connection,
    without_kind,
)

PLAIN = "mutation/invoke-keyed"
FENCED = "mutation/recover-beside-held-worker"
ORPHAN = "mutation/recover-dispatching"


class TestMut029:
    def test_a_woken_worker_records_its_outcome(self) -> None:
        h = history(FENCED)
        assert named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Completed")) >= {"MUT-029"}

    def test_a_woken_worker_reopens_the_reservation(self) -> None:
        h = history(FENCED)
        assert "MUT-029" in named(row_becomes(h, reservation(h, "q1"), told(h, "q1"), state="Replayable"))

    def test_a_woken_worker_writes_its_own_time(self) -> None:
        h = history(FENCED)
        assert named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), settled_at=7)) == {"MUT-029"}

    def test_an_overwrite_that_is_taken_back_shows_in_the_log(self) -> None:
        h = history(FENCED)
        assert named(log_says(h, attempt(h, "q1"), "Indeterminate", "Completed", told(h, "q1"))) >= {"MUT-029"}

    def test_without_a_log_the_snapshots_show_it(self) -> None:
        h = without_kind(history(FENCED), "status_log")
        assert "after-indeterminate" in met(h, "MUT-029")
        assert named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Completed")) >= {"MUT-029"}

    def test_near_miss_a_write_that_changes_nothing_is_logged(self) -> None:
        h = history(FENCED)
        assert named(log_says(h, attempt(h, "q1"), "Indeterminate", "Indeterminate", told(h, "q1"))) == set()

    def test_near_miss_times_that_are_stamped_later(self) -> None:
        # settlement-without-trusted-time: the times may be left open until trusted time is back.
        h = history(PLAIN)
        mine, held = attempt(h, "q1"), reservation(h, "q1")
        later = asked(h, "q8")
        undated = row_becomes(h, mine, 0, later, settled_at=None)
        assert named(row_becomes(undated, held, 0, later, settled_at=None, replay_expires_at=None)) == set()


class TestMut033:
    def test_recovery_that_sends(self) -> None:
        h = history(ORPHAN)
        assert named(with_connection(h, at(h, "command", "r1"), "r1", "m1")) >= {"MUT-033"}

    def test_recovery_at_start_that_sends(self) -> None:
        h = history(ORPHAN)
        assert named(with_connection(h, at(h, "start", "e1"), "e1", "m1")) >= {"MUT-033"}

    def test_a_later_pass_of_a_process_that_has_only_replayed(self) -> None:
        h = history(ORPHAN)
        second = at(h, "command", "e1", 2, cmd="recover")
        assert named(with_connection(h, second, "e1", "m1")) >= {"MUT-033"}

    def test_near_miss_a_request_that_the_process_still_owes(self) -> None:
        # It won its gate, its caller was told unknown at the deadline, and it goes out while its process recovers.
        h = sent_late(history(PLAIN), "q1")
        sending, done = at(h, "connection"), at(h, "response")
        h = insert(h, done, event("answer", "answer", "w1", id=99, cmd="recover", outcome="done", result={}))
        h = insert(h, sending - 1, event("suite", "command", "w1", id=99, cmd="recover", args={}))
        assert named(h) == set()
