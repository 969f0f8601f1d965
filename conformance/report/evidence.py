"""Where a run met the cells of each requirement: under which fault, how often, and in which schedule first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: The column of schedules in which nothing was made to go wrong.
NO_FAULT: Final = "no fault"
#: Kinds that strike in nearly every schedule, or that are plain answers: no column of the matrix.
_NO_COLUMN: Final = frozenset({"time", "remote success", "remote definite-refusal"})
#: A kind of fault -> the group of columns that it stands in.
_GROUPS: Final = {
    "crash": "process",
    "kill": "process",
    "restart": "process",
    "no answer in time": "process",
    "pause": "actors",
    "fail": "store",
    "lose-ack": "store",
    "hang": "store",
}
GROUPS: Final = ("", "remote", "process", "actors", "store", "other")


@dataclass(slots=True)
class Struck:
    """One field of the matrix: the cells that occurred in schedules with this fault, how often, and in how many.

    ``violated`` counts the schedules among them in which the requirement was violated.
    """

    cells: set[str] = field(default_factory=set)
    times: int = 0
    schedules: int = 0
    violated: int = 0


@dataclass(slots=True)
class CellEvidence:
    """One cell: in how many schedules it occurred, and the first of them with the faults that struck there."""

    schedules: int
    first: str
    faults: Mapping[str, int]


@dataclass(slots=True)
class Evidence:
    """The matrix (requirement -> kind of fault -> field) and what each cell rests on (requirement -> cell)."""

    matrix: dict[str, dict[str, Struck]] = field(default_factory=dict)
    cells: dict[str, dict[str, CellEvidence]] = field(default_factory=dict)

    @property
    def columns(self) -> list[tuple[str, list[str]]]:
        """The kinds of fault that struck, by group, in a fixed order."""
        kinds = sorted({kind for fields in self.matrix.values() for kind in fields})
        grouped = [(group, [kind for kind in kinds if group_of(kind) == group]) for group in GROUPS]
        return [(group, members) for group, members in grouped if members]

    @staticmethod
    def of(schedules: Iterable[Mapping[str, Any]]) -> Evidence:
        """Collected over the schedule records of a run."""
        found = Evidence()
        for record in schedules:
            found._add(record)
        return found

    def _add(self, record: Mapping[str, Any]) -> None:
        faults = {kind: count for kind, count in record["faults"].items() if kind not in _NO_COLUMN}
        named = set(record["named"])
        for requirement in {**record["met"], **dict.fromkeys(named)}:
            cells = record["met"].get(requirement, {})
            for kind in {column_of(kind): None for kind in faults} or (NO_FAULT,):
                struck = self.matrix.setdefault(requirement, {}).setdefault(kind, Struck())
                struck.cells |= set(cells)
                struck.times += sum(cells.values())
                struck.schedules += 1
                struck.violated += requirement in named
            for cell in cells:
                mine = self.cells.setdefault(requirement, {})
                if cell in mine:
                    mine[cell].schedules += 1
                else:
                    mine[cell] = CellEvidence(1, record["id"], faults)


def group_of(kind: str) -> str:
    """The group of columns that a kind of fault belongs to."""
    if kind == NO_FAULT:
        return ""
    return "remote" if kind.startswith("remote ") else _GROUPS.get(kind, "other")


def column_of(kind: str) -> str:
    """The column of a kind of fault: all statuses of the remote share one."""
    return "remote status" if kind.startswith("remote status ") else kind


def label_of(kind: str) -> str:
    """A kind of fault below the heading of its group."""
    return kind.removeprefix("remote ")
