"""The drivers of the implementers' guide: what the page says of them is what the suite says."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.records import read_run
from conformance.report.model import Report, build
from conformance.skeletons import skeleton

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "payments"
GUIDE = (ROOT / "docs" / "implementers-guide.md").read_text(encoding="utf-8")


def driver(file: Path) -> str:
    return shlex.join([sys.executable, str(file)])


def narrow(file: Path, out: Path, *only: str, scenario: str = "mutation/invoke-unkeyed") -> tuple[int, Report]:
    """A run of one scenario, which takes seconds."""
    words = [word for each in only for word in ("--only", each)]
    code = main(["run", "--driver", driver(file), *words, "--scenario", scenario, "--jobs", "1", "--out", str(out)])
    return code, build(read_run(out / "run.jsonl"))


def statuses(report: Report) -> dict[str, str]:
    return {s.requirement.id: s.status for s in report.standings}


def test_the_ordinary_code_sends_twice_and_the_story_is_that_of_the_guide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = narrow(FOLDER / "ordinary.py", tmp_path, "MUT-015")
    assert (code, statuses(report)) == (1, {"MUT-015": "fail"})
    told = [line.strip() for line in capsys.readouterr().out.splitlines()]
    shown = re.search(r"^    FAIL  MUT-015.*?(?=\n      seen)", GUIDE, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert [line for line in shown[0].splitlines() if line.strip() not in told] == []


def test_without_its_tries_it_lies_where_nobody_knows(tmp_path: Path) -> None:
    mended = tmp_path / "driver.py"
    text = (FOLDER / "ordinary.py").read_text(encoding="utf-8")
    assert "range(3)" in text
    mended.write_text(text.replace("range(3)", "range(1)"))
    code, report = narrow(mended, tmp_path / "out", "MUT-015", "OBS-042")
    assert (code, statuses(report)) == (1, {"MUT-015": "pass", "OBS-042": "fail"})


def test_the_climbed_driver_is_fit_for_l1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--driver", driver(FOLDER / "climbed.py")]) == 0
    assert "fit for L1" in capsys.readouterr().out


def test_the_climbed_driver_knows_what_it_does_not_know(tmp_path: Path) -> None:
    code, report = narrow(FOLDER / "climbed.py", tmp_path, "MUT-016", "OBS-042", "MUT-009")
    assert not {"fail", "unstable"} & set(statuses(report).values())
    assert statuses(report)["MUT-016"] == "pass"
    assert code == report.verdict.exit


def test_the_first_part_of_the_ordinary_driver_is_what_init_writes() -> None:
    part = re.compile(r"# ---- part one.*?(?=# ---- part two)", re.DOTALL)
    written, ours = (
        part.findall(text)[0]
        for text in (
            skeleton("mutation-host", "python").files["driver.py"],
            (FOLDER / "ordinary.py").read_text(encoding="utf-8"),
        )
    )
    assert ours.replace('"payments"', '"my-host"').replace('"1.0"', '"0"') == written
