"""The ``ci`` plan of settle lanes over the reference, run once for all tests of this folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.settle_lanes import SETTLE_LANES
from conformance.history import History
from conformance.outcome import Outcome, weigh
from conformance.search.execute import Execution
from conformance.search.plan import Plan, make_plan
from conformance.search.program import Program
from reference_impl.driver import Reference
from statemachines.spec import load

FAMILY = SETTLE_LANES
CARRIER = InProcessCarrier("reference", Reference)
LIVE = [r for r in load().requirements.values() if r.status == "live" and r.id in FAMILY.checkers]
CELLS = {f"{r.id}/{c.id}": c for r in LIVE for c in r.cells}


@cache
def plan() -> Plan:
    return make_plan(FAMILY, CARRIER, "ci")


@cache
def scripts() -> dict[str, Program]:
    """Every scenario as written, by its id without the family's prefix."""
    return {p.id.removeprefix("lane/"): p for p in make_plan(FAMILY, CARRIER, "quick").programs}


def history(program: Program) -> History:
    return Execution(program, CARRIER, FAMILY.contract).run()


@cache
def outcomes() -> tuple[tuple[Program, Outcome], ...]:
    return tuple((program, weigh(FAMILY, history(program), {})) for program in plan().programs)


def cells(found: Iterable[Outcome]) -> Counter[str]:
    total: Counter[str] = Counter()
    for outcome in found:
        for requirement, met in outcome.met.items():
            total.update({f"{requirement}/{cell}": count for cell, count in met.items()})
    return total
