"""``run`` and ``replay`` as a user sees them: a good run, a failing one with its story, and the story again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import conformance.run
from conformance.cli import progress as progress_module
from conformance.cli.progress import LiveProgress, PlainProgress
from tests.cli.conftest import Cli
from tests.conftest import Snapshot

FAILING = ("run", "--driver", "reference+settle-by-id-only", "--budget", "quick", "--only", "MUT-029", "--jobs", "1")


def test_a_quick_run(cli: Cli, snapshot: Snapshot) -> None:
    only = [word for name in ("MUT-011", "MUT-029", "MUT-033") for word in ("--only", name)]
    snapshot("run_quick", cli("run", "--budget", "quick", "--jobs", "1", *only).page)


def test_a_failing_run_tells_its_story(cli: Cli, snapshot: Snapshot) -> None:
    snapshot("run_failing", cli(*FAILING).page)


def test_a_failure_is_replayed_from_its_file(cli: Cli, snapshot: Snapshot) -> None:
    assert cli(*FAILING).code == 1
    again = cli("replay", "runs/latest/MUT-029-1.json")
    assert again.code == 1
    snapshot("replay_failing", again.page)


def test_a_fixed_driver_passes_the_replay(cli: Cli, snapshot: Snapshot) -> None:
    cli(*FAILING)
    fixed = cli("replay", "runs/latest/MUT-029-1.json", "--driver", "reference")
    assert fixed.code == 0
    snapshot("replay_fixed", fixed.page)


def test_the_story_of_the_run_is_the_story_of_the_replay(cli: Cli) -> None:
    report = cli(*FAILING).out
    assert cli("replay", "runs/latest/MUT-029-1.json").out in report


def test_a_trace_of_another_specification_is_said_to_be_one(cli: Cli, tmp_path: Path) -> None:
    cli(*FAILING)
    path = tmp_path / "runs/latest/MUT-029-1.json"
    trace = json.loads(path.read_text())
    path.write_text(json.dumps({**trace, "spec": "0123456789abcdef"}))
    result = cli("replay", str(path))
    assert result.code == 1
    assert "note: the trace was made with another specification (0123456789ab, here" in result.err


def test_a_trace_cannot_forge_output(cli: Cli, tmp_path: Path) -> None:
    cli(*FAILING)
    path = tmp_path / "runs/latest/MUT-029-1.json"
    trace = json.loads(path.read_text())
    text = json.dumps({**trace, "requirement": "\x1b[2J\nconformant: everything", "spec": "\x1b[31m"})
    path.write_text(text)
    result = cli("replay", str(path))
    assert "\x1b" not in result.out + result.err
    assert "\nconformant" not in result.out
    assert (result.code, result.out) == (2, "")
    assert "\\x1b[2J\\nconformant: everything is judged by no checker" in result.err


def test_a_driver_cannot_forge_output(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from reference_impl.driver import Reference  # noqa: PLC0415

    hello = Reference.hello
    forged = {"name": "nice\x1b[31m", "version": "1\nFAIL", "language": "\u202eyp"}
    monkeypatch.setattr(Reference, "hello", lambda self: {**hello(self), **forged})
    result = cli("run", "--budget", "quick", "--only", "MUT-029", "--jobs", "1")
    assert result.out.splitlines()[0].startswith("onceproof: nice\\x1b[31m 1\\nFAIL (\\u202eyp), rung L2")
    assert json.loads((result.folder / "runs/latest/report.json").read_text())["identity"]["name"] == "nice\x1b[31m"


def test_an_interrupt_ends_with_130_and_a_partial_report(
    cli: Cli, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(PlainProgress):
        def step(self, outcome: object) -> None:
            del outcome
            raise KeyboardInterrupt

    monkeypatch.setattr(progress_module, "PlainProgress", Interrupted)
    result = cli("run", "--budget", "quick", "--only", "MUT-029", "--jobs", "1")
    assert result.code == 130
    snapshot("run_interrupted", result.page)
    report = json.loads((result.folder / "runs/latest/report.json").read_text())
    assert (report["complete"], report["schedules"]) == (False, 1)


def test_a_driver_that_is_no_driver(cli: Cli) -> None:
    result = cli("run", "--driver", "/bin/false", "--budget", "quick")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("onceproof: the driver could not be used: process 'hello' of driver '/bin/false'")


def test_an_error_that_nobody_foresaw_is_the_suites_and_no_verdict(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LookupError("lost \x1b[31mit")

    monkeypatch.setattr(conformance.run, "sheets", broken)
    result = cli("run", "--budget", "quick")
    assert (result.code, result.out) == (5, "")
    last = result.err.splitlines()[-1]
    assert last.startswith("onceproof: the suite itself failed, which says nothing about the driver: LookupError: lost")
    assert "(test_run_and_replay.py:" in last
    assert "Traceback" not in result.err
    assert "\x1b" not in result.err
    monkeypatch.setenv("ONCEPROOF_TRACEBACK", "1")
    assert "Traceback" in cli("run", "--budget", "quick").err


def test_progress_on_a_terminal_is_one_line_that_goes_away() -> None:
    class Screen:
        text = ""

        def write(self, text: str) -> None:
            self.text += text

        def flush(self) -> None:
            """Nothing to do."""

    screen = Screen()
    progress = LiveProgress(screen)  # type: ignore[arg-type]
    progress.phase("mutation-host", 10)
    progress.step(None)
    progress.finished()
    assert "mutation-host 0/10" in screen.text
    assert "\n" not in screen.text
    assert screen.text.endswith("\r\x1b[2K")
