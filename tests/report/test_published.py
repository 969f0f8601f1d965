"""What is published keeps the rules of reports/README.md.

Whether the reference has published its own, and whether that is current, is asked by .ci/run after its run.
"""

from __future__ import annotations

import json
from pathlib import Path

from conformance.records import read_run
from conformance.report.publish import RECORD
from conformance.report.write import FORMATS

REPORTS = Path(__file__).resolve().parents[2] / "reports"
FOLDERS = sorted(path.parent for path in REPORTS.glob(f"*/*/{RECORD}"))


def test_nothing_else_lies_there() -> None:
    assert sorted({file.parent for file in REPORTS.glob("*/*/*")}) == FOLDERS
    assert {file.name for file in REPORTS.iterdir() if file.is_file()} == {"README.md"}


def test_each_is_of_a_whole_run_and_lies_in_its_folder() -> None:
    for folder in FOLDERS:
        record = read_run(folder / RECORD)
        identity = record.header["identity"]
        assert (identity["name"], identity["version"]) == (folder.parent.name, folder.name)
        assert record.footer["complete"], folder
        assert not record.header["filtered"], folder
        assert record.header["budget"] in ("ci", "nightly"), folder


def test_each_has_every_file_and_one_verdict() -> None:
    for folder in FOLDERS:
        assert {file for file, _ in FORMATS.values()} <= {path.name for path in folder.iterdir()}
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        assert report["complete"]
        assert f'"verdict" value="{report["verdict"]}"' in (folder / "junit.xml").read_text(encoding="utf-8")
