"""The engine: nine verbs over an implementation, one command at a time, and a crash that runs no handler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.carriers.inprocess import DirectTransport
from conformance.families.mutation_host.contract import EffectContract
from conformance.history import Recorder
from conformance.kit import Engine
from conformance.kit.seam import Message
from conformance.remote.remote import Remote
from conformance.remote.script import Behaviour
from tests.machine.tiny import Tiny

CLOCK = {"wall_ms": 1_000, "mono_ms": 0, "trusted": True}


class Driver:
    """An engine with a remote; requests go in, what it says comes out."""

    def __init__(self, state_dir: Path, reset: bool = True) -> None:
        self.recorder = Recorder()
        self.remote = Remote(self.recorder, EffectContract(), lambda _: None, lambda _: None)
        self.tiny = Tiny()
        transport = DirectTransport(self.remote, "w1")
        self.engine = Engine(self.tiny, transport)
        transport.wake = self.engine.poke
        self.state_dir = state_dir
        self.number = 0
        if reset:
            self.say("reset", **self.resetting("fresh"))

    def resetting(self, state: str) -> dict[str, Any]:
        return {
            "run": "r1",
            "state": state,
            "state_dir": str(self.state_dir),
            "remote": "inprocess://w1",
            "clock": CLOCK,
            "config": {},
        }

    def say(self, cmd: str, **args: Any) -> list[Message]:
        self.number += 1
        self.engine.deliver({"v": 1, "id": self.number, "cmd": cmd, "actor": "w1", "args": args})
        return self.heard()

    def heard(self) -> list[Message]:
        said = list(self.engine.outbox)
        self.engine.outbox.clear()
        return said

    def do(self, name: str, **args: Any) -> list[Message]:
        return self.say("command", name=name, args=args)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_hello_gives_the_identity_and_the_protocol_version(tmp_path: Path) -> None:
    [reply] = Driver(tmp_path, reset=False).say("hello")
    assert reply["outcome"] == "done"
    assert (reply["result"]["v"], reply["result"]["name"]) == (1, "tiny")


@pytest.mark.parametrize("verb", ["command", "recover", "set_time", "arm", "resume", "snapshot"])
def test_before_a_reset_there_is_nothing_to_work_on(tmp_path: Path, verb: str) -> None:
    args = {"name": "tiny.put", "args": {}, "clock": CLOCK, "point": "a:begin", "action": "fail", "pause": 1}
    [reply] = Driver(tmp_path, reset=False).say(verb, **args)
    assert (reply["id"], reply["outcome"]) == (1, "failed")
    assert "no reset" in reply["detail"]


def test_an_unknown_verb_is_unsupported_and_named(driver: Driver) -> None:
    [reply] = driver.say("dance")
    assert (reply["outcome"], reply["feature"]) == ("unsupported", "dance")


def test_a_command_is_answered_word_for_word(driver: Driver) -> None:
    [reply] = driver.do("tiny.put", job="j1")
    assert reply == {"id": 2, "outcome": "done", "result": {"status": "put"}}


def test_an_unknown_command_is_unsupported_and_an_error_is_failed(driver: Driver) -> None:
    [gap] = driver.do("tiny.fly")
    [broken] = driver.do("tiny.break")
    assert (gap["outcome"], gap["feature"], gap["reason"]) == ("unsupported", "tiny.fly", "too tiny for that")
    assert (broken["outcome"], broken["detail"][:22]) == ("failed", "RuntimeError: it broke")
    assert driver.do("tiny.put", job="j1")[0]["outcome"] == "done", "it goes on working"


def test_recover_and_snapshot(driver: Driver) -> None:
    driver.do("tiny.put", job="j1")
    assert driver.say("recover")[0]["result"] == {"status": "done", "settled": 0}
    [rows] = driver.say("snapshot")
    assert rows["result"]["kinds"]["jobs"] == [{"job": "j1", "state": "New"}]


def test_bye_closes(driver: Driver) -> None:
    assert driver.say("bye")[0]["outcome"] == "done"
    assert driver.engine.closed


def test_while_a_command_is_paused_everything_else_is_answered(driver: Driver) -> None:
    driver.say("arm", point="put:begin", nth=1, action="pause")
    assert [m["event"] for m in driver.do("tiny.put", job="j1")] == ["fired", "paused"]
    assert driver.say("snapshot")[0]["result"]["kinds"]["jobs"] == []
    assert driver.say("set_time", clock=CLOCK)[0]["outcome"] == "done"
    assert driver.say("arm", point="put:commit", action="fail")[0]["outcome"] == "done"
    said = driver.say("resume", pause=1)
    assert [m.get("outcome") or m.get("event") for m in said] == ["done", "fired", "failed"]


def test_one_command_at_a_time(driver: Driver) -> None:
    driver.say("arm", point="put:begin", action="pause")
    driver.do("tiny.put", job="j1")
    [second] = driver.do("tiny.put", job="j2")
    assert (second["outcome"], "outstanding" in second["detail"]) == ("failed", True)
    [recovery] = driver.say("recover")
    assert recovery["outcome"] == "failed"


@pytest.mark.parametrize("pause", [0, 2, "1"])
def test_a_wrong_pause_id_resumes_nothing(driver: Driver, pause: object) -> None:
    driver.say("arm", point="put:begin", action="pause")
    driver.do("tiny.put", job="j1")
    [reply] = driver.say("resume", pause=pause)
    assert reply["outcome"] == "failed"
    assert driver.say("resume", pause=1)[-1]["result"] == {"status": "put"}


def test_resume_without_a_pause_fails(driver: Driver) -> None:
    assert driver.say("resume", pause=1)[0]["outcome"] == "failed"


def test_an_action_that_does_not_fit_is_refused_with_the_sentence(driver: Driver) -> None:
    [reply] = driver.say("arm", point="put:write", action="pause")
    assert reply["outcome"] == "failed"
    assert "cannot be made to pause" in reply["detail"]


def test_a_waiting_command_looks_again_at_every_set_time(driver: Driver) -> None:
    assert driver.do("tiny.wait", until_ms=500) == [{"event": "waiting", "id": 2, "on": "time"}]
    said = driver.say("set_time", clock={**CLOCK, "mono_ms": 100})
    assert [m.get("event") or m["outcome"] for m in said] == ["waiting", "done"]
    said = driver.say("set_time", clock={**CLOCK, "mono_ms": 600})
    assert [m["id"] for m in said] == [2, 4], "the command first, then the barrier"


def test_a_held_request_is_answered_when_the_remote_lets_go(driver: Driver) -> None:
    driver.remote.script([Behaviour("hold")])
    assert driver.do("tiny.send", job="j1") == []
    driver.remote.release(driver.remote.held()[0], Behaviour("definite-refusal"))
    assert [m["result"] for m in driver.heard()] == [{"status": "Refused"}]


def test_a_held_request_gives_up_at_its_deadline(driver: Driver) -> None:
    driver.remote.script([Behaviour("hold")])
    driver.do("tiny.send", job="j1")
    assert len(driver.say("set_time", clock={**CLOCK, "mono_ms": 19_000})) == 1
    said = driver.say("set_time", clock={**CLOCK, "mono_ms": 20_000})
    assert said[0]["result"] == {"status": "Unknown"}
    assert [e.kind for e in driver.recorder.events][-1] == "abandoned"


def test_a_crash_cuts_the_ports_and_closes_the_resources(driver: Driver) -> None:
    driver.say("arm", point="open:begin", action="pause")
    driver.do("tiny.send", job="j1")
    runtime = driver.tiny.opened[0]
    driver.engine.crash()
    assert runtime.store.closed
    assert runtime.ports.seam.cut


def test_no_handler_of_the_victim_runs_after_a_crash(driver: Driver) -> None:
    driver.say("arm", point="open:commit", action="hang")
    driver.do("tiny.send", job="j1")
    runtime = driver.tiny.opened[0]
    driver.engine.crash()
    driver.engine.poke()
    assert runtime.handled == []
    assert driver.heard() == []
    assert runtime.store.load()["jobs"] == {}


def test_a_reset_onto_the_existing_state_keeps_the_rows(driver: Driver) -> None:
    driver.do("tiny.put", job="j1")
    driver.say("reset", **driver.resetting("existing"))
    assert driver.say("snapshot")[0]["result"]["kinds"]["jobs"] == [{"job": "j1", "state": "New"}]
    driver.say("reset", **driver.resetting("fresh"))
    assert driver.say("snapshot")[0]["result"]["kinds"]["jobs"] == []


def test_a_reset_closes_what_was_open_before(driver: Driver) -> None:
    driver.say("reset", **driver.resetting("existing"))
    before, after = driver.tiny.opened
    assert before.store.closed
    assert not after.store.closed
