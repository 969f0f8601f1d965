"""What the executor keeps: driver processes, armed faults, recorded points, and the virtual time of a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.carriers.base import DriverProblem, Link, Message
from conformance.rows import states_of

#: Where virtual time begins: wall ms since the epoch (2026-01-01T00:00:00Z) and elapsed ms.
EPOCH_MS: Final = 1_767_225_600_000
#: The kinds of call at which an actor may be paused: outside of a transaction only.
PAUSABLE: Final = ("begin", "read", "committed", "remote", "answered")

#: One move of a row: entity, state before, state after.
Move = tuple[str, str | None, str | None]


@dataclass(slots=True)
class Process:
    """What the suite knows of one driver process."""

    name: str
    link: Link
    outstanding: tuple[int, str] | None = None
    paused: int | None = None
    labelled: tuple[str, int] | None = None
    latest: tuple[str, int] = ("", 0)
    waits_since: int = 0
    answered: dict[int, Message] = field(default_factory=dict)


@dataclass(slots=True)
class ArmedFault:
    """A fault that was armed and has to be seen to fire."""

    proc: str
    point: str
    action: str
    members: Mapping[str, Any]
    fired: bool = False

    @property
    def wire(self) -> str:
        """The action that the driver is asked for: a crash is a stop there, and the kill is the suite's."""
        if self.action != "crash":
            return self.action
        return "hang" if self.point.rpartition(":")[2] in ("commit", "write", "tx-read") else "pause"


@dataclass(frozen=True, slots=True)
class Point:
    """One port call seen while recording: where in the program, which call, and the row changes it brought."""

    op_index: int
    proc: str
    point: str
    nth: int
    changes: tuple[Move, ...]


class PointLog:
    """The port calls of a recording, each labelled by what its transaction does to the rows."""

    def __init__(self, family: str) -> None:
        self.points: list[Point] = []
        self._family = family
        self._log_seen = 0
        self._states: Mapping[tuple[str, str], str | None] = {}

    def add(self, op_index: int, process: Process, message: Message) -> None:
        """A process announced a call."""
        process.latest = (message["point"], message["nth"])
        self.points.append(Point(op_index, process.name, message["point"], message["nth"], ()))

    def label(self, rows: Mapping[str, Any]) -> None:
        """Ascribe the row changes since the last look to the latest transaction that was announced."""
        changes = self._changes(rows)
        if not changes:
            return
        proc = self.points[-1].proc
        for index in range(len(self.points) - 1, -1, -1):
            point = self.points[index]
            if point.proc == proc:
                self.points[index] = replace(point, changes=point.changes + changes)
                if point.point.endswith(":begin"):
                    return

    def _changes(self, rows: Mapping[str, Any]) -> tuple[tuple[str, str | None, str | None], ...]:
        """The moves since the last look: from the status log, or by comparing states where the driver keeps none."""
        if "status_log" in rows:
            log = rows["status_log"][self._log_seen :]
            self._log_seen += len(log)
            return tuple((e["entity"], e["from_state"], e["to_state"]) for e in log)
        before, self._states = self._states, states_of(self._family, rows)
        return tuple((n[0], before.get(n), state) for n, state in self._states.items() if before.get(n) != state)


@dataclass(slots=True)
class VirtualTime:
    """The time that every process of a schedule is told."""

    wall_ms: int = EPOCH_MS
    mono_ms: int = 0
    trusted: bool = True

    def move(self, args: Mapping[str, Any]) -> None:
        """Do what a ``time`` op says; elapsed time only goes on, wall time may jump."""
        self.mono_ms += int(args["ms"])
        self.wall_ms += int(args["ms"]) + int(args.get("wall_jump_ms", 0))
        self.trusted = bool(args.get("trusted", self.trusted))

    def to_json(self) -> dict[str, Any]:
        """The clock as ``reset`` and ``set_time`` carry it."""
        return {"wall_ms": self.wall_ms, "mono_ms": self.mono_ms, "trusted": self.trusted}


class RowsReader:
    """Reads the durable rows through a driver process of its own, as long as the driver offers that.

    ``ask`` sends one request to a process and gives its answer.
    """

    def __init__(self, ask: Callable[[Process, str, Mapping[str, Any]], Message], *, supported: bool) -> None:
        self._ask = ask
        self.supported = supported
        #: The driver promised rows by its rung and gives none.
        self.lacking = False
        self.process: Process | None = None

    def read(self) -> Mapping[str, Any] | None:
        """The rows by kind; None without a process or without durable rows. Raises DriverProblem for a failure."""
        if self.process is None or not self.supported:
            return None
        reply = self._ask(self.process, "snapshot", {})
        if reply["outcome"] != "unsupported":
            must_be_done(reply, "snapshot")
            if reply["result"].get("source") == "store":
                kinds: Mapping[str, Any] = reply["result"]["kinds"]
                return kinds
        # What is derived, or not there at all, is no durable evidence and is not asked for again.
        self.supported, self.lacking = False, True
        return None


def must_be_done(reply: Message, what: str) -> None:
    """Raise DriverProblem, with the driver's reason, when a request was not done."""
    if reply["outcome"] != "done":
        why = reply.get("detail") or reply.get("reason") or "no reason given"
        raise DriverProblem(f"{what} was answered {reply['outcome']}: {why}")
