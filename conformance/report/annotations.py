"""Annotations of a run for a CI server that reads workflow commands: what failed, at most ten of a kind (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.report.model import Report
from conformance.verdict import STATUSES, Standing
from statemachines.plain import plain

#: A server shows ten errors and ten warnings of one step and drops the rest without a word.
MOST: Final = 10
_ERRORS: Final = ("error", "fail", "untestable", "uncovered")
_WARNINGS: Final = ("unstable", "known-failure", "declared-gap")


def workflow_commands(report: Report) -> str:
    """One workflow command for each finding, worst first; the last of a full kind says how many more there are."""
    happened = report.known
    standings = sorted(report.standings, key=lambda s: STATUSES.index(s.status))
    errors = [_message(s, happened) for s in standings if s.status in _ERRORS and report.verdict.exit == 1]
    errors += [("baseline", sentence) for sentence in report.untrue]
    if not errors and report.verdict.exit not in (0, 4):
        errors = [(report.verdict.verdict, report.verdict.why)]
    warnings = [_message(s, happened) for s in standings if s.status in _WARNINGS]
    if report.verdict.exit == 4:
        warnings.append((report.verdict.verdict, report.verdict.why))
    notice = f"{report.verdict.verdict}: {report.verdict.why}"
    lines = [*_commands("error", errors), *_commands("warning", warnings), _command("notice", "onceproof", notice)]
    return "\n".join(lines) + "\n"


def _message(standing: Standing, happened: dict[str, str]) -> tuple[str, str]:
    r = standing.requirement
    what = happened.get(r.id) or (f"never occurred: {', '.join(standing.unmet)}" if standing.unmet else standing.status)
    return f"{r.id} {standing.status}", f"{r.statement} Happened: {what}"


def _commands(kind: str, found: list[tuple[str, str]]) -> Iterator[str]:
    if len(found) > MOST:
        more = len(found) - MOST + 1
        found = [*found[: MOST - 1], ("onceproof", f"{more} more of this kind; see the report")]
    for title, message in found:
        yield _command(kind, title, message)


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_escape(title, ':,')}::{_escape(message)}"


def _escape(text: str, also: str = "") -> str:
    """Percent-encoding of what would end a command, after control characters were made visible."""
    for char in "%\r\n" + also:
        text = text.replace(char, f"%{ord(char):02X}")
    return plain(text)
