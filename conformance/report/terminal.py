"""The report in a terminal: a line for each requirement, the failures as stories, the verdict last."""

from __future__ import annotations

import textwrap

from conformance.outcome import NO_ANSWER
from conformance.report.model import Report
from conformance.report.story import story
from conformance.report.words import count as counted
from conformance.report.words import sampled
from conformance.verdict import Standing
from statemachines.plain import indented, plain

#: So many of the rarest moves of random walks are shown.
_RAREST = 3
_WIDTH = 118
#: The files that a run leaves in its folder, the one for people first.
FILES = ("report.html", "report.json", "junit.xml", "summary.md")
_MARKS = {"pass": "ok", "fail": "FAIL", "unstable": "UNSTABLE", "uncovered": "UNCOVERED", "untestable": "UNTESTABLE"}


def terminal(report: Report, where: str) -> str:
    """The report as plain text, ending in a line break. ``where`` is the folder of its files, if there are any."""
    identity, header = report.header["identity"], report.header
    judged = {s.requirement.id: s.requirement for s in report.standings}
    lines = [
        f"onceproof: {plain(identity['name'])} {plain(identity['version'])} ({plain(identity['language'])}),"
        f" rung {identity['rung']},"
        f" budget {header['budget']}, seed {header['seed']}",
        "",
        *_requirements(report.standings),
    ]
    for failure in report.failures:
        lines += ["", story(failure.trace, judged, failure.file).rstrip("\n")]
    for scenario, why in report.out_of_tier:
        lines.append(f"not run at this rung: {scenario} ({plain(why)})")
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(report.tally.faults.items()))
    lines += [
        "",
        f"{counted(report.tally.schedules, 'schedule')} over {counted(report.points, 'fault point')}"
        f" in {report.footer['seconds']} s; {counted(report.tally.missed, 'fault')} missed",
        *_listed("missed: ", [f"{plain(what)} in {plain(schedule)}" for schedule, what in report.tally.first_missed]),
        *textwrap.wrap(
            f"faults that struck: {faults or 'none'}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False
        ),
        *_moves(report),
        *_walks(report),
        *_hints(report),
        *_excused(report),
        *_verdict(report),
    ]
    if header["filtered"]:
        lines.append("this run was filtered, so it claims nothing")
    if report.footer["interrupted"]:
        lines.append("this run was interrupted: the report is partial")
    if where:
        lines.append(f"reports: {plain(where)}: {', '.join(FILES)}")
    return "\n".join(lines) + "\n"


def _moves(report: Report) -> list[str]:
    """How much of the lifecycles was walked, where rows could be seen."""
    if not report.tally.transitions:
        return []
    walked = ", ".join(f"{lc.id} {lc.taken} of {len(lc.edges)}" for lc in report.lifecycles)
    return _wrapped(f"transitions taken: {walked}") if walked else []


def _walks(report: Report) -> list[str]:
    """What random walks reached, and what of it they reached least: the whole histogram is in the record."""
    lines = []
    for walk in report.walks:
        rarest = ", ".join(
            f"{plain(entity)} {plain(before or 'new')} to {plain(after or 'gone')} {count}"
            for entity, before, after, count in walk["moves"][:_RAREST]
        )
        lines += _wrapped(
            f"{walk['walks']} random walks over {walk['family']}: {walk['states']} states, {len(walk['moves'])} row"
            f" moves, {walk['situations']} situations; rarest: {rarest or 'none'}"
        )
    return lines


def _hints(report: Report) -> list[str]:
    """What the driver itself should mend, since it makes the verdict weaker than it looks."""
    hints = [line for sentence in sampled(report) for line in _wrapped(sentence)]
    if report.tally.gaps:
        gaps = ", ".join(plain(gap) for gap in sorted(report.tally.gaps))
        rung = report.header["identity"]["rung"]
        hints += _wrapped(f"the driver declares rung {rung} and these families, but does not do: {gaps}")
    silent = report.tally.faults.get(NO_ANSWER, 0)
    if silent:
        hints += _wrapped(
            f"{silent} commands had no answer in time and their processes were ended: a command that waits for"
            " another one has to say so (the event `waiting`)"
        )
    return hints


def _excused(report: Report) -> list[str]:
    """What the baseline excuses, and what of it is not true."""
    entries = {e["id"]: e for e in report.header["baseline"]}
    lines = []
    for s in report.standings:
        if s.status in ("known-failure", "declared-gap"):
            entry = entries[s.requirement.id]
            until = f", until {entry['expires']}" if "expires" in entry else ""
            lines += _wrapped(f"excused: {s.requirement.id} ({plain(entry['reason'])}; {plain(entry['issue'])}{until})")
    for complaint in report.untrue:
        lines += _wrapped(f"BASELINE: {plain(complaint)}")
    if entries:
        lines.append("this run had a baseline, so it claims nothing")
    return lines


def _verdict(report: Report) -> list[str]:
    """The verdict first; of a reason with several lines (a driver's last words) the others below it."""
    return [*indented(f"{report.verdict.verdict}: {report.verdict.why}"), _proved(report)]


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _listed(name: str, items: list[str]) -> list[str]:
    return [f"{name if not index else ' ' * len(name)}{item}" for index, item in enumerate(items)]


def _requirements(standings: tuple[Standing, ...]) -> list[str]:
    lines = []
    for s in standings:
        met = sum(1 for cell in s.judged if s.met[cell])
        counts = ", ".join(f"{cell} {s.met[cell]}" for cell in s.judged if s.met[cell])
        mark = _MARKS.get(s.status, s.status)
        lines.append(f"{mark:<12} {s.requirement.id:<11} {met}/{len(s.judged)} cells  {counts}".rstrip())
        if s.status == "fail" and not s.judged:
            lines.append(
                f"{'':<12} {'':<11} violated, though the cells that would prove the opposite need a higher rung"
            )
        if s.out_of_tier and s.judged:
            lines.append(f"{'':<12} {'':<11} above this rung: {', '.join(s.out_of_tier)}")
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
