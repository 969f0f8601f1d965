"""The key store in Node: a driver written by a stranger from the documents alone, and a copy of it with one bug.

It needs Node 20 and `npm ci` in its folder; `.ci/run` does that, elsewhere the tests are skipped with a sentence.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "node-key-store"

pytestmark = [
    pytest.mark.needs_node,
    pytest.mark.skipif(
        shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
        reason="it needs node, and `npm ci` in examples/node-key-store",
    ),
]


def suite(driver: str, out: Path) -> tuple[int, dict[str, Any]]:
    """Run the suite as a user would, in the example's folder."""
    onceproof = Path(sys.executable).with_name("onceproof")
    command = [str(onceproof), "run", "--driver", driver, "--out", str(out)]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    return done.returncode, json.loads((out / "report.json").read_text())


def test_the_driver_is_conformant_on_what_its_rung_shows(tmp_path: Path) -> None:
    code, report = suite("node driver.js", tmp_path)
    passed = [r["id"] for r in report["requirements"] if r["status"] == "pass"]
    assert (code, report["verdict"], report["missed"]) == (0, "conformant", 0)
    assert {"MUT-015", "OBS-042", "REPLAY-012"} <= set(passed)


def test_the_copy_that_retries_a_reset_is_caught(tmp_path: Path) -> None:
    code, report = suite("node driver-buggy.js", tmp_path)
    failed = [r["id"] for r in report["requirements"] if r["status"] == "fail"]
    assert (code, report["verdict"]) == (1, "not conformant")
    assert "MUT-015" in failed
    assert (tmp_path / "MUT-015-1.json").is_file()
