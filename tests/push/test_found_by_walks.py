"""False alarms that random walks found on the reference: each schedule stays here, and is judged as it ought to be."""

from __future__ import annotations

from conformance.families.connector_push import CONNECTOR_PUSH
from conformance.families.connector_push.commands import delete, save, work, write
from conformance.families.connector_push.config import ASYNC
from conformance.families.connector_push.edits import FROZEN, contract_declared, edited
from conformance.outcome import run_schedule, weigh
from conformance.search.execute import Execution
from conformance.search.program import Op, Program, release, script, start, time
from conformance.search.walk import WalkResult, walk
from tests.push.runs import CARRIER, plan


def named(*ops: Op) -> tuple[str, ...]:
    """What the schedule violates on the reference."""
    outcome = run_schedule(CONNECTOR_PUSH, Program("walk", "connector-push", ASYNC, ops, {}), CARRIER, {})
    assert outcome.problem is None
    return outcome.named


def test_a_record_deleted_while_its_request_lies_unread_had_passed_validation() -> None:
    begun = (start("s1"), write("s1", "r1", Name="name"), save("s1", "r1"), script("hold-at-accept"))
    deleted = (start("w2"), work("w2"), start("s2"), delete("s2", "r1"))
    assert named(*begun, *deleted) == ()
    assert named(*begun, *deleted, release("w2")) == ()


def test_a_contract_withdrawn_behind_the_reservation_is_the_one_that_was_frozen() -> None:
    declared = edited(ASYNC, FROZEN["key-header"])
    begun = (start("w1", declared), start("w2"), start("s1"), write("s1", "r1", Name="name"))
    lost = (script("apply-then-drop"), save("s1", "r1"), start("w1", ASYNC), work("w1"))
    assert named(*begun, *lost, work("w2")) == ()


def test_requests_of_which_nothing_was_read_may_be_under_any_contract_of_the_time() -> None:
    declared = edited(ASYNC, contract_declared)
    begun = (start("w1", declared), start("s1"), write("s1", "r1", Name="name"), save("s1", "r1"), start("w2"))
    assert named(*begun, script("refuse-connection"), work("w2")) == ()
    assert named(*begun, script("drop-before-read"), work("w2"), script("refuse-connection"), work("w2")) == ()


def test_a_process_may_hold_the_contract_that_it_was_started_with() -> None:
    begun = (start("w1", edited(ASYNC, FROZEN["key-header"])), start("s1"), write("s1", "r1", Name="name"))
    lost = (script("hold-at-accept"), start("w2", ASYNC), save("s1", "r1"), work("w2"))
    assert named(*begun, *lost, start("e1"), time(35_000), work("e1")) == ()


def test_a_request_that_found_no_listener_may_be_repeated_under_the_contract() -> None:
    begun = (start("w1", edited(ASYNC, FROZEN["key-header"])), start("s1"), write("s1", "r1", Name="name"))
    refused = (script("refuse-connection"), save("s1", "r1"), work("w1"), start("e1"))
    assert named(*begun, *refused, work("e1")) == ()


def test_a_walk_judges_what_its_replay_judges_under_every_configuration_that_it_brings() -> None:
    found: list[WalkResult] = []
    walk(CONNECTOR_PUSH, CARRIER, plan(), 3, 40, {}, found.append)
    runs = (Execution(each.program, CARRIER, CONNECTOR_PUSH.contract, lenient=True).run() for each in found)
    again = [weigh(CONNECTOR_PUSH, history, {}) for history in runs]
    assert [(each.outcome.named, each.outcome.met) for each in found] == [(o.named, o.met) for o in again]
    assert sum(len(each.program.configs) > 1 for each in found) > 5
