"""`onceproof lane` from outside, and its drawings as people see them.

To renew the drawings after a wanted change: delete the files in `drawings` and run these tests once.
"""

import argparse
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from statemachines.lanes import Row, oracle
from statemachines.lanes.command import add_parser
from statemachines.lanes.picture import ROWS_AT_MOST, picture
from statemachines.lanes.svg import draw_svg
from statemachines.lanes.text import draw_text
from tests.lanes.golden import FILE, LANES, Golden, lane

DRAWINGS = Path(__file__).parent / "drawings"
SVG = "{http://www.w3.org/2000/svg}"
each_lane = pytest.mark.parametrize("golden", LANES, ids=lambda golden: golden.name)


def onceproof(*words: object) -> int:
    parser = argparse.ArgumentParser(prog="onceproof")
    add_parser(parser.add_subparsers(required=True))
    args = parser.parse_args([str(word) for word in words])
    status: int = args.run(args)
    return status


def same_as_file(name: str, drawn: str) -> bool:
    file = DRAWINGS / name
    if not file.exists():
        file.write_text(drawn, encoding="utf-8")
        pytest.fail(f"{name} was missing and has been written; look at it and run again")
    return file.read_text(encoding="utf-8") == drawn


@each_lane
def test_the_text_drawing(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    assert onceproof("lane", FILE, "--lane", golden.name) == 0
    assert same_as_file(f"{golden.name}.txt", capsys.readouterr().out)


def test_a_drawing_with_nested_arcs_and_two_cycles() -> None:
    rows = lane("1:o7 2:o5 3:z 4:o6 5:o4 6:z 7:o8 8:z 9:o12 10:o11 11:z 12:o9 13:o10 14:o14 15:o13")
    assert same_as_file("two-cycles.txt", draw_text(picture("two-cycles", rows)))
    assert same_as_file("two-cycles.svg", draw_svg(picture("two-cycles", rows)))


@each_lane
def test_json(golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    assert onceproof("lane", FILE, "--lane", golden.name, "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["sequence", "components", "broken"]
    assert answer["sequence"] == golden.known["normative"]
    assert answer["components"] == golden.known["components"]
    assert {tuple(edge) for edge in answer["broken"]} == oracle.broken(golden.rows, answer["sequence"])


@each_lane
def test_the_svg_shows_every_row_twice_and_every_cycle_once(golden: Golden) -> None:
    root = ElementTree.fromstring(draw_svg(picture(golden.name, golden.rows)))
    words = [str(text.text) for text in root.iter(f"{SVG}text") if text.get("class") == "row"]
    assert sorted(words) == sorted(2 * [str(row.id) for row in golden.rows])
    bands = [rect for rect in root.findall(f"{SVG}rect") if rect.get("rx") == "10"]
    assert len(bands) == sum(len(component) > 1 for component in golden.known["components"])
    assert len(root.findall(f"{SVG}path[@class='thread']")) == len(golden.rows)


def test_the_reading_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert onceproof("lane", FILE, "--lane", "after-the-break", "--format", "json", "--reading", "A") == 0
    assert json.loads(capsys.readouterr().out) == {
        "sequence": [1, 2, 3, 4],
        "components": [[1, 2, 3, 4]],
        "broken": [[3, 1], [4, 3], [4, 1]],
    }


def test_one_generation_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--lane", "after-the-break", "--head", "1", "--format")
    assert onceproof("lane", FILE, *words, "json") == 0
    assert json.loads(capsys.readouterr().out)["sequence"] == [4, 3, 1]
    assert onceproof("lane", FILE, *words, "text", "--boundary", "4") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "lane after-the-break, generation of row 1 after row 4",
        "2 rows, no cycle: one order keeps every edge, and this is it",
    ]


def test_csv_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    csv = b"\xef\xbb\xbfid,ordinal,created,sequence\n2,1,2026-01-01T00:00:01Z,0\n1,2,2026-01-01T00:00:00Z,0\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(csv)))
    assert onceproof("lane", "-", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "sequence": [2, 1],
        "components": [[2], [1]],
        "broken": [],
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lane", "three-cycle", "--head", "8"], "the head '8' is not in the lane; it holds rows 1, 2, 3"),
        (["--lane", "three-cycle", "--boundary", "1"], "say with --head where it ends"),
        (["--lane", "four-cycle"], "has no lane 'four-cycle'; it has stamped-inverted, "),
    ],
)  # fmt: skip
def test_bad_words_get_one_sentence_and_exit_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert onceproof("lane", FILE, *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("lane: ")
    assert sentence in err
    assert err.count("\n") == 1


def test_bad_files_get_one_sentence_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onceproof("lane", tmp_path / "none.json") == 2
    assert capsys.readouterr().err == f"lane: cannot read {tmp_path}/none.json: no such file or directory\n"
    (tmp_path / "binary").write_bytes(b"id\xff")
    assert onceproof("lane", tmp_path / "binary") == 2
    assert capsys.readouterr().err == f"lane: {tmp_path}/binary is not UTF-8 text: byte 3 fits no character\n"


def test_a_lane_too_large_to_look_at_is_refused_as_a_drawing_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.json"
    rows = [{"id": i, "ordinal": i + 1, "created": i, "sequence": 0} for i in range(ROWS_AT_MOST + 1)]
    file.write_text(json.dumps(rows))
    assert onceproof("lane", file) == 2
    assert "a drawing of more than 200 shows nothing; take --format json" in capsys.readouterr().err
    assert onceproof("lane", file, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["sequence"] == list(range(ROWS_AT_MOST + 1))


def test_names_and_ids_cannot_spoil_a_drawing() -> None:
    rows = [Row("<b>&\x1b[31m", 0, 0, 0), Row("\u202eb", 1, 1, 0)]
    drawn = picture("<script>\x00", rows)
    root = ElementTree.fromstring(draw_svg(drawn))
    assert root.findtext(f"{SVG}title") == "lane <script>\N{REPLACEMENT CHARACTER}"
    assert "\x1b" not in draw_text(drawn)
    assert "\u202e" not in draw_text(drawn)


def test_an_empty_lane_can_be_drawn() -> None:
    assert draw_text(picture("x", [])) == "lane x\n0 rows, no cycle: one order keeps every edge, and this is it\n"
    assert ElementTree.fromstring(draw_svg(picture("x", []))).tag == f"{SVG}svg"
