"""Every legal variant is another behaviour, and the suite lets it survive."""

from __future__ import annotations

import pytest

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.history import History
from conformance.outcome import Outcome, run_schedule, weigh
from conformance.run import unreachable
from conformance.search.execute import Execution
from conformance.search.plan import make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference
from reference_impl.planting import Planted
from reference_impl.variants import VARIANTS
from statemachines.spec import load
from tests.variants.programs import SHOWS, showing

MUTATION = [v for v in VARIANTS if v.family == MUTATION_HOST.id]
#: Of the schedules of the ``ci`` budget every so-manieth; the kill matrix runs them all.
STRIDE = 13


def carrier(variant: Planted) -> InProcessCarrier:
    return InProcessCarrier(variant.id, variant.implementation())


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
    plan = make_plan(MUTATION_HOST, where, "ci")
    assert plan.out_of_tier == ()
    for program in plan.programs[::STRIDE]:
        outcome = run_schedule(MUTATION_HOST, program, where, variant.readings)
        assert named(outcome) == []
        assert outcome.missed == ()


@pytest.mark.parametrize("variant", [v for v in MUTATION if v.readings], ids=lambda v: v.id)
def test_a_cell_that_a_reading_rules_out_does_not_occur(variant: Planted) -> None:
    ruled_out = set(unreachable(load(), variant.readings))
    where = carrier(variant)
    programs = [p for p in make_plan(MUTATION_HOST, where, "ci").programs if p.id.endswith("+recover/continue")]
    assert programs
    for program in programs:
        met = run_schedule(MUTATION_HOST, program, where, variant.readings).met
        assert {f"{r}/{c}" for r, cells in met.items() for c in cells} & ruled_out == set()


def test_each_variant_has_a_program_that_shows_it() -> None:
    assert set(SHOWS) == {v.id for v in MUTATION}
