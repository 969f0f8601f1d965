"""Every check of the doctor is met by a driver that is sound but for one lie, and says what to mend."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.carriers.base import Message
from conformance.doctor.examine import CHECKS, examine
from conformance.doctor.report import Report
from conformance.drivers import carrier_maker
from conformance.families import FAMILIES
from tests.doctor.liars import Lie, LyingCarrier
from tests.machine.tiny import TINY, carrier

Answer = Callable[[Message], None]
FAMILY = "mutation-host"


def examined(lie: Lie | None = None) -> Report:
    """The reference of one family, with a lie."""
    sound = carrier_maker("reference")()
    return examine("reference", LyingCarrier(sound, lie or Lie()), {FAMILY: FAMILIES[FAMILY]}, patience_ms=200)


class Claims(Lie):
    """Says something else in hello."""

    def __init__(self, **members: Any) -> None:
        self.members = members

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if "families" in message.get("result", {}):
            return [{**message, "result": {**message["result"], **self.members}}]
        return [message]


class Fickle(Lie):
    """Is another version each time it is asked."""

    asked = 0

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if "families" in message.get("result", {}):
            self.asked += 1
            return [{**message, "result": {**message["result"], "version": str(self.asked)}}]
        return [message]


class Swallows(Lie):
    """Answers a verb with nothing and does not do it."""

    def __init__(self, verb: str, since: int = 0) -> None:
        self.verb, self.since = verb, since

    def ask(self, message: Message, answer: Answer) -> Message | None:
        self.since -= message["cmd"] == self.verb
        if message["cmd"] == self.verb and self.since < 0:
            answer({"id": message["id"], "outcome": "done", "result": {}})
            return None
        return message


class Refuses(Lie):
    """Answers a verb with something else than done."""

    def __init__(self, verb: str, outcome: str = "unsupported") -> None:
        self.verb, self.outcome = verb, outcome

    def ask(self, message: Message, answer: Answer) -> Message | None:
        if message["cmd"] == self.verb:
            more = {"detail": "no"} if self.outcome == "failed" else {"feature": self.verb, "reason": "no"}
            answer({"id": message["id"], "outcome": self.outcome, **more})
            return None
        return message


class DoesAnything(Lie):
    """Says done to a command that it does not have."""

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if message.get("outcome") == "unsupported":
            return [{"id": message["id"], "outcome": "done", "result": {}}]
        return [message]


class Strict(Lie):
    """Refuses what it does not know in a request."""

    def ask(self, message: Message, answer: Answer) -> Message | None:
        if "later_version" in message:
            answer({"id": message["id"], "outcome": "failed", "detail": "unknown member"})
            return None
        return message


class OneStore(Lie):
    """Keeps its state where it was told to the first time, for ever or only within a process."""

    def __init__(self, *, for_ever: bool) -> None:
        self.for_ever = for_ever
        self.known: dict[str, Any] = {}

    def restarted(self, _proc: str) -> None:
        if not self.for_ever:
            self.known.clear()

    def ask(self, message: Message, answer: Answer) -> Message | None:
        if message["cmd"] == "command":
            request = message["args"]["args"].get("request", {})
            key = str(request.get("idempotency_key"))
            if key in self.known:
                said = {**self.known[key]["mutation"], "replayed": True}
                result = {**self.known[key], "request_id": request["request_id"], "mutation": said}
                answer({"id": message["id"], "outcome": "done", "result": result})
                return None
        return message

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if message.get("result", {}).get("status") == "success":
            self.known["k1"] = message["result"]
        return [message]


class InMemory(Lie):
    """Every new process gets a key of its own: what others did is unknown to it."""

    procs = 0

    def restarted(self, _proc: str) -> None:
        self.procs += 1

    def ask(self, message: Message, _answer: Answer) -> Message | None:
        request = message["args"].get("args", {}).get("request")
        if not request or "idempotency_key" not in request:
            return message
        mine = {**request, "idempotency_key": f"{request['idempotency_key']}-{message['actor']}"}
        return {**message, "args": {**message["args"], "args": {**message["args"]["args"], "request": mine}}}


class Rows(Lie):
    """Changes the rows of every snapshot."""

    def __init__(self, change: Callable[[dict[str, Any], int], dict[str, Any]]) -> None:
        self.change, self.count = change, 0

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if "kinds" in message.get("result", {}):
            self.count += 1
            return [{**message, "result": self.change(dict(message["result"]), self.count)}]
        return [message]


def _emptied(result: dict[str, Any], _: int) -> dict[str, Any]:
    return {**result, "kinds": {kind: [] for kind in result["kinds"]}}


def _turned(result: dict[str, Any], count: int) -> dict[str, Any]:
    return {**result, "kinds": {k: rows[::-1] if count % 2 else rows for k, rows in result["kinds"].items()}}


def _stamped(result: dict[str, Any], _: int) -> dict[str, Any]:
    now = int(time.time() * 1000)
    rows = [{**row, "settled_at": now if row["settled_at"] else None} for row in result["kinds"]["attempts"]]
    return {**result, "kinds": {**result["kinds"], "attempts": rows}}


class Forgets(Lie):
    """An observer that was started late shows other rows than the one before it."""

    observers = 0

    def restarted(self, proc: str) -> None:
        self.observers += proc == "observer"

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if "kinds" in message.get("result", {}) and self.observers > 1:
            return [{**message, "result": _emptied(message["result"], 0)}]
        return [message]


class Events(Lie):
    """Changes the events of one kind."""

    def __init__(self, kind: str, change: Callable[[Message], list[Message]]) -> None:
        self.kind, self.change = kind, change

    def say(self, message: Message, _send: Answer) -> list[Message]:
        return self.change(message) if message.get("event") == self.kind else [message]


class Serial(Lie):
    """Its steps carry serial numbers over all that it does."""

    count = 0

    def say(self, message: Message, _send: Answer) -> list[Message]:
        if message.get("event") in ("point", "paused", "fired"):
            self.count += message["event"] == "point"
            step, _, call = message["point"].partition(":")
            return [{**message, "point": f"{step}{self.count}:{call}"}]
        return [message]


class NeverStands(Lie):
    """Says that it stands still, and goes on."""

    own = 10_000

    def ask(self, message: Message, answer: Answer) -> Message | None:
        if message["cmd"] == "resume":
            answer({"id": message["id"], "outcome": "done", "result": {}})
            return None
        return message

    def say(self, message: Message, send: Answer) -> list[Message]:
        if message.get("event") == "paused":
            self.own += 1
            send({"v": 1, "id": self.own, "cmd": "resume", "actor": "x", "args": {"pause": message["pause"]}})
        return [] if message.get("id", 0) > 10_000 else [message]


class Arms(Lie):
    """Arms something else than what was asked for."""

    def __init__(self, **members: Any) -> None:
        self.members = members

    def ask(self, message: Message, _answer: Answer) -> Message | None:
        if message["cmd"] == "arm" and message["args"]["action"] == "lose-ack":
            return {**message, "args": {**message["args"], **self.members}}
        return message


class NotArmed(Lie):
    """Promises an action and forgets it."""

    def __init__(self, action: str) -> None:
        self.action = action

    def ask(self, message: Message, answer: Answer) -> Message | None:
        if message["cmd"] == "arm" and message["args"]["action"] == self.action and not message["args"]["sticky"]:
            answer({"id": message["id"], "outcome": "done", "result": {}})
            return None
        return message


class FailsItself(Lie):
    """An injected failure is taken for one of the driver."""

    fired = False

    def say(self, message: Message, _send: Answer) -> list[Message]:
        self.fired = self.fired or message.get("action") == "fail"
        if self.fired and "status" in message.get("result", {}):
            self.fired = False
            return [{"id": message["id"], "outcome": "failed", "detail": "StoreFailed"}]
        return [message]


def _without_commits(message: Message) -> list[Message]:
    return [] if message["point"].endswith((":commit", ":remote")) else [message]


def _said_late(message: Message) -> list[Message]:
    if message["point"].endswith(":remote"):
        return []
    return [{**message, "point": message["point"].replace(":answered", ":remote")}]


def _elsewhere(message: Message) -> list[Message]:
    return [{**message, "point": "elsewhere:read"}]


#: lie -> (the check that finds it, what its sentence says)
LIES: dict[str, tuple[Callable[[], Lie], str, str]] = {
    "fickle": (Fickle, "hello", "differently by a second process"),
    "reading": (lambda: Claims(readings={"no-such": "x"}), "hello", "which the specification does not know or rejects"),
    "no family": (lambda: Claims(families=["lanes"]), "hello", "hello offers no family that this suite knows"),
    "points below L2": (lambda: Claims(rung="L1", points=["a:read"]), "hello", "which belong to rung L2"),
    "bye": (lambda: Refuses("bye"), "hello", "answered bye with unsupported"),
    "bye fails": (lambda: Refuses("bye", "failed"), "hello", "answered bye with failed"),
    "recover": (lambda: Refuses("recover"), "effect", "'recover' was answered unsupported"),
    "command fails": (lambda: Refuses("command", "failed"), "effect", "could not do 'host.invoke': no"),
    "no command": (lambda: Refuses("command"), "effect", "nothing reached the remote"),
    "does anything": (DoesAnything, "unknown-command", "does not exist was answered done"),
    "strict": (Strict, "later-members", "reset of process 'w1' was answered failed: unknown member"),
    "one store": (lambda: OneStore(for_ever=True), "isolation", "it sees something of the first"),
    "no second reset": (lambda: OneStore(for_ever=False), "reset", "`reset` replaces everything"),
    "in memory": (InMemory, "survival", "state is kept in memory"),
    "no snapshot": (lambda: Refuses("snapshot"), "snapshot", "'snapshot' was answered unsupported"),
    "derived": (lambda: Rows(lambda r, _: {**r, "source": "derived"}), "snapshot", "say source `store`"),
    "no rows": (lambda: Rows(_emptied), "snapshot", "no row at all"),
    "turned rows": (lambda: Rows(_turned), "snapshot", "two snapshots in a row differ in"),
    "forgets": (Forgets, "rows-survive", "are not what they were"),
    "no set_time": (lambda: Refuses("set_time"), "snapshot", "was answered unsupported: no"),
    "old time": (lambda: Swallows("set_time"), "clock", "a time from before set_time"),
    "own time": (lambda: Rows(_stamped), "clock", "the time of the machine"),
    "real clock": (lambda: Claims(clock="real"), "clock", "hello says clock `real`"),
    "silent points": (lambda: Events("point", lambda _: []), "points", "no port call was announced"),
    "serial points": (Serial, "points", "other port calls the second time"),
    "no step": (lambda: Events("point", lambda m: [{**m, "point": "read"}]), "points", "no `<step>:<call>`"),
    "hidden commit": (lambda: Events("point", _without_commits), "points", "without a `commit` in between"),
    "hidden remote": (lambda: Events("point", _without_commits), "points", "but only 0 `remote` came before"),
    "said after": (lambda: Events("point", _said_late), "points", "1 connection was made"),
    "elsewhere": (lambda: Events("paused", _elsewhere), "points", "said that it stands at"),
    "false points": (lambda: Claims(points=["nowhere:read"]), "claimed-points", "none of the points that hello offers"),
    "no points": (lambda: Claims(points=["nowhere"]), "claimed-points", "no `<step>:<call>`"),
    "never stands": (NeverStands, "pauses", "went on all the same"),
    "no hang": (lambda: NotArmed("hang"), "pauses", "hang was armed at"),
    "no fail": (lambda: NotArmed("fail"), "failures", "and never took effect"),
    "fails itself": (FailsItself, "failures", "hand the error to the implementation"),
    "always lost": (lambda: Arms(world="rolled_back"), "commits", "in this world the commit has happened"),
    "never lost": (lambda: Arms(world="committed"), "commits", "the store has done nothing in this world"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found_where_it_belongs(name: str) -> None:
    make, check, sentence = LIES[name]
    report = examined(make())
    said = {c.id: c.mend for c in report.checks if c.mend}
    assert any(sentence in s for s in said.get(check, ())), said
    assert report.exit == 1
    assert not report.fit


def test_every_check_is_met_by_a_lie() -> None:
    beyond = {"commands", "recovery", "kill", "second-actor", "listening"}
    assert {c.id for c in CHECKS} - beyond <= {check for _, check, _ in LIES.values()}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reference_is_fit(family: str) -> None:
    report = examine("reference", carrier_maker("reference")(), {family: FAMILIES[family]})
    assert report.fit, report.to_json()
    assert (report.reached, report.exit, report.lift) == ("L2", 0, ())
    assert {c.id for c in report.checks if c.family == family} == {c.id for c in CHECKS}
    assert any("remote" in c.title for c in report.checks) == FAMILIES[family].walk.remote


def test_another_family_needs_nothing_new() -> None:
    report = examine("tiny", carrier(), {"tiny": TINY})
    assert [c.mend for c in report.checks if c.mend] == []
    assert report.reached == "L2"


def test_what_is_above_the_rung_is_not_asked_and_what_would_lift_it_is_said() -> None:
    report = examined(Claims(rung="L1"))
    assert (report.reached, report.exit) == ("L1", 0)
    assert {c.rung for c in report.checks} == {"L0", "L1"}
    assert report.lift[0].startswith("to reach L2: announce every port call")


def test_a_rung_that_is_missed_leaves_the_one_below() -> None:
    report = examined(NotArmed("hang"))
    assert (report.reached, report.exit) == ("L1", 1)
    assert report.lift == ("it reaches L1 and declares L2: mend what is said above",)
