"""False alarms that random walks found on the reference host: each schedule stays here, judged as it ought to be."""

from __future__ import annotations

from conformance.carriers.inprocess import InProcessCarrier
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.mutation_host.scenarios import CONFIG, housekeep, invoke
from conformance.outcome import run_schedule
from conformance.search.program import SETTLE, Op, Program, recover, script, start, time
from reference_impl.driver import Reference

CARRIER = InProcessCarrier("reference", Reference)
PAST_RETENTION_MS = 86_460_000


def named(*ops: Op) -> tuple[str, ...]:
    """What the schedule violates on the reference."""
    outcome = run_schedule(MUTATION_HOST, Program("walk", "mutation-host", CONFIG, ops, {}), CARRIER, {})
    assert outcome.problem is None
    return outcome.named


def test_a_key_that_expired_by_a_trusted_clock_is_free_though_the_clock_lost_its_trust_since() -> None:
    expired = (start("w1"), invoke("w1", "q1", "m1", "k1"), time(PAST_RETENTION_MS), start("g1"), housekeep("g1"))
    assert named(*expired, time(1_000, trusted=False), invoke("w1", "q4", "m1", "k1")) == ()


def test_who_waited_while_the_outcome_came_without_trusted_time_hears_it() -> None:
    waiting = (start("w2"), script("late"), invoke("w2", "q1", "m2", "k2"), start("w1"), invoke("w1", "q3", "m2", "k2"))
    assert named(*waiting, time(1_000, trusted=False), SETTLE) == ()


def test_who_comes_behind_a_new_attempt_repeats_that_one_and_not_what_was_aborted_before_the_retention() -> None:
    crash = Op("arm", {"proc": "w1", "point": "invoke.open_gate:commit", "nth": 1, "action": "crash"})
    aborted = (start("w1"), crash, start("r1"), invoke("w1", "q1", "m2", "k2"), recover("r1"))
    anew = (time(PAST_RETENTION_MS), start("w1"), invoke("w1", "q2", "m2", "k2"))
    assert named(*aborted, *anew, start("w2"), invoke("w2", "q3", "m2", "k2")) == ()


def test_a_settlement_is_dated_when_its_time_was_read_though_it_is_written_a_day_later() -> None:
    stop = Op("arm", {"proc": "w1", "point": "invoke.settle:begin", "nth": 1, "action": "pause"})
    late = (start("w1"), stop, invoke("w1", "q1", "m1", "k1"), time(PAST_RETENTION_MS), Op("resume", {"proc": "w1"}))
    assert named(*late, start("w2"), invoke("w2", "q2", "m1", "k1")) == ()


def test_an_original_that_timed_out_ends_a_wait_at_once_though_its_caller_was_not_told_yet() -> None:
    stop = Op("arm", {"proc": "w2", "point": "invoke.settle:committed", "nth": 1, "action": "pause"})
    late = (start("w2"), stop, script("hold"), invoke("w2", "q2", "m2", "k2"), time(21_000), start("w1"))
    assert named(*late, invoke("w1", "q4", "m2", "k2")) == ()


def test_a_call_that_went_on_from_its_prepare_may_meet_its_deadline_behind_the_gate() -> None:
    stop = Op("arm", {"proc": "w1", "point": "invoke.prepare:committed", "nth": 1, "action": "pause"})
    sent = (start("w1"), stop, script("hold"), invoke("w1", "q1", "m1", "k1"), Op("resume", {"proc": "w1"}))
    assert named(*sent, time(21_000)) == ()
