"""A right driver that offers less is not accused: without faults of the store, without rows, without a status log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.carriers.inprocess import InProcessCarrier
from conformance.kit import Ports, Runtime, Setup
from conformance.outcome import run_schedule
from conformance.search.plan import make_plan
from reference_impl.driver import Reference
from tests.checkers.histories import FAMILY


class _Logless:
    """A runtime whose snapshots have no status log."""

    def __init__(self, whole: Runtime) -> None:
        self._whole = whole
        self.command, self.recover = whole.command, whole.recover

    def snapshot(self) -> Mapping[str, Any]:
        shown = self._whole.snapshot()
        return {**shown, "kinds": {k: rows for k, rows in shown["kinds"].items() if k != "status_log"}}


class Logless(Reference):
    """The reference as a driver that keeps no status log."""

    def open(self, setup: Setup, ports: Ports) -> Runtime:
        return _Logless(super().open(setup, ports))


def _run(make: type[Reference], rung: str, *scenarios: str) -> tuple[set[str], set[tuple[str, str]]]:
    """What is named, and the cells that occur, over the ``ci`` schedules of some scenarios."""
    carrier = InProcessCarrier("driver", make)
    carrier.rung = rung
    family = replace(FAMILY, scenarios=tuple(s for s in FAMILY.scenarios if s.id in scenarios))
    plan = make_plan(family, carrier, "ci")
    found = [run_schedule(family, program, carrier, {}) for program in plan.programs]
    assert found
    assert not [o.problem for o in found if o.problem]
    cells = {(r, cell) for o in found for r, counts in o.met.items() for cell in counts}
    return {r for o in found for r in o.named}, cells


@pytest.mark.parametrize("rung", ["L0", "L1", "L2"])
def test_the_reference_on_every_rung(rung: str) -> None:
    accused, cells = _run(Reference, rung, "mutation/invoke-keyed")
    assert accused == set()
    assert ("REPLAY-012", "while-pending") in cells
    assert (("REPLAY-012", "before-reservation") in cells) == (rung == "L2")


def test_a_driver_without_a_status_log_meets_the_same_cells() -> None:
    scenarios = ("mutation/cancel-prepared", "mutation/recover-beside-held-worker", "mutation/recover-prepared")
    accused, cells = _run(Logless, "L2", *scenarios)
    assert accused == set()
    assert cells == _run(Reference, "L2", *scenarios)[1]
