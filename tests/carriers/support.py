"""What the carrier tests share: sessions around tiny drivers, and a remote whose log can be read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.carriers.base import Carrier, Link, Message, Session
from conformance.carriers.subprocess import ProcessCarrier
from conformance.families.mutation_host.contract import EffectContract
from conformance.history import Event, Recorder
from conformance.remote.remote import Conn, Remote
from conformance.remote.script import Behaviour

DRIVERS = Path(__file__).parent / "drivers"


def command(driver: str) -> list[str]:
    """The command line of a tiny driver that needs no package."""
    return [sys.executable, "-I", "-S", str(DRIVERS / f"{driver}.py")]


class Stage:
    """A remote with its log and, where a session was opened, the processes around it."""

    def __init__(self, *behaviours: str) -> None:
        self.recorder = Recorder()
        self.asked: list[Conn] = []
        self.remote = Remote(self.recorder, EffectContract(), lambda _: None, self.asked.append)
        self.remote.script([Behaviour(kind) for kind in behaviours])
        self.session: Session | None = None
        self._number = 0

    def events(self, *kinds: str) -> list[Event]:
        """The events of these kinds, or all."""
        return [e for e in self.recorder.events if not kinds or e.kind in kinds]

    def story(self) -> list[str]:
        """The kinds of all events, in order."""
        return [e.kind for e in self.recorder.events]

    def send(self, link: Link, cmd: str, **args: Any) -> int:
        """Send one request under the next id."""
        self._number += 1
        link.send({"v": 1, "id": self._number, "cmd": cmd, "actor": "w1", "args": args, "deadline_ms": 1})
        return self._number

    def ask(self, link: Link, cmd: str, **args: Any) -> Message:
        """Send one request and return its answer."""
        number = self.send(link, cmd, **args)
        while (message := link.recv()) is not None:
            if message.get("id") == number:
                return message
        raise AssertionError(f"no answer to {cmd}")

    def start(self, proc: str) -> Link:
        """A new process in the session of this stage."""
        assert self.session is not None
        return self.session.start(proc)

    def reset(self, link: Link, proc: str = "w1") -> Message:
        """Reset a process onto the session's directory and remote."""
        assert self.session is not None
        clock = {"wall_ms": 0, "mono_ms": 0, "trusted": True}
        state = {"state": "fresh", "state_dir": str(self.session.state_dir)}
        return self.ask(
            link, "reset", run="r1", **state, remote=self.session.base_url(proc), clock=clock, limits={}, config={}
        )


@contextmanager
def opened(carrier: Carrier, *behaviours: str) -> Iterator[Stage]:
    """A stage with a session of this carrier; both are ended."""
    stage = Stage(*behaviours)
    stage.session = carrier.open(stage.remote)
    try:
        yield stage
    finally:
        stage.session.close()


@contextmanager
def driven(driver: str, *behaviours: str, deadline_ms: int = 10_000) -> Iterator[tuple[Stage, Link]]:
    """A stage with one process ``w1`` of a tiny driver."""
    carrier = ProcessCarrier(driver, command(driver), deadline_ms=deadline_ms)
    try:
        with opened(carrier, *behaviours) as stage:
            yield stage, stage.start("w1")
    finally:
        carrier.shutdown()
