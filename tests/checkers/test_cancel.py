"""Cancels and deadlines: CANC-001, CANC-002, CANC-006, CANC-012, CANC-016, CANC-021."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.history import History
from tests.checkers.histories import (
    answer_says,
    asked,
    at,
    attempt,
    changed,
    drop_row,
    history,
    insert,
    log_says,
    met,
    named,
    reservation,
    row_becomes,
    told,
    with_connection,
)

FAILED = "mutation/cancel-prepared/c1.cancel.abort:commit#1@{}/continue"
BESIDE_HELD = "mutation/invoke-keyed/remote@hold+cancel+success/continue"
OF_WAITER = "mutation/cancel-of-waiter"
STALLED = "mutation/invoke-keyed/remote@hold+deadline+success/continue"
LATE_LOOKUP = "mutation/invoke-keyed/w1.invoke.lookup:read#1@pause+deadline/continue"
LATE_AHEAD = "mutation/invoke-keyed/w1.invoke.prepare:begin#1@pause+deadline/continue"
LATE_BETWEEN = "mutation/invoke-unkeyed/w1.invoke.prepare:committed#1@pause+deadline/continue"
LATE_GATE = "mutation/invoke-keyed/w1.invoke.open_gate:committed#1@pause+deadline/continue"
CANCEL_AHEAD = "mutation/invoke-keyed/w1.invoke.prepare:begin#1@pause+cancel/continue"
CANCEL_BETWEEN = "mutation/invoke-keyed/w1.invoke.prepare:committed#1@pause+cancel/continue"
LATE_SPEND = "approvals/spend/w1.invoke.spend:{}#1@pause+deadline/continue"
LATE_WAITERS = "mutation/deadline-of-waiter"
#: Between what the cancel found and its write the worker went on to the end.
OVERTAKEN = "mutation/cancel-prepared/c1.cancel.abort:begin#1@pause+worker/continue"
ABORTED = {"status": "aborted"}


class TestCanc001:
    @pytest.mark.parametrize("fault", ["fail", "lose-ack-rolled_back"])
    def test_a_claim_ahead_of_the_write(self, fault: str) -> None:
        h = history(FAILED.format(fault))
        assert "CANC-001" in named(changed(h, at(h, "answer", "c1"), result=ABORTED))

    def test_near_miss_a_claim_that_the_row_bears_out(self) -> None:
        # Its acknowledgement was lost; a cancel that reads the row again knows that it has won.
        h = history(FAILED.format("lose-ack-committed"))
        assert met(h, "CANC-001") == {"lost-committed"}
        assert named(changed(h, at(h, "answer", "c1"), result=ABORTED)) == set()

    def test_near_miss_a_cancel_that_claims_less_than_it_could(self) -> None:
        h = history("mutation/cancel-prepared")
        assert named(changed(h, at(h, "answer", "c1"), result={"status": "received"})) == set()


class TestCanc002:
    @pytest.mark.parametrize(("schedule", "cell"), [(BESIDE_HELD, "sent"), (OF_WAITER, None)])
    def test_a_claim_behind_the_gate(self, schedule: str, cell: str | None) -> None:
        h = history(schedule)
        assert met(h, "CANC-002") == ({cell} if cell else set())
        assert ("CANC-002" in named(changed(h, at(h, "answer", "c1"), result=ABORTED))) == (cell is not None)

    def test_a_claim_between_gate_and_request(self) -> None:
        h = history("mutation/invoke-keyed/w1.invoke.open_gate:committed#1@pause+cancel/continue")
        assert met(h, "CANC-002") == {"unsent"}
        assert "CANC-002" in named(changed(h, at(h, "answer", "c1"), result=ABORTED))

    def test_a_claim_of_a_cancel_that_the_gate_overtook(self) -> None:
        h = history(OVERTAKEN)
        assert met(h, "CANC-002") == {"raced"}
        assert "CANC-002" in named(changed(h, at(h, "answer", "c1"), result=ABORTED))

    def test_near_miss_a_claim_ahead_of_the_gate_that_opens_later(self) -> None:
        # What the cancel says before the gate has opened is judged by CANC-012.
        h = history(OVERTAKEN)
        cancelled = at(h, "command", "c1")
        early = insert(h, cancelled, replace(h.events[at(h, "answer", "c1")], data={**_answer(h), "result": ABORTED}))
        assert "CANC-002" not in named(early)

    def test_near_miss_a_second_cancel_of_an_aborted_attempt(self) -> None:
        h = history("mutation/cancel-prepared")
        assert h.events[at(h, "answer", "c1")].data["result"] == ABORTED
        assert met(h, "CANC-002") == set()


def _answer(h: History) -> Mapping[str, Any]:
    return h.events[at(h, "answer", "c1")].data


class TestCanc006:
    @pytest.mark.parametrize("waiter", ["q2", "q3"])
    def test_the_deadline_of_a_waiter_aborts_the_original(self, waiter: str) -> None:
        h = history(LATE_WAITERS)
        assert met(h, "CANC-006") == {"deadline-prepared", "deadline-dispatching"}
        over = told(h, waiter)
        assert "CANC-006" in named(row_becomes(h, attempt(h, "q1"), over, over + 3, state="Aborted"))

    def test_its_reservation_goes_with_the_wait(self) -> None:
        h = history(LATE_WAITERS)
        assert "CANC-006" in named(drop_row(h, reservation(h, "q1"), told(h, "q2")))

    def test_near_miss_the_original_is_late_itself(self) -> None:
        # Whoever watches over its deadline may abort it then, in whatever process.
        h = history(LATE_WAITERS)
        late = next(e.seq for e in h.events if e.kind == "time" and e.seq > asked(h, "q1"))
        clock = h.events[late].data
        h = changed(h, late, mono_ms=clock["mono_ms"] + 10_000)
        assert "CANC-006" not in named(row_becomes(h, attempt(h, "q1"), told(h, "q2"), state="Aborted"))

    def test_the_original_is_aborted(self) -> None:
        h = history(OF_WAITER)
        since = at(h, "command", "c1")
        assert "CANC-006" in named(
            log_says(
                row_becomes(h, attempt(h, "q1"), since, at(h, "answer", "w1"), state="Aborted"),
                attempt(h, "q1"),
                "Prepared",
                "Aborted",
                since,
            )
        )

    @pytest.mark.parametrize("gone", [True, False])
    def test_its_reservation_goes(self, gone: bool) -> None:
        h = history(OF_WAITER)
        mine, since = reservation(h, "q1"), at(h, "command", "c1", 2)
        edited = drop_row(h, mine, since) if gone else row_becomes(h, mine, since, state="Expired")
        assert "CANC-006" in named(edited)

    def test_near_miss_the_original_is_cancelled_by_its_own_caller(self) -> None:
        h = history("mutation/cancel-prepared")
        assert met(h, "CANC-006") == set()
        assert named(h) == set()

    def test_near_miss_the_cancel_of_a_waiter_is_told_aborted(self) -> None:
        # That its wait has ended is all that it may mean; of the original it says nothing.
        h = history(OF_WAITER)
        assert met(h, "CANC-006") == {"prepared", "dispatching"}
        assert "CANC-006" not in named(changed(h, at(h, "answer", "c1"), result=ABORTED))


class TestCanc012:
    @pytest.mark.parametrize(("schedule", "cell"), [(LATE_LOOKUP, "no-row"), (LATE_BETWEEN, "prepared")])
    def test_a_late_worker_that_sends(self, schedule: str, cell: str) -> None:
        h = history(schedule)
        assert met(h, "CANC-012") == {f"deadline-{cell}"}
        assert "CANC-012" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))

    def test_a_late_worker_whose_gate_opens(self) -> None:
        h = history(LATE_BETWEEN)
        edited = row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Indeterminate")
        assert "CANC-012" in named(edited)

    def test_a_row_that_stays_prepared(self) -> None:
        h = history(LATE_BETWEEN)
        assert "CANC-012" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Prepared"))

    def test_uncertainty_that_is_given_up(self) -> None:
        h = history(STALLED)
        assert "CANC-012" in named(answer_says(h, told(h, "q1"), "not_attempted", "timeout"))
        assert "CANC-012" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Failed"))

    @pytest.mark.parametrize("call", ["begin", "committed"])
    def test_a_late_spend_opens_the_gate(self, call: str) -> None:
        h = history(LATE_SPEND.format(call))
        assert met(h, "CANC-012") == {"deadline-spending"}
        assert "CANC-012" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))
        assert "CANC-012" in named(row_becomes(h, attempt(h, "q1"), told(h, "q1"), state="Indeterminate"))

    def test_near_miss_a_late_gate(self) -> None:
        # Its write may have been in flight: CANC-022.
        h = history(LATE_SPEND.replace("invoke.spend", "invoke.open_gate").format("begin"))
        assert met(h, "CANC-012") == set()

    def test_near_miss_the_row_waits_for_recovery(self) -> None:
        # deadline-before-anchor: a row that appears all the same is aborted by its worker or by recovery.
        h = history(LATE_BETWEEN)
        recovery = at(h, "command", cmd="recover")
        late = row_becomes(h, attempt(h, "q1"), 0, recovery, state="Prepared")
        assert "CANC-012" not in named(late)


class TestCanc016:
    @pytest.mark.parametrize(("schedule", "cell"), [(STALLED, "stalled"), (LATE_GATE, "unsent")])
    def test_a_bare_timeout(self, schedule: str, cell: str) -> None:
        h = history(schedule)
        assert met(h, "CANC-016") == {cell}
        bare = {"status": "error", "error": {"code": "timeout"}}
        assert "CANC-016" in named(changed(h, told(h, "q1"), result=bare))

    def test_an_observation_under_the_code_of_a_timeout(self) -> None:
        h = history(STALLED)
        assert "CANC-016" in named(answer_says(h, told(h, "q1"), "unknown", "timeout"))

    def test_near_miss_a_timeout_ahead_of_the_gate(self) -> None:
        h = history(LATE_BETWEEN)
        assert h.events[told(h, "q1")].data["result"]["error"] == {"code": "timeout"}
        assert met(h, "CANC-016") == set()


class TestCanc021:
    @pytest.mark.parametrize(("schedule", "cell"), [(LATE_AHEAD, "ahead"), (LATE_BETWEEN, "between")])
    def test_the_late_prepare_is_sent(self, schedule: str, cell: str) -> None:
        h = history(schedule)
        assert met(h, "CANC-021") == {f"deadline-{cell}"}
        assert "CANC-021" in named(with_connection(h, told(h, "q1") + 1, "w1", "m1"))
        assert "CANC-021" in named(answer_says(h, told(h, "q1"), "applied", None))

    def test_the_late_prepare_stays(self) -> None:
        h = history(LATE_AHEAD)
        assert "CANC-021" in named(row_becomes(h, attempt(h, "q1"), state="Prepared"))

    def test_a_cancel_that_says_aborted_ahead_of_the_row(self) -> None:
        h = history(CANCEL_AHEAD)
        assert met(h, "CANC-021") == {"cancel-ahead"}
        assert "CANC-021" in named(changed(h, at(h, "answer", "c1"), result=ABORTED))

    def test_near_miss_a_cancel_that_was_received_ahead_of_the_row(self) -> None:
        h = history(CANCEL_AHEAD)
        assert h.events[at(h, "answer", "c1")].data["result"] == {"status": "received"}
        assert at(h, "connection", "w1")

    def test_near_miss_the_deadline_is_answered_as_unknown(self) -> None:
        # deadline-before-anchor: a host that cannot vouch for the fence says so.
        h = history(LATE_AHEAD)
        assert asked(h, "q1")
        assert named(answer_says(h, told(h, "q1"), "unknown", "outcome_unknown")) == set()

    def test_near_miss_a_cancel_of_the_prepared_row(self) -> None:
        h = history(CANCEL_BETWEEN)
        assert met(h, "CANC-021") == {"cancel-between"}
        assert named(h) == set()
