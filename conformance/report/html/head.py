"""The top of the page: the verdict in words, the rung, and the four questions of a reader."""

from __future__ import annotations

from conformance.report.html.markup import esc, ident, items
from conformance.report.model import Report
from conformance.report.words import (
    HEADS,
    RUNGS,
    STATUS_WORDS,
    claimed,
    implementation,
    proved,
    quoted,
    rerun,
    unproved,
)
from conformance.verdict import RUNGS as LADDER
from conformance.verdict import STATUSES

#: So many violated requirements are named at the top.
_NAMED = 8
#: verdict -> the colour of the page's head.

_TONES = {"conformant": "good", "partial": "fair", "not conformant": "bad", "inconclusive": "fair", "none": "bad"}


def hero(report: Report) -> str:
    """Verdict, who was tested, the rung, and the bar of statuses."""
    verdict = report.verdict.verdict
    broken = " (interrupted)" if report.footer["interrupted"] else ""
    filtered = ". The run was filtered, so it claims nothing" if report.header["filtered"] else ""
    tone = "fair" if filtered and _TONES[verdict] == "good" else _TONES[verdict]
    return (
        f'<header class="hero tone-{tone}"><p class="kicker">onceproof report</p>'
        f"<h1>{esc(HEADS[verdict] + broken)}</h1>"
        f'<p class="who">{esc(implementation(report))}</p>'
        f'<p class="why">{esc(report.verdict.why)}{_blocked(report)}{filtered}</p>'
        f"{_ladder(report)}{_bar(report)}</header>"
    )


def _blocked(report: Report) -> str:
    """The requirements that are violated, by name, as far as a sentence holds them."""
    names = [s.requirement.id for s in report.standings if s.status in ("fail", "unstable")]
    links = ", ".join(f'<a href="#{ident(name)}">{esc(name)}</a>' for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f": {links}{more}" if names else ""


def _ladder(report: Report) -> str:
    rung = report.header["identity"]["rung"]
    reached = LADDER.index(rung)
    steps = "".join(
        f'<li class="{"on" if index <= reached else "off"}"><b>{name}</b> {esc(RUNGS[name])}</li>'
        for index, name in enumerate(LADDER)
    )
    return f'<ol class="ladder" aria-label="rung {esc(rung)} of L0 to L2">{steps}</ol>'


def _bar(report: Report) -> str:
    counts = {status: sum(s.status == status for s in report.standings) for status in reversed(STATUSES)}
    shown = {status: number for status, number in counts.items() if number}
    parts = "".join(
        f'<span class="s-{ident(status)}" style="flex-grow:{number}"></span>' for status, number in shown.items()
    )
    legend = "".join(
        f'<li><i class="s-{ident(status)}"></i><b>{number}</b> {esc(status)}'
        f"<small>{esc(STATUS_WORDS[status])}</small></li>"
        for status, number in shown.items()
    )
    return f'<div class="bar" aria-hidden="true">{parts}</div><ul class="legend">{legend}</ul>'


def answers(report: Report) -> str:
    """What is claimed, what was proved, what was not, and how to see a failure."""
    cards = [
        ("What is claimed", items(claimed(report))),
        ("What was proved", items(proved(report))),
        ("What was not", items(unproved(report))),
        ("How to see a failure", _see(report)),
    ]
    inner = "".join(f'<article class="card"><h3>{title}</h3>{body}</article>' for title, body in cards)
    return f'<section class="cards" aria-label="in short">{inner}</section>'


def _see(report: Report) -> str:
    if report.failures:
        links = "".join(
            f'<li><a href="#{failure_anchor(number)}">{esc(f.requirement)}</a> {esc(f.trace.violation.happened)}</li>'
            for number, f in enumerate(report.failures[:_NAMED])
        )
        more = len(report.failures) - _NAMED
        rest = f'<p><a href="#failures">and {more} more</a></p>' if more > 0 else ""
        return (
            f"<ul>{links}</ul>{rest}<p>Each is a file; show it again with</p>"
            f"<pre>{esc('onceproof replay ' + quoted(report.failures[0].file))}</pre>"
        )
    return (
        "<p>Nothing failed. The evidence of each pass is one click away, below its row. Run it again:</p>"
        f"<pre>{esc(rerun(report))}</pre>"
        "<p>To see what a failure looks like, run a planted fault:</p>"
        "<pre>onceproof run --driver reference+send-before-gate --budget quick</pre>"
    )


def failure_anchor(number: int) -> str:
    """The anchor of a failure."""
    return f"failure-{number + 1}"
