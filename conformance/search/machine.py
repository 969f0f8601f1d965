"""The Hypothesis state machine behind random walks: it throws the dice, and rarity loads them.

There is one rule, which draws eight bytes and nothing else. Which moves are offered, and what they weigh, depends on
all walks before; were that drawn from Hypothesis, the same beginning of a walk would be drawn differently at another
time, which it refuses. The bytes choose among the moves that :class:`Moves` offers by the weights of :class:`Rarity`.
The rule runs live, so that a move is offered only where it can do something; nothing is asserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from conformance.carriers.base import DriverProblem, SuiteProblem
from conformance.search.execute import Execution
from conformance.search.moves import Moves
from conformance.search.program import Op
from conformance.search.rarity import Rarity

Problem = DriverProblem | SuiteProblem
DICE = st.binary(min_size=8, max_size=8)


def explore(
    moves: Moves,
    rarity: Rarity,
    seed_value: int,
    examples: int,
    steps: int,
    begin: Callable[[], Execution],
    finish: Callable[[Execution, list[Op], Problem | None], None],
) -> None:
    """Take ``examples`` walks of at most ``steps`` moves; ``finish`` gets each with the ops that it did.

    A walk on which the driver or the suite fails goes no further; the problem is handed over with it.
    """

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.run = begin()
            self.ops: list[Op] = []
            self.serial = 0
            self.problem: Problem | None = None
            rarity.begin()

        def teardown(self) -> None:
            finish(self.run, self.ops, self.problem)

        @rule(dice=DICE)
        def move(self, dice: bytes) -> None:
            if self.problem is not None:
                return
            # Hypothesis likes to repeat what it drew; walk and step make another throw of it.
            chance = Random(b"%d/%d/%d/" % (seed_value, rarity.reached.walks, len(self.ops)) + dice)
            offered = list(moves.offered(self.run, self.serial + 1, first=not self.ops))
            [chosen] = chance.choices(offered, [m.share * rarity.weight(m.name) for m in offered])
            made = chosen.make(chance)
            self.serial += any(op.op == "call" for op in made)
            for op in made:
                self.ops.append(op)
                try:
                    self.run.do(op)
                except (DriverProblem, SuiteProblem) as problem:
                    self.problem = problem
                    return
            flags = ("paused",) * bool(self.run.paused()) + ("held",) * bool(self.run.held())
            rarity.led_to(chosen.name, self.run.latest_rows, flags)

    with _nothing_mixed_in():
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


@contextmanager
def _nothing_mixed_in() -> Iterator[None]:
    """Keep constants of the source out of what is drawn, so that the same seed makes the same walks everywhere.

    Hypothesis mixes in what it finds in the modules that happen to be loaded and lie outside of site-packages: other
    walks for another command, another number of processes, another way to install.
    """
    usual = providers._get_local_constants
    providers.CONSTANTS_CACHE.cache.clear()
    providers._get_local_constants = Constants
    try:
        yield
    finally:
        providers._get_local_constants = usual
        providers.CONSTANTS_CACHE.cache.clear()
