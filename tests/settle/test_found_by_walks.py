"""False alarms that random walks found on settle lanes: each schedule stays here, judged as it ought to be."""

from __future__ import annotations

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.settle_lanes import SETTLE_LANES
from conformance.families.settle_lanes.commands import claim, deliver, execute, finish, load, row
from conformance.families.settle_lanes.config import CONFIG, PAST_LEASE_MS, PAST_WINDOW_MS
from conformance.outcome import run_schedule
from conformance.search.program import Op, Program, recover, start, time
from reference_impl.driver import Reference

CARRIER = InProcessCarrier("reference", Reference)


def named(*ops: Op) -> tuple[str, ...]:
    """What the schedule violates on the reference."""
    outcome = run_schedule(SETTLE_LANES, Program("walk", "settle-lanes", CONFIG, ops, {}), CARRIER, {})
    assert outcome.problem is None
    return outcome.named


def arm(proc: str, action: str) -> Op:
    return Op("arm", {"proc": proc, "point": "claim.take:committed", "nth": 1, "action": action})


def test_a_row_is_lost_to_its_worker_once_another_claim_stands_though_nobody_was_told_of_that() -> None:
    over = (start("s1"), deliver("s1", "d1", "a", "b"), time(PAST_WINDOW_MS), start("w2"), claim("w2"))
    taken = (time(PAST_LEASE_MS), start("w1"), arm("w1", "pause"), claim("w1"))
    assert named(*over, *taken, finish("w2")) == ()


def test_a_cycle_may_pass_through_a_row_that_a_claim_has_collapsed_whose_worker_died() -> None:
    collapsed = (start("s1"), load("s1", row(4, 4, 6)), load("s1", row(7, 0, 5)), start("w2"), arm("w2", "crash"))
    crashed = (claim("w2"), load("s1", row(10, 10, 4)), time(PAST_LEASE_MS), start("e1"), recover("e1"))
    assert named(*collapsed, *crashed, *execute("e1"), *execute("e1")) == ()
