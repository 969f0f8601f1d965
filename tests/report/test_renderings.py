"""The reports of one hand-made run in which every status occurs, as a person has looked at them once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.report.model import Report
from conformance.report.terminal import terminal
from conformance.report.write import FORMATS, conclude, render, write
from conformance.schemas import problems
from tests.conftest import Snapshot
from tests.report.made import header, passing, records, schedule
from tests.report.made import write as write_record

#: Everything in the made names that a page or a terminal could obey.
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&\"'`|*[x](y)\nFAIL"


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return conclude(write_record(tmp_path, records()), foreign=True)


def test_the_made_record_is_one_that_a_run_could_have_written() -> None:
    for record in (*records(), *passing()):
        assert problems("run-record", record) == []


def test_terminal(report: Report, snapshot: Snapshot) -> None:
    snapshot("terminal", terminal(report, "runs/latest"))


def test_summary(report: Report, snapshot: Snapshot) -> None:
    snapshot("summary", FORMATS["summary"][1](report))


def test_junit(report: Report, snapshot: Snapshot) -> None:
    snapshot("junit", FORMATS["junit"][1](report))


def test_json_fits_its_schema(report: Report) -> None:
    assert problems("report", json.loads(FORMATS["json"][1](report))) == []


def test_a_rendering_is_a_function_of_the_record_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_record(tmp_path / "here", records())
    render(path)
    monkeypatch.setenv("ONCEPROOF_SPEC", str(tmp_path / "there is no specification here"))
    write(conclude(path, foreign=True), tmp_path / "there")
    for file, _ in FORMATS.values():
        assert (tmp_path / "here" / file).read_text() == (tmp_path / "there" / file).read_text(), file


def test_an_earlier_record_without_moves_lifecycles_and_tables_still_renders(tmp_path: Path) -> None:
    made = records()
    made[0] = {k: v for k, v in made[0].items() if k not in ("lifecycles", "tables")}
    for record in made[2:5]:
        del record["looks"], record["transitions"]
    page = FORMATS["html"][1](conclude(write_record(tmp_path, made), foreign=True))
    assert 'id="requirements"' in page
    assert 'id="lifecycles"' not in page


def hostile() -> list[dict[str, object]]:
    """A run in which every text that a driver or a record contributes is hostile."""
    identity = {**header()["identity"], "name": HOSTILE, "version": HOSTILE, "language": HOSTILE}
    identity |= {"readings": {HOSTILE: HOSTILE}, "features": [HOSTILE]}
    requirements = [{**r, "statement": HOSTILE, "where": HOSTILE} for r in header()["requirements"]]
    schedules = [schedule(HOSTILE, met={"AAA-001": {"one": 1}}, gaps=[HOSTILE], missed=[HOSTILE])]
    made = records(header(identity=identity, requirements=requirements, driver=HOSTILE), schedules)
    for record in made:
        if record["record"] == "failure":
            record["file"] = HOSTILE
            record["trace"]["violation"] |= {"allowed": HOSTILE, "happened": HOSTILE}
            for event in record["trace"]["history"]["events"]:
                if event["kind"] == "request":
                    event["path"] = HOSTILE
    return made


@pytest.mark.parametrize("name", ["junit", "summary", "html", "terminal"])
def test_hostile_text_is_shown_and_never_obeyed(tmp_path: Path, name: str) -> None:
    report = conclude(write_record(tmp_path, hostile()))
    text = terminal(report, "") if name == "terminal" else FORMATS[name][1](report)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\nFAIL" not in text.replace("\nFAIL  AAA-002", "").replace("\nFAIL         AAA-002", "")
    assert "\\x1b[31m\\u202e" in text.replace("\\\\", "\\").replace("\\[", "[")
    if name != "terminal":
        outside_code = (
            text
            if name != "summary"
            else "\n".join(line for line in text.split("```")[0].split("\n") if "`" not in line)
        )
        assert "<script" not in outside_code


def test_an_excuse_is_shown_with_its_reason(tmp_path: Path) -> None:
    excuses = [{"id": "AAA-003", "kind": "declared-gap", "reason": "waits for issue 7", "issue": "#7"}]
    report = conclude(write_record(tmp_path, records(header(baseline=excuses))), foreign=True)
    for name in ("junit", "summary", "html"):
        assert "waits for issue 7" in FORMATS[name][1](report), name


def test_the_grade_sampled_is_said(report: Report) -> None:
    sentence = "graded sampled in 1 schedule"
    assert sentence in terminal(report, "")
    for name in ("summary", "html"):
        assert sentence in FORMATS[name][1](report), name


def test_rows_of_tables_and_transitions_are_counted(report: Report) -> None:
    [table] = report.tables
    assert [(row.id, row.times) for row in table.rows] == [("open", 1202), ("shut", None)]
    [lc] = report.lifecycles
    assert [edge.taken for edge in lc.edges] == [1, 1, 1, 0, 0]
    assert lc.strange == (("", "Completed", 1),)


def test_the_matrix_says_under_which_fault_what_occurred(report: Report) -> None:
    matrix = report.evidence.matrix
    assert set(matrix["AAA-001"]) == {"no fault", "remote status 500", "restart"}
    field = matrix["AAA-001"]["no fault"]
    assert (field.cells, field.times, field.schedules, field.violated) == ({"one", "two"}, 3, 1, 0)
    assert matrix["AAA-002"]["restart"].violated == 1
    assert "crash" not in matrix["AAA-001"]
    assert report.evidence.columns == [
        ("", ["no fault"]),
        ("remote", ["remote status 500"]),
        ("process", ["crash", "restart"]),
    ]
    first = report.evidence.cells["AAA-001"]["one"]
    assert (first.schedules, first.first) == (2, "mutation/invoke")
