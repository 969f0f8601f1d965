"""A carrier around a sound driver that lies in one way: it changes, swallows or invents messages on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from conformance.carriers.base import Carrier, Link, Message, Session
from conformance.remote.remote import Remote


class Lie:
    """Honest. A lie overrides one of the two ways; ``restarted`` is told when a process starts."""

    def ask(self, message: Message, _answer: Callable[[Message], None]) -> Message | None:
        """What becomes of a request; None swallows it, and the second parameter answers in the driver's place."""
        return message

    def say(self, message: Message, _send: Callable[[Message], None]) -> list[Message]:
        """What becomes of a line of the driver; the second parameter slips a request in."""
        return [message]

    def restarted(self, _proc: str) -> None:
        """A process starts."""


class LyingLink:
    """One process whose messages go through a lie."""

    def __init__(self, link: Link, lie: Lie) -> None:
        self._link, self._lie = link, lie
        self._said: deque[Message] = deque()

    def send(self, message: Message) -> None:
        """Pass a request on, or what became of it."""
        changed = self._lie.ask(message, self._said.append)
        if changed is not None:
            self._link.send(changed)

    def recv(self) -> Message | None:
        """The next line, or what became of it."""
        while not self._said:
            message = self._link.recv()
            if message is None:
                return None
            self._said.extend(self._lie.say(message, self._link.send))
        return self._said.popleft()

    def pending(self) -> bool:
        """Whether a line is ready."""
        return bool(self._said) or self._link.pending()

    def listen(self) -> None:
        """As the link does."""
        self._link.listen()

    def departed(self, patience_ms: int) -> str:
        """As the link says."""
        return self._link.departed(patience_ms)

    def kill(self) -> None:
        """As the link does."""
        self._said.clear()
        self._link.kill()


class _LyingSession:
    def __init__(self, session: Session, lie: Lie) -> None:
        self._session, self._lie = session, lie
        self.state_dir = session.state_dir

    def start(self, proc: str) -> Link:
        self._lie.restarted(proc)
        return LyingLink(self._session.start(proc), self._lie)

    def base_url(self, proc: str) -> str:
        return self._session.base_url(proc)

    def close(self) -> None:
        self._session.close()


class LyingCarrier:
    """All processes of a carrier with one lie among them."""

    def __init__(self, carrier: Carrier, lie: Lie) -> None:
        self._carrier, self._lie = carrier, lie
        self.name, self.rung = carrier.name, carrier.rung

    def open(self, remote: Remote) -> Session:
        """Begin one schedule."""
        self._carrier.rung = self.rung
        return _LyingSession(self._carrier.open(remote), self._lie)

    def shutdown(self) -> None:
        """As the carrier does."""
        self._carrier.shutdown()
