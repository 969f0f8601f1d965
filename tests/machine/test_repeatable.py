"""The same seed gives the same schedules, outcomes and histories, from however many processes."""

from __future__ import annotations

from collections.abc import Callable

from conformance.outcome import Outcome, run_schedule
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.pool import Job, outcomes
from tests.machine.tiny import TINY, Tiny, TinyTwice, carrier, walks


def sweep_outcomes(jobs: int, make: Callable[[], Tiny] = Tiny) -> list[Outcome]:
    plan = make_plan(TINY, carrier(make), "ci")
    return list(outcomes(Job(TINY, plan.programs, lambda: carrier(make), {}), jobs))


def test_two_plans_are_equal() -> None:
    assert make_plan(TINY, carrier(), "ci") == make_plan(TINY, carrier(), "ci")


def test_two_runs_of_a_schedule_leave_the_same_history() -> None:
    for program in make_plan(TINY, carrier(), "ci").programs[::7]:
        one, two = (Execution(program, carrier(), TINY.contract).run() for _ in range(2))
        assert one.canonical() == two.canonical()
        assert one.events == two.events, "the story as well"


def test_one_process_and_two_give_the_same_outcomes_in_the_same_order() -> None:
    alone = sweep_outcomes(1, TinyTwice)
    assert alone == sweep_outcomes(2, TinyTwice)
    assert any(outcome.violations for outcome in alone)


def test_a_schedule_does_not_depend_on_those_before_it() -> None:
    programs = make_plan(TINY, carrier(), "ci").programs
    shared = carrier()
    after_others = [run_schedule(TINY, p, shared, {}) for p in programs][-1]
    assert run_schedule(TINY, programs[-1], carrier(), {}) == after_others


def test_the_same_seed_gives_the_same_walks_and_another_seed_gives_others() -> None:
    plan = make_plan(TINY, carrier(), "ci")

    one, again, other = (walks(plan, seed=seed, examples=6) for seed in (1, 1, 2))
    assert one == again
    assert [w.program.ops for w in one] != [w.program.ops for w in other]
