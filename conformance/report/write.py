"""Renders a run record into a folder: every report, or the ones that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from conformance.records import RecordError, RunRecord, read_run
from conformance.report.as_json import as_json
from conformance.report.as_junit import as_junit
from conformance.report.as_summary import as_summary
from conformance.report.html import as_html
from conformance.report.model import Report, build
from conformance.schemas import problems

#: format -> its file and what makes it. All are pure functions of the run record.
FORMATS: Final[dict[str, tuple[str, Callable[[Report], str]]]] = {
    "json": ("report.json", as_json),
    "junit": ("junit.xml", as_junit),
    "summary": ("summary.md", as_summary),
    "html": ("report.html", as_html),
}


def conclude(run: Path, *, foreign: bool = False) -> Report:
    """Read a run record and conclude it; raises RecordError, with one sentence that names the file, for a bad one.

    ``foreign``: the record was not written a moment ago by this process, so that all but its schedules are held to the
    published schema first.
    """
    record = read_run(run)
    if foreign:
        _hold_to_schema(run, record)
    try:
        return build(record)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise RecordError(f"{run}: its records do not fit together ({problem}); the file was edited") from None


def _hold_to_schema(run: Path, record: RunRecord) -> None:
    """Schedules are many and simple: what is wrong with one shows when they are added up."""
    parts = [("header", record.header), ("footer", record.footer)]
    parts += [("plan", plan) for plan in record.plans]
    parts += [("differential", differential) for differential in record.differentials]
    parts += [("failure", failure) for failure in record.failures]
    for kind, value in parts:
        if found := problems("run-record", value, kind):
            raise RecordError(f"{run}: the {kind} is not as this onceproof writes it ({found[0]})")


def write(report: Report, out: Path, formats: Iterable[str] = tuple(FORMATS)) -> list[Path]:
    """Write these formats into a folder and return their paths; raises OSError where it cannot be written."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in formats:
        file, make = FORMATS[name]
        (out / file).write_text(make(report), encoding="utf-8")
        written.append(out / file)
    return written


def render(run: Path) -> Report:
    """Read ``run.jsonl``, conclude it, and write every report beside it; raises RecordError for a bad record."""
    report = conclude(run)
    write(report, run.parent)
    return report
