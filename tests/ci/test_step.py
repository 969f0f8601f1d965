"""The CI step calls the command and nothing else; the Action hands its inputs over as environment."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from conformance.ci_step import arguments, step
from conformance.cli import main as command
from conformance.records import read_run
from conformance.report.annotations import MOST, workflow_commands
from conformance.report.model import build

ROOT = Path(__file__).parents[2]
FAILING = {
    "ONCEPROOF_DRIVER": "reference+settle-by-id-only",
    "ONCEPROOF_PROFILE": "mutation-host",
    "ONCEPROOF_BUDGET": "quick",
    "GITHUB_ACTIONS": "true",
}


def test_inputs_become_the_words_of_one_command() -> None:
    given = {"ONCEPROOF_DRIVER": "node 'a b.js'", "ONCEPROOF_PROFILE": "x y", "ONCEPROOF_BASELINE": "b.yaml"}
    assert arguments(given) == [
        *("run", "--driver", "node 'a b.js'", "--profile", "x", "--profile", "y"),
        *("--budget", "ci", "--out", "runs/latest", "--baseline", "b.yaml"),
    ]


def test_a_failing_run_keeps_its_exit_code_and_is_annotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/latest").mkdir(parents=True)
    (tmp_path / "runs/latest/run.jsonl").write_text("of an earlier step")
    assert step(FAILING) == 1
    lines = capsys.readouterr().out.splitlines()
    errors = [line for line in lines if line.startswith("::error ")]
    assert any(line.startswith("::error title=MUT-029 fail::") for line in errors)
    assert len(errors) <= MOST
    assert lines[-1].startswith("::notice title=onceproof::not conformant")


def test_an_earlier_record_is_never_taken_for_this_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/latest").mkdir(parents=True)
    (tmp_path / "runs/latest/run.jsonl").write_text("of an earlier step")
    assert step({"ONCEPROOF_DRIVER": "no-such-driver", "GITHUB_ACTIONS": "true"}) == 3
    assert not (tmp_path / "runs/latest/run.jsonl").exists()
    assert "::" not in capsys.readouterr().out


def test_more_than_ten_of_a_kind_end_with_how_many_more_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    step({**FAILING, "GITHUB_ACTIONS": "false", "ONCEPROOF_PROFILE": ""})
    report = build(read_run(tmp_path / "runs/latest/run.jsonl"))
    uncovered = sum(s.status in ("uncovered", "fail") for s in report.standings)
    assert uncovered > MOST
    errors = [line for line in workflow_commands(report).splitlines() if line.startswith("::error")]
    assert len(errors) == MOST
    assert errors[-1] == f"::error title=onceproof::{uncovered - MOST + 1} more of this kind; see the report"


def test_the_action_never_pastes_an_input_into_a_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert [s["run"] for s in steps if "${{" in s["run"]] == []
    handed = {value for s in steps for value in s["env"].values()}
    assert {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]} <= handed


def test_the_hook_looks_at_the_specification_of_the_folder_that_it_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    words = hook["entry"].split()[1:]
    shutil.copytree(ROOT / "spec", tmp_path / "spec")
    monkeypatch.chdir(tmp_path)
    assert command(words) == 0
    broken = tmp_path / "spec/lifecycles/mutation_attempt.yaml"
    broken.write_text(broken.read_text().replace("dest: Dispatching", "dest: Dispatchin"))
    assert command(words) == 1
    assert "mutation_attempt has no state Dispatchin" in capsys.readouterr().out


def test_the_hook_and_the_pages_name_what_exists() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].startswith("onceproof spec lint ")
    page = (ROOT / "docs/ci.md").read_text()
    named = set(re.findall(r"ONCEPROOF_[A-Z]+", page))
    assert named <= set(re.findall(r"ONCEPROOF_[A-Z]+", (ROOT / "conformance/ci_step.py").read_text()))
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        assert yaml.safe_load(block)
