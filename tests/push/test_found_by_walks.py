"""False alarms that random walks found on the reference: each schedule stays here, and is judged as it ought to be."""

from __future__ import annotations

from conformance.families.connector_push import CONNECTOR_PUSH
from conformance.families.connector_push.commands import delete, save, work, write
from conformance.families.connector_push.config import ASYNC
from conformance.outcome import run_schedule
from conformance.search.program import Op, Program, release, script, start
from tests.push.runs import CARRIER


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
