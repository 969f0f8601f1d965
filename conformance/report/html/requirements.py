"""Every requirement that was judged, each with its evidence one click below."""

from __future__ import annotations

from conformance.report.evidence import CellEvidence
from conformance.report.html.head import failure_anchor
from conformance.report.html.markup import esc, ident, pill, prose
from conformance.report.model import Report
from conformance.report.words import STATUS_WORDS, rerun
from conformance.verdict import STATUSES, Standing


def requirements(report: Report) -> str:
    """All of them by profile; within one, what blocks comes first."""
    blocks = []
    for profile in dict.fromkeys(s.requirement.profile for s in report.standings):
        members = [s for s in report.standings if s.requirement.profile == profile]
        passed = sum(s.status == "pass" for s in members)
        members.sort(key=lambda s: STATUSES.index(s.status))
        rows = "".join(_requirement(report, s) for s in members)
        blocks.append(f"<h3>{esc(profile)} <small>{passed} of {len(members)} pass</small></h3>{rows}")
    return "".join(blocks)


def _requirement(report: Report, standing: Standing) -> str:
    r = standing.requirement
    met = sum(1 for cell in standing.judged if standing.met[cell])
    dots = "".join(f'<i class="{_state(standing, cell)}"></i>' for cell in standing.met)
    level = r.level + ("" if r.core else ", extended")
    # The anchor is inside, so that a browser that follows a link to it opens the evidence.
    return (
        f'<details class="req"><summary>{pill(standing.status)}<b class="id">{esc(r.id)}</b>'
        f'<span class="says">{prose(r.statement)}</span>'
        f'<span class="met"><span class="dots" aria-hidden="true">{dots}</span>'
        f"{met}/{len(standing.judged)} cells</span></summary>"
        f'<div class="evidence" id="{ident(r.id)}"><p>{esc(STATUS_WORDS[standing.status].capitalize())}.'
        f"{_excuse(report, standing)} {esc(level)}, {esc(r.source)} {esc(r.where)}.{_failed(report, standing)}</p>"
        f"{_cells(report, standing)}<pre>{esc(rerun(report, '--only ' + r.id))}</pre></div></details>"
    )


def _excuse(report: Report, standing: Standing) -> str:
    reason = report.excuses.get(standing.requirement.id)
    return f" Reason: {esc(reason)}." if reason else ""


def _failed(report: Report, standing: Standing) -> str:
    links = [
        f' <a href="#{failure_anchor(number)}">See the failure.</a>'
        for number, failure in enumerate(report.failures)
        if failure.requirement == standing.requirement.id
    ]
    return "".join(links)


def _cells(report: Report, standing: Standing) -> str:
    shown = report.evidence.cells.get(standing.requirement.id, {})
    rows = "".join(
        f'<tr><td data-name="cell"><i class="{_state(standing, cell.id)}"></i>'
        f" <b>{esc(cell.id)}</b> {prose(cell.text)}</td>"
        f'<td data-name="needs">{esc(", ".join(cell.needs) or "—")}</td><td data-name="rung">{esc(cell.rung)}</td>'
        f'<td data-name="times" class="n">{_times(standing, cell.id)}</td>'
        f'<td data-name="first met in">{_first(shown.get(cell.id))}</td></tr>'
        for cell in standing.requirement.cells
    )
    return (
        '<table class="cells"><thead><tr><th>cell</th><th>needs</th><th>rung</th><th class="n">times</th>'
        f"<th>first met in</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _times(standing: Standing, cell: str) -> str:
    if cell in standing.not_applicable:
        return "not applicable"
    return "above this rung" if cell in standing.out_of_tier and not standing.met[cell] else f"{standing.met[cell]:,}"


def _first(found: CellEvidence | None) -> str:
    if found is None:
        return '<span class="never">never occurred</span>'
    faults = ", ".join(found.faults) or "no fault"
    more = f", and {found.schedules - 1:,} more" if found.schedules > 1 else ""
    return f"<code>{esc(found.first)}</code><small>{esc(faults)}{more}</small>"


def _state(standing: Standing, cell: str) -> str:
    if cell in standing.out_of_tier or cell in standing.not_applicable:
        return "c-away"
    return "c-met" if standing.met[cell] else "c-unmet"
