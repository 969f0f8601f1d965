"""State directories: named after their suite, removed when that suite has died, and never before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.carriers.places import StateDirectory, remove_left_behind

#: A suite that makes a state directory, says so, and hangs.
SUITE = """
import signal, sys, pathlib
from conformance.carriers.places import StateDirectory
print(StateDirectory(pathlib.Path(sys.argv[1])).path, flush=True)
signal.pause()
"""


@pytest.fixture
def suite(tmp_path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SUITE, str(tmp_path)], stdout=subprocess.PIPE)


def test_what_a_killed_suite_left_is_removed_and_nothing_of_a_living_one(
    tmp_path: Path, suite: subprocess.Popen[bytes]
) -> None:
    mine = StateDirectory(tmp_path)
    with suite:
        assert suite.stdout is not None
        left = Path(suite.stdout.readline().decode().strip())
        (left / "ledger.db").write_text("rows")
        assert remove_left_behind(tmp_path) == [], "both suites live"
        suite.send_signal(signal.SIGKILL)
    assert remove_left_behind(tmp_path) == [left.name]
    assert [p.name for p in tmp_path.iterdir()] == [mine.path.name]
    mine.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_name_carries_the_number_of_the_process(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path)
    assert place.path.name.startswith(f"onceproof-{os.getpid()}-")
    place.remove()
    place.remove()


def dead_number() -> int:
    """The number of a process that has ended and was waited for."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_a_directory_that_somebody_holds_stays_although_its_number_is_free(tmp_path: Path) -> None:
    place = StateDirectory(tmp_path)
    renamed = place.path.rename(tmp_path / f"onceproof-{dead_number()}-abc")
    assert remove_left_behind(tmp_path) == [], "as if its suite ran in another container"
    place.remove()
    assert remove_left_behind(tmp_path) == [renamed.name], "its lock is free now"


def test_what_is_no_state_directory_stays(tmp_path: Path) -> None:
    number = dead_number()
    others = tmp_path / "elsewhere"
    others.mkdir()
    (others / "precious").write_text("1")
    (tmp_path / f"onceproof-{number}-link").symlink_to(others)
    (tmp_path / f"onceproof-{number}-file").write_text("1")
    (tmp_path / "onceproof-bare-x1y2").mkdir()
    (tmp_path / "onceproof-99999999999999999999-x").mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    assert remove_left_behind(tmp_path) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (others / "precious").is_file()
