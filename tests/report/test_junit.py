"""``junit.xml``: it fits the common schema, it maps every status, and it never disagrees with the exit code."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.report.as_junit import ELEMENTS, as_junit
from conformance.report.model import Report
from conformance.report.write import conclude
from conformance.verdict import STATUSES
from tests.report.made import header, passing, records, schedule, write
from tests.report.test_renderings import hostile

SCHEMA = Path(__file__).with_name("junit.xsd")

#: name -> a run, in which each way to an exit code that is not 0 occurs.
RUNS: dict[str, Any] = {
    "every status": records(),
    "all pass": passing(),
    "interrupted": passing(interrupted=True, complete=False),
    "did not end": passing(complete=False),
    "driver broke": passing(problem="it died", blame="driver", complete=False),
    "a fault was missed": passing(schedules=[schedule("s", missed=["w1 gate:begin fail"])]),
    "a schedule broke": passing(schedules=[schedule("s", problem="no answer", blame="suite")]),
    "nothing judged": passing(head=header(requirements=[], unreachable=[]), schedules=[]),
    "hostile": hostile(),
}


def report_of(tmp_path: Path, name: str) -> Report:
    return conclude(write(tmp_path, RUNS[name]))


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.skipif(shutil.which("xmllint") is None, reason="xmllint is not installed (package libxml2-utils)")
def test_it_fits_the_schema(tmp_path: Path, name: str) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(as_junit(report_of(tmp_path, name)), encoding="utf-8")
    said = subprocess.run(
        ["xmllint", "--noout", "--schema", SCHEMA, file], capture_output=True, text=True, check=False, timeout=60
    )
    assert said.returncode == 0, said.stderr


@pytest.mark.skipif(shutil.which("xmllint") is None, reason="xmllint is not installed (package libxml2-utils)")
def test_the_schema_refuses_what_is_none(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    text = as_junit(report_of(tmp_path, "every status"))
    for good, bad in (("<failure", "<fault"), (' tests="', ' exams="'), ('name="AAA-001"', 'nam="AAA-001"')):
        assert good in text
        file.write_text(text.replace(good, bad).replace("</failure>", f"</{bad[1:]}>"), encoding="utf-8")
        words = ["xmllint", "--noout", "--schema", str(SCHEMA), str(file)]
        assert subprocess.run(words, capture_output=True, check=False, timeout=60).returncode != 0, bad


@pytest.mark.parametrize("name", RUNS)
def test_it_is_red_exactly_when_the_exit_code_is_not_zero(tmp_path: Path, name: str) -> None:
    report = report_of(tmp_path, name)
    root = ElementTree.fromstring(as_junit(report))
    red = root.findall(".//failure") + root.findall(".//error")
    assert bool(red) == bool(report.exit)
    assert len(root.findall(".//failure")) == int(root.attrib["failures"])
    assert len(root.findall(".//error")) == int(root.attrib["errors"])
    assert len(root.findall(".//skipped")) == int(root.attrib["skipped"])
    assert len(root.findall(".//testcase")) == int(root.attrib["tests"])


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_element(tmp_path: Path, status: str) -> None:
    report = report_of(tmp_path, "all pass")
    changed = dataclasses.replace(report.standings[0], status=status)
    root = ElementTree.fromstring(as_junit(dataclasses.replace(report, standings=(changed,), failures=())))
    [case] = root.iter("testcase")
    below = [element.tag for element in case if element.tag != "properties"]
    assert below == ([ELEMENTS[status]] if status != "pass" else [])
    assert all(element.attrib["type"] == status for element in case if element.tag != "properties")


def test_a_case_names_the_requirement_and_counts_its_cells(tmp_path: Path) -> None:
    root = ElementTree.fromstring(as_junit(report_of(tmp_path, "every status")))
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert cases["AAA-001"].attrib["classname"] == "mutation-attempt"
    shown = {p.attrib["name"]: p.attrib["value"] for p in cases["AAA-001"].iter("property")}
    assert (shown["cell:one"], shown["cell:two"], shown["status"]) == ("1202", "1", "pass")
    assert "above this rung" in {p.attrib["value"] for p in cases["BBB-001"].iter("property")}
    [failed] = cases["AAA-002"].iter("failure")
    assert "onceproof replay runs/latest/AAA-002-1.json" in str(failed.text)


def test_the_page_about_reports_has_the_same_mapping() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/reports.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| (none|`[a-z]+`)", text, re.MULTILINE)
    said = {status: element for names, element in rows for status in re.findall(r"`([a-z-]+)`", names)}
    assert said == {status: f"`{ELEMENTS[status]}`" if status in ELEMENTS else "none" for status in STATUSES}
