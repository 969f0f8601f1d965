"""A carrier that does what another one does, and tells a listener every message and every kill as they go by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from conformance.carriers.base import Carrier, Link, Message, Session
from conformance.remote.remote import Remote

ASK: Final = "→"
SAY: Final = "←"
KILL: Final = "KILL"

#: Hears (one of the above, process, message); a kill has no message.
Listener = Callable[[str, str, Message | None], None]


class TappedLink:
    """One process; ``latest`` is the id of the last request to it, and ``open`` says whether one has no answer yet."""

    def __init__(self, link: Link, proc: str, hear: Listener) -> None:
        self._link, self._hear = link, hear
        self.proc = proc
        self.latest = 0
        self.alive = True
        self._open: set[int] = set()

    @property
    def open(self) -> bool:
        """Whether a request has no answer yet."""
        return bool(self._open)

    def send(self, message: Message) -> None:
        """Pass a request on."""
        self.latest = message["id"]
        self._open.add(message["id"])
        self._hear(ASK, self.proc, message)
        self._link.send(message)

    def recv(self) -> Message | None:
        """Pass on what it says."""
        message = self._link.recv()
        if message is not None:
            self._hear(SAY, self.proc, message)
            if "outcome" in message:
                self._open.discard(message["id"])
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
        """Kill it and say so."""
        self.alive = False
        self._hear(KILL, self.proc, None)
        self._link.kill()


class TappedSession:
    """One schedule; ``links`` are its processes in the order of their starts."""

    def __init__(self, session: Session, hear: Listener) -> None:
        self._session, self._hear = session, hear
        self.state_dir: Path = session.state_dir
        self.links: list[TappedLink] = []

    def start(self, proc: str) -> Link:
        """Start a process that is listened to."""
        link = TappedLink(self._session.start(proc), proc, self._hear)
        self.links.append(link)
        return link

    def base_url(self, proc: str) -> str:
        """As the session says."""
        return self._session.base_url(proc)

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class TappedCarrier:
    """Wraps a carrier; ``session`` is the one that was opened last."""

    def __init__(self, carrier: Carrier, hear: Listener) -> None:
        self._carrier, self._hear = carrier, hear
        self.name, self.rung = carrier.name, carrier.rung
        self.session: TappedSession | None = None

    def open(self, remote: Remote) -> Session:
        """Begin one schedule."""
        self.session = TappedSession(self._carrier.open(remote), self._hear)
        return self.session

    def shutdown(self) -> None:
        """End the carrier inside."""
        self._carrier.shutdown()
