"""When a process will say no more by itself, as far as its messages tell."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.carriers.conversation import BadMessage, Conversation


def asked(*requests: tuple[int, str]) -> Conversation:
    talk = Conversation()
    for number, cmd in requests:
        talk.sent({"id": number, "cmd": cmd, "args": {}}, 0)
    return talk


def rests(talk: Conversation, *, answers: int = 0, under_way: bool = False, holding: bool = False) -> bool:
    return talk.at_rest(answers, under_way, holding)


def done(number: int) -> dict[str, Any]:
    return {"id": number, "outcome": "done", "result": {}}


PAUSED = {"event": "paused", "pause": 1, "point": "a:begin", "actor": "w1"}


def test_nothing_asked_is_rest_and_a_request_is_not() -> None:
    assert rests(asked())
    assert not rests(asked((1, "hello")))


def test_a_command_rests_when_it_is_answered_paused_waiting_or_held() -> None:
    for message in (done(1), PAUSED, {"event": "waiting", "id": 1, "on": "lock"}):
        talk = asked((1, "command"))
        assert not rests(talk)
        talk.heard(message)
        assert rests(talk)
    assert rests(asked((1, "recover")), holding=True)


def test_a_request_beside_a_paused_command_is_waited_for() -> None:
    talk = asked((1, "command"))
    talk.heard(PAUSED)
    talk.sent({"id": 2, "cmd": "arm"}, 0)
    assert not rests(talk)
    talk.heard(done(2))
    assert rests(talk)


def test_resume_sets_a_paused_command_going() -> None:
    talk = asked((1, "command"))
    talk.heard(PAUSED)
    talk.sent({"id": 2, "cmd": "resume"}, 0)
    talk.heard(done(2))
    assert not rests(talk)


def test_set_time_answers_only_when_the_command_is_done_or_blocked() -> None:
    talk = asked((1, "command"), (2, "set_time"))
    talk.heard(done(2))
    assert rests(talk)


def test_an_answer_of_the_remote_sets_the_process_going() -> None:
    talk = asked((1, "command"), (2, "set_time"))
    talk.heard(done(2))
    assert rests(talk, holding=True)
    assert not rests(talk, answers=1)
    talk.heard(done(1))
    assert rests(talk, answers=1)


def test_set_time_is_no_rest_when_the_remote_answered_in_between() -> None:
    talk = asked((1, "command"), (2, "set_time"))
    assert not rests(talk, answers=1)
    talk.heard(done(2))
    assert not rests(talk, answers=1)
    talk.heard({"event": "waiting", "id": 1, "on": "time"})
    assert rests(talk, answers=1)


def test_a_connection_that_is_not_decided_yet_is_no_rest() -> None:
    talk = asked((1, "command"))
    talk.heard(done(1))
    assert not rests(talk, under_way=True)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"outcome": "done"}, "neither id nor event"),
        ({"id": 1}, "the outcome None is none of"),
        ({"id": True, "outcome": "done", "result": {}}, "answers the id True"),
        ({"id": 1, "outcome": "done"}, "lacks the member 'result'"),
        ({"id": 1, "outcome": "done", "result": []}, "result must be an object"),
        ({"id": 1, "outcome": "unsupported", "feature": "x"}, "lacks the member 'reason'"),
        ({"event": ["paused"]}, "is none of paused"),
        ({"event": "paused", "pause": "1", "point": "p", "actor": "a"}, "pause must be a whole number"),
        ({"event": "waiting", "id": 9, "on": "lock"}, "9 waits, which is no command under way"),
        ({**PAUSED, "extra": 1}, "the unknown member 'extra'"),
    ],
)
def test_what_does_not_fit_is_refused(message: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadMessage) as bad:
        asked((1, "command")).heard(message)
    assert reason in bad.value.reason
    assert bad.value.guess
