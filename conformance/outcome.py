"""Running one schedule to an outcome: what it met, what fired, what was missed, what it violated."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from conformance.carriers.base import Carrier, DriverProblem, SuiteProblem
from conformance.checkers.base import Violation
from conformance.families.base import Family
from conformance.history import History
from conformance.judge import exercised, index_of, judged
from conformance.moves import Moves, moves
from conformance.search.execute import Execution
from conformance.search.program import Program

#: A command that was not answered before the harness deadline, so that its process was ended.
NO_ANSWER: Final = "no answer in time"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One schedule, judged. ``problem`` is set when it could not be run: then nothing else counts.

    ``met`` maps requirement to cell to count, ``tables`` a table to its rows to counts; a schedule with a missed fault
    has neither, since what it was to exercise did not happen.
    """

    schedule: str
    met: Mapping[str, Mapping[str, int]]
    faults: Mapping[str, int]
    missed: tuple[str, ...]
    violations: Mapping[str, tuple[Violation, ...]]
    problem: str | None = None
    blame: str | None = None
    gaps: tuple[str, ...] = ()
    tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moves: Moves = field(default_factory=Moves)

    @property
    def named(self) -> tuple[str, ...]:
        """The requirements that this schedule violated."""
        return tuple(sorted(self.violations))


def run_schedule(family: Family, program: Program, carrier: Carrier, readings: Mapping[str, str]) -> Outcome:
    """Execute and judge one program; whatever goes wrong on the way becomes the outcome's ``problem``."""
    try:
        history = Execution(program, carrier, family.contract).run()
    except DriverProblem as problem:
        return _unusable(program, str(problem), "driver")
    except SuiteProblem as problem:
        return _unusable(program, str(problem), "suite")
    except Exception as bug:
        return _unusable(program, _bug(bug), "suite")
    try:
        return weigh(family, history, readings)
    except Exception as bug:
        return _unusable(program, f"judging failed: {_bug(bug)}", "suite")


def weigh(family: Family, history: History, readings: Mapping[str, str]) -> Outcome:
    """Judge a finished history; a command that the driver could not do makes it a problem of the driver."""
    failed = next(
        (e for e in history.of("answer") if e.data["outcome"] == "failed"),
        None,
    )
    index = index_of(family, history, readings)
    verdicts = judged(family, index)
    missed = tuple(f"{e.proc} {e.data['point']} {e.data['action']}" for e in history.of("suite") if e.kind == "missed")
    return Outcome(
        schedule=history.schedule,
        met={} if missed else {v.requirement: dict(v.met) for v in verdicts if v.met},
        faults=dict(_faults(history)),
        missed=missed,
        violations={v.requirement: v.violations for v in verdicts if v.violations},
        problem=None if failed is None else f"{failed.data['cmd']} failed: {failed.data.get('detail')}",
        blame=None if failed is None else "driver",
        gaps=gaps(history),
        tables={} if missed else exercised(family, index),
        moves=moves(history),
    )


#: Why a process was killed -> what it counts as.
_KILLS: Final = {"crash": "crash", "restart": "restart", "deadline": NO_ANSWER}


def gaps(history: History) -> tuple[str, ...]:
    """What the driver's rung and family promise and the driver does not do: features, commands and verbs."""
    missing = {str(e.data.get("feature")) for e in history.of("answer") if e.data["outcome"] == "unsupported"}
    missing |= {str(e.data["what"]) for e in history.of("suite") if e.kind == "lacking"}
    return tuple(sorted(missing))


def _faults(history: History) -> Counter[str]:
    """How often each kind of fault struck."""
    count: Counter[str] = Counter()
    for event in history.of("suite", "wire"):
        if event.kind == "fault":
            count[str(event.data["action"])] += 1
        elif event.kind == "kill":
            count[_KILLS.get(str(event.data["why"]).partition(" ")[0], "kill")] += 1
        elif event.kind == "time":
            count["time"] += 1
        elif event.kind == "script":
            for behaviour in event.data["behaviours"]:
                count[f"remote {_kind(behaviour)}"] += 1
    return count


def _kind(behaviour: Mapping[str, Any]) -> str:
    return f"status {behaviour['status']}" if behaviour["kind"] == "status" else str(behaviour["kind"])


def _bug(bug: Exception) -> str:
    """An error that nobody foresaw, with the place where it arose."""
    frame = traceback.extract_tb(bug.__traceback__)[-1]
    return f"{type(bug).__name__}: {bug} ({Path(frame.filename).name}:{frame.lineno})"


def _unusable(program: Program, problem: str, blame: str) -> Outcome:
    return Outcome(program.id, {}, {}, (), {}, problem, blame)
