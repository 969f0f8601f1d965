"""What the verdict says to people."""

import pytest

from statemachines.lanes import LaneError, Row, Verdict, verdict
from tests.lanes.golden import lane

CYCLE = lane("1:o3 2:z 3:o2 4:o1")  # replayed 1 2 4 3


def test_a_right_sequence_is_ok() -> None:
    reason = "every edge is kept, or lies on a cycle and is broken towards ingress"
    assert verdict(CYCLE, [1, 2, 4, 3]) == Verdict(True, reason, None)


@pytest.mark.parametrize(
    ("rows", "sequence", "pair", "reason"),
    [
        (
            lane("1:o2 2:o1"),
            [1, 2],
            (2, 1),
            "row 1 came out before row 2, but 2 precedes 1 (ordinal 1 before 2) and the two lie on no common cycle",
        ),
        (
            CYCLE,
            [2, 1, 4, 3],
            (1, 2),
            "row 2 came out before row 1, but 1 precedes 2 (earlier date; row 2 has no ordinal) "
            "and guard and ingress agree on it, so the cycle is no excuse",
        ),
        (
            CYCLE,
            [1, 4, 2, 3],
            (2, 4),
            "row 4 came out before row 2, but 2 precedes 4 (earlier date; row 2 has no ordinal) "
            "and guard and ingress agree on it, so the cycle is no excuse",
        ),
        (
            lane("1:o2 2:o3 3:z 4:o1"),
            [2, 1, 3, 4],
            (1, 2),
            "row 2 came out before row 1, but 1 precedes 2 (ordinal 2 before 3) "
            "and it also arrived earlier, so nothing justifies the reversal",
        ),
        (CYCLE, [1, 2, 3], None, "row 4 never came out; a cycle is no reason to drop rows"),
        (CYCLE, [], None, "row 1 and 3 more never came out; a cycle is no reason to drop rows"),
        (CYCLE, [1, 2, 4, 3, 2], None, "row 2 comes out a second time at place 5"),
        (CYCLE, [1, 2, 4, "3"], None, "place 4 holds '3', which is no row of the payload"),
        (CYCLE, [[1], 2, 4, 3], None, "place 1 holds [1], which is no row of the payload"),
    ],
)
def test_a_wrong_sequence_gets_a_reason(
    rows: list[Row], sequence: list[object], pair: tuple[int, int] | None, reason: str
) -> None:
    assert verdict(rows, sequence) == Verdict(False, reason, pair)


def test_a_declared_reading_is_held_to_exactly() -> None:
    assert verdict(CYCLE, [1, 2, 3, 4], reading="A").ok
    assert verdict(CYCLE, [1, 2, 3, 4], reading="B") == Verdict(
        False, "reading B was declared and puts row 4 at place 3, not row 3", (4, 3)
    )


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(LaneError, match=r"^there is no reading 'E'; known are A, B, D$"):
        verdict(CYCLE, [1, 2, 4, 3], reading="E")


def test_a_large_gap_is_searched_for_the_one_pair_that_nothing_justifies() -> None:
    """One gap of a giant cycle in ingress order, but for two neighbours on which both keys agree."""
    size = 300
    rows = [Row(i, 1000 + (i * 7919) % size, i, 0) for i in range(size)]
    rows += [Row(size, 0, size, 0), Row(size + 1, 1, size + 1, 0)]
    sequence = [row.id for row in rows]
    assert verdict(rows, sequence).ok
    i = next(i for i in range(100, size) if rows[i].ordinal < rows[i + 1].ordinal)
    sequence[i], sequence[i + 1] = sequence[i + 1], sequence[i]
    assert verdict(rows, sequence).pair == (i, i + 1)
