"""What one driver process was asked, what it said, and whether it will say more by itself. Pure: no pipes here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from conformance.carriers.base import Message
from conformance.carriers.results import Asked, BadResult, Results
from conformance.schemas import part
from statemachines.accept import Check
from statemachines.generate import generate

#: event -> member -> its type (DESIGN section 5). A member that is not named here is refused.
EVENTS: Final[dict[str, dict[str, type]]] = {
    "paused": {"pause": int, "point": str, "actor": str},
    "waiting": {"id": int, "on": str},
    "point": {"point": str, "nth": int, "actor": str},
    "fired": {"point": str, "nth": int, "action": str, "actor": str},
}
#: outcome -> member -> its type, besides ``id`` and ``outcome``.
OUTCOMES: Final[dict[str, dict[str, type]]] = {
    "done": {"result": dict},
    "failed": {"detail": str},
    "unsupported": {"feature": str, "reason": str},
}
#: The verbs that may stay open while others are asked: the implementation's own work.
_WORK: Final = frozenset({"command", "recover"})


class BadMessage(Exception):
    """A well-formed line that does not fit the conversation. ``guess`` names the likely mistake."""

    def __init__(self, reason: str, guess: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.guess = guess


class Request(NamedTuple):
    """One request under way: what it asks for, and how much the remote had answered the process when it was sent."""

    id: int
    answers: int
    asked: Asked

    @property
    def label(self) -> str:
        """The request in words."""
        verb, _, name = self.asked
        return f"command {name!r}" if verb == "command" else verb


class Conversation:
    """The state of one process as the suite may know it from the messages alone.

    ``epoch`` grows with every command, so that connections can be ascribed to the one that made them.
    """

    def __init__(self) -> None:
        self._open: dict[int, Request] = {}
        self._work: Request | None = None
        self._paused = False
        self._rested = False
        self._answers = 0
        self._results = Results()
        self.epoch = 0

    @property
    def working(self) -> bool:
        """Whether a command or a recovery is under way."""
        return self._work is not None

    def awaited(self) -> str:
        """What the process owes, in words."""
        return ", ".join(f"{r.label} (id {r.id})" for r in self._open.values()) or "nothing"

    def sent(self, message: Message, answers: int) -> None:
        """A request goes out; ``answers`` counts what the remote has answered the process so far."""
        cmd, number = message["cmd"], message["id"]
        request = self._open[number] = Request(number, answers, self._results.asked(message))
        if cmd in _WORK:
            self._work = request
            self.epoch += 1
            self._paused = self._rested = False
        elif cmd == "resume":
            self._paused = self._rested = False

    def stirred(self) -> None:
        """Something outside changed on which a waiting command may depend: it says how it stands by another line."""
        self._rested = False

    def heard(self, message: Mapping[str, Any]) -> None:
        """A message came in; raises BadMessage when it fits nothing that was asked."""
        if "event" in message:
            self._heard_event(message)
        else:
            self._heard_reply(message)

    def at_rest(self, answers: int, under_way: bool, holding: bool) -> bool:
        """Whether nothing more will come until something outside changes.

        ``answers`` as in :meth:`sent`; ``under_way``: a connection of the process is not decided yet; ``holding``: the
        remote holds a request of the command under way. An answer of the remote may always make the process go on.
        """
        if answers != self._answers:
            self._answers = answers
            self._rested = False
        if under_way or any(request is not self._work for request in self._open.values()):
            return False
        return self._work is None or self._paused or self._rested or holding

    def _heard_event(self, message: Mapping[str, Any]) -> None:
        event = message["event"]
        if not isinstance(event, str) or event not in EVENTS:
            raise BadMessage(f"the event {event!r} is none of {', '.join(EVENTS)}", "a misspelled event?")
        if not quick(event)(message):
            _check(message, {"event": str, **EVENTS[event]}, f"event {event!r}")
            raise _unfit(message, event)
        if event == "paused":
            self._paused = True
        elif event == "waiting":
            if self._work is None or message["id"] != self._work.id:
                raise BadMessage(
                    f"it says that {message['id']} waits, which is no command under way",
                    "a wrong id? `waiting` carries the id of the command",
                )
            self._rested = True

    def _heard_reply(self, message: Mapping[str, Any]) -> None:
        if "id" not in message:
            raise BadMessage("it has neither id nor event", "an answer repeats the id of its request")
        outcome = message.get("outcome")
        if not isinstance(outcome, str) or outcome not in OUTCOMES:
            raise BadMessage(
                f"the outcome {outcome!r} is none of {', '.join(OUTCOMES)}",
                "what the implementation said belongs into result; outcome says only whether the driver did its job",
            )
        request = self._request(message["id"])
        if not quick(outcome)(message):
            _check(message, {"id": int, "outcome": str, **OUTCOMES[outcome]}, f"outcome {outcome!r}")
            raise _unfit(message, outcome)
        if outcome == "done":
            try:
                self._results.check(request.asked, message["result"])
            except BadResult as bad:
                raise BadMessage(bad.reason, bad.guess) from None
        del self._open[request.id]
        if request is self._work:
            self._work = None
            self._paused = self._rested = False
        elif request.asked[0] == "set_time" and self._work is not None and request.answers == self._answers:
            # What became due has run until done or blocked. Had the remote answered meanwhile, the process says how
            # it stands by another line.
            self._rested = True

    def _request(self, number: object) -> Request:
        request = self._open.get(number) if type(number) is int else None
        if request is not None:
            return request
        guess = "was a request answered twice?"
        if isinstance(number, str) and number.isdecimal():
            guess = "the id is a number and must come back as a number, not as text"
        elif number is None:
            guess = "the id of the request was not copied into the answer"
        raise BadMessage(f"it answers the id {number!r}, but awaited is {self.awaited()}", guess)


@cache
def quick(kind: str) -> Check:
    """Whether a message is a valid event or answer of this kind, by the published schema."""
    return generate(part("message", kind))


def _unfit(message: Mapping[str, Any], kind: str) -> BadMessage:
    """Why a message is refused whose members have the right types: a word or a number that may not stand there."""
    # Imported late: nearly always there is nothing to explain.
    from statemachines.schema import explain  # noqa: PLC0415

    sentence, fix = next(explain(part("message", kind), message, kind))
    return BadMessage(sentence, fix)


def _check(message: Mapping[str, Any], shape: Mapping[str, type], what: str) -> None:
    for member, kind in shape.items():
        if member not in message:
            raise BadMessage(f"{what} lacks the member {member!r}", f"it needs {', '.join(shape)}")
        value = message[member]
        if not isinstance(value, kind) or isinstance(value, bool):
            names = {int: "a whole number", str: "text", dict: "an object"}
            raise BadMessage(f"{what}: {member} must be {names[kind]}, not {value!r:.60}", "a wrong type?")
    if extra := sorted(set(message) - set(shape)):
        raise BadMessage(
            f"{what} has the unknown member {extra[0]!r}", "what the implementation said belongs into result"
        )
