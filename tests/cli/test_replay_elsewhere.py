"""A trace holds the driver's command as it was typed; `replay` starts it where it was typed, or says what to do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

DOUBLE = "def invoke(context, request, wait):\n    post(request)\n"


@pytest.fixture
def failing(cli: Cli, tmp_path: Path) -> Path:
    """The trace of a driver, typed with a relative path, that sends each request twice."""
    text = (Path(__file__).resolve().parents[1] / "docs" / "drivers" / "key_store.py").read_text(encoding="utf-8")
    old = "def invoke(context, request, wait):\n"
    assert old in text
    (tmp_path / "driver.py").write_text(text.replace(old, DOUBLE), encoding="utf-8")
    result = cli(
        *(
            "run",
            "--driver",
            f"{sys.executable} driver.py",
            "--only",
            "MUT-015",
            "--scenario",
            "mutation/invoke-unkeyed",
        ),
        *("--budget", "quick", "--jobs", "1", "--out", "out"),
    )
    assert result.code == 1, result.page
    return tmp_path / "out" / "MUT-015-1.json"


def test_from_another_folder(cli: Cli, failing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(failing.parent)
    result = cli("replay", failing.name)
    assert result.code == 1, result.page
    assert "MUT-015" in result.out


def test_out_of_its_tree_it_says_what_to_do(cli: Cli, failing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = failing.parent.parent / "a" / "b"
    away.mkdir(parents=True)
    shutil.move(failing, away)
    monkeypatch.chdir(away)
    result = cli("replay", failing.name)
    assert result.code == 3, result.page
    assert "the command as it was typed for the run" in result.err
    assert "give the right one with --driver" in result.err.replace("\n", " ")
    again = cli("replay", failing.name, "--driver", f"{sys.executable} {failing.parent.parent / 'driver.py'}")
    assert again.code == 1, again.page
