"""`bye`: an orderly process ends by itself, another one is killed, and what was wrong is said."""

from __future__ import annotations

import os
import sys

import pytest

from conformance.carriers.farewell import farewell
from conformance.carriers.subprocess import ForkedCarrier, ProcessCarrier
from conformance.drivers import identify
from tests.carriers.support import command, driven, opened


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("0", ""),
        ("4", "process 'w1' answered bye and ended with exit status 4; exit with 0 after that answer"),
    ],
)
def test_a_process_that_leaves(status: str, sentence: str) -> None:
    with opened(ProcessCarrier("leaves", [*command("leaves"), status])) as stage:
        assert farewell(stage.start("w1"), 1, "w1", 10_000) == sentence


def test_a_process_that_stays_is_killed() -> None:
    with driven("stays") as (_, link):
        pid = link._body.pid  # type: ignore[attr-defined]
        assert not is_gone(pid)
        problem = farewell(link, 1, "w1", 50)
        assert problem == "process 'w1' answered bye and still ran 50 ms later; exit with 0 after that answer"
        assert is_gone(pid)


def test_the_process_of_hello_leaves_too() -> None:
    told: list[str] = []
    carrier = ProcessCarrier("stays", command("stays"))
    try:
        assert identify(carrier, told.append, patience_ms=50).name == "stays"
    finally:
        carrier.shutdown()
    assert told == ["process 'hello' answered bye and still ran 50 ms later; exit with 0 after that answer"]


def test_a_forked_process_leaves_with_status_0() -> None:
    carrier = ForkedCarrier("reference:process", [sys.executable, "-m", "reference_impl"])
    try:
        with opened(carrier) as stage:
            assert farewell(stage.start("w1"), 1, "w1", 10_000) == ""
    finally:
        carrier.shutdown()
