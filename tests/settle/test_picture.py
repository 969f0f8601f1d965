"""What a reader of a failing lane sees: its generations with their boundaries, and the drawing of the lane."""

from __future__ import annotations

from conformance.carriers.inprocess import InProcessCarrier
from conformance.checkers.base import Violation
from conformance.families.settle_lanes.picture import lane_picture
from conformance.judge import judge
from conformance.search.failures import investigate
from conformance.search.process import EPOCH_MS
from reference_impl.registry import implementation
from tests.settle.edits import add, edited, flow, rows
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


def test_times_are_seconds_since_virtual_time_began_and_the_lane_is_that_of_the_row_that_is_named() -> None:
    history = edited("foreign", rows(3, not_before=EPOCH_MS + 99_500))
    index = FAMILY.index(history)
    violation = Violation("row 3 waits until 12.000 s", "row 3 waits until 99.500 s", index.looks[-1].seq, "rows")
    drawn = lane_picture(index, violation)
    route, source = index.lane_of(3) or ("", "")
    assert f"lane {source} on route {route}" in drawn
    assert "99.500" in drawn
    assert str(EPOCH_MS)[:6] not in drawn
    assert index.when(None) == "no time at all"
    assert index.when(EPOCH_MS - 1) == "-0.001 s"


def test_a_history_without_rows_has_no_picture() -> None:
    history = edited("after-success", flow(4, add(1)))
    verdict = next(v for v in judge(FAMILY, history) if v.violations)
    blind = FAMILY.index(type(history)("s", history.family, {}, tuple(e for e in history.events if e.cls == "suite")))
    assert lane_picture(blind, verdict.violations[0]) == ""
