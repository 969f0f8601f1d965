"""`init`, then what it says to type next: in an empty folder, everything works as it stands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from conformance.skeletons import LANGUAGES, offered, skeleton
from tests.cli.conftest import Cli

NEEDS = {"python": "python3", "node": "node"}


@pytest.fixture(params=[pytest.param("python"), pytest.param("node", marks=pytest.mark.needs_node)])
def language(request: pytest.FixtureRequest) -> str:
    """Each language whose interpreter this machine has."""
    chosen: str = request.param
    if shutil.which(NEEDS[chosen]) is None:
        pytest.skip(f"{NEEDS[chosen]} is not installed")
    return chosen


def test_init_then_doctor_then_run(cli: Cli, tmp_path: Path, language: str) -> None:
    made = cli("init", "--language", language, "a driver")
    assert made.code == 0, made.page
    doctor, run = (shlex.split(line)[1:] for line in re.findall(r"^  (onceproof .*)$", made.out, re.MULTILINE))

    found = cli(*doctor, "--format", "json")
    report = json.loads(found.out)
    assert (found.code, report["fit"], report["reached"]) == (0, True, "L0"), found.page
    assert [c["mend"] for c in report["checks"] if c["mend"]] == []

    narrow = ("--only", "MUT-015", "--scenario", "mutation/invoke-unkeyed", "--jobs", "1", "--out", "out")
    verdict = cli(*run, *narrow)
    assert verdict.code == 0, verdict.page
    assert [r["status"] for r in json.loads((tmp_path / "out" / "report.json").read_text())["requirements"]] == ["pass"]


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    result = cli("init", "--language", "python")
    assert (result.code, result.out) == (2, "")
    assert result.err == "onceproof: README.md exists, and nothing is overwritten; give another folder\n"
    assert [p.name for p in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_file_in_place_of_the_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    result = cli("init", "--language", "node", "taken")
    assert (result.code, result.err) == (2, "onceproof: taken is no folder; give another name\n")


def test_a_family_without_a_skeleton_is_named_with_those_that_have_one(cli: Cli) -> None:
    result = cli("init", "--language", "node", "--family", "lanes")
    assert result.code == 2
    assert result.err == "onceproof: --family lanes: there are skeletons in node for mutation-host\n"


def test_every_language_has_a_skeleton_whose_second_part_is_marked() -> None:
    for chosen, (_, driver) in LANGUAGES.items():
        for family in offered(chosen):
            files = skeleton(family, chosen).files
            assert "part two: a tiny host. REPLACE ALL OF THIS" in files[driver]
            assert "@" not in files["README.md"]
            assert files["README.md"].count(f'"{NEEDS[chosen]} {driver}"') == 2
