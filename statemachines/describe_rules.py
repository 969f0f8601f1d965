"""The part of a family's page that says what is judged and what is free: checks, answers, rungs, readings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statemachines.commands import CommandFamily
from statemachines.markdown import table
from statemachines.model import Requirement
from statemachines.spec import Spec

_RUNGS: Final = ("L0", "L1", "L2")


def rung_table(spec: Spec, family: CommandFamily) -> str:
    """Which cells of which live requirement each rung judges, and how many requirements can pass there."""
    live = _live(spec, family)
    rows = [(f"{r.id}", r.statement.replace("\n", " "), *(_cells(r, rung) for rung in _RUNGS)) for r in live]
    counts = [sum(any(c.rung <= rung for c in r.cells) for r in live) for rung in _RUNGS]
    said = ", ".join(f"{count} at {rung}" for rung, count in zip(_RUNGS, counts, strict=True))
    return (
        f"## What each rung judges\n\nOf {len(live)} live requirements a driver can pass {said}. It passes one when"
        " every cell up to its rung has occurred without a violation. A requirement without such a cell is"
        " `out-of-tier`, yet it is watched: a violation that the evidence of a lower rung shows is a `fail` at every"
        " rung. `onceproof explain ID` says what a cell needs.\n\n"
        + table(("requirement", "in short", "L0", "L1 adds", "L2 adds"), rows)
    )


def check_table(spec: Spec, family: CommandFamily) -> str:
    """The order of checks as far as a call of today may meet it; nothing for a family without one."""
    if not family.checks:
        return ""
    order = {row.id: row for row in spec.tables[family.order_of_checks].rows}
    rows = [
        (
            str(order[check.row].then["order"]),
            f"`{check.row}`",
            check.when,
            " ".join([", ".join(f"`{code}`" for code in check.codes), check.otherwise]).strip(),
            _disclosed(order[check.row].then),
        )
        for check in family.checks
    ]
    named = {check.row for check in family.checks}
    others = ", ".join(f"`{name}`" for name in order if name not in named)
    return (
        f"## Order of the checks\n\nThe first one that applies decides. Numbers and order are those of"
        f" `spec/tables/{family.order_of_checks}.yaml`; its rows about the transport, and about what is only planned,"
        f" are left out here: {others}.\n\n" + table(("", "check", "when", "`error.code`", "`mutation`"), rows)
    )


def answer_table(family: CommandFamily) -> str:
    """What callers are told and what the ledger holds then; nothing for a family that says nothing of it."""
    if not family.answers:
        return ""
    rows = [(t.when, t.row, t.reservation, t.classification, t.code, t.cause) for t in family.answers]
    head = ("situation", "attempt", "reservation", "classification", "`error.code`", "`cause`")
    return f"## What the caller is told\n\n{table(head, rows)}"


def reading_table(spec: Spec, family: CommandFamily) -> str:
    """The readings that a driver may name in ``hello``: those that pass only, or change what is judged, if declared."""
    rows = []
    for entry in spec.interpretations.values():
        if entry.source != family.source:
            continue
        if not any(r.status == "declarable" or r.unreachable for r in entry.readings):
            continue
        for r in entry.readings:
            if r.status != "rejected":
                gone = ", ".join(r.unreachable)
                rows.append((f"`{entry.id}`", f"`{r.id}`", r.status, r.text, gone))
    return (
        "## Readings that a driver may declare\n\nWhere the source can be read in two ways, `readings` in `hello` says"
        ' which one the implementation follows: `{"live-worker-and-recovery": "recover-at-start"}`. A `taken` reading'
        " needs no declaration, an `accepted` one passes without it, a `declarable` one passes only with it. Cells in"
        " the last column are not asked for then. Every other ambiguity of `spec/interpretations.yaml` may be named too"
        " and changes nothing; an unknown name, or a reading that is rejected, ends the run with exit code 2.\n\n"
        + table(("ambiguity", "reading", "counts as", "meaning", "cells that it rules out"), rows)
    )


def _live(spec: Spec, family: CommandFamily) -> list[Requirement]:
    return [r for r in spec.requirements.values() if r.status == "live" and r.source == family.source]


def _cells(requirement: Requirement, rung: str) -> str:
    return ", ".join(c.id for c in requirement.cells if c.rung == rung)


def _disclosed(row: Mapping[str, object]) -> str:
    shown = row["metadata_disclosed"]
    if shown is False:
        return "none"
    said = str(row["classification"] or "none")
    return said if shown is True else f"{said}; {str(shown).removeprefix('true, ')}"
