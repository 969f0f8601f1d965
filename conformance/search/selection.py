"""The written selection of the kill matrix: which schedules of its family's ``ci`` sweep each suspect runs.

The whole sweep for every suspect would take hours, so each runs a part, fixed before it starts. It depends on the
scenarios, on the suspect's own recording, and on what the *reference* meets on the whole sweep; never on whether
something is found, and nothing stops at the first find.

* A **deviation** runs every scenario once; the first :data:`SAMPLE` schedules of an order that is spread over the
  strata (scenario, kind of fault, ending); and two parts that look at the requirement which it breaks. *Own*: up to
  :data:`OWN` schedules on which the reference meets a cell of that requirement, one set of cells after the other in
  turn, rarest first, and within one set one stratum after the other, so that rare premises come whole and common ones
  are spread. *Near*: up to :data:`NEAR` of the other schedules that differ from one of those in one thing, in turn
  those that strike another call in the same way (where the reference meets nothing, a fault of timing shows), and
  those that strike the same step of the same scenario in another way.
* A **variant** runs every scenario once, :data:`WIDE` schedules of every stratum, and for each cell of the family the
  first :data:`PER_CELL` schedules on which the reference meets it. Cells that then lack are looked for in the rest of
  the sweep until they occurred, since a variant may meet them elsewhere.
* A **lazy driver** runs all.

A suspect that makes other calls than the reference has schedules that the reference does not have. Each chosen
schedule that it lacks is replaced by one of those in the same stratum, and of every stratum at least one is run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.search.plan import Sheet, in_turn, spread, stratum
from conformance.search.program import Program

SAMPLE: Final = 50
OWN: Final = 90
NEAR: Final = 140
WIDE: Final = 1
PER_CELL: Final = 3

#: Requirement and cell.
Cell = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Base:
    """The reference on the whole sweep of one family: its sheets by scenario, and the cells met on each schedule."""

    sheets: Mapping[str, Sheet]
    met: Mapping[str, frozenset[Cell]]

    @property
    def programs(self) -> list[Program]:
        """The whole sweep, in plan order."""
        return [program for sheet in self.sheets.values() for program in sheet.programs]


def for_deviation(base: Base, requirement: str) -> frozenset[str]:
    """The ids of the schedules on which a deviation from this requirement is tried."""
    own = _own(base, requirement)
    parts = _scenarios(base), _ids(spread(base.programs)[:SAMPLE]), own[:OWN], _near(base, own)[:NEAR]
    return frozenset(id_ for part in parts for id_ in part)


def for_variant(base: Base) -> frozenset[str]:
    """The ids of the schedules that a legal variant has to pass at least."""
    taken: Counter[str] = Counter()
    chosen = set(_scenarios(base))
    cells: Counter[Cell] = Counter()
    for program in base.programs:
        name, met = stratum(program), base.met.get(program.id, frozenset())
        if taken[name] < WIDE or any(cells[cell] < PER_CELL for cell in met):
            chosen.add(program.id)
            taken[name] += 1
            cells.update(met)
    return frozenset(chosen)


def apply(chosen: frozenset[str], base: Base, programs: Sequence[Program]) -> tuple[Program, ...]:
    """What of a suspect's own sweep is run, in plan order."""
    known = {program.id: stratum(program) for program in base.programs}
    offered = {program.id for program in programs}
    wanted = Counter(known[id_] for id_ in chosen - offered)
    taken: Counter[str] = Counter()
    run = []
    for program in programs:
        if program.id in chosen:
            run.append(program)
        elif program.id not in known:
            name = stratum(program)
            if taken[name] < max(1, wanted[name]):
                taken[name] += 1
                run.append(program)
    return tuple(run)


def _scenarios(base: Base) -> list[str]:
    """Every scenario without a fault of the sweep: the first schedule of its sheet."""
    return [sheet.programs[0].id for sheet in base.sheets.values() if sheet.programs]


def _ids(programs: Iterable[Program]) -> list[str]:
    return [program.id for program in programs]


def _own(base: Base, requirement: str) -> list[str]:
    """The schedules that meet a cell of the requirement, one set of its cells after the other, rarest first."""
    groups: dict[frozenset[Cell], list[Program]] = defaultdict(list)
    for program in base.programs:
        cells = frozenset(cell for cell in base.met.get(program.id, ()) if cell[0] == requirement)
        if cells:
            groups[cells].append(program)
    ordered = sorted(groups.values(), key=lambda group: (len(group), group[0].id))
    return _ids(in_turn([spread(group) for group in ordered]))


def _near(base: Base, own: Sequence[str]) -> list[str]:
    """The schedules that meet none of the cells and differ in one thing from some that do."""
    met = frozenset(own)
    mine = [program for program in base.programs if program.id in met]
    others = [program for program in base.programs if program.id not in met]
    strata, steps = {stratum(p) for p in mine}, {_step(p) for p in mine} - {None}
    elsewhere = spread(p for p in others if stratum(p) in strata)
    otherwise = spread(p for p in others if _step(p) in steps)
    return list(dict.fromkeys(_ids(in_turn([elsewhere, otherwise]))))


def _step(program: Program) -> str | None:
    """Scenario and step that the first fault of a schedule strikes, whatever it is; None where it strikes no call."""
    match = _STEP.match(program.id)
    return match[1] if match else None


#: Up to the kind of the call in a schedule's id.
_STEP: Final = re.compile(r"(.*?/[^/:@]+):[^/@#]+#\d+@")
