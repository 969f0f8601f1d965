"""Two runs compared: what counts as worse, what is only said, and what a program reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.report.made import REQUIREMENTS, failure, header, passing, records, schedule, write

FULL = {"AAA-001": {"one": 1, "two": 1}, "AAA-002": {"one": 1}}


def run_of(folder: Path, met: dict[str, Any], **more: Any) -> str:
    """A run that met these cells."""
    write(folder, passing(schedules=[schedule("s", met=met, named=more.pop("named", []))], **more))
    return str(folder)


def test_the_same_run_is_no_worse(cli: Cli, tmp_path: Path) -> None:
    one = run_of(tmp_path / "a", FULL)
    result = cli("diff", one, one)
    assert (result.code, result.out) == (0, "0 worse, 0 better, 0 new, 0 gone, 2 same; verdict: conformant\n")


def test_other_counts_are_no_difference(cli: Cli, tmp_path: Path) -> None:
    more = {"AAA-001": {"one": 7, "two": 9}, "AAA-002": {"one": 1}}
    result = cli("diff", run_of(tmp_path / "a", FULL), run_of(tmp_path / "b", more))
    assert (result.code, "2 same" in result.out) == (0, True)


def test_a_lost_cell_is_worse_and_named(cli: Cli, tmp_path: Path) -> None:
    fewer = {"AAA-001": {"one": 1}, "AAA-002": {"one": 1}}
    one, two = run_of(tmp_path / "a", FULL), run_of(tmp_path / "b", fewer)
    worse = cli("diff", one, two)
    assert worse.code == 1
    assert worse.out.splitlines()[0].split() == ["worse", "AAA-001", "pass", "→", "uncovered", "lost", "two"]
    assert worse.out.endswith("verdict: conformant → not conformant\n")
    better = cli("diff", two, one)
    assert (better.code, better.out.split()[0]) == (0, "better")


def test_a_violation_is_worse(cli: Cli, tmp_path: Path) -> None:
    bad = run_of(tmp_path / "b", FULL, named=["AAA-002"], failures=[failure()])
    result = cli("diff", run_of(tmp_path / "a", FULL), bad, "--format", "json")
    assert result.code == 1
    found = json.loads(result.out)
    assert (found["worse"], found["counts"]["worse"]) == (True, 1)
    assert found["requirements"][0] == {
        "id": "AAA-002",
        "change": "worse",
        "before": "pass",
        "after": "fail",
        "lost": [],
        "gained": [],
    }


def test_new_and_gone_are_said_and_only_the_verdict_decides(cli: Cli, tmp_path: Path) -> None:
    head = header(requirements=[REQUIREMENTS[0], REQUIREMENTS[5]], unreachable=[], spec="f" * 64)
    met = {"AAA-001": {"one": 1, "two": 1}, "BBB-003": {"one": 1}}
    result = cli("diff", run_of(tmp_path / "a", FULL), run_of(tmp_path / "b", met, head=head))
    assert result.code == 0
    assert [line.split()[:2] for line in result.out.splitlines()[:2]] == [["new", "BBB-003"], ["gone", "AAA-002"]]
    assert "note: the runs differ in their specification" in result.out
    unmet = cli("diff", run_of(tmp_path / "a", FULL), run_of(tmp_path / "c", {"AAA-001": met["AAA-001"]}, head=head))
    assert unmet.code == 1, "the new requirement is not met, so the verdict is worse"


@pytest.mark.parametrize("bad", ["cut", "missing", "foreign"])
def test_what_is_no_run_is_refused_by_name(cli: Cli, tmp_path: Path, bad: str) -> None:
    path = tmp_path / f"{bad}.jsonl"
    if bad == "cut":
        path.write_text("\n".join(json.dumps(r) for r in records()[:-1]))
    elif bad == "foreign":
        path.write_text('{"type": "header"}\n')
    result = cli("diff", run_of(tmp_path / "a", FULL), str(path))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"onceproof: {path}")
    assert result.err.count("\n") == 1
