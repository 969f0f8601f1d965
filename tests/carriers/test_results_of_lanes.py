"""What a driver of settle lanes says in a result: the member that goes with a status, counts, and each row once."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.carriers.conversation import BadMessage, Conversation
from conformance.checkers.settle.stored import View
from conformance.families.settle_lanes import SETTLE_LANES
from statemachines.accept import compile_schema

EVENT: dict[str, Any] = {
    **{"event": 1, "route": "settled", "source": "acme", "state": "pending", "ordinal": 1, "created_at": 1},
    **{"sequence": 0, "delivery": "d1", "not_before": None, "attempts": 0, "token": None, "worker": None},
    **{"lease_expires_at": None, "error": None, "served": None, "replayed_by": None, "payload": "p"},
}


def heard(cmd: str, name: str, result: dict[str, Any]) -> None:
    """What is made of a result to a request after a reset of the family."""
    talk = Conversation()
    talk.sent({"id": 1, "cmd": "reset", "args": {"config": {"family": SETTLE_LANES.id}}}, 0)
    talk.heard({"id": 1, "outcome": "done", "result": {}})
    talk.sent({"id": 2, "cmd": cmd, "args": {"name": name, "args": {}}}, 0)
    talk.heard({"id": 2, "outcome": "done", "result": result})


@pytest.mark.parametrize(
    ("name", "result", "member"),
    [
        ("lane.claim", {"status": "claimed"}, "event"),
        ("lane.input", {"status": "read", "event": 1}, "rows"),
        ("lane.replay", {"status": "replayed"}, "event"),
        ("lane.metrics", {"status": "read"}, "due"),
        ("lane.normalize", {"status": "accepted"}, "mode"),
    ],
)
def test_a_status_comes_with_what_it_speaks_of(name: str, result: dict[str, Any], member: str) -> None:
    with pytest.raises(BadMessage) as refused:
        heard("command", name, result)
    assert f"the result of command '{name}': result lacks the member '{member}'" in refused.value.reason
    assert refused.value.guess == f"add '{member}'"


@pytest.mark.parametrize("name", ["lane.claim", "lane.input", "lane.replay", "lane.metrics"])
def test_any_other_status_stands_alone(name: str) -> None:
    heard("command", name, {"status": "unavailable"})


def snapshot(*events: dict[str, Any]) -> None:
    """A snapshot with these Events."""
    heard("snapshot", "", {"source": "store", "kinds": {"events": list(events), "work_items": []}})


def test_each_row_once() -> None:
    snapshot(EVENT, {**EVENT, "event": 2})
    with pytest.raises(BadMessage) as refused:
        snapshot(EVENT, {**EVENT, "event": 2}, {**EVENT, "state": "dead"})
    assert "result.kinds.events has two rows with event 1" in refused.value.reason
    assert "each row once" in refused.value.guess


def test_rows_that_have_no_key_may_be_alike() -> None:
    found = {"attempt": "a1", "what": "it moved by itself"}
    kinds = {"attempts": [], "reservations": [], "spends": [], "diagnostics": [found, found]}
    talk = Conversation()
    talk.sent({"id": 1, "cmd": "reset", "args": {"config": {"family": "mutation-host"}}}, 0)
    talk.heard({"id": 1, "outcome": "done", "result": {}})
    talk.sent({"id": 2, "cmd": "snapshot", "args": {}}, 0)
    talk.heard({"id": 2, "outcome": "done", "result": {"source": "store", "kinds": kinds}})


@pytest.mark.parametrize("column", ["ordinal", "sequence", "attempts"])
def test_what_is_counted_is_not_negative(column: str) -> None:
    with pytest.raises(BadMessage) as refused:
        snapshot({**EVENT, column: -1})
    assert f"result.kinds.events[0].{column} is -1, less than 0" in refused.value.reason
    assert refused.value.guess == "use at least 0"


def test_a_whole_number_with_a_point_is_a_whole_number() -> None:
    snapshot({**EVENT, "ordinal": 1.0})
    assert View({"events": [{**EVENT, "ordinal": 1.0}]}).events[1].ordinal == 1


def test_a_condition_needs_no_second_branch() -> None:
    check = compile_schema({"if": {"const": 1}, "then": {"type": "string"}})
    assert not check(1)
    assert check(2)
