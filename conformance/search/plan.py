"""The plan: which schedules a budget holds for one family, in their fixed order (DESIGN section 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.carriers.base import Carrier
from conformance.families.base import Family
from conformance.search import sweep
from conformance.search.program import Program
from conformance.search.record import OutOfTier, record

Maker = Callable[[sweep.Material], Iterator[Program]]

#: budget -> what is made of each scenario, in order.
BUDGETS: Final[dict[str, tuple[Maker, ...]]] = {
    "quick": (sweep.scenario_once,),
    "ci": (
        sweep.scenario_once,
        sweep.single_faults,
        sweep.outages,
        sweep.remote_faults,
        sweep.preemptions,
        sweep.second_preemptions,
    ),
    "nightly": (
        sweep.scenario_once,
        sweep.single_faults,
        sweep.outages,
        sweep.remote_faults,
        sweep.preemptions,
        sweep.second_preemptions,
        sweep.faults_under_preemption,
    ),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """The schedules of one family, and the scenarios that the driver's rung cannot run, with the reason."""

    programs: tuple[Program, ...]
    out_of_tier: tuple[tuple[str, str], ...]
    points: int


def make_plan(family: Family, carrier: Carrier, budget: str) -> Plan:
    """Record every scenario of the family once, then lay out the schedules of the budget."""
    programs: list[Program] = []
    skipped: list[tuple[str, str]] = []
    points = 0
    for scenario in family.scenarios:
        try:
            recording = record(scenario.program(), carrier, family.contract)
        except OutOfTier as reason:
            skipped.append((scenario.id, str(reason)))
            continue
        material = sweep.Material(
            recording,
            scenario,
            sweep.epilogues(scenario, family.tail),
            lambda program: record(program, carrier, family.contract),
        )
        points += len(material.points)
        for make in BUDGETS[budget]:
            programs.extend(make(material))
    return Plan(tuple(programs), tuple(skipped), points)


def stratified(programs: Sequence[Program], per_stratum: int) -> tuple[Program, ...]:
    """A fixed sample: the first ``per_stratum`` schedules of every (scenario, kind of fault, ending), in order."""
    taken: dict[str, int] = {}
    sample = []
    for program in programs:
        stratum = _POINT.sub("", program.id)
        if taken.get(stratum, 0) < per_stratum:
            taken[stratum] = taken.get(stratum, 0) + 1
            sample.append(program)
    return tuple(sample)


#: The part of a schedule's id that names one recorded call.
_POINT = re.compile(r"[^/+]*#\d+")
