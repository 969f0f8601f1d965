"""The lower end of a generation, ties, older skips and poor ends: what each wrong input is blamed on, and what not."""

from __future__ import annotations

from typing import Final

import pytest

from conformance.checkers.base import Met
from tests.settle.edits import Edit, add, answer, drop, edited, flow, named, passing, rows, swap
from tests.settle.runs import FAMILY

Case = tuple[str, tuple[Edit, ...]]


def case(scenario: str, *edits: Edit) -> Case:
    return scenario, edits


def taken(head: int, claim: int, id_: int) -> tuple[Edit, ...]:
    """A waiting row is taken in after all: collapsed by the claim, and in the input."""
    return rows(id_, since=("lane.claim", claim), state="skipped", token=None), flow(head, add(id_))


#: What it is about -> the requirement, its mutants, and a near miss.
CASES: Final[dict[str, tuple[str, tuple[Case, ...], Case]]] = {
    "stamped rows at a boundary without an ordinal": (
        "GEN-004",
        (case("lower-ends", *taken(4, 1, 1)), case("lower-ends", flow(4, drop(3)))),
        case("lower-ends", *taken(24, 3, 21)),
    ),
    "rows without an ordinal at a boundary": (
        "GEN-004",
        (case("lower-ends", *taken(14, 2, 11)), case("lower-ends", flow(14, drop(13)))),
        case("lower-ends", flow(14, swap(0, 1))),
    ),
    "the ordinal of the boundary": (
        "GEN-043",
        (case("lower-ends", *taken(24, 3, 21)), case("lower-ends", flow(24, drop(23)))),
        case("lower-ends", *taken(4, 1, 1)),
    ),
    "the ordinal of the head": (
        "GEN-043",
        (case("keys", flow(42, drop(41))),),
        case("keys", flow(2, drop(1))),
    ),
    "a row that was no member of an earlier generation": (
        "GEN-029",
        (case("older", flow(44, add(41))),),
        case("lower-ends", *taken(4, 1, 1)),
    ),
    "an older skip at the beginning of a lane": (
        "GEN-032",
        tuple(case("older-in-fresh-lane", flow(base + 2, drop(base + 1))) for base in (0, 10, 20)),
        case("older-in-fresh-lane", flow(2, drop(1)), flow(5, drop(4))),
    ),
    "an older skip that is taken in nowhere": (
        "GEN-011",
        (case("older-in-fresh-lane", flow(2, drop(1)), flow(5, drop(4))),),
        case("older-in-fresh-lane", flow(2, drop(1))),
    ),
    "an executed skip without an ordinal": (
        "GEN-041",
        (
            case("older-skip-without-ordinal", flow(4, add(2))),
            case("older-skip-without-ordinal", flow(4, add(1))),
        ),
        case("older-skip-without-ordinal", flow(4, drop(3))),
    ),
    "rows of the date of a head without an ordinal": (
        "GEN-042",
        (case("same-date", *taken(2, 1, 1)), case("same-date", *taken(2, 1, 4))),
        case("same-date", flow(2, drop(3))),
    ),
    "a skip of a head alone": (
        "GEN-018",
        (
            case("skip-alone", rows(1, since=("lane.finish", 1), token=None)),
            case("skip-alone", rows(1, since=("lane.finish", 1), error="skipped")),
        ),
        case("skip-alone", rows(1, since=("lane.finish", 1), error="")),
    ),
    "a head that died of lost leases": (
        "GEN-007",
        (case("after-lost-leases", flow(4, add(1))), case("after-lost-leases", flow(4, add(2)))),
        case("after-lost-leases", flow(4, drop(3))),
    ),
    "rows of two deliveries without a window": (
        "GEN-026",
        (case("existing-modes", flow(6, drop(1))),),
        case("existing-modes", flow(7, add(2))),
    ),
    "older rows of another lane": (
        "SCOPE-010",
        (
            case("keys", rows(11, since=("lane.claim", 1), error="x")),
            case("keys", rows(33, since=("lane.finish", 3), not_before=5)),
        ),
        case("keys", rows(11, since=("lane.claim", 2), error="x")),
    ),
}


@pytest.mark.parametrize("about", CASES)
def test_each_mutant_is_blamed_on_its_requirement_and_the_near_miss_is_not(about: str) -> None:
    requirement, mutants, (scenario, edits) = CASES[about]
    for name, changes in mutants:
        assert requirement in named(edited(name, *changes))
    assert requirement not in named(edited(scenario, *edits))


def met(scenario: str, requirement: str, *edits: Edit) -> set[str]:
    history = edited(scenario, *edits) if edits else passing(scenario)
    found = FAMILY.checkers[requirement].judge(FAMILY.index(history))
    return {f.cell for f in found if isinstance(f, Met)}


def test_a_row_that_died_of_a_reported_failure_is_not_one_of_lost_leases() -> None:
    assert "leases-lost" in met("after-lost-leases", "GEN-007")
    assert "leases-lost" not in met("after-fatal", "GEN-007")


def test_a_head_with_siblings_skips_in_company() -> None:
    assert "alone" in met("skip-alone", "GEN-018")
    assert "alone" not in met("after-skip", "GEN-018")


def test_an_older_skip_behind_a_waiting_row_does_not_open_its_lane() -> None:
    assert "older-skip" in met("older-in-fresh-lane", "GEN-032")
    assert "older-skip" not in met("older", "GEN-032")


def test_a_claim_that_may_have_been_taken_reaches_every_lane() -> None:
    untold = answer("lane.claim", 1, status="unknown", event=None)
    assert "SCOPE-010" not in named(edited("keys", rows(11, since=("lane.claim", 1), error="x"), untold))
