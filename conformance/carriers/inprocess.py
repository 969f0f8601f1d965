"""The in-process carrier: each driver process is an engine of its own, a crash cuts its ports.

The messages are those of the subprocess carrier; the carrier differential proves that the simulation is faithful.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.carriers.base import DriverProblem, Link, Message, Session
from conformance.carriers.conversation import BadMessage, Conversation
from conformance.carriers.places import StateDirectory
from conformance.kit.engine import Engine, Implementation
from conformance.kit.remote import Exchange, RemoteAnswer, RemoteUnknown, Request
from conformance.remote.remote import Conn, Drop, Remote, Reply


class DirectExchange:
    """One request that went to the remote by a call."""

    def __init__(self, remote: Remote, conn: Conn) -> None:
        self._remote = remote
        self._conn = conn

    def poll(self) -> RemoteAnswer | RemoteUnknown | None:
        """What a client at the other end of a socket would know by now."""
        outcome = self._conn.outcome
        if outcome is None:
            return None
        if isinstance(outcome, Drop):
            return RemoteUnknown("reset" if outcome.reset else "closed")
        assert isinstance(outcome, Reply)
        if not outcome.complete:
            return RemoteUnknown("partial")
        return RemoteAnswer(outcome.status, outcome.body)

    def abandon(self) -> None:
        """Close the connection from the client's side."""
        self._remote.lost(self._conn)


class DirectTransport:
    """The simulated wire of one process."""

    def __init__(self, remote: Remote, proc: str) -> None:
        self._remote = remote
        self._proc = proc
        self.wake: Callable[[], None] | None = None

    def send(self, base_url: str, request: Request) -> Exchange:
        """Connect and hand the bytes over."""
        del base_url
        conn = self._remote.connect(self._proc)
        conn.wake = self.wake
        if conn.outcome is None:
            self._remote.receive(conn, request.method, request.path, request.body, request.headers)
        return DirectExchange(self._remote, conn)


class InProcessLink:
    """A simulated driver process."""

    def __init__(self, engine: Engine, remote: Remote, proc: str) -> None:
        self._engine = engine
        self._remote = remote
        self._proc = proc
        self._talk = Conversation()

    def send(self, message: Message) -> None:
        """Deliver and run until the process is done or blocked."""
        self._talk.sent(message, 0)
        self._engine.deliver(message)

    def recv(self) -> Message | None:
        """The next thing it said, or None: it will say nothing more by itself.

        Raises DriverProblem for a message that a real process would not get past the suite either.
        """
        outbox = self._engine.outbox
        if not outbox:
            return None
        message = outbox.popleft()
        try:
            self._talk.heard(message)
        except BadMessage as bad:
            raise self._refused(message, bad) from None
        return message

    def _refused(self, message: Message, bad: BadMessage) -> DriverProblem:
        shown = repr(message)
        cut = "…" if len(shown) > 200 else ""
        return DriverProblem(
            f"process {self._proc!r} said what was refused: {bad.reason}: {shown[:200]}{cut}; {bad.guess}"
        )

    def pending(self) -> bool:
        """Whether it has said anything that was not taken yet."""
        return bool(self._engine.outbox)

    def listen(self) -> None:
        """Nothing: a simulated process goes on only when it is told to."""

    def departed(self, patience_ms: int) -> str:
        """A simulated process has ended with its answer."""
        del patience_ms
        return ""

    def kill(self) -> None:
        """Cut the ports, close the connections, break what it holds open at the remote."""
        self._engine.crash()
        for conn in self._remote.held(self._proc):
            self._remote.lost(conn)


class InProcessSession:
    """The simulated processes of one schedule; killed engines are kept, suspended, until it closes."""

    def __init__(self, make: Callable[[], Implementation], remote: Remote) -> None:
        self._make = make
        self._remote = remote
        self._engines: list[Engine] = []
        self._place = StateDirectory()
        self.state_dir = self._place.path

    def start(self, proc: str) -> Link:
        """A new engine with its own connection and its own way to the remote."""
        transport = DirectTransport(self._remote, proc)
        engine = Engine(self._make(), transport)
        transport.wake = engine.poke
        self._engines.append(engine)
        return InProcessLink(engine, self._remote, proc)

    def base_url(self, proc: str) -> str:
        """A name only: nothing is resolved in process."""
        return f"inprocess://{proc}"

    def close(self) -> None:
        """Remove the directory, crash what still runs, then drop it all."""
        # In this order a store sees at its end that its file is gone, and does not write back what nobody will read.
        self._place.remove()
        for engine in self._engines:
            engine.crash()
        self._engines.clear()


class InProcessCarrier:
    """Runs an implementation written in Python without leaving the suite's process."""

    def __init__(self, name: str, make: Callable[[], Implementation]) -> None:
        self.name = name
        self.rung = "L2"
        self._make = make

    def open(self, remote: Remote) -> Session:
        """One schedule on a fresh directory."""
        return InProcessSession(self._make, remote)

    def shutdown(self) -> None:
        """Nothing outlives a schedule."""
