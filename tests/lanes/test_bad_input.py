"""Bad input gets one clear sentence that names the row; never a traceback."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from statemachines.lanes import READINGS, LaneError, Row, components, has_cycle, members, replay, verdict
from statemachines.lanes.instants import parse_instant, short_labels
from statemachines.lanes.loading import load_lane
from tests.lanes.golden import FILE, lane

ZONED = datetime(2026, 1, 1, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1)
HEADER = "id,enqueue_ordinal,created_date,delivery_sequence\n"
NOON = "2026-01-01T12:00:00Z"


def complaint(text: str, wanted: str | None = None) -> str:
    with pytest.raises(LaneError) as caught:
        load_lane(text, "l.csv", wanted)
    return str(caught.value)


def as_json(*rows: dict[str, Any]) -> str:
    return json.dumps(list(rows))


def raw(**changes: Any) -> dict[str, Any]:
    row = {"id": 1, "enqueue_ordinal": 1, "created_date": NOON, "delivery_sequence": 0, **changes}
    return {key: value for key, value in row.items() if value != "absent"}


# -------------------- in Python


@pytest.mark.parametrize("ordinal", [-1, 1.5, "3", None, True])
def test_an_ordinal_is_a_whole_number_from_zero_up(ordinal: Any) -> None:
    with pytest.raises(LaneError, match=r"^row 7: the ordinal is .*, but an ordinal is a whole number from 0 up"):
        Row(7, ordinal, 0, 0)


@pytest.mark.parametrize("function", [replay, components, has_cycle, *READINGS.values()])
@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (Row(1, 2, 5, 0), "row 1 occurs twice; ids must be unique in a lane, since they break every tie"),
        (
            Row("b", 2, 5, 0),
            "row 'b': its id is a text, that of row 1 is a number; "
            "one lane needs one kind, or its rows cannot be compared",
        ),
        (
            Row(2, 2, ZONED, 0),
            "row 2: its date is a date with a time zone, that of row 1 is a number; "
            "one lane needs one kind, or its rows cannot be compared",
        ),
    ],
)
def test_every_function_refuses_rows_that_cannot_be_ordered(function: Any, second: Row, sentence: str) -> None:
    with pytest.raises(LaneError) as caught:
        function([Row(1, 0, 3, 0), second])
    assert str(caught.value) == sentence


def test_mixed_time_zones_name_the_row() -> None:
    with pytest.raises(LaneError, match=r"^row 2: its date is a date without a time zone, that of row 1 is"):
        replay(iter([Row(1, 0, ZONED, 0), Row(2, 0, NAIVE, 0)]))


def test_a_head_or_boundary_outside_the_lane_is_named() -> None:
    rows = lane("1:o1 2:z 3:o2")
    with pytest.raises(LaneError, match=r"^the head 9 is not in the lane; it holds rows 1, 2, 3$"):
        members(rows, None, 9)
    with pytest.raises(LaneError, match=r"^the boundary 9 is not in the lane; it holds rows 1, 2, 3$"):
        members(rows, 9, 1)
    with pytest.raises(LaneError, match=r"^row 1 is boundary and head at once"):
        members(rows, 1, 1)
    with pytest.raises(LaneError, match=r"^the head 1 is not in the lane; it holds no rows$"):
        members([], None, 1)


def test_the_verdict_checks_its_rows_too() -> None:
    with pytest.raises(LaneError, match="row 1 occurs twice"):
        verdict([Row(1, 0, 0, 0), Row(1, 1, 1, 0)], [1, 1])


# -------------------- from files


ORDINAL = "it must be a whole number from 0 up, 0 for a row of an older version"
DATE = "it must be an ISO 8601 date such as 2026-01-31T08:30:00Z, with at most nine digits of a second"
ZONE = "where the rows before it have a date in zone Z; write all dates of a lane in one zone"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("1,x,D,0", f'row 1 (id 1): enqueue_ordinal is "x"; {ORDINAL}'),
        ("1,1,D,0\n2,-4,D,0", f'row 2 (id 2): enqueue_ordinal is "-4"; {ORDINAL}'),
        ("1,1,D,0\n1,2,D,0", "row 2: id 1 stands in row 1 already; ids must be unique in a lane"),
        ("1,1,D,0\n,2,D,0", 'row 2: id is ""; all ids of a lane must be whole numbers, or all of them texts'),
        ("1,1,D,a", 'row 1 (id 1): delivery_sequence is "a"; it must be a whole number'),
        ("1,1,D", "row 1 has 3 cells where the header has 4"),
        ("1,1,yesterday,0", f'row 1: created_date is "yesterday"; {DATE}'),
        ("1,1,2026-02-30,0", f'row 1: created_date is "2026-02-30"; {DATE}'),
        (
            "1,1,D,0\n2,1,2026-01-01,0",
            f'row 2: created_date "2026-01-01" is a date without a time zone {ZONE}',
        ),
        (
            "1,1,D,0\n2,1,2026-01-01T12:00:00+02:00,0",
            f'row 2: created_date "2026-01-01T12:00:00+02:00" is a date in zone +02:00 {ZONE}',
        ),
        ("1,1,D,0\n2,1,1767268800,0", f'row 2: created_date "1767268800" is a plain number {ZONE}'),
    ],
)
def test_a_bad_csv_row_is_named(rows: str, sentence: str) -> None:
    assert complaint(HEADER + rows.replace("D", NOON)) == f"l.csv, {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "l.csv is empty; it should hold rows as JSON, or as CSV with a header"),
        (
            "id,created_date,delivery_sequence\n1,D,0",
            "l.csv has no column enqueue_ordinal; its header is id, created_date, delivery_sequence",
        ),
        ("{", "l.csv is not JSON: expecting property name enclosed in double quotes at line 1, column 2"),
        ("[" * 100_000, "l.csv is not JSON: it is nested too deeply"),
        ('{"a": 1}', "l.csv has no list of rows; expected a list, {rows: […]} or {lanes: [{name, rows} …]}"),
        ("[3]", "l.csv, row 1 is 3, not an object with id, enqueue_ordinal, created_date, delivery_sequence"),
        (
            as_json(raw(), raw(id=2, created_date="absent")),
            "l.csv, row 2 has no created_date; it has id, enqueue_ordinal, delivery_sequence",
        ),
        (
            as_json(raw(enqueue_ordinal=1.0)),
            f"l.csv, row 1 (id 1): enqueue_ordinal is 1.0; {ORDINAL}",
        ),
        (
            as_json(raw(), raw(id="b")),
            "l.csv, row 1: id is 1; all ids of a lane must be whole numbers, or all of them texts",
        ),
        (
            as_json(raw(created_date=True)),
            f"l.csv, row 1: created_date is true; {DATE}",
        ),
        ('{"lanes": 3}', "l.csv: lanes is 3, not a list"),
        ('{"lanes": []}', "l.csv holds 0 lanes; choose one with --lane: none with a name"),
    ],
)
def test_a_bad_file_is_described(text: str, sentence: str) -> None:
    assert complaint(text) == sentence


def test_a_lane_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert complaint(FILE.read_text(), "nope").startswith("l.csv has no lane 'nope'; it has stamped-inverted, ")
    assert complaint(FILE.read_text()).startswith("l.csv holds 8 lanes; choose one with --lane: stamped-inverted, ")
    assert complaint(HEADER, "x") == "l.csv is CSV and holds one lane; --lane chooses among the lanes of a JSON file"
    assert complaint("[]", "x") == "l.csv holds one lane and no list of lanes; leave --lane x away"


# -------------------- what is understood


def test_csv_and_json_give_the_same_rows() -> None:
    csv = (
        "Id,EnqueueOrdinal,CreatedDate,DeliverySequence,Note\n"
        "10,,2026-01-01 12:00:00Z,0,x\n"
        "9,2,2026-01-01T12:00:00.5Z,1,\n"
    )
    rows = [
        {"id": 10, "ordinal": None, "created": "2026-01-01T12:00:00+00:00", "sequence": 0},
        {"id": 9, "ordinal": 2, "created": "2026-01-01T12:00:00.500Z", "sequence": 1},
    ]
    loaded = load_lane(csv, "l.csv").rows
    assert loaded == load_lane(json.dumps({"name": "x", "rows": rows}), "l.json").rows
    assert loaded == (
        Row(10, 0, "2026-01-01T12:00:00.000000000Z", 0),
        Row(9, 2, "2026-01-01T12:00:00.500000000Z", 1),
    )


def test_ids_are_numbers_where_all_of_them_are() -> None:
    assert [row.id for row in load_lane(f"{HEADER}10,1,{NOON},0\n9,1,{NOON},0", "l").rows] == [10, 9]
    assert [row.id for row in load_lane(f"{HEADER}10,1,{NOON},0\na,1,{NOON},0", "l").rows] == ["10", "a"]


def test_no_digit_of_a_second_is_lost() -> None:
    early, late = "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.1234568Z"
    assert parse_instant(early)[0] < parse_instant(late)[0]
    assert parse_instant("2026-01-01T00:00:00,5+02:00") == ("2026-01-01T00:00:00.500000000+02:00", "+02:00")
    with pytest.raises(ValueError, match="nine digits"):
        parse_instant("2026-01-01T00:00:00.1234567890Z")


def test_labels_are_as_short_as_they_can_be() -> None:
    day = [parse_instant(f"2026-01-01T00:00:0{s}Z")[0] for s in ("1", "2.25")]
    assert short_labels(day) == ["00:00:01.00", "00:00:02.25"]
    assert short_labels([day[0], parse_instant("2026-01-02T00:00:01Z")[0]]) == [
        "2026-01-01 00:00:01",
        "2026-01-02 00:00:01",
    ]
    assert short_labels([5, 17]) == ["5", "17"]
    assert short_labels([ZONED]) == ["00:00:00"]
    assert short_labels([ZONED, NAIVE]) == [str(ZONED), str(NAIVE)]
