"""What a driver says in a result is checked to the last member, in process as on the wire."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.carriers.base import DriverProblem
from conformance.carriers.conversation import BadMessage, Conversation
from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host.scenarios import CONFIG, invoke
from reference_impl.driver import Reference
from tests.carriers.support import driven, opened

Change = Callable[[Any], None]
IDENTITY = {"v": 1, "name": "x", "version": "1", "families": ["mutation-host"], "rung": "L0"}
ATTEMPT = {"attempt": "a", "request_id": "q", "operation": None, "connection": None, "caller": None, "key": None}
ADMITTED = {"approval": None, "approval_reference": None}
ROWS = {"source": "store", "kinds": {"attempts": [{**ATTEMPT, "state": "Prepared", "settled_at": None, **ADMITTED}]}}
SEEN = {"classification": "applied", "attempt": None, "original_request_id": None, "replayed": False, "cause": None}
ANSWER = {"version": "v1alpha2", "request_id": "q", "status": "success", "result": {"any": [1]}, "mutation": SEEN}
INVOKE = {"name": "host.invoke", "args": {}}


def asked(cmd: str, args: dict[str, Any]) -> Conversation:
    """A conversation in which this was asked after a reset of the mutation host."""
    talk = Conversation()
    talk.sent({"id": 1, "cmd": "reset", "args": {"config": CONFIG}}, 0)
    talk.heard({"id": 1, "outcome": "done", "result": {}})
    talk.sent({"id": 2, "cmd": cmd, "args": args}, 0)
    return talk


def member(*path: Any, value: Any) -> Change:
    """A change of one member."""

    def change(result: Any) -> None:
        for part in path[:-1]:
            result = result[part]
        result[path[-1]] = value

    return change


def without(*path: Any) -> Change:
    """A change that drops one member."""

    def change(result: Any) -> None:
        for part in path[:-1]:
            result = result[part]
        del result[path[-1]]

    return change


VALID = {
    "hello": ({}, IDENTITY),
    "snapshot": ({}, ROWS),
    "command": (INVOKE, ANSWER),
    "recover": ({}, {"status": "done", "settled": 2}),
    "set_time": ({}, {}),
}
REFUSED = [
    ("hello", without("rung"), "result lacks the member 'rung'", "add 'rung'"),
    ("hello", member("rung", value="L3"), 'result.rung is "L3", which is none of L0, L1, L2', "use one of L0, L1, L2"),
    ("hello", member("colour", value=1), "result has no member 'colour'", ""),
    ("snapshot", member("kinds", "attempts", 0, "stat", value="x"), "attempts[0] has no member 'stat'", "'state'?"),
    ("snapshot", without("kinds", "attempts", 0, "key"), "result.kinds.attempts[0] lacks the member 'key'", "add"),
    ("snapshot", member("kinds", "attempts", 0, "state", value="prepared"), 'state is "prepared"', "'Prepared'?"),
    ("snapshot", member("kinds", "attempts", 0, "settled_at", value="now"), "settled_at", "an integer"),
    ("snapshot", member("kinds", "attemps", value=[]), "has no member 'attemps'", "did you mean 'attempts'?"),
    ("snapshot", member("source", value="memory"), "result.source", "store, derived"),
    ("command", member("classification", value="applied"), "has no member 'classification'", ""),
    ("command", member("mutation", "classification", value="maybe"), 'mutation.classification is "maybe"', ""),
    ("command", member("mutation", "clasification", value="x"), "'clasification'", "did you mean 'classification'?"),
    ("command", without("result"), "result lacks the member 'result'", "add 'result'"),
    ("recover", member("settled", value=True), "result.settled is true, not an integer", ""),
    ("set_time", member("late", value=True), "the result of set_time: result has no member 'late'", "remove it"),
]


@pytest.mark.parametrize("verb", VALID)
def test_a_right_result_passes(verb: str) -> None:
    args, result = VALID[verb]
    talk = asked(verb, args)
    talk.heard({"id": 2, "outcome": "done", "result": result})
    assert talk.awaited() == "nothing", "the answer was taken"


@pytest.mark.parametrize(("verb", "change", "reason", "guess"), REFUSED)
def test_a_wrong_result_is_refused_with_place_and_guess(verb: str, change: Change, reason: str, guess: str) -> None:
    args, good = VALID[verb]
    result = copy.deepcopy(good)
    change(result)
    with pytest.raises(BadMessage) as refused:
        asked(verb, args).heard({"id": 2, "outcome": "done", "result": result})
    assert reason in refused.value.reason
    assert guess in refused.value.guess


def test_the_payload_of_a_success_is_the_implementations_own() -> None:
    for payload in (None, [], {"status": {"deep": [1, {"x": None}]}}, "text", 7):
        talk = asked("command", INVOKE)
        talk.heard({"id": 2, "outcome": "done", "result": {**ANSWER, "result": payload}})
        assert talk.awaited() == "nothing", payload


@pytest.mark.parametrize(("event", "reason"), [
    ({"event": "waiting", "id": 2, "on": "coffee"}, "none of command, lock, time"),
    ({"event": "fired", "point": "a:read", "nth": 1, "action": "explode", "actor": "w"}, "none of pause, fail"),
])  # fmt: skip
def test_an_event_with_a_word_that_does_not_exist_is_refused(event: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        asked("command", INVOKE).heard(event)


def test_rows_that_did_not_change_are_not_read_again_but_others_are() -> None:
    talk = asked("snapshot", {})
    talk.heard({"id": 2, "outcome": "done", "result": ROWS})
    talk.sent({"id": 3, "cmd": "snapshot", "args": {}}, 0)
    talk.heard({"id": 3, "outcome": "done", "result": {**ROWS}})
    talk.sent({"id": 4, "cmd": "snapshot", "args": {}}, 0)
    with pytest.raises(BadMessage, match="source"):
        talk.heard({"id": 4, "outcome": "done", "result": {**ROWS, "source": "memory"}})


class _Loose(Reference):
    """A reference whose snapshot has a column too many."""

    def open(self, setup: Any, ports: Any) -> Any:
        runtime = super().open(setup, ports)
        rows = runtime.snapshot

        def snapshot() -> Any:
            kinds = copy.deepcopy(dict(rows()["kinds"]))
            return {
                "source": "store",
                "kinds": {**kinds, "attempts": [{**r, "mood": "fine"} for r in kinds["attempts"]]},
            }

        runtime.snapshot = snapshot
        return runtime


def test_the_simulated_process_is_refused_as_the_real_one_would_be() -> None:
    op = invoke("w1", "q1", "m1", "k1")
    with opened(InProcessCarrier("loose", _Loose)) as stage:
        link = stage.start("w1")
        args = {"run": "r1", "state": "fresh", "record": False, "limits": {}, "config": dict(CONFIG)}
        clock = {"wall_ms": 0, "mono_ms": 0, "trusted": True}
        assert stage.session is not None
        stage.ask(link, "reset", **args, clock=clock, remote="x", state_dir=str(stage.session.state_dir))
        assert stage.ask(link, "command", name=op.args["cmd"], args=op.args["args"])["outcome"] == "done"
        with pytest.raises(DriverProblem) as refused:
            stage.ask(link, "snapshot")
    said = str(refused.value)
    assert said.startswith("process 'w1'")
    assert "result.kinds.attempts[0] has no member 'mood'" in said


def test_a_real_process_is_refused_with_its_line() -> None:
    with driven("no_rung") as (stage, link), pytest.raises(DriverProblem) as refused:
        stage.ask(link, "hello")
    said = str(refused.value)
    assert "process 'w1' of driver 'no_rung' wrote a line to stdout that was refused" in said
    assert "the result of hello: result lacks the member 'rung'" in said
    assert json.dumps({"id": 1})[:-1] in said
    assert "add 'rung'" in said
