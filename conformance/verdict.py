"""Statuses of requirements, the verdict of a run and its exit code (DESIGN section 7): computed once, then rendered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

RUNGS: Final = ("L0", "L1", "L2")
#: Worst first.
STATUSES: Final = (
    "error",
    "fail",
    "unstable",
    "untestable",
    "uncovered",
    "declared-gap",
    "known-failure",
    "out-of-tier",
    "not-applicable",
    "pass",
)


_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class JudgedCell:
    """A cell of a live requirement as the run's header names it."""

    id: str
    rung: str
    needs: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class JudgedRequirement:
    """A live requirement in a run: what it is, and where it comes from."""

    id: str
    profile: str
    level: str
    core: bool
    statement: str
    where: str
    source: str
    cells: tuple[JudgedCell, ...]

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> JudgedRequirement:
        """From the header of a run record."""
        cells = tuple(JudgedCell(c["id"], c["rung"], tuple(c["needs"]), c.get("text", "")) for c in obj["cells"])
        return JudgedRequirement(
            obj["id"],
            obj["profile"],
            obj["level"],
            obj["core"],
            obj["statement"],
            obj["where"],
            obj["source"],
            cells,
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one requirement stands after a run."""

    requirement: JudgedRequirement
    status: str
    met: Mapping[str, int]
    schedules: int
    unmet: tuple[str, ...] = ()
    out_of_tier: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    @property
    def judged(self) -> tuple[str, ...]:
        """The cells that this driver's rung and readings can show."""
        return tuple(cell for cell in self.met if cell not in self.out_of_tier and cell not in self.not_applicable)

    @property
    def exercised(self) -> int:
        """How often a cell of it occurred, all cells together."""
        return sum(self.met.values())


@dataclass(slots=True)
class Tally:
    """Counts over the schedules of a run, fed in plan order."""

    schedules: int = 0
    missed: int = 0
    #: The first few missed faults, each with its schedule: enough to start looking.
    first_missed: list[tuple[str, str]] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    met: dict[str, dict[str, int]] = field(default_factory=dict)
    exercised_in: dict[str, int] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str, str]] = field(default_factory=list)
    gaps: set[str] = field(default_factory=set)
    #: table -> row -> how often it was exercised.
    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    #: lifecycle -> move (``Prepared>Dispatching``) -> how often.
    transitions: dict[str, dict[str, int]] = field(default_factory=dict)
    #: How closely the rows could be followed (conformance.moves) -> in how many schedules.
    looks: dict[str, int] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in one ``schedule`` record."""
        self.schedules += 1
        self.missed += len(record["missed"])
        room = _SHOWN - len(self.first_missed)
        self.first_missed += [(record["id"], what) for what in record["missed"][:room]]
        self.gaps |= set(record["gaps"])
        for kind, count in record["faults"].items():
            self.faults[kind] = self.faults.get(kind, 0) + count
        for requirement, cells in record["met"].items():
            mine = self.met.setdefault(requirement, {})
            self.exercised_in[requirement] = self.exercised_in.get(requirement, 0) + 1
            for cell, count in cells.items():
                mine[cell] = mine.get(cell, 0) + count
        for table, rows in record["tables"].items():
            seen = self.tables.setdefault(table, {})
            for row, count in rows.items():
                seen[row] = seen.get(row, 0) + count
        # Records of earlier versions hold neither looks nor transitions.
        if "looks" in record:
            self.looks[record["looks"]] = self.looks.get(record["looks"], 0) + 1
        for entity, moves in record.get("transitions", {}).items():
            taken = self.transitions.setdefault(entity, {})
            for move, count in moves.items():
                taken[move] = taken.get(move, 0) + count
        for requirement in record["named"]:
            self.named[requirement] = self.named.get(requirement, 0) + 1
        if record["problem"] is not None:
            self.problems.append((record["id"], record["blame"], record["problem"]))


def standings(
    requirements: Iterable[JudgedRequirement],
    tally: Tally,
    rung: str,
    unreachable: Iterable[str],
    stability: Mapping[str, str],
) -> list[Standing]:
    """The status of every judged requirement.

    ``unreachable`` lists ``ID/cell`` that a declared reading rules out; ``stability`` gives ``fail`` or ``unstable``
    for a violated requirement, as the replays of its traces showed.
    """
    out = frozenset(RUNGS[RUNGS.index(rung) + 1 :])
    ruled_out = frozenset(unreachable)
    return [_standing(r, tally, out, ruled_out, stability) for r in requirements]


def _standing(
    requirement: JudgedRequirement,
    tally: Tally,
    above: frozenset[str],
    ruled_out: frozenset[str],
    stability: Mapping[str, str],
) -> Standing:
    met = {c.id: tally.met.get(requirement.id, {}).get(c.id, 0) for c in requirement.cells}
    away = tuple(c.id for c in requirement.cells if f"{requirement.id}/{c.id}" in ruled_out)
    high = tuple(c.id for c in requirement.cells if c.rung in above and c.id not in away)
    unmet = tuple(c for c, count in met.items() if not count and c not in high and c not in away)
    if requirement.id in tally.named:
        status = stability.get(requirement.id, "fail")
    elif len(away) == len(met):
        status = "not-applicable"
    elif len(high) + len(away) == len(met):
        status = "out-of-tier"
    else:
        status = ("untestable" if tally.gaps else "uncovered") if unmet else "pass"
    schedules = tally.exercised_in.get(requirement.id, 0)
    return Standing(requirement, status, met, schedules, unmet, high, away)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a run, the exit code of the command, and the sentence that explains it."""

    verdict: str
    exit: int
    why: str


def conclude(
    found: Iterable[Standing],
    tally: Tally,
    complete: bool,
    budget_covers: bool,
    untrue: Sequence[str] = (),
    narrowed: bool = False,
) -> Verdict:
    """The worst status decides. ``budget_covers`` is False for a budget that is not meant to meet every cell.

    ``narrowed`` says that only chosen scenarios ran, which are not meant to do so either.

    ``untrue`` holds what is wrong with the baseline: an excuse that does not hold fails the run.

    A cell that never occurred blocks only where everything was tried: with missed faults, or schedules that did not
    run, nobody can tell yet.
    """
    statuses = {s.status for s in found}
    if tally.problems:
        own = [p for p in tally.problems if p[1] == "suite"]
        schedule, blame, problem = (own or tally.problems)[0]
        return Verdict("none", 5 if own else 3, f"the {blame} could not run {schedule}: {problem}")
    if "fail" in statuses:
        return Verdict("not conformant", 1, "a requirement is violated")
    searched = complete and budget_covers and not narrowed and not tally.missed
    if untrue and searched:
        return Verdict("not conformant", 1, f"the baseline is not true any more: {untrue[0]}")
    if "untestable" in statuses and searched:
        return Verdict(
            "not conformant", 1, "a cell never occurred, and the driver does not do all that was asked of it"
        )
    if "uncovered" in statuses and searched:
        return Verdict("not conformant", 1, "a cell of a requirement never occurred")
    if "unstable" in statuses:
        return Verdict("inconclusive", 4, "a violation was seen that did not repeat")
    if tally.missed:
        return Verdict("inconclusive", 4, f"{tally.missed} scheduled faults did not fire")
    if not complete:
        return Verdict("inconclusive", 4, "the budget ended before every schedule ran")
    if statuses & {"uncovered", "untestable"} or untrue:
        why = "the chosen scenarios do not meet every cell" if narrowed else "this budget does not meet every cell"
        return Verdict("inconclusive", 4, why)
    if not statuses & {"pass", "declared-gap", "known-failure"}:
        return Verdict("inconclusive", 4, "nothing could be judged")
    if statuses & {"declared-gap", "known-failure"}:
        return Verdict("partial", 0, "there are declared gaps or known failures")
    return Verdict("conformant", 0, "everything that was judged passed")
