"""What a drawing of a lane shows, before anybody decides how: shared by the text and the SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from statemachines.lanes.broken import broken_edges, shortest_cycle
from statemachines.lanes.components import components
from statemachines.lanes.instants import short_labels
from statemachines.lanes.replay import READINGS
from statemachines.lanes.rows import Id, LaneError, Row, in_ingress_order
from statemachines.lanes.verdict import why

ROWS_AT_MOST = 200
"""A drawing with more rows than this can no longer be looked at."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One row as drawn: labels for people, its cycle (counted from 0 along the sequence), its two places."""

    row: str
    ordinal: str
    date: str
    cycle: int | None
    arrived: int
    replayed: int


@dataclass(frozen=True, slots=True)
class Break:
    """A row that left `early` and the rows that `waited` though they precede it, all as places replayed."""

    early: int
    waited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A lane with its sequence. `dots` stand in ingress order; `cycles` are (first, last) places replayed."""

    title: str
    summary: str
    dots: tuple[Dot, ...]
    cycles: tuple[tuple[int, int], ...]
    breaks: tuple[Break, ...]
    reasons: tuple[str, ...]

    @property
    def replayed(self) -> list[Dot]:
        """The dots in the order of the sequence."""
        return sorted(self.dots, key=lambda dot: dot.replayed)


def picture(title: str, rows: Iterable[Row], reading: str = "B", reasons_at_most: int = 12) -> Picture:
    """The picture of the lane replayed under `reading`.

    Raises `LaneError` for bad rows and for a lane of more than `ROWS_AT_MOST` rows.
    """
    lane = in_ingress_order(rows)
    if len(lane) > ROWS_AT_MOST:
        raise LaneError(
            f"{title} has {len(lane)} rows, and a drawing of more than {ROWS_AT_MOST} shows nothing; "
            "take --format json, or one generation with --head and --boundary"
        )
    sequence = READINGS[reading](lane)
    place = {id_: i for i, id_ in enumerate(sequence)}
    cycles = [component for component in components(lane) if len(component) > 1]
    cycle_of = {id_: k for k, component in enumerate(cycles) for id_ in component}
    edges = list(broken_edges(lane, sequence))
    dates = _dates(lane)
    return Picture(
        title=label(title),
        summary=_summary(len(lane), len(cycles), len(edges), reading),
        dots=tuple(
            Dot(
                label(row.id),
                str(row.ordinal) if row.ordinal else "",
                date,
                cycle_of.get(row.id),
                i,
                place[row.id],
            )
            for i, (row, date) in enumerate(zip(lane, dates, strict=True))
        ),
        cycles=tuple((min(map(place.__getitem__, c)), max(map(place.__getitem__, c))) for c in cycles),
        breaks=_breaks([(place[a], place[b]) for a, b in edges]),
        reasons=_reasons(lane, edges, reasons_at_most),
    )


def nested(breaks: tuple[Break, ...]) -> list[tuple[int, Break]]:
    """Each arc with its column; arcs that do not overlap share one, short arcs stand inside long ones."""
    columns: list[list[Break]] = []
    placed = []
    for arc in sorted(breaks, key=lambda arc: arc.waited[-1] - arc.early):
        depth = next(
            (
                d
                for d, column in enumerate(columns)
                if all(other.waited[-1] < arc.early or arc.waited[-1] < other.early for other in column)
            ),
            len(columns),
        )
        if depth == len(columns):
            columns.append([])
        columns[depth].append(arc)
        placed.append((depth, arc))
    return placed


def label(value: object) -> str:
    """A value as text for a drawing: no character that could steer a terminal or spoil a document."""
    return "".join(ch if ch.isprintable() else "\N{REPLACEMENT CHARACTER}" for ch in str(value))


def _dates(lane: Sequence[Row]) -> list[str]:
    """Short dates; with the delivery sequence where it decides between equal dates."""
    dates = [label(date) for date in short_labels(row.created for row in lane)]
    decided = {(row.created, row.sequence) for row in lane}
    if len(decided) == len({row.created for row in lane}):
        return dates
    return [f"{date} #{label(row.sequence)}" for date, row in zip(dates, lane, strict=True)]


def _summary(rows: int, cycles: int, edges: int, reading: str) -> str:
    size = _count(rows, "row")
    if not cycles:
        return f"{size}, no cycle: one order keeps every edge, and this is it"
    return f"{size}, {_count(cycles, 'cycle')}, {_count(edges, 'edge')} broken (reading {reading})"


def _breaks(edges: list[tuple[int, int]]) -> tuple[Break, ...]:
    by_early = groupby(sorted((early, waited) for waited, early in edges), key=lambda edge: edge[0])
    return tuple(Break(early, tuple(waited for _, waited in group)) for early, group in by_early)


def _reasons(lane: list[Row], edges: list[tuple[Id, Id]], most: int) -> tuple[str, ...]:
    by_id = {row.id: row for row in lane}
    reasons = []
    for a, b in islice(edges, most):
        cycle = " → ".join(str(id_) for id_ in [*shortest_cycle(lane, a, b), a])
        reason = f"{a} → {b}  {why(by_id[a], by_id[b])}, but {cycle} is a cycle and row {b} arrived earlier"
        reasons.append(label(reason))
    if len(edges) > most:
        reasons.append(f"and {_count(len(edges) - most, 'more edge')} inside the same cycles, for the same reason")
    return tuple(reasons)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
