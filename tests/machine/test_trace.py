"""Trace files: what was written is read back, and what is no trace is refused with one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.checkers.base import Violation
from conformance.search.program import Op, Program, script, start
from conformance.trace import Trace, TraceError, read_trace, write_trace
from tests.machine.tiny import arm, program, run, send

OPS = (script("hold"), start("w1"), arm("w1", "open:commit", "lose-ack", world="committed"), send("w1", "j1"))


@pytest.fixture
def trace() -> Trace:
    violation = Violation("one request", "two", 4, "wire")
    return Trace("TINY-1", violation, program(*OPS, id="tiny/x"), run(*OPS), "d" * 64, "tiny", 7, 2, 3, 12)


def test_a_trace_is_read_as_it_was_written(trace: Trace, tmp_path: Path) -> None:
    write_trace(tmp_path / "t.json", trace)
    assert read_trace(tmp_path / "t.json") == trace


def test_equal_traces_are_equal_bytes(trace: Trace, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_trace(tmp_path / name, trace)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def refused(path: Path) -> str:
    """The sentence with which a file is refused; it names the file and stands in one line."""
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    return sentence.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"[" * 100_000, "not JSON"),
        (b'{"format": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b"[]", "trace format None is not 1"),
        (b'"trace"', "trace format None is not 1"),
        (b"{}", "trace format None is not 1"),
        (b'{"format": 2}', "trace format 2 is not 1; give a trace of this onceproof"),
        (b'{"format": 1}', "the member 'requirement' is missing; the trace was edited or cut"),
    ],
)
def test_what_is_no_trace_at_all(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(content)
    assert sentence in refused(tmp_path / "t.json")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.json")
    assert "directory" in refused(tmp_path)


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda t: t.pop("program"), "'program' is missing"),
        (lambda t: t["program"].pop("ops"), "'ops' is missing"),
        (lambda t: t["history"].pop("events"), "'events' is missing"),
        (lambda t: t["violation"].pop("seq"), "seq"),
        (lambda t: t["violation"].update(colour="red"), "colour"),
        (lambda t: t.update(requirement=7), "requirement is int instead of str"),
        (lambda t: t.update(seed="7"), "seed is str instead of int"),
        (lambda t: t.update(program=[]), "program is list instead of dict"),
        (lambda t: t["program"].update(ops={}), "ops of the program is no list"),
        (lambda t: t["program"].update(ops=["start"]), "ops of the program are no objects"),
        (lambda t: t["program"].update(config=None), "config of the program is no object"),
        (lambda t: t["program"]["ops"].append({"op": "dance"}), "op 'dance' is none of arm,"),
        (lambda t: t["program"]["ops"].append({"op": ["start"]}), "op ['start'] is none of"),
        (lambda t: t["program"]["ops"].append({"op": "kill"}), "op 'kill' lacks proc"),
        (lambda t: t["program"]["ops"].append({"op": "free", "proc": "w1"}), "op 'free' has no member proc"),
        (lambda t: t["program"]["ops"].append({"op": "kill", "proc": 7}), "op 'kill': proc is no text"),
        (lambda t: t["program"]["ops"].append({"op": "time", "ms": "9"}), "op 'time': ms is no integer"),
        (lambda t: t["program"]["ops"].append({"op": "time", "ms": True}), "op 'time': ms is no integer"),
        (lambda t: t["program"]["ops"].append({"op": "time", "ms": 10**20}), "integer up to 9007199254740992"),
        (
            lambda t: t["program"]["ops"].append({"op": "script", "behaviours": [{"kind": "explode"}]}),
            "behaviour 'explode' is none of",
        ),
        (lambda t: t["program"]["ops"].append({"op": "script", "behaviours": [7]}), "edited"),
    ],
)
def test_an_edited_trace(edit: Edit, sentence: str, trace: Trace, tmp_path: Path) -> None:
    content = json.loads(json.dumps(trace.to_json()))
    edit(content)
    (tmp_path / "t.json").write_text(json.dumps(content))
    found = refused(tmp_path / "t.json")
    assert sentence in found
    assert "edited" in found


def test_a_program_survives_its_json() -> None:
    assert Program.from_json(json.loads(json.dumps(program(*OPS).to_json()))) == program(*OPS)
    assert Op.from_json({"op": "time", "ms": 5, "trusted": False}) == Op("time", {"ms": 5, "trusted": False})
