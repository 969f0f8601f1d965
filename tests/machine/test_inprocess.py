"""The in-process carrier: separate processes around one directory, and what a kill does to a connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.carriers.base import Link
from conformance.remote.script import Behaviour
from tests.carriers.support import Stage, opened
from tests.machine.tiny import carrier


@pytest.fixture
def stage() -> Iterator[Stage]:
    with opened(carrier()) as made:
        yield made


def started(stage: Stage, proc: str = "w1") -> Link:
    link = stage.start(proc)
    stage.reset(link, proc)
    return link


def send(stage: Stage, link: Link) -> int:
    return stage.send(link, "command", name="tiny.send", args={"job": "j1"})


def test_a_held_request_leaves_the_process_silent_until_it_is_released(stage: Stage) -> None:
    stage.remote.script([Behaviour("hold")])
    link = started(stage)
    number = send(stage, link)
    assert not link.pending()
    assert link.recv() is None
    stage.remote.release(stage.remote.held("w1")[0], Behaviour())
    assert link.pending()
    assert link.recv() == {"id": number, "outcome": "done", "result": {"status": "Done"}}


def test_a_kill_breaks_the_connections_of_its_process_only(stage: Stage) -> None:
    stage.remote.script([Behaviour("hold"), Behaviour("hold")])
    one = started(stage, "w1")
    send(stage, one)
    two = stage.start("w2")
    base = {"run": "r2", "state": "existing", "state_dir": str(stage.session.state_dir)} if stage.session else {}
    clock = {"wall_ms": 0, "mono_ms": 0, "trusted": True}
    stage.ask(two, "reset", **base, remote="inprocess://w2", clock=clock, config={})
    send(stage, two)
    one.kill()
    assert [(e.kind, e.proc) for e in stage.events("abandoned")] == [("abandoned", "w1")]
    assert [c.proc for c in stage.remote.held()] == ["w2"]


def test_a_killed_process_says_nothing_when_the_remote_lets_go(stage: Stage) -> None:
    stage.remote.script([Behaviour("hold")])
    link = started(stage)
    send(stage, link)
    [held] = stage.remote.held()
    link.kill()
    stage.remote.release(held, Behaviour())
    assert link.recv() is None
    assert stage.story()[-1] == "abandoned", "nothing was answered"


def test_a_second_kill_is_nothing_new(stage: Stage) -> None:
    link = started(stage)
    link.kill()
    link.kill()
    assert stage.story() == []


def test_processes_share_the_directory_and_nothing_else(stage: Stage) -> None:
    one, two = started(stage, "w1"), stage.start("w2")
    assert stage.session is not None
    clock = {"wall_ms": 0, "mono_ms": 0, "trusted": True}
    state = {"state": "existing", "state_dir": str(stage.session.state_dir)}
    stage.ask(two, "reset", run="r2", **state, remote="x", clock=clock, config={})
    stage.ask(one, "command", name="tiny.put", args={"job": "j1"})
    assert stage.ask(two, "snapshot")["result"]["kinds"]["jobs"] == [{"job": "j1", "state": "New"}]


def test_the_directory_goes_with_the_session() -> None:
    with opened(carrier()) as stage:
        started(stage)
        assert stage.session is not None
        place = stage.session.state_dir
        assert place.is_dir()
    assert not place.exists()
