"""``summary.md``: the report as Markdown, for the summary of a CI job or a comment. What blocks comes first."""

from __future__ import annotations

import re
from typing import Final

from conformance.report.model import FailureView, Report
from conformance.report.story import step_of, steps, table
from conformance.report.words import HEADS, STATUS_WORDS, claimed, count, proved, rerun, unproved
from conformance.verdict import STATUSES, Standing
from statemachines.plain import plain

#: A story is cut after so many lines, and so many are told: the page has to stay below what CI servers take.
_STORY: Final = 40
_STORIES: Final = 20
_MARKS: Final = {
    "pass": "✅",
    "fail": "❌",
    "error": "💥",
    "unstable": "⚠️",
    "uncovered": "🕳️",
    "untestable": "🕳️",
    "declared-gap": "➖",
    "known-failure": "➖",
}


def as_summary(report: Report) -> str:
    """The report as Markdown, ending in a line break."""
    head = HEADS[report.verdict.verdict]
    lines = [
        f"# onceproof: {head}",
        "",
        f"**{_md(claimed(report)[0])}**, {_md(claimed(report)[1])}.",
        "",
        f"> {_md(report.verdict.why)}",
        "",
        "| proved | not proved |",
        "| --- | --- |",
        f"| {'<br>'.join(map(_md, proved(report)))} | {'<br>'.join(map(_md, unproved(report)))} |",
        "",
    ]
    for failure in report.failures[:_STORIES]:
        lines += _failure(report, failure)
    if len(report.failures) > _STORIES:
        lines += [f"… and {count(len(report.failures) - _STORIES, 'failure')} more: see report.html", ""]
    lines += _blocking(report)
    lines += _all(report)
    header = report.header
    lines += [
        f"{_md(header['suite'])}, specification {_code(header['spec'][:12])}, {_md(header['started'])},"
        f" {report.footer['seconds']} s. Again: {_code(rerun(report))}",
    ]
    return "\n".join(lines) + "\n"


def _failure(report: Report, failure: FailureView) -> list[str]:
    trace = failure.trace
    told = steps(trace.history.events)
    drawn = table(told)
    if len(drawn) > _STORY:
        drawn = [*drawn[:_STORY], f"  … and {len(drawn) - _STORY} lines more: see report.html"]
    statement = next((s.requirement.statement for s in report.standings if s.requirement.id == failure.requirement), "")
    word = "fail" if failure.stability == "fail" else failure.stability
    fence = "`" * max([3, *(len(run) + 1 for line in drawn for run in re.findall("`{3,}", line))])
    return [
        f"### {_MARKS.get(word, '')} {_md(failure.requirement)}: {_md(statement)}",
        "",
        f"- allowed: {_md(trace.violation.allowed)}",
        f"- happened: {_md(trace.violation.happened)}, at step {step_of(told, trace.violation.seq)}",
        f"- seen {trace.failed} of {trace.runs}, in {count(failure.schedules, 'schedule')}; again: "
        + _code(f"onceproof replay {failure.file}"),
        "",
        "<details><summary>step by step</summary>",
        "",
        f"{fence}text",
        *(line.rstrip() for line in drawn),
        fence,
        "",
        "</details>",
        "",
    ]


def _blocking(report: Report) -> list[str]:
    told = {failure.requirement for failure in report.failures[:_STORIES]}
    rest = [s for s in report.standings if s.status not in ("pass", "out-of-tier", "not-applicable")]
    rest = sorted((s for s in rest if s.requirement.id not in told), key=lambda s: STATUSES.index(s.status))
    if not rest:
        return []
    return [
        "| requirement | status | why |",
        "| --- | --- | --- |",
        *(f"| {_md(s.requirement.id)} | {_mark(s)} | {_md(_why(report, s))} |" for s in rest),
        "",
    ]


def _why(report: Report, standing: Standing) -> str:
    if standing.requirement.id in report.excuses:
        return report.excuses[standing.requirement.id]
    if standing.unmet:
        return f"never occurred: {', '.join(standing.unmet)}"
    return STATUS_WORDS[standing.status]


def _all(report: Report) -> list[str]:
    out = [f"<details><summary>all {len(report.standings)} requirements that were judged</summary>", ""]
    out += ["| requirement | status | cells | times | what it demands |", "| --- | --- | --- | ---: | --- |"]
    for s in report.standings:
        met = sum(1 for cell in s.judged if s.met[cell])
        out.append(
            f"| {_md(s.requirement.id)} | {_mark(s)} | {met}/{len(s.judged)} | {s.exercised:,}"
            f" | {_md(s.requirement.statement)} |"
        )
    return [*out, "", "</details>", ""]


def _mark(standing: Standing) -> str:
    return f"{_MARKS.get(standing.status, '·')} {standing.status}"


def _md(text: object) -> str:
    """Text that shows as it is: neither markup nor Markdown of its own, on one line."""
    safe = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~!@])", r"\\\1", safe)


def _code(text: object) -> str:
    """Text as code, whatever backticks it holds."""
    safe = plain(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", safe)), default=0))
    pad = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{pad}{safe}{pad}{fence}"
