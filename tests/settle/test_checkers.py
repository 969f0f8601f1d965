"""Each checker can fail, and does not fail too much: two edits break each requirement, and one does not.

The near miss looks like a break and belongs to another requirement, or to none.
"""

from __future__ import annotations

from typing import Final

import pytest

from conformance.search.process import EPOCH_MS
from tests.settle.edits import (
    Edit,
    add,
    answer,
    both,
    doubled,
    drop,
    edited,
    flow,
    gone,
    head_first,
    items,
    later,
    named,
    payload,
    rows,
    swap,
)
from tests.settle.runs import FAMILY

Case = tuple[str, tuple[Edit, ...]]
FAR: Final = EPOCH_MS + 50_000


def case(scenario: str, *edits: Edit) -> Case:
    return scenario, edits


def claim(nth: int, event: int | None) -> Edit:
    if event is None:
        return answer("lane.claim", nth, status="nothing", event=None)
    return answer("lane.claim", nth, status="claimed", event=event)


def executed(nth: int, event: int, told: str = "recorded") -> tuple[Edit, ...]:
    """The nth idle execution of a script took a row after all."""
    row = {"event": event, "payload": "x"}
    return (
        claim(nth, event),
        answer("lane.input", nth, status="read", event=event, rows=[row]),
        answer("lane.finish", nth, status=told, event=event),
    )


SWAPPED: Final = swap(0, 1)
CRASHED: Final = "lane/enqueue-bulk/s1.deliver.bulk:committed#1@crash/restart"
CLAIMING: Final = "lane/execute/w1.claim.take:committed#1@crash/restart"
SUPERSEDING: Final = "lane/lease-superseded/w2.claim.take:committed#1@crash/restart"

#: requirement -> two mutants and a near miss.
CASES: Final[dict[str, tuple[Case, Case, Case]]] = {
    "SETTLE-001": (
        case("window", *both(5, time=None)),
        case("enqueue-bulk", *both(3, time=None)),
        case("window", *both(5, time=later(100))),
    ),
    "SETTLE-002": (
        case("existing-modes", claim(1, None)),
        case("existing-modes", claim(2, None)),
        case("existing-modes", claim(3, None)),
    ),
    "SETTLE-003": (
        case("window", claim(1, 1)),
        case("window", claim(2, 2)),
        case("window", answer("lane.claim", 1, status="unavailable")),
    ),
    "SETTLE-004": (
        case("backoff", rows(1, since=("lane.finish", 1), not_before=later(5_000))),
        case("backoff", rows(1, since=("lane.finish", 1), not_before=None)),
        case("backoff", rows(1, since=("lane.finish", 1), not_before=later(100))),
    ),
    "SETTLE-005": (
        case("burst", gone(1, ("lane.finish", 1))),
        case("burst", gone(2, ("lane.finish", 1), event=False)),
        case("burst", rows(1, since=("lane.finish", 1), error="x")),
    ),
    "SETTLE-006": (
        case("burst", *executed(2, 2)),
        case("burst", *executed(2, 1)),
        case("burst", *executed(2, 2, "lost")),
    ),
    "SETTLE-007": (
        case("burst", *both(1, 2, 3, since=("lane.metrics", 1), time=later(20_000)), claim(1, None)),
        case("cycle-fails", claim(1, None)),
        case("burst", claim(1, None)),
    ),
    "SETTLE-008": (
        case("existing-while-running", rows(1, state="skipped")),
        case("existing-while-running", rows(2, state="skipped")),
        case("existing-while-running", rows(1, error="x")),
    ),
    "SETTLE-009": (
        case("existing-while-running", rows(3, since=("lane.deliver", 2), state="skipped")),
        case("existing-while-running", rows(3, since=("lane.deliver", 2), state="processed")),
        case("existing-while-running", rows(3, since=("lane.deliver", 2), error="x")),
    ),
    "SETTLE-014": (
        case("existing-modes", rows(1, not_before=FAR)),
        case("existing-modes", rows(4, not_before=FAR)),
        case("existing-modes", rows(1, not_before=EPOCH_MS)),
    ),
    "SETTLE-015": (
        case("existing-modes", items(1, run_after=FAR)),
        case("existing-modes", items(6, run_after=FAR)),
        case("existing-modes", items(6, run_after=EPOCH_MS)),
    ),
    "SETTLE-016": (
        case("window", answer("lane.metrics", 1, due=6)),
        case("window", answer("lane.metrics", 1, due=1)),
        case("window", answer("lane.metrics", 1, oldest_due_at=EPOCH_MS)),
    ),
    "SETTLE-017": (
        case("burst", answer("lane.metrics", 1, due=2)),
        case("burst", answer("lane.metrics", 1, due=0)),
        case("burst", answer("lane.metrics", 1, due=4)),
    ),
    "SETTLE-018": (
        case("burst", items(1, run_after=later(1))),
        case("burst", *both(3, time=None)),
        case("burst", *both(1, 2, 3, time=later(7))),
    ),
    "SETTLE-019": (
        case("enqueue-fallback", items(1, run_after=later(1))),
        case("enqueue-fallback", *both(3, time=None)),
        case("enqueue-fallback", *both(1, 2, time=later(7))),
    ),
    "SETTLE-020": (
        case(CRASHED, items(1, run_after=None)),
        case(CRASHED, gone(2, event=False)),
        case(CRASHED, *both(1, 2, time=later(7))),
    ),
    "SETTLE-021": (
        case("by-name", claim(1, 1)),
        case("by-name", claim(2, 2)),
        case("by-name", answer("lane.claim", 1, status="unavailable")),
    ),
    "SETTLE-022": (
        case("burst", claim(1, None)),
        case("retry", claim(2, None)),
        case("burst", answer("lane.claim", 1, status="unavailable", event=None)),
    ),
    "SETTLE-024": (
        case("window", *both(3, time=later(1))),
        case("window", *both(4, time=later(1))),
        case("window", *both(5, time=later(1))),
    ),
    "SETTLE-026": (
        case("two-open", *both(3, time=EPOCH_MS + 8_000)),
        case("two-open", *both(3, time=None)),
        case("two-open", rows(3, error="x")),
    ),
    "SETTLE-027": (
        case("window", rows(1, since=("lane.deliver", 2), not_before=later(3_000))),
        case("window", rows(2, since=("lane.deliver", 3), not_before=later(3_000))),
        case("window", rows(1, since=("lane.deliver", 2), not_before=later(-100))),
    ),
    "SETTLE-028": (
        case("window", *both(7, time=EPOCH_MS + 10_001)),
        case("backoff", *both(2, time=later(90_000))),
        case("window", *both(7, time=later(100))),
    ),
    "SETTLE-029": (
        case("window", *both(5, time=EPOCH_MS + 10_001)),
        case("window", rows(5, not_before=EPOCH_MS + 10_001)),
        case("window", *both(5, time=later(100))),
    ),
    "SETTLE-030": (
        case("window", *both(6, time=EPOCH_MS + 10_001)),
        case("window", rows(6, not_before=EPOCH_MS + 10_001)),
        case("window", *both(6, time=later(100))),
    ),
    "SETTLE-031": (
        case("paths", doubled(4, ("lane.deliver", 4))),
        case("paths", doubled(5, ("lane.deliver", 5))),
        case("paths", doubled(4, ("lane.deliver", 4), delivery="another")),
    ),
    "SETTLE-032": (
        case("budget-settled", rows(1, since=("lane.finish", 3), state="pending")),
        case("budget-existing", rows(1, since=("lane.finish", 3), state="pending")),
        case("budget-settled", rows(1, since=("lane.finish", 3), error="x")),
    ),
    "SETTLE-033": (
        case("replay", rows(13, payload="other")),
        case("replay", rows(12, since=("lane.replay", 1), state="pending")),
        case("replay", rows(12, since=("lane.replay", 1), error="x")),
    ),
    "SETTLE-034": (
        case("normalize", answer("lane.normalize", 9, status="refused")),
        case("normalize", answer("lane.normalize", 9, mode="full_record_preserve")),
        case("normalize", answer("lane.normalize", 7, status="refused")),
    ),
    "SETTLE-035": (
        case("normalize", answer("lane.normalize", 10, status="accepted", mode="settled")),
        case("normalize", answer("lane.normalize", 10, status="accepted")),
        case("normalize", answer("lane.normalize", 10, reason="another one")),
    ),
    "SETTLE-036": (
        case("normalize", answer("lane.normalize", 4, status="refused")),
        case("normalize", answer("lane.normalize", 6, status="accepted", mode="full_record")),
        case("normalize", answer("lane.normalize", 6, reason="another one")),
    ),
    "SETTLE-037": (
        case("existing-modes", flow(7, add(2))),
        case("existing-modes", flow(6, drop(1))),
        case("existing-modes", flow(6, swap(0, 1))),
    ),
    "SETTLE-038": (
        case("burst", answer("lane.metrics", 2, due=3)),
        case("burst", answer("lane.metrics", 2, due=1)),
        case("burst", answer("lane.metrics", 2, oldest_due_at=EPOCH_MS)),
    ),
    "SETTLE-039": (
        case("busy", claim(2, 2)),
        case("busy", claim(3, 2)),
        case("busy", answer("lane.claim", 3, status="unavailable")),
    ),
    "SETTLE-040": (
        case("busy", rows(1, since=("recover", 1), state="pending")),
        case("busy", rows(1, since=("lane.claim", 4), token="other")),
        case("busy", rows(1, since=("recover", 1), worker="other")),
    ),
    "SETTLE-041": (
        case("stale-success", answer("lane.finish", 1, status="recorded")),
        case("stale-fatal", rows(1, since=("lane.finish", 1), error="x")),
        case("stale-success", answer("lane.finish", 1, status="unavailable")),
    ),
    "SETTLE-042": (
        case("after-success", rows(2, since=("recover", 1), state="pending")),
        case("after-skip", rows(2, since=("recover", 1), token=None)),
        case("after-success", rows(2, since=("recover", 1), error="x")),
    ),
    "SETTLE-043": (
        case("execute", items(1, since=("lane.finish", 1), state="pending")),
        case("execute", gone(2, ("lane.finish", 1), event=False)),
        case("execute", items(1, since=("lane.finish", 1), run_after=None)),
    ),
    "SETTLE-044": (
        case("both-routes", gone(2)),
        case("both-routes", gone(3, ("lane.deliver", 1))),
        case("both-routes", rows(2, error="x")),
    ),
    "GEN-003": (
        case("keys", flow(2, drop(1))),
        case("keys", flow(2, add(3))),
        case("keys", flow(2, SWAPPED)),
    ),
    "GEN-004": (
        case("keys", flow(12, drop(11))),
        case("keys", flow(12, add(13))),
        case("keys", flow(12, SWAPPED)),
    ),
    "GEN-005": (
        case("keys", flow(33, drop(32))),
        case("keys", flow(33, add(34))),
        case("keys", flow(33, SWAPPED)),
    ),
    "GEN-007": (
        case("after-fatal", flow(4, add(1))),
        case("after-budget", flow(4, add(2))),
        case("after-fatal", flow(4, SWAPPED)),
    ),
    "GEN-010": (case("older", flow(3, drop(2))), case("older", flow(3, drop(1))), case("older", flow(3, SWAPPED))),
    "GEN-011": (case("older", flow(13, drop(12))), case("older", flow(13, drop(11))), case("older", flow(13, SWAPPED))),
    "GEN-012": (case("older", flow(23, drop(22))), case("older", flow(23, drop(21))), case("older", flow(23, SWAPPED))),
    "GEN-014": (
        case("retry", flow(2, drop(1), nth=2)),
        case("lease-lost", flow(2, drop(1), nth=2)),
        case("retry", flow(2, SWAPPED, nth=2)),
    ),
    "GEN-016": (
        case("superseded", rows(2, since=("lane.claim", 2), token="t")),
        case("retry", rows(1, since=("lane.claim", 1), token="t")),
        case("superseded", rows(2, since=("lane.finish", 1), error="x")),
    ),
    "GEN-017": (
        case(SUPERSEDING, rows(2, since=("lane.claim", 2), token="t")),
        case(CLAIMING, rows(1, since=("lane.claim", 1), token="t")),
        case(SUPERSEDING, rows(2, since=("lane.claim", 2), token="t", error="x")),
    ),
    "GEN-018": (
        case("after-skip", rows(2, since=("lane.claim", 1), token=None)),
        case("after-failure-and-skip", rows(2, since=("lane.claim", 2), error="x")),
        case("after-skip", rows(2, since=("lane.claim", 1), worker="x")),
    ),
    "GEN-021": (
        case("replay", flow(23, add(22))),
        case("replay", flow(23, add(21))),
        case("replay", rows(22, since=("lane.replay", 2), error="x")),
    ),
    "GEN-022": (
        case("replay", flow(13, add(12))),
        case("replay", flow(13, add(11))),
        case("replay", rows(12, since=("lane.replay", 1), error="x")),
    ),
    "GEN-025": (
        case("one-delivery", flow(3, add(1))),
        case("one-delivery", flow(3, add(2))),
        case("one-delivery", flow(2, SWAPPED)),
    ),
    "GEN-026": (
        case("deliveries", flow(3, drop(1))),
        case("deliveries", flow(5, drop(4))),
        case("deliveries", flow(3, drop(2))),
    ),
    "GEN-027": (
        case("burst", payload(3, "merged")),
        case("burst", flow(3, add(1))),
        case("burst", flow(3, SWAPPED)),
    ),
    "GEN-028": (
        case("superseded", flow(3, drop(1))),
        case("after-success", flow(4, drop(4))),
        case("superseded", flow(3, SWAPPED)),
    ),
    "GEN-029": (
        case("after-success", flow(4, add(1))),
        case("after-success", flow(4, add(2))),
        case("after-success", flow(4, SWAPPED)),
    ),
    "GEN-030": (
        case("arrives-before-input", flow(1, add(2))),
        case("arrives-before-retry", flow(1, add(2), nth=2)),
        case("arrives-before-input", rows(2, error="x")),
    ),
    "GEN-031": (
        case("arrives-before-input", rows(2, since=("lane.input", 1), state="skipped", token=None)),
        case("arrives-before-input", flow(1, add(2))),
        case("arrives-before-input", rows(2, error="x")),
    ),
    "GEN-032": (
        case("burst", flow(3, drop(1, 2, 3))),
        case("burst", flow(3, drop(3))),
        case("burst", flow(3, SWAPPED)),
    ),
    "GEN-033": (
        case("foreign", flow(3, drop(1))),
        case("foreign", flow(13, drop(11))),
        case("foreign", flow(3, SWAPPED)),
    ),
    "GEN-034": (
        case("superseded", flow(3, drop(2))),
        case("lease-superseded", flow(3, drop(2))),
        case("superseded", flow(3, SWAPPED)),
    ),
    "GEN-035": (
        case("arrives-before-input", doubled(2, ("lane.deliver", 2))),
        case("arrives-before-input", doubled(2, ("lane.input", 1))),
        case("arrives-before-input", doubled(2, ("lane.deliver", 2), delivery="another")),
    ),
    "GEN-036": (
        case("budget-successor", rows(2, since=("lane.finish", 4), state="pending")),
        case("budget-successor", rows(2, since=("lane.finish", 4), state="processing")),
        case("budget-successor", rows(2, since=("lane.finish", 4), error="x")),
    ),
    "GEN-037": (
        case("replay-fails", flow(15, add(2))),
        case("replay-fails", flow(15, add(1))),
        case("replay-fails", flow(15, SWAPPED)),
    ),
    "GEN-039": (
        case("after-skip", flow(4, add(2))),
        case("after-skip", flow(4, add(1))),
        case("after-skip", flow(4, SWAPPED)),
    ),
    "GEN-041": (
        case("older", flow(34, add(31))),
        case("older", flow(34, add(32))),
        case("older", flow(34, SWAPPED)),
    ),
    "GEN-042": (
        case("keys", flow(22, add(23))),
        case("keys", flow(22, lambda found: [*found, 23])),
        case("keys", flow(22, SWAPPED)),
    ),
    "GEN-043": (
        case("keys", flow(51, add(52))),
        case("keys", flow(51, lambda found: [*found, 52])),
        case("keys", flow(42, SWAPPED)),
    ),
    "GEN-044": (
        case("upgrade", flow(4, add(3))),
        case("upgrade", flow(4, lambda found: [*found, 3])),
        case("upgrade", rows(3, error="x")),
    ),
    "GEN-045": (
        case("cycle-fails", flow(3, drop(2), nth=2)),
        case("cycle-fails", rows(3, since=("lane.claim", 2), state="skipped", token=None)),
        case("cycle-fails", flow(3, SWAPPED, nth=2)),
    ),
    "GEN-046": (
        case("late", flow(2, add(1))),
        case("late", flow(13, add(12))),
        case("late", flow(3, SWAPPED)),
    ),
    "GEN-047": (
        case("late-pair", flow(2, drop(1), nth=2)),
        case("late-pair", flow(2, drop(1, 2), nth=2)),
        case("late-pair", flow(2, SWAPPED, nth=2)),
    ),
    "GEN-048": (
        case("visible-before-input", flow(3, add(2))),
        case("visible-before-input", rows(2, since=("lane.finish", 1), state="skipped", token=None)),
        case("visible-before-input", flow(3, SWAPPED)),
    ),
    "ORDER-001": (
        case("orders", flow(105, swap(0, 1))),
        case("orders", flow(324, swap(0, 1))),
        case("orders", flow(408, swap(0, 1))),
    ),
    "ORDER-002": (
        case("orders", flow(408, swap(0, 1))),
        case("orders", flow(408, swap(2, 3))),
        case("orders", flow(408, swap(1, 2))),
    ),
    "ORDER-003": (
        case("orders", flow(13, swap(0, 1))),
        case("orders", flow(13, swap(3, 4))),
        case("orders", flow(13, swap(1, 2))),
    ),
    "ORDER-004": (
        case("orders", flow(13, swap(2, 3))),
        case("orders", flow(13, lambda found: [found[0], found[3], found[1], found[2], *found[4:]])),
        case("orders", flow(13, swap(1, 2))),
    ),
    "ORDER-005": (
        case("orders", flow(13, swap(1, 2))),
        case("orders-reversed", flow(13, swap(1, 2))),
        case("orders", flow(13, swap(0, 1))),
    ),
    "ORDER-006": (
        case("memberships", flow(607, head_first)),
        case("memberships", flow(607, swap(1, 2))),
        case("memberships", flow(607, swap(0, 1))),
    ),
    "ORDER-007": (
        case("orders", flow(910, swap(0, 1))),
        case("orders-reversed", flow(910, swap(0, 1))),
        case("orders", flow(910, swap(1, 2))),
    ),
    "ORDER-009": (
        case("permuted", flow(204, swap(0, 1))),
        case("permuted", flow(304, swap(0, 1))),
        case("permuted", *(flow(head, swap(0, 1)) for head in (104, 204, 304))),
    ),
    "ORDER-010": (
        case("orders", flow(324, swap(0, 1))),
        case("orders", flow(324, swap(2, 3))),
        case("orders", flow(105, swap(0, 1))),
    ),
    "ORDER-011": (
        case("orders", flow(324, swap(0, 1))),
        case("orders", flow(105, swap(0, 1))),
        case("orders", flow(324, swap(2, 3))),
    ),
    "ORDER-014": (
        case("cycle-again", flow(5, swap(2, 3), nth=2)),
        case("cycle-again", flow(105, swap(2, 3), nth=2)),
        case("cycle-again", flow(5, swap(2, 3), nth=2), flow(5, swap(2, 3), nth=1)),
    ),
    "ORDER-015": (
        case("orders", flow(610, swap(0, 1))),
        case("orders", flow(610, swap(5, 6))),
        case("orders", flow(610, swap(2, 3))),
    ),
    "ORDER-016": (
        case("orders", flow(504, swap(0, 1))),
        case("orders", flow(704, swap(1, 2))),
        case("orders", flow(805, swap(2, 3))),
    ),
    "ORDER-019": (
        case("orders", flow(1009, swap(3, 4))),
        case("orders", flow(1009, swap(2, 3))),
        case("orders", flow(1009, swap(0, 1))),
    ),
    "ORDER-020": (
        case("retry", rows(2, since=("lane.finish", 1), created_at=later(1))),
        case("retry", rows(1, since=("lane.claim", 1), sequence=5)),
        case("retry", rows(2, since=("lane.finish", 1), ordinal=9)),
    ),
    "ORDER-025": (
        case("retry", rows(2, since=("lane.finish", 1), ordinal=9)),
        case("upgrade", rows(2, since=("lane.finish", 2), ordinal=9)),
        case("retry", rows(2, since=("lane.finish", 1), created_at=later(1))),
    ),
    "ORDER-021": (
        case("orders", flow(1206, swap(1, 2))),
        case("orders", flow(1206, swap(3, 4))),
        case("orders", flow(105, swap(0, 1))),
    ),
    "ORDER-022": (
        case("orders", flow(805, swap(2, 3))),
        case("permuted", flow(705, swap(2, 3))),
        case("orders", flow(105, swap(0, 1))),
    ),
    "ORDER-023": (
        case("outside", flow(2, SWAPPED)),
        case("outside", flow(12, SWAPPED)),
        case("outside", rows(4, error="x")),
    ),
    "ORDER-024": (
        case("orders", flow(105, head_first)),
        case("orders", flow(504, swap(2, 3))),
        case("orders", flow(105, swap(0, 1))),
    ),
    "ORDER-026": (
        case("paths", rows(2, ordinal=0)),
        case("paths", rows(3, ordinal=1)),
        case("paths", rows(3, ordinal=2)),
    ),
    "ORDER-027": (
        case("paths", rows(4, ordinal=1)),
        case("paths", rows(5, ordinal=1)),
        case("paths", rows(4, ordinal=3)),
    ),
    "SCOPE-010": (
        case("keys", rows(11, since=("lane.load_rows", 3), ordinal=77)),
        case("keys", rows(1, since=("lane.load_rows", 2), created_at=later(1))),
        case("keys", rows(1, since=("lane.claim", 1), error="x")),
    ),
}


def test_every_checker_has_its_cases() -> None:
    assert set(CASES) == {c.requirement for c in FAMILY.checkers}


@pytest.mark.parametrize("requirement", CASES)
def test_two_edits_break_it_and_a_near_miss_does_not(requirement: str) -> None:
    *mutants, near = CASES[requirement]
    for scenario, edits in mutants:
        assert requirement in named(edited(scenario, *edits))
    scenario, edits = near
    assert requirement not in named(edited(scenario, *edits))
