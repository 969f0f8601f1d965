"""Each failure as a swimlane: caller, workers, ledger and remote side by side, one step below the other."""

from __future__ import annotations

import re
from typing import Final

from conformance.report.html.head import failure_anchor
from conformance.report.html.markup import esc, ident, pill, prose
from conformance.report.model import FailureView, Report
from conformance.report.story import Step, step_of, steps
from conformance.report.words import count, quoted

#: The columns that are no process, in the words of the page.
_LANES: Final = {"": "", "suite": "suite", "ledger": "ledger", "remote": "remote"}


def failures(report: Report) -> str:
    """All failures; empty without one."""
    return "".join(_failure(report, number, failure) for number, failure in enumerate(report.failures))


def _failure(report: Report, number: int, failure: FailureView) -> str:
    trace = failure.trace
    requirement = next((s.requirement for s in report.standings if s.requirement.id == failure.requirement), None)
    told = steps(trace.history.events)
    at = step_of(told, trace.violation.seq)
    statement = requirement.statement if requirement else "unknown requirement"
    where = f"{requirement.source} {requirement.where}" if requirement else ""
    return (
        f'<article class="failure" id="{failure_anchor(number)}">'
        f"<h3>{pill(failure.stability)} "
        f'<a class="id" href="#{ident(failure.requirement)}">{esc(failure.requirement)}</a> {prose(statement)}</h3>'
        f'<p class="where">{esc(where)}</p>'
        f'<dl class="judged"><dt>allowed</dt><dd>{esc(trace.violation.allowed)}</dd>'
        f'<dt>happened</dt><dd class="bad">{esc(trace.violation.happened)}, <a href="#{failure_anchor(number)}-{at}">'
        f"at step {at}</a></dd></dl>"
        f"{_lanes(number, told, at)}{_picture(trace.picture)}"
        f'<p class="seen">Seen {trace.failed} of {trace.runs}, in {count(failure.schedules, "schedule")} of this run;'
        f" shrunk from {trace.shrunk_from} steps of the script to {len(trace.program.ops)}. See it again:</p>"
        f"<pre>{esc('onceproof replay ' + quoted(failure.file))}</pre></article>"
    )


def _picture(drawn: str) -> str:
    """What the family drew of the failure: its columns stand only where no line is wrapped."""
    lines = "\n".join(f"  {esc(line)}" for line in drawn.rstrip().splitlines())
    return f'<pre class="drawn">{lines}</pre>' if lines else ""


def _lanes(number: int, told: list[Step], at: int) -> str:
    lanes = [c for c in dict.fromkeys(step.column for step in told) if c not in ("", "remote")]
    lanes += ["ledger"] if any(step.ledger for step in told) else []
    lanes += ["remote"] if any(step.column == "remote" for step in told) else []
    head = "".join(f'<th scope="col" class="{_kind(lane)}">{esc(_LANES.get(lane, lane))}</th>' for lane in lanes)
    rows = "".join(_row(number, n, step, lanes, n == at) for n, step in enumerate(told, 1))
    return (
        f'<div class="scroll"><table class="lanes"><thead><tr><th scope="col" class="no">step</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(number: int, step_number: int, step: Step, lanes: list[str], violated: bool) -> str:
    cells = "".join(f'<td class="{_kind(lane)}" data-lane="{esc(lane)}">{_cell(step, lane)}</td>' for lane in lanes)
    mark = ' class="here"' if violated else ""
    anchor = f"{failure_anchor(number)}-{step_number}"
    return f'<tr id="{anchor}"{mark}><th scope="row" class="no">{step_number}</th>{cells}</tr>'


def _kind(lane: str) -> str:
    return lane if lane in ("ledger", "remote", "suite") else "proc"


def _cell(step: Step, lane: str) -> str:
    if lane == "ledger":
        return "".join(f'<span class="row">{esc(line)}</span>' for line in step.ledger)
    return f'<span class="act">{_loud(step.text)}</span>' if step.column == lane else ""


def _loud(text: str) -> str:
    """Faults stand in capitals in a story: here they are coloured as well."""
    return (
        re.sub(r"([A-Z]{3,}(?:[ ,]+[A-Z]{2,})*(?! ?/))", r'<b class="fault">\1</b>', esc(text))
        if _fault(text)
        else esc(text)
    )


def _fault(text: str) -> bool:
    """Whether a step tells of a fault, and not of a request (its method stands in capitals as well)."""
    return bool(
        re.search(r"LOST|FAILS|HANGS|PAUSED|KILLED|UNREAD|GONE|NOT TRUSTED|DID NOT|NO-ANSWER|FAILED|CRASH", text)
    )
