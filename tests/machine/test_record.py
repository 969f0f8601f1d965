"""Recording: every port call is noted, and a point is known by what it does to the rows."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.history import EVIDENCE
from conformance.search.process import PAUSABLE, Point
from conformance.search.program import Op, crash_after, pause_after, pause_before, script
from conformance.search.program import start as begin
from conformance.search.record import OutOfTier, Recording, record
from tests.machine.tiny import TINY, arm, brief, carrier, jobs, program, put, run, send


def recorded(*ops: Op) -> Recording:
    """A recording of these ops."""
    return record(program(*ops), carrier(), TINY.contract)


def names(points: tuple[Point, ...]) -> list[str]:
    """The points as ``name#nth``."""
    return [f"{p.point}#{p.nth}" for p in points]


def test_every_port_call_is_a_point_in_order() -> None:
    assert names(recorded(begin("w1"), send("w1", "j1")).points) == [
        "open:begin#1",
        "open:write#1",
        "open:commit#1",
        "open:committed#1",
        "send:remote#1",
        "send:answered#1",
        "close:begin#1",
        "close:write#1",
        "close:commit#1",
        "close:committed#1",
    ]


def test_a_repeated_call_is_counted_and_ascribed_to_its_op() -> None:
    points = recorded(begin("w1"), put("w1", "j1"), put("w1", "j2")).points
    commits = [p for p in points if p.point == "put:commit"]
    assert [(p.op_index, p.nth) for p in commits] == [(1, 1), (2, 2)]


def test_a_point_is_labelled_by_the_moves_of_its_transaction() -> None:
    points = recorded(begin("w1"), send("w1", "j1")).points
    labelled = {p.point: p.changes for p in points if p.changes}
    assert labelled == {
        **dict.fromkeys(("open:begin", "open:write", "open:commit", "open:committed"), (("job", None, "Open"),)),
        **dict.fromkeys(("close:begin", "close:write", "close:commit", "close:committed"), (("job", "Open", "Done"),)),
    }


def test_recording_changes_nothing_of_the_evidence() -> None:
    ops = (script("definite-refusal"), begin("w1"), send("w1", "j1"))
    # Only the ids of requests differ: the suite asks for more.
    found, usual = recorded(*ops).history, run(*ops)
    assert brief(found, *EVIDENCE) == brief(usual, *EVIDENCE)
    assert jobs(found) == jobs(usual)


def test_a_programs_own_pause_is_kept_while_recording() -> None:
    ops = (begin("w1"), arm("w1", "close:begin", "pause"), send("w1", "j1"))
    found = recorded(*ops)
    assert jobs(found.history) == {"j1": "Open"}
    assert "close:begin#1" in names(found.points)
    assert "close:write#1" not in names(found.points)


@pytest.mark.parametrize(
    ("symbolic", "point", "nth"),
    [
        (pause_after("w1", "job", "Open", "Done"), "close:committed", 1),
        (crash_after("w1", "job", None, "Open"), "open:committed", 1),
        (pause_before("w1", "job", "Open", "Done"), "close:begin", 1),
        (Op("arm-effect", {**crash_after("w1", "job", None, "Open").args, "call": "commit"}), "open:commit", 1),
    ],
)
def test_a_symbolic_fault_becomes_the_call_that_moves_the_row(symbolic: Op, point: str, nth: int) -> None:
    found = recorded(begin("w1"), symbolic, send("w1", "j1"))
    [resolved] = [op for op in found.program.ops if op.op == "arm"]
    assert (resolved.args["point"], resolved.args["nth"]) == (point, nth)
    assert "arm-effect" not in [op.op for op in found.program.ops]


@pytest.mark.parametrize("call", ["begin", "commit", "committed"])
def test_the_number_of_a_symbolic_fault_counts_from_where_it_stands(call: str) -> None:
    made: dict[str, Any] = {"proc": "w1", "effect": ["job", "New", "New"], "call": call, "action": "pause"}
    if call == "commit":
        made["action"] = "fail"
    found = recorded(begin("w1"), Op("arm-effect", made), put("w1", "j1"), put("w1", "j1"))
    [resolved] = [op for op in found.program.ops if op.op == "arm"]
    assert (resolved.args["point"], resolved.args["nth"]) == (f"put:{call}", 2)
    history = run(*found.program.ops)
    fired = [line for line in brief(history) if line.startswith("fault")]
    assert fired == [f"fault w1 put:{call}"]
    log = [e for e in history.events if e.cls == "rows"][-1].data["kinds"]["status_log"]
    assert len(log) == (2 if call == "committed" else 1), "the first put was done, the second met the fault"


def test_several_symbolic_faults_are_resolved_one_after_the_other() -> None:
    found = recorded(
        begin("w1"),
        pause_after("w1", "job", None, "Open"),
        send("w1", "j1"),
        Op("resume", {"proc": "w1"}),
        begin("w2"),
        crash_after("w2", "job", None, "New"),
        put("w2", "j2"),
    )
    assert [op.args["point"] for op in found.program.ops if op.op == "arm"] == ["open:committed", "put:committed"]
    assert jobs(found.history) == {"j1": "Done", "j2": "New"}


def test_an_effect_that_no_commit_has_is_out_of_tier() -> None:
    with pytest.raises(OutOfTier, match="the commit that brings a job from Done to Open"):
        recorded(begin("w1"), pause_after("w1", "job", "Done", "Open"), send("w1", "j1"))


def test_only_calls_outside_of_transactions_may_be_paused() -> None:
    assert set(PAUSABLE) == {"begin", "read", "committed", "remote", "answered"}
