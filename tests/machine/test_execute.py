"""The executor: what stands where in a history, and that no fault, held request or paused process gets lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.carriers.base import DriverProblem, Link, Message, SuiteProblem
from conformance.carriers.inprocess import InProcessCarrier, InProcessSession
from conformance.kit import Ports, Setup, Time
from conformance.remote.remote import Remote
from conformance.search.execute import Execution
from conformance.search.program import FREE, RESTART, SETTLE, SNAPSHOT, Op, call, kill, recover, release, script, time
from conformance.search.program import start as begin
from tests.machine.tiny import TINY, Tiny, TinyRuntime, answers, arm, brief, carrier, jobs, program, put, run, send

RESUME = Op("resume", {"proc": "w1"})


def evidence(*ops: Op) -> list[str]:
    """The history without rows and notes."""
    return brief(run(*ops), "suite", "wire", "answer")


def test_the_story_of_one_command_in_order() -> None:
    history = run(begin("w1"), send("w1", "j1"))
    assert brief(history) == [
        "config",
        "start w1",
        "command w1",
        "connection w1",
        "request w1 j1",
        "rows w1 request",
        "meaning w1 j1",
        "response w1 answered",
        "answer w1 Done",
        "rows after answer",
        "rows end",
    ]
    assert jobs(history) == {"j1": "Done"}


def test_what_a_process_said_before_it_connected_stands_before_the_connection() -> None:
    lines = evidence(begin("w1"), arm("w1", "open:commit", "lose-ack", world="committed"), send("w1", "j1"))
    assert lines[-2:] == ["fault w1 open:commit", "answer w1 unavailable"]
    lines = evidence(begin("w1"), arm("w1", "send:remote", "pause"), send("w1", "j1"), RESUME)
    assert lines.index("fault w1 send:remote") < lines.index("connection w1")


def test_the_rows_are_seen_while_a_request_is_held() -> None:
    history = run(script("hold"), begin("w1"), send("w1", "j1"))
    assert jobs(history) == {"j1": "Open"}
    assert answers(history) == []


def test_a_released_request_goes_on_as_it_was_told() -> None:
    history = run(script("hold"), begin("w1"), send("w1", "j1"), release("w1", "definite-refusal"))
    assert (jobs(history), answers(history)) == ({"j1": "Refused"}, ["Refused"])


def test_a_paused_process_has_done_nothing_more_until_it_is_resumed() -> None:
    paused = (begin("w1"), arm("w1", "close:begin", "pause"), send("w1", "j1"))
    assert jobs(run(*paused)) == {"j1": "Open"}
    history = run(*paused, RESUME)
    assert (jobs(history), answers(history)) == ({"j1": "Done"}, ["Done"])


def test_a_second_command_while_one_is_outstanding_is_skipped_and_noted() -> None:
    history = run(begin("w1"), arm("w1", "open:begin", "pause"), send("w1", "j1"), send("w1", "j2"))
    assert [e.data["cmd"] for e in history.of("note") if e.kind == "skipped"] == ["tiny.send"]
    assert [e.data["args"]["job"] for e in history.events if e.kind == "command"] == ["j1"]


def test_a_command_for_a_process_that_does_not_run_is_skipped() -> None:
    assert brief(run(send("w9", "j1")), "note") == ["skipped w9"]


def test_waiting_commands_go_on_with_time() -> None:
    history = run(begin("w1"), call("w1", "tiny.wait", until_ms=5_000), time(1_000), time(6_000))
    assert brief(history, "answer", "note") == ["waiting w1", "waiting w1", "answer w1 waited"]


def test_settling_lets_what_is_due_run_to_its_end() -> None:
    history = run(script("hold"), begin("w1"), send("w1", "j1"), time(30_000), SETTLE)
    assert answers(history) == ["Unknown"]
    assert "abandoned w1" in brief(history, "wire")


class Restless(TinyRuntime):
    """Sends whenever it is looked at."""

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        while cmd == "tiny.wait":
            self.ports.wait("time")
            self.ports.remote.post("again", "/effect/job", {"marker": "j", "input": {}}, None)
        return super().command(cmd, args)


class RestlessTiny(Tiny):
    """The implementation with the fault."""

    runtime = Restless


def test_a_driver_that_never_comes_to_rest_cannot_be_used() -> None:
    with pytest.raises(DriverProblem, match="did not come to rest within 20 rounds"):
        run(begin("w1"), call("w1", "tiny.wait", until_ms=0), SETTLE, make=RestlessTiny)


def test_a_late_answer_comes_when_time_passes() -> None:
    history = run(script("late"), begin("w1"), send("w1", "j1"), time(1_000))
    assert answers(history) == ["Done"]
    assert "meaning w1 j1" in brief(history, "suite")


def test_free_releases_what_is_held_and_resumes_what_is_paused() -> None:
    held = run(script("hold"), begin("w1"), send("w1", "j1"), FREE)
    paused = run(begin("w1"), arm("w1", "close:begin", "pause"), send("w1", "j1"), FREE)
    assert answers(held) == answers(paused) == ["Done"]


# -- kills -------------------------------------------------------------------------------------------------------


def test_a_kill_leaves_the_command_without_an_answer_and_shows_the_rows() -> None:
    history = run(script("hold"), begin("w1"), send("w1", "j1"), kill("w1"))
    assert brief(history)[-5:] == [
        "abandoned w1",
        "kill w1 kill",
        "answer w1 no-answer",
        "rows after kill",
        "rows end",
    ]


def test_a_kill_while_paused_runs_nothing_more() -> None:
    history = run(begin("w1"), arm("w1", "close:begin", "pause"), send("w1", "j1"), kill("w1"), RESUME, SETTLE)
    assert (jobs(history), answers(history)) == ({"j1": "Open"}, ["no-answer"])


def test_after_a_kill_the_name_may_be_used_by_a_new_process() -> None:
    history = run(script("hold"), begin("w1"), send("w1", "j1"), kill("w1"), begin("w1"), recover("w1"))
    assert jobs(history) == {"j1": "Unknown"}


def test_a_restart_kills_everything_that_runs() -> None:
    history = run(begin("w1"), begin("w2"), RESTART, send("w1", "j1"))
    assert [e.proc for e in history.events if e.kind == "kill"] == ["w1", "w2"]
    assert brief(history, "note") == ["skipped w1"]


@pytest.mark.parametrize(
    ("point", "durable"),
    [("open:commit", {}), ("open:committed", {"j1": "Open"}), ("send:answered", {"j1": "Open"})],
)
def test_a_crash_at_a_point_leaves_exactly_what_was_committed(point: str, durable: dict[str, str]) -> None:
    history = run(begin("w1"), arm("w1", point, "crash"), send("w1", "j1"))
    assert jobs(history) == durable
    assert f"kill w1 crash at {point}" in brief(history, "suite")
    assert answers(history) == ["no-answer"]


# -- faults ------------------------------------------------------------------------------------------------------


def test_a_fault_that_struck_is_evidence() -> None:
    history = run(begin("w1"), arm("w1", "open:commit", "lose-ack", world="rolled_back"), send("w1", "j1"))
    [fault] = [e for e in history.events if e.kind == "fault"]
    assert (fault.cls, fault.data["action"], fault.data["world"]) == ("suite", "lose-ack", "rolled_back")
    assert jobs(history) == {}


def test_a_fault_that_did_not_strike_is_missed() -> None:
    history = run(begin("w1"), arm("w1", "close:begin", "fail", nth=2), send("w1", "j1"))
    assert [(e.data["point"], e.data["action"]) for e in history.events if e.kind == "missed"] == [
        ("close:begin", "fail")
    ]


def test_a_fault_for_a_process_that_does_not_run_is_missed_at_once() -> None:
    assert "missed w9 open:begin" in evidence(arm("w9", "open:begin", "fail"))


def test_a_random_walk_may_miss() -> None:
    history = run(begin("w1"), arm("w1", "close:begin", "fail"), arm("w9", "open:begin", "fail"), lenient=True)
    assert "missed" not in " ".join(brief(history))


def test_an_action_that_the_driver_refuses_makes_it_unusable() -> None:
    with pytest.raises(DriverProblem, match=r"arm of 'open:write' in 'w1' was answered failed: .* cannot be made"):
        run(begin("w1"), arm("w1", "open:write", "pause"))


def test_time_is_the_same_for_all_and_may_be_untrusted() -> None:
    history = run(begin("w1"), time(1_000, wall_jump_ms=-500, trusted=False), time(10))
    clocks = [e.data for e in history.events if e.kind == "time"]
    assert [c["mono_ms"] for c in clocks] == [1_000, 1_010]
    assert clocks[1]["wall_ms"] - clocks[0]["wall_ms"] == 10
    assert [c["trusted"] for c in clocks] == [False, False]


def test_a_snapshot_that_is_asked_for() -> None:
    assert brief(run(begin("w1"), put("w1", "j1"), SNAPSHOT), "rows")[-2:] == ["rows asked", "rows end"]


# -- drivers that cannot be used ---------------------------------------------------------------------------------


class TalkingLink:
    """A link that says something of its own before its first answer."""

    def __init__(self, inner: Link, extra: Message) -> None:
        self._inner, self._extra = inner, [extra]

    def send(self, message: Message) -> None:
        self._inner.send(message)

    def recv(self) -> Message | None:
        return self._extra.pop() if self._extra else self._inner.recv()

    def pending(self) -> bool:
        return bool(self._extra) or self._inner.pending()

    def listen(self) -> None:
        self._inner.listen()

    def kill(self) -> None:
        self._inner.kill()


class TalkingCarrier(InProcessCarrier):
    """A carrier of such links."""

    def __init__(self, extra: Message) -> None:
        super().__init__("talking", Tiny)
        self._extra = extra

    def open(self, remote: Remote) -> InProcessSession:
        session = super().open(remote)
        assert isinstance(session, InProcessSession)
        start = session.start
        session.start = lambda proc: TalkingLink(start(proc), self._extra)  # type: ignore[method-assign]
        return session


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"event": "sneezed"}, "unknown event 'sneezed'"),
        ({"event": "fired", "point": "open:begin", "nth": 1, "action": "fail"}, "an unarmed fault fired"),
    ],
)
def test_an_event_out_of_nowhere_makes_the_driver_unusable(extra: Message, sentence: str) -> None:
    with pytest.raises(DriverProblem, match=sentence):
        Execution(program(begin("w1")), TalkingCarrier(extra), TINY.contract).run()


def test_an_op_that_was_not_resolved_is_a_fault_of_the_suite() -> None:
    symbolic = Op("arm-effect", {"proc": "w1", "effect": ["job", None, "Open"], "call": "begin", "action": "pause"})
    with pytest.raises(SuiteProblem, match="arm-effect"):
        run(symbolic)


def test_the_directory_is_removed_even_when_the_driver_fails() -> None:
    execution = Execution(program(arm("w1", "x:y", "fail"), begin("w1"), Op("dance", {})), carrier(), TINY.contract)
    with pytest.raises(SuiteProblem):
        execution.run()
    assert execution._session is not None
    assert not execution._session.state_dir.exists()


class Unmoved(Tiny):
    """Cannot be given the time."""

    def open(self, setup: Setup, ports: Ports) -> TinyRuntime:
        def refuse(_: Time) -> None:
            raise ValueError("no clock")

        ports.clock.set = refuse  # type: ignore[method-assign,assignment]
        return super().open(setup, ports)


def test_a_set_time_that_fails_is_not_passed_over() -> None:
    with pytest.raises(DriverProblem, match="set_time in 'w1' was answered failed: ValueError: no clock"):
        run(begin("w1"), time(1_000), make=Unmoved)


class Derived(TinyRuntime):
    """Answers a snapshot from memory."""

    def snapshot(self) -> Mapping[str, Any]:
        return {**super().snapshot(), "source": "derived"}


class DerivedTiny(Tiny):
    """The implementation of that."""

    runtime = Derived


def test_derived_rows_are_no_evidence() -> None:
    history = run(begin("w1"), send("w1", "j1"), make=DerivedTiny)
    assert brief(history, "rows") == []
    assert answers(history) == ["Done"]
