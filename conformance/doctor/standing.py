"""A carrier whose processes may stay from one schedule to the next, each getting `reset` again.

Starting a process costs more than all that the doctor says to it, and the protocol promises that a `reset` replaces
everything. It also tells a listener every message, and can add members that no version of the protocol has yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from conformance.carriers.base import Carrier, Link, Message, Session
from conformance.carriers.places import StateDirectory
from conformance.carriers.tap import ASK, KILL, SAY, Listener
from conformance.remote.remote import Remote

#: A member of the future: whoever does not know it ignores it.
LATER: Final = {"later_version": {"added": [1, "member"]}}
_OPEN_ARGS: Final = ("reset", "command", "set_time", "arm")


class _Switch:
    """Stands where the remote is expected, and is the remote of whichever schedule runs."""

    def __init__(self) -> None:
        self.target: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


class StandingLink:
    """One process, whose request numbers go on counting over schedules."""

    def __init__(self, link: Link, proc: str, carrier: StandingCarrier) -> None:
        self._link, self._carrier = link, carrier
        self.proc = proc
        self.alive = True
        self.latest = 0
        self._base = 0
        self._open: set[int] = set()

    @property
    def open(self) -> bool:
        """Whether a request has no answer yet."""
        return bool(self._open)

    def again(self) -> None:
        """Another schedule begins: its numbers follow those that were used."""
        self._base = self.latest

    def send(self, message: Message) -> None:
        """Pass a request on."""
        self.latest = number = message["id"] + self._base
        self._open.add(number)
        self._carrier.hear(ASK, self.proc, message)
        self._link.send({**self._carrier.added(message), "id": number})

    def recv(self) -> Message | None:
        """Pass on what it says."""
        message = self._link.recv()
        if message is None:
            return None
        if "outcome" in message:
            self._open.discard(message["id"])
        if "id" in message:
            message = {**message, "id": message["id"] - self._base}
        self._carrier.hear(SAY, self.proc, message)
        return message

    def pending(self) -> bool:
        """As the link says."""
        return self._link.pending()

    def listen(self) -> None:
        """As the link does."""
        self._link.listen()

    def departed(self, patience_ms: int) -> str:
        """As the link says."""
        self.alive = False
        return self._link.departed(patience_ms)

    def kill(self) -> None:
        """Kill it."""
        if self.alive:
            self.alive = False
            self._carrier.hear(KILL, self.proc, None)
            self._link.kill()


class StandingSession:
    """One schedule on a state directory of its own."""

    def __init__(self, carrier: StandingCarrier, inner: Session) -> None:
        self._carrier, self._inner = carrier, inner
        self._place = StateDirectory()
        self._used: list[StandingLink] = []
        self.state_dir = self._place.path

    def start(self, proc: str) -> Link:
        """The process of this name that stands there, or a new one."""
        link = self._carrier.take(proc, self._inner)
        self._used.append(link)
        return link

    def base_url(self, proc: str) -> str:
        """As the session inside says."""
        return self._inner.base_url(proc)

    def close(self) -> None:
        """Remove the state; a process that is still busy is of no more use."""
        for link in self._used:
            if link.open:
                link.kill()
        self._place.remove()


@dataclass(slots=True)
class _Options:
    """How the next schedules are run: with new processes, or with members that nobody knows."""

    keep: bool = False
    later: bool = False


class StandingCarrier:
    """Wraps a carrier. ``options.keep`` lets processes stay, ``options.later`` adds unknown members to requests."""

    def __init__(self, carrier: Carrier, hear: Listener) -> None:
        self._carrier, self.hear = carrier, hear
        self.name, self.rung = carrier.name, carrier.rung
        self.options = _Options()
        self._switch = _Switch()
        self._session: Session | None = None
        self._links: dict[str, StandingLink] = {}

    def open(self, remote: Remote) -> Session:
        """Begin one schedule."""
        if not self.options.keep:
            self.dismiss()
        self._switch.target = remote
        if self._session is None:
            self._carrier.rung = self.rung
            stand_in: Any = self._switch
            self._session = self._carrier.open(stand_in)
        return StandingSession(self, self._session)

    def take(self, proc: str, inner: Session) -> StandingLink:
        """The living process of this name, or a new one."""
        link = self._links.get(proc)
        if link is None or not link.alive or link.open:
            link = self._links[proc] = StandingLink(inner.start(proc), proc, self)
        link.again()
        return link

    def standing(self) -> Iterator[StandingLink]:
        """The processes that live."""
        return (link for link in self._links.values() if link.alive)

    def added(self, message: Message) -> Message:
        """The message as it is sent."""
        if not self.options.later:
            return message
        args = {**message["args"], **LATER} if message["cmd"] in _OPEN_ARGS else message["args"]
        return {**message, **LATER, "args": args}

    def dismiss(self) -> None:
        """End all processes."""
        self._links.clear()
        if self._session is not None:
            self._session.close()
            self._session = None

    def shutdown(self) -> None:
        """End everything."""
        self.dismiss()
        self._carrier.shutdown()
