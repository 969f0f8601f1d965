"""Random walks: a Hypothesis state machine over the same ops as everything else.

Hypothesis chooses and the suite judges. A walk that violates something is an ordinary program: it is shrunk and
replayed without Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from conformance.carriers.base import Carrier, DriverProblem, SuiteProblem
from conformance.families.base import Family
from conformance.outcome import Outcome, weigh
from conformance.search.execute import Execution
from conformance.search.moves import Moves
from conformance.search.plan import Plan
from conformance.search.pool import Maker, Own, in_order
from conformance.search.program import FREE, RESTART, SNAPSHOT, Op, Program
from conformance.search.rarity import Rarity, Reached

#: Walks for each budget.
WALKS: Final = {"quick": 0, "ci": 300, "nightly": 3000}
STEPS: Final = 14


@dataclass(frozen=True, slots=True)
class WalkResult:
    """One walk as a program, and its outcome."""

    program: Program
    outcome: Outcome


def blocks(examples: int) -> tuple[int, ...]:
    """How many walks each block has: the same for any number of processes. A block learns from its own walks alone."""
    size = min(max(examples // 8, 50), 500)
    return tuple(min(size, examples - begun) for begun in range(0, examples, size))


def walks(
    family: Family,
    make_carrier: Maker,
    plan: Plan,
    seed: int,
    examples: int,
    readings: Mapping[str, str],
    jobs: int,
) -> Iterator[tuple[list[WalkResult], Reached]]:
    """At least ``examples`` walks, block by block from ``jobs`` processes, and what each block reached."""
    carrier = Own(make_carrier)
    sizes = blocks(examples)

    def block(number: int) -> tuple[list[WalkResult], Reached]:
        taken: list[WalkResult] = []
        reached = walk(family, carrier(), plan, seed, sizes[number], readings, taken.append, number)
        return taken, reached

    try:
        yield from in_order(block, len(sizes), jobs, chunk=1)
    finally:
        carrier.close()


def walk(
    family: Family,
    carrier: Carrier,
    plan: Plan,
    seed: int,
    examples: int,
    readings: Mapping[str, str],
    take: Callable[[WalkResult], None],
    block: int = 0,
) -> Reached:
    """Do at least ``examples`` walks of one family and hand over each as it ends; the same seed, the same walks."""
    # Hypothesis is imported late: most commands never walk.
    from conformance.search.machine import explore  # noqa: PLC0415

    arms = sorted({(op.args["point"], op.args["action"], op.args.get("world")) for op in _arms(plan)}, key=repr)
    rarity = Rarity(family.id)
    done = 0

    def begin() -> Execution:
        # No op is known yet, so the remote has to understand every configuration that the walk may bring.
        contract = family.contract((family.walk.config, *family.walk.configs.values()))
        execution = Execution(_program(family, seed, block, done, ()), carrier, lambda _: contract, lenient=True)
        execution.begin()
        return execution

    def finish(execution: Execution, ops: list[Op], problem: DriverProblem | SuiteProblem | None) -> None:
        nonlocal done
        ending = closing(family, restart=done % 2 == 0)
        program = _program(family, seed, block, done, (*ops, *ending))
        done += 1
        take(WalkResult(program, _outcome(family, program, execution, ending, readings, problem)))

    explore(Moves(family.walk, arms), rarity, _derived(seed, block), examples, STEPS, begin, finish)
    return rarity.reached


def _derived(seed: int, block: int) -> int:
    """The seed of one block."""
    return int.from_bytes(sha256(f"{seed}/{block}".encode()).digest()[:8])


def closing(family: Family, restart: bool) -> tuple[Op, ...]:
    """How every walk ends: with or without a restart, then recovery, time, retries and a last look."""
    return (RESTART if restart else FREE, *family.walk.closing, SNAPSHOT)


def _program(family: Family, seed: int, block: int, number: int, ops: tuple[Op, ...]) -> Program:
    return Program(f"walk/{family.id}/{seed}/{block}.{number}", family.id, family.walk.config, ops, {})


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
