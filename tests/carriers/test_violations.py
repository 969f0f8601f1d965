"""Drivers that break the protocol are named, with the line, the reason and a guess at the mistake."""

from __future__ import annotations

import os

import pytest

from conformance.carriers.base import DriverProblem
from conformance.carriers.subprocess import ForkedCarrier, ProcessCarrier
from tests.carriers.support import command, driven, opened

#: driver -> (what is said of the line, the guess)
REFUSED = {
    "banner": ("not JSON", "a print or a banner on stdout?"),
    "prints_dict": ("not JSON", "use json.dumps"),
    "pretty_json": ("not JSON", "one object per line"),
    "answers_list": ("JSON, but not an object", "a print or a banner on stdout?"),
    "wrong_id": ("answers the id 101, but awaited is hello (id 1)", "answered twice?"),
    "text_id": ("answers the id '1'", "must come back as a number"),
    "bad_utf8": ("not UTF-8 at byte 40", ""),
    "long_line": ("longer than 4194304 bytes", "a file in the state directory"),
    "unknown_event": ("the event 'pausing' is none of paused, waiting, point, fired", ""),
    "unknown_member": ("has the unknown member 'status'", "belongs into result"),
    "own_outcome": ("the outcome 'applied' is none of done, failed, unsupported", "belongs into result"),
    "big_number": ("beyond 2^53", "number rows and times so that they fit"),
    "says_nan": ("NaN is no JSON value", ""),
    "same_member_twice": ("an object has the member 'outcome' twice", ""),
}


@pytest.mark.parametrize("driver", REFUSED)
def test_a_bad_line_is_refused_with_reason_and_guess(driver: str) -> None:
    reason, guess = REFUSED[driver]
    with driven(driver) as (stage, link), pytest.raises(DriverProblem) as problem:
        stage.ask(link, "hello")
    said = str(problem.value)
    assert reason in said
    assert guess in said
    assert said.startswith(f"process 'w1' of driver {driver!r} wrote a line to stdout that was refused")
    assert len(said) < 1000


def test_a_second_answer_is_refused() -> None:
    with driven("answers_twice") as (stage, link), pytest.raises(DriverProblem, match=r"awaited is nothing.*twice\?"):
        [stage.ask(link, "snapshot") for _ in range(2)]


def test_a_line_without_newline_at_the_end_is_named() -> None:
    with driven("no_newline") as (stage, link), pytest.raises(DriverProblem, match="its last line has no newline"):
        stage.ask(link, "hello")


@pytest.mark.parametrize(
    ("driver", "guess"),
    [("unflushed", "flush after each line"), ("half_line", r"without its newline is waiting: '{\"id\":1,\"outco'")],
)
def test_silence_ends_at_the_deadline_and_names_the_request(driver: str, guess: str) -> None:
    with driven(driver, deadline_ms=300) as (stage, link), pytest.raises(DriverProblem, match=guess) as problem:
        stage.ask(link, "hello")
    assert "gave no answer within 300 ms; awaited: hello (id 1)" in str(problem.value)


def test_a_driver_that_ends_at_once_is_shown_with_status_and_last_words() -> None:
    with driven("exits_at_once") as (stage, link), pytest.raises(DriverProblem) as problem:
        stage.ask(link, "hello")
    assert "ended (exit status 1); awaited: hello (id 1)" in str(problem.value)
    assert "no database configured" in str(problem.value)


def test_a_driver_that_ends_is_noticed_at_once_though_a_child_holds_its_stdout() -> None:
    with driven("leaves_child", deadline_ms=600_000) as (stage, link), pytest.raises(DriverProblem) as problem:
        stage.ask(link, "hello")
    assert "ended (exit status 0); awaited: hello (id 1); it left a child behind" in str(problem.value)


def test_a_driver_that_reads_nothing_is_named() -> None:
    with driven("deaf", deadline_ms=300) as (stage, link), pytest.raises(DriverProblem, match="reads no input"):
        stage.send(link, "hello", pad="x" * 1_000_000)


@pytest.mark.parametrize("carrier", [ProcessCarrier, ForkedCarrier])
def test_a_command_that_does_not_exist_is_one_sentence(carrier: type[ProcessCarrier]) -> None:
    made = carrier("lost", ["/no/such/driver", "--fast"])
    before = len(os.listdir("/dev/fd"))
    with opened(made) as stage, pytest.raises(DriverProblem) as problem:
        stage.start("w1")
    made.shutdown()
    said = str(problem.value)
    assert said.startswith('the driver "/no/such/driver --fast')
    assert said.endswith("there is no such file; check the command, or give its full path")
    assert len(os.listdir("/dev/fd")) == before


def test_a_warm_parent_that_ends_is_shown_with_its_last_words() -> None:
    carrier = ForkedCarrier("broken", command("exits_at_once"))
    with opened(carrier) as stage, pytest.raises(DriverProblem, match="no database configured"):
        stage.start("w1")
    carrier.shutdown()


def test_much_on_stderr_never_blocks_and_never_means_failure() -> None:
    with driven("echo") as (stage, link):
        assert stage.ask(link, "snapshot", noise=300_000)["outcome"] == "done"


def test_large_lines_go_both_ways() -> None:
    with driven("echo") as (stage, link):
        assert len(stage.ask(link, "snapshot", pad="x" * 3_000_000)["result"]["pad"]) == 3_000_000
