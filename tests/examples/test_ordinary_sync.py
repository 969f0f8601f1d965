"""What the suite says of the ordinary sync job: it doubles records, and each time the right requirement is named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.carriers.base import Carrier
from conformance.carriers.subprocess import ProcessCarrier
from conformance.drivers import identify
from conformance.families.connector_push import CONNECTOR_PUSH
from conformance.families.connector_push.commands import save, work, write
from conformance.families.connector_push.config import ASYNC, CONFIG, FAMILY
from conformance.outcome import Outcome, run_schedule
from conformance.search.program import Op, Program, kill, release, script, start

DRIVER = [sys.executable, str(Path(__file__).parents[2] / "examples" / "ordinary_sync" / "driver.py")]
WRITE = (start("w1"), write("w1", "r1"))


@pytest.fixture(scope="module")
def carrier() -> Iterator[Carrier]:
    made = ProcessCarrier("ordinary-sync", DRIVER)
    made.rung = identify(made).rung
    yield made
    made.shutdown()


def outcome(carrier: Carrier, *ops: Op, config: object = CONFIG) -> Outcome:
    found = run_schedule(CONNECTOR_PUSH, Program("ordinary", FAMILY, config, ops, {}), carrier, {})  # type: ignore
    assert found.problem is None
    return found


def test_when_all_goes_well_nothing_is_wrong(carrier: Carrier) -> None:
    assert outcome(carrier, *WRITE, save("w1", "r1"), save("w1", "r1")).named == ()


def test_a_lost_answer_is_followed_by_a_second_post(carrier: Carrier) -> None:
    found = outcome(carrier, script("apply-then-drop"), *WRITE, save("w1", "r1"), save("w1", "r1"))
    assert found.named == ("POST-032",)


def test_a_crash_is_followed_by_a_second_post(carrier: Carrier) -> None:
    crash = (script("hold"), *WRITE, save("w1", "r1"), kill("w1"))
    assert outcome(carrier, *crash, start("w2"), save("w2", "r1")).named == ("POST-032",)


def test_two_workers_post_one_row_twice(carrier: Carrier) -> None:
    both = (script("hold"), *WRITE, work("w1"), start("w2"), work("w2"), release("w1"))
    assert outcome(carrier, *both, config=ASYNC).named == ("ATT-004",)


def test_a_refused_row_is_posted_at_every_save(carrier: Carrier) -> None:
    found = outcome(carrier, script("definite-refusal"), *WRITE, save("w1", "r1"), save("w1", "r1"))
    assert found.named == ("POST-023",)
