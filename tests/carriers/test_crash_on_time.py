"""A process that goes on with its command when it is told the time, and crashes there, has not failed to answer."""

from __future__ import annotations

from conformance.drivers import twin_maker
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.mutation_host.scenarios import CONFIG, invoke
from conformance.outcome import run_schedule
from conformance.search.program import SETTLE, Op, Program, script, start, time


def test_a_deadline_that_leads_to_an_armed_crash() -> None:
    crash = Op("arm", {"proc": "w1", "point": "invoke.send:answered", "nth": 1, "action": "crash"})
    ops = (start("w1"), crash, script("late"), invoke("w1", "q1", "m1", "k1"), time(21_000), SETTLE)
    make = twin_maker("reference")
    assert make is not None
    carrier = make()
    try:
        outcome = run_schedule(MUTATION_HOST, Program("p", MUTATION_HOST.id, CONFIG, ops, {}), carrier, {})
    finally:
        carrier.shutdown()
    assert (outcome.problem, outcome.named, outcome.missed) == (None, (), ())
