"""What a reader of a failing lane sees: its generations with their boundaries, and the drawing of the lane."""

from __future__ import annotations

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.settle_lanes.picture import lane_picture
from conformance.judge import judge
from conformance.search.failures import investigate
from reference_impl.registry import implementation
from tests.settle.edits import add, edited, flow
from tests.settle.runs import FAMILY, scripts


def test_a_failure_of_a_lane_carries_its_generations_and_its_drawing() -> None:
    carrier = InProcessCarrier("reference+comparisons-alone", implementation("comparisons-alone"))
    failure = investigate(FAMILY, scripts()["upgrade"], carrier, "GEN-044", {})
    lines = failure.picture.splitlines()
    row = next(line for line in lines if line.split()[:2] == ["3", "1"])
    assert "1 (w1), 4 (w1)" in row
    assert any("= boundary" in line for line in lines)
    assert any(line.strip().startswith("broken") and "3 → 1" in line for line in lines)
    assert failure.trace("digest", "reference", 0).to_json()["picture"] == failure.picture


def test_the_lane_of_the_violation_is_drawn_and_a_row_taken_twice_stands_out() -> None:
    history = edited("after-success", flow(4, add(1)))
    index = FAMILY.index(history)
    verdict = next(v for v in judge(FAMILY, history) if v.violations)
    drawn = lane_picture(index, verdict.violations[0])
    assert "lane acme on route settled" in drawn
    assert "2 (w1), 4 (w1)" in drawn
    assert "CONSUMED TWICE" in drawn


def test_a_history_without_rows_has_no_picture() -> None:
    history = edited("after-success", flow(4, add(1)))
    verdict = next(v for v in judge(FAMILY, history) if v.violations)
    blind = FAMILY.index(type(history)("s", history.family, {}, tuple(e for e in history.events if e.cls == "suite")))
    assert lane_picture(blind, verdict.violations[0]) == ""
