"""The Hypothesis state machine behind random walks: rules over commands, faults, the remote, time and kills.

Its rules run live, so that a rule is offered only where it can do something; no rule asserts anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from conformance.carriers.base import DriverProblem, SuiteProblem
from conformance.families.base import Walk
from conformance.search.execute import Execution
from conformance.search.program import SETTLE, Op, kill, release, script, start

ArmChoice = tuple[str, str, str | None]
Problem = DriverProblem | SuiteProblem
REMOTE = ("hold", "apply-then-drop", "drop-before-read", "definite-refusal", "malformed", "partial", "status")
ANSWERS = ("success", "definite-refusal", "apply-then-drop")


def explore(
    walk: Walk,
    arms: Sequence[ArmChoice],
    seed_value: int,
    examples: int,
    steps: int,
    begin: Callable[[], Execution],
    finish: Callable[[Execution, list[Op], Problem | None], None],
) -> None:
    """Take ``examples`` walks of at most ``steps`` rules; ``finish`` gets each with the ops that it did.

    A walk on which the driver or the suite fails goes no further; the problem is handed over with it.
    """

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.run = begin()
            self.ops: list[Op] = []
            self.serial = 0
            self.problem: Problem | None = None

        def do(self, *ops: Op) -> None:
            for op in ops:
                if self.problem is not None:
                    return
                self.ops.append(op)
                try:
                    self.run.do(op)
                except (DriverProblem, SuiteProblem) as problem:
                    self.problem = problem

        def teardown(self) -> None:
            finish(self.run, self.ops, self.problem)

        @rule(command=st.sampled_from(walk.commands), which=st.integers(0, 2), proc=st.integers(0, 1))
        def call(self, command: Any, which: int, proc: int) -> None:
            name = command.procs[proc % len(command.procs)]
            if self.run.busy(name):
                return
            self.serial += 1
            ready = () if self.run.alive(name) else (start(name),)
            self.do(*ready, command.make(name, which, self.serial))

        # A driver below L2 offers no points: then the rule is never taken.
        @precondition(lambda _: bool(arms))
        @rule(
            arm=st.sampled_from(arms or [("", "none", None)]), nth=st.integers(1, 2), proc=st.sampled_from(walk.workers)
        )
        def arm(self, arm: ArmChoice, nth: int, proc: str) -> None:
            if self.run.busy(proc):
                return
            ready = () if self.run.alive(proc) else (start(proc),)
            args = {"proc": proc, "point": arm[0], "nth": nth, "action": arm[1]}
            self.do(*ready, Op("arm", args if arm[2] is None else {**args, "world": arm[2]}))

        @precondition(lambda _: walk.remote)
        @rule(kind=st.sampled_from(REMOTE))
        def remote(self, kind: str) -> None:
            self.do(script(kind))

        @precondition(lambda self: self.run.held())
        @rule(answer=st.sampled_from(ANSWERS), data=st.data())
        def let_go(self, answer: str, data: st.DataObject) -> None:
            self.do(release(data.draw(st.sampled_from(self.run.held())), answer))

        @precondition(lambda self: self.run.paused())
        @rule(data=st.data())
        def resume(self, data: st.DataObject) -> None:
            self.do(Op("resume", {"proc": data.draw(st.sampled_from(self.run.paused()))}))

        @precondition(lambda self: any(self.run.alive(p) for p in walk.workers))
        @rule(proc=st.sampled_from(walk.workers))
        def kill(self, proc: str) -> None:
            if self.run.alive(proc):
                self.do(kill(proc))

        @rule(op=st.sampled_from(walk.times))
        def time(self, op: Op) -> None:
            self.do(op, SETTLE)

    run_state_machine_as_test(
        seed(seed_value)(Machine),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )
