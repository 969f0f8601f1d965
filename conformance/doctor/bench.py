"""Where the doctor plays scripts of one family, and what it sees of each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.carriers.base import Carrier, Message
from conformance.carriers.farewell import farewell
from conformance.carriers.tap import ASK, SAY
from conformance.doctor.standing import StandingCarrier
from conformance.drivers import Identity
from conformance.families.base import Family
from conformance.history import Event, History
from conformance.search.execute import Execution
from conformance.search.process import EPOCH_MS, Point, PointLog, Process, VirtualTime
from conformance.search.program import Op, Program
from conformance.search.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of a walk through all points: where, and what stood there (rows as text, connections, answers)."""

    index: int
    proc: str
    point: str
    nth: int
    rows: str
    connections: int
    answered: int

    @property
    def call(self) -> str:
        """The kind of port call."""
        return self.point.rpartition(":")[2]

    @property
    def where(self) -> str:
        """In words."""
        return self.point if self.nth == 1 else f"{self.point} (the {self.nth}. time)"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one script left: the history, refused requests, and of a walk every point and every stop."""

    history: History
    undone: tuple[tuple[str, Message, Message], ...]
    points: tuple[Point, ...]
    stops: tuple[Stop, ...]
    misplaced: tuple[str, ...]
    empty: bool
    departures: tuple[str, ...]

    def of(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [e for e in self.history.events if e.kind == kind]

    @property
    def rows(self) -> Mapping[str, Any] | None:
        """The rows at the end, or None where the driver gives none."""
        read = self.of("rows")
        return read[-1].data["kinds"] if read else None


@dataclass(slots=True)
class Bench:
    """One family of one driver, and the carrier that its checks share.

    ``first`` is what the very first script left. ``stands`` says that a second `reset` was found to replace everything,
    so that processes may stay from one script to the next. ``rung`` is the one that scripts are played at.
    """

    family: Family
    identity: Identity
    carrier: StandingCarrier
    patience_ms: int
    heard: list[tuple[str, str, Message | None]] = field(default_factory=list)
    first: Seen | None = None
    stands: bool = False
    rung: str = "L0"

    @staticmethod
    def around(family: Family, identity: Identity, carrier: Carrier, patience_ms: int) -> Bench:
        """A bench on which nothing was played yet."""
        heard: list[tuple[str, str, Message | None]] = []
        standing = StandingCarrier(carrier, lambda *said: heard.append(said))
        return Bench(family, identity, standing, patience_ms, heard)

    @property
    def scenario(self) -> Scenario:
        """The family's first scenario: one effect, and the callers' retry."""
        return self.family.scenarios[0]

    @property
    def remote(self) -> bool:
        """Whether the protocol has a remote at all."""
        return self.family.walk.remote

    def play(self, ops: Iterable[Op | Callable[[Watch], None]], scenario: Scenario | None = None, **how: Any) -> Seen:
        """Run a script, whose steps may also be functions of the execution; raises DriverProblem as a run does.

        ``how``: ``record`` walks through every point (L2); ``new`` wants new processes; ``later`` adds unknown
        members; ``part`` says good-bye to every process at the end; ``wall_ms`` is the time at its beginning.
        """
        steps = list(ops)
        script = scenario or self.scenario
        program = script.program().with_ops("/doctor", [s for s in steps if isinstance(s, Op)])
        self.carrier.rung = self.rung
        self.carrier.options.keep = self.stands and not how.get("new")
        self.carrier.options.later = bool(how.get("later"))
        self.heard.clear()
        watch = Watch(program, self.carrier, self.family.contract, record=bool(how.get("record")))
        watch.begin_at(how.get("wall_ms", EPOCH_MS))
        try:
            for step in steps:
                if isinstance(step, Op):
                    watch.do(step)
                else:
                    step(watch)
            history = watch.end()
            departures = self._part() if how.get("part") else ()
            stops, misplaced = watch.stops, tuple(watch.misplaced)
            empty = watch.left_nothing()
            return Seen(history, self._undone(), tuple(watch.points), stops, misplaced, empty, departures)
        finally:
            self.carrier.options.later = False
            watch.close()

    def dismiss(self) -> None:
        """End the processes that stand."""
        self.carrier.dismiss()

    def _part(self) -> tuple[str, ...]:
        found = []
        for link in list(self.carrier.standing()):
            if not link.open:
                problem = farewell(link, link.latest + 1, link.proc, self.patience_ms)
                if problem and problem not in found:
                    found.append(problem)
        return tuple(found)

    def _undone(self) -> tuple[tuple[str, Message, Message], ...]:
        """(process, request, answer) of everything that was not done."""
        asked: dict[tuple[str, int], Message] = {}
        undone = []
        for way, proc, message in self.heard:
            if message is None:
                continue
            if way == ASK:
                asked[proc, message["id"]] = message
            elif way == SAY and message.get("outcome") in ("failed", "unsupported"):
                undone.append((proc, asked[proc, message["id"]], message))
        return tuple(undone)


class _StopLog(PointLog):
    """A log of points that also remembers what stood at each stop."""

    def __init__(self, family: str, look: Callable[[], tuple[int, int]]) -> None:
        super().__init__(family)
        self._look = look
        self.stops: list[Stop] = []

    def label(self, rows: Mapping[str, Any]) -> None:
        """The recording stands still at a point."""
        if self.points:
            point = self.points[-1]
            at = (len(self.points), point.proc, point.point, point.nth)
            self.stops.append(Stop(*at, as_text(rows), *self._look()))
        super().label(rows)


class Watch(Execution):
    """An execution whose walks remember every stop."""

    def __init__(self, program: Program, carrier: Carrier, contract: Any, *, record: bool) -> None:
        super().__init__(program, carrier, contract, record=record)
        #: What the process said where it stands, against the point that it had announced last.
        self.misplaced: list[str] = []
        self._stop_log = _StopLog(program.family, self._look)
        self._log = self._stop_log

    @property
    def stops(self) -> tuple[Stop, ...]:
        """Every stop of a walk."""
        return tuple(self._stop_log.stops)

    def _on_paused(self, process: Process, message: Message) -> None:
        if self._record and process.latest[0] != message["point"]:
            self.misplaced.append(f"{message['point']!r} right after it announced {process.latest[0]!r}")
        super()._on_paused(process, message)

    def begin_at(self, wall_ms: int) -> None:
        """Open the session with this wall time, in ms since the epoch."""
        self._time = VirtualTime(wall_ms=wall_ms)
        self.begin()

    def fresh_observer(self) -> None:
        """Let another process read the rows from now on: it knows nothing but the store."""
        if self._rows.process is not None:
            self._rows.process.link.kill()
            self._rows.process = self._open("observer")

    def left_nothing(self) -> bool:
        """Whether the state directory is empty."""
        assert self._session is not None
        return not os.listdir(self._session.state_dir)

    def _look(self) -> tuple[int, int]:
        connections = self._remote.connections
        return len(connections), sum(c.outcome is not None for c in connections)


def as_text(rows: Mapping[str, Any] | None) -> str:
    """Rows as a text that is equal for equal rows."""
    return json.dumps(rows, sort_keys=True)


def procs(ops: Sequence[Op]) -> list[str]:
    """The processes that a script starts, in order."""
    return list(dict.fromkeys(op.proc for op in ops if op.op == "start"))
