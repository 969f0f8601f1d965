"""The simulated process is faithful: real ones give the same evidence for the same schedule."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import pytest

from conformance.carriers.base import Carrier
from conformance.carriers.inprocess import InProcessCarrier
from conformance.carriers.subprocess import ForkedCarrier, ProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.search.execute import Execution
from conformance.search.plan import make_plan, stratified
from conformance.search.program import Program, call, start
from conformance.search.record import record
from conformance.search.scenario import Scenario
from reference_impl.driver import Reference

REFERENCE = [sys.executable, "-m", "reference_impl"]
SIMULATED = InProcessCarrier("reference", Reference)
CONTRACT = MUTATION_HOST.contract


@pytest.fixture(scope="module")
def forked() -> Iterator[Carrier]:
    made = ForkedCarrier("reference", REFERENCE)
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def spawned() -> Iterator[Carrier]:
    made = ProcessCarrier("reference", REFERENCE)
    yield made
    made.shutdown()


@cache
def planned() -> tuple[Program, ...]:
    """All schedules of the ``ci`` budget."""
    return make_plan(MUTATION_HOST, SIMULATED, "ci").programs


def evidence(program: Program, carrier: Carrier) -> str:
    """What one run of a schedule leaves as evidence."""
    return Execution(program, carrier, CONTRACT).run().canonical()


@pytest.mark.parametrize("scenario", MUTATION_HOST.scenarios, ids=lambda s: s.id)
def test_recordings_are_equal_in_points_and_evidence(scenario: Scenario, forked: Carrier) -> None:
    simulated = record(scenario.program(), SIMULATED, CONTRACT)
    real = record(scenario.program(), forked, CONTRACT)
    assert real.points == simulated.points
    assert real.program == simulated.program
    assert real.history.canonical() == simulated.history.canonical()


def test_a_stratified_sample_of_the_sweep_is_equal(forked: Carrier) -> None:
    sample = stratified(planned(), 1)[::4]
    assert len(sample) > 30
    for program in sample:
        assert evidence(program, forked) == evidence(program, SIMULATED), program.id


@pytest.mark.parametrize("fault", ["committed#1@crash/restart", "remote@hold-kill/restart", "remote@partial/continue"])
def test_processes_that_are_started_and_not_forked_are_equal_too(fault: str, spawned: Carrier) -> None:
    [program, *_] = [p for p in planned() if p.id.startswith("mutation/invoke-keyed") and p.id.endswith(fault)]
    assert evidence(program, spawned) == evidence(program, SIMULATED)


def test_the_same_schedule_twice_leaves_the_same_evidence(forked: Carrier) -> None:
    program = next(p for p in planned() if "@pause+recover-duplicate" in p.id)
    assert evidence(program, forked) == evidence(program, forked)


def test_a_difference_would_be_seen(forked: Carrier) -> None:
    scenario = MUTATION_HOST.scenarios[0]
    program = scenario.program()
    longer = program.with_ops("", (*program.ops, start("w9"), call("w9", "host.describe")))
    assert evidence(longer, forked) != evidence(program, SIMULATED)
