"""`onceproof talk`: the conversation as a page, and a sentence for each thing that is wrong with a driver."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from conformance.families import FAMILIES
from tests.cli.conftest import Cli
from tests.conftest import Snapshot

TESTS = Path(__file__).resolve().parents[1]


def tiny(name: str) -> str:
    """The command line of a tiny driver that needs no package."""
    return f"{sys.executable} -I -S {TESTS / 'carriers' / 'drivers' / f'{name}.py'}"


def changed(folder: Path, old: str, new: str) -> str:
    """The command line of a copy of the driver of the documents that differs in one place."""
    text = (TESTS / "docs" / "drivers" / "key_store.py").read_text(encoding="utf-8")
    assert old in text
    driver = folder / "changed.py"
    driver.write_text(text.replace(old, new), encoding="utf-8")
    return f"{sys.executable} {driver}"


def cut(page: str) -> str:
    """The page with its long lines cut, and without paths, ports and ids."""
    page = re.sub(r'"state_dir":"[^"]*"', '"state_dir":"DIR"', page)
    page = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:PORT", page)
    page = page.replace(sys.executable, "python").replace(str(TESTS), "TESTS")
    return "\n".join(line if len(line) < 150 else f"{line[:149]}…" for line in page.split("\n"))


def test_the_conversation_with_the_reference(cli: Cli, snapshot: Snapshot) -> None:
    snapshot("talk", cut(cli("talk", "--driver", "reference").page))


def test_the_conversation_with_a_driver_at_l0(cli: Cli) -> None:
    driver = f"{sys.executable} {TESTS / 'docs' / 'drivers' / 'key_store.py'}"
    result = cli("talk", "--driver", driver)
    assert result.code == 0, result.out
    assert '"cmd":"snapshot"' not in result.out, "nothing above its rung is asked"
    replayed = [line for line in result.out.splitlines() if '"replayed":true' in line.replace(" ", "")]
    said = [word for line in replayed for word in ("applied", "unknown") if word in line]
    assert said == ["applied", "applied", "unknown", "unknown"]
    assert result.out.count('"cmd":"bye"') == 4
    assert result.out.endswith(f'  onceproof run --driver "{driver}"\n')


@pytest.mark.parametrize("name", ["banner", "exits_at_once", "text_id"])
def test_what_is_wrong_with_a_driver(cli: Cli, snapshot: Snapshot, name: str) -> None:
    result = cli("talk", "--driver", tiny(name))
    assert result.code == 3
    snapshot(f"talk_{name}", cut(result.out.rpartition("\n\n")[2]))


def test_a_verb_that_the_declared_rung_includes_has_to_be_there(cli: Cli, tmp_path: Path) -> None:
    result = cli("talk", "--driver", changed(tmp_path, '"rung": "L0"', '"rung": "L1"'))
    assert result.code == 3
    assert "problem: process 'observer' answered unsupported to snapshot" in result.out


def test_an_implementation_that_sends_nothing(cli: Cli, tmp_path: Path) -> None:
    post = "def post(request):\n"
    result = cli(
        "talk", "--driver", changed(tmp_path, post, f'{post}    return "Indeterminate", "outcome_unknown", None\n')
    )
    assert result.code == 3
    assert "problem: nothing reached the remote" in result.out


def test_text_of_a_driver_is_shown_and_never_obeyed(cli: Cli, tmp_path: Path) -> None:
    driver = tmp_path / "sly.py"
    driver.write_text(
        'print(\'{"id":1,"outcome":"failed","detail":"\\\\u001b[2J\\\\u2028ok"}\', flush=True)\ninput()\n'
    )
    result = cli("talk", "--driver", f"{sys.executable} -I -S {driver}")
    assert result.code == 3
    assert "\x1b" not in result.out
    assert "\u2028" not in result.out
    assert "\\x1b[2J" in result.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--driver", "reference", "--family", "lanes"],
            f"--family lanes: this suite knows {', '.join(FAMILIES)}",
        ),
        (["--driver", ""], "--driver is empty; give 'reference', 'reference:process' or a command line in quotes"),
    ],
)
def test_a_conversation_that_cannot_be_held(cli: Cli, words: list[str], sentence: str) -> None:
    result = cli("talk", *words)
    assert (result.code, result.err) == (2, f"onceproof: {sentence}\n")
