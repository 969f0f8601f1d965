"""The reports of one hand-made run in which every status occurs, as a person has looked at them once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.history import Event
from conformance.report.model import Report
from conformance.report.story import steps
from conformance.report.terminal import terminal
from conformance.report.words import rerun
from conformance.report.write import FORMATS, conclude, render, write
from conformance.schemas import problems
from tests.conftest import Snapshot
from tests.report.made import failure, header, passing, records, requirement, schedule
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
            record["trace"]["picture"] = f"generations of the lane\n{HOSTILE}\n"
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


def test_what_a_family_draws_stands_below_the_story(tmp_path: Path) -> None:
    failed = failure()
    failed["trace"]["picture"] = "lane <b>acme</b>\n  1   2\n"
    report = conclude(write_record(tmp_path, records(failures=[failed])), foreign=True)
    assert '<pre class="drawn">  lane &lt;b&gt;acme&lt;/b&gt;\n    1   2</pre>' in FORMATS["html"][1](report)
    assert "\n  lane <b>acme</b>\n    1   2\n" in terminal(report, "")


def test_a_story_says_where_the_wall_clock_went() -> None:
    clock = {"wall_ms": 1_000, "mono_ms": 0, "trusted": True}
    told = [
        Event(0, "suite", "config", "", {"clock": clock}),
        Event(1, "suite", "time", "", {**clock, "wall_ms": 3_000, "mono_ms": 2_000}),
        Event(2, "suite", "time", "", {**clock, "wall_ms": 3_603_000, "mono_ms": 2_000}),
    ]
    assert [step.text for step in steps(tuple(told))] == ["time is 2 s", "time is 2 s, by the wall clock 3602 s"]


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


def test_rows_that_a_family_searches_for_are_counted_as_it_finds_them(tmp_path: Path) -> None:
    made = records()
    made[1]["tables"] = {"outcome": ["shut"]}
    made[2]["tables"] = {"outcome": {"shut": 3}}
    [table] = conclude(write_record(tmp_path, made), foreign=True).tables
    assert [(row.id, row.times) for row in table.rows] == [("open", None), ("shut", 3)]
    del made[2]["tables"]["outcome"]
    [table] = conclude(write_record(tmp_path, made), foreign=True).tables
    assert [(row.id, row.times) for row in table.rows] == [("open", None), ("shut", 0)]


def test_a_baseline_that_is_not_true_is_said_everywhere(tmp_path: Path) -> None:
    entry = {"id": "AAA-001", "kind": "declared-gap", "reason": "not built", "issue": "#7"}
    report = conclude(write_record(tmp_path, records(header(baseline=[entry]))), foreign=True)
    for name in ("summary", "html"):
        text = FORMATS[name][1](report)
        assert "AAA-001 is in the baseline and passes" in text.replace("\\-", "-"), name
        assert "the run had a baseline, so it claims nothing" in text, name


def test_the_matrix_says_under_which_fault_what_occurred(report: Report) -> None:
    matrix = report.evidence.matrix
    assert set(matrix["AAA-001"]) == {"no fault", "remote status", "restart"}
    field = matrix["AAA-001"]["no fault"]
    assert (field.cells, field.times, field.schedules, field.violated) == ({"one", "two"}, 3, 1, 0)
    assert matrix["AAA-002"]["restart"].violated == 1
    assert "crash" not in matrix["AAA-001"]
    assert report.evidence.columns == [
        ("", ["no fault"]),
        ("remote", ["remote status"]),
        ("process", ["crash", "restart"]),
    ]
    first = report.evidence.cells["AAA-001"]["one"]
    assert (first.schedules, first.first) == (2, "mutation/invoke")


def test_many_failures_do_not_make_a_long_summary(tmp_path: Path) -> None:
    names = [f"CCC-{number:03}" for number in range(100)]
    head = header(requirements=[requirement(name, ("one", "L0")) for name in names], unreachable=[])
    schedules = [schedule("s", met={name: {"one": 1} for name in names}, named=names)]
    made = records(head, schedules, [failure(name) for name in names])
    report = conclude(write_record(tmp_path, made))
    summary = FORMATS["summary"][1](report)
    assert summary.count("<summary>step by step") == 20
    assert "… and 80 failures more: see report.html" in summary
    assert f"| {names[20]} | ❌ fail |" in summary
    assert FORMATS["html"][1](report).count('<article class="failure"') == 100


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({}, "onceproof run --driver 'node driver.js' --budget ci"),
        (
            {"only": ["AAA-001"], "scenarios": ["m/*"], "filtered": True, "seed": 3},
            "onceproof run --driver 'node driver.js' --only AAA-001 --scenario 'm/*' --budget ci --seed 3",
        ),
        (
            {"identity": {**header()["identity"], "families": ["mutation-host", "other"]}, "filtered": True},
            "onceproof run --driver 'node driver.js' --profile mutation-host --budget ci",
        ),
    ],
)
def test_the_command_that_runs_it_again(tmp_path: Path, members: dict[str, object], words: str) -> None:
    report = conclude(write_record(tmp_path, records(header(**members))), foreign=True)
    assert rerun(report) == words


def test_a_family_that_the_suite_does_not_judge_is_said(tmp_path: Path) -> None:
    identity = {**header()["identity"], "families": ["mutation-host", "teleport"]}
    report = conclude(write_record(tmp_path, records(header(identity=identity))), foreign=True)
    assert "the driver offers teleport, which this suite does not judge" in FORMATS["summary"][1](report)
