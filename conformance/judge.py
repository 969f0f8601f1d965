"""Judging: the checkers of a family over one history, each shown only the classes of evidence that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.checkers.base import Checker, Met, Violation
from conformance.families.base import Family
from conformance.history import EVIDENCE, History


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one history says of one requirement: cells met with their counts, and violations."""

    requirement: str
    met: Mapping[str, int]
    violations: tuple[Violation, ...]


def judge(family: Family, history: History, readings: Mapping[str, str] | None = None) -> list[Verdict]:
    """Judge one history by every checker of its family; only verdicts that say something are returned.

    ``note`` events are removed before anything looks (DESIGN 2.1). One index serves all checkers; a test holds each
    checker to the classes in its ``reads`` by judging histories that lack the others. ``readings`` are the driver's.
    """
    return judged(family, index_of(family, history, readings))


def index_of(family: Family, history: History, readings: Mapping[str, str] | None = None) -> Any:
    """The family's index over the evidence of a history."""
    events = tuple(e for e in history.events if e.cls in EVIDENCE)
    return family.index(replace(history, events=events, readings=dict(readings or {})))


def judged(family: Family, index: Any) -> list[Verdict]:
    """Judge an index that :func:`index_of` made."""
    verdicts = (_apply(checker, index) for checker in family.checkers)
    return [v for v in verdicts if v.met or v.violations]


def exercised(family: Family, index: Any) -> dict[str, dict[str, int]]:
    """How often this history exercised the rows of the family's tables: table -> row -> count, from evidence alone."""
    found: dict[str, dict[str, int]] = {}
    for name in family.exercised(index) if family.exercised is not None else ():
        table, _, row = name.partition("/")
        rows = found.setdefault(table, {})
        rows[row] = rows.get(row, 0) + 1
    return found


def _apply(checker: Checker, index: object) -> Verdict:
    met: dict[str, int] = {}
    violations: list[Violation] = []
    for finding in checker.judge(index):
        if isinstance(finding, Met):
            met[finding.cell] = met.get(finding.cell, 0) + 1
        else:
            violations.append(finding)
    return Verdict(checker.requirement, met, tuple(violations))
