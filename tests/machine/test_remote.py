"""The remote's mind: for each behaviour what is read, what takes effect, what is answered and what is logged."""

from __future__ import annotations

import pytest

from conformance.families.mutation_host.contract import EffectContract
from conformance.history import Recorder
from conformance.remote.remote import Conn, Drop, Remote, Reply
from conformance.remote.script import BEHAVIOURS, Behaviour

BODY = b'{"input":{},"marker":"m1"}'


class Log:
    """A remote, its events, and the requests that the suite was told of."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self.recorder = Recorder()
        self.connecting: list[str] = []
        self.asked: list[Conn] = []
        self.remote = Remote(self.recorder, EffectContract(), self.connecting.append, self.asked.append)
        self.remote.script(behaviours)

    def ask(self, proc: str = "w1") -> Conn:
        """One connection with its request, unless it is refused."""
        conn = self.remote.connect(proc)
        if conn.outcome is None:
            self.remote.receive(conn, "POST", "/effect/thing", BODY)
        return conn

    def kinds(self) -> list[str]:
        return [e.kind for e in self.recorder.events]

    def effects(self) -> list[str]:
        return [e.data["effect"] for e in self.recorder.events if e.kind == "meaning"]


def outcome(conn: Conn) -> object:
    """What the client sees, in short."""
    if isinstance(conn.outcome, Reply):
        return conn.outcome.status if conn.outcome.complete else "cut"
    if isinstance(conn.outcome, Drop):
        return "reset" if conn.outcome.reset else "closed"
    return conn.outcome


@pytest.mark.parametrize(
    ("kind", "seen", "effect", "events"),
    [
        ("success", 200, ["done"], ["connection", "request", "meaning", "response"]),
        ("definite-refusal", 422, ["none"], ["connection", "request", "meaning", "response"]),
        ("status", 500, ["unknown"], ["connection", "request", "meaning", "response"]),
        ("malformed", 200, ["unknown"], ["connection", "request", "meaning", "response"]),
        ("partial", "cut", ["unknown"], ["connection", "request", "meaning", "response"]),
        ("part-done", 200, ["part"], ["connection", "request", "meaning", "response"]),
        ("hold", None, [], ["connection", "request"]),
        ("late", None, [], ["connection", "request"]),
        ("hold-at-accept", None, [], ["connection", "request"]),
        ("refuse-connection", "reset", [], ["connection", "response"]),
        ("drop-before-read", "closed", [], ["connection", "request", "response"]),
        ("apply-then-drop", "closed", ["done"], ["connection", "request", "meaning", "response"]),
    ],
)
def test_each_behaviour(kind: str, seen: object, effect: list[str], events: list[str]) -> None:
    log = Log(Behaviour(kind))
    assert outcome(log.ask()) == seen
    assert log.effects() == effect
    assert log.kinds() == events
    assert len(log.asked) == int(BEHAVIOURS[kind][0]), "the suite looks at the rows for what was read"


def test_the_table_above_leaves_no_behaviour_out() -> None:
    [mark] = test_each_behaviour.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in mark.args[1]} == set(BEHAVIOURS)


def test_without_a_script_every_answer_is_a_success_with_its_own_id() -> None:
    log = Log()
    first, second = log.ask(), log.ask()
    assert isinstance(first.outcome, Reply)
    assert isinstance(second.outcome, Reply)
    assert first.outcome.body != second.outcome.body


def test_behaviours_are_used_up_in_order_of_arrival() -> None:
    log = Log(Behaviour("status", status=429), Behaviour("definite-refusal", code="no"))
    assert [outcome(log.ask()) for _ in range(3)] == [429, 422, 200]


def test_a_new_script_replaces_what_was_left_of_the_old_one() -> None:
    log = Log(Behaviour("hold"), Behaviour("hold"))
    log.remote.script([Behaviour("status", status=503)])
    assert [outcome(log.ask()) for _ in range(2)] == [503, 200]
    log.remote.script([Behaviour("hold")])
    log.remote.script([])
    assert outcome(log.ask()) == 200


def test_the_process_speaks_before_its_connection_is_logged() -> None:
    log = Log()
    log.ask("w2")
    assert log.connecting == ["w2"]


@pytest.mark.parametrize(
    ("release", "seen", "effect"),
    [("success", 200, "done"), ("definite-refusal", 422, "none"), ("apply-then-drop", "closed", "done")],
)
def test_a_held_request_gets_its_meaning_when_it_is_released(release: str, seen: object, effect: str) -> None:
    log = Log(Behaviour("hold"))
    conn = log.ask()
    woken: list[bool] = []
    conn.wake = lambda: woken.append(True)
    log.remote.release(conn, Behaviour(release))
    assert (outcome(conn), log.effects(), woken) == (seen, [effect], [True])


def test_a_connection_that_was_never_read_can_only_be_reset() -> None:
    log = Log(Behaviour("hold-at-accept"))
    conn = log.ask()
    log.remote.release(conn, Behaviour())
    assert (outcome(conn), log.effects()) == ("reset", [])


def test_a_release_comes_once() -> None:
    log = Log(Behaviour("hold"))
    conn = log.ask()
    log.remote.release(conn, Behaviour("definite-refusal"))
    log.remote.release(conn, Behaviour())
    assert outcome(conn) == 422
    assert log.kinds().count("response") == 1


def test_a_client_that_went_away_is_noted_once_and_not_answered() -> None:
    log = Log(Behaviour("hold"))
    conn = log.ask()
    log.remote.lost(conn)
    log.remote.lost(conn)
    log.remote.release(conn, Behaviour())
    assert outcome(conn) is None
    assert log.kinds() == ["connection", "request", "abandoned"]
    assert log.remote.held() == []


def test_held_connections_by_process() -> None:
    log = Log(Behaviour("hold"), Behaviour("hold"))
    one, two = log.ask("w1"), log.ask("w2")
    assert (log.remote.held(), log.remote.held("w2")) == ([one, two], [two])


@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("GET", "/effect/thing", b"", "is no POST"),
        ("POST", "/elsewhere", BODY, "is no POST"),
        ("POST", "/effect/thing", b"{", "not JSON"),
        ("POST", "/effect/thing", b"[]", "no marker"),
        ("POST", "/effect/thing", b'{"marker":7}', "no marker"),
    ],
)
def test_a_request_that_names_no_effect_is_logged_with_its_problem(
    method: str, path: str, body: bytes, problem: str
) -> None:
    log = Log()
    conn = log.remote.connect("w1")
    log.remote.receive(conn, method, path, body)
    [request] = [e for e in log.recorder.events if e.kind == "request"]
    assert request.data["marker"] is None
    assert problem in request.data["problem"]


def test_a_behaviour_survives_its_json_with_only_the_members_of_its_kind() -> None:
    for kind in BEHAVIOURS:
        made = Behaviour(kind)
        assert Behaviour.from_json(made.to_json()) == made
    assert Behaviour("hold").to_json() == {"kind": "hold"}
    assert Behaviour("status", status=429).to_json() == {"kind": "status", "status": 429}


def test_an_unknown_behaviour_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'explode' is none of"):
        Behaviour("explode")
    with pytest.raises(TypeError):
        Behaviour.from_json({"kind": "hold", "colour": "red"})
