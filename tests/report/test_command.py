"""``onceproof report``: everything again from the record, one sentence for what cannot be read, and publication."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from conformance.report.publish import RECORD
from tests.cli.conftest import Cli
from tests.report.made import header, passing, records, write

FILES = {"report.json", "junit.xml", "summary.md", "report.html"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_all_of_them_beside_the_record(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path / "run", records())
    result = cli("report", str(path))
    assert result.code == 0
    assert names(tmp_path / "run") == {*FILES, "run.jsonl"}
    assert set(result.out.split()) == {str(tmp_path / "run" / name) for name in FILES}


def test_one_of_them_elsewhere_from_the_folder_of_the_run(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "run", records())
    assert cli("report", str(tmp_path / "run"), "--out", str(tmp_path / "new"), "--format", "junit").code == 0
    assert names(tmp_path / "new") == {"junit.xml"}


def test_the_terminal_is_printed_and_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "run", records())
    result = cli("report", str(tmp_path / "run"), "--format", "terminal")
    assert result.code == 0
    assert "not conformant: a requirement is violated" in result.out
    assert names(tmp_path / "run") == {"run.jsonl"}


def edits() -> list[tuple[str, list[Any]]]:
    """Records from which one member, somewhere, was taken away or changed to another type."""
    found = []
    chance = random.Random(7)
    for number in range(60):
        made = copy.deepcopy(records())
        node: Any = made[chance.randrange(len(made))]
        path = [node["record"]]
        while True:
            key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            path.append(str(key))
            if isinstance(node[key], dict | list) and node[key] and chance.random() < 0.75:
                node = node[key]
                continue
            if number % 2:
                del node[key]
            else:
                node[key] = chance.choice([None, [], {}, "text", -1, 1.5, True])
            break
        found.append((f"{number} {' '.join(path)}", made))
    return found


@pytest.mark.parametrize(("what", "made"), edits())
def test_an_edited_record_is_refused_in_one_sentence_or_read(
    cli: Cli,
    tmp_path: Path,
    what: str,
    made: list[Any],
) -> None:
    path = write(tmp_path / "run", made)
    result = cli("report", str(path), "--out", str(tmp_path / "out"))
    assert result.code in (0, 2), (what, result.err)
    if result.code:
        assert result.err.startswith(f"onceproof: {path}"), what
        assert result.err.count("\n") == 1


def test_bytes_that_are_no_gzip(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    whole = gzip.compress(b"{}\n" * 500)
    for content in (b"nonsense", whole[: len(whole) // 2], b""):
        path.write_bytes(content)
        result = cli("report", str(path))
        assert result.code == 2
        assert result.err.startswith(f"onceproof: {path}")


def test_a_published_report_is_made_checked_and_found_out_of_date(cli: Cli, tmp_path: Path) -> None:
    run, root = write(tmp_path / "run", passing()), str(tmp_path / "reports")
    assert cli("report", str(run), "--published", root).code == 1, "nothing is there yet"
    assert cli("report", str(run), "--publish", root).code == 0
    folder = tmp_path / "reports/tiny/1.2"
    assert names(folder) == {*FILES, RECORD}
    assert gzip.decompress((folder / RECORD).read_bytes()) == run.read_bytes()
    current = cli("report", str(run), "--published", root)
    assert (current.code, current.out) == (0, f"{root} is current\n")
    later = write(tmp_path / "later", passing(head={**passing()[0], "started": "2027-01-01T00:00:00+00:00"}, seconds=9))
    assert cli("report", str(later), "--published", root).code == 0, "dates and seconds may drift"
    other = write(tmp_path / "other", passing(head={**passing()[0], "spec": "f" * 64}))
    stale = cli("report", str(other), "--published", root)
    assert (stale.code, "another specification" in stale.out) == (1, True)
    (folder / "summary.md").write_text("# all is well\n")
    forged = cli("report", str(run), "--published", root)
    assert (forged.code, "summary.md is not what its run.jsonl.gz gives" in forged.out) == (1, True)
    assert cli("report", str(folder / RECORD), "--out", str(folder)).code == 0, "it is rendered again from itself"
    assert cli("report", str(run), "--published", root).code == 0


BASELINE = [{"id": "AAA-001", "kind": "declared-gap", "reason": "not built", "issue": "#7"}]


def identity(**more: str) -> dict[str, Any]:
    return header(requirements=passing()[0]["requirements"], unreachable=[], identity={**header()["identity"], **more})


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (passing(complete=False), "did not end"),
        (passing(head={**passing()[0], "baseline": BASELINE}), "excuses nothing"),
        (passing(interrupted=True), "did not end"),
        (passing(head={**passing()[0], "filtered": True}), "filtered"),
        (passing(head={**passing()[0], "budget": "quick"}), "quick proves nothing"),
        (passing(head=identity(version="main")), "'main' is no version"),
        (passing(head=identity(version="1.2 of today")), "is no version"),
        (passing(head=identity(name="../../etc")), "cannot name a folder"),
        (passing(problem="it died", blame="driver"), "no verdict"),
    ],
)
def test_what_breaks_a_rule_is_not_published(
    cli: Cli,
    tmp_path: Path,
    made: list[Any],
    sentence: str,
) -> None:
    result = cli("report", str(write(tmp_path / "run", made)), "--publish", str(tmp_path / "reports"))
    assert result.code == 2
    assert sentence in result.err
    assert not (tmp_path / "reports").exists()


def test_the_failures_of_a_published_run_are_published_with_it(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "reports"
    assert cli("report", str(write(tmp_path / "run", records())), "--publish", str(root)).code == 0
    assert json.loads((root / "tiny/1.2/AAA-002-1.json").read_text())["requirement"] == "AAA-002"
