"""The drivers of the implementers' guide: what the page says of them is what the suite says."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.carriers.subprocess import ProcessCarrier
from conformance.checkers.base import Violation
from conformance.cli import main
from conformance.drivers import identify
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.mutation_host.scenarios import CONFIG, invoke
from conformance.outcome import run_schedule
from conformance.search.program import Op, Program, kill, recover, script, start
from conformance.skeletons import skeleton

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "payments"
GUIDE = (ROOT / "docs" / "implementers-guide.md").read_text(encoding="utf-8")


def driver(file: Path) -> str:
    return shlex.join([sys.executable, str(file)])


def violations(file: Path, *ops: Op) -> Mapping[str, tuple[Violation, ...]]:
    """What a short program shows of a driver in real processes."""
    carrier = ProcessCarrier("payments", shlex.split(driver(file)))
    try:
        carrier.rung = identify(carrier).rung
        found = run_schedule(MUTATION_HOST, Program("payments", MUTATION_HOST.id, CONFIG, ops, {}), carrier, {})
    finally:
        carrier.shutdown()
    assert found.problem is None
    return found.violations


def named(file: Path) -> set[str]:
    """What is named where an answer is lost, another process asks again, the first is killed and a third recovers."""
    ops = (
        *(script("apply-then-drop"), start("w1"), invoke("w1", "q1", "m1", "k1")),
        *(start("w2"), invoke("w2", "q2", "m1", "k1"), kill("w1"), start("e1"), recover("e1")),
        *(invoke("e1", "q3", "m1", "k1"), invoke("e1", "q4", "m2", "k2")),
    )
    return set(violations(file, *ops))


def test_the_ordinary_code_sends_twice_and_the_story_is_that_of_the_guide() -> None:
    found = violations(
        FOLDER / "ordinary.py", script({"kind": "status", "status": 500}), start("w1"), invoke("w1", "q1", "m1")
    )
    [violation] = found["MUT-015"]
    shown = re.search(r"^    FAIL  MUT-015.*?seen", GUIDE, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert f"allowed   {violation.allowed}\n" in shown[0]
    assert f"happened  {violation.happened}, at step " in shown[0]


def test_without_its_tries_it_lies_where_nobody_knows(tmp_path: Path) -> None:
    mended = tmp_path / "driver.py"
    text = (FOLDER / "ordinary.py").read_text(encoding="utf-8")
    assert "range(3)" in text
    mended.write_text(text.replace("range(3)", "range(1)"))
    assert "MUT-015" in named(FOLDER / "ordinary.py")
    found = named(mended)
    assert "MUT-015" not in found
    assert "OBS-042" in found


def test_the_climbed_driver_is_fit_for_l1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--driver", driver(FOLDER / "climbed.py")]) == 0
    assert "fit for L1" in capsys.readouterr().out


def test_the_climbed_driver_knows_what_it_does_not_know() -> None:
    assert named(FOLDER / "climbed.py") == set()


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
