"""``junit.xml``: a suite for each profile, a test case for each requirement (docs/reports.md has the mapping).

The command's exit code and this file never disagree: where the exit code is not 0 and no requirement says why, a case
named ``the run`` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from conformance.report.model import FailureView, Report
from conformance.report.words import STATUS_WORDS, count
from conformance.verdict import Standing
from statemachines.plain import plain

#: status -> the element below the test case; a pass has none.
ELEMENTS: Final = {
    "error": "error",
    "fail": "failure",
    "unstable": "failure",
    "untestable": "failure",
    "uncovered": "failure",
    "declared-gap": "skipped",
    "known-failure": "skipped",
    "out-of-tier": "skipped",
    "not-applicable": "skipped",
}


def as_junit(report: Report) -> str:
    """The report as JUnit XML, ending in a line break."""
    profiles = list(dict.fromkeys(s.requirement.profile for s in report.standings))
    suites = [_suite(report, p, [s for s in report.standings if s.requirement.profile == p]) for p in profiles]
    said = any(ELEMENTS.get(s.status) in ("failure", "error") for s in report.standings)
    if report.exit and not said:
        suites.append(_the_run(report))
    totals = "".join(f" {name}={_q(sum(suite[name] for _, suite in suites))}" for name in _COUNTS)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites name={_q('onceproof')}{totals} time={_q(report.footer['seconds'])}>",
        *(line for body, _ in suites for line in body),
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


_COUNTS: Final = ("tests", "failures", "errors", "skipped")


def _suite(report: Report, profile: str, standings: list[Standing]) -> tuple[list[str], dict[str, int]]:
    elements = [ELEMENTS.get(s.status) for s in standings]
    counts = {
        "tests": len(standings),
        "failures": elements.count("failure"),
        "errors": elements.count("error"),
        "skipped": elements.count("skipped"),
    }
    return _element(report, profile, counts, (line for s in standings for line in _case(report, s))), counts


def _element(report: Report, name: str, counts: dict[str, int], cases: Iterable[str]) -> list[str]:
    header = report.header
    identity = header["identity"]
    shown = {
        "implementation": f"{identity['name']} {identity['version']}",
        "rung": identity["rung"],
        "suite": header["suite"],
        "spec": header["spec"],
        "budget": header["budget"],
        "seed": header["seed"],
        "verdict": report.verdict.verdict,
        "complete": str(report.complete).lower(),
        "filtered": str(bool(header["filtered"])).lower(),
    }
    head = "".join(f" {key}={_q(value)}" for key, value in counts.items())
    stamp = str(header["started"]).partition("+")[0]
    return [
        f"  <testsuite name={_q(name)}{head} timestamp={_q(stamp)}>",
        *_properties(shown.items(), "    "),
        *cases,
        "  </testsuite>",
    ]


def _case(report: Report, standing: Standing) -> list[str]:
    requirement = standing.requirement
    head = f"    <testcase name={_q(requirement.id)} classname={_q(requirement.profile)}"
    shown: list[tuple[str, object]] = [
        ("status", standing.status),
        ("level", requirement.level),
        ("source", f"{requirement.source} {requirement.where}"),
        ("statement", requirement.statement),
        *((f"cell:{cell}", _cell(standing, cell)) for cell in standing.met),
    ]
    lines = [f"{head}>", *_properties(shown, "      ")]
    if kind := ELEMENTS.get(standing.status):
        failure = next((f for f in report.failures if f.requirement == requirement.id), None)
        message = failure.trace.violation.happened if failure else _why(report, standing)
        body = _detail(failure) if failure else ""
        lines.append(
            f"      <{kind} type={_q(standing.status)} message={_q(message)}"
            + (f">{escape(_carried(plain(body, lines=True)))}</{kind}>" if body else "/>")
        )
    return [*lines, "    </testcase>"]


def _cell(standing: Standing, cell: str) -> str:
    if cell in standing.out_of_tier:
        return "above this rung"
    if cell in standing.not_applicable:
        return "not applicable"
    return str(standing.met[cell])


def _why(report: Report, standing: Standing) -> str:
    reason = report.excuses.get(standing.requirement.id, STATUS_WORDS[standing.status])
    return f"{reason} ({', '.join(standing.unmet)})" if standing.unmet else reason


def _detail(failure: FailureView) -> str:
    trace = failure.trace
    return (
        f"allowed   {plain(trace.violation.allowed)}\nhappened  {plain(trace.violation.happened)}\n"
        f"seen {trace.failed} of {trace.runs}, in {count(failure.schedules, 'schedule')}\n"
        f"onceproof replay {plain(failure.file)}"
    )


def _the_run(report: Report) -> tuple[list[str], dict[str, int]]:
    """What no requirement shows: an interrupt, a broken driver, a suite that failed, a search that did not end."""
    broken = report.verdict.verdict == "none"
    kind = "error" if broken else "failure"
    interrupted = "the run was interrupted; " if report.footer["interrupted"] else ""
    case = [
        '    <testcase name="the run" classname="onceproof">',
        f"      <{kind} type={_q(report.verdict.verdict)} message={_q(interrupted + report.verdict.why)}/>",
        "    </testcase>",
    ]
    counts = {"tests": 1, "failures": int(not broken), "errors": int(broken), "skipped": 0}
    return _element(report, "onceproof", counts, case), counts


def _properties(shown: Iterable[tuple[str, object]], indent: str) -> list[str]:
    inner = [f"{indent}  <property name={_q(name)} value={_q(value)}/>" for name, value in shown]
    return [f"{indent}<properties>", *inner, f"{indent}</properties>"]


def _q(value: object) -> str:
    """A value as a quoted attribute. Control characters are spelled out: XML cannot carry them."""
    return quoteattr(_carried(plain(value)))


def _carried(text: str) -> str:
    """Without the two code points that XML forbids and that do no harm anywhere else."""
    return text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
