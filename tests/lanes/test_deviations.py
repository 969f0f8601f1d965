"""Every wrong implementation that the golden file names is refused, on exactly the lanes where it must be."""

from graphlib import CycleError
from typing import Any

import pytest

from statemachines.lanes import READINGS, Row, members, replay, verdict
from tests.lanes.deviations import MEMBERSHIPS, SEQUENCES, replay_lane_then_filter
from tests.lanes.golden import DOCUMENT, LANES, Golden, lane

KILLED_BY: dict[str, list[str]] = DOCUMENT["kill_matrix"]["sequence"]
QUERIES = [(golden, query) for golden in LANES for query in golden.known["memberships"]]


def outcome(name: str, rows: list[Row]) -> Any:
    try:
        return SEQUENCES[name](rows)
    except CycleError:
        return "raises CycleError"


def refused(rows: list[Row], answer: Any) -> bool:
    return isinstance(answer, str) or not verdict(rows, answer).ok


def test_every_named_deviation_exists() -> None:
    assert set(SEQUENCES) == set(DOCUMENT["wrong_implementations"])
    assert {*MEMBERSHIPS, "replay-lane-then-filter"} == set(DOCUMENT["wrong_memberships"])


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_wrong_sequence_is_refused_on_exactly_the_lanes_of_the_kill_matrix(name: str) -> None:
    killers = [
        golden.name for golden in LANES if any(refused(rows, outcome(name, rows)) for rows in golden.inputs.values())
    ]
    assert killers == KILLED_BY[name]
    assert killers


@pytest.mark.parametrize("golden", LANES, ids=lambda golden: golden.name)
@pytest.mark.parametrize("name", SEQUENCES)
def test_a_wrong_sequence_is_wrong_in_the_recorded_way(name: str, golden: Golden) -> None:
    wrong = {order: answer for order, rows in golden.inputs.items() if refused(rows, answer := outcome(name, rows))}
    recorded = golden.known["catches"].get(name, {})
    assert wrong == (recorded if isinstance(recorded, dict) else dict.fromkeys(golden.inputs, recorded))


@pytest.mark.parametrize("golden", LANES, ids=lambda golden: golden.name)
def test_what_is_legitimate_but_not_normative_passes_unless_a_reading_was_declared(golden: Golden) -> None:
    for name, recorded in golden.known["legitimate_but_not_normative"].items():
        answer = SEQUENCES[name](golden.rows)
        assert answer == recorded
        assert verdict(golden.rows, answer).ok
        assert not verdict(golden.rows, answer, reading="B").ok
    assert verdict(golden.rows, replay(golden.rows), reading="B").ok


@pytest.mark.parametrize("name", MEMBERSHIPS)
def test_a_wrong_membership_is_wrong_in_the_recorded_way(name: str) -> None:
    for golden, query in QUERIES:
        answer = sorted(MEMBERSHIPS[name](golden.rows, query["boundary"], query["head"]))
        assert answer == query["wrong"].get(name, query["members"]), golden.name


@pytest.mark.parametrize("name", sorted(set(MEMBERSHIPS) - {"positive-before-zero-head"}))
def test_a_wrong_membership_is_told_from_the_right_one(name: str) -> None:
    assert any(name in query["wrong"] for _, query in QUERIES)


def test_a_zero_head_does_not_admit_stamped_rows_that_came_later() -> None:
    rows = lane("1:o1 2:z 3:o2")
    assert members(rows, 1, 2) == [2]
    assert MEMBERSHIPS["positive-before-zero-head"](rows, 1, 2) == {2, 3}


def test_members_cut_out_of_the_replay_of_the_lane_are_refused() -> None:
    caught = {
        (golden.name, query["head"]): answer
        for golden, query in QUERIES
        if not verdict(
            [row for row in golden.rows if row.id in query["members"]],
            answer := replay_lane_then_filter(golden.rows, query["boundary"], query["head"]),
        ).ok
    }
    recorded = {
        (golden.name, query["head"]): query["wrong_replay"]["replay-lane-then-filter"]
        for golden, query in QUERIES
        if "wrong_replay" in query
    }
    assert caught == recorded
    assert caught


def test_the_readings_pass_everywhere() -> None:
    for golden in LANES:
        for letter, reading in READINGS.items():
            assert verdict(golden.rows, reading(golden.rows), reading=letter).ok
