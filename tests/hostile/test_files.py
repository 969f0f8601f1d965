"""What every command that reads a file says of one that is hostile or broken: exit code 2 (or 1) and one sentence."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.progress import PlainProgress
from conformance.run import run
from conformance.scope import Options
from statemachines.spec import load
from tests.cli.conftest import Cli, Result
from tests.spec.tiny import TINY

ESCAPES = "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\u202e"
NO_FILE = "it is no regular file but a pipe, a socket or a device"


def decent(result: Result) -> str:
    """Everything that was printed: nothing that rules a terminal, and no failure of the suite."""
    page = result.out + result.err
    assert "the suite itself failed" not in page
    assert "Traceback" not in page
    assert not {c for c in page if (ord(c) < 32 and c != "\n") or c in "\x7f\u202e\u2028"}
    return page


# -- YAML: spec lint, run --baseline -----------------------------------------------------------------------------------

LETTER = TINY["lifecycles/letter.yaml"]
BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)

#: what is wrong -> (the content of a file, the rule of the finding, words of its sentence)
YAML: dict[str, tuple[str, str, str]] = {
    "a tab": (LETTER.replace("key: [id]", "key:\t[id]"), "yaml-tab", "5:5: yaml-tab: a tab stands here (use spaces)"),
    "an unknown key": (LETTER.replace("key: [id]", "key: [id]\nkeys: [id]"), "schema-", "keys"),
    "a duplicate key": (LETTER.replace("key: [id]", "key: [id]\nkey: [id]"), "yaml-duplicate-key", "appears twice"),
    "an alias bomb": (BOMB, "yaml-alias", "write the value out"),
    "100 levels": ("a: " + "[" * 100 + "]" * 100 + "\n", "yaml-too-deep", "nested deeper than 64 levels"),
    "10000 levels": ("a: " + "[" * 10_000 + "]" * 10_000 + "\n", "yaml-syntax", "exceeded maximum nesting depth"),
    "a tag": ("a: !!python/object/apply:os.system [id]\n", "yaml-tag", "is not allowed"),
    "escapes": (LETTER.replace("id: letter", f"id: {json.dumps(ESCAPES)}"), "schema-pattern", "\\u001b]0;owned"),
    "nothing": ("", "yaml-empty", "the file holds no data"),
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A small specification that is sound."""
    root = tmp_path / "spec"
    for name, text in TINY.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("name", YAML)
def test_spec_lint_points_at_it(cli: Cli, spec: Path, name: str) -> None:
    text, rule, words = YAML[name]
    (spec / "lifecycles" / "letter.yaml").write_text(text, encoding="utf-8")
    result = cli("spec", "lint", "--spec", str(spec))
    page = decent(result)
    assert result.code == 1, page
    assert any("lifecycles/letter.yaml:" in line and rule in line and words in line for line in page.splitlines()), page


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "words"),
    [(_pipe, NO_FILE), (_endless, NO_FILE), (_folder, "Is a directory"), (_loop, "Too many levels of symbolic links")],
)
def test_spec_lint_never_waits_for_what_is_no_file(
    cli: Cli, spec: Path, make: Callable[[Path], None], words: str
) -> None:
    make(spec / "lifecycles" / "letter.yaml")
    result = cli("spec", "lint", "--spec", str(spec))
    assert result.code == 1
    assert f"lifecycles/letter.yaml:1:1: file-unreadable: cannot be read: {words}" in decent(result)


@pytest.mark.parametrize("name", YAML)
def test_a_baseline_is_refused_with_its_place(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / "baseline.yaml").write_text(YAML[name][0], encoding="utf-8")
    result = cli("run", "--baseline", "baseline.yaml", "--budget", "quick", "--jobs", "1")
    page = decent(result)
    assert (result.code, result.out) == (2, ""), page
    assert page.startswith("onceproof: baseline.yaml")
    assert page.count("\n") == 1


# -- JSON: lane, replay, report, diff, baseline ------------------------------------------------------------------------

ROW = '{"id": 1, "enqueue_ordinal": 1, "created_date": 1, "delivery_sequence": 1}'

#: what is wrong -> (the text, words about it)
JSON: dict[str, tuple[str, str]] = {
    "a huge number": ('{"a": ' + "9" * 5_000 + "}", "a number has more digits than anybody can use"),
    "NaN": ('{"a": NaN}', "NaN is no JSON value"),
    "infinity": ('{"a": -Infinity}', "-Infinity is no JSON value"),
    "deep nesting": ("[" * 100_000 + "]" * 100_000, "it is nested too deeply"),
    "a cut": ('{"a": [1, ', "at line 1, column"),
    "text": ("{" + ESCAPES, "at line 1, column 2"),
}
READERS: dict[str, tuple[str, ...]] = {
    "lane": ("lane", "FILE"),
    "replay": ("replay", "FILE"),
    "report": ("report", "FILE"),
    "diff": ("diff", "FILE", "FILE"),
    "publish": ("report", "--publish", "out", "FILE"),
    "baseline": ("baseline", "FILE", "--reason", "x", "--issue", "y", "--expires", "2999-01-01"),
}


def read_by(cli: Cli, reader: str, file: str) -> Result:
    """One command on one file."""
    return cli(*(file if word == "FILE" else word for word in READERS[reader]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", JSON)
def test_bad_json_is_one_sentence(cli: Cli, tmp_path: Path, reader: str, name: str) -> None:
    text, words = JSON[name]
    (tmp_path / "file.json").write_text(text, encoding="utf-8")
    result = read_by(cli, reader, "file.json")
    page = decent(result)
    assert (result.code, result.out) == (2, ""), page
    assert words in page
    assert "file.json" in page
    assert page.count("\n") == 1


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("make", "words"), [(_pipe, NO_FILE), (_endless, NO_FILE), (_loop, "oo many levels of symbolic links")]
)
def test_no_reader_waits_for_what_is_no_file(
    cli: Cli, tmp_path: Path, reader: str, make: Callable[[Path], None], words: str
) -> None:
    (tmp_path / "file").touch()
    make(tmp_path / "file")
    result = read_by(cli, reader, "file")
    page = decent(result)
    assert result.code == 2, page
    assert words in page
    assert page.count("\n") == 1


@pytest.mark.parametrize("reader", READERS)
def test_a_name_with_escapes_is_shown_and_never_obeyed(cli: Cli, reader: str) -> None:
    result = read_by(cli, reader, ESCAPES.replace("/", ""))
    assert result.code == 2
    assert "\\x1b]0;owned" in decent(result)


@pytest.mark.parametrize("reader", ["lane", "replay"])
def test_two_members_of_one_name(cli: Cli, tmp_path: Path, reader: str) -> None:
    (tmp_path / "file.json").write_text(f'{{"rows": [{ROW}], "rows": []}}', encoding="utf-8")
    result = read_by(cli, reader, "file.json")
    assert result.code == 2
    assert "an object has the member 'rows' twice" in decent(result)


def test_a_lane_with_names_that_would_rule_the_terminal(cli: Cli, tmp_path: Path) -> None:
    lane = {"name": ESCAPES, "rows": [{**json.loads(ROW), "id": ESCAPES}]}
    (tmp_path / "lane.json").write_text(json.dumps(lane), encoding="utf-8")
    for form in ("text", "svg"):
        result = cli("lane", "lane.json", "--format", form)
        assert result.code == 0
        assert "\x1b" not in result.out
        assert "<script>" not in result.out or form == "text"


# -- traces and records ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record and the trace of a run that fails."""
    out = tmp_path_factory.mktemp("ran")
    options = Options(
        "reference+settle-by-id-only",
        only=("MUT-029",),
        scenarios=("mutation/recover-beside-held-worker",),
        budget="quick",
        out=out,
    )
    run(options, PlainProgress(io.StringIO()))
    assert (out / "MUT-029-1.json").is_file()
    return out


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("reader", ["report", "diff", "publish", "baseline"])
def test_a_truncated_record_concludes_nothing(cli: Cli, ran: Path, tmp_path: Path, reader: str, share: float) -> None:
    whole = (ran / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl").write_bytes(whole[: int(len(whole) * share)])
    result = read_by(cli, reader, "run.jsonl")
    page = decent(result)
    assert (result.code, result.out) == (2, ""), page
    assert page.startswith("onceproof: run.jsonl")
    assert page.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.jsonl"], "nothing is written"


def test_a_record_without_its_footer_is_said_to_be_one(cli: Cli, ran: Path, tmp_path: Path) -> None:
    lines = (ran / "run.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert "it has no footer, so the run did not end" in read_by(cli, "report", "run.jsonl").err


#: What somebody may have put in the place of any member.
STRANGE: tuple[Any, ...] = (None, -1, ESCAPES, ["x"], {"x": 1})


def _edited(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**whole, member: value} for member in whole for value in STRANGE]


def test_no_edit_of_a_record_makes_the_suite_fail(cli: Cli, ran: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in (ran / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = {record["record"]: at for at, record in enumerate(records)}
    for at in kinds.values():
        for edited in _edited(records[at]):
            lines = [json.dumps(edited if i == at else record) for i, record in enumerate(records)]
            (tmp_path / "run.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
            result = cli("report", "run.jsonl", "--format", "terminal", "--format", "html")
            assert result.code in (0, 2), (edited, result.page)
            decent(result)
            if result.code == 2:
                assert result.err.startswith("onceproof: run.jsonl")
            else:
                assert "<script>" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_no_edit_of_a_trace_makes_the_suite_fail(cli: Cli, ran: Path, tmp_path: Path) -> None:
    whole = json.loads((ran / "MUT-029-1.json").read_text(encoding="utf-8"))
    inner = [{**whole, name: edited} for name in ("violation", "seen", "program") for edited in _edited(whole[name])]
    for edited in (*_edited(whole), *inner):
        if edited["driver"] == whole["driver"]:
            (tmp_path / "trace.json").write_text(json.dumps(edited), encoding="utf-8")
            result = cli("replay", "trace.json")
            assert result.code in (0, 1, 2, 3), (edited, result.page)
            decent(result)


def test_a_trace_of_another_specification_is_replayed_with_a_note(cli: Cli, ran: Path, tmp_path: Path) -> None:
    trace = json.loads((ran / "MUT-029-1.json").read_text(encoding="utf-8"))
    (tmp_path / "trace.json").write_text(json.dumps({**trace, "spec": ESCAPES}), encoding="utf-8")
    result = cli("replay", "trace.json")
    assert result.code == 1, result.page
    assert "note: the trace was made with another specification (\\x1b]0;owned" in decent(result)
    assert load().digest[:12] in result.err


@pytest.mark.parametrize("missing", ["requirement", "program"])
def test_a_trace_whose_requirement_or_family_this_onceproof_lacks(
    cli: Cli, ran: Path, tmp_path: Path, missing: str
) -> None:
    trace = json.loads((ran / "MUT-029-1.json").read_text(encoding="utf-8"))
    strange = {"requirement": "NEW-001", "program": {**trace["program"], "family": "lanes"}}[missing]
    (tmp_path / "trace.json").write_text(json.dumps({**trace, missing: strange}), encoding="utf-8")
    result = cli("replay", "trace.json")
    assert result.code == 2
    assert ("is judged by no checker" if missing == "requirement" else "knows no family 'lanes'") in decent(result)
