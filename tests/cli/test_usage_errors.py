"""What is wrong on the command line gets one clear sentence, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli.main import COMMANDS
from tests.cli.conftest import Cli
from tests.conftest import Snapshot

WRONG = [
    [],
    ["runn"],
    ["run", "--budget", "huge"],
    ["run", "--jobs", "0"],
    ["run", "--jobs", "two"],
    ["run", "--seed", "x"],
    ["run", "--only", "MUT-999"],
    ["run", "--only", "SCOPE-003"],
    ["run", "--profile", "nope"],
    ["run", "--driver", ""],
    ["run", "--driver", "'"],
    ["run", "--driver", "reference:rocket"],
    ["run", "--driver", "reference+reread-and-sent"],
    ["run", "--out", "file/below", "--budget", "quick"],
    ["explain"],
    ["explain", "MUT-O11"],
    ["explain", "\x1b[31m"],
    ["list", "--status", "done"],
    ["replay"],
    ["replay", "missing.json"],
    ["replay", "file"],
    ["replay", "format.json"],
    ["replay", "\x1b[2J\nforged"],
    ["mutants", "--only", "reread-and-sent"],
    ["mutants", "--jobs", "0"],
    ["spec"],
    ["spec", "lint", "--spec", "missing"],
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no trace")
    (tmp_path / "format.json").write_text('{"format": 9}')


def test_a_matrix_of_nothing_proves_nothing(cli: Cli) -> None:
    result = cli("mutants", "--only", "retry-joins-window", "--scenario", "mutation/invoke-keyed", "--jobs", "1")
    assert result.code == 2
    assert "--only retry-joins-window: runs no scenario of --scenario; choose one of its own family" in result.err
    assert "deviation " not in result.out
    nowhere = cli("mutants", "--only", "retry-joins-window", "--scenario", "nowhere/*", "--jobs", "1")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "onceproof: --scenario nowhere/*: no scenario matches; there are " in nowhere.err


@pytest.mark.usefixtures("files")
def test_every_usage_error(cli: Cli, snapshot: Snapshot) -> None:
    lines = []
    for words in WRONG:
        result = cli(*words)
        assert (result.code, result.out) == (2, ""), words
        assert "\x1b" not in result.err
        # The usage lines of the parser come first; the sentence is the last line.
        sentence = result.err.splitlines()[-1]
        assert sentence.startswith("onceproof"), words
        lines.append(f"$ onceproof {' '.join(ascii(w)[1:-1] or repr(w) for w in words)}\n{sentence}\n\n")
    text = "".join(lines).replace(str(Path.cwd()), "FOLDER").replace(", ".join(map(repr, COMMANDS)), "COMMANDS")
    snapshot("usage_errors", text)
