"""The matrix: requirements down, faults across; in each field the cells that occurred there, and how often."""

from __future__ import annotations

import math

from conformance.report.evidence import Struck, label_of
from conformance.report.html.markup import esc, ident, short
from conformance.report.model import Report
from conformance.verdict import Standing

#: Shades of a field, by the order of magnitude of its count.
_SHADES = 5


def matrix(report: Report) -> str:
    """The whole matrix, a table of its own for each profile; empty where nothing was exercised."""
    columns = report.evidence.columns
    if not columns:
        return ""
    groups = "".join(f'<th colspan="{len(kinds)}" scope="colgroup">{esc(group)}</th>' for group, kinds in columns)
    names = "".join(
        f'<th scope="col" class="{"first " if index == 0 else ""}kind"><span>{esc(label_of(kind))}</span></th>'
        for _, kinds in columns
        for index, kind in enumerate(kinds)
    )
    flat = [(kind, index == 0) for _, kinds in columns for index, kind in enumerate(kinds)]
    bodies = []
    for profile in dict.fromkeys(s.requirement.profile for s in report.standings):
        members = [s for s in report.standings if s.requirement.profile == profile]
        rows = "".join(_row(report, standing, flat) for standing in members)
        bodies.append(
            f'<tbody><tr class="profile"><th colspan="{len(flat) + 1}" scope="rowgroup"><span>{esc(profile)}</span>'
            f"</th></tr>{rows}</tbody>"
        )
    return (
        f'<div class="scroll"><table class="matrix"><thead><tr><td></td>{groups}</tr>'
        f'<tr><th scope="col" class="corner">requirement</th>'
        f"{names}</tr></thead>{''.join(bodies)}</table></div>"
        '<p class="key"><span class="f h3"><b>42</b><small>2</small></span> the cells of the requirement occurred 42'
        ' times in schedules in which this fault struck, 2 different cells of it. <span class="f none"></span>'
        ' none did. <span class="f bad"><b>✗ 3</b></span> violated in 3 such schedules.'
        " A schedule with two faults counts in both"
        " columns; the setting of the time is in every schedule and has none.</p>"
    )


def _row(report: Report, standing: Standing, columns: list[tuple[str, bool]]) -> str:
    id_ = standing.requirement.id
    fields = report.evidence.matrix.get(id_, {})
    cells = "".join(_field(standing, kind, first, fields.get(kind)) for kind, first in columns)
    return (
        f'<tr><th scope="row"><i class="dot s-{ident(standing.status)}"></i><a href="#{ident(id_)}">{esc(id_)}</a></th>'
        f"{cells}</tr>"
    )


def _field(standing: Standing, kind: str, first: bool, struck: Struck | None) -> str:
    edge = " first" if first else ""
    if struck is None:
        return f'<td class="f none{edge}"></td>'
    if struck.violated:
        words = (
            f"{standing.requirement.id} under {kind}: violated in {struck.violated:,} of {struck.schedules:,} schedules"
        )
        return f'<td class="f bad{edge}" title="{esc(words)}"><b>✗ {short(struck.violated)}</b></td>'
    shade = min(_SHADES, 1 + int(math.log10(max(struck.times, 1)) * 1.5))
    words = (
        f"{standing.requirement.id} under {kind}: {len(struck.cells)} of {len(standing.met)} cells,"
        f" {struck.times:,} times in {struck.schedules:,} schedules"
    )
    return (
        f'<td class="f h{shade}{edge}" title="{esc(words)}"><b>{short(struck.times)}</b>'
        f"<small>{len(struck.cells)}</small></td>"
    )
