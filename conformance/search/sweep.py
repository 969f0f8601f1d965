"""The sweep: every scenario × every recorded point × every fault that applies there (DESIGN section 6).

Schedules are made from a recording, never from the names of steps, and carry stable ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.search.process import PAUSABLE, Point
from conformance.search.program import FREE, RESTART, Op, Program, release, script
from conformance.search.record import Recording
from conformance.search.scenario import Scenario

#: The remote behaviours that every request of a scenario meets in turn. Among the statuses are those at which client
#: libraries like to repeat a request by themselves.
REMOTE_FAULTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("definite-refusal", {}),
    ("status-500", {"kind": "status", "status": 500}),
    ("status-503", {"kind": "status", "status": 503}),
    ("status-429", {"kind": "status", "status": 429}),
    ("status-408", {"kind": "status", "status": 408}),
    ("status-401", {"kind": "status", "status": 401}),
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
#: The calls at which a store that is down fails.
_STORE_CALLS = frozenset({"begin", "read", "tx-read", "write", "commit"})


@dataclass(frozen=True, slots=True)
class Material:
    """What schedules of one scenario are made from; ``record`` records another program on the same driver."""

    recording: Recording
    scenario: Scenario
    ends: Mapping[str, tuple[Op, ...]]
    record: Callable[[Program], Recording]

    @property
    def program(self) -> Program:
        """The scenario with its symbolic points resolved."""
        return self.recording.program

    @property
    def points(self) -> list[Point]:
        """The recorded calls of the victim."""
        return [p for p in self.recording.points if p.proc == self.scenario.victim]

    @property
    def connects(self) -> bool:
        """Whether the script reaches the remote at all."""
        return any(e.kind == "connection" for e in self.recording.history.of("wire"))


def epilogues(scenario: Scenario, family_tail: Sequence[Op]) -> dict[str, tuple[Op, ...]]:
    """The two endings of a schedule: with a restart, and without one (everything is released first)."""
    tail = (*scenario.retry, *family_tail)
    return {"restart": (RESTART, *tail), "continue": (FREE, *tail)}


def once(program: Program, ends: Mapping[str, tuple[Op, ...]]) -> Program:
    """A script with its ending, without any fault of the sweep."""
    return program.with_ops("", (*program.ops, *ends["continue"]))


def scenario_once(material: Material) -> Iterator[Program]:
    """The scenario itself, once."""
    yield once(material.program, material.ends)


def single_faults(material: Material) -> Iterator[Program]:
    """One fault at every recorded call of the victim."""
    program, ends = material.program, material.ends
    for point in _behind_own_faults(material):
        call = point.point.rpartition(":")[2]
        for action, world in _FAULTS.get(call, ()):
            if action not in material.scenario.strikes:
                continue
            arm = _arm(point, action, world)
            ops = _insert_after_start(program.ops, point, arm)
            name = f"{action}-{world}" if world else action
            for end in ("restart",) if action == "crash" else ("restart", "continue"):
                yield program.with_ops(f"/{point.proc}.{point.point}#{point.nth}@{name}/{end}", (*ops, *ends[end]))


def _behind_own_faults(material: Material) -> list[Point]:
    """The calls of the victim behind those that the script itself strikes: an earlier fault would keep these away.

    A script arms right after the start, so that it counts its calls as the recording does.
    """
    armed = {(op.proc, op.args["point"], op.args["nth"]) for op in material.program.ops if op.op == "arm"}
    last = max((n for n, p in enumerate(material.points) if (p.proc, p.point, p.nth) in armed), default=-1)
    return material.points[last + 1 :]


def outages(material: Material) -> Iterator[Program]:
    """The store fails or loses an acknowledgement at a commit of the victim, and stays down until the process ends.

    A blackout fails at a read outside of transactions.
    """
    program, end = material.program, material.ends["restart"]
    strikes = material.scenario.strikes
    points = material.points if strikes & {"outage", "blackout"} else []
    for index, point in enumerate(points):
        commit = "outage" in strikes and bool(point.changes) and point.point.endswith(":commit")
        if not commit and not ("blackout" in strikes and point.point.endswith(":read")):
            continue
        began = max(i for i, op in enumerate(program.ops) if op.op == "start" and op.proc == point.proc)
        calls = (p for p in points[: index + 1] if p.op_index > began)
        before = sum(p.point.rpartition(":")[2] in _STORE_CALLS for p in calls)
        for action, world in _FAULTS["commit"][:3] if commit else _FAULTS["read"]:
            arm = _arm(point, action, world)
            ops = _insert_after_start(program.ops, point, Op("arm", {**arm.args, "outage": before}))
            name = f"{action}-{world}" if world else action
            yield program.with_ops(f"/{point.proc}.{point.point}#{point.nth}@{name}+outage/restart", (*ops, *end))


def remote_faults(material: Material) -> Iterator[Program]:
    """Every behaviour of the remote, and a kill on either side of its reading of the request."""
    program, scenario, ends = material.program, material.scenario, material.ends
    if not scenario.remote_faults or not material.connects:
        return
    for name, members in REMOTE_FAULTS:
        behaviour = {"kind": name, **members}
        for end in ("restart", "continue"):
            yield program.with_ops(f"/remote@{name}/{end}", (script(behaviour), *program.ops, *ends[end]))
    for name in ("hold", "hold-at-accept"):
        yield program.with_ops(f"/remote@{name}-kill/restart", (script(name), *program.ops, *ends["restart"]))


def preemptions(material: Material) -> Iterator[Program]:
    """The second actor at every point where the first can be paused, and while the remote holds its request."""
    program, scenario, ends = material.program, material.scenario, material.ends
    for name, second in scenario.seconds.items():
        for point in material.points:
            call = point.point.rpartition(":")[2]
            if call not in PAUSABLE and call not in scenario.stalls:
                continue
            action = "pause" if call in PAUSABLE else "hang"
            ops, at = _preempted(program, point, action)
            resume = Op("resume", {"proc": point.proc})
            suffix = f"/{point.proc}.{point.point}#{point.nth}@{action}+{name}/continue"
            yield program.with_ops(suffix, (*ops[:at], *second, resume, *ops[at:], *ends["continue"]))
        if material.connects:
            yield from _while_held(program, scenario, name, second, ends)


def second_preemptions(material: Material) -> Iterator[Program]:
    """Two preemptions, for the pairs that a scenario names: first, second until paused, first to its end, second."""
    for name in material.scenario.twice:
        second = material.scenario.seconds[name]
        actor = second[-1].proc
        for point in material.points:
            if point.point.rpartition(":")[2] not in PAUSABLE:
                continue
            ops, at = _preempted(material.program, point)
            met = material.record(material.program.with_ops("", (*ops[:at], *second)))
            for inner in met.points:
                if inner.proc != actor or inner.op_index < at or inner.point.rpartition(":")[2] not in PAUSABLE:
                    continue
                both = _insert_after_start((*ops[:at], *second), inner, _arm(inner, "pause", None))
                resumed = (Op("resume", {"proc": point.proc}), Op("resume", {"proc": actor}))
                suffix = (
                    f"/{point.proc}.{point.point}#{point.nth}@pause"
                    f"+{name}/{actor}.{inner.point}#{inner.nth}@pause/continue"
                )
                yield material.program.with_ops(suffix, (*both, *resumed, *ops[at:], *material.ends["continue"]))


def _preempted(program: Program, point: Point, action: str = "pause") -> tuple[tuple[Op, ...], int]:
    """The program with a pause armed at a point, and the place right after the op in which the pause strikes."""
    return _insert_after_start(program.ops, point, _arm(point, action, None)), point.op_index + 2


def faults_under_preemption(material: Material) -> Iterator[Program]:
    """Pairs: one preemption and, later in the same process, one fault of the store.

    Which calls come later is recorded with the second actor at work, since it may change them: who finds its key taken
    writes nothing any more, and who has lost a race looks once more.
    """
    for name, second in material.scenario.seconds.items():
        for point in material.points:
            if point.point.rpartition(":")[2] not in PAUSABLE:
                continue
            ops, at = _preempted(material.program, point)
            resumed = (*ops[:at], *second, Op("resume", {"proc": point.proc}), *ops[at:])
            met = material.record(material.program.with_ops("", resumed))
            for later in met.points:
                if later.proc != point.proc or later.op_index < at + len(second):
                    continue
                for action, world in _FAULTS.get(later.point.rpartition(":")[2], ()):
                    both = _insert_after_start(met.program.ops, later, _arm(later, action, world))
                    fault = f"{later.point}#{later.nth}@{action}{'-' + world if world else ''}"
                    suffix = f"/{point.proc}.{point.point}#{point.nth}@pause+{name}/{fault}/continue"
                    yield material.program.with_ops(suffix, (*both, *material.ends["continue"]))


def _while_held(
    program: Program, scenario: Scenario, name: str, second: tuple[Op, ...], ends: Mapping[str, tuple[Op, ...]]
) -> Iterator[Program]:
    for answer in RELEASES:
        ops = (script("hold"), *program.ops, *second, release(scenario.victim, answer))
        yield program.with_ops(f"/remote@hold+{name}+{answer}/continue", (*ops, *ends["continue"]))


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
