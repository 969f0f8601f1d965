"""The pytest plugin shows one item for each requirement, from the same run that the command makes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of pytest in an empty folder, with the plugin as an installed package has it."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "conformance", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_one_item_for_each_requirement_with_the_story_of_a_failure(tmp_path: Path) -> None:
    driver = "reference+settle-by-id-only"
    code, said = run_pytest(
        tmp_path, "--onceproof-driver", driver, "--onceproof-budget", "quick", "-k", "MUT-029 or MUT-033"
    )
    assert code == 1
    assert "FAIL  MUT-029" in said
    assert "onceproof replay runs/pytest/MUT-029-1.json" in said
    assert "Traceback" not in said
    assert "1 failed, 1 passed" in said
    assert (tmp_path / "runs/pytest/report.json").is_file()


def test_a_known_failure_is_expected_to_fail(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(
        "declared_gaps:\n- {id: MUT-029, reason: settles by id, issue: '#3'}\n",
    )
    code, said = run_pytest(
        *(tmp_path, "--onceproof-driver", "reference+settle-by-id-only", "--onceproof-budget", "quick"),
        *("-k", "MUT-029", "--onceproof-baseline", "b.yaml", "-rx"),
    )
    assert code == 0
    assert "declared-gap: settles by id (#3)" in said


def test_a_driver_that_cannot_start_is_one_sentence(tmp_path: Path) -> None:
    code, said = run_pytest(tmp_path, "--onceproof-driver", "no-such-driver")
    assert code == 2
    assert "cannot be started" in said
    assert "Traceback" not in said


def test_without_a_driver_nothing_is_collected(tmp_path: Path) -> None:
    code, said = run_pytest(tmp_path)
    assert code == 5
    assert "no tests ran" in said
