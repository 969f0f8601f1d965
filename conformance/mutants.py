"""The kill matrix: every deviation has to be found, every legal variant to survive, every lazy driver to fail.

Which schedules a suspect runs is written in :mod:`conformance.search.selection`: a part of the ``ci`` sweep of its
family, fixed before it starts, without the random walks and without stopping at the first find. ``full`` is the whole
sweep for each, which takes hours.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from conformance.carriers.base import Carrier
from conformance.families import FAMILIES
from conformance.families.base import Family
from conformance.outcome import run_schedule
from conformance.scope import judged_requirements, narrowed, schedule_record
from conformance.search import selection
from conformance.search.plan import lay_out, make_plan
from conformance.search.pool import Job, begin_worker, outcomes, sheets
from conformance.search.program import Program
from conformance.search.selection import Base, Cell
from conformance.verdict import JudgedRequirement, Tally, standings
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
    #: Why it proves nothing yet: the suite does not name it, or has never met it.
    pending: str = ""


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


@dataclass(frozen=True, slots=True)
class _Task:
    """What the workers inherit: the suspects, the families as narrowed, and the reference's sweep of each (if used)."""

    suspects: Sequence[Suspect]
    families: Mapping[str, Family]
    bases: Mapping[str, Base]


_task = _Task((), {}, {})


def matrix(
    suspects: Sequence[Suspect],
    jobs: int,
    reference: Callable[[], Carrier] | None = None,
    scenarios: Sequence[str] = (),
) -> Iterator[Result]:
    """The results in order, from ``jobs`` processes.

    What the ``reference`` meets decides the selection; without it every suspect runs its whole sweep. ``scenarios`` are
    patterns that narrow the sweep itself.
    """
    global _task  # noqa: PLW0603 - inherited by the forked workers
    families = {id_: FAMILIES[id_] for id_ in dict.fromkeys(suspect.family for suspect in suspects)}
    if scenarios:
        families = {f.id: f for f in narrowed(FAMILIES.values(), scenarios)}
        suspects = [s for s in suspects if s.family in families]
    selected = {s.family for s in suspects if s.kind != "lazy"} if reference else set()
    bases = {id_: base_of(families[id_], reference, jobs) for id_ in families if reference and id_ in selected}
    _task = _Task(suspects, families, bases)
    if jobs <= 1:
        yield from map(_examine, range(len(suspects)))
        return
    with multiprocessing.get_context("fork").Pool(jobs, begin_worker, maxtasksperchild=1) as pool:
        yield from pool.imap(_examine, range(len(suspects)), chunksize=1)


def base_of(family: Family, reference: Callable[[], Carrier], jobs: int) -> Base:
    """The whole sweep of a family on the reference, from which selections are made."""
    laid = list(sheets(family, reference, BUDGET, jobs))
    programs = [program for sheet in laid for program in sheet.programs]
    met: dict[str, frozenset[Cell]] = {}
    for outcome in outcomes(Job(family, programs, reference, {}), jobs):
        met[outcome.schedule] = frozenset((r, cell) for r, cells in outcome.met.items() for cell in cells)
    return Base({sheet.scenario: sheet for sheet in laid}, met)


def _examine(number: int) -> Result:
    suspect = _task.suspects[number]
    family = _task.families[suspect.family]
    carrier = suspect.make()
    requirements = judged_requirements(load(), [family], ())
    unreachable = _unreachable(suspect)
    judged = {r.id for r in requirements}
    tally, first = Tally(), None

    def take(program: Program) -> None:
        nonlocal first
        record = schedule_record(run_schedule(family, program, carrier, suspect.readings), judged)
        tally.add(record)
        if first is None and suspect.names in record["named"]:
            first = tally.schedules

    selected, rest = _schedules(suspect, family, carrier)
    for program in selected:
        take(program)
    for program in rest:
        if not _uncovered(requirements, tally, unreachable):
            break
        take(program)
    carrier.shutdown()
    found = standings(requirements, tally, "L2", unreachable, {})
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


def _schedules(suspect: Suspect, family: Family, carrier: Carrier) -> tuple[Sequence[Program], Sequence[Program]]:
    """What a suspect runs, and what it runs beyond that for as long as cells lack."""
    base = _task.bases.get(family.id)
    if base is None or suspect.kind == "lazy":
        return make_plan(family, carrier, BUDGET).programs, ()
    # What a deviation of one place does elsewhere is not recorded anew. A variant has to miss no fault.
    known = base.sheets if suspect.kind == "deviation" else {}
    laid = [lay_out(family, s, carrier, BUDGET, known.get(s.id)) for s in family.scenarios]
    programs = [program for sheet in laid for program in sheet.programs]
    if suspect.kind == "deviation":
        return selection.apply(selection.for_deviation(base, suspect.names), base, programs), ()
    selected = selection.apply(selection.for_variant(base), base, programs)
    ids = {program.id for program in selected}
    return selected, [program for program in programs if program.id not in ids]


def _uncovered(requirements: Sequence[JudgedRequirement], tally: Tally, unreachable: Sequence[str]) -> list[str]:
    found = standings(requirements, tally, "L2", unreachable, {})
    return [s.requirement.id for s in found if s.status == "uncovered"]


def _unreachable(suspect: Suspect) -> list[str]:
    from conformance.scope import unreachable  # noqa: PLC0415

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
