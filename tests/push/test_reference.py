"""The reference keeps the fifteen: nothing is named, nothing missed, every cell met, and only with its faults."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from conformance.carriers.base import Carrier
from conformance.carriers.subprocess import ForkedCarrier
from conformance.outcome import weigh
from conformance.search.disarm import disarm
from conformance.search.execute import Execution
from conformance.search.plan import stratified
from tests.push.runs import CARRIER, CELLS, FAMILY, cells, history, outcomes, plan

FAULTS = sorted({fault for cell in CELLS.values() for fault in cell.needs})


def test_nothing_is_named_and_nothing_missed() -> None:
    assert plan().out_of_tier == ()
    found = [outcome for _, outcome in outcomes()]
    assert len(found) > 1000
    assert [o.schedule for o in found if o.violations or o.problem or o.missed or o.gaps] == []


def test_every_cell_of_the_live_requirements_occurs() -> None:
    met = cells(outcome for _, outcome in outcomes())
    assert [cell for cell in CELLS if not met[cell]] == []
    assert set(met) <= set(CELLS), "a checker meets a cell that no requirement has"


@pytest.mark.parametrize("fault", FAULTS)
def test_without_its_fault_a_cell_does_not_occur(fault: str) -> None:
    mine = {cell for cell, spec in CELLS.items() if fault in spec.needs}
    met_in = [program for program, outcome in outcomes() if mine & set(cells([outcome]))]
    assert met_in
    for program in met_in:
        disarmed = weigh(FAMILY, history(disarm(program, {fault}, FAMILY.roles)), {})
        assert mine & set(cells([disarmed])) == set(), program.id


@pytest.fixture(scope="module")
def forked() -> Iterator[Carrier]:
    made = ForkedCarrier("reference", [sys.executable, "-m", "reference_impl"])
    yield made
    made.shutdown()


def test_a_sample_leaves_equal_evidence_in_real_processes(forked: Carrier) -> None:
    sample = stratified(plan().programs, 1)[::5]
    assert len(sample) > 30
    for program in sample:
        real = Execution(program, forked, FAMILY.contract).run()
        simulated = Execution(program, CARRIER, FAMILY.contract).run()
        assert real.canonical() == simulated.canonical(), program.id
