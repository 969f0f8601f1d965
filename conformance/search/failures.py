"""What becomes of a violation: shrink it, run it again, and say how steadily it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.carriers.base import Carrier
from conformance.checkers.base import Violation
from conformance.families.base import Family
from conformance.history import EVIDENCE, History
from conformance.judge import judge
from conformance.outcome import run_schedule
from conformance.search.execute import Execution
from conformance.search.program import Program
from conformance.search.shrink import shrink
from conformance.trace import Trace

#: How often a shrunk failure is run again.
REPLAYS = 3
SHRINK_BUDGET = 150


@dataclass(frozen=True, slots=True)
class Failure:
    """A violated requirement with its smallest known schedule."""

    requirement: str
    violation: Violation
    program: Program
    history: History
    failed: int
    shrunk_from: int
    picture: str = ""

    @property
    def stability(self) -> str:
        """``fail`` if wire or rows showed it even once, or if it repeats; else ``unstable`` (DESIGN 2.5)."""
        if self.violation.evidence in ("wire", "rows") or self.failed == REPLAYS:
            return "fail"
        return "unstable"

    def trace(self, spec: str, driver: str, seed: int, folder: str = ".") -> Trace:
        """The failure as a trace file's content; ``folder`` as in :class:`~conformance.trace.Trace`."""
        return Trace(
            self.requirement,
            self.violation,
            self.program,
            self.history,
            spec,
            driver,
            seed,
            self.failed,
            REPLAYS,
            self.shrunk_from,
            folder,
            self.picture,
        )


def investigate(
    family: Family, program: Program, carrier: Carrier, requirement: str, readings: Mapping[str, str]
) -> Failure:
    """Shrink a failing program and run it again :data:`REPLAYS` times."""

    def fails(candidate: Program) -> bool:
        outcome = run_schedule(family, candidate, carrier, readings)
        return outcome.problem is None and requirement in outcome.violations

    smallest, _ = shrink(program, fails, SHRINK_BUDGET)
    seen = replay(family, smallest, carrier, requirement, readings)
    if not any(violation for violation, _ in seen):
        smallest = program
        seen = replay(family, program, carrier, requirement, readings)
    failing = [(v, h) for v, h in seen if v is not None]
    if failing:
        violation, history = failing[0]
    else:
        history = seen[0][1]
        violation = Violation("the same outcome in every run", "a violation that never came back", 0, "answer")
    picture = drawn(family, history, violation, readings) if failing else ""
    return Failure(requirement, violation, smallest, history, len(failing), len(program.ops), picture)


def drawn(family: Family, history: History, violation: Violation, readings: Mapping[str, str]) -> str:
    """What the family draws of a failure, from evidence alone; empty where it draws nothing."""
    if family.picture is None:
        return ""
    events = tuple(e for e in history.events if e.cls in EVIDENCE)
    return family.picture(family.index(replace(history, events=events, readings=dict(readings))), violation)


def replay(
    family: Family, program: Program, carrier: Carrier, requirement: str, readings: Mapping[str, str]
) -> list[tuple[Violation | None, History]]:
    """Run a program :data:`REPLAYS` times; for each run the first violation of the requirement, and the history."""
    runs: list[tuple[Violation | None, History]] = []
    for _ in range(REPLAYS):
        history = Execution(program, carrier, family.contract).run()
        found = [v for v in judge(family, history, readings) if v.requirement == requirement]
        runs.append((found[0].violations[0] if found and found[0].violations else None, history))
    return runs
