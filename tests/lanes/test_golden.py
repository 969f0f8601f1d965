"""The golden lanes, exactly, under every algorithm and in every read order."""

import random
import sqlite3
from itertools import combinations, pairwise

import pytest

from statemachines.lanes import (
    READINGS,
    Row,
    components,
    has_cycle,
    ingress_key,
    members,
    oracle,
    ordinal_key,
    precedes,
    replay,
    verdict,
)
from statemachines.lanes.sqlite import replay_in_sqlite
from tests.lanes.golden import LANES, Golden, lane
from tests.lanes.second_opinion import in_degree_components, two_finger_replay

each_lane = pytest.mark.parametrize("golden", LANES, ids=lambda golden: golden.name)


def read_orders(rows: list[Row]) -> list[list[Row]]:
    return [rows, rows[::-1], random.Random(7).sample(rows, len(rows))]


@each_lane
def test_the_sequence(golden: Golden) -> None:
    for rows in read_orders(golden.rows):
        assert replay(rows) == golden.known["normative"]
        assert two_finger_replay(rows) == golden.known["normative"]
        assert replay_in_sqlite(sqlite3.connect(":memory:"), rows) == golden.known["normative"]


@each_lane
def test_the_readings(golden: Golden) -> None:
    for rows in read_orders(golden.rows):
        assert {letter: reading(rows) for letter, reading in READINGS.items()} == {
            letter: golden.known["readings"][letter] for letter in "ABD"
        }
        assert oracle.reading_c(rows) == golden.known["readings"]["C"]


@each_lane
def test_the_components(golden: Golden) -> None:
    for rows in read_orders(golden.rows):
        assert components(rows) == golden.known["components"]
        assert in_degree_components(rows) == golden.known["components"]
        assert has_cycle(rows) is not golden.known["acyclic"]


@each_lane
def test_the_generations(golden: Golden) -> None:
    by_id = {row.id: row for row in golden.rows}
    for query in golden.known["memberships"]:
        boundary, head = query["boundary"], query["head"]
        assert members(golden.rows, boundary, head) == query["members"]
        assert replay([by_id[i] for i in query["members"]]) == query["replay"]
        in_turn = None if boundary is None else precedes(by_id[boundary], by_id[head])
        assert in_turn == query["boundary_precedes_head"]


@each_lane
def test_only_free_pairs_are_free(golden: Golden) -> None:
    """Turning a neighbouring pair of the normative sequence around is accepted for free pairs only."""
    sequence, free = golden.known["normative"], golden.known["free_pairs"]
    for i, pair in enumerate(pairwise(sequence)):
        turned = [*sequence[:i], *reversed(pair), *sequence[i + 2 :]]
        assert verdict(golden.rows, turned).ok == (list(pair) in free)


@each_lane
def test_the_closing_head_takes_in_the_whole_lane_and_comes_last(golden: Golden) -> None:
    rows = [*golden.rows, golden.closing_head]
    head = golden.closing_head.id
    assert members(rows, None, head) == sorted(row.id for row in rows)
    assert replay(rows) == [*golden.known["normative"], head]


def test_exactly_one_of_two_rows_precedes_the_other() -> None:
    for golden in LANES:
        for a, b in combinations(golden.rows, 2):
            assert precedes(a, b) != precedes(b, a)


def test_each_pair_chooses_its_own_key() -> None:
    early_large, zero, late_small = lane("1:o9 2:z 3:o8")
    assert precedes(late_small, early_large)  # by ordinal, against arrival
    assert precedes(early_large, zero)  # by arrival: one of the two has no ordinal
    assert precedes(zero, late_small)  # so the three form a cycle
    assert ordinal_key(zero) < ordinal_key(late_small) < ordinal_key(early_large)
    assert ingress_key(early_large) < ingress_key(zero) < ingress_key(late_small)


@pytest.mark.parametrize(
    ("rows", "a", "b", "d"),
    [
        ("1:o3 2:o2 3:z 4:o1", [1, 2, 3, 4], [1, 2, 3, 4], [2, 1, 3, 4]),
        ("1:o4 2:o2 3:z 4:o3 5:o1", [1, 2, 3, 4, 5], [1, 2, 3, 5, 4], [2, 1, 3, 5, 4]),
    ],
)
def test_the_smallest_lanes_on_which_the_readings_part(rows: str, a: list[int], b: list[int], d: list[int]) -> None:
    assert [READINGS[letter](lane(rows)) for letter in "ABD"] == [a, b, d]


def test_cycles_are_judged_among_the_payload_not_the_lane() -> None:
    rows = lane("1:z 2:o2 3:z 4:o1")
    assert replay(rows) == [1, 2, 3, 4]
    payload = [row for row in rows if row.id in members(rows, 1, 2)]
    assert replay(payload) == [4, 2]


@pytest.mark.parametrize(
    ("rows", "boundary", "head", "due"),
    [
        ("1:o2 2:z 3:o1", 1, 2, [2]),  # reachability would admit row 3
        ("1:o2 2:z 3:o1", 1, 3, [2, 3]),  # the head precedes the boundary, and row 2 still lies between
        ("1:o2 2:z 3:o1", 3, 1, [1]),
        ("1:o2 2:z 3:o1 4:z", 1, 4, [2, 4]),  # row 3 is replayed between, but precedes the boundary
        ("1:o2 2:z 3:o1 4:z", 3, 4, [1, 4]),  # row 1 is replayed before the boundary, but follows it
    ],
)
def test_membership_is_no_interval(rows: str, boundary: int, head: int, due: list[int]) -> None:
    assert members(lane(rows), boundary, head) == due


def test_a_lane_may_be_empty_or_a_single_row() -> None:
    assert replay([]) == components([]) == []
    assert not has_cycle([])
    assert verdict([], []).ok
    assert replay(lane("7:z")) == replay(lane("7:o1")) == [7]
