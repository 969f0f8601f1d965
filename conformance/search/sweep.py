"""The sweep: every scenario × every recorded point × every fault that applies there (DESIGN section 6).

Schedules are made from a recording, never from the names of steps, and carry stable ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.search.execute import PAUSABLE, Point
from conformance.search.program import FREE, RESTART, Op, Program, release, script
from conformance.search.record import Recording
from conformance.search.scenario import Scenario

#: The remote behaviours that every request of a scenario meets in turn.
REMOTE_FAULTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("definite-refusal", {}),
    ("status-500", {"kind": "status", "status": 500}),
    ("status-429", {"kind": "status", "status": 429}),
    ("status-200-empty", {"kind": "status", "status": 200}),
    ("malformed", {}),
    ("partial", {}),
    ("refuse-connection", {}),
    ("drop-before-read", {}),
    ("apply-then-drop", {}),
)
#: How a held request goes on after the second actor has run.
RELEASES = ("success", "definite-refusal", "apply-then-drop")

_FAULTS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "begin": (("fail", None),),
    "read": (("fail", None),),
    "tx-read": (("fail", None),),
    "write": (("fail", None),),
    "commit": (("fail", None), ("lose-ack", "committed"), ("lose-ack", "rolled_back"), ("crash", None)),
    "committed": (("crash", None),),
    "answered": (("crash", None),),
}


def epilogues(scenario: Scenario, family_tail: Sequence[Op]) -> dict[str, tuple[Op, ...]]:
    """The two endings of a schedule: with a restart, and without one (everything is released first)."""
    tail = (*scenario.retry, *family_tail)
    return {"restart": (RESTART, *tail), "continue": (FREE, *tail)}


def scenario_once(recording: Recording, scenario: Scenario, ends: dict[str, tuple[Op, ...]]) -> Iterator[Program]:
    """The scenario itself, once, without any fault of the sweep."""
    del scenario
    program = recording.program
    yield program.with_ops("", (*program.ops, *ends["continue"]))


def single_faults(recording: Recording, scenario: Scenario, ends: dict[str, tuple[Op, ...]]) -> Iterator[Program]:
    """One fault at every recorded call of the victim."""
    program = recording.program
    for point in _points(recording, scenario):
        call = point.point.rpartition(":")[2]
        for action, world in _FAULTS.get(call, ()):
            arm = _arm(point, action, world)
            ops = _insert_after_start(program.ops, point, arm)
            name = f"{action}-{world}" if world else action
            for end in ("restart",) if action == "crash" else ("restart", "continue"):
                yield program.with_ops(f"/{point.proc}.{point.point}#{point.nth}@{name}/{end}", (*ops, *ends[end]))


def remote_faults(recording: Recording, scenario: Scenario, ends: dict[str, tuple[Op, ...]]) -> Iterator[Program]:
    """Every behaviour of the remote, and a kill on either side of its reading of the request."""
    program = recording.program
    if not scenario.remote_faults or not any(e.kind == "connection" for e in recording.history.of("wire")):
        return
    for name, members in REMOTE_FAULTS:
        behaviour = {"kind": name, **members}
        for end in ("restart", "continue"):
            yield program.with_ops(f"/remote@{name}/{end}", (script(behaviour), *program.ops, *ends[end]))
    for name in ("hold", "hold-at-accept"):
        yield program.with_ops(f"/remote@{name}-kill/restart", (script(name), *program.ops, *ends["restart"]))


def preemptions(recording: Recording, scenario: Scenario, ends: dict[str, tuple[Op, ...]]) -> Iterator[Program]:
    """The second actor at every point where the first can be paused, and while the remote holds its request."""
    program = recording.program
    for name, second in scenario.seconds.items():
        for point in _points(recording, scenario):
            if point.point.rpartition(":")[2] not in PAUSABLE:
                continue
            arm = _arm(point, "pause", None)
            ops = list(_insert_after_start(program.ops, point, arm))
            at = point.op_index + 2
            resume = Op("resume", {"proc": point.proc})
            ops[at:at] = [*second, resume]
            suffix = f"/{point.proc}.{point.point}#{point.nth}@pause+{name}/continue"
            yield program.with_ops(suffix, (*ops, *ends["continue"]))
        if any(e.kind == "connection" for e in recording.history.of("wire")):
            yield from _while_held(program, scenario, name, second, ends)


def faults_under_preemption(
    recording: Recording, scenario: Scenario, ends: dict[str, tuple[Op, ...]]
) -> Iterator[Program]:
    """Pairs: one preemption and, later in the same process, one fault of the store."""
    program = recording.program
    for name, second in scenario.seconds.items():
        points = list(_points(recording, scenario))
        for index, point in enumerate(points):
            if point.point.rpartition(":")[2] not in PAUSABLE:
                continue
            for later in points[index + 1 :]:
                for action, world in _FAULTS.get(later.point.rpartition(":")[2], ()):
                    ops = list(_insert_after_start(program.ops, later, _arm(later, action, world)))
                    ops = list(_insert_after_start(tuple(ops), point, _arm(point, "pause", None)))
                    at = point.op_index + 3
                    ops[at:at] = [*second, Op("resume", {"proc": point.proc})]
                    fault = f"{later.point}#{later.nth}@{action}{'-' + world if world else ''}"
                    suffix = f"/{point.proc}.{point.point}#{point.nth}@pause+{name}/{fault}/continue"
                    yield program.with_ops(suffix, (*ops, *ends["continue"]))


def _while_held(
    program: Program, scenario: Scenario, name: str, second: tuple[Op, ...], ends: dict[str, tuple[Op, ...]]
) -> Iterator[Program]:
    for answer in RELEASES:
        ops = (script("hold"), *program.ops, *second, release(scenario.victim, answer))
        yield program.with_ops(f"/remote@hold+{name}+{answer}/continue", (*ops, *ends["continue"]))


def _points(recording: Recording, scenario: Scenario) -> Iterator[Point]:
    return (p for p in recording.points if p.proc == scenario.victim)


def _arm(point: Point, action: str, world: str | None) -> Op:
    args: dict[str, object] = {"proc": point.proc, "point": point.point, "nth": point.nth, "action": action}
    if world is not None:
        args["world"] = world
    return Op("arm", {**args, "changes": [list(c) for c in point.changes]})


def _insert_after_start(ops: tuple[Op, ...], point: Point, arm: Op) -> tuple[Op, ...]:
    """Arm right after the start of the process, so that ``nth`` counts as it was recorded."""
    starts = [i for i, op in enumerate(ops[: point.op_index]) if op.op == "start" and op.proc == point.proc]
    at = starts[-1] + 1
    return (*ops[:at], arm, *ops[at:])
