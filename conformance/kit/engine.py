"""The engine of one driver process: the nine verbs over an implementation, without any input or output of its own.

A carrier feeds it messages and takes messages from it: the process loop over stdin and stdout, the in-process
carrier over a queue. Commands run in a greenlet that gives control back at port calls, so that ``set_time``,
``arm``, ``resume`` and ``snapshot`` are answered while a command is paused, waiting or held by the remote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import greenlet

from conformance.kit.clock import ClockPort, Time
from conformance.kit.ids import IdPort
from conformance.kit.remote import RemotePort, Transport
from conformance.kit.seam import Cut, Message, Seam

PROTOCOL_VERSION = 1


class Unsupported(Exception):
    """Raised by an implementation for a command, feature or configuration that it does not offer."""

    def __init__(self, feature: str, reason: str) -> None:
        super().__init__(reason)
        self.feature = feature
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Setup:
    """What ``reset`` says: where the state lies, whether it is fresh, and the whole configuration document."""

    run: str
    fresh: bool
    state_dir: Path
    limits: Mapping[str, int]
    config: Mapping[str, Any]


class Ports:
    """Every way by which nondeterminism enters an implementation, each call of which is a fault point."""

    def __init__(self, seam: Seam, clock: ClockPort, ids: IdPort, remote: RemotePort, wait: Callable[[str], None]):
        self.seam = seam
        self.clock = clock
        self.ids = ids
        self.remote = remote
        #: ``wait(on)`` suspends the command until time or the store may have changed (``on``: command, lock, time).
        self.wait = wait
        #: Called by a crash, from outside: closes connections without running the victim's handlers.
        self.resources: list[Callable[[], None]] = []

    @property
    def actor(self) -> str:
        """Under which name the suite addresses this process."""
        return self.seam.actor


class Runtime(Protocol):
    """An opened implementation on one state directory."""

    def command(self, cmd: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do one command and return what the implementation said, word for word."""
        ...

    def recover(self) -> Mapping[str, Any]:
        """Run the recovery procedure."""
        ...

    def snapshot(self) -> Mapping[str, Any]:
        """The durable rows: ``{"source": "store", "kinds": {kind: [row, …]}}``."""
        ...


class Implementation(Protocol):
    """What an implementer writes: an identity and a way to open the store."""

    def hello(self) -> Mapping[str, Any]:
        """Identity, families, features, rung, clock mode and declared readings."""
        ...

    def open(self, setup: Setup, ports: Ports) -> Runtime:
        """Open (or create) the state that ``setup`` names."""
        ...


class Engine:
    """One driver process as a state machine over messages. ``outbox`` holds what it has to say."""

    def __init__(self, implementation: Implementation, transport: Transport) -> None:
        self._implementation = implementation
        self._transport = transport
        self._runtime: Runtime | None = None
        self._ports: Ports | None = None
        self._work: greenlet.greenlet | None = None
        self._work_id: int = 0
        self._waiting = False
        self.outbox: deque[Message] = deque()
        self.closed = False

    def deliver(self, message: Message) -> None:
        """Handle one request of the suite; answers and events appear in ``outbox``."""
        handler = getattr(self, f"_on_{message.get('cmd')}", None)
        if handler is None:
            self._say(message, "unsupported", feature=str(message.get("cmd")), reason="no such verb")
            return
        try:
            handler(message)
        except Unsupported as gap:
            self._say(message, "unsupported", feature=gap.feature, reason=gap.reason)
        except Exception as error:
            self._say(message, "failed", detail=f"{type(error).__name__}: {error}")

    def poke(self) -> None:
        """Let a command that waits for the remote look again (an answer arrived, or a connection broke)."""
        ports = self._ports
        if ports is not None and ports.remote.pending is not None and ports.seam.paused is None:
            self._switch()

    def crash(self) -> None:
        """Cut the ports and close the connections from outside; the command stays suspended for ever."""
        self.closed = True
        if self._ports is not None:
            self._ports.seam.cut = True
            for close in self._ports.resources:
                close()

    def _on_hello(self, message: Message) -> None:
        self._say(message, "done", result={"v": PROTOCOL_VERSION, **self._implementation.hello()})

    def _on_reset(self, message: Message) -> None:
        args = message["args"]
        if self._ports is not None:
            for close in self._ports.resources:
                close()
        self._work, self._waiting = None, False
        seam = Seam(str(message.get("actor", "main")), self.outbox.append, self._suspend)
        seam.record = bool(args.get("record", False))
        clock = ClockPort(seam, Time(**args["clock"]))
        remote = RemotePort(seam, clock, self._transport, args["remote"], self._suspend)
        self._ports = Ports(seam, clock, IdPort(seam, args["run"]), remote, self._wait)
        setup = Setup(
            args["run"],
            args["state"] == "fresh",
            Path(args["state_dir"]),
            args.get("limits", {}),
            args["config"],
        )
        self._runtime = self._implementation.open(setup, self._ports)
        self._say(message, "done", result={})

    def _on_command(self, message: Message) -> None:
        args = message["args"]
        runtime = self._opened()
        self._begin(message, lambda: runtime.command(args["name"], args["args"]))

    def _on_recover(self, message: Message) -> None:
        self._begin(message, self._opened().recover)

    def _on_set_time(self, message: Message) -> None:
        ports = self._ports_or_fail()
        ports.clock.set(Time(**message["args"]["clock"]))
        if ports.seam.paused is None and (self._waiting or ports.remote.pending is not None):
            self._switch()
        self._say(message, "done", result={})

    def _on_arm(self, message: Message) -> None:
        args = message["args"]
        self._ports_or_fail().seam.arm(
            args["point"], args.get("nth", 1), args["action"], args.get("world"), args.get("sticky", False)
        )
        self._say(message, "done", result={})

    def _on_resume(self, message: Message) -> None:
        seam = self._ports_or_fail().seam
        if seam.paused != message["args"]["pause"]:
            raise ValueError(f"nothing is paused as {message['args']['pause']}")
        seam.paused = None
        self._say(message, "done", result={})
        self._switch()

    def _on_snapshot(self, message: Message) -> None:
        self._say(message, "done", result=dict(self._opened().snapshot()))

    def _on_bye(self, message: Message) -> None:
        self._say(message, "done", result={})
        self.closed = True

    def _begin(self, message: Message, job: Callable[[], Mapping[str, Any]]) -> None:
        if self._work is not None:
            raise ValueError("a command is outstanding in this process")
        self._work_id = message["id"]

        def run() -> None:
            try:
                self._say(message, "done", result=dict(job()))
            except Unsupported as gap:
                self._say(message, "unsupported", feature=gap.feature, reason=gap.reason)
            except Exception as error:
                self._say(message, "failed", detail=f"{type(error).__name__}: {error}")
            except Cut:
                return
            self._work = None

        self._work = greenlet.greenlet(run)
        self._switch()

    def _switch(self) -> None:
        if self._work is not None:
            self._work.switch()

    def _suspend(self) -> None:
        parent = greenlet.getcurrent().parent
        if parent is None:
            raise RuntimeError("a port was used outside of a command")
        parent.switch()
        if self.closed:
            raise Cut

    def _wait(self, on: str) -> None:
        self._waiting = True
        self.outbox.append({"event": "waiting", "id": self._work_id, "on": on})
        self._suspend()
        self._waiting = False

    def _say(self, message: Message, outcome: str, **members: Any) -> None:
        self.outbox.append({"id": message.get("id"), "outcome": outcome, **members})

    def _opened(self) -> Runtime:
        if self._runtime is None:
            raise ValueError("no reset has been received")
        return self._runtime

    def _ports_or_fail(self) -> Ports:
        if self._ports is None:
            raise ValueError("no reset has been received")
        return self._ports
