"""Every legal variant is another behaviour, and the suite lets it survive."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.history import History
from conformance.outcome import Outcome, run_schedule, weigh
from conformance.scope import unreachable
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference
from reference_impl.planting import Planted
from reference_impl.registry import planted
from reference_impl.variants import VARIANTS
from statemachines.spec import load
from tests.variants.programs import SHOWS, showing

MUTATION = [v for v in VARIANTS if v.family == MUTATION_HOST.id]
#: Every scenario once, and of the schedules with faults every so-manieth, second preemptions left out; the kill matrix
#: runs them all.
STRIDE = 23
FAMILY = replace(MUTATION_HOST, scenarios=tuple(replace(s, twice=()) for s in MUTATION_HOST.scenarios))


def carrier(variant: Planted) -> InProcessCarrier:
    return InProcessCarrier(variant.id, variant.implementation())


@cache
def schedules(variant: str) -> tuple[Program, ...]:
    """The ``ci`` sweep of one variant, recorded once."""
    plan = make_plan(FAMILY, carrier(planted(variant)), "ci")
    assert plan.out_of_tier == ()
    return plan.programs


def history(program: Program, where: InProcessCarrier) -> History:
    return Execution(program, where, MUTATION_HOST.contract).run()


def named(outcome: Outcome) -> list[str]:
    """What the suite holds against one schedule."""
    found = [f"{outcome.schedule}: {r}: {v.happened}" for r, vs in outcome.violations.items() for v in vs]
    return found + ([f"{outcome.schedule}: {outcome.problem}"] if outcome.problem else [])


@pytest.mark.parametrize("variant", MUTATION, ids=lambda v: v.id)
def test_a_variant_behaves_otherwise_and_is_not_named(variant: Planted) -> None:
    program = showing(variant.id)
    reference = history(program, InProcessCarrier("reference", Reference))
    other = history(program, carrier(variant))
    assert other.canonical() != reference.canonical()
    assert named(weigh(MUTATION_HOST, other, variant.readings)) == []


@pytest.mark.parametrize("variant", MUTATION, ids=lambda v: v.id)
def test_a_variant_survives_a_selection_of_the_sweep(variant: Planted) -> None:
    where = carrier(variant)
    programs = schedules(variant.id)
    plain = [p for p in programs if "@" not in p.id]
    assert len(plain) == len(MUTATION_HOST.scenarios)
    for program in (*plain, *programs[::STRIDE]):
        outcome = run_schedule(MUTATION_HOST, program, where, variant.readings)
        assert named(outcome) == []
        assert outcome.missed == ()


@pytest.mark.parametrize("variant", [v for v in MUTATION if v.readings], ids=lambda v: v.id)
def test_a_cell_that_a_reading_rules_out_does_not_occur(variant: Planted) -> None:
    ruled_out = set(unreachable(load(), variant.readings))
    where = carrier(variant)
    programs = [p for p in schedules(variant.id) if p.id.endswith("+recover/continue")]
    assert programs
    for program in programs:
        met = run_schedule(MUTATION_HOST, program, where, variant.readings).met
        assert {f"{r}/{c}" for r, cells in met.items() for c in cells} & ruled_out == set()


def test_each_variant_has_a_program_that_shows_it() -> None:
    assert set(SHOWS) == {v.id for v in MUTATION}
