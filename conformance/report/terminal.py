"""The report in a terminal: a line for each requirement, the failures as stories, the verdict last."""

from __future__ import annotations

from conformance.report.model import Report
from conformance.report.story import story
from conformance.verdict import Standing
from statemachines.spec import Spec

_MARKS = {"pass": "ok", "fail": "FAIL", "unstable": "UNSTABLE", "uncovered": "UNCOVERED"}


def terminal(report: Report, spec: Spec, where: str) -> str:
    """The whole report as plain text, ending in a line break."""
    identity, header = report.header["identity"], report.header
    lines = [
        f"onceproof: {identity['name']} {identity['version']} ({identity['language']}), rung {identity['rung']},"
        f" budget {header['budget']}, seed {header['seed']}",
        "",
        *_requirements(report.standings),
    ]
    for failure in report.failures:
        lines += ["", story(failure.trace, spec, failure.file).rstrip("\n")]
    for scenario, why in report.out_of_tier:
        lines.append(f"not run at this rung: {scenario} ({why})")
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(report.tally.faults.items()))
    lines += [
        "",
        f"{report.tally.schedules} schedules over {report.points} fault points in {report.footer['seconds']} s;"
        f" {report.tally.missed} faults missed",
        f"faults that struck: {faults or 'none'}",
        f"{report.verdict.verdict}: {report.verdict.why}; {_proved(report)}",
    ]
    if header["filtered"]:
        lines.append("this run was filtered, so it claims nothing")
    if report.footer["interrupted"]:
        lines.append("this run was interrupted: the report is partial")
    lines.append(f"report: {where}")
    return "\n".join(lines) + "\n"


def _requirements(standings: tuple[Standing, ...]) -> list[str]:
    lines = []
    for s in standings:
        met = sum(1 for count in s.met.values() if count)
        counts = ", ".join(f"{cell} {count}" for cell, count in s.met.items())
        mark = _MARKS.get(s.status, s.status)
        lines.append(f"{mark:<12} {s.requirement.id:<11} {met}/{len(s.met)} cells  {counts}")
        if s.unmet and s.status != "fail":
            lines.append(f"{'':<12} {'':<11} never occurred: {', '.join(s.unmet)}")
    return lines


def _proved(report: Report) -> str:
    passed = sum(s.status == "pass" for s in report.standings)
    header = report.header
    return (
        f"{passed} of {report.judged} judged obligations pass at rung {header['identity']['rung']},"
        f" of {header['obligations']} in the specification ({header['planned']} planned)"
    )
