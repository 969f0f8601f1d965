"""What a checker is: an id, the event classes that it reads, and a pure function over a family's index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.history import EVIDENCE


@dataclass(frozen=True, slots=True)
class Met:
    """The premise of a cell occurred in this history."""

    cell: str


@dataclass(frozen=True, slots=True)
class Violation:
    """What the requirement allowed, what happened instead, the event that shows it, and the class of that evidence."""

    allowed: str
    happened: str
    seq: int
    evidence: str


Finding = Met | Violation
Judge = Callable[[Any], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Checker:
    """The judge of one requirement; it is shown only the event classes in ``reads``."""

    requirement: str
    family: str
    reads: frozenset[str]
    judge: Judge


class Registry:
    """The checkers of one family, by requirement id."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._checkers: dict[str, Checker] = {}

    def checker(self, requirement: str, *reads: str) -> Callable[[Judge], Judge]:
        """Register a judge; refuses ``note``, which is never evidence, and a second judge for one requirement."""
        classes = frozenset(reads)
        if not classes or not classes <= EVIDENCE:
            raise ValueError(f"{requirement}: a checker reads some of {sorted(EVIDENCE)}, not {sorted(classes)}")
        if requirement in self._checkers:
            raise ValueError(f"{requirement} has two checkers")

        def register(judge: Judge) -> Judge:
            self._checkers[requirement] = Checker(requirement, self.family, classes, judge)
            return judge

        return register

    def __iter__(self) -> Iterator[Checker]:
        return iter(self._checkers.values())

    def __getitem__(self, requirement: str) -> Checker:
        return self._checkers[requirement]

    def __contains__(self, requirement: str) -> bool:
        return requirement in self._checkers
