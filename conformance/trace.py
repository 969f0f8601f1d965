"""A trace: one failing schedule as a file that replays without Hypothesis (DESIGN 2.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.checkers.base import Violation
from conformance.history import History
from conformance.search.program import Program
from statemachines import strict_json
from statemachines.files import read_bytes

FORMAT: Final = 1


class TraceError(Exception):
    """The file is no trace; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The requirement and its violation, the shrunk program and its history, and how often replays showed it.

    ``driver`` is the name or command as it was typed, and ``folder`` where: relative to the trace's own folder, so that
    nothing of the machine is told and a tree may be moved as a whole.
    ``picture`` is what the family draws of the failure, as lines; most families draw nothing.
    """

    requirement: str
    violation: Violation
    program: Program
    history: History
    spec: str
    driver: str
    seed: int
    failed: int
    runs: int
    shrunk_from: int
    folder: str = "."
    picture: str = ""

    def to_json(self) -> dict[str, Any]:
        """The trace as a JSON object."""
        v = self.violation
        return {
            "format": FORMAT,
            "requirement": self.requirement,
            "violation": {"allowed": v.allowed, "happened": v.happened, "seq": v.seq, "evidence": v.evidence},
            "spec": self.spec,
            "driver": self.driver,
            "folder": self.folder,
            "seed": self.seed,
            "seen": {"failed": self.failed, "runs": self.runs},
            "shrunk_from": self.shrunk_from,
            "program": self.program.to_json(),
            "history": self.history.to_json(),
            **({"picture": self.picture} if self.picture else {}),
        }

    @staticmethod
    def from_json(obj: Mapping[str, Any]) -> Trace:
        """The inverse of :meth:`to_json`; raises KeyError, TypeError or ValueError for what does not fit."""
        for name, wanted in (("requirement", str), ("spec", str), ("driver", str), ("seed", int), ("program", dict)):
            if type(obj[name]) is not wanted:
                raise ValueError(f"{name} is {type(obj[name]).__name__} instead of {wanted.__name__}")
        return Trace(
            requirement=obj["requirement"],
            violation=Violation(**obj["violation"]),
            program=Program.from_json(obj["program"]),
            history=History.from_json(obj["history"]),
            spec=obj["spec"],
            driver=obj["driver"],
            seed=obj["seed"],
            failed=obj["seen"]["failed"],
            runs=obj["seen"]["runs"],
            shrunk_from=obj["shrunk_from"],
            folder=str(obj.get("folder", ".")),
            picture=str(obj.get("picture", "")),
        )


def read_trace(path: Path) -> Trace:
    """Read a trace file; raises TraceError with one sentence for anything that is not one."""
    try:
        obj = strict_json.loads(read_bytes(path).decode())
    except OSError as problem:
        raise TraceError(f"{path}: {problem.strerror}; give a trace that a run has written") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not UTF-8 text; give a trace that a run has written") from None
    except strict_json.NotJson as problem:
        raise TraceError(f"{path}: not JSON: {problem}; give a trace that a run has written") from None
    if not isinstance(obj, dict) or obj.get("format") != FORMAT:
        found = obj.get("format") if isinstance(obj, dict) else None
        raise TraceError(f"{path}: trace format {found!r} is not {FORMAT}; give a trace of this onceproof")
    try:
        return Trace.from_json(obj)
    except KeyError as missing:
        raise TraceError(f"{path}: the member {missing} is missing; the trace was edited or cut") from None
    except (TypeError, ValueError) as problem:
        raise TraceError(f"{path}: {problem}; the trace was edited") from None


def write_trace(path: Path, trace: Trace) -> None:
    """Write a trace file."""
    path.write_text(json.dumps(trace.to_json(), indent=1, sort_keys=False) + "\n", encoding="utf-8")
