"""Ties, dates of one second, lanes of zero rows alone, pairs that are judged twice, and zero rows that are heads."""

from __future__ import annotations

from typing import Final

import pytest

from tests.settle.edits import Edit, add, drop, edited, flow, head_first, named, rows, swap

#: What it is -> (requirement, scenario, an edit that breaks it, a near miss).
CASES: Final[dict[str, tuple[str, str, Edit, Edit]]] = {
    "an earlier date of the same second": ("ORDER-003", "orders", flow(1310, swap(0, 1)), flow(1310, swap(2, 3))),
    "sequences 9 and 10": ("ORDER-004", "orders", flow(1310, swap(4, 5)), flow(1310, swap(6, 7))),
    "Ids in a lane of zero rows": ("ORDER-007", "orders", flow(1310, swap(2, 3)), flow(1310, swap(6, 7))),
    # The last arrival is stamped, so that nothing but the tie tells that a zero row came too early.
    "a zero row ahead of its tie": ("ORDER-006", "orders", flow(1418, swap(4, 5)), flow(1418, swap(6, 7))),
    "a tie that only one input reverses": ("ORDER-006", "twins", flow(1301, swap(4, 5)), flow(1301, swap(6, 7))),
    "a member that a twin places before the head": (
        "ORDER-021",
        "twins",
        flow(1103, drop(1104)),
        flow(1103, drop(1103)),
    ),
    "a row that a twin places behind the head": ("ORDER-021", "twins", flow(1204, add(1203)), flow(1204, drop(1204))),
    "a row that a twin places behind the boundary": (
        "ORDER-021",
        "twins",
        flow(1514, drop(1503)),
        flow(1514, add(1504)),
    ),
    "a row that a twin places ahead of the boundary": (
        "ORDER-021",
        "twins",
        flow(1415, add(1404)),
        flow(1415, add(1403)),
    ),
    "a row ahead of the head in its own input": ("ORDER-021", "keys", flow(22, lambda f: [*f, 23]), flow(22, drop(21))),
    "a zero row that failed": (
        "ORDER-025",
        "zero-heads",
        rows(1, since=("lane.finish", 1), ordinal=9),
        rows(1, since=("lane.finish", 1), created_at=9),
    ),
    "a zero row that was taken back": (
        "ORDER-025",
        "zero-heads",
        rows(11, since=("recover", 1), ordinal=9),
        rows(11, since=("recover", 1), error="x"),
    ),
    "a zero row that was replayed": (
        "ORDER-025",
        "zero-heads",
        rows(21, since=("lane.replay", 1), ordinal=9),
        rows(21, since=("lane.replay", 1), error="x"),
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_it_is_named_and_its_near_miss_is_not(what: str) -> None:
    requirement, scenario, wrong, near = CASES[what]
    assert requirement in named(edited(scenario, wrong))
    assert requirement not in named(edited(scenario, near))


def test_without_a_twin_a_wrong_member_contradicts_nothing() -> None:
    found = named(edited("keys", flow(2, drop(1))))
    assert "GEN-003" in found
    assert "ORDER-021" not in found


def test_a_twin_on_a_cycle_says_nothing() -> None:
    """Inside a cycle no pair has its place by the guard alone, so that its order contradicts no membership."""
    found = named(edited("permuted", flow(104, drop(101))))
    assert "GEN-003" in found
    assert "ORDER-021" not in found


def test_the_head_in_front_is_no_wrong_membership() -> None:
    assert "ORDER-021" not in named(edited("keys", flow(2, head_first)))
