"""A replay that could not show the failure never says that it holds: exit code 3 and why."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.cli.conftest import Cli
from tests.hostile.test_files import decent

FAILING = ("run", "--driver", "reference+settle-by-id-only", "--budget", "quick", "--only", "MUT-029", "--jobs", "1")
TRACE = "runs/latest/MUT-029-1.json"
QUEUE = f"{sys.executable} {Path(__file__).parents[2] / 'examples/queue_table/driver.py'}"
SOUND = Path(__file__).parent / "drivers" / "sound.py"


def test_a_driver_of_another_family(cli: Cli) -> None:
    cli(*FAILING)
    result = cli("replay", TRACE, "--driver", QUEUE)
    page = decent(result)
    assert (result.code, result.out) == (3, ""), page
    assert "it declares settle-lanes, and the trace is one of mutation-host; give a driver of that family" in page


def test_a_driver_that_shows_no_rows(cli: Cli, tmp_path: Path) -> None:
    _failed_by(cli, tmp_path, "rows")
    result = cli("replay", TRACE, "--driver", f"{sys.executable} {SOUND}")
    assert (result.code, result.out) == (3, ""), result.page
    assert "it declares L0, and the failure shows in rows" in decent(result)


def test_a_command_that_nobody_does(cli: Cli, tmp_path: Path) -> None:
    cli(*FAILING)
    path = tmp_path / TRACE
    path.write_text(path.read_text().replace('"host.invoke"', '"host.mars"'))
    result = cli("replay", TRACE, "--driver", "reference")
    assert (result.code, result.out) == (3, ""), result.page
    assert "it does not do host.mars, which the trace asks of it; nothing is known" in decent(result)


def test_a_command_that_fails(cli: Cli, tmp_path: Path) -> None:
    _failed_by(cli, tmp_path, "answer")
    driver = tmp_path / "driver.py"
    driver.write_text(_FAILS)
    result = cli("replay", TRACE, "--driver", f"{sys.executable} {driver}")
    assert (result.code, result.out) == (3, ""), result.page
    assert "host.invoke failed: no luck; the violation did not show, and need not" in decent(result)


def _failed_by(cli: Cli, folder: Path, evidence: str) -> None:
    """A trace whose violation shows in evidence of this class."""
    cli(*FAILING)
    path = folder / TRACE
    trace = json.loads(path.read_text())
    trace["violation"]["evidence"] = evidence
    path.write_text(json.dumps(trace))


_FAILS = """
import json
import sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {"outcome": "done", "result": {}}
    if asked["cmd"] == "hello":
        said["result"] = {"v": 1, "name": "x", "version": "1", "families": ["mutation-host"], "rung": "L0"}
    if asked["cmd"] in ("command", "recover"):
        said = {"outcome": "failed", "detail": "no luck"}
    print(json.dumps({"id": asked["id"], **said}), flush=True)
    if asked["cmd"] == "bye":
        break
"""
