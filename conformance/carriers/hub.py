"""The hub: one loop over the pipes of all driver processes and the connections of the one that is being driven."""

from __future__ import annotations

import select
from typing import Protocol


class Party(Protocol):
    """A driver process as the hub sees it."""

    def pipes(self) -> list[tuple[int, int]]:
        """The descriptors of its open pipes, with the poll events to wait for."""
        ...

    def wires(self) -> list[tuple[int, int]]:
        """Its listener and connections at the remote, the same way."""
        ...

    def on_pipe(self, fd: int) -> None:
        """A pipe is ready; never raises for what the process wrote."""
        ...

    def on_wires(self, fds: list[int]) -> None:
        """Connections are ready."""
        ...


class Hub:
    """All driver processes of a session. A process that is not driven is only listened to, so that it never blocks."""

    def __init__(self) -> None:
        self._parties: list[Party] = []

    def join(self, party: Party) -> None:
        """A process was started."""
        self._parties.append(party)

    def leave(self, party: Party) -> None:
        """A process has ended."""
        if party in self._parties:
            self._parties.remove(party)

    def turn(self, driven: Party, timeout_ms: float) -> bool:
        """Wait for anything to happen and handle it; False when the time passed without an event.

        Pipes come before connections: what a process said before it connected stands earlier in the history.
        """
        poller = select.poll()
        owners: dict[int, Party] = {}
        for party in self._parties:
            for fd, events in party.pipes():
                poller.register(fd, events)
                owners[fd] = party
        for fd, events in driven.wires():
            poller.register(fd, events)
        ready = poller.poll(timeout_ms)
        wires = []
        for fd, _ in ready:
            owner = owners.get(fd)
            if owner is None:
                wires.append(fd)
            else:
                owner.on_pipe(fd)
        if wires:
            driven.on_wires(wires)
        return bool(ready)
