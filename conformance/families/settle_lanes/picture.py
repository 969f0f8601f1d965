"""What a reader of a failing lane sees: the generations with their boundaries, and the lane with its replay."""

from __future__ import annotations

import re
from collections.abc import Iterable

from conformance.checkers.base import Violation
from conformance.checkers.settle.conserve import fate
from conformance.checkers.settle.index import Index
from conformance.checkers.settle.stored import Lane, Stored
from statemachines.lanes import LaneError, Row, replay
from statemachines.lanes.picture import picture
from statemachines.lanes.text import draw_text

_HEADS: tuple[str, ...] = ("row", "ordinal", "arrived", "not before", "state", "attempts", "input of heads", "fate")
_ROW = re.compile(r"\brows? (\d+)")
_STANDS = {
    "once": "consumed once",
    "twice": "CONSUMED TWICE",
    "lost": "LOST",
    "waiting": "waits",
    "unknown": "not known",
}


def lane_picture(index: Index, violation: Violation) -> str:
    """The lane that a violation is about: its rows as they are replayed, with their generations, then the drawing."""
    lane = _lane(index, violation)
    if lane is None:
        return ""
    rows = {e.id: e for e in index.last.lane(lane)}
    try:
        order = [rows[id_] for id_ in replay(e.key for e in rows.values())]
        drawn = draw_text(picture(f"{lane[1]} on route {lane[0]}", _dated(index, order)))
    except LaneError as error:
        return f"lane {lane[1]} on route {lane[0]}: {error}\n"
    return "\n".join(["generations of the lane, its rows in replay order", *_table(index, order), "", drawn])


def _lane(index: Index, violation: Violation) -> Lane | None:
    """The lane of the command that the violation points at, else of the row that it names, else of the last attempt
    before it, else the only one.
    """
    for attempt in index.attempts:
        seqs = {attempt.claim.until, *(c.until for c in (*attempt.reads, *attempt.finishes))}
        if violation.seq in seqs:
            return index.lane_of(attempt.head)
    for number in _ROW.findall(f"{violation.happened} {violation.allowed}"):
        lane = index.lane_of(int(number))
        if lane is not None:
            return lane
    before = [a for a in index.attempts if a.claim.seq < violation.seq]
    if before:
        return index.lane_of(before[-1].head)
    return next(iter(index.last.lanes), None)


def _dated(index: Index, rows: Iterable[Stored]) -> list[Row]:
    """The keys with CreatedDate in seconds since virtual time began, which people can read."""
    return [Row(k.id, k.ordinal, index.seconds(k.created), k.sequence) for k in (e.key for e in rows)]


def _table(index: Index, order: list[Stored]) -> list[str]:
    lines = [_HEADS]
    for event in order:
        heads = ", ".join(
            f"{a.head} ({a.proc})" for a in index.attempts if event.id in (a.input or ())
        ) or "-"  # fmt: skip
        boundary = "  = boundary" if event.executed else ""
        lines.append(
            (
                str(event.id),
                str(event.ordinal or "-"),
                f"{index.seconds(event.key.created):f}",
                "-" if event.not_before is None else f"{index.seconds(event.not_before):f}",
                event.state + boundary,
                str(event.raw["attempts"]),
                heads,
                _STANDS[fate(index, event)],
            )
        )
    width = [max(len(line[i]) for line in lines) for i in range(len(_HEADS))]
    return ["  " + "  ".join(cell.ljust(width[i]) for i, cell in enumerate(line)).rstrip() for line in lines]
