"""The kill matrix: every deviation has to be found, every legal variant to survive, every lazy driver to fail.

The written selection is the ``ci`` sweep of the family (scenarios, single faults, remote faults, one preemption),
all of it, without the random walks and without stopping at the first find.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from conformance.carriers.base import Carrier
from conformance.families import FAMILIES
from conformance.outcome import run_schedule
from conformance.run import judged_requirements, narrowed, schedule_record
from conformance.search.plan import make_plan
from conformance.search.pool import begin_worker
from conformance.verdict import Tally, standings
from statemachines.spec import load

BUDGET: Final = "ci"
MAX_MEDIAN_NAMED: Final = 5
MAX_FOREIGN_SHARE: Final = 0.15
MAX_LAZY_PASSED: Final = 1


@dataclass(frozen=True, slots=True)
class Suspect:
    """One driver of the matrix: how to make it, and what kind it is (deviation, variant, lazy)."""

    kind: str
    id: str
    names: str
    purpose: str
    family: str
    make: Callable[[], Carrier]
    readings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What the selection said of one suspect: requirement -> schedules that named it, and the statuses."""

    kind: str
    id: str
    names: str
    named: Mapping[str, int]
    first: int | None
    schedules: int
    missed: int
    passed: tuple[str, ...]
    problems: int
    uncovered: tuple[str, ...]

    @property
    def found(self) -> bool:
        """For a deviation: its own requirement is among those named."""
        return self.names in self.named

    @property
    def survived(self) -> bool:
        """For a variant: nothing was named, nothing went wrong, and every reachable cell occurred."""
        return not self.named and not self.problems and not self.uncovered and not self.missed


_suspects: Sequence[Suspect] = ()
_scenarios: tuple[str, ...] = ()


def matrix(suspects: Sequence[Suspect], jobs: int, scenarios: Sequence[str] = ()) -> Iterator[Result]:
    """The results in order, from ``jobs`` processes; ``scenarios`` are patterns that narrow the selection."""
    global _suspects, _scenarios
    _suspects, _scenarios = suspects, tuple(scenarios)
    if jobs <= 1:
        yield from map(_examine, range(len(suspects)))
        return
    with multiprocessing.get_context("fork").Pool(jobs, begin_worker, maxtasksperchild=1) as pool:
        yield from pool.imap(_examine, range(len(suspects)), chunksize=1)


def _examine(number: int) -> Result:
    suspect = _suspects[number]
    family = FAMILIES[suspect.family]
    if _scenarios:
        (family,) = narrowed([family], _scenarios)
    carrier = suspect.make()
    requirements = judged_requirements(load(), [family], ())
    judged = {r.id for r in requirements}
    tally, first = Tally(), None
    plan = make_plan(family, carrier, BUDGET)
    for count, program in enumerate(plan.programs, 1):
        record = schedule_record(run_schedule(family, program, carrier, suspect.readings), judged)
        tally.add(record)
        if first is None and suspect.names in record["named"]:
            first = count
    carrier.shutdown()
    found = standings(requirements, tally, "L2", _unreachable(suspect), {})
    return Result(
        suspect.kind,
        suspect.id,
        suspect.names,
        dict(sorted(tally.named.items())),
        first,
        tally.schedules,
        tally.missed,
        tuple(s.requirement.id for s in found if s.status == "pass") if not tally.problems else (),
        len(tally.problems),
        tuple(s.requirement.id for s in found if s.status == "uncovered"),
    )


def _unreachable(suspect: Suspect) -> list[str]:
    from conformance.run import unreachable  # noqa: PLC0415

    return unreachable(load(), suspect.readings)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the matrix proves what it has to; each complaint is one sentence."""

    complaints: tuple[str, ...]
    median_named: float
    totals: Mapping[str, int]


def judge_matrix(results: Sequence[Result]) -> Judgement:
    """Hold the matrix against the rules of DESIGN section 8."""
    deviations = [r for r in results if r.kind == "deviation"]
    variants = [r for r in results if r.kind == "variant"]
    lazy = [r for r in results if r.kind == "lazy"]
    complaints = [f"deviation {r.id} was not found by {r.names}" for r in deviations if not r.found]
    for r in variants:
        if not r.survived:
            named = ", ".join(r.named) or ", ".join(f"{u} uncovered" for u in r.uncovered) or f"{r.problems} problems"
            complaints.append(f"variant {r.id} ({r.names}) did not survive: {named}")
    for r in lazy:
        if len(r.passed) > MAX_LAZY_PASSED:
            complaints.append(f"lazy driver {r.id} passes {', '.join(r.passed)}")
    middle = float(median(len(r.named) for r in deviations)) if deviations else 0.0
    if middle > MAX_MEDIAN_NAMED:
        complaints.append(f"a deviation names {middle:g} requirements in the median, more than {MAX_MEDIAN_NAMED}")
    complaints.extend(_loud(deviations))
    totals = {
        "deviations": len(deviations),
        "found": sum(r.found for r in deviations),
        "variants": len(variants),
        "survived": sum(r.survived for r in variants),
        "lazy": len(lazy),
    }
    return Judgement(tuple(complaints), middle, totals)


def _loud(deviations: Sequence[Result]) -> Iterator[str]:
    for requirement in sorted({name for r in deviations for name in r.named}):
        foreign = [r for r in deviations if r.names != requirement]
        share = sum(requirement in r.named for r in foreign) / len(foreign) if foreign else 0.0
        if share > MAX_FOREIGN_SHARE:
            yield f"{requirement} is named by {share:.0%} of foreign deviations, more than {MAX_FOREIGN_SHARE:.0%}"


def document(results: Sequence[Result], judgement: Judgement) -> dict[str, Any]:
    """The matrix as programs read it."""
    total = len(judged_requirements(load(), FAMILIES.values(), ()))
    return {
        "deviations": [
            {
                "id": r.id,
                "requirement": r.names,
                "found": r.found,
                "named": list(r.named),
                "schedules": r.schedules,
                "first": r.first,
            }
            for r in results
            if r.kind == "deviation"
        ],
        "variants": [
            {"id": r.id, "reading": r.names, "survived": r.survived, "named": list(r.named)}
            for r in results
            if r.kind == "variant"
        ],
        "lazy": [{"name": r.id, "passed": len(r.passed), "total": total} for r in results if r.kind == "lazy"],
        "median_named": judgement.median_named,
        "complaints": list(judgement.complaints),
    }
