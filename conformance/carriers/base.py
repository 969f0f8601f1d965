"""What a carrier offers to the executor: driver processes that take messages and can be killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from conformance.remote.remote import Remote

Message = dict[str, Any]


class DriverProblem(Exception):
    """The driver could not be used (exit code 3): it did not start, spoke badly, or left its state directory."""


class DeadlinePassed(DriverProblem):
    """A request was not answered before the harness deadline (real time)."""


class SuiteProblem(Exception):
    """The suite itself went wrong (exit code 5): never a verdict on the implementation."""


class Link(Protocol):
    """One driver process."""

    def send(self, message: Message) -> None:
        """Hand over one request; raises DriverProblem when the process takes no more."""
        ...

    def recv(self) -> Message | None:
        """The next line that it says; None when nothing more will come until something outside changes.

        Raises DriverProblem when the process ended or spoke badly.
        """
        ...

    def pending(self) -> bool:
        """Whether ``recv`` has a line ready at once: what the process said before something else happened."""
        ...

    def listen(self) -> None:
        """What a command said to wait for may have happened: its silence is no longer taken for rest."""
        ...

    def kill(self) -> None:
        """SIGKILL, or its simulation: nothing of the process runs any more."""
        ...


class Session(Protocol):
    """The processes of one schedule, around one state directory and one remote."""

    state_dir: Path

    def start(self, proc: str) -> Link:
        """A new driver process under this name."""
        ...

    def base_url(self, proc: str) -> str:
        """Where this process reaches the remote; it tells the suite who connected."""
        ...

    def close(self) -> None:
        """End every process and remove the state directory."""
        ...


class Carrier(Protocol):
    """A way to run driver processes.

    ``rung`` is what the driver declared in ``hello``: nothing above it is asked of its processes.
    """

    name: str
    rung: str

    def open(self, remote: Remote) -> Session:
        """Begin one schedule on a fresh state directory."""
        ...

    def shutdown(self) -> None:
        """Release what outlives a schedule."""
        ...
