"""Renders a run record into its folder."""

from __future__ import annotations

from pathlib import Path

from conformance.records import read_run
from conformance.report.as_json import as_json
from conformance.report.model import Report, build


def render(run: Path) -> Report:
    """Read ``run.jsonl``, conclude it, and write every report beside it; raises RecordError for a bad record."""
    report = build(read_run(run))
    (run.parent / "report.json").write_text(as_json(report), encoding="utf-8")
    return report
