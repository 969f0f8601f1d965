"""The pages that only tell: list, explain, mutants, help."""

from __future__ import annotations

import json

import pytest

import conformance.mutants
from conformance.cli.main import COMMANDS
from tests.cli.conftest import Cli
from tests.conftest import Snapshot


def test_list(cli: Cli, snapshot: Snapshot) -> None:
    result = cli("list")
    chosen = [line for line in result.out.splitlines() if line.startswith(("MUT-009 ", "MUT-011 ", "MUT-012 "))]
    snapshot("list", "".join(f"{line}\n" for line in chosen))
    assert result.code == 0
    *lines, last = result.out.splitlines()
    assert last.startswith(f"{len(lines)} obligations: ")


def test_list_by_status_and_profile(cli: Cli) -> None:
    live = cli("list", "--status", "live").out.splitlines()[:-1]
    assert {line.split()[1] for line in live} == {"live"}
    grouped = cli("list", "--profile", "mutation-host").out.splitlines()[:-1]
    assert {"mutation-attempt", "key-reservation"} <= {line.split()[3] for line in grouped}
    unknown = cli("list", "--profile", "nobody")
    assert (unknown.code, unknown.out) == (2, "")
    assert "there is no such profile" in unknown.err


def test_list_for_programs(cli: Cli) -> None:
    entries = {e["id"]: e for e in json.loads(cli("list", "--format", "json").out)}
    entry = entries["MUT-011"]
    assert set(entry) >= {"id", "profile", "level", "core", "status", "needs", "cells", "source", "statement"}
    assert [cell["id"] for cell in entry["cells"]] == ["committed", "rolled-back"]


def test_explain(cli: Cli, snapshot: Snapshot) -> None:
    snapshot("explain", cli("explain", "MUT-011").page)


@pytest.mark.parametrize("word", ["mut-011", "MUT-11", " mut-11"])
def test_explain_knows_an_id_as_people_type_it(cli: Cli, word: str) -> None:
    assert cli("explain", word).out == cli("explain", "MUT-011").out


def test_mutants(cli: Cli, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance.mutants, "BUDGET", "quick")
    only = [word for name in ("settle-by-id-only", "reread-and-send", "silent") for word in ("--only", name)]
    result = cli("mutants", "--jobs", "1", *only)
    snapshot("mutants", result.page)
    assert result.code == 1, "a quick sweep does not find what needs a lost acknowledgement, and says so"


def test_mutants_for_programs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance.mutants, "BUDGET", "quick")
    result = cli("mutants", "--jobs", "1", "--only", "settle-by-id-only", "--format", "json")
    [found] = json.loads(result.out)["deviations"]
    assert (found["id"], found["requirement"], found["found"]) == ("settle-by-id-only", "MUT-029", True)
    assert result.err.startswith("kill matrix: 1/1 settle-by-id-only"), "what it is doing, apart from the document"


def test_help_names_every_command(cli: Cli) -> None:
    result = cli("--help")
    assert result.code == 0
    assert [name for name in COMMANDS if f"\n    {name} " not in result.out] == []


@pytest.mark.parametrize("words", [["run", "--help"], ["replay", "--help"]])
def test_help(cli: Cli, snapshot: Snapshot, words: list[str]) -> None:
    result = cli(*words)
    assert result.code == 0
    snapshot("_".join(["help", *words[:-1]]), result.out)
