"""Random walks: a Hypothesis state machine over the same ops as everything else.

Hypothesis chooses and the suite judges. A walk that violates something is an ordinary program: it is shrunk and
replayed without Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.carriers.base import Carrier, DriverProblem, SuiteProblem
from conformance.families.base import Family
from conformance.outcome import Outcome, weigh
from conformance.search.execute import Execution
from conformance.search.plan import Plan
from conformance.search.program import FREE, RESTART, SNAPSHOT, Op, Program

#: Walks for each budget.
WALKS: Final = {"quick": 0, "ci": 300, "nightly": 3000}
STEPS: Final = 14


@dataclass(frozen=True, slots=True)
class WalkResult:
    """One walk as a program, and its outcome."""

    program: Program
    outcome: Outcome


def walk(
    family: Family,
    carrier: Carrier,
    plan: Plan,
    seed: int,
    examples: int,
    readings: Mapping[str, str],
    take: Callable[[WalkResult], None],
) -> None:
    """Do at least ``examples`` walks of one family and hand over each as it ends; the same seed, the same walks."""
    # Hypothesis is imported late: most commands never walk.
    from conformance.search.machine import explore  # noqa: PLC0415

    arms = sorted({(op.args["point"], op.args["action"], op.args.get("world")) for op in _arms(plan)}, key=repr)
    done = 0

    def begin() -> Execution:
        execution = Execution(_program(family, seed, done, ()), carrier, family.contract, lenient=True)
        execution.begin()
        return execution

    def finish(execution: Execution, ops: list[Op], problem: DriverProblem | SuiteProblem | None) -> None:
        nonlocal done
        ending = closing(family, restart=done % 2 == 0)
        program = _program(family, seed, done, (*ops, *ending))
        done += 1
        take(WalkResult(program, _outcome(family, program, execution, ending, readings, problem)))

    explore(family.walk, arms, seed, examples, STEPS, begin, finish)


def closing(family: Family, restart: bool) -> tuple[Op, ...]:
    """How every walk ends: with or without a restart, then recovery, time, retries and a last look."""
    return (RESTART if restart else FREE, *family.walk.closing, SNAPSHOT)


def _program(family: Family, seed: int, number: int, ops: tuple[Op, ...]) -> Program:
    return Program(f"walk/{family.id}/{seed}/{number}", family.id, family.walk.config, ops, {})


def _outcome(
    family: Family,
    program: Program,
    execution: Execution,
    ending: tuple[Op, ...],
    readings: Mapping[str, str],
    problem: DriverProblem | SuiteProblem | None,
) -> Outcome:
    try:
        if problem is not None:
            raise problem
        for op in ending:
            execution.do(op)
        history = replace(execution.end(), schedule=program.id)
        return weigh(family, history, readings)
    except (DriverProblem, SuiteProblem) as failure:
        blame = "driver" if isinstance(failure, DriverProblem) else "suite"
        return Outcome(program.id, {}, {}, (), {}, str(failure), blame)
    finally:
        execution.close()


def _arms(plan: Plan) -> Iterator[Any]:
    return (op for program in plan.programs for op in program.ops if op.op == "arm")
