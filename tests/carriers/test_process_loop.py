"""The kit's process loop and its requests, as the suite meets them in a real process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.carriers.base import Carrier, Link
from conformance.carriers.subprocess import ForkedCarrier
from conformance.remote.script import Behaviour
from tests.carriers.support import DRIVERS, Stage, driven, opened

POSTER = [sys.executable, str(DRIVERS / "poster.py")]


@pytest.fixture(scope="module")
def carrier() -> Iterator[Carrier]:
    made = ForkedCarrier("poster", POSTER)
    yield made
    made.shutdown()


@contextmanager
def poster(carrier: Carrier, *behaviours: str) -> Iterator[tuple[Stage, Link]]:
    with opened(carrier, *behaviours) as stage:
        link = stage.start("w1")
        assert stage.reset(link)["outcome"] == "done"
        yield stage, link


def post(stage: Stage, link: Link, **args: Any) -> Any:
    """The result of one post that is answered at once."""
    return stage.ask(link, "command", name="post", args={"marker": "m1", **args})["result"]


@pytest.mark.parametrize(
    ("behaviour", "seen"),
    [
        ("success", {"status": 200, "body": {"effect": "done", "id": "t1", "marker": "m1"}}),
        ("status", {"status": 500, "body": {"effect": "none", "code": "not_allowed", "marker": "m1"}}),
        ("malformed", {"status": 200, "body": None}),
        ("partial", {"unknown": "partial"}),
        ("refuse-connection", {"unknown": "reset"}),
        ("drop-before-read", {"unknown": "closed"}),
        ("apply-then-drop", {"unknown": "closed"}),
    ],
)
def test_what_the_implementation_is_told(carrier: Carrier, behaviour: str, seen: dict[str, Any]) -> None:
    with poster(carrier, behaviour) as (stage, link):
        assert post(stage, link) == seen
        assert [e.kind for e in stage.events("connection", "response")] == ["connection", "response"]


def test_a_body_larger_than_any_buffer_arrives_whole(carrier: Carrier) -> None:
    with poster(carrier) as (stage, link):
        assert post(stage, link, pad=8_000_000)["status"] == 200


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("hold", {"status": 422, "body": {"effect": "none", "code": "not_allowed", "marker": "m1"}}),
        ("hold-at-accept", {"unknown": "reset"}),
    ],
)
def test_a_held_process_answers_other_requests_and_goes_on_when_released(
    carrier: Carrier, kind: str, told: dict[str, Any]
) -> None:
    with poster(carrier, kind) as (stage, link):
        number = stage.send(link, "command", name="post", args={"marker": "m1"})
        assert link.recv() is None
        assert stage.ask(link, "snapshot")["result"] == {"source": "derived", "kinds": {}}
        clock = {"wall_ms": 5, "mono_ms": 5, "trusted": True}
        assert stage.ask(link, "set_time", clock=clock)["outcome"] == "done"
        assert link.recv() is None
        stage.remote.release(stage.remote.held("w1")[0], Behaviour("definite-refusal"))
        answer = link.recv()
        assert answer is not None
        assert answer["id"] == number
        assert answer["result"] == told


def test_a_deadline_in_virtual_time_closes_the_connection_before_the_answer(carrier: Carrier) -> None:
    with poster(carrier, "hold") as (stage, link):
        stage.send(link, "command", name="post", args={"marker": "m1", "deadline": 1000})
        assert link.recv() is None
        clock = {"wall_ms": 2000, "mono_ms": 2000, "trusted": True}
        stage.send(link, "set_time", clock=clock)
        answer = link.recv()
        assert answer is not None
        assert answer["result"] == {"unknown": "timeout"}
        assert stage.story()[-1] == "abandoned"


def test_a_kill_while_held_leaves_the_request_in_the_log(carrier: Carrier) -> None:
    with poster(carrier, "hold-at-accept") as (stage, link):
        stage.send(link, "command", name="post", args={"marker": "m1"})
        assert link.recv() is None
        link.kill()
        assert stage.story() == ["connection", "request", "abandoned"]
        assert stage.events("request")[0].data["marker"] == "m1"


def test_what_was_said_before_a_connection_is_heard_before_it(carrier: Carrier) -> None:
    with poster(carrier) as (stage, link):
        heard: list[bool] = []
        stage.remote._on_connect = lambda _: heard.append(link.pending())
        stage.ask(link, "arm", point="send:remote", nth=1, action="pause")
        stage.send(link, "command", name="post", args={"marker": "m1"})
        events = [link.recv(), link.recv(), link.recv()]
        assert [e and e["event"] for e in events] == ["fired", "paused", None]
        stage.send(link, "resume", pause=1)
        while link.recv() is not None:
            pass
        assert heard == [True]


def test_stray_prints_go_to_stderr_and_unsayable_answers_fail_alone(carrier: Carrier) -> None:
    with poster(carrier) as (stage, link):
        assert stage.ask(link, "command", name="print", args={})["outcome"] == "done"
        assert "unsayable" in stage.ask(link, "command", name="nan", args={})["detail"]
        assert stage.ask(link, "command", name="nothing", args={})["outcome"] == "unsupported"


def run(stdin: bytes) -> tuple[int, bytes, str]:
    """The driver alone: exit status, stdout and stderr."""
    ended = subprocess.run(POSTER, input=stdin, capture_output=True, timeout=60, check=False)
    return ended.returncode, ended.stdout, ended.stderr.decode()


def test_the_end_of_stdin_and_bye_end_the_process() -> None:
    assert run(b"") == (0, b"", "")
    status, said, _ = run(b'{"id":1,"cmd":"bye"}\n')
    assert (status, said) == (0, b'{"id":1,"outcome":"done","result":{}}\n')


@pytest.mark.parametrize(
    ("line", "reason"), [(b"nope\n", "not JSON"), (b"[]\n", "not an object"), (b'{"id"', "in the middle of a line")]
)
def test_a_bad_input_line_ends_it_with_a_sentence(line: bytes, reason: str) -> None:
    status, said, complaint = run(line)
    assert (status, said) == (2, b"")
    assert reason in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("success", '"effect":"done"'),
        ("partial", "IncompleteRead"),
        ("apply-then-drop", "RemoteDisconnected"),
        ("refuse-connection", "ConnectionResetError"),
    ],
)
def test_a_plain_blocking_driver_needs_nothing_of_the_kit(behaviour: str, told: str) -> None:
    with driven("plain_client", behaviour) as (stage, link):
        stage.reset(link)
        assert told in str(stage.ask(link, "command", marker="m1")["result"])
        assert len(stage.events("connection")) == 1


def test_a_plain_blocking_driver_can_be_held_released_and_killed() -> None:
    with driven("plain_client", "hold", "hold-at-accept") as (stage, link):
        stage.reset(link)
        stage.send(link, "command", marker="m1")
        assert link.recv() is None
        stage.remote.release(stage.remote.held("w1")[0], Behaviour())
        answer = link.recv()
        assert answer is not None
        assert answer["result"]["status"] == 200
        stage.send(link, "command", marker="m2")
        assert link.recv() is None
        link.kill()
        assert stage.story()[-3:] == ["connection", "request", "abandoned"]
