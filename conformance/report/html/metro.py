"""Layout of a lifecycle drawing: states in a column, each edge in a lane beside it, so that no two edges lie upon each
other whatever the graph is. Plain geometry; nothing here knows HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from conformance.report.views import EdgeView, LifecycleView

_CHARACTER: Final = 7.4
_PAD: Final = 26.0
_LEFT: Final = 62.0
_LANE: Final = 42.0
_FIRST_LANE: Final = 30.0
_PORT: Final = 15.0
_HEIGHT: Final = 34.0
_GAP: Final = 34.0
_TOP: Final = 10.0
#: A count keeps this far from a line that crosses its own.
_ROOM: Final = 13.0


@dataclass(frozen=True, slots=True)
class Box:
    """A state: where it stands. ``x`` and ``y`` are its upper left corner, in pixels as all here."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """An edge as a polyline, and where its count stands."""

    edge: EdgeView
    points: tuple[tuple[float, float], ...]
    label: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A laid out lifecycle."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def layout(lc: LifecycleView) -> Drawing:
    """Where everything stands."""
    order = {state.name: index for index, state in enumerate(lc.states)}
    width = max((len(name) for name in order), default=4) * _CHARACTER + _PAD
    inner = [edge for edge in lc.edges if edge.source is not None and edge.source in order and edge.dest in order]
    straight = [edge for edge in inner if order[edge.dest] - order[edge.source or ""] == 1]
    laned = [edge for edge in inner if edge not in straight]
    lanes = _lanes(laned, order)
    ports = {name: _ports(name, laned, lanes, order) for name in order}
    boxes = _boxes(order, width, ports)
    lines = [_created(edge, boxes[edge.dest]) for edge in lc.edges if edge.source is None and edge.dest in order]
    lines += [_straight(edge, boxes) for edge in straight]
    lines += [_laned(index, edge, boxes, ports, _lane_x(lanes[index], width)) for index, edge in enumerate(laned)]
    lines = [replace(line, label=_clear(line, lines)) for line in lines]
    right = _lane_x(max(lanes, default=-1), width) + _LANE / 2 if lanes else _LEFT + width + 12
    bottom = max((box.y + box.height for box in boxes.values()), default=0) + _TOP
    return Drawing(tuple(boxes.values()), tuple(lines), right, bottom)


def _clear(line: Line, lines: Sequence[Line]) -> tuple[float, float]:
    """Where the count of an edge stands: in the middle of its lane, or as near to it as no other line crosses."""
    x, middle = line.label
    if len(line.points) < 4:
        return line.label
    low, high = sorted((line.points[1][1], line.points[2][1]))
    crossing = [
        y
        for other in lines
        if other is not line and len(other.points) == 4
        for (_, y), far in ((other.points[0], other.points[1][0]), (other.points[3], other.points[2][0]))
        if far > x
    ]
    places = sorted(
        (low + _ROOM + step * 3 for step in range(int(max(0, high - low - 2 * _ROOM) / 3))),
        key=lambda y: abs(y - middle),
    )
    return x, next((y for y in places if all(abs(y - there) >= _ROOM for there in crossing)), middle)


def _lane_x(lane: int, width: float) -> float:
    return _LEFT + width + _FIRST_LANE + lane * _LANE


def _lanes(edges: Sequence[EdgeView], order: dict[str, int]) -> list[int]:
    """A lane for each edge, the short ones near the states; what would overlap lies in different lanes."""
    spans = [_span(edge, order) for edge in edges]
    lanes = [0] * len(edges)
    taken: list[list[tuple[float, float]]] = []
    for index in sorted(range(len(edges)), key=lambda i: (spans[i][1] - spans[i][0], spans[i])):
        low, high = spans[index]
        free = (n for n, there in enumerate(taken) if all(max(low, a) >= min(high, b) for a, b in there))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes[index] = lane
    return lanes


def _span(edge: EdgeView, order: dict[str, int]) -> tuple[float, float]:
    low, high = sorted((order[edge.source or ""], order[edge.dest]))
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _ports(
    name: str, edges: Sequence[EdgeView], lanes: Sequence[int], order: dict[str, int]
) -> dict[tuple[int, str], int]:
    """The ports on the right side of a state, (edge, end) -> place from above, so that as few lines as possible cross.

    What goes up stands above what goes down; of those that go up the nearest lane is highest, of the others the
    farthest.
    """
    found: list[tuple[int, int, int, str]] = []
    for index, edge in enumerate(edges):
        for end, here, there in (("out", edge.source, edge.dest), ("in", edge.dest, edge.source)):
            if here != name:
                continue
            up = order[there or ""] < order[name] or (there == name and end == "out")
            found.append((0 if up else 1, lanes[index] if up else -lanes[index], index, end))
    return {(index, end): place for place, (_, _, index, end) in enumerate(sorted(found))}


def _boxes(order: dict[str, int], width: float, ports: dict[str, dict[tuple[int, str], int]]) -> dict[str, Box]:
    boxes, y = {}, _TOP
    for name in order:
        height = max(_HEIGHT, len(ports[name]) * _PORT + 8)
        boxes[name] = Box(name, _LEFT, y, width, height)
        y += height + _GAP
    return boxes


def _created(edge: EdgeView, box: Box) -> Line:
    y = box.y + box.height / 2
    return Line(edge, ((10.0, y), (box.x, y)), (34.0, y))


def _straight(edge: EdgeView, boxes: dict[str, Box]) -> Line:
    above, below = boxes[edge.source or ""], boxes[edge.dest]
    x = above.x + above.width / 2
    top, bottom = above.y + above.height, below.y
    return Line(edge, ((x, top), (x, bottom)), (x, (top + bottom) / 2 - 2))


def _laned(
    index: int, edge: EdgeView, boxes: dict[str, Box], ports: dict[str, dict[tuple[int, str], int]], x: float
) -> Line:
    ends = []
    for end, name in (("out", edge.source or ""), ("in", edge.dest)):
        box, mine = boxes[name], ports[name]
        y = box.y + box.height * (mine[index, end] + 0.5) / len(mine)
        ends.append((box.x + box.width, y))
    (x1, y1), (x2, y2) = ends
    return Line(edge, ((x1, y1), (x, y1), (x, y2), (x2, y2)), (x, (y1 + y2) / 2))
