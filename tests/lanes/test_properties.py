"""Random lanes against the definitions, and what must not change when a lane is changed."""

import random
import sqlite3
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from statemachines.lanes import (
    READINGS,
    Row,
    components,
    has_cycle,
    ingress_key,
    members,
    oracle,
    precedes,
    replay,
    verdict,
)
from statemachines.lanes.broken import broken_edges, shortest_cycle
from statemachines.lanes.sqlite import replay_in_sqlite
from tests.lanes.second_opinion import in_degree_components, two_finger_replay

settings.register_profile("lanes", deadline=None, database=None, derandomize=True, max_examples=150)
steadily = settings.get_profile("lanes")


@st.composite
def lanes(draw: st.DrawFn, most: int = 14) -> list[Row]:
    """Lanes with many zero rows, ties at every level, and ids in an order of their own."""
    ids = draw(st.lists(st.integers(-50, 50), min_size=1, max_size=most, unique=True))
    ordinal = st.one_of(st.just(0), st.integers(0, len(ids)))
    small = st.integers(0, max(1, len(ids) // 2))
    return [Row(i, draw(ordinal), draw(small), draw(st.integers(0, 1))) for i in ids]


def reordered(rows: list[Row], seed: int) -> list[Row]:
    return random.Random(seed).sample(rows, len(rows))


@steadily
@given(lanes())
def test_every_algorithm_agrees_with_the_definitions(rows: list[Row]) -> None:
    assert replay(rows) == two_finger_replay(rows) == oracle.reading_b(rows) == oracle.reading_c(rows)
    assert READINGS["A"](rows) == oracle.reading_a(rows)
    assert READINGS["D"](rows) == oracle.reading_d(rows)
    assert components(rows) == in_degree_components(rows) == oracle.components(rows)
    assert has_cycle(rows) == oracle.has_cycle(rows)


@steadily
@given(lanes(most=60))
def test_the_sql_statement_is_reading_b(rows: list[Row]) -> None:
    assert replay_in_sqlite(sqlite3.connect(":memory:"), rows) == replay(rows) == two_finger_replay(rows)


@steadily
@given(lanes(most=9), st.randoms(use_true_random=False))
def test_the_verdict_is_its_definition_near_the_right_sequence(rows: list[Row], chance: random.Random) -> None:
    for letter in READINGS:
        sequence = READINGS[letter](rows)
        assert verdict(rows, sequence, reading=letter).ok
        i, j = chance.randrange(len(rows)), chance.randrange(len(rows))
        sequence.insert(j, sequence.pop(i))
        judged = verdict(rows, sequence)
        assert judged.ok == oracle.accepts(rows, sequence)
        assert judged.ok or judged.pair in oracle.broken(rows, sequence)


@steadily
@given(lanes(), st.integers(0, 9))
def test_the_order_of_reading_does_not_matter(rows: list[Row], seed: int) -> None:
    other = reordered(rows, seed)
    assert [f(other) for f in (replay, components, *READINGS.values())] == [
        f(rows) for f in (replay, components, *READINGS.values())
    ]


@steadily
@given(lanes())
def test_stretching_ordinals_and_shifting_dates_changes_nothing(rows: list[Row]) -> None:
    moved = [Row(r.id, r.ordinal and 3 * r.ordinal**2 + 7, r.created + 1000, r.sequence) for r in rows]
    assert replay(moved) == replay(rows)
    assert components(moved) == components(rows)


@steadily
@given(lanes(), st.booleans())
def test_a_row_before_or_behind_everything_leaves_the_others_alone(rows: list[Row], stamped: bool) -> None:
    for sign, place in ((-1, 0), (1, len(rows))):
        ordinals = [row.ordinal for row in rows if row.ordinal]
        ordinal = (max(ordinals, default=0) + 1 if sign > 0 else 1) if stamped else 0
        others = [Row(r.id, r.ordinal and r.ordinal + 1, r.created, r.sequence) for r in rows]
        extra = Row(999, ordinal + (sign > 0 and stamped), sign * 1000, 0)
        for reading in READINGS.values():
            due = reading(rows)
            due.insert(place, 999)
            assert reading([*others, extra]) == due


@steadily
@given(lanes())
def test_components_can_be_replayed_one_by_one(rows: list[Row]) -> None:
    by_id = {row.id: row for row in rows}
    for reading in READINGS.values():
        one_by_one: list[Any] = []
        for component in components(rows):
            one_by_one += reading([by_id[i] for i in component])
        assert one_by_one == reading(rows)


@steadily
@given(lanes())
def test_zero_rows_come_out_in_ingress_order_and_an_unmixed_lane_is_a_sort(rows: list[Row]) -> None:
    arrived = sorted(rows, key=ingress_key)
    zeros = [row.id for row in arrived if not row.ordinal]
    assert [i for i in replay(rows) if i in set(zeros)] == zeros
    stamped = [row for row in rows if row.ordinal]
    assert replay(stamped) == [r.id for r in sorted(stamped, key=lambda r: (r.ordinal, r.id))]
    assert not has_cycle(stamped)


@steadily
@given(lanes())
def test_broken_edges_are_those_of_the_definition_and_each_lies_on_the_cycle_shown(rows: list[Row]) -> None:
    for reading in READINGS.values():
        sequence = reading(rows)
        edges = list(broken_edges(rows, sequence))
        assert len(edges) == len(set(edges))
        assert set(edges) == oracle.broken(rows, sequence)
        for a, b in edges:
            cycle = shortest_cycle(rows, a, b)
            assert cycle[:2] == [a, b]
            assert oracle.is_cycle(rows, cycle)


@steadily
@given(lanes())
def test_readings_give_up_more_and_more_edges(rows: list[Row]) -> None:
    d, b, a = (oracle.broken(rows, READINGS[letter](rows)) for letter in "DBA")
    assert d <= b <= a
    assert bool(d) == has_cycle(rows)


@steadily
@given(lanes(), st.randoms(use_true_random=False))
def test_membership_is_local_and_consecutive_generations_are_disjoint(rows: list[Row], chance: random.Random) -> None:
    assume(len(rows) >= 3)
    first, last, next_last = chance.sample(rows, 3)
    assume(precedes(last, next_last))  # as in a running lane: a boundary precedes its head
    boundary, head, next_head = first.id, last.id, next_last.id
    generation = set(members(rows, boundary, head))
    fewer = [row for row in rows if row.id in {boundary, head} or chance.random() < 0.5]
    assert set(members(fewer, boundary, head)) == generation & {row.id for row in fewer}
    assert generation.isdisjoint(members(rows, head, next_head))
    assert boundary not in generation
    assert replay([row for row in rows if row.id in generation])[-1] == head
