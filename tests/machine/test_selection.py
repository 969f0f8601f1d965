"""The selection of the kill matrix: written beforehand, blind to what is found, and rare premises come whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.mutants import Suspect, base_of, matrix
from conformance.search import selection
from conformance.search.plan import Sheet, lay_out, stratum
from conformance.search.program import Program
from conformance.search.selection import Base, Cell
from tests.machine.tiny import SCENARIO, TINY, Tiny, TinyTwice, carrier


def made(id: str) -> Program:
    return Program(id, "f", {}, (), {})


def base(ids: Mapping[str, Sequence[str]]) -> Base:
    """A reference that meets these cells (``REQ/cell``) on these schedules of one scenario."""
    met = {id: frozenset((c.partition("/")[0], c.partition("/")[2]) for c in cells) for id, cells in ids.items()}
    return Base({"s": Sheet("s", None, tuple(made(id) for id in ids), 0)}, met)


def struck(step: str, number: int, action: str = "fail") -> str:
    return f"f/s/w1.{step}#{number}@{action}/restart"


@pytest.fixture
def large() -> Base:
    """One scenario, 400 failed reads, of which a few meet something rare, and 400 schedules of another kind."""
    reads = {struck("look:read", n): ["R-1/common"] for n in range(400)}
    writes = {struck("store:write", n): ["R-2/other"] for n in range(400)}
    rare: dict[str, list[str]] = {struck("look:read", n): ["R-1/common", "R-1/rare"] for n in (133, 377)}
    return base({"f/s": [], **reads, **rare, **writes})


def test_the_scenario_itself_and_every_rare_premise_are_chosen(large: Base) -> None:
    chosen = selection.for_deviation(large, "R-1")
    assert {"f/s", struck("look:read", 133), struck("look:read", 377)} <= chosen


def test_no_requirement_takes_more_than_its_share(large: Base) -> None:
    most = 1 + selection.SAMPLE + selection.OWN + selection.NEAR
    for requirement in ("R-1", "R-2", "R-none"):
        assert selection.SAMPLE <= len(selection.for_deviation(large, requirement)) <= most


def test_a_common_premise_is_spread_over_its_schedules(large: Base) -> None:
    numbers = sorted(
        int(id.partition("#")[2].partition("@")[0]) for id in selection.for_deviation(large, "R-1") if "look:read" in id
    )
    assert numbers[0] < 10
    assert numbers[-1] > 390
    assert max(b - a for a, b in pairwise(numbers)) <= 8, "no large part is left out"


def test_what_differs_in_one_thing_from_an_own_schedule_is_chosen_too() -> None:
    own = {struck("store:commit", 1, "crash"): ["R-1/crash"]}
    near = {struck("store:begin", 1, "fail"): [], struck("look:committed", 1, "crash"): []}
    far: dict[str, list[str]] = {struck(f"far{n}:write", 1, "fail"): [] for n in range(500)}
    chosen = selection.for_deviation(base({"f/s": [], **own, **near, **far}), "R-1")
    assert own.keys() | near.keys() <= chosen
    assert far.keys() - chosen


def test_a_variant_meets_every_cell_of_the_family_and_every_stratum(large: Base) -> None:
    chosen = selection.for_variant(large)
    cells = {cell for id in chosen for cell in large.met[id]}
    assert cells == {cell for met in large.met.values() for cell in met}
    assert {stratum(made(id)) for id in chosen} == {stratum(p) for p in large.programs}


def test_schedules_that_only_the_suspect_has_replace_those_that_it_lacks(large: Base) -> None:
    chosen = frozenset(struck("look:read", n) for n in range(3))
    own = [made("f/s"), made(struck("look:read", 0)), *(made(struck("peek:read", n)) for n in range(9))]
    run = [p.id for p in selection.apply(chosen, large, own)]
    assert run == [struck("look:read", 0), struck("peek:read", 0), struck("peek:read", 1)]


def test_a_stratum_that_the_reference_does_not_have_is_tried_once(large: Base) -> None:
    own = [made(struck("peek:remote", n, "pause+new")) for n in range(5)]
    assert len(selection.apply(frozenset(), large, own)) == 1


def test_the_selection_is_the_same_whoever_is_tried() -> None:
    first, second = (base_of(TINY, carrier, 1) for _ in range(2))
    assert selection.for_deviation(first, "TINY-1") == selection.for_deviation(second, "TINY-1")
    twice = [lay_out(TINY, SCENARIO, carrier(TinyTwice), "ci", first.sheets[SCENARIO.id])]
    assert twice == list(first.sheets.values()), "what is recorded the same is not made anew"


def test_a_suspect_with_other_calls_gets_a_sheet_of_its_own() -> None:
    class Renamed(Tiny):
        """Not the tiny implementation."""

    known = Sheet(SCENARIO.id, (made("other"), ()), (made("other"),), 1)
    laid = lay_out(TINY, SCENARIO, carrier(Renamed), "ci", known)
    assert laid is not known
    assert len(laid.programs) > 1


@pytest.mark.parametrize("selected", [True, False])
def test_the_matrix_finds_the_planted_fault_of_the_tiny_family(selected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.mutants.FAMILIES", {"tiny": TINY})
    monkeypatch.setattr("conformance.mutants.judged_requirements", lambda *_: [])
    found: list[tuple[str, str]] = []

    def record(outcome: object, judged: object) -> dict[str, object]:
        del judged
        names = list(outcome.violations)  # type: ignore[attr-defined]
        found.extend((outcome.schedule, n) for n in names)  # type: ignore[attr-defined]
        empty: dict[str, object] = {
            "met": {},
            "faults": {},
            "missed": [],
            "problem": None,
            "blame": None,
            "gaps": [],
            "tables": {},
        }
        return {"id": outcome.schedule, "named": names, **empty}  # type: ignore[attr-defined]

    monkeypatch.setattr("conformance.mutants.schedule_record", record)
    suspect = Suspect("deviation", "twice", "TINY-1", "sends twice", "tiny", lambda: carrier(TinyTwice))
    [result] = matrix([suspect], 1, carrier if selected else None)
    assert result.found
    assert result.schedules > 1, "it does not stop at the first find"
    assert result.named["TINY-1"] == len(found)


def test_cells_are_pairs() -> None:
    cell: Cell = ("R-1", "common")
    assert base({"f/s": ["R-1/common"]}).met["f/s"] == {cell}


def test_the_page_says_the_numbers_that_hold() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "kill-matrix.md").read_text(encoding="utf-8")
    for words in (
        f"{selection.SAMPLE} schedules spread",
        f"up to {selection.OWN} *own*",
        f"up to {selection.NEAR} *near*",
        f"{('one schedule', 'two schedules')[selection.WIDE - 1]} of every stratum",
        f"the first {('three', 'four', 'five')[selection.PER_CELL - 3]} that meet it",
    ):
        assert words in page
