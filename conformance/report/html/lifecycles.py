"""The lifecycles, drawn: the transitions that the run took, how often, and those that it did not take."""

from __future__ import annotations

import math
from typing import Final

from conformance.moves import SAMPLED
from conformance.report.html.markup import esc, items, short
from conformance.report.html.metro import Box, Drawing, Line, layout
from conformance.report.model import Report
from conformance.report.views import EdgeView, LifecycleView
from conformance.report.words import count

_RADIUS: Final = 9.0


def lifecycles(report: Report) -> str:
    """All drawings; empty where the record has no lifecycles."""
    sampled = bool(report.tally.looks.get(SAMPLED))
    seen = bool(report.tally.transitions)
    drawn = "".join(_lifecycle(lc, sampled, seen) for lc in report.lifecycles)
    return f'<div class="lifecycles">{drawn}</div>' if drawn else ""


def _lifecycle(lc: LifecycleView, sampled: bool, seen: bool) -> str:
    grade = ' <span class="pill s-unstable">sampled</span>' if sampled else ""
    blind = "" if seen else '<p class="never">The rows of this driver could not be read, so no move was seen.</p>'
    return (
        f'<figure class="lifecycle"><figcaption><b>{esc(lc.title)}</b> <code>{esc(lc.id)}</code>{grade}'
        f"<small>{lc.taken} of {count(len(lc.edges), 'transition')} taken</small></figcaption>{blind}"
        f'<div class="scroll">{svg(lc)}</div>'
        f"<details><summary>every transition</summary>{_edges(lc)}{_strange(lc, sampled)}</details></figure>"
    )


def svg(lc: LifecycleView) -> str:
    """The drawing as one SVG element; its colours come from the page."""
    drawing = layout(lc)
    entered = {state.name: sum(e.taken for e in lc.edges if e.dest == state.name) for state in lc.states}
    terminal = {state.name: state.terminal for state in lc.states}
    meaning = {state.name: state.meaning for state in lc.states}
    ordered = sorted(drawing.lines, key=lambda line: line.edge.taken > 0)
    lines = "".join(_line(line) for line in ordered)
    boxes = "".join(_box(box, entered[box.name], terminal[box.name], meaning[box.name]) for box in drawing.boxes)
    labels = "".join(_label(line) for line in ordered)
    return (
        f'<svg class="metro" role="img" width="{drawing.width:.0f}" height="{drawing.height:.0f}"'
        f' style="max-width:max(100%,{0.8 * drawing.width:.0f}px)"'
        f' viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}"'
        f' aria-label="{esc(_spoken(lc, drawing))}">'
        f"{lines}{boxes}{labels}</svg>"
    )


def _spoken(lc: LifecycleView, drawing: Drawing) -> str:
    return f"{lc.title}: {len(drawing.boxes)} states, {lc.taken} of {len(lc.edges)} transitions taken"


def _box(box: Box, entered: int, terminal: bool, meaning: str) -> str:
    state = "seen" if entered else "unseen"
    rectangle = f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8"/>'
    inner = (
        f'<rect class="inner" x="{box.x + 3:.1f}" y="{box.y + 3:.1f}" width="{box.width - 6:.1f}"'
        f' height="{box.height - 6:.1f}" rx="5"/>'
        if terminal
        else ""
    )
    return (
        f'<g class="state {state}"><title>{esc(box.name)}: {esc(meaning)}</title>{rectangle}{inner}'
        f'<text x="{box.x + box.width / 2:.1f}" y="{box.y + box.height / 2:.1f}">{esc(box.name)}</text></g>'
    )


def _line(line: Line) -> str:
    edge = line.edge
    width = 1.4 if not edge.taken else min(4.0, 1.6 + 0.5 * math.log10(edge.taken))
    start = f'<circle cx="{line.points[0][0]:.1f}" cy="{line.points[0][1]:.1f}" r="4"/>' if edge.source is None else ""
    return (
        f'<g class="edge {"taken" if edge.taken else "open"}"><title>{esc(_title(edge))}</title>'
        f'<path d="{_path(line.points)}" style="stroke-width:{width:.1f}"/>{start}{_head(line.points)}</g>'
    )


def _title(edge: EdgeView) -> str:
    times = count(edge.taken, "time") if edge.taken else "not taken"
    return f"{edge.source or 'new'} → {edge.dest} ({', '.join(edge.triggers)}): {times}"


def _label(line: Line) -> str:
    text = short(line.edge.taken) if line.edge.taken else "0"
    x, y = line.label
    half = 5 + 3.6 * len(text)
    return (
        f'<g class="count {"taken" if line.edge.taken else "open"}"><rect x="{x - half:.1f}" y="{y - 8:.1f}"'
        f' width="{2 * half:.1f}" height="16" rx="8"/><text x="{x:.1f}" y="{y:.1f}">{text}</text></g>'
    )


def _path(points: tuple[tuple[float, float], ...]) -> str:
    """The polyline with round corners, short of the arrow's head."""
    *before, last = points
    (px, py), (ex, ey) = before[-1], last
    length = math.hypot(ex - px, ey - py) or 1.0
    end = (ex - 5 * (ex - px) / length, ey - 5 * (ey - py) / length)
    track = [*before, end]
    out = [f"M{track[0][0]:.1f} {track[0][1]:.1f}"]
    for (ax, ay), (bx, by), (cx, cy) in zip(track, track[1:], track[2:], strict=False):
        one, two = math.hypot(bx - ax, by - ay) or 1.0, math.hypot(cx - bx, cy - by) or 1.0
        radius = min(_RADIUS, one / 2, two / 2)
        ix, iy = bx - radius * (bx - ax) / one, by - radius * (by - ay) / one
        ox, oy = bx + radius * (cx - bx) / two, by + radius * (cy - by) / two
        out.append(f"L{ix:.1f} {iy:.1f}Q{bx:.1f} {by:.1f} {ox:.1f} {oy:.1f}")
    return "".join([*out, f"L{end[0]:.1f} {end[1]:.1f}"])


def _head(points: tuple[tuple[float, float], ...]) -> str:
    (px, py), (x, y) = points[-2], points[-1]
    length = math.hypot(x - px, y - py) or 1.0
    dx, dy = (x - px) / length, (y - py) / length
    left, right = (x - 8 * dx - 4.5 * dy, y - 8 * dy + 4.5 * dx), (x - 8 * dx + 4.5 * dy, y - 8 * dy - 4.5 * dx)
    return f'<path class="head" d="M{x:.1f} {y:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z"/>'


def _edges(lc: LifecycleView) -> str:
    rows = "".join(
        f'<tr class="{"hit" if e.taken else "miss"}"><td data-name="from">{esc(e.source or "new")}</td>'
        f'<td data-name="to">{esc(e.dest)}</td><td data-name="by">{esc(", ".join(e.triggers))}</td>'
        f'<td data-name="times" class="n"><b>{e.taken:,}</b></td></tr>'
        for e in lc.edges
    )
    head = '<tr><th>from</th><th>to</th><th>by</th><th class="n">times</th></tr>'
    return f'<table class="rows"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _strange(lc: LifecycleView, sampled: bool) -> str:
    if not lc.strange:
        return ""
    why = "two changes between two looks, or " if sampled else ""
    moves = [f"{source or 'new'} → {dest or 'removed'}: {count(n, 'time')}" for source, dest, n in lc.strange]
    lead = f"Seen besides, though no transition ({why}rows that a script loaded or removed, or a violation):"
    return f"<p>{lead}</p>{items(moves)}"
