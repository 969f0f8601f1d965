"""Conservation: every ingested Event is in exactly one ended generation, or waits, or is a recorded boundary (GEN)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checkers.base import Finding, Met, Violation
from conformance.checkers.settle.generation import before
from conformance.checkers.settle.index import Attempt, Index
from conformance.checkers.settle.registry import CHECKERS
from conformance.checkers.settle.stored import Lane, Stored
from conformance.checkers.timeline import END
from statemachines.lanes import components, has_cycle


def fate(index: Index, row: Stored) -> str:
    """Where a row stands at the end: ``once``, ``twice``, ``lost``, ``waiting``, or ``unknown``."""
    lane = row.lane
    if lane in index.blind:
        return "unknown"
    count = len(index.consumed_by.get(row.id, ()))
    if count:
        return "once" if count == 1 else "twice"
    if row.open:
        return "waiting"
    unsettled = any(e.open and (e.state == "processing" or index.tried(e, END)) for e in index.last.lane(lane))
    return "waiting" if unsettled or row.id in index.born_ended else "lost"


def _rows(index: Index) -> Iterator[tuple[Stored, str]]:
    for row in index.last.events.values():
        if index.settled(row.lane):
            yield row, fate(index, row)


def _violation(index: Index, row: Stored, how: str) -> Violation:
    heads = index.consumed_by.get(row.id, ())
    happened = (
        "it is in none, and will be in none" if how == "lost" else f"it is in those of {', '.join(map(str, heads))}"
    )
    seq = index.looks[-1].seq if index.looks else 0
    return Violation(f"row {row.id} in exactly one ended generation", happened, seq, "rows")


def _running_when_born(index: Index, row: Stored) -> Iterator[tuple[Attempt, bool]]:
    """(attempt of the lane that had claimed before a row was born and ended after it, whether it read before)."""
    born = index.births[row.id].seq
    for attempt in index.attempts:
        head = index.births.get(attempt.head)
        end = index.ends.get(attempt.head, (1 << 60, ""))[0]
        if head is not None and head.event.lane == row.lane and attempt.claim.until < born < end:
            read = any(r.seq > born for r in attempt.reads)
            yield attempt, not read


def successor_of(index: Index, row: Stored) -> list[Attempt]:
    """The attempts during which a row arrived behind the head."""
    return [a for a, _ in _running_when_born(index, row) if before(index.births[a.head].event, row)]


def between(index: Index, row: Stored) -> list[tuple[Attempt, bool]]:
    """The attempts during which a row appeared before the head."""
    return [(a, late) for a, late in _running_when_born(index, row) if before(row, index.births[a.head].event)]


def superseded(index: Index, row: Stored) -> list[Attempt]:
    """The failed attempts of a lane with a cycle through the row that had it among their inputs."""
    rows = index.last.lane(row.lane)
    if not has_cycle(e.key for e in rows) or not _on_cycle(row, rows):
        return []
    return [
        a
        for a in index.attempts
        if row.id in (a.input or ())
        and len(a.input or ()) > 1
        and any(f.args["outcome"] == "retryable" for f in a.finishes)
    ]


def _on_cycle(row: Stored, rows: list[Stored]) -> bool:
    return any(row.id in found and len(found) > 1 for found in components(e.key for e in rows))


@CHECKERS.checker("GEN-031", "suite", "answer", "rows")
def successors_are_delivered_later(index: Index) -> Iterator[Finding]:
    """A row that came in behind a running head is delivered exactly once, in a generation after it."""
    for row, how in _rows(index):
        if successor_of(index, row):
            if how == "once":
                yield Met("delivered-later")
            elif how in ("lost", "twice"):
                yield _violation(index, row, how)


@CHECKERS.checker("GEN-045", "suite", "answer", "rows")
def superseding_loses_no_sibling(index: Index) -> Iterator[Finding]:
    """On a cycle, a failed head and the rows collapsed into it are each in exactly one ended generation."""
    for row, how in _rows(index):
        if superseded(index, row):
            if how == "once":
                yield Met("cycle")
            elif how == "lost":
                yield _violation(index, row, how)


@CHECKERS.checker("GEN-048", "suite", "answer", "rows")
def late_members_are_delivered_once(index: Index) -> Iterator[Finding]:
    """A row that becomes visible between boundary and head after the claim is delivered exactly once."""
    for row, how in _rows(index):
        for _, retried in between(index, row):
            if how == "once":
                yield Met("before-retry" if retried else "before-input")
            elif how in ("lost", "twice"):
                yield _violation(index, row, how)
                return


def lanes_at_end(index: Index) -> Iterator[tuple[Lane, list[tuple[Stored, str]]]]:
    """The fate of every row, lane by lane: for a reader of a failure."""
    for lane, rows in index.last.lanes.items():
        yield lane, [(row, fate(index, row)) for row in rows]
