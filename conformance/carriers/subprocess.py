"""The subprocess carriers: driver processes that are real, and that are really killed (DESIGN section 5).

``ProcessCarrier`` starts a command for each process, in any language. ``ForkedCarrier`` lets a warm Python parent fork
them, which is some ten times faster. Both speak the same lines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.carriers.base import Link, Session
from conformance.carriers.hub import Hub
from conformance.carriers.link import ProcessLink
from conformance.carriers.places import StateDirectory
from conformance.carriers.spawn import CommandSpawner, ForkSpawner, Spawner
from conformance.remote.remote import Remote
from conformance.remote.server import Endpoint

DEADLINE_MS = 10_000


class ProcessSession:
    """The real processes of one schedule."""

    def __init__(self, driver: str, spawner: Spawner, remote: Remote, deadline_ms: int) -> None:
        self._driver = driver
        self._spawner = spawner
        self._remote = remote
        self._deadline_ms = deadline_ms
        self._hub = Hub()
        self._links: list[ProcessLink] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._place = StateDirectory()
        self.state_dir = self._place.path

    def start(self, proc: str) -> Link:
        """A new process with a listener of its own; DriverProblem when it cannot be started."""
        endpoint = Endpoint(self._remote, proc)
        ends = [*os.pipe(), *os.pipe(), *os.pipe()]
        their_stdin, stdin, stdout, their_stdout, stderr, their_stderr = ends
        try:
            body = self._spawner.spawn(their_stdin, their_stdout, their_stderr)
        except BaseException:
            endpoint.close()
            for fd in (stdin, stdout, stderr):
                os.close(fd)
            raise
        finally:
            for fd in (their_stdin, their_stdout, their_stderr):
                os.close(fd)
        pipes = (stdin, stdout, stderr)
        who = f"process {proc!r} of driver {self._driver!r}"
        link = ProcessLink(self._hub, who, body, pipes, endpoint=endpoint, deadline_ms=self._deadline_ms)
        self._links.append(link)
        self._endpoints[proc] = endpoint
        return link

    def base_url(self, proc: str) -> str:
        """The address of the listener that was made for this process."""
        return self._endpoints[proc].base_url

    def close(self) -> None:
        """Kill what still runs and remove the state directory."""
        try:
            for link in self._links:
                link.discard()
        finally:
            self._links.clear()
            self._place.remove()


class _RealCarrier:
    """What both carriers share."""

    def __init__(self, name: str, spawner: Spawner, deadline_ms: int) -> None:
        self.name = name
        self.rung = "L2"
        self._spawner = spawner
        self._deadline_ms = deadline_ms

    def open(self, remote: Remote) -> Session:
        """One schedule on a fresh directory."""
        return ProcessSession(self.name, self._spawner, remote, self._deadline_ms)

    def shutdown(self) -> None:
        """End what outlives a schedule; the carrier may be used again afterwards."""
        self._spawner.close()


class ProcessCarrier(_RealCarrier):
    """Starts ``command`` for every driver process, in ``folder``. ``env`` and ``folder`` None mean the suite's own."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        deadline_ms: int = DEADLINE_MS,
        folder: Path | None = None,
    ) -> None:
        super().__init__(name, CommandSpawner(command, env, folder), deadline_ms)


class ForkedCarrier(_RealCarrier):
    """Starts ``command`` once, with ``--zygote FD`` added, and has every driver process forked from it."""

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None, deadline_ms: int = DEADLINE_MS
    ) -> None:
        super().__init__(name, ForkSpawner(command, env, deadline_ms), deadline_ms)
