"""The plan: which schedules a budget holds for one family, in their fixed order (DESIGN section 6)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from conformance.carriers.base import Carrier
from conformance.families.base import Family
from conformance.search import sweep
from conformance.search.process import Point
from conformance.search.program import Program
from conformance.search.record import OutOfTier, record
from conformance.search.scenario import Scenario

Maker = Callable[[sweep.Material], Iterator[Program]]
T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Sheet:
    """The schedules of one scenario on one driver; ``basis`` is what was recorded, ``reason`` why there are none."""

    scenario: str
    basis: tuple[Program, tuple[Point, ...]] | None
    programs: tuple[Program, ...]
    points: int
    reason: str | None = None


def lay_out(family: Family, scenario: Scenario, carrier: Carrier, budget: str, known: Sheet | None = None) -> Sheet:
    """Record one scenario, then make the schedules of the budget from it.

    A ``known`` sheet is returned as it is if the recording comes out the same: what it was made from is there then.
    A script of which nothing else is made, and which names no call, needs no recording.
    """
    if not scenario.symbolic and not scenario.swept:
        program = scenario.program()
        return Sheet(scenario.id, (program, ()), (sweep.once(program, sweep.epilogues(scenario, family.tail)),), 0)
    try:
        recording = record(scenario.program(), carrier, family.contract)
    except OutOfTier as reason:
        return Sheet(scenario.id, None, (), 0, str(reason))
    basis = (recording.program, recording.points)
    if known is not None and known.basis == basis:
        return known
    material = sweep.Material(
        recording,
        scenario,
        sweep.epilogues(scenario, family.tail),
        lambda program: record(program, carrier, family.contract),
    )
    programs = tuple(program for make in BUDGETS[budget] for program in make(material))
    return Sheet(scenario.id, basis, programs, len(material.points))


def joined(sheets: Iterable[Sheet]) -> Plan:
    """The plan that the sheets of a family's scenarios make, in their order."""
    laid = tuple(sheets)
    return Plan(
        tuple(program for sheet in laid for program in sheet.programs),
        tuple((sheet.scenario, sheet.reason) for sheet in laid if sheet.reason is not None),
        sum(sheet.points for sheet in laid),
    )


def make_plan(family: Family, carrier: Carrier, budget: str) -> Plan:
    """Record every scenario of the family once, then lay out the schedules of the budget."""
    return joined(lay_out(family, scenario, carrier, budget) for scenario in family.scenarios)


def stratum(program: Program) -> str:
    """What a schedule has in common with those that differ in the recorded call alone: its id without that."""
    return _POINT.sub("", program.id)


def stratified(programs: Sequence[Program], per_stratum: int) -> tuple[Program, ...]:
    """A fixed sample: the first ``per_stratum`` schedules of every (scenario, kind of fault, ending), in order."""
    taken: dict[str, int] = {}
    sample = []
    for program in programs:
        name = stratum(program)
        if taken.get(name, 0) < per_stratum:
            taken[name] = taken.get(name, 0) + 1
            sample.append(program)
    return tuple(sample)


#: The part of a schedule's id that names one recorded call.
_POINT = re.compile(r"[^/+]*#\d+")


def spread(programs: Iterable[Program]) -> list[Program]:
    """All of them, in an order in which every beginning is spread over the strata as evenly as it can be."""
    strata: dict[str, list[Program]] = defaultdict(list)
    for program in programs:
        strata[stratum(program)].append(program)
    # The strata themselves follow each other in plan order, so that a short beginning would know one scenario alone.
    return in_turn([_halved(members) for members in _halved(list(strata.values()))])


def reduced(programs: Sequence[Program], scenarios: Iterable[str], count: int) -> tuple[list[Program], list[Program]]:
    """Every scenario once and ``count`` schedules spread over the strata; and the rest, spread as well."""
    alone = frozenset(scenarios)
    ordered = spread(programs)
    first = {p.id for p in ordered[:count]} | alone
    return [p for p in programs if p.id in first], [p for p in ordered if p.id not in first]


def in_turn(groups: Sequence[Sequence[T]]) -> list[T]:
    """The first of each group, then the second of each, until all are spent."""
    longest = max((len(group) for group in groups), default=0)
    return [group[place] for place in range(longest) for group in groups if place < len(group)]


def _halved(items: Sequence[T]) -> list[T]:
    """The same items: the first, then the middle, then the middles of the halves, and so on."""
    bits = max(len(items) - 1, 1).bit_length()
    places = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [items[place] for place in places if place < len(items)]
