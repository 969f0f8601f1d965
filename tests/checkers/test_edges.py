"""Edges: the service deadline (LIMIT-003), the end of the retention (RET-012), the last room (RET-026), the result of a
replay (REPLAY-019).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.history import History
from tests.checkers.histories import (
    Kinds,
    answer_says,
    asked,
    at,
    changed,
    edit_rows,
    history,
    insert,
    met,
    named,
    observed,
    rebuilt,
    told,
    with_connection,
)
from tests.checkers.histories import event as made

IN_TIME = "edges/provider-in-time"
GATE = "edges/gate-in-time"
RETENTION = "edges/retention-nearly-over"
STALLS = "edges/provider-stalls"
WAIT = "edges/wait-in-time"


def test_a_provider_that_answers_in_time_and_is_not_heard() -> None:
    h = history(IN_TIME)
    assert met(h, "LIMIT-003") == {"provider-in-time"}
    gone = made("wire", "abandoned", "w1", conn=1)
    given_up = rebuilt(h, [gone if e.kind == "response" and e.data["conn"] == 1 else e for e in h.events])
    assert "LIMIT-003" in named(given_up)


def ended_early() -> History:
    """A call that came to its gate in time is told of a timeout."""
    h = history(GATE)
    aborted = answer_says(h, told(h, "q1"), "not_attempted", "timeout")
    return observed(aborted, told(h, "q1"), cause="Timeout")


def test_a_call_that_is_ended_ahead_of_its_gate() -> None:
    assert met(history(GATE), "LIMIT-003") == {"ahead-of-gate"}
    assert "LIMIT-003" in named(ended_early())


def test_a_wait_that_ends_ahead_of_its_deadline() -> None:
    h = history(WAIT)
    assert met(h, "LIMIT-003") == {"provider-in-time", "wait-in-time"}
    place, answer = at(h, "time"), h.events[told(h, "q2")]
    early = insert(changed(h, told(h, "q2"), id=-1), place, answer)
    mine = at(early, "answer", "w2", id=answer.data["id"])
    early = answer_says(early, mine, "unknown", "outcome_unknown")
    assert "LIMIT-003" in named(observed(early, mine, cause="timeout"))


def test_a_provider_that_stalls_and_a_call_that_waits_on() -> None:
    h = history(STALLS)
    assert met(h, "LIMIT-003") == {"provider-stalls"}
    # The answer, and the end of the connection, come with the next time that is told.
    events = list(h.events)
    moved = [e for e in events if e.proc == "w1" and e.kind in ("abandoned", "answer") and e.seq < at(h, "time", nth=3)]
    assert len(moved) == 2
    rest = [e for e in events if e not in moved]
    after = next(n for n, e in enumerate(rest) if e.seq == at(h, "time", nth=3))
    assert "LIMIT-003" in named(rebuilt(h, [*rest[: after + 1], *moved, *rest[after + 1 :]]))


def test_near_miss_a_cancel_ends_a_call_ahead_of_its_deadline() -> None:
    h = history("mutation/cancel-prepared")
    assert met(h, "LIMIT-003") == set()
    assert named(h) == set()


def test_near_miss_a_repetition_of_a_call_that_timed_out_is_told_so_at_once() -> None:
    h = history(GATE)
    again = told(h, "q8")
    assert "LIMIT-003" not in named(observed(h, again, cause="Timeout"))


@pytest.mark.parametrize("request_id", ["q5", "q6", "q7", "q8"])
def test_a_key_whose_retention_is_nearly_over_serves_anew(request_id: str) -> None:
    h = history(RETENTION)
    assert met(h, "RET-012") == {"nearly-over", "nearly-over-other", "housekept", "housekept-other"}
    assert "RET-012" in named(with_connection(h, asked(h, request_id), "w1", "m1"))


def test_near_miss_the_retention_is_over() -> None:
    h = history(RETENTION)
    clock = h.events[at(h, "time")].data
    over = {name: clock[name] + 5_000 for name in ("wall_ms", "mono_ms")}
    assert "RET-012" not in named(with_connection(changed(h, at(h, "time"), **over), asked(h, "q5"), "w1", "m1"))


ROOM = "edges/last-room/w1.invoke.prepare:begin#2@pause+rival/continue"


def let_in() -> History:
    """A new key is sent for, though the store is full."""
    h = history("mutation/full-store")
    return with_connection(h, asked(h, "q8"), "w2", "m1")


def test_a_full_store_lets_a_new_key_in() -> None:
    assert met(history("mutation/full-store"), "RET-026") == {"full", "at-once"}
    assert "RET-026" in named(let_in())


def test_two_at_once_are_let_into_the_last_room() -> None:
    h = history(ROOM)
    assert met(h, "RET-026") == {"at-once"}

    def one_more(kinds: Kinds) -> Kinds:
        rows = kinds["reservations"]
        return {**kinds, "reservations": [*rows, {**rows[-1], "reservation": "r9", "key": "k9"}]}

    assert "RET-026" in named(edit_rows(h, one_more, told(h, "q3")))


def test_near_miss_a_key_that_is_known_comes_to_a_full_store() -> None:
    h = history("mutation/full-store")
    assert "RET-026" not in named(with_connection(h, asked(h, "q5"), "w2", "m1"))


REPLAYED = "mutation/invoke-keyed"
UNHEARD = "mutation/invoke-keyed/w1.invoke.settle:committed#1@crash/restart"


def replayed(schedule: str, result: Mapping[str, str] | None) -> History:
    """Its replay has another result."""
    h = history(schedule)
    place = told(h, "q8")
    return changed(h, place, result={**h.events[place].data["result"], "result": result})


@pytest.mark.parametrize("schedule", [REPLAYED, UNHEARD])
@pytest.mark.parametrize("result", [None, {"id": "t9", "marker": "m1"}])
def test_a_replay_with_another_result(schedule: str, result: Mapping[str, str] | None) -> None:
    assert met(history(schedule), "REPLAY-019") == {"told" if schedule == REPLAYED else "unheard"}
    assert "REPLAY-019" in named(replayed(schedule, result))


def broken() -> list[History]:
    """One history for each of these requirements in which it is violated."""
    return [ended_early(), let_in(), replayed(REPLAYED, None)]


def test_near_miss_a_replay_of_what_nobody_knows_has_no_result() -> None:
    h = history(f"{REPLAYED}/remote@apply-then-drop/continue")
    assert met(h, "REPLAY-019") == set()
