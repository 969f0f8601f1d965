"""All small lanes: the production functions, a second algorithm and the definitions over a graph agree.

A lane's answers depend on nothing but its tournament and its ingress order, so the slow definitions are asked
once for each of those and the fast functions on every lane.
"""

from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

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
from tests.lanes.second_opinion import in_degree_components, two_finger_replay

KEYS = [(ordinal, created, sequence) for ordinal in range(3) for created in range(2) for sequence in range(2)]
ROWS = {id_: [Row(id_, *key) for key in KEYS] for id_ in range(1, 6)}

Shape = tuple[bool, ...]


def lanes(size: int) -> Iterator[list[Row]]:
    """Every lane of `size` rows with ordinals 0 to 2, dates and sequences 0 to 1; ids in read order."""
    return map(list, product(*(ROWS[id_] for id_ in range(1, size + 1))))


def shape(arrived: list[Row]) -> Shape:
    """The tournament of a lane in ingress order: for each pair whether the earlier arrival precedes."""
    return tuple(precedes(a, b) for a, b in combinations(arrived, 2))


def canonical(most: int) -> Iterator[list[Row]]:
    """One lane of each kind: every place of the zero rows and every order of the stamped rows' ordinals."""
    for size in range(1, most + 1):
        for stamped in product((False, True), repeat=size):
            for ordinals in permutations(range(1, sum(stamped) + 1)):
                ordinal = iter(ordinals)
                yield [Row(i, next(ordinal) if s else 0, i, 0) for i, s in enumerate(stamped)]


def by_definition(rows: list[Row]) -> dict[str, Any]:
    return {
        "B": oracle.reading_b(rows),
        "C": oracle.reading_c(rows),
        "A": oracle.reading_a(rows),
        "D": oracle.reading_d(rows),
        "components": oracle.components(rows),
        "has_cycle": oracle.has_cycle(rows),
    }


KNOWN: dict[tuple[int, Shape], dict[str, Any]] = {}


def places(arrived: list[Row]) -> dict[str, Any]:
    """The answers by definition, in terms of places of arrival."""
    key = (len(arrived), shape(arrived))
    if key not in KNOWN:
        by_ordinal = sorted((row for row in arrived if row.ordinal), key=ordinal_key)
        rank = {row.id: k for k, row in enumerate(by_ordinal, 1)}
        KNOWN[key] = by_definition([Row(i, rank.get(row.id, 0), i, 0) for i, row in enumerate(arrived)])
    return KNOWN[key]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_every_lane_over_a_small_domain(size: int) -> None:
    for rows in lanes(size):
        arrived = sorted(rows, key=ingress_key)
        due = places(arrived)
        sequence = [arrived[i].id for i in due["B"]]
        assert replay(rows) == sequence
        assert has_cycle(rows) == due["has_cycle"]
        assert components(rows) == [sorted(arrived[i].id for i in ids) for ids in due["components"]]


def test_one_lane_of_each_kind_under_every_reading_and_every_algorithm() -> None:
    kinds = 0
    for rows in canonical(5):
        due = by_definition(rows)
        assert replay(rows) == two_finger_replay(rows) == due["B"] == due["C"]
        assert READINGS["A"](rows) == due["A"]
        assert READINGS["D"](rows) == due["D"]
        assert components(rows) == in_degree_components(rows) == due["components"]
        assert has_cycle(rows) == due["has_cycle"]
        kinds += 1
    assert kinds == 2 + 5 + 16 + 65 + 326


def test_the_verdict_is_its_definition_on_every_permutation() -> None:
    for rows in canonical(4):
        for sequence in permutations([row.id for row in rows]):
            assert verdict(rows, sequence).ok == oracle.accepts(rows, sequence)


def test_the_accepted_sequences_are_those_that_keep_what_readings_a_and_d_agree_on() -> None:
    accepted = judged = 0
    for rows in canonical(5):
        a, d = READINGS["A"](rows), READINGS["D"](rows)
        common = [(x, y) for x, y in combinations(a, 2) if d.index(x) < d.index(y)]
        for sequence in permutations([row.id for row in rows]):
            ok = verdict(rows, sequence).ok
            assert ok == all(sequence.index(x) < sequence.index(y) for x, y in common)
            accepted, judged = accepted + ok, judged + 1
    assert (accepted, judged) == (464, 40788)


def test_the_head_is_last_in_every_generation() -> None:
    """Each member precedes the head, so the head is on no cycle of its own generation (ORDER-024)."""
    for rows in canonical(4):
        for boundary in [None, *(row.id for row in rows)]:
            for head in (row.id for row in rows if row.id != boundary):
                chosen = set(members(rows, boundary, head))
                assert replay([row for row in rows if row.id in chosen])[-1] == head
