"""Recording: run a program without faults, note every port call and the row changes of each commit.

A point is thus known by what it does to the rows, whatever the implementation calls it; that is what scenarios
and premises refer to (DESIGN 2.7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.carriers.base import Carrier
from conformance.history import History
from conformance.remote.remote import ContractOf
from conformance.search.execute import Execution
from conformance.search.process import Point
from conformance.search.program import Op, Program


class OutOfTier(Exception):
    """The driver offers no fault points of the kind that a program needs."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A program whose symbolic points are resolved, its fault-free history, and every point that was seen."""

    program: Program
    history: History
    points: tuple[Point, ...]


def record(program: Program, carrier: Carrier, contract: ContractOf) -> Recording:
    """Resolve symbolic faults one after the other, then record the program.

    Raises OutOfTier when a symbolic fault matches no recorded commit.
    """
    while True:
        symbolic = [i for i, op in enumerate(program.ops) if op.op == "arm-effect"]
        known = tuple(op for i, op in enumerate(program.ops) if i not in symbolic[:])
        if not symbolic:
            execution = Execution(program, carrier, contract, record=True)
            history = execution.run()
            return Recording(program, history, tuple(_strikable(program, execution.points)))
        first = symbolic[0]
        before = sum(i < first for i in symbolic)
        execution = Execution(program.with_ops("", known), carrier, contract, record=True)
        execution.run()
        resolved = _resolve(program.ops[first], first - before, execution.points)
        ops = (*program.ops[:first], resolved, *program.ops[first + 1 :])
        program = program.with_ops("", ops)


def _strikable(program: Program, points: list[Point]) -> Iterator[Point]:
    """The calls at which a fault can be armed: nobody can tell a process anything before it has started."""
    return (point for point in points if program.ops[point.op_index].op != "start")


def _resolve(op: Op, position: int, points: list[Point]) -> Op:
    """The concrete ``arm`` for a symbolic one; ``position`` is where it stands among the ops that were recorded."""
    wanted = tuple(op.args["effect"])
    mine = [p for p in points if p.proc == op.proc and p.op_index >= position]
    for index, point in enumerate(mine):
        if wanted not in point.changes or not point.point.endswith(":commit"):
            continue
        name = f"{point.point.rpartition(':')[0]}:{op.args['call']}"
        before = sum(p.point == name for p in mine[:index])
        # The commit itself and what follows it are not among those before; its beginning and its writes are.
        nth = before + 1 if op.args["call"] in ("commit", "committed") else max(before, 1)
        args = {"proc": op.proc, "point": name, "nth": nth, "action": op.args["action"]}
        extra = {"world": op.args["world"]} if "world" in op.args else {}
        return Op("arm", {**args, **extra, "changes": [list(c) for c in point.changes]})
    entity, before, after = wanted
    move = f"from {before} to {after}" if before else f"into being as {after}"
    raise OutOfTier(f"it needs a fault point at the commit that brings a {entity} {move}, and the driver offers none")
