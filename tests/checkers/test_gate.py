"""The gate: MUT-009, MUT-011, MUT-015, MUT-017, MUT-030."""

from __future__ import annotations

from tests.checkers.histories import (
    Kinds,
    asked,
    at,
    attempt,
    drop_row,
    edit_rows,
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
    without_rows,
)

PLAIN = "mutation/invoke-keyed"
LOST = "mutation/invoke-keyed/remote@apply-then-drop/continue"
BESIDE_CANCEL = "mutation/invoke-keyed/remote@hold+cancel+success/continue"
BESIDE_DUPLICATE = "mutation/invoke-keyed/remote@hold+duplicate+success/continue"
CANCELLED = "mutation/cancel-prepared"
LOST_GATE = "mutation/invoke-keyed/w1.invoke.open_gate:commit#1@lose-ack-{}/continue"
SEND_AFTER_RECOVERY = "mutation/invoke-keyed/w1.invoke.send:remote#1@pause+recover/continue"
NEXT_CALL = "mutation/next-call"


class TestMut009:
    def test_a_cancel_that_sends(self) -> None:
        h = history(BESIDE_CANCEL)
        assert named(with_connection(h, at(h, "command", "c1"), "c1", "m1")) >= {"MUT-009"}

    def test_a_housekeeper_that_sends(self) -> None:
        h = history(LOST)
        assert named(with_connection(h, at(h, "command", cmd="host.housekeep"), "e1", "m1")) >= {"MUT-009"}

    def test_a_duplicate_that_sends_for_the_attempt_that_it_watches(self) -> None:
        h = history(BESIDE_DUPLICATE)
        assert named(with_connection(h, asked(h, "q2"), "w2", "m1")) >= {"MUT-009", "REPLAY-012"}

    def test_a_worker_whose_attempt_was_aborted(self) -> None:
        h = history(CANCELLED)
        assert named(with_connection(h, at(h, "answer", "c1") + 1, "w1", "m1")) >= {"MUT-009", "MUT-030"}

    def test_near_miss_a_request_that_goes_out_after_the_answer_of_its_deadline(self) -> None:
        # late-gate-acknowledgement: definite success still permits the one send (reading late-success-still-sends).
        assert named(sent_late(history(PLAIN), "q1")) == set()

    def test_near_miss_a_driver_that_keeps_no_status_log(self) -> None:
        h = without_kind(history(BESIDE_CANCEL), "status_log")
        assert named(h) == set()
        assert "cancel" in met(h, "MUT-009")

    def test_near_miss_rows_that_do_not_say_who_asked_prove_nothing(self) -> None:
        def anonymous(kinds: Kinds) -> Kinds:
            return {**kinds, "attempts": [{**r, "request_id": None} for r in kinds["attempts"]]}

        assert named(edit_rows(history(PLAIN), anonymous)) == set()

    def test_near_miss_an_attempt_that_was_given_up_before_the_one_that_is_sent(self) -> None:
        h, given_up = history(PLAIN), {"request_id": "q1", "key": None, "state": "Aborted", "settled_at": 1}

        def twice(kinds: Kinds) -> Kinds:
            return {**kinds, "attempts": [{"attempt": "given-up", **given_up}, *kinds["attempts"]]}

        assert named(edit_rows(without_kind(h, "status_log"), twice)) == set()


class TestMut011:
    def test_a_send_after_the_gate_committed_unseen(self) -> None:
        h = history(LOST_GATE.format("committed"))
        assert named(with_connection(h, at(h, "fault"), "w1", "m1", effect="unknown")) >= {"MUT-011"}

    def test_a_send_after_the_gate_was_rolled_back_unseen(self) -> None:
        h = history(LOST_GATE.format("rolled_back"))
        assert named(with_connection(h, at(h, "fault"), "w1", "m1")) == {"MUT-009", "MUT-011", "MUT-030"}

    def test_a_send_from_the_background_after_the_answer(self) -> None:
        h = history(LOST_GATE.format("committed"))
        assert named(with_connection(h, told(h, "q1") + 1, "w1", "m1")) >= {"MUT-011"}

    def test_near_miss_a_gate_that_certainly_failed_and_was_written_again(self) -> None:
        h = history(PLAIN)
        gate = [["mutation_attempt", "Prepared", "Dispatching"]]
        failed = event("suite", "fault", "w1", point="invoke.open_gate:commit", action="fail", changes=gate)
        assert named(insert(h, asked(h, "q1"), failed)) == set()


class TestMut015:
    def test_a_second_connection_while_the_command_is_open(self) -> None:
        h = history(LOST)
        assert named(with_connection(h, at(h, "response"), "w1", "m1")) == {"MUT-015", "MUT-016"}

    def test_a_second_connection_from_the_background(self) -> None:
        h = history(LOST)
        assert named(with_connection(h, told(h, "q1") + 1, "w1", "m1")) >= {"MUT-015"}

    def test_a_second_connection_under_the_next_command(self) -> None:
        h = history(NEXT_CALL)
        assert named(with_connection(h, asked(h, "q2"), "w1", "m1")) >= {"MUT-015"}

    def test_it_is_judged_without_rows(self) -> None:
        h = history(LOST)
        assert named(without_rows(with_connection(h, at(h, "response"), "w1", "m1"))) == {"MUT-015", "MUT-016"}

    def test_near_miss_the_next_command_sends_its_own_request(self) -> None:
        h = history(NEXT_CALL)
        assert {h.events[at(h, "request", "w1", nth)].data["marker"] for nth in (1, 2)} == {"m1", "m2"}
        assert named(h) == set()

    def test_near_miss_a_killed_process_is_no_stalling_remote(self) -> None:
        h = history("mutation/invoke-keyed/remote@hold-kill/restart")
        assert at(h, "abandoned")
        assert "timeout" not in met(h, "MUT-015")


class TestMut017:
    def test_a_request_that_finds_its_row_prepared(self) -> None:
        h = history(PLAIN)
        arrival = at(h, "rows", why="request")
        assert named(row_becomes(h, attempt(h, "q1"), arrival, arrival + 1, state="Prepared")) >= {"MUT-017"}

    def test_a_request_that_comes_before_its_row(self) -> None:
        h = history(PLAIN)
        arrival = at(h, "rows", why="request")
        early = drop_row(h, attempt(h, "q1"), arrival, arrival + 1)
        assert named(drop_row(early, reservation(h, "q1"), arrival, arrival + 1)) == {"MUT-017"}

    def test_near_miss_a_request_that_recovery_overtook(self) -> None:
        # live-worker-and-recovery: the single send won with the gate may still go out after recovery has settled.
        h = history(SEND_AFTER_RECOVERY)
        arrival = h.events[at(h, "rows", "w1", why="request")].data["kinds"]["attempts"]
        assert [row["state"] for row in arrival] == ["Indeterminate"]
        assert named(h) == set()


class TestMut030:
    def test_an_aborted_attempt_that_is_dispatched_too(self) -> None:
        h = history(CANCELLED)
        both = log_says(h, attempt(h, "q1"), "Prepared", "Dispatching", told(h, "q1"))
        assert named(both) >= {"MUT-030"}

    def test_an_open_attempt_that_is_aborted_seen_without_a_log(self) -> None:
        h = without_kind(history(BESIDE_CANCEL), "status_log")
        mine = attempt(h, "q1")
        assert named(row_becomes(h, mine, told(h, "q1"), state="Aborted")) >= {"MUT-030"}

    def test_a_request_of_an_aborted_attempt(self) -> None:
        h = history(CANCELLED)
        assert "MUT-030" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))

    def test_near_miss_a_cancel_that_came_after_the_gate(self) -> None:
        h = history(BESIDE_CANCEL)
        assert met(h, "MUT-030") == {"cancel-gate-wins"}
        assert named(h) == set()
