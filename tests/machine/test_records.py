"""``run.jsonl``: a run is read whole or refused by name; what drivers wrote into it stays data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.records import RecordError, RecordWriter, read_run

HEADER: dict[str, Any] = {
    "record": "header",
    "format": 1,
    "suite": "onceproof",
    "spec": "d",
    "started": "now",
    "driver": "tiny",
    "identity": {"name": "tiny"},
    "budget": "quick",
    "seed": 0,
    "filtered": False,
    "obligations": 1,
    "planned": 0,
    "unreachable": [],
    "baseline": [],
    "only": [],
    "scenarios": [],
    "requirements": [],
}
SCHEDULE: dict[str, Any] = {
    "record": "schedule",
    "id": "s",
    "met": {},
    "faults": {},
    "missed": [],
    "named": [],
    "problem": None,
    "blame": None,
    "gaps": [],
    "tables": {},
}
FOOTER: dict[str, Any] = {"record": "footer", "records": 1, "complete": True, "interrupted": False, "seconds": 0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


def refused(path: Path) -> str:
    """The one sentence; it begins with the file."""
    with pytest.raises(RecordError) as caught:
        read_run(path)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert "\n" not in sentence
    return sentence.removeprefix(str(path))


def test_a_whole_run_is_read(path: Path) -> None:
    run = read_run(write(path, HEADER, SCHEDULE, FOOTER))
    assert (run.header["driver"], len(run.schedules), run.footer["complete"]) == ("tiny", 1, True)


def test_what_the_writer_wrote_is_read(path: Path) -> None:
    writer = RecordWriter(path)
    for record in (HEADER, SCHEDULE, FOOTER):
        writer.write(**record)
    writer.close()
    assert next(iter(read_run(path).schedules))["id"] == "s"


def test_a_truncated_file(path: Path) -> None:
    assert "no footer, so the run did not end" in refused(write(path, HEADER, SCHEDULE))
    text = json.dumps(HEADER) + "\n" + json.dumps(SCHEDULE)[:20]
    path.write_text(text)
    assert refused(path).startswith(":2: not JSON")
    path.write_text("")
    assert "0 headers" in refused(path)


def test_lines_that_got_lost(path: Path) -> None:
    assert "counts 1 schedules, 0 are here" in refused(write(path, HEADER, FOOTER))


def test_two_headers_and_two_runs(path: Path) -> None:
    assert "2 headers instead of one" in refused(write(path, HEADER, HEADER, SCHEDULE, FOOTER))
    assert ":4: a record follows the footer" in refused(write(path, HEADER, SCHEDULE, FOOTER, HEADER))


@pytest.mark.parametrize("format", [0, 2, "1", None])
def test_another_format(path: Path, format: object) -> None:
    sentence = refused(write(path, {**HEADER, "format": format}, SCHEDULE, FOOTER))
    assert f"format {format!r} is not 1" in sentence


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "not JSON: 'nonsense"),
        ("[1]", "a record must be an object, not list"),
        ('{"record": "gossip"}', "unknown record 'gossip'"),
        ('{"record": ["footer"]}', "unknown record ['footer']"),
        ("{}", "unknown record None"),
        ('{"record": "footer", "records": ' + "9" * 5_000 + "}", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number(path: Path, line: str, sentence: str) -> None:
    write(path, HEADER)
    path.write_text(path.read_text() + line + "\n")
    found = refused(path)
    assert found.startswith(":2: ")
    assert sentence in found
    assert len(found) < 200, "not the whole line"


@pytest.mark.parametrize("member", ["identity", "requirements", "budget"])
def test_a_header_without_a_member(path: Path, member: str) -> None:
    header = {k: v for k, v in HEADER.items() if k != member}
    assert f":1: the header lacks {member}" in refused(write(path, header, SCHEDULE, FOOTER))


def test_a_schedule_without_a_member(path: Path) -> None:
    schedule = {k: v for k, v in SCHEDULE.items() if k != "missed"}
    assert ":2: the schedule lacks missed" in refused(write(path, HEADER, schedule, FOOTER))


def test_a_huge_count_does_not_fit(path: Path) -> None:
    assert "the footer counts" in refused(write(path, HEADER, SCHEDULE, {**FOOTER, "records": 10**300}))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "\x1b[2J\x07", "a\nb", "\u202eevil", "\ud800"])
def test_strange_names_stay_data(path: Path, name: str) -> None:
    header = {**HEADER, "identity": {"name": name}}
    assert read_run(write(path, header, SCHEDULE, FOOTER)).header["identity"]["name"] == name


def test_a_missing_file_a_folder_and_bytes_that_are_no_text(path: Path) -> None:
    assert "No such file" in refused(path)
    assert "directory" in refused(path.parent)
    path.write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused(path)
